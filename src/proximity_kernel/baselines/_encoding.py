"""A mixed table in, numbers out: what every imputation method works on.

Imputers know numbers. So a table is *coded*: numbers stay, an unordered category
becomes its index among the fitted labels in sorted order, an ordered one its rank.
A category that was not seen at fit is missing. The imputer fills the coded table, and
what is clustered is the filled, coded table with every column scaled to [0, 1], as the
numbers published for these methods were got.

`TableEncoder` codes and decodes; `ImputedTable` is the scikit-learn transformer around
any imputer, an object with

- ``fit(values, categorical)``: values is a float64 array of shape (n, d) in which NaN
  is missing, categorical a boolean array of shape (d,), True for unordered categories;
- ``impute(values)``: a new array of shape (m, d) without NaN, in which observed cells
  are unchanged. A column with nothing observed at fit is filled with 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from .._extras import require

Kind = Literal["numeric", "ordinal", "nominal"]
_Array: TypeAlias = NDArray[Any]
_Floats: TypeAlias = NDArray[np.float64]
_Mask: TypeAlias = NDArray[np.bool_]


class Imputer(Protocol):
    """Fills the gaps of a coded table; the module's docstring tells the rules."""

    def fit(self, values: _Floats, categorical: _Mask) -> Any:
        """Learn from a coded table with gaps."""

    def impute(self, values: _Floats) -> _Floats:
        """Fill the gaps of a coded table."""


@dataclass(frozen=True)
class CodedColumn:
    """How one column is coded.

    Attributes
    ----------
    name : Hashable
        The frame's column name, or "x3" for the one at index 3 of an array.
    kind : {"numeric", "ordinal", "nominal"}
    labels : tuple
        The label of each code: the order of an ordinal column, the observed labels
        of a nominal one, sorted. Empty for a numeric column.
    dtype : pandas dtype or None
        Of a column of labels, to decode into.
    """

    name: Hashable
    kind: Kind
    labels: tuple[Hashable, ...] = ()
    dtype: Any = None


class TableEncoder:
    """Code mixed tables as float64 arrays, by what one table taught.

    Takes pandas frames and arrays of numbers (all columns numeric). Numbers and
    booleans are numeric, ordered categoricals ordinal, text and unordered
    categoricals nominal.

    Attributes
    ----------
    columns : tuple of CodedColumn
    categorical : ndarray of bool of shape (n_features,)
        True for nominal columns.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [31, None], "blood": ["b", "a"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.encode(table)
    array([[31.,  1.],
           [nan,  0.]])
    >>> encoder.encode(pd.DataFrame({"age": [7], "blood": ["new"]}))
    array([[ 7., nan]])
    """

    def fit(self, table: Any) -> Self:
        """Learn the kinds and labels of a table's columns.

        Parameters
        ----------
        table : pandas.DataFrame or array of numbers, of shape (n, n_features)

        Returns
        -------
        self
        """
        names, columns = _split(table)
        self.columns = tuple(map(_learn, names, columns))
        kinds = [column.kind for column in self.columns]
        self.categorical = np.array([kind == "nominal" for kind in kinds])
        return self

    def encode(self, table: Any) -> _Floats:
        """Code a table with the columns seen at fit.

        Parameters
        ----------
        table : pandas.DataFrame or array of numbers, of shape (n, n_features)

        Returns
        -------
        ndarray of float64 of shape (n, n_features)
            NaN is missing, or a category not seen at fit.
        """
        names, columns = _split(table)
        _check_names(names, [column.name for column in self.columns])
        pairs = zip(self.columns, columns, strict=True)
        return np.column_stack([_code(fitted, column) for fitted, column in pairs])

    def decode(self, values: _Floats, table: Any) -> Any:
        """Turn codes back into cells; labels by the nearest code.

        Parameters
        ----------
        values : ndarray of shape (n, n_features)
        table : pandas.DataFrame or array
            A frame gives the index; for an array, an array is returned.

        Returns
        -------
        pandas.DataFrame or ndarray of shape (n, n_features)
            Numbers as float64. A column of labels of which none was seen at fit is
            all missing.
        """
        if isinstance(table, np.ndarray | list):
            return values.copy()
        pandas = require("pandas", extra="baselines")
        data = {
            j: pandas.Series(_label(column, values[:, j]), table.index, column.dtype)
            for j, column in enumerate(self.columns)
        }
        return pandas.DataFrame(data).set_axis(table.columns, axis=1)


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
        can fall outside [0, 1]. A column that was constant becomes 0.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> from proximity_kernel.baselines import registry
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

    def _fit(self, X: Any) -> _Floats:
        self.encoder_ = TableEncoder().fit(X)
        values = self.encoder_.encode(X)
        validate_data(self, X, skip_check_array=True)  # number and names of columns
        # Not safe: an imputer need not be a scikit-learn estimator.
        self.imputer_ = clone(self.imputer, safe=False)
        self.imputer_.fit(values, self.encoder_.categorical)
        filled: _Floats = self.imputer_.impute(values)
        self.low_ = filled.min(axis=0)
        self.span_ = filled.max(axis=0) - self.low_
        return filled

    def _impute(self, X: Any) -> _Floats:
        check_is_fitted(self)
        filled: _Floats = self.imputer_.impute(self.encoder_.encode(X))
        return filled

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


