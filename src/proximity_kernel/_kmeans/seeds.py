"""Points in, seeds for k-means out: greedy k-means++, as scikit-learn draws them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._numba.kmeans_loops import try_seeds
from .._shared.threads import Threads
from .points import Rows, tabulate


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
