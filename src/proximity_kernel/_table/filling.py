"""Fill the missing cells of a table, in a copy of the same type.

Columns keep their order, and their types if these can represent the values. Values for
a column of whole numbers are rounded. Booleans are true if the expected value is above
one half. Times have the type and unit of the column.

A frame's column keeps its type even if narwhals has no name for the type (such as
categories of any dtype, or nullable integers), so the code calls each library directly.
A column that is all missing in this table can have a type that does not fit the values,
such as floats for text. Its type then follows from the values.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from importlib import import_module
from typing import Any
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from .._saving import is_zone
from .columns import DAY, Column, ColumnType, name_label
from .tables import Header, split_table

TIMES = ("dates", "durations")
_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")
_ZONED = ("datetime", "pandas", *(f"frame {unit}" for unit in ("s", "ms", "us", "ns")))
# Types of cells; of two batches, the later type counts. "frame" is a column of dates
# with a dtype, the others are types of Python objects.
_OBJECTS = (
    "", "bool", "int", "float", "Decimal", "date", "timedelta", *_ZONED,
    *(f"numpy {unit}" for unit in _UNITS),
)  # fmt: skip
_Array = NDArray[Any]
_HOLDING: dict[str, Any] = {"dates": nw.Datetime | nw.Date, "durations": nw.Duration}
# Family -> kinds of numpy dtypes that can represent its values.
_KINDS = {"numbers": "biufO", "dates": "MO", "durations": "mO"}
_LABELS = nw.String | nw.Categorical | nw.Enum


@dataclass(frozen=True)
class Fill:
    """The missing cells of a column, and the values to fill in.

    Attributes
    ----------
    type : ColumnType
    rows : ndarray of shape (n_missing,), int64
        Indices of the rows with a missing cell, ascending.
    values : ndarray of shape (n_missing,), float64 or object
        Numbers, times in seconds, or labels of a categorical, ordered or not. Empty if
        nothing was observed at fit, since there is nothing to fill in.
    uncertainty : ndarray of shape (n_missing,), float64
        Standard deviation of a number; probability that another label is right.
    means : ndarray of shape (n_missing,), float64
        Expected numbers, also if `values` are modes; random draws are their own means.
        Empty for labels.
    ends : ndarray of shape (n_missing, 2), float64
        Where the interval of a number begins and ends.
    objects : str
        The type of the cells and the time zone at fit, by `find_objects`.
    """

    type: ColumnType
    rows: NDArray[np.int64]
    values: NDArray[Any]
    uncertainty: NDArray[np.float64]
    means: NDArray[np.float64]
    ends: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2)))
    objects: str = ""

    @property
    def fillable(self) -> bool:
        """Whether there are missing cells, and values to fill in."""
        return len(self.values) > 0

    @property
    def is_boolean(self) -> bool:
        """Whether the column had booleans at fit, read as numbers and not as labels."""
        return self.type.form == "boolean" and not self.type.has_labels

    @property
    def zone(self) -> str:
        """The time zone that the column had at fit, "" if it had none."""
        return self.objects.partition(", ")[2]

    @property
    def held_dates(self) -> bool:
        """Whether the column was a frame's column of dates at fit."""
        return self.objects.startswith("frame")

    def decide(self, round_whole: bool) -> Fill:
        """Round the values to the form of the fitted column: booleans or whole numbers.

        A boolean is 0 or 1, and its uncertainty is the probability of the other value.
        With `round_whole`, numbers are rounded if all were whole at fit, and dates lose
        their time of day if no fitted date had one.
        """
        if not self.fillable or self.type.has_labels:
            return self
        if self.is_boolean:
            unsure = np.minimum(self.means, 1 - self.means)
            unsure[self.uncertainty == 0] = 0.0  # drawn, not estimated
            values = (self.means > 0.5).astype(np.float64)
            return replace(self, values=values, uncertainty=unsure)
        if round_whole and self.type.form == "whole" and self.values.dtype.kind == "f":
            unit = DAY if self.type.family == "dates" else 1
            values, ends = (unit * np.round(x / unit) for x in (self.values, self.ends))
            return replace(self, values=values, ends=ends)
        return self

    def as_times(self) -> _Array:
        """Convert the values to numpy times; dates are in UTC."""
        dtype = "M8[us]" if self.type.family == "dates" else "m8[us]"
        if self.values.dtype.kind == "f" or self.type.family == "durations":
            return count_micros(self.values.astype(np.float64), dtype)
        return np.array([np.datetime64(text) for text in self.values.tolist()])

    def as_numbers(self, dtype: np.dtype[Any]) -> _Array:
        """Convert the values to a dtype; round and clip them for an integer dtype."""
        if self.is_boolean or (dtype.kind == "b" and not self.type.has_labels):
            return (self.means > 0.5).astype(dtype)
        if dtype.kind not in "iu":
            return self.values.astype(np.float64).astype(dtype)
        limits = np.iinfo(dtype)
        # As Python integers, because floats cannot represent the largest int64.
        whole = [round(value) for value in self.values.tolist()]
        return np.array([min(max(n, limits.min), limits.max) for n in whole], dtype)

    def as_cells(self, cells: Sequence[Any]) -> _Array:
        """Convert the values to Python objects of the type of the observed cells."""
        missing = set(self.rows.tolist())
        known = [cell for i, cell in enumerate(cells) if i not in missing]
        example = next(iter(known), None)
        found = name_objects(known)
        objects = self.objects or found
        if self.held_dates:
            objects = ", ".join(filter(None, (found.partition(", ")[0], self.zone)))
        made: list[Any] = self.values.tolist()
        if self.type.family in TIMES and not isinstance(example, str):
            made = [_convert_time(one, objects) for one in self.as_times()]
        elif self.values.dtype.kind != "O":
            if objects == "bool" or (self.is_boolean and not objects):
                made = [mean > 0.5 for mean in self.means.tolist()]
            elif objects == "int":
                made = [round(value) for value in made]
            elif objects == "Decimal":
                made = [Decimal(repr(value)) for value in made]
        return np.fromiter(made, object, len(made))


