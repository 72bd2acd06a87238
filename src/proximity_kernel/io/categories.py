"""Categories: the steps for booleans, codes, free text, and all other texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

import pandas as pd

from .._shared.wording import listed
from .column_step import Column, TextColumn, only_if
from .ids import MIN_ROWS
from .numbers import count_numbers

BOOLEAN = "boolean"
"""Format of categories that are spellings of true and false."""
ANY_CASE = "any case"
"""Format of categories in which case and the number of blanks do not matter."""
_SPELLINGS = {
    **dict.fromkeys(("true", "yes", "t", "y", "1"), "true"),
    **dict.fromkeys(("false", "no", "f", "n", "0"), "false"),
}
_MAX_SPELLINGS = 100  # in all cases of letters there are no more
_BOOLEAN_WORDS = {"true", "false", "yes", "no"}
_CODE_NAME = re.compile(
    r"(?i:(^|[_\s.\-])(ids?|code|zip|zipcode|postcode|plz)$)|[a-z](I[Dd]|Code|Zip)$"
)
_FREE_TEXT = 0.5  # distinct texts per cell from which on a column is free text
_MIN_FREE_TEXT = 20  # distinct texts that free text has at least
# Columns of remarks, where texts of several words are free text however few there are.
_REMARKS = re.compile(
    r"(^|[_\s.\-])(comment|remark|note|bemerkung|anmerkung|kommentar)(s|en|e)?$",
    re.IGNORECASE,
)
_MAX_CATEGORIES = 255  # that the kernel keeps apart


# -------------------------------------------------------------- steps: what it holds


def read_asked_categories(column: Column) -> Column:
    """Read a column as categories that `categorical` names, whatever it holds."""
    only_if("categorical" in column.asked)
    return column.read_as("categories")


def read_booleans(column: Column) -> Column:
    """Read several spellings of true and false as these two."""
    texts = column.get_text().values
    only_if("numeric" not in column.asked and _are_booleans(texts))
    both = "read as true and false (`categorical` keeps the texts apart)"
    column = column.listed_as(both, listed(sorted(texts), 6))
    return column.read_as("categories", BOOLEAN)


def read_categories(column: Column) -> Column:
    """Read text that is nothing else."""
    text = column.get_text()
    if text.n_observed and count_numbers(column) > 0.5 * text.n_observed:
        column = column.with_remark(": numbers and texts, read as categories")
    return column.read_as("categories", ANY_CASE if column.options.ignore_case else "")


def read_codes(column: Column) -> Column:
    """Read whole numbers that are named like codes (zip, shop_id) as categories."""
    only_if(column.kind == "numbers" and "numeric" not in column.asked)
    only_if(_is_code_name(column.name))
    cells = column.cells.dropna() if column.text is None else column.text.values
    cells = pd.Series(cells)
    only_if(not (pd.to_numeric(cells, errors="coerce").dropna() % 1).any())
    start = ": numbers named like codes, "
    # Where most cells differ, it is an id, or has too many categories.
    if 2 * cells.nunique() > column.n_observed >= MIN_ROWS:
        read = "measured as numbers (`categorical` or `drop`)"
        return column.with_remark(f"{start}{read}")
    read = "read as categories (`numeric` measures them)"
    return column.with_remark(f"{start}{read}").read_as("categories")


# ----------------------------------------------------------- steps: what it is used for


def use_asked_categories(column: Column) -> Column:
    """Use a column that `categorical` names, even if it looks like an id."""
    only_if("categorical" in column.asked)
    return column.with_role("used")


def leave_free_text_out(column: Column) -> Column:
    """Leave out texts that nearly all differ, or that are remarks of several words."""
    text = _get_categories(column)
    n_texts = len(text.values)
    differ = n_texts > max(_MIN_FREE_TEXT, _FREE_TEXT * text.n_observed)
    is_remark = _REMARKS.search(column.name) and any(" " in one for one in text.values)
    only_if(differ or is_remark)
    assumed = "left out, free text (`categorical` keeps it)"
    return column.with_role("left out", assumed, f"{n_texts:,} distinct texts")


def use_categories(column: Column) -> Column:
    """Use categories; report very many, and those that differ only in case."""
    text = _get_categories(column)
    n_texts = len(text.values)
    if n_texts > _MAX_CATEGORIES:
        many = "many texts, the rarest treated as one (`drop` leaves a column out)"
        column = column.listed_as(many, f"{n_texts:,}")
    groups: dict[str, list[str]] = {}
    for one, folded in zip(text.values, _fold(ANY_CASE, text.values), strict=True):
        groups.setdefault(folded, []).append(one)
    if alike := next((group for group in groups.values() if len(group) > 1), None):
        # Messages show several blanks as one.
        same = sorted({" ".join(one.split()) for one in alike})
        differ = "texts differ only in case or blanks, kept apart"
        column = column.listed_as(
            f"{differ} (`ignore_case` merges them)", listed(same, 3)
        )
    return column.with_role("used")


def _get_categories(column: Column) -> TextColumn:
    """Return the texts of categories, merged as their format has it."""
    text = column.get_text()
    only_if(column.kind == "categories")
    return merge_spellings(column.format, text)


# ------------------------------------------------------------------------------ texts


def merge_spellings(form: str, text: TextColumn) -> TextColumn:
    """Merge the texts that spell the same category, in a format of categories.

    >>> cells = pd.Series(["TRUE", "1", "no"], dtype="category")
    >>> text = TextColumn.from_categories(cells, [])
    >>> merge_spellings(BOOLEAN, text).values.tolist()
    ['true', 'false']
    """
    return text.replaced(_fold(form, text.values)) if form else text


def _fold(form: str, texts: Iterable[str]) -> list[str]:
    """Replace texts by the category that they spell."""
    folded = [" ".join(text.casefold().split()) for text in texts]
    return [_SPELLINGS.get(one, one) for one in folded] if form == BOOLEAN else folded


def _are_booleans(texts: Collection[str]) -> bool:
    """Whether texts are more than two spellings of true and false.

    >>> _are_booleans(["TRUE", "Yes", "0"]), _are_booleans(["yes", "no"])
    (True, False)
    """
    if not 2 < len(texts) <= _MAX_SPELLINGS:
        return False
    folded = {text.casefold() for text in texts}
    return bool(folded <= _SPELLINGS.keys() and folded & _BOOLEAN_WORDS)


def _is_code_name(name: str) -> bool:
    """Whether a column is named like one of codes, which cannot be measured.

    >>> _is_code_name("shop_id"), _is_code_name("zip"), _is_code_name("humid")
    (True, True, False)
    """
    return _CODE_NAME.search(name) is not None
