"""k-means on the distinct rows of a representation, with their counts.

The sums of the rows of each cluster are additive, so k-means can move its centers over
a table that is never in memory as a whole, but read in batches or partitions. Rows are
read in pieces, on threads. The pieces depend only on the number of rows, and their sums
are added in the order of the rows. So the result has the same bits for any number of
threads.

The sums are updated only by the rows that change their cluster, which are few after
some iterations. Most rows are then skipped (G. Hamerly, "Making k-means even faster",
2010): a row keeps its label as long as its center is nearer than any other by more than
the centers moved.

A row has few entries, so its inner products with all centers are the sum of a few lines
of a table: one line per column, with the values of all centers side by side. A vector
instruction adds eight or more of them. Rows come in the order of their codes, so most
start with the same entries as the row before and reuse its partial sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._coded import check_columns
from ._compile import compiled, inlined
from ._model import Model
from ._shared.resources import Threads
from ._vectors import find_two_least, sum_eight
from ._weights import check_sample_weight, round_weights

_PIECE = 8192  # minimum number of rows of a piece
_MOST_PIECES = 64  # maximum number of pieces, each of which has its own sums
_BINS_AT_ONCE = 1 << 14  # rows whose bins are added up at a time
_EXACT_AT_ONCE = 1 << 14  # rows converted to float64 at a time
_CENTERS_AT_ONCE = 8  # centers are padded to a multiple of this: a vector
_NEAR = 1e-6  # share of the mean square; rows nearer to a center count as equal to it
_FEW = 8192  # up to this number of rows, one thread is used
_MORE_ROUNDINGS = 8  # roundings of a score, in addition to one per entry of a row


@dataclass(frozen=True)
class Rows:
    """Distinct rows of a representation, with their counts, as input of k-means.

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
        """Number of rows of a piece; it does not depend on the number of threads."""
        return max(_PIECE, -(-len(self.counts) // _MOST_PIECES))

    @property
    def n_pieces(self) -> int:
        """Number of pieces in which the threads take the rows."""
        return -(-len(self.counts) // self.piece)

    @cached_property
    def total_square(self) -> float:
        """Sum of the squares of all entries, weighted by the counts of the rows."""
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
        """The arrays data, indices and indptr of the CSR matrix."""
        return self.matrix.data, self.matrix.indices, self.matrix.indptr

    def make_sums(self, offsets: NDArray[Any]) -> NDArray[Any]:
        """Allocate the partial sums of each piece: a line for each entry of a row.

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

    def variance(self) -> float:
        """Mean of the variances of the columns."""
        sums, weights = np.zeros((1, self.matrix.shape[1])), np.zeros(1)
        one = np.zeros(len(self.counts), np.int32)
        add_rows(*self.csr, self.counts, one, sums, weights)
        mean = sums[0] / self.counts.sum()
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
    squares = np.zeros(matrix.shape[0])
    for first in range(0, matrix.shape[0], _PIECE):  # in pieces, to save memory
        ends = matrix.indptr[first : first + _PIECE + 1]
        data = matrix.data[ends[0] : ends[-1]].astype(np.float64)
        of_row = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        sums = np.bincount(of_row, data * data, len(ends) - 1)
        squares[first : first + _PIECE] = sums
    return Rows(matrix, counts.astype(np.float64), squares, n_threads)


def weigh_rows(
    rows: Rows, sample_weight: Any, index: NDArray[np.int64]
) -> tuple[Rows, NDArray[np.bool_]]:
    """Replace the counts of distinct rows by sums of weights; drop rows of weight 0.

    Parameters
    ----------
    rows : Rows
    sample_weight : array-like of shape (n_samples,)
        Weights of the rows of the table, as given to `fit`; they are checked here.
    index : ndarray of shape (n_samples,), int64
        For each row of the table, its index in `rows`.

    Returns
    -------
    Rows
    ndarray of shape (n_rows,), bool
        Mask of the rows that were kept.
    """
    given = check_sample_weight(sample_weight, len(index))
    weights: Any = np.bincount(index, given, len(rows.counts))
    # Sums of multiples of a power of two have no rounding error, so the size of a
    # cluster that all rows have left is exactly 0. Whole numbers are not changed.
    counts = round_weights(weights)
    kept = counts > 0
    some = rows.matrix[kept], counts[kept], rows.squares[kept]
    return Rows(*some, rows.n_threads), kept


def tabulate_centers(centers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lay out centers c for the compiled loops: ``-2 c`` by columns, and the squares.

    Parameters
    ----------
    centers : ndarray of shape (n_clusters, n_columns)

    Returns
    -------
    ndarray of shape (n_columns * width,)
        ``-2 c`` of all centers, column after column. The width is the number of
        centers, padded to a multiple of eight.
    ndarray of shape (width,)
        The square of each center; infinite for the padding, so that no row is near it.
    """
    k = len(centers)
    width = -(-k // _CENTERS_AT_ONCE) * _CENTERS_AT_ONCE
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
    check_columns(rows.matrix, centers.shape[1])
    centers = centers.astype(np.float64)
    distances = np.empty((len(rows.counts), len(centers)))
    with Threads(rows.n_threads) as threads:
        for first in range(0, len(distances), _EXACT_AT_ONCE):
            some = slice(first, first + _EXACT_AT_ONCE)
            matrix = rows.matrix[some].astype(np.float64)
            counts, squares = rows.counts[some], rows.squares[some]
            part = Rows(matrix, counts, squares, rows.n_threads)
            nowhere = np.full(len(counts), np.inf)
            distances[some] = _measure(part, centers, nowhere, threads)[1]
    return np.sqrt(distances, out=distances)


@dataclass(frozen=True)
class Sums:
    """Sums of the rows of each cluster, over a part of a table; parts add up by ``+``.

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
        """Mean of each cluster; a cluster without rows keeps its center in `before`."""
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
    """Add up the rows of each cluster.

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
    k = len(centers)
    by_cluster, sizes = np.zeros(centers.shape), np.zeros(k)
    add_rows(*rows.csr, rows.counts, labels, by_cluster, sizes)
    bins = np.zeros((k, 0)) if model is None else total_bins(model, rows, labels, k)
    return Sums(by_cluster, sizes, np.asarray(rows.total_square), bins)


def total_bins(
    model: Model, rows: Rows, labels: NDArray[np.int32], n_clusters: int
) -> NDArray[np.float64]:
    """Count the rows of each cluster in each bin, shape (n_clusters, total bins).

    A missing cell is counted fractionally, by its estimated probabilities. The totals
    of parts of a table add up to those of the whole.

    Parameters
    ----------
    model : Model
        The model that represents the rows.
    rows : Rows
    labels : ndarray of shape (n_rows,)
        The cluster of each row.
    n_clusters : int
    """
    totals = np.zeros((n_clusters, int(model.n_bins.sum())))
    for first in range(0, len(labels), _BINS_AT_ONCE):  # in parts, to save memory
        some = slice(first, first + _BINS_AT_ONCE)
        bins = model.share_bins(rows.matrix[some])
        # The shares of each feature sum to 1, unless the row was normalized.
        scale = np.asarray(bins.sum(axis=1)).ravel() / max(1, model.n_counted)
        weights = rows.counts[some] / np.where(scale > 0, scale, 1)
        at = labels[some], np.arange(len(weights))
        member = sp.csr_array((weights, at), (n_clusters, len(weights)))
        totals += (member @ bins).toarray()
    return totals


@dataclass(frozen=True)
class Clustering:
    """Result of k-means: the centers, and the label of each row.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_columns), dtype of the rows
    labels : ndarray of shape (n_rows,), int32
    inertia : float
        Sum of the squared distances of the rows, with their counts, to their centers.
    n_iter : int
    """

    centers: NDArray[Any]
    labels: NDArray[np.int32]
    inertia: float
    n_iter: int


def best_clustering(
    rows: Rows, n_clusters: int, n_init: int, max_iter: int, tol: float, seed: int
) -> Clustering:
    """Run k-means from several sets of seeds, and keep the run of least inertia.

    Parameters
    ----------
    rows : Rows
    n_clusters, n_init, max_iter : int
    tol : float
        A run has converged when the squared movement of all centers is at most this
        share of the mean variance of a column.
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
        # Of runs whose inertia is equal up to rounding, keep the first.
        if found is None or tried.inertia < found.inertia * (1 - 1e-9):
            found = tried
    assert found is not None  # n_init is at least 1
    return found


def choose_seeds(rows: Rows, n_clusters: int, rng: np.random.Generator) -> NDArray[Any]:
    """Sample seeds by greedy k-means++, as scikit-learn does.

    A seed is a row, sampled with probability in proportion to its squared distance from
    the seeds before it. Several candidates are sampled, and the best is kept.

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
    sampled = _draw(rows.counts, 1, rng)
    with Threads(rows.n_threads) as threads:
        for c in range(n_clusters):
            candidates = matrix[sampled].toarray()
            potentials, distances = _measure(rows, candidates, closest, threads)
            best = int(np.argmin(potentials))
            chosen[c] = sampled[best]
            closest = np.ascontiguousarray(distances[:, best])
            closest[sampled[best]] = 0
            sampled = _draw(rows.counts * closest, n_trials, rng)
    return np.asarray(matrix[chosen].toarray())


def _draw(
    weights: NDArray[np.float64], n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Sample indices with replacement, in proportion to `weights`."""
    total = np.cumsum(weights)
    found = np.searchsorted(total, rng.random(n) * total[-1], side="right")
    return np.asarray(np.minimum(found, len(weights) - 1))


def _measure(
    rows: Rows, centers: NDArray[Any], closest: NDArray[np.float64], threads: Threads
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Measure the squared distance of every row to each center, at most `closest`.

    Returns
    -------
    potentials : ndarray of shape (n_centers,)
        Sum of these squared distances, weighted by the counts of the rows.
    distances : ndarray of shape (n_rows, n_centers)
        The squared distances.
    """
    table, offsets = tabulate_centers(centers)
    distances = np.empty((len(closest), len(centers)))
    potentials = np.zeros((rows.n_pieces, len(centers)))
    sums, alike = rows.make_sums(offsets), rows.alike

    def measure_some(piece: int, first: int, last: int) -> None:
        measure_rows(
            *rows.csr, alike, rows.counts, rows.squares, first, last, table,
            len(offsets), sums[piece], closest, distances, potentials[piece],
        )  # fmt: skip

    rows.run(measure_some, threads)
    return potentials.sum(axis=0), distances


class _State:
    """State of a run of k-means: labels, and the sums of rows that give the centers.

    Attributes
    ----------
    slacks : ndarray of shape (n_rows,), dtype of the rows
        Hamerly's bound: a row is at least this much nearer to its own center than to
        any other. It keeps its label while this exceeds the movement of the centers.
    seen : int
        Number of rows whose distances the last iteration computed.
    """

    def __init__(self, rows: Rows, n_clusters: int, threads: Threads) -> None:
        """Start with no row assigned."""
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
        """Assign each row to its nearest center; return how many labels changed.

        Parameters
        ----------
        centers : ndarray of shape (n_clusters, n_columns)
        falls : ndarray of shape (n_clusters,), float64
            The most by which the slack of a cluster's rows can have fallen since the
            last assignment; see `_bound_falls`.
        """
        rows, n_pieces = self.rows, self.rows.n_pieces
        table, offsets = tabulate_centers(centers.astype(rows.matrix.dtype, copy=False))
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
        """Move a farthest row to each empty cluster; return how many rows moved."""
        empty = np.flatnonzero(self.sums.sizes <= 0)
        if not len(empty):
            return 0
        rows, sums = self.rows, self.sums
        distances = distances_to(rows, centers).min(axis=1) ** 2
        far = np.argsort(-distances, kind="stable")
        far = far[distances[far] > _NEAR * rows.squares.mean()]
        # The only row of its cluster stays there.
        found = (i for i in far if sums.sizes[self.labels[i]] > rows.counts[i])
        moved = 0
        for c, i in zip(empty, found, strict=False):
            row = rows.matrix[[i]].toarray()[0].astype(np.float64)
            for label, count in ((self.labels[i], -1), (c, 1)):
                sums.rows[label] += count * rows.counts[i] * row
                sums.sizes[label] += count * rows.counts[i]
            self.labels[i] = c
            self.slacks[i] = -np.inf
            moved += 1
        return moved


def iterate(rows: Rows, seeds: NDArray[Any], max_iter: int, tol: float) -> Clustering:
    """Move centers to the means of their rows until nothing changes.

    Parameters
    ----------
    rows : Rows
    seeds : ndarray of shape (n_clusters, n_columns)
    max_iter : int
    tol : float
        The run has converged when the squared movement of all centers is at most this.

    Returns
    -------
    Clustering
        Labels are those of the nearest centers. If the last iteration still changed
        labels, the centers are the means of the clusters before that change.
    """
    centers, falls, n_iter = seeds, np.zeros(len(seeds)), 0
    with Threads(rows.n_threads) as threads:
        state = _State(rows, len(seeds), threads)
        while n_iter < max_iter:
            n_iter += 1
            changed = state.assign(centers, falls)
            changed += state.fill_empty(centers)
            if not changed:
                break
            before, centers = centers, state.sums.means(centers)
            moved = np.square(centers - before, dtype=np.float64).sum(axis=1)
            falls = _bound_falls(np.sqrt(moved))
            if moved.sum() <= tol:
                break
        if changed:  # the centers have moved since
            state.assign(centers, falls)
    return Clustering(centers, state.labels, state.sums.inertia(centers), n_iter)


def _bound_falls(moved: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound how much the slack of a row can fall when the centers move, by cluster.

    The bound is the movement of the row's center plus the largest movement of another
    center.

    Examples
    --------
    >>> _bound_falls(np.array([1.0, 3.0, 2.0])).tolist()
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

    A score is a sum over the entries of a row. Its error is at most one rounding of the
    largest squares (of a row and of a center) per entry. Two squared distances that
    differ by more than their errors are in the right order. They differ by at least the
    square of the slack, so the margin is the square root of the bound of the errors.
    """
    n_roundings = rows.most_entries + _MORE_ROUNDINGS
    largest = float(offsets.max()) + float(rows.squares.max(initial=0.0))
    return float(np.sqrt(4 * n_roundings * np.finfo(offsets.dtype).eps * largest))


def nearest_centers(rows: Rows, centers: NDArray[Any]) -> Clustering:
    """Assign each row to the nearest of the given centers.

    Parameters
    ----------
    rows : Rows
    centers : ndarray of shape (n_clusters, n_columns)

    Returns
    -------
    Clustering
        With ``n_iter`` 0.
    """
    check_columns(rows.matrix, centers.shape[1])
    with Threads(rows.n_threads) as threads:
        state = _State(rows, len(centers), threads)
        state.assign(centers, np.zeros(len(centers)))
    return Clustering(centers, state.labels, state.sums.inertia(centers), 0)


def sum_part(rows: Rows, centers: NDArray[Any], model: Model | None) -> Sums:
    """Assign the rows of a part to their nearest centers, and add up each cluster."""
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
        Called with centers: adds up all rows by their nearest center, in one pass.
    centers : ndarray of shape (n_clusters, n_columns)
    max_passes : int
        At least 1.
    tol : float
        The centers have converged when the sum of their squared movements is at most
        this share of the mean variance of a column.

    Returns
    -------
    ndarray of shape (n_clusters, n_columns)
        The means of the clusters that the last pass assigned.
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


@inlined
def _score_row(
    i: Any, known: Any, data: Any, indices: Any, indptr: Any, table: Any, width: Any,
    sums: Any,
) -> Any:  # fmt: skip
    """Score row i against all centers; return where in `sums` its scores begin.

    The scores are line 0 of `sums` plus a line of `table` for each entry of the row.
    The sums of the first `known` entries are reused from the row before, which starts
    with the same entries.
    """
    start = indptr[i]
    size = indptr[i + 1] - start
    for at in range(0, width, _CENTERS_AT_ONCE):
        sum_eight(data, indices, table, sums, start, known, size, width, at)
    return size * width


@inlined
def _move_row(
    i: Any, data: Any, indices: Any, indptr: Any, weight: float, c: Any,
    sums: Any, weights: Any,
) -> None:  # fmt: skip
    """Add a row, `weight` times, to the sums of cluster `c`."""
    for p in range(indptr[i], indptr[i + 1]):
        sums[c, indices[p]] += weight * data[p]
    weights[c] += weight


@compiled
def add_rows(
    data: Any, indices: Any, indptr: Any, counts: Any, labels: Any, sums: Any,
    weights: Any,
) -> None:  # fmt: skip
    """Add each row, as often as it occurs, to the sums of its cluster."""
    for i in range(labels.shape[0]):
        _move_row(i, data, indices, indptr, counts[i], labels[i], sums, weights)


@compiled
def count_alike(data: Any, indices: Any, indptr: Any, alike: Any) -> None:
    """Count the leading entries that each row shares with the row before it."""
    alike[0] = 0
    for i in range(1, alike.shape[0]):
        before, start = indptr[i - 1], indptr[i]
        most = min(start - before, indptr[i + 1] - start)
        n = 0
        while (
            n < most
            and indices[before + n] == indices[start + n]
            and data[before + n] == data[start + n]
        ):
            n += 1
        alike[i] = n


@compiled
def assign_rows(
    data: Any, indices: Any, indptr: Any, alike: Any, counts: Any, squares: Any,
    first: int, last: int, table: Any, falls: Any, margin: float, sums: Any,
    labels: Any, slacks: Any, totals: Any, weights: Any,
) -> Any:  # fmt: skip
    """Assign each row to its nearest center; ties go to the lower label.

    A score is the squared distance minus the row's own square; sums start from line 0
    of `sums`. ``slacks[i]`` is Hamerly's bound: how much nearer row i is to its center
    than to any other. Moving the centers lowers it by ``falls[c]`` for rows of cluster
    c. A row whose slack stays above `margin` keeps its cluster and is not scored.

    In `totals` and `weights`, a row that changes its label is subtracted from the old
    cluster (unless its label was -1, for none) and added to the new cluster. Returns
    how many rows changed their label, and how many were scored.
    """
    changed, seen = 0, 0
    width = table.shape[0] // totals.shape[1]
    known = 0
    for i in range(first, last):
        known = min(known, alike[i])
        before = labels[i]
        if before >= 0:
            slack = slacks[i] - falls[before]
            if slack > margin:
                slacks[i] = slack
                continue
        seen += 1
        line = _score_row(i, known, data, indices, indptr, table, width, sums)
        known = indptr[i + 1] - indptr[i]
        best, second = find_two_least(sums, line, width)
        # A squared distance can be below zero only by rounding.
        near, far = abs(best + squares[i]), abs(second + squares[i])
        slacks[i] = np.sqrt(far) - np.sqrt(near)
        if before >= 0 and sums[line + before] == best and best < second:
            continue
        label = 0
        while sums[line + label] != best:
            label += 1
        if before != label:
            changed += 1
            labels[i] = label
            count = counts[i]
            if before >= 0:
                _move_row(i, data, indices, indptr, -count, before, totals, weights)
            _move_row(i, data, indices, indptr, count, label, totals, weights)
    return changed, seen


@compiled
def measure_rows(
    data: Any, indices: Any, indptr: Any, alike: Any, counts: Any, squares: Any,
    first: int, last: int, table: Any, width: int, sums: Any, closest: Any,
    distances: Any, potentials: Any,
) -> None:  # fmt: skip
    """Write the squared distance of each row to each center t, at most ``closest[i]``.

    ``potentials[t]`` is the sum of ``distances[i, t]``, weighted by the counts, over
    the rows from `first` up to `last`.
    """
    known = 0
    for i in range(first, last):
        known = min(known, alike[i])
        line = _score_row(i, known, data, indices, indptr, table, width, sums)
        known = indptr[i + 1] - indptr[i]
        for t in range(potentials.shape[0]):
            distance = max(sums[line + t] + squares[i], 0)
            distance = min(distance, closest[i])
            distances[i, t] = distance
            potentials[t] += counts[i] * distance
