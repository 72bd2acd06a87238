"""A column in, whether it is an id out: decided by its name and by its cells."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from .text_column import TextColumn

_MIN_ROWS = 20  # with fewer rows, distinct cells are no evidence
_MAX_REPEATED = 0.05  # share of rows that repeat an id which is still reported
_MAX_LENGTH = 40  # characters of an id
_MAX_UNUSUAL = 0.5  # share of texts that do not look like ids
_NAMED_ID = re.compile(
    r"(^|[_\s.\-])(id|ids|uuid|guid|key|index|nr|no|number|identifier|row_name)$",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r"[a-z]I[Dd]$|nummer$")
# Texts without letters that are values, not ids: times, percentages, limits.
_VALUE = r"[^A-Za-z]*[:/%.,$€£()<>][^A-Za-z]*"


def check_id(
    name: str, column: Any, text: TextColumn | None, kind: str, *, first: bool
) -> tuple[bool, int]:
    """Decide whether a column is an id: all cells are distinct, and look like ids.

    Parameters
    ----------
    name : str
    column : pandas.Series
        As the file holds it.
    text : TextColumn or None
        The same, if it is a column of text.
    kind : str
        As in `ColumnSchema`.
    first : bool
        Whether it is the table's first column.

    Returns
    -------
    bool
        Whether it is an id.
    int
        Rows that repeat a cell, if it would be an id without them; else 0.

    Examples
    --------
    >>> check_id("user_id", pd.Series([7, 3, 5]), None, "numbers", first=False)
    (True, 0)
    """
    n_rows = len(column)
    if n_rows < 3 or kind == "dates":
        return False, 0
    named = bool(_NAMED_ID.search(name) or _CAMEL_ID.search(name))
    if text is None:
        if not pd.api.types.is_numeric_dtype(column):
            return False, 0
        return _check_numbers(column.dropna().to_numpy(float), n_rows, named, first)
    if kind == "categories":
        return _check_texts(text, n_rows, named)
    numbers = pd.to_numeric(text.values, errors="coerce").to_numpy(float)
    values = numbers[text.codes[text.codes >= 0]]
    return _check_numbers(values, n_rows, named, first)


def _check_texts(text: TextColumn, n_rows: int, named: bool) -> tuple[bool, int]:
    unique = len(text.values) == n_rows
    n_repeats = text.n_observed - len(text.values)
    if not unique and not _are_few(n_repeats, n_rows):
        return False, 0
    if not named and not (n_rows >= _MIN_ROWS and _look_like_ids(text.values)):
        return False, 0
    return unique, n_repeats


def _look_like_ids(texts: Any) -> bool:
    """Whether texts are short single words that are not values."""
    short = max(map(len, texts)) <= _MAX_LENGTH
    one_word = not texts.str.contains(" ").mean() > _MAX_UNUSUAL
    are_values = texts.str.fullmatch(_VALUE).mean() > _MAX_UNUSUAL
    return bool(short and one_word and not are_values)


def _check_numbers(
    values: Any, n_rows: int, named: bool, first: bool
) -> tuple[bool, int]:
    if not len(values) or not np.isfinite(values).all() or (values % 1).any():
        return False, 0
    complete = len(values) == n_rows
    if named:
        n_repeats = len(values) - len(np.unique(values))
        if (complete and not n_repeats) or _are_few(n_repeats, n_rows):
            return not n_repeats, n_repeats
    counts_rows = complete and first and n_rows >= _MIN_ROWS
    return counts_rows and bool((np.diff(values) == 1).all()), 0


def _are_few(n_repeats: int, n_rows: int) -> bool:
    return n_rows >= _MIN_ROWS and 0 < n_repeats <= _MAX_REPEATED * n_rows
