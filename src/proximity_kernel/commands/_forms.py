"""Texts in, numbers and dates out: the ways in which they are written, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class NumberForm:
    """A way to write numbers: what it looks like, and what to take away from it."""

    pattern: str
    thousands: str  # any of these characters
    decimal: str


@dataclass(frozen=True)
class DateForm:
    """A way to write dates: what it looks like, how pandas reads it, and its name."""

    pattern: str
    format: str
    say: str


_PLAIN = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_BLANKS = "\u00a0\u202f '\u2019"  # between thousands, in many countries
NUMBER_FORMS = {
    "1.5": NumberForm(_PLAIN, "", "."),
    "1,5": NumberForm(
        rf"[+-]?(?:\d+|\d{{1,3}}(?:[.{_BLANKS}]\d{{3}})+)?(?:,\d+)?(?:[eE][+-]?\d+)?",
        f".{_BLANKS}",
        ",",
    ),
    "1,234.5": NumberForm(
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
# A time behind a date that is not ISO: hours, minutes, seconds, half of the day.
_CLOCK = r"(?:,?[T ] ?(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?: ?([AaPp])[Mm])?)?"
_MONTH = r"[A-Za-z]{3,9}\.?"
_SHORT = ", the years as 1969 to 2068"
DATE_FORMS = {
    "iso": DateForm(rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}(?:{_TIME})?", "ISO8601", "ISO"),
    "y/m/d": DateForm(r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d", "year/month/day"),
    "d.m.y": DateForm(r"\d{1,2}\.\d{1,2}\.\d{4}", "%d.%m.%Y", "day.month.year"),
    "d/m/y": DateForm(r"\d{1,2}/\d{1,2}/\d{4}", "%d/%m/%Y", "day/month/year"),
    "m/d/y": DateForm(r"\d{1,2}/\d{1,2}/\d{4}", "%m/%d/%Y", "month/day/year"),
    "d-m-y": DateForm(r"\d{1,2}-\d{1,2}-\d{4}", "%d-%m-%Y", "day-month-year"),
    "m-d-y": DateForm(r"\d{1,2}-\d{1,2}-\d{4}", "%m-%d-%Y", "month-day-year"),
    "d b y": DateForm(rf"\d{{1,2}} {_MONTH} \d{{4}}", "%d %b %Y", "day month year"),
    "d-b-y": DateForm(rf"\d{{1,2}}-{_MONTH}-\d{{4}}", "%d-%b-%Y", "day-month-year"),
    "b d, y": DateForm(rf"{_MONTH} \d{{1,2}}, ?\d{{4}}", "%b %d,%Y", "month day, year"),
    "d.m.yy": DateForm(
        r"\d{1,2}\.\d{1,2}\.\d{2}", "%d.%m.%y", f"day.month.year{_SHORT}"
    ),
    "d/m/yy": DateForm(r"\d{1,2}/\d{1,2}/\d{2}", "%d/%m/%y", f"day/month/year{_SHORT}"),
    "m/d/yy": DateForm(r"\d{1,2}/\d{1,2}/\d{2}", "%m/%d/%y", f"month/day/year{_SHORT}"),
}
# Two readings of the same text.
_PAIRS = {"d/m/y": "m/d/y", "d-m-y": "m-d-y", "d/m/yy": "m/d/yy"}
AMBIGUOUS = _PAIRS | {other: form for form, other in _PAIRS.items()}
_SAMPLE = 50  # texts that may tell that a form is another


@dataclass(frozen=True, eq=False)
class Words:
    """A column of text: each different text once.

    Attributes
    ----------
    values : pandas.Index of str
        The texts that are not missing, without blanks around them.
    codes : ndarray of shape (n_rows,)
        Where each cell's text stands in `values`; -1 is missing.
    markers : tuple of str
        The texts that were found to mean a missing cell; empty for an empty cell.
    """

    values: Any
    codes: NDArray[np.int64]
    markers: tuple[str, ...]

    @classmethod
    def of(cls, column: Any, missing: Sequence[str]) -> Words:
        """Read a categorical column of text.

        >>> words = Words.of(pd.Series(["a ", "?", "b", "a"], dtype="category"), ["?"])
        >>> list(words.values), words.codes.tolist(), words.markers
        (['a', 'b'], [0, -1, 1, 0], ('?',))
        """
        codes = column.cat.codes.to_numpy().astype(np.int64)
        held = np.unique(codes[codes >= 0])
        texts = column.cat.categories.take(held).astype(str).str.strip()
        stripped = pd.Index(texts)
        gone = stripped.isin(list(missing))
        kept, values = pd.factorize(stripped[~gone])
        place = np.full(len(column.cat.categories) + 1, -1)
        place[held[~gone]] = kept
        markers = tuple(dict.fromkeys(stripped[gone]))
        if (codes < 0).any() and "" not in markers:
            markers = (*markers, "")
        return cls(pd.Index(values), place[codes], markers)

    @property
    def n_observed(self) -> int:
        """Cells that are not missing."""
        return int(np.count_nonzero(self.codes >= 0))

    def count(self, chosen: NDArray[np.bool_] | None) -> int:
        """Count the cells whose text is chosen."""
        if chosen is None or not chosen.any():
            return 0
        observed = self.codes[self.codes >= 0]
        return int(np.count_nonzero(chosen[observed]))

    def n_strays(self, matched: NDArray[np.bool_] | None) -> int:
        """Count the different texts that were not matched."""
        return len(self.values) if matched is None else int((~matched).sum())

    def is_free_text(self, share: float, few: int) -> bool:
        """Whether too many texts differ for rows to be compared by them."""
        return len(self.values) > max(few, share * self.n_observed)

    def has_leading_zeros(self) -> bool:
        """Whether numbers are written as codes are: 007."""
        return bool(self.values.str.match(r"0\d+$").any())


def match_form(form: str, texts: Any) -> NDArray[np.bool_] | None:
    """Tell which texts are written in a form; None if none of the first is.

    Parameters
    ----------
    form : str
        A key of `NUMBER_FORMS` or `DATE_FORMS`.
    texts : pandas.Index of str

    Returns
    -------
    ndarray of shape (n_texts,), bool

    Examples
    --------
    >>> match_form("1,5", pd.Index(["1,5", "2", "x"]))
    array([ True,  True, False])
    >>> match_form("d/m/y", pd.Index(["31/12/2020", "12/31/2020"]))
    array([ True, False])
    """
    if not len(texts):
        return None
    number = NUMBER_FORMS.get(form)
    pattern = number.pattern if number else _with_clock(DATE_FORMS[form])
    if not texts[:_SAMPLE].str.fullmatch(pattern).any():
        return None
    values = parse_form(form, texts)
    return np.asarray(~pd.isna(values))


def parse_form(form: str, texts: Any) -> NDArray[Any]:
    """Read texts that are written in a form; others are missing.

    Parameters
    ----------
    form : str
    texts : pandas.Index of str

    Returns
    -------
    ndarray of shape (n_texts,), float64 or datetime64

    Examples
    --------
    >>> parse_form("1,5", pd.Index(["1.234,5", "x"]))
    array([1234.5,    nan])
    """
    number = NUMBER_FORMS.get(form)
    if number is None:
        return _parse_dates(DATE_FORMS[form], texts)
    texts = pd.Index(texts).astype(str).str.replace("\u2212", "-", regex=False)
    if form != "1.5":
        fits = np.asarray(texts.str.fullmatch(number.pattern), bool)
        texts = texts.where(fits, "")
        for sign in number.thousands:
            texts = texts.str.replace(sign, "", regex=False)
        texts = texts.str.replace(number.decimal, ".", regex=False)
    values = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float)
    return np.where(np.isfinite(values), values, np.nan)


def find_unit(texts: Any) -> str:
    """Find the unit or currency that all numbers among the texts have; empty if none.

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
    for some in (texts[:_SAMPLE], texts):
        numbers = some[some.str.contains(r"\d", regex=True)]
        if not len(numbers) or not numbers.str.fullmatch(_WITH_UNIT).all():
            return ""
    units = numbers.str.extract(f"^{_WITH_UNIT}$").fillna("").drop_duplicates()
    before, after = units.iloc[0]
    alone = len(units) == 1 and bool(before) != bool(after)
    return str(before or after) if alone else ""


