"""Fill the missing cells of a file's table, in the format of their column.

Observed cells are not changed. A category is copied from a row that has it. A number is
formatted with the decimals, separators and unit of its column, and a date with the
fields and separators of its column, in the same order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pandas as pd

from .._shared.extras import require
from .._shared.wording import counted
from ..io import ColumnSchema, LoadedTable
from ..io.column_step import TextColumn
from ..io.dates import DATE_FORMATS, has_zone
from ..io.numbers import NUMBER_FORMATS, remove_unit, to_plain_numbers
from ..io.typed_columns import parse_format
from ..io.write import list_cells

_DECIMALS = Context(prec=76)  # as many digits as Arrow's longest decimal type has
_MAX_DECIMALS = 12  # in a column with more decimals, estimates are not rounded
_PAST = np.datetime64("10000-01-01")  # the first day that Python's dates cannot hold
_TIME_UNITS = ("D", "h", "min", "s", "ms", "us")  # for rounding, the coarsest first
_SAMPLE = 10_000  # distinct cells from which the format of a column is inferred
_NUMBER = re.compile(r"([^\d.,]*)([.,]?\d(?:.*\d)?)(\D*)", re.DOTALL)
_THOUSANDS = re.compile(r"\d(\D)\d{3}(?!\d)")
_TOKEN = re.compile(r"\d+|[A-Za-z]+|[^\dA-Za-z]+")
_ISO = "2000-01-01"  # example of the format for a column without an observed date
# The finest field of a date format, as in strftime -> the unit to which it is rounded.
_FINEST = {"f": "us", "S": "s", "M": "min", "H": "h", "": "D"}
_ZONE = re.compile(r":\d\d.*?( ?(?:Z|UTC|GMT)| ?([+-]\d\d):?(\d\d)?)$")


def list_examples(table: LoadedTable) -> dict[str, str]:
    """Write one number or date in the format of each column of a text file.

    The values are made up. They are saved with a model, for rows in which a column has
    no observed cell that shows its format.
    """
    examples = {}
    for column in table.schema.columns:
        if column.role == "used" and column.kind in _EXAMPLES:
            cells = table.source[column.name]
            values = table.frame[column.name].dropna()
            texts = cells.loc[values.index]
            if _find_type(cells) is str and len(texts):
                distinct = texts.astype(object).unique()[:_SAMPLE].tolist()
                form = _FORMS[column.kind].find(column, distinct)
                shown = pd.Series([_EXAMPLES[column.kind]])
                if column.kind == "dates":
                    shown = _round_times(values, shown)
                examples[column.name] = form.write(shown[0])
    return examples


def fill_missing(
    table: LoadedTable,
    estimates: Any,
    *,
    as_text: bool,
    examples: Mapping[str, str] | None = None,
) -> Any:
    """Put estimates into the missing cells of a file, in the format of their column.

    `estimates` is `table.frame` with its missing cells filled. Unless `as_text`, a text
    column of numbers or dates is converted if no cell changes its value. `examples` are
    those of a saved model (`list_examples`). Returns all columns of the file.
    """
    schema = {column.name: column for column in table.schema.columns}
    columns, source = {}, table.source.reset_index(drop=True)
    at = table.source.index.get_indexer(table.frame.index)
    frame, missing = table.frame.set_axis(at), table.missing.set_axis(at)
    estimates = estimates.set_axis(at)
    for name in source:
        columns[name] = source[name]
        if name in estimates:
            new = estimates[name][missing[name] & estimates[name].notna()]
            example = (examples or {}).get(name)
            columns[name] = _fill_column(
                schema[name], source[name], frame[name], new, example
            )
            if table.layout.type == "text" and not as_text:
                columns[name] = _convert_text(schema[name], columns[name])
    return pd.DataFrame(columns).set_axis(table.source.index)


def describe_filling(table: LoadedTable, estimates: Any) -> str:
    """Describe how many missing cells were filled, and how many are unreadable."""
    n_filled = int((table.missing & estimates.notna()).to_numpy().sum())
    text = f"{counted(n_filled, 'missing cell')} filled"
    unread = (table.frame.isna() & ~table.missing).to_numpy()
    if n_unread := int(unread.sum()):
        kept = counted(n_unread, "unreadable cell is", "unreadable cells are")
        text += f"; {kept} left as written (`missing=TEXT` marks TEXT as missing)"
    return text


def _fill_column(
    column: ColumnSchema, cells: Any, values: Any, estimates: Any, example: str | None
) -> Any:
    """Fill the cells of a column whose positions are the index of `estimates`."""
    if not len(estimates):
        return cells
    values = values.dropna()
    new = _write_estimates(column, cells, values, estimates, example)
    rows = np.arange(len(cells))
    if new is not None:
        rows[estimates.index] = len(cells) + np.arange(len(new))
        return _take_cells(cells, new, rows)
    donors = _find_donors(values, estimates)
    unknown = estimates[donors.isna()]  # categories that no row of this table has
    donors[donors.isna()] = len(cells) + np.arange(len(unknown))
    rows[estimates.index] = donors.astype(int)
    return _take_cells(cells, list(unknown), rows)


def _find_donors(values: Any, estimates: Any) -> Any:
    """Find a row to copy each estimate from, with the same category or nearest number.

    The row is NaN if no row has the category.
    """
    distinct = values.drop_duplicates()
    if isinstance(values.dtype, pd.CategoricalDtype):
        rows = pd.Series(distinct.index, distinct.astype(object), dtype=float)
        return rows.reindex(estimates.astype(object)).set_axis(estimates.index)
    nearest = [int((distinct - one).abs().argmin()) for one in estimates]
    return pd.Series(distinct.index[nearest], estimates.index, dtype=float)


def _take_cells(cells: Any, new: list[Any], rows: Any) -> Any:
    """Append new cells to a column, and take the cells at the positions `rows`."""
    if not isinstance(cells.dtype, pd.ArrowDtype):
        added = pd.Series(new, dtype=object)
        both = pd.concat([cells.astype(object), added], ignore_index=True)
        return both.iloc[rows].reset_index(drop=True)
    arrow = require("pyarrow", extra="cli")
    held = arrow.chunked_array(arrow.array(cells))
    if new:
        kind = held.type
        if arrow.types.is_null(kind):
            kind = arrow.array(new).type
        if arrow.types.is_dictionary(kind):
            kind = kind.value_type
        is_text = isinstance(new[0], str)
        added = arrow.array(new).cast(kind) if is_text else arrow.array(new, kind)
        held = arrow.chunked_array([*held.cast(kind).chunks, added])
    return pd.Series(pd.arrays.ArrowExtensionArray(held.take(arrow.array(rows))))


def _write_estimates(
    column: ColumnSchema, cells: Any, values: Any, estimates: Any, example: str | None
) -> list[Any] | None:
    """Convert estimates to the type and format of a column's cells, or of an example.

    None for categories and for cells of other types, which must be copied instead.
    """
    held = _find_type(cells)
    if held is None or isinstance(values.dtype, pd.CategoricalDtype):
        return None
    is_time = pd.api.types.is_datetime64_any_dtype(values) or values.dtype.kind == "m"
    texts = []
    if held is str:
        texts = cells.loc[values.index].astype(object).unique()[:_SAMPLE].tolist()
        texts = texts or list(filter(None, [example]))
        if is_time and texts == [example]:
            values = pd.Series(parse_format(column.format or "iso", texts))
    if is_time:
        estimates = _round_times(values, estimates)
    if held is str:
        form = (_DateForm if is_time else _NumberForm).find(column, texts)
        return [form.write(one) for one in estimates]
    if is_time and held is date:  # the nearest day, not the day before
        days = _round_to_unit(estimates, "D").to_numpy().astype("M8[D]")
        return [one.item() for one in days] if days.max() < _PAST else list(days)
    if is_time:
        return list(estimates)
    if held is Decimal:
        unit = Decimal(1).scaleb(-cells.dtype.pyarrow_dtype.scale)
        return [Decimal(one).quantize(unit, context=_DECIMALS) for one in estimates]
    if held is int:
        return [round(one) for one in estimates]
    some = values.unique()[:_SAMPLE]
    decimals = _count_decimals([np.format_float_positional(x, trim="-") for x in some])
    rounded = estimates if decimals is None else estimates.round(decimals)
    return [float(one) for one in rounded]


def _find_type(cells: Any) -> type | None:
    """Find the commonest type of a column's cells; None unless text, number or time."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return str
    if isinstance(cells.dtype, pd.ArrowDtype):
        held = cells.dtype.type
    else:
        types = Counter(type(cell) for cell in list_cells(cells) if cell is not None)
        held = types.most_common(1)[0][0] if types else None
        held = float if held is int and float in types else held
    known = (str, int, float, Decimal, date, datetime, pd.Timestamp, pd.Timedelta)
    return held if held in known else None


