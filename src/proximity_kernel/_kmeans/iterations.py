"""k-means on sparse rows with counts: seeds, Lloyd's iterations, the best of runs.

The sums are updated only by the rows that change their cluster, which are few after
some iterations. Most rows are then skipped (G. Hamerly, "Making k-means even faster",
2010): a row keeps its label as long as its center is nearer than any other by more than
the centers moved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._model.model import Model
from .._numba.kmeans_loops import assign_rows, try_seeds
from .._shared.threads import Threads
from .points import Rows, Sums, distances_to, sum_clusters, tabulate

_NEAR = 1e-6  # share of the mean square; rows nearer than this are equal up to rounding
_FEW = 8192  # up to this number of rows, one thread is used
_MORE_ROUNDINGS = 8  # roundings of a score, in addition to one per entry of a row


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


def best_clustering(
    rows: Rows, n_clusters: int, n_init: int, max_iter: int, tol: float, seed: int
) -> Clustering:
    """Run k-means from several sets of seeds and keep the one of least inertia.

    Parameters
    ----------
    rows : Rows
    n_clusters, n_init, max_iter : int
    tol : float
        Share of the mean variance of a column. The run has converged when the squared
        movement of all centers is less.
    seed : int

    Returns
    -------
    Clustering
    """
    found: Clustering | None = None
    still = tol * rows.variance()
    for child in np.random.SeedSequence(seed).spawn(n_init):
        seeds = choose_seeds(rows, n_clusters, np.random.default_rng(child))
        tried = iterate(rows, seeds, max_iter, still)
        # Runs that are equal up to rounding count as equal: the first is kept.
        if found is None or tried.inertia < found.inertia * (1 - 1e-9):
            found = tried
    assert found is not None  # n_init is at least 1
    return found


def choose_seeds(rows: Rows, n_clusters: int, rng: np.random.Generator) -> NDArray[Any]:
    """Draw seeds by greedy k-means++, as scikit-learn does.

    Each seed is a row, drawn with probability in proportion to its squared distance
    from the seeds before it. Several are drawn, and the best is kept.

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
    with Threads(rows.n_threads) as threads:
        for c in range(n_clusters):
            potentials, distances = _try(rows, drawn, closest, threads)
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
    rows: Rows,
    drawn: NDArray[np.int64],
    closest: NDArray[np.float64],
    threads: Threads,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum of squared distances with each drawn row as a seed, and the distances."""
    table, offsets = tabulate(rows.matrix[drawn].toarray())
    distances = np.empty((len(closest), len(drawn)))
    potentials = np.zeros((rows.n_pieces, len(drawn)))
    sums, alike = rows.make_sums(offsets), rows.alike

    def try_some(piece: int, first: int, last: int) -> None:
        try_seeds(
            *rows.csr, alike, rows.counts, rows.squares, first, last, table,
            len(offsets), sums[piece], closest, distances, potentials[piece],
        )  # fmt: skip

    rows.run(try_some, threads)
    return potentials.sum(axis=0), distances


class _State:
    """State of an iteration: labels, and the sums of rows that give the centers.

    Attributes
    ----------
    slacks : ndarray of shape (n_rows,), dtype of the rows
        Hamerly's bound: a row is at least this much nearer to its own center than to
        any other. It keeps its label while this exceeds the movement of the centers.
    seen : int
        Number of rows that the last iteration scored.
    """

    def __init__(self, rows: Rows, n_clusters: int, threads: Threads) -> None:
        n_rows, n_columns = rows.matrix.shape
        self.rows, self.threads = rows, threads
        self.seen = n_rows
        self.labels = np.full(n_rows, -1, np.int32)
        self.squares = rows.squares.astype(rows.matrix.dtype)
        self.slacks = np.full(n_rows, -np.inf, rows.matrix.dtype)
        self.sums = Sums(
            np.zeros((n_clusters, n_columns)),
            np.zeros(n_clusters),
            np.asarray(rows.total_square),
            np.zeros((n_clusters, 0)),
        )

    def assign(self, centers: NDArray[Any], falls: NDArray[np.float64]) -> int:
        """Give each row its nearest center; returns how many changed theirs.

        Parameters
        ----------
        centers : ndarray of shape (n_clusters, n_columns)
        falls : ndarray of shape (n_clusters,), float64
            The most by which the slack of a cluster's rows can have fallen since the
            last assignment; see `_fall`.
        """
        rows, n_pieces = self.rows, self.rows.n_pieces
        table, offsets = tabulate(centers.astype(rows.matrix.dtype, copy=False))
        lost = falls.astype(rows.matrix.dtype)
        margin = _find_margin(rows, offsets[: len(centers)])
        sums, alike = rows.make_sums(offsets), rows.alike
        totals = np.zeros((n_pieces, *self.sums.rows.shape))
        weights = np.zeros((n_pieces, len(centers)))
        counted = np.zeros((n_pieces, 2), np.int64)

        def assign_some(piece: int, first: int, last: int) -> None:
            counted[piece] = assign_rows(
                *rows.csr, alike, rows.counts, self.squares, first, last, table, lost,
                margin, sums[piece], self.labels, self.slacks, totals[piece],
                weights[piece],
            )  # fmt: skip

        # For a few rows, starting other threads takes longer than the work.
        rows.run(assign_some, self.threads if self.seen > _FEW else Threads(1))
        self.sums.rows[:] += totals.sum(axis=0)
        self.sums.sizes[:] += weights.sum(axis=0)
        changed, self.seen = counted.sum(axis=0).tolist()
        return int(changed)

    def fill_empty(self, centers: NDArray[Any]) -> int:
        """Move the farthest rows to the empty clusters; returns how many."""
        empty = np.flatnonzero(self.sums.sizes <= 0)
        if not len(empty):
            return 0
        squares = self.rows.squares
        distances = distances_to(self.rows, centers).min(axis=1) ** 2
        far = np.argsort(-distances, kind="stable")
        near = _NEAR * squares.mean()
        found = (i for i in far if distances[i] > near and self._can_leave(i))
        moved = 0
        for c, i in zip(empty, found, strict=False):
            row = self.rows.matrix[[i]].toarray()[0].astype(np.float64)
            for label, count in ((self.labels[i], -1), (c, 1)):
                self.sums.rows[label] += count * self.rows.counts[i] * row
                self.sums.sizes[label] += count * self.rows.counts[i]
            self.labels[i] = c
            self.slacks[i] = -np.inf
            moved += 1
        return moved

    def _can_leave(self, i: int) -> bool:
        """Whether the cluster of a row has other rows."""
        return bool(self.sums.sizes[self.labels[i]] > self.rows.counts[i])


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
        Each row has its nearest center. If the last iteration still changed labels, the
        centers are the means of the rows that they had before it.
    """
    with Threads(rows.n_threads) as threads:
        state = _State(rows, len(seeds), threads)
        centers, n_iter = _settle(state, seeds, max_iter, tol)
    return Clustering(centers, state.labels, state.sums.inertia(centers), n_iter)


