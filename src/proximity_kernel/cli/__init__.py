"""The command line: parse, call the library, print.

The first three import nothing that takes long, so that help and errors come at once:

- ``arguments``: the options of every command, with their help
- ``outputs``: the files of a call, checked before the work begins
- ``program``: parse, run a command, print notes and errors
- ``fitting``: a table and options -> a fitted estimator, also in batches; models
- ``results``: ids and row numbers, tables in files and on a terminal, pages
- ``filled_cells``: what `impute` writes

Each command has a file of its own, imported when it runs.
"""

from __future__ import annotations

from .program import main

__all__ = ["main"]
