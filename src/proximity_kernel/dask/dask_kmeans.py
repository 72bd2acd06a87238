"""`DaskProximityKMeans`: `ProximityKMeans` for tables in partitions."""

from __future__ import annotations

import operator
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from .._groups import Groups
from .._kmeans import Rows, Sums, gather_rows, sum_part
from .._shared.extras import require
from .._shared.options import check_flag
from .._shared.resources import count_threads
from ..cluster import (
    Passes,
    ProximityKMeans,
    check_kmeans_options,
    check_sums,
    find_clusters,
    take_clusters,
)
from ..kernel import (
    ProximityKernel,
    check_kernel,
    check_not_frozen,
    copy_kernel,
    represent_distinct,
    represent_kept,
    take_kernel,
)
from .dask_kernel import (
    DaskProximityKernel,
    call_method,
    fit_partitions,
    map_method,
    share_estimator,
    share_kernel,
)
from .partitions import Parts, share, split_parts

_FITTED = ("cluster_centers_", "profiles_", "inertia_", "n_iter_", "groups_")


class DaskProximityKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """`ProximityKMeans` for tables in partitions, which need not fit into memory.

    k-means on the rows that the fit of the kernel keeps (distinct rows with their
    counts) gives the first centers. If all rows are kept (at most 10,000 distinct rows,
    or ``matching="cascade"``), the clusters are those of `ProximityKMeans`. If a sample
    is kept, the centers then move to the means of all rows: each pass sums the rows of
    every partition by cluster, and merges the sums.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters. "auto" finds it as `ProximityKMeans` does, on the rows that
        are kept at fit.
    kernel : ProximityKernel or None, default=None
        Represents the rows; it is cloned. None is a kernel with default options.
    n_init : int, default=10
        Runs of k-means on the rows kept at fit; the run of lowest inertia is used.
    max_iter : int, default=300
        Maximum number of iterations of a run, and of passes over the table.
    tol : float, default=1e-4
        Movement of the centers at which a run has converged, as in `ProximityKMeans`.
    random_state : int, RandomState instance or None, default=None
        Determines the first centers; None gives new centers each time.
    persist : bool, default=True
        Whether the workers keep the representation (each distinct row of a partition
        once) between passes. False computes it again in each pass, which is slower but
        keeps nothing in memory.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_columns)
        Mean representation of the rows of each cluster.
    labels_ : dask array of shape (n_samples,), int32
        The cluster of each row, lazy. Cluster 0 is the largest.
    profiles_ : list of dict
        Typical values of each cluster, as in `ProximityKMeans`.
    groups_ : Groups or None
        Whether there are separate groups, as in `ProximityKMeans`.
    stability_ : dict of int to float, or None
        Stability of each number of clusters, as in `ProximityKMeans`.
    inertia_ : float
        Sum of the squared distances of the rows to their centers.
    n_iter_ : int
        Iterations on the rows kept at fit, plus passes over the table.
    kernel_ : ProximityKernel
        The fitted kernel.
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
        n_clusters: int | Literal["auto"] = "auto",
        *,
        kernel: ProximityKernel | None = None,
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        persist: bool = True,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.persist = persist

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's)
        """Find the clusters of a table; computes at once, except the labels.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        check_kernel(self.kernel)
        check_not_frozen(self.kernel)
        check_kmeans_options(self)
        check_flag("persist", self.persist)
        fitted = DaskProximityKernel(copy_kernel(self.kernel, None))
        kept, _ = fit_partitions(fitted, X)
        kernel, parts = fitted.kernel_, split_parts(X)
        coded, matrix = represent_kept(kernel, kept)
        rows = gather_rows(matrix, coded.counts, count_threads(kernel.n_jobs))
        passes = self._plan_passes(parts, kernel) if kept.sampled else None
        take_clusters(self, kernel, find_clusters(self, rows, coded, kernel, passes))
        self.labels_ = self.predict(X)
        return self

    @property
    def stability_(self) -> dict[int, float] | None:
        """Stability of 2, 3, ... clusters; None if `n_clusters` was given."""
        groups: Groups | None = self.groups_
        return None if groups is None else groups.stability

    def predict(self, X: Any) -> Any:
        """Find the cluster with the nearest center for each row, as a lazy array.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        dask array of shape (n_samples,), int32
            Numbers of clusters; ties go to the lower number.
        """
        return map_method(self._in_memory(), "predict", X, np.empty(0, np.int32))

    def transform(self, X: Any) -> Any:
        """Compute the distance of each row to each center, as a lazy array.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples, n_clusters), float64
            Euclidean, in the representation.
        """
        km = self._in_memory()
        return map_method(km, "transform", X, np.empty((0, km.n_clusters_)))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Compute the negative inertia of rows around their nearest centers.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        float
        """
        shared = share_estimator(self._in_memory())
        parts = split_parts(X, self.kernel_)
        return float(parts.reduce(operator.add, call_method, shared, "score") or 0)

    def save(self, path: Any) -> None:
        """Save the clusters to a file that `ProximityKMeans.load` reads.

        The file has no ``labels_``; call `predict` of the loaded estimator.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.
        """
        self._in_memory().save(path)

    def _in_memory(self) -> ProximityKMeans:
        """Make the `ProximityKMeans` that has these options and fitted attributes."""
        check_is_fitted(self)
        options = self.get_params(deep=False)
        del options["persist"]
        km = ProximityKMeans(**options)
        take_kernel(km, self.kernel_)
        for name in _FITTED:
            setattr(km, name, getattr(self, name))
        return km

    def _plan_passes(self, parts: Parts, kernel: ProximityKernel) -> Passes:
        """Prepare the passes that sum all rows by their nearest center."""
        shared = share_kernel(kernel)
        blocks = parts.map(_gather_part, shared)
        if self.persist:
            blocks = list(require("dask", extra="dask").persist(*blocks))
        gathered = Parts(tuple(blocks), parts.sizes, None)

        def add_up(centers: NDArray[Any], bins: bool) -> Sums:
            given = share(centers), shared if bins else None
            return check_sums(
                gathered.reduce(operator.add, _sum_rows, *given), kernel.model_
            )

        return Passes(add_up, self.max_iter, closing=True)


def _gather_part(part: Any, kernel: ProximityKernel) -> Rows:
    """Represent each distinct row of a partition once, with its count."""
    coded, matrix = represent_distinct(kernel, part)
    return gather_rows(matrix, coded.counts)


def _sum_rows(
    rows: Rows | None, centers: NDArray[Any], kernel: ProximityKernel | None
) -> Sums | None:
    """Sum the rows of a partition by their nearest center; None if it has no rows."""
    if rows is None:
        return None
    return sum_part(rows, centers, None if kernel is None else kernel.model_)
