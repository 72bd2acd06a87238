"""Read tables from files, and write results to files.

`read_table` reads a file through these modules, in this order:

- ``file_type``: a path or buffer -> its bytes, and which type of file it is
- ``dialect``: text -> encoding, separator, header
- ``delimited_text``, ``spreadsheet``, ``typed_file``: bytes -> columns, text still text
- ``kinds``: columns -> a `Schema`, with the help of ``formats`` (how numbers and dates
  are written), ``ids`` (which column names the rows) and ``missing_marks``
- ``conversion``: columns + `Schema` -> a `LoadedTable`

``large_file`` and ``large_table`` do the same for files that are read in batches;
``writing`` writes results. Nothing that takes long to import is imported before a file
has been found.
"""

from __future__ import annotations

from .errors import InputError
from .large_table import LargeTable, open_large_table
from .reader import LoadedTable, read_table
from .schema import ColumnSchema, FileLayout, Schema

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
