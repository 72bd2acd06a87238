"""Learn the bins of columns from their observed values: centers, or categories.

With a number of bins, the centers of a numeric column are evenly spaced percentiles of
the observed values, so they are close together where the data are dense. In a dense
region, a small difference separates two values; in a sparse region, even a large
difference may not. Equal centers are merged, which changes no assignment and avoids
empty bins.

With `AUTO` bins, each very frequent value is a center. The other centers are the
medians of equally filled parts of the remaining values. (A column with at most four
distinct values has these as centers.) There are two resolutions: up to four centers
define the bins, and two centers, chosen in the same way, divide the bins into two
coarse bins. A bin belongs to the coarse center that is nearest to its own center.

With `FINE` bins, the observed values are split into a balanced binary tree of depth 4.
Each node is cut between two distinct values, where its rows are divided most evenly; a
node with one distinct value is a leaf. Two values score .4, .7, .9 or 1 by the smallest
node that contains both: a half, a quarter, an eighth, or a leaf. Values in different
halves score 0. The quarters are the bins of the column. Missing cells are estimated on
the quarters, and the probability of a quarter is halved at each cut in it.

A categorical column has a bin per category, in sorted order. A column without observed
values has no bins.

A bin is decoded to its typical value. For numbers this is the mean of the values
observed in it, not the center, because the first and the last center can be the
extremes, far from most values of their bins. For ordered categories, and for rare
labels that share a bin, it is the most frequent label.

The names of bins are for people: ranges of numbers and dates, labels of categories.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._compile import compiled, merged
from ._shared.options import AUTO, FINE, BinCount, FitOptions, check_bin_count
from ._shared.resources import run_pieces
from ._table.columns import Column, ColumnType, find_columns, mark_whole, write_date

_FINE, _COARSE = 4, 2  # maximum number of centers of each resolution
_FEW_ROWS = 1 << 16  # columns with at most this number of values use one thread
_Floats = NDArray[np.float64]
SCORES = (0.0, 0.4, 0.7, 0.9, 1.0)
"""Score of two values, by the depth of the smallest tree node that contains both."""
COARSE_SHARE = 0.8
"""Score of two values in different bins of one coarse bin of an "auto" feature."""
QUARTERS = 2
"""Depth of the quarters in the tree."""
MOST_LEAVES = 2 ** (len(SCORES) - 1)
_Ints = NDArray[np.int64]
_NO_COUNTS = np.empty(0, np.int64)
_FEWEST_AT_ONCE = 16  # fewer columns are learned separately
_VALUES_AT_ONCE = 1 << 17  # maximum number of values of stacked columns
_FEW_MIDPOINTS = 16  # up to this number, a linear search beats a binary one
_DATE_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # units per second
_DAY = 86_400  # seconds
_EXACT = 1e15  # whole numbers below this are formatted with all their digits
_EQUAL = 1e-6  # with a smaller standard deviation, the values of a bin count as equal
_DIGITS = 4  # significant digits, unless two numbers need more digits to differ
_ROUNDED = 3e-3  # rounding of a limit, as a share of the least distance of two limits


@dataclass(frozen=True)
class NumericBins:
    """The bins of a numeric column.

    Attributes
    ----------
    centers : ndarray of shape (n_bins,), float64, strictly ascending
    groups : ndarray of shape (n_bins,), int64, or None
        The coarse bin (or half) of each bin, 0 or 1; None without coarse bins.
    cuts : ndarray of shape (n_leaves - 1,), float64, or None
        The thresholds between the leaves of a "fine" column; None for other columns.
    levels : ndarray of shape (n_leaves - 1,), int64, or None
        The depth of each cut in the tree, from 1 to 4, see `cut_values`.
    """

    centers: NDArray[np.float64]
    groups: NDArray[np.int64] | None = None
    cuts: NDArray[np.float64] | None = None
    levels: NDArray[np.int64] | None = None

    @property
    def n_bins(self) -> int:
        """Number of bins of the column."""
        return len(self.centers)

    @property
    def parents(self) -> NDArray[np.int64]:
        """The bin of each leaf, shape (n_leaves,); without cuts, leaves are bins."""
        if self.levels is None:
            return np.arange(self.n_bins)
        return number_nodes(self.levels, QUARTERS)

    @cached_property
    def midpoints(self) -> NDArray[np.float64]:
        """The thresholds between neighboring bins, shape (n_bins - 1,)."""
        if self.cuts is not None and self.levels is not None:
            return self.cuts[self.levels <= QUARTERS]
        return compute_midpoints(self.centers[:-1], self.centers[1:])


@dataclass(frozen=True)
class CategoricalBins:
    """The bins of a categorical column.

    Attributes
    ----------
    categories : tuple
        The labels that have their own bin, sorted.
    infrequent : frozenset
        The rarest labels, which share the last bin; often empty.
    """

    categories: tuple[Hashable, ...]
    infrequent: frozenset[Hashable] = frozenset()

    @property
    def n_bins(self) -> int:
        """Number of bins of the column."""
        return len(self.categories) + bool(self.infrequent)

    @property
    def parents(self) -> NDArray[np.int64]:
        """The bin of each leaf, (n_bins,): the bins are the leaves."""
        return np.arange(self.n_bins)

    def names(self) -> list[str]:
        """List the label of each bin, as text; "infrequent" for the shared bin."""
        return [
            *(str(label) for label in self.categories),
            *(["infrequent"] if self.infrequent else []),
        ]


Bins = NumericBins | CategoricalBins


@dataclass(frozen=True)
class ValueCounts:
    """The distinct values of a column, sorted, with their counts.

    Attributes
    ----------
    values : ndarray of shape (n_distinct,), float64, strictly ascending
    counts : ndarray of shape (n_distinct,), int64 or float64
        Above 0. Positions in the sorted order are integers, even if counts are not.

    Examples
    --------
    >>> ranked = count_values(np.array([2.0, 1.0, 2.0]))
    >>> len(ranked), ranked.at([0, 1, 2]).tolist(), ranked.span(2.0)
    (3, [1.0, 2.0, 2.0], (1, 3))
    """

    values: _Floats
    counts: NDArray[np.int64]

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Cumulative counts, shape (n_distinct,)."""
        return np.cumsum(self.counts)

    def __len__(self) -> int:
        return max(1, int(self._ends[-1])) if len(self.counts) else 0

    def at(self, places: Any) -> _Floats:
        """Return the values at positions of the sorted order, counted from 0."""
        return np.asarray(self.values[self._ends.searchsorted(places, side="right")])

    def span(self, value: float) -> tuple[int, int]:
        """Return the sorted positions of a value's copies, as (first, last + 1)."""
        at = self.values.searchsorted(value)
        first, last = self._ends[at] - self.counts[at], self._ends[at]
        return math.ceil(first), min(math.ceil(last), len(self))

    def without(self, values: list[float]) -> ValueCounts:
        """Return a copy from which the given values are removed."""
        kept = ~np.isin(self.values, values)
        return ValueCounts(self.values[kept], self.counts[kept])

    def few(self, most: int) -> _Floats | None:
        """Return the distinct values, or None if there are more than `most`."""
        return self.values if len(self.values) <= most else None


