"""Steps that read a column as categories, or leave it out as free text.

A column is read as ordered categories if all its strings are on one scale of
``scales.txt``, such as low < medium < high, and no two of them are synonyms. In that
file, ``|`` separates synonyms, and an empty line separates scales. Ranges of numbers
("under 18", "18-24", "65+") are ordered by their limits if they do not overlap.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from .._shared.wording import counted, join_names, listed
from . import dates, numbers
from .column_step import Column, TextColumn, only_if
from .ids import MIN_ROWS
from .schema import Doubt

BOOLEAN = "boolean"
"""`ColumnSchema.format` of categories that are spellings of true and false."""
ANY_CASE = "any case"
"""`ColumnSchema.format` of categories that ignore case and repeated whitespace."""
_SPELLINGS = {
    **dict.fromkeys(("true", "yes", "t", "y", "1"), "true"),
    **dict.fromkeys(("false", "no", "f", "n", "0"), "false"),
}
_MAX_SPELLINGS = 100  # the words above have 70 in upper and lower case
_BOOLEAN_WORDS = {"true", "false", "yes", "no"}
_CODE_NAME = re.compile(
    r"(?i:(^|[_\s.\-])(ids?|code|zip|zipcode|postcode|plz)$)|[a-z](I[Dd]|Code|Zip)$"
)
_FREE_TEXT = 0.5  # minimum distinct strings per cell of free text
_MIN_FREE_TEXT = 20  # minimum distinct strings of free text
_MIN_MEASURED = 0.5  # share of cells like numbers or dates that puts this in doubt
# Column names of comments: the column is free text if a cell has several words.
_REMARKS = re.compile(
    r"(^|[_\s.\-])(comment|remark|note|bemerkung|anmerkung|kommentar)(s|en|e)?$",
    re.IGNORECASE,
)
# A number, perhaps with symbols around it, such as a currency sign decoded wrongly; or
# a time.
_AMOUNT = re.compile(
    r"[^\w\s]{0,2}\s?\d[\d.,]*\s?[^\w\s]{0,3}|\d+:\d\d(:\d\d)?( ?[AaPp][Mm])?"
)
_MAX_CATEGORIES = 255  # default `max_categories` of the kernel
_MIN_TEXTS = 3  # distinct strings on a scale; the order of two makes no difference
_MAX_TEXTS = 30  # distinct strings on a scale
_MAX_OFF = 2  # distinct strings that are not on the scale of the others
_SCALES = (Path(__file__).parent / "scales.txt").read_text(encoding="utf-8")
# For each scale: word -> its rank.
_RANKS = tuple(
    {word: i for i, step in enumerate(scale) for word in step.strip().split("|")}
    for scale in (
        " ".join(text.casefold().split()).split("<") for text in _SCALES.split("\n\n")
    )
)
_LIMIT = r"[$€£]?\s*(\d{1,3}(?:[.,]\d{3})+|\d+(?:[.,]\d+)?)\s*([kK]?)"
_RANGE = re.compile(rf"{_LIMIT}\s*(?:-|\u2013|\u2014|to|bis|\.\.)\s*{_LIMIT}")
_BELOW = re.compile(rf"(?:<=?|≤|under|below|less than|up to|unter|bis)\s*{_LIMIT}")
_ABOVE = re.compile(
    rf"(?:>=?|≥|over|above|more than|at least|über|ab)\s*{_LIMIT}"
    rf"|{_LIMIT}\s*(?:\+|or more|and more|and over|and above|or older|und mehr)"
)
_UNIT = re.compile(r"\s*(years?( old)?|yrs?|jahre|kg|g|cm|km|m|days?|hours?|h|%)$")


def read_booleans(column: Column) -> Column:
    """Read a column as two categories if it spells true and false in several ways."""
    texts = column.get_text().values
    only_if("numeric" not in column.named_in and _are_mixed_booleans(texts))
    both = "read as true and false (`categorical` keeps the texts apart)"
    column = column.listed_as(both, listed(sorted(texts), 6))
    return column.read_as("categories", BOOLEAN)


def read_categories(column: Column) -> Column:
    """Read a column of strings as categories; report if most cells are numbers."""
    text = column.get_text()
    if text.n_observed and numbers.count_numbers(column) > 0.5 * text.n_observed:
        column = column.with_remark(": numbers and texts, read as categories")
    return column.read_as("categories", ANY_CASE if column.options.ignore_case else "")


def read_codes(column: Column) -> Column:
    """Read integers in a column named like codes (zip, shop_id) as categories.

    At least 20 integers that are mostly distinct stay numbers. Both cases are reported.
    """
    only_if(column.kind == "numbers" and "numeric" not in column.named_in)
    only_if(_CODE_NAME.search(column.name))
    cells = column.cells.dropna() if column.text is None else column.text.values
    cells = pd.Series(cells)
    only_if(not (pd.to_numeric(cells, errors="coerce").dropna() % 1).any())
    start = ": numbers named like codes, "
    # A column of mostly distinct cells is an id, or has too many categories.
    if 2 * cells.nunique() > column.n_observed >= MIN_ROWS:
        read = "compared as numbers (`categorical` or `drop`)"
        return column.with_remark(f"{start}{read}")
    read = "read as categories (`numeric` reads them as numbers)"
    return column.with_remark(f"{start}{read}").read_as("categories")


def leave_free_text_out(column: Column) -> Column:
    """Leave out a column of free text: mostly distinct strings, or comments."""
    text = _get_categories(column)
    n_texts = len(text.values)
    differ = n_texts > max(_MIN_FREE_TEXT, _FREE_TEXT * text.n_observed)
    is_remark = _REMARKS.search(column.name) and any(" " in one for one in text.values)
    only_if(differ or is_remark)
    assumed = "left out, free text (`categorical` keeps it)"
    if numbers.has_numbers(column):
        most = "left out, free text, but most cells are numbers"
        assumed = Doubt(f"{most} (`numeric` reads these, `drop` confirms it)")
    elif _look_measured(text):
        most = "left out, free text, but most cells look like numbers, dates or times"
        how = "write them as numbers or dates of one format"
        assumed = Doubt(f"{most} ({how}; `drop` confirms it)")
    n = counted(n_texts, "distinct text")
    return column.with_role("left out", assumed, n)


def _look_measured(text: TextColumn) -> bool:
    """Whether at least half of the cells look like numbers, dates or times."""
    matched = np.array([bool(_AMOUNT.fullmatch(one)) for one in text.values], bool)
    for name in dates.DATE_FORMATS:
        matched |= dates.match_dates(name, text.values)
    return text.is_mostly(matched, _MIN_MEASURED)


def use_categories(column: Column) -> Column:
    """Use a column of categories; report over 255, or any that differ only in case.

    One or two categories that are not on the scale of the others are reported, too.
    """
    text = _get_categories(column)
    n_texts = len(text.values)
    off = find_off_scale(text.values)
    if off and text.is_mostly(~np.isin(text.values, off)):
        marks = join_names([f"`missing={one!r}`" for one in off])
        verb = "is" if len(off) == 1 else "are"
        why = f"{listed(off)} {verb} not on the scale of the others"
        column = column.listed_as(Doubt(f"not ordered: {why} (if missing, {marks})"))
    if n_texts > _MAX_CATEGORIES:
        many = "many texts, the rarest share one bin (`drop` leaves a column out)"
        column = column.listed_as(many, f"{n_texts:,}")
    groups: dict[str, list[str]] = {}
    for one, folded in zip(text.values, _fold(ANY_CASE, text.values), strict=True):
        groups.setdefault(folded, []).append(one)
    if alike := next((group for group in groups.values() if len(group) > 1), None):
        # Messages show a single blank in place of several.
        same = sorted({" ".join(one.split()) for one in alike})
        differ = "texts differ only in case or blanks, kept apart"
        merged = f"{differ} (`ignore_case` merges them)"
        column = column.listed_as(merged, listed(same, 3))
    return column.with_role("used")


def _get_categories(column: Column) -> TextColumn:
    """Return merged strings; raise `DoesNotApply` unless they are categories."""
    text = column.get_text()
    only_if(column.kind == "categories")
    return merge_spellings(column.format, text)


def merge_spellings(form: str, text: TextColumn) -> TextColumn:
    """Merge strings that spell the same category; `form` is BOOLEAN, ANY_CASE or "".

    The format "" merges nothing.

    >>> cells = pd.Series(["TRUE", "1", "no"], dtype="category")
    >>> text = TextColumn.from_categories(cells, [])
    >>> merge_spellings(BOOLEAN, text).values.tolist()
    ['true', 'false']
    """
    return text.replaced(_fold(form, text.values)) if form else text


def _fold(form: str, texts: Iterable[str]) -> list[str]:
    """Normalize case and whitespace; with `BOOLEAN`, map words to "true" or "false"."""
    folded = [" ".join(text.casefold().split()) for text in texts]
    return [_SPELLINGS.get(one, one) for one in folded] if form == BOOLEAN else folded


def _are_mixed_booleans(texts: Collection[str]) -> bool:
    """Whether strings spell true and false in three or more ways, at least one a word.

    >>> _are_mixed_booleans(["TRUE", "Yes", "0"]), _are_mixed_booleans(["yes", "no"])
    (True, False)
    >>> _are_mixed_booleans(["true", "yes", "t"])  # never false
    False
    """
    if not 2 < len(texts) <= _MAX_SPELLINGS:
        return False
    folded = {text.casefold() for text in texts}
    both = {_SPELLINGS.get(one) for one in folded} == {"true", "false"}
    return bool(both and folded & _BOOLEAN_WORDS)


def read_scale(column: Column) -> Column:
    """Read a column as ordered categories if all strings are on a scale, or ranges."""
    text = column.get_text()
    only_if("numeric" not in column.named_in)
    order = find_order(text.values)
    only_if(order)
    shown = " < ".join(map(repr, order))
    if len(order) > 5:
        shown = f"{' < '.join(map(repr, order[:2]))} < ... < {order[-1]!r}"
    ordered = "read as ordered (`categorical` reads them without an order)"
    return column.listed_as(ordered, shown).read_as("ordered", order=order)


def find_order(texts: Collection[str]) -> tuple[str, ...]:
    """Order strings on one scale, or ranges, the lowest first; empty if neither.

    >>> find_order(["high", "Low", "medium"]), find_order(["high", "red", "low"])
    (('Low', 'medium', 'high'), ())
    >>> find_order(["18-24", "65+", "under 18", "25 - 64"])
    ('under 18', '18-24', '25 - 64', '65+')
    """
    if not _MIN_TEXTS <= len(texts) <= _MAX_TEXTS:
        return ()
    folded = {text: " ".join(text.casefold().split()) for text in texts}
    for ranks in _RANKS:
        places = [ranks.get(one) for one in folded.values()]
        if None not in places and len(set(places)) == len(places):
            return tuple(sorted(texts, key=lambda text: ranks[folded[text]]))
    ranges = {text: _parse_range(one) for text, one in folded.items()}
    known = {text: limits for text, limits in ranges.items() if limits is not None}
    if len(known) < len(texts):
        return ()
    limits = sorted(known.values())
    apart = all(a[1] <= b[0] and a != b for a, b in pairwise(limits))
    is_scale = apart and any(low < high for low, high in limits)
    return tuple(sorted(known, key=lambda text: known[text])) if is_scale else ()


def find_off_scale(texts: Collection[str]) -> list[str]:
    """Find at most two strings without which the others are on one scale.

    >>> find_off_scale(["high", "Low", "medium", "don't know"])
    ["don't know"]
    """
    if len(texts) > _MAX_TEXTS:
        return []
    folded = {text: " ".join(text.casefold().split()) for text in texts}
    for ranks in _RANKS:
        off = [text for text, one in folded.items() if one not in ranks]
        if 0 < len(off) <= _MAX_OFF and find_order(folded.keys() - off):
            return off
    off = [text for text, one in folded.items() if _parse_range(one) is None]
    return off if len(off) <= _MAX_OFF and find_order(folded.keys() - off) else []


def _parse_range(text: str) -> tuple[float, float] | None:
    """Parse a range of numbers or a single number; None for other strings.

    >>> _parse_range("3-5"), _parse_range("$10,000 - $20,000"), _parse_range("65+")
    ((3.0, 5.0), (10000.0, 20000.0), (65.0, inf))
    """
    text = _UNIT.sub("", text)
    if found := _RANGE.fullmatch(text):
        low = _parse_limit(found[1], found[2] or found[4])
        high = _parse_limit(found[3], found[4])
        return (low, high) if low <= high else None
    if found := _BELOW.fullmatch(text):
        return float("-inf"), _parse_limit(found[1], found[2])
    if found := _ABOVE.fullmatch(text):
        digits, thousands = found[1] or found[3], found[2] or found[4]
        return _parse_limit(digits, thousands or ""), float("inf")
    if found := re.fullmatch(_LIMIT, text):
        return (_parse_limit(found[1], found[2]),) * 2
    return None


def _parse_limit(digits: str, thousands: str) -> float:
    """Parse the limit of a range, such as 10,000; times 1,000 with `thousands`."""
    plain = re.sub(r"[.,](?=\d{3}(\D|$))", "", digits).replace(",", ".")
    return float(plain) * (1000 if thousands else 1)