def without_unit(texts: Any, unit: str) -> Any:
    """Take the unit away from numbers.

    >>> list(without_unit(pd.Index(["-$5", "7 $", "x"]), "$"))
    ['-5', '7', 'x']
    """
    if not unit:
        return texts
    has_digit = np.asarray(texts.str.contains(r"\d", regex=True), bool)
    bare = texts.str.replace(unit, "", regex=False).str.strip()
    return bare.str.replace(r"^([+-])\s+", r"\1", regex=True).where(has_digit, texts)


def has_zone(texts: Any) -> bool:
    """Whether some ISO dates name a time zone."""
    return bool(texts.str.contains(rf":\d{{2}}.*?(?:{_ZONE})$", regex=True).any())


def _with_clock(form: DateForm) -> str:
    return form.pattern if form.format == "ISO8601" else f"{form.pattern}{_CLOCK}"


def _parse_dates(form: DateForm, texts: Any) -> NDArray[Any]:
    texts = pd.Index(texts).astype(str)
    fits = np.asarray(texts.str.fullmatch(_with_clock(form)), bool)
    texts = texts.where(fits, None)
    if form.format == "ISO8601":
        texts = texts.str.replace(r" ?(?:UTC|GMT)$", "Z", regex=True)
        texts = texts.str.replace(r" ([+-])", r"\1", regex=True)
        dates = pd.to_datetime(texts, format=form.format, errors="coerce", utc=True)
        values: NDArray[Any] = dates.tz_localize(None).to_numpy()
        return values
    parts = texts.str.extract(f"^({form.pattern}){_CLOCK}$")
    days = parts[0].str.replace(r"([A-Za-z]{3})[a-z]*\.?", r"\1", regex=True)
    days = days.str.replace(", ", ",", regex=False)
    moments = pd.to_datetime(days, format=form.format, errors="coerce")
    return np.asarray(moments + _read_clock(parts))


def _read_clock(parts: Any) -> Any:
    """Make durations of hours, minutes, seconds and the half of the day."""
    hours, minutes, seconds = (
        pd.to_numeric(parts[j]).fillna(0).astype(float) for j in (1, 2, 3)
    )
    half = parts[4].str.lower()
    hours = hours.where(half.isna(), hours % 12) + 12.0 * (half == "p")
    times = pd.to_timedelta(3600 * hours + 60 * minutes + seconds, unit="s")
    return times.where((hours < 24) & (minutes < 60) & (seconds < 60))
