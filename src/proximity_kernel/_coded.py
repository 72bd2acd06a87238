"""Code the cells of a table by their bins, and represent coded rows as vectors.

A cell's code is the index of its bin; a number on the border of two bins belongs to the
lower bin. Two codes are special: the largest number of the dtype is a missing cell, and
the number below it is a category not seen at fit. So codes need no NaN.

Equal rows have equal codes and equal results. Where that saves work, each distinct row
is kept once, with its count, in lexicographic order, so that similar rows are adjacent.

For each feature, the representation has a column per leaf (a leaf is a bin, or a part
of a bin of a "fine" feature), then a column for missing cells if these are informative,
then a column per larger cell: a set of several leaves. An observed value has an entry
in the column of its leaf, and in the columns of the larger cells that contain the leaf.
The squares of its entries add up to the weight of the feature, which is 1 unless
`feature_weights` are given. The inner product of two values is their score, times that
weight. With `rarity`, the square of an entry is multiplied by the weight of its leaf or
larger cell, which is greater if that is rare (`weigh_cells`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn import get_config

from ._bins import (
    MOST_LEAVES,
    Bins,
    CategoricalBins,
    assign_bins,
    halve_probabilities,
    list_cell_scores,
)
from ._compile import compiled
from ._shared.resources import check_memory, run_pieces
from ._shared.sklearn_bases import Matrix
from ._table.columns import Column

_ROWS_AT_ONCE = 16384  # rows; in a row-major table they stay in cache for all columns
_Ints = NDArray[np.int64]
_LARGEST_DIGIT = 4096  # the counters of one sorting pass stay in cache
RARE = 0.005
"""Frequency below which the weight of a cell stays constant."""
_Cells = list[tuple[_Ints, float]]
_Made = TypeVar("_Made")
_CELLS_AT_ONCE = 1 << 18  # cells that a thread represents at a time


@dataclass(frozen=True)
class CodedTable:
    """A table whose cells are coded by their bins; made once, used by every stage.

    Estimates depend on the bins. The representation depends on the leaves, which are
    finer than the bins in a "fine" feature. So every method keeps both.

    Attributes
    ----------
    bins : ndarray of shape (n_rows, n_features), uint8 or uint16
        Codes of the rows of the table, or of each distinct row once.
    counts : ndarray of shape (n_rows,), int64
        How often each row of `bins` occurs in the table.
    index : ndarray of shape (n_samples,), int64
        For each row of the table, its index in `bins`.
    leaves : ndarray of shape (n_rows, n_features), dtype of the bins, or None
        Codes of the leaves; None if every leaf is a bin.
    columns : tuple of Column
        The typed columns of the table; empty where only codes are known.
    model : Model or None
        The model that coded the table. Codes of one model must not reach the loops of
        another model. So later stages use this model, not the estimator's, which
        another thread may replace.
    """

    bins: NDArray[Any]
    counts: _Ints
    index: _Ints
    leaves: NDArray[Any] | None = None
    columns: tuple[Column, ...] = field(default=(), repr=False)
    model: Any = field(default=None, repr=False)
    _made: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of_rows(
        cls, bins: NDArray[Any], leaves: NDArray[Any] | None = None
    ) -> CodedTable:
        """Make a CodedTable with one entry per row, keeping duplicates."""
        return cls(bins, np.ones(len(bins), np.int64), np.arange(len(bins)), leaves)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def missing(self) -> int:
        """The code of a missing cell."""
        return int(np.iinfo(self.bins.dtype).max)

    def take(self, rows: Any) -> CodedTable:
        """Select rows of the table, by their indices, a mask or a slice."""
        at = self.index[rows]
        leaves = None if self.leaves is None else self.leaves[at]
        some = CodedTable.of_rows(self.bins[at], leaves)
        columns = (replace(own, values=own.values[rows]) for own in self.columns)
        return replace(some, columns=tuple(columns), model=self.model)

    def distinct(self, n_bins: _Ints) -> CodedTable:
        """Keep each distinct row once, in lexicographic order.

        Parameters
        ----------
        n_bins : ndarray of shape (n_features,), int64

        Returns
        -------
        CodedTable
            Cached: the same object each time.
        """
        return self.compute_once("distinct", lambda: self._find_distinct(n_bins))

    def _find_distinct(self, n_bins: _Ints) -> CodedTable:
        """Find the distinct rows of leaves, or of bins if there are no leaves."""
        if len(self.bins) < len(self.index):  # already distinct, for the cascade
            return self
        leaves = None
        if self.leaves is None:
            bins, counts, place = find_distinct(self.bins, n_bins)
        else:
            most = np.maximum(n_bins, MOST_LEAVES + 1)
            leaves, counts, place = find_distinct(self.leaves, most)
            bins = np.empty_like(leaves)
            bins[place] = self.bins
        # Rows coded for the cascade are in another order than those of the table.
        found = CodedTable(bins, counts, place[self.index], leaves)
        return replace(found, columns=self.columns, model=self.model)

    def take_stored_rows(self) -> CodedTable:
        """Return the table of the rows of `bins`, each with count 1."""
        once = CodedTable.of_rows(self.bins, self.leaves)
        return self.compute_once("once", lambda: replace(once, model=self.model))

    def repeat(self, copies: _Ints) -> CodedTable:
        """Replace the counts of rows by sums of the weights `copies`, (n_samples,)."""
        counts = np.bincount(self.index, copies, len(self.bins)).astype(copies.dtype)
        return replace(self, counts=counts, _made={})

    def release(self) -> None:
        """Free the cached representation, which is larger than the codes."""
        self._made.clear()

    def compute_once(self, key: Any, make: Callable[[], _Made]) -> _Made:
        """Return the cached result of a key; the first time, compute it with `make`."""
        if key not in self._made:
            self._made[key] = make()
        made: _Made = self._made[key]
        return made


def code_columns(
    columns: Sequence[Column],
    bins: Sequence[Bins],
    n_threads: int,
    distinct: bool = False,
) -> CodedTable:
    """Code the cells of typed columns by their bins.

    Parameters
    ----------
    columns, bins : sequences, one entry per feature
    n_threads : int
    distinct : bool
        Whether to keep each distinct row once.

    Returns
    -------
    CodedTable

    Examples
    --------
    >>> from proximity_kernel._bins import NumericBins
    >>> from proximity_kernel._table.columns import read_columns
    >>> columns = read_columns([[0.9], [5.0], [None], [1.1], [0.9]])
    >>> bins = [NumericBins(np.array([0.0, 2.0, 8.0]))]
    >>> coded = code_columns(columns, bins, 1, distinct=True)
    >>> coded.bins.ravel().tolist(), coded.counts.tolist()
    ([0, 1, 255], [2, 2, 1])
    >>> coded.index.tolist()
    [0, 1, 2, 1, 0]
    """
    n_bins = np.array([b.n_bins for b in bins], dtype=np.int64)
    dtype = code_dtype(np.maximum(n_bins, MOST_LEAVES))
    cells = np.empty((len(columns[0].values), len(columns)), dtype)
    coders = [_make_coder(c, b, dtype) for c, b in zip(columns, bins, strict=True)]

    def code_some(first: int, last: int) -> None:
        for j, coder in enumerate(coders):
            cells[first:last, j] = coder(first, last)

    run_pieces(code_some, len(cells), _ROWS_AT_ONCE, n_threads)
    fine = [j for j, b in enumerate(bins) if getattr(b, "cuts", None) is not None]
    leaves = cells if fine else None
    if fine:
        cells = cells.copy()
        for j in fine:
            quarters = np.arange(np.iinfo(dtype).max + 1, dtype=dtype)
            quarters[: len(bins[j].parents)] = bins[j].parents
            cells[:, j] = quarters[cells[:, j]]
    coded = replace(CodedTable.of_rows(cells, leaves), columns=tuple(columns))
    return coded.distinct(n_bins) if distinct else coded


def code_dtype(n_bins: _Ints) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest dtype for the codes: bins, unknown category, missing cell."""
    return np.uint8 if n_bins.max() <= np.iinfo(np.uint8).max - 1 else np.uint16


