"""A table of any make in, columns that can be shown out.

What a column means is the kernel's decision and is asked of it; here the values are
only brought into a form that can be counted and written. A shown column is floats in
which NaN is missing: numbers, dates and durations in seconds, or indices of labels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from ._text import clean, count, moment, number

_Floats: TypeAlias = NDArray[np.float64]
_YES_NO = ("no", "yes")
_LONG_NUMBER = re.compile(r"(?<![\d.])\d{5,}(?![\de])")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Shown:
    """A column as the report shows it.

    Attributes
    ----------
    name : str
    kind : str
        "number", "date", "duration", "yes or no", "ordered", "category" or "empty".
    values : ndarray of shape (n_samples,), float64
        NaN is missing; an index of `labels` where there are some.
    labels : tuple of str or None
        Of a column that is not measured; ordered ones from the lowest.
    """

    name: str
    kind: str
    values: _Floats
    labels: tuple[str, ...] | None = None

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each cell is missing, shape (n_samples,)."""
        return np.isnan(self.values)

    def say_bin(self, words: str) -> str:
        """Say the words for a bin as the column's values are written."""
        if self.kind == "number":
            return _LONG_NUMBER.sub(lambda found: count(int(found[0])), words)
        if self.kind != "yes or no":
            return clean(words)
        if words == "0" or words.startswith("up to"):
            return "no"
        return "yes" if words == "1" or words.startswith("above") else words

    def write(self, value: float) -> str:
        """Write one value of the column."""
        if self.labels is not None:
            return self.labels[int(value)]
        if self.kind == "date":
            return moment(value)
        return f"{number(value)} s" if self.kind == "duration" else number(value)


def read_shown(table: Any, kernel: ProximityKernel) -> list[Shown]:
    """Read a table that the kernel has accepted.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    kernel : ProximityKernel
        Fitted: it tells numeric columns from categorical ones.

    Returns
    -------
    list of Shown

    Examples
    --------
    >>> table = [[1.5, "red"], [None, "blue"]]
    >>> for column in read_shown(table, ProximityKernel().fit(table)):
    ...     print(column.name, column.kind, column.values, column.labels)
    x0 number [1.5 nan] None
    x1 category [1. 0.] ('blue', 'red')
    """
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    names: list[Any]
    held: list[Any]
    if isinstance(frame, nw.DataFrame):
        names, held = list(frame.columns), list(frame.iter_columns())
    else:
        held = _split(table)
        names = [f"x{j}" for j in range(len(held))]
    return [
        _read_column(clean(name), column, numeric=centers is not None)
        for name, column, centers in zip(names, held, kernel.bin_centers_, strict=True)
    ]


def take_rows(table: Any, rows: Sequence[int] | NDArray[np.int64]) -> Any:
    """Take some rows of a table, as a table of the same make.

    Examples
    --------
    >>> take_rows([[1, "a"], [2, "b"], [3, "c"]], [2, 0])
    [[3, 'c'], [1, 'a']]
    """
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[np.asarray(rows)].to_native()
    if isinstance(table, list | tuple):
        return [table[i] for i in rows]
    return (table if np.ma.isMaskedArray(table) else np.asarray(table))[rows]


def count_rows(table: Any) -> int:
    """Count the rows of a table."""
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame) or isinstance(table, list | tuple):
        return len(frame)
    if np.ndim(table) != 2:
        raise ValueError(
            "table must be a data frame, a 2D array or a list of rows, got "
            f"{type(table).__name__}."
        )
    return int(np.shape(table)[0])


def _split(table: Any) -> list[Any]:
    if isinstance(table, list | tuple):
        return [list(cells) for cells in zip(*table, strict=True)]
    if np.ma.isMaskedArray(table):
        cells = np.ma.getdata(table).astype(object)
        cells[np.ma.getmaskarray(table)] = None
        table = cells
    return list(np.asarray(table).T)