def name_objects(cells: Sequence[Any]) -> str:
    """Name the common type of Python objects that are numbers or times, and their zone.

    Empty for other types, and if there is no common type. Times in several time zones
    are in UTC.

    >>> name_objects([1, 2]), name_objects([1, 2.5]), name_objects([True])
    ('int', 'float', 'bool')
    """
    types = set(map(type, cells))
    if any(issubclass(one, dt.datetime) for one in types):
        types.discard(dt.date)  # a date among datetimes is midnight
    for name, held in (
        ("", str),
        ("bool", bool | np.bool_),
        ("int", int | np.integer),
        ("float", int | float | np.number),
        ("Decimal", Decimal | int | float),
        ("numpy", np.datetime64 | np.timedelta64),
        ("timedelta", dt.timedelta),
        ("datetime", dt.datetime),
        ("date", dt.date),
    ):
        if types and all(issubclass(one, held) for one in types):
            first = cells[0]
            found = "pandas" if hasattr(first, "asm8") else name
            if name == "numpy":
                units = {f"numpy {np.datetime_data(cell.dtype)[0]}" for cell in cells}
                known = units.intersection(_OBJECTS)
                return max(known, key=_OBJECTS.index, default="")
            zones = {getattr(cell, "tzinfo", None) for cell in cells} - {None}
            names = {*map(name_zone, zones)}
            zone = names.pop() if len(names) == 1 else "UTC"
            return f"{found}, {zone}" if zones else found
    return ""


def name_zone(zone: Any) -> str:
    """Name a time zone, which is an object or a name, as it can be saved.

    >>> name_zone("+02:00"), name_zone(dt.UTC), name_zone("no zone of the tz database")
    ('UTC+02:00', 'UTC', 'UTC')
    """
    name = re.sub(r"^(?=[+-]\d\d:\d\d$)", "UTC", str(zone))
    return name if is_zone(name) else "UTC"


