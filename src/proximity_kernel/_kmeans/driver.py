"""Batches in, clusters out: k-means on the rows kept at fit, then passes over all rows.

The first centers are those of k-means on the rows that the fit of the kernel kept, each
distinct one with its count. If these are all rows, nothing is left to do. If they are a
sample, each pass over the batches assigns all rows and moves the centers to their
means.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._matching.row_state import RowState
from .._model.batches import again, merge_all
from .._model.model import Model
from .._shared.options import check_count
from .._shared.threads import count_threads
from .._similarity.embedding import copy_kernel
from ..kernel import ProximityKernel
from .iterations import best_clustering
from .number_of_clusters import MOST_ROWS, choose_count
from .points import Rows
from .profiles import describe_totals
from .sums import (
    Sums,
    gather_kept,
    gather_part,
    merge_sums,
    move_centers,
    sum_clusters,
    sum_part,
)

_MOST_TO_DRAW_FROM = 10**9  # numpy's limit for draws that are not put back


@dataclass(frozen=True)
class Found:
    """Clusters, the largest first, of rows that are not at hand.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_columns)
    sums : Sums
        Of their rows, with the bins.
    inertia : float
    n_iter : int
        Iterations on the rows kept at fit, and passes over the rows.
    strengths : ndarray of shape (n_tried,) or None
        If the number of clusters was chosen.
    """

    centers: NDArray[Any]
    sums: Sums
    inertia: float
    n_iter: int
    strengths: NDArray[np.float64] | None


class BatchedClusters:
    """A clustering estimator that can learn from batches."""

    def fit_batches(self: Any, batches: Any, *, max_passes: int = 1) -> Any:
        """Find the clusters of a table in batches, which is never held whole.

        The batches are read twice for the kernel (`ProximityKernel.fit_batches`). The
        first centers are those of k-means on the rows that this keeps. If they are all
        rows (at most 10,000 distinct ones, or ``matching="cascade"``), the clusters are
        those of `fit`. Else the batches are read `max_passes` times more: all rows are
        assigned, and the centers move to their means.

        There are no ``labels_`` then: `predict` tells them, batch by batch.
        ``profiles_`` and ``inertia_`` are of all rows as the last pass assigned them.
        "auto" looks at other rows than `fit` does.

        Parameters
        ----------
        batches : list of tables, or callable
            As in `ProximityKernel.fit_batches`.
        max_passes : int, default=1
            Most passes that move the centers; they end when these hold still (`tol`).

        Returns
        -------
        self

        Examples
        --------
        >>> from proximity_kernel import ProximityKMeans
        >>> batches = [[[1.0, "a"], [1.2, "a"]], [[None, "b"], [9.0, "b"], [1.1, None]]]
        >>> km = ProximityKMeans(2, random_state=0).fit_batches(batches)
        >>> [km.predict(batch).tolist() for batch in batches]
        [[0, 0], [1, 1, 0]]
        """
        self._check_options()
        check_count("max_passes", max_passes, 1)
        read = again(batches)
        kernel = copy_kernel(self.kernel, self.n_jobs)
        kept = kernel._fit_batches(read)  # noqa: SLF001  (of the same package)
        found = find_clusters(self, kernel, kept, read, max_passes)
        model = kernel._fitted_model()  # noqa: SLF001
        profiles = describe_totals(model, found.sums.bins, found.sums.sizes)
        self._adopt(kernel, found, profiles, found.strengths)
        self.__dict__.pop("labels_", None)
        warn_of_empty_clusters(found.sums.sizes, stacklevel=2)
        return self


def find_clusters(
    options: Any, kernel: ProximityKernel, kept: RowState, read: Any, max_passes: int
) -> Found:
    """Find the clusters of the batches that a kernel was fitted to.

    Parameters
    ----------
    options : ProximityKMeans
    kernel : ProximityKernel
    kept : RowState
        What the fit kept of the rows.
    read : callable
        Returns an iterator of the batches.
    max_passes : int

    Returns
    -------
    Found
    """
    model = kernel._fitted_model()  # noqa: SLF001
    check_enough(options.n_clusters, model, model.n_samples)
    rows = gather_kept(kernel, kept)
    seed = int(check_random_state(options.random_state).randint(2**31))
    n_clusters, strengths = options.n_clusters, None
    if n_clusters == "auto":
        drawn = draw_rows(rows, seed)
        n_clusters, strengths = choose_count(rows, drawn, model.n_columns, seed)
    best = best_clustering(
        rows, n_clusters, options.n_init, options.max_iter, options.tol, seed
    )
    centers, n_iter, inertia = best.centers, best.n_iter, best.inertia
    if kept.sampled:
        add_up = partial(_add_up, kernel, model, read, count_threads(options.n_jobs))
        centers, sums, n_passes = move_centers(add_up, centers, max_passes, options.tol)
        inertia, n_iter = sums.inertia(centers), n_iter + n_passes
    else:
        sums = sum_clusters(rows, centers, best.labels, model)
    order = np.argsort(-sums.sizes, kind="stable")
    return Found(centers[order], sums.take(order), inertia, n_iter, strengths)


def _add_up(
    kernel: ProximityKernel,
    model: Model,
    read: Any,
    n_threads: int,
    centers: NDArray[Any],
) -> Sums:
    parts = (
        sum_part(gather_part(batch, kernel, n_threads), centers, model)
        for batch in read()
    )
    sums = merge_all(parts, merge_sums)
    n_samples = model.n_samples
    if sums is None or sums.sizes.sum() != n_samples:
        raise ValueError(
            f"The batches gave other rows when read again ({n_samples:,} first, then "
            f"{0 if sums is None else sums.sizes.sum():,.0f}); pass a list, or a "
            "function that returns a new iterator of the same batches each time."
        )
    return sums


def draw_rows(rows: Rows, seed: int) -> NDArray[np.int64]:
    """Draw rows of a table of which only the distinct ones and their counts are known.

    Parameters
    ----------
    rows : Rows
    seed : int

    Returns
    -------
    ndarray of shape (n_drawn,), int64
        Which distinct row each is; at most 2,000.
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


def check_enough(n_clusters: Any, model: Model, n_samples: int) -> None:
    """Refuse a table without values, or with fewer rows than clusters."""
    if not model.n_counted:
        raise ValueError("Nothing is observed in X: there is nothing to cluster.")
    if n_clusters != "auto" and n_clusters > n_samples:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {n_samples} samples "
            "of the table; ask for fewer."
        )


def warn_of_empty_clusters(sizes: NDArray[np.float64], stacklevel: int) -> None:
    """Say how many clusters have rows, if some have none."""
    n_found = np.count_nonzero(sizes)
    if n_found < len(sizes):
        warnings.warn(
            f"Only {n_found} of the {len(sizes)} clusters have rows. Ask for fewer.",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )
