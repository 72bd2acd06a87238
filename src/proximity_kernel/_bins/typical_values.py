"""Columns and bins in, typical values out: what a bin is decoded to.

The kernel asks only whether two values lie in the same bin. Who needs a value for a
missing cell gets the one that is typical of a bin. Of numbers that is the mean of those
observed in it, not the center: the first and the last center of evenly spaced
percentiles are the extremes, which hardly any value of their bins comes near. Of
ordered categories it is the most frequent one, and likewise of the rare labels that
share a bin.

Beside it stands how far a value of the bin is from it: the standard deviation of
numbers, the share of other labels.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._numba.code_loops import average_bins
from .._shared.threads import run_pieces
from .._table.columns import Column
from .centers import FEW_ROWS, Bins, CategoricalBins, NumericBins

_ONCE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Typical:
    """What is typical of each bin of a feature.

    Attributes
    ----------
    values : ndarray of shape (n_bins,), float64, or tuple of labels
        Numbers, dates and durations in seconds, ranks; labels of a categorical.
    spread : ndarray of shape (n_bins,), float64
        Standard deviation of numbers within the bin; for ranks and labels the share of
        the bin's rows that have another.
    """

    values: NDArray[np.float64] | tuple[Hashable, ...]
    spread: NDArray[np.float64]


def learn_typical(
    columns: Sequence[Column], bins: Sequence[Bins], n_threads: int
) -> tuple[Typical, ...]:
    """Learn the typical values of all bins.

    Parameters
    ----------
    columns, bins : sequences, one entry per feature
    n_threads : int

    Returns
    -------
    tuple of Typical, one per feature

    Examples
    --------
    >>> from proximity_kernel._table.columns import read_columns
    >>> columns = read_columns([[0.0], [1.0], [1.0], [2.0], [20.0]])
    >>> (found,) = learn_typical(columns, [NumericBins(np.array([0.0, 20.0]))], 1)
    >>> found.values.tolist(), found.spread.round(2).tolist()
    ([1.0, 20.0], [0.71, 0.0])
    """
    out: list[Any] = [None] * len(columns)

    def learn_some(first: int, last: int) -> None:
        for j in range(first, last):
            out[j] = _learn(columns[j], bins[j])

    long = len(columns[0].values) > FEW_ROWS
    run_pieces(learn_some, len(columns), 1, n_threads if long else 1)
    return tuple(out)


def average(
    values: NDArray[np.float64],
    counts: NDArray[np.int64],
    bins: NumericBins,
    ordered: bool,
) -> Typical:
    """Learn the typical values of a numeric column from values with their counts.

    Parameters
    ----------
    values : ndarray of shape (n,), float64, in one piece
        NaN is left out; ranks have none.
    counts : ndarray of shape (n,), int64, or without entries
        How often each is there; without entries, once.
    bins : NumericBins
    ordered : bool
        Whether they are ranks of categories.

    Returns
    -------
    Typical
    """
    return (_learn_ranks if ordered else _learn_numbers)(values, counts, bins)


def find_common(
    labels: Sequence[Hashable], counts: NDArray[np.int64], bins: CategoricalBins
) -> Typical:
    """Learn the typical labels of a categorical column from labels with their counts.

    Parameters
    ----------
    labels : sequence
    counts : ndarray of shape (n_labels,), int64
    bins : CategoricalBins

    Returns
    -------
    Typical
    """
    spread = np.zeros(bins.n_bins)
    if not bins.infrequent:
        return Typical(bins.categories, spread)
    rare = [label in bins.infrequent for label in labels]
    here = np.where(rare, counts, 0)
    spread[-1] = 1 - here.max() / here.sum()
    return Typical((*bins.categories, labels[int(here.argmax())]), spread)


def _learn(column: Column, bins: Bins) -> Typical:
    if isinstance(bins, CategoricalBins):
        if not bins.infrequent:  # nobody needs to count
            return Typical(bins.categories, np.zeros(bins.n_bins))
        observed = column.values[column.observed]
        counts = np.bincount(observed, minlength=len(column.labels))
        return find_common(column.labels, counts, bins)
    ordered = column.type.order is not None
    values = column.values[column.observed] if ordered else np.array(column.values)
    return average(values, _ONCE, bins, ordered)


def _learn_numbers(
    values: NDArray[np.float64], counts: NDArray[np.int64], bins: NumericBins
) -> Typical:
    totals, shift, squares = (np.zeros(bins.n_bins) for _ in range(3))
    average_bins(values, counts, bins.midpoints, bins.centers, totals, shift, squares)
    means = bins.centers + shift
    spread = np.sqrt(squares / np.maximum(totals, 1))
    wrong = ~(np.isfinite(means) & np.isfinite(spread))  # near the ends of float64
    return Typical(np.where(wrong, bins.centers, means), np.where(wrong, 0, spread))


def _learn_ranks(
    ranks: NDArray[np.float64], counts: NDArray[np.int64], bins: NumericBins
) -> Typical:
    values, spread = np.round(bins.centers), np.zeros(bins.n_bins)
    whole = ranks.astype(np.intp)
    of_rank = np.bincount(whole, counts) if len(counts) else np.bincount(whole)
    held = np.searchsorted(bins.midpoints, np.arange(len(of_rank)))
    for k in np.unique(held[of_rank > 0]):
        here = np.where(held == k, of_rank, 0)
        values[k] = here.argmax()
        spread[k] = 1 - here.max() / here.sum()
    return Typical(values, spread)
