"""Learn the bins of a column from its observed values: centers, or categories.

The centers of a numeric column are evenly spaced percentiles of the observed values, so
they are close together where the data are dense. There a small difference separates two
values; in a sparse region even a large one may not. Equal centers are merged, which
changes no assignment and avoids empty bins.

With `AUTO` bins each very frequent value has its own center. The other centers are the
middles of equally filled parts of the remaining values, so no center is spent on an
extreme, or twice on one value. Two such sets, of four and of two centers, make two
resolutions: a fine bin belongs to the nearest coarse center. `fine_scale` makes `FINE`
bins.

A categorical column has a bin per category, in sorted order. A column with nothing
observed has none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._shared.options import AUTO, FINE, BinCount
from .fine_scale import QUARTERS, between, cut_values, number_cells

_FINE, _COARSE = 4, 2  # centers of the two resolutions
FEW_ROWS = 1 << 16
"""Up to this number of values a column is sorted as a whole, on one thread."""

_Floats = NDArray[np.float64]
# Buckets by the first 16 bits of a float: negative numbers first, in reverse order.
_RISING = np.concatenate([np.arange(0xFFFF, 0x7FFF, -1), np.arange(0x8000)])
_PLACES = np.argsort(_RISING)
_NAN_KEYS = np.flatnonzero((np.arange(1 << 16) & 0x7FF0) == 0x7FF0)


@dataclass(frozen=True)
class NumericBins:
    """The bins of a numeric column.

    Attributes
    ----------
    centers : ndarray of shape (n_bins,), float64, strictly ascending
    groups : ndarray of shape (n_bins,), int64, or None
        The coarse bin of each bin, 0 or 1, if there are two resolutions.
    cuts, levels : ndarray of shape (n_leaves - 1,), or None
        The cuts of a "fine" column, from `cut_values`.
    """

    centers: NDArray[np.float64]
    groups: NDArray[np.int64] | None = None
    cuts: NDArray[np.float64] | None = None
    levels: NDArray[np.int64] | None = None

    @property
    def n_bins(self) -> int:
        """How many bins there are."""
        return len(self.centers)

    @property
    def parents(self) -> NDArray[np.int64]:
        """The bin of each leaf; without cuts the bins are the leaves."""
        if self.levels is None:
            return np.arange(self.n_bins)
        return number_cells(self.levels, QUARTERS)

    @cached_property
    def midpoints(self) -> NDArray[np.float64]:
        """Where one bin ends and the next begins, shape (n_bins - 1,)."""
        if self.cuts is not None and self.levels is not None:
            return self.cuts[self.levels <= QUARTERS]
        return between(self.centers[:-1], self.centers[1:])

    @cached_property
    def shared(self) -> dict[int, NDArray[np.int64]]:
        """The coarse bins that contain several bins, and these bins."""
        if self.groups is None:
            return {}
        held = {group: np.flatnonzero(self.groups == group) for group in (0, 1)}
        return {group: members for group, members in held.items() if len(members) > 1}

    def names(self) -> list[str]:
        """Name each leaf for an output column: its number."""
        return [str(k) for k in range(len(self.parents))]


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
        """How many bins there are."""
        return len(self.categories) + bool(self.infrequent)

    @property
    def parents(self) -> NDArray[np.int64]:
        """The bin of each leaf: the bins are the leaves."""
        return np.arange(self.n_bins)

    def names(self) -> list[str]:
        """Name each bin for an output column: its label."""
        return [
            *(str(label) for label in self.categories),
            *(["infrequent"] if self.infrequent else []),
        ]


Bins = NumericBins | CategoricalBins


@dataclass(frozen=True)
class Ranked:
    """Distinct values, sorted, with their counts.

    Attributes
    ----------
    values : ndarray of shape (n_distinct,), float64, strictly ascending
    counts : ndarray of shape (n_distinct,), int64

    Examples
    --------
    >>> ranked = rank_values(np.array([2.0, 1.0, 2.0]))
    >>> len(ranked), ranked.at([0, 1, 2]).tolist(), ranked.span(2.0)
    (3, [1.0, 2.0, 2.0], (1, 3))
    """

    values: _Floats
    counts: NDArray[np.int64]

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.counts)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self.counts) else 0

    def at(self, places: Any) -> _Floats:
        """Values at places of the sorted order, the first at 0."""
        found: _Floats = self.values[self._ends.searchsorted(places, side="right")]
        return found

    def span(self, value: float) -> tuple[int, int]:
        """First place of a value in the sorted order, and the place after its last."""
        at = self.values.searchsorted(value)
        return int(self._ends[at] - self.counts[at]), int(self._ends[at])

    def without(self, values: list[float]) -> Ranked:
        """Leave some values out."""
        kept = ~np.isin(self.values, values)
        return Ranked(self.values[kept], self.counts[kept])

    def few(self, most: int) -> _Floats | None:
        """Give the distinct values, or nothing if there are more than `most`."""
        return self.values if len(self.values) <= most else None


class Selected:
    """The values of a large column, sorted only as far as needed.

    The first 16 bits of a value (sign, exponent and four more) give its bucket. The
    sizes of the buckets tell in which bucket a place of the sorted order is.

    Parameters
    ----------
    values : ndarray of shape (n,), float64, in one piece, without -0.0 and infinity
        NaN is left out.

    Examples
    --------
    >>> selected = Selected(np.array([2.0, np.nan, 1.0, 2.0]))
    >>> len(selected), selected.at([0, 1, 2]).tolist(), selected.span(2.0)
    (3, [1.0, 2.0, 2.0], (1, 3))
    """

    def __init__(self, values: _Floats) -> None:
        self._values = values
        self._keys = (values.view(np.uint64) >> np.uint64(48)).astype(np.uint16)
        counts = np.bincount(self._keys, minlength=1 << 16)
        counts[_NAN_KEYS] = 0
        self._ends = np.cumsum(counts[_RISING])
        self._sorted: dict[int, _Floats] = {}

    def __len__(self) -> int:
        return int(self._ends[-1])

    def _bucket(self, bucket: int) -> _Floats:
        """Sort the values of a bucket, given its place in the ascending order."""
        if bucket not in self._sorted:
            self._sorted[bucket] = np.sort(self._values[self._keys == _RISING[bucket]])
        return self._sorted[bucket]

    def at(self, places: Any) -> _Floats:
        """Values at places of the sorted order, the first at 0."""
        places = np.asarray(places)
        found = np.empty(len(places))
        buckets = self._ends.searchsorted(places, side="right")
        for bucket in np.unique(buckets).tolist():
            held = self._bucket(bucket)
            here = buckets == bucket
            found[here] = held[places[here] - (self._ends[bucket] - len(held))]
        return found

    def span(self, value: float) -> tuple[int, int]:
        """First place of a value found by `at`, and the place after its last."""
        bucket = int(_PLACES[int(np.float64(value).view(np.uint64) >> np.uint64(48))])
        held = self._bucket(bucket)
        before = int(self._ends[bucket]) - len(held)
        first, last = (held.searchsorted(value, side) for side in ("left", "right"))
        return before + int(first), before + int(last)

    def without(self, values: list[float]) -> Selected:
        """Leave some values out."""
        return Selected(self._values[~np.isin(self._values, values)])

    def few(self, most: int) -> _Floats | None:
        """Give the distinct values, or nothing if there are more than `most`."""
        used = np.flatnonzero(np.diff(self._ends, prepend=0))
        if len(used) > most:
            return None
        found = np.concatenate([np.unique(self._bucket(k)) for k in used.tolist()])
        return found if len(found) <= most else None


Ordered = Ranked | Selected
"""Values that can be read in sorted order."""


def rank_values(values: _Floats, copies: NDArray[np.int64] | None = None) -> Ranked:
    """Sort values and count the equal ones; -0.0 is 0.0.

    Parameters
    ----------
    values : ndarray of shape (n,), float64, without NaN
    copies : ndarray of shape (n,), int64, or None
        How often each value counts; None means once.

    Returns
    -------
    Ranked
    """
    if copies is None:
        found, counts = np.unique(values, return_counts=True)
    else:
        found, inverse = np.unique(values, return_inverse=True)
        counts = np.bincount(inverse, copies, len(found))
    return Ranked(found + 0.0, counts.astype(np.int64))


def rank_centers(values: Ordered, n_bins: BinCount) -> NumericBins:
    """Learn the bins of a numeric column from its values in order.

    Parameters
    ----------
    values : Ranked or Selected
    n_bins : int, "auto" or "fine"

    Returns
    -------
    NumericBins

    Examples
    --------
    >>> ranked = rank_values(np.array([0.0, 1.0, 1.0, 10.0]))
    >>> rank_centers(ranked, 4).centers
    array([ 0.,  1., 10.])
    """
    if not len(values):
        return NumericBins(np.empty(0))
    if n_bins == AUTO:
        return _fit_resolutions(values)
    if n_bins == FINE:
        return _fit_quarters(values)
    steps = n_bins - 1
    return NumericBins(np.array(_quantiles(values, range(n_bins), steps)))


def _quantiles(values: Ordered, parts: Sequence[int], n_parts: int) -> list[float]:
    """Take the quantiles ``k / n_parts`` for each k of `parts`, equal ones once.

    Interpolation is linear. Places are fractions of whole numbers, so exact at a value.
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


