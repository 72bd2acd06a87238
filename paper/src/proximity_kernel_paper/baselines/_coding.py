"""The cells of a mixed table as numbers, and back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Kind = Literal["numeric", "ordinal", "nominal"]
_Array: TypeAlias = NDArray[Any]
_Floats: TypeAlias = NDArray[np.float64]


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
    numbers : tuple of float
        The code of each label where that is the number it spells; else empty, and the
        code is the label's index.
    dtype : pandas dtype or None
        Of a column of labels, to decode into.
    """

    name: Hashable
    kind: Kind
    labels: tuple[Hashable, ...] = ()
    numbers: tuple[float, ...] = ()
    dtype: Any = None


class TableEncoder:
    """Code mixed tables as float64 arrays, by what one table taught.

    Takes pandas frames and arrays of numbers (all columns numeric). Numbers and
    booleans are numeric, ordered categoricals ordinal, text and unordered
    categoricals nominal. A label's code is its index among the labels, or where all
    labels of a column spell numbers, that number: not if two labels spell the same
    one, or the numbers of an ordinal column do not rise in its order.

    Parameters
    ----------
    numbers : bool, default=True
        Whether labels that spell numbers are coded by these; else all by index.

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
    >>> codes = pd.DataFrame({"site": ["2208", "300", None]})
    >>> TableEncoder().fit(codes).encode(codes).ravel()
    array([2208.,  300.,   nan])
    """

    def __init__(self, numbers: bool = True) -> None:
        self.numbers = numbers

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
        self.columns = tuple(
            _learn(name, column, self.numbers)
            for name, column in zip(names, columns, strict=True)
        )
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
        data = {
            j: pd.Series(_label(column, values[:, j]), table.index, column.dtype)
            for j, column in enumerate(self.columns)
        }
        return pd.DataFrame(data).set_axis(table.columns, axis=1)


def _split(table: Any) -> tuple[list[Hashable], list[Any]]:
    """Take a table apart into names and columns, Series or float arrays."""
    if isinstance(table, np.ndarray | list):
        values = np.asarray(table, dtype=np.float64)
        if values.ndim != 2:
            raise ValueError(f"A table has 2 dimensions, this one {values.ndim}.")
        names: list[Hashable] = [f"x{j}" for j in range(values.shape[1])]
        columns: list[Any] = list(values.T)
    else:
        if not isinstance(table, pd.DataFrame):
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
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "ordinal" if column.dtype.ordered else "nominal"
    types = pd.api.types
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


def _learn(name: Hashable, column: Any, by_number: bool) -> CodedColumn:
    """Learn how to code a column."""
    # Nothing observed and no dtype: labels of which none is known, any may come.
    kind = _kind(name, column) or "nominal"
    if kind == "numeric":
        return CodedColumn(name, kind)
    if kind == "ordinal":
        labels = tuple(column.cat.categories)
    else:
        labels = _sort(name, column.dropna().unique())
    numbers = _read_numbers(labels, kind) if by_number else ()
    return CodedColumn(name, kind, labels, numbers, column.dtype)


def _sort(name: Hashable, labels: Any) -> tuple[Hashable, ...]:
    """Sort the labels of a nominal column."""
    try:
        return tuple(sorted(labels))
    except TypeError:
        types = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise TypeError(
            f"column {name!r} has categories that cannot be sorted, of type {types}; "
            "convert them to one type."
        ) from None


def _read_numbers(labels: Sequence[Hashable], kind: Kind) -> tuple[float, ...]:
    """Read labels as numbers; empty if they are none, or none to code them by."""
    if any("_" in label for label in labels if isinstance(label, str)):
        return ()  # Python reads "1_0" as 10
    try:
        numbers = tuple(map(float, cast(Any, labels)))
    except (TypeError, ValueError, OverflowError):
        return ()
    finite = bool(np.isfinite(numbers).all())
    distinct = len(set(numbers)) == len(numbers)
    in_order = kind == "nominal" or list(numbers) == sorted(numbers)
    return numbers if finite and distinct and in_order else ()


def _code(fitted: CodedColumn, column: Any) -> _Floats:
    """Code a column as it was learnt."""
    if fitted.kind != "numeric":
        labels = pd.Index(fitted.labels, dtype=object)
        codes = labels.get_indexer(pd.Index(column, dtype=object))
        known = np.array(fitted.numbers or range(len(labels)), dtype=np.float64)
        coded: _Floats = np.append(known, np.nan)[codes]  # not known is -1, the last
        return coded
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
    if fitted.numbers:
        order = np.argsort(fitted.numbers)
        rising = np.array(fitted.numbers)[order]
        halfway = rising[:-1] / 2 + rising[1:] / 2
        nearest = order[np.searchsorted(halfway, codes)]  # of two as near, the lower
    else:
        nearest = np.clip(np.rint(codes), 0, len(fitted.labels) - 1).astype(np.intp)
    return np.array(fitted.labels, dtype=object)[nearest]
