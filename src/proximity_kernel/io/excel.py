"""Read a sheet of an Excel file: choose the sheet, skip titles, find the header.

Empty rows and columns are dropped while the sheet is read, because a small file may
have cells that are far apart.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from itertools import islice, repeat
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
import pandas as pd

from .._shared.extras import require
from .._shared.wording import counted, listed
from .cells import simplify_columns, write_cell
from .files import InputFile, check_size
from .header import read_header
from .schema import Doubt, FileLayout, InputError, ParsedFile, ReadOptions

_MAX_CELLS = 2**26  # as Python objects, they take 2 GiB
_MAX_ROWS = 2**20  # of a sheet
_MIN_COLUMNS = 3  # in a table with fewer, a row with one cell is no title
_SAMPLE_ROWS = 200  # from which the header is inferred
_BUFFER = 2**20  # bytes of a sheet that are searched at a time
# In the XML of a sheet: a formula; the corners of merged cells, such as B4:B78.
_FORMULA = re.compile(rb"<(?:\w+:)?f[ >/]")
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell ref="([A-Z]+)(\d+):[A-Z]+(\d+)"')


def parse_sheet(file: InputFile, options: ReadOptions) -> ParsedFile:
    """Parse a sheet of an Excel file into columns."""
    openpyxl = require("openpyxl", extra="cli")
    data = io.BytesIO(file.data)
    try:
        has_formulas = _check_archive(file.name, data)
        book = openpyxl.load_workbook(data, read_only=True, data_only=True)
        sheet, chosen = _choose_sheet(file.name, book, options.sheet)
        # A formula cell has the value that Excel stored for it, else its formula.
        skip = options.skip_rows or 0
        values = _list_rows(book[sheet], skip)
        formulas: Iterable[tuple[Any, ...]] = repeat(())
        if has_formulas:
            written = openpyxl.load_workbook(data, read_only=True)
            formulas = _list_rows(written[sheet], skip)
        cells = _collect_cells(file.name, zip(values, formulas, strict=False), skip)
        merged = _find_merged(data, book[sheet])
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001  (openpyxl raises errors of many types)
        if "[Content_Types].xml" in str(error):
            raise InputError(
                f"{file.name}: this is a zip archive, but not an Excel file; extract "
                "the table from it."
            ) from None
        raise InputError(
            f"{file.name}: this Excel file is damaged ({error}); save it again."
        ) from None
    if not cells.size:
        raise InputError(
            f"{file.name}: the sheet {sheet!r} is empty; name another sheet (`sheet`)."
        )
    starts = options.header_rows == 0 or options.skip_rows is not None
    table, skipped = (cells, list[str]()) if starts else _skip_titles(cells)
    head = [
        ["" if pd.isna(cell) else write_cell(cell) for cell in row]
        for row in table.iloc[:_SAMPLE_ROWS].to_numpy()
    ]
    is_text = all(pd.isna(one) or isinstance(one, str) for one in table.iloc[0])
    n_header, names, named = read_header(file.name, head, options, has_header=is_text)
    skip += len(cells) - len(table)
    rows, filled = _fill_merged(table.iloc[n_header:], merged)
    layout = FileLayout("excel", None, None, n_header, skip, sheet)
    rows = rows.set_axis(names, axis=1).reset_index(drop=True)
    frame, said = rows, [*chosen, *skipped, *named]
    if filled:
        where = listed([names[k] for k in filled], 3)
        said.append(f"merged cells: all rows have the value of the first, in {where}")
    if has_formulas:
        is_formula = rows.map(lambda cell: isinstance(cell, Formula))
        frame, said = rows.mask(is_formula), [*said, *_describe_formulas(is_formula)]
    return ParsedFile(file.name, rows, simplify_columns(frame), layout, tuple(said))


class Formula(str):
    """A formula for which the file stores no value."""

    __slots__ = ()


def except_formulas(missing: Any, source: Any) -> Any:
    """Return the mask `missing` without formulas, so that they are not filled."""
    is_missing = missing.to_numpy(copy=True)
    for j, name in enumerate(missing):
        rows = np.flatnonzero(is_missing[:, j])
        is_missing[rows, j] = [
            not isinstance(cell, Formula)
            for cell in source[name].loc[missing.index[rows]]
        ]
    return pd.DataFrame(is_missing, missing.index, missing.columns)


def _describe_formulas(is_formula: Any) -> list[str]:
    """Report how many formulas have no stored value, and in which columns."""
    names = list(is_formula.columns[is_formula.any()])
    n_cells = int(is_formula.to_numpy().sum())
    formulas = counted(n_cells, "formula has", "formulas have")
    where = f"no value in the file, in {listed(names, 3)}: not read, and not filled"
    said = f"{formulas} {where} (Excel stores the values when it saves the file)"
    return [said] if n_cells else []


def _check_archive(name: str, data: IO[bytes]) -> bool:
    """Raise InputError if an Excel file is too large; return if it has formulas."""
    with ZipFile(data) as archive:
        parts = archive.infolist()
        check_size(name, sum(part.file_size for part in parts))
        sheets = (part for part in parts if "worksheets/" in part.filename)
        return any(any(_search(_FORMULA, archive, part)) for part in sheets)


def _search(
    pattern: re.Pattern[bytes], archive: ZipFile, part: ZipInfo | str
) -> Iterator[re.Match[bytes]]:
    """Iterate over the matches in the XML of a sheet, which is searched in blocks.

    A match at the end of a block may be found twice.
    """
    before = b""
    with archive.open(part) as file:
        while block := file.read(_BUFFER):
            yield from pattern.finditer(before + block)
            before = block[-60:]


def _find_merged(data: IO[bytes], sheet: Any) -> set[tuple[int, int, int]]:
    """Find the merged cells of several rows: column, first and last row, from 0."""
    # openpyxl does not read merged cells where it reads row by row.
    path = sheet._worksheet_path  # noqa: SLF001
    with ZipFile(data) as archive:
        found = {one.groups() for one in _search(_MERGED, archive, path)}
    number = require("openpyxl", extra="cli").utils.column_index_from_string
    return {
        (number(column.decode()) - 1, int(first) - 1, int(last) - 1)
        for column, first, last in found
        if first != last
    }


def _fill_merged(rows: Any, merged: set[tuple[int, int, int]]) -> tuple[Any, list[int]]:
    """Fill merged cells with their value, where they begin below the header.

    The index and the columns of `rows` are those of the sheet. Also returns the
    positions of the filled columns.
    """
    places = {j: k for k, j in enumerate(rows.columns)}
    inside = [one for one in merged if one[0] in places and one[1] in rows.index]
    cells = rows.to_numpy(copy=True)
    for j, first, last in inside:
        start, stop = np.searchsorted(rows.index, [first, last + 1])
        cells[start:stop, places[j]] = cells[start, places[j]]
    rows = pd.DataFrame(cells, rows.index, rows.columns, dtype=object)
    return rows, sorted({places[j] for j, *_ in inside})


def _list_rows(sheet: Any, skip: int = 0) -> Iterator[tuple[Any, ...]]:
    """Iterate over the rows of a sheet after the first `skip`, up to Excel's limit."""
    sheet.reset_dimensions()  # the stored size may be wrong
    return islice(sheet.values, skip, _MAX_ROWS)


