"""How well the missing cells of each column are known, and from which columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from ._display_columns import take_rows
from ._text import clean

MAX_ROWS = 100_000
"""Rows whose missing cells are looked at."""

_MAX_MOVERS = 3  # columns named for each
_BETTER = 0.02  # more certain than the frequencies, to be called informed


@dataclass(frozen=True)
class MissingCells:
    """What is known about the missing cells.

    Attributes
    ----------
    cells : int
        Those that were estimated.
    looked : int
        Rows looked at.
    features : list of dict
        With the keys name, cells, certainty (mean probability of the likeliest bin),
        usual (the share of the most common bin), informed (whether the estimates are
        more certain than that) and movers (names of the columns that moved the
        estimates most), those with the most cells first.
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
    features = [
        _describe_feature(names, j, kernel.prior_[j], cells[cells["feature"] == j])
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
    names: list[str], j: int, prior: NDArray[np.float64], cells: NDArray[np.void]
) -> dict[str, Any]:
    moved = np.bincount(
        np.maximum(cells["columns"], 0).ravel(), cells["moved"].ravel(), len(names)
    )
    movers = np.argsort(-moved, kind="stable")[:_MAX_MOVERS]
    certainty, usual = float(cells["certainty"].mean()), float(prior.max())
    return {
        "name": names[j],
        "cells": len(cells),
        "certainty": certainty,
        "usual": usual,
        "informed": certainty > usual + _BETTER,
        "movers": [names[i] for i in movers if moved[i] > 0],
    }
