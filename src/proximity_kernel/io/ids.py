"""Find the columns that name the rows: ids, numbers of patients or of cases."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from .._shared.wording import counted, join_names
from .numbers_and_dates import TextColumn
from .parquet_and_excel import write_cell

MIN_ROWS = 20
"""With fewer rows, distinct cells are no evidence of an id."""
_MIN_OBSERVED = 0.5  # share of rows that have an id
_MAX_REPEATED = 0.05  # share of rows that may repeat an id
_MAX_REPEATED_NUMBER = 0.2  # the same of whole numbers that are named so
_MAX_LENGTH = 40  # characters of an id
_MAX_UNUSUAL = 0.5  # share of texts that do not look like ids
_NAMED_ID = re.compile(
    r"(^|[_\s.\-])(id|ids|uuid|guid|key|index|identifier|row_name)$",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r"[a-z]I[Dd]$")
# Numbers of patients, cases or rooms: never measured where most of them differ.
_NUMBER = re.compile(r"(^|[_\s.\-])(no|number|mrn)\.?$|(nr|nummer)\.?$", re.IGNORECASE)
# Texts without letters that are values, not ids: times, percentages, limits.
_VALUE = r"[^A-Za-z]*[:/%.,$€£()<>][^A-Za-z]*"


def check_id(
    name: str, column: Any, text: TextColumn | None, kind: str, first: bool
) -> tuple[bool, int]:
    """Decide whether a column is an id: its cells are distinct, and look like ids.

    Also returned is how many rows repeat a cell, if it would be an id without them.

    >>> check_id("user_id", pd.Series([7, 3, 5]), None, "numbers", first=False)
    (True, 0)
    """
    is_number = bool(_NUMBER.search(name))
    named = is_number or bool(_NAMED_ID.search(name) or _CAMEL_ID.search(name))
    n_rows = len(column)
    if text is None:
        cells = pd.Index(column.dropna())
        # Floats count only where they are whole numbers.
        is_whole = kind == "numbers" and not (cells.astype(object) % 1).any()
    else:
        cells = text.values.take(text.codes[text.codes >= 0])
        is_whole = kind == "numbers" and cells.str.fullmatch(r"[+-]?\d+").all()
    is_text = text is not None and kind == "categories"
    if n_rows < 3 or len(cells) < _MIN_OBSERVED * n_rows or not (is_whole or is_text):
        return False, 0
    many = len(cells) >= MIN_ROWS
    distinct = cells.unique()
    # Long whole numbers that differ, but are the same float, cannot be measured.
    blurred = is_whole and distinct.astype(float).nunique() < len(distinct)
    if named or blurred or (is_text and many and _look_like_ids(distinct)):
        n_repeats = len(cells) - len(distinct)
        most = _MAX_REPEATED_NUMBER if is_number and is_whole else _MAX_REPEATED
        if n_repeats <= most * len(cells) * many:
            return not n_repeats, n_repeats
    if not (first and is_whole and many and len(cells) == n_rows):
        return False, 0
    return all(int(cell) == int(cells[0]) + i for i, cell in enumerate(cells)), 0


def describe_repeats(cells: Any) -> str:
    """Write which id appears several times, in which rows.

    >>> describe_repeats(pd.Series(["a", "b", "b", "c"]))
    "'b' appears twice: rows 2 and 3"
    """
    codes, values = pd.factorize(cells)
    counts = np.bincount(codes + 1)[1:]
    first = int((counts > 1).argmax())
    rows = [f"{row + 1:,}" for row in np.flatnonzero(codes == first)]
    times = "twice" if len(rows) == 2 else f"{len(rows)} times"
    n_more = int((counts > 1).sum()) - 1
    others = f"; {counted(n_more, 'other')} too" if n_more else ""
    shown = write_cell(values[first])
    return f"{shown!r} appears {times}: rows {join_names(rows, 3)}{others}"


def _look_like_ids(texts: Any) -> bool:
    """Whether texts are short single words that are not values."""
    short = max(map(len, texts)) <= _MAX_LENGTH
    one_word = not texts.str.contains(" ").mean() > _MAX_UNUSUAL
    are_values = texts.str.fullmatch(_VALUE).mean() > _MAX_UNUSUAL
    return bool(short and one_word and not are_values)