def _count_decimals(plain: Sequence[str]) -> int | None:
    """Find the largest number of decimals of some numbers; None if it is above 12."""
    exponents = [Decimal(one).as_tuple().exponent for one in plain]
    most = max((-e for e in exponents if isinstance(e, int)), default=_MAX_DECIMALS + 1)
    return None if most > _MAX_DECIMALS else max(most, 0)


@dataclass(frozen=True)
class _NumberForm:
    """The format of a column's numbers: unit, separators and decimals.

    >>> column = ColumnSchema("price", "used", "numbers", "1,234.5", "$")
    >>> _NumberForm.find(column, ["$1,200.50", "-$3.00"]).write(-4321.0)
    '-$4,321.00'
    """

    before: str
    after: str
    thousands: str
    decimal: str
    decimals: int | None

    @classmethod
    def find(cls, column: ColumnSchema, texts: Sequence[str]) -> _NumberForm:
        """Find the most frequent number format in the texts of a column."""
        name, bare = _find_format(column, texts, NUMBER_FORMATS)
        _, marks, decimal = NUMBER_FORMATS[name]
        parts = [found for text in texts if (found := _NUMBER.fullmatch(text))]
        unit = column.unit.partition(", ")[0]  # numbers are in the first of the units
        around = Counter(
            (found[1], found[3])
            for found in parts
            if {"", unit} >= {found[1].strip(" +-"), found[3].strip()} or not unit
        )
        before, after = around.most_common(1)[0][0] if around else ("", unit)
        split = (mark for one in parts for mark in _THOUSANDS.findall(one[2]))
        thousands = Counter(mark for mark in split if mark in marks).most_common(1)
        plain = [one for one in to_plain_numbers(name, bare) if one]
        before = before.replace("-", "").replace("+", "")
        mark = thousands[0][0] if thousands else ""
        return cls(before, after, mark, decimal, _count_decimals(plain))

    def write(self, value: float) -> str:
        """Format a number like the cells of the column."""
        size = abs(value)
        text = repr(size) if self.decimals is None else f"{size:,.{self.decimals}f}"
        marks = str.maketrans({",": self.thousands, ".": self.decimal})
        sign = "-" if value < 0 and re.search("[1-9]", text) else ""
        blanks = len(self.before) - len(self.before.lstrip())
        before = self.before[:blanks] + sign + self.before[blanks:]
        return f"{before}{text.translate(marks)}{self.after}"


