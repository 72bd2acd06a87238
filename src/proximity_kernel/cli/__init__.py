"""The command line: parse the arguments, call the library, print the results.

- ``arguments``: the options of every command, with their help
- ``program``: parse the arguments, check the files, run a command, print notes
- ``fitting``: read a table, whole or in batches; fit an estimator or load a model
- ``results``: name rows by id or number; write results to files and terminals
- ``filled_cells``: fill the missing cells of a file's table, for `impute`

The first two import nothing that takes long, so that help and errors appear at once.
Each command has a module, ``NAME_command``, which is imported when the command runs.
"""

from __future__ import annotations

from .program import main

__all__ = ["main"]
