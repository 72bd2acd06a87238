"""Cluster the rows of a table that is in memory, in batches or on Dask.

k-means runs on distinct rows with counts. If these are all rows of the table, its
result is final. If they are a sample, its centers are the start of passes over the
whole table: each pass adds up all rows by their nearest center and moves the centers to
the means.

The mean of a cluster's rows gives, for every feature, the shares of its bins. A bin is
listed in the cluster's profile if it is more common there than elsewhere, or if it is
the most common bin of its feature. Neighboring bins are listed as one range if that
sets the cluster apart more than each alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._model.model import Model
from .._shared.options import check_count, check_seed, is_number
from .._shared.warning import warn_user
from .iterations import best_clustering, move_centers, nearest_centers
from .number_of_clusters import choose_count
from .points import Rows, Sums, sum_clusters, weigh_rows

AUTO: Literal["auto"] = "auto"

PROFILE_KEYS = (
    "cluster", "size", "feature", "value", "share", "share_overall", "lift",
)  # fmt: skip
"""Keys that describe a bin in the profile of a cluster."""

_LEAST_SHARE = 0.05  # a rarer bin is listed only if it is the most common one


@dataclass(frozen=True)
class KMeansOptions:
    """The options of k-means, checked, with the seed drawn."""

    n_clusters: int | Literal["auto"]
    n_init: int
    max_iter: int
    tol: float
    seed: int


@dataclass(frozen=True)
class Passes:
    """How to pass over a table that is not in memory.

    Attributes
    ----------
    add_up : callable
        Adds up all rows by the nearest of the given centers, and their bins too if its
        second argument is true.
    most : int
        Maximum number of passes that move the centers.
    closing : bool
        Whether a last pass adds up the rows around the final centers; otherwise the
        sums are those of the pass before the centers moved.
    """

    add_up: Callable[[NDArray[Any], bool], Sums]
    most: int
    closing: bool


@dataclass(frozen=True)
class Clusters:
    """Clusters, the largest first.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_columns)
    labels : ndarray of shape (n_rows,), int32
        The cluster of each row that k-means ran on.
    profiles : list of dict
        The typical bins of each cluster.
    inertia : float
    n_iter : int
        Iterations of k-means, and passes over the table.
    stability : dict of int to float or None
        Stability of 2, 3, ... clusters, if their number was chosen.
    """

    centers: NDArray[Any]
    labels: NDArray[np.int32]
    profiles: list[dict[str, Any]]
    inertia: float
    n_iter: int
    stability: dict[int, float] | None


def check_kmeans_options(estimator: Any) -> None:
    """Refuse bad options of k-means; those of the kernel are checked elsewhere."""
    if estimator.n_clusters != AUTO:
        if isinstance(estimator.n_clusters, str):
            raise ValueError(
                f"n_clusters must be {AUTO!r} or a whole number, at least 1, got "
                f"{estimator.n_clusters!r}."
            )
        check_count("n_clusters", estimator.n_clusters, 1)
    check_count("n_init", estimator.n_init, 1)
    check_count("max_iter", estimator.max_iter, 1)
    tol = estimator.tol
    if not is_number(tol) or not 0 <= tol < np.inf:
        raise ValueError(f"tol must be a number, at least 0 and finite, got {tol!r}.")
    check_seed(estimator.random_state)


def resolve_kmeans_options(estimator: Any, model: Model) -> KMeansOptions:
    """Compare the options with the table, and draw the seed."""
    if not model.n_counted:
        raise ValueError("X has no observed cell, so there is nothing to cluster.")
    n_clusters = estimator.n_clusters
    if n_clusters != AUTO and n_clusters > model.n_samples:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {model.n_samples} samples "
            "of the table; ask for fewer."
        )
    seed = int(check_random_state(estimator.random_state).randint(2**31))
    return KMeansOptions(
        n_clusters, estimator.n_init, estimator.max_iter, estimator.tol, seed
    )


def find_clusters(
    rows: Rows,
    model: Model,
    options: KMeansOptions,
    passes: Passes | None = None,
) -> Clusters:
    """Find the clusters of a table.

    Parameters
    ----------
    rows : Rows
        Distinct rows with their counts: all, or a sample.
    model : Model
        The model that represents the rows.
    options : KMeansOptions
    passes : Passes or None
        The passes over the whole table, if the rows are a sample.

    Returns
    -------
    Clusters
    """
    n_clusters, stability = options.n_clusters, None
    if n_clusters == AUTO:
        n_clusters, stability = choose_count(rows, model.n_columns)
    best = best_clustering(
        rows, n_clusters, options.n_init, options.max_iter, options.tol, options.seed
    )
    centers, inertia, n_iter = best.centers, best.inertia, best.n_iter
    if passes is None:
        sums = sum_clusters(rows, centers, best.labels, model)
    else:
        bins = not passes.closing
        centers, sums, n_passes = move_centers(
            lambda at: passes.add_up(at, bins), centers, passes.most, options.tol
        )
        if passes.closing:
            sums = passes.add_up(centers, True)
        inertia, n_iter = sums.inertia(centers), n_iter + n_passes
    order = np.argsort(-sums.sizes, kind="stable")
    place = np.argsort(order)
    labels = place[best.labels].astype(np.int32)
    _warn_of_empty_clusters(sums.sizes)
    profiles = describe_clusters(model, sums.bins[order], sums.sizes[order])
    return Clusters(centers[order], labels, profiles, inertia, n_iter, stability)


def find_weighted_clusters(
    rows: Rows, weights: NDArray[np.float64], model: Model, options: KMeansOptions
) -> Clusters:
    """Find the clusters of a table whose rows have weights.

    Parameters
    ----------
    rows : Rows
        All distinct rows.
    weights : ndarray of shape (n_rows,), float64
        They replace the counts. Rows of weight 0 only get the label of their nearest
        center.
    model, options
        As in `find_clusters`.

    Returns
    -------
    Clusters
    """
    if options.n_clusters == AUTO and (weights % 1).any():
        raise ValueError(
            "n_clusters='auto' draws halves of the rows, so it needs whole numbers as "
            "sample_weight; give the number of clusters, or round the weights."
        )
    weighted, kept = weigh_rows(rows, weights)
    found = find_clusters(weighted, model, options)
    labels = nearest_centers(rows, found.centers).labels
    labels[kept] = found.labels
    return replace(found, labels=labels)


def _warn_of_empty_clusters(sizes: NDArray[np.float64]) -> None:
    n_found = np.count_nonzero(sizes)
    if n_found < len(sizes):
        warn_user(
            f"Only {n_found} of the {len(sizes)} clusters have rows, because the table "
            "has no more distinct rows. Ask for fewer clusters.",
            ConvergenceWarning,
        )


def check_sums(sums: Sums | None, model: Model) -> Sums:
    """Refuse a pass that read a different number of rows than the fit."""
    seen = 0 if sums is None else sums.sizes.sum()
    if sums is None or seen != model.n_samples:
        raise ValueError(
            f"The batches had different rows when read again ({model.n_samples:,} "
            f"first, then {seen:,.0f}); pass a list, or a function that returns a new "
            "iterator of the same batches each time."
        )
    return sums


def describe_clusters(
    model: Model, totals: NDArray[np.float64], sizes: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """List the typical bins of each cluster.

    Parameters
    ----------
    model : Model
    totals : ndarray of shape (n_clusters, total bins)
        The result of `total_bins` for all rows.
    sizes : ndarray of shape (n_clusters,)
        Rows of each cluster.

    Returns
    -------
    list of dict
        With the keys of `PROFILE_KEYS`; the most distinctive bins come first.
    """
    feature = np.repeat(np.arange(len(model.n_bins)), model.n_bins)
    shares = _to_shares(totals, feature)
    overall = _to_shares(totals.sum(axis=0), feature)
    starts = np.concatenate([[0], np.cumsum(model.n_bins)])
    names = model.bin_names
    out: list[dict[str, Any]] = []
    for c in np.flatnonzero(sizes):
        told = []
        for j, column in enumerate(model.types):
            at = slice(starts[j], starts[j + 1])
            own, usual = shares[c, at], overall[at]
            for first, last in _find_typical(own, usual, names[j].n_ordered):
                share = float(own[first : last + 1].sum())
                share_overall = float(usual[first : last + 1].sum())
                told.append(
                    {
                        "cluster": int(c),
                        "size": round(sizes[c]),
                        "feature": column.name,
                        "value": names[j].name(first, last),
                        "share": share,
                        "share_overall": share_overall,
                        "lift": share / share_overall,
                    }
                )
        out += sorted(told, key=lambda one: -one["share"] * np.log(one["lift"]))
    return out


def _find_typical(
    shares: NDArray[np.float64], overall: NDArray[np.float64], n_ordered: int
) -> list[tuple[int, int]]:
    """Find the typical bins of a feature in a cluster, as ranges of bins.

    Neighboring typical bins, of the `n_ordered` first that have an order, are merged
    if together they set the cluster apart more than either alone.
    """

    def tell(first: int, last: int) -> float:
        share = shares[first : last + 1].sum()
        return float(share * np.log(share / overall[first : last + 1].sum()))

    found: list[tuple[int, int]] = []
    for k, share in enumerate(shares.tolist()):
        common = share >= _LEAST_SHARE and share > overall[k] * (1 + 1e-6)
        if not (common or (share > 0 and k == shares.argmax())):
            continue
        first = k
        while found and found[-1][1] == first - 1 and k < n_ordered:
            before = found[-1]
            if tell(before[0], k) <= max(tell(*before), tell(first, k)):
                break
            first = found.pop()[0]
        found.append((first, k))
    return found


def _to_shares(
    totals: NDArray[np.float64], feature: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Divide by the sum over the bins of each feature, where it is not 0."""
    if not len(feature):
        return totals
    same = sp.csr_array(feature[:, None] == np.arange(feature[-1] + 1), dtype=float)
    sums = (totals @ same)[..., feature]
    return totals / np.where(sums > 0, sums, 1)
