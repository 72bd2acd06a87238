"""The missing cells of a column and what to fill in, in the types that columns hold.

Whole numbers stay whole: what is filled in is rounded. Booleans are true where more
than half is expected. Times come in the column's own type and unit.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import ColumnType

TIMES = ("dates", "durations")

_Array = NDArray[Any]


@dataclass(frozen=True)
class Gaps:
    """The missing cells of a column, and what to fill in.

    Attributes
    ----------
    type : ColumnType
    rows : ndarray of shape (n_gaps,), int64
        Of the table, rising.
    values : ndarray of shape (n_gaps,), float64 or object
        Numbers, times in seconds; labels of a categorical or an ordered one. Without
        entries where nothing was observed at fit: there is nothing to fill in.
    uncertainty : ndarray of shape (n_gaps,), float64
        Standard deviation of numbers; the chance of another label.
    means : ndarray of shape (n_gaps,), float64
        Expected numbers, whatever `values` are; without entries for labels.
    """

    type: ColumnType
    rows: NDArray[np.int64]
    values: NDArray[Any]
    uncertainty: NDArray[np.float64]
    means: NDArray[np.float64]

    @property
    def fillable(self) -> bool:
        """Whether there are gaps and values for them."""
        return len(self.values) > 0

    def as_times(self) -> _Array:
        """Make numpy's times of what is filled in, dates in UTC."""
        dtype = "M8[us]" if self.type.family == "dates" else "m8[us]"
        if self.values.dtype.kind == "f" or self.type.family == "durations":
            return count_micros(self.values.astype(np.float64), dtype)
        return np.array([np.datetime64(text) for text in self.values.tolist()])

    def as_numbers(self, dtype: np.dtype[Any]) -> _Array:
        """Make numbers of a dtype: rounded to whole ones, within its range."""
        if dtype.kind == "b":
            labels = self.type.has_labels
            return self.values.astype(bool) if labels else self.means > 0.5
        if dtype.kind not in "iu":
            return self.values.astype(np.float64).astype(dtype)
        limits = np.iinfo(dtype)
        # Python's integers: floats have none of the largest.
        whole = [round(value) for value in self.values.tolist()]
        return np.array([min(max(n, limits.min), limits.max) for n in whole], dtype)

    def as_cells(self, cells: Sequence[Any]) -> _Array:
        """Make Python objects like the known ones of a column's cells."""
        known = known_cells(cells, self.rows)
        example, types = next(iter(known), None), set(map(type, known))
        made: list[Any] = self.values.tolist()
        if self.type.family in TIMES and not isinstance(example, str):
            made = [_like_time(moment, example) for moment in self.as_times()]
        elif self.values.dtype.kind == "O" or not types:
            pass
        elif types <= {bool, np.bool_}:
            made = [mean > 0.5 for mean in self.means.tolist()]
        elif all(issubclass(one, int | np.integer) for one in types):
            made = [round(value) for value in made]
        elif isinstance(example, Decimal):
            made = [Decimal(repr(value)) for value in made]
        return np.fromiter(made, object, len(made))


def known_cells(cells: Sequence[Any], gaps: _Array) -> list[Any]:
    """List the cells of a column that are no gaps."""
    missing = set(gaps.tolist())
    return [cell for i, cell in enumerate(cells) if i not in missing]


def count_micros(seconds: _Array, dtype: str) -> _Array:
    """Make microseconds of seconds, NaT of NaN."""
    return np.round(seconds * 1e6).astype(dtype)


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
