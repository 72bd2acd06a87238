"""Missing-value markers: which strings are read as missing, in which column."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .._shared.wording import listed
from .column_step import TextColumn, is_text
from .numbers import find_unit
from .schema import InColumn, InputError, ReadOptions

USUAL_MARKS = (
    "", "?", "NA", "N/A", "n/a", "na", "n.a.", "N.A.", "#N/A", "NaN", "nan", "NULL",
    "null", "<NA>", "NaT", "-", "--", ".", "k.A.", "k. A.",
)  # fmt: skip
_SIGNS = ("-", "--")  # values, in a column that also has "+"
_MAX_SIGNS = 20  # distinct strings of a column of signs


@dataclass(frozen=True)
class MissingMarks:
    """The strings that are read as missing.

    `usual` are the default markers, for every column. The option `missing` gives
    `given`, for all columns but ids, and `by_column`, for single columns.
    """

    usual: tuple[str, ...]
    given: tuple[str, ...]
    by_column: dict[str, tuple[str, ...]]

    @classmethod
    def from_options(cls, options: ReadOptions, names: list[str]) -> MissingMarks:
        """Split the option `missing` into markers for all and for single columns.

        >>> options = ReadOptions(missing=["unknown", "a,b=99", "x=1"])
        >>> MissingMarks.from_options(options, ["a", "b"]).by_column
        {'a': ('99',), 'b': ('99',)}
        """
        given: list[str] = []
        by_column: dict[str, tuple[str, ...]] = {}
        known = set(names)
        for text in options.missing:
            columns, mark = _split_mark(text, known)
            if isinstance(text, InColumn) and not columns:
                raise InputError(
                    f"`missing` {text}: there is no such column; the table has "
                    f"{listed(names, 8)}."
                )
            if not columns:
                given.append(text)
            for name in columns:
                by_column[name] = (*by_column.get(name, ()), mark)
        usual = USUAL_MARKS if options.default_missing else ("",)
        return cls(usual, tuple(given), by_column)

    @property
    def of_table(self) -> tuple[str, ...]:
        """The markers for all columns: the default markers, then the given markers."""
        return (*self.usual, *self.given)

    def of_column(self, name: str, cells: Any) -> tuple[str, ...]:
        """List the strings that are read as missing in a column.

        "-" is a value in a column that also has "+". A number in the option `missing`
        also marks that number with the column's unit: 999 marks "999 kg".
        """
        usual, own = self.usual, self.by_column.get(name, ())
        if not is_text(cells):
            return (*usual, *self.given, *own)
        texts = [str(one).strip() for one in cells.cat.categories.to_numpy()]
        if holds_plus(texts):
            usual = tuple(mark for mark in usual if mark not in _SIGNS)
        given = (*self.given, *own)
        return (*usual, *given, *_find_marks_with_unit(given, texts))

    @property
    def as_given(self) -> list[str]:
        """The markers of the option `missing`, as TEXT or COL=TEXT."""
        own = [f"{name}={m}" for name, marks in self.by_column.items() for m in marks]
        return [*self.given, *own]

    def list_found(self, texts: dict[str, TextColumn]) -> set[str]:
        """List the markers found in columns of strings, as TEXT or COL=TEXT."""
        return {
            mark if mark in self.of_table else f"{name}={mark}"
            for name, text in texts.items()
            for mark in text.marks
        }

    def list_absent(self, frame: Any, texts: dict[str, TextColumn]) -> list[str]:
        """List the markers of `as_given` that no cell has."""

        def has(name: str, mark: str) -> bool:
            if name in texts:
                held = texts[name].marks
                return mark in held or any(_cut_unit(one) == mark for one in held)
            number = pd.to_numeric(mark, errors="coerce")
            is_number = pd.api.types.is_numeric_dtype(frame[name].dtype)
            return is_number and bool((frame[name] == number).any())

        absent = [m for m in self.given if not any(has(name, m) for name in frame)]
        pairs = ((name, m) for name, marks in self.by_column.items() for m in marks)
        return absent + [f"{name}={m}" for name, m in pairs if not has(name, m)]


def _find_marks_with_unit(marks: Collection[str], texts: list[str]) -> list[str]:
    """List the strings of a column that are a marker with the column's unit.

    >>> _find_marks_with_unit(["999"], ["70 kg", "999 kg", "85.5 kg"])
    ['999 kg']
    """
    unit = find_unit(texts) if any(one.lstrip("+-").isdigit() for one in marks) else ""
    return [one for one in texts if unit and unit in one and _cut_unit(one) in marks]


def _cut_unit(text: str) -> str:
    """Remove the unit of a number, and its decimals if all are zero."""
    return re.sub(r"[.,]0+$", "", re.sub(r"[^\d.,+-]", "", text))


def _split_mark(text: str, names: Collection[str]) -> tuple[list[str], str]:
    """Split "COL=TEXT" or "COL,COL=TEXT" into columns and marker.

    If no part before a "=" names columns, the list is empty, and the whole text is the
    marker.
    """
    for at in (at for at, sign in enumerate(text) if sign == "="):
        head = text[:at]
        columns = [head] if head in names else [one.strip() for one in head.split(",")]
        if all(column in names for column in columns):
            return columns, text[at + 1 :].strip()
    return [], text


def holds_plus(texts: Any) -> bool:
    """Whether there are at most 20 strings, and one consists of plus signs only.

    >>> holds_plus(["+", "-"]), holds_plus(["+1", "-"])
    (True, False)
    """
    return len(texts) <= _MAX_SIGNS and any(
        set(str(one).strip()) == {"+"} for one in texts
    )


def report_minus_values(texts: dict[str, TextColumn]) -> list[str]:
    """Report columns in which "-" is read as a value because they also have "+"."""
    signs = {name: text.values for name, text in texts.items() if "-" in text.values}
    kept = [name for name, values in signs.items() if holds_plus(values)]
    if not kept:
        return []
    remedy = f"`missing='{kept[0]}=-'` reads it as missing"
    return [f"{listed(kept)}: '-' beside '+' is a value ({remedy})"]
