"""Read tables from files, and write results to files.

`read_table` (``read``) goes through these modules:

- ``files``: a path or buffer -> its bytes, and which type of file it is
- ``text``, ``excel``, ``typed_files``: bytes -> columns, in which text is still text
- ``header``: the rows that hold the column names
- ``typed_columns``: columns -> a `Schema`, by steps -> typed columns
- ``missing_marks``, ``numbers``, ``dates``, ``categories``, ``ids``: the
  steps. Each is a small function of a ``Column`` (``column_step``); one that does not
  apply says so.
- ``totals``, ``row_filter``: rows and columns that are totals; rows that are asked for
- ``checks``: repeated header lines, and what else may be wrong
- ``schema``: what is known about a table: `Schema`, `FileLayout`, `LoadedTable`

``write`` writes results. Nothing that takes long to import is imported before a file
has been found.
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
