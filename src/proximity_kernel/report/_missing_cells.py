"""The table in, out: how well the missing cells of each column are known.

An estimate is a probability distribution over the bins of its column. Where the other
columns do not help, it is the share of each bin in the whole column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from ._display_columns import take_rows
from ._row_data import estimate_cells
from ._text import clean

MAX_ROWS = 100_000
"""Rows whose missing cells are looked at."""
_MAX_MOVERS = 3  # columns named for each
_MIN_PART = 0.1  # of what the first of these moved, to be named too
_MIN_MOVED = 0.02  # probability that an informed estimate moves to other bins, in mean
_WHOLE_COLUMN = "the shares in the whole column"
_BASES = {
    "intersection": "rows that agree in every observed cell",
    "union": "rows that agree in some observed cell",
}


def describe_missing_cells(
    table: Any, kernel: ProximityKernel, rng: np.random.Generator
) -> dict[str, Any]:
    """Describe how well the missing cells are known.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    kernel : ProximityKernel
        Fitted.
    rng : numpy.random.Generator
        Draws `MAX_ROWS` rows of a table that has more.

    Returns
    -------
    dict
        ``cells``: number of cells that were estimated. ``looked``: rows looked at.
        ``features``: columns with such cells, those with the most first: name, cells,
        certainty (the mean probability of the likeliest bin), usual (the share of the
        most common bin), informed (whether the estimates differ from the shares in the
        whole column), movers (the columns that moved informed estimates most) and basis
        (what the estimates rest on if there are no movers). ``empty``: columns without
        an observed value; their cells are not counted here. ``kept``: columns whose
        gaps are a bin of their own: name, missing and reason.
    """
    looked = len(table)
    if looked > MAX_ROWS:
        rows = np.sort(rng.choice(looked, MAX_ROWS, replace=False))
        table, looked = take_rows(table, rows), MAX_ROWS
    _, cells, shares = estimate_cells(kernel, table)
    names = [clean(absence.feature) for absence in kernel.missingness_]
    features = [
        _describe_feature(names, j, prior, cells[cells["feature"] == j], shares[j])
        for j, prior in enumerate(kernel.prior_)
        if len(prior) and len(shares[j])
    ]
    return {
        "cells": sum(one["cells"] for one in features),
        "looked": looked,
        "features": sorted(features, key=lambda one: -one["cells"]),
        "empty": [names[j] for j, prior in enumerate(kernel.prior_) if not len(prior)],
        "kept": [
            {
                "name": clean(absence.feature),
                "missing": absence.missing,
                "reason": clean(absence.reason, 300),
            }
            for absence in kernel.missingness_
            if absence.informative
        ],
    }


def _describe_feature(
    names: list[str],
    j: int,
    prior: NDArray[np.float64],
    cells: NDArray[np.void],
    shares: NDArray[np.float64],
) -> dict[str, Any]:
    levels, counts = np.unique(cells["level"], return_counts=True)
    moved = np.bincount(
        np.maximum(cells["columns"], 0).ravel(), cells["moved"].ravel(), len(names)
    )
    movers = np.argsort(-moved, kind="stable")[:_MAX_MOVERS]
    least = _MIN_PART * moved.max()
    informed = measure_distance(shares, prior) > _MIN_MOVED
    return {
        "name": names[j],
        "cells": len(cells),
        "certainty": float(cells["certainty"].mean()),
        "usual": float(prior.max()),
        "informed": informed,
        "movers": [names[i] for i in movers if informed and moved[i] > least],
        "basis": _BASES.get(str(levels[counts.argmax()]), _WHOLE_COLUMN),
    }


def measure_distance(shares: NDArray[np.float64], prior: NDArray[np.float64]) -> float:
    """Compute the mean total variation distance of estimates from the prior."""
    return float(1 - np.minimum(shares, prior).sum() / len(shares))
