"""A table in, columns that the page can show out.

The table is read as the kernel reads it (`_table.columns`). A display column adds how
values are written: it is floats in which NaN is missing, and which are numbers, dates
and durations in seconds, or indices of labels. Names and cells may hold any text, so
invisible characters, and those that change the direction of writing, are replaced by a
visible mark here. HTML is escaped where the page is rendered.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from .._bins.bin_names import write_moment
from .._shared.wording import counted
from .._table.columns import Column, read_columns

_Floats: TypeAlias = NDArray[np.float64]
_NO_YES = ("no", "yes")
_KINDS = {"dates": "date", "durations": "duration"}

_MAX_LENGTH = 120  # characters of a cell or a name
_MARK = "\N{REPLACEMENT CHARACTER}"
_DIRECTION_MARKS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_GROUPED = 10_000  # from which on thousands are separated: 2008 may be a year
_LONG_NUMBER = re.compile(r"(?<![\d.])\d{5,}(?![\de])")

# A number is far if it lies outside of the quartiles by several times their distance,
# and if the gap to the others is wider than the range of these: a long tail is not far.
_N_DISTANCES = 6.0
_MIN_VALUES = 20  # from which on values can be far
_MAX_SHARE = 0.05  # of the values that can be far
_QUANTILES = (0.25, 0.1, 0.05)  # the next pair is used if a pair is equal


def clean(value: Any, longest: int = _MAX_LENGTH) -> str:
    r"""Make one line of visible text, cut off if it is long.

    Examples
    --------
    >>> clean("abcdefgh", longest=5) == "abcd\u2026", clean(chr(0)) == "\ufffd"
    (True, True)
    """
    text = str(value)
    text = text if len(text) <= longest else text[: longest - 1] + "\u2026"
    if text.isascii() and text.isprintable():
        return text
    text = " ".join(text.split()) if any(map(str.isspace, text)) else text
    return "".join(
        _MARK
        if unicodedata.category(one) in ("Cc", "Cs") or one in _DIRECTION_MARKS
        else one
        for one in text
    )


def write_number(value: float) -> str:
    """Write a number with five significant digits; a whole number with all of them.

    Examples
    --------
    >>> write_number(2008.0), write_number(3.14159265), write_number(1234567.0)
    ('2008', '3.1416', '1,234,567')
    """
    grouped = "," if abs(value) >= _GROUPED else ""
    if abs(value) < 1e15 and (grouped or value == round(value)):
        return f"{round(value):{grouped}}"
    return f"{value:.5g}"


@dataclass(frozen=True)
class UsualRange:
    """The range of most values of a column, and the values far outside.

    Attributes
    ----------
    low, high : float
        Ends of the range.
    below, above : ndarray, float64
        The far values, sorted.
    """

    low: float
    high: float
    below: _Floats
    above: _Floats


def find_usual_range(known: _Floats) -> UsualRange:
    """Separate far values from the others.

    Parameters
    ----------
    known : ndarray of shape (n,), float64
        Observed values: at least one, all finite.

    Returns
    -------
    UsualRange

    Examples
    --------
    >>> found = find_usual_range(np.array([*range(100), 990_000.0]))
    >>> found.low, found.high, found.above
    (0.0, 99.0, array([990000.]))
    """
    known = np.sort(known)
    # Scaled: the difference of the ends may be too large for a float.
    scaled = known / max(abs(known[0]), abs(known[-1]), np.finfo(float).tiny)
    first, last = 0, len(known)
    pairs = (np.quantile(scaled, [part, 1 - part]) for part in _QUANTILES)
    low, high = next((pair for pair in pairs if pair[1] > pair[0]), (0.0, 0.0))
    if last >= _MIN_VALUES and high > low:
        reach = _N_DISTANCES * (high - low)
        first = int(np.searchsorted(scaled, low - reach, "left"))
        last = int(np.searchsorted(scaled, high + reach, "right"))
        span = scaled[last - 1] - scaled[first]
        if first and scaled[first] - scaled[first - 1] <= span:
            first = 0
        if last < len(known) and scaled[last] - scaled[last - 1] <= span:
            last = len(known)
        if first + len(known) - last > _MAX_SHARE * len(known):
            first, last = 0, len(known)
    return UsualRange(
        float(known[first]), float(known[last - 1]), known[:first], known[last:]
    )


@dataclass(frozen=True)
class DisplayColumn:
    """A column as the page shows it.

    Attributes
    ----------
    name : str
    kind : str
        "number", "date", "duration", "yes or no", "ordered", "category" or "empty".
    values : ndarray of shape (n_samples,), float64
        NaN is missing; an index into `labels` if there are labels.
    labels : tuple of str or None
        Of a column that is not measured; those of an ordered one from the lowest.
    """

    name: str
    kind: str
    values: _Floats
    labels: tuple[str, ...] | None = None

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each cell is missing, shape (n_samples,)."""
        return np.isnan(self.values)

    @cached_property
    def known(self) -> _Floats:
        """The observed values."""
        return self.values[~self.missing]

    @cached_property
    def usual(self) -> UsualRange | None:
        """The range of most values, None if the column is not measured, or empty."""
        measured = self.labels is None and len(self.known)
        return find_usual_range(self.known) if measured else None

    @cached_property
    def far(self) -> list[str]:
        """What lies far from the others: a line for each end that has such values."""
        if self.usual is None:
            return []
        ends = (
            (self.usual.below, "below the others, which begin at", self.usual.low),
            (self.usual.above, "above the others, which end at", self.usual.high),
        )
        lines = []
        for far, where, end in ends:
            if len(far):
                written = dict.fromkeys([self.write(far[0]), self.write(far[-1])])
                values = f"{counted(len(far), 'value')} of {' to '.join(written)}"
                lines.append(f"{values}, far {where} {self.write(end)}")
        return lines

    def count_labels(self) -> list[tuple[int, int]]:
        """Count the labels that occur: pairs of index and count, most common first."""
        found, counts = np.unique(self.known.astype(np.int64), return_counts=True)
        order = np.argsort(-counts, kind="stable")
        pairs = zip(found[order].tolist(), counts[order].tolist(), strict=True)
        return list(pairs)

    def write_bin(self, name: str) -> str:
        """Write the name of a bin as the column's values are written."""
        if self.kind == "number":
            return _LONG_NUMBER.sub(lambda found: f"{int(found[0]):,}", name)
        if self.kind == "yes or no":
            return {"False": "no", "True": "yes"}.get(name, name)
        return clean(name)

    def write(self, value: float) -> str:
        """Write one value of the column."""
        if self.labels is not None:
            return self.labels[int(value)]
        if self.kind == "date":
            return write_moment(value).replace("T", " ")
        return write_number(value) + " s" * (self.kind == "duration")


