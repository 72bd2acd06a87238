"""Rows of a representation as points: each distinct one once, with its count.

Rows are read in pieces, on threads, and how they are cut is a matter of their number
only. So sums that each piece makes for itself, added in the order of the rows, have the
same bits for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._numba.kmeans_loops import count_alike, measure_rows
from .._shared.threads import Threads

_PIECE = 8192  # rows at the least
_MOST_PIECES = 64  # each has sums of its own
_LANES = 8  # centers are held in multiples of it: one vector instruction each


@dataclass(frozen=True)
class Rows:
    """Distinct rows of a representation.

    Attributes
    ----------
    matrix : csr_array of shape (n_rows, n_columns), float32 or float64
    counts : ndarray of shape (n_rows,), float64
        How often each stands in the table.
    squares : ndarray of shape (n_rows,), float64
        Sum of the squares of each.
    n_threads : int
    """

    matrix: sp.csr_array
    counts: NDArray[np.float64]
    squares: NDArray[np.float64]
    n_threads: int

    @property
    def piece(self) -> int:
        """How many rows a piece has; a matter of their number only."""
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
        """Sum of the squares, with the counts."""
        return float(self.counts @ self.squares)

    @cached_property
    def most_entries(self) -> int:
        """Entries of the row that has the most."""
        return int(np.diff(self.matrix.indptr).max(initial=0))

    @cached_property
    def alike(self) -> NDArray[np.int32]:
        """How many entries, from the first on, each row has like the row before it."""
        alike = np.zeros(len(self.counts), np.int32)
        if len(alike):
            count_alike(*self.csr, alike)
        return alike

    @property
    def csr(self) -> tuple[Any, Any, Any]:
        """Data, indices and indptr."""
        return self.matrix.data, self.matrix.indices, self.matrix.indptr

    def make_sums(self, offsets: NDArray[Any]) -> NDArray[Any]:
        """Make room for the sums of each piece, a line per entry of a row.

        Parameters
        ----------
        offsets : ndarray of shape (width,)
            What sums start from.

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
        """Mean row, with the counts."""
        mean: NDArray[np.float64] = self.counts @ self.matrix / self.counts.sum()
        return mean

    def variance(self) -> float:
        """Mean of the variances of the columns."""
        mean = self.mean()
        spread = self.total_square / self.counts.sum() - mean @ mean
        return max(0.0, float(spread)) / max(1, len(mean))


def gather_rows(matrix: sp.csr_array, counts: NDArray[Any], n_threads: int = 1) -> Rows:
    """Take rows with the number of times that each stands in a table.

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


def tabulate(centers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lay centers out for the loops: ``-2 c`` by columns, and the squares.

    Parameters
    ----------
    centers : ndarray of shape (n_clusters, n_columns)

    Returns
    -------
    ndarray of shape (n_columns * width,)
        With a width that is a multiple of eight.
    ndarray of shape (width,)
        Infinite for what fills it up: no row is near that.
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
