"""The table in, out: how well the missing cells of each column are known.

An estimate is a probability distribution over the bins of its column. Where the other
columns do not help, it is the share of each bin in the whole column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import ProximityKernel
from ._display_columns import take_rows
from ._row_data import split_bins
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


@dataclass(frozen=True)
class MissingCells:
    """How well the missing cells are known.

    Attributes
    ----------
    cells : int
        Number of cells that were estimated.
    looked : int
        Rows looked at.
    features : list of dict
        Columns with such cells, those with the most first: name, cells, certainty (the
        mean probability of the likeliest bin), usual (the share of the most common
        bin), informed (whether the estimates differ from the shares in the whole
        column), movers (the columns that moved informed estimates most) and basis
        (what the estimates rest on if there are no movers).
    empty : list of str
        Columns without an observed value; their cells are not counted here.
    kept : list of dict
        Columns whose gaps are a bin of their own: name, missing and reason.
    """

    cells: int
    looked: int
    features: list[dict[str, Any]]
    empty: list[str]
    kept: list[dict[str, Any]]


def describe_missing_cells(
    table: Any, kernel: ProximityKernel, rng: np.random.Generator
) -> MissingCells:
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
    MissingCells
    """
    looked = len(table)
    if looked > MAX_ROWS:
        rows = np.sort(rng.choice(looked, MAX_ROWS, replace=False))
        table, looked = take_rows(table, rows), MAX_ROWS
    cells = kernel.provenance(table)
    n_bins = np.asarray(kernel.n_bins_)
    cells = cells[n_bins[cells["feature"]] > 0]
    names = [clean(absence.feature) for absence in kernel.missingness_]
    shares = split_bins(kernel, sp.csr_array(kernel.transform(table)))
    features = [
        _describe_feature(
            names, j, kernel.prior_[j], shares[j], cells[cells["feature"] == j]
        )
        for j in np.unique(cells["feature"]).tolist()
    ]
    return MissingCells(
        cells=len(cells),
        looked=looked,
        features=sorted(features, key=lambda one: -one["cells"]),
        empty=[names[j] for j in np.flatnonzero(n_bins == 0)],
        kept=[
            {
                "name": clean(absence.feature),
                "missing": absence.missing,
                "reason": clean(absence.reason, 300),
            }
            for absence in kernel.missingness_
            if absence.informative
        ],
    )


def _describe_feature(
    names: list[str],
    j: int,
    prior: NDArray[np.float64],
    shares: sp.csr_array,
    cells: NDArray[np.void],
) -> dict[str, Any]:
    levels, counts = np.unique(cells["level"], return_counts=True)
    moved = np.bincount(
        np.maximum(cells["columns"], 0).ravel(), cells["moved"].ravel(), len(names)
    )
    movers = np.argsort(-moved, kind="stable")[:_MAX_MOVERS]
    least = _MIN_PART * moved.max()
    informed = _measure_distance(shares[cells["row"]], prior) > _MIN_MOVED
    return {
        "name": names[j],
        "cells": len(cells),
        "certainty": float(cells["certainty"].mean()),
        "usual": float(prior.max()),
        "informed": informed,
        "movers": [names[i] for i in movers if informed and moved[i] > least],
        "basis": _BASES.get(str(levels[counts.argmax()]), _WHOLE_COLUMN),
    }


def _measure_distance(estimates: sp.csr_array, prior: NDArray[np.float64]) -> float:
    """Compute the mean total variation distance of estimates from the prior."""
    common = np.minimum(estimates.data, prior[estimates.indices]).sum()
    return float(1 - common / estimates.shape[0])
