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
    thousands: str
    decimal: str


@dataclass(frozen=True)
class DateForm:
    """A way to write dates: what it looks like, how pandas reads it, and its name."""

    pattern: str
    format: str
    say: str


_PLAIN = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
NUMBER_FORMS = {
    "1.5": NumberForm(_PLAIN, "", "."),
    "1,5": NumberForm(
        r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)?(?:,\d+)?(?:[eE][+-]?\d+)?", ".", ","
    ),
    "1,234.5": NumberForm(rf"[+-]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|{_PLAIN}", ",", "."),
}
_TIME = r"[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?"
DATE_FORMS = {
    "iso": DateForm(rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}(?:{_TIME})?", "ISO8601", "ISO"),
    "y/m/d": DateForm(r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d", "year/month/day"),
    "d.m.y": DateForm(r"\d{1,2}\.\d{1,2}\.\d{4}", "%d.%m.%Y", "day.month.year"),
    "d/m/y": DateForm(r"\d{1,2}/\d{1,2}/\d{4}", "%d/%m/%Y", "day/month/year"),
    "m/d/y": DateForm(r"\d{1,2}/\d{1,2}/\d{4}", "%m/%d/%Y", "month/day/year"),
    "d-m-y": DateForm(r"\d{1,2}-\d{1,2}-\d{4}", "%d-%m-%Y", "day-month-year"),
    "m-d-y": DateForm(r"\d{1,2}-\d{1,2}-\d{4}", "%m-%d-%Y", "month-day-year"),
    "d b y": DateForm(r"\d{1,2} [A-Za-z]{3} \d{4}", "%d %b %Y", "day month year"),
    "d-b-y": DateForm(r"\d{1,2}-[A-Za-z]{3}-\d{4}", "%d-%b-%Y", "day-month-year"),
}
# Two readings of the same text.
AMBIGUOUS = {"d/m/y": "m/d/y", "m/d/y": "d/m/y", "d-m-y": "m-d-y", "m-d-y": "d-m-y"}
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
    pattern = number.pattern if number else DATE_FORMS[form].pattern
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
        texts = texts.str.replace(number.thousands, "", regex=False)
        texts = texts.str.replace(number.decimal, ".", regex=False)
    values = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float)
    return np.where(np.isfinite(values), values, np.nan)


def _parse_dates(form: DateForm, texts: Any) -> NDArray[Any]:
    texts = pd.Index(texts).astype(str)
    texts = texts.where(np.asarray(texts.str.fullmatch(form.pattern), bool), None)
    dates = pd.to_datetime(texts, format=form.format, errors="coerce", utc=True)
    values: NDArray[Any] = dates.tz_localize(None).to_numpy()
    return values
