"""The reference in, weights out: how much each code tells about each feature.

For a feature j and a code a of another feature f, look at the fitted rows that observe
both features. Their frequencies of j's bins are q; among those with code a they are p.
The code tells the more, the further it moves the frequencies: ``D = sum((p - q)**2)``.
A weight is this as a share of the largest for feature j, in whole numbers from 1, so
that bitmaps can count with them: ``1 + round(14 * D / max D)``, halves up (6 for 14 in
wide tables, where counting is most of the work). Every code weighs at least one, so a
row that shares any code stands on the ladder and one that shares all of them at its
top.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._bitmaps import MOST_WEIGHT
from ._loops import count_together
from ._reference import Reference, read_only
from ._threads import run_pieces

_MOST_PAIRS = 1_000_000_000  # rows x features x features: about a second
_MOST_WEIGHTS = 1 << 26  # bytes
_MOST_TOGETHER = 1 << 22  # bins of a feature x bins of all
_WIDE = 64  # features; in wider tables
_MOST_WEIGHT_WIDE = 7
_DIGITS = 9  # of a share, so that halves are halves on every machine


def weigh_codes(reference: Reference, n_threads: int) -> NDArray[np.uint8]:
    """Weigh every code of the reference for every feature.

    Parameters
    ----------
    reference : Reference
    n_threads : int

    Returns
    -------
    ndarray of shape (n_features, total bins), uint8
        Row j holds what each code weighs where feature j is missing, from 1 to 15, to
        7 in tables of more than 64 features. Of very large tables a part of the rows
        is counted. Where a feature has very many bins (4 million times all bins of the
        table), codes weigh one; very wide tables (about 4,000 features of four bins)
        have no weights: the shape is (0, total bins), and all codes weigh one.
    """
    maps = reference.bitmaps
    n_features, total = len(maps.n_bins), int(maps.offsets[-1])
    if n_features * total > _MOST_WEIGHTS:
        return np.ones((0, total), np.uint8)
    weights = np.ones((n_features, total), np.uint8)
    most = MOST_WEIGHT if n_features <= _WIDE else _MOST_WEIGHT_WIDE
    rows, counts = _choose_rows(maps.rows, maps.counts, _MOST_PAIRS // n_features**2)

    def weigh_some(first: int, last: int) -> None:
        for j in range(first, last):
            if maps.n_bins[j] * total > _MOST_TOGETHER:
                continue
            together = np.zeros((int(maps.n_bins[j]), total))
            count_together(rows, counts, maps.n_bins, maps.offsets, j, together)
            moved = _move(together, maps.n_bins, maps.offsets)
            moved[maps.offsets[j] : maps.offsets[j + 1]] = 0  # of itself it tells all
            weights[j] = _grade(moved, most)

    run_pieces(weigh_some, n_features, piece=1, n_threads=n_threads)
    weights.flags.writeable = False
    return weights


def _choose_rows(
    rows: NDArray[Any], counts: NDArray[np.int64], most: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Take rows, spread over the order of their codes; all, if they are few.

    They lie at steps of the golden section: evenly spread, in step with no pattern.
    """
    if len(rows) <= most:
        return rows, counts
    last = np.cumsum(counts)
    steps = np.arange(1, max(most, 1) + 1) * ((np.sqrt(5) - 1) / 2) % 1
    at, taken = np.unique(
        np.searchsorted(last, (steps * last[-1]).astype(np.int64), side="right"),
        return_counts=True,
    )
    return read_only(rows[at]), read_only(taken.astype(np.int64))


def _move(
    together: NDArray[np.float64], n_bins: NDArray[np.int64], offsets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How far each code moves the frequencies, shape (total bins,)."""
    if not together.size:
        return np.zeros(together.shape[1])
    has_bins = n_bins > 0
    by_feature = np.add.reduceat(together, offsets[:-1][has_bins], axis=1)
    usual = by_feature / np.maximum(by_feature.sum(axis=0), 1)
    with_code = together / np.maximum(together.sum(axis=0), 1)
    gap = with_code - np.repeat(usual, n_bins[has_bins], axis=1)
    moved: NDArray[np.float64] = (gap**2).sum(axis=0)
    return np.where(together.any(axis=0), moved, 0.0)


def _grade(moved: NDArray[np.float64], most: int) -> NDArray[np.uint8]:
    furthest = moved.max(initial=0.0)
    if not furthest:
        return np.ones(len(moved), np.uint8)
    share = np.round((most - 1) * moved / furthest, _DIGITS)
    weights: NDArray[np.uint8] = (1 + np.floor(share + 0.5)).astype(np.uint8)
    return weights
