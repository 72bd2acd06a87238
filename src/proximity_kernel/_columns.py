"""A table in, typed columns out: the one door where values are validated.

People hold the same table in many ways: a pandas, polars or pyarrow frame, a
numpy array, a list of lists. Behind this door there are only two kinds of column:

- *numeric*, a float64 array in which NaN is missing: numbers, booleans as 0
  and 1, dates and durations in seconds, ordered categoricals by their rank;
- *categorical*, an int32 array of indices into sorted labels in which -1 is
  missing: text, unordered categoricals, whatever `categorical_features` names.

A frame's dtype tells the kind. Where it says nothing (object columns, lists) the
observed cells tell it, and cells that disagree are an error, as infinity is: met
here, or taken for data later. A later table has to agree with the types learnt from
the first one, but a text column that is all missing in one batch arrives as floats:
a column with nothing observed agrees with any type.
"""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from reprlib import repr as short
from typing import Any, Literal, NoReturn, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

Kind = Literal["numeric", "categorical"]
_Array: TypeAlias = NDArray[Any]
_Labels: TypeAlias = tuple[Hashable, ...]

# pandas' NA and NaT are known by the names of their types: pandas stays out.
_MISSING = frozenset({"NoneType", "NAType", "NaTType"})
# What cells may be, with numpy's type for it. The first that fits: timedelta64 also
# passes for a number.
_FAMILIES: dict[str, tuple[str, tuple[type, ...]]] = {
    "text": ("O", (str,)),
    "durations": ("m8[us]", (dt.timedelta, np.timedelta64)),
    "dates": ("M8[us]", (dt.date, np.datetime64)),
    "numbers": ("f8", (numbers.Real, Decimal, np.bool_)),
    "complex": ("c16", (numbers.Complex,)),
}
_BY_CELL = nw.List | nw.Array | nw.Struct | nw.Binary | nw.Time | nw.Int128 | nw.UInt128


@dataclass(frozen=True)
class ColumnType:
    """What a later table must agree with."""

    name: str  # the frame's column name, or "x3" for the one at index 3 of an array
    kind: Kind
    order: _Labels | None = None  # of an ordered categorical, lowest label first


