"""Read the columns of a table as typed columns, and validate their values.

There are two kinds of typed columns:

- *numeric*, a float64 array in which NaN is missing: numbers, booleans as 0
  and 1, dates and durations in seconds, ordered categoricals by their rank;
- *categorical*, an int32 array of indices into sorted labels in which -1 is
  missing: text, unordered categoricals, columns listed in `categorical_features`.

The kind follows from the dtype of a frame's column. A column of objects (from a list,
an object array, or the categories of a frame) has no dtype that decides its kind. So
its observed cells decide, and they must be of one family. Equal numbers of numpy,
pandas and Python are the same value, as are equal times of any zone and unit. Times are
counted in whole nanoseconds, as Python integers, which cannot overflow. The result is a
float of seconds or, for a date as a label, ISO text in UTC: "2020-01-01" at midnight,
else "2020-01-01T12:00:00.5". Cells of different families are an error, and so is
infinity.

A later table must have the types of the fitted one, in kind and in family: dates and
numbers are both numeric, but of different families. A column with no observed cell, now
or at fit, matches any type, because a text column that is all missing in one batch is
often read as floats.
"""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Integral
from typing import Any, Literal, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from .._shared.options import is_number
from .._shared.wording import suggest
from .tables import (
    Header,
    check_finite,
    check_same_columns,
    drop_zone,
    narrow_floats,
    split_table,
)

Kind = Literal["numeric", "categorical"]
Form = Literal["boolean", "whole", "decimal"]
_PIECE = 1 << 14  # cells that fit in the cache
DAY = 86_400.0
"""Seconds in a day; dates are counted in seconds."""
_Array: TypeAlias = NDArray[Any]
_Labels: TypeAlias = tuple[Hashable, ...]
_Codes: TypeAlias = tuple[NDArray[np.int32], list[Any]]
NOTHING = "nothing"
"""The family of a column without an observed cell."""
# NA and NaT are recognized by the names of their types, without importing pandas.
# MaskedConstant is the type of `np.ma.masked`.
_MISSING = frozenset({"NoneType", "NAType", "NaTType", "MaskedConstant"})
# Family -> types of its cells. The first match counts: timedelta64 is also a number.
_FAMILIES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "durations": (dt.timedelta, np.timedelta64),
    "dates": (dt.date, np.datetime64),
    "numbers": (numbers.Real, Decimal, np.bool_),
    "complex": (numbers.Complex,),
}
_SECOND = 10**9  # nanoseconds
_DAY = 86400 * _SECOND
_UNITS = {
    "W": 7 * _DAY, "D": _DAY, "h": 3600 * _SECOND, "m": 60 * _SECOND, "s": _SECOND,
    "ms": 10**6, "us": 1000, "ns": 1,
}  # fmt: skip
_EPOCH, _FIRST = dt.date(1970, 1, 1), dt.datetime(1970, 1, 1)


FORMS: tuple[Form, ...] = ("boolean", "whole", "decimal")
"""Forms of a column's numbers; of parts with two forms, the later in this order."""


@dataclass(frozen=True)
class ColumnType:
    """The type of a column, which a later table must match.

    `name` is the frame's column name, or "x3" for the column at index 3 of an array.
    `family` is what the cells or labels are: "numbers" (booleans too), "text", "dates"
    or "durations"; "nothing" if no cell is observed. For labels of another type it is
    the name of that type, such as "Interval". `order` has the labels of an ordered
    categorical, the lowest first, written as in `Column.labels`; it is None for any
    other column.

    The rest is ignored by ``==``. `place` is the column in messages: "column 'age'" or
    "column 3". `unasked` says whether the column is text that is read as categorical
    although neither its dtype nor `categorical_features` asks for that, and `rounded`
    whether different cells became the same float64. `form` says whether the numbers
    observed at fit are all booleans or all whole; dates are whole if none has a time of
    day.
    """

    name: str
    kind: Kind
    family: str
    order: _Labels | None = None
    place: str = field(default="", compare=False)
    unasked: bool = field(default=False, compare=False)
    rounded: bool = field(default=False, compare=False)
    form: Form = field(default="decimal", compare=False)

    @property
    def has_labels(self) -> bool:
        """Whether the column is a categorical, ordered or not, and so has labels."""
        return self.kind == "categorical" or self.order is not None

    def __str__(self) -> str:
        ordered = self.order is not None
        return "an ordered categorical" if ordered else f"{self.kind} ({self.family})"


