"""What to fill in, in the types that a column holds: numbers, times, Python objects.

Whole numbers stay whole: what is filled in is rounded. Booleans are true where more
than half is expected. Times come in the column's own type and unit.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .gaps import Gaps

TIMES = ("dates", "durations")

_Array = NDArray[Any]


def is_plain(gaps: Gaps) -> bool:
    """Tell whether a column holds numbers or times that are not taken for labels."""
    return gaps.type.kind == "numeric" and gaps.type.order is None


def count_micros(seconds: _Array, dtype: str) -> _Array:
    """Make microseconds of seconds, NaT of NaN."""
    return np.round(seconds * 1e6).astype(dtype)


def as_times(gaps: Gaps) -> _Array:
    """Make numpy's times of what is filled in, dates in UTC."""
    dtype = "M8[us]" if gaps.type.family == "dates" else "m8[us]"
    if gaps.values.dtype.kind == "f" or gaps.type.family == "durations":
        return count_micros(gaps.values.astype(np.float64), dtype)
    return np.array([np.datetime64(text) for text in gaps.values.tolist()])


def known_cells(cells: Sequence[Any], gaps: _Array) -> list[Any]:
    """List the cells of a column that are no gaps."""
    missing = set(gaps.tolist())
    return [cell for i, cell in enumerate(cells) if i not in missing]


def as_cells(gaps: Gaps, known: Sequence[Any]) -> list[Any]:
    """Make Python objects like the known cells of the column."""
    example = known[0] if known else None
    plain: list[Any] = gaps.values.tolist()
    if gaps.type.family in TIMES and not isinstance(example, str):
        return [_like_time(moment, example) for moment in as_times(gaps)]
    if gaps.values.dtype.kind == "O":
        return plain
    types = set(map(type, known))
    if types and types <= {bool, np.bool_}:
        return [mean > 0.5 for mean in gaps.means.tolist()]
    if types and all(issubclass(one, int | np.integer) for one in types):
        return [round(value) for value in plain]
    if isinstance(example, Decimal):
        return [Decimal(repr(value)) for value in plain]
    return plain


def _like_time(moment: Any, example: Any) -> Any:
    """Make a time of the example's type: numpy's, pandas' or Python's own."""
    if isinstance(example, np.datetime64 | np.timedelta64):
        return moment.astype(example.dtype)
    if hasattr(example, "asm8"):  # pandas'
        zone = getattr(example, "tz", None)
        made = type(example)(moment)
        return made if zone is None else made.tz_localize("UTC").tz_convert(zone)
    plain = moment.astype("m8[us]" if moment.dtype.kind == "m" else "M8[us]").item()
    zone = getattr(example, "tzinfo", None)
    if zone is not None:
        return plain.replace(tzinfo=dt.UTC).astimezone(zone)
    whole_days = isinstance(example, dt.date) and not isinstance(example, dt.datetime)
    return plain.date() if whole_days else plain


def as_numbers(gaps: Gaps, dtype: np.dtype[Any]) -> _Array:
    """Make numbers of a dtype: rounded to whole ones, within its range."""
    if dtype.kind == "b":
        return gaps.means > 0.5 if is_plain(gaps) else gaps.values.astype(bool)
    if dtype.kind not in "iu":
        return gaps.values.astype(np.float64).astype(dtype)
    limits = np.iinfo(dtype)
    # Python's integers: floats have none of the largest.
    whole = [min(max(round(v), limits.min), limits.max) for v in gaps.values.tolist()]
    return np.array(whole, dtype)
