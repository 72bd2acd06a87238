"""Rows of a part of a table in, what they bring to their clusters out.

These sums add up, so k-means can move its centers over a table that is never held
whole, whoever reads it: batches one after the other, or partitions side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._model.model import Model
from .iterations import nearest_centers
from .points import Rows
from .profiles import total_bins


@dataclass(frozen=True)
class Sums:
    """What the rows of a part of a table bring to their clusters; it adds up.

    Attributes
    ----------
    rows : ndarray of shape (n_clusters, n_columns)
        Sum of the rows of each cluster.
    sizes : ndarray of shape (n_clusters,)
        How many they are.
    squares : ndarray of shape ()
        Sum of the squares of all rows.
    bins : ndarray of shape (n_clusters, total bins)
        As of `total_bins`; of no bins when nobody asks for them.
    """

    rows: NDArray[np.float64]
    sizes: NDArray[np.float64]
    squares: NDArray[np.float64]
    bins: NDArray[np.float64]

    def __add__(self, other: Sums) -> Sums:
        names = (one.name for one in fields(self))
        return Sums(*(getattr(self, name) + getattr(other, name) for name in names))

    def take(self, order: NDArray[np.int64]) -> Sums:
        """Take the clusters of `order`, one after the other."""
        rows, sizes, bins = (held[order] for held in (self.rows, self.sizes, self.bins))
        return Sums(rows, sizes, self.squares, bins)

    @property
    def variance(self) -> float:
        """Mean of the variances of the columns."""
        n = self.sizes.sum()
        mean = self.rows.sum(axis=0) / n
        spread = float(self.squares / n - mean @ mean)
        return max(0.0, spread) / max(1, len(mean))

    def means(self, before: NDArray[Any]) -> NDArray[Any]:
        """Mean of each cluster; one without rows stays where it was `before`."""
        filled = self.sizes > 0
        out = before.copy()
        out[filled] = self.rows[filled] / self.sizes[filled, None]
        return out

    def inertia(self, centers: NDArray[Any]) -> float:
        """Sum of the squared distances of the rows to their centers."""
        exact = centers.astype(np.float64)
        cross = float(np.vdot(self.rows, exact))
        spread = float(self.squares) - 2 * cross
        return max(0.0, spread + float(self.sizes @ (exact**2).sum(axis=1)))


def sum_clusters(
    rows: Rows, centers: NDArray[Any], labels: NDArray[np.int32], model: Model | None
) -> Sums:
    """Add up rows by their clusters.

    Parameters
    ----------
    rows : Rows
    centers : ndarray of shape (n_clusters, n_columns)
    labels : ndarray of shape (n_rows,)
    model : Model or None
        To add up the bins too.

    Returns
    -------
    Sums
    """
    k, n = len(centers), len(labels)
    member = sp.csr_array((rows.counts, (labels, np.arange(n))), shape=(k, n))
    sizes: Any = np.bincount(labels, rows.counts, k)
    bins = np.zeros((k, 0))
    if model is not None:
        bins = total_bins(model, rows.matrix, rows.counts, labels, k)
    return Sums(
        (member @ rows.matrix).toarray().astype(np.float64),
        sizes,
        np.asarray(rows.counts @ rows.squares),
        bins,
    )


def sum_part(
    rows: Rows | None, centers: NDArray[Any], model: Model | None
) -> Sums | None:
    """Add up the rows of a part by their nearest centers."""
    if rows is None:
        return None
    found = nearest_centers(rows, centers)
    return sum_clusters(rows, found.centers, found.labels, model)


def merge_sums(a: Sums | None, b: Sums | None) -> Sums | None:
    """Add what two parts bring."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


def move_centers(
    add_up: Callable[[NDArray[Any]], Sums],
    centers: NDArray[Any],
    max_passes: int,
    tol: float,
) -> tuple[NDArray[Any], Sums, int]:
    """Move centers to the means of all rows, pass after pass, until they hold still.

    Parameters
    ----------
    add_up : callable
        Adds up all rows by their nearest of the centers that it gets: one pass.
    centers : ndarray of shape (n_clusters, n_columns)
    max_passes : int
        At least 1.
    tol : float
        Of the mean variance of a column: centers that move less, squared and summed,
        hold still.

    Returns
    -------
    ndarray of shape (n_clusters, n_columns)
        The means of the rows as the last pass found them.
    Sums
        Of that pass.
    int
        Passes.
    """
    n_passes, moved, still = 0, np.inf, 0.0
    while moved > still and n_passes < max_passes:
        n_passes += 1
        sums = add_up(centers)
        before, centers = centers, sums.means(centers)
        moved = float(np.square(centers - before, dtype=np.float64).sum())
        still = tol * sums.variance
    return centers, sums, n_passes


def check_sums(sums: Sums | None, model: Model) -> Sums:
    """Refuse a pass that met other rows than the fit."""
    seen = 0 if sums is None else sums.sizes.sum()
    if sums is None or seen != model.n_samples:
        raise ValueError(
            f"The batches gave other rows when read again ({model.n_samples:,} first, "
            f"then {seen:,.0f}); pass a list, or a function that returns a new "
            "iterator of the same batches each time."
        )
    return sums