@dataclass(frozen=True)
class Column:
    """One typed column of a table.

    `values` has shape (n_samples,). Numeric: float64, NaN is missing; never written to,
    because it can be a view of the caller's memory. Categorical: int32, index into
    `labels`, -1 is missing.

    `labels` are the distinct observed labels of a categorical column, sorted: text,
    numbers, durations in seconds, dates as ISO text in UTC ("2020-01-01" at midnight,
    else "2020-01-01T12:00:00"). If no cell was observed at fit, the only label is
    "unknown".
    """

    type: ColumnType
    values: _Array
    labels: _Labels = ()

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Whether each cell is observed, shape (n_samples,)."""
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

    `table` has shape (n_samples, n_features): any eager frame that narwhals supports,
    anything with `__array__`, or a list of rows. The columns of a float64 array are
    views of the array. `categorical_features` (None, mask, indices or names) adds to
    the columns of categorical dtype. With `fitted`, the columns must match these types.

    >>> size, color = read_columns([[1.5, "red"], [None, "blue"], [2, None]])
    >>> size.type.kind, size.values.tolist()
    ('numeric', [1.5, nan, 2.0])
    >>> color.labels, color.values.tolist()
    (('blue', 'red'), [1, 0, -1])
    """
    split = split_table(table)
    if fitted is not None:
        check_same_columns(split, [fit.name for fit in fitted])
    headers = [split.header(j, False) for j in range(len(split.columns))]
    # If a frame was fitted, an array has the column names of that frame.
    named = find_categorical(categorical_features, fitted or headers)
    columns = []
    for j, data in enumerate(split.columns):
        header = replace(headers[j], named=j in named)
        read = _read_series if isinstance(data, nw.Series) else _read_array
        column = read(data, header)
        if fitted is not None:
            column = _match_fitted_type(column, fitted[j])
        elif column.type.kind == "numeric" and column.type.order is None:
            booleans = _holds_booleans(data, column.values)
            form: Form = "boolean" if booleans else "decimal"
            rounded = _is_rounded(data, column)
            found = replace(column.type, rounded=rounded, form=form)
            column = replace(column, type=found)
        columns.append(column)
    return tuple(columns)


def _is_rounded(data: Any, column: Column) -> bool:
    """Whether distinct values became equal as float64: large integers, close times."""
    times = column.type.family in ("dates", "durations")
    if not times and np.fmax.reduce(np.abs(column.values), initial=0.0) < 2**53:
        return False
    cells = data.drop_nulls().to_numpy() if isinstance(data, nw.Series) else data
    if cells.dtype.kind == "O":
        cells = np.array([cell for cell in cells if type(cell) is int], object)
    elif cells.dtype.kind in "mM":
        cells = cells[~np.isnat(cells)].view(np.int64)
        if not (cells % 1000).any():  # whole microseconds, or coarser
            return False
    if cells.dtype.kind not in "iuO":
        return False
    return len(np.unique(cells)) > len(np.unique(column.values[column.observed]))


def _holds_booleans(data: Any, values: NDArray[np.float64]) -> bool:
    """Whether all observed cells are booleans; missing cells are NaN in `values`."""
    if isinstance(data, nw.Series):
        return bool(data.dtype == nw.Boolean)
    if data.dtype.kind != "O":
        return bool(data.dtype.kind == "b")
    types = set(map(type, data[~np.isnan(values)]))
    return bool(types) and types <= {bool, np.bool_}


