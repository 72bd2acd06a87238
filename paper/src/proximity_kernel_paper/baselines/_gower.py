"""Gower's similarity: the mean over the columns that both rows observe.

Numbers and ranks are alike by one minus their distance over the range, categories by
whether they are the same. A gap takes its column out of the pair. Two rows that share
no column have the mean similarity of all pairs.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ._coding import TableEncoder


class Gower(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Represent rows by their similarity to the fitted rows.

    With gaps the matrix need not be positive semi-definite.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [0.0, 1.0, None], "c": ["a", "b", "a"]})
    >>> Gower().fit(table).transform(table)
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn passes y)
        """Learn the ranges and keep the rows.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self.encoder_ = TableEncoder().fit(X)
        self._rows = self.encoder_.encode(X)
        span = np.fmax.reduce(self._rows) - np.fmin.reduce(self._rows)
        self._span = np.where(span > 0, span, 1.0)
        return self

    def transform(self, X: Any) -> Any:
        """Compare rows with the fitted rows.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_fitted)
        """
        check_is_fitted(self)
        values = self.encoder_.encode(X)
        total = np.zeros((len(values), len(self._rows)))
        shared = np.zeros_like(total)
        for j, nominal in enumerate(self.encoder_.categorical):
            apart = np.abs(values[:, j, None] - self._rows[:, j])
            alike = apart == 0 if nominal else 1 - apart / self._span[j]
            both = ~np.isnan(apart)
            total += np.where(both, np.maximum(alike, 0), 0)
            shared += both
        known = shared > 0
        found = np.divide(total, shared, out=np.zeros_like(total), where=known)
        return np.where(known, found, found[known].mean())
