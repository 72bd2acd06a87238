"""The missing cells of a column and their values, in the type of the column.

Values for a column of whole numbers are rounded. Booleans are true if the expected
value is above one half. Times have the type and unit of the column.
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
    """The missing cells of a column, and the values to fill in.

    Attributes
    ----------
    type : ColumnType
    rows : ndarray of shape (n_gaps,), int64
        Rows of the table with a missing cell, ascending.
    values : ndarray of shape (n_gaps,), float64 or object
        Numbers, times in seconds, or labels of a categorical, ordered or not. Empty if
        nothing was observed at fit, since there is nothing to fill in.
    uncertainty : ndarray of shape (n_gaps,), float64
        Standard deviation of numbers; the probability of any other label.
    means : ndarray of shape (n_gaps,), float64
        Expected numbers, even if `values` are others; empty for labels.
    """

    type: ColumnType
    rows: NDArray[np.int64]
    values: NDArray[Any]
    uncertainty: NDArray[np.float64]
    means: NDArray[np.float64]

    @property
    def fillable(self) -> bool:
        """Whether there are missing cells and values for them."""
        return len(self.values) > 0

    def as_times(self) -> _Array:
        """Convert the values to numpy times; dates are in UTC."""
        dtype = "M8[us]" if self.type.family == "dates" else "m8[us]"
        if self.values.dtype.kind == "f" or self.type.family == "durations":
            return count_micros(self.values.astype(np.float64), dtype)
        return np.array([np.datetime64(text) for text in self.values.tolist()])

    def as_numbers(self, dtype: np.dtype[Any]) -> _Array:
        """Convert the values to a dtype: within its range, and rounded if whole."""
        if dtype.kind == "b":
            labels = self.type.has_labels
            return self.values.astype(bool) if labels else self.means > 0.5
        if dtype.kind not in "iu":
            return self.values.astype(np.float64).astype(dtype)
        limits = np.iinfo(dtype)
        # As Python integers, because floats cannot represent the largest.
        whole = [round(value) for value in self.values.tolist()]
        return np.array([min(max(n, limits.min), limits.max) for n in whole], dtype)

    def as_cells(self, cells: Sequence[Any]) -> _Array:
        """Convert the values to Python objects like the observed cells of a column."""
        missing = set(self.rows.tolist())
        known = [cell for i, cell in enumerate(cells) if i not in missing]
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


def count_micros(seconds: _Array, dtype: str) -> _Array:
    """Convert seconds to microseconds, and NaN to NaT."""
    return np.round(seconds * 1e6).astype(dtype)


def _like_time(moment: Any, example: Any) -> Any:
    """Convert a time to the type of the example: of numpy, pandas or Python."""
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
