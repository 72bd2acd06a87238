"""Codes and reference in, estimates out: a distribution for every missing cell.

The rows that match a row with missing cells are those that share its codes. All of
them (the intersection)? Any of them (the union)? Or, `graded`, as many as leave
enough rows: rung t holds the rows that share at least t, and the highest rung with
`min_support` rows that observe the missing feature is taken. The estimate is the
mean of the one-hot blocks of these rows; where nobody matches, it is the prior.

The search itself is in `_search`; here the cells are laid out for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._codes import Codes
from ._reference import Reference, read_only
from ._search import Cells, make_scratch, match_rows
from ._threads import run_pieces

Matching = Literal["graded", "cascade"]

_PIECE = 1024  # distinct rows; a few milliseconds of search


@dataclass(frozen=True)
class Estimates:
    """What is assumed about the missing cells of the distinct rows.

    Attributes
    ----------
    row_start : ndarray of shape (n_distinct + 1,), int64
        The missing cells of distinct row g are those from ``row_start[g]`` up to
        ``row_start[g + 1]``, in the order of their features.
    feature : ndarray of shape (n_cells,), int64
    observed : ndarray of shape (n_distinct,), int64
        Features with bins that the row observes, unknown categories among them.
    rung : ndarray of shape (n_cells,), int64
        Codes shared by the rows behind the estimate; 0 for the prior.
    support : ndarray of shape (n_cells,), int64
        Rows behind the estimate.
    block_start : ndarray of shape (n_cells + 1,), int64
        Where each cell's distribution begins in `probabilities`.
    probabilities : ndarray, float64
    """

    row_start: NDArray[np.int64]
    feature: NDArray[np.int64]
    observed: NDArray[np.int64]
    rung: NDArray[np.int64]
    support: NDArray[np.int64]
    block_start: NDArray[np.int64]
    probabilities: NDArray[np.float64]


def match(
    codes: Codes,
    reference: Reference,
    matching: Matching,
    min_support: int,
    n_threads: int,
) -> Estimates:
    """Estimate the missing cells of coded rows from the reference.

    Parameters
    ----------
    codes : Codes
    reference : Reference
    matching : {"graded", "cascade"}
    min_support : int
        Rows that `graded` asks for; `cascade` is content with one.
    n_threads : int

    Returns
    -------
    Estimates
    """
    cells = _lay_out_cells(codes, reference)
    maps, rows = reference.bitmaps, read_only(codes.rows)
    ends_only = matching == "cascade"
    # More than all rows is as good as infinity, and fits the loops' integers.
    support = 1 if ends_only else min(min_support, int(reference.counts.sum()) + 1)

    def match_some(first: int, last: int) -> None:
        row = make_scratch(maps)
        match_rows(maps, rows, first, last, cells, support, ends_only, row)

    run_pieces(match_some, len(rows), _PIECE, n_threads)
    return Estimates(**cells._asdict())


def _lay_out_cells(codes: Codes, reference: Reference) -> Cells:
    missing: NDArray[Any] = codes.rows == codes.missing
    row, feature = np.nonzero(missing)
    has_bins = reference.n_bins > 0
    block_start = np.zeros(len(row) + 1, np.int64)
    np.cumsum(reference.n_bins[feature], out=block_start[1:])
    return Cells(
        row_start=np.searchsorted(row, np.arange(len(missing) + 1)),
        feature=feature,
        block_start=block_start,
        observed=has_bins.sum() - (missing & has_bins).sum(axis=1),
        rung=np.zeros(len(row), np.int64),
        support=np.zeros(len(row), np.int64),
        probabilities=np.zeros(block_start[-1]),
    )