def _split(table: Any) -> tuple[list[Hashable], list[Any]]:
    """Take a table apart into names and columns, Series or float arrays."""
    if isinstance(table, np.ndarray | list):
        values = np.asarray(table, dtype=np.float64)
        if values.ndim != 2:
            raise ValueError(f"A table has 2 dimensions, this one {values.ndim}.")
        names: list[Hashable] = [f"x{j}" for j in range(values.shape[1])]
        columns: list[Any] = list(values.T)
    else:
        pandas = require("pandas", extra="baselines")
        if not isinstance(table, pandas.DataFrame):
            raise TypeError(
                f"{type(table).__name__} is no table that the baselines can read; "
                "pass a pandas frame or an array of numbers."
            )
        names = list(table.columns)
        columns = [table.iloc[:, j] for j in range(len(names))]
    if not columns or not len(columns[0]):
        raise ValueError("The table has no cells.")
    return names, columns


def _check_names(found: Sequence[Hashable], fitted: Sequence[Hashable]) -> None:
    """Raise unless a table has the fitted columns, in the fitted order."""
    if list(found) == list(fitted):
        return
    unknown = [name for name in found if name not in fitted]
    absent = [name for name in fitted if name not in found]
    said = "".join(
        f" {what}: {', '.join(map(repr, names))}."
        for what, names in (("Not seen at fit", unknown), ("Missing", absent))
        if names
    )
    order = f" In another order or number: {', '.join(map(repr, found))}."
    raise ValueError(f"The columns are not those seen at fit.{said or order}")


def _kind(name: Hashable, column: Any) -> Kind | None:
    """Tell the kind of a column; None if its dtype tells none and no cell does."""
    if isinstance(column, np.ndarray):
        return "numeric"
    pandas = require("pandas", extra="baselines")
    if isinstance(column.dtype, pandas.CategoricalDtype):
        return "ordinal" if column.dtype.ordered else "nominal"
    types = pandas.api.types
    if types.is_numeric_dtype(column.dtype) and column.dtype.kind != "c":
        return "numeric"
    found = types.infer_dtype(column, skipna=True)
    if found in ("integer", "floating", "mixed-integer-float", "decimal", "boolean"):
        return "numeric"
    if found == "empty":
        return None
    if found != "string":
        raise TypeError(
            f"column {name!r} holds {found}; the baselines read numbers, text and "
            "categoricals."
        )
    return "nominal"


def _learn(name: Hashable, column: Any) -> CodedColumn:
    """Learn how to code a column."""
    # Nothing observed and no dtype: labels of which none is known, any may come.
    kind = _kind(name, column) or "nominal"
    if kind == "numeric":
        return CodedColumn(name, kind)
    if kind == "ordinal":
        return CodedColumn(name, kind, tuple(column.cat.categories), column.dtype)
    labels = sorted(column.dropna().unique())
    return CodedColumn(name, kind, tuple(labels), column.dtype)


def _code(fitted: CodedColumn, column: Any) -> _Floats:
    """Code a column as it was learnt."""
    if fitted.kind != "numeric":
        pandas = require("pandas", extra="baselines")
        labels = pandas.Index(fitted.labels, dtype=object)
        codes = labels.get_indexer(pandas.Index(column, dtype=object))
        return np.where(codes < 0, np.nan, codes)
    if isinstance(column, np.ndarray):
        values = column
    else:
        kind = _kind(fitted.name, column)
        if kind != "numeric" and column.notna().any():
            raise ValueError(
                f"column {fitted.name!r} was numeric when fitted and is {kind} now."
            )
        empty = np.full(len(column), np.nan)
        values = column.to_numpy(np.float64, na_value=np.nan) if kind else empty
    if np.isinf(values).any():
        raise ValueError(f"column {fitted.name!r} holds infinity.")
    return np.asarray(values, dtype=np.float64)


def _label(fitted: CodedColumn, codes: _Floats) -> _Array:
    """Turn the codes of a column into what the frame held."""
    if fitted.kind == "numeric":
        return codes
    if not fitted.labels:
        return np.full(len(codes), None)
    nearest = np.clip(np.rint(codes), 0, len(fitted.labels) - 1).astype(np.intp)
    return np.array(fitted.labels, dtype=object)[nearest]
