"""Checks of a table that was read: report in sentences what may be wrong with it.

The functions ``find_...`` change nothing. `drop_repeated_headers` drops rows. For
`impute`, `hide_missing_codes` masks numbers that may be codes for missing cells, so
that they do not affect the estimates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.util import hash_pandas_object

from .._shared.wording import counted, join_names, join_sentences, listed
from .cells import write_cell
from .missing_marks import USUAL_MARKS
from .schema import Doubt, LoadedTable, ParsedFile

_TARGET = re.compile(
    r"(?i:class(es)?|labels?|targets?|outcomes?|response|ground.?truth)"
)
_MAX_CLASSES = 20  # distinct values of a target
_REPEATED = [int(digit * n) for n in range(2, 7) for digit in "789"]  # 77, ..., 999999
_CODES = [-7, -8, -9, -97, -98, *_REPEATED, *(-code for code in _REPEATED)]
_NINES = [99, 999, 9999, 99999, 999999]
_MIN_OTHERS = 3  # distinct values besides the codes, in a column with codes
_MIN_ROWS = 20  # with fewer rows, columns with few values may be equal by chance
_MIN_COLUMNS = 4  # with fewer columns, rows may be equal by chance
_MIN_DISTINCT = 3  # with fewer distinct values in a small table, likewise
_MIN_EVIDENCE = 5  # rows that must agree in two columns with missing cells
_MOST_PAIRED = 1000  # columns of a table in which all pairs of columns are compared
_MOST_NAMED = 100  # columns that go together, named so that they can be left out
_TIE = 1.0  # mark of a cell that equals the cell above it
_MAX_ELSEWHERE = 0.1  # share of empty cells in the rows where a column may be observed
_MAX_EXCEPTIONS = 0.02  # share of observed cells in rows where a column is empty
_MAX_BROKEN = 0.01  # share of the rows that may break a rule
_MOST_REPORTED = 3  # rules with exceptions, and exceptions of a rule
_MAX_ELSEWHERE_RULE = 0.8  # share of that label in the rows without the first
_MOST_COUNTED = 2e8  # cells times columns of a table in which rules are searched
_N_SAMPLE = 1000  # rows that show which pairs of columns to compare in all rows
_MAX_FEW = 6  # distinct integers that may be codes
_MAX_MARKED = 0.2  # share of missing-value markers in a column with a single value


# --------------------------------------------------------------------------------- rows


def drop_repeated_headers(parsed: ParsedFile) -> ParsedFile:
    """Drop the rows that repeat the column names, and report them."""
    repeats = np.full(len(parsed.frame), bool(parsed.layout.header_rows))
    for name in parsed.frame:
        if not repeats.any():
            return parsed
        repeats &= _find_text(parsed.frame[name], name)
    if not repeats.any():
        return parsed
    rows = [str(row + 1) for row in np.flatnonzero(repeats)]
    what = "a repeated header line" if len(rows) == 1 else "repeated header lines"
    said = f"{what} dropped: row{'s' * (len(rows) > 1)} {join_names(rows, 3)}"
    return replace(
        parsed,
        source=parsed.source[~repeats].reset_index(drop=True),
        frame=parsed.frame[~repeats].reset_index(drop=True),
        assumptions=(*parsed.assumptions, said),
    )


def _find_text(column: Any, text: str) -> NDArray[np.bool_]:
    """Return a mask of the cells equal to a string, ignoring whitespace around them."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return np.zeros(len(column), dtype=bool)
    held = [str(category).strip() == text for category in column.cat.categories]
    return np.asarray(np.array([*held, False])[column.cat.codes])


# ------------------------------------------------------------------------------- doubts


def find_doubts(table: LoadedTable) -> list[str]:
    """Report what may be wrong with the typed columns of a table, in sentences."""
    frame = name_rows(table)
    sentences = (
        *find_frequent_marks(table),
        *find_missing_codes(frame),
        *find_open_dates(frame),
        *find_blocks(frame),
        *find_dependent_missing(frame),
        *find_exceptions(frame),
        *find_targets(frame),
        *find_constants(frame),
        *find_same_columns(frame),
        *find_repeated_rows(frame),
    )
    return [Doubt(one) for one in sentences]


