"""Columns as they are held in, typed columns out: where values are validated.

Behind this door there are only two kinds of column:

- *numeric*, a float64 array in which NaN is missing: numbers, booleans as 0
  and 1, dates and durations in seconds, ordered categoricals by their rank;
- *categorical*, an int32 array of indices into sorted labels in which -1 is
  missing: text, unordered categoricals, whatever `categorical_features` names.

A frame's dtype tells the kind. Where it says nothing (object columns, lists) the
observed cells tell it, and cells that disagree are an error, as infinity is: met
here, or taken for data later.

A later table has to agree with the types learnt from the first one, in kind and in
family: dates and numbers are both numeric, but not alike. A text column that is all
missing in one batch arrives as floats: with nothing observed, any type agrees.
"""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from . import _table
from ._table import Header

Kind = Literal["numeric", "categorical"]
_Array: TypeAlias = NDArray[Any]
_Labels: TypeAlias = tuple[Hashable, ...]

# pandas' NA and NaT are known by the names of their types: pandas stays out.
_MISSING = frozenset({"NoneType", "NAType", "NaTType"})
# What cells may be. The first that fits: timedelta64 also passes for a number.
_FAMILIES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "durations": (dt.timedelta, np.timedelta64),
    "dates": (dt.date, np.datetime64),
    "numbers": (numbers.Real, Decimal, np.bool_),
    "complex": (numbers.Complex,),
}
_NOTHING = "nothing"  # the family of a column with nothing observed
_HELD_AS = {"durations": "m8[us]", "dates": "M8[us]"}  # else float64


@dataclass(frozen=True)
class ColumnType:
    """What a later table must agree with.

    Attributes
    ----------
    name : str
        The frame's column name, or "x3" for the one at index 3 of an array.
    kind : {"numeric", "categorical"}
    family : str
        What the cells are, or the labels of a categorical: "numbers" (booleans
        too), "text", "dates" or "durations"; "nothing" if none is observed. Labels
        may be something else, and then it is their type's name, as "Interval".
    order : tuple of labels or None
        Of an ordered categorical, the lowest first. None for any other column.
    place : str
        How messages call the column: "column 'age'" or "column 3". Not compared.
    """

    name: str
    kind: Kind
    family: str
    order: _Labels | None = None
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Column:
    """One column of a table, all that the later steps know of it.

    Attributes
    ----------
    type : ColumnType
    values : ndarray of shape (n_samples,), float64 or int32
        Numeric: float64, NaN is missing; perhaps a view of the caller's memory, so
        never written to. Categorical: int32, the index into `labels`, -1 is missing.
    labels : tuple
        The distinct observed labels of a categorical column, sorted.
    """

    type: ColumnType
    values: _Array
    labels: _Labels = ()

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Where a value is present, of shape (n_samples,)."""
        if self.type.kind == "categorical":
            return np.asarray(self.values >= 0)
        return ~np.isnan(self.values)


def read_columns(
    table: Any,
    *,
    categorical_features: Any = "from_dtype",
    fitted: Sequence[ColumnType] | None = None,
) -> tuple[Column, ...]:
    """Read a table as typed columns.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
        Any eager frame that narwhals supports, anything with `__array__`, or
        lists or tuples of cells. The columns of a float64 array are views of it.
    categorical_features : "from_dtype", None, mask, indices or names
        Columns to read as categorical beside those whose dtype says so.
    fitted : sequence of ColumnType, optional
        The types learnt from an earlier table, with which this one must agree.

    Returns
    -------
    tuple of Column

    Examples
    --------
    >>> size, colour = read_columns([[1.5, "red"], [None, "blue"], [2, None]])
    >>> size.type.kind, size.values.tolist()
    ('numeric', [1.5, nan, 2.0])
    >>> colour.labels, colour.values.tolist()
    (('blue', 'red'), [1, 0, -1])
    """
    split = _table.split_table(table)
    fitted_names = [fit.name for fit in fitted or ()]
    if fitted is not None:
        _table.check_same_columns(split, fitted_names)
    # An array may follow a fitted frame: its columns then answer to those names.
    known = split.names or fitted_names
    named = _table.find_categorical(categorical_features, known, len(split.columns))
    columns = []
    for j, held in enumerate(split.columns):
        header = split.header(j, j in named)
        read = _read_series if isinstance(held, nw.Series) else _read_array
        column = read(held, header)
        columns.append(column if fitted is None else _agree(column, fitted[j]))
    return tuple(columns)


def _numeric(
    values: _Array, family: str, header: Header, order: _Labels | None = None
) -> Column:
    """Make a numeric column."""
    # The first value nearly always settles it, without a pass over all.
    if np.isnan(values[0]) and np.isnan(values).all():
        family = _NOTHING
    return Column(
        ColumnType(header.name, "numeric", family, order, header.place), values
    )


def _categorical(
    codes: _Array, labels: list[Any], family: str, header: Header
) -> Column:
    """Make a categorical column."""
    family = family if labels else _NOTHING
    found = ColumnType(header.name, "categorical", family, place=header.place)
    return Column(found, np.asarray(codes, dtype=np.int32), tuple(labels))


def _read_series(series: nw.Series[Any], header: Header) -> Column:
    """Read a frame's column by its dtype."""
    dtype = series.dtype
    if isinstance(dtype, nw.Categorical | nw.Enum | nw.String):
        return _read_labels(series, header)
    if header.named and (dtype.is_integer() or dtype == nw.Boolean):
        # Not by floats, as integers beside nulls would be: they lose digits.
        observed = ~series.is_null().to_numpy().astype(bool)
        present = series.drop_nulls().to_numpy()
        return _label_numbers(present, observed, "numbers", header)
    if isinstance(dtype, nw.Boolean | nw.Decimal):
        series = series.cast(nw.Float64)
    values = _table.narrow_floats(series.to_numpy())
    _table.check_finite(values, [header.place])
    return _read_array(values, header)


