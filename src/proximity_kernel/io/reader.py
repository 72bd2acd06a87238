"""`read_table`: a file in, a table out, together with what was assumed about it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from .._shared.extras import require
from .file_type import open_file
from .schema import FileLayout, ReadOptions, Schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """A table that was read from a file, and what was assumed to read it.

    Attributes
    ----------
    name : str
        The path, or the name of the buffer.
    frame : pandas.DataFrame of shape (n_rows, n_features)
        The columns to compare rows by, typed: numbers as float64, dates as datetime64,
        text as categoricals. Missing cells are NaN, NaT or None.
    ids : pandas.DataFrame of shape (n_rows, n_ids)
        The columns that name the rows; there may be none.
    left_out : pandas.DataFrame of shape (n_rows, n_left_out)
        The columns that are neither compared nor ids, as the file holds them.
    schema : Schema
        How each column was read. Pass it to `read_table` to read other rows of the same
        table in the same way.
    layout : FileLayout
        How the file is laid out: encoding, separator, header, sheet.
    assumptions : tuple of str
        What was assumed, in sentences. The first gives the size of the table.
    """

    name: str
    frame: pd.DataFrame
    ids: pd.DataFrame
    left_out: pd.DataFrame
    schema: Schema
    layout: FileLayout
    assumptions: tuple[str, ...]


def read_table(
    path_or_buffer: str | os.PathLike[str] | IO[bytes] | IO[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    missing: str | Iterable[str] = (),
    default_missing: bool = True,
    ids: str | Iterable[str] = (),
    drop: str | Iterable[str] = (),
    categorical: str | Iterable[str] = (),
    day_first: bool | None = None,
    schema: Schema | None = None,
) -> LoadedTable:
    r"""Read a table, and detect how it is written.

    Separator, header, decimal comma, dates, units, missing marks and ids are detected.
    What was assumed is returned with the table; every assumption can be overridden by a
    parameter. The type of the file is found from its content. Needs the extra ``cli``.

    Parameters
    ----------
    path_or_buffer : path or file-like object
        CSV, TSV, Parquet, Arrow, Feather or Excel (.xlsx); text may be compressed with
        gzip. A file-like object may give bytes or text.
    sep : str, optional
        One character, or ``"tab"``, ``"comma"``, ``"semicolon"``, ``"bar"`` or
        ``"space"``.
    decimal : {".", ","}, optional
    encoding : str, optional
        Of bytes of text, for example ``"latin-1"``.
    header : bool, optional
        Whether the first row of text or of a sheet holds the column names.
    sheet : str, optional
        Name or number (from 1) of an Excel sheet. The first by default.
    missing : str or iterable of str
        Texts or numbers that mark a missing cell, in addition to the usual ones (empty,
        ``?``, ``NA``, ``null``, ``-``, ...).
    default_missing : bool, default=True
        If False, only empty cells and `missing` are missing.
    ids : str or iterable of str
        Columns that name the rows. Detected if none is given.
    drop : str or iterable of str
        Columns to leave out.
    categorical : str or iterable of str
        Columns to read as categories, whatever they hold.
    day_first : bool, optional
        Whether 3/4/2020 is in April. Such dates stay categories if the column does not
        show which it is.
    schema : Schema, optional
        Of an earlier table. Then columns are read as they were in that table, and
        nothing is detected but the layout of the file.

    Returns
    -------
    LoadedTable

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    InputError
        If the file is not a table, or a parameter does not fit it. It is a ValueError.

    Examples
    --------
    >>> from io import StringIO
    >>> from proximity_kernel import read_table
    >>> text = "code;weight;seen\nP1;71,5;03.02.2020\nP2;?;14.02.2020\nP3;80;\n"
    >>> table = read_table(StringIO(text), ids="code")
    >>> table.frame
       weight       seen
    0    71.5 2020-02-03
    1     NaN 2020-02-14
    2    80.0        NaT
    >>> table.ids["code"].tolist()
    ['P1', 'P2', 'P3']
    >>> print(*table.assumptions, sep="\n")
    buffer: 3 rows, 3 columns, separator ';', decimal comma, missing: '?' or empty
    'seen' read as dates (day.month.year)
    >>> table.schema.columns[1]
    ColumnSchema(name='weight', role='used', kind='numbers', format='1,5', unit='')
    """
    options = ReadOptions(
        sep, decimal, encoding, header, sheet, missing, default_missing, ids, drop,
        categorical, day_first,
    )  # fmt: skip
    file = open_file(path_or_buffer)
    require("pandas", extra="cli")
    from .conversion import load_table

    return load_table(file, options, schema)
