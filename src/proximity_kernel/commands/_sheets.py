"""Sheets as people lay them out: cells merged over rows, titles above the table."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

from .._extras import require

_WIDE = 3  # columns: then a row with one cell above the others is a title
_SHEET = re.compile(r"xl/worksheets/[^/]*[.]xml$")


def has_merged_cells(data: bytes) -> bool:
    """Whether cells are merged in some sheet; without reading the sheets."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = filter(_SHEET.match, archive.namelist())
        return any(b"<mergeCell " in archive.read(name) for name in names)


def fill_merged(data: bytes, sheet: str) -> list[list[Any]]:
    """Read a sheet whose merged cells stand for all rows that they cover.

    Parameters
    ----------
    data : bytes
        The workbook.
    sheet : str

    Returns
    -------
    list of list
        A list for each row.
    """
    openpyxl = require("openpyxl", extra="cli")
    page = openpyxl.load_workbook(io.BytesIO(data), data_only=True)[sheet]
    rows = [list(row) for row in page.iter_rows(min_row=1, min_col=1, values_only=True)]
    for merged in page.merged_cells.ranges:
        column, top, _, bottom = merged.bounds
        for row in rows[top:bottom]:
            row[column - 1] = rows[top - 1][column - 1]
    return rows


def skip_titles(cells: Any) -> tuple[Any, list[str]]:
    """Leave out rows above the table that hold one cell, and say it.

    Parameters
    ----------
    cells : pandas.DataFrame

    Returns
    -------
    pandas.DataFrame
    list of str
    """
    filled = cells.notna().sum(axis=1).to_numpy()
    if cells.shape[1] < _WIDE or not (filled > 1).any():
        return cells, []
    start = int((filled > 1).argmax())
    if not start:
        return cells, []
    title = cells.iloc[0].dropna().iloc[0]
    rows = "1 row" if start == 1 else f"{start} rows"
    below = cells.iloc[start:].dropna(how="all", axis=1)
    return below, [f"{rows} above the table left out: {str(title)!r}"]