def _make_coder(
    column: Column, bins: Bins, dtype: Any
) -> Callable[[int, int], NDArray[Any]]:
    """Make a function that codes the cells of a column from `first` up to `last`."""
    missing = int(np.iinfo(dtype).max)
    unknown = missing - 1
    if not bins.n_bins:
        codes = np.where(column.observed, unknown, missing)
        return lambda first, last: codes[first:last]
    if isinstance(bins, CategoricalBins):
        known = {label: k for k, label in enumerate(bins.categories)}
        known.update(dict.fromkeys(bins.infrequent, len(bins.categories)))
        of_label = [known.get(label, unknown) for label in column.labels]
        table = np.array([*of_label, missing], dtype)
        return lambda first, last: table[column.values[first:last]]  # -1 is missing
    midpoints = bins.midpoints if bins.cuts is None else bins.cuts

    def nearest(first: int, last: int) -> NDArray[Any]:
        # A copy, so that the loop is compiled for one layout of memory only.
        values = np.array(column.values[first:last])
        codes = np.empty(len(values), dtype)
        assign_bins(values, midpoints, missing, codes)
        return codes

    return nearest


def code_missing(
    coded: CodedTable, bins: Sequence[Bins], informative: NDArray[np.bool_]
) -> CodedTable:
    """Give missing cells of informative features the code after the last bin and leaf.

    Parameters
    ----------
    coded : CodedTable
    bins : sequence of Bins, one per feature
    informative : ndarray of shape (n_features,), bool

    Returns
    -------
    CodedTable
        With the rows in the same order. If that was lexicographic, it still is, unless
        a row has a category not seen at fit.

    Examples
    --------
    >>> from proximity_kernel._bins import NumericBins
    >>> coded = CodedTable.of_rows(np.array([[0, 1], [1, 255], [255, 0]], np.uint8))
    >>> bins = [NumericBins(np.array([1.0, 2.0]))] * 2
    >>> code_missing(coded, bins, np.array([True, False])).bins.tolist()
    [[0, 1], [1, 255], [2, 0]]
    """
    if not informative.any():
        return coded
    n_bins = np.array([own.n_bins for own in bins], np.int64)
    codes: NDArray[Any] = coded.bins.astype(code_dtype(n_bins + informative))
    # Unknown and missing are the last two codes of either dtype.
    beyond = np.iinfo(codes.dtype).max - coded.missing
    if beyond:
        codes[coded.bins >= coded.missing - 1] += codes.dtype.type(beyond)
    leaves = None if coded.leaves is None else coded.leaves.astype(codes.dtype)
    for j in np.flatnonzero(informative).tolist():
        missing = coded.bins[:, j] == coded.missing
        codes[missing, j] = n_bins[j]
        if leaves is not None:
            leaves[missing, j] = len(bins[j].parents)
    return replace(coded, bins=codes, leaves=leaves, _made={})


