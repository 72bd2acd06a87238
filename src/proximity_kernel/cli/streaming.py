"""Tables that are read in batches: fitted, and their results written, in passes.

Each pass reads the file from its start and shows its progress.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from ..io import InputError, LargeTable, LoadedTable, Schema, open_large_table
from ..io.large_table import count_rows
from ..io.writing import BATCHED_FORMATS
from .arguments import name_options, reading_options
from .fitting import check_files, fit, load_model, save_model, start
from .outputs import STANDARD_STREAM
from .program import Invocation

LARGE = 1_000_000
"""Rows above which a file is read in batches unless an option says otherwise."""
_MAX_NOTES = 5  # about single batches


def open_source(
    invocation: Invocation, wanted: str, file_format: str
) -> tuple[Any, Source]:
    """Load the model if one is given, and open the table, whole or in batches.

    Parameters
    ----------
    invocation : Invocation
    wanted : str
        Name of the estimator class that the command needs.
    file_format : str
        Of the output.

    Returns
    -------
    estimator or None
        The loaded model; None if one must be fitted.
    Source
    """
    options = invocation.options
    if not _should_stream(invocation, file_format):
        model, whole, _ = start(invocation, wanted)
        return model, Source(invocation, whole, whole.name, len(whole.frame))
    model, schema = None, None
    if options.model is not None:
        model, notes = load_model(invocation, wanted)
        schema = Schema.from_dict(notes["schema"])
    with invocation.progress(f"opening {options.file}"):
        given = reading_options(options)
        table = open_large_table(options.file, schema=schema, **given)
    for line in table.assumptions:
        invocation.note(line)
    return model, Source(invocation, table, table.file.name, table.file.n_rows)


def _should_stream(invocation: Invocation, file_format: str) -> bool:
    """Decide whether the table is read in batches."""
    options = invocation.options
    if options.stream is False or (options.file == STANDARD_STREAM != options.stream):
        return False
    check_files(invocation)
    n_rows = count_rows(options.file)
    obstacle = None
    if n_rows is None:
        obstacle = f"{options.file} is not a Parquet or Arrow file; convert it to one"
    elif file_format not in BATCHED_FORMATS:
        obstacle = (
            f"{file_format} cannot be written in batches; name an output that ends in "
            ".parquet"
        )
    elif getattr(options, "report", None) is not None:
        obstacle = "a report needs the whole table; leave --report out"
    exists = options.file == STANDARD_STREAM or Path(options.file).exists()
    if obstacle and options.stream and exists:
        raise InputError(f"--stream: {obstacle}, or leave --stream out.")
    return not obstacle and (bool(options.stream) or (n_rows or 0) > LARGE)


@dataclass
class Source:
    """A table that is read at once, or in batches with progress and notes.

    Attributes
    ----------
    invocation : Invocation
    table : LoadedTable or LargeTable
    name : str
    n_rows : int
    """

    invocation: Invocation
    table: LoadedTable | LargeTable
    name: str
    n_rows: int
    _first_pass: bool = True

    @property
    def whole(self) -> LoadedTable | None:
        """The table, if it was read at once."""
        return self.table if isinstance(self.table, LoadedTable) else None

    def fit(self, estimator: Any, *tasks: str) -> Any:
        """Fit an estimator, and save it if --save-model was given.

        Parameters
        ----------
        estimator
        *tasks : str
            What each pass over the batches does; the last is that of later passes.
        """
        if self.whole is not None:
            return fit(self.invocation, estimator, self.whole)
        passes = chain(tasks, repeat(tasks[-1]))
        estimator.fit_batches(
            lambda: (batch.frame for _, batch in self.read(next(passes)))
        )
        save_model(self.invocation, estimator, self.table.schema)
        return estimator

    def read(self, task: str) -> Iterator[tuple[int, LoadedTable]]:
        """Read all rows once.

        Parameters
        ----------
        task : str
            What is done with them, for the progress bar.

        Yields
        ------
        int
            Index of the batch's first row in the file.
        LoadedTable
        """
        if isinstance(self.table, LoadedTable):
            with self.invocation.progress(task):
                yield 0, self.table
            return
        from ..io.conversion import describe_empty_rows

        n_notes = n_empty = 0
        with self.invocation.progress(task, self.n_rows) as advance:
            for first, batch in self.table.read():
                last = first + len(batch.frame)
                n_empty += int(batch.frame.isna().all(axis=1).sum())
                for line in batch.assumptions[1:] if self._first_pass else ():
                    known = name_options(line) in self.invocation.notes
                    if known or line.endswith("no observed cell"):
                        continue
                    n_notes += 1
                    if n_notes <= _MAX_NOTES:
                        self.invocation.note(f"rows {first + 1:,} to {last:,}: {line}")
                yield first, batch
                advance(len(batch.frame))
        if n_notes > _MAX_NOTES:
            self.invocation.note(f"and {n_notes - _MAX_NOTES:,} similar notes")
        if n_empty and self._first_pass:
            self.invocation.note(describe_empty_rows(n_empty))
        self._first_pass = False
