"""The columns of a parsed file in, a `Schema` out: the role and kind of each column.

Detected are: which column is an id, which columns of text hold numbers or dates and how
these are written, and which columns cannot be compared (empty, free text, lists).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pandas as pd

from .errors import InputError
from .formats import (
    AMBIGUOUS,
    DATE_FORMATS,
    NUMBER_FORMATS,
    find_unit,
    has_zone,
    match_format,
    remove_unit,
)
from .ids import check_id
from .missing_marks import DEFAULT_MARKS
from .parsed_file import ParsedFile, is_text
from .schema import (
    CATEGORIES,
    DATES,
    ID,
    LEFT_OUT,
    MIN_MATCHED,
    NUMBERS,
    UNCHANGED,
    USED,
    ColumnSchema,
    ReadOptions,
    Schema,
    find_columns,
)
from .text_column import TextColumn
from .wording import counted, listed

_MAX_UNMATCHED = 5  # distinct texts in a column of numbers or dates that are neither
_FREE_TEXT = 0.5  # distinct texts per cell from which on a column is free text
_MIN_FREE_TEXT = 20  # distinct texts that free text has at least
_MAX_CATEGORIES = 255  # that the kernel keeps apart
_MAX_SHOWN = 6  # columns in a list with details


def infer_schema(
    parsed: ParsedFile, options: ReadOptions
) -> tuple[Schema, str, list[str]]:
    """Infer how to read the columns of a file.

    Parameters
    ----------
    parsed : ParsedFile
    options : ReadOptions

    Returns
    -------
    Schema
    str
        How missing cells and numbers are written, to append to the size of the table.
    list of str
        What else was assumed, in sentences.
    """
    names = list(parsed.frame.columns)
    chosen = {
        option: find_columns(parsed.name, option, getattr(options, option), names)
        for option in ("ids", "drop", "categorical")
    }
    missing = (*(DEFAULT_MARKS if options.default_missing else ("",)), *options.missing)
    texts = {
        name: TextColumn.from_categories(parsed.frame[name], missing)
        for name in names
        if is_text(parsed.frame[name])
    }
    separator = parsed.layout.separator
    decimal = options.decimal or _detect_decimal(texts.values(), separator)
    builder = _SchemaBuilder(parsed, chosen, texts, decimal, options.day_first)
    schema = Schema(tuple(builder.add_column(name) for name in names), missing)
    if not schema.names(USED):
        schema = _use_detected_ids(schema, chosen["ids"]) or builder.refuse()
    found = {mark for column in texts.values() for mark in column.marks}
    found |= _find_numeric_marks(parsed.frame, schema)
    unused = [
        f"`missing` {mark}: not found in any cell"
        for mark in options.missing
        if mark not in found
    ]
    marks = _describe_marks(sorted(found), decimal)
    return schema, marks, [*unused, *builder.describe(schema)]


def _find_numeric_marks(frame: Any, schema: Schema) -> set[str]:
    """Find the missing marks that columns of numbers hold."""
    columns = [frame[c] for c in frame if pd.api.types.is_numeric_dtype(frame[c])]
    numbers = {
        number
        for number in schema.missing_numbers()
        if any(column.eq(number).any() for column in columns)
    }
    marks = pd.Series(list(schema.missing), dtype=object)
    return set(marks[pd.to_numeric(marks, errors="coerce").isin(numbers)])


def _describe_marks(found: list[str], decimal: str) -> str:
    shown = [repr(mark) if mark else "empty" for mark in found]
    shown.sort(key=lambda mark: mark == "empty")
    text = ", decimal comma" if decimal == "," else ""
    return f"{text}, missing: {' or '.join(shown)}" if shown else text


def _detect_decimal(columns: Iterable[TextColumn], separator: str | None) -> str:
    """Choose the comma if it makes more cells of some column numbers than the point."""
    for column in columns:
        texts = remove_unit(column.values, find_unit(column.values))
        if column.n_observed and match_format("1,5", texts) is not None:
            n_numbers = {
                name: column.count(match_format(name, texts)) for name in NUMBER_FORMATS
            }
            # With semicolons as separators, commas are rarely thousands separators.
            others = ("1.5",) if separator == ";" else ("1.5", "1,234.5")
            n_others = max(n_numbers[name] for name in others)
            if n_numbers["1,5"] > n_others and (
                n_numbers["1,5"] >= MIN_MATCHED * column.n_observed
            ):
                return ","
    return "."


class _SchemaBuilder:
    """Infers one column after the other, and collects what was assumed."""

    def __init__(
        self,
        parsed: ParsedFile,
        chosen: dict[str, set[str]],
        texts: dict[str, TextColumn],
        decimal: str,
        day_first: bool | None,
    ) -> None:
        self.parsed, self.chosen, self.texts = parsed, chosen, texts
        self.numbers = ("1,5", "1.5") if decimal == "," else ("1.5", "1,234.5")
        self.day_first = day_first
        self.empty: list[str] = []
        self.free_text: list[str] = []
        self.nested: list[str] = []
        self.units: dict[str, str] = {}
        self.ids: list[str] = []
        self.repeated_ids: dict[str, int] = {}  # column -> rows that repeat an id
        self.remarks: dict[str, list[str]] = {}  # remark -> columns it applies to

    def remark(self, name: str, text: str) -> None:
        """Add a remark about a column; equal remarks share one sentence."""
        self.remarks.setdefault(text, []).append(name)

    def add_column(self, name: str) -> ColumnSchema:
        """Infer how to read a column."""
        column, text = self.parsed.frame[name], self.texts.get(name)
        if name in self.chosen["drop"]:
            return ColumnSchema(name, LEFT_OUT, UNCHANGED)
        if text is None and column.dtype == "object":
            self.nested.append(name)
            return ColumnSchema(name, LEFT_OUT, UNCHANGED)
        kind = (_find_typed_kind(column.dtype), "", "")
        if name in self.chosen["categorical"]:
            kind = (CATEGORIES, "", "")
        elif text is not None:
            kind = self._find_text_kind(name, text)
        return ColumnSchema(name, self._find_role(name, kind[0]), *kind)

    # ------------------------------------------------------------------------ roles

    def _find_role(self, name: str, kind: str) -> str:
        column, text = self.parsed.frame[name], self.texts.get(name)
        n_observed = column.notna().sum() if text is None else text.n_observed
        if name in self.chosen["ids"]:
            return ID
        if not n_observed:
            self.empty.append(name)
            return LEFT_OUT
        if name in self.chosen["categorical"]:
            return USED
        role = None if self.chosen["ids"] else self._find_id_role(name, kind)
        if role is not None:
            return role
        if kind != CATEGORIES or text is None:
            return USED
        if text.is_free_text(_FREE_TEXT, _MIN_FREE_TEXT):
            self.free_text.append(f"{name!r} ({len(text.values):,} distinct texts)")
            return LEFT_OUT
        self._remark_on_categories(name, text)
        return USED

    def _find_id_role(self, name: str, kind: str) -> str | None:
        """Find the role of a column that is an id, or would be without its repeats."""
        column, text = self.parsed.frame[name], self.texts.get(name)
        first = name == self.parsed.frame.columns[0]
        evidence = check_id(name, column, text, kind, first=first)
        if evidence.is_id:
            self.ids.append(name)
            return ID
        if evidence.n_repeats:
            self.repeated_ids[name] = evidence.n_repeats
            return LEFT_OUT
        if evidence.increases:
            self.remark(name, " increases from row to row (`ids` if it names the rows)")
        return None

    def _remark_on_categories(self, name: str, text: TextColumn) -> None:
        n = len(text.values)
        if n > _MAX_CATEGORIES:
            self.remark(
                name,
                f" has {n:,} distinct texts: the rarest are treated as one (`drop` "
                "leaves it out)",
            )
        folded = text.values.str.casefold()
        alike = text.values[folded.duplicated(keep=False)]
        if len(alike):
            same = [one for one in alike if one.casefold() == alike[0].casefold()]
            self.remark(
                name,
                f": {listed(sorted(same), 3)} differ only in case, and are kept apart",
            )

    # ------------------------------------------------------------------------ kinds

    def _find_text_kind(self, name: str, text: TextColumn) -> tuple[str, str, str]:
        """Find the kind of a column of text, and the format and unit of its cells."""
        found = self._find_format(name, text)
        if found is not None:
            return (*found, "")
        unit = find_unit(text.values)
        if unit:
            bare = TextColumn(remove_unit(text.values, unit), text.codes, text.marks)
            found = self._find_format(name, bare)
            if found is not None and found[0] == NUMBERS:
                self.units[name] = unit
                return (*found, unit)
        n_numbers = max(text.count(match_format(f, text.values)) for f in self.numbers)
        if text.n_observed and n_numbers > 0.5 * text.n_observed:
            self.remark(name, ": numbers and texts, read as categories")
        return CATEGORIES, "", ""

    def _find_format(self, name: str, text: TextColumn) -> tuple[str, str] | None:
        """Find the kind and format of numbers or dates; None if it holds neither."""
        for candidate in (*self.numbers, *DATE_FORMATS):
            matched = match_format(candidate, text.values)
            n_matched = text.count(matched)
            if not n_matched or n_matched < MIN_MATCHED * text.n_observed:
                continue
            if text.count_unmatched(matched) > _MAX_UNMATCHED:
                continue
            if candidate in DATE_FORMATS:
                return self._read_dates(name, candidate, text)
            if text.has_leading_zeros():
                self.remark(name, ": numbers with leading zeros, read as categories")
                return CATEGORIES, ""
            return NUMBERS, candidate
        return None

    def _read_dates(
        self, name: str, candidate: str, text: TextColumn
    ) -> tuple[str, str]:
        chosen = self._choose_date_format(name, candidate, text)
        if chosen is None:
            return CATEGORIES, ""
        zone = ", in UTC" if chosen == "iso" and has_zone(text.values) else ""
        described = DATE_FORMATS[chosen].description
        self.remark(name, f" read as dates ({described}{zone})")
        return DATES, chosen

    def _choose_date_format(
        self, name: str, candidate: str, text: TextColumn
    ) -> str | None:
        """Choose between day first and month first: by the option, else by the data."""
        other = AMBIGUOUS.get(candidate)
        if other is None:
            return candidate
        dmy, mdy = sorted((candidate, other), key=lambda one: not one.startswith("d"))
        if self.day_first is not None:
            return dmy if self.day_first else mdy
        n_dmy, n_mdy = (text.count(match_format(f, text.values)) for f in (dmy, mdy))
        if n_dmy == n_mdy:
            self.remark(
                name,
                " may have the day or the month first, so read as categories "
                "(`day_first` makes them dates)",
            )
            return None
        return dmy if n_dmy > n_mdy else mdy

    # --------------------------------------------------------------- what was assumed

    def describe(self, schema: Schema) -> list[str]:
        """Write what was assumed, in sentences."""
        used, used_ids = set(schema.names(USED)), set(schema.names(ID))
        lines = []
        if ids := [name for name in self.ids if name in used_ids]:
            lines.append(f"taken as id, not compared: {listed(ids)}")
        for name, n in self.repeated_ids.items():
            lines.append(
                f"left out: {name!r} looks like an id, but {counted(n, 'row')} "
                f"repeat{'s' * (n == 1)} one (`ids={name!r}` keeps it as id)"
            )
        if self.empty:
            lines.append(f"left out, all empty: {listed(self.empty)}")
        if self.free_text:
            columns = _shorten(self.free_text)
            lines.append(f"left out, free text: {columns} (`categorical` keeps it)")
        if self.nested:
            lines.append(f"left out, lists or records: {listed(self.nested)}")
        if units := [f"{n!r} ({u})" for n, u in self.units.items() if n in used]:
            lines.append(f"read as numbers, without the unit: {_shorten(units)}")
        for text, names in self.remarks.items():
            if kept := [name for name in names if name in used]:
                lines.append(f"{listed(kept)}{text}")
        return lines

    def refuse(self) -> Schema:
        """Raise the error for a table without columns to compare."""
        reasons = [f"{name!r} is empty" for name in self.empty[:3]]
        reasons += [f"{one} is free text" for one in self.free_text[:3]]
        reasons += [
            f"{name!r} looks like an id" for name in list(self.repeated_ids)[:3]
        ]
        reasons += [f"{name!r} holds lists or records" for name in self.nested[:3]]
        reasons += [f"`drop` {name}" for name in sorted(self.chosen["drop"])[:3]]
        reasons += [f"`ids` {name}" for name in sorted(self.chosen["ids"])[:3]]
        raise InputError(
            f"{self.parsed.name}: no column is left to compare "
            f"({'; '.join(reasons) or 'the table has none'})."
        )


def _find_typed_kind(dtype: Any) -> str:
    """Find the kind of a column that is not text."""
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return DATES
    return NUMBERS if pd.api.types.is_numeric_dtype(dtype) else UNCHANGED


def _shorten(columns: list[str]) -> str:
    more = len(columns) - _MAX_SHOWN
    shown = ", ".join(columns[:_MAX_SHOWN])
    return f"{shown} and {more:,} more" if more > 0 else shown


def _use_detected_ids(schema: Schema, chosen: set[str]) -> Schema | None:
    """Compare rows by the detected ids, if there is no other column."""
    detected = [name for name in schema.names(ID) if name not in chosen]
    if not detected:
        return None
    columns = tuple(
        replace(c, role=USED) if c.name in detected else c for c in schema.columns
    )
    return Schema(columns, schema.missing)
