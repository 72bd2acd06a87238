"""Ids: the steps that find the columns that identify rows, such as case numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from .._shared.wording import counted, join_names
from .cells import write_cell
from .column_step import Column, DoesNotApply, TextColumn, only_if
from .dates import DATE_FORMATS, match_dates, parse_dates
from .numbers import parse_numbers, remove_unit

MIN_ROWS = 20
"""With fewer rows, distinct cells are no evidence of an id."""
_MIN_OBSERVED = 0.5  # share of rows that have an id
_MAX_REPEATED = 0.05  # share of rows with a duplicate id
_MAX_REPEATED_NUMBER = 0.2  # the same, of integers in a column named "number"
# Integers named like ids with more duplicates, uncorrelated with any other column:
_MIN_DISTINCT = 0.5  # distinct values per row
# In a column named "number" a smaller share is enough, if there are many distinct
# values, and their range is wide or far from 0 (patients 1000 to 1179):
_MIN_DISTINCT_NUMBER = 0.1  # distinct values per row
_MIN_NUMBERS = 100  # distinct values
_MIN_RANGE = 2  # range per distinct value
_MAX_CORRELATION = 0.3  # rank correlation
_N_SAMPLE = 2000  # rows for the rank correlation
_MAX_LENGTH = 40  # characters of an id
_MAX_UNUSUAL = 0.5  # share of strings that do not look like ids
_NAMED_ID = re.compile(
    r"(^|[_\s.\-])(id|ids|uuid|guid|key|index|identifier|row_name)$",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r"[a-z]I[Dd]$")
# Names such as "patient no": if most numbers are distinct, they are not measurements.
_NUMBER = re.compile(
    r"(?i:(^|[_\s.\-])(no|num|number|mrn)\.?$|(nr|nbr|nummer)\.?$)|[a-z](No|Num|Number)$"
)
# Strings without letters that are values, not ids: times, percentages, limits.
_VALUE = re.compile(r"[^A-Za-z]*[:/%.,$€£()<>][^A-Za-z]*")
_WHOLE = re.compile(r"[+-]?\d+")
_TAKEN = "taken as id, not compared"


def take_ids(column: Column) -> Column:
    """Take a column as an id if its cells are distinct and look like ids.

    With a few duplicates it is left out for now, and `choose_ids` may take it as the id
    when the roles of all columns are known.
    """
    only_if(not column.options.ids)
    text = column.text
    if text is not None and not {*column.marks.given}.isdisjoint(text.marks):
        # Missing-value markers that are given for the table do not apply to an id.
        unmarked = TextColumn.from_categories(column.cells, column.marks.usual)
        with suppress(DoesNotApply):
            if not _count_repeats(column, unmarked):
                return replace(column.with_role("id", _TAKEN), text=unmarked)
    n_repeats = _count_repeats(column, text)
    if n_repeats:
        return replace(column, role="left out", n_repeats=n_repeats)
    return column.with_role("id", _TAKEN)


def choose_ids(
    columns: Sequence[Column],
) -> tuple[list[Column], list[tuple[str, str]]]:
    """Take the first column with few duplicates as the id, if there is no other id.

    Also returns what was assumed, as in `Column.lists`.
    """
    columns = [_use_if_correlated(column, columns) for column in columns]
    is_known = any(column.role == "id" for column in columns)
    lists = []
    for j, column in enumerate(columns):
        if not column.n_repeats:
            continue
        if is_known:
            repeats = counted(column.n_repeats, "row repeats", "rows repeat")
            said = (
                f"{column.name!r} looks like an id, but {repeats} an id "
                f"(`ids={column.name!r}` keeps it as id)"
            )
            lists.append(("left out", said))
        else:
            columns[j], is_known = replace(column, role="id"), True
            said = f"{column.name!r} ({_describe_repeats(column)})"
            lists.append((_TAKEN, said))
    return columns, lists


def _use_if_correlated(column: Column, columns: Sequence[Column]) -> Column:
    """Use a column with many duplicates if it correlates with a used column.

    It is then a measurement, not an id.
    """
    if column.n_repeats <= _MAX_REPEATED_NUMBER * column.n_observed:
        return column
    own = _rank_cells(column)
    some = np.unique(np.linspace(0, len(own) - 1, _N_SAMPLE).astype(int))
    for other in columns:
        if other.role != "used" or other.kind not in ("numbers", "dates"):
            continue
        pair = pd.DataFrame({"a": own[some], "b": _rank_cells(other)[some]}).dropna()
        limit = max(_MAX_CORRELATION, 3 / np.sqrt(max(len(pair), 1)))
        if abs(pair["a"].rank().corr(pair["b"].rank())) > limit:
            return replace(column, role="used", n_repeats=0)
    return column


def _rank_cells(column: Column) -> Any:
    """Rank the numbers or dates of a column; missing cells are NaN."""
    cells = column.cells
    if column.text is not None:
        text = remove_unit(column.text, column.unit)
        is_date = column.kind == "dates"
        parse = parse_dates if is_date else parse_numbers
        values = pd.Series(parse(column.format, text.values)).rank().to_numpy()
        return np.append(values, np.nan)[text.codes]
    return pd.Series(cells).rank().to_numpy(float, na_value=np.nan)


def _count_repeats(column: Column, text: TextColumn | None) -> int:
    """Count the duplicates in a column of ids; `DoesNotApply` if it has no ids."""
    name, kind, n_rows = column.name, column.kind, len(column.cells)
    is_number = bool(_NUMBER.search(name))
    named = is_number or bool(_NAMED_ID.search(name) or _CAMEL_ID.search(name))
    if text is None:
        cells = pd.Index(column.cells.dropna())
        # Floats may be ids only if all are whole numbers.
        is_float = pd.api.types.is_float_dtype(cells.dtype)
        is_whole = kind == "numbers" and not (is_float and (cells % 1).any())
    else:
        cells = text.values[text.codes[text.codes >= 0]]
        is_whole = kind == "numbers" and all(map(_WHOLE.fullmatch, text.values))
    is_text = text is not None and kind == "categories"
    only_if(is_whole or is_text)
    only_if(n_rows >= 3 and len(cells) >= _MIN_OBSERVED * n_rows)
    many = len(cells) >= MIN_ROWS
    distinct = cells.unique() if text is None else text.values
    # Long integers that are equal as floats cannot be compared as numbers.
    blurred = is_whole and len(np.unique(distinct.astype(float))) < len(distinct)
    if named or blurred or (is_text and many and _look_like_ids(distinct)):
        n_repeats = len(cells) - len(distinct)
        most = _MAX_REPEATED_NUMBER if is_number and is_whole else _MAX_REPEATED
        if n_repeats <= most * len(cells) * many:
            return n_repeats
        enough = len(distinct) >= max(MIN_ROWS, _MIN_DISTINCT * len(cells))
        if is_number and is_whole and not enough:
            numbers = distinct.astype(float)
            least = max(_MIN_NUMBERS, _MIN_DISTINCT_NUMBER * len(cells))
            extent = numbers.max() - numbers.min()
            # Counts, and house or room numbers, begin low and are dense.
            assigned = extent >= _MIN_RANGE * len(distinct) or numbers.min() > extent
            enough = len(distinct) >= least and assigned
        if is_whole and named and many and enough:
            return n_repeats
    counts_rows = column.is_first and is_whole and many and len(cells) == n_rows
    first = int(cells[0]) if counts_rows else 0
    if counts_rows and all(int(one) == i for i, one in enumerate(cells, first)):
        return 0
    raise DoesNotApply


def _look_like_ids(texts: Any) -> bool:
    """Whether strings are short, and most are single words, not dates or amounts."""
    if max(map(len, texts)) > _MAX_LENGTH:
        return False
    in_format = [match_dates(name, texts) for name in DATE_FORMATS]
    if np.any(in_format, axis=0).mean() > _MAX_UNUSUAL:  # dates in several formats
        return False
    n_several = sum(" " in text for text in texts)
    n_values = sum(map(bool, map(_VALUE.fullmatch, texts)))
    return max(n_several, n_values) <= _MAX_UNUSUAL * len(texts)


def _describe_repeats(column: Column) -> str:
    """Describe the first duplicate id, its rows, and how many other ids repeat."""
    cells, index = column.cells, column.cells.index
    if column.text is not None:
        cells = pd.Categorical.from_codes(column.text.codes, column.text.values)
    codes, values = pd.factorize(cells)
    counts = np.bincount(codes + 1)[1:]
    first = int((counts > 1).argmax())
    rows = [f"{row + 1:,}" for row in index[codes == first]]
    times = "twice" if len(rows) == 2 else f"{len(rows)} times"
    n_more = int((counts > 1).sum()) - 1
    others = f"; {counted(n_more, 'other')} too" if n_more else ""
    shown = write_cell(values[first])
    return f"{shown!r} appears {times}: rows {join_names(rows, 3)}{others}"
