"""Similarity by isolation trees: rows that random splits keep together are alike.

The forest is that of the package isotree, which takes mixed tables with gaps as they
are. It comes with the extra ``peers``.
"""

from __future__ import annotations

from typing import Any, Self

import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin


class IsolationSimilarity(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Represent rows by their similarity to each other: one minus isotree's distance.

    Parameters
    ----------
    n_trees : int, default=500
    random_state : int or None, default=None
        Of the forest.
    """

    def __init__(self, n_trees: int = 500, random_state: Any = None) -> None:
        self.n_trees = n_trees
        self.random_state = random_state

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn passes y)
        """Grow the forest.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        try:
            from isotree import IsolationForest
        except ImportError as error:
            raise ImportError(
                "isotree is not installed; in a copy of the repository, "
                'pip install "paper[peers]"'
            ) from error
        forest = IsolationForest(
            ntrees=self.n_trees, ndim=1, nthreads=1, random_seed=self.random_state or 0
        )
        self.forest_ = forest.fit(_rank_ordered(X))
        return self

    def transform(self, X: pd.DataFrame) -> Any:
        """Compare rows with each other.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
        """
        return 1 - self.forest_.predict_distance(_rank_ordered(X), square_mat=True)


def _rank_ordered(X: pd.DataFrame) -> pd.DataFrame:
    """Write ordered categories as their ranks; isotree would take them as unordered."""
    ordered = [name for name in X if getattr(X[name].dtype, "ordered", False)]
    return X.assign(
        **{name: X[name].cat.codes.where(X[name].notna()) for name in ordered}
    )