def name_rows(table: LoadedTable) -> Any:
    """Index the frame by the row numbers, from 0, and the first id, if there is one."""
    rows = table.frame.index
    if not table.ids.shape[1]:
        return table.frame
    name = table.ids.columns[0]
    ids = pd.MultiIndex.from_arrays(
        [rows, table.ids[name].loc[rows]], names=[None, name]
    )
    return table.frame.set_axis(ids)


def _write_rows(rows: Any) -> list[str]:
    """Write the numbers of rows, from 1, and their ids, given a part of the index.

    >>> ids = pd.MultiIndex.from_arrays([[4, 1234], ["P4", "P7"]], names=[None, "id"])
    >>> _write_rows(ids), _write_rows(pd.Index([4]))
    (['5 (id P4)', '1,235 (id P7)'], ['5'])
    """
    if rows.nlevels == 1:
        return [f"{row + 1:,}" for row in rows]
    name = rows.names[1]
    return [f"{row + 1:,} ({name} {write_cell(one)})" for row, one in rows]


def find_same_columns(frame: Any) -> list[str]:
    """Report columns that are equal, or whose values correspond one to one.

    >>> frame = pd.DataFrame({"kg": [1.0, 2, 3], "mass": [1.0, 2, 3], "x": [1.0, 3, 2]})
    >>> find_same_columns(frame)
    ["'kg' and 'mass' hold the same: counted twice (`drop` leaves one out)"]
    """
    groups: dict[bytes, dict[str, list[Any]]] = {}
    for name in frame:
        codes, values = pd.factorize(frame[name])
        n_observed = int((codes >= 0).sum())
        few = n_observed >= _MIN_ROWS and 2 * len(values) <= n_observed
        if len(values) < 2 or (len(values) < _MIN_DISTINCT and not few):
            continue
        key = sha256(codes)
        if not few:  # columns of distinct values all have the same codes
            key.update(hash_pandas_object(pd.Series(values), index=False).to_numpy())
        groups.setdefault(key.digest(), {})[name] = list(values)
    lines = []
    for group in (group for group in groups.values() if len(group) > 1):
        first, *others = group.values()
        equal = all(values == first for values in others)
        how = "hold the same" if equal else "go together one to one"
        times = "twice" if len(group) == 2 else f"{len(group)} times"
        drop = f"`drop` leaves {'one' if len(group) == 2 else 'them'} out"
        names = listed(list(group), _MOST_NAMED)
        lines.append(f"{names} {how}: counted {times} ({drop})")
    firsts = [next(iter(group)) for group in groups.values()]
    for pair in _find_same_where_observed(frame[firsts]):
        how = "go together one to one in the rows that have both"
        lines.append(f"{listed(pair)} {how}: counted twice (`drop` leaves one out)")
    return lines


def _find_same_where_observed(frame: Any) -> list[tuple[str, str]]:
    """Find pairs of columns whose values correspond one to one where both are observed.

    At least half of the rows must have both. Two columns without missing cells are not
    compared here; `find_same_columns` does that. Nothing is compared in a table of
    fewer than 20 rows or more than 1,000 columns. A sample of rows shows which pairs to
    compare in all rows.
    """
    n, names = len(frame), list(frame)
    observed = frame.notna().to_numpy()
    complete = observed.all(axis=0)
    if n < _MIN_ROWS or complete.all() or len(names) > _MOST_PAIRED:
        return []
    rows = np.unique(np.linspace(0, n - 1, _N_SAMPLE).astype(int))
    marked = [_mark_cells(frame[name].iloc[rows]) for name in names]
    marks = np.column_stack([mark for mark, _ in marked])
    pairs = []
    for j, name in enumerate(names):
        equal = marks[:, :j] == marks[:, [j]]
        agree = (equal | np.isnan(marks[:, :j] + marks[:, [j]])).all(axis=0)
        agree &= (equal & (marks[:, [j]] != _TIE)).sum(axis=0) >= _MIN_EVIDENCE
        for i in np.flatnonzero(agree & ~(complete[:j] & complete[j])).tolist():
            both = observed[:, i] & observed[:, j]
            cells = [frame[one][both] for one in (names[i], name)]
            if marked[i][1]:
                cells = [pd.Series(pd.factorize(one)[0]) for one in cells]
            if both.sum() >= n / 2 and np.array_equal(*cells):
                pairs.append((names[i], name))
    return pairs


