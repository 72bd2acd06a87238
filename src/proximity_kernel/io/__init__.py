"""Read tables from files, and write results to files.

`read_table` (``read``) goes through these modules:

- ``files``: a path or buffer -> its bytes, and the type of the file
- ``text``, ``excel``, ``typed_files``: bytes -> columns of strings, or of stored types
- ``header``: which rows are the header, and the column names
- ``cells``: columns of few dtypes, and single cells as strings
- ``typed_columns``: columns -> a `Schema`, inferred by steps -> typed columns
- ``missing_marks``, ``numbers``, ``dates``, ``categories``, ``ids``: the
  steps. Each is a function of a ``Column`` (``column_step``), which raises
  ``DoesNotApply`` if it does not apply.
- ``totals``: leaves out rows and columns that are totals of others
- ``row_filter``: selects rows by the condition `where`
- ``checks``: drops repeated header lines, and reports what else may be wrong
- ``schema``: `Schema`, `FileLayout`, `LoadedTable` and the other dataclasses

``write`` writes results. Slow imports (pandas, pyarrow) wait until the file is found.
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
