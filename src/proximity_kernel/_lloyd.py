"""k-means on sparse rows with counts: seeds, Lloyd's iterations, the best of several.

Rows are read in pieces, on threads; each piece has sums of its own, and these are added
in the order of the rows. So the bits do not depend on the number of threads. Only rows
that change their cluster touch the sums, and these become few after some iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._centroids import assign_rows, measure_rows, try_seeds
from ._threads import run_pieces

_PIECE = 8192  # rows at the least
_MOST_PIECES = 64  # each has sums of its own
_LANES = 8  # centers are held in multiples of it: one vector instruction each
_NEAR = 1e-6  # of a mean square: below it two rows are the same but for rounding


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

    @property
    def csr(self) -> tuple[Any, Any, Any]:
        """Data, indices and indptr."""
        return self.matrix.data, self.matrix.indices, self.matrix.indptr

    def run(self, work: Any) -> None:
        """Call ``work(piece number, first row, last row)`` for all pieces."""
        run_pieces(
            lambda first, last: work(first // self.piece, first, last),
            len(self.counts),
            self.piece,
            self.n_threads,
        )

    def mean(self) -> NDArray[np.float64]:
        """Mean row, with the counts."""
        mean: NDArray[np.float64] = self.counts @ self.matrix / self.counts.sum()
        return mean

    def variance(self) -> float:
        """Mean of the variances of the columns."""
        mean = self.mean()
        spread = self.counts @ self.squares / self.counts.sum() - mean @ mean
        return max(0.0, float(spread)) / max(1, len(mean))


@dataclass(frozen=True)
class Clustering:
    """Centers, and the rows around them.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_columns), dtype of the rows
    labels : ndarray of shape (n_rows,), int32
    inertia : float
        Sum over the rows of the squared distance to the center, with counts.
    n_iter : int
    """

    centers: NDArray[Any]
    labels: NDArray[np.int32]
    inertia: float
    n_iter: int


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


def best_clustering(
    rows: Rows, n_clusters: int, n_init: int, max_iter: int, tol: float, seed: int
) -> Clustering:
    """Run k-means from several sets of seeds and keep the one of least inertia.

    Parameters
    ----------
    rows : Rows
    n_clusters, n_init, max_iter : int
    tol : float
        Of the mean variance of a column: less movement of all centers, squared, is
        convergence.
    seed : int

    Returns
    -------
    Clustering
    """
    found: Clustering | None = None
    for child in np.random.SeedSequence(seed).spawn(n_init):
        seeds = choose_seeds(rows, n_clusters, np.random.default_rng(child))
        tried = iterate(rows, seeds, max_iter, tol * rows.variance())
        # Equal but for rounding is equal: the first stays.
        if found is None or tried.inertia < found.inertia * (1 - 1e-9):
            found = tried
    assert found is not None  # n_init is at least 1
    return found


def choose_seeds(rows: Rows, n_clusters: int, rng: np.random.Generator) -> NDArray[Any]:
    """Draw seeds by greedy k-means++, as scikit-learn does.

    Each seed is a row, drawn with probability in proportion to its squared distance
    from the seeds before it; of a few drawn the one that leaves the least is taken.

    Parameters
    ----------
    rows : Rows
    n_clusters : int
    rng : Generator

    Returns
    -------
    ndarray of shape (n_clusters, n_columns)
    """
    matrix, n_rows = rows.matrix, len(rows.counts)
    n_trials = 2 + int(np.log(n_clusters))
    chosen = np.empty(n_clusters, np.int64)
    closest: NDArray[np.float64] = np.full(n_rows, np.inf)
    drawn = _draw(rows.counts, 1, rng)
    for c in range(n_clusters):
        potentials, distances = _try(rows, drawn, closest)
        best = int(np.argmin(potentials))
        chosen[c] = drawn[best]
        closest = np.ascontiguousarray(distances[:, best])
        closest[drawn[best]] = 0
        drawn = _draw(rows.counts * closest, n_trials, rng)
    seeds: NDArray[Any] = matrix[chosen].toarray()
    return seeds


def _draw(
    weights: NDArray[np.float64], n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    total = np.cumsum(weights)
    found = np.searchsorted(total, rng.random(n) * total[-1], side="right")
    drawn: NDArray[np.int64] = np.minimum(found, len(weights) - 1)
    return drawn


def _try(
    rows: Rows, drawn: NDArray[np.int64], closest: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum of squared distances with each drawn row as a seed, and the distances."""
    table, offsets = _tabulate(rows.matrix[drawn].toarray())
    distances = np.empty((len(closest), len(drawn)))
    potentials = np.zeros((rows.n_pieces, len(drawn)))
    scratch = np.empty((rows.n_pieces, len(offsets)), table.dtype)

    def try_some(piece: int, first: int, last: int) -> None:
        try_seeds(
            *rows.csr, rows.counts, rows.squares, first, last, table, offsets,
            scratch[piece], closest, distances, potentials[piece],
        )  # fmt: skip

    rows.run(try_some)
    return potentials.sum(axis=0), distances