def _mark_cells(cells: Any) -> tuple[NDArray[np.float64], bool]:
    """Compute marks of a column's cells, equal for columns that correspond one to one.

    If at most half of the observed values are distinct, a mark says whether the cell
    equals the cell above it; NaN if either is missing. Otherwise it is a hash of the
    value; NaN if the cell is missing. The first row has no mark. Also returns whether
    the marks compare a cell with the cell above.
    """
    codes, values = pd.factorize(cells)
    known = codes >= 0
    if 2 * len(values) > known.sum():
        hashes = hash_pandas_object(cells, index=False).to_numpy().astype(float)
        return np.where(known, hashes, np.nan)[1:], False
    ties = np.where(codes[1:] == codes[:-1], _TIE, 0.0)
    return np.where(known[1:] & known[:-1], ties, np.nan), True


def find_dependent_missing(frame: Any) -> list[str]:
    """Report columns that are always empty where another column has a certain value.

    A column that is always empty where another column does not have a certain value is
    reported, too. In the remaining rows, at most 10 % of the cells may be empty. One
    row in 50 may be an exception; the sentence names it.

    >>> asked = ["no"] * 20 + ["yes"] * 20
    >>> frame = pd.DataFrame({"asked": asked, "days": [None] * 20 + [3.0] * 20})
    >>> find_dependent_missing(frame)[0].partition(":")[0]
    "'days' is empty exactly where 'asked' is 'no'"
    """
    n, missing = len(frame), frame.isna().to_numpy()
    n_missing = missing.sum(axis=0)
    some = (n_missing >= _MIN_ROWS) & (n - n_missing >= _MIN_ROWS)
    # Index of a column -> number of exceptions, column that it depends on, sentence.
    found: dict[int, tuple[int, str, str]] = {}
    for name in frame if some.any() else ():
        codes, values = pd.factorize(frame[name])
        if not 1 < len(values) <= _MAX_CLASSES:
            continue
        counts = np.bincount(codes + 1, minlength=len(values) + 1)[1:]
        for is_value, sizes in ((True, counts), (False, n - counts)):
            for k, size in enumerate(sizes.tolist()):
                n_more = n_missing - size  # if all these cells are missing
                most = int(_MAX_EXCEPTIONS * size)
                may = some & (n_more >= -most) & (n_more <= _MAX_ELSEWHERE * (n - size))
                if size < _MIN_ROWS or not may.any():
                    continue
                is_there = (codes == k) == is_value
                for j in np.flatnonzero(may).tolist():
                    rows = np.flatnonzero(is_there & ~missing[:, j])
                    more = int(n_more[j]) + 2 * len(rows)
                    if len(rows) > most or more >= found.get(j, (n,))[0]:
                        continue
                    value = write_cell(values[k])
                    where = f"always empty where {name!r} is "
                    where += f"{'' if is_value else 'not '}{value!r} ({size:,} rows)"
                    if not more:
                        what = "empty" if is_value else "observed"
                        where = f"{what} exactly where {name!r} is {value!r}"
                    if len(rows):
                        where = where.removeprefix("always ")
                        where += list_exceptions(frame.index[rows])
                    found[j] = more, str(name), where
    if not found:
        return []
    lines = sorted(found.items())
    parts = [f"{frame.columns[j]!r} is {where}" for j, (*_, where) in lines]
    given = listed(list(dict.fromkeys(name for _, name, _ in found.values())))
    effect = f"that reveals {given}, and filling the missing cells invents values"
    return [f"{join_sentences(parts)}: {effect} (`drop` leaves a column out)"]


def list_exceptions(rows: Any) -> str:
    """Write which rows are exceptions, given a part of the index."""
    names = join_names(_write_rows(rows), 3)
    return f" except in row{'s' * (len(rows) > 1)} {names}, to be checked"


