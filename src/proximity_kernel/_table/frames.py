"""A frame with gaps filled by its own library: pandas, polars or pyarrow.

Each column keeps its type, also where narwhals has none for it (an index of categories,
a time zone, a nullable integer), so the libraries are asked themselves. A column of
which nothing is known in this table may have a type that cannot hold the values, as
floats for a text that is all missing: it gets the natural one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from .cells import name_label
from .containers import Header
from .filled_values import TIMES, as_cells, as_numbers, as_times, is_plain, known_cells
from .gaps import Gaps

_Array = NDArray[Any]
_NUMBERS = "biuf"


def is_frame(table: Any) -> bool:
    """Tell a frame from other tables."""
    wrapped = nw.from_native(table, pass_through=True, eager_only=True)
    return isinstance(wrapped, nw.DataFrame)


def holds_booleans(column: Any, gaps: _Array) -> bool:
    """Tell whether the known cells of a column of `split_table` are booleans."""
    if isinstance(column, nw.Series):
        return bool(column.dtype == nw.Boolean)
    if column.dtype.kind != "O":
        return bool(column.dtype.kind == "b")
    types = set(map(type, known_cells(column.tolist(), gaps)))
    return bool(types) and types <= {bool, np.bool_}


def fill_frame(frame: Any, gaps: Sequence[Gaps]) -> Any:
    """Fill the gaps of a frame, in a copy of it."""
    return _pick(frame, _fill_pandas, _fill_polars, _fill_arrow)(frame, gaps)


def make_frame(frame: Any, columns: Sequence[_Array]) -> Any:
    """Make a frame of the make, names and index of another, of numpy columns."""
    return _pick(frame, _make_pandas, _make_polars, _make_arrow)(frame, columns)


def _pick(frame: Any, *ways: Callable[..., Any]) -> Callable[..., Any]:
    made = nw.from_native(frame, eager_only=True).implementation
    kinds = (made.is_pandas(), made.is_polars(), made.is_pyarrow())
    for way, right in zip(ways, kinds, strict=True):
        if right:
            return way
    raise TypeError(
        f"A {made.value} frame cannot be filled; make it one of pandas, polars or "
        "pyarrow first."
    )


def _map_labels(gaps: Gaps, held: Sequence[Any]) -> tuple[list[Any], _Array]:
    """Find labels among those that a column holds; others come behind them.

    Returns
    -------
    held : list
        With what was not among them.
    places : ndarray of shape (n_gaps,), int64
    """
    header = Header(gaps.type.name, gaps.type.place, named=True)
    held = list(held)
    known = {name_label(label, header): k for k, label in reversed([*enumerate(held)])}
    for label in dict.fromkeys(gaps.values.tolist()):
        if label not in known:
            known[label] = len(held)
            held.append(label)
    return held, np.array([known[label] for label in gaps.values.tolist()], np.int64)


def _in_unit(kind: str, dtype: Any, name: str) -> str:
    """Name numpy's dtype for times that a frame's dtype is made from.

    The labels of a categorical column of dates may be in any unit, and the libraries do
    not take them all.
    """
    return f"{kind}[{'ns' if getattr(dtype, name, None) == 'ns' else 'us'}]"


def _natural(gaps: Gaps) -> Any:
    """Make what a column of nothing else would hold."""
    if gaps.type.family in TIMES:
        return as_times(gaps)
    return gaps.values if is_plain(gaps) else gaps.values.tolist()


# --------------------------------------------------------------------------- pandas


def _fill_pandas(frame: Any, gaps: Sequence[Gaps]) -> Any:
    out = frame.copy()
    for j, own in enumerate(gaps):
        if own.fillable:
            out.isetitem(j, _fill_series(frame.iloc[:, j], own))
    return out


def _fill_series(series: Any, gaps: Gaps) -> Any:
    pd = import_module("pandas")
    dtype = series.dtype
    made: Any
    if isinstance(dtype, pd.SparseDtype):  # cannot be written to
        dense = _fill_series(series.sparse.to_dense(), gaps)
        return dense.astype(pd.SparseDtype(dense.dtype, dtype.fill_value))
    if isinstance(dtype, pd.CategoricalDtype):
        made = _fill_categories(pd, series, gaps)
    elif hasattr(dtype, "pyarrow_dtype"):
        chunks = series.array.__arrow_array__()
        made = type(series.array)(_fill_chunks(chunks, gaps))
    elif len(gaps.rows) == len(series) and not _can_hold(dtype.kind, gaps):
        made = pd.array(_natural(gaps))
    else:
        made = series.array.copy()
        made[gaps.rows] = _as_pandas(pd, dtype, series, gaps)
    # Of this dtype: among objects pandas would look for times.
    return pd.Series(made, index=series.index, name=series.name, dtype=made.dtype)


def _can_hold(kind: str, gaps: Gaps) -> bool:
    if gaps.type.family in TIMES:
        return kind == ("M" if gaps.type.family == "dates" else "m") or kind == "O"
    return kind in _NUMBERS if gaps.type.family == "numbers" else kind in "OUT"


def _as_pandas(pd: Any, dtype: Any, series: Any, gaps: Gaps) -> Any:
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        known = known_cells(series.tolist(), gaps.rows)
        return np.fromiter(as_cells(gaps, known), object, len(gaps.rows))
    if dtype.kind == "M":
        times = pd.DatetimeIndex(as_times(gaps))
        if getattr(dtype, "tz", None) is not None:
            times = times.tz_localize("UTC").tz_convert(dtype.tz)
        return times.as_unit(series.dt.unit)
    if dtype.kind == "m":
        return pd.TimedeltaIndex(as_times(gaps)).as_unit(series.dt.unit)
    if dtype.kind in _NUMBERS:
        plain = getattr(dtype, "numpy_dtype", dtype)
        return pd.array(as_numbers(gaps, np.dtype(plain)), dtype=dtype)
    return pd.array(gaps.values.tolist(), dtype=dtype)


def _fill_categories(pd: Any, series: Any, gaps: Gaps) -> Any:
    held = series.cat.categories.tolist()
    labels, places = _map_labels(gaps, held)
    if len(labels) > len(held):
        series = series.cat.add_categories(labels[len(held) :])
    codes = series.cat.codes.to_numpy(np.int64, copy=True)
    codes[gaps.rows] = places
    return pd.Categorical.from_codes(codes, dtype=series.dtype)


def _make_pandas(frame: Any, columns: Sequence[_Array]) -> Any:
    pd = import_module("pandas")
    out = pd.DataFrame(dict(enumerate(columns)), index=frame.index)
    out.columns = frame.columns
    return out


# --------------------------------------------------------------------------- polars


def _fill_polars(frame: Any, gaps: Sequence[Gaps]) -> Any:
    pl = import_module("polars")
    filled = [
        _fill_polars_series(pl, series, own) if own.fillable else series
        for series, own in zip(frame.get_columns(), gaps, strict=True)
    ]
    return pl.DataFrame(filled)


def _fill_polars_series(pl: Any, series: Any, gaps: Gaps) -> Any:
    dtype = series.dtype
    if len(gaps.rows) == len(series) and not _polars_holds(pl, dtype, gaps):
        return pl.Series(series.name, _natural(gaps))
    if dtype == pl.Object:
        cells = series.to_list()
        values = as_cells(gaps, known_cells(cells, gaps.rows))
        for i, value in zip(gaps.rows.tolist(), values, strict=True):
            cells[i] = value
        return pl.Series(series.name, cells, dtype=pl.Object)
    if dtype == pl.Enum:
        held = dtype.categories.to_list()
        labels, _ = _map_labels(gaps, held)
        if len(labels) > len(held):
            series = series.cast(pl.Enum(labels))
    return series.clone().scatter(gaps.rows, _as_polars(pl, series.dtype, gaps))


def _polars_holds(pl: Any, dtype: Any, gaps: Gaps) -> bool:
    if gaps.type.family in TIMES:
        right = (
            (pl.Datetime, pl.Date) if gaps.type.family == "dates" else (pl.Duration,)
        )
        return dtype in right
    if gaps.type.family == "numbers":
        return bool(dtype.is_numeric() or dtype == pl.Boolean)
    return dtype in (pl.String, pl.Categorical, pl.Enum)


def _as_polars(pl: Any, dtype: Any, gaps: Gaps) -> Any:
    if dtype.is_temporal():
        kind = "m8" if dtype == pl.Duration else "M8"
        times = pl.Series(as_times(gaps).astype(_in_unit(kind, dtype, "time_unit")))
        if dtype == pl.Datetime and dtype.time_zone is not None:
            times = times.dt.replace_time_zone("UTC").dt.convert_time_zone(
                dtype.time_zone
            )
        return times.cast(dtype)
    if dtype == pl.Boolean:
        return pl.Series(as_numbers(gaps, np.dtype(bool)))
    if str(dtype).endswith("Int128"):  # numpy has none of these
        return pl.Series([round(v) for v in gaps.values.tolist()], dtype=dtype)
    if dtype.is_integer():
        unsigned = "u" if dtype.is_unsigned_integer() else "i"
        size = {"8": 1, "16": 2, "32": 4}.get(str(dtype).lstrip("UInt"), 8)
        whole = as_numbers(gaps, np.dtype(f"{unsigned}{size}"))
        return pl.Series(whole).cast(dtype)
    if dtype.is_numeric():
        return pl.Series(as_numbers(gaps, np.dtype(float))).cast(dtype)
    return pl.Series(gaps.values.tolist()).cast(dtype)


def _make_polars(frame: Any, columns: Sequence[_Array]) -> Any:
    return import_module("polars").DataFrame(
        dict(zip(frame.columns, columns, strict=True))
    )


# -------------------------------------------------------------------------- pyarrow


def _fill_arrow(table: Any, gaps: Sequence[Gaps]) -> Any:
    for j, own in enumerate(gaps):
        if own.fillable:
            filled = _fill_chunks(table.column(j), own)
            field = table.schema.field(j).with_type(filled.type)
            table = table.set_column(j, field, filled)
    return table


def _fill_chunks(chunks: Any, gaps: Gaps) -> Any:
    pa = import_module("pyarrow")
    if len(gaps.rows) == len(chunks) and not _arrow_holds(pa, chunks.type, gaps):
        return pa.chunked_array([pa.array(_natural(gaps))])
    if pa.types.is_dictionary(chunks.type):
        return _fill_dictionary(pa, chunks, gaps)
    if pa.types.is_run_end_encoded(chunks.type):
        compute, ends = import_module("pyarrow.compute"), chunks.type.run_end_type
        plain = _fill_chunks(compute.run_end_decode(chunks), gaps)
        return compute.run_end_encode(plain, run_end_type=ends)
    if pa.types.is_string_view(chunks.type):  # cannot be taken from yet
        return _fill_chunks(chunks.cast(pa.string()), gaps).cast(chunks.type)
    # Taken from behind the column: there is a way to replace cells for some types only.
    places = np.arange(len(chunks))
    places[gaps.rows] = len(chunks) + np.arange(len(gaps.rows))
    both = [*chunks.chunks, _as_arrow(pa, chunks.type, gaps)]
    return pa.chunked_array([pa.concat_arrays(both).take(pa.array(places))])


def _arrow_holds(pa: Any, dtype: Any, gaps: Gaps) -> bool:
    kinds = pa.types
    if gaps.type.family == "dates":
        return bool(kinds.is_timestamp(dtype) or kinds.is_date(dtype))
    if gaps.type.family == "durations":
        return bool(kinds.is_duration(dtype))
    if gaps.type.family == "numbers":
        some = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal)
        return any(is_one(dtype) for is_one in some)
    texts = (
        kinds.is_string,
        kinds.is_large_string,
        kinds.is_string_view,
        kinds.is_dictionary,
    )
    return any(is_one(dtype) for is_one in texts)


def _as_arrow(pa: Any, dtype: Any, gaps: Gaps) -> Any:
    if pa.types.is_temporal(dtype):
        kind = "m8" if pa.types.is_duration(dtype) else "M8"
        made = pa.array(as_times(gaps).astype(_in_unit(kind, dtype, "unit")))
        if pa.types.is_timestamp(dtype) and dtype.tz is not None:
            made = made.cast(pa.timestamp(made.type.unit, dtype.tz))
        return made.cast(dtype, safe=False)
    if pa.types.is_boolean(dtype):
        return pa.array(as_numbers(gaps, np.dtype(bool)))
    if pa.types.is_integer(dtype):
        return pa.array(as_numbers(gaps, np.dtype(str(dtype)))).cast(dtype)
    if pa.types.is_floating(dtype) or pa.types.is_decimal(dtype):
        numbers = pa.array(as_numbers(gaps, np.dtype(float)))
        return numbers.cast(dtype, safe=False)
    return pa.array(gaps.values.tolist()).cast(dtype)


def _fill_dictionary(pa: Any, chunks: Any, gaps: Gaps) -> Any:
    whole = chunks.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # of older versions
        whole = whole.chunk(0)
    held, places = _map_labels(gaps, whole.dictionary.to_pylist())
    codes = whole.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    codes[gaps.rows] = places
    dtype = chunks.type
    made = pa.DictionaryArray.from_arrays(
        pa.array(codes).cast(dtype.index_type),
        pa.array(held, dtype.value_type),
        ordered=dtype.ordered,
    )
    return pa.chunked_array([made])


def _make_arrow(table: Any, columns: Sequence[_Array]) -> Any:
    return import_module("pyarrow").table(
        dict(zip(table.column_names, columns, strict=True))
    )
