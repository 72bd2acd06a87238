"""Mean, KNN and MICE: imputers that scikit-learn has, on the coded table.

As in the paper's experiments they see every column of the coded table as a number,
categories too: the mean of a column of categories lies between codes. `ModeMean` is
what one would rather do, and what MissForest starts from.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import BayesianRidge
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import check_random_state

_Floats: TypeAlias = NDArray[np.float64]
_Mask: TypeAlias = NDArray[np.bool_]


class Mean(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Fill every column, categorical or not, with the mean of its codes."""

    def fit(self, values: _Floats, categorical: _Mask) -> Self:  # noqa: ARG002 (not told apart)
        """Learn the means."""
        self.model_ = SimpleImputer(keep_empty_features=True).fit(values)
        return self

    def impute(self, values: _Floats) -> _Floats:
        """Fill the gaps."""
        return np.asarray(self.model_.transform(values), dtype=np.float64)


class KNN(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Fill a gap with the mean of the nearest fitted rows that observe the column.

    The distance is scikit-learn's ``nan_euclidean`` on the coded table as it is, not
    scaled: a column with large numbers decides who is near.

    Parameters
    ----------
    n_neighbors : int, default=5
        Rows to average.
    """

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, values: _Floats, categorical: _Mask) -> Self:  # noqa: ARG002 (not told apart)
        """Keep the rows."""
        model = KNNImputer(n_neighbors=self.n_neighbors, keep_empty_features=True)
        self.model_ = model.fit(values)
        return self

    def impute(self, values: _Floats) -> _Floats:
        """Fill the gaps."""
        return np.asarray(self.model_.transform(values), dtype=np.float64)


class ScaledKNN(KNN):
    """`KNN` with every column scaled to [0, 1] before distances are measured."""

    def __init__(self, n_neighbors: int = 10) -> None:
        super().__init__(n_neighbors)

    def fit(self, values: _Floats, categorical: _Mask) -> Self:
        """Learn the ranges and keep the rows."""
        self.scaler_ = MinMaxScaler().fit(values)
        return super().fit(self.scaler_.transform(values), categorical)

    def impute(self, values: _Floats) -> _Floats:
        """Fill the gaps."""
        filled = super().impute(self.scaler_.transform(values))
        return np.asarray(self.scaler_.inverse_transform(filled), dtype=np.float64)


class MICE(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Fill each column in turn with a draw from a Bayesian regression on the others.

    One chain of multivariate imputation by chained equations: scikit-learn's
    ``IterativeImputer`` with ``BayesianRidge`` and draws from the posterior. Draws can
    lie outside the observed range. Imputing the same rows gives the same draws; a row's
    draw depends on the rows that it comes with.

    Parameters
    ----------
    max_iter : int, default=10
        Rounds over the columns.
    random_state : int, RandomState instance or None, default=None
        Of the draws.
    verbose : bool, default=False
        Whether scikit-learn reports its rounds.
    """

    def __init__(
        self, max_iter: int = 10, random_state: Any = None, verbose: bool = False
    ) -> None:
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, values: _Floats, categorical: _Mask) -> Self:  # noqa: ARG002 (not told apart)
        """Learn the regressions of every round."""
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (the switch)
        from sklearn.impute import IterativeImputer

        self._draws = check_random_state(self.random_state).randint(2**31, size=2)
        model = IterativeImputer(
            BayesianRidge(),
            sample_posterior=True,
            max_iter=self.max_iter,
            keep_empty_features=True,
            random_state=self._draws[0],
            verbose=2 * int(self.verbose),
        )
        self.model_ = model.fit(values)
        return self

    def impute(self, values: _Floats) -> _Floats:
        """Fill the gaps."""
        return self.draw(values, 0)

    def draw(self, values: _Floats, seed: int) -> _Floats:
        """Fill the gaps with the draws of a seed."""
        # The model's own random state would move on with every call.
        model = copy(self.model_)
        model.random_state_ = np.random.RandomState(self._draws[1] + seed)
        return np.asarray(model.transform(values), dtype=np.float64)


class ModeMean(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Fill a category with the most frequent one, a number with the mean.

    Of equally frequent categories the first. An ordered category is a number here:
    its code.

    Attributes
    ----------
    values_ : ndarray of shape (n_features,)
        What gaps are filled with.
    """

    def fit(self, values: _Floats, categorical: _Mask) -> Self:
        """Learn the most frequent categories and the means."""
        self.values_ = np.array(
            [
                _center(column[~np.isnan(column)], kind)
                for column, kind in zip(values.T, categorical, strict=True)
            ]
        )
        return self

    def impute(self, values: _Floats) -> _Floats:
        """Fill the gaps."""
        return np.where(np.isnan(values), self.values_, values)


def _center(observed: _Floats, categorical: bool) -> float:
    """Mode or mean of the observed cells of a column; 0 of none."""
    if not len(observed):
        return 0.0
    if categorical:
        codes, counts = np.unique(observed, return_counts=True)
        return float(codes[counts.argmax()])
    return float(observed.mean())