def find_exceptions(frame: Any) -> list[str]:
    """Report rows that break a rule: where a column has a label, another has one, too.

    At least 100 rows must have the label, and at most three of them, and one in 100,
    another label in the other column. At most 80 % of the other rows have the expected
    label there. The three rules with the most rows for each exception are reported.

    >>> frame = pd.DataFrame({"ward": ["women"] * 120 + ["men"] * 80})
    >>> frame["sex"] = ["m"] + ["f"] * 119 + ["m"] * 80
    >>> find_exceptions(frame)
    ["'sex' is 'f' where 'ward' is 'women' except in row 1, to be checked"]
    """
    coded = {
        name: pd.factorize(frame[name])
        for name in frame.select_dtypes(exclude=["float", "datetime", "datetimetz"])
        if 1 < frame[name].nunique() <= _MAX_CLASSES
    }
    if len(frame) * len(coded) ** 2 > _MOST_COUNTED:
        return []
    found: dict[str, float] = {}
    pairs = permutations(coded.items(), 2)
    for (name, (given, values)), (other, (codes, labels)) in pairs:
        both = (given >= 0) & (codes >= 0)
        counts = np.zeros((len(values), len(labels)), int)
        np.add.at(counts, (given[both], codes[both]), 1)
        usual, sizes = counts.argmax(axis=1), counts.sum(axis=1)
        n_wrong = sizes - counts.max(axis=1)
        most = np.minimum(_MAX_BROKEN * sizes, _MOST_REPORTED)
        for k in np.flatnonzero((n_wrong > 0) & (n_wrong <= most)).tolist():
            elsewhere = np.delete(counts, k, axis=0).sum(axis=0)
            if elsewhere[usual[k]] <= _MAX_ELSEWHERE_RULE * elsewhere.sum():
                rows = np.flatnonzero((given == k) & both & (codes != usual[k]))
                label, value = write_cell(labels[usual[k]]), write_cell(values[k])
                rule = f"{other!r} is {label!r} where {name!r} is {value!r}"
                found[rule + list_exceptions(frame.index[rows])] = sizes[k] / len(rows)
    return sorted(found, key=lambda rule: -found[rule])[:_MOST_REPORTED]


def find_blocks(frame: Any) -> list[str]:
    """Report columns with a value in the first row of each block of rows only.

    Merged cells, and tables made for readers, give a value once for all rows below.
    Decimal numbers are not reported; they may be measured seldom.

    >>> frame = pd.DataFrame({"area": (["N"] + [None] * 9 + ["S"] + [None] * 9)})
    >>> find_blocks(frame)[0].partition(":")[0]
    "'area' has a value only in the first of several rows"
    """
    found = []
    for name in frame if len(frame) >= _MIN_ROWS else ():
        rows = np.flatnonzero(frame[name].notna())
        values = frame[name].iloc[rows]
        apart = len(rows) > 1 and (np.diff(rows) > 1).all()
        if not apart or rows[0] or rows[-1] == len(frame) - 1:
            continue
        decimal = values.dtype.kind == "f" and (values % 1).any()
        if not decimal and (values.to_numpy()[1:] != values.to_numpy()[:-1]).all():
            found.append(str(name))
    have = "has" if len(found) == 1 else "have"
    where = f"{listed(found)} {have} a value only in the first of several rows"
    remedy = f"(`fill_down{_write_names(found)}` fills them)"
    return [f"{where}: the rows below are read as missing {remedy}"] if found else []


def find_targets(frame: Any) -> list[str]:
    """Report columns named like the target of a prediction, with few distinct values.

    >>> find_targets(pd.DataFrame({"age": [31.0, 44, 52], "class": ["a", "b", "a"]}))
    ["'class' may be the target: it counts like any column (`drop` leaves it out)"]
    """
    found = [
        name
        for name in frame
        if _TARGET.fullmatch(str(name)) and 1 < frame[name].nunique() <= _MAX_CLASSES
    ]
    effect = "may be the target: it counts like any column (`drop` leaves it out)"
    return [f"{listed(found)} {effect}"] if found else []


def find_few_numbers(frame: Any) -> list[str]:
    r"""Report two or more numeric columns of 3 to 6 distinct integers: perhaps codes.

    A column of two distinct integers is compared like two categories, so it does not
    count. Nothing is reported for fewer than 20 rows.

    >>> values = {"pulse": [1.0, 2, 4, 2] * 5, "pain": [5.0, 3, 4, 1] * 5}
    >>> find_few_numbers(pd.DataFrame(values))[0]
    "'pulse' and 'pain' have few distinct integers, compared as numbers; for codes, ..."
    """
    names = []
    for name in frame.select_dtypes("float") if len(frame) >= _MIN_ROWS else ():
        values = frame[name].dropna().unique()
        if 3 <= len(values) <= _MAX_FEW and not (values % 1).any():
            names.append(str(name))
    few = f"{listed(names)} have few distinct integers, compared as numbers; for codes"
    return [f"{few}, `categorical{_write_names(names)}`"] if len(names) > 1 else []


