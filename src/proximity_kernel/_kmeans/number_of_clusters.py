"""How many clusters there are: the most that are found again, and not by chance.

*Found again*: prediction strength (Tibshirani and Walther, 2005). The rows are halved
and both halves clustered. For each cluster of the second half: how many pairs of its
rows are together, too, when the first half's centers place them? The strength is the
least over the clusters, and a mean over several ways to halve. Where there are groups
it is near 1 up to their number, and falls beyond.

*Not by chance*: bins alone make stable clusters, the four corners of two columns with
two bins each. So k-means must leave less spread than in tables whose columns were
shuffled, each by itself (the gap statistic of Tibshirani, Walther and Hastie, 2001),
and the last cluster must have widened that gap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .iterations import best_clustering, nearest_centers
from .points import Rows, gather_rows

_MOST_CLUSTERS = 10
MOST_ROWS = 2000  # a sample of them is as good
_LEAST_ROWS = 4  # per cluster: a half needs two
_HALVINGS = 5
_SHUFFLES = 5
_ENOUGH = 0.8  # of the pairs; the authors' rule
_ERRORS = 2  # standard errors that the gap must be wide
_OPTIONS: dict[str, Any] = {"n_init": 5, "max_iter": 100, "tol": 1e-4}


def choose_count(
    rows: Rows, inverse: NDArray[np.int64], widths: NDArray[np.int64], seed: int
) -> tuple[int, NDArray[np.float64]]:
    """Choose the number of clusters.

    Parameters
    ----------
    rows : Rows
        The distinct rows of a table.
    inverse : ndarray of shape (n_samples,)
        Which of them each row of the table is.
    widths : ndarray of shape (n_features,)
        Columns of each feature.
    seed : int

    Returns
    -------
    int
        The largest of 2 to 10 that passes both tests; 1 if none does.
    ndarray of shape (n_tried,)
        Prediction strength of 2, 3, ... clusters.
    """
    rng = np.random.default_rng(seed)
    n_rows = min(len(inverse), MOST_ROWS)
    sample = rows.matrix[inverse[rng.permutation(len(inverse))[:n_rows]]]
    counts = range(2, min(_MOST_CLUSTERS, n_rows // _LEAST_ROWS) + 1)
    halvings = [rng.permutation(n_rows) for _ in range(_HALVINGS)]
    strengths = np.array(
        [
            np.mean([_strength(sample, k, half, rows.n_threads) for half in halvings])
            for k in counts
        ]
    )
    shuffled = [_shuffle(sample, widths, rng) for _ in range(_SHUFFLES)]
    for k in reversed(counts):
        if strengths[k - 2] >= _ENOUGH and _is_wide(sample, shuffled, k):
            return k, strengths
    return 1, strengths


def _strength(
    sample: sp.csr_array, k: int, order: NDArray[np.int64], n_threads: int
) -> float:
    """Prediction strength of `k` clusters for one way to halve the rows."""
    halves = [
        gather_rows(sample[part], np.ones(len(part)), n_threads)
        for part in np.array_split(order, 2)
    ]
    first, second = (best_clustering(half, k, seed=0, **_OPTIONS) for half in halves)
    placed = nearest_centers(halves[1], first.centers).labels
    together = np.zeros((k, k))
    np.add.at(together, (second.labels, placed), 1)
    return least_shared(together)


def least_shared(together: NDArray[np.float64]) -> float:
    """Share of pairs that stay together, in the cluster where it is least.

    Parameters
    ----------
    together : ndarray of shape (n_clusters, n_others)
        How many rows of each cluster are in each of the others.

    Returns
    -------
    float
        0 if a cluster has no pair.

    Examples
    --------
    >>> least_shared(np.array([[4.0, 0.0], [1.0, 3.0]]))
    0.5
    """
    sizes = together.sum(axis=1)
    pairs = sizes * (sizes - 1)
    if not pairs.all():
        return 0.0
    return float(((together * (together - 1)).sum(axis=1) / pairs).min())


def _shuffle(
    sample: sp.csr_array, widths: NDArray[np.int64], rng: np.random.Generator
) -> sp.csr_array:
    """Shuffle the rows of each feature by themselves."""
    by_column = sp.csc_array(sample)
    ends = np.cumsum(widths)
    blocks = [
        by_column[:, end - width : end].tocsr()[rng.permutation(sample.shape[0])]
        for end, width in zip(ends, widths, strict=True)
        if width
    ]
    return sp.csr_array(sp.hstack(blocks, format="csr", dtype=sample.dtype))


def _is_wide(sample: sp.csr_array, shuffled: list[sp.csr_array], k: int) -> bool:
    """Whether `k` clusters leave less than in shuffled tables, and the last one helps.

    Both the gap itself and its growth with the last cluster have to be there. Not of
    logarithms, as first proposed: where groups are tight, what a bin's border cuts off
    one of them is much of the little that is left.
    """
    spread = np.array(
        [[_spread(table, n) for n in (k - 1, k)] for table in (sample, *shuffled)]
    )
    gaps = spread[1:] - spread[0]
    grown = np.c_[gaps[:, 1], gaps[:, 1] - gaps[:, 0]]
    errors = grown.std(axis=0) * np.sqrt(1 + 1 / len(shuffled))
    return bool((grown.mean(axis=0) > _ERRORS * errors).all())


def _spread(matrix: sp.csr_array, k: int) -> float:
    rows = gather_rows(matrix, np.ones(matrix.shape[0]))
    return best_clustering(rows, k, seed=0, **_OPTIONS).inertia