def mark_whole(found: ColumnType, values: NDArray[np.float64]) -> ColumnType:
    """Set the form of a type to "whole" if all values are; this reads all of them."""
    known = found.family in ("numbers", "dates")
    if not known or found.form == "boolean" or found.has_labels:
        return found
    unit = 1 if found.family == "numbers" else DAY
    with np.errstate(invalid="ignore"):  # a signaling NaN
        for first in range(0, len(values), _PIECE):
            some = values[first : first + _PIECE] / unit
            if (some > np.floor(some)).any():
                return found
    return replace(found, form="whole")


def _make_numeric(
    values: _Array, family: str, header: Header, order: _Labels | None = None
) -> Column:
    """Make a numeric column; its family is "nothing" if all values are missing."""
    # Mostly the first value is observed, and no other value needs to be read.
    if np.isnan(values[0]) and np.isnan(values).all():
        family = NOTHING
    found = ColumnType(header.name, "numeric", family, order, header.place)
    return Column(found, values)


def _make_categorical(
    codes: _Array, labels: list[Any], family: str, header: Header, unasked: bool = False
) -> Column:
    """Make a categorical column; its family is "nothing" if it has no label."""
    family = family if labels else NOTHING
    found = ColumnType(header.name, "categorical", family, None, header.place, unasked)
    return Column(found, np.asarray(codes, dtype=np.int32), tuple(labels))


def _read_series(series: nw.Series[Any], header: Header) -> Column:
    """Read a column of a frame; its dtype decides the kind."""
    dtype = series.dtype
    if isinstance(dtype, nw.Categorical | nw.Enum | nw.String):
        return _read_labels(series, header)
    if header.named and (dtype.is_integer() or dtype == nw.Boolean):
        # Drop nulls first: with nulls, integers would become floats and lose digits.
        observed = ~series.is_null().to_numpy().astype(bool)
        present = series.drop_nulls().to_numpy()
        return _make_categorical(*label_numbers(present, observed), "numbers", header)
    if isinstance(dtype, nw.Boolean | nw.Decimal):
        series = series.cast(nw.Float64)
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        series = drop_zone(series)
    values = narrow_floats(series.to_numpy())
    check_finite(values, [header.place])
    return _read_array(values, header)


def _read_labels(series: nw.Series[Any], header: Header) -> Column:
    """Read a column of labels as codes, or as ranks if the labels are ordered.

    The frame's own library encodes the cells, so only distinct labels become Python
    objects. A column named in `categorical_features` has codes even if it is ordered.
    """
    # Old versions of polars report every Categorical as ordered, by first occurrence.
    ordered = isinstance(series.dtype, nw.Enum) or (
        series.implementation.is_pyarrow() and nw.is_ordered_categorical(series)
    )
    by_rank = ordered and not header.named
    unique = series.cat.get_categories() if by_rank else series.unique()
    # An arrow dictionary can contain null, and the same value several times.
    known = [label for label in dict.fromkeys(unique.to_list()) if label is not None]
    if by_rank:
        family = " and ".join(examples(known))
        named = [name_label(label, header) for label in known]
        rank = {label: k for k, label in enumerate(dict.fromkeys(named))}
        labels, new = list(rank), [rank[label] for label in named]
    else:
        family = find_family(known, header, any_type=True)
        numbers, labels = label_cells(known, family, header)
        new = numbers.tolist()
    codes = np.full(len(series), -1)
    if labels:
        coded = series.replace_strict(known, new, default=-1, return_dtype=nw.Int32)
        codes = coded.to_numpy()
    if by_rank:
        ranks = np.where(codes < 0, np.nan, codes)
        return _make_numeric(ranks, family, header, tuple(labels))
    unasked = isinstance(series.dtype, nw.String) and not header.named
    return _make_categorical(codes, labels, family, header, unasked)