def _read_labels(series: nw.Series[Any], header: Header) -> Column:
    """Encode in the frame's own library: the cells do not become Python objects."""
    # An old polars says of any Categorical that it is ordered: as first seen.
    ordered = isinstance(series.dtype, nw.Enum) or (
        series.implementation.is_pyarrow() and nw.is_ordered_categorical(series)
    )
    by_rank = ordered and not header.named
    if by_rank:
        labels = series.cat.get_categories().to_list()
    else:
        labels = _sort_labels(series.drop_nulls().unique().to_list(), header)
    codes = np.full(len(series), -1)
    if labels:
        new = range(len(labels))
        coded = series.replace_strict(labels, new, default=-1, return_dtype=nw.Int32)
        codes = coded.to_numpy()
    family = " and ".join(_examples(labels))
    if by_rank:
        ranks = np.where(codes < 0, np.nan, codes)
        return _numeric(ranks, family, header, tuple(labels))
    return _categorical(codes, labels, family, header)


def _sort_labels(labels: list[Any], header: Header) -> list[Any]:
    """Sort the observed labels, which must be alike and finite."""
    found = _examples(labels)
    if len(found) > 1 or "complex" in found:
        header.refuse(found)
    if "numbers" in found:
        _table.check_finite(np.array(labels), [header.place])
    try:
        return sorted(label for label in labels if _plain(label) is not None)
    except TypeError:  # such as periods of several lengths
        header.refuse(found)


def _read_array(values: _Array, header: Header) -> Column:
    """Read an array by its dtype; no infinity is in it."""
    kind = values.dtype.kind
    if kind in "SUT":
        values = _decode_text(values, header)
    if kind in "OSUT":
        return _read_cells(values, header)
    if kind not in "biufmM":
        what = "complex" if kind == "c" else f"dtype {values.dtype}"
        header.refuse({what: values[0]})
    family = {"m": "durations", "M": "dates"}.get(kind, "numbers")
    if family != "numbers":
        values = _to_seconds(values, header)
    if not header.named:
        return _numeric(np.asarray(values, dtype=np.float64), family, header)
    observed = ~np.isnan(values)
    return _label_numbers(values[observed], observed, family, header)


def _decode_text(values: _Array, header: Header) -> _Array:
    """Make text cells of an array of text, if it is known to be meant as text."""
    if not header.named:
        raise TypeError(
            f"{header.place} is in an array of text, which hides numbers and missing "
            "values; pass an array with dtype=object or a data frame, or name every "
            "column in categorical_features."
        )
    cells = np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values
    return cells.astype(object)


def _to_seconds(times: _Array, header: Header) -> _Array:
    """Turn numpy's dates (since 1970) or durations into seconds, NaT into NaN."""
    if times.dtype.kind == "M":
        times = times - np.datetime64(0, "s")
    elif np.isnat(times).all():  # perhaps without a unit
        return np.full(len(times), np.nan)
    _check_unit(times.dtype, header)
    return np.asarray(times / np.timedelta64(1, "s"))


def _check_unit(dtype: Any, header: Header) -> None:
    """Refuse durations in years, months or no unit at all."""
    if (unit := np.datetime_data(dtype)[0]) in ("Y", "M", "generic"):
        raise TypeError(
            f"{header.place} holds durations in a unit of no fixed length ({unit}); "
            "convert it to days, e.g. astype('m8[D]'), or to a number."
        )


