"""Rows with values that do not fit the rest of their row.

Each observed cell is estimated from the others of its row, as if it were missing. It is
surprising if the estimate makes it at least ten times less likely than it is in the
whole column. So a value that is only rare is not surprising. A number between the
centers of two bins counts for both, more for the nearer one. So a number just past the
limit of a bin is not surprising for that alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from .._coded import CodedTable
from .._model import Model
from .._shared.resources import count_threads
from .._shared.wording import write_share
from ..kernel import bin_names
from .display_columns import DisplayColumn
from .missing_cells import sample_rows

_SURPRISING = np.log(10)  # ten times less likely
_N_ROWS = 10
_N_CELLS = 3  # of a row
_MAX_ROWS = 100_000
_CASCADE_ROWS = 2_000  # each cell is matched again, which takes long
_ROOM = 1 << 22  # numbers in memory at a time
_LEAST_SHARE = 1e-6  # of a bin that no matching row has


def find_surprising_rows(
    kernel: ProximityKernel,
    columns: Sequence[DisplayColumn],
    coded: CodedTable,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Find the rows with values that do not fit the rest of their row.

    Parameters
    ----------
    kernel : ProximityKernel
        Fitted.
    columns : sequence of DisplayColumn
    coded : CodedTable
        All rows.
    rng : numpy.random.Generator
        Samples the rows that are searched, if there are too many.

    Returns
    -------
    dict
        ``looked``: number of rows searched. ``found``: how many of them have a
        surprising cell. ``rows``: the first ten, the most surprising first: row (its
        index) and cells, a list of dict: feature and text.
    """
    model, n_threads = kernel.model_, count_threads(kernel.n_jobs)
    most = _CASCADE_ROWS if model.matcher.leaves_bins_out else _MAX_ROWS
    looked = sample_rows(len(coded), most, rng)
    codes = coded.bins[coded.index]
    surprise = np.zeros((len(looked), len(columns)), np.float32)
    for j, n_bins in enumerate(model.n_bins.tolist()):
        here = np.flatnonzero(codes[looked, j] < n_bins)
        if not len(here):
            continue
        step = max(1, _ROOM // n_bins)
        for some in np.split(here, range(step, len(here), step)):
            rows = looked[some]
            shares = _estimate_observed(model, codes[rows], j, n_threads)
            surprise[some, j] = _measure(kernel, columns[j], j, codes, rows, shares)
    surprise[surprise < _SURPRISING] = 0
    total = surprise.sum(axis=1)
    order = np.argsort(-total, kind="stable")[: min(_N_ROWS, np.count_nonzero(total))]
    return {
        "looked": len(looked),
        "found": int(np.count_nonzero(total)),
        "rows": [
            {
                "row": int(looked[at]),
                "cells": [
                    _describe(kernel, columns[j], j, codes, int(looked[at]))
                    for j in np.argsort(-surprise[at], kind="stable")[:_N_CELLS]
                    if surprise[at, j]
                ],
            }
            for at in order.tolist()
        ],
    }


def _estimate_observed(
    model: Model, rows: NDArray[Any], j: int, n_threads: int
) -> NDArray[np.float64]:
    """Estimate feature j of coded rows as if it were missing."""
    missing = np.iinfo(rows.dtype).max
    if not model.matcher.leaves_bins_out:
        # Other missing cells are not estimated: as unknown categories they are no
        # evidence either.
        rows = np.where(rows == missing, missing - 1, rows).astype(rows.dtype)
    rows = rows.copy()
    rows[:, j] = missing
    found = model.matcher.estimate(CodedTable.of_rows(rows), n_threads)
    return np.maximum(found.of_feature(j, int(model.n_bins[j])), _LEAST_SHARE)


def _measure(
    kernel: ProximityKernel,
    column: DisplayColumn,
    j: int,
    codes: NDArray[Any],
    rows: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Measure how much less likely cells are than in the whole column, in logarithms.

    The likeliest bin of an estimate is never surprising. Far values are 0, because the
    page lists them elsewhere.
    """
    own = codes[rows, j].astype(np.int64)
    other, part = _find_other_bin(kernel.bin_centers_[j], column.values[rows], own)
    at = np.arange(len(rows))
    here = (1 - part) * shares[at, own] + part * shares[at, other]
    prior = np.maximum(kernel.prior_[j], _LEAST_SHARE)
    usual = (1 - part) * prior[own] + part * prior[other]
    known = shares.argmax(axis=1) == own
    if column.usual is not None:
        values = column.values[rows]
        known |= (values < column.usual.low) | (values > column.usual.high)
    return np.where(known, 0, np.log(usual / here))


def _find_other_bin(
    centers: NDArray[np.float64] | None,
    values: NDArray[np.float64],
    own: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the neighboring bin for which a number counts too, and by which part.

    The part is 0 at the center of the number's own bin and 0.5 at its limit.
    """
    if centers is None or len(centers) < 2:
        return own, np.zeros(len(own))
    last = len(centers) - 1
    center = centers[np.minimum(own, last)] / 2  # halves: a difference may be too large
    values = np.where(own > last, np.nan, values) / 2  # missing cells have no center
    other = np.clip(own + np.where(values > center, 1, -1), 0, last)
    width = np.abs(centers[other] / 2 - center)  # 0 beyond the last center
    part = np.abs(values - center) / np.where(width > 0, width, np.inf)
    return other, np.nan_to_num(np.minimum(part, 0.5))


def _describe(
    kernel: ProximityKernel,
    column: DisplayColumn,
    j: int,
    codes: NDArray[Any],
    row: int,
) -> dict[str, str]:
    """Describe a surprising cell: its column, its value, and what was expected."""
    shares = _estimate_observed(kernel.model_, codes[[row]], j, 1)[0]
    likeliest = int(shares.argmax())
    share = write_share(float(shares[likeliest]))
    value = "empty" if column.missing[row] else column.write(column.values[row])
    expected = column.write_bin(bin_names(kernel)[j][likeliest])
    if kernel.missingness_[j].informative and likeliest == len(shares) - 1:
        expected = "no value"
    text = f"{value}, but the rest of the row suggests {expected} ({share})"
    return {"feature": column.name, "text": text}