def _read_array(values: _Array, header: Header) -> Column:
    """Read an array without infinity; its dtype, or its objects, decide the kind."""
    kind = values.dtype.kind
    if kind in "OSUT":
        cells = values if kind == "O" else _decode_text(values, header)
        family = find_family(cells, header)
        if family == "text" or header.named:
            coded = label_cells(cells, family, header)
            return _make_categorical(*coded, family, header, unasked=not header.named)
        return _make_numeric(number_cells(cells, family, header), family, header)
    if kind not in "biufmM":
        what = "complex" if kind == "c" else f"dtype {values.dtype}"
        header.refuse({what: values[0]})
    family = {"m": "durations", "M": "dates"}.get(kind, "numbers")
    if family == "dates" and header.named:
        return _make_categorical(*label_dates(values, header), family, header)
    if family != "numbers":
        values = count_seconds(values, header)
    if not header.named:
        with np.errstate(invalid="ignore"):  # a signaling NaN is missing too
            values = np.asarray(values, dtype=np.float64)
        return _make_numeric(values, family, header)
    observed = ~np.isnan(values)
    coded = label_numbers(values[observed], observed)
    return _make_categorical(*coded, family, header)


def _decode_text(values: _Array, header: Header) -> _Array:
    """Convert strings or bytes to str objects; TypeError unless the column is named."""
    if not header.named:
        raise TypeError(
            f"{header.place} is in an array of strings, in which numbers and missing "
            "cells cannot be told from text; pass an array with dtype=object or a data "
            "frame, or list every column in categorical_features."
        )
    try:
        cells = np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values
    except UnicodeDecodeError:
        raise ValueError(
            f"{header.place} holds bytes that are not UTF-8 text; decode the array "
            "first, e.g. with np.char.decode(array, 'latin-1')."
        ) from None
    return cells.astype(object)


def _match_fitted_type(column: Column, fitted: ColumnType) -> Column:
    """Convert a column to its fitted type; raise ValueError if its type differs."""
    found = column.type
    if NOTHING in (found.family, fitted.family):  # one value for all observed cells
        if fitted.kind == "numeric":
            return Column(fitted, np.where(column.observed, 0.0, np.nan))
        codes = np.where(column.observed, np.int32(0), np.int32(-1))
        return Column(fitted, codes, ("unknown",) if column.observed.any() else ())
    if replace(found, name=fitted.name) == fitted:
        return replace(column, type=fitted)
    if fitted.order is not None and (labels := found.order or column.labels):
        codes = np.where(column.observed, column.values, -1).astype(np.intp)
        order, present = fitted.order, [labels[k] for k in np.unique(codes[codes >= 0])]
        if lost := [label for label in present if label not in order]:
            raise ValueError(
                f"{found.place} has labels without a rank in the fitted order {order}: "
                f"{lost}; replace these labels by labels of that order, or fit again."
            )
        rank = {label: float(k) for k, label in enumerate(order)}
        ranks = np.array([*(rank.get(label, np.nan) for label in labels), np.nan])
        return Column(fitted, ranks[codes])
    raise ValueError(
        f"{found.place} was {fitted} when fitted and is {found} now; convert it to "
        "the fitted type, or fit again (categorical_features makes numbers "
        "categorical)."
    )


def find_family(cells: Collection[Any], header: Header, any_type: bool = False) -> str:
    """Find the family of all observed cells; raise an error if there are several.

    With `any_type`, a type without a family is allowed, and the result is its name.

    >>> find_family([1, None, 2.5], Header("a", "column 'a'", False))
    'numbers'
    """
    found = examples(cells)
    known = found.keys() <= _FAMILIES.keys()
    if len(found) > 1 or "complex" in found or not (known or any_type):
        header.refuse(found)
    return next(iter(found), NOTHING)


def examples(cells: Collection[Any]) -> dict[str, Any]:
    """Find an example of each family among the observed cells, as family -> cell."""
    found: dict[str, Any] = {}
    for kind in sorted(set(map(type, cells)), key=str):
        fits = (name for name, types in _FAMILIES.items() if issubclass(kind, types))
        family = next(fits, kind.__name__)
        if family in found or family in _MISSING:
            continue
        for cell in cells:  # NaN in a text column is a float, but missing
            if type(cell) is kind and _to_plain(cell) is not None:
                found[family] = cell
                break
    return found


