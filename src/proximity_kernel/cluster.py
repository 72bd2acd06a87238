"""Clusters of the rows of an incomplete, mixed-type table."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ._bins.bin_summary import has_no_rows
from ._bins.codes import Codes
from ._kernel_estimator import (
    KernelEstimator,
    check_not_frozen,
    copy_kernel,
    fit_kernel,
    pack_with_kernel,
    represent_distinct,
    represent_kept,
    take_kernel,
    unpack_kernel,
)
from ._kmeans.driver import (
    PROFILE_KEYS,
    Clusters,
    Passes,
    check_kmeans_options,
    check_sums,
    find_clusters,
    find_weighted_clusters,
    resolve_kmeans_options,
)
from ._kmeans.iterations import nearest_centers, sum_part
from ._kmeans.number_of_clusters import measure_stability
from ._kmeans.points import Rows, Sums, distances_to, gather_rows, merge_sums
from ._model.batches import fit_to_batches, make_reader, merge_all
from ._saving.estimator_state import State, check
from ._shared.options import check_count
from ._shared.sklearn_bases import Clusterer, NumberedTransformer
from ._shared.threads import count_threads
from ._table.sample_weights import check_sample_weight
from ._table.streams import collect_table
from .kernel import ProximityKernel

__all__ = ["ProximityKMeans"]


class ProximityKMeans(NumberedTransformer, Clusterer, KernelEstimator):
    """k-means on the rows of an incomplete, mixed-type table.

    The rows are represented by a `ProximityKernel`, so no missing cell is filled and no
    column is scaled or encoded. A center is a table of probabilities: the shares of the
    bins of every feature among the rows of its cluster. `profiles_` describes the
    clusters in words.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters. "auto" takes the largest number, up to 10, that is found
        again in at least 55 % of the halves of the table (`stability_`) and is not
        there by chance: the inertia is below that of tables whose columns were shuffled
        one by one, and farther below than with one cluster less. 1 if there is no such
        number. It uses samples of at most 2,000 rows, which do not depend on
        `random_state`.
    kernel : ProximityKernel, FrozenEstimator or None, default=None
        Represents the rows; a copy is fitted, unless it is a fitted kernel in a
        `sklearn.frozen.FrozenEstimator`. None is a kernel with default options.
    n_init : int, default=10
        Runs of k-means, each with new seeds; the one with the least inertia is kept.
    max_iter : int, default=300
        Maximum number of iterations of a run.
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
        The cluster of each row; cluster 0 is the largest. Absent after `fit_batches`.
    cluster_centers_ : ndarray of shape (n_clusters, n_columns)
        In the representation, whose columns ``kernel_.get_feature_names_out()`` names.
    profiles_ : list of dict
        What is typical of each cluster, for ``pandas.DataFrame(profiles_)``: cluster,
        size (rows), feature, value (a category, or "12.5 to 30", the upper limit
        included), share (of the cluster's rows), share_overall (of all rows) and lift
        (the ratio of the two). Rows count by their weights, missing cells by their
        estimates. Each feature is listed with its most common value, and with those of
        at least 5 % that are more common than overall; neighboring bins are one value
        if that distinguishes more. A feature of weight 0 is not listed. What
        distinguishes a cluster most comes first.
    inertia_ : float
        Sum of the squared distances of the rows to their centers.
    n_iter_ : int
        Iterations of the run that was kept.
    n_clusters_ : int
        Number of centers.
    stability_ : dict of int to float, or None
        With "auto", for 2, 3, ... clusters: the share of halves of the table in which
        they are found again: in every cluster, at least three quarters of the pairs of
        rows stay together when assigned to the centers of the other half.
    kernel_ : ProximityKernel
        The fitted kernel.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    Distances are Euclidean in the representation: between complete rows the square is
    ``2 * d * (1 - similarity)`` with d features. A cluster that loses all its rows
    takes the row that is farthest from its center.

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

    profiles_: list[dict[str, Any]]

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = "auto",
        *,
        kernel: ProximityKernel | FrozenEstimator | None = None,
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find the clusters of the rows of a table.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Whole numbers: a row of weight 3 counts as three equal rows, of weight 0 as
            none. With a FrozenEstimator and a given `n_clusters`, any from 0 on.

        Returns
        -------
        self
        """
        self._fit(X, sample_weight)
        return self

    def fit_transform(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        sample_weight: Any = None,
    ) -> NDArray[np.float64]:
        """Find clusters and measure the distances to them: `fit`, then `transform`."""
        rows, codes = self._fit(X, sample_weight)
        return distances_to(rows, self.cluster_centers_)[codes.inverse]

    def fit_batches(self, batches: Any, *, max_passes: int = 1) -> Self:
        """Find the clusters of a table in batches, which need not fit in memory.

        The batches are read twice to fit the kernel (`ProximityKernel.fit_batches`).
        k-means on the rows that this keeps gives the first centers. If all rows are
        kept (at most 10,000 distinct ones, or ``matching="cascade"``), the clusters are
        those of `fit`. Otherwise the batches are read `max_passes` more times: all rows
        are assigned, and the centers move to their means.

        ``labels_`` is not set; call `predict` batch by batch. ``profiles_`` and
        ``inertia_`` describe all rows as the last pass assigned them.

        Parameters
        ----------
        batches : list of tables, or callable
            As in `ProximityKernel.fit_batches`.
        max_passes : int, default=1
            Maximum number of passes that move the centers; fewer if they converge
            (`tol`).

        Returns
        -------
        self

        Examples
        --------
        >>> batches = [[[1.0, "a"], [1.2, "a"]], [[None, "b"], [9.0, "b"], [1.1, None]]]
        >>> km = ProximityKMeans(2, random_state=0).fit_batches(batches)
        >>> [km.predict(batch).tolist() for batch in batches]
        [[0, 0], [1, 1, 0]]
        """
        self._check_options()
        check_count("max_passes", max_passes, 1)
        check_not_frozen(self.kernel)
        read = make_reader(batches)
        kernel = copy_kernel(self.kernel, self.n_jobs)
        kept = fit_to_batches(kernel, read)
        rows = gather_rows(*represent_kept(kernel, kept), count_threads(self.n_jobs))

        def add_up(centers: NDArray[Any], bins: bool) -> Sums:
            model = kernel.model_ if bins else None
            parts = (
                sum_part(self._gather(kernel, batch)[1], centers, model)
                for batch in read()
                if not has_no_rows(batch)
            )
            return check_sums(merge_all(parts, merge_sums), kernel.model_)

        passes = Passes(add_up, max_passes, closing=False) if kept.sampled else None
        options = resolve_kmeans_options(self, kernel.model_)
        take_clusters(self, kernel, find_clusters(rows, kernel.model_, options, passes))
        self.__dict__.pop("labels_", None)
        return self

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Find the nearest center of each row, the lower number in a tie.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), int32
        """
        codes, rows = self._gather_fitted(X)
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
        codes, rows = self._gather_fitted(X)
        return distances_to(rows, self.cluster_centers_)[codes.inverse]

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Compute the negative inertia of rows around their nearest centers.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        float
        """
        _, rows = self._gather_fitted(X)
        return -nearest_centers(rows, self.cluster_centers_).inertia

    def measure_stability(self, X: Any) -> dict[int, float]:
        """Measure the stability of 2 to 10 clusters, and of `n_clusters_`.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        dict of int to float
            As `stability_`.

        Examples
        --------
        >>> table = [[1.0, "a"], [1.2, "a"], [8.5, "b"], [9.0, "b"]] * 5
        >>> ProximityKMeans(2, random_state=0).fit(table).measure_stability(table)[2]
        1.0
        """
        _, rows = self._gather_fitted(X)
        return measure_stability(rows, [self.n_clusters_])

    def _fit(self, X: Any, sample_weight: Any) -> tuple[Rows, Codes]:
        self._check_options()
        X = collect_table(X)
        kernel = fit_kernel(self.kernel, X, self.n_jobs, None, sample_weight)
        codes, rows = self._gather(kernel, X)
        options = resolve_kmeans_options(self, kernel.model_)
        if sample_weight is None:
            found = find_clusters(rows, kernel.model_, options)
        else:
            given = check_sample_weight(sample_weight, len(codes.inverse))
            weights: Any = np.bincount(codes.inverse, given, len(rows.counts))
            found = find_weighted_clusters(rows, weights, kernel.model_, options)
        # Nothing below can fail, so the estimator has the old clusters or the new ones.
        take_clusters(self, kernel, found)
        self.labels_ = found.labels[codes.inverse]
        return rows, codes

    def _gather(self, kernel: ProximityKernel, X: Any) -> tuple[Codes, Rows]:
        """Represent each distinct row of a table once."""
        codes, matrix = represent_distinct(kernel, X)
        return codes, gather_rows(matrix, codes.counts, count_threads(self.n_jobs))

    def _gather_fitted(self, X: Any) -> tuple[Codes, Rows]:
        check_is_fitted(self)
        self._check_options()
        return self._gather(self.kernel_, X)

    @property
    def n_clusters_(self) -> int:
        """Number of centers."""
        return len(self.cluster_centers_)

    @property
    def _n_features_out(self) -> int:  # scikit-learn's, for get_feature_names_out
        return len(self.cluster_centers_)

    def __get_model_state__(self) -> State:
        arrays = {"centers": self.cluster_centers_}
        if hasattr(self, "labels_"):
            arrays["labels"] = self.labels_
        if self.stability_ is not None:
            arrays["stability"] = np.array([*self.stability_.items()], np.float64)
        values = {
            "profiles": self.profiles_,
            "inertia": float(self.inertia_),
            "n_iter": int(self.n_iter_),
        }
        return pack_with_kernel(self.kernel_, State(values, arrays))

    def __set_model_state__(self, state: State) -> None:
        self._check_options()
        kernel = unpack_kernel(state)
        centers = state.array("centers", np.dtype(kernel.dtype), ndim=2)
        shape = (max(1, len(centers)), kernel.model_.n_columns.sum())
        good = centers.shape == shape and np.isfinite(centers).all()
        check(good, "centers of clusters")
        if "labels" in state.arrays:  # not if it was fitted to batches
            self.labels_ = state.array("labels", np.int32)
            check(
                0 <= self.labels_.min() <= self.labels_.max() < len(centers), "labels"
            )
        self.profiles_ = state.values["profiles"]
        check(all(set(one) == set(PROFILE_KEYS) for one in self.profiles_), "profiles")
        self.kernel_ = kernel
        self.cluster_centers_ = centers
        self.inertia_ = float(state.values["inertia"])
        self.n_iter_ = int(state.values["n_iter"])
        held = state.arrays.get("stability")
        self.stability_ = None if held is None else {int(k): float(s) for k, s in held}

    def _check_options(self) -> None:
        super()._check_options()
        check_kmeans_options(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def take_clusters(estimator: Any, kernel: ProximityKernel, found: Clusters) -> None:
    """Set a fitted kernel and the clusters that were found in an estimator."""
    take_kernel(estimator, kernel)
    estimator.cluster_centers_ = found.centers
    estimator.profiles_ = found.profiles
    estimator.inertia_ = found.inertia
    estimator.n_iter_ = found.n_iter
    estimator.stability_ = found.stability
