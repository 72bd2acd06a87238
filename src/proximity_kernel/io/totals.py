"""Totals: leave out rows and columns that are sums or means of other rows or columns.

A row is left out if one of its cells is called a total ("Total", "Summe", "North
Total") and at least half of its numbers are sums or means of other rows. The last row
is also left out if it has a word such as "Total" in a cell, and all cells to the left
of that cell are empty. A column is left out if its name has such a word and its numbers
are sums or means of adjacent columns. All of these are reported.

Two doubtful cases are kept and reported: a last row that is called a total but does not
add up, and a column that is a sum or mean of adjacent columns but is not called so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._shared.wording import join_names, listed
from .column_step import TextColumn, is_text
from .numbers import NUMBER_FORMATS, find_unit, parse_numbers, remove_unit
from .schema import Doubt, LoadedTable, ParsedFile

_WORDS = (
    r"((grand|sub)[ -]?)?totals?|sum|summe|zwischensumme|gesamt(summe)?|mean|average"
    r"|avg\.?|mittel(wert)?|durchschnitt"
)
_TOTAL = re.compile(rf"({_WORDS}):?", re.IGNORECASE)
# "North Total", "Total of May": a total only if the numbers add up.
_PART = re.compile(rf"({_WORDS})\b.*|.*\b({_WORDS}):?", re.IGNORECASE)
_NAMED = re.compile(rf"(.*[_\s.\-])?({_WORDS})([_\s.\-].*)?", re.IGNORECASE)
_MAX_LENGTH = 40  # characters of a cell that calls a row a total
_MIN_ROWS = 2  # that a total sums up
_MAX_TOTALS = 0.5  # share of rows called a total; if more are, the word is a category
_MIN_MATCHED = 0.5  # share of a total's numbers that are sums or means
_MIN_SUMMED = 0.95  # share of the rows in which a column is the sum of other columns
_MIN_CHECKED = 5  # distinct totals
_N_SAMPLE = 200  # rows that are checked first
_MAX_COLUMNS = 60  # numeric columns that are searched for sums


# -------------------------------------------------------------------------------- rows


def leave_totals_out(parsed: ParsedFile) -> ParsedFile:
    """Leave out the rows that are sums or means of other rows, and report them.

    They stay in `source`, so that they are written back. The index of the other rows
    is not changed.

    >>> from proximity_kernel.io import FileLayout
    >>> frame = pd.DataFrame({"shop": ["A", "B", "TOTAL"], "sold": [1, 2, 3]})
    >>> frame["shop"] = frame["shop"].astype("category")
    >>> parsed = ParsedFile("t.csv", frame, frame, FileLayout("text"), ())
    >>> leave_totals_out(parsed).assumptions
    ("left out, a total or mean: row 3 ('TOTAL' in 'shop') (`keep_totals`)",)
    """
    frame, n_rows = parsed.frame, len(parsed.frame)
    words = _find_total_words(frame) if n_rows > _MIN_ROWS else {}
    if not 0 < len(words) <= max(1, _MAX_TOTALS * n_rows):
        return parsed
    sums = _find_sum_rows(frame, sorted(words))
    categories = {word for i, word in words.items() if i not in sums}
    totals, said = [], list[str]()
    for i, (name, text) in sorted(words.items()):
        shown = f"row {i + 1:,} ({text!r} in {name!r})"
        is_last = i == n_rows - 1 and list(words.values()).count((name, text)) == 1
        is_last &= _TOTAL.fullmatch(text) is not None
        left = frame.iloc[i, : frame.columns.get_loc(name)]
        if (name, text) not in categories or (is_last and all(map(_is_empty, left))):
            totals.append((i, shown))
        elif is_last:
            said.append(Doubt(f"{shown} looks like a total: if so, remove it"))
    if totals:
        rows = join_names([shown for _, shown in totals], 3)
        said.insert(0, f"left out, a total or mean: {rows} (`keep_totals`)")
        frame = frame.drop(frame.index[[i for i, _ in totals]])
    return replace(parsed, frame=frame, assumptions=(*parsed.assumptions, *said))


def _find_total_words(frame: Any) -> dict[int, tuple[str, str]]:
    """Find the rows with a cell such as "Total" or "North Total".

    Returns a dict from the position of a row to the column and the text of that cell.
    """
    found: dict[int, tuple[str, str]] = {}
    for name in frame:
        if not is_text(frame[name]):
            continue
        texts = [
            " ".join(str(one).split()) for one in frame[name].cat.categories.to_numpy()
        ]
        called = [len(t) <= _MAX_LENGTH and bool(_PART.fullmatch(t)) for t in texts]
        codes = frame[name].cat.codes.to_numpy()
        for i in np.flatnonzero(np.array([*called, False])[codes]):
            found.setdefault(int(i), (str(name), texts[codes[i]]))
    return found


def _find_sum_rows(frame: Any, rows: list[int]) -> set[int]:
    """Find which of `rows` are sums or means of the rows above, or of all other rows.

    Such a row must have at most half as many strings as the median row, or a single
    string.
    """
    read = {name: _read_numbers(frame[name]) for name in frame}
    columns = [values for values in read.values() if values is not None]
    if not columns:
        return set()
    values = np.column_stack(columns)
    n_texts = np.zeros(len(frame), int)
    for name in frame:
        if read[name] is None:
            codes, cells = pd.factorize(frame[name])  # -1 is missing
            is_filled = [*(not _is_empty(cell) for cell in cells), False]
            n_texts += np.array(is_filled)[codes]
    others = np.setdiff1d(np.arange(len(values)), rows)
    usual = np.median(n_texts[others]) if len(others) else 0
    found, last = set(), -1
    for i in rows:
        parts = (others[(last < others) & (others < i)], others[others < i], others)
        is_blank = n_texts[i] <= max(1, usual / 2)
        if is_blank and any(_is_total(values[i], values[part]) for part in parts):
            found.add(i)
        last = i
    return found


def _is_total(row: NDArray[np.float64], part: NDArray[np.float64]) -> bool:
    """Whether at least half of a row's numbers are sums or means of the rows `part`."""
    known = ~np.isnan(row) & (row != 0)
    if len(part) < _MIN_ROWS or not known.any():
        return False
    sums = np.nansum(part, axis=0)
    n_observed = np.maximum((~np.isnan(part)).sum(axis=0), 1)
    return any(
        np.isclose(row, expected, rtol=2e-3, atol=0.006)[known].mean() >= _MIN_MATCHED
        for expected in (sums, sums / n_observed)
    )


