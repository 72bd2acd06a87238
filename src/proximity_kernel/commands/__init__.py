"""The subcommands of the command line, one file each, and what they share.

A call goes through these rooms in this order:

- ``_options``: what may be asked for, with its help; imports nothing that takes long
- ``_source``: a file or standard input -> what it is, by its content and ending
- ``_dialect``: text -> encoding, separator, header
- ``_raw``: a source -> columns as they are held, text still as text (``_sheets``: how
  people lay out Excel's)
- ``_plan``: how each column is to be read; kept with a model
- ``_guess``: raw columns -> a plan (``_forms``: how numbers and dates are written)
- ``_ids``: whether a column names the rows
- ``_table``: raw columns + plan -> the frame that is fitted, ids, what was assumed
- ``_sentinels``: numbers that may mean a missing cell, pointed out
- ``_fitting``: a table + options -> a fitted estimator; models kept and loaded
- ``_rows``: ids and row numbers of a table, written and found
- ``_writing``: results -> files, whole or not at all

``_call`` is where a command speaks: notes, progress, errors.
"""

from __future__ import annotations

from ._call import Call, InputError, find_near, near, write_error
from ._options import add_general

__all__ = ["Call", "InputError", "add_general", "find_near", "near", "write_error"]
