"""Code the cells of columns by their bins.

A cell's code is the number of its nearest center (the lower one in a tie) or of its
category. Two codes are special: the largest of the dtype is a missing cell, and the one
below it is a category not seen at fit. Past this module there is no NaN.

Equal rows have equal codes and equal results. Where that saves work, each distinct row
is kept once, with its count, in lexicographic order, so that similar rows are adjacent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._numba.kernel_loops import assign_nearest
from .._shared.options import BinCount
from .._shared.threads import run_pieces
from .._table.columns import Column, ColumnType, mark_whole, read_columns
from .centers import (
    FEW_ROWS,
    Bins,
    CategoricalBins,
    NumericBins,
    Ordered,
    Selected,
    rank_centers,
    rank_values,
)
from .distinct_rows import find_distinct
from .fine_scale import MOST_LEAVES
from .typical_values import Typical, average

_PIECE = 16384  # rows; in a row-major table they stay in cache for all columns
_NO_COUNTS = np.empty(0, np.int64)
_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Codes:
    """The coded rows of a table.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features), uint8 or uint16
        The rows of the table, or each distinct one once, in lexicographic order.
    counts : ndarray of shape (n_rows,), int64
        How often each row occurs in the table.
    inverse : ndarray of shape (n_samples,), int64
        The index in `rows` of each row of the table.
    leaves : ndarray of shape (n_rows, n_features), dtype of the rows, or None
        The leaves of "fine" features, the codes of others; None if none is "fine".
    """

    rows: NDArray[Any]
    counts: _Ints
    inverse: _Ints
    leaves: NDArray[Any] | None = None

    def distinct(self, n_bins: _Ints) -> Codes:
        """Keep each distinct row once, of codes that have one entry per table row."""
        if self.leaves is None:
            return Codes(*find_distinct(self.rows, n_bins))
        most = np.maximum(n_bins, MOST_LEAVES + 1)
        leaves, counts, inverse = find_distinct(self.leaves, most)
        rows = np.empty_like(leaves)
        rows[inverse] = self.rows
        return Codes(rows, counts, inverse, leaves)

    def repeat(self, copies: _Ints) -> Codes:
        """Count each row of the table as often as `copies`, shape (n_samples,)."""
        counts = np.bincount(self.inverse, copies, len(self.rows)).astype(np.int64)
        return replace(self, counts=counts)

    @property
    def missing(self) -> int:
        """The code of a missing cell."""
        return int(np.iinfo(self.rows.dtype).max)


@dataclass(frozen=True)
class Binned:
    """The bins of a table, by which its rows are coded.

    Attributes
    ----------
    types : tuple of ColumnType
    categorical_features
        The option that the columns were read with.
    bins : tuple of NumericBins and CategoricalBins
    typical : tuple of Typical
        The values that bins are decoded to.
    """

    types: tuple[ColumnType, ...]
    categorical_features: Any
    bins: tuple[Bins, ...]
    typical: tuple[Typical, ...]

    @property
    def n_bins(self) -> _Ints:
        """Number of bins of each feature, without one for missing."""
        return np.array([b.n_bins for b in self.bins], np.int64)

    def code(self, table: Any, n_threads: int, distinct: bool) -> Codes:
        """Code the rows of a table that has these columns; see `assign_codes`."""
        columns = read_columns(
            table, categorical_features=self.categorical_features, fitted=self.types
        )
        return assign_codes(columns, self.bins, n_threads, distinct)


def plain_codes(rows: NDArray[Any], leaves: NDArray[Any] | None = None) -> Codes:
    """Make `Codes` with one entry per row, without removing duplicates."""
    return Codes(rows, np.ones(len(rows), np.int64), np.arange(len(rows)), leaves)


def learn_bins(
    columns: Sequence[Column],
    categorical_features: Any,
    n_bins: Sequence[BinCount],
    max_categories: int,
    n_threads: int,
    copies: _Ints | None = None,
) -> Binned:
    """Learn the bins of every column, and their typical values.

    Parameters
    ----------
    columns : sequence of Column
    categorical_features
        The option with which they were read.
    n_bins : sequence of int, "auto" and "fine"
        Requested bins, one entry per column; categorical columns ignore theirs.
    max_categories : int
        Maximum number of bins of a categorical column.
    n_threads : int
    copies : ndarray of shape (n_samples,), int64, or None
        How often each row counts, at least once; None means once.

    Returns
    -------
    Binned

    Examples
    --------
    >>> columns = read_columns([[0.0, "b"], [1.0, "a"], [2.0, None], [10.0, "b"]])
    >>> binned = learn_bins(columns, "from_dtype", [3, 3], 255, n_threads=1)
    >>> binned.bins[0].centers.tolist(), binned.typical[0].values.tolist()
    ([0.0, 1.5, 10.0], [0.0, 1.5, 10.0])
    >>> binned.bins[1].categories
    ('a', 'b')
    """
    learnt: list[Any] = [None] * len(columns)

    def learn_some(first: int, last: int) -> None:
        for j in range(first, last):
            learnt[j] = _learn_column(columns[j], n_bins[j], max_categories, copies)

    # Short columns mostly run in the interpreter, where threads do not help.
    few = len(columns[0].values) <= FEW_ROWS
    run_pieces(learn_some, len(columns), 1, 1 if few else n_threads)
    types, bins, typical = zip(*learnt, strict=True)
    return Binned(types, categorical_features, bins, typical)


def _learn_column(
    column: Column, n_bins: BinCount, max_categories: int, copies: _Ints | None
) -> tuple[ColumnType, Bins, Typical]:
    if column.type.kind == "categorical":
        counts = _NO_COUNTS
        if len(column.labels) > max_categories:
            seen = column.observed
            weights = None if copies is None else copies[seen]
            counts = np.bincount(column.values[seen], weights, len(column.labels))
        return column.type, *bin_labels(column.labels, counts, max_categories)
    values = column.values + 0.0  # a contiguous copy, without -0.0
    counts = _NO_COUNTS
    ordered: Ordered
    if copies is not None:
        seen = column.observed
        values, counts = values[seen], copies[seen]
        ordered = rank_values(values, counts)
    elif len(values) <= FEW_ROWS:
        ordered = rank_values(values[~np.isnan(values)])
    else:
        ordered = Selected(values)
    bins = rank_centers(ordered, n_bins)
    typical = average(values, counts, bins, column.type.order is not None)
    return mark_whole(column.type, values), bins, typical


def bin_labels(
    labels: tuple[Hashable, ...], counts: _Ints, max_categories: int
) -> tuple[CategoricalBins, Typical]:
    """Assign labels to bins, the rarest to one, and name the usual label of each.

    Parameters
    ----------
    labels : tuple
        Sorted.
    counts : ndarray of shape (n_labels,), int64
        Not needed if each label has its own bin.
    max_categories : int

    Returns
    -------
    CategoricalBins
    Typical
    """
    if len(labels) <= max_categories:
        return CategoricalBins(labels), Typical(labels, np.zeros(len(labels)))
    # Stable: among equally frequent labels the earlier one keeps its bin.
    kept = np.sort(np.argsort(-counts, kind="stable")[: max_categories - 1])
    frequent = tuple(labels[k] for k in kept)
    rare = counts.copy()
    rare[kept] = 0
    spread = np.append(np.zeros(len(frequent)), 1 - rare.max() / rare.sum())
    bins = CategoricalBins(frequent, frozenset(labels) - set(frequent))
    return bins, Typical((*frequent, labels[int(rare.argmax())]), spread)


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
    dtype = code_dtype(np.maximum(n_bins, MOST_LEAVES))
    cells = np.empty((len(columns[0].values), len(columns)), dtype)
    coders = [_coder(c, b, dtype) for c, b in zip(columns, bins, strict=True)]

    def code_some(first: int, last: int) -> None:
        for j, coder in enumerate(coders):
            cells[first:last, j] = coder(first, last)

    run_pieces(code_some, len(cells), _PIECE, n_threads)
    codes = plain_codes(cells)
    fine = [j for j, b in enumerate(bins) if getattr(b, "cuts", None) is not None]
    if fine:
        codes = plain_codes(cells.copy(), cells)
        for j in fine:
            quarters = np.arange(np.iinfo(dtype).max + 1, dtype=dtype)
            quarters[: len(bins[j].parents)] = bins[j].parents
            codes.rows[:, j] = quarters[cells[:, j]]
    return codes.distinct(n_bins) if distinct else codes


def code_dtype(n_bins: _Ints) -> type[np.uint8] | type[np.uint16]:
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
        midpoints = bins.midpoints if bins.cuts is None else bins.cuts
        return nearest
    known = {label: k for k, label in enumerate(bins.categories)}
    known.update(dict.fromkeys(bins.infrequent, len(bins.categories)))
    table = np.array([*(known.get(v, unknown) for v in column.labels), missing], dtype)
    return category


def code_absences(
    codes: Codes, bins: Sequence[Bins], informative: NDArray[np.bool_]
) -> Codes:
    """Give missing cells of informative features the code after the last bin and leaf.

    Parameters
    ----------
    codes : Codes
    bins : sequence of Bins, one per feature
    informative : ndarray of shape (n_features,), bool

    Returns
    -------
    Codes
        In the same order, which is lexicographic for the new codes too, unless a row
        has a category not seen at fit.

    Examples
    --------
    >>> rows = np.array([[0, 1], [1, 255], [255, 0]], np.uint8)
    >>> codes = Codes(rows, np.ones(3, np.int64), np.arange(3))
    >>> bins = [NumericBins(np.array([1.0, 2.0]))] * 2
    >>> code_absences(codes, bins, np.array([True, False])).rows.tolist()
    [[0, 1], [1, 255], [2, 0]]
    """
    if not informative.any():
        return codes
    n_bins = np.array([own.n_bins for own in bins], np.int64)
    rows: NDArray[Any] = codes.rows.astype(code_dtype(n_bins + informative))
    # Unknown and missing are the last two codes of either dtype.
    beyond = np.iinfo(rows.dtype).max - codes.missing
    if beyond:
        rows[codes.rows >= codes.missing - 1] += rows.dtype.type(beyond)
    leaves = None if codes.leaves is None else codes.leaves.astype(rows.dtype)
    for j in np.flatnonzero(informative).tolist():
        gaps = codes.rows[:, j] == codes.missing
        rows[gaps, j] = n_bins[j]
        if leaves is not None:
            leaves[gaps, j] = len(bins[j].parents)
    return replace(codes, rows=rows, leaves=leaves)