def merge_objects(first: str, second: str) -> str:
    """Merge the types of the cells of two batches; see `find_objects`.

    >>> merge_objects("date", "datetime, Asia/Tokyo"), merge_objects("int", "")
    ('datetime, Asia/Tokyo', 'int')
    """
    types, zones = zip(
        *(one.partition(", ")[::2] for one in (first, second)), strict=True
    )
    found = {*zones} - {""}
    zone = "UTC" if len(found) > 1 else next(iter(found), "")
    return ", ".join(filter(None, (max(types, key=_OBJECTS.index), zone)))


def is_objects(text: Any) -> bool:
    """Whether a text names a type of cells, as `find_objects` does."""
    found, _, zone = text.partition(", ")
    return found in _OBJECTS and (not zone or (found in _ZONED and is_zone(zone)))


def count_micros(seconds: _Array, dtype: str) -> _Array:
    """Convert seconds to numpy times in microseconds, and NaN to NaT."""
    return np.round(seconds * 1e6).astype(dtype)


def _convert_time(moment: Any, objects: str) -> Any:
    """Convert a numpy time to the type `objects`, in its time zone."""
    name, _, zone = objects.partition(", ")
    if name.startswith("numpy"):
        return moment.astype(f"{moment.dtype.kind}8[{name.split()[1]}]")
    if name == "pandas":
        pd = import_module("pandas")
        if moment.dtype.kind == "m":
            return pd.Timedelta(moment)
        made = pd.Timestamp(moment)
        return made.tz_localize("UTC").tz_convert(zone) if zone else made
    plain = moment.astype("m8[us]" if moment.dtype.kind == "m" else "M8[us]").item()
    if zone:
        return plain.replace(tzinfo=dt.UTC).astimezone(_find_zone(zone))
    return plain.date() if name == "date" else plain


def _find_zone(name: str) -> dt.tzinfo:
    """Return the time zone with a name that `name_zone` gave."""
    if name.startswith(("UTC+", "UTC-")):
        return dt.datetime.strptime(name[3:], "%z").tzinfo or dt.UTC
    return dt.UTC if name == "UTC" else ZoneInfo(name)


def fill_table(table: Any, fills: Sequence[Fill]) -> Any:
    """Fill the missing cells of a table, with a `Fill` for each column, in a copy."""
    if (frame := _find_frame(table)) is not None:
        return _fill_frame(frame, fills)
    if isinstance(table, list | tuple):
        return _fill_rows(table, fills)
    return _fill_array(table, fills)


def make_uncertainty(table: Any, fills: Sequence[Fill]) -> Any:
    """Make a table of uncertainties, of the type of `table`; 0 for observed cells.

    They are numbers; for numeric columns of times, durations.
    """
    columns = []
    for fill in fills:
        out = np.zeros(len(table))
        out[fill.rows] = fill.uncertainty if fill.fillable else np.nan
        times = fill.type.family in TIMES and not fill.type.has_labels
        columns.append(count_micros(out, "m8[us]") if times else out)
    return make_table(table, columns)


def make_table(table: Any, columns: Sequence[_Array]) -> Any:
    """Make a table of new `columns`, of the type and with the names of `table`."""
    if (frame := _find_frame(table)) is not None:
        return _make_frame(frame, frame.columns, columns)
    if isinstance(table, list | tuple):
        return [list(row) for row in zip(*(c.tolist() for c in columns), strict=True)]
    if len({column.dtype for column in columns}) > 1:
        columns = [column.astype(object) for column in columns]
    return np.column_stack(columns)


def find_objects(table: Any, columns: Sequence[Column]) -> tuple[str, ...]:
    """Find the type of the cells of each column of Python objects or dates.

    Such as "int", "datetime, Europe/Berlin" for Python's objects with a time zone,
    "frame us, UTC" for a dtype; empty for other columns.
    """
    found = []
    for column, data in zip(columns, split_table(table).columns, strict=True):
        dtype = read_dtype(data) if isinstance(data, nw.Series) else None
        plain = isinstance(data, np.ndarray) and data.dtype.kind == "O"
        name = name_objects(data[column.observed].tolist() if plain else [])
        found.append(_name_dates(dtype) if isinstance(dtype, nw.Datetime) else name)
    return tuple(found)