def find_distinct(
    cells: NDArray[Any], n_bins: _Ints
) -> tuple[NDArray[Any], _Ints, _Ints]:
    """Find the distinct rows of codes, and count each, by a radix sort.

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
    digits = np.empty((len(firsts) - 1, len(cells)), np.uint16)
    pack_digits(cells, np.array(firsts), n_bins, digits)
    order = np.arange(len(cells))
    for digit in digits[::-1]:  # the least significant first
        order = order[np.argsort(digit[order], kind="stable")]  # a radix sort
    new = np.arange(len(cells)) == 0
    for digit in digits:
        ordered = digit[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    inverse = np.empty(len(cells), np.int64)
    inverse[order] = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    return cells[order[starts]], np.diff(starts, append=len(cells)), inverse


def merge_distinct(
    parts: Sequence[tuple[NDArray[Any], _Ints]], n_bins: _Ints
) -> tuple[NDArray[Any], _Ints]:
    """Merge tables of distinct rows of codes, and add up the counts of equal rows.

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
    """Return the borders of runs of features whose codes form one radix-sort digit.

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
    """Count how often each bin is observed in coded rows.

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
    return np.concatenate(out).astype(counts.dtype)


def compute_frequencies(totals: _Ints, cells: _Cells) -> NDArray[np.float64]:
    """Compute the frequency of each leaf, then of each larger cell, from counts."""
    larger = [totals[members].sum() for members, _ in cells]
    shares: NDArray[np.float64] = np.append(totals, larger) / (totals.sum() or 1)
    return shares


