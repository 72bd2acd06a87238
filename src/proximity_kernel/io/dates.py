"""Dates in strings: the formats of dates, and the steps that read columns as dates.

The formats are in the table `DATE_FORMATS`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .column_step import MAX_OTHERS, Column, DoesNotApply, TextColumn, only_if

_ZONE = r"Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?"
_ISO_DAY = r"\d{4}-\d{1,2}-\d{1,2}"
_ISO_TIME = r"[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?"
_ISO_ZONE = rf"{_ISO_DAY}{_ISO_TIME} ?(?:{_ZONE})"
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
# Part of a format for pandas -> regular expression.
_PARTS = {
    "%Y": r"\d{4}", "%y": r"\d{2}", "%m": r"\d{1,2}", "%d": r"\d{1,2}",
    "%b": r"[A-Za-z]{3,9}\.?", ".": r"\.", ",": ", ?",
}  # fmt: skip
# Pairs of formats that the same string can match: day first, month first.
_PAIRS = {"d/m/y": "m/d/y", "d-m-y": "m-d-y", "d/m/yy": "m/d/yy"}
AMBIGUOUS = _PAIRS | {second: first for first, second in _PAIRS.items()}
"""Format -> the same format with day and month swapped."""
_COMPACT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


# ------------------------------------------------------------------------------ steps


def read_stored_dates(column: Column) -> Column:
    """Read a column as dates if the file stores it as dates."""
    only_if(pd.api.types.is_datetime64_any_dtype(column.cells.dtype))
    return column.read_as("dates")


def read_compact_dates(column: Column) -> Column:
    """Read a column as dates if all strings are dates such as 20240131."""
    text = column.get_text()
    only_if("numeric" not in column.named_in and len(text.values) > 1)
    only_if(all(map(_COMPACT.fullmatch, text.values)))
    return _read_format(column, text, "ymd")


def read_dates(column: Column) -> Column:
    """Read a column as dates if nearly all strings are dates in one format."""
    text = column.get_text()
    only_if("numeric" not in column.named_in)
    for name in DATE_FORMATS:
        matched = match_dates(name, text.values)
        if text.is_mostly(matched) and (~matched).sum() <= MAX_OTHERS:
            return _read_format(column, text, name)
    raise DoesNotApply


def _read_format(column: Column, text: TextColumn, name: str) -> Column:
    """Read a column as dates in a format, with day and month swapped if that fits more.

    The option `day_first` chooses between the two formats. Without it, the format that
    matches more cells is chosen; if both match as many, the column is read as
    categories.
    """
    both = sorted({name, AMBIGUOUS.get(name, name)})  # d before m
    counts = [text.count(match_dates(one, text.values)) for one in both]
    chosen = both[counts.index(max(counts))]
    if len(both) > 1 and column.options.day_first is not None:
        chosen = both[0 if column.options.day_first else 1]
    elif len(both) > 1 and counts[0] == counts[1]:
        either = " may have the day or the month first, so read as categories"
        column = column.with_remark(f"{either} (`day_first` makes them dates)")
        return column.read_as("categories")
    zone = ", in UTC" if chosen == "iso" and has_zone(text.values) else ""
    column = column.with_remark(f" read as dates ({DATE_FORMATS[chosen][0]}{zone})")
    return column.read_as("dates", chosen)


# ------------------------------------------------------------------------------ texts


def match_dates(name: str, texts: Any) -> NDArray[np.bool_]:
    """Return a mask of the strings that are dates in the given format.

    If none of the first 50 strings is, the mask is False everywhere.

    >>> match_dates("d/m/y", pd.Index(["31/12/2020", "12/31/2020"]))
    array([ True, False])
    """
    # On few strings, Python is many times as fast as pandas.
    if not any(map(re.compile(_find_pattern(name)).fullmatch, texts[:50])):
        return np.zeros(len(texts), bool)
    return np.asarray(~pd.isna(parse_dates(name, texts)))


def has_zone(texts: Any) -> bool:
    """Whether one of the strings is an ISO date with a time zone."""
    return any(re.fullmatch(_ISO_ZONE, text) for text in texts)


@cache
def _find_pattern(name: str) -> str:
    """Return a regular expression that matches dates in the given format."""
    if name == "iso":
        return rf"{_ISO_DAY}|{_ISO_DAY}{_ISO_TIME}|{_ISO_ZONE}"
    parts = re.split(r"(%\w|[.,])", DATE_FORMATS[name][1])
    return "".join(_PARTS.get(part, part) for part in parts) + _CLOCK


def parse_dates(name: str, texts: Any) -> NDArray[Any]:
    """Parse dates in the given format to datetime64, in UTC; other strings become NaT.

    >>> parse_dates("d.m.y", pd.Index(["3.2.2020", "x"])).astype("datetime64[D]")
    array(['2020-02-03',        'NaT'], dtype='datetime64[D]')
    """
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
