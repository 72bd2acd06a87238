"""Read tables from files, and write results to files.

`read_table` (``read``) gets the bytes and the type of a file (``files``), its columns
(``text``, ``excel``, ``typed_files``) and their names (``header``). ``typed_columns``
infers a `Schema` by small steps, each a function of a ``Column`` (``column_step``), and
converts the columns. ``totals``, ``row_filter`` and ``checks`` then leave rows out and
report doubts. ``write`` writes results.

pandas and pyarrow, which are slow to import, are imported after the file is opened, so
that a wrong path is reported at once.
"""

from __future__ import annotations

from .read import LargeTable, open_large_table, read_table
from .schema import ColumnSchema, FileLayout, InputError, LoadedTable, Schema

__all__ = [
    "ColumnSchema",
    "FileLayout",
    "InputError",
    "LargeTable",
    "LoadedTable",
    "Schema",
    "open_large_table",
    "read_table",
]
