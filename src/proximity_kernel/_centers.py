"""Observed values of a column in, its bins out: centers, or categories.

The centers of a numeric column are evenly spaced percentiles of what was observed,
so they crowd where the data are dense: there a small difference separates two
values, and in a sparse region a large one does not. Equal centers are merged; the
cells stay the same and no bin stays empty for that reason.

A categorical column has a bin per category, in sorted order. A column with nothing
observed has none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._columns import Column
from ._threads import run_pieces


@dataclass(frozen=True)
class NumericBins:
    """The bins of a numeric column.

    Attributes
    ----------
    centers : ndarray of shape (n_bins,), float64, strictly rising
    """

    centers: NDArray[np.float64]

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

    def names(self) -> list[str]:
        """Name each bin for an output column: its label."""
        return [
            *(str(label) for label in self.categories),
            *(["infrequent"] if self.infrequent else []),
        ]


Bins = NumericBins | CategoricalBins


def fit_centers(
    columns: Sequence[Column],
    n_bins: Sequence[int],
    max_categories: int,
    n_threads: int,
) -> tuple[Bins, ...]:
    """Learn the bins of every column.

    Parameters
    ----------
    columns : sequence of Column
    n_bins : sequence of int
        Bins asked for, one number per column; categorical columns ignore theirs.
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


def _fit_numeric(column: Column, n_bins: int) -> NumericBins:
    observed = column.values[column.observed]
    if not len(observed):
        return NumericBins(np.empty(0))
    percents = np.linspace(0, 100, n_bins)
    with np.errstate(over="ignore", invalid="ignore"):
        centers = np.percentile(observed, percents)
    if not np.isfinite(centers).all():
        # The gap between two values near the ends of float64 is no float64; half
        # of it is, and halving is exact.
        centers = np.percentile(observed / 2, percents) * 2
    return NumericBins(np.unique(centers))


def _fit_categorical(column: Column, max_categories: int) -> CategoricalBins:
    labels = column.labels
    if len(labels) <= max_categories:
        return CategoricalBins(labels)
    counts = np.bincount(column.values[column.observed], minlength=len(labels))
    # Stable: among equally frequent labels the earlier one keeps its bin.
    kept = np.argsort(-counts, kind="stable")[: max_categories - 1]
    frequent = set(kept.tolist())
    return CategoricalBins(
        tuple(label for k, label in enumerate(labels) if k in frequent),
        frozenset(label for k, label in enumerate(labels) if k not in frequent),
    )
