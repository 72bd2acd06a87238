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

from .._bin_names import write_moment
from .._coded import CodedTable
from .._far_values import find_usual
from .._shared.wording import counted, write_plain
from .._table.columns import Column

_Floats: TypeAlias = NDArray[np.float64]
_NO_YES = ("no", "yes")
_KINDS = {"dates": "date", "durations": "duration"}

_MAX_LENGTH = 120  # characters of a cell or a name
_MARK = "\N{REPLACEMENT CHARACTER}"
_DIRECTION_MARKS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_BLANK = "\N{OPEN BOX}"
# Blanks that a page would not show, or not tell from a single one between words.
_HIDDEN_BLANKS = re.compile(r"\s{2,}|^\s|\s$|[^\S ]")
# A column that reaches it has its thousands separated; not one of years.
_GROUPED = 10_000
_LONG_NUMBER = re.compile(r"(?<![\d.])\d{4,}(?![\de])")
_N_DIGITS = 5  # of a number of usual size
_MAX_DIGITS = 7  # with decimals; a number that would have more has none
_PLAIN = 1e15  # above, numbers are written with an exponent


def clean(value: Any, longest: int = _MAX_LENGTH) -> str:
    r"""Make one line of visible text, cut off if it is long.

    Examples
    --------
    >>> clean("abcdefgh", longest=5) == "abcd\u2026", clean(chr(0)) == "\ufffd"
    (True, True)
    >>> clean("two  blanks") == "two\u2423\u2423blanks"
    True
    """
    text = str(value)
    text = text if len(text) <= longest else text[: longest - 1] + "\u2026"
    text = _HIDDEN_BLANKS.sub(lambda found: _BLANK * len(found[0]), text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _MARK
        if unicodedata.category(one) in ("Cc", "Cs") or one in _DIRECTION_MARKS
        else one
        for one in text
    )


@dataclass(frozen=True)
class UsualRange:
    """The range of the usual values of a column, and the values far from it.

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
        if self.labels is not None or not len(self.known):
            return None
        known, found = np.sort(self.known), find_usual(self.known)
        first = int(np.searchsorted(known, found.far_below, "left"))
        last = int(np.searchsorted(known, found.far_above, "right"))
        low, high = float(known[first]), float(known[last - 1])
        return UsualRange(low, high, known[:first], known[last:])

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
            if not self._grouped:
                return name
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
        return self._write_number(value) + " s" * (self.kind == "duration")

    def _write_number(self, value: float) -> str:
        """Write a number like the others of the column, unless it is tiny or huge."""
        size, n_decimals = abs(value), self._n_decimals
        if size >= _PLAIN or (value and not round(value, n_decimals)):
            return f"{value:.{_N_DIGITS}g}"
        if size >= 10.0 ** (_MAX_DIGITS - n_decimals):
            n_decimals = 0
        return f"{value:{',' * self._grouped}.{n_decimals}f}"

    @cached_property
    def _grouped(self) -> bool:
        """Whether thousands are separated."""
        return bool(np.abs(self.known).max(initial=0) >= _GROUPED)

    @cached_property
    def _n_decimals(self) -> int:
        """How many decimals all numbers of the column have.

        As few as write every number in full, but no more than give the number in the
        middle five digits. A zero before the point counts as a digit.
        """
        sizes = np.abs(self.known)
        sizes = sizes[(sizes > 0) & (sizes < _PLAIN)]
        if not len(sizes):
            return 0
        size = np.floor(np.log10(np.median(sizes)))
        most = int(np.clip(_N_DIGITS - 1 - size - (size < 0), 0, 15))
        return next((n for n in range(most) if (sizes.round(n) == sizes).all()), most)


def make_display_columns(coded: CodedTable) -> list[DisplayColumn]:
    """Make the columns of a coded table ready to show.

    Examples
    --------
    >>> from proximity_kernel.kernel import fit_coded
    >>> coded = fit_coded(ProximityKernel(), [[1.5, "red"], [None, "blue"]])
    >>> for column in make_display_columns(coded):
    ...     print(column.name, column.kind, column.values, column.labels)
    x0 number [1.5 nan] None
    x1 category [1. 0.] ('blue', 'red')
    """
    return list(map(_make_display_column, coded.columns))


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
        else clean(write_plain(label) if isinstance(label, float) else label)
        for label in labels
    )