def weigh_cells(
    totals: _Ints, own: NDArray[np.float64], cells: _Cells, rarity: float
) -> NDArray[np.float64]:
    """Compute the weight of each leaf, and larger cell, of a feature by its rarity.

    At frequency q the weight is ``max(q, RARE) ** -rarity``, divided by a constant so
    that the score of a fitted value with itself is 1 on average.

    Parameters
    ----------
    totals : ndarray of shape (n_leaves,), int64
        How often each leaf occurred at fit; informative missing cells are the last
        leaf.
    own : ndarray of shape (n_leaves,), or one less if missing cells are a leaf
        The score that sharing each leaf adds, without rarity.
    cells : list of (ndarray of int64, float)
        The leaves of each larger cell, and the score that sharing it adds.
    rarity : float, from 0 to 1

    Returns
    -------
    ndarray of shape (n_leaves + n_cells,)

    Examples
    --------
    >>> weigh_cells(np.array([90, 10]), np.ones(2), [], 0.5).round(2).tolist()
    [0.83, 2.5]
    """
    share = compute_frequencies(totals, cells)
    weight: NDArray[np.float64] = np.maximum(share, RARE) ** -float(rarity)
    score = np.ones(len(share))
    score[: len(own)] = own
    score[len(totals) :] = [added for _, added in cells]
    mean = float((score * share * weight).sum())
    return weight / mean if mean else weight


