"""Texts in, numbers and dates out: the formats they are written in, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class NumberFormat:
    """A way to write numbers: its pattern, thousands separators and decimal mark."""

    pattern: str
    thousands: str  # each of these characters is removed
    decimal: str


@dataclass(frozen=True)
class DateFormat:
    """A way to write dates: its pattern, the format for pandas, and its description."""

    pattern: str
    format: str
    description: str


_PLAIN = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_BLANKS = "\u00a0\u202f '\u2019"  # thousands separators of many countries
NUMBER_FORMATS = {
    "1.5": NumberFormat(_PLAIN, "", "."),
    "1,5": NumberFormat(
        rf"[+-]?(?:\d+|\d{{1,3}}(?:[.{_BLANKS}]\d{{3}})+)?(?:,\d+)?(?:[eE][+-]?\d+)?",
        f".{_BLANKS}",
        ",",
    ),
    "1,234.5": NumberFormat(
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
_CLOCK = r"(?:,?[T ] ?(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?: ?([AaPp])[Mm])?)?"
_MONTH = r"[A-Za-z]{3,9}\.?"
_SHORT_YEARS = ", years 1969 to 2068"
DATE_FORMATS = {
    "iso": DateFormat(rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}(?:{_TIME})?", "ISO8601", "ISO"),
    "y/m/d": DateFormat(r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d", "year/month/day"),
    "d.m.y": DateFormat(r"\d{1,2}\.\d{1,2}\.\d{4}", "%d.%m.%Y", "day.month.year"),
    "d/m/y": DateFormat(r"\d{1,2}/\d{1,2}/\d{4}", "%d/%m/%Y", "day/month/year"),
    "m/d/y": DateFormat(r"\d{1,2}/\d{1,2}/\d{4}", "%m/%d/%Y", "month/day/year"),
    "d-m-y": DateFormat(r"\d{1,2}-\d{1,2}-\d{4}", "%d-%m-%Y", "day-month-year"),
    "m-d-y": DateFormat(r"\d{1,2}-\d{1,2}-\d{4}", "%m-%d-%Y", "month-day-year"),
    "d b y": DateFormat(rf"\d{{1,2}} {_MONTH} \d{{4}}", "%d %b %Y", "day month year"),
    "d-b-y": DateFormat(rf"\d{{1,2}}-{_MONTH}-\d{{4}}", "%d-%b-%Y", "day-month-year"),
    "b d, y": DateFormat(
        rf"{_MONTH} \d{{1,2}}, ?\d{{4}}", "%b %d,%Y", "month day, year"
    ),
    "d.m.yy": DateFormat(
        r"\d{1,2}\.\d{1,2}\.\d{2}", "%d.%m.%y", f"day.month.year{_SHORT_YEARS}"
    ),
    "d/m/yy": DateFormat(
        r"\d{1,2}/\d{1,2}/\d{2}", "%d/%m/%y", f"day/month/year{_SHORT_YEARS}"
    ),
    "m/d/yy": DateFormat(
        r"\d{1,2}/\d{1,2}/\d{2}", "%m/%d/%y", f"month/day/year{_SHORT_YEARS}"
    ),
}
# Formats that the same text may have.
_PAIRS = {"d/m/y": "m/d/y", "d-m-y": "m-d-y", "d/m/yy": "m/d/yy"}
AMBIGUOUS = _PAIRS | {second: first for first, second in _PAIRS.items()}
_SAMPLE = 50  # texts that are looked at first, to reject a format quickly


def match_format(name: str, texts: Any) -> NDArray[np.bool_] | None:
    """Find which texts have a format; None if none of the first texts has it.

    Parameters
    ----------
    name : str
        A key of `NUMBER_FORMATS` or `DATE_FORMATS`.
    texts : pandas.Index of str

    Returns
    -------
    ndarray of shape (n_texts,), bool

    Examples
    --------
    >>> match_format("1,5", pd.Index(["1,5", "2", "x"]))
    array([ True,  True, False])
    >>> match_format("d/m/y", pd.Index(["31/12/2020", "12/31/2020"]))
    array([ True, False])
    """
    if not len(texts):
        return None
    number = NUMBER_FORMATS.get(name)
    pattern = number.pattern if number else _with_clock(DATE_FORMATS[name])
    if not texts[:_SAMPLE].str.fullmatch(pattern).any():
        return None
    values = parse_format(name, texts)
    return np.asarray(~pd.isna(values))


def parse_format(name: str, texts: Any) -> NDArray[Any]:
    """Parse texts that have a format; the others become missing.

    Parameters
    ----------
    name : str
        A key of `NUMBER_FORMATS` or `DATE_FORMATS`.
    texts : pandas.Index of str

    Returns
    -------
    ndarray of shape (n_texts,), float64 or datetime64

    Examples
    --------
    >>> parse_format("1,5", pd.Index(["1.234,5", "x"]))
    array([1234.5,    nan])
    """
    number = NUMBER_FORMATS.get(name)
    if number is None:
        return _parse_dates(DATE_FORMATS[name], texts)
    texts = pd.Index(texts).astype(str).str.replace("\u2212", "-", regex=False)
    if name != "1.5":
        fits = np.asarray(texts.str.fullmatch(number.pattern), bool)
        texts = texts.where(fits, "")
        for sign in number.thousands:
            texts = texts.str.replace(sign, "", regex=False)
        texts = texts.str.replace(number.decimal, ".", regex=False)
    values = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float)
    return np.where(np.isfinite(values), values, np.nan)


def find_unit(texts: Any) -> str:
    """Find the unit or currency that all numbers have; empty if there is none.

    Parameters
    ----------
    texts : pandas.Index of str

    Returns
    -------
    str

    Examples
    --------
    >>> find_unit(pd.Index(["5 kg", "7.5 kg", "none"])), find_unit(pd.Index(["$1,200"]))
    ('kg', '$')
    >>> find_unit(pd.Index(["5 kg", "9 lb"])), find_unit(pd.Index(["5 kg", "9"]))
    ('', '')
    """
    for part in (texts[:_SAMPLE], texts):
        numbers = part[part.str.contains(r"\d", regex=True)]
        if not len(numbers) or not numbers.str.fullmatch(_WITH_UNIT).all():
            return ""
    units = numbers.str.extract(f"^{_WITH_UNIT}$").fillna("").drop_duplicates()
    before, after = units.iloc[0]
    is_single = len(units) == 1 and bool(before) != bool(after)
    return str(before or after) if is_single else ""


def remove_unit(texts: Any, unit: str) -> Any:
    """Remove the unit from numbers.

    >>> list(remove_unit(pd.Index(["-$5", "7 $", "x"]), "$"))
    ['-5', '7', 'x']
    """
    if not unit:
        return texts
    has_digit = np.asarray(texts.str.contains(r"\d", regex=True), bool)
    bare = texts.str.replace(unit, "", regex=False).str.strip()
    return bare.str.replace(r"^([+-])\s+", r"\1", regex=True).where(has_digit, texts)


def has_zone(texts: Any) -> bool:
    """Whether some ISO dates have a time zone."""
    return bool(texts.str.contains(rf":\d{{2}}.*?(?:{_ZONE})$", regex=True).any())


def _with_clock(date_format: DateFormat) -> str:
    if date_format.format == "ISO8601":
        return date_format.pattern
    return f"{date_format.pattern}{_CLOCK}"


def _parse_dates(date_format: DateFormat, texts: Any) -> NDArray[Any]:
    texts = pd.Index(texts).astype(str)
    fits = np.asarray(texts.str.fullmatch(_with_clock(date_format)), bool)
    texts = texts.where(fits, None)
    if date_format.format == "ISO8601":
        texts = texts.str.replace(r" ?(?:UTC|GMT)$", "Z", regex=True)
        texts = texts.str.replace(r" ([+-])", r"\1", regex=True)
        dates = pd.to_datetime(
            texts, format=date_format.format, errors="coerce", utc=True
        )
        values: NDArray[Any] = dates.tz_localize(None).to_numpy()
        return values
    parts = texts.str.extract(f"^({date_format.pattern}){_CLOCK}$")
    days = parts[0].str.replace(r"([A-Za-z]{3})[a-z]*\.?", r"\1", regex=True)
    days = days.str.replace(", ", ",", regex=False)
    moments = pd.to_datetime(days, format=date_format.format, errors="coerce")
    return np.asarray(moments + _read_clock(parts))


def _read_clock(parts: Any) -> Any:
    """Compute durations from hours, minutes, seconds, and AM or PM."""
    hours, minutes, seconds = (
        pd.to_numeric(parts[j]).fillna(0).astype(float) for j in (1, 2, 3)
    )
    half = parts[4].str.lower()
    hours = hours.where(half.isna(), hours % 12) + 12.0 * (half == "p")
    times = pd.to_timedelta(3600 * hours + 60 * minutes + seconds, unit="s")
    return times.where((hours < 24) & (minutes < 60) & (seconds < 60))