@dataclass(frozen=True)
class Column:
    """One column of a table, all that the later steps know of it.

    `values` has shape (n_samples,). Numeric: float64, NaN is missing; perhaps a view
    of the caller's memory, so never written to. Categorical: int32, the index into
    `labels` (the distinct observed labels, sorted), -1 is missing.
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
    held, names = _split_table(table)
    if fitted is not None and len(fitted) != len(held):
        raise ValueError(f"Found {len(held)} features, but {len(fitted)} were fitted.")
    # An array may follow a fitted frame: its columns then answer to those names.
    known = names or [fit.name for fit in fitted or ()]
    named = _named_columns(categorical_features, known, len(held))
    columns = []
    for j, values in enumerate(held):
        name = names[j] if names else f"x{j}"
        place = f"column {name!r}" if names else f"column {j}"
        read = _read_series if isinstance(values, nw.Series) else _read_array
        column = read(values, _Header(name, place, j in named))
        columns.append(column if fitted is None else _agree(column, fitted[j], place))
    return tuple(columns)


@dataclass(frozen=True)
class _Header:
    """What is known of a column before its values are looked at."""

    name: str
    place: str  # how messages call it
    named: bool  # listed in categorical_features

    def categorical(self, codes: _Array, labels: Iterable[Hashable]) -> Column:
        values = np.asarray(codes, dtype=np.int32)
        return Column(ColumnType(self.name, "categorical"), values, tuple(labels))

    def refuse(self, found: dict[str, Any]) -> NoReturn:
        # "argument must be ..." is asked for by scikit-learn's estimator checks.
        kinds, cells = " and ".join(found), " and ".join(map(short, found.values()))
        raise TypeError(
            f"{self.place} holds {kinds}, for example {cells}; argument must be a "
            "string, number or date, alike: convert it to one type, e.g. astype(str)."
        )


def _check_finite(values: _Array, places: Sequence[str]) -> None:
    """Refuse infinity in an array of one column for each place."""
    if values.dtype.kind == "f" and (infinite := np.isinf(values)).any():
        place = places[int(infinite.reshape(-1, len(places)).any(0).argmax())]
        raise ValueError(
            f"{place} contains infinity (inf) or a value too large for float64; "
            "replace it by a finite number, or by NaN if it is missing."
        )


def _split_table(table: Any) -> tuple[list[Any], list[str] | None]:
    """Take the columns as they are held, and the names if the table is a frame."""
    # narwhals refuses duplicate column names, with a ValueError that names them.
    frame = nw.from_native(table, pass_through=True, allow_series=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("The table is lazy; call .collect() on it first.")
    if isinstance(frame, nw.Series):
        _check_shape((len(frame),))
    if isinstance(frame, nw.DataFrame):
        _check_shape(frame.shape)
        return list(frame.iter_columns()), [str(name) for name in frame.columns]
    if hasattr(table, "tocsr"):
        raise TypeError("The table is sparse; make it dense with .toarray() first.")
    if isinstance(table, list | tuple):
        return _split_rows(table), None
    if hasattr(table, "__array__"):
        return _split_array(table), None
    got = type(table).__name__
    raise TypeError(f"Expected a data frame, a 2D array or a list of rows, got {got}.")


def _split_rows(rows: Sequence[Any]) -> list[_Array]:
    nests = (list, tuple, np.ndarray)
    if not rows or not all(isinstance(row, nests) for row in rows):
        _check_shape((len(rows),))
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise ValueError(f"The rows are ragged, {widths} cells long; make them equal.")
    deeper = (1,) if widths != {0} and isinstance(rows[0][0], nests) else ()
    _check_shape((len(rows), *widths, *deeper))
    # Object cells: numpy would turn the numbers beside a text into text.
    return [np.fromiter(cells, object) for cells in zip(*rows, strict=True)]


def _split_array(table: Any) -> list[_Array]:
    if np.ma.isMaskedArray(table):
        table = np.array(table.tolist(), dtype=object)  # a masked cell becomes None
    array = np.asarray(table)
    _check_shape(array.shape)
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):  # a longdouble too large becomes infinity
            array = array.astype(np.float64) if array.itemsize > 8 else array
        places = [f"column {j}" for j in range(array.shape[1])]
        # Blocks of rows need no large mask, and read row-major memory only once.
        step = max(1, 65536 // len(places))
        for start in range(0, len(array), step):
            _check_finite(array[start : start + step], places)
    return list(array.T)


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) < 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array instead. Reshape your data "
            "either using array.reshape(-1, 1) if your data has a single feature or "
            "array.reshape(1, -1) if it contains a single sample."
        )
    if len(shape) > 2:
        raise ValueError(f"Found array with dim {len(shape)}, expected <= 2.")
    if 0 in shape:
        what = ("sample", "feature")[shape.index(0)]
        found = f"Found array with 0 {what}(s) (shape={shape})"
        raise ValueError(f"{found} while a minimum of 1 is required.")


def _named_columns(asked: Any, names: Sequence[str], n_features: int) -> set[int]:
    """Resolve `categorical_features` to column indices."""
    if asked is None or (isinstance(asked, str) and asked == "from_dtype"):
        return set()
    listed = np.iterable(asked) and not isinstance(asked, str)
    items = [_plain(item) for item in asked] if listed else []
    types, wrong = {type(item) for item in items}, asked
    if types == {bool} and len(items) == n_features:
        return {j for j, item in enumerate(items) if item}
    if listed and (types <= {int} or types <= {str}):
        index = {name: j for j, name in enumerate(names)}
        found = {item: index.get(item, item) for item in items}
        wrong = [item for item, j in found.items() if j not in range(n_features)]
        if not wrong:
            return set(found.values())
    raise ValueError(
        f"categorical_features must be 'from_dtype' or a list: {n_features} booleans, "
        f"indices below {n_features}, or names of a frame's columns; got {wrong!r}."
    )


def _read_series(series: nw.Series[Any], header: _Header) -> Column:
    held = getattr(series.to_native(), "dtype", None)
    if isinstance(held, np.dtype) and held.kind == "O":  # narwhals guesses text
        return _read_cells(series.to_numpy(), header)
    if hasattr(held, "pyarrow_dtype"):  # pandas' arrow columns lack methods here
        table = nw.from_native(series.to_frame().to_arrow(), eager_only=True)
        series = next(iter(table.iter_columns()))
    dtype = series.dtype
    if isinstance(dtype, nw.Categorical | nw.Enum | nw.String):
        return _read_labels(series, header)
    if isinstance(dtype, _BY_CELL):  # numpy has no such type
        return _read_cells(np.fromiter(series.to_list(), object), header)
    if header.named and (dtype.is_integer() or dtype == nw.Boolean):
        # Not by floats, as integers beside nulls would be: they lose digits.
        observed = ~series.is_null().to_numpy().astype(bool)
        return _label_numbers(series.drop_nulls().to_numpy(), observed, header)
    if isinstance(dtype, nw.Boolean | nw.Decimal):
        series = series.cast(nw.Float64)
    values = series.to_numpy()
    _check_finite(values, [header.place])
    return _read_array(values, header)


def _read_labels(series: nw.Series[Any], header: _Header) -> Column:
    """Encode in the frame's own library: the cells do not become Python objects."""
    if str(getattr(series.to_native(), "type", "")) == "string_view":
        series = series.cast(nw.String)  # arrow cannot filter views yet
    # An old polars says of any Categorical that it is ordered: as first seen.
    ordered = isinstance(series.dtype, nw.Enum) or (
        series.implementation.is_pyarrow() and nw.is_ordered_categorical(series)
    )
    if ordered and not header.named:
        labels = series.cat.get_categories().to_list()
    else:
        labels = series.drop_nulls().unique().to_list()
        try:
            labels = sorted(label for label in labels if _plain(label) is not None)
        except TypeError:
            header.refuse(_examples(labels))
    codes = np.full(len(series), -1)
    if labels:
        new = range(len(labels))
        coded = series.replace_strict(labels, new, default=-1, return_dtype=nw.Int32)
        codes = coded.to_numpy()
    if header.named or not ordered:
        return header.categorical(codes, labels)
    found = ColumnType(header.name, "numeric", tuple(labels))
    return Column(found, np.where(codes < 0, np.nan, codes))


