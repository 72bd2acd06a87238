"""Columns and bins in, codes out: from here on no NaN exists.

A cell's code is the number of its nearest center, the lower one in a tie, or of
its category. Two codes mean something else: the largest of the dtype is a missing
cell, the one below it a category that was not there at fit.

Equal rows have equal codes and get equal answers. Where that saves work, each distinct
row is kept once, with its count, in lexicographic order: similar rows lie together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._numba.code_loops import (
    assign_nearest,
    number_distinct,
    pack_digits,
    sort_by_digit,
)
from .._shared.threads import run_pieces
from .._table.columns import Column
from .centers import Bins, NumericBins

MAX_BINS = int(np.iinfo(np.uint16).max) - 2
"""Most bins a feature can have; a cell for its gaps may come beside them."""

_PIECE = 16384  # rows; in a row-major table they stay in cache for all columns
_LARGEST_DIGIT = 4096  # the counters of one sorting pass stay in cache too


@dataclass(frozen=True)
class Codes:
    """The coded rows of a table.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features), uint8 or uint16
        The rows of the table, or each distinct one once, in lexicographic order.
    counts : ndarray of shape (n_rows,), int64
        How often each stands in the table.
    inverse : ndarray of shape (n_samples,), int64
        Which of the rows each row of the table is.
    """

    rows: NDArray[Any]
    counts: NDArray[np.int64]
    inverse: NDArray[np.int64]

    def without_copies(self) -> Codes:
        """Take the rows as a table that has each of them once."""
        return Codes(self.rows, self.counts, np.arange(len(self.rows)))

    @property
    def missing(self) -> int:
        """The code of a missing cell."""
        return int(np.iinfo(self.rows.dtype).max)


def plain_codes(rows: NDArray[Any]) -> Codes:
    """Take rows of codes as they are, equal ones too."""
    return Codes(rows, np.ones(len(rows), np.int64), np.arange(len(rows)))


def assign_codes(
    columns: Sequence[Column],
    bins: Sequence[Bins],
    n_threads: int,
    distinct: bool = False,
) -> Codes:
    """Code the rows of a table.

    Parameters
    ----------
    columns, bins : sequences, one entry per feature
    n_threads : int
    distinct : bool
        Whether to keep each distinct row once.

    Returns
    -------
    Codes

    Examples
    --------
    >>> from proximity_kernel._bins.centers import NumericBins
    >>> from proximity_kernel._table.columns import read_columns
    >>> columns = read_columns([[0.9], [5.0], [None], [1.1], [0.9]])
    >>> bins = [NumericBins(np.array([0.0, 2.0, 8.0]))]
    >>> codes = assign_codes(columns, bins, 1, distinct=True)
    >>> codes.rows.ravel().tolist(), codes.counts.tolist()
    ([0, 1, 255], [2, 2, 1])
    >>> codes.inverse.tolist()
    [0, 1, 2, 1, 0]
    """
    n_bins = np.array([b.n_bins for b in bins], dtype=np.int64)
    dtype = code_dtype(n_bins)
    cells = np.empty((len(columns[0].values), len(columns)), dtype)
    coders = [_coder(c, b, dtype) for c, b in zip(columns, bins, strict=True)]

    def code_some(first: int, last: int) -> None:
        for j, coder in enumerate(coders):
            cells[first:last, j] = coder(first, last)

    run_pieces(code_some, len(cells), _PIECE, n_threads)
    codes = plain_codes(cells)
    return gather_distinct(codes, n_bins) if distinct else codes


def code_dtype(n_bins: NDArray[np.int64]) -> type[np.uint8] | type[np.uint16]:
    """Find the smallest dtype that holds the codes: bins, unknown and missing."""
    return np.uint8 if n_bins.max() <= np.iinfo(np.uint8).max - 1 else np.uint16


def _coder(
    column: Column, bins: Bins, dtype: Any
) -> Callable[[int, int], NDArray[Any]]:
    """Make the function that codes the cells from `first` up to `last`."""
    missing = int(np.iinfo(dtype).max)
    unknown = missing - 1

    def nearest(first: int, last: int) -> NDArray[Any]:
        # A copy, so that the loop is compiled for one layout of memory only.
        values = np.array(column.values[first:last])
        codes = np.empty(len(values), dtype)
        assign_nearest(values, midpoints, missing, codes)
        return codes

    def without_bins(first: int, last: int) -> NDArray[Any]:
        return np.where(observed[first:last], unknown, missing)

    def category(first: int, last: int) -> NDArray[Any]:
        return table[column.values[first:last]]  # -1, missing, is the last entry

    if not bins.n_bins:
        observed = column.observed
        return without_bins
    if isinstance(bins, NumericBins):
        midpoints = bins.midpoints
        return nearest
    known = {label: k for k, label in enumerate(bins.categories)}
    known.update(dict.fromkeys(bins.infrequent, len(bins.categories)))
    table = np.array([*(known.get(v, unknown) for v in column.labels), missing], dtype)
    return category


def count_bins(
    rows: NDArray[Any], counts: NDArray[np.int64], n_bins: NDArray[np.int64]
) -> NDArray[np.int64]:
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


def merge_distinct(
    parts: Sequence[tuple[NDArray[Any], NDArray[np.int64]]], n_bins: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
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
    found = gather_distinct(plain_codes(rows), n_bins)
    counts = np.concatenate([counts for _, counts in parts])
    totals = np.zeros(len(found.rows), np.int64)
    np.add.at(totals, found.inverse, counts)
    return found.rows, totals


def gather_distinct(codes: Codes, n_bins: NDArray[np.int64]) -> Codes:
    """Keep each distinct row once.

    Parameters
    ----------
    codes : Codes
        Of the rows of a table, as they are.
    n_bins : ndarray of shape (n_features,), int64

    Returns
    -------
    Codes
    """
    cells = codes.rows
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
    return Codes(cells[order[starts[:-1]]], np.diff(starts), inverse)


def _group_features(sizes: NDArray[np.int64]) -> list[int]:
    """Split features into runs whose codes together make a small number.

    Sorting takes a pass per run, so fewer runs are faster.
    """
    firsts, product = [0], 1
    for j, size in enumerate(sizes.tolist()):
        if j > firsts[-1] and product * size > _LARGEST_DIGIT:
            firsts.append(j)
            product = 1
        product *= size
    return [*firsts, len(sizes)]