@dataclass(frozen=True)
class _DateForm:
    """The format of a column's dates: fields, separators and time zone.

    >>> column = ColumnSchema("day", "used", "dates", "d.m.y")
    >>> _DateForm.find(column, ["1.12.2020 10:30"]).write(pd.Timestamp(2021, 2, 3, 7))
    '3.2.2021 07:00'
    """

    parts: tuple[tuple[str, str], ...]  # (field as in strftime, or ""; an example)
    offset: pd.Timedelta  # of the time zone from UTC

    @classmethod
    def find(cls, column: ColumnSchema, texts: Sequence[str]) -> _DateForm:
        """Find the most frequent date format in the texts of a column."""
        name, _ = _find_format(column, texts, DATE_FORMATS)
        if name == "ymd":  # such as 20201231, without separators
            day = (("Y", "2000"), ("m", "01"), ("d", "01"), ("", ""))
            return cls(day, pd.Timedelta(0))
        shapes = Counter(map(_find_shape, texts)).most_common(1) or [("", 0)]
        alike = [one for one in texts if _find_shape(one) == shapes[0][0]] or [_ISO]
        zone = _ZONE.search(alike[0]) if name == "iso" else None
        offset = pd.Timedelta(0)
        if zone and zone[2]:
            minutes = 60 * int(zone[2][1:]) + int(zone[3] or 0)
            offset = pd.Timedelta(minutes=-minutes if zone[2][0] == "-" else minutes)
        order = re.findall("%([A-Za-z])", DATE_FORMATS[name][1]) or list("Ymd")
        fields = iter([*order, *"HMSf"])
        if zone:
            alike = [_ZONE.sub(lambda m: m[0].removesuffix(m[1]), x) for x in alike]
        parts = []
        # The shortest number shows whether numbers are padded with zeros, the longest
        # month whether names are abbreviated.
        for tokens in zip(*map(_TOKEN.findall, alike), strict=True):
            choose = min if tokens[0].isdigit() else max
            shown = choose(tokens, key=len)
            is_field = shown.isdigit() or (shown.isalpha() and len(shown) > 2)
            is_half = shown.upper() in ("AM", "PM")
            parts.append((next(fields) if is_field else "p" if is_half else "", shown))
        # Day and month are either both padded or both not.
        if any(field in ("d", "m") and len(shown) == 1 for field, shown in parts):
            parts = [(f, "1") if f in ("d", "m") else (f, shown) for f, shown in parts]
        return cls((*parts, ("", zone[1] if zone else "")), offset)

    def write(self, moment: Any) -> str:
        """Format a timestamp, which is in UTC if the column has a time zone."""
        fields = dict(self.parts)
        unit = next(_FINEST[field] for field in _FINEST if field in fields)
        moment = (moment + self.offset).round(unit)
        return "".join(self._write_field(moment, *part) for part in self.parts)

    def _write_field(self, moment: Any, field: str, shown: str) -> str:
        """Format one field of a date, such as the month, like the example `shown`."""
        if field == "":
            return shown
        if field == "b":
            name: str = moment.month_name()[: None if len(shown) > 4 else 3]
            return name.upper() if shown.isupper() else name
        if field == "p":
            half = "PM" if moment.hour >= 12 else "AM"
            return half if shown.isupper() else half.lower()
        if field == "H" and any(one == "p" for one, _ in self.parts):
            return f"{(moment.hour - 1) % 12 + 1:0{len(shown)}}"
        if field == "f":
            return f"{moment.microsecond:06}"[: len(shown)].ljust(len(shown), "0")
        numbers = {"Y": moment.year, "y": moment.year % 100, "m": moment.month}
        numbers |= {"d": moment.day, "H": moment.hour, "M": moment.minute}
        return f"{numbers.get(field, moment.second):0{len(shown)}}"