def _tabulate(centers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
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


class _State:
    """Where an iteration stands: labels, and the sums that make centers of them."""

    def __init__(self, rows: Rows, n_clusters: int) -> None:
        n_rows, n_columns = rows.matrix.shape
        self.rows = rows
        self.labels = np.full(n_rows, -1, np.int32)
        self.scores = np.empty(n_rows, rows.matrix.dtype)
        self.sums = np.zeros((n_clusters, n_columns))
        self.weights = np.zeros(n_clusters)

    def assign(self, centers: NDArray[Any]) -> int:
        """Give each row its nearest center; returns how many changed theirs."""
        rows, n_pieces = self.rows, self.rows.n_pieces
        table, offsets = _tabulate(centers.astype(rows.matrix.dtype, copy=False))
        scratch = np.empty((n_pieces, len(offsets)), table.dtype)
        sums = np.zeros((n_pieces, *self.sums.shape))
        weights = np.zeros((n_pieces, len(self.weights)))
        changed = np.zeros(n_pieces, np.int64)

        def assign_some(piece: int, first: int, last: int) -> None:
            changed[piece] = assign_rows(
                *rows.csr, rows.counts, first, last, table, offsets, scratch[piece],
                self.labels, self.scores, sums[piece], weights[piece],
            )  # fmt: skip

        rows.run(assign_some)
        self.sums += sums.sum(axis=0)
        self.weights += weights.sum(axis=0)
        return int(changed.sum())

    def fill_empty(self) -> int:
        """Move the farthest rows to the clusters without any; returns how many."""
        empty = np.flatnonzero(self.weights <= 0)
        if not len(empty):
            return 0
        squares = self.rows.squares
        distances = self.scores + squares
        far = np.argsort(-distances, kind="stable")
        near = _NEAR * squares.mean()
        found = (i for i in far if distances[i] > near and self._can_leave(i))
        moved = 0
        for c, i in zip(empty, found, strict=False):
            row = self.rows.matrix[[i]].toarray()[0].astype(np.float64)
            for label, count in ((self.labels[i], -1), (c, 1)):
                self.sums[label] += count * self.rows.counts[i] * row
                self.weights[label] += count * self.rows.counts[i]
            self.labels[i] = c
            moved += 1
        return moved

    def _can_leave(self, i: int) -> bool:
        """Whether the cluster of a row has others."""
        return bool(self.weights[self.labels[i]] > self.rows.counts[i])

    def means(self, before: NDArray[Any]) -> NDArray[Any]:
        """Mean of each cluster; one without rows stays where it was `before`."""
        filled = self.weights > 0
        out = before.copy()
        out[filled] = self.sums[filled] / self.weights[filled, None]
        return out

    def inertia(self, centers: NDArray[Any]) -> float:
        """Sum of the squared distances, from the sums alone."""
        exact = centers.astype(np.float64)
        own = float(self.rows.counts @ self.rows.squares)
        cross = float(np.vdot(self.sums, exact))
        return max(0.0, own - 2 * cross + float(self.weights @ (exact**2).sum(axis=1)))


def iterate(rows: Rows, seeds: NDArray[Any], max_iter: int, tol: float) -> Clustering:
    """Move centers to the means of their rows until nothing changes.

    Parameters
    ----------
    rows : Rows
    seeds : ndarray of shape (n_clusters, n_columns)
    max_iter : int
    tol : float
        Squared movement of all centers together that counts as none.

    Returns
    -------
    Clustering
        Each row has its nearest center. If every iteration changed something, the
        centers are the means of the rows they had before the last look only.
    """
    state, centers = _State(rows, len(seeds)), seeds
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        changed = state.assign(centers)
        changed += state.fill_empty()
        if not changed:
            break
        before, centers = centers, state.means(centers)
        if np.square(centers - before, dtype=np.float64).sum() <= tol:
            state.assign(centers)
            break
    else:
        state.assign(centers)
    return Clustering(centers, state.labels, state.inertia(centers), n_iter)


def nearest_centers(rows: Rows, centers: NDArray[Any]) -> Clustering:
    """Assign rows to given centers.

    Parameters
    ----------
    rows : Rows
    centers : ndarray of shape (n_clusters, n_columns)

    Returns
    -------
    Clustering
        Of no iteration.
    """
    state = _State(rows, len(centers))
    state.assign(centers)
    return Clustering(centers, state.labels, state.inertia(centers), 0)


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
    table, offsets = _tabulate(centers.astype(np.float64))
    distances = np.empty((len(rows.counts), len(centers)))
    scratch = np.empty((rows.n_pieces, len(offsets)))
    csr = (rows.matrix.data.astype(np.float64), *rows.csr[1:])

    def measure_some(piece: int, first: int, last: int) -> None:
        measure_rows(
            *csr, rows.squares, first, last, table, offsets, scratch[piece], distances
        )

    rows.run(measure_some)
    return distances
