"""Decode bins to typical values.

A missing cell is filled with the typical value of a bin. For numbers this is the mean
of the values observed in it, not the center, because the first and the last center are
the extremes, far from most values of their bins. For ordered categories, and for rare
labels that share a bin, it is the most frequent one.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._numba.kernel_loops import average_bins
from .centers import NumericBins

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Typical:
    """The typical value of each bin of a feature.

    Attributes
    ----------
    values : ndarray of shape (n_bins,), float64, or tuple of labels
        Numbers, dates and durations in seconds, ranks; labels of a categorical.
    spread : ndarray of shape (n_bins,), float64
        Standard deviation of numbers within the bin; for ranks and labels the share of
        the bin's rows that have a different one.
    """

    values: _Floats | tuple[Hashable, ...]
    spread: _Floats


def average(
    values: _Floats, counts: _Ints, bins: NumericBins, ordered: bool
) -> Typical:
    """Learn the typical values of a numeric column from values with their counts.

    Parameters
    ----------
    values : ndarray of shape (n,), float64, contiguous
        NaN is skipped.
    counts : ndarray of shape (n,), int64, or empty
        How often each value occurs; if empty, once.
    bins : NumericBins
    ordered : bool
        Whether the values are ranks of categories.

    Returns
    -------
    Typical
    """
    if ordered:
        return _find_common_ranks(values, counts, bins)
    totals, shift, squares = (np.zeros(bins.n_bins) for _ in range(3))
    average_bins(values, counts, bins.midpoints, bins.centers, totals, shift, squares)
    means = bins.centers + shift
    spread = np.sqrt(squares / np.maximum(totals, 1))
    wrong = ~(np.isfinite(means) & np.isfinite(spread))  # near the limits of float64
    return Typical(np.where(wrong, bins.centers, means), np.where(wrong, 0, spread))


def _find_common_ranks(ranks: _Floats, counts: _Ints, bins: NumericBins) -> Typical:
    values, spread = np.round(bins.centers), np.zeros(bins.n_bins)
    whole = ranks[~np.isnan(ranks)].astype(np.intp)
    of_rank = np.bincount(whole, counts) if len(counts) else np.bincount(whole)
    held = np.searchsorted(bins.midpoints, np.arange(len(of_rank)))
    for k in np.unique(held[of_rank > 0]):
        here = np.where(held == k, of_rank, 0)
        values[k] = here.argmax()
        spread[k] = 1 - here.max() / here.sum()
    return Typical(values, spread)
