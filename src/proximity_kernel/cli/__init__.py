"""The command line: parse, call the library, print.

``program`` parses, and prints notes and errors. Each command has a file of its
own, imported when the command is called. They share:

- ``arguments``: the options, with their help; imports nothing that takes long
- ``fitting``: a table and options -> a fitted estimator, also in batches; models
- ``outputs``: checks of the files to write, before the work begins
- ``results``: ids and row numbers, where results are written, tables on a terminal
- ``filled_cells``: what `impute` writes
"""

from __future__ import annotations

from .program import main

__all__ = ["main"]