def _unescape(text: str) -> str:
    r"""Decode escapes of characters that XML cannot store, such as a carriage return.

    >>> _unescape("a_x000D_b"), _unescape("_x005F_x000D_")
    ('a\rb', '_x000D_')
    """
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), text)


def _collect_cells(name: str, rows: Iterable[tuple[Any, Any]], start: int) -> Any:
    """Collect the cells of a sheet in a frame without empty rows and columns.

    A small file may have many rows with two cells that are far apart, so the empty
    columns between them must not take memory.

    `rows` has, for each row, its cells with the stored values of formulas, and its
    cells with the text of formulas, empty if the file has no formulas. `start` is the
    number of the first row. The index and the columns of the frame are the numbers of
    the rows and columns in the sheet, from 0.
    """
    columns: dict[int, list[Any]] = {}
    n_rows = n_looked_at = 0
    kept = []
    for i, (row, written) in enumerate(rows, start):
        held = [(j, cell) for j, cell in enumerate(row) if cell is not None]
        for j, formula in enumerate(written):
            if formula is not None and (j >= len(row) or row[j] is None):
                held.append((j, Formula(getattr(formula, "text", formula) or "=")))
        for j, cell in held:
            column = columns.setdefault(j, [])
            column += [None] * (n_rows - len(column))
            column.append(_unescape(cell) if type(cell) is str else cell)
        if held:
            n_rows += 1
            kept.append(i)
        n_looked_at += len(row)
        if max(n_looked_at, n_rows * len(columns)) > _MAX_CELLS:
            raise InputError(
                f"{name}: the sheet has more than {_MAX_CELLS:,} cells; save the part "
                "that is the table as CSV."
            )
    filled = {j: columns[j] + [None] * (n_rows - len(columns[j])) for j in columns}
    return pd.DataFrame(dict(sorted(filled.items())), kept, dtype=object)


def _choose_sheet(name: str, book: Any, asked: str | None) -> tuple[str, list[str]]:
    """Choose the named, numbered or largest sheet; also return what was assumed."""
    sheets = book.sheetnames
    if asked is None:
        if len(sheets) == 1:
            return sheets[0], []
        found = max(sheets, key=lambda one: _measure_table(book[one]))
        others = [one for one in sheets if one != found]
        hidden = book[found].sheet_state != "visible"
        which = f"{'hidden ' * hidden}sheet {found!r} read"
        why = f"no other has a larger table; not read: {listed(others)} (`sheet`)"
        return found, [(Doubt if hidden else str)(f"{which}: {why}")]
    known = {str(i): one for i, one in enumerate(sheets, 1)}
    known |= {one: one for one in sheets}
    if asked not in known:
        raise InputError(
            f"`sheet` {asked}: {name} has no such sheet; it has {listed(sheets, 8)}."
        )
    return known[asked], []


def _measure_table(sheet: Any) -> int:
    """Count the filled cells of a sheet in rows with at least two; 0 for a chart sheet.

    Counting stops once more than `_MAX_CELLS` cells, filled or empty, have been read.
    """
    if not hasattr(sheet, "reset_dimensions"):
        return 0
    n_cells = n_looked_at = 0
    for row in _list_rows(sheet):
        n_filled = sum(cell is not None for cell in row)
        n_cells += n_filled if n_filled > 1 else 0
        n_looked_at += len(row)
        if n_looked_at > _MAX_CELLS:
            break
    return n_cells


def _skip_titles(cells: Any) -> tuple[Any, list[str]]:
    """Drop titles, rows with a single text, above the table; also return a note."""
    is_text = cells.map(lambda cell: isinstance(cell, str))
    is_row = (cells.notna().sum(axis=1) > 1) | (cells.notna() & ~is_text).any(axis=1)
    start = int(is_row.to_numpy().argmax())
    if cells.shape[1] < _MIN_COLUMNS or not start:
        return cells, []
    title = str(cells.iloc[0].dropna().iloc[0])
    below = cells.iloc[start:].dropna(how="all", axis=1)
    return below, [f"{counted(start, 'row')} above the table skipped: {title!r}"]
