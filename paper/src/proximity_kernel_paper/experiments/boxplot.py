"""The main table as a picture: the spread of NMI over tables, method by method.

The paper's figure shows a box and a violin for each of its ten methods over its twelve
tables. Here there is one figure for each protocol of `nmi`, from the same results, with
the variants that have a column there, and with the tables themselves as points: twelve
of them make a rough violin.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from ..plots import draw_distributions
from ._rendering import Rendering, Table, mark_best, write_numbers
from ._trials import Experiment, Request
from .nmi import LABELS, PROTOCOLS, TABLES, pivot, summarise

# All that has a column anywhere: a name looks the same in every figure.
NAMES = LABELS


def describe(scores: pd.DataFrame) -> pd.DataFrame:
    """Give the numbers that a box shows.

    Parameters
    ----------
    scores : pandas.DataFrame of shape (n_tables, n_methods)
        NaN where a method failed.

    Returns
    -------
    pandas.DataFrame of shape (n_methods, 7)
        Highest median first: ``tables`` (with a score), ``lowest``, ``1st quartile``,
        ``median``, ``3rd quartile``, ``highest`` and ``mean``, over those tables.
    """
    shares = {
        "lowest": 0.0,
        "1st quartile": 0.25,
        "median": 0.5,
        "3rd quartile": 0.75,
        "highest": 1.0,
    }
    found = scores.quantile(list(shares.values())).T
    found.columns = list(shares)
    found.insert(0, "tables", scores.count())
    found["mean"] = scores.mean()
    found.index.name = "method"
    return found.sort_values("median", ascending=False, kind="stable")


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show the quartiles of each method, and draw them, for each protocol."""
    tables, figures = [], {}
    for protocol in request.protocols or PROTOCOLS:
        if (results["protocol"] == protocol).any():
            scores = pivot(summarise(results, protocol))
            tables.append(_render_table(scores, protocol, request.quick))
            figures[f"boxplot-{protocol}"] = partial(draw, scores, protocol)
    return Rendering(tuple(tables), figures)


def _render_table(scores: pd.DataFrame, protocol: str, quick: bool) -> Table:
    found = describe(scores)
    numbers = found.drop(columns="tables")
    text = write_numbers(numbers)
    text.insert(0, "tables", found["tables"].astype(str))
    marks = mark_best(numbers, axis=0)
    marks.insert(0, "tables", "")
    notes = [f"Over {len(scores)} tables: {', '.join(scores.index)}."]
    if (found["tables"] < len(scores)).any():
        notes.append(
            "A method with fewer tables has no score on the others: its numbers are of "
            "other tables than those of the rest, so they are not comparable."
        )
    title = f'NMI over tables, protocol "{protocol}"' + ", quick" * quick
    return Table(title, text, marks, tuple(notes))


def draw(scores: pd.DataFrame, protocol: str) -> Any:
    """Draw box, violin and points of each method.

    Parameters
    ----------
    scores : pandas.DataFrame of shape (n_tables, n_methods)
    protocol : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    ax = draw_distributions(
        {method: scores[method].to_numpy() for method in scores},
        xlabel=f'NMI, a point for each table; protocol "{protocol}"',
        highlight="PK",
        names=NAMES,
    )
    return ax.figure


EXPERIMENT = Experiment(
    "boxplot",
    "Clusters against classes: the spread over tables",
    render,
    source="nmi",
    choices=(*TABLES, *LABELS),
    protocols=PROTOCOLS,
)
