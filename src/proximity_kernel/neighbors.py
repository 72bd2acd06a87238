"""`ProximityNeighbors`: find the most similar rows of a table, and predict from them.

The similarity of a query and a row is their kernel, as a share of what a row with
exactly the query's values would score: from 0 to 1. The distance is 1 minus the
similarity. A complete row has distance 0 to itself; an incomplete row has more, because
two rows that miss a value can differ there.

If `rarity` is 0, that score is 1, so the similarity is the kernel. The distance is then
symmetric and satisfies the triangle inequality (unless the kernel is normalized).

`ProximityKNNClassifier` and `ProximityKNNRegressor` predict from the nearest rows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from ._coded import CodedTable, make_csr
from ._model import fit_model
from ._nearest import (
    GRID,
    MODES,
    Index,
    Mode,
    connect_rows,
    drop_itself,
    find_near,
    find_nearest,
    make_graph,
    split_answers,
    spread_index,
)
from ._saving import State, check, decode, encode, pack_sparse, unpack_sparse
from ._shared.options import (
    check_choice,
    check_count,
    check_flag,
    is_number,
    resolve_options,
)
from ._shared.sklearn_bases import (
    Classifier,
    Matrix,
    NumberedTransformer,
    Regressor,
    of_one_fit,
    replaces_fit,
)
from ._table.columns import Column
from ._table.tables import collect_table
from .kernel import (
    KernelEstimator,
    ProximityKernel,
    copy_kernel,
    fit_kernel,
    index_rows,
    pack_with_kernel,
    represent_for_search,
    take_kernel,
    unpack_kernel,
)

__all__ = ["ProximityKNNClassifier", "ProximityKNNRegressor", "ProximityNeighbors"]
Weights = (
    Literal["uniform", "distance"]
    | Callable[[NDArray[np.floating]], NDArray[np.floating]]
)


class _NearestRows(KernelEstimator):
    """Base of the estimators that keep the fitted rows and search among them."""

    _reports_shares = True
    n_neighbors: int
    n_samples_fit_: int
    _index: Index

    def __default_kernel__(self) -> ProximityKernel:
        return ProximityKernel("fine", rarity=0.5)

    @replaces_fit
    def __fit_coded__(self, X: Any) -> CodedTable:
        self._check_options()
        default = self.__default_kernel__()
        kernel, coded = fit_kernel(self.kernel, X, self.n_jobs, default)
        index = index_rows(kernel, represent_for_search(kernel, coded))
        take_kernel(self, kernel)
        self._set_index(index)
        return coded

    def _set_index(self, index: Index) -> None:
        """Store the search index of the fitted rows, and how many rows there are."""
        self._index = index
        self.n_samples_fit_ = len(index.groups.inverse)

    def _check_options(self) -> None:
        """Raise an error for an invalid option."""
        super()._check_options()
        check_count("n_neighbors", self.n_neighbors, 1)

    @overload
    def kneighbors(
        self,
        X: Any = ...,
        n_neighbors: int | None = ...,
        return_distance: Literal[True] = ...,
        *,
        return_similarity: bool = ...,
    ) -> tuple[NDArray[np.floating], NDArray[np.int64]]: ...

    @overload
    def kneighbors(
        self,
        X: Any = ...,
        n_neighbors: int | None = ...,
        return_distance: Literal[False] = ...,
        *,
        return_similarity: Literal[False] = ...,
    ) -> NDArray[np.int64]: ...

    @overload
    def kneighbors(
        self,
        X: Any = ...,
        n_neighbors: int | None = ...,
        return_distance: Literal[False] = ...,
        *,
        return_similarity: Literal[True],
    ) -> NDArray[np.floating]: ...

    @of_one_fit
    def kneighbors(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
        *,
        return_similarity: bool = False,
    ) -> Any:
        """Find the fitted rows that are nearest to each query.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_queries, n_features), optional
            The queries. None finds the neighbors of each fitted row, without the row
            itself.
        n_neighbors : int, optional
            None is the option of the estimator.
        return_distance : bool, default=True
            False returns the indices alone.
        return_similarity : bool, default=False
            Whether to return similarities in place of the distances; with
            ``return_distance=False``, the similarities alone.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            1 minus the similarity, smallest first; ties go to the lower index.
        indices : ndarray of shape (n_queries, n_neighbors), int64
        """
        asked = _check_answers(return_distance, return_similarity)
        similarities, indices = self._search(X, n_neighbors)
        return _choose_answers(*asked, similarities, indices)

    def _search(
        self, X: Any, n_neighbors: int | None
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Find the nearest rows, and their similarities in the kernel's dtype."""
        check_is_fitted(self)
        asked = self.n_neighbors if n_neighbors is None else n_neighbors
        k, itself = check_count("n_neighbors", asked, 1), X is None
        most = self.n_samples_fit_ - itself
        if k > most:
            others = " other than the row itself" if itself else ""
            raise ValueError(
                f"Expected n_neighbors <= {most}, the number of fitted rows{others}, "
                f"got {k}."
            )
        rows = None if itself else represent_for_search(self.kernel_, X)
        found = find_nearest(self._index, rows, k + itself, self._threads)
        if itself:
            found = drop_itself(*found, np.arange(most + 1))
        return found[0].astype(self.kernel_.dtype), found[1]

    def __get_model_state__(self) -> State:
        groups = self._index.groups
        arrays = {"inverse": groups.inverse, **pack_sparse(groups.matrix)}
        return pack_with_kernel(self.kernel_, State({}, arrays))

    def __set_model_state__(self, state: State) -> None:
        self._check_options()
        kernel = unpack_kernel(state)
        n_columns = int(kernel.model_.n_columns.sum())
        matrix = unpack_sparse(state, np.float64, n_columns)
        inverse = state.array("inverse", np.int64)
        check(len(inverse) and inverse.min() >= 0, "rows of the index")
        # The inverse index must have each distinct row, in order of first occurrence.
        _, first = np.unique(inverse, return_index=True)
        ordered = len(first) == matrix.shape[0] and (np.diff(first) > 0).all()
        check(ordered and inverse.max() < len(first), "rows of the index")
        state.check_growth(matrix.shape[0] * len(kernel.n_bins_), "the index")
        self.kernel_ = kernel
        self._set_index(spread_index(index_rows(kernel, matrix), inverse))


