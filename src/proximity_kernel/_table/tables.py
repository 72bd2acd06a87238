"""Split a table of any type into its columns, with their names.

A frame of pandas, polars or pyarrow is split into narwhals series and names, an array
into views of its columns, and a list of rows into columns of Python objects. Anything
that is not a table, has no rows or no columns, or has two columns of the same name
raises an error, with a remedy.

duckdb relations, ibis tables, and arrow readers and batches provide their rows by the
arrow interface for streams, ``__arrow_c_stream__``. A reader can be read only once, so
it is collected first. A row of a pandas frame is a Series whose index has the names of
the columns.

The module `columns` finds the kind of each column from its dtype and cells. Here, the
values are only checked for infinity, because that is fastest for a whole array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from importlib import import_module
from reprlib import repr as short
from typing import Any, NoReturn, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from .._shared.extras import require
from .._shared.wording import listed

_CALLS = {"dask": ".compute()", "pyspark": ".toPandas()", "sqlframe": ".toPandas()"}
_Array: TypeAlias = NDArray[Any]
_BLOCK = 65536  # cells that are checked together
_BY_CELL = nw.List | nw.Array | nw.Struct | nw.Binary | nw.Time | nw.Int128 | nw.UInt128
_MOST = 8  # names that a message lists
# Remedies in the errors about columns of other or mixed types. scikit-learn's estimator
# checks require the phrase "argument must be ...".
_ALIKE = ("text", "numbers", "dates", "durations")
_MIXED = "convert it to one type"
_OTHERS = f"{_MIXED}; every cell of the argument must be a string or a number"
_ADVICE = {
    "Period": "convert it to dates with .dt.to_timestamp()",
    "time": "convert it to numbers, e.g. the seconds since midnight",
    "bytes": "decode it to text first",
    **dict.fromkeys(("list", "tuple", "ndarray"), "make a column of each item"),
}


def collect_table(table: Any, fitted: Sequence[str] = ()) -> Any:
    """Convert a stream to a pyarrow Table; return any other table unchanged.

    A Series of pandas whose index has the names at fit, `fitted`, is one row, and
    becomes a frame.
    """
    frame = _wrap_frame(table)
    if isinstance(frame, nw.Series) and frame.implementation.is_pandas():
        row = [str(name) for name in table.index] == list(fitted)
        return table.to_frame().T.infer_objects() if row else table
    if isinstance(frame, nw.DataFrame | nw.Series | type):
        return table
    if hasattr(table, "__arrow_c_stream__"):
        return require("pyarrow", extra="cli").table(table)
    return table


@dataclass(frozen=True)
class Header:
    """What is known about a column before its values are read.

    `name` is the frame's column name, or "x3" for the column at index 3 of an array;
    `place` the column in messages: "column 'age'" or "column 3". `named` says whether
    the column is listed in `categorical_features`.
    """

    name: str
    place: str
    named: bool

    def refuse(self, found: dict[str, Any]) -> NoReturn:
        """Raise an error: the column mixes types of cells, with an example of each."""
        if "complex" in found:  # the phrase is scikit-learn's
            raise ValueError(
                f"Complex data not supported: {self.place}; keep the real part, or "
                "real and imaginary part as two columns."
            )
        kinds, cells = " and ".join(found), " and ".join(map(short, found.values()))
        odd = (_ADVICE.get(kind, _OTHERS) for kind in found if kind not in _ALIKE)
        raise TypeError(
            f"{self.place} holds {kinds}, for example {cells}; a column must be all "
            f"text, all numbers or all dates: {next(odd, _MIXED)}."
        )


@dataclass(frozen=True)
class Table:
    """The columns of a table, not converted yet: narwhals Series or arrays.

    Each has shape (n_samples,), and is a view of the caller's memory where possible.
    `names` is None if the table has no names, such as an array.
    """

    columns: list[Any]
    names: list[str] | None = None

    def header(self, j: int, named: bool) -> Header:
        """Make the header of column j."""
        if self.names is None:
            return Header(f"x{j}", f"column {j}", named)
        return Header(self.names[j], f"column {self.names[j]!r}", named)


def split_table(table: Any) -> Table:
    """Split a frame, array or list of rows into its columns.

    >>> split_table([[1.5, "red"], [None, "blue"]]).columns
    [array([1.5, None], dtype=object), array(['red', 'blue'], dtype=object)]
    """
    if isinstance(table, type):
        raise TypeError(f"{table.__name__} is a class; pass a table of that class.")
    table = collect_table(table)
    frame = _wrap_frame(table)
    if isinstance(frame, nw.LazyFrame):
        library = frame.implementation.value.partition("[")[0]
        call = _CALLS.get(library, ".collect()")
        raise TypeError(f"The table is lazy; call {call} on it first.")
    if isinstance(frame, nw.Series):
        _check_shape((len(frame),))
    if isinstance(frame, nw.DataFrame):
        _check_shape(frame.shape)
        names = [str(name) for name in frame.columns]  # in pandas, 1 and "1" differ
        _check_unique(names)
        return Table([_unwrap_series(series) for series in frame.iter_columns()], names)
    if hasattr(table, "tocsr"):
        raise TypeError("The table is sparse; make it dense with .toarray() first.")
    if isinstance(table, list | tuple):
        return Table(_split_rows(table))
    got = type(table).__name__
    # Such frames can be read as arrays too, but their columns would lose their types.
    if hasattr(table, "__dataframe__"):
        raise TypeError(
            f"A {got} cannot be read directly; convert it to a Table with "
            "pyarrow.table(...) first."
        )
    if hasattr(table, "__array__"):
        return Table(_split_array(table))
    path = isinstance(table, str) or hasattr(table, "__fspath__")
    raise TypeError(
        f"Expected a data frame, a 2D array or a list of rows, got {got}; make a data "
        f"frame from it, e.g. with pandas.{'read_csv' if path else 'DataFrame'}(...)."
    )


def check_same_columns(table: Table, fitted: Sequence[str]) -> None:
    """Raise ValueError unless a table has the columns `fitted`, in this order.

    If an array was fitted (x0, x1 and so on), or this table has no names, only the
    number of columns is compared.
    """
    n_features = len(table.columns)
    unnamed = all(name == f"x{j}" for j, name in enumerate(fitted))
    if table.names is not None and not unnamed:
        names, fitted = table.names, list(fitted)
        wrong = {
            "missing": sorted(set(fitted) - set(names), key=fitted.index),
            "unexpected": sorted(set(names) - set(fitted), key=names.index),
        }
        parts = [f"{what}: {listed(one, _MOST)}" for what, one in wrong.items() if one]
        if parts:
            raise ValueError(
                "The columns are not those that were fitted; "
                f"{'; '.join(parts)}. Pass the columns that were fitted, or fit again."
            )
        if names != fitted:
            raise ValueError(
                "The columns are in a different order than when fitted; put them in "
                f"the order {listed(fitted, _MOST)}, or fit again."
            )
    if n_features != len(fitted):
        raise ValueError(
            f"Found {n_features} features, but {len(fitted)} were fitted; pass the "
            "columns that were fitted, or fit again."
        )


def check_finite(values: _Array, places: Sequence[str]) -> None:
    """Raise ValueError if a table contains infinity; `places` name its columns."""
    if values.dtype.kind == "f" and (infinite := np.isinf(values)).any():
        place = places[int(infinite.reshape(-1, len(places)).any(0).argmax())]
        raise ValueError(
            f"{place} contains infinity (inf) or a value too large for float64; "
            "replace it by a finite number, or by NaN if it is missing."
        )


def narrow_floats(values: _Array) -> _Array:
    """Convert longdouble to float64 (infinity if too large); leave others unchanged."""
    if values.dtype.kind == "f" and values.itemsize > 8:
        with np.errstate(over="ignore", invalid="ignore"):  # a signaling NaN
            return values.astype(np.float64)
    return values


def _wrap_frame(table: Any) -> Any:
    """Wrap a table that narwhals supports; return any other table unchanged."""
    try:
        return nw.from_native(table, pass_through=True, allow_series=True)
    except DuplicateError:
        # A pyarrow Table has its arrays in `columns`, and the names elsewhere.
        names = getattr(table, "column_names", None)
        _check_unique(table.columns if names is None else names)
        raise


def _unwrap_series(series: Any) -> Any:
    """Return a series, or an array of its cells if narwhals cannot use its dtype."""
    dtype = getattr(series.to_native(), "dtype", None)
    # narwhals would guess that a column of objects is text.
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return series.to_numpy()
    if hasattr(dtype, "pyarrow_dtype"):  # narwhals reads pyarrow's own columns better
        table = nw.from_native(series.to_frame().to_arrow(), eager_only=True)
        series = next(iter(table.iter_columns()))
    held: Any = series.to_native()
    if series.implementation.is_pyarrow():
        pa = import_module("pyarrow")
        if pa.types.is_run_end_encoded(held.type):
            held = import_module("pyarrow.compute").run_end_decode(held)
        if pa.types.is_string_view(held.type):
            held = held.cast(pa.string())  # arrow cannot filter views yet
        series = nw.from_native(held, series_only=True).alias(series.name)
    # numpy has no type for such cells, or arrow cannot convert to it.
    odd = isinstance(series.dtype, nw.Unknown) and series.implementation.is_pyarrow()
    if odd or isinstance(series.dtype, _BY_CELL):
        try:
            return np.fromiter(series.to_list(), object)
        except OverflowError:
            raise ValueError(
                f"column {series.name!r} holds dates beyond the year 9999 as "
                f"{series.to_native().type}; cast it to timestamp('s')."
            ) from None
    return series


def drop_zone(series: nw.Series[Any]) -> nw.Series[Any]:
    """Convert a column of arrow to UTC, without a time zone; return others unchanged.

    Arrow cannot convert times in an unknown zone, nor in years that Python lacks.
    """
    held: Any = series.to_native()
    if not series.implementation.is_pyarrow():
        return series
    plain = import_module("pyarrow").timestamp(held.type.unit)
    return nw.from_native(held.cast(plain), series_only=True)


def _split_rows(rows: Sequence[Any]) -> list[_Array]:
    """Split a list of rows into columns of Python objects; raise for uneven rows."""
    if not rows or not set(map(type, rows)) <= {list, tuple}:
        rows = [_check_row(i, row, len(rows)) for i, row in enumerate(rows)]
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise ValueError(
            f"The rows have different lengths, {min(widths)} to {max(widths)} cells; "
            "make them equally long, with None for a missing cell."
        )
    # A tuple in a row counts as a cell, so that the error names its column.
    first = rows[0][0] if widths - {0} else None
    deeper = (1,) if _is_nest(first) and not isinstance(first, tuple) else ()
    _check_shape((len(rows), *widths, *deeper))
    # As objects, because numpy would turn numbers next to text into text.
    return [np.fromiter(cells, object) for cells in zip(*rows, strict=True)]


def _is_nest(item: Any) -> bool:
    """Whether an item of a list can be a row: a list, a tuple, or an array, not 0-d."""
    return isinstance(item, list | tuple) or (
        isinstance(item, np.ndarray) and item.ndim > 0
    )


def _check_row(i: int, row: Any, n_rows: int) -> Any:
    """Return an item of a list of rows; raise an error unless it is a row."""
    if _is_nest(row):
        return row
    if isinstance(row, str | bytes | np.ndarray) or not isinstance(row, Sized):
        _check_shape((n_rows,))
    raise TypeError(
        f"Row {i} is a {type(row).__name__}; make a data frame of the rows, e.g. with "
        "pandas.DataFrame(...), or make each row a list of cells."
    )


def _split_array(table: Any) -> list[_Array]:
    """Split an object with `__array__` into columns; raise ValueError for infinity."""
    masked = np.ma.isMaskedArray(table)
    array = np.ma.getdata(table) if masked else np.asarray(table)
    if array.dtype.names is not None:
        raise TypeError(
            "The array is structured, with the fields "
            f"{listed(array.dtype.names, _MOST)}; convert it to a data frame first, "
            "e.g. with pandas.DataFrame(...)."
        )
    _check_shape(array.shape)
    array = narrow_floats(array)
    if masked:
        missing = {"f": np.nan, "c": np.nan, "m": "NaT", "M": "NaT"}.get(
            array.dtype.kind
        )
        # Integers, booleans and text cannot represent a missing cell.
        array = array.astype(array.dtype if missing else object)
        array[np.ma.getmaskarray(table)] = missing
    if array.dtype.kind == "f":
        places = [f"column {j}" for j in range(array.shape[1])]
        # Blocks of rows need no large mask, and read row-major memory only once.
        step = max(1, _BLOCK // len(places))
        for start in range(0, len(array), step):
            check_finite(array[start : start + step], places)
    return list(array.T)


def _check_shape(shape: tuple[int, ...]) -> None:
    """Raise ValueError, in scikit-learn's words, unless there are rows and columns."""
    if len(shape) < 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array instead. Reshape your data "
            "either using array.reshape(-1, 1) if your data has a single feature or "
            "array.reshape(1, -1) if it contains a single sample."
        )
    if len(shape) > 2:
        raise ValueError(
            f"Found array with dim {len(shape)}, expected <= 2; make each sample one "
            "row of cells, e.g. with array.reshape(len(array), -1)."
        )
    if 0 in shape:
        what, part = (("sample", "row"), ("feature", "column"))[shape.index(0)]
        raise ValueError(
            f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is "
            f"required; pass a table with a {part}, or check what removed every {part}."
        )


def _check_unique(names: Iterable[Any]) -> None:
    """Raise ValueError if several columns have the same name."""
    counts = Counter(map(str, names))
    repeated = [f"{name!r} {n} times" for name, n in counts.items() if n > 1]
    if repeated:
        raise ValueError(
            f"The column names are not unique: {', '.join(repeated[:_MOST])}; "
            "rename or drop one of each (1 and '1' count as the same name)."
        )