@dataclass(frozen=True)
class SortedColumn:
    """The observed values of a column, sorted.

    Attributes
    ----------
    values : ndarray of shape (n_observed,), float64, ascending

    Examples
    --------
    >>> ranked = sort_values(np.array([2.0, np.nan, 1.0, 2.0]))
    >>> len(ranked), ranked.at([0, 1, 2]).tolist(), ranked.span(2.0)
    (3, [1.0, 2.0, 2.0], (1, 3))
    """

    values: _Floats

    def __len__(self) -> int:
        return len(self.values)

    def at(self, places: Any) -> _Floats:
        """Return the values at positions of the sorted order, counted from 0."""
        return np.asarray(self.values[np.asarray(places, np.intp)])

    def span(self, value: float) -> tuple[int, int]:
        """Return the sorted positions of a value's copies, as (first, last + 1)."""
        first = int(self.values.searchsorted(value))
        return first, int(self.values.searchsorted(value, "right"))

    def without(self, values: list[float]) -> SortedColumn:
        """Return a copy from which the given values are removed."""
        return SortedColumn(self.values[~np.isin(self.values, values)])

    def few(self, most: int) -> _Floats | None:
        """Return the distinct values, or None if there are more than `most`."""
        found: list[float] = []
        end = 0
        while end < len(self):
            if len(found) == most:
                return None
            found.append(float(self.values[end]))
            end = self.span(found[-1])[1]
        return np.array(found)


SortedValues = ValueCounts | SortedColumn
"""Values of a column that can be indexed by their position in sorted order."""


def sort_values(values: _Floats) -> SortedColumn:
    """Sort the values of a column; NaN is left out, and -0.0 becomes 0.0."""
    ordered = np.sort(values + 0.0)
    return SortedColumn(ordered[: ordered.searchsorted(np.nan)])


def count_values(
    values: _Floats, copies: NDArray[np.int64] | None = None
) -> ValueCounts:
    """Sort the distinct values of a column and count each; -0.0 is counted as 0.0.

    Parameters
    ----------
    values : ndarray of shape (n,), float64, without NaN
    copies : ndarray of shape (n,), int64 or float64, or None
        The weight of each value; None means 1.

    Returns
    -------
    ValueCounts
    """
    if copies is None:
        found, counts = np.unique(values, return_counts=True)
    else:
        found, inverse = np.unique(values, return_inverse=True)
        counts = np.bincount(inverse, copies, len(found)).astype(copies.dtype)
    return ValueCounts(found + 0.0, counts)


def fit_numeric_bins(values: SortedValues, n_bins: BinCount) -> NumericBins:
    """Learn the bins of a numeric column from its sorted values.

    Parameters
    ----------
    values : ValueCounts or SortedColumn
    n_bins : int, "auto" or "fine"

    Returns
    -------
    NumericBins

    Examples
    --------
    >>> ranked = count_values(np.array([0.0, 1.0, 1.0, 10.0]))
    >>> fit_numeric_bins(ranked, 4).centers
    array([ 0.,  1., 10.])
    """
    if not len(values):
        return NumericBins(np.empty(0))
    if n_bins == AUTO:
        return _fit_resolutions(values)
    if n_bins == FINE:
        return _fit_quarters(values)
    return NumericBins(np.array(_quantiles(values, range(n_bins), n_bins - 1)))


def _quantiles(values: SortedValues, parts: Sequence[int], n_parts: int) -> list[float]:
    """Compute the distinct quantiles of the levels ``k / n_parts``, for k in `parts`.

    Interpolation is linear. Positions are computed in integers, so a quantile that
    falls on a value is exact.
    """
    last = len(values) - 1
    places = [divmod(last * k, n_parts) for k in parts]
    below = [at for at, _ in places]
    found = values.at(below + [min(at + 1, last) for at in below]).tolist()
    out = set()
    for low, high, (_, rest) in zip(found, found[len(below) :], places, strict=False):
        gap, share = high - low, rest / n_parts
        if gap == np.inf:  # two values near the limits of float64
            out.add(low * (1 - share) + high * share)
        else:
            out.add(low + gap * share)
    return sorted(out)


