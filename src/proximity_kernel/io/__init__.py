"""Read tables from files, and write results to files.

`read_table` walks through these modules:

- ``reading``: `read_table`, and its counterpart for files that are read in batches
- ``file_bytes``: a path or buffer -> its bytes, and which type of file it is
- ``csv_text``, ``parquet_and_excel``: bytes -> columns, in which text is still text
- ``kinds``: columns -> a `Schema`: ids, missing marks, which texts are numbers or dates
- ``missing_marks``: which texts mark a missing cell, in which column
- ``ids``: which columns name the rows
- ``misreadings``: checks for what is easily misread, such as mixed units and totals
- ``doubts``: what may be wrong with a table, and is only reported
- ``numbers_and_dates``: how numbers and dates are written as text
- ``typed_columns``: columns + `Schema` -> typed columns
- ``schema``: what is known about a table: `Schema`, `FileLayout`, `LoadedTable`

``writing`` writes results. Nothing that takes long to import is imported before a file
has been found.
"""

from __future__ import annotations

from .reading import LargeTable, open_large_table, read_table
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
