"""The numbers that the paper prints, and ours beside them.

They are data, in ``published.json``: all 120 cells of the main table.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from ..plots import draw_scatter

CLOSE, FAR = 0.02, 0.1  # called the same, and called another number


@cache
def read_published() -> pd.DataFrame:
    """Read the main table of the paper.

    Returns
    -------
    pandas.DataFrame of shape (13, 10)
        NMI, tables by methods; the last row is the mean that the paper prints.

    Examples
    --------
    >>> read_published().loc["kidney", "PK (paper)"]
    np.float64(0.6964)
    """
    text = (files(__package__) / "published.json").read_text()
    return pd.DataFrame(json.loads(text)["nmi"])


def compare(ours: pd.DataFrame) -> pd.DataFrame:
    """Put ours beside the paper's, cell by cell.

    Parameters
    ----------
    ours : pandas.DataFrame of shape (n_tables, n_methods)
        NMI in the protocol "paper".

    Returns
    -------
    pandas.DataFrame
        Columns ``table``, ``method``, ``paper``, ``ours`` and ``difference``, without
        cells that have no number of ours.
    """
    pairs = {"paper": read_published().drop(index="mean").stack(), "ours": ours.stack()}
    found = pd.DataFrame(pairs).dropna()
    found["difference"] = found["ours"] - found["paper"]
    return found.rename_axis(["table", "method"]).reset_index()


def tell_differences(ours: pd.DataFrame) -> tuple[str, str]:
    """Count the cells that are close, and name those that are far.

    Parameters
    ----------
    ours : pandas.DataFrame of shape (n_tables, n_methods)
        NMI in the protocol "paper".

    Returns
    -------
    tuple of two str
    """
    cells = compare(ours)
    apart = cells["difference"].abs()
    far = cells[apart > FAR]
    counts = (
        f"Of the {len(cells)} cells of the paper's own table that have a number here, "
        f"{int((apart <= CLOSE).sum())} are within {CLOSE} of it, "
        f"{int((apart <= 0.05).sum())} within 0.05, and {len(far)} are off by more "
        f"than {FAR}."
    )
    told = "; ".join(
        f"{row.method} on {row.table} {row.paper:.3f} there, {row.ours:.3f} here"
        for row in far.itertuples()
    )
    scaling = "; the section on scaling has candidates for some of them" if told else ""
    own = cells[cells["method"] == "PK (paper)"].set_index("table")["difference"]
    apart = own.drop(own.index[own.abs() <= 0.05])
    printed = read_published()["PK (paper)"]
    counts += (
        f" The paper prints a mean of {printed['mean']:.4f} for its method; its cells "
        f"have {printed.drop('mean').mean():.4f}. "
        f"Of these {len(own)}, {int((own.abs() <= CLOSE).sum())} are within {CLOSE} "
        "here; off by more than 0.05: "
        f"{', '.join(f'{name} {off:+.3f}' for name, off in apart.items()) or 'none'}."
        f"{_tell_variants(ours)}"
    )
    return counts, f"Off by more than {FAR}: {told or 'none'}{scaling}."


def _tell_variants(ours: pd.DataFrame) -> str:
    """Say which variant of HI-PMK is nearer to the printed numbers."""
    variants = ["HI-PMK", "HI-PMK bin0"]
    if not {*variants} <= {*ours}:
        return ""
    printed = read_published().drop(index="mean")["HI-PMK"]
    apart = ours[variants].sub(printed, axis=0).abs().dropna().round(4)
    defined, slip = apart["HI-PMK"], apart["HI-PMK bin0"]
    return (
        f" HI-PMK bin0 is nearer to the printed numbers of HI-PMK on "
        f"{int((slip < defined).sum())} tables, HI-PMK as defined on "
        f"{int((defined < slip).sum())}."
    )


def draw(ours: pd.DataFrame, names: tuple[str, ...]) -> Any:
    """Draw ours against the paper's, a point for each cell; far ones are named.

    Parameters
    ----------
    ours : pandas.DataFrame of shape (n_tables, n_methods)
        NMI in the protocol "paper".
    names : tuple of str
        All methods, in the order that gives the looks.

    Returns
    -------
    matplotlib.figure.Figure
    """
    cells = compare(ours)
    far = cells[(cells["difference"].abs() > FAR)]
    labels = [
        (row.paper, row.ours, f"{row.table}")
        for row in far.drop_duplicates("table").itertuples()
    ]
    points = {
        method: (part["paper"].to_numpy(), part["ours"].to_numpy())
        for method in read_published()
        if len(part := cells[cells["method"] == method])
    }
    return draw_scatter(
        points,
        xlabel="NMI printed in the paper",
        ylabel="NMI here, same protocol",
        diagonal=True,
        labels=labels,
        names=names,
    ).figure