def number_cells(cells: _Array, family: str, header: Header) -> NDArray[np.float64]:
    """Convert cells of one family to floats, with NaN for missing cells.

    Durations become seconds, and dates the seconds since 1970 in UTC. Infinity, or a
    number too large for float64, raises ValueError.
    """
    if family in ("dates", "durations"):
        counts = (_count_nanoseconds(cell, header) for cell in cells)
        seconds = (np.nan if n is None else n / _SECOND for n in counts)
        return np.fromiter(seconds, np.float64, len(cells))
    # numpy itself converts these types.
    ready = set(map(type, cells)) <= {int, float, bool, type(None)}
    plain = cells if ready else np.fromiter(map(_to_plain, cells), object)
    try:
        values = plain.astype(np.float64)
    except OverflowError:  # an int too large for float64
        values = np.array([np.inf])
    check_finite(values, [header.place])
    return values


def label_cells(cells: Collection[Any], family: str, header: Header) -> _Codes:
    """Encode cells of one family as indices of labels; equal cells have one label.

    Returns the index of each cell's label, -1 if it is missing, and the distinct
    labels, sorted; dates by time.

    >>> header = Header("a", "column 'a'", True)
    >>> noon = dt.datetime(2020, 1, 1, 12)
    >>> label_cells([noon, None, noon.date()], "dates", header)
    (array([ 1, -1,  0], dtype=int32), ['2020-01-01', '2020-01-01T12:00:00'])
    """
    if family == "dates":  # dates of different types do not compare
        counts = [_count_nanoseconds(cell, header) for cell in cells]
        codes, distinct = _label_plain(counts, counts)
        return codes, list(map(write_date, distinct))
    if family in ("numbers", "durations"):
        values = number_cells(np.fromiter(cells, object), family, header)
        observed = ~np.isnan(values)
        if family == "durations":
            return label_numbers(values[observed], observed)
    if set(map(type, cells)) <= {str, int, bool, type(None)}:  # plain already
        return _label_plain(cells, cells)
    try:
        known = set(cells)
    except TypeError:  # a signaling NaN or a masked cell has no hash
        cells = [_to_plain(cell) for cell in cells]
        known = set(cells)
    plain = {cell: _to_plain(cell) for cell in known}
    try:
        return _label_plain(map(plain.__getitem__, cells), plain.values())
    except TypeError:  # such as periods of different lengths
        header.refuse(examples(cells))


def name_label(label: Any, header: Header) -> Any:
    """Convert one cell to its label, as `label_cells` does; None for a missing cell."""
    family = next(iter(examples([label])), NOTHING)
    if family not in ("dates", "durations"):
        return _to_plain(label)
    return label_cells([label], family, header)[1][0]


def label_numbers(present: _Array, observed: _Array) -> _Codes:
    """Encode the numbers of the observed cells as indices of labels; -1 elsewhere."""
    if present.dtype.kind == "f":
        present = present + 0.0  # not -0.0: equal labels must be written alike
    labels, found = np.unique(present, return_inverse=True)
    codes = np.full(len(observed), -1, dtype=np.int32)
    codes[observed] = found
    return codes, labels.tolist()


def label_dates(dates: _Array, header: Header) -> _Codes:
    """Encode an array of numpy dates as indices of labels, as `label_cells` does."""
    observed = ~np.isnat(dates)
    if not observed.any():  # the dtype may have no unit
        return np.full(len(dates), -1, np.int32), []
    present, size, step = _count_steps(dates[observed], header)
    codes, counts = label_numbers(present, observed)
    return codes, [write_date(n * size * step) for n in counts]