def _name_dates(dtype: nw.Datetime) -> str:
    """Name the unit and the time zone of a column of dates; see `find_objects`."""
    zone = name_zone(dtype.time_zone) if dtype.time_zone else ""
    return ", ".join(filter(None, (f"frame {dtype.time_unit}", zone)))


def read_dtype(series: nw.Series[Any]) -> Any:
    """Return the dtype of a series; narwhals does not know all dates and decimals."""
    dtype, held = series.dtype, series.to_native()
    native = getattr(held, "dtype", None)
    if dtype == nw.Unknown and getattr(native, "tz", None) is not None:
        return nw.Datetime(native.unit, str(native.tz))  # type: ignore[union-attr]
    name = str(getattr(held, "type", ""))
    if name.startswith("decimal"):
        return nw.Decimal()
    return nw.Date() if name == "date64[ms]" else dtype


def append_columns(table: Any, names: Sequence[str], columns: _Array) -> Any:
    """Append columns of booleans, of shape (n_samples, n_new), to a copy of a table.

    Only a frame uses their names. In an array of numbers, they contain 0 and 1.
    """
    if not len(names):
        return table
    if isinstance(table, list | tuple):
        pairs = zip(table, columns.tolist(), strict=True)
        return [type(row)([*row, *new]) for row, new in pairs]
    if (frame := _find_frame(table)) is not None:
        new_frame = nw.from_native(_make_frame(frame, names, columns.T))
        return nw.concat([frame, new_frame], how="horizontal").to_native()
    dtype = table.dtype if table.dtype.kind in "biufO" else object
    return np.column_stack([table.astype(dtype), columns.astype(dtype)])


def as_pandas(table: Any) -> Any:
    """Convert a frame to pandas; return an array or a list of rows unchanged."""
    frame = _find_frame(table)
    return table if frame is None else frame.to_pandas()


def select_columns(table: Any, kept: Sequence[int]) -> Any:
    """Select columns of a frame, array or list of rows by their indices."""
    if (frame := _find_frame(table)) is not None:
        if frame.implementation.is_pandas_like():
            return table.iloc[:, list(kept)]  # keeps the index, even without columns
        return frame[:, list(kept)].to_native()
    if isinstance(table, list | tuple):
        return [type(row)(row[j] for j in kept) for row in table]
    return table[:, list(kept)]


def make_records(table: Any, columns: dict[str, _Array], labels: Sequence[Any]) -> Any:
    """Make a frame, structured array or list of tuples to match the type of `table`.

    `columns` may be longer or shorter than `table`. The type of the column "label" in a
    frame depends on `labels`, all values that it could have, and not on those it has.
    """
    if (frame := _find_frame(table)) is not None:
        like = frame.implementation
        dtype, cells = _find_label_dtype(labels, like), columns["label"].tolist()
        if dtype == nw.String:
            cells = [cell if cell is None else str(cell) for cell in cells]
        kinds = {"row": nw.Int64(), "column": nw.String(), "label": dtype}
        return nw.from_dict(
            {**columns, "column": columns["column"].tolist(), "label": cells},
            {**kinds, "probability": nw.Float64()},
            backend=like,
        ).to_native()
    if isinstance(table, list | tuple):
        held_rows = (own.tolist() for own in columns.values())
        return list(zip(*held_rows, strict=True))
    size = len(next(iter(columns.values())))
    records = np.empty(size, [(name, own.dtype) for name, own in columns.items()])
    for name, own in columns.items():
        records[name] = own
    return records


