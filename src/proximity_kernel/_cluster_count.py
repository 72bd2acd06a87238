"""Choose the number of clusters: the largest one that is stable and not due to chance.

*Stable*: prediction strength (Tibshirani and Walther, 2005). The rows are split into
halves and each half is clustered. The clusters of a half are found again if, in every
one of them, at least three quarters of the pairs of rows stay together when the rows
are assigned to the centers of the other half. The *stability* of a number of clusters
is the share of halves in which its clusters are found again, over many random splits.
More splits are made while the share is close to the threshold. The halves are sampled
from the sorted distinct rows with a fixed seed, so the result depends on the table
alone, not on the order of its rows or on a random state.

*Not due to chance*: bins alone can form stable clusters, such as the four corners of
two columns with two bins each. So the inertia must be lower than in tables whose
columns are shuffled independently (the gap statistic of Tibshirani, Walther and Hastie,
2001), and this difference must be larger than with one cluster less.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._kmeans import Rows, best_clustering, gather_rows, nearest_centers

SEED = 0
_MOST_CLUSTERS = 10
_MOST_ROWS = 2000  # a larger table is sampled
_LEAST_ROWS = 4  # per cluster, because each half needs two
_FEWEST_HALVINGS = 6
_SOME_HALVINGS = 15  # if the number is given, or chosen already
_MOST_HALVINGS = 80
_FOUND = 0.75  # share of the pairs that must stay together
_HOLDS = 0.55  # share of the halves in which clusters must be found again
_SHUFFLES = 10
_ERRORS = 2  # the gap statistic must exceed this many standard errors
_SURE = 3  # halving stops at this many standard errors from the threshold
_OPTIONS: dict[str, Any] = {"n_init": 3, "max_iter": 100, "tol": 1e-4}


def choose_count(rows: Rows, widths: NDArray[np.int64]) -> tuple[int, dict[int, float]]:
    """Choose the number of clusters.

    Parameters
    ----------
    rows : Rows
        The distinct rows of a table, or of a sample, with their counts.
    widths : ndarray of shape (n_features,)
        Columns of each feature.

    Returns
    -------
    int
        The largest of 2 to 10 that passes both tests; 1 if none does.
    dict of int to float
        Stability of 2, 3, ... clusters.
    """
    rng = np.random.default_rng(SEED)
    sample = rows.matrix[_draw(rows, rng)]
    shuffled = [_shuffle(sample, widths, rng) for _ in range(_SHUFFLES)]
    chosen, stability = 1, {}
    for k in reversed(_find_counts(rows)):
        most = _MOST_HALVINGS if chosen == 1 else _SOME_HALVINGS
        stability[k] = _share_found(rows, k, most)
        holds = chosen == 1 and stability[k] >= _HOLDS
        if holds and _is_wide(sample, shuffled, k):
            chosen = k
    return chosen, dict(sorted(stability.items()))


def measure_stability(rows: Rows, more: Iterable[int] = ()) -> dict[int, float]:
    """Measure the stability of numbers of clusters, as defined above.

    Parameters
    ----------
    rows : Rows
        The distinct rows of a table, or of a sample, with their counts.
    more : iterable of int
        Numbers of clusters to try in addition to 2 to 10.

    Returns
    -------
    dict of int to float
        Stability of each number of clusters for which there are enough rows, ascending.
    """
    counts = _find_counts(rows, more)
    return {k: _share_found(rows, k, _SOME_HALVINGS) for k in counts}


def _find_counts(rows: Rows, more: Iterable[int] = ()) -> list[int]:
    """List the numbers of clusters to try for which there are enough rows."""
    most = min(rows.counts.sum(), _MOST_ROWS) // _LEAST_ROWS
    asked = {*range(2, _MOST_CLUSTERS + 1), *more}
    return sorted(k for k in asked if 2 <= k <= most)


def describe_stability(n_clusters: int, stability: dict[int, float]) -> str:
    """Describe the stability of a number of clusters and of the best other one.

    Parameters
    ----------
    n_clusters : int
        The number that was chosen or requested.
    stability : dict of int to float
        The result of `measure_stability`.

    Returns
    -------
    str
        A sentence; empty if nothing is known.

    Examples
    --------
    >>> print(describe_stability(3, {2: 0.97, 3: 0.92, 4: 0.1, 5: 0.0}))
    3 clusters, the most that are reliable: repeated on random halves of the rows, the
    same 3 came out 92 times in 100 (2 clusters: 97 times; 4 or more: fewer than 55).
    >>> print(describe_stability(1, {2: 0.3, 3: 0.1}))
    1 cluster, because more are not reliable: repeated on random halves of the rows, the
    same 2 came out only 30 times in 100.
    """
    times = {k: f"{100 * share:.0f} times" for k, share in stability.items()}
    others = [k for k in stability if k != n_clusters]
    best = max(others, key=lambda k: stability[k], default=None)
    most = max((k for k in stability if stability[k] >= _HOLDS), default=1)
    repeated = "repeated on random halves of the rows, the same"
    if n_clusters in stability:
        holds = stability[n_clusters] >= _HOLDS
        start = "" if holds else ", which are not reliable"
        start = ", the most that are reliable" if n_clusters == most else start
        beside = []
        if best and stability[best] >= _HOLDS:
            beside.append(f"{best} clusters: {times[best]}")
        if n_clusters == most < max(stability):
            beside.append(f"{n_clusters + 1} or more: fewer than {100 * _HOLDS:.0f}")
        came = f"came out {'' if holds else 'only '}{times[n_clusters]} in 100"
        end = f" ({'; '.join(beside)})" if beside else ""
        return f"{n_clusters} clusters{start}: {repeated} {n_clusters} {came}{end}."
    if best is None or n_clusters != 1:
        return ""
    if most > 1:
        return (
            f"1 cluster, because more may be due to chance: {repeated} {best} came out "
            f"{times[best]} in 100, but columns shuffled at random split as well."
        )
    return (
        f"1 cluster, because more are not reliable: {repeated} {best} came out only "
        f"{times[best]} in 100."
    )


def _share_found(rows: Rows, k: int, most_halvings: int) -> float:
    """Measure the share of halves in which `k` clusters are found again.

    Splits are repeated until the share is clearly above or below the threshold.
    """
    rng = np.random.default_rng([SEED, k])
    found: list[bool] = []
    for n_halvings in range(1, most_halvings + 1):
        found += [strength >= _FOUND for strength in _halve(rows, k, rng)]
        error = 0.5 / np.sqrt(len(found))
        sure = abs(np.mean(found) - _HOLDS) > _SURE * error
        if sure and n_halvings >= _FEWEST_HALVINGS:
            break
    return float(np.mean(found))


def _halve(rows: Rows, k: int, rng: np.random.Generator) -> list[float]:
    """Cluster two halves of a sample; returns the prediction strength in each."""
    halves = [
        gather_rows(rows.matrix[part], np.ones(len(part)), rows.n_threads)
        for part in np.array_split(_draw(rows, rng), 2)
    ]
    seed = int(rng.integers(2**31))
    found = [best_clustering(half, k, seed=seed, **_OPTIONS) for half in halves]
    strengths = []
    for half, own, other in zip(halves, found, found[::-1], strict=True):
        placed = nearest_centers(half, other.centers).labels
        together = np.zeros((k, k))
        np.add.at(together, (own.labels, placed), 1)
        strengths.append(least_shared(together))
    return strengths


def _draw(rows: Rows, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sample rows without replacement, in random order; all of a small table."""
    ends = np.cumsum(rows.counts.astype(np.int64))
    n_drawn = min(int(ends[-1]), _MOST_ROWS)
    drawn = rng.choice(int(ends[-1]), n_drawn, replace=False)
    return np.searchsorted(ends, drawn, side="right")


