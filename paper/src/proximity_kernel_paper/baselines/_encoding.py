"""A mixed table in, numbers out: what every imputation method works on.

Imputers know numbers. So a table is *coded*: numbers stay, an unordered category
becomes its index among the fitted labels in sorted order, an ordered one its rank.
Labels that all spell numbers, as codes of places or lesions do, become these numbers.
A category that was not seen at fit is missing. The imputer fills the coded table, and
what is clustered is the filled, coded table with every column scaled to [0, 1], as the
numbers published for these methods were got.

`TableEncoder` codes and decodes; `ImputedTable` is the scikit-learn transformer around
any imputer, an object with

- ``fit(values, categorical)``: values is a float64 array of shape (n, d) in which NaN
  is missing, categorical a boolean array of shape (d,), True for unordered categories;
- ``impute(values)``: a new array of shape (m, d) without NaN, of which only the cells
  that were missing are used. A column with nothing observed at fit is filled with 0.
"""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from ._coding import TableEncoder

_Floats: TypeAlias = NDArray[np.float64]
_Mask: TypeAlias = NDArray[np.bool_]


class Imputer(Protocol):
    """Fills the gaps of a coded table; the module's docstring tells the rules."""

    def fit(self, values: _Floats, categorical: _Mask) -> Any:
        """Learn from a coded table with gaps."""

    def impute(self, values: _Floats) -> _Floats:
        """Fill the gaps of a coded table."""


class ImputedTable(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Fill a mixed table with an imputer, and scale each column to [0, 1].

    Parameters
    ----------
    imputer : object
        With ``fit(values, categorical)`` and ``impute(values)``; it is copied, and
        the copy is fitted.

    Attributes
    ----------
    imputer_ : object
        The fitted copy.
    encoder_ : TableEncoder
    low_, span_ : ndarray of shape (n_features,)
        Least value and range of each column of the filled, coded table. New rows
        can fall outside [0, 1]. A column of which fewer than two different values
        were observed has the range 0, and becomes 0.
    constant_ : ndarray of shape (n_features,)
        The only value observed in a column, with which its gaps are filled; NaN
        where there is none or more than one.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> from proximity_kernel_paper.baselines import registry
    >>> mean = registry["Mean"].build()
    >>> mean.fit_transform(np.array([[1.0], [3.0], [np.nan]])).tolist()
    [[0.0], [1.0], [0.5]]
    >>> mean.fill(np.array([[np.nan], [7.0]])).tolist()
    [[2.0], [7.0]]
    """

    def __init__(self, imputer: Any) -> None:
        self.imputer = imputer

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn passes y)
        """Learn from a table.

        Parameters
        ----------
        X : pandas.DataFrame or array of numbers, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> _Floats:  # noqa: ARG002 (see fit)
        """Learn from a table and fill it; the same as fit, then transform.

        Parameters
        ----------
        X : pandas.DataFrame or array of numbers, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_features)
        """
        return self._scale(self._fit(X))

    def transform(self, X: Any) -> _Floats:
        """Fill and scale rows.

        Parameters
        ----------
        X : pandas.DataFrame or array of numbers, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_features)
        """
        return self._scale(self._impute(X))

    def fill(self, X: Any) -> Any:
        """Fill rows, in the units of the table.

        Parameters
        ----------
        X : pandas.DataFrame or array of numbers, of shape (n_samples, n_features)

        Returns
        -------
        pandas.DataFrame or ndarray of shape (n_samples, n_features)
            Of the make of `X`. Numbers as float64; a category is the one with the
            nearest code, and one not seen at fit is replaced like a missing cell.
        """
        filled = self._impute(X)
        return self.encoder_.decode(filled, X)

    def draw(self, X: Any, seed: int) -> Any:
        """Fill rows with one draw of an imputer that can draw.

        Parameters
        ----------
        X : pandas.DataFrame or array of numbers, of shape (n_samples, n_features)
        seed : int
            Of the draw.

        Returns
        -------
        pandas.DataFrame or ndarray of shape (n_samples, n_features)
            As of `fill`.
        """
        check_is_fitted(self)
        values = self.encoder_.encode(X)
        drawn = self.imputer_.draw(values, seed)
        return self.encoder_.decode(self._put_into_gaps(values, drawn), X)

    def _fit(self, X: Any) -> _Floats:
        self.encoder_ = TableEncoder().fit(X)
        values = self.encoder_.encode(X)
        validate_data(self, X, skip_check_array=True)  # number and names of columns
        # Not safe: an imputer need not be a scikit-learn estimator.
        self.imputer_ = clone(self.imputer, safe=False)
        self.imputer_.fit(values, self.encoder_.categorical)
        least, most = np.fmin.reduce(values), np.fmax.reduce(values)
        self.constant_ = np.where(least == most, least, np.nan)
        filled = self._fill_gaps(values)
        self.low_ = filled.min(axis=0)
        # By what is observed: a fill may be off the only value by rounding or a draw.
        self.span_ = np.where(most > least, filled.max(axis=0) - self.low_, 0.0)
        return filled

    def _impute(self, X: Any) -> _Floats:
        check_is_fitted(self)
        return self._fill_gaps(self.encoder_.encode(X))

    def _fill_gaps(self, values: _Floats) -> _Floats:
        return self._put_into_gaps(values, self.imputer_.impute(values))

    def _put_into_gaps(self, values: _Floats, fills: _Floats) -> _Floats:
        """Leave the observed cells as they are, whatever the imputer does."""
        fills = np.where(np.isnan(self.constant_), fills, self.constant_)
        return np.where(np.isnan(values), fills, values)

    def _scale(self, filled: _Floats) -> _Floats:
        varies = self.span_ > 0
        return np.where(
            varies, (filled - self.low_) / np.where(varies, self.span_, 1), 0.0
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags
