"""Each distinct row of a coded table once, in lexicographic order, with its count."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._numba.distinct_loops import number_distinct, pack_digits, sort_by_digit

_LARGEST_DIGIT = 4096  # the counters of one sorting pass stay in cache
_Ints = NDArray[np.int64]


def find_distinct(
    cells: NDArray[Any], n_bins: _Ints
) -> tuple[NDArray[Any], _Ints, _Ints]:
    """Keep each distinct row once.

    Parameters
    ----------
    cells : ndarray of shape (n_samples, n_features), uint8 or uint16
        Codes.
    n_bins : ndarray of shape (n_features,), int64

    Returns
    -------
    rows : ndarray of shape (n_distinct, n_features)
        In lexicographic order.
    counts : ndarray of shape (n_distinct,), int64
    inverse : ndarray of shape (n_samples,), int64
        The index in `rows` of each row.
    """
    firsts = _group_features(n_bins + 2)
    largest = max(int(np.prod(n_bins[a:b] + 2)) for a, b in pairwise(firsts))
    digits = np.empty((len(firsts) - 1, len(cells)), np.uint16)
    pack_digits(cells, np.array(firsts), n_bins, digits)
    order = np.arange(len(cells))
    other = np.empty_like(order)
    start = np.empty(largest + 1, np.int64)
    for digit in digits[::-1]:  # the least significant first
        sort_by_digit(digit, start, order, other)
        order, other = other, order
    inverse = np.empty(len(cells), np.int64)
    starts = np.empty(len(cells) + 1, np.int64)
    n_distinct = number_distinct(digits, order, inverse, starts)
    starts[n_distinct] = len(cells)
    starts = starts[: n_distinct + 1]
    return cells[order[starts[:-1]]], np.diff(starts), inverse


def merge_distinct(
    parts: Sequence[tuple[NDArray[Any], _Ints]], n_bins: _Ints
) -> tuple[NDArray[Any], _Ints]:
    """Merge tables of distinct rows and add the counts of equal ones.

    Parameters
    ----------
    parts : sequence of pairs
        Rows of codes, of one dtype, and their counts.
    n_bins : ndarray of shape (n_features,), int64

    Returns
    -------
    rows : ndarray of shape (n_distinct, n_features)
        In lexicographic order.
    counts : ndarray of shape (n_distinct,), int64

    Examples
    --------
    >>> few = np.array([[0], [1]], np.uint8), np.array([2, 3])
    >>> more = np.array([[1], [255]], np.uint8), np.array([1, 1])
    >>> rows, counts = merge_distinct([few, more], np.array([2]))
    >>> rows.ravel().tolist(), counts.tolist()
    ([0, 1, 255], [2, 4, 1])
    """
    rows = np.concatenate([rows for rows, _ in parts])
    rows, _, inverse = find_distinct(rows, n_bins)
    totals = np.zeros(len(rows), np.int64)
    np.add.at(totals, inverse, np.concatenate([counts for _, counts in parts]))
    return rows, totals


def _group_features(sizes: _Ints) -> list[int]:
    """Split features into runs whose codes combine to a small number.

    Sorting takes a pass per run, so fewer runs are faster.
    """
    firsts, product = [0], 1
    for j, size in enumerate(sizes.tolist()):
        if j > firsts[-1] and product * size > _LARGEST_DIGIT:
            firsts.append(j)
            product = 1
        product *= size
    return [*firsts, len(sizes)]


def count_bins(rows: NDArray[Any], counts: _Ints, n_bins: _Ints) -> _Ints:
    """Count how often each bin is observed.

    Parameters
    ----------
    rows : ndarray of shape (n_distinct, n_features)
    counts : ndarray of shape (n_distinct,)
    n_bins : ndarray of shape (n_features,)

    Returns
    -------
    ndarray of shape (total bins,), int64
    """
    out = []
    for j, size in enumerate(n_bins.tolist()):
        known = rows[:, j] < size
        out.append(np.bincount(rows[known, j], counts[known], minlength=size))
    return np.concatenate(out).astype(np.int64)