def least_shared(together: NDArray[np.float64]) -> float:
    """Share of pairs that stay together, in the cluster where it is lowest.

    Parameters
    ----------
    together : ndarray of shape (n_clusters, n_others)
        Number of rows of each cluster that are in each of the others.

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
    """Shuffle the rows of each feature independently."""
    by_column = sp.csc_array(sample)
    ends = np.cumsum(widths)
    blocks = [
        by_column[:, end - width : end].tocsr()[rng.permutation(sample.shape[0])]
        for end, width in zip(ends, widths, strict=True)
        if width
    ]
    return sp.csr_array(sp.hstack(blocks, format="csr", dtype=sample.dtype))


def _is_wide(sample: sp.csr_array, shuffled: list[sp.csr_array], k: int) -> bool:
    """Whether `k` clusters have a lower inertia than in shuffled tables.

    The difference must be significant, and significantly larger than with ``k - 1``
    clusters. Logarithms, as in the original gap statistic, are not used: if clusters
    are tight, the inertia is small, and a few rows cut off by the border of a bin would
    be a large share of it.
    """
    spread = np.array(
        [[_spread(table, n) for n in (k - 1, k)] for table in (sample, *shuffled)]
    )
    gaps = spread[1:] - spread[0]
    grown = np.c_[gaps[:, 1], gaps[:, 1] - gaps[:, 0]]
    errors = grown.std(axis=0) * np.sqrt(1 + 1 / len(shuffled))
    return bool((grown.mean(axis=0) > _ERRORS * errors).all())


def _spread(matrix: sp.csr_array, k: int) -> float:
    """Inertia of `k` clusters of the rows of a matrix."""
    rows = gather_rows(matrix, np.ones(matrix.shape[0]))
    return best_clustering(rows, k, seed=0, **_OPTIONS).inertia
