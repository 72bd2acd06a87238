"""Texts in, numbers and dates out: the formats they are written in, as data."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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


def match_format(name: str, texts: Any) -> NDArray[np.bool_]:
    """Find which texts have a format; none if none of the first texts has it.

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
    pattern = NUMBER_FORMATS[name][0] if name in NUMBER_FORMATS else _find_pattern(name)
    if not texts[:_SAMPLE].str.fullmatch(pattern).any():
        return np.zeros(len(texts), bool)
    return np.asarray(~pd.isna(parse_format(name, texts)))


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
    if name in DATE_FORMATS:
        return _parse_dates(name, texts)
    pattern, thousands, decimal = NUMBER_FORMATS[name]
    texts = pd.Index(texts).astype(str).str.replace("\u2212", "-", regex=False)
    if name != "1.5":
        fits = np.asarray(texts.str.fullmatch(pattern), bool)
        texts = texts.where(fits, "")
        for sign in thousands:
            texts = texts.str.replace(sign, "", regex=False)
        texts = texts.str.replace(decimal, ".", regex=False)
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