def lay_out_columns(
    totals: Sequence[_Ints],
    bins: Sequence[Bins],
    weights: NDArray[np.float64],
    rarity: float = 0.0,
    leaf_totals: Sequence[_Ints] | None = None,
) -> Layout:
    """Compute the columns of the representation that belong to each code, see `Layout`.

    Parameters
    ----------
    totals : sequence of ndarray of int64, one per feature
        How often each code occurred at fit, informative missing included.
    bins : sequence of Bins, one per feature
    weights : ndarray of shape (n_features,), float64
        How much each feature counts in the kernel.
    rarity : float, from 0 to 1
        How much more the match of a rare cell counts.
    leaf_totals : sequence of ndarray of int64, one per feature, or None
        How often each leaf occurred at fit, then informative missing. None means
        `totals`: the leaves are bins. Used with `rarity` only.

    Returns
    -------
    Layout

    Examples
    --------
    >>> from proximity_kernel._bins import NumericBins
    >>> bins = [NumericBins(np.array([1.0, 2.0, 9.0]), np.array([0, 0, 1]))]
    >>> layout = lay_out_columns([np.array([5, 5, 5])], bins, np.ones(1))
    >>> layout.entry_columns.tolist(), layout.entry_weights.round(2).tolist()
    ([0, 3, 1, 3, 2], [0.45, 0.89, 0.45, 0.89, 1.0])
    """
    n_bins = np.array([len(own) for own in totals], np.int64)
    nested = [list_cell_scores(own) for own in bins]
    own_bin = n_bins - np.array([own.n_bins for own in bins])  # 1 if informative
    n_leaves = own_bin + np.array([len(own) for own, _ in nested])
    n_columns = n_leaves + np.array([len(cells) for _, cells in nested])
    first_bin, first_leaf, first_column = (
        np.cumsum(sizes) - sizes for sizes in (n_bins, n_leaves, n_columns)
    )
    column = np.arange(n_leaves.sum()) + np.repeat(first_column - first_leaf, n_leaves)
    score, share = np.ones(len(column)), np.ones(len(column))
    bin_ = np.arange(len(column)) + np.repeat(first_bin - first_leaf, n_leaves)
    larger: list[tuple[_Ints, _Ints, NDArray[np.float64]]] = []
    for j, (own, cells) in enumerate(nested):
        if not cells:
            continue
        at = slice(first_leaf[j], first_leaf[j] + len(own))
        score[at] = own
        if (levels := getattr(bins[j], "levels", None)) is not None:
            share[at] = halve_probabilities(levels)
            bin_[at] = first_bin[j] + bins[j].parents
            bin_[at.stop :][: own_bin[j]] = first_bin[j] + bins[j].n_bins
        for k, (members, added) in enumerate(cells):
            of_cell = first_column[j] + n_leaves[j] + k
            weight = np.full(len(members), added)
            larger.append((at.start + members, np.full(len(members), of_cell), weight))
    leaf = np.concatenate([np.arange(len(column)), *(one[0] for one in larger)])
    column = np.concatenate([column, *(one[1] for one in larger)])
    weight = np.concatenate([score, *(one[2] for one in larger)])
    weight = weight * np.repeat(weights, n_leaves)[leaf]
    if rarity:
        counts = totals if leaf_totals is None else leaf_totals
        rare = [
            weigh_cells(own, *cells, rarity)
            for own, cells in zip(counts, nested, strict=True)
        ]
        weight = weight * np.concatenate(rare)[column]
    weight = np.sqrt(weight)
    order = np.argsort(leaf, kind="stable")
    possible = np.concatenate(totals) > 0
    return Layout(
        n_bins,
        first_bin,
        first_leaf,
        bin_,
        np.searchsorted(leaf[order], np.arange(len(score) + 1)),
        column[order],
        weight[order],
        *_spread_bins(bin_[leaf], column, weight * share[leaf], possible, first_column),
    )


def _spread_bins(
    bin_: _Ints,
    column: _Ints,
    weight: NDArray[np.float64],
    possible: NDArray[np.bool_],
    first_column: _Ints,
) -> tuple[NDArray[Any], ...]:
    """Lay out the entries of missing cells: columns by feature, and shares by bin.

    Parameters
    ----------
    bin_, column, weight : ndarray of shape (n_entries,)
        Entries of the leaves, in any order. Entries of the same bin and column are
        added up.
    possible : ndarray of shape (total bins,), bool
        Whether any fitted row has the code; other codes have no share in an estimate.
    first_column : ndarray of shape (n_features,)

    Returns
    -------
    spread_start, spread_columns, bin_start, slots, shares
        As in `Layout`.
    """
    there = possible[bin_]
    n_columns = int(column.max(initial=0)) + 1
    keys, inverse = np.unique(
        bin_[there] * n_columns + column[there], return_inverse=True
    )
    shares: Any = np.bincount(inverse, weight[there], len(keys))
    bins_of, columns_of = np.divmod(keys, n_columns)
    spread_columns = np.unique(columns_of)
    spread_start = np.searchsorted(spread_columns, np.append(first_column, n_columns))
    feature = np.searchsorted(first_column, columns_of, side="right") - 1
    slots = np.searchsorted(spread_columns, columns_of) - spread_start[feature]
    bin_start = np.searchsorted(bins_of, np.arange(len(possible) + 1))
    return spread_start, spread_columns, bin_start, slots, shares


