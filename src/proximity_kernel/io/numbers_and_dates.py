"""Convert columns by a schema to typed columns: numbers, dates and categories.

The formats in which numbers and dates are written are data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._shared.wording import counted, join_names, listed
from .misreadings import convert_units, merge_spellings
from .parquet_and_excel import to_categories
from .schema import ColumnSchema, InputError, ParsedFile, Schema

_PLAIN = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_BLANKS = "\u00a0\u202f '\u2019"  # thousands separators of many countries
# Name -> pattern, thousands separators, decimal mark.
NUMBER_FORMATS = {
    "1.5": (_PLAIN, "", "."),
    "1,5": (
        rf"[+-]?(?:\d+|\d{{1,3}}(?:[.{_BLANKS}]\d{{3}})+)?(?:,\d+)?(?:[eE][+-]?\d+)?",
        f".{_BLANKS}",
        ",",
    ),
    "1,234.5": (
        rf"[+-]?\d{{1,3}}(?:[,{_BLANKS}]\d{{3}})+(?:\.\d+)?|{_PLAIN}",
        f",{_BLANKS}",
        ".",
    ),
}
_CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY"
_WITH_UNIT = (
    rf"[+-]?\s*({_CURRENCY})?\s*[+-]?[.,]?\d[\d.,{_BLANKS}]*?\s*"
    rf"({_CURRENCY}|[%‰]|[A-Za-zµμ°Ω][A-Za-zµμ°Ω²³/]{{0,7}})?"
)
_ZONE = r"Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?"
_TIME = rf"[T ]\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?(?: ?(?:{_ZONE}))?"
# A time after a date that is not ISO: hours, minutes, seconds, AM or PM.
_CLOCK = r"(?:,?[T ] ?\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AaPp][Mm])?)?"
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M%p", " %I:%M:%S%p")
# Name -> description, format for pandas.
DATE_FORMATS = {
    "iso": ("ISO", "ISO8601"),
    "y/m/d": ("year/month/day", "%Y/%m/%d"),
    "d.m.y": ("day.month.year", "%d.%m.%Y"),
    "d/m/y": ("day/month/year", "%d/%m/%Y"),
    "m/d/y": ("month/day/year", "%m/%d/%Y"),
    "d-m-y": ("day-month-year", "%d-%m-%Y"),
    "m-d-y": ("month-day-year", "%m-%d-%Y"),
    "d b y": ("day month year", "%d %b %Y"),
    "d-b-y": ("day-month-year", "%d-%b-%Y"),
    "b d, y": ("month day, year", "%b %d,%Y"),
    "d.m.yy": ("day.month.year, years 1969 to 2068", "%d.%m.%y"),
    "d/m/yy": ("day/month/year, years 1969 to 2068", "%d/%m/%y"),
    "m/d/yy": ("month/day/year, years 1969 to 2068", "%m/%d/%y"),
    "ymd": ("year, month, day without separators", "%Y%m%d"),
}
# Part of a format for pandas -> pattern.
_PARTS = {
    "%Y": r"\d{4}", "%y": r"\d{2}", "%m": r"\d{1,2}", "%d": r"\d{1,2}",
    "%b": r"[A-Za-z]{3,9}\.?", ".": r"\.", ",": ", ?",
}  # fmt: skip
# Formats that the same text may have.
_PAIRS = {"d/m/y": "m/d/y", "d-m-y": "m-d-y", "d/m/yy": "m/d/yy"}
AMBIGUOUS = _PAIRS | {second: first for first, second in _PAIRS.items()}
_SAMPLE = 50  # texts that are looked at first, to reject a format quickly
MIN_MATCHED = 0.8
"""Share of a text column's cells that must be numbers (or dates) to read it as such."""


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of text, each distinct text once.

    Attributes
    ----------
    values : pandas.Index of str
        The distinct texts that are not missing, without blanks around them.
    codes : ndarray of shape (n_rows,)
        Index into `values` of each cell; -1 is missing.
    marks : tuple of str
        The missing marks found in the column; ``""`` for an empty cell.
    """

    values: Any
    codes: NDArray[np.int64]
    marks: tuple[str, ...]

    @classmethod
    def from_categories(cls, column: Any, missing: Sequence[str]) -> TextColumn:
        """Read a categorical column, in which some texts mark a missing cell.

        >>> cells = pd.Series(["a ", "?", "b", "a"], dtype="category")
        >>> column = TextColumn.from_categories(cells, ["?"])
        >>> list(column.values), column.codes.tolist(), column.marks
        (['a', 'b'], [0, -1, 1, 0], ('?',))
        """
        codes = column.cat.codes.to_numpy().astype(np.int64)
        present = np.unique(codes[codes >= 0])
        texts = column.cat.categories.take(present)
        stripped = pd.Index([str(text).strip() for text in texts], dtype=texts.dtype)
        is_mark = stripped.isin(list(missing))
        kept, values = pd.factorize(stripped[~is_mark])
        new_codes = np.full(len(column.cat.categories) + 1, -1)
        new_codes[present[~is_mark]] = kept
        marks = tuple(dict.fromkeys(stripped[is_mark]))
        if (codes < 0).any() and "" not in marks:
            marks = (*marks, "")
        return cls(pd.Index(values), new_codes[codes], marks)

    @property
    def n_observed(self) -> int:
        """Number of cells that are not missing."""
        return int(np.count_nonzero(self.codes >= 0))

    def count(self, selected: NDArray[np.bool_]) -> int:
        """Count the cells whose text is selected by a mask of `values`."""
        return int(np.count_nonzero(selected[self.codes[self.codes >= 0]]))

    def count_format(self, name: str) -> int:
        """Count the cells that have a format."""
        return self.count(match_format(name, self.values))

    def without_unit(self, unit: str) -> TextColumn:
        """Remove the unit from numbers; if it has several, convert to the first.

        >>> cells = pd.Series(["-$5", "7 $", "x"], dtype="category")
        >>> list(TextColumn.from_categories(cells, []).without_unit("$").values)
        ['-5', '7', 'x']
        """
        if not unit:
            return self
        if len(units := tuple(unit.split(", "))) > 1:
            converted = [convert_units(text, units) for text in self.values]
            return TextColumn(pd.Index(converted), self.codes, self.marks)
        has_digit = np.asarray(self.values.str.contains(r"\d", regex=True), bool)
        bare = self.values.str.replace(unit, "", regex=False).str.strip()
        bare = bare.str.replace(r"^([+-])\s+", r"\1", regex=True)
        return TextColumn(bare.where(has_digit, self.values), self.codes, self.marks)

    def merged(self, form: str) -> TextColumn:
        """Merge the texts that spell the same category."""
        codes, values = pd.factorize(merge_spellings(form, self.values))
        new_codes = np.append(codes, -1)[self.codes]
        return TextColumn(pd.Index(values), new_codes, self.marks)


def match_format(name: str, texts: Any) -> NDArray[np.bool_]:
    """Find which texts have a format; none if none of the first texts has it.

    >>> match_format("1,5", pd.Index(["1,5", "2", "x"]))
    array([ True,  True, False])
    >>> match_format("d/m/y", pd.Index(["31/12/2020", "12/31/2020"]))
    array([ True, False])
    """
    pattern = NUMBER_FORMATS[name][0] if name in NUMBER_FORMATS else _find_pattern(name)
    # On few texts, Python is many times as fast as pandas.
    if not any(re.fullmatch(pattern, text) for text in texts[:_SAMPLE]):
        return np.zeros(len(texts), bool)
    return np.asarray(~pd.isna(parse_format(name, texts)))


def parse_format(name: str, texts: Any) -> NDArray[Any]:
    """Parse texts that have a format to float64 or datetime64; others become missing.

    >>> parse_format("1,5", pd.Index(["1.234,5", "x"]))
    array([1234.5,    nan])
    """
    if name in DATE_FORMATS:
        return _parse_dates(name, texts)
    values = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float)
    if name != "1.5" or not np.isfinite(values).all():
        plain = to_plain_numbers(name, texts)
        values = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=float)
    return np.where(np.isfinite(values), values, np.nan)


def to_plain_numbers(name: str, texts: Any) -> Any:
    """Write numbers of a format with a point and no thousands separators."""
    pattern, thousands, decimal = NUMBER_FORMATS[name]
    texts = pd.Index(texts).astype(str).str.replace("\u2212", "-", regex=False)
    if name != "1.5":
        fits = np.asarray(texts.str.fullmatch(pattern), bool)
        texts = texts.where(fits, "")
        for sign in thousands:
            texts = texts.str.replace(sign, "", regex=False)
        texts = texts.str.replace(decimal, ".", regex=False)
    return texts


def find_unit(texts: Any) -> str:
    """Find the unit or currency of numbers; empty if there is none, or several.

    Some numbers may lack it, unless it is a single letter such as in 2a: what it stands
    for is then uncertain.

    >>> find_unit(pd.Index(["5 kg", "7.5 kg", "none"])), find_unit(pd.Index(["$1,200"]))
    ('kg', '$')
    >>> find_unit(pd.Index(["5 kg", "9 lb"])), find_unit(pd.Index(["5 kg", "9"]))
    ('', 'kg')
    """
    unit = ""
    for part in (texts[:_SAMPLE], texts):
        numbers = [text for text in part if re.search(r"\d", text)]
        found = [re.fullmatch(_WITH_UNIT, text) for text in numbers]
        units = {one.groups("") if one else None for one in found}
        own = units - {("", "")}
        before, after = next(iter(own), None) or ("", "")
        unit = before or after
        if len(own) != 1 or bool(before) == bool(after):
            return ""
        if len(own) < len(units) and len(unit) == 1 and unit.isalpha():
            return ""
    return unit


def has_zone(texts: Any) -> bool:
    """Whether some ISO dates have a time zone."""
    return bool(texts.str.contains(rf":\d{{2}}.*?(?:{_ZONE})$", regex=True).any())


@cache
def _find_pattern(name: str) -> str:
    """Find the pattern of the dates in a format."""
    if name == "iso":
        return rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}(?:{_TIME})?"
    parts = re.split(r"(%\w|[.,])", DATE_FORMATS[name][1])
    return "".join(_PARTS.get(part, part) for part in parts) + _CLOCK


def _parse_dates(name: str, texts: Any) -> NDArray[Any]:
    texts = pd.Index(texts).astype(str)
    fits = np.asarray(texts.str.fullmatch(_find_pattern(name)), bool)
    texts = texts.where(fits, None)
    if name == "iso":
        texts = texts.str.replace(r" ?(?:UTC|GMT)$", "Z", regex=True)
        texts = texts.str.replace(r" ([+-])", r"\1", regex=True)
        dates = pd.to_datetime(texts, format="ISO8601", errors="coerce", utc=True)
        return np.asarray(dates.tz_localize(None))
    day = texts.str.replace(r",?[T ] ?(\d{1,2}:)", r" \1", regex=True)
    day = day.str.replace(r" ?([AaPp][Mm])$", r"\1", regex=True)
    day = day.str.replace(r"([A-Za-z]{3})[a-z]*\.?", r"\1", regex=True)
    day = day.str.replace(", ", ",", regex=False)
    moments: Any = None
    for clock in _CLOCKS:
        form = f"{DATE_FORMATS[name][1]}{clock}"
        found = pd.Series(pd.to_datetime(day, format=form, errors="coerce"))
        found = found.astype("datetime64[us]")
        moments = found if moments is None else moments.fillna(found)
        if moments[fits].notna().all():
            break
    return np.asarray(moments)


# ------------------------------------------------------------------- typed columns


def is_text(column: Any) -> bool:
    """Whether a column of a `ParsedFile` holds text."""
    dtype = column.dtype
    return isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered


def convert_columns(
    parsed: ParsedFile, schema: Schema, *, inferred: bool
) -> tuple[Any, Any, list[str]]:
    """Convert the used columns to typed ones.

    Also returned are which cells are missing in the file, and what was assumed. Unless
    the schema was inferred from these rows, a column that does not fit it is an error.
    """
    converter = _Converter(parsed.name, schema, inferred)
    used = [c for c in schema.columns if c.role == "used" and c.name in parsed.frame]
    pairs = {c.name: converter.convert(c, parsed.frame[c.name]) for c in used}
    frame = pd.DataFrame({name: column for name, (column, _) in pairs.items()})
    gaps = pd.DataFrame({name: missing for name, (_, missing) in pairs.items()})
    lines = converter.other_formats + converter.describe_unmatched()
    if inferred:
        lines += _find_marks(converter.unmatched, frame)
    return frame, gaps, lines


def _find_marks(unmatched: Iterable[str], frame: Any) -> list[str]:
    """Report texts that are no numbers in one column, and categories of another."""
    texts: dict[str, None] = {}
    columns = []
    for name in frame.select_dtypes("category"):
        if both := [one for one in unmatched if one in frame[name].cat.categories]:
            columns.append(name)
            texts |= dict.fromkeys(both)
    if not columns:
        return []
    one = len(texts) == 1
    are = "is also a category" if one else "are also categories"
    mean = "it means" if one else "they mean"
    marks = join_names([f"`missing={text!r}`" for text in texts], 3)
    found = f"{listed(list(texts), 3)} {are} of {listed(columns, 3)}"
    return [f"{found}; if {mean} missing, {marks}"]


class _Converter:
    """Converts columns by a schema, and collects the texts that do not fit it."""

    def __init__(self, file: str, schema: Schema, inferred: bool) -> None:
        self.file, self.schema, self.inferred = file, schema, inferred
        self.other_formats: list[str] = []
        # Text that is not what its column holds -> number of cells.
        self.unmatched: Counter[str] = Counter()
        self.unmatched_in: dict[str, str] = {}  # column -> what it holds

    def convert(self, column: ColumnSchema, cells: Any) -> tuple[Any, Any]:
        """Convert a column; also returned is which of its cells are missing."""
        marks = self.schema.missing if column.missing is None else column.missing
        if not is_text(cells):
            values = self._convert_typed(column, cells, marks)
            return values, pd.isna(values)
        text = TextColumn.from_categories(cells, marks)
        if column.kind == "categories" and column.format:
            text = text.merged(column.format)
        values = pd.Categorical.from_codes(text.codes, text.values)
        if column.kind in ("numbers", "dates"):
            values = self._convert_text(column, text.without_unit(column.unit))
        return pd.Series(values), text.codes < 0

    def _convert_text(self, column: ColumnSchema, text: TextColumn) -> Any:
        """Convert text to numbers or dates."""
        is_date = column.kind == "dates"
        # A model may have been fitted to a file that stores numbers as numbers.
        expected = column.format or ("iso" if is_date else "1.5")
        values = parse_format(expected, text.values)
        if pd.isna(values).all() and (other := _find_other_format(column, text)):
            self.other_formats.append(
                f"{column.name!r} has another format than when fitted: {other}"
            )
            values = parse_format(other, text.values)
        self._collect_unmatched(column, text, np.asarray(pd.isna(values)))
        missing = np.array("NaT" if is_date else np.nan, values.dtype)
        return np.append(values, missing)[text.codes]  # the code -1 takes the last

    def _collect_unmatched(
        self, column: ColumnSchema, text: TextColumn, unmatched: NDArray[np.bool_]
    ) -> None:
        n_cells = text.count(unmatched)
        if not n_cells:
            return
        counts = np.bincount(text.codes[text.codes >= 0], minlength=len(unmatched))
        texts = list(text.values[unmatched])
        expected = "a date" if column.kind == "dates" else "a number"
        too_many = n_cells > (1 - MIN_MATCHED) * text.n_observed + 1
        if too_many and not self.inferred:
            raise InputError(
                f"{self.file}: column {column.name!r} has {column.kind} in the model, "
                f"and here {n_cells:,} of {text.n_observed:,} cells are not "
                f"{expected}, as {listed(texts, 2)}; correct them, or fit again."
            )
        for one, n in zip(texts, counts[unmatched].tolist(), strict=True):
            self.unmatched[one] += n
        self.unmatched_in[column.name] = expected

    def describe_unmatched(self) -> list[str]:
        """Write which cells were read as missing, in one sentence."""
        if not self.unmatched:
            return []
        n_cells = counted(self.unmatched.total(), "cell")
        expected = " or ".join(sorted({*self.unmatched_in.values()}, reverse=True))
        texts = [f"{text!r} ({n:,})" for text, n in self.unmatched.most_common()]
        where = listed(list(self.unmatched_in), 3)
        not_read = f"{n_cells} read as missing, not {expected}"
        return [f"{not_read}: {join_names(texts, 3)}, in {where}"]

    def _convert_typed(
        self, column: ColumnSchema, cells: Any, marks: Sequence[str]
    ) -> Any:
        """Convert a column that the file stores as numbers, dates or ranks."""
        dtype = cells.dtype
        is_number = pd.api.types.is_numeric_dtype(dtype)  # or boolean
        if is_number:
            numbers = pd.to_numeric(pd.Series(marks, dtype=object), errors="coerce")
            numbers = numbers.dropna()
            cells = cells.mask(cells.isin(numbers)) if len(numbers) else cells
        if column.kind == "categories":
            is_ranked = isinstance(dtype, pd.CategoricalDtype)
            return cells.cat.as_unordered() if is_ranked else to_categories(cells)
        if is_number:
            return cells.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
        if column.kind == "numbers" and pd.api.types.is_datetime64_any_dtype(dtype):
            raise InputError(
                f"{self.file}: column {column.name!r} holds dates, and numbers in the "
                "model; correct it, or fit again."
            )
        return cells


def _find_other_format(column: ColumnSchema, text: TextColumn) -> str | None:
    """Find a format that all texts have."""
    formats = DATE_FORMATS if column.kind == "dates" else NUMBER_FORMATS
    found = (
        other
        for other in formats
        if other not in AMBIGUOUS and match_format(other, text.values).all()
    )
    return next(found, None)
