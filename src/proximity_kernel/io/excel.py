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
_FORMULA = re.compile(rb"<(\w+:)?f[ >/]")  # in the XML of a sheet


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
        cells = _collect_cells(file.name, zip(values, formulas, strict=False))
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
    layout = FileLayout("excel", None, None, n_header, skip, sheet)
    rows = table.iloc[n_header:].set_axis(names, axis=1).reset_index(drop=True)
    frame, said = rows, [*chosen, *skipped, *named]
    if has_formulas:
        is_formula = rows.map(_is_formula)
        frame, said = rows.mask(is_formula), [*said, *_describe_formulas(is_formula)]
    return ParsedFile(file.name, rows, simplify_columns(frame), layout, tuple(said))


class Formula(str):
    """A formula for which the file stores no value."""

    __slots__ = ()


def _is_formula(cell: Any) -> bool:
    """Whether a cell is a formula without a stored value."""
    return isinstance(cell, Formula)


def except_formulas(missing: Any, source: Any) -> Any:
    """Return the mask `missing` with False for formulas, so that they are not filled.

    `source` has the cells as read from the sheet.
    """
    is_missing = missing.to_numpy(copy=True)
    for j, name in enumerate(missing):
        rows = np.flatnonzero(is_missing[:, j])
        is_missing[rows, j] = [
            not _is_formula(cell) for cell in source[name].loc[missing.index[rows]]
        ]
    return pd.DataFrame(is_missing, missing.index, missing.columns)


def _describe_formulas(is_formula: Any) -> list[str]:
    """Report how many formulas have no stored value, and in which columns."""
    names = list(is_formula.columns[is_formula.any()])
    if not names:
        return []
    n_cells = int(is_formula.to_numpy().sum())
    formulas = counted(n_cells, "formula has", "formulas have")
    where = f"no value in the file, in {listed(names, 3)}: not read, and not filled"
    return [f"{formulas} {where} (Excel stores the values when it saves the file)"]


def _check_archive(name: str, data: IO[bytes]) -> bool:
    """Raise InputError if an Excel file is too large; return whether it has formulas.

    `data` is the zip archive.
    """
    with ZipFile(data) as archive:
        parts = archive.infolist()
        check_size(name, sum(part.file_size for part in parts))
        sheets = (part for part in parts if "worksheets/" in part.filename)
        return any(_has_formulas(archive, part) for part in sheets)


def _has_formulas(archive: ZipFile, part: ZipInfo) -> bool:
    """Whether the XML of a sheet has a formula element; it is searched in blocks."""
    before = b""
    with archive.open(part) as file:
        while block := file.read(_BUFFER):
            if _FORMULA.search(before + block):
                return True
            before = block[-20:]
    return False


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


def _collect_cells(name: str, rows: Iterable[tuple[Any, Any]]) -> Any:
    """Collect the cells of a sheet in a frame without empty rows and columns.

    A small file may have many rows with two cells that are far apart, so the empty
    columns between them must not take memory.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    rows : iterable of (tuple, tuple)
        For each row, its cells with the stored values of formulas, and its cells with
        the text of formulas; the second tuple is empty if the file has no formulas.
    """
    columns: dict[int, list[Any]] = {}
    n_rows = n_looked_at = 0
    for row, written in rows:
        held = [(j, cell) for j, cell in enumerate(row) if cell is not None]
        for j, formula in enumerate(written):
            if formula is not None and (j >= len(row) or row[j] is None):
                held.append((j, Formula(getattr(formula, "text", formula) or "=")))
        for j, cell in held:
            column = columns.setdefault(j, [])
            column += [None] * (n_rows - len(column))
            column.append(_unescape(cell) if type(cell) is str else cell)
        n_rows += bool(held)
        n_looked_at += len(row)
        if max(n_looked_at, n_rows * len(columns)) > _MAX_CELLS:
            raise InputError(
                f"{name}: the sheet has more than {_MAX_CELLS:,} cells; save the part "
                "that is the table as CSV."
            )
    filled = {j: columns[j] + [None] * (n_rows - len(columns[j])) for j in columns}
    return pd.DataFrame(dict(sorted(filled.items())), dtype=object)


def _choose_sheet(name: str, book: Any, asked: str | None) -> tuple[str, list[str]]:
    """Choose a sheet by name or number; if None, the sheet with the largest table.

    Also returns what was assumed.
    """
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
    numbered = {str(i): one for i, one in enumerate(sheets, 1)}
    chosen = asked if asked in sheets else numbered.get(asked)
    if chosen is None:
        raise InputError(
            f"`sheet` {asked}: {name} has no such sheet; it has {listed(sheets, 8)}."
        )
    return chosen, []


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
    """Drop the titles above the table: rows with a single filled cell, a string.

    Also returns what was assumed.
    """
    is_text = cells.map(lambda cell: isinstance(cell, str))
    is_row = (cells.notna().sum(axis=1) > 1) | (cells.notna() & ~is_text).any(axis=1)
    start = int(is_row.to_numpy().argmax())
    if cells.shape[1] < _MIN_COLUMNS or not start:
        return cells, []
    title = str(cells.iloc[0].dropna().iloc[0])
    below = cells.iloc[start:].dropna(how="all", axis=1)
    return below, [f"{counted(start, 'row')} above the table skipped: {title!r}"]
