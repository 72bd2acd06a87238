"""The rows most alike to a row, on the incomplete, mixed-type table itself.

The distance of two rows is ``1 - K``: the share of the features in which they are
expected to lie in different bins. It lies between 0 and 1, is symmetric, and keeps the
triangle inequality (unless the kernel is normalized). A complete row has distance 0 to
itself, an incomplete one more, since nobody knows that two rows with the same hole are
equal in it.
"""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ._inner_kernel import (
    check_kernel,
    fit_kernel,
    pack_with_kernel,
    represent,
    unpack_kernel,
)
from ._saving.archive import ModelFileMixin
from ._saving.estimator_state import State, check, pack_sparse, unpack_sparse
from ._shared.options import (
    accept_gaps,
    check_choice,
    check_count,
    check_flag,
    check_n_jobs,
)
from ._shared.threads import count_threads
from ._similarity.nearest import build_index, find_near, find_nearest
from .kernel import ProximityKernel

_MODES = ("connectivity", "distance", "similarity")
_ROUNDINGS = 8  # by which a distance may pass the radius


class ProximityNeighbors(ModelFileMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """Nearest rows of a table with holes, found exactly.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that `kneighbors` finds.
    kernel : ProximityKernel or None, default=None
        Measures the similarity; a copy is fitted. None means one with default options.
    radius : float, default=0.25
        Distance up to which `radius_neighbors` finds rows: the share of the features
        in which they are expected to differ, from 0 to 1.
    n_jobs : int or None, default=None
        Threads, as in `ProximityKernel`; None leaves the kernel its own.

    Attributes
    ----------
    kernel_ : ProximityKernel
        The fitted kernel.
    n_samples_fit_ : int
        Rows among which neighbours are found.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    Distances are ``1 - K(x, y)``, not those of the kernel's feature space: there a row
    with many holes is near to everybody. Among equal distances the lower row number
    comes first. The answer depends neither on threads nor on memory, and the
    similarities of all pairs are never held.

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
    >>> near.kneighbors_graph(mode="distance").toarray().round(2)
    array([[0.  , 0.  , 0.91, 0.  , 0.  ],
           [0.  , 0.  , 0.91, 0.  , 0.  ],
           [0.  , 0.  , 0.  , 0.09, 0.18],
           [0.  , 0.  , 0.09, 0.  , 0.09],
           [0.  , 0.  , 0.18, 0.09, 0.  ]], dtype=float32)
    """

    kernel_class = ProximityKernel

    def __init__(
        self,
        n_neighbors: Any = 5,
        *,
        kernel: Any = None,
        radius: Any = 0.25,
        n_jobs: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.radius = radius
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's)
        """Learn the bins, and keep the rows to find neighbours among.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_options()
        kernel = fit_kernel(self.kernel, X, self.n_jobs)
        matrix = represent(kernel, X)
        index = build_index(matrix, kernel.model_.n_counted)
        validate_data(self, X, skip_check_array=True)
        self.kernel_, self._index = kernel, index
        self.n_samples_fit_ = matrix.shape[0]
        return self

    def kneighbors(
        self,
        X: Any = None,
        n_neighbors: Any = None,
        return_distance: Any = True,
        *,
        return_similarity: Any = False,
    ) -> Any:
        """Find the nearest of the fitted rows.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_queries, n_features), optional
            None asks for the neighbours of each fitted row, without itself.
        n_neighbors : int, optional
            None means the option of the estimator.
        return_distance : bool, default=True
            False gives the indices alone.
        return_similarity : bool, default=False
            True gives similarities, falling, in place of the distances.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            ``1 - K``, rising along each row.
        indices : ndarray of shape (n_queries, n_neighbors), int64
        """
        check_flag("return_distance", return_distance)
        check_flag("return_similarity", return_similarity)
        similarities, indices = self._nearest(X, n_neighbors)
        if return_similarity:
            return similarities, indices
        distances, indices = sort_distances(similarities, indices)
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: Any = None, mode: Any = "connectivity"
    ) -> Any:
        """Join each row to its nearest of the fitted rows.

        Parameters
        ----------
        X, n_neighbors
            As in `kneighbors`.
        mode : {"connectivity", "distance", "similarity"}, default="connectivity"
            What an edge holds: 1, the distance, or the similarity. An edge between
            rows with distance 0 is stored too.

        Returns
        -------
        CSR matrix of shape (n_queries, n_samples_fit)
        """
        check_choice("mode", mode, _MODES)
        similarities, indices = self._nearest(X, n_neighbors)
        n, k = indices.shape
        return self._graph(
            np.arange(0, n * k + 1, k), indices.ravel(), similarities.ravel(), mode
        )

    def radius_neighbors(
        self,
        X: Any = None,
        radius: Any = None,
        return_distance: Any = True,
        *,
        sort_results: Any = False,
        return_similarity: Any = False,
    ) -> Any:
        """Find the fitted rows within a distance.

        Parameters
        ----------
        X, return_distance, return_similarity
            As in `kneighbors`.
        radius : float, optional
            None means the option of the estimator. What lies at it, up to rounding,
            is within.
        sort_results : bool, default=False
            The nearest first; otherwise the lowest row number.

        Returns
        -------
        distances : ndarray of shape (n_queries,) of arrays
        indices : ndarray of shape (n_queries,) of arrays
        """
        check_flag("sort_results", sort_results)
        check_flag("return_distance", return_distance)
        check_flag("return_similarity", return_similarity)
        starts, indices, similarities = self._within(X, radius, sort_results)
        held = _split(indices, starts)
        if return_similarity:
            return _split(similarities, starts), held
        return (_split(1 - similarities, starts), held) if return_distance else held

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: Any = None,
        mode: Any = "connectivity",
        sort_results: Any = False,
    ) -> Any:
        """Join each row to the fitted rows within a distance.

        Parameters
        ----------
        X, radius, sort_results
            As in `radius_neighbors`.
        mode
            As in `kneighbors_graph`.

        Returns
        -------
        CSR matrix of shape (n_queries, n_samples_fit)
            Symmetric if `X` is None.
        """
        check_choice("mode", mode, _MODES)
        check_flag("sort_results", sort_results)
        return self._graph(*self._within(X, radius, sort_results), mode)

    def _nearest(
        self, X: Any, n_neighbors: Any
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        check_is_fitted(self)
        asked = self.n_neighbors if n_neighbors is None else n_neighbors
        k = check_count("n_neighbors", asked, 1)
        most = self.n_samples_fit_ - (X is None)
        if k > most:
            others = " other than the row itself" if X is None else ""
            raise ValueError(
                f"Expected n_neighbors <= {most}, the fitted rows{others}, got {k}."
            )
        rows = None if X is None else represent(self.kernel_, X)
        k_found = k + (X is None)
        similarities, indices = find_nearest(self._index, rows, k_found, self._threads)
        if X is None:
            return drop_itself(similarities, indices, np.arange(len(indices)))
        return similarities, indices

    def _within(
        self, X: Any, radius: Any, nearest_first: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
        check_is_fitted(self)
        reach = _check_radius(self.radius if radius is None else radius)
        rows = None if X is None else represent(self.kernel_, X)
        rounding = _ROUNDINGS * float(np.finfo(self.kernel_.dtype).eps)
        starts, indices, similarities = find_near(
            self._index, rows, 1 - reach - rounding, self._threads
        )
        row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        if X is None:
            others = indices != row
            indices, similarities = indices[others], similarities[others]
            row = row[others]
            starts = np.searchsorted(row, np.arange(len(starts)))
        if nearest_first:
            order = np.lexsort((indices, -similarities, row))
            indices, similarities = indices[order], similarities[order]
        return starts, indices, similarities

    @property
    def _threads(self) -> int:
        check_n_jobs(self.n_jobs)
        jobs = self.kernel_.n_jobs if self.n_jobs is None else self.n_jobs
        return count_threads(jobs)

    def __get_model_state__(self) -> State:
        groups = self._index.groups
        arrays = {"inverse": groups.inverse, **pack_sparse(groups.matrix)}
        return pack_with_kernel(self.kernel_, State({}, arrays))

    def __set_model_state__(self, state: State) -> None:
        self._check_options()
        kernel = unpack_kernel(state)
        n_columns = int(kernel.model_.n_columns.sum())
        matrix = unpack_sparse(state, kernel.dtype, n_columns)
        inverse = state.array("inverse", np.int64)
        known = len(inverse) and inverse.min() >= 0 and inverse.max() < matrix.shape[0]
        check(known, "rows of the index")
        self.kernel_ = kernel
        self._index = build_index(matrix[inverse], kernel.model_.n_counted)
        self.n_samples_fit_ = len(inverse)

    def _check_options(self) -> None:
        check_count("n_neighbors", self.n_neighbors, 1)
        _check_radius(self.radius)
        check_n_jobs(self.n_jobs)
        check_kernel(self.kernel)

    def _graph(
        self,
        starts: NDArray[np.int64],
        indices: NDArray[np.int64],
        similarities: NDArray[Any],
        mode: str,
    ) -> Any:
        data = similarities
        if mode != "similarity":
            ones = np.ones_like(similarities)
            data = ones if mode == "connectivity" else 1 - similarities
        plain = get_config().get("sparse_interface", "spmatrix") == "spmatrix"
        make = sp.csr_matrix if plain else sp.csr_array
        return make(
            (data, indices, starts), shape=(len(starts) - 1, self.n_samples_fit_)
        )

    def __sklearn_tags__(self) -> Any:
        return accept_gaps(super().__sklearn_tags__())


def _check_radius(radius: Any) -> float:
    real = isinstance(radius, numbers.Real) and not isinstance(radius, bool)
    if not real or not 0 <= radius <= 1:
        raise ValueError(
            "radius must be a number from 0 to 1, the share of the features in which "
            f"rows may differ, got {radius!r}."
        )
    return float(radius)


def sort_distances(
    similarities: NDArray[Any], indices: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Make distances of similarities, among equal ones the lower index first.

    Similarities that differ in the last bit can be equal distances.
    """
    distances = 1 - similarities
    order = np.lexsort((indices, distances), axis=1)
    distances = np.take_along_axis(distances, order, axis=1)
    return distances, np.take_along_axis(indices, order, axis=1)


def drop_itself(
    similarities: NDArray[Any], indices: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Leave each row out of its own neighbours, or the last where it is not there."""
    n, k = indices.shape
    others = indices != rows[:, None]
    others[others.all(axis=1), -1] = False
    return similarities[others].reshape(n, k - 1), indices[others].reshape(n, k - 1)


def _split(values: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.object_]:
    out = np.empty(len(starts) - 1, dtype=object)
    for i in range(len(out)):
        out[i] = values[starts[i] : starts[i + 1]]
    return out
