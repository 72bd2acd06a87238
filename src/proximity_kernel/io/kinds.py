"""Infer the `Schema` of a file: the role and kind of each column.

Detected are: which columns are ids, which columns of text hold numbers or dates and how
these are written, which texts mark a missing cell, and which columns cannot be compared
(empty, free text, lists).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from .._shared.wording import counted, join_names, listed, suggest
from .ids import MIN_ROWS, check_id, describe_repeats
from .misreadings import (
    ANY_CASE,
    BOOLEAN,
    are_booleans,
    are_compact_dates,
    find_mixed_units,
    is_code_name,
    merge_spellings,
)
from .missing_marks import MissingMarks, find_signs
from .numbers_and_dates import (
    AMBIGUOUS,
    DATE_FORMATS,
    MIN_MATCHED,
    TextColumn,
    find_unit,
    has_zone,
    is_text,
    match_format,
    parse_format,
)
from .schema import (
    ColumnSchema,
    InputError,
    Kind,
    ParsedFile,
    ReadOptions,
    Role,
    Schema,
)

_MAX_UNMATCHED = 5  # distinct texts in a column of numbers or dates that are neither
_MIN_NUMERIC = 0.5  # share of numbers in a column that `numeric` names
_MIN_WITH_UNIT = 0.1  # share of cells with a unit from which on others may lack it
_FREE_TEXT = 0.5  # distinct texts per cell from which on a column is free text
_MIN_FREE_TEXT = 20  # distinct texts that free text has at least
# Columns of remarks, where texts of several words are free text however few there are.
_REMARKS = re.compile(
    r"(^|[_\s.\-])(comment|remark|note|bemerkung|anmerkung|kommentar)(s|en|e)?$",
    re.IGNORECASE,
)
_MAX_CATEGORIES = 255  # that the kernel keeps apart
_MAX_SHOWN = 6  # columns in a list with details


def infer_schema(
    parsed: ParsedFile, options: ReadOptions
) -> tuple[Schema, str, list[str]]:
    """Infer how to read the columns of a file.

    Also returned are how missing cells and numbers are written, to append to the size
    of the table, and what else was assumed, in sentences.
    """
    names = list(parsed.frame.columns)
    chosen = {
        option: _find_columns(parsed.name, option, getattr(options, option), names)
        for option in ("ids", "drop", "categorical", "numeric")
    }
    marks = MissingMarks.from_options(options, names)
    texts = {
        name: TextColumn.from_categories(column, marks.of_column(name, column))
        for name, column in parsed.frame.items()
        if is_text(column)
    }
    decimal = options.decimal or _detect_decimal(texts, parsed.layout.separator)
    builder = _SchemaBuilder(parsed.frame, chosen, texts, marks, decimal, options)
    columns = builder.settle_ids([builder.add_column(name) for name in names])
    schema = Schema(tuple(columns), marks.of_table)
    lines = builder.describe(schema)
    if not schema.names("used"):
        why = "; ".join(lines) or "see `drop` and `ids`"
        raise InputError(
            f"{parsed.name}: no column is left to compare ({why}); `categorical` "
            "compares by a column, whatever it holds."
        )
    absent = marks.list_absent(parsed.frame, texts)
    lines = [f"`missing` {mark}: not found in any cell" for mark in absent] + lines
    used = set(schema.names("used"))
    lines += find_signs({name: texts[name] for name in texts if name in used})
    found = marks.list_found(texts) | ({*marks.as_given} - {*absent})
    written = ", decimal comma" if decimal == "," else ""
    if found:
        shown = [repr(mark) for mark in sorted(found - {""})]
        written += f", missing: {' or '.join(shown + ['empty'] * ('' in found))}"
    return schema, written, lines


def _detect_decimal(texts: dict[str, TextColumn], separator: str | None) -> str:
    """Choose the comma if it makes more cells of some column numbers than the point."""
    # With semicolons as separators, commas are rarely thousands separators.
    points = ("1.5",) if separator == ";" else ("1.5", "1,234.5")
    for text in texts.values():
        if not np.isnan(parse_format("1.5", text.values)).any():
            continue
        bare = text.without_unit(find_unit(text.values))
        n_commas = bare.count_format("1,5")
        enough = n_commas and n_commas >= MIN_MATCHED * bare.n_observed
        if enough and n_commas > max(map(bare.count_format, points)):
            return ","
    return "."


@dataclass
class _SchemaBuilder:
    """Infers one column after the other, and collects what was assumed."""

    frame: Any
    chosen: dict[str, set[str]]
    texts: dict[str, TextColumn]
    marks: MissingMarks
    decimal: str
    options: ReadOptions
    # What was assumed -> the columns, described.
    lists: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    # Column that is an id but for some rows -> how many rows repeat one.
    repeated: dict[str, int] = field(default_factory=dict)
    # Remark -> the columns it applies to.
    remarks: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def numbers(self) -> tuple[str, str]:
        """Formats that numbers may have."""
        return ("1,5", "1.5") if self.decimal == "," else ("1.5", "1,234.5")

    def add_column(self, name: str) -> ColumnSchema:
        """Infer how to read a column."""
        column, text = self.frame[name], self.texts.get(name)
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
        if kind[0] == "numbers" and self._holds_codes(name):
            kind = ("categories", "", "")
        if name in self.chosen["numeric"] and kind[0] != "numbers":
            raise InputError(
                f"`numeric` {name}: too few of its cells are numbers; correct them, or "
                "mark them as missing (`missing`)."
            )
        marks = self.marks.of_column(name, column)
        own = None if marks == self.marks.of_table else marks
        return ColumnSchema(name, self._find_role(name, *kind[:2]), *kind, own)

    def settle_ids(self, columns: list[ColumnSchema]) -> list[ColumnSchema]:
        """Make a column that few rows repeat the id, if there is no other."""
        settled = {column.name: column for column in columns}
        for name, n_repeats in self.repeated.items():
            if any(column.role == "id" for column in settled.values()):
                repeats = counted(n_repeats, "row repeats", "rows repeat")
                self.lists["left out"].append(
                    f"{name!r} looks like an id, but {repeats} one "
                    f"(`ids={name!r}` keeps it as id)"
                )
            else:
                settled[name] = replace(settled[name], role="id")
                cells, text = self.frame[name], self.texts.get(name)
                if text is not None:
                    cells = pd.Categorical.from_codes(text.codes, text.values)
                said = f"{name!r} ({describe_repeats(cells)})"
                self.lists["taken as id, not compared"].append(said)
        return list(settled.values())

    def _holds_codes(self, name: str) -> bool:
        """Whether numbers are codes by their name, such as zip or shop_id."""
        if not is_code_name(name) or name in self.chosen["numeric"]:
            return False
        column, text = self.frame[name], self.texts.get(name)
        cells = column.dropna() if text is None else text.values
        n_observed = len(cells) if text is None else text.n_observed
        if (pd.to_numeric(cells, errors="coerce").dropna() % 1).any():
            return False
        # Where most cells differ, it is an id, or has too many categories.
        many = 2 * cells.nunique() > n_observed >= MIN_ROWS
        read = "read as categories (`numeric` measures them)"
        if many:
            read = "measured as numbers (`categorical` or `drop`)"
        self.remarks[f": numbers named like codes, {read}"].append(name)
        return not many

    def _find_role(self, name: str, kind: Kind, form: str) -> Role:
        column, text = self.frame[name], self.texts.get(name)
        n_observed = column.notna().sum() if text is None else text.n_observed
        if name in self.chosen["ids"]:
            return "id"
        if not n_observed:
            self.lists["left out, all empty"].append(repr(name))
            return "left out"
        if name in self.chosen["categorical"]:
            return "used"
        if not self.chosen["ids"]:
            is_id, n_repeats = self._check_id(name, kind)
            if is_id:
                self.lists["taken as id, not compared"].append(repr(name))
                return "id"
            if n_repeats:
                self.repeated[name] = n_repeats
                return "left out"
        if kind != "categories" or text is None:
            return "used"
        text = text.merged(form) if form else text
        n = len(text.values)
        differ = n > max(_MIN_FREE_TEXT, _FREE_TEXT * text.n_observed)
        if differ or (_REMARKS.search(name) and text.values.str.contains(" ").any()):
            columns = self.lists["left out, free text (`categorical` keeps it)"]
            columns.append(f"{name!r} ({n:,} distinct texts)")
            return "left out"
        self._remark_on_categories(name, text)
        return "used"

    def _check_id(self, name: str, kind: Kind) -> tuple[bool, int]:
        """Decide whether a column is an id; marks given for the table do not apply."""
        column, text = self.frame[name], self.texts.get(name)
        first = name == self.frame.columns[0]
        if text is not None and not {*self.marks.given}.isdisjoint(text.marks):
            unmarked = TextColumn.from_categories(column, self.marks.usual)
            if check_id(name, column, unmarked, kind, first)[0]:
                self.texts[name] = unmarked
                return True, 0
        return check_id(name, column, text, kind, first)

    def _remark_on_categories(self, name: str, text: TextColumn) -> None:
        n = len(text.values)
        if n > _MAX_CATEGORIES:
            many = "many texts, the rarest treated as one (`drop` leaves a column out)"
            self.lists[many].append(f"{name!r} ({n:,})")
        merged = merge_spellings(ANY_CASE, text.values)
        if len(alike := merged[merged.duplicated()]):
            # Messages show several blanks as one.
            same = {" ".join(one.split()) for one in text.values[merged == alike[0]]}
            differ = "texts differ only in case or blanks, kept apart"
            columns = self.lists[f"{differ} (`ignore_case` merges them)"]
            columns.append(f"{name!r} ({listed(sorted(same), 3)})")

    def _find_text_kind(self, name: str, text: TextColumn) -> tuple[Kind, str, str]:
        """Find the kind of a column of text, and the format and unit of its cells."""
        as_numbers = name in self.chosen["numeric"]
        if are_booleans(text.values) and not as_numbers:
            both = "read as true and false (`categorical` keeps the texts apart)"
            self.lists[both].append(f"{name!r} ({listed(sorted(text.values), 6)})")
            return "categories", BOOLEAN, ""
        if are_compact_dates(text.values) and not as_numbers:
            return (*self._read_dates(name, "ymd", text), "")
        found = self._find_format(name, text)
        if found is not None:
            return (*found, "")
        unit = find_unit(text.values)
        has_unit = np.asarray(text.values.str.contains(unit, regex=False), bool)
        n_bare = max(map(text.count_format, self.numbers))
        if unit and text.count(has_unit) >= _MIN_WITH_UNIT * text.n_observed:
            found = self._find_format(name, text.without_unit(unit))
            if found is not None and found[0] == "numbers":
                lack = f", which {counted(n_bare, 'cell')} lack" if n_bare else ""
                columns = self.lists["read as numbers, without the unit"]
                columns.append(f"{name!r} ({unit}{lack})")
                return (*found, unit)
        units = find_mixed_units(text.values, np.bincount(text.codes[text.codes >= 0]))
        if units and self._find_format(name, text.without_unit(", ".join(units))):
            columns = self.lists["read as numbers, converted to one unit"]
            columns.append(f"{name!r} ({' and '.join(units[1:])} to {units[0]})")
            return "numbers", "1.5", ", ".join(units)
        if text.n_observed and n_bare > 0.5 * text.n_observed:
            self.remarks[": numbers and texts, read as categories"].append(name)
        return "categories", ANY_CASE if self.options.ignore_case else "", ""

    def _find_format(self, name: str, text: TextColumn) -> tuple[Kind, str] | None:
        """Find the kind and format of numbers or dates; None if it holds neither."""
        asked = name in self.chosen["numeric"]
        least = _MIN_NUMERIC if asked else MIN_MATCHED
        for candidate in (*self.numbers, *(() if asked else DATE_FORMATS)):
            matched = match_format(candidate, text.values)
            n_matched = text.count(matched)
            enough = n_matched and n_matched >= least * text.n_observed
            if not enough or ((~matched).sum() > _MAX_UNMATCHED and not asked):
                continue
            if candidate in DATE_FORMATS:
                return self._read_dates(name, candidate, text)
            # Such as the code 007.
            if text.values.str.match(r"0\d+$").any() and not asked:
                zeros = ": numbers with leading zeros, read as categories"
                self.remarks[zeros].append(name)
                return "categories", ""
            return "numbers", candidate
        return None

    def _read_dates(
        self, name: str, candidate: str, text: TextColumn
    ) -> tuple[Kind, str]:
        """Choose between day first and month first: by the option, else by the data."""
        both = sorted({candidate, AMBIGUOUS.get(candidate, candidate)})  # d before m
        counts = list(map(text.count_format, both))
        chosen = both[counts.index(max(counts))]
        if len(both) > 1 and self.options.day_first is not None:
            chosen = both[0 if self.options.day_first else 1]
        elif len(both) > 1 and counts[0] == counts[1]:
            either = " may have the day or the month first, so read as categories"
            self.remarks[f"{either} (`day_first` makes them dates)"].append(name)
            return "categories", ""
        zone = ", in UTC" if chosen == "iso" and has_zone(text.values) else ""
        self.remarks[f" read as dates ({DATE_FORMATS[chosen][0]}{zone})"].append(name)
        return "dates", chosen

    def describe(self, schema: Schema) -> list[str]:
        """Write what was assumed, in sentences: first which columns are not used."""
        used = set(schema.names("used"))
        starts = sorted(self.lists, key=lambda start: not start.startswith("left out"))
        starts.sort(key=lambda start: not start.startswith("taken as id"))
        lines = [
            f"{start}: {join_names(self.lists[start], _MAX_SHOWN)}" for start in starts
        ]
        for text, names in self.remarks.items():
            if kept := [name for name in names if name in used]:
                lines.append(f"{listed(kept)}{text}")
        return lines


def _find_columns(
    source: str, option: str, given: Iterable[str], names: list[str]
) -> set[str]:
    """Find the columns that a parameter names, alone or several separated by commas.

    >>> sorted(_find_columns("a.csv", "ids", ["a,b", "c, d"], ["a", "b", "c, d"]))
    ['a', 'b', 'c, d']
    """
    found = set()
    for text in given:
        parts = [text] if text in names else [one.strip() for one in text.split(",")]
        for part in filter(None, parts):
            if part not in names:
                hint = suggest(part, names) or f"; it has {listed(names, 8)}."
                raise InputError(
                    f"`{option}` {part}: {source} has no such column{hint}"
                )
            found.add(part)
    return found
