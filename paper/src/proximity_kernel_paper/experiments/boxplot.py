"""The main table as a picture: the spread of NMI over tables, method by method.

The paper's figure shows a box and a violin for each of its ten methods over its twelve
tables. Here there is a box with the tables themselves as points, for each protocol of
`nmi`: twelve numbers have no shape worth a violin.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from ..plots import draw_distributions
from ._rendering import Rendering
from ._trials import Experiment, Request
from .nmi import LABELS, NAMES, OURS, PAPER, PROTOCOLS, TABLES, pivot, summarise


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Draw the scores of each method, for each protocol."""
    figures = {}
    for protocol in request.protocols or PROTOCOLS:
        if (results["protocol"] == protocol).any():
            scores = pivot(summarise(results, protocol))
            figures[f"boxplot-{protocol}"] = partial(draw, scores, protocol)
    return Rendering((), figures)


def draw(scores: pd.DataFrame, protocol: str) -> Any:
    """Draw box and points of each method.

    Parameters
    ----------
    scores : pandas.DataFrame of shape (n_tables, n_methods)
    protocol : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    return draw_distributions(
        {method: scores[method].to_numpy() for method in scores},
        xlabel=f'NMI, a point for each table; protocol "{protocol}"',
        highlight=(PAPER, OURS),
        names=NAMES,
    ).figure


EXPERIMENT = Experiment(
    "boxplot",
    "Clusters against classes: the spread over tables",
    render,
    source="nmi",
    choices=(*TABLES, *LABELS),
    protocols=PROTOCOLS,
)