_FORMS: dict[str, Any] = {"numbers": _NumberForm, "dates": _DateForm}
# Values whose text shows all of a format: thousands, decimals, padding, month names.
_EXAMPLES = {
    "numbers": 1234.0000000000002,
    "dates": pd.Timestamp("2003-02-01 04:05:06.789012"),
}


def _find_shape(text: str) -> str:
    """Replace numbers by 0 and words by a, so that dates of one format are equal."""
    return re.sub(r"\d+", "0", re.sub(r"[A-Za-z]{3,}", "a", text))


def _find_format(
    column: ColumnSchema, texts: Sequence[str], formats: Iterable[str]
) -> tuple[str, Any]:
    """Find the first format that can parse some of the texts; try the fitted one first.

    Also returns the texts without their unit.
    """
    cells = pd.Series(texts, dtype="str").astype("category")
    bare = remove_unit(TextColumn.from_categories(cells, []), column.unit).values
    known = [column.format, *formats] if column.format else [*formats]
    found = (one for one in known if pd.notna(parse_format(one, bare)).any())
    return next(found, known[0]), bare


def _convert_text(column: ColumnSchema, cells: Any) -> Any:
    """Convert a column of texts to numbers or dates, if no cell changes its value.

    Otherwise, or if the column has a unit, it is returned unchanged. Empty cells, which
    only rows of totals still have, become missing.
    """
    if column.kind not in ("numbers", "dates") or column.unit:
        return cells
    held = cells.astype(object)
    codes, texts = pd.factorize(held.where(held != ""))
    is_number = column.kind == "numbers"
    formats = NUMBER_FORMATS if is_number else DATE_FORMATS
    name, _ = _find_format(column, list(texts), formats)
    bare = pd.Index(texts).astype(str).str.strip()
    values: Any = parse_format(name, bare)
    if pd.isna(values).any() or (not is_number and has_zone(bare)):
        return cells
    if is_number:
        values = _convert_exactly(list(to_plain_numbers(name, bare)), values)
    if values is None:
        return cells
    return pd.Series(values).reindex(codes).reset_index(drop=True)


def _convert_exactly(plain: Sequence[str], floats: Any) -> Any:
    """Convert numbers to a dtype that represents all exactly; None if no dtype does."""
    if all(re.fullmatch(r"[+-]?\d+", one) for one in plain):
        whole = np.array([int(one) for one in plain], dtype=object)
        for dtype in ("Int64", "UInt64"):
            with suppress(OverflowError, TypeError, ValueError):
                return pd.array(whole, dtype)
        return None
    pairs = zip(plain, floats, strict=True)
    exact = all(Decimal(text) == Decimal(repr(float(x))) for text, x in pairs)
    return floats if exact else None


def _round_times(observed: Any, times: Any) -> Any:
    """Round times to the coarsest unit that keeps all observed times unchanged."""
    if not len(observed):
        return times
    units = (u for u in _TIME_UNITS if (_round_to_unit(observed, u) == observed).all())
    unit = next(units, None)
    return times if unit is None else _round_to_unit(times, unit)


def _round_to_unit(times: Any, unit: str) -> Any:
    """Round times, unless the result occurs twice because clocks are set back."""
    rounded = times.dt.round(unit, ambiguous="NaT", nonexistent="shift_forward")
    return rounded.fillna(times)