def _is_empty(cell: Any) -> bool:
    """Whether a cell is missing, or a string of whitespace."""
    return not cell.strip() if isinstance(cell, str) else bool(pd.isna(cell))


def _read_numbers(cells: Any) -> NDArray[np.float64] | None:
    """Parse the numbers of a column; None if most distinct strings are not numbers."""
    if not is_text(cells):
        if not pd.api.types.is_numeric_dtype(cells.dtype):
            return None
        return np.asarray(cells.astype("Float64").to_numpy(float, na_value=np.nan))
    text = TextColumn.from_categories(cells, [""])
    bare = remove_unit(text, find_unit(text.values)).values
    parsed = [parse_numbers(form, bare) for form in NUMBER_FORMATS]
    best = min(parsed, key=lambda values: int(np.isnan(values).sum()))
    if np.isnan(best).sum() > _MIN_MATCHED * len(best) or not len(best):
        return None
    return np.asarray(np.append(best, np.nan)[text.codes])


# ----------------------------------------------------------------------------- columns


def leave_total_columns_out(table: LoadedTable, kept: set[str]) -> LoadedTable:
    """Leave out columns that are called totals and are sums or means of other columns.

    Sums that are not called a total, or that are among the column names `kept`, are
    only reported.
    """
    out, said = dict[str, str](), list[str]()
    for name, parts, what in _find_sum_columns(table.frame):
        sums = f"{what} of {listed(parts, 3)}"
        if _NAMED.fullmatch(name) and name not in kept:
            out[name] = f"{name!r} ({sums})"
        else:
            counts = f"counted twice (`drop={name!r}` leaves it out)"
            said.append(Doubt(f"{name!r} is the {sums}: {counts}"))
    if out:
        names = join_names([*out.values()], 3)
        said.insert(0, f"left out, a total of other columns: {names} (`keep_totals`)")
    columns = [
        replace(one, role="left out") if one.name in out else one
        for one in table.schema.columns
    ]
    left_out = table.source.loc[table.frame.index, table.schema.names("left out")]
    return replace(
        table,
        frame=table.frame.drop(columns=[*out]),
        missing=table.missing.drop(columns=[*out]),
        left_out=left_out.join(table.source.loc[table.frame.index, [*out]]),
        schema=replace(table.schema, columns=tuple(columns)),
        assumptions=(*table.assumptions, *said),
    )


def _find_sum_columns(frame: Any) -> Iterator[tuple[str, list[str], str]]:
    """Find the columns that are sums or means of adjacent columns.

    Yields the name of the column, the names of its summands, and "sum" or "mean".
    Missing cells count as 0, as in a spreadsheet.
    """
    names = list(frame.select_dtypes("float"))[:_MAX_COLUMNS]
    values = np.nan_to_num(frame[names].to_numpy())
    some = np.unique(np.linspace(0, len(values) - 1, _N_SAMPLE).astype(int))
    sample = values[some]
    before = np.cumsum(np.insert(sample, 0, 0.0, axis=1), axis=1)  # sums on the left
    for j, name in enumerate(names):
        known = frame[name].notna().to_numpy()
        if len(np.unique(values[known, j])) < _MIN_CHECKED:
            continue
        runs = [range(i, j) for i in range(j - 1)]
        runs += [range(j + 1, i) for i in range(j + 3, len(names) + 1)]
        for run in runs:
            sums = before[:, run.stop] - before[:, run.start]
            some_known = known[some]
            if not _name_sum(sample[some_known, j], sums[some_known], len(run)):
                continue
            parts, total = values[known][:, run], values[known, j]
            what = _name_sum(total, parts.sum(axis=1), len(run))
            # A column of zeros adds nothing, and a copy is no sum.
            several = (parts != 0).any(axis=0).sum() > 1
            if what and several and not (parts == total[:, None]).all(axis=0).any():
                yield str(name), [str(names[i]) for i in run], what
                break


def _name_sum(
    total: NDArray[np.float64], sums: NDArray[np.float64], n_parts: int
) -> str:
    """Return "sum" or "mean" if `total` is the sum or mean of columns, "" if neither.

    `sums` has the row sums of the `n_parts` columns.
    """
    for what, expected in (("sum", sums), ("mean", sums / n_parts)):
        same = np.isclose(total, expected, rtol=1e-4, atol=0.006)
        if len(total) >= _MIN_CHECKED and same.mean() >= _MIN_SUMMED:
            return what
    return ""