class ProximityNeighbors(NumberedTransformer, _NearestRows):
    """Finds the nearest rows of an incomplete, mixed-type table, exactly.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbors that `kneighbors` finds.
    kernel : ProximityKernel, FrozenEstimator or None, default=None
        Measures the similarity; a copy is fitted, unless it is a fitted kernel in a
        `sklearn.frozen.FrozenEstimator`. None is
        ``ProximityKernel("fine", rarity=0.5)``.
    radius : float, default=0.25
        Largest distance, from 0 to 1, at which `radius_neighbors` finds rows.
    n_jobs : int or None, default=None
        Threads; None is the option of the kernel, by default all cores.

    Attributes
    ----------
    kernel_ : ProximityKernel
        The fitted kernel.
    n_samples_fit_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if the table had column names

    Notes
    -----
    The similarity of a query x and a row y is ``K(x, y) / F(x)``, from 0 to 1, where
    F(x) is what a row with exactly the values of x would score; it is 1 if the kernel's
    `rarity` is 0. The distance is 1 minus the similarity, not the distance in the
    kernel's feature space, where a row with many missing cells is near every row.
    Similarities are rounded to multiples of ``2**-24``; ties go to the lower index.

    Examples
    --------
    >>> from proximity_kernel import ProximityKernel, ProximityNeighbors
    >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
    >>> near = ProximityNeighbors(2, kernel=ProximityKernel(n_bins=2)).fit(table)
    >>> distances, indices = near.kneighbors([[1.1, "a"], [9.5, "a"]])
    >>> indices
    array([[0, 1],
           [4, 0]])
    >>> distances.round(2)
    array([[0.  , 0.  ],
           [0.41, 0.5 ]], dtype=float32)
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        kernel: ProximityKernel | FrozenEstimator | None = None,
        radius: float = 0.25,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.radius = radius
        self.n_jobs = n_jobs

    @replaces_fit
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's)
        """Learn the bins, and keep the rows among which neighbors are searched.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : None

        Returns
        -------
        self
        """
        self.__fit_coded__(X)
        return self

    @of_one_fit
    def kneighbors_graph(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        mode: Mode = "connectivity",
    ) -> Matrix:
        """Build a sparse graph that connects each row to its nearest fitted rows.

        Parameters
        ----------
        X, n_neighbors
            As in `kneighbors`.
        mode : {"connectivity", "distance", "similarity"}, default="connectivity"
            The value of an edge: 1, the distance (0 is stored too) or the similarity.

        Returns
        -------
        CSR matrix of shape (n_queries, n_samples_fit)
        """
        check_choice("mode", mode, MODES)
        similarities, indices = self._search(X, n_neighbors)
        starts = np.arange(len(indices) + 1) * indices.shape[1]
        found = starts, indices.ravel(), similarities.ravel()
        return make_graph(*found, mode, self.n_samples_fit_)

    @of_one_fit
    def precomputed_knn(
        self, n_neighbors: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.floating]]:
        """Return the neighbors of each fitted row as `precomputed_knn` of UMAP.

        For ``umap.UMAP(n_neighbors=k, precomputed_knn=near.precomputed_knn(k))``.

        Parameters
        ----------
        n_neighbors : int, optional
            Number of neighbors including the row itself; None is the option of the
            estimator plus 1.

        Returns
        -------
        indices : ndarray of shape (n_samples_fit, n_neighbors), int64
            The row itself comes first.
        distances : ndarray of shape (n_samples_fit, n_neighbors)
            0 for the row itself.
        """
        check_is_fitted(self)
        asked = self.n_neighbors + 1 if n_neighbors is None else n_neighbors
        k = check_count("n_neighbors", asked, 2)
        distances, others = self.kneighbors(None, k - 1)
        indices = np.insert(others, 0, np.arange(len(others)), axis=1)
        return indices, np.insert(distances, 0, 0, axis=1)

    @of_one_fit
    def distance_graph(self, n_neighbors: int | None = None) -> Matrix:
        """Connect each fitted row to its nearest fitted rows, in one connected graph.

        For ``sklearn.cluster.HDBSCAN(metric="precomputed")`` and other methods that
        take sparse distances and need a connected graph. If the nearest rows alone give
        several components, each component is joined to the nearest row outside it.

        Parameters
        ----------
        n_neighbors : int, optional
            Number of nearest rows of each row, at least the `min_samples` of HDBSCAN;
            None is the option of the estimator.

        Returns
        -------
        CSR matrix of shape (n_samples_fit, n_samples_fit), float64
            Symmetric: an edge has the larger of the distances that its rows have to
            each other, as `ProximityKernel.distance`. Zeros on the diagonal are stored.
            Other distances of 0 are stored as ``2**-24``, because HDBSCAN drops edges
            of 0.

        Examples
        --------
        >>> from sklearn.cluster import HDBSCAN
        >>> table = [[float(i % 4), "a"] for i in range(12)]
        >>> table += [[50.0 + i % 4, "b"] for i in range(12)]
        >>> graph = ProximityNeighbors(10).fit(table).distance_graph()
        >>> HDBSCAN(10, metric="precomputed", copy=True).fit_predict(graph).tolist()
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
        """
        nearest = self._search(None, n_neighbors)
        kernel = self.kernel_
        graph = connect_rows(
            self._index, lambda rows: index_rows(kernel, rows), nearest, self._threads
        )
        return make_csr(graph)

    @of_one_fit
    def transform(self, X: Any) -> Matrix:
        """Build the graph of distances of rows to their nearest fitted rows.

        As in scikit-learn's `KNeighborsTransformer`, these are ``n_neighbors + 1``
        rows. For the fitted table itself the result differs from `fit_transform`: an
        incomplete row has a distance above 0 to itself, and equal rows with a lower
        index can take its place.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_queries, n_features)

        Returns
        -------
        CSR matrix of shape (n_queries, n_samples_fit)
        """
        check_is_fitted(self)
        k = min(self.n_neighbors + 1, self.n_samples_fit_)
        return self.kneighbors_graph(X, k, mode="distance")

    @replaces_fit
    def fit_transform(self, X: Any, y: Any = None) -> Matrix:  # noqa: ARG002
        """Fit, and build the graph of distances of each row to its nearest other rows.

        Each row is also joined to itself, at distance 0. This differs from
        ``fit(X).transform(X)``, which treats the rows as new rows: then an incomplete
        row has a distance above 0 to itself, because two rows that miss a value can
        differ there.

        Returns
        -------
        CSR matrix of shape (n_samples, n_samples)
        """
        n = self.fit(X).n_samples_fit_
        k = min(self.n_neighbors, n - 1)
        none = np.ones((n, 0), self.kernel_.dtype), np.empty((n, 0), np.int64)
        similarities, others = self._search(None, k) if k else none
        similarities = np.insert(similarities, 0, 1, axis=1)
        indices = np.insert(others, 0, np.arange(n), axis=1)
        starts = np.arange(n + 1) * (k + 1)
        return make_graph(starts, indices.ravel(), similarities.ravel(), "distance", n)

    @property
    def _n_features_out(self) -> int:  # scikit-learn's, for get_feature_names_out
        """Number of columns of the graph of `transform`."""
        return self.n_samples_fit_

    @overload
    def radius_neighbors(
        self,
        X: Any = ...,
        radius: float | None = ...,
        return_distance: Literal[True] = ...,
        *,
        return_similarity: bool = ...,
        sort_results: bool = ...,
    ) -> tuple[NDArray[np.object_], NDArray[np.object_]]: ...

    @overload
    def radius_neighbors(
        self,
        X: Any = ...,
        radius: float | None = ...,
        return_distance: Literal[False] = ...,
        *,
        return_similarity: bool = ...,
        sort_results: bool = ...,
    ) -> NDArray[np.object_]: ...

    @of_one_fit
    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        *,
        return_similarity: bool = False,
        sort_results: bool = False,
    ) -> Any:
        """Find the fitted rows within a distance of each query.

        Parameters
        ----------
        X, return_distance, return_similarity
            As in `kneighbors`.
        radius : float, optional
            The distance; rows at exactly this distance are found. None is the option of
            the estimator.
        sort_results : bool, default=False
            Whether to sort the rows by distance; otherwise they are sorted by index.

        Returns
        -------
        distances, indices : ndarray of shape (n_queries,) of arrays
        """
        asked = _check_answers(return_distance, return_similarity)
        starts, indices, similarities = self._find_within(X, radius, sort_results)
        found = _choose_answers(*asked, similarities, indices)
        if isinstance(found, tuple):
            return tuple(split_answers(one, starts) for one in found)
        return split_answers(found, starts)

    @of_one_fit
    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: Mode = "connectivity",
        sort_results: bool = False,
    ) -> Matrix:
        """Build a sparse graph that connects each row to fitted rows within a distance.

        Parameters
        ----------
        X, radius, sort_results, mode
            As in `radius_neighbors` and `kneighbors_graph`.

        Returns
        -------
        CSR matrix of shape (n_queries, n_samples_fit)
            Symmetric if `X` is None and the kernel's `rarity` is 0.
        """
        check_choice("mode", mode, MODES)
        found = self._find_within(X, radius, sort_results)
        return make_graph(*found, mode, self.n_samples_fit_)

    def _find_within(
        self, X: Any, radius: float | None, nearest_first: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
        """Find fitted rows within a radius; the rows of query i begin at starts[i]."""
        check_flag("sort_results", nearest_first)
        check_is_fitted(self)
        reach = _check_radius(self.radius if radius is None else radius)
        rows = None if X is None else represent_for_search(self.kernel_, X)
        starts, indices, similarities = find_near(
            self._index, rows, 1 - reach - GRID, self._threads
        )
        similarities = similarities.astype(self.kernel_.dtype)
        row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        order = np.lexsort((indices, -similarities if nearest_first else row, row))
        if X is None:
            order = order[(indices != row)[order]]
            starts = np.searchsorted(row[order], np.arange(len(starts)))
        return starts, indices[order], similarities[order]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _check_options(self) -> None:
        """Raise an error for an invalid option."""
        super()._check_options()
        _check_radius(self.radius)


def fit_search_kernel(
    kernel: ProximityKernel, columns: tuple[Column, ...]
) -> tuple[ProximityKernel, CodedTable]:
    """Fit the default kernel of neighbors to typed columns, with options of a kernel.

    Which has default bins and the pairwise rule: its `n_bins` is replaced, and its
    `rarity` if that is 0. Also returns the coded table.
    """
    default = ProximityNeighbors().__default_kernel__()
    copy = copy_kernel(kernel, None)
    copy.set_params(n_bins=default.n_bins, rarity=kernel.rarity or default.rarity)
    model, coded = fit_model(columns, resolve_options(copy))
    copy.model_, copy.n_features_in_ = model, len(columns)
    return copy, coded


def _check_answers(return_distance: bool, return_similarity: bool) -> tuple[bool, bool]:
    """Return both options; raise ValueError unless each is True or False."""
    check_flag("return_distance", return_distance)
    check_flag("return_similarity", return_similarity)
    return return_distance, return_similarity


def _choose_answers(
    with_distance: bool,
    with_similarity: bool,
    similarities: NDArray[Any],
    indices: NDArray[np.int64],
) -> Any:
    """Return (distances or similarities, indices), or similarities or indices alone."""
    if with_distance:
        return (similarities if with_similarity else 1 - similarities), indices
    return similarities if with_similarity else indices


def _check_radius(radius: Any) -> float:
    """Return a radius as a float; raise ValueError unless it is from 0 to 1."""
    if not is_number(radius) or not 0 <= radius <= 1:
        raise ValueError(
            "radius must be a number from 0 to 1, the share of the features in which "
            f"rows may differ, got {radius!r}."
        )
    return float(radius)


_WEIGHTS = ("uniform", "distance")


class _ProximityKNN(_NearestRows):
    """Base of the classifier and the regressor: keeps the rows with their targets."""

    _targets: NDArray[Any]

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Weights = "uniform",
        kernel: ProximityKernel | FrozenEstimator | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.kernel = kernel
        self.n_jobs = n_jobs

    def _fit(self, X: Any, targets: NDArray[Any]) -> None:
        """Keep the rows of a table, and their targets."""
        self._check_options()
        X = collect_table(X)
        check_consistent_length(X, targets)
        self.__fit_coded__(X)
        self._targets = targets

    def _weigh(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the neighbors of rows, and their weights, which sum to 1 for a row."""
        check_is_fitted(self)
        self._check_options()
        distances, indices = self.kneighbors(X)
        weights = np.ones(distances.shape)
        if callable(self.weights):
            weights = _check_weights(self.weights(distances), distances.shape)
        elif self.weights == "distance":
            none = distances <= 0
            with np.errstate(divide="ignore"):
                weights = np.where(none.any(axis=1, keepdims=True), none, 1 / distances)
        return weights / weights.sum(axis=1, keepdims=True), indices

    def _check_options(self) -> None:
        """Raise an error for an invalid option."""
        super()._check_options()
        if not callable(self.weights):
            check_choice("weights", self.weights, _WEIGHTS)

    def __getstate__(self) -> dict[str, Any]:
        if not callable(self.weights):
            return super().__getstate__()
        plain = copy.copy(self)  # a file cannot hold a function; a pickle can
        plain.weights = "uniform"
        return {**plain.__getstate__(), "weights": self.weights}

    def __get_model_state__(self) -> State:
        state = super().__get_model_state__()
        return replace(state, arrays={**state.arrays, "targets": self._targets})

    def __set_model_state__(self, state: State) -> None:
        super().__set_model_state__(state)
        self._targets = state.arrays["targets"]
        check(len(self._targets) == self.n_samples_fit_, "targets of other rows")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class ProximityKNNClassifier(Classifier, _ProximityKNN):
    """Classifies rows of an incomplete table by the most similar fitted rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of fitted rows that vote.
    weights : {"uniform", "distance"} or callable, default="uniform"
        "uniform": votes count the same. "distance": votes count by the inverse of the
        distance; if there are rows at distance 0, only these vote. A function takes the
        distances, of shape (n_queries, n_neighbors), and returns weights of the same
        shape; it cannot be saved to a file.
    kernel : ProximityKernel, FrozenEstimator or None, default=None
        Measures the similarity; a copy is fitted, unless it is a fitted kernel in a
        `sklearn.frozen.FrozenEstimator`. None is
        ``ProximityKernel("fine", rarity=0.5)``.
    n_jobs : int or None, default=None
        Threads; None is those of the kernel: all cores, unless it has its own option.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted.
    kernel_ : ProximityKernel
        The fitted kernel.
    n_samples_fit_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Examples
    --------
    >>> from proximity_kernel import ProximityKNNClassifier
    >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
    >>> knn = ProximityKNNClassifier(2).fit(table, ["s", "s", "t", "t", "t"])
    >>> knn.predict([[1.1, None], [None, "b"]]).tolist()
    ['s', 't']
    """

    @replaces_fit
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the bins, and keep the rows with their classes.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self
        """
        _check_target_given(self, y)
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, targets = np.unique(y, return_inverse=True)
        self._fit(X, targets.astype(np.int64))
        self.classes_ = classes
        return self

    @of_one_fit
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute the share of each class among the votes.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        weights, indices = self._weigh(X)
        shares = np.zeros((len(indices), len(self.classes_)))
        rows = np.arange(len(indices))[:, None]
        np.add.at(shares, (rows, self._targets[indices]), weights)
        return shares

    @of_one_fit
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the most votes, the first of `classes_` in a tie.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        shares = self.predict_proba(X).round(12)
        predicted: NDArray[Any] = self.classes_[shares.argmax(axis=1)]
        return predicted

    def __get_model_state__(self) -> State:
        state = super().__get_model_state__()
        classes = encode(self.classes_, "the classes")
        return replace(state, values={**state.values, "classes": classes})

    def __set_model_state__(self, state: State) -> None:
        super().__set_model_state__(state)
        classes, targets = decode(state.values["classes"]), self._targets
        if type(classes) is list:  # texts of very different lengths
            classes = np.array(classes, object)
        check(type(classes) is np.ndarray and classes.ndim == 1, "no classes")
        check(targets.dtype == np.int64 and targets.ndim == 1, "classes of the rows")
        known = targets.min() >= 0 and targets.max() < len(classes)
        check(known, "classes of the rows")
        self.classes_ = classes


class ProximityKNNRegressor(Regressor, _ProximityKNN):
    """Predicts numbers for rows of an incomplete table from the most similar rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of fitted rows whose mean is predicted.
    weights : {"uniform", "distance"} or callable, default="uniform"
        "uniform": rows count the same. "distance": rows count by the inverse of the
        distance; if there are rows at distance 0, only these count. A function takes
        the distances, of shape (n_queries, n_neighbors), and returns weights of the
        same shape; it cannot be saved to a file.
    kernel : ProximityKernel, FrozenEstimator or None, default=None
        As in `ProximityKNNClassifier`.
    n_jobs : int or None, default=None
        Threads; None is those of the kernel: all cores, unless it has its own option.

    Attributes
    ----------
    kernel_ : ProximityKernel
        The fitted kernel.
    n_samples_fit_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Examples
    --------
    >>> from proximity_kernel import ProximityKNNRegressor
    >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
    >>> knn = ProximityKNNRegressor(2).fit(table, [10.0, 12.0, 50.0, 60.0, 58.0])
    >>> knn.predict([[1.1, "a"]])
    array([11.])
    """

    @replaces_fit
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the bins, and keep the rows with their targets.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)

        Returns
        -------
        self
        """
        _check_target_given(self, y)
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if targets.ndim == 2 and targets.shape[1] == 1:
            targets = column_or_1d(targets, warn=True)
        self._fit(X, targets)
        return self

    @of_one_fit
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the weighted mean of the neighbors' targets.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        weights, indices = self._weigh(X)
        mean: NDArray[np.float64] = np.einsum(
            "ik,ik...->i...", weights, self._targets[indices]
        )
        return mean

    def __set_model_state__(self, state: State) -> None:
        super().__set_model_state__(state)
        targets = self._targets
        check(targets.dtype == np.float64 and targets.ndim <= 2, "targets")
        check(np.isfinite(targets).all(), "targets")


def _check_weights(found: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Raise ValueError unless a function of the distances returned usable weights."""
    weights = np.asarray(found, np.float64)
    good = (
        weights.shape == shape and np.isfinite(weights).all() and (weights >= 0).all()
    )
    if not good or not weights.any(axis=1).all():
        raise ValueError(
            f"The function weights must return an array of shape {shape} of finite "
            "numbers, at least 0, and above 0 for at least one neighbor of each query."
        )
    return weights


def _check_target_given(estimator: Any, y: Any) -> None:
    """Raise ValueError if there is no target; the phrase is that of scikit-learn."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None."
        )
