"""Observed values of a column in, its bins out: centers, or categories.

The centers of a numeric column are evenly spaced percentiles of what was observed,
so they crowd where the data are dense: there a small difference separates two
values, and in a sparse region a large one does not. Equal centers are merged; the
cells stay the same and no bin stays empty for that reason.

With `AUTO` bins a value that many rows hold has a center of its own and the others lie
in the middles of equally filled parts of the rest, so none is spent on an extreme, or
twice on one value. Two such sets, of four centers and of two, make two resolutions: a
fine bin belongs to the coarse center nearest to its own.

A categorical column has a bin per category, in sorted order. A column with nothing
observed has none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from .._shared.threads import run_pieces
from .._table.columns import Column
from .quantiles import Ordered, Selected, rank_values

AUTO: Final = "auto"
BinCount = int | Literal["auto"]
_FINE, _COARSE = 4, 2  # centers of the two resolutions
FEW_ROWS = 1 << 16
"""Up to here a column is sorted whole, and needs no threads."""


@dataclass(frozen=True)
class NumericBins:
    """The bins of a numeric column.

    Attributes
    ----------
    centers : ndarray of shape (n_bins,), float64, strictly rising
    groups : ndarray of shape (n_bins,), int64, or None
        The coarse bin of each bin, 0 or 1, where there are two resolutions.
    """

    centers: NDArray[np.float64]
    groups: NDArray[np.int64] | None = None

    @property
    def n_bins(self) -> int:
        """How many bins there are."""
        return len(self.centers)

    @cached_property
    def midpoints(self) -> NDArray[np.float64]:
        """Where one center's cell ends and the next begins, shape (n_bins - 1,)."""
        low, high = self.centers[:-1], self.centers[1:]
        with np.errstate(over="ignore"):
            middle = (low + high) / 2
        middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
        # Between adjacent floats there is no midpoint; it may have been rounded
        # up to the higher center, which must lie above it.
        return np.minimum(middle, np.nextafter(high, -np.inf))

    @cached_property
    def shared(self) -> dict[int, NDArray[np.int64]]:
        """The coarse bins that hold several bins, and which."""
        if self.groups is None:
            return {}
        held = {group: np.flatnonzero(self.groups == group) for group in (0, 1)}
        return {group: members for group, members in held.items() if len(members) > 1}

    def names(self) -> list[str]:
        """Name each bin for an output column: its number."""
        return [str(k) for k in range(self.n_bins)]


@dataclass(frozen=True)
class CategoricalBins:
    """The bins of a categorical column.

    Attributes
    ----------
    categories : tuple
        The labels with a bin of their own, sorted.
    infrequent : frozenset
        The rarest labels, which share one more bin, the last; often empty.
    """

    categories: tuple[Hashable, ...]
    infrequent: frozenset[Hashable] = frozenset()

    @property
    def n_bins(self) -> int:
        """How many bins there are."""
        return len(self.categories) + bool(self.infrequent)

    @property
    def shared(self) -> dict[int, NDArray[np.int64]]:
        """The coarse bins that hold several bins: there is one resolution only."""
        return {}

    def names(self) -> list[str]:
        """Name each bin for an output column: its label."""
        return [
            *(str(label) for label in self.categories),
            *(["infrequent"] if self.infrequent else []),
        ]


Bins = NumericBins | CategoricalBins


def fit_centers(
    columns: Sequence[Column],
    n_bins: Sequence[BinCount],
    max_categories: int,
    n_threads: int,
) -> tuple[Bins, ...]:
    """Learn the bins of every column.

    Parameters
    ----------
    columns : sequence of Column
    n_bins : sequence of int and "auto"
        Bins asked for, one entry per column; categorical columns ignore theirs.
    max_categories : int
        Most bins of a categorical column.
    n_threads : int

    Returns
    -------
    tuple of NumericBins and CategoricalBins, one per column

    Examples
    --------
    >>> from proximity_kernel._table.columns import read_columns
    >>> columns = read_columns([[0.0, "b"], [1.0, "a"], [2.0, None], [10.0, "b"]])
    >>> length, color = fit_centers(columns, [3, 3], 255, n_threads=1)
    >>> length.centers
    array([ 0. ,  1.5, 10. ])
    >>> color.categories
    ('a', 'b')
    """
    bins: list[Bins] = [NumericBins(np.empty(0))] * len(columns)

    def fit_some(first: int, last: int) -> None:
        for j in range(first, last):
            if columns[j].type.kind == "numeric":
                bins[j] = _fit_numeric(columns[j], n_bins[j])
            else:
                bins[j] = _fit_categorical(columns[j], max_categories)

    # Short columns are mostly the interpreter's work, of which it does one at a time.
    long = len(columns[0].values) > FEW_ROWS
    run_pieces(fit_some, len(columns), 1, n_threads if long else 1)
    return tuple(bins)