def _find_label_dtype(labels: Sequence[Any], like: nw.Implementation) -> Any:
    """Find the dtype for a column of the given labels; text for several types.

    In pandas, the dtype for several types is object, also for None beside booleans.
    """
    types = set(map(type, labels))
    known = {str: nw.String, bool: nw.Boolean, int: nw.Int64, float: nw.Float64}
    kinds = types - {type(None)}
    kind = kinds.pop() if len(kinds) == 1 else object if kinds else str
    found = known.get(kind, nw.Object)
    if found == nw.Int64 and max(map(abs, {*labels} - {None})) >= 2**63:
        found = nw.Object
    if like.is_pandas():
        full = kind in (bool, int) and len(types) > 1
        return nw.Object() if full else found()
    return nw.String() if found == nw.Object else found()


def _fill_rows(rows: Any, fills: Sequence[Fill]) -> list[Any]:
    """Fill the missing cells in a copy of a list of rows; tuples stay tuples."""
    out = [list(row) for row in rows]
    for j, own in enumerate(fills):
        if own.fillable:
            made = own.as_cells([row[j] for row in out])
            for i, value in zip(own.rows.tolist(), made, strict=True):
                out[i][j] = value
    return [
        tuple(new) if isinstance(old, tuple) else new
        for old, new in zip(rows, out, strict=True)
    ]


def _fill_array(table: Any, fills: Sequence[Fill]) -> _Array:
    """Fill a copy of an array, of dtype object if its dtype cannot hold the values."""
    masked = np.ma.isMaskedArray(table)
    out = np.array(np.ma.getdata(table) if masked else table)
    hidden = np.array(np.ma.getmaskarray(table)) if masked else None
    kind = out.dtype.kind
    if kind in "SUT":  # a filled text may be longer than the dtype allows
        out = out.astype(object)
    elif any(kind not in _KINDS.get(g.type.family, "O") for g in fills if g.fillable):
        cells = [list(row) for row in out] if kind in "mM" else out.tolist()
        out = np.empty(out.shape, object)
        out[:] = cells
    for j, own in enumerate(fills):
        if not own.fillable:
            continue
        if out.dtype.kind == "O":
            values: Any = own.as_cells(out[:, j].tolist())
        elif out.dtype.kind in "mM":
            values = own.as_times().astype(out.dtype)
        else:
            values = own.as_numbers(out.dtype)
        out[own.rows, j] = values
        if hidden is not None:
            hidden[own.rows, j] = False
    out = out.astype(str) if kind in "UT" else out
    # Cells that stay missing must not show the values under a mask.
    return out if hidden is None or not hidden.any() else np.ma.array(out, mask=hidden)


def _find_frame(table: Any) -> nw.DataFrame[Any] | None:
    """Wrap a data frame that narwhals supports, if it is not lazy; else None."""
    wrapped = nw.from_native(table, pass_through=True, eager_only=True)
    return wrapped if isinstance(wrapped, nw.DataFrame) else None


def _fill_frame(wrapped: nw.DataFrame[Any], fills: Sequence[Fill]) -> Any:
    """Fill the missing cells in a copy of a pandas, polars or pyarrow frame."""
    frame, made = wrapped.to_native(), wrapped.implementation
    if made.is_pandas():
        out = frame.copy()
        for j, own in enumerate(fills):
            if own.fillable:
                out.isetitem(j, _fill_pandas(frame.iloc[:, j], own))
        return out
    if made.is_polars():
        pairs = zip(frame.get_columns(), fills, strict=True)
        return frame.with_columns(
            [_fill_polars(series, own) for series, own in pairs if own.fillable]
        )
    if made.is_pyarrow():
        for j, own in enumerate(fills):
            if own.fillable:
                filled = _fill_chunks(frame.column(j), own)
                field = frame.schema.field(j).with_type(filled.type)
                frame = frame.set_column(j, field, filled)
        return frame
    raise TypeError(
        f"A {made.value} frame cannot be filled; convert it to pandas, polars or "
        "pyarrow first."
    )


def _make_frame(
    like: nw.DataFrame[Any], names: Sequence[str], columns: Iterable[_Array]
) -> Any:
    """Make a frame of numpy columns, with the library and the index of `like`."""
    named = dict(zip(names, columns, strict=True))
    made = nw.from_dict(named, backend=like.implementation).to_native()
    is_pandas = like.implementation.is_pandas()
    return made.set_index(like.to_native().index) if is_pandas else made