def _write_names(names: list[str]) -> str:
    """Write column names as the value of an option; "" if they are too many, or odd.

    >>> _write_names(["a", "b"]), _write_names(["a, b"])
    ("='a,b'", '')
    """
    odd = len(names) > 5 or any("," in name for name in names)
    return "" if odd else f"='{','.join(names)}'"


def find_empty_rows(frame: Any) -> list[str]:
    """Report the rows in which all cells are missing.

    >>> find_empty_rows(pd.DataFrame({"x": [1.0, None, 3], "y": ["a", None, "b"]}))
    ['row 2 has no observed cell']
    """
    rows = _write_rows(frame.index[frame.isna().all(axis=1)])
    which = f"row {rows[0]} has" if len(rows) == 1 else f"rows {join_names(rows)} have"
    return [f"{which} no observed cell"] if rows else []


def find_repeated_rows(frame: Any) -> list[str]:
    """Report rows that equal an earlier row, which may have been entered twice.

    Such a row must have a number in a column of mostly distinct numbers. Nothing is
    reported for fewer than 20 rows or 4 columns.

    >>> frame = pd.DataFrame({"kg": [*range(25), 7.5, 7.5], "a": 1, "b": 2, "c": 3})
    >>> find_repeated_rows(frame)
    ['row 27 equals row 26 in all compared columns: it may have been entered twice']
    """
    numbers = frame.select_dtypes("float")
    differ = numbers.loc[:, 2 * numbers.nunique() > len(frame)]
    if min(len(frame) / _MIN_ROWS, len(frame.columns) / _MIN_COLUMNS) < 1:
        return []
    hashes = hash_pandas_object(frame, index=False)
    repeats = np.flatnonzero(hashes.duplicated() & differ.notna().any(axis=1))
    if not len(repeats):
        return []
    row = repeats[0]
    first = int((hashes == hashes.iloc[row]).argmax())
    names = _write_rows(frame.index[[row, first]])
    rows, where = f"row {names[0]} equals row {names[1]}", "in all compared columns"
    if len(repeats) == 1:
        return [f"{rows} {where}: it may have been entered twice"]
    which = f"{len(repeats):,} rows equal an earlier row {where} ({rows})"
    return [f"{which}: they may have been entered twice"]


def find_constants(frame: Any) -> list[str]:
    """Report the constant columns, which do not distinguish rows."""
    constant = [name for name in frame if frame[name].nunique(dropna=False) == 1]
    effect = "it adds the same to every similarity (`drop` leaves a column out)"
    said = f"one value only in {listed(constant)}: {effect}"
    return [said] if constant and len(frame) > 1 else []


def find_missing_codes(frame: Any) -> list[str]:
    """Report numbers such as -99 that may be codes for missing cells, in one sentence.

    The number must be in a list of usual codes, and far outside the range of the other
    values of its column. At least two cells must have it, unless it is 99, 999, -999 or
    another number of nines.

    >>> find_missing_codes(pd.DataFrame({"age": [31.0, 44, -99, 52, 28, -99]}))
    ["'age': -99 (2 cells) may stand for a missing cell (if so, `missing=-99`)"]
    """
    found: dict[float, list[tuple[str, int]]] = {}
    for name in frame.select_dtypes("float"):
        for code, n_cells in _find_codes(frame[name].to_numpy()):
            found.setdefault(code, []).append((str(name), n_cells))
    if not found:
        return []
    parts, marks = [], []
    for code, columns in found.items():
        names, counts = zip(*columns, strict=True)
        where = listed(names, 3) if len(names) < 5 else f"{len(names)} columns"
        parts.append(f"{where}: {code:g} ({counted(sum(counts), 'cell')})")
        marks.append(_advise_mark(frame, code, names))
    remedy = join_names([f"`missing={mark}`" for mark in marks], 3)
    return [f"{join_sentences(parts)} may stand for a missing cell (if so, {remedy})"]