class Estimates(NamedTuple):
    """The distributions of the missing cells of coded rows.

    Attributes
    ----------
    row_start : ndarray of shape (n_rows + 1,), int64
        The missing cells of row r are those from ``row_start[r]`` up to
        ``row_start[r + 1]``, in the order of their features.
    feature : ndarray of shape (n_cells,), int64
    start : ndarray of shape (n_cells + 1,), int64
        Where each cell's distribution begins in `probabilities`.
    probabilities : ndarray of shape (start[-1],), float64
    """

    row_start: NDArray[np.int64]
    feature: NDArray[np.int64]
    start: NDArray[np.int64]
    probabilities: NDArray[np.float64]

    def of_feature(self, j: int, n_bins: int) -> NDArray[np.float64]:
        """Probabilities of the first `n_bins` bins of feature j, (n_cells, n_bins)."""
        return self.of_cells(np.flatnonzero(self.feature == j), n_bins)

    def of_cells(self, cells: NDArray[np.int64], n_bins: int) -> NDArray[np.float64]:
        """Probabilities of the first `n_bins` bins of `cells`, (n_cells, n_bins)."""
        at = self.start[cells][:, None] + np.arange(n_bins)
        return np.asarray(self.probabilities[at])


Part = tuple[NDArray[Any], NDArray[np.int64], Estimates]
"""Coded rows, the index in them of each row of a part of a table, and estimates."""


def allocate_estimates(coded: CodedTable, n_bins: NDArray[np.int64]) -> Estimates:
    """Allocate zeros for the estimates of the missing cells of coded rows."""
    missing = coded.bins == coded.missing
    row, feature = np.divmod(np.flatnonzero(missing), missing.shape[1])
    start = np.append(0, np.cumsum(n_bins[feature]))
    check_memory(8 * int(start[-1]), "The distributions of the missing cells")
    row_start = np.searchsorted(row, np.arange(len(missing) + 1))
    return Estimates(row_start, feature, start, np.zeros(start[-1]))


class Matcher(Protocol):
    """A rule that estimates missing cells: the pairwise rule or the cascade."""

    leaves_bins_out: bool
    """Whether an estimate can be 0 for a bin that occurs at fit."""

    def estimate(self, coded: CodedTable, n_threads: int) -> Estimates:
        """Estimate the missing cells of coded rows."""

    def by_parts(self, coded: CodedTable, n_threads: int) -> Callable[[int, int], Part]:
        """Return a function that estimates table rows from `first` up to `last`."""