def _label_numbers(
    present: _Array, observed: _Array, family: str, header: Header
) -> Column:
    """Make labels of numbers, given the observed ones and where they are."""
    labels, codes = np.unique(present, return_inverse=True)
    values = np.full(len(observed), -1, dtype=np.int32)
    values[observed] = codes
    return _categorical(values, labels.tolist(), family, header)


def _read_cells(cells: _Array, header: Header) -> Column:
    """Read a column of Python objects by what the observed ones are."""
    found = _examples(cells)
    if len(found) > 1 or not found.keys() <= _FAMILIES.keys() - {"complex"}:
        header.refuse(found)
    family = next(iter(found), _NOTHING)
    if family == "text":
        return _label_cells(cells, family, header)
    values = _convert_cells(cells, family, header)
    if header.named and family not in _HELD_AS:
        return _label_cells(cells, family, header)  # large integers keep their digits
    return _read_array(values, header)


def _convert_cells(cells: _Array, family: str, header: Header) -> _Array:
    """Turn cells into numpy's numbers, dates or durations, without infinity."""
    ready = set(map(type, cells)) <= {int, float, bool, type(None)}  # for numpy
    plain = cells if ready else np.fromiter(map(_plain, cells), object)
    for cell in plain if family == "durations" else ():
        if isinstance(cell, np.timedelta64):
            _check_unit(cell.dtype, header)
    try:
        values = plain.astype(_HELD_AS.get(family, "f8"))
    except OverflowError:  # an int too large for float64
        values = np.array([np.inf])
    _table.check_finite(values, [header.place])
    return values


def _label_cells(cells: _Array, family: str, header: Header) -> Column:
    """Make labels of text or numbers; cells that are equal have one label."""
    plain = {cell: _plain(cell) for cell in set(cells)}
    labels = sorted(set(plain.values()) - {None})
    index = {None: -1} | {label: k for k, label in enumerate(labels)}
    code = {cell: index[label] for cell, label in plain.items()}
    codes = np.fromiter(map(code.__getitem__, cells), np.int32, len(cells))
    return _categorical(codes, labels, family, header)


def _examples(cells: Collection[Any]) -> dict[str, Any]:
    """One observed value of each family of types among the cells."""
    found: dict[str, Any] = {}
    for held in sorted(set(map(type, cells)), key=str):
        fits = (name for name, types in _FAMILIES.items() if issubclass(held, types))
        family = next(fits, held.__name__)
        if family in found or family in _MISSING:
            continue
        for cell in cells:  # the NaN of a text column is a float, but no number
            if type(cell) is held and _plain(cell) is not None:
                found[family] = cell
                break
    return found


def _plain(cell: Any) -> Any:
    """Python's own value for a cell: None if missing, a time in UTC."""
    if type(cell).__name__ in _MISSING:
        return None
    if isinstance(cell, Decimal):  # a signaling NaN cannot be compared
        return None if cell.is_nan() else float(cell)
    if isinstance(cell, np.generic | float) and cell != cell:
        return None
    if isinstance(cell, np.longdouble):
        return float(cell)
    if isinstance(cell, np.number | np.bool_ | np.str_) and cell.dtype.kind != "m":
        return cell.item()
    if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        return cell.astimezone(dt.UTC).replace(tzinfo=None)
    return cell


def _agree(column: Column, fitted: ColumnType) -> Column:
    """Give the column its fitted type, or say why it cannot have it."""
    found = column.type
    if found.family == _NOTHING:
        nothing = np.nan if fitted.kind == "numeric" else np.int32(-1)
        return Column(fitted, np.full(len(column.values), nothing))
    same_family = fitted.family in (found.family, _NOTHING)
    if same_family and (found.kind, found.order) == (fitted.kind, fitted.order):
        return replace(column, type=fitted)
    labels = found.order or column.labels
    if fitted.order is not None and labels:
        return Column(fitted, _rank(column, labels, fitted.order))
    was, now = (
        f"{t.kind} ({t.family})" if t.order is None else "an ordered categorical"
        for t in (fitted, found)
    )
    raise ValueError(
        f"{found.place} was {was} when fitted and is {now} now; convert it to what was "
        "fitted, or fit again (categorical_features makes numbers categorical)."
    )


def _rank(column: Column, labels: _Labels, order: _Labels) -> _Array:
    """Rank a column of labels in the fitted order."""
    observed = column.observed
    codes = column.values[observed].astype(np.intp)
    if lost := [labels[k] for k in np.unique(codes) if labels[k] not in order]:
        raise ValueError(
            f"{column.type.place} has labels without a rank in the fitted order "
            f"{order}: {lost}; replace them by labels of that order, or fit again."
        )
    ranks = [order.index(label) if label in order else -1 for label in labels]
    values = np.full(len(observed), np.nan)
    values[observed] = np.array(ranks)[codes]
    return values