def find_open_dates(frame: Any) -> list[str]:
    """Report dates in the year 9999, which mean that there is no date yet.

    >>> days = ["2020-01-31", "9999-12-31"]
    >>> find_open_dates(pd.DataFrame({"end": np.array(days, "datetime64[s]")}))[0]
    "dates of the year 9999 in 'end' (1 cell) count as dates: if they mean ..."
    """
    dates = frame.select_dtypes(["datetime", "datetimetz"])
    # As numpy's dates: pandas has no years beyond 9999 in a time zone.
    years = {name: dates[name].to_numpy("M8[Y]").astype(int) + 1970 for name in dates}
    counts = {name: int((own == 9999).sum()) for name, own in years.items()}
    found = [f"{name!r} ({counted(n, 'cell')})" for name, n in counts.items() if n]
    means = "if they mean that there is none, mark them as missing (`missing`)"
    shown = f"dates of the year 9999 in {join_names(found, 6)} count as dates: {means}"
    return [shown] if found else []


def hide_missing_codes(frame: Any) -> Any:
    """Copy a frame, and replace numbers that may be codes for missing cells by NaN.

    >>> frame = pd.DataFrame({"age": [31.0, 44, -99, 52, 28, -99]})
    >>> hide_missing_codes(frame)["age"].tolist()
    [31.0, 44.0, nan, 52.0, 28.0, nan]
    """
    hidden = {}
    for name in frame.select_dtypes("float"):
        if codes := _find_codes(frame[name].to_numpy()):
            hidden[name] = frame[name].mask(frame[name].isin([c for c, _ in codes]))
    return frame.assign(**hidden)


def _advise_mark(frame: Any, code: float, names: Sequence[str]) -> str:
    """Format the option `missing` for a code; with COL= if other columns have it."""
    text = f"{code:g}"
    for name in (name for name in frame if name not in names):
        cells = frame[name]
        is_number = cells.dtype.kind == "f"
        same = cells == (code if is_number else text)
        low, high = (cells[~same].min(), cells[~same].max()) if is_number else (0, 0)
        is_far = is_number and max(low - code, code - high) > high - low
        if same.any() and not is_far:
            return f"'{','.join(names)}={text}'"
    return text


def _find_codes(values: Any) -> list[tuple[float, int]]:
    """Find numbers of a column that may mean "missing", each with its cell count."""
    values = values[np.isfinite(values)]
    coded = np.isin(values, _CODES)
    others = np.sort(values[~coded])
    if not coded.any() or len(np.unique(others)) < _MIN_OTHERS:
        return []
    distinct, counts = np.unique(values, return_counts=True)
    is_code = np.isin(distinct, _CODES)
    n_extreme = len(others) // 100  # of 100 others, one may be far away, too
    low, high = others[n_extreme], others[-1 - n_extreme]
    gap = np.where(distinct < low, low - distinct, distinct - high)
    negative = (distinct < 0) & (others[0] >= 0)
    # A single one is a code only among many, and written with nines.
    many = len(others) >= _MIN_ROWS
    often = (counts > 1) | (many & np.isin(np.abs(distinct), _NINES))
    far = is_code & often & ((gap > high - low) | (negative & (gap > 0)))
    return [(float(distinct[i]), int(counts[i])) for i in np.flatnonzero(far)]


def find_frequent_marks(table: LoadedTable) -> list[str]:
    """Report columns with one value in which many cells are missing.

    There an empty cell or a marker, such as "NA" or "-", may be a second value: "no".
    """
    parts, empty = [], []
    n_missing = table.missing.to_numpy().sum(axis=0)
    for name in table.frame.columns[n_missing > _MAX_MARKED * len(table.frame)]:
        values = table.frame[name].dropna().unique()
        if len(values) != 1:
            continue
        cells = table.source[name].loc[table.frame.index][table.missing[name]]
        held = cells.dropna().astype(str).str.strip()
        n_cells = held[held != ""].isin(USUAL_MARKS).sum()
        if n_cells > _MAX_MARKED * len(table.frame):
            marks = f"{counted(n_cells, 'cell')} {listed(sorted({*held} - {''}), 3)}"
            parts.append(f"{name!r}: {marks} beside {write_cell(values[0])!r}")
        else:
            empty.append(f"{name!r} ({write_cell(values[0])!r})")
    lines = []
    if parts:
        remedy = "`default_missing=False` reads them as values"
        lines = [f"{join_sentences(parts)} only: read as missing ({remedy})"]
    if empty:
        remedy = "if empty means no, write it into the cells"
        fill = f"{remedy}; filling would repeat the value"
        lines.append(f"one value or empty in {join_names(empty, 6)}: {fill}")
    return lines