def _fit_quarters(values: SortedValues) -> NumericBins:
    """Learn "fine" bins: the quarters of the tree, with their medians as centers."""
    places, levels = cut_values(values)
    cuts = compute_midpoints(values.at(places - 1), values.at(places))
    ends = places[levels <= QUARTERS]
    middles = (np.append(0, ends) + np.append(ends, len(values))) // 2
    quarters, first_leaves = np.unique(number_nodes(levels, QUARTERS), True)
    groups = number_nodes(levels, 1)[first_leaves]
    grouped = len(quarters) > _COARSE
    return NumericBins(values.at(middles), groups if grouped else None, cuts, levels)


def _fit_resolutions(values: SortedValues) -> NumericBins:
    """Learn "auto" bins: up to four centers, and the coarse bin (0 or 1) of each."""
    few = values.few(_FINE)
    if few is not None and len(few) <= _COARSE:
        return NumericBins(few)
    fine = _choose_centers(values, _FINE) if few is None else few
    midpoints = NumericBins(_choose_centers(values, _COARSE)).midpoints
    # There is at most one midpoint, so groups are 0 and 1. Groups are dropped if all
    # bins are in one group, or if each bin is a group.
    groups = np.searchsorted(midpoints, fine)
    grouped = groups[0] < groups[-1] and len(fine) > _COARSE
    return NumericBins(fine, groups if grouped else None)


def _choose_centers(values: SortedValues, n_bins: int) -> NDArray[np.float64]:
    """Choose centers: the frequent values, and medians of parts of the other values.

    A value is frequent if more than ``1 / n_bins`` of the values equal it. The search
    is repeated with the remaining values and bins. The values that are not frequent
    are divided into equally filled parts.

    Parameters
    ----------
    values : ValueCounts or SortedColumn
        With more than `n_bins` distinct values.
    n_bins : int

    Returns
    -------
    ndarray of shape (at most n_bins,), strictly ascending

    Examples
    --------
    >>> values = count_values(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]))
    >>> _choose_centers(values, 2)
    array([0. , 2.5])
    >>> _choose_centers(values, 4)
    array([0. , 1.5, 2.5, 3.5])
    """
    alone: list[float] = []
    while frequent := _find_frequent(values, n_bins - len(alone)):
        alone += frequent
        values = values.without(frequent)
    n_left = n_bins - len(alone)
    middles = _quantiles(values, range(1, 2 * n_left, 2), 2 * n_left)
    return np.array(sorted({*alone, *middles}))


