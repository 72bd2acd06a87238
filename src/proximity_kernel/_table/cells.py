"""Convert Python objects to one family of plain values: numbers, labels or times.

A column of objects (from a list, an object array, or the categories of a frame) has no
dtype that tells its kind. So its observed cells do, and they must be of one family.
Numbers of numpy, pandas and Python are treated as equal, and so are times of any time
zone and unit.

Times are counted in whole nanoseconds, as Python integers, which cannot overflow. Equal
times have equal counts. The result is a float of seconds or, for a date as a label, ISO
text in UTC: "2020-01-01" at midnight, else "2020-01-01T12:00:00.5".
"""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Collection
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .tables import Header, check_finite

_Array: TypeAlias = NDArray[Any]
_Codes: TypeAlias = tuple[NDArray[np.int32], list[Any]]

NOTHING = "nothing"
"""The family of a column with nothing observed."""

# NA and NaT are recognized by the names of their types, without importing pandas. The
# last is `np.ma.masked`.
_MISSING = frozenset({"NoneType", "NAType", "NaTType", "MaskedConstant"})
# Allowed types. The first match counts, because timedelta64 is also a number.
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
    "W": 7 * _DAY,
    "D": _DAY,
    "h": 3600 * _SECOND,
    "m": 60 * _SECOND,
    "s": _SECOND,
    "ms": 10**6,
    "us": 1000,
    "ns": 1,
}
_EPOCH, _FIRST = dt.date(1970, 1, 1), dt.datetime(1970, 1, 1)


def find_family(cells: Collection[Any], header: Header, any_type: bool = False) -> str:
    """Find the family of all observed cells; refuse cells of several families.

    Parameters
    ----------
    cells : collection of objects
    header : Header
    any_type : bool
        Whether other types are allowed; their family is the name of the type.

    Returns
    -------
    str

    Examples
    --------
    >>> find_family([1, None, 2.5], Header("a", "column 'a'", False))
    'numbers'
    """
    found = examples(cells)
    known = found.keys() <= _FAMILIES.keys()
    if len(found) > 1 or "complex" in found or not (known or any_type):
        header.refuse(found)
    return next(iter(found), NOTHING)


def examples(cells: Collection[Any]) -> dict[str, Any]:
    """Find one observed value of each family of types among the cells."""
    found: dict[str, Any] = {}
    for held in sorted(set(map(type, cells)), key=str):
        fits = (name for name, types in _FAMILIES.items() if issubclass(held, types))
        family = next(fits, held.__name__)
        if family in found or family in _MISSING:
            continue
        for cell in cells:  # NaN in a text column is a float, but missing
            if type(cell) is held and _plain(cell) is not None:
                found[family] = cell
                break
    return found


def number_cells(cells: _Array, family: str, header: Header) -> NDArray[np.float64]:
    """Turn cells of a family into floats, with NaN for missing; refuse infinity.

    Parameters
    ----------
    cells : ndarray of objects
    family : {"numbers", "dates", "durations", "nothing"}
        Durations become seconds, and dates the seconds since 1970 in UTC.
    header : Header

    Returns
    -------
    ndarray of float64
    """
    if family in ("dates", "durations"):
        counts = (_count(cell, header) for cell in cells)
        seconds = (np.nan if n is None else n / _SECOND for n in counts)
        return np.fromiter(seconds, np.float64, len(cells))
    ready = set(map(type, cells)) <= {int, float, bool, type(None)}  # for numpy
    plain = cells if ready else np.fromiter(map(_plain, cells), object)
    try:
        values = plain.astype(np.float64)
    except OverflowError:  # an int too large for float64
        values = np.array([np.inf])
    check_finite(values, [header.place])
    return values


def label_cells(cells: Collection[Any], family: str, header: Header) -> _Codes:
    """Turn cells of one family into labels; equal cells have the same label.

    Parameters
    ----------
    cells : collection of objects
    family : str
    header : Header

    Returns
    -------
    codes : ndarray of int32
        The index of each cell's label, -1 if it is missing.
    labels : list
        The distinct labels, sorted; dates by time.

    Examples
    --------
    >>> header = Header("a", "column 'a'", True)
    >>> noon = dt.datetime(2020, 1, 1, 12)
    >>> label_cells([noon, None, noon.date()], "dates", header)
    (array([ 1, -1,  0], dtype=int32), ['2020-01-01', '2020-01-01T12:00:00'])
    """
    if family == "dates":  # dates of different types do not compare
        counts = [_count(cell, header) for cell in cells]
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
        cells = [_plain(cell) for cell in cells]
        known = set(cells)
    plain = {cell: _plain(cell) for cell in known}
    try:
        return _label_plain(map(plain.__getitem__, cells), plain.values())
    except TypeError:  # such as periods of different lengths
        header.refuse(examples(cells))


def name_label(label: Any, header: Header) -> Any:
    """Find the label of one cell, as in `label_cells`; None if it is missing."""
    family = next(iter(examples([label])), NOTHING)
    if family not in ("dates", "durations"):
        return _plain(label)
    return label_cells([label], family, header)[1][0]


def label_numbers(present: _Array, observed: _Array) -> _Codes:
    """Turn numbers into labels, given the observed ones and where these are."""
    labels, found = np.unique(present, return_inverse=True)
    codes = np.full(len(observed), -1, dtype=np.int32)
    codes[observed] = found
    return codes, labels.tolist()


def label_dates(dates: _Array, header: Header) -> _Codes:
    """Turn an array of numpy dates into labels, as `label_cells` does."""
    observed = ~np.isnat(dates)
    if not observed.any():  # perhaps without a unit
        return np.full(len(dates), -1, np.int32), []
    present, size, step = _measure(dates[observed], header)
    codes, counts = label_numbers(present, observed)
    return codes, [write_date(n * size * step) for n in counts]


def count_seconds(times: _Array, header: Header) -> NDArray[np.float64]:
    """Turn numpy dates (since 1970) or durations into seconds, and NaT into NaN."""
    missing = np.isnat(times)
    if missing.all():  # perhaps without a unit
        return np.full(len(times), np.nan)
    counts, size, step = _measure(times, header)
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
    """Find the index of each cell among the sorted distinct ones; None is -1."""
    labels = sorted(set(distinct) - {None})
    index = {None: -1} | {label: k for k, label in enumerate(labels)}
    return np.fromiter(map(index.__getitem__, cells), np.int32), labels


def _plain(cell: Any) -> Any:
    """Convert a cell to a plain Python value; None if missing, times unchanged."""
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
    return cell


def _count(cell: Any, header: Header) -> int | None:
    """Count a time in nanoseconds, a date since 1970 in UTC; None if it is missing."""
    cell = getattr(cell, "asm8", cell)  # pandas times are finer and have a wider range
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
    count, size, step = _measure(cell, header)
    return int(count) * size * step


def _measure(times: Any, header: Header) -> tuple[Any, int, int]:
    """Count numpy times in steps of a unit, which must have a fixed length.

    Returns
    -------
    counts : ndarray or scalar, int64
    size, step : int
        Nanoseconds per unit, and units per step.
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
    elif unit not in _UNITS:  # finer
        times, unit, step = times.astype(f"{dtype.kind}8[ns]"), "ns", 1
    return times.astype(np.int64), _UNITS[unit], step


def write_date(count: int) -> str:
    """Write nanoseconds since 1970 in ISO format, without the time at midnight."""
    days, time = divmod(count, _DAY)
    text = str(np.datetime64(days, "D"))
    if time:
        seconds, rest = divmod(time, _SECOND)
        text += f"T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        text += f".{rest:09d}".rstrip("0") if rest else ""
    return text
