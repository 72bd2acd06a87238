"""Values in, text for readers out.

Names and cells may hold any text. Invisible characters, and those that change the
direction of writing, are replaced by a visible mark here. HTML is escaped where the
page is rendered.
"""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Any

_MAX_LENGTH = 120  # characters of a cell or a name
_MARK = "\N{REPLACEMENT CHARACTER}"
_DIRECTION_MARKS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
) | frozenset("\u2066\u2067\u2068\u2069")
_GROUPED = 10_000  # from which on thousands are separated: 2008 may be a year
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def clean(value: Any, longest: int = _MAX_LENGTH) -> str:
    r"""Make one line of visible text, cut off if it is long.

    Examples
    --------
    >>> clean("abcdefgh", longest=5) == "abcd\u2026", clean(chr(0)) == "\ufffd"
    (True, True)
    """
    text = str(value)
    text = text if len(text) <= longest else text[: longest - 1] + "\u2026"
    if text.isascii() and text.isprintable():
        return text
    text = " ".join(text.split()) if any(map(str.isspace, text)) else text
    return "".join(
        _MARK
        if unicodedata.category(one) in ("Cc", "Cs") or one in _DIRECTION_MARKS
        else one
        for one in text
    )


def count(number: int) -> str:
    """Write a whole number.

    Examples
    --------
    >>> count(2008), count(123456)
    ('2008', '123,456')
    """
    return f"{number:,}" if abs(number) >= _GROUPED else str(number)


def number(value: float) -> str:
    """Write a number with five significant digits; a whole number with all of them.

    Examples
    --------
    >>> number(2008.0), number(3.14159265), number(1234567.0), number(2.5e-9)
    ('2008', '3.1416', '1,234,567', '2.5e-09')
    """
    if value == round(value) and abs(value) < 1e15:
        return count(round(value))
    return f"{value:,.0f}" if _GROUPED <= abs(value) < 1e15 else f"{value:.5g}"


def share(part: float) -> str:
    """Write a share in percent; only 0 and 1 are written as 0 % and 100 %.

    Examples
    --------
    >>> [share(part) for part in (0, 0.0004, 0.123, 0.9999, 1)]
    ['0 %', 'under 1 %', '12 %', 'over 99 %', '100 %']
    """
    whole = round(100 * part)
    if whole == 0 and part > 0:
        return "under 1 %"
    if whole == 100 and part < 1:
        return "over 99 %"
    return f"{whole} %"


def moment(seconds: float) -> str:
    """Write a date, with the time of day unless it is midnight.

    Examples
    --------
    >>> moment(0.0), moment(86400.5), moment(1e20)
    ('1970-01-01', '1970-01-02 00:00:00', '1e+20 s')
    """
    try:
        day = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return f"{seconds:.5g} s"
    whole = seconds % 86400 == 0
    return f"{day:%Y-%m-%d}" if whole else f"{day:%Y-%m-%d %H:%M:%S}"


def some(n: int, noun: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> some(1, "row"), some(12345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{count(n)} {noun}{'' if n == 1 else 's'}"