def read_display_columns(table: Any, kernel: ProximityKernel) -> list[DisplayColumn]:
    """Read a table.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    kernel : ProximityKernel
        Fitted: its categorical features are read as such.

    Returns
    -------
    list of DisplayColumn

    Examples
    --------
    >>> table = [[1.5, "red"], [None, "blue"]]
    >>> for column in read_display_columns(table, ProximityKernel().fit(table)):
    ...     print(column.name, column.kind, column.values, column.labels)
    x0 number [1.5 nan] None
    x1 category [1. 0.] ('blue', 'red')
    """
    categorical = [categories is not None for categories in kernel.categories_]
    columns = read_columns(table, categorical_features=categorical)
    return list(map(_make_display_column, columns))


def _make_display_column(column: Column) -> DisplayColumn:
    name, observed = clean(column.type.name), column.observed
    values = np.where(observed, column.values, np.nan)
    if not observed.any():
        return DisplayColumn(name, "empty", values)
    if column.type.kind == "categorical":
        return DisplayColumn(name, "category", values, _write_labels(column.labels))
    if column.type.order is not None:
        return DisplayColumn(name, "ordered", values, _write_labels(column.type.order))
    if column.type.form == "boolean":
        return DisplayColumn(name, "yes or no", values, _NO_YES)
    return DisplayColumn(name, _KINDS.get(column.type.family, "number"), values)


def _write_labels(labels: Sequence[Any]) -> tuple[str, ...]:
    return tuple(
        _NO_YES[label]
        if isinstance(label, bool)
        else (write_number if isinstance(label, int | float) else clean)(label)
        for label in labels
    )
