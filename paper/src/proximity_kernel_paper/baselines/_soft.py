"""Distributions for missing cells by other means than the kernel's own.

An imputer gives one value for a gap, where `ProximityKernel` gives a distribution over
bins. These are imputers that give one too, so that the comparison is like with like:
the draws of MICE and of MIWAE, the shares of the nearest rows, the probabilities of a
forest. All keep the bins of the incomplete table and differ in the blocks of missing
cells only.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import nan_euclidean_distances
from sklearn.preprocessing import MinMaxScaler

from ._ablations import BinnedRows
from ._coding import TableEncoder
from ._encoding import ImputedTable
from ._missforest import MissForest
from ._simple import MICE


class _Draws(BinnedRows):
    """The mean over several filled tables, each in the same bins."""

    def __init__(
        self,
        n_draws: int = 10,
        n_bins: Any = "auto",
        missingness: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bins, missingness)
        self.n_draws = n_draws
        self.random_state = random_state

    def _make_imputer(self) -> Any:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the bins, and train the imputer.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        super().fit(X, y)
        self.imputed_ = ImputedTable(self._make_imputer()).fit(X)
        return self

    def transform(self, X: Any) -> Any:
        """Represent rows.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n_samples, n_features)

        Returns
        -------
        CSR matrix of shape (n_samples, n_columns)
        """
        drawn = [
            self.kernel_.transform(self.imputed_.draw(X, seed))
            for seed in range(self.n_draws)
        ]
        return sum(drawn[1:], drawn[0]) / self.n_draws


class MiceDraws(_Draws):
    """Draws from the last round of one chain of MICE."""

    def _make_imputer(self) -> Any:
        return MICE(random_state=self.random_state)


class MiwaeDraws(_Draws):
    """Draws from MIWAE: a latent vector by its weight, then the cells given it."""

    def _make_imputer(self) -> Any:
        from ._miwae import Miwae  # here: torch takes long to import

        return Miwae(random_state=self.random_state)


class _Shares(BinnedRows):
    """Bins, and shares for missing cells that a subclass gives column by column."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the bins and keep the codes; see the subclasses."""
        super().fit(X, y)
        self._blocks = self._split(X)
        self._observed = X.notna().to_numpy()
        return self

    def _split(self, X: Any) -> Any:
        points = self.kernel_.transform(X).toarray()
        return np.split(points, np.cumsum(self.kernel_.n_bins_)[:-1], axis=1)

    def transform(self, X: Any) -> Any:
        """Represent rows.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
        """
        blocks = self._split(X)
        missing = X.isna().to_numpy()
        several = self.kernel_.n_bins_ > 1
        for j in np.flatnonzero(missing.any(axis=0) & several).tolist():
            blocks[j][missing[:, j]] = self._estimate(X, j, missing[:, j])
        return np.hstack(blocks)

    def _estimate(self, X: Any, j: int, rows: Any) -> Any:
        """Shares of the bins of feature j in some rows: (n_rows, n_bins)."""
        raise NotImplementedError


class KNNShares(_Shares):
    """Shares of the bins among the nearest fitted rows that observe the column.

    Parameters
    ----------
    n_neighbors : int, default=10
    n_bins, missingness
        As for `ProximityKernel`; bins of one resolution only.
    """

    def __init__(
        self, n_neighbors: int = 10, n_bins: Any = 4, missingness: Any = "ignorable"
    ) -> None:
        super().__init__(n_bins, missingness)
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the bins and the ranges, and keep the rows.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        super().fit(X, y)
        self._encoder = TableEncoder().fit(X)
        self._scaler = MinMaxScaler().fit(self._encoder.encode(X))
        self._rows = self._scaler.transform(self._encoder.encode(X))
        return self

    def _estimate(self, X: Any, j: int, rows: Any) -> Any:
        values = self._scaler.transform(self._encoder.encode(X[rows]))
        donors = self._observed[:, j]
        apart = nan_euclidean_distances(values, self._rows[donors])
        nearest = np.nan_to_num(apart, nan=np.inf).argsort(axis=1, kind="stable")
        return self._blocks[j][donors][nearest[:, : self.n_neighbors]].mean(axis=1)


class ForestShares(_Shares):
    """Probabilities of the bins by a random forest, on the table MissForest fills.

    Parameters
    ----------
    n_bins, missingness
        As for `ProximityKernel`; bins of one resolution only.
    random_state : int or None, default=None
        Of the forests.
    """

    def __init__(
        self,
        n_bins: Any = 4,
        missingness: Any = "ignorable",
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bins, missingness)
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the bins, and fill the table that the forests learn from.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        super().fit(X, y)
        self._table = ImputedTable(MissForest(random_state=self.random_state))
        self._filled = self._table.fit_transform(X)
        return self

    def _estimate(self, X: Any, j: int, rows: Any) -> Any:
        known = self._observed[:, j]
        # Leaves of five rows: shares of one row would be 0 or 1.
        forest = RandomForestClassifier(
            min_samples_leaf=5, random_state=self.random_state
        )
        codes = self._blocks[j][known].argmax(axis=1)
        forest.fit(np.delete(self._filled[known], j, axis=1), codes)
        others = np.delete(self._table.transform(X)[rows], j, axis=1)
        shares = np.zeros((len(others), self._blocks[j].shape[1]))
        shares[:, forest.classes_] = forest.predict_proba(others)
        return shares
