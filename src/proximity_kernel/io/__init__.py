"""Read tables from files, and write results to files.

`read_table` (``read``) goes through these modules:

- ``files``: a path or buffer -> its bytes, and the type of the file
- ``text``, ``excel``, ``typed_files``: bytes -> columns of strings, or of stored types
- ``header``: which rows are the header, and the column names
- ``cells``: converts columns to a few dtypes, and single cells to strings
- ``typed_columns``: columns -> a `Schema`, inferred by steps -> typed columns
- ``missing_marks``, ``numbers``, ``dates``, ``categories``, ``ids``: the
  steps. Each is a function of a ``Column`` (``column_step``), which raises
  ``DoesNotApply`` if it does not apply.
- ``totals``: leaves out rows and columns that are totals of other rows or columns
- ``row_filter``: selects rows by the condition `where`
- ``checks``: drops repeated header lines, and reports what may be wrong with the table
- ``schema``: `Schema`, `FileLayout`, `LoadedTable` and the other dataclasses

``write`` writes results to files. pandas and pyarrow, which are slow to import, are
imported after the file is opened, so that a wrong path is reported at once.
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