def _settle(
    state: _State, centers: NDArray[Any], max_iter: int, tol: float
) -> tuple[NDArray[Any], int]:
    """Iterate; returns the centers and the number of iterations."""
    n_iter, falls = 0, np.zeros(len(centers))
    while n_iter < max_iter:
        n_iter += 1
        changed = state.assign(centers, falls)
        changed += state.fill_empty(centers)
        if not changed:
            return centers, n_iter
        before, centers = centers, state.sums.means(centers)
        moved = np.square(centers - before, dtype=np.float64).sum(axis=1)
        falls = _fall(np.sqrt(moved))
        if moved.sum() <= tol:
            break
    state.assign(centers, falls)
    return centers, n_iter


def _fall(moved: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add to each center's movement the largest movement of the others.

    Examples
    --------
    >>> _fall(np.array([1.0, 3.0, 2.0])).tolist()
    [4.0, 5.0, 5.0]
    """
    if len(moved) == 1:
        return moved
    longest = np.sort(moved)[-2:]
    others: NDArray[np.float64] = np.full(len(moved), longest[1])
    others[moved.argmax()] = longest[0]
    return moved + others


def _find_margin(rows: Rows, offsets: NDArray[Any]) -> float:
    """Find the slack above which rounding of the scores cannot change the order.

    A score is a sum over the entries of a row, each at most a share of the two squares,
    so its error is at most one rounding of the squares per entry. Two scores whose
    squared distances differ by more are in the right order. That difference is at
    least the square of the difference of the distances.
    """
    n_roundings = rows.most_entries + _MORE_ROUNDINGS
    largest = float(offsets.max()) + rows.largest_square
    return float(np.sqrt(4 * n_roundings * np.finfo(offsets.dtype).eps * largest))


def nearest_centers(rows: Rows, centers: NDArray[Any]) -> Clustering:
    """Assign rows to given centers.

    Parameters
    ----------
    rows : Rows
    centers : ndarray of shape (n_clusters, n_columns)

    Returns
    -------
    Clustering
        With ``n_iter`` 0.
    """
    with Threads(rows.n_threads) as threads:
        state = _State(rows, len(centers), threads)
        state.assign(centers, np.zeros(len(centers)))
    return Clustering(centers, state.labels, state.sums.inertia(centers), 0)


def sum_part(
    rows: Rows | None, centers: NDArray[Any], model: Model | None
) -> Sums | None:
    """Add up the rows of a part by their nearest centers."""
    if rows is None:
        return None
    found = nearest_centers(rows, centers)
    return sum_clusters(rows, found.centers, found.labels, model)


def move_centers(
    add_up: Callable[[NDArray[Any]], Sums],
    centers: NDArray[Any],
    max_passes: int,
    tol: float,
) -> tuple[NDArray[Any], Sums, int]:
    """Move centers to the means of all rows, pass after pass, until they converge.

    Parameters
    ----------
    add_up : callable
        Adds up all rows by the nearest of the given centers, in one pass.
    centers : ndarray of shape (n_clusters, n_columns)
    max_passes : int
        At least 1.
    tol : float
        Share of the mean variance of a column. The centers have converged when their
        squared movement, summed, is less.

    Returns
    -------
    ndarray of shape (n_clusters, n_columns)
        The means of the rows as the last pass found them.
    Sums
        The sums of that pass.
    int
        Number of passes.
    """
    n_passes, moved, still = 0, np.inf, 0.0
    while moved > still and n_passes < max_passes:
        n_passes += 1
        sums = add_up(centers)
        before, centers = centers, sums.means(centers)
        moved = float(np.square(centers - before, dtype=np.float64).sum())
        still = tol * sums.variance
    return centers, sums, n_passes