def _read_array(values: _Array, header: _Header) -> Column:
    kind = values.dtype.kind
    if kind in "SUT" and not header.named:
        raise TypeError(
            f"{header.place} is in an array of text, which hides numbers and missing "
            "values; pass an array with dtype=object or a data frame, or name every "
            "column in categorical_features."
        )
    if kind in "OSUT":
        cells = np.char.decode(values, "utf-8") if kind == "S" else values
        return _read_cells(cells.astype(object, copy=False), header)
    if kind == "c":
        raise ValueError(f"Complex data not supported: {header.place}.")
    if kind not in "biufmM":
        header.refuse({f"dtype {values.dtype}": values[0]})
    if kind in "mM":
        since = values - np.datetime64(0, "s") if kind == "M" else values
        values = since / np.timedelta64(1, "s")
    if not header.named:
        floats = np.asarray(values, dtype=np.float64)
        return Column(ColumnType(header.name, "numeric"), floats)
    observed = ~np.isnan(values)
    return _label_numbers(values[observed], observed, header)


def _label_numbers(present: _Array, observed: _Array, header: _Header) -> Column:
    labels, codes = np.unique(present, return_inverse=True)
    values = np.full(len(observed), -1, dtype=np.int32)
    values[observed] = codes
    return header.categorical(values, labels.tolist())


def _read_cells(cells: _Array, header: _Header) -> Column:
    """Read a column of Python objects by what the observed ones are."""
    found = _examples(cells)
    if len(found) > 1 or not found.keys() <= _FAMILIES.keys():
        header.refuse(found)
    family = next(iter(found), "numbers")
    if family != "text":
        ready = set(map(type, cells)) <= {int, float, bool, type(None)}  # for numpy
        held = cells if ready else np.fromiter(map(_plain, cells), object)
        try:
            values = held.astype(_FAMILIES[family][0])
        except OverflowError:  # an int too large for float64
            values = np.array([np.inf])
        _check_finite(values, [header.place])
        if family != "numbers" or not header.named:
            return _read_array(values, header)
    plain = {cell: _plain(cell) for cell in set(cells)}
    labels = sorted(set(plain.values()) - {None})
    index = {None: -1} | {label: k for k, label in enumerate(labels)}
    code = {cell: index[label] for cell, label in plain.items()}
    codes = np.fromiter(map(code.__getitem__, cells), np.int32, len(cells))
    return header.categorical(codes, labels)


def _examples(cells: Collection[Any]) -> dict[str, Any]:
    """One observed value of each family of types among the cells."""
    found: dict[str, Any] = {}
    for held in sorted(set(map(type, cells)), key=str):
        fits = (name for name, (_, t) in _FAMILIES.items() if issubclass(held, t))
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
    may_be_nan = isinstance(cell, np.generic | float | Decimal)
    if type(cell).__name__ in _MISSING or (may_be_nan and cell != cell):
        return None
    if isinstance(cell, np.number | np.bool_ | np.str_) and cell.dtype.kind != "m":
        return cell.item()
    if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        return cell.astimezone(dt.UTC).replace(tzinfo=None)
    return float(cell) if isinstance(cell, Decimal) else cell


def _agree(column: Column, fitted: ColumnType, place: str) -> Column:
    """Give the column its fitted type, or say why it cannot have it."""
    found = column.type
    if (found.kind, found.order) == (fitted.kind, fitted.order):
        return replace(column, type=fitted)
    observed, labels = column.observed, found.order or column.labels
    if not observed.any():
        nothing = np.nan if fitted.kind == "numeric" else np.int32(-1)
        return Column(fitted, np.full(len(observed), nothing))
    if fitted.order is None or not labels:
        was, now = (t.kind if t.order is None else "ordered" for t in (fitted, found))
        raise ValueError(
            f"{place} was {was} when fitted and is {now} now; convert it to what was "
            "fitted, or fit again (categorical_features makes numbers categorical)."
        )
    order, codes = fitted.order, column.values[observed].astype(np.intp)
    if lost := [labels[k] for k in np.unique(codes) if labels[k] not in order]:
        raise ValueError(
            f"{place} has labels without a rank in the fitted order {order}: {lost}; "
            "replace them by labels of that order, or fit again."
        )
    ranks = [order.index(label) if label in order else -1 for label in labels]
    values = np.full(len(observed), np.nan)
    values[observed] = np.array(ranks)[codes]
    return Column(fitted, values)
