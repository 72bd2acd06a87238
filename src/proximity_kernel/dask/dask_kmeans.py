"""`DaskProximityKMeans`: `ProximityKMeans` for tables in partitions."""

from __future__ import annotations

import operator
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from .._bin_summary import has_no_rows
from .._groups import Groups
from .._kmeans import (
    Rows,
    Sums,
    distances_to,
    gather_rows,
    merge_sums,
    nearest_centers,
    sum_part,
)
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
from .dask_kernel import DaskProximityKernel, fit_partitions, share_kernel
from .partitions import Parts, Shared, reduce_parts, share, split_parts, stack_blocks

_FITTED = ("cluster_centers_", "profiles_", "inertia_", "n_iter_", "groups_")


class DaskProximityKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """`ProximityKMeans` for tables in partitions, which need not fit into memory.

    k-means on the rows that the fit of the kernel keeps (distinct rows with their
    counts) gives the first centers. If all rows are kept (at most 10,000 distinct ones,
    or ``matching="cascade"``), the clusters are those of `ProximityKMeans`. If they are
    a sample, the centers then move to the means of all rows: each pass sums every
    partition and merges the sums.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters. "auto" finds it as `ProximityKMeans` does, on the rows that
        are kept at fit.
    kernel : ProximityKernel or None, default=None
        Represents the rows; it is cloned. None is a kernel with default options.
    n_init : int, default=10
        Runs of k-means on the rows kept at fit; the one with the least inertia is kept.
    max_iter : int, default=300
        Maximum number of iterations of such a run, and of passes over the table.
    tol : float, default=1e-4
        Movement of the centers at which a run has converged, as in `ProximityKMeans`.
    random_state : int, RandomState instance or None, default=None
        Determines the first centers; None gives new ones each time.
    persist : bool, default=True
        Whether the workers keep the representation (each distinct row of a partition
        once) between passes. False computes it again in each pass, which is slower and
        needs no memory.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_columns)
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
        self._check_options()
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
        """Stability of 2, 3, ... clusters, if their number was chosen."""
        groups: Groups | None = self.groups_
        return None if groups is None else groups.stability

    def predict(self, X: Any) -> Any:
        """Find the nearest center of each row, lazily; ties go to the lower number.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        dask array of shape (n_samples,), int32
        """
        check_is_fitted(self)
        parts = split_parts(X, self.kernel_)
        centers = share(self.cluster_centers_)
        blocks = parts.map(_label_part, share_kernel(self.kernel_), centers)
        return stack_blocks(blocks, parts.sizes, None, np.empty(0, np.int32))

    def transform(self, X: Any) -> Any:
        """Measure the distance of each row to each center, lazily.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples, n_clusters), float64
            Euclidean, in the representation.
        """
        check_is_fitted(self)
        parts = split_parts(X, self.kernel_)
        centers = share(self.cluster_centers_)
        blocks = parts.map(_measure_part, share_kernel(self.kernel_), centers)
        width = len(self.cluster_centers_)
        return stack_blocks(blocks, parts.sizes, width, np.empty((0, 0)))

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
        check_is_fitted(self)
        parts = split_parts(X, self.kernel_)
        centers = share(self.cluster_centers_)
        states = parts.map(_add_inertia, share_kernel(self.kernel_), centers)
        return -float(reduce_parts(states, operator.add))

    def save(self, path: Any) -> None:
        """Save the clusters as a `ProximityKMeans`, which loads and uses them.

        Its ``labels_`` are not in the file; call `predict`.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.
        """
        check_is_fitted(self)
        names = ("n_clusters", "kernel", "n_init", "max_iter", "tol", "random_state")
        km = ProximityKMeans(**{name: getattr(self, name) for name in names})
        take_kernel(km, self.kernel_)
        for name in _FITTED:
            setattr(km, name, getattr(self, name))
        km.save(path)

    def _plan_passes(self, parts: Parts, kernel: ProximityKernel) -> Passes:
        """Prepare the passes that add up all rows by their nearest centers."""
        shared = share_kernel(kernel)
        blocks = parts.map(_gather_part, shared)
        if self.persist:
            blocks = list(require("dask", extra="dask").persist(*blocks))
        held = Parts(tuple(blocks), parts.sizes, None)

        def add_up(centers: NDArray[Any], bins: bool) -> Sums:
            states = held.map(_sum_rows, share(centers), shared if bins else None)
            return check_sums(reduce_parts(states, merge_sums), kernel.model_)

        return Passes(add_up, self.max_iter, closing=True)

    def _check_options(self) -> None:
        """Raise an error unless the options are valid."""
        check_kernel(self.kernel)
        check_not_frozen(self.kernel)
        check_kmeans_options(self)
        check_flag("persist", self.persist)


def _measure_part(part: Any, shared: Shared, centers: Shared) -> NDArray[np.float64]:
    if has_no_rows(part):
        return np.empty((0, len(centers.get())))
    coded, matrix = represent_distinct(shared.get(), part)
    rows = gather_rows(matrix, coded.counts)
    return distances_to(rows, centers.get())[coded.index]


def _add_inertia(part: Any, shared: Shared, centers: Shared) -> float:
    if has_no_rows(part):
        return 0.0
    coded, matrix = represent_distinct(shared.get(), part)
    rows = gather_rows(matrix, coded.counts)
    return float(nearest_centers(rows, centers.get()).inertia)


def _gather_part(part: Any, shared: Shared) -> Rows | None:
    """Represent each distinct row of a partition once; None if it has no rows."""
    if has_no_rows(part):
        return None
    coded, matrix = represent_distinct(shared.get(), part)
    return gather_rows(matrix, coded.counts)


def _sum_rows(rows: Rows | None, centers: Shared, shared: Shared | None) -> Sums | None:
    """Add up the rows of a partition by their nearest centers."""
    model = None if shared is None else shared.get().model_
    return sum_part(rows, centers.get(), model)


def _label_part(part: Any, shared: Shared, centers: Shared) -> NDArray[np.int32]:
    """Find the nearest center of each row of a partition."""
    if has_no_rows(part):
        return np.empty(0, np.int32)
    coded, matrix = represent_distinct(shared.get(), part)
    rows = gather_rows(matrix, coded.counts)
    return nearest_centers(rows, centers.get()).labels[coded.index]
