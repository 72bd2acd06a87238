"""The columns of a parsed file in, a `Schema` out: the role and kind of each column.

Detected are: which column is an id, which columns of text hold numbers or dates and how
these are written, and which columns cannot be compared (empty, free text, lists).
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from .errors import InputError
from .formats import (
    AMBIGUOUS,
    DATE_FORMATS,
    find_unit,
    has_zone,
    match_format,
    remove_unit,
)
from .ids import check_id
from .missing_marks import DEFAULT_MARKS
from .parsed_file import ParsedFile, is_text
from .schema import (
    MIN_MATCHED,
    ColumnSchema,
    Kind,
    ReadOptions,
    Role,
    Schema,
    find_columns,
)
from .text_column import TextColumn
from .wording import join_names, listed

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
    lines = builder.describe(schema)
    if not schema.names("used"):
        why = "; ".join(lines) or "see `drop` and `ids`"
        raise InputError(
            f"{parsed.name}: no column is left to compare ({why}); `categorical` "
            "compares by a column, whatever it holds."
        )
    found = {mark for column in texts.values() for mark in column.marks}
    held = parsed.frame.select_dtypes("number")
    numbers = pd.to_numeric(pd.Series(missing, dtype=object), errors="coerce")
    found |= {
        m for m, x in zip(missing, numbers, strict=True) if (held == x).any(axis=None)
    }
    unused = [
        f"`missing` {mark}: not found in any cell"
        for mark in options.missing
        if mark not in found
    ]
    marks = ", decimal comma" if decimal == "," else ""
    if found:
        shown = [repr(mark) for mark in sorted(found - {""})]
        marks += f", missing: {' or '.join(shown + ['empty'] * ('' in found))}"
    return schema, marks, [*unused, *lines]


def _detect_decimal(columns: Iterable[TextColumn], separator: str | None) -> str:
    """Choose the comma if it makes more cells of some column numbers than the point."""
    # With semicolons as separators, commas are rarely thousands separators.
    points = ("1.5",) if separator == ";" else ("1.5", "1,234.5")
    for column in columns:
        texts = remove_unit(column.values, find_unit(column.values))
        n_commas = column.count(match_format("1,5", texts))
        if n_commas and n_commas >= MIN_MATCHED * column.n_observed:
            n_points = max(column.count(match_format(name, texts)) for name in points)
            if n_commas > n_points:
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
        # What was assumed -> the columns, in the order of the sentences.
        self.lists: dict[str, list[str]] = {
            "taken as id, not compared": [],
            "left out": [],
            "left out, all empty": [],
            "left out, free text (`categorical` keeps it)": [],
            "left out, lists or records": [],
            "read as numbers, without the unit": [],
        }
        self.remarks: dict[str, list[str]] = {}  # remark -> columns it applies to

    def remark(self, name: str, text: str) -> None:
        """Add a remark about a column; equal remarks share one sentence."""
        self.remarks.setdefault(text, []).append(name)

    def add_column(self, name: str) -> ColumnSchema:
        """Infer how to read a column."""
        column, text = self.parsed.frame[name], self.texts.get(name)
        if name in self.chosen["drop"]:
            return ColumnSchema(name, "left out", "unchanged")
        if text is None and column.dtype == "object":
            self.lists["left out, lists or records"].append(repr(name))
            return ColumnSchema(name, "left out", "unchanged")
        kind: tuple[Kind, str, str] = ("unchanged", "", "")
        if name in self.chosen["categorical"]:
            kind = ("categories", "", "")
        elif text is not None:
            kind = self._find_text_kind(name, text)
        elif pd.api.types.is_datetime64_any_dtype(column.dtype):
            kind = ("dates", "", "")
        elif pd.api.types.is_numeric_dtype(column.dtype):
            kind = ("numbers", "", "")
        return ColumnSchema(name, self._find_role(name, kind[0]), *kind)

    # ------------------------------------------------------------------------ roles

    def _find_role(self, name: str, kind: Kind) -> Role:
        column, text = self.parsed.frame[name], self.texts.get(name)
        n_observed = column.notna().sum() if text is None else text.n_observed
        if name in self.chosen["ids"]:
            return "id"
        if not n_observed:
            self.lists["left out, all empty"].append(repr(name))
            return "left out"
        if name in self.chosen["categorical"]:
            return "used"
        if not self.chosen["ids"]:
            first = name == self.parsed.frame.columns[0]
            is_id, n_repeats = check_id(name, column, text, kind, first=first)
            if is_id:
                self.lists["taken as id, not compared"].append(repr(name))
                return "id"
            if n_repeats:
                repeats = "row repeats" if n_repeats == 1 else "rows repeat"
                self.lists["left out"].append(
                    f"{name!r} looks like an id, but {n_repeats:,} {repeats} one "
                    f"(`ids={name!r}` keeps it as id)"
                )
                return "left out"
        if kind != "categories" or text is None:
            return "used"
        n = len(text.values)
        if n > max(_MIN_FREE_TEXT, _FREE_TEXT * text.n_observed):
            columns = self.lists["left out, free text (`categorical` keeps it)"]
            columns.append(f"{name!r} ({n:,} distinct texts)")
            return "left out"
        self._remark_on_categories(name, text)
        return "used"

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

    def _find_text_kind(self, name: str, text: TextColumn) -> tuple[Kind, str, str]:
        """Find the kind of a column of text, and the format and unit of its cells."""
        found = self._find_format(name, text)
        if found is not None:
            return (*found, "")
        unit = find_unit(text.values)
        if unit:
            bare = TextColumn(remove_unit(text.values, unit), text.codes, text.marks)
            found = self._find_format(name, bare)
            if found is not None and found[0] == "numbers":
                columns = self.lists["read as numbers, without the unit"]
                columns.append(f"{name!r} ({unit})")
                return (*found, unit)
        n_numbers = max(text.count(match_format(f, text.values)) for f in self.numbers)
        if text.n_observed and n_numbers > 0.5 * text.n_observed:
            self.remark(name, ": numbers and texts, read as categories")
        return "categories", "", ""

    def _find_format(self, name: str, text: TextColumn) -> tuple[Kind, str] | None:
        """Find the kind and format of numbers or dates; None if it holds neither."""
        for candidate in (*self.numbers, *DATE_FORMATS):
            matched = match_format(candidate, text.values)
            n_matched = text.count(matched)
            enough = n_matched and n_matched >= MIN_MATCHED * text.n_observed
            if not enough or (~matched).sum() > _MAX_UNMATCHED:
                continue
            if candidate in DATE_FORMATS:
                return self._read_dates(name, candidate, text)
            if text.values.str.match(r"0\d+$").any():  # such as the code 007
                self.remark(name, ": numbers with leading zeros, read as categories")
                return "categories", ""
            return "numbers", candidate
        return None

    def _read_dates(
        self, name: str, candidate: str, text: TextColumn
    ) -> tuple[Kind, str]:
        """Choose between day first and month first: by the option, else by the data."""
        both = sorted({candidate, AMBIGUOUS.get(candidate, candidate)})  # d before m
        counts = [text.count(match_format(one, text.values)) for one in both]
        chosen = both[counts.index(max(counts))]
        if len(both) > 1 and self.day_first is not None:
            chosen = both[0 if self.day_first else 1]
        elif len(both) > 1 and counts[0] == counts[1]:
            self.remark(
                name,
                " may have the day or the month first, so read as categories "
                "(`day_first` makes them dates)",
            )
            return "categories", ""
        zone = ", in UTC" if chosen == "iso" and has_zone(text.values) else ""
        self.remark(name, f" read as dates ({DATE_FORMATS[chosen][0]}{zone})")
        return "dates", chosen

    # --------------------------------------------------------------- what was assumed

    def describe(self, schema: Schema) -> list[str]:
        """Write what was assumed, in sentences."""
        used = set(schema.names("used"))
        lines = [
            f"{start}: {join_names(columns, _MAX_SHOWN)}"
            for start, columns in self.lists.items()
            if columns
        ]
        for text, names in self.remarks.items():
            if kept := [name for name in names if name in used]:
                lines.append(f"{listed(kept)}{text}")
        return lines