def _read_column(name: str, held: Any, numeric: bool) -> Shown:
    kind, values, labels = _read_values(held, numeric)
    if np.isnan(values).all():
        return Shown(name, "empty", values)
    if numeric:
        return Shown(name, kind, values, labels)
    if labels is None:  # numbers that were named as categories
        used, places = np.unique(values, return_inverse=True)
        labels = tuple(number(one) for one in used[~np.isnan(used)])
        values = np.where(np.isnan(values), np.nan, places)
    return Shown(name, "category", values, labels)


def _read_values(
    held: Any, numeric: bool
) -> tuple[str, _Floats, tuple[str, ...] | None]:
    """Find the quickest way that serves: by the dtype, else cell after cell."""
    if isinstance(held, nw.Series):
        dtype: Any = held.dtype
        if dtype.is_numeric():
            return "number", _as_floats(held), None
        if dtype == nw.Boolean:
            return "yes or no", _as_floats(held), _YES_NO
        if isinstance(dtype, nw.Datetime):
            return _read_moments(held, numeric)
        if isinstance(dtype, nw.Categorical | nw.Enum):
            order = held.cat.get_categories().to_list()
            return "ordered", *_index(held.to_list(), order)
        return _read_cells(held.to_list(), numeric)
    array = np.asarray(held, dtype=object) if isinstance(held, list) else held
    if array.dtype.kind in "fiu":
        return "number", array.astype(np.float64), None
    if array.dtype.kind == "b":
        return "yes or no", array.astype(np.float64), _YES_NO
    return _read_cells(array.tolist(), numeric)


def _as_floats(held: nw.Series[Any]) -> _Floats:
    values = held.cast(nw.Float64).to_numpy()
    return np.asarray(values, dtype=np.float64)


def _read_moments(
    held: nw.Series[Any], numeric: bool
) -> tuple[str, _Floats, tuple[str, ...] | None]:
    if not numeric:
        return _read_cells(held.to_list(), numeric)
    return "date", _as_floats(held.dt.timestamp("us")) / 1e6, None


def _read_cells(
    cells: list[Any], numeric: bool
) -> tuple[str, _Floats, tuple[str, ...] | None]:
    known = [cell for cell in cells if not _is_missing(cell)]
    if not known:
        return "empty", np.full(len(cells), np.nan), None
    if not numeric:
        return "category", *_index(cells, sorted({str(cell) for cell in known}))
    if all(isinstance(cell, bool | np.bool_) for cell in known):
        return "yes or no", _each(cells, float), _YES_NO
    if isinstance(known[0], date | np.datetime64):
        return "date", _each(cells, _since_epoch), None
    if isinstance(known[0], timedelta | np.timedelta64):
        return "duration", _each(cells, _last), None
    return "number", _each(cells, float), None


def _is_missing(cell: Any) -> bool:
    if cell is None or cell is np.ma.masked:
        return True
    try:
        return bool(cell != cell)
    except TypeError:  # pandas' NA is neither equal nor different
        return True


def _each(cells: list[Any], read: Any) -> _Floats:
    return np.array([np.nan if _is_missing(one) else read(one) for one in cells])


def _index(cells: list[Any], order: list[Any]) -> tuple[_Floats, tuple[str, ...]]:
    """Tell the place of each cell in `order`, by its text."""
    places = {str(label): float(k) for k, label in enumerate(order)}
    values = [
        np.nan if _is_missing(cell) else places.get(str(cell), np.nan) for cell in cells
    ]
    return np.array(values), tuple(clean(label) for label in order)


def _since_epoch(cell: Any) -> float:
    if isinstance(cell, np.datetime64):
        return float(cell.astype("datetime64[us]").astype(np.int64)) / 1e6
    if not isinstance(cell, datetime):
        cell = datetime.combine(cell, time())
    aware = cell if cell.tzinfo is not None else cell.replace(tzinfo=UTC)
    return float((aware - _EPOCH).total_seconds())


def _last(cell: Any) -> float:
    if isinstance(cell, np.timedelta64):
        return float(cell / np.timedelta64(1, "s"))
    return float(cell.total_seconds())