def count_seconds(times: _Array, header: Header) -> NDArray[np.float64]:
    """Convert numpy dates (since 1970) or durations to seconds, and NaT to NaN."""
    missing = np.isnat(times)
    if missing.all():  # the dtype may have no unit
        return np.full(len(times), np.nan)
    counts, size, step = _count_steps(times, header)
    seconds: NDArray[np.float64]
    if size >= _SECOND:
        seconds = counts * float(size // _SECOND * step)
    else:
        per_second = _SECOND // size
        seconds = counts / float(per_second)
        # A count too long for float64 is split. Otherwise it would be rounded twice,
        # and the same time in another unit would be a different number.
        if (large := (far := np.abs(counts)) >= 2**53).any():
            whole = far // per_second
            split = whole + (far - whole * per_second) / per_second
            np.copyto(seconds, np.copysign(split, seconds), where=large)
        seconds *= step
    seconds[missing] = np.nan
    return seconds


def _label_plain(cells: Any, distinct: Any) -> _Codes:
    """Encode plain cells as indices into their sorted distinct values; None is -1."""
    labels = sorted(set(distinct) - {None})
    index = {None: -1} | {label: k for k, label in enumerate(labels)}
    return np.fromiter(map(index.__getitem__, cells), np.int32), labels


def _to_plain(cell: Any) -> Any:
    """Convert a cell to a plain Python value; None if missing, times unchanged.

    -0.0 becomes 0.0, and a string of any class a str, so that equal labels look alike.
    """
    if type(cell).__name__ in _MISSING:
        return None
    if isinstance(cell, Decimal):  # a signaling NaN cannot be compared
        return None if cell.is_nan() else float(cell) + 0.0
    if isinstance(cell, np.generic | float) and cell != cell:
        return None
    if isinstance(cell, np.number | np.bool_) and cell.dtype.kind != "m":
        cell = float(cell) if isinstance(cell, np.longdouble) else cell.item()
    if isinstance(cell, str):
        return str.__str__(cell)
    return cell + 0.0 if type(cell) is float else cell


def _count_nanoseconds(cell: Any, header: Header) -> int | None:
    """Count a duration or date (since 1970 in UTC) in nanoseconds; None if missing."""
    # Times of pandas can be finer than microseconds and outside Python's range.
    cell = getattr(cell, "asm8", cell)
    if isinstance(cell, dt.datetime):
        # Not by conversion to UTC, which fails near the ends of the range.
        offset = cell.utcoffset() or dt.timedelta()
        cell = cell.replace(tzinfo=None) - _FIRST - offset
    elif isinstance(cell, dt.date):
        cell = cell - _EPOCH
    if isinstance(cell, dt.timedelta):
        return cell // dt.timedelta(microseconds=1) * 1000
    if not isinstance(cell, np.datetime64 | np.timedelta64) or np.isnat(cell):
        return None
    count, size, step = _count_steps(cell, header)
    return int(count) * size * step


def _count_steps(times: Any, header: Header) -> tuple[Any, int, int]:
    """Convert numpy times to whole steps of their dtype, such as 10 s of "m8[10s]".

    Returns the number of steps, the nanoseconds per unit, and the units per step.
    Raises TypeError if the unit of the dtype has no fixed length.
    """
    dtype = times.dtype
    unit, step = np.datetime_data(dtype)
    if unit == "generic" or (unit in "YM" and dtype.kind == "m"):
        what = "durations" if dtype.kind == "m" else "dates"
        raise TypeError(
            f"{header.place} holds {what} in a unit without fixed length ({unit}); "
            f"convert it to days, e.g. astype('{dtype.kind}8[D]'), or to a number."
        )
    if unit in "YM":
        times, unit, step = times.astype("M8[D]"), "D", 1
    elif unit not in _UNITS:  # finer than nanoseconds
        times, unit, step = times.astype(f"{dtype.kind}8[ns]"), "ns", 1
    return times.astype(np.int64), _UNITS[unit], step


def write_date(count: int) -> str:
    """Format a date, in nanoseconds since 1970, as its label in ISO format."""
    days, time = divmod(count, _DAY)
    text = str(np.datetime64(days, "D"))
    if time:
        seconds, rest = divmod(time, _SECOND)
        text += f"T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        text += f".{rest:09d}".rstrip("0") if rest else ""
    return text


def select_column_rows(
    columns: Sequence[Column], kept: NDArray[np.bool_]
) -> tuple[Column, ...]:
    """Select rows of columns by a mask, and drop the labels that no longer occur.

    >>> columns = read_columns([["a"], ["b"], [None], ["c"]])
    >>> (column,) = select_column_rows(columns, np.array([False, True, True, True]))
    >>> column.labels, column.values.tolist()
    (('b', 'c'), [0, -1, 1])
    """
    if kept.all():
        return tuple(columns)
    out = []
    for column in columns:
        values, labels, found = column.values[kept], column.labels, column.type
        if found.kind == "categorical":
            used = np.unique(values[values >= 0])
            place = np.full(len(labels) + 1, -1, np.int32)  # the last entry: of code -1
            place[used] = np.arange(len(used))
            values, labels = place[values], tuple(labels[k] for k in used)
        less = Column(found, values, labels)
        if not less.observed.any():
            less = replace(less, type=replace(found, family=NOTHING))
        out.append(less)
    return tuple(out)


def find_categorical(asked: Any, columns: Sequence[ColumnType | Header]) -> set[int]:
    """Resolve `categorical_features` (None, mask, indices or names) to column indices.

    >>> types = [ColumnType(name, "numeric", "numbers") for name in ("size", "color")]
    >>> find_categorical(["color"], types)
    {1}
    """
    if asked is None or (isinstance(asked, str) and asked == "from_dtype"):
        return set()
    if isinstance(asked, Iterator):
        raise ValueError(
            f"categorical_features is an iterator, a {type(asked).__name__}, which can "
            "be read only once; pass a list."
        )
    if np.iterable(asked) and not isinstance(asked, str | bytes | bytearray | Mapping):
        items = [
            item.item() if isinstance(item, np.generic) else item for item in asked
        ]
        types = set(map(type, items))
        if types == {bool} and len(items) == len(columns):
            return {j for j, item in enumerate(items) if item}
        if types <= {int} or types <= {str}:
            given = dict.fromkeys(items)
            return set(find_columns("categorical_features", given, columns))
    known = isinstance(asked, str) and asked in (column.name for column in columns)
    hint = f"; did you mean {[asked]}?" if known else "."
    n = len(columns)
    raise ValueError(
        f"categorical_features must be 'from_dtype' or a list: {n} booleans, indices "
        f"below {n}, or names of a frame's columns; got {asked!r}{hint}"
    )


def find_columns(
    option: str, given: Mapping[Any, Any], types: Sequence[ColumnType | Header]
) -> dict[int, tuple[Any, Any]]:
    """Find the columns to which the keys of an option refer, by name or by position.

    `option` is the name of the option, for messages. Returns a dict from the position
    of each column to its key and its value.

    >>> types = [ColumnType(name, "numeric", "numbers") for name in ("age", "size")]
    >>> find_columns("feature_weights", {"size": 2, 0: 3}, types)
    {1: ('size', 2), 0: (0, 3)}
    """
    names = {column.name: j for j, column in enumerate(types)}
    found: dict[int, tuple[Any, Any]] = {}
    for key, value in given.items():
        j: Any = names.get(key, key)
        if not is_number(j, Integral) or not 0 <= j < len(types):
            raise ValueError(
                f"`{option}` names {key!r}, which is not a column"
                f"{suggest(str(key), names)}; use names of columns, or "
                f"positions below {len(types)}."
            )
        if names.get(str(key), j) != j:
            raise ValueError(
                f"{option} has {key!r}, which is the position of "
                f"{types[j].place} and the name of another column; give the name as "
                f"text, {str(key)!r} or {types[j].name!r}."
            )
        if j in found:
            raise ValueError(
                f"{option} has two values for {types[j].place}, under "
                f"{found[j][0]!r} and {key!r}; give one value."
            )
        found[int(j)] = key, value
    return found
