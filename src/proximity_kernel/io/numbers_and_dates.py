"""The formats in which numbers and dates are written, and columns of text in them.

The formats are data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .misreadings import convert_units, merge_spellings

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


def _cut_zeros(texts: Any, missing: Sequence[str]) -> Any:
    """Cut the decimals of "99.0" where "99" marks a missing cell.

    >>> list(_cut_zeros(pd.Index(["99.0", "99,00", "98.0", "x"]), ["99"]))
    ['99', '99', '98.0', 'x']
    """
    whole = {mark for mark in missing if re.fullmatch(r"[+-]?\d+", mark)}
    if not whole:
        return texts
    cut = [re.sub(r"[.,]00?$", "", text) for text in texts]
    pairs = zip(cut, texts, strict=True)
    return pd.Index([one if one in whole else text for one, text in pairs], texts.dtype)


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
        marked = _cut_zeros(stripped, missing)
        is_mark = marked.isin(list(missing))
        kept, values = pd.factorize(stripped[~is_mark])
        new_codes = np.full(len(column.cat.categories) + 1, -1)
        new_codes[present[~is_mark]] = kept
        marks = tuple(dict.fromkeys(marked[is_mark]))
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


def is_text(column: Any) -> bool:
    """Whether a column of a `ParsedFile` holds text."""
    dtype = column.dtype
    return isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered
