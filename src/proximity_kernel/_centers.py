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
from typing import Final, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ._columns import Column
from ._ranks import Ranked
from ._threads import run_pieces

AUTO: Final = "auto"
BinCount = int | Literal["auto"]
_FINE, _COARSE = 4, 2  # centers of the two resolutions


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

    @property
    def midpoints(self) -> NDArray[np.float64]:
        """Where one center's cell ends and the next begins, shape (n_bins - 1,)."""
        low, high = self.centers[:-1], self.centers[1:]
        with np.errstate(over="ignore"):
            middle = (low + high) / 2
        middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
        # Between neighbouring floats there is no midpoint; it may have been rounded
        # up to the higher center, which must lie above it.
        return np.minimum(middle, np.nextafter(high, -np.inf))

    @property
    def shared(self) -> dict[int, NDArray[np.int64]]:
        """The coarse bins that hold several bins, and which."""
        groups = np.arange(self.n_bins) if self.groups is None else self.groups
        held = {int(g): np.flatnonzero(groups == g) for g in np.unique(groups)}
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
    >>> from proximity_kernel._columns import read_columns
    >>> columns = read_columns([[0.0, "b"], [1.0, "a"], [2.0, None], [10.0, "b"]])
    >>> length, colour = fit_centers(columns, [3, 3], 255, n_threads=1)
    >>> length.centers
    array([ 0. ,  1.5, 10. ])
    >>> colour.categories
    ('a', 'b')
    """
    bins: list[Bins] = [NumericBins(np.empty(0))] * len(columns)

    def fit_some(first: int, last: int) -> None:
        for j in range(first, last):
            if columns[j].type.kind == "numeric":
                bins[j] = _fit_numeric(columns[j], n_bins[j])
            else:
                bins[j] = _fit_categorical(columns[j], max_categories)

    run_pieces(fit_some, len(columns), piece=1, n_threads=n_threads)
    return tuple(bins)


def rank_centers(ranked: Ranked, n_bins: BinCount) -> NumericBins:
    """Learn the bins of a numeric column from its values with their counts.

    The same to the last bit as `fit_centers` of the whole column.

    Parameters
    ----------
    ranked : Ranked
    n_bins : int or "auto"

    Returns
    -------
    NumericBins

    Examples
    --------
    >>> ranked = Ranked(np.array([0.0, 1.0, 10.0]), np.array([1, 2, 1]))
    >>> rank_centers(ranked, 4).centers
    array([ 0.,  1., 10.])
    """
    if not len(ranked):
        return NumericBins(np.empty(0))
    if n_bins == AUTO:
        return _fit_resolutions(ranked)
    # As np.percentile does it, in the same order of steps.
    places = (len(ranked) - 1) * (np.linspace(0, 100, n_bins) / 100)
    below = np.minimum(np.floor(places), len(ranked) - 1)
    low, high = ranked.at(below), ranked.at(np.minimum(below + 1, len(ranked) - 1))
    with np.errstate(over="ignore", invalid="ignore"):
        centers = _between(low, high, places - below)
    if not np.isfinite(centers).all():
        centers = _between(low / 2, high / 2, places - below) * 2
    return NumericBins(np.unique(centers) + 0.0)


def _between(
    low: NDArray[np.float64], high: NDArray[np.float64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    gap = high - low
    return np.where(share < 0.5, low + gap * share, high - gap * (1 - share))


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
    observed = column.values[column.observed]
    if not len(observed):
        return NumericBins(np.empty(0))
    if n_bins == AUTO:
        return _fit_resolutions(_Placed(observed))
    percents = np.linspace(0, 100, n_bins)
    with np.errstate(over="ignore", invalid="ignore"):
        centers = np.percentile(observed, percents)
    if not np.isfinite(centers).all():
        # The gap between two values near the ends of float64 is no float64; half
        # of it is, and halving is exact.
        centers = np.percentile(observed / 2, percents) * 2
    return NumericBins(np.unique(centers) + 0.0)  # not -0.0, which equals 0.0


class _Sorted(Protocol):
    """Values as if sorted, at the places that the bins need."""

    def __len__(self) -> int: ...
    def at(self, places: list[int]) -> NDArray[np.float64]: ...
    def count(self, value: float) -> int: ...
    def without(self, values: list[float], n_parts: int) -> Self: ...
    def few(self, most: int) -> NDArray[np.float64] | None: ...


@dataclass(frozen=True)
class _Placed:
    """Values of a whole column, of which only some places are put in order."""

    held: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.held)

    def at(self, places: list[int]) -> NDArray[np.float64]:
        return self.held[places]

    def count(self, value: float) -> int:
        return int(np.count_nonzero(self.held == value))

    def without(self, values: list[float], n_parts: int) -> _Placed:
        rest = self.held[~np.isin(self.held, values)]
        return _Placed(np.partition(rest, _places(len(rest), n_parts)))

    def few(self, most: int) -> NDArray[np.float64] | None:
        values, found = self.held, list[float]()
        while len(values):
            if len(found) == most:
                return None
            found.append(float(values[0]) + 0.0)  # not -0.0, which equals 0.0
            values = values[values != values[0]]
        return np.sort(found)


def _fit_resolutions(values: _Sorted) -> NumericBins:
    few = values.few(_FINE)
    if few is not None and len(few) <= _COARSE:
        return NumericBins(few)
    if isinstance(values, _Placed):  # one pass for both: they read nearly the same
        places = _places(len(values), _FINE) + _places(len(values), _COARSE)
        values = _Placed(np.partition(values.held, places))
    fine = _spread_centers(values, _FINE) if few is None else few
    midpoints = NumericBins(_spread_centers(values, _COARSE)).midpoints
    _, groups = np.unique(np.searchsorted(midpoints, fine), return_inverse=True)
    # A coarse bin that holds everything says nothing, and bins of their own need none.
    told = groups[-1] and len(fine) > _COARSE
    return NumericBins(fine, groups.astype(np.int64) if told else None)


def _spread_centers(placed: _Sorted, n_bins: int) -> NDArray[np.float64]:
    """Place centers so that frequent values have one of their own.

    Parameters
    ----------
    placed : values with more than `n_bins` distinct ones, in order at `_places`
    n_bins : int

    Returns
    -------
    ndarray of shape (at most n_bins,), strictly rising

    Examples
    --------
    >>> values = _Placed(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]))
    >>> _spread_centers(values, 2)
    array([0. , 2.5])
    >>> _spread_centers(values, 4)
    array([0. , 1.5, 2.5, 3.5])
    """
    alone: list[float] = []
    while frequent := _more_than_a_share(placed, n_bins - len(alone)):
        alone += frequent
        placed = placed.without(frequent, n_bins - len(alone))
    n_left = n_bins - len(alone)
    middles = [_middle(placed, i, n_left) for i in range(n_left)]
    return np.unique([*alone, *middles]) + 0.0  # not -0.0


def _more_than_a_share(placed: _Sorted, n_parts: int) -> list[float]:
    """Find what more than one of `n_parts` equal shares of the values are.

    At most ``n_parts - 1`` values, the most frequent first, the lower among equals.
    In sorted order such a value reaches over one of the borders between shares.
    """
    borders = [len(placed) * i // n_parts for i in range(1, n_parts)]
    counts = {float(v): placed.count(float(v)) for v in np.unique(placed.at(borders))}
    frequent = [v for v in counts if counts[v] * n_parts > len(placed)]
    return sorted(frequent, key=lambda v: (-counts[v], v))[: n_parts - 1]


def _middle(placed: _Sorted, i: int, n_parts: int) -> float:
    """Take the percentile ``100 * (i + 1/2) / n_parts``, interpolated linearly."""
    # In whole numbers: where it falls on a value, no rounding moves it off.
    at, over = divmod((len(placed) - 1) * (2 * i + 1), 2 * n_parts)
    low = float(placed.at([at])[0])
    if not over:
        return low
    high, share = float(placed.at([at + 1])[0]), over / (2 * n_parts)
    gap = high - low
    if gap == np.inf:  # between two values near the ends of float64
        return low * (1 - share) + high * share
    return low + gap * share


def _places(n: int, n_parts: int) -> list[int]:
    """List where `_more_than_a_share` and `_middle` look, of `n` sorted values."""
    borders = [n * i // n_parts for i in range(1, n_parts)]
    middles = [(n - 1) * (2 * i + 1) // (2 * n_parts) for i in range(n_parts)]
    # Never one place alone: numpy is some ten times slower then, where values tie.
    return [*borders, *middles, *(min(at + 1, n - 1) for at in middles)]


def _fit_categorical(column: Column, max_categories: int) -> CategoricalBins:
    if len(column.labels) <= max_categories:  # nobody needs to count
        return CategoricalBins(column.labels)
    counts = np.bincount(column.values[column.observed], minlength=len(column.labels))
    return count_categories(column.labels, counts, max_categories)
