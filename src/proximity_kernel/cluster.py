"""Clusters of the rows of an incomplete, mixed-type table."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._bins.codes import Codes
from ._kmeans.driver import BatchedClusters, Found, check_enough
from ._kmeans.iterations import Clustering, best_clustering, nearest_centers
from ._kmeans.number_of_clusters import choose_count
from ._kmeans.points import Rows, distances_to, gather_rows
from ._kmeans.profiles import PROFILE_KEYS, describe_clusters
from ._model.model_state import State, check
from ._model_file.estimators import Saved
from ._shared.options import check_clustering_options, check_count, check_n_jobs
from ._shared.threads import count_threads
from ._similarity.embedding import (
    Embedded,
    check_kernel,
    copy_kernel,
    embed_distinct,
    fit_distinct,
    pack_with_kernel,
    unpack_kernel,
    welcome_gaps,
)
from .kernel import ProximityKernel

__all__ = ["ProximityKMeans"]

_AUTO = "auto"


class ProximityKMeans(
    Saved,
    BatchedClusters,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]  # scikit-learn has no types
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """k-means on the rows of an incomplete, mixed-type table.

    The rows are represented by a `ProximityKernel`, so no hole is filled and no column
    is scaled or encoded first. A center is a table of probabilities: the shares of the
    bins of every feature among the rows of its cluster; `profiles_` says it in words.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        How many. "auto" takes the most, up to 10, that are found again in the other
        half of the rows (prediction strength of at least 0.8) and leave less spread
        than in tables whose columns were shuffled, each by itself, the last of them
        included; 1 if there are none. It looks at 2,000 rows at the most.
    kernel : ProximityKernel or None, default=None
        How rows are represented. It is cloned; None is one with its default options.
    n_init : int, default=10
        Runs of k-means, each from other seeds; the one of least inertia is kept.
    max_iter : int, default=300
        Most iterations of a run.
    tol : float, default=1e-4
        A run ends when its centers move less than this, squared and summed, in
        proportion to the mean variance of a column of the representation.
    random_state : int, RandomState instance or None, default=None
        For the seeds, which are drawn by greedy k-means++. An int gives the same
        clusters every time.
    n_jobs : int or None, default=None
        Threads of k-means, and of the kernel if that is None. None uses the cores that
        the process may use, and one inside a joblib worker; -1 uses all. The result
        does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        The cluster of each row. Cluster 0 is the largest, and so on. Not there after
        `fit_batches`.
    cluster_centers_ : ndarray of shape (n_clusters, n_columns)
        In the representation, whose columns ``kernel_.get_feature_names_out()`` names.
    profiles_ : list of dict
        What is typical of each cluster, for ``pandas.DataFrame(profiles_)``: cluster,
        size (rows), feature, value (a category, or "12.5 to 30", the upper limit
        included), share (of the cluster's rows), share_overall (of all rows) and lift
        (the ratio of the two). Missing cells count by their estimates. Of every feature
        the most common value is there, and those of at least 5 % that are more common
        than overall. What sets a cluster apart most comes first.
    inertia_ : float
        Sum of the squared distances of the rows to their centers.
    n_iter_ : int
        Iterations of the run that was kept.
    n_clusters_ : int
        How many centers there are.
    strengths_ : ndarray of shape (n_tried,) or None
        With "auto" the prediction strength of 2, 3, ... clusters.
    kernel_ : ProximityKernel
        As fitted.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    Distances are Euclidean in the representation: between complete rows the square is
    ``2 * d * (1 - similarity)`` with d features. A cluster that loses all its rows
    takes the row that is farthest from its center.

    There is no `sample_weight`: the bins and the matching of `ProximityKernel` have
    none.

    Examples
    --------
    >>> from proximity_kernel import ProximityKMeans
    >>> table = [
    ...     [1.0, "a"], [1.2, "a"], [None, "a"], [1.1, None], [8.5, "b"], [9.0, "b"],
    ...     [8.0, None],
    ... ]
    >>> km = ProximityKMeans(2, random_state=0).fit(table)
    >>> km.labels_
    array([0, 0, 0, 0, 1, 1, 1], dtype=int32)
    >>> km.predict([[None, "b"], [0.9, None]])
    array([1, 0], dtype=int32)
    >>> for one in km.profiles_:
    ...     if one["feature"] == "x1":
    ...         print(one["cluster"], one["size"], one["value"], f"{one['share']:.0%}")
    0 4 a 96%
    1 3 b 80%
    """

    _kernel_class = ProximityKernel

    def __init__(
        self,
        n_clusters: Any = 8,
        *,
        kernel: Any = None,
        n_init: Any = 10,
        max_iter: Any = 300,
        tol: Any = 1e-4,
        random_state: Any = None,
        n_jobs: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (as everywhere)
        """Find the clusters of the rows of a table.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:  # noqa: ARG002
        """Find clusters and measure the distances to them; as fit, then transform.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        rows, codes = self._fit(X)
        return distances_to(rows, self.cluster_centers_)[codes.inverse]

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Find the nearest center of each row, the lower number in a tie.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        ndarray of shape (n_samples,), int32
        """
        rows, codes = self._gather(X)
        return nearest_centers(rows, self.cluster_centers_).labels[codes.inverse]

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Measure the distance of each row to each center.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Euclidean, in the representation.
        """
        rows, codes = self._gather(X)
        return distances_to(rows, self.cluster_centers_)[codes.inverse]

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Tell how near rows are to their centers: the negative inertia.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.
        y : None
            Ignored.

        Returns
        -------
        float
        """
        rows, _ = self._gather(X)
        return -nearest_centers(rows, self.cluster_centers_).inertia

    def _fit(self, X: Any) -> tuple[Rows, Codes]:
        self._check_options()
        kernel = copy_kernel(self.kernel, self.n_jobs)
        held = fit_distinct(kernel, X)
        model, codes = held.model, held.codes
        check_enough(self.n_clusters, model, len(codes.inverse))
        rows = self._rows(held)
        seed = int(check_random_state(self.random_state).randint(2**31))
        n_clusters, strengths = self.n_clusters, None
        if n_clusters == _AUTO:
            n_clusters, strengths = choose_count(
                rows, codes.inverse, model.n_columns, seed
            )
        found = best_clustering(
            rows, n_clusters, self.n_init, self.max_iter, self.tol, seed
        )
        found = _largest_first(found, codes.counts)
        profiles = describe_clusters(
            model, rows.matrix, rows.counts, found.labels, n_clusters
        )
        # From here on nothing can fail: the old clusters are there, or the new ones.
        self._adopt(kernel, found, profiles, strengths)
        self.labels_ = found.labels[codes.inverse]
        _warn_of_empty_clusters(found)
        return rows, codes

    def _adopt(
        self,
        kernel: ProximityKernel,
        found: Clustering | Found,
        profiles: list[dict[str, Any]],
        strengths: NDArray[np.float64] | None,
    ) -> None:
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(kernel, "feature_names_in_"):
            self.feature_names_in_ = kernel.feature_names_in_
        self.__dict__.update(
            kernel_=kernel,
            cluster_centers_=found.centers,
            profiles_=profiles,
            inertia_=found.inertia,
            n_iter_=found.n_iter,
            n_clusters_=len(found.centers),
            strengths_=strengths,
            n_features_in_=kernel.n_features_in_,
            _n_features_out=len(found.centers),
        )

    def _gather(self, X: Any) -> tuple[Rows, Codes]:
        check_is_fitted(self)
        self._check_options()
        held = embed_distinct(self.kernel_, X)
        return self._rows(held), held.codes

    def _rows(self, held: Embedded) -> Rows:
        return gather_rows(held.matrix, held.codes.counts, count_threads(self.n_jobs))

    def _pack(self) -> State:
        arrays = {"centers": self.cluster_centers_}
        if hasattr(self, "labels_"):
            arrays["labels"] = self.labels_
        if self.strengths_ is not None:
            arrays["strengths"] = self.strengths_
        values = {
            "profiles": self.profiles_,
            "inertia": float(self.inertia_),
            "n_iter": int(self.n_iter_),
        }
        return pack_with_kernel(self.kernel_, State(values, arrays))

    def _unpack(self, state: State) -> None:
        self._check_options()
        kernel, n_columns = unpack_kernel(state)
        centers = state.array("centers", np.dtype(kernel.dtype), ndim=2)
        check(centers.shape[1] == n_columns and len(centers), "centers of clusters")
        check(np.isfinite(centers).all(), "centers of clusters")
        if "labels" in state.arrays:  # not if it was fitted to batches
            labels = state.array("labels", np.int32)
            check(labels.min() >= 0 and labels.max() < len(centers), "labels")
            self.labels_ = labels
        profiles = state.values["profiles"]
        check(all(set(one) == set(PROFILE_KEYS) for one in profiles), "profiles")
        self.__dict__.update(
            kernel_=kernel,
            cluster_centers_=centers,
            profiles_=profiles,
            inertia_=float(state.values["inertia"]),
            n_iter_=int(state.values["n_iter"]),
            n_clusters_=len(centers),
            strengths_=state.arrays.get("strengths"),
            _n_features_out=len(centers),
        )

    def _check_options(self) -> None:
        if self.n_clusters != _AUTO:
            if isinstance(self.n_clusters, str):
                raise ValueError(
                    f"n_clusters must be {_AUTO!r} or a whole number, at least 1, got "
                    f"{self.n_clusters!r}."
                )
            check_count("n_clusters", self.n_clusters, 1)
        check_kernel(self.kernel)
        check_clustering_options(self)
        check_n_jobs(self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = welcome_gaps(super().__sklearn_tags__())
        tags.transformer_tags.preserves_dtype = []
        return tags


def _largest_first(found: Clustering, counts: NDArray[np.int64]) -> Clustering:
    """Renumber clusters by their size; among equals the order stays."""
    sizes = np.bincount(found.labels, counts, len(found.centers))
    order = np.argsort(-sizes, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    labels = place[found.labels].astype(np.int32)
    return Clustering(found.centers[order], labels, found.inertia, found.n_iter)


def _warn_of_empty_clusters(found: Clustering) -> None:
    n_found, wanted = len(np.unique(found.labels)), len(found.centers)
    if n_found < wanted:
        warnings.warn(
            f"Only {n_found} of the {wanted} clusters have rows: the table has no more "
            "rows that differ. Ask for fewer.",
            ConvergenceWarning,
            stacklevel=4,
        )