def _find_frequent(values: SortedValues, n_parts: int) -> list[float]:
    """Find the values whose share of all values is above ``1 / n_parts``.

    Returns at most ``n_parts - 1`` values, the most frequent first; of equally
    frequent values, the lower first. Such a value is a quantile of a level
    ``k / n_parts``, so only these quantiles are counted.
    """
    n = len(values)
    borders = values.at([n * i // n_parts for i in range(1, n_parts)])
    spans = {v: values.span(v) for v in set(borders.tolist())}
    counts = {v: last - first for v, (first, last) in spans.items()}
    frequent = [v for v in counts if counts[v] * n_parts > n]
    return sorted(frequent, key=lambda v: (-counts[v], v))[: n_parts - 1]


def cut_values(values: SortedValues) -> tuple[_Ints, _Ints]:
    """Split the values of a column into a balanced binary tree of depth 4.

    Parameters
    ----------
    values : ValueCounts or SortedColumn

    Returns
    -------
    places : ndarray of shape (n_leaves - 1,), int64, strictly ascending
        Position in the sorted order of the first value above each cut.
    levels : ndarray of shape (n_leaves - 1,), int64
        The depth of each cut, from 1 (halves) to 4 (sixteenths).

    Examples
    --------
    >>> from proximity_kernel._bins import count_values
    >>> values = count_values(np.array([1.0, 1.0, 1.0, 2.0, 3.0, 4.0]))
    >>> places, levels = cut_values(values)
    >>> places.tolist(), levels.tolist()
    ([3, 4, 5], [1, 2, 3])
    """
    found: dict[int, int] = {}  # position of the first value above a cut: cut's depth
    parts = [(0, len(values))]
    for level in range(1, len(SCORES)):
        cut = [(*part, _find_split(values, *part)) for part in parts]
        found |= {at: level for first, last, at in cut if first < at < last}
        parts = [
            part for first, last, at in cut for part in ((first, at), (at, last))
            if first < at < last
        ]  # fmt: skip
    places = np.array(sorted(found), np.int64)
    return places, np.array([found[at] for at in places.tolist()], np.int64)


def _find_split(values: SortedValues, first: int, last: int) -> int:
    """Find the cut between two distinct values that halves ``[first, last)`` best.

    Returns the position of the first value above the cut; `first` if all values are
    equal.
    """
    middle = values.at([(first + last) // 2])[0]
    start, stop = values.span(middle)
    inside = [at for at in (start, stop) if first < at < last]
    return min(inside, key=lambda at: (abs(2 * at - first - last), at), default=first)


def compute_midpoints(low: Any, high: Any) -> NDArray[np.float64]:
    """Compute midpoints of pairs of numbers, never rounded up to the higher number."""
    with np.errstate(over="ignore"):
        middle = (low + high) / 2
    middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
    return np.asarray(np.minimum(middle, np.nextafter(high, -np.inf)))


def number_nodes(levels: _Ints, level: int) -> _Ints:
    """Return the index of the node of depth `level` of each leaf, (n_leaves,)."""
    return np.concatenate([[0], np.cumsum(levels <= level)])


def list_cell_scores(bins: Bins) -> tuple[_Floats, list[tuple[_Ints, float]]]:
    """List what two values of a feature score for sharing a leaf, or a larger cell.

    A larger cell is a set of leaves: an inner tree node of a "fine" feature, or a
    coarse bin of an "auto" feature. Returns the score that each leaf adds, and the
    leaves and the added score of each larger cell. In the representation, the columns
    of larger cells come after the columns of leaves.
    """
    if isinstance(bins, CategoricalBins):
        return np.ones(bins.n_bins), []
    if bins.levels is not None:
        return score_nodes(bins.levels)
    groups = () if bins.groups is None else tuple(bins.groups.tolist())
    return _score_halves(bins.n_bins, groups)


@cache
def _score_halves(
    n_bins: int, groups: tuple[int, ...]
) -> tuple[_Floats, list[tuple[_Ints, float]]]:
    """Return what sharing a bin or coarse bin scores; cached, as few patterns occur."""
    leaf_scores, cells = np.ones(n_bins), []
    for group in sorted(set(groups)):
        members = np.flatnonzero(np.array(groups) == group)
        if len(members) > 1:
            cells.append((members, COARSE_SHARE))
            leaf_scores[members] -= COARSE_SHARE
    leaf_scores.flags.writeable = False  # all callers share the cached array
    return leaf_scores, cells


def score_nodes(levels: _Ints) -> tuple[_Floats, list[tuple[_Ints, float]]]:
    """Compute the score that each tree node adds for two values that share it.

    Parameters
    ----------
    levels : ndarray of shape (n_leaves - 1,), int64
        The depth of each cut, from `cut_values`.

    Returns
    -------
    ndarray of shape (n_leaves,)
        The score that each leaf adds.
    list of (ndarray of int64, float)
        The leaves of each inner node (eighths, then quarters, halves), and the score it
        adds. The score of two values is the sum over the nodes that contain both.

    Examples
    --------
    >>> leaf_scores, cells = score_nodes(np.array([1, 2, 3]))
    >>> leaf_scores.round(2).tolist(), [members.tolist() for members, _ in cells]
    ([1.0, 0.6, 0.3, 0.3], [[2, 3], [1, 2, 3]])
    """
    leaf_scores, cells = np.ones(len(levels) + 1), []
    for level in range(len(SCORES) - 2, 0, -1):
        for members in _group_leaves(number_nodes(levels, level)):
            if len(members) > 1:
                added = SCORES[level] - SCORES[level - 1]
                cells.append((members, added))
                leaf_scores[members] -= added
    return leaf_scores, cells


def halve_probabilities(levels: _Ints) -> NDArray[np.float64]:
    """Compute the probability of each leaf given its quarter: halved at each cut.

    >>> halve_probabilities(np.array([3, 4]))  # the first eighth is not cut again
    array([0.5 , 0.25, 0.25])
    """
    share = np.ones(len(levels) + 1)
    for level in range(QUARTERS, len(SCORES) - 1):
        inner = number_nodes(levels, level + 1)
        for members in _group_leaves(number_nodes(levels, level)):
            if inner[members[0]] < inner[members[-1]]:
                share[members] /= 2
    return share


def _group_leaves(cell: _Ints) -> Sequence[_Ints]:
    """List the leaves of each node, given the node of each leaf."""
    return np.split(np.arange(len(cell)), np.flatnonzero(np.diff(cell)) + 1)


@dataclass(frozen=True)
class Typical:
    """The value that each bin of a feature is decoded to.

    Attributes
    ----------
    values : ndarray of shape (n_bins,), float64, or tuple of labels
        Means of numbers (dates and durations in seconds), or most frequent ranks or
        labels.
    spread : ndarray of shape (n_bins,), float64
        Standard deviation of numbers within the bin; for ranks and labels, the share of
        the bin's rows that have another rank or label.
    """

    values: _Floats | tuple[Hashable, ...]
    spread: _Floats


def learn_typical(
    values: _Floats, counts: _Ints, bins: NumericBins, ordered: bool
) -> Typical:
    """Compute the typical value of each bin: the mean, or the most frequent rank.

    Parameters
    ----------
    values : ndarray of shape (n,), float64, contiguous
        NaN is skipped.
    counts : ndarray of shape (n,), int64 or float64, or empty
        The weight of each value; empty means 1.
    bins : NumericBins
    ordered : bool
        Whether the values are ranks of categories.

    Returns
    -------
    Typical
    """
    if ordered:
        return _find_modal_ranks(values, counts, bins)
    totals, shift, squares = (np.zeros(bins.n_bins) for _ in range(3))
    average_bins(values, counts, bins.midpoints, bins.centers, totals, shift, squares)
    means = bins.centers + shift
    spread = np.sqrt(squares / np.where(totals > 0, totals, 1))
    wrong = ~(np.isfinite(means) & np.isfinite(spread))  # near the limits of float64
    return Typical(np.where(wrong, bins.centers, means), np.where(wrong, 0, spread))


def _find_modal_ranks(ranks: _Floats, counts: _Ints, bins: NumericBins) -> Typical:
    """Find the most frequent rank in each bin, and the share of its other ranks."""
    values, spread = np.round(bins.centers), np.zeros(bins.n_bins)
    observed = ranks[~np.isnan(ranks)].astype(np.intp)
    totals = np.bincount(observed, counts) if len(counts) else np.bincount(observed)
    bin_of_rank = np.searchsorted(bins.midpoints, np.arange(len(totals)))
    for k in np.unique(bin_of_rank[totals > 0]):
        in_bin = np.where(bin_of_rank == k, totals, 0)
        values[k] = in_bin.argmax()
        spread[k] = 1 - in_bin.max() / in_bin.sum()
    return Typical(values, spread)


@dataclass(frozen=True)
class Binned:
    """The column types and bins of a table, with which its rows are encoded.

    Attributes
    ----------
    types : tuple of ColumnType
    categorical_features
        The option with which the columns were read.
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
        """Number of bins of each feature, not counting one for missing cells."""
        return np.array([b.n_bins for b in self.bins], np.int64)


def list_bin_counts(options: FitOptions, types: Sequence[ColumnType]) -> list[BinCount]:
    """Resolve the option `n_bins` to one entry per feature: an int, "auto" or "fine".

    Parameters
    ----------
    options : FitOptions
    types : sequence of ColumnType

    Returns
    -------
    list of length n_features
        Features that a mapping omits have the default.
    """
    given, n_features = options.n_bins, len(types)
    spread = [options.default_bins] * n_features
    if isinstance(given, Mapping):
        found = find_columns("n_bins", given, types) if given else {}
        for j, (key, own) in found.items():
            spread[j] = check_bin_count(f"n_bins[{key!r}]", own)
    elif isinstance(given, str | Set | Iterator) or not np.iterable(given):
        spread = [check_bin_count("n_bins", given)] * n_features
    elif len(given := list(given)) != n_features:
        raise ValueError(
            f"n_bins must be one value, or one for each of the {n_features} "
            f"features; got {len(given)} values."
        )
    else:
        spread = [check_bin_count(f"n_bins[{j}]", own) for j, own in enumerate(given)]
    if FINE in spread and options.matching == "cascade":
        raise ValueError(
            "n_bins='fine' needs matching='pairwise'; use n_bins='auto' or a "
            "number with matching='cascade'."
        )
    return spread


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
        The option with which the columns were read.
    n_bins : sequence of int, "auto" and "fine"
        One entry per column; ignored for categorical columns.
    max_categories : int
        Maximum number of bins of a categorical column.
    n_threads : int
    copies : ndarray of shape (n_samples,), int64 or float64, or None
        The weight of each row, above 0; None means 1.

    Returns
    -------
    Binned

    Examples
    --------
    >>> from proximity_kernel._table.columns import read_columns
    >>> columns = read_columns([[0.0, "b"], [1.0, "a"], [2.0, None], [10.0, "b"]])
    >>> binned = learn_bins(columns, "from_dtype", [3, 3], 255, n_threads=1)
    >>> binned.bins[0].centers.tolist(), binned.typical[0].values.tolist()
    ([0.0, 1.5, 10.0], [0.0, 1.5, 10.0])
    >>> binned.bins[1].categories
    ('a', 'b')
    """
    learnt: list[Any] = [None] * len(columns)
    if copies is None:
        for j, found in _learn_distinct(columns, n_bins):
            learnt[j] = found

    def learn_some(first: int, last: int) -> None:
        for j in range(first, last):
            if learnt[j] is None:
                learnt[j] = _learn_column(columns[j], n_bins[j], max_categories, copies)

    # For short columns most time is spent in the interpreter: threads do not help.
    few = len(columns[0].values) <= _FEW_ROWS
    run_pieces(learn_some, len(columns), 1, 1 if few else n_threads)
    types, bins, typical = zip(*learnt, strict=True)
    return Binned(types, categorical_features, bins, typical)


def _learn_column(
    column: Column, n_bins: BinCount, max_categories: int, copies: _Ints | None
) -> tuple[ColumnType, Bins, Typical]:
    """Learn the bins of one column, and their typical values."""
    if column.type.kind == "categorical":
        counts = _NO_COUNTS
        if len(column.labels) > max_categories:
            seen = column.observed
            weights = None if copies is None else copies[seen]
            counts = np.bincount(column.values[seen], weights, len(column.labels))
        return column.type, *bin_labels(column.labels, counts, max_categories)
    values = column.values + 0.0  # a contiguous copy, without -0.0
    counts = _NO_COUNTS
    ordered: SortedValues
    if copies is not None:
        seen = column.observed
        values, counts = values[seen], copies[seen]
        ordered = count_values(values, counts)
    else:
        ordered = sort_values(values)
    bins = fit_numeric_bins(ordered, n_bins)
    typical = learn_typical(values, counts, bins, column.type.order is not None)
    return mark_whole(column.type, values), bins, typical


def _learn_distinct(
    columns: Sequence[Column], n_bins: Sequence[BinCount]
) -> Iterator[tuple[int, tuple[ColumnType, NumericBins, Typical]]]:
    """Learn the "auto" bins of many short columns at once; yield (index, results).

    A table of a hundred rows can have ten thousand columns, and `_learn_column` for
    each would take most of the time of a fit. Only columns whose values are all
    different are learned here: none of these values is frequent, so the centers are
    quantiles, computed for all columns at once. The results equal those of
    `_learn_column` to the last bit. Columns that are not yielded are left to
    `_learn_column`.
    """
    n_rows = len(columns[0].values)
    numeric = [
        j
        for j, column in enumerate(columns)
        if n_bins[j] == AUTO and not column.type.has_labels
    ]
    if n_rows > _FEW_ROWS or len(numeric) < _FEWEST_AT_ONCE:
        return
    step = max(1, _VALUES_AT_ONCE // max(1, n_rows))
    for first in range(0, len(numeric), step):
        which = numeric[first : first + step]
        values = np.stack([columns[j].values for j in which]) + 0.0  # without -0.0
        ordered = np.sort(values, axis=1)
        observed = n_rows - np.isnan(values).sum(axis=1)
        rising = (ordered[:, 1:] > ordered[:, :-1]).sum(axis=1) == observed - 1
        simple = np.flatnonzero(rising & (observed > _FINE))
        found = _learn_stacked(
            [columns[which[k]].type for k in simple.tolist()],
            values[simple],
            ordered[simple],
            observed[simple] - 1,
        )
        for k, own in zip(simple.tolist(), found, strict=True):
            if own is not None:
                yield which[k], own


def _learn_stacked(
    types: list[ColumnType], values: _Floats, ordered: _Floats, last: _Ints
) -> Iterator[tuple[ColumnType, NumericBins, Typical] | None]:
    """Learn "auto" bins of columns of distinct numbers, given as rows of `values`.

    `ordered` has the sorted rows, and `last` the index of the greatest number in each.
    Yields None for a column with numbers near the limits of float64.
    """
    fine, coarse = (_take_medians(ordered, last, n) for n in (_FINE, _COARSE))
    midpoints = compute_midpoints(fine[:, :-1], fine[:, 1:])
    groups = (compute_midpoints(coarse[:, :1], coarse[:, 1:]) < fine).astype(np.int64)
    grouped = groups[:, 0] < groups[:, -1]
    totals, shift, squares = (np.zeros(fine.shape) for _ in range(3))
    for k, line in enumerate(values):
        average_bins(
            line, _NO_COUNTS, midpoints[k], fine[k], totals[k], shift[k], squares[k]
        )
    means, spread = fine + shift, np.sqrt(squares / np.maximum(totals, 1))
    good = np.isfinite(means).all(axis=1) & np.isfinite(spread).all(axis=1)
    good &= (np.diff(fine, axis=1) > 0).all(axis=1) & (coarse[:, 0] < coarse[:, 1])
    with np.errstate(invalid="ignore"):
        broken = np.any(values > np.floor(values), axis=1)
    for k, column in enumerate(types):
        if not good[k]:
            yield None
            continue
        bins = NumericBins(fine[k], groups[k] if grouped[k] else None)
        vars(bins)["midpoints"] = midpoints[k]  # a cached property
        found = column if broken[k] else mark_whole(column, values[k])
        yield found, bins, Typical(means[k], spread[k])


def _take_medians(ordered: _Floats, last: _Ints, n: int) -> _Floats:
    """Compute the medians of n equally filled parts of each sorted row, (n_rows, n)."""
    places = last[:, None] * np.arange(1, 2 * n, 2)
    below, rest = np.divmod(places, 2 * n)
    low = np.take_along_axis(ordered, below, axis=1)
    high = np.take_along_axis(ordered, np.minimum(below + 1, last[:, None]), axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(low + (high - low) * (rest / (2 * n)))


def bin_labels(
    labels: tuple[Hashable, ...], counts: _Ints, max_categories: int
) -> tuple[CategoricalBins, Typical]:
    """Assign labels to bins; beyond `max_categories`, the rarest share the last bin.

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


@dataclass(frozen=True)
class BinNames:
    """The names of the bins of a feature, and of ranges of neighboring bins.

    Attributes
    ----------
    labels : tuple of str
        The names of bins that have no order: categories.
    lows, highs : tuple of str
        The lower and upper limit of each ordered bin, as text; "" if there is none.
    beyond, between : str
        Format strings for a range without an upper limit, and for a range with both
        limits.
    empty : frozenset of int
        Bins that can contain no value: they lie between two neighboring whole numbers
        or ranks.
    missing : bool
        Whether missing cells have a bin of their own, the last one.
    """

    labels: tuple[str, ...] = ()
    lows: tuple[str, ...] = ()
    highs: tuple[str, ...] = ()
    beyond: str = "above {}"
    between: str = "{} to {}"
    empty: frozenset[int] = frozenset()
    missing: bool = False

    @property
    def n_ordered(self) -> int:
        """Number of ordered bins; a bin for missing cells comes after them."""
        return len(self.lows)

    def name(self, first: int, last: int) -> str:
        """Name the range of bins from `first` to `last`, both included."""
        if first >= len(self.labels) + self.n_ordered:
            return "missing"
        if self.labels:
            return self.labels[first]
        if first < last and last - first == self.n_ordered - 1:
            return "observed"
        low, high = self.lows[first], self.highs[last]
        if first == last and first in self.empty:
            return f"between {high} and {low}"
        if low == high:
            return low
        if not high:
            return self.beyond.format(low)
        return self.between.format(low, high) if low else f"up to {high}"

    def each(self) -> list[str]:
        """List the names of all bins of the feature."""
        n_bins = len(self.labels) + self.n_ordered + self.missing
        return [self.name(k, k) for k in range(n_bins)]


def name_bins(
    bins: Bins, column: ColumnType, typical: Typical, missing: bool
) -> BinNames:
    """Name the bins of a feature by their ranges or categories.

    Parameters
    ----------
    bins : NumericBins or CategoricalBins
    column : ColumnType
    typical : Typical
        The typical values of the bins.
    missing : bool
        Whether missing cells have a bin of their own.

    Returns
    -------
    BinNames

    Examples
    --------
    >>> from proximity_kernel._bins import NumericBins
    >>> bins = NumericBins(np.array([10.0, 15.0, 45.0]))
    >>> typical = Typical(bins.centers, np.ones(3))
    >>> age = ColumnType("age", "numeric", "numbers")
    >>> name_bins(bins, age, typical, missing=True).each()
    ['up to 12.5', '12.5 to 30', 'above 30', 'missing']
    >>> whole = ColumnType("age", "numeric", "numbers", form="whole")
    >>> names = name_bins(bins, whole, typical, missing=False)
    >>> names.each(), names.name(0, 1)
    (['up to 12', '13-30', '31 or more'], 'up to 30')
    """
    if isinstance(bins, CategoricalBins):
        return BinNames(tuple(bins.names()), missing=missing)
    if not bins.n_bins:
        return BinNames(missing=missing)
    order = (False, True) if column.form == "boolean" else column.order
    if order is not None and (bins.n_bins > 1 or column.order is not None):
        return _name_ranks(bins, [str(label) for label in order], missing)
    if bins.n_bins == 1:
        center = float(bins.centers[0])
        value = format_numbers([center], column.family)[0]
        value = value if order is None else str(bool(center))
        return BinNames(lows=(value,), highs=(value,), missing=missing)
    whole = column.form == "whole" and column.family == "numbers"
    if whole and np.abs(bins.midpoints).max() < _EXACT:
        return _name_whole_numbers(bins, typical, missing)
    if column.form == "whole" and column.family == "dates":
        return _name_whole_days(bins, missing)
    error = np.inf
    if column.form != "whole":
        # The least distance of two limits or, of one limit, of the typical values.
        among = bins.midpoints if bins.n_bins > 2 else np.asarray(typical.values, float)
        error = _ROUNDED * float(np.diff(among).min(initial=np.inf))
    limits = format_numbers(bins.midpoints.tolist(), column.family, error)
    return BinNames(lows=("", *limits), highs=(*limits, ""), missing=missing)


def _name_ranks(bins: NumericBins, labels: list[str], missing: bool) -> BinNames:
    """Name the bins of an ordered categorical, or of booleans, by their labels.

    A bin whose center lies between two ranks may contain no label.
    """
    lows, highs = _find_whole_ends(bins, 0, len(labels) - 1)
    return BinNames(
        lows=tuple(labels[k] for k in lows),
        highs=tuple(labels[k] for k in highs),
        empty=_find_empty_bins(lows, highs),
        missing=missing,
    )


def _name_whole_numbers(bins: NumericBins, typical: Typical, missing: bool) -> BinNames:
    """Name each bin of whole numbers by the least and the greatest it can contain.

    The first and the last bin have one limit ("up to 12", "31 or more"). If all values
    of such a bin are equal, its name is that number ("0", not "up to 0").
    """
    lows, highs = _find_whole_ends(bins, 0, 0)
    means = np.asarray(typical.values, np.float64)
    first, last = (
        round(means[k]) if typical.spread[k] < _EQUAL else None for k in (0, -1)
    )
    low = str(first) if first == highs[0] else ""
    high = str(last) if last == lows[-1] else ""
    return BinNames(
        lows=(low, *map(str, lows[1:])),
        highs=(*map(str, highs[:-1]), high),
        beyond="{} or more",
        between="{}-{}" if highs[0] >= 0 else "{} to {}",
        empty=_find_empty_bins(lows[1:-1], highs[1:-1], start=1),
        missing=missing,
    )


def _name_whole_days(bins: NumericBins, missing: bool) -> BinNames:
    """Name each bin of dates without times by the first and last day it can contain.

    >>> days = NumericBins(86_400 * np.array([0.0, 10, 31]))
    >>> _name_whole_days(days, missing=False).each()
    ['up to 1970-01-06', '1970-01-07 to 1970-01-21', '1970-01-22 or later']
    """
    below = np.floor(bins.midpoints / _DAY).astype(int).tolist()
    above = [day + 1 for day in below]
    lows, highs = (
        format_numbers([_DAY * day for day in days], "dates") for days in (above, below)
    )
    return BinNames(
        lows=("", *lows),
        highs=(*highs, ""),
        beyond="{} or later",
        empty=_find_empty_bins(above[:-1], below[1:], start=1),
        missing=missing,
    )


def _find_whole_ends(
    bins: NumericBins, lowest: int, highest: int
) -> tuple[list[int], list[int]]:
    """Find the least and the greatest whole number of each bin.

    `lowest` is returned as the least number of the first bin, and `highest` as the
    greatest number of the last bin. If a bin lies between two neighboring whole
    numbers, its least number is above its greatest.
    """
    below = [int(limit) for limit in np.floor(bins.midpoints).tolist()]
    return [lowest, *(n + 1 for n in below)], [*below, highest]


def _find_empty_bins(
    lows: list[int], highs: list[int], start: int = 0
) -> frozenset[int]:
    """Find the bins that contain no whole number: low end above high end."""
    ends = enumerate(zip(lows, highs, strict=True), start)
    return frozenset(k for k, (low, high) in ends if low > high)


def format_numbers(
    numbers: Sequence[float], family: str, error: float = np.inf
) -> list[str]:
    """Format the limits of bins with few digits, but enough to tell them apart.

    `family` is "numbers", "dates" or "durations"; the last two are in seconds. No
    number is rounded by more than `error`.
    """
    if family == "dates":
        return _format_dates(numbers, error)
    for digits in range(_DIGITS, 17):
        out = [_format_digits(number, digits) for number in numbers]
        rounded = np.abs(np.array(out, float) - numbers).max(initial=0)
        if len(set(out)) == len(out) and rounded <= error:
            break
    return [f"{text} s" for text in out] if family == "durations" else out


def _format_dates(seconds: Sequence[float], error: float) -> list[str]:
    """Format dates, given in seconds, with as much of the time as tells them apart.

    The time is also written if a date alone is wrong by more than `error` seconds.
    """
    whole = np.floor(seconds).astype("datetime64[s]")
    out = [str(day) for day in whole.astype("datetime64[D]")]
    close = np.mod(seconds, _DAY).max(initial=0) <= error
    for unit, per_second in _DATE_UNITS.items():
        # A finer unit covers fewer years.
        apart = close and len(set(out)) == len(out)
        if apart or max(map(abs, seconds)) * per_second >= 2**63:
            break
        close = True
        counts = np.array([round(moment * per_second) for moment in seconds])
        moments = whole if unit == "s" else counts.astype(f"datetime64[{unit}]")
        out = [str(moment) for moment in moments]
    return out


def format_moment(seconds: float) -> str:
    """Format seconds since 1970 as a date, with the time unless it is midnight.

    Examples
    --------
    >>> format_moment(86400.0), format_moment(0.25)
    ('1970-01-02', '1970-01-01T00:00:00.25')
    """
    whole, rest = divmod(seconds, 1)
    return write_date(int(whole) * 10**9 + round(rest * 1e6) * 1000)


def _format_digits(number: float, digits: int) -> str:
    """Format a number with `digits` digits; with an exponent if very large or small."""
    if number and not 1e-4 <= abs(number) < 1e15:
        return f"{number:.{digits}g}"
    return np.format_float_positional(number, digits, fractional=False, trim="-")


def name_leaves(
    bins: Bins, column: ColumnType, typical: Typical, missing: bool
) -> BinNames:
    """Name the leaves of a feature, as `name_bins` names its bins."""
    if isinstance(bins, NumericBins) and bins.cuts is not None and len(bins.cuts):
        every = np.full(len(bins.cuts), QUARTERS)  # as if each leaf were a bin
        bins = NumericBins(np.zeros(len(every) + 1), cuts=bins.cuts, levels=every)
    return name_bins(bins, column, typical, missing)


def output_names(
    names: Sequence[str], bins: Sequence[Bins], leaves: Sequence[BinNames]
) -> NDArray[np.object_]:
    """Name every column of the representation: the feature, then the bin in words.

    There are no brackets, because other libraries do not accept ``[`` and ``<`` in
    names. An underscore is appended to a name that is taken already: the column "a"
    with the category "b c" collides with the column "a b" with the category "c".

    Parameters
    ----------
    names : sequence of str
        Names of the features.
    bins : sequence of Bins
    leaves : sequence of BinNames
        From `name_leaves`.

    Returns
    -------
    ndarray of str of shape (n_columns,)

    Examples
    --------
    >>> from proximity_kernel._bins import CategoricalBins, NumericBins
    >>> bins = [NumericBins(np.array([1.0, 2.0])), CategoricalBins(("a", "b"))]
    >>> leaves = [BinNames(lows=("", "1.5"), highs=("1.5", "")), BinNames(("a", "b"))]
    >>> output_names(["age", "blood"], bins, leaves).tolist()
    ['age up to 1.5', 'age above 1.5', 'blood a', 'blood b']
    """
    out: dict[str, None] = {}  # a set that keeps its order
    for feature, feature_bins, own in zip(names, bins, leaves, strict=True):
        cells = [members for members, _ in list_cell_scores(feature_bins)[1]]
        for words in [*own.each(), *(own.name(c[0], c[-1]) for c in cells)]:
            name = f"{feature} {words}"
            while name in out:
                name += "_"
            out[name] = None
    return np.array(list(out), dtype=object)


@merged
def _find_bin(x: float, midpoints: NDArray[np.float64]) -> int:
    """Find the bin of a value: the number of midpoints strictly below it."""
    n_midpoints = midpoints.shape[0]
    code = 0
    if n_midpoints <= _FEW_MIDPOINTS:
        for k in range(n_midpoints):
            code += midpoints[k] < x
        return code
    above = n_midpoints
    while code < above:
        middle = (code + above) // 2
        if midpoints[middle] < x:
            code = middle + 1
        else:
            above = middle
    return code


@compiled
def assign_bins(
    values: NDArray[np.float64],
    midpoints: NDArray[np.float64],
    missing: int,
    codes: Any,
) -> None:
    """Write the bin of each value to `codes`, (n,); `missing` for NaN."""
    for i in range(values.shape[0]):
        x = values[i]
        codes[i] = missing if x != x else _find_bin(x, midpoints)


@compiled
def average_bins(
    values: NDArray[np.float64], counts: Any, midpoints: NDArray[np.float64],
    centers: Any, totals: Any, shift: Any, squares: Any,
) -> None:  # fmt: skip
    """Compute the mean and the sum of squared deviations of the values in each bin.

    Written to `totals` (sum of weights), `shift` (the mean minus the center, which
    keeps digits that large sums would lose) and `squares` (the sum of squared
    deviations from the mean), all of shape (n_bins,) and zero at the start. `counts`
    are the weights of the values, 1 if empty; NaN is skipped.
    """
    for i in range(values.shape[0]):
        x = values[i]
        if x == x:
            k = _find_bin(x, midpoints)
            weight = counts[i] if counts.shape[0] else 1
            totals[k] += weight
            shift[k] += weight * (x - centers[k])
    for k in range(centers.shape[0]):
        if totals[k] > 0:
            shift[k] /= totals[k]
    for i in range(values.shape[0]):
        x = values[i]
        if x == x:
            k = _find_bin(x, midpoints)
            weight = counts[i] if counts.shape[0] else 1
            squares[k] += weight * (x - centers[k] - shift[k]) ** 2
