"""Rows to clusters: the one driver for tables in memory, in batches and on Dask.

k-means runs on distinct rows with counts. If they are all rows of the table, that is
all. If they are a sample, its centers are where passes over the whole table start: each
pass adds up all rows by their nearest center and moves the centers to the means.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._model.model import Model
from .._shared.caller import find_caller
from .._shared.options import check_count, check_seed
from .iterations import best_clustering
from .number_of_clusters import MOST_ROWS, choose_count
from .points import Rows
from .sums import Sums, move_centers, sum_clusters

AUTO: Literal["auto"] = "auto"

_MOST_TO_DRAW_FROM = 10**9  # numpy's limit for draws without replacement


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
    """How a table that is not held is passed over.

    Attributes
    ----------
    add_up : callable
        Adds up all rows by the nearest of the centers it is given, with their bins if
        its second argument is true.
    most : int
        Most passes that move the centers.
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
        Of the rows that k-means ran on.
    sums : Sums
        Of all rows, with their bins.
    inertia : float
    n_iter : int
        Iterations of k-means, and passes over the table.
    strengths : ndarray of shape (n_tried,) or None
        If the number of clusters was chosen.
    """

    centers: NDArray[Any]
    labels: NDArray[np.int32]
    sums: Sums
    inertia: float
    n_iter: int
    strengths: NDArray[np.float64] | None


def check_kmeans_options(estimator: Any) -> None:
    """Refuse bad options of k-means, but for the kernel."""
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
    number = isinstance(tol, numbers.Real) and not isinstance(tol, bool)
    if not number or not 0 <= tol < np.inf:
        raise ValueError(f"tol must be a number, at least 0 and finite, got {tol!r}.")
    check_seed(estimator.random_state)


def resolve_kmeans_options(estimator: Any, model: Model) -> KMeansOptions:
    """Compare the options with the table, and draw the seed."""
    if not model.n_counted:
        raise ValueError("Nothing is observed in X: there is nothing to cluster.")
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
    inverse: NDArray[np.int64] | None = None,
    passes: Passes | None = None,
) -> Clusters:
    """Find the clusters of a table.

    Parameters
    ----------
    rows : Rows
        Distinct rows with their counts: all, or a sample.
    model : Model
        With which they are represented.
    options : KMeansOptions
    inverse : ndarray of shape (n_samples,), int64, or None
        Which of the rows each row of the table is, if that is known.
    passes : Passes or None
        Over the whole table, if the rows are a sample.

    Returns
    -------
    Clusters
    """
    n_clusters, strengths = options.n_clusters, None
    if n_clusters == AUTO:
        drawn = _draw_rows(rows, options.seed) if inverse is None else inverse
        widths = model.n_columns
        n_clusters, strengths = choose_count(rows, drawn, widths, options.seed)
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
    return Clusters(
        centers[order], labels, sums.take(order), inertia, n_iter, strengths
    )


def _draw_rows(rows: Rows, seed: int) -> NDArray[np.int64]:
    """Draw rows of a table of which only the distinct ones and their counts are known.

    At most `MOST_ROWS`, each row of the table with equal chance.
    """
    counts = rows.counts.astype(np.int64)
    total = int(counts.sum())
    if total > MOST_ROWS:
        rng = np.random.default_rng(seed)
        if total < _MOST_TO_DRAW_FROM:
            draw = rng.multivariate_hypergeometric
            counts = draw(counts, MOST_ROWS, method="marginals")
        else:
            counts = rng.multinomial(MOST_ROWS, counts / total)
    return np.repeat(np.arange(len(counts)), counts)


def _warn_of_empty_clusters(sizes: NDArray[np.float64]) -> None:
    n_found = np.count_nonzero(sizes)
    if n_found < len(sizes):
        warnings.warn(
            f"Only {n_found} of the {len(sizes)} clusters have rows: the table has no "
            "more rows that differ. Ask for fewer.",
            ConvergenceWarning,
            stacklevel=find_caller(),
        )