def _map_labels(fill: Fill, known: Sequence[Any]) -> tuple[list[Any], _Array]:
    """Find the filled labels among the labels of a column; append new labels.

    Returns all labels, and the index of each filled one, of shape (n_missing,).
    """
    header = Header(fill.type.name, fill.type.place, named=True)
    known = list(known)
    index = {name_label(label, header): k for k, label in reversed([*enumerate(known)])}
    for label in dict.fromkeys(fill.values.tolist()):
        if label not in index:
            index[label] = len(known)
            known.append(label)
    return known, np.array([index[label] for label in fill.values.tolist()], np.int64)


def _needs_own_type(series: Any, fill: Fill) -> bool:
    """Whether a column is all missing, and its dtype cannot represent the values.

    Dates also need the unit and time zone that they had at fit.
    """
    if len(fill.rows) < len(series):
        return False
    dtype = read_dtype(nw.from_native(series, series_only=True))
    if fill.type.family == "numbers":
        return not (dtype.is_numeric() or dtype == nw.Boolean)
    if fill.held_dates and isinstance(dtype, nw.Datetime):
        return _name_dates(dtype) != fill.objects
    return not isinstance(dtype, _HOLDING.get(fill.type.family, _LABELS))


def _infer_values(fill: Fill) -> Any:
    """Convert the values to the default type of their family, such as float64.

    Dates have the unit of the fit, and are in UTC.
    """
    if fill.type.family in TIMES:
        times = fill.as_times()
        unit = fill.objects.partition(", ")[0].split()[1] if fill.held_dates else ""
        return times.astype(f"M8[{unit}]") if unit else times
    if fill.is_boolean:
        return fill.means > 0.5
    return fill.values.tolist() if fill.type.has_labels else fill.values


def _convert_values(series: Any, fill: Fill) -> Any:
    """Convert the values to the dtype of a column; dates are in UTC."""
    dtype = read_dtype(nw.from_native(series, series_only=True))
    if dtype.is_temporal():
        # Categories that are dates can have any unit, and the libraries do not
        # support them all.
        unit = "ns" if getattr(dtype, "time_unit", None) == "ns" else "us"
        kind = "m8" if isinstance(dtype, nw.Duration) else "M8"
        return fill.as_times().astype(f"{kind}[{unit}]")
    if isinstance(dtype, nw.Int128 | nw.UInt128):  # numpy has no such types
        return [round(value) for value in fill.values.tolist()]
    if dtype.is_integer():
        return fill.as_numbers(np.dtype(str(dtype).lower()))
    if dtype.is_numeric() or dtype == nw.Boolean:
        return fill.as_numbers(np.dtype(bool if dtype == nw.Boolean else float))
    return fill.values.tolist()


def _fill_pandas(series: Any, fill: Fill) -> Any:
    """Fill the missing cells in a copy of a pandas column."""
    pd = import_module("pandas")
    dtype = series.dtype
    objects = isinstance(dtype, np.dtype) and dtype.kind == "O"
    made: Any
    if isinstance(dtype, pd.SparseDtype):  # a sparse array cannot be changed
        dense = _fill_pandas(series.sparse.to_dense(), fill)
        return dense.astype(pd.SparseDtype(dense.dtype, dtype.fill_value))
    if isinstance(dtype, pd.CategoricalDtype):
        categories = series.cat.categories.tolist()
        labels, places = _map_labels(fill, categories)
        series = series.cat.add_categories(labels[len(categories) :])
        codes = series.cat.codes.to_numpy(np.int64, copy=True)
        codes[fill.rows] = places
        made = pd.Categorical.from_codes(codes, dtype=series.dtype)
    elif hasattr(dtype, "pyarrow_dtype"):
        chunks = series.array.__arrow_array__()
        made = type(series.array)(_fill_chunks(chunks, fill))
    elif _needs_own_type(series, fill) and (
        fill.held_dates
        or not (objects and (fill.objects or fill.type.family != "numbers"))
    ):
        made = pd.array(_infer_values(fill))
        if fill.zone:
            made = pd.array(pd.to_datetime(made, utc=True).tz_convert(fill.zone))
    else:
        made = series.array.copy()
        if objects:
            made[fill.rows] = fill.as_cells(series.tolist())
        else:
            values = _convert_values(series, fill)
            if getattr(dtype, "tz", None) is not None:
                values = pd.to_datetime(values, utc=True).astype(dtype)
            made[fill.rows] = pd.array(values, dtype=dtype)
    # Set the dtype, because pandas would convert objects to times.
    return pd.Series(made, index=series.index, name=series.name, dtype=made.dtype)


