"""Codes and reference in, estimates out: a distribution for every missing cell.

The rows that match a row with missing cells are those that share its codes. All of
them (the intersection)? Any of them (the union)? `cascade` knows these two. `graded`
has every rung between: rung t holds the rows that share at least t codes, and the
highest rung with `min_support` rows that observe the missing feature is taken, or all
rows that share any code if there are fewer. The estimate is the mean of the one-hot
blocks of these rows; where nobody matches, it is the prior.

`weighted` is the ladder on which a code counts by what it tells about the missing
features of the row (`_weights`), in their mean, and the rungs above the one taken
refine the estimate (`_tallies`).

The search itself is in `_search`; here the cells are laid out for it.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._bitmaps import WEIGHT_BITS, count_blocks
from ._codes import Codes
from ._reference import Reference, read_only
from ._search import match_rows
from ._tallies import Estimates, make_scratch
from ._threads import run_pieces

Matching = Literal["weighted", "graded", "cascade"]
MATCHINGS: tuple[Matching, ...] = ("weighted", "graded", "cascade")

_CELL = np.dtype("i8, i8, U12, i8, i8, i8, ?")
_CELL.names = ("row", "feature", "level", "rung", "observed", "support", "sampled")
_PIECE = 1024  # distinct rows at the most
_PIECE_WORK = 200_000_000  # features x features x blocks: some tenths of a second


def match(
    codes: Codes,
    reference: Reference,
    matching: Matching,
    min_support: int,
    weights: NDArray[np.uint8],
    n_threads: int,
) -> Estimates:
    """Estimate the missing cells of coded rows from the reference.

    Parameters
    ----------
    codes : Codes
    reference : Reference
    matching : {"weighted", "graded", "cascade"}
    min_support : int
        Rows that a rung must have, of a sample rare ones; `cascade` is content with
        one.
    weights : ndarray of shape (n_features, total bins), uint8
        Of `_weights.weigh_codes`; without rows for all but "weighted".
    n_threads : int

    Returns
    -------
    Estimates
    """
    maps, rows = reference.bitmaps, read_only(codes.rows)
    weights = read_only(weights)
    estimates = _lay_out_cells(codes, reference)
    ends_only = matching == "cascade"
    min_support *= reference.unit
    pseudo_rows = float(min(min_support, 1 << 53)) if matching == "weighted" else 0.0
    # More than all rows is as good as infinity, and fits the loops' integers.
    support = 1 if ends_only else min(min_support, maps.n_samples + 1)

    def match_some(first: int, last: int) -> None:
        scratch = make_scratch(maps, weighted=len(weights) > 0)
        match_rows(
            maps, rows, first, last, estimates, support, ends_only, weights,
            pseudo_rows, scratch,
        )  # fmt: skip

    n_blocks = count_blocks(len(maps.rows))
    work = len(maps.n_bins) ** 2 * n_blocks * (WEIGHT_BITS if len(weights) else 1)
    piece = max(1, min(_PIECE, _PIECE_WORK // work))  # an interrupt is soon heard
    run_pieces(match_some, len(rows), piece, n_threads)
    return estimates


def list_cells(
    codes: Codes, estimates: Estimates, reference: Reference
) -> NDArray[np.void]:
    """List every missing cell of a table with what its estimate rests on.

    Parameters
    ----------
    codes : Codes
    estimates : Estimates
        Of the same rows.
    reference : Reference
        That they were matched against.

    Returns
    -------
    structured ndarray of shape (n_missing,), row after row
        With the fields row, feature, level, rung, observed, support and sampled.
    """
    sizes = np.diff(estimates.row_start)[codes.inverse]
    row = np.repeat(np.arange(len(codes.inverse)), sizes)
    distinct = codes.inverse[row]
    within = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    cell = estimates.row_start[distinct] + within
    rung, (least, height) = estimates.rung[cell], estimates.ends[distinct].T
    out = np.empty(len(row), _CELL)
    out["row"], out["feature"] = row, estimates.feature[cell]
    out["rung"], out["observed"] = rung, estimates.observed[distinct]
    out["support"] = estimates.support[cell]
    out["sampled"] = reference.sampled & (rung > 0)  # the prior is of all rows
    out["level"] = np.select(
        [rung == 0, rung == height, rung <= least],
        ["prior", "intersection", "union"],
        "partial",
    )
    return out


def _lay_out_cells(codes: Codes, reference: Reference) -> Estimates:
    """Make room for the estimates: which cells are missing, and in which rows."""
    n_bins = reference.bitmaps.n_bins
    missing: NDArray[Any] = codes.rows == codes.missing
    row, feature = np.nonzero(missing)
    has_bins = n_bins > 0
    start = np.zeros(len(row) + 1, np.int64)
    np.cumsum(n_bins[feature], out=start[1:])
    return Estimates(
        row_start=np.searchsorted(row, np.arange(len(missing) + 1)),
        # Of one layout, whether cells are missing or not: else it is compiled twice.
        feature=np.ascontiguousarray(feature),
        observed=has_bins.sum() - (missing & has_bins).sum(axis=1),
        ends=np.zeros((len(missing), 2), np.int64),
        rung=np.zeros(len(row), np.int64),
        support=np.zeros(len(row), np.int64),
        start=start,
        probabilities=np.zeros(start[-1]),
    )