def count_categories(
    labels: tuple[Hashable, ...], counts: NDArray[np.int64], max_categories: int
) -> CategoricalBins:
    """Give labels their bins: one each, or the rarest one together.

    Parameters
    ----------
    labels : tuple
        Sorted.
    counts : ndarray of shape (n_labels,), int64
    max_categories : int

    Returns
    -------
    CategoricalBins

    Examples
    --------
    >>> count_categories(("a", "b", "c"), np.array([1, 5, 1]), 2)
    CategoricalBins(categories=('b',), infrequent=frozenset({...}))
    """
    if len(labels) <= max_categories:
        return CategoricalBins(labels)
    # Stable: among equally frequent labels the earlier one keeps its bin.
    kept = np.argsort(-counts, kind="stable")[: max_categories - 1]
    frequent = set(kept.tolist())
    return CategoricalBins(
        tuple(label for k, label in enumerate(labels) if k in frequent),
        frozenset(label for k, label in enumerate(labels) if k not in frequent),
    )


def _fit_numeric(column: Column, n_bins: BinCount) -> NumericBins:
    values = column.values
    if len(values) <= FEW_ROWS:
        return rank_centers(rank_values(values[~np.isnan(values)]), n_bins)
    selected = Selected(values + 0.0)  # a copy in one piece, and no -0.0
    return rank_centers(selected, n_bins)


def rank_centers(values: Ordered, n_bins: BinCount) -> NumericBins:
    """Learn the bins of a numeric column from its values in order.

    Parameters
    ----------
    values : Ranked or Selected
    n_bins : int or "auto"

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
    steps = n_bins - 1
    return NumericBins(np.array(_quantiles(values, range(n_bins), steps)))


def _quantiles(values: Ordered, parts: Sequence[int], n_parts: int) -> list[float]:
    """Take the quantiles ``k / n_parts`` for each k of `parts`, equal ones once.

    Interpolated linearly. A place is a whole-number fraction: on a value it is exact.
    """
    last = len(values) - 1
    places = [divmod(last * k, n_parts) for k in parts]
    below = [at for at, _ in places]
    found = values.at(below + [min(at + 1, last) for at in below]).tolist()
    out = set()
    for low, high, (_, rest) in zip(found, found[len(below) :], places, strict=False):
        gap, share = high - low, rest / n_parts
        if gap == np.inf:  # between two values near the ends of float64
            out.add(low * (1 - share) + high * share)
        else:
            out.add(low + gap * share)
    return sorted(out)


def _fit_resolutions(values: Ordered) -> NumericBins:
    few = values.few(_FINE)
    if few is not None and len(few) <= _COARSE:
        return NumericBins(few)
    fine = _spread_centers(values, _FINE) if few is None else few
    midpoints = NumericBins(_spread_centers(values, _COARSE)).midpoints
    # At most one midpoint: groups are 0 and 1. One that holds everything says nothing,
    # and bins of their own need none.
    groups = np.searchsorted(midpoints, fine)
    told = groups[0] < groups[-1] and len(fine) > _COARSE
    return NumericBins(fine, groups if told else None)


def _spread_centers(values: Ordered, n_bins: int) -> NDArray[np.float64]:
    """Place centers so that frequent values have one of their own.

    The others lie in the middles of equally filled parts of the rest.

    Parameters
    ----------
    values : Ranked or Selected
        With more than `n_bins` distinct ones.
    n_bins : int

    Returns
    -------
    ndarray of shape (at most n_bins,), strictly rising

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
    """Find what more than one of `n_parts` equal shares of the values are.

    At most ``n_parts - 1`` values, the most frequent first, the lower among equals.
    In sorted order such a value reaches over one of the borders between shares.
    """
    n = len(values)
    borders = values.at([n * i // n_parts for i in range(1, n_parts)])
    counts = {v: values.count(v) for v in set(borders.tolist())}
    frequent = [v for v in counts if counts[v] * n_parts > n]
    return sorted(frequent, key=lambda v: (-counts[v], v))[: n_parts - 1]


def _fit_categorical(column: Column, max_categories: int) -> CategoricalBins:
    if len(column.labels) <= max_categories:  # nobody needs to count
        return CategoricalBins(column.labels)
    counts = np.bincount(column.values[column.observed], minlength=len(column.labels))
    return count_categories(column.labels, counts, max_categories)