def build_representation(
    coded: CodedTable,
    matcher: Matcher,
    layout: Layout,
    n_columns: int,
    dtype: DTypeLike,
    n_threads: int,
) -> sp.csr_array:
    """Represent coded rows as a sparse matrix.

    Parameters
    ----------
    coded : CodedTable
    matcher : Matcher
        Estimates the missing cells.
    layout : Layout
    n_columns : int
    dtype : dtype
        The dtype of the result.
    n_threads : int

    Returns
    -------
    csr_array of shape (n_samples, n_columns)
    """
    if coded.leaves is None and len(layout.leaf_bins) > layout.n_bins.sum():
        raise ValueError("A fine feature is represented by leaves; got only bins.")
    sizes = np.empty(len(coded.bins), np.int64)
    leaf_codes = coded.bins if coded.leaves is None else coded.leaves
    size_rows(coded.bins, leaf_codes, layout, sizes)
    starts = np.append(0, np.cumsum(sizes[coded.index]))
    small = starts[-1] <= np.iinfo(np.int32).max
    indptr = starts.astype(np.int32 if small else np.int64)
    n_bytes = int(indptr[-1]) * (indptr.itemsize + np.dtype(dtype).itemsize)
    check_memory(n_bytes, "The representation of the rows")
    indices = np.empty(indptr[-1], indptr.dtype)
    data = np.empty(indptr[-1], dtype)

    estimate_part = matcher.by_parts(coded, n_threads)

    def fill_some(first: int, last: int) -> None:
        rows, which, cells = estimate_part(first, last)
        leaves = rows
        if coded.leaves is not None:  # then each row of the part has its own estimate
            leaves = coded.leaves[coded.index[first:last]]
        fill_rows(
            rows, leaves, which, layout, cells.row_start, cells.start,
            cells.probabilities, indptr[first : last + 1], indices, data,
        )  # fmt: skip

    piece = max(1, _CELLS_AT_ONCE // coded.bins.shape[1])
    run_pieces(fill_some, len(coded.index), piece, n_threads)
    matrix = sp.csr_array((data, indices, indptr), (len(coded.index), n_columns))
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    if matcher.leaves_bins_out or not layout.entry_weights.all():
        matrix.eliminate_zeros()
    return matrix


def make_csr(content: Any, shape: tuple[int, int] | None = None) -> Matrix:
    """Make a CSR matrix or array, as scikit-learn's setting `sparse_interface` says."""
    plain = get_config().get("sparse_interface", "spmatrix") == "spmatrix"
    made: Matrix = (sp.csr_matrix if plain else sp.csr_array)(content, shape=shape)
    return made


def check_columns(matrix: sp.csr_array, n_columns: int) -> None:
    """Raise ValueError unless represented rows have the fitted number of columns.

    Compiled loops do not check this, and would read outside their arrays.
    """
    if matrix.shape[1] != n_columns:
        raise ValueError(
            f"The rows are represented by {matrix.shape[1]:,} columns, the fitted rows "
            f"by {n_columns:,}: the kernel was fitted again after the estimator, or "
            "while the estimator was used. Fit the estimator again."
        )


def normalize_rows(matrix: sp.csr_array, n_features: int, power: float = 1.0) -> None:
    """Divide represented rows in place by ``K(x, x) ** (power / 2)``.

    With power 1, each row then has similarity 1 with itself. A row without entries is
    not changed.
    """
    squares = np.asarray(matrix.multiply(matrix).sum(axis=1), np.float64).ravel()
    scale = np.sqrt(n_features / np.where(squares > 0, squares, 1))
    if power != 1:
        scale **= power
    matrix.data *= np.repeat(scale, np.diff(matrix.indptr)).astype(matrix.dtype)


@dataclass(frozen=True)
class FullScore:
    """The score that is similarity 1: that of a row with exactly the query's values.

    A search divides scores by the full score, so that similarities are from 0 to 1. If
    `rarity` is 0, the full score is 1. Otherwise it is the mean score of the query's
    values with themselves, which is greater for rare values. Here an estimated cell
    counts by its probabilities, and a category not seen at fit as 1.

    Attributes
    ----------
    n_features : float
        Number of features that a similarity averages.
    weights : ndarray of shape (n_columns,), float64, or None
        The full score is ``n_features + z @ weights`` of a row z; None means 0.
    normalize : float
        The power by which the rows were normalized, below 1.
    """

    n_features: float
    weights: NDArray[np.float64] | None = None
    normalize: float = 0.0

    def of(self, matrix: sp.csr_array) -> NDArray[np.float64]:
        """Compute the full score of represented rows, times the number of features."""
        if self.weights is None:
            return np.full(matrix.shape[0], self.n_features)
        added = matrix @ self.weights
        if self.normalize:
            # Normalized rows have K(x, x) ** (1 - normalize) with themselves.
            squares = np.asarray(matrix.multiply(matrix).sum(axis=1), np.float64)
            itself = (squares.ravel() / self.n_features) ** (1 / (1 - self.normalize))
            added *= np.where(itself > 0, itself, 1) ** (self.normalize / 2)
        full = np.maximum(1 + added / self.n_features, 0) ** (1 - self.normalize)
        return self.n_features * np.where(full > 0, full, 1)


class Layout(NamedTuple):
    """Which columns of the representation belong to each code, feature after feature.

    A leaf is a bin, or a part of a bin of a "fine" feature. An observed cell has the
    entries of its leaf. A missing cell has one entry in each of its feature's
    `spread_columns`: the sum over the bins of probability times share.
    """

    n_bins: NDArray[np.int64]  # (n_features,) codes, informative missing included
    offsets: NDArray[np.int64]  # (n_features,) index of the feature's first code
    first_leaf: NDArray[np.int64]  # (n_features,) index of the feature's first leaf
    leaf_bins: NDArray[np.int64]  # (n_leaves,) the code that a leaf belongs to
    entry_start: NDArray[np.int64]  # (n_leaves + 1,) entries; first, the leaf's column
    entry_columns: NDArray[np.int64]  # (n_entries,)
    entry_weights: NDArray[np.float64]  # (n_entries,)
    spread_start: NDArray[np.int64]  # (n_features + 1,)
    spread_columns: NDArray[np.int64]  # (n_spread,) columns of codes of fitted rows
    bin_start: NDArray[np.int64]  # (n_codes + 1,) start of the shares of each bin
    slots: NDArray[np.int64]  # (n_shares,) index in the feature's `spread_columns`
    shares: NDArray[np.float64]  # (n_shares,)


@compiled
def size_rows(
    rows: NDArray[Any], leaves: NDArray[Any], layout: Layout, sizes: Any
) -> None:
    """Count the entries of each row of the representation."""
    missing = np.iinfo(rows.dtype).max
    for r in range(rows.shape[0]):
        size = 0
        for j in range(rows.shape[1]):
            code = np.int64(rows[r, j])
            if code < layout.n_bins[j]:
                leaf = layout.first_leaf[j] + np.int64(leaves[r, j])
                size += layout.entry_start[leaf + 1] - layout.entry_start[leaf]
            elif code == missing:
                size += layout.spread_start[j + 1] - layout.spread_start[j]
        sizes[r] = size


@compiled
def fill_rows(
    rows: NDArray[Any], leaves: NDArray[Any], inverse: Any, layout: Layout,
    row_start: Any, start: Any, probabilities: Any, indptr: Any, indices: Any,
    data: Any,
) -> None:  # fmt: skip
    """Fill the CSR matrix of the representation; row i is that of ``rows[inverse[i]]``.

    An observed cell has the entries of its leaf, a missing cell the shares of its
    estimate, and a category not seen at fit has no entry.
    """
    missing = np.iinfo(rows.dtype).max
    for i in range(inverse.shape[0]):
        at = indptr[i]
        cell = row_start[inverse[i]]
        for j in range(rows.shape[1]):
            code = rows[inverse[i], j]
            if code < layout.n_bins[j]:
                leaf = layout.first_leaf[j] + np.int64(leaves[inverse[i], j])
                for e in range(layout.entry_start[leaf], layout.entry_start[leaf + 1]):
                    indices[at] = layout.entry_columns[e]
                    data[at] = layout.entry_weights[e]
                    at += 1
            elif code == missing:
                size = layout.spread_start[j + 1] - layout.spread_start[j]
                for s in range(size):
                    indices[at + s] = layout.spread_columns[layout.spread_start[j] + s]
                    data[at + s] = 0
                for b in range(layout.n_bins[j]):
                    share = probabilities[start[cell] + b]
                    of_bin = layout.offsets[j] + b
                    for e in range(
                        layout.bin_start[of_bin], layout.bin_start[of_bin + 1]
                    ):
                        data[at + layout.slots[e]] += share * layout.shares[e]
                at += size
                cell += 1


@compiled
def pack_digits(codes: NDArray[Any], firsts: Any, radices: Any, digits: Any) -> None:
    """Write the codes of each group of features as one mixed-radix number.

    Group g has the features from ``firsts[g]`` up to ``firsts[g + 1]``. ``radices[j]``
    is the number of bins of feature j. The codes for an unknown category and for a
    missing cell become the two numbers after the last bin.
    """
    top = np.int64(np.iinfo(codes.dtype).max)
    for i in range(codes.shape[0]):
        for g in range(digits.shape[0]):
            digit = np.int64(0)
            for j in range(firsts[g], firsts[g + 1]):
                code = np.int64(codes[i, j])
                if code >= radices[j]:
                    code = radices[j] + 1 - (top - code)
                digit = digit * (radices[j] + 2) + code
            digits[g, i] = digit
