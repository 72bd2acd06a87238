"""`DaskProximityKMeans`: k-means on the rows kept at fit, then sums of partitions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._kmeans.driver import check_enough, warn_of_empty_clusters
from .._kmeans.iterations import best_clustering
from .._kmeans.profiles import describe_totals
from .._kmeans.sums import Sums, gather_kept, merge_sums, move_centers, sum_clusters
from .._shared.extras import require
from .._shared.options import check_clustering_options, check_count, check_flag
from .._similarity.embedding import check_kernel, copy_kernel
from ..kernel import ProximityKernel
from .dask_kernel import DaskProximityKernel
from .kernel_tasks import prepare
from .kmeans_tasks import gather_shared, label_part, sum_shared
from .partitions import (
    Parts,
    reduce_parts,
    share,
    split_fitted,
    split_parts,
    stack_blocks,
)


class DaskProximityKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """`ProximityKMeans` for tables in partitions, more than fit into memory.

    The first centers are those of k-means on the rows that the fit of the kernel keeps:
    distinct rows with their counts. If they are all rows (at most 10,000 distinct ones,
    or ``matching="cascade"``), the clusters are those of `ProximityKMeans`. If they are
    a sample, the centers then move to the means of all rows: each pass adds up every
    partition and merges the sums.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel : ProximityKernel or None, default=None
        How rows are represented. It is cloned; None is one with its default options.
    n_init : int, default=10
        Runs of k-means on the rows kept at fit; the one of least inertia is kept.
    max_iter : int, default=300
        Most iterations of such a run, and most passes over the table.
    tol : float, default=1e-4
        It ends when the centers move less than this, as in `ProximityKMeans`.
    random_state : int, RandomState instance or None, default=None
        For the seeds.
    persist : bool, default=True
        Whether the workers keep the representation (each distinct row of a partition
        once) from pass to pass. False makes it anew from the table each time: slower,
        and nothing is held.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_columns)
    labels_ : dask array of shape (n_samples,), int32
        The cluster of each row, computed when asked for. Cluster 0 is the largest.
    profiles_ : list of dict
        What is typical of each cluster, as in `ProximityKMeans`.
    inertia_ : float
        Sum of the squared distances of the rows to their centers.
    n_iter_ : int
        Iterations on the rows kept at fit, and passes over the table.
    kernel_ : ProximityKernel
        As fitted.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    A cluster that loses all its rows in a pass over the table keeps its center.

    Examples
    --------
    >>> import dask
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from proximity_kernel.dask import DaskProximityKMeans
    >>> table = pd.DataFrame(
    ...     {
    ...         "size": [1.0, 1.2, None, 1.1, 8.5, 9.0, 8.0],
    ...         "kind": ["a", "a", "a", None, "b", "b", None],
    ...     }
    ... )
    >>> with dask.config.set(scheduler="synchronous"):
    ...     km = DaskProximityKMeans(2, random_state=0)
    ...     km.fit(dd.from_pandas(table, npartitions=3)).labels_.compute()
    array([0, 0, 0, 0, 1, 1, 1], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: Any = 8,
        *,
        kernel: Any = None,
        n_init: Any = 10,
        max_iter: Any = 300,
        tol: Any = 1e-4,
        random_state: Any = None,
        persist: Any = True,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.persist = persist

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's)
        """Find the clusters of the rows of a table, now; their labels are lazy.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_options()
        fitted = DaskProximityKernel(copy_kernel(self.kernel, None))
        kept = fitted._fit(X)  # noqa: SLF001  (of the same package)
        kernel, parts = fitted.kernel_, split_parts(X)
        model = kernel._fitted_model()  # noqa: SLF001
        check_enough(self.n_clusters, model, model.n_samples)
        rows = gather_kept(kernel, kept)
        seed = int(check_random_state(self.random_state).randint(2**31))
        found = best_clustering(
            rows, self.n_clusters, self.n_init, self.max_iter, self.tol, seed
        )
        centers, inertia, n_iter = found.centers, found.inertia, found.n_iter
        if kept.sampled:
            centers, sums, n_passes = self._iterate(parts, kernel, centers)
            inertia, n_iter = sums.inertia(centers), n_iter + n_passes
        else:
            sums = sum_clusters(rows, centers, found.labels, model)
        order = np.argsort(-sums.sizes, kind="stable")
        sums = sums.take(order)
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(kernel, "feature_names_in_"):
            self.feature_names_in_ = kernel.feature_names_in_
        self.__dict__.update(
            kernel_=kernel,
            cluster_centers_=centers[order],
            profiles_=describe_totals(model, sums.bins, sums.sizes),
            inertia_=inertia,
            n_iter_=n_iter,
            n_features_in_=kernel.n_features_in_,
        )
        self.labels_ = self.predict(X)
        warn_of_empty_clusters(sums.sizes, stacklevel=2)
        return self

    def predict(self, X: Any) -> Any:
        """Find the nearest center of each row, lazily; the lower number in a tie.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        dask array of shape (n_samples,), int32
        """
        check_is_fitted(self)
        parts = split_fitted(X, self.kernel_)
        shared = share(prepare(self.kernel_))
        blocks = parts.map(label_part, shared, share(self.cluster_centers_))
        return stack_blocks(blocks, parts.sizes, None, np.empty(0, np.int32))

    def _iterate(
        self, parts: Parts, kernel: ProximityKernel, centers: NDArray[Any]
    ) -> tuple[NDArray[Any], Sums, int]:
        """Move the centers to the means of all rows; gives them and what they hold."""
        shared = share(prepare(kernel))
        blocks = parts.map(gather_shared, shared)
        if self.persist:
            blocks = list(require("dask", extra="dask").persist(*blocks))
        held = Parts(tuple(blocks), parts.sizes, None)

        def add_up(centers: NDArray[Any], bins: Any = None) -> Sums:
            states = held.map(sum_shared, share(centers), bins)
            found: Sums = reduce_parts(states, merge_sums)
            return found

        centers, _, n_passes = move_centers(add_up, centers, self.max_iter, self.tol)
        return centers, add_up(centers, shared), n_passes

    def _check_options(self) -> None:
        if self.n_clusters == "auto":
            raise ValueError(
                "n_clusters='auto' is not for partitions; let ProximityKMeans find it "
                "on a sample of the rows."
            )
        check_count("n_clusters", self.n_clusters, 1)
        check_kernel(self.kernel)
        check_clustering_options(self)
        check_flag("persist", self.persist)
