"""Rows of a partition in, what they bring to their clusters out: sums that add up."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._embedding import embed_distinct
from .._lloyd import nearest_centers
from .._model import Model
from .._points import Rows, gather_rows
from .._profiles import total_bins
from .._survey import has_no_rows
from ._parts import Shared


@dataclass(frozen=True)
class Sums:
    """What the rows of some partitions bring to their clusters; it adds up.

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


def gather_part(part: Any, shared: Shared) -> Rows | None:
    """Represent each distinct row of a partition once; None if it has no rows."""
    if has_no_rows(part):
        return None
    held = embed_distinct(shared.get(), part)
    return gather_rows(held.matrix, held.codes.counts)


def sum_part(rows: Rows | None, centers: Shared, shared: Shared | None) -> Sums | None:
    """Add up the rows of a partition by their nearest centers."""
    if rows is None:
        return None
    model = None if shared is None else shared.get()._fitted_model()  # noqa: SLF001
    found = nearest_centers(rows, centers.get())
    return sum_clusters(rows, found.centers, found.labels, model)


def merge_sums(a: Sums | None, b: Sums | None) -> Sums | None:
    """Add what two partitions bring."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


def label_part(part: Any, shared: Shared, centers: Shared) -> NDArray[np.int32]:
    """Find the nearest center of each row of a partition."""
    if has_no_rows(part):
        return np.empty(0, np.int32)
    held = embed_distinct(shared.get(), part)
    rows = gather_rows(held.matrix, held.codes.counts)
    return nearest_centers(rows, centers.get()).labels[held.codes.inverse]
