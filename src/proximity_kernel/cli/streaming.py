"""Tables that are read in batches: fitted, and their results written, in passes.

Each pass reads the file from its start and shows its progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..io import InputError, LargeTable, LoadedTable, Schema, open_large_table
from ..io.large_table import count_rows
from ..io.writing import BATCHED_FORMATS
from .arguments import name_options, reading_options
from .fitting import check_files, load_model
from .invocation import Invocation
from .outputs import STANDARD_STREAM

LARGE = 1_000_000
"""Rows above which a file is read in batches unless an option says otherwise."""
_MAX_NOTES = 5  # about single batches


def should_stream(invocation: Invocation, file_format: str) -> bool:
    """Decide whether the table is read in batches.

    Parameters
    ----------
    invocation : Invocation
    file_format : str
        Of the output.

    Returns
    -------
    bool
    """
    options = invocation.options
    if options.no_stream or (options.file == STANDARD_STREAM and not options.stream):
        return False
    check_files(invocation)
    n_rows = None if options.file == STANDARD_STREAM else count_rows(options.file)
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
    if obstacle and options.stream and _exists(options.file):
        raise InputError(f"--stream: {obstacle}, or leave --stream out.")
    if n_rows is None or obstacle:
        return False
    return bool(options.stream) or n_rows > LARGE


def _exists(path: str) -> bool:
    return path == STANDARD_STREAM or Path(path).exists()


def start_stream(invocation: Invocation, wanted: str) -> tuple[Any, Stream]:
    """Load the model if one is given, and open the table.

    Parameters
    ----------
    invocation : Invocation
    wanted : str
        Name of the estimator class that the command needs.

    Returns
    -------
    estimator or None
        The loaded model; None if one must be fitted.
    Stream
    """
    options = invocation.options
    model, schema = None, None
    if options.model is not None:
        model, notes = load_model(invocation, wanted)
        schema = Schema.from_dict(notes["schema"])
    with invocation.progress(f"opening {options.file}"):
        table = open_large_table(
            options.file, schema=schema, **reading_options(options)
        )
    for line in table.assumptions:
        invocation.note(line)
    return model, Stream(invocation, table)


class Stream:
    """A large table that is read in passes, with progress and notes.

    Attributes
    ----------
    table : LargeTable
    """

    def __init__(self, invocation: Invocation, table: LargeTable) -> None:
        self.invocation, self.table = invocation, table
        self._n_passes = 0

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
        self._n_passes += 1
        notes = _BatchNotes(self.invocation) if self._n_passes == 1 else None
        with self.invocation.progress(task, self.table.file.n_rows) as advance:
            for start, batch in self.table.read():
                if notes is not None:
                    notes.add(batch, start)
                yield start, batch
                advance(len(batch.frame))
        if notes is not None:
            notes.print_totals()

    def frames(self, *tasks: str) -> Callable[[], Iterator[Any]]:
        """Make the argument of `fit_batches`; the last task is that of later passes."""
        passes = iter(range(len(tasks)))

        def read() -> Iterator[Any]:
            task = tasks[next(passes, len(tasks) - 1)]
            return (batch.frame for _, batch in self.read(task))

        return read


class _BatchNotes:
    """Prints the first few notes about batches, and counts the rest."""

    def __init__(self, invocation: Invocation) -> None:
        self.invocation = invocation
        self.n_notes = self.n_empty = 0

    def add(self, batch: LoadedTable, start: int) -> None:
        """Print what was assumed about a batch."""
        self.n_empty += int(batch.frame.isna().all(axis=1).sum())
        for line in batch.assumptions[1:]:
            known = name_options(line) in self.invocation.notes
            if known or line.endswith("no observed cell"):
                continue
            self.n_notes += 1
            if self.n_notes <= _MAX_NOTES:
                end = start + len(batch.frame)
                self.invocation.note(f"rows {start + 1:,} to {end:,}: {line}")

    def print_totals(self) -> None:
        """Print what was counted over all batches."""
        from ..io.conversion import describe_empty_rows

        if self.n_notes > _MAX_NOTES:
            self.invocation.note(f"and {self.n_notes - _MAX_NOTES:,} similar notes")
        if self.n_empty:
            self.invocation.note(describe_empty_rows(self.n_empty))