def _fit_quarters(values: Ordered) -> NumericBins:
    """Cut the values; the center of a quarter is the value in its middle."""
    places, levels = cut_values(values)
    cuts = between(values.at(places - 1), values.at(places))
    ends = places[levels <= QUARTERS]
    middles = (np.append(0, ends) + np.append(ends, len(values))) // 2
    quarters, first_leaves = np.unique(number_cells(levels, QUARTERS), True)
    groups = number_cells(levels, 1)[first_leaves]
    told = len(quarters) > _COARSE
    return NumericBins(values.at(middles), groups if told else None, cuts, levels)


def _fit_resolutions(values: Ordered) -> NumericBins:
    few = values.few(_FINE)
    if few is not None and len(few) <= _COARSE:
        return NumericBins(few)
    fine = _spread_centers(values, _FINE) if few is None else few
    midpoints = NumericBins(_spread_centers(values, _COARSE)).midpoints
    # There is at most one midpoint, so groups are 0 and 1. They are dropped if all bins
    # are in one group, or each has its own.
    groups = np.searchsorted(midpoints, fine)
    told = groups[0] < groups[-1] and len(fine) > _COARSE
    return NumericBins(fine, groups if told else None)


def _spread_centers(values: Ordered, n_bins: int) -> NDArray[np.float64]:
    """Place centers so that each frequent value has its own.

    The others are the middles of equally filled parts of the remaining values.

    Parameters
    ----------
    values : Ranked or Selected
        They have more than `n_bins` distinct values.
    n_bins : int

    Returns
    -------
    ndarray of shape (at most n_bins,), strictly ascending

    Examples
    --------
    >>> values = rank_values(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]))
    >>> _spread_centers(values, 2)
    array([0. , 2.5])
    >>> _spread_centers(values, 4)
    array([0. , 1.5, 2.5, 3.5])
    """
    alone: list[float] = []
    while frequent := _more_than_a_share(values, n_bins - len(alone)):
        alone += frequent
        values = values.without(frequent)
    n_left = n_bins - len(alone)
    middles = _quantiles(values, range(1, 2 * n_left, 2), 2 * n_left)
    return np.array(sorted({*alone, *middles}))


def _more_than_a_share(values: Ordered, n_parts: int) -> list[float]:
    """Find the values that occur in more than one ``n_parts``-th of the cells.

    These are at most ``n_parts - 1``, the most frequent first; ties go to the lower. In
    sorted order such a value crosses a border between equal shares.
    """
    n = len(values)
    borders = values.at([n * i // n_parts for i in range(1, n_parts)])
    spans = {v: values.span(v) for v in set(borders.tolist())}
    counts = {v: last - first for v, (first, last) in spans.items()}
    frequent = [v for v in counts if counts[v] * n_parts > n]
    return sorted(frequent, key=lambda v: (-counts[v], v))[: n_parts - 1]
