"""Distinct rows of a representation, with their counts, as points for k-means.

The sums of the rows of each cluster are additive, so k-means can move its centers over
a table that is never in memory as a whole, but read in batches or partitions.

Rows are read in pieces, on threads. The pieces depend only on the number of rows, and
their sums are added in the order of the rows. So the result has the same bits for any
number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._model.model import Model
from .._numba.kmeans_loops import count_alike, measure_rows
from .._shared.threads import Threads

_PIECE = 8192  # minimum number of rows
_MOST_PIECES = 64  # limited because each piece has its own sums
_LANES = 8  # centers are padded to a multiple of this, the width of a vector


@dataclass(frozen=True)
class Rows:
    """Distinct rows of a representation.

    Attributes
    ----------
    matrix : csr_array of shape (n_rows, n_columns), float32 or float64
    counts : ndarray of shape (n_rows,), float64
        How often each row occurs in the table.
    squares : ndarray of shape (n_rows,), float64
        Sum of the squares of each row's entries.
    n_threads : int
    """

    matrix: sp.csr_array
    counts: NDArray[np.float64]
    squares: NDArray[np.float64]
    n_threads: int

    @property
    def piece(self) -> int:
        """How many rows a piece has; it depends only on the number of rows."""
        return max(_PIECE, -(-len(self.counts) // _MOST_PIECES))

    @property
    def n_pieces(self) -> int:
        """How many pieces there are."""
        return -(-len(self.counts) // self.piece)

    @cached_property
    def largest_square(self) -> float:
        """The largest of the squares."""
        return float(self.squares.max(initial=0.0))

    @cached_property
    def total_square(self) -> float:
        """Sum of the squares, weighted by the counts."""
        return float(self.counts @ self.squares)

    @cached_property
    def most_entries(self) -> int:
        """Number of entries of the row that has the most."""
        return int(np.diff(self.matrix.indptr).max(initial=0))

    @cached_property
    def alike(self) -> NDArray[np.int32]:
        """Number of leading entries that each row shares with the row before it."""
        alike = np.zeros(len(self.counts), np.int32)
        if len(alike):
            count_alike(*self.csr, alike)
        return alike

    @property
    def csr(self) -> tuple[Any, Any, Any]:
        """Data, indices and indptr."""
        return self.matrix.data, self.matrix.indices, self.matrix.indptr

    def make_sums(self, offsets: NDArray[Any]) -> NDArray[Any]:
        """Allocate the sums of each piece, a line per entry of a row.

        Parameters
        ----------
        offsets : ndarray of shape (width,)
            The values from which the sums start.

        Returns
        -------
        ndarray of shape (n_pieces, (most entries of a row + 1) * width)
        """
        n_lines = self.most_entries + 1
        sums = np.empty((self.n_pieces, n_lines * len(offsets)), offsets.dtype)
        sums[:, : len(offsets)] = offsets
        return sums

    def run(self, work: Any, threads: Threads) -> None:
        """Call ``work(piece number, first row, last row)`` for all pieces."""
        threads.run(
            lambda first, last: work(first // self.piece, first, last),
            len(self.counts),
            self.piece,
        )

    def mean(self) -> NDArray[np.float64]:
        """Mean row, weighted by the counts."""
        mean: NDArray[np.float64] = self.counts @ self.matrix / self.counts.sum()
        return mean

    def variance(self) -> float:
        """Mean of the variances of the columns."""
        mean = self.mean()
        spread = self.total_square / self.counts.sum() - mean @ mean
        return max(0.0, float(spread)) / max(1, len(mean))


def gather_rows(matrix: sp.csr_array, counts: NDArray[Any], n_threads: int = 1) -> Rows:
    """Make `Rows` of a matrix and the number of times each row occurs.

    Parameters
    ----------
    matrix : csr_array of shape (n_rows, n_columns)
    counts : ndarray of shape (n_rows,)
    n_threads : int

    Returns
    -------
    Rows
    """
    data = matrix.data.astype(np.float64)
    of_row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    squares: Any = np.bincount(of_row, data * data, matrix.shape[0])
    return Rows(matrix, counts.astype(np.float64), squares, n_threads)


def weigh_rows(
    rows: Rows, weights: NDArray[np.float64]
) -> tuple[Rows, NDArray[np.bool_]]:
    """Replace the counts of rows by weights; rows of weight 0 are left out.

    Parameters
    ----------
    rows : Rows
    weights : ndarray of shape (n_rows,), float64
        At least one is above 0.

    Returns
    -------
    Rows
    ndarray of shape (n_rows,), bool
        Which rows were kept.
    """
    # Sums of multiples of a power of two have no rounding error, so the size of a
    # cluster that all rows have left is exactly 0. Whole numbers are not changed.
    unit = 2.0 ** (np.frexp(weights.sum())[1] - 52)
    counts = np.round(weights / unit) * unit
    kept = counts > 0
    some = rows.matrix[kept], counts[kept], rows.squares[kept]
    return Rows(*some, rows.n_threads), kept


def tabulate(centers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lay centers out for the loops: ``-2 c`` by columns, and the squares.

    Parameters
    ----------
    centers : ndarray of shape (n_clusters, n_columns)

    Returns
    -------
    ndarray of shape (n_columns * width,)
        The width is a multiple of eight.
    ndarray of shape (width,)
        Infinite for the padding, so that no row is near it.
    """
    k = len(centers)
    width = -(-k // _LANES) * _LANES
    table = np.zeros((centers.shape[1], width), centers.dtype)
    table[:, :k] = -2 * centers.T
    offsets = np.full(width, np.inf, centers.dtype)
    offsets[:k] = np.square(centers, dtype=np.float64).sum(axis=1)
    return table.ravel(), offsets


def distances_to(rows: Rows, centers: NDArray[Any]) -> NDArray[np.float64]:
    """Measure the Euclidean distance of every row from every center.

    Parameters
    ----------
    rows : Rows
    centers : ndarray of shape (n_clusters, n_columns)

    Returns
    -------
    ndarray of shape (n_rows, n_clusters)
    """
    table, offsets = tabulate(centers.astype(np.float64))
    distances = np.empty((len(rows.counts), len(centers)))
    sums = rows.make_sums(offsets)
    csr = (rows.matrix.data.astype(np.float64), *rows.csr[1:])
    alike = rows.alike

    def measure_some(piece: int, first: int, last: int) -> None:
        measure_rows(
            *csr, alike, rows.squares, first, last, table, len(offsets), sums[piece],
            distances,
        )  # fmt: skip

    with Threads(rows.n_threads) as threads:
        rows.run(measure_some, threads)
    return distances


@dataclass(frozen=True)
class Sums:
    """Sums by cluster of the rows of a part of a table; parts are added with ``+``.

    Attributes
    ----------
    rows : ndarray of shape (n_clusters, n_columns)
        Sum of the rows of each cluster.
    sizes : ndarray of shape (n_clusters,)
        Number of rows of each cluster.
    squares : ndarray of shape ()
        Sum of the squares of all rows.
    bins : ndarray of shape (n_clusters, total bins)
        The result of `total_bins`; it has no columns if bins were not requested.
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
        If given, the bins are added up too.

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


def total_bins(
    model: Model,
    matrix: sp.csr_array,
    counts: NDArray[np.float64],
    labels: NDArray[np.int32],
    n_clusters: int,
) -> NDArray[np.float64]:
    """How many rows of each cluster lie in each bin, of shape (n_clusters, total bins).

    The totals of parts of a table add up to those of the whole.

    Parameters
    ----------
    model : Model
        The model that represents the rows.
    matrix : csr_array of shape (n_rows, n_columns)
    counts : ndarray of shape (n_rows,)
        How often each row is in the table.
    labels : ndarray of shape (n_rows,)
        The cluster of each.
    n_clusters : int
    """
    bins = model.share_bins(matrix)
    # Every feature of a fitted row sums to one, unless the row was normalized.
    scale = np.asarray(bins.sum(axis=1)).ravel() / max(1, model.n_counted)
    weights = counts / np.where(scale > 0, scale, 1)
    member = sp.csr_array(
        (weights, (labels, np.arange(len(labels)))), (n_clusters, len(labels))
    )
    totals: NDArray[np.float64] = (member @ bins).toarray()
    return totals


def merge_sums(a: Sums | None, b: Sums | None) -> Sums | None:
    """Add the sums of two parts, either of which may be None."""
    if a is None or b is None:
        return b if a is None else a
    return a + b
