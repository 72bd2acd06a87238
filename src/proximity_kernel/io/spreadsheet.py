"""Excel files in, the columns of a sheet out."""

from __future__ import annotations

import io
from typing import Any

import pandas as pd

from .._shared.extras import require
from .dialect import make_unique, number_columns
from .errors import InputError
from .file_type import InputFile
from .parsed_file import ParsedFile, simplify_columns
from .schema import FileLayout, ReadOptions
from .wording import counted, listed

_MIN_COLUMNS = 3  # from which on a row with one cell above the table is a title


def parse_sheet(file: InputFile, options: ReadOptions) -> ParsedFile:
    """Parse a sheet of an Excel file.

    Parameters
    ----------
    file : InputFile
    options : ReadOptions

    Returns
    -------
    ParsedFile
    """
    openpyxl = require("openpyxl", extra="cli")
    try:
        book = openpyxl.load_workbook(
            io.BytesIO(file.data), read_only=True, data_only=True
        )
        sheet, chosen = _choose_sheet(file.name, book.sheetnames, options.sheet)
        cells = pd.DataFrame(book[sheet].values, dtype=object)
        book.close()
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001  (openpyxl raises errors of many types)
        raise InputError(
            f"{file.name}: this Excel file is damaged ({error}); save it again."
        ) from None
    cells = cells.dropna(how="all").dropna(how="all", axis=1)
    if not cells.size:
        raise InputError(f"{file.name}: the sheet {sheet!r} is empty; see `sheet`.")
    table, skipped = _skip_titles(cells)
    rows, named = _take_names(table, options.header)
    layout = FileLayout(
        "excel",
        header=len(rows) < len(table),
        skipped_lines=len(cells) - len(table),
        sheet=sheet,
    )
    frame = simplify_columns(rows.reset_index(drop=True))
    return ParsedFile(file.name, frame, layout, (*chosen, *skipped, *named))


def _choose_sheet(
    name: str, sheets: list[str], asked: str | None
) -> tuple[str, list[str]]:
    if asked is None:
        if len(sheets) == 1:
            return sheets[0], []
        return sheets[0], [f"sheet {sheets[0]!r}, the first of {len(sheets)} (`sheet`)"]
    if asked in sheets:
        return asked, []
    if asked.isdecimal() and 1 <= int(asked) <= len(sheets):
        return sheets[int(asked) - 1], []
    raise InputError(
        f"`sheet` {asked}: {name} has no such sheet; it has {listed(sheets, 8)}."
    )


def _skip_titles(cells: Any) -> tuple[Any, list[str]]:
    """Remove rows above the table that hold a single cell."""
    filled = cells.notna().sum(axis=1).to_numpy()
    start = int((filled > 1).argmax())
    if cells.shape[1] < _MIN_COLUMNS or not start:
        return cells, []
    title = str(cells.iloc[0].dropna().iloc[0])
    below = cells.iloc[start:].dropna(how="all", axis=1)
    return below, [f"{counted(start, 'row')} above the table skipped: {title!r}"]


def _take_names(cells: Any, header: bool | None) -> tuple[Any, list[str]]:
    """Take the column names from the first row, unless it holds values."""
    first = cells.iloc[0]
    if header is None:
        header = all(pd.isna(one) or isinstance(one, str) for one in first)
    names, assumptions = number_columns(cells.shape[1])
    if header:
        names = [
            name if pd.isna(cell) else str(cell).strip()
            for name, cell in zip(names, first, strict=True)
        ]
        names, assumptions = make_unique(names)
        cells = cells.iloc[1:]
    return cells.set_axis(names, axis=1), assumptions
