"""The command line: parse, call the library, print.

``program`` parses, and prints notes and errors. Each command has a file of its
own, imported when the command is called. They share:

- ``arguments``: the options, with their help; imports nothing that takes long
- ``fitting``: a table and options -> a fitted estimator, also in batches
- ``outputs``: the files to write: checks before the work begins, models, pages
- ``results``: ids and row numbers, where results are written, tables on a terminal
- ``filled_cells``: what `impute` writes
"""

from __future__ import annotations

from .program import main

__all__ = ["main"]