def _fill_polars(series: Any, fill: Fill) -> Any:
    """Fill the missing cells in a copy of a polars column."""
    pl = import_module("polars")
    dtype = series.dtype
    if _needs_own_type(series, fill):
        values = _infer_values(fill)
        if fill.held_dates and values.dtype == "M8[s]":  # polars has no such unit
            values = values.astype("M8[us]")
        made = pl.Series(series.name, values)
        zone = "UTC" if fill.zone.startswith("UTC") else fill.zone  # nor offsets
        return _set_zone(made, zone) if zone else made
    if dtype == pl.Object:
        cells = np.fromiter(series.to_list(), object)
        cells[fill.rows] = fill.as_cells(cells.tolist())
        return pl.Series(series.name, cells.tolist(), dtype=pl.Object)
    if dtype == pl.Enum:
        dtype = pl.Enum(_map_labels(fill, dtype.categories.to_list())[0])
    values = _convert_values(series, fill)
    made = pl.Series(values, dtype=dtype if isinstance(values, list) else None)
    if getattr(dtype, "time_zone", None) is not None:
        made = _set_zone(made, dtype.time_zone)
    return series.cast(dtype).clone().scatter(fill.rows, made.cast(dtype))


def _set_zone(times: Any, zone: str) -> Any:
    """Convert a polars column of times in UTC to a time zone."""
    return times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)


def _fill_chunks(chunks: Any, fill: Fill) -> Any:
    """Fill the missing cells in a copy of an arrow column."""
    pa = import_module("pyarrow")
    dtype = chunks.type
    if pa.types.is_run_end_encoded(dtype):
        compute = import_module("pyarrow.compute")
        plain = _fill_chunks(compute.run_end_decode(chunks), fill)
        return compute.run_end_encode(plain, run_end_type=dtype.run_end_type)
    if _needs_own_type(chunks, fill):
        made = pa.array(_infer_values(fill))
        if fill.zone:
            offset = re.sub("^UTC(?=[+-])", "", fill.zone)
            made = made.cast(pa.timestamp(made.type.unit, offset))
        return pa.chunked_array([made])
    if pa.types.is_dictionary(dtype):
        return _fill_dictionary(pa, chunks, fill)
    if pa.types.is_string_view(dtype):  # arrow cannot take from views yet
        return _fill_chunks(chunks.cast(pa.string()), fill).cast(dtype)
    # Append the values, and take the cells by position: arrow can replace cells only of
    # some types.
    places = np.arange(len(chunks))
    places[fill.rows] = len(chunks) + np.arange(len(fill.rows))
    values = pa.array(_convert_values(chunks, fill)).cast(dtype, safe=False)
    return pa.chunked_array(
        [pa.concat_arrays([*chunks.chunks, values]).take(pa.array(places))]
    )


def _fill_dictionary(pa: Any, chunks: Any, fill: Fill) -> Any:
    """Fill a dictionary-encoded arrow column; new labels extend the dictionary."""
    whole = pa.concat_arrays(chunks.unify_dictionaries().chunks)
    labels, places = _map_labels(fill, whole.dictionary.to_pylist())
    codes = whole.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    codes[fill.rows] = places
    dtype = chunks.type
    made = pa.DictionaryArray.from_arrays(
        pa.array(codes).cast(dtype.index_type),
        pa.array(labels, dtype.value_type),
        ordered=dtype.ordered,
    )
    return pa.chunked_array([made])
