"""A column in, whether it names the rows out: by its name, and by its cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ._forms import Words
from ._plan import CATEGORIES, DATES

_FEW = 20  # rows in which uniqueness says nothing
_REPEATED = 0.05  # of the rows, in what would be an id without that
_LONG = 40  # characters of an id
_MIXED = 0.5  # of the texts, that are not what an id's are
_NAMED_ID = re.compile(
    r"(^|[_\s.\-])(id|ids|uuid|guid|key|index|nr|no|number|identifier|row_name)$",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r"[a-z]I[Dd]$|nummer$")
# Times, shares, limits: texts without letters that are values, and name nothing.
_VALUE = r"[^A-Za-z]*[:/%.,$€£()<>][^A-Za-z]*"


@dataclass(frozen=True)
class Likeness:
    """How far a column is an id.

    Attributes
    ----------
    is_id : bool
        All cells differ, and the name or the form is an id's.
    n_repeats : int
        Rows that repeat a cell, where it would be an id without them; else 0.
    rises : bool
        It is none by this, but rises from row to row.
    """

    is_id: bool = False
    n_repeats: int = 0
    rises: bool = False


def judge_id(
    name: str, column: Any, words: Words | None, kind: str, *, first: bool
) -> Likeness:
    """Tell how far a column is an id.

    Parameters
    ----------
    name : str
    column : pandas.Series
        As it is held.
    words : Words or None
        Of a column of text.
    kind : str
        Of a `ColumnPlan`.
    first : bool
        Whether it is the table's first column.

    Returns
    -------
    Likeness

    Examples
    --------
    >>> judge_id("user_id", pd.Series([7, 3, 5]), None, "numbers", first=False).is_id
    True
    """
    n_rows = len(column)
    if n_rows < 3 or kind == DATES:
        return Likeness()
    named = bool(_NAMED_ID.search(name) or _CAMEL_ID.search(name))
    if words is None:
        if not pd.api.types.is_numeric_dtype(column):
            return Likeness()
        return _judge_numbers(column.dropna().to_numpy(float), n_rows, named, first)
    if kind == CATEGORIES:
        return _judge_texts(words, n_rows, named)
    numbers = pd.to_numeric(words.values, errors="coerce").to_numpy(float)
    values = numbers[words.codes[words.codes >= 0]]
    return _judge_numbers(values, n_rows, named, first)


def _judge_texts(words: Words, n_rows: int, named: bool) -> Likeness:
    unique = len(words.values) == n_rows
    n_repeats = words.n_observed - len(words.values)
    if not unique and not _are_few(n_repeats, n_rows):
        return Likeness()
    if not named and not (n_rows >= _FEW and _look_like_names(words.values)):
        return Likeness()
    return Likeness(unique, n_repeats)


def _look_like_names(texts: Any) -> bool:
    """Whether texts are short single words, and no values."""
    short = max(map(len, texts)) <= _LONG
    one_word = not texts.str.contains(" ").mean() > _MIXED
    return bool(short and one_word and not texts.str.fullmatch(_VALUE).mean() > _MIXED)


def _judge_numbers(values: Any, n_rows: int, named: bool, first: bool) -> Likeness:
    if not len(values) or not np.isfinite(values).all() or (values % 1).any():
        return Likeness()
    whole = len(values) == n_rows
    steps = np.diff(values)
    if named:
        n_repeats = len(values) - len(np.unique(values))
        if whole and not n_repeats:
            return Likeness(is_id=True)
        if _are_few(n_repeats, n_rows):
            return Likeness(n_repeats=n_repeats)
    if not (whole and first and n_rows >= _FEW):
        return Likeness()
    counts = bool((steps == 1).all())
    return Likeness(is_id=counts, rises=not counts and bool((steps > 0).all()))


def _are_few(n_repeats: int, n_rows: int) -> bool:
    return n_rows >= _FEW and 0 < n_repeats <= _REPEATED * n_rows
