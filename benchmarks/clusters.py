"""The section on clusters: k-means on the representation against scikit-learn's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from measuring import Record, Table, make_table, time_together
from numpy.typing import NDArray
from sections import Sizes
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from proximity_kernel import ProximityKernel, ProximityKMeans
from proximity_kernel._kmeans import choose_seeds, gather_rows, iterate
from proximity_kernel._shared.resources import count_threads

_CLUSTERS = (5, 20)
_ITERATIONS = 100  # at the most
_RUNS = 10  # as many as is the default of ours
_ROUNDS = 3


def measure_clusters(sizes: Sizes) -> list[Table]:
    """Time an iteration from the same seeds, and a whole fit; compare inertia."""
    table = make_table(sizes.mixed)
    kernel = ProximityKernel(n_bins=4)
    matrix = sp.csr_array(kernel.fit_transform(table))
    dense = matrix.toarray()
    steps = Table(
        f"k-means, an iteration ({sizes.mixed:,} rows x 14, 4 bins, same seeds; ratio: "
        "scikit-learn's dense float32 to ours, above 1 is faster)"
    )
    fits = Table(
        f"k-means, all of it ({_RUNS} runs; scikit-learn gets the dense representation"
        "; ratio: theirs to ours without the kernel, above 1 is faster)"
    )
    for n_clusters in _CLUSTERS:
        steps.records.append(_time_iteration(table, matrix, dense, n_clusters))
        fits.records.append(_time_fit(table, kernel, dense, n_clusters))
    return [steps, fits]


def _time_iteration(
    table: NDArray[Any], matrix: sp.csr_array, dense: NDArray[Any], n_clusters: int
) -> Record:
    """Take the slope between a few iterations and many: what comes before is equal."""
    _, first, inverse = np.unique(dense, axis=0, return_index=True, return_inverse=True)
    rows = gather_rows(matrix[first], np.bincount(inverse.ravel()), count_threads(None))
    all_rows = gather_rows(matrix, np.ones(len(table)), count_threads(None))
    seeds = choose_seeds(rows, n_clusters, np.random.default_rng(0))
    peer = partial(KMeans, n_clusters, init=seeds, n_init=1, tol=0, algorithm="lloyd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        taken = {
            "distinct": iterate(rows, seeds, _ITERATIONS, 0.0).n_iter,
            "all": iterate(all_rows, seeds, _ITERATIONS, 0.0).n_iter,
            "theirs": peer(max_iter=_ITERATIONS).fit(dense).n_iter_,
        }
        calls: dict[str, Callable[[], Any]] = {}
        for n in (1, _ITERATIONS):
            calls[f"distinct {n}"] = partial(iterate, rows, seeds, n, 0.0)
            calls[f"all {n}"] = partial(iterate, all_rows, seeds, n, 0.0)
            calls[f"theirs {n}"] = partial(peer(max_iter=n).fit, dense)
        rounds = [
            time_together(f"clusters: {n_clusters}", calls) for _ in range(_ROUNDS)
        ]
        seconds = {name: min(times[name] for times in rounds) for name in calls}
    each = {
        who: (seconds[f"{who} {_ITERATIONS}"] - seconds[f"{who} 1"]) / (n - 1)
        for who, n in taken.items()
    }
    return {
        "clusters": n_clusters,
        "distinct_rows": len(first),
        "iterations": taken["theirs"],
        "our_seconds": each["distinct"],
        "our_seconds_all_rows": each["all"],
        "their_seconds": each["theirs"],
        "ratio": each["theirs"] / each["distinct"],
        "ratio_all_rows": each["theirs"] / each["all"],
    }


def _time_fit(
    table: NDArray[Any], kernel: ProximityKernel, dense: NDArray[Any], n_clusters: int
) -> Record:
    ours = ProximityKMeans(n_clusters, kernel=kernel, n_init=_RUNS, random_state=0)
    theirs = KMeans(n_clusters, n_init=_RUNS, random_state=0, algorithm="lloyd")
    calls = {
        "with the kernel": partial(ours.fit, table),
        "the kernel alone": partial(kernel.fit_transform, table),
        "theirs": partial(theirs.fit, dense),
    }
    seconds = time_together(f"clusters: {n_clusters}, all", calls)
    alone = seconds["with the kernel"] - seconds["the kernel alone"]
    return {
        "clusters": n_clusters,
        "our_seconds": seconds["with the kernel"],
        "without_the_kernel": alone,
        "their_seconds": seconds["theirs"],
        "ratio": seconds["theirs"] / alone,
        "inertia_to_theirs": ours.inertia_ / float(theirs.inertia_),
    }
