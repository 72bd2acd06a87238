"""`ProximityKNNClassifier` and `ProximityKNNRegressor`: predict from similar rows."""

from __future__ import annotations

from typing import Any, Literal, Self

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

from ._kernel_estimator import KernelEstimator, take_kernel
from ._saving.estimator_state import State, check, decode, encode
from ._shared.options import check_choice, check_count
from ._shared.sklearn_bases import Classifier, Regressor
from ._table.streams import collect_table
from .kernel import ProximityKernel
from .neighbors import ProximityNeighbors

__all__ = ["ProximityKNNClassifier", "ProximityKNNRegressor"]

Weights = Literal["uniform", "distance"]

_WEIGHTS: tuple[Weights, ...] = ("uniform", "distance")


class _ProximityKNN(KernelEstimator):
    """Base of classifier and regressor: fitted neighbors, and targets."""

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

    def _find_neighbors(self, X: Any, y: Any) -> ProximityNeighbors:
        """Fit the neighbors of a table with targets."""
        self._check_options()
        X = collect_table(X)
        check_consistent_length(X, y)
        return ProximityNeighbors(
            self.n_neighbors, kernel=self.kernel, n_jobs=self.n_jobs
        ).fit(X)

    def _take(self, near: ProximityNeighbors, targets: NDArray[Any]) -> None:
        take_kernel(self, near.kernel_)
        self._near, self._targets = near, targets
        self.n_samples_fit_ = near.n_samples_fit_

    def _weigh(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find neighbors and the share of each in a prediction."""
        check_is_fitted(self)
        self._check_options()
        distances, indices = self._near.kneighbors(X, self.n_neighbors)
        weights = np.ones(distances.shape)
        if self.weights == "distance":
            none = distances <= 0
            with np.errstate(divide="ignore"):
                weights = np.where(none.any(axis=1, keepdims=True), none, 1 / distances)
        return weights / weights.sum(axis=1, keepdims=True), indices

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None
    ) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
        """Find the nearest of the fitted rows, as `ProximityNeighbors.kneighbors`.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_queries, n_features), optional
            None searches the neighbors of each fitted row, without the row itself.
        n_neighbors : int, optional
            None is the option of the estimator.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
        indices : ndarray of shape (n_queries, n_neighbors), int64
        """
        check_is_fitted(self)
        asked = self.n_neighbors if n_neighbors is None else n_neighbors
        return self._near.kneighbors(X, asked)

    def _check_options(self) -> None:
        super()._check_options()
        check_count("n_neighbors", self.n_neighbors, 1)
        check_choice("weights", self.weights, _WEIGHTS)

    def __get_model_state__(self) -> State:
        state = self._near.__get_model_state__()
        return State(state.values, {**state.arrays, "targets": self._targets})

    def __set_model_state__(self, state: State) -> None:
        self._check_options()
        near = ProximityNeighbors(self.n_neighbors, n_jobs=self.n_jobs)
        near.__set_model_state__(state)
        near.n_features_in_ = len(near.kernel_.n_bins_)
        targets = state.arrays["targets"]
        check(len(targets) == near.n_samples_fit_, "targets of other rows")
        self.kernel_, self.n_samples_fit_ = near.kernel_, near.n_samples_fit_
        self._near, self._targets = near, targets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class ProximityKNNClassifier(Classifier, _ProximityKNN):
    """Classifies rows of an incomplete table by the most similar fitted rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Fitted rows that vote.
    weights : {"uniform", "distance"}, default="uniform"
        Whether votes count the same, or by the inverse of the distance. Rows at
        distance 0 then vote alone.
    kernel : ProximityKernel, FrozenEstimator or None, default=None
        Measures the similarity; a copy is fitted, unless it is a fitted kernel in a
        `sklearn.frozen.FrozenEstimator`. Its `n_bins` is "fine" unless it has another.
    n_jobs : int or None, default=None
        Threads, as in `ProximityKernel`; None is the option of the kernel.

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
        _check_given(self, y)
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        near = self._find_neighbors(X, y)
        classes, targets = np.unique(y, return_inverse=True)
        self.classes_ = classes
        self._take(near, targets.astype(np.int64))
        return self

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
        classes = encode(self.classes_.tolist(), "the classes")
        return State({**state.values, "classes": classes}, state.arrays)

    def __set_model_state__(self, state: State) -> None:
        super().__set_model_state__(state)
        classes, targets = decode(state.values["classes"]), self._targets
        check(type(classes) is list and len(classes), "no classes")
        check(targets.dtype == np.int64 and targets.ndim == 1, "classes of the rows")
        known = targets.min() >= 0 and targets.max() < len(classes)
        check(known, "classes of the rows")
        self.classes_ = np.array(classes)


class ProximityKNNRegressor(Regressor, _ProximityKNN):
    """Predicts numbers for rows of an incomplete table from the most similar rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Fitted rows whose mean is predicted.
    weights : {"uniform", "distance"}, default="uniform"
        Whether rows count the same, or by the inverse of the distance. Rows at
        distance 0 then count alone.
    kernel : ProximityKernel, FrozenEstimator or None, default=None
        As in `ProximityKNNClassifier`.
    n_jobs : int or None, default=None
        Threads, as in `ProximityKernel`; None is the option of the kernel.

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
        _check_given(self, y)
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if targets.ndim == 2 and targets.shape[1] == 1:
            targets = column_or_1d(targets, warn=True)
        self._take(self._find_neighbors(X, targets), targets)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the mean of the neighbors.

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


def _check_given(estimator: Any, y: Any) -> None:
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None."
        )
