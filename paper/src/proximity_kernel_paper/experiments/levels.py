"""Two claims about the paper's method that need no classes.

First, that the intersection (rows that share all observed bins) answers for most rows:
here, the share of missing cells that each level answers, and the share of incomplete
rows whose gaps are all answered by the intersection. Second, that the kernel is
positive semi-definite: here, the smallest eigenvalue of its matrix, beside the largest.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from proximity_kernel import ProximityKernel

from ..baselines import registry
from ._clustering import load_once
from ._rendering import Rendering, Table
from ._trials import Experiment, Request, Trial, write_options
from .nmi import CASCADE, FOUR_BINS, QUICK_TABLES, TABLES

MOST_ROWS = 2_000  # of the matrix
LEVELS = ("intersection", "union", "prior")
SCORES = (*LEVELS, "rows", "smallest", "largest")


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001 (one round)
    """List the trials: every table and number of bins; there is no chance in them."""
    return [
        Trial(table, "PK", 0, parameters=CASCADE | {"n_bins": n_bins})
        for table in request.choose(TABLES, QUICK_TABLES)
        for n_bins in registry["PK"].grid["n_bins"]
    ]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Ask for the level of each missing cell, and for the eigenvalues."""
    frame = load_once(trial.dataset, data_home).frame
    kernel = ProximityKernel(**trial.parameters).fit(frame)
    cells = kernel.provenance(frame)
    shares = {name: float(np.mean(cells["level"] == name)) for name in LEVELS}
    by_row = pd.Series(cells["level"] == LEVELS[0]).groupby(cells["row"]).all()
    part = frame.sample(min(len(frame), MOST_ROWS), random_state=0)
    eigenvalues = np.linalg.eigvalsh(kernel.kernel(part).astype(np.float64))
    return {
        **shares,
        "rows": float(by_row.mean()),
        "smallest": float(eigenvalues[0]),
        "largest": float(eigenvalues[-1]),
    }


def pivot(results: pd.DataFrame) -> pd.DataFrame:
    """Arrange the shares with four bins as tables by levels."""
    four = results[results["parameters"] == write_options(FOUR_BINS)]
    wide = four.set_index("dataset")[[*LEVELS, "rows"]]
    return wide.loc[[name for name in TABLES if name in wide.index]]


def count_most(results: pd.DataFrame) -> pd.Series:
    """Count the tables on which the intersection answers for most incomplete rows.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.Series of int
        By number of bins, where all twelve tables were run.
    """
    n_bins = results["parameters"].map(lambda text: json.loads(text)["n_bins"])
    wide = results.assign(n_bins=n_bins).pivot_table(
        index="dataset", columns="n_bins", values="rows"
    )
    lacking = set(TABLES) - set(wide.index)
    if lacking:
        raise ValueError(f"tables are missing: {', '.join(sorted(lacking))}.")
    return (wide.loc[list(TABLES)] > 0.5).sum()


def render(results: pd.DataFrame, request: Request) -> Rendering:  # noqa: ARG001
    """Show the levels with four bins."""
    wide = pivot(results)
    wide.loc["mean"] = wide.mean()
    text = wide.map("{:.0%}".format).T.rename(
        {"rows": "whole rows by the intersection"}
    )
    text.index.name, text.columns.name = "answered by", None
    least = (results["smallest"] / results["largest"]).min()
    bins = results["parameters"].map(lambda text: json.loads(text)["n_bins"])
    rows = results.groupby(bins)["rows"].mean()
    told = ", ".join(f"{share:.0%} with {n}" for n, share in rows.items())
    note = (
        "Share of the missing cells that each level of the paper's rule answers, "
        "and of the incomplete rows all of whose cells the intersection answers; 4 "
        f"bins, whole tables. Whole rows by number of bins, mean: {told}. Of the "
        "matrices of the kernel (2 to 8 bins, at most "
        f"{MOST_ROWS:,} rows) the smallest eigenvalue is {least:.0e} of the largest."
    )
    return Rendering((Table("Who answers for a missing cell", text, notes=(note,)),))


EXPERIMENT = Experiment(
    "levels",
    "Who answers for a missing cell, and is the kernel valid",
    render,
    scores=SCORES,
    plan=plan,
    measure=measure,
    choices=TABLES,
)
