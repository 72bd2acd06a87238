"""Read a table, whole or in batches; fit an estimator to it, or load a saved model.

A model is saved with the schema of its table, so that new rows are read the same way. A
large table is read in batches: each pass reads the file from its start and shows its
progress.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from .. import ProximityKernel
from .._coded import CodedTable
from .._saving import write_estimator
from .._shared.wording import counted, listed, suggest
from ..io import (
    InputError,
    LargeTable,
    LoadedTable,
    Schema,
    open_large_table,
    read_table,
)
from ..io.read import open_large
from ..io.typed_columns import check_schema, is_written_as
from ..io.write import BATCHED_FORMATS
from ..kernel import code_table, fit_coded
from ..model_file import ModelFileError, _load_with_notes
from .arguments import name_options, reading_options
from .program import STANDARD_STREAM, Invocation

LARGE = 1_000_000
"""Number of rows above which a file is read in batches, unless --no-stream is given."""
_MAX_NOTES = 5  # notes about single batches that are printed
# Options that apply when a model is fitted, and cannot be given with --model.
_SET_BY_MODEL = {
    "n_bins": "--bins",
    "matching": "--matching",
    "missingness": "--missingness",
    "feature_weights": "--weight",
    "n_clusters": "-k",
    "share": "--share",
    "save_model": "--save-model",
    **{name: f"`{name}`" for name in (
        "ids", "only", "drop", "missing", "decimal", "day_first", "categorical",
        "numeric", "ignore_case",
    )},
}  # fmt: skip


def make_kernel(options: argparse.Namespace, estimator: Any = None) -> ProximityKernel:
    """Make a kernel with the options that were given on the command line.

    Other options have their defaults in the kernel of `estimator` or, if it is None, in
    `ProximityKernel`.
    """
    names = ("n_bins", "matching", "missingness", "feature_weights", "n_jobs")
    given = {name: getattr(options, name) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    if "feature_weights" in given:
        given["feature_weights"] = dict(given["feature_weights"])
    if estimator is None:
        return ProximityKernel(**given)
    if given.get("matching") == "cascade":
        given = {"n_bins": None, **given}  # None: as many as in the paper
    kernel: ProximityKernel = estimator.__default_kernel__()
    return kernel.set_params(**given)


def check_pairwise(options: argparse.Namespace) -> None:
    """Raise InputError for --matching cascade, which cannot score cells."""
    if options.matching == "cascade":
        raise InputError(
            "--matching cascade: this command scores cells by counts of pairs of "
            "values, which only pairwise has; leave the option out."
        )


def open_table(
    invocation: Invocation, path: str, schema: Schema | None = None
) -> LoadedTable:
    """Read a table, by a fitted table's schema if given; print what was assumed.

    The path ``"-"`` is standard input.
    """
    options = reading_options(invocation.options)
    if not path:
        raise InputError("FILE is ''; name a file, or - for standard input.")
    if path == STANDARD_STREAM and sys.stdin is None:
        raise InputError("standard input is closed; name a file.")
    source: Any = sys.stdin.buffer if path == STANDARD_STREAM else path
    with invocation.progress(f"reading {path}"):
        table = read_table(source, schema=schema, **options)
    for line in table.assumptions:
        invocation.note(line)
    return table


def start(
    invocation: Invocation, wanted: str
) -> tuple[Any, LoadedTable, dict[str, Any]]:
    """Load the model of --model, if given, and read the table.

    The estimator, of the class `wanted`, is None if one must be fitted. Also returns
    the plain data that was saved with the model, such as ids.
    """
    model, schema, notes = _load_model(invocation, wanted)
    table = open_table(invocation, invocation.options.file, schema)
    check_weights(invocation, table.name, table.schema)
    return model, table, notes


def check_weights(invocation: Invocation, source: str, schema: Schema) -> None:
    """Raise InputError unless each --weight names a compared column, at most once."""
    used, seen = schema.names("used"), set()
    for name, _ in getattr(invocation.options, "feature_weights", None) or ():
        if name in seen:
            raise InputError(f"--weight {name}: given twice; give one weight.")
        seen.add(name)
        if name in used:
            continue
        if any(column.name == name for column in schema.columns):
            raise InputError(
                f"--weight {name}: {source} has this column, but it is not compared; "
                "leave the weight out, or see --id, --drop and --categorical."
            )
        hint = suggest(name, used) or f"; it has {listed(used, 8)}."
        raise InputError(f"--weight {name}: {source} has no such column{hint}")


def fit(
    invocation: Invocation, estimator: Any, table: LoadedTable, **notes: Any
) -> CodedTable:
    """Fit an estimator to a table; save it, with `notes`, if --save-model was given.

    Returns the coded rows, which its methods take in place of the table.
    """
    with invocation.progress("fitting"):
        coded = fit_coded(estimator, table.frame)
    save_fitted(invocation, estimator, table.schema, **notes)
    return coded


def save_fitted(
    invocation: Invocation, estimator: Any, schema: Schema, **notes: Any
) -> None:
    """Save an estimator with the schema of its table, if --save-model was given."""
    path = getattr(invocation.options, "save_model", None)
    if path is not None:
        write_estimator(estimator, path, {"schema": schema.to_dict(), **notes})
        ids = ", ".join(map(repr, notes.get("ids", ())))
        invocation.note(
            f"model: {path}" + f", with the ids of all rows ({ids})" * bool(ids)
        )


def _load_model(
    invocation: Invocation, wanted: str
) -> tuple[Any, Schema | None, dict[str, Any]]:
    """Load the model of --model, its schema and notes; None, None and {} without it."""
    options, command = invocation.options, invocation.command
    path = getattr(options, "model", None)
    if path is None:
        return None, None, {}
    given = (
        option
        for name, option in _SET_BY_MODEL.items()
        if getattr(options, name, None) not in (None, [])
    )
    if option := next(given, None if options.default_missing else "--na-only"):
        raise InputError(
            f"{option}: this was set when the model was fitted; leave the option out, "
            "or fit without --model."
        )
    try:
        estimator, notes = _load_with_notes(path)
    except ModelFileError as error:
        raise InputError(f"--model: {error}") from None
    if type(estimator).__name__ == "ProximityImputer" and wanted == "ProximityKernel":
        estimator = estimator.kernel_
    if type(estimator).__name__ != wanted:
        raise InputError(
            f"--model {path}: it contains a {type(estimator).__name__}, and "
            f"{command} needs a {wanted}; create the file with proximity-kernel "
            f"{command} --save-model."
        )
    if "schema" not in notes:
        raise InputError(
            f"--model {path}: it was saved in Python, without the schema of its table; "
            "create the file with --save-model."
        )
    return estimator, _read_schema(path, estimator, notes), notes


def _read_schema(path: str, estimator: Any, notes: dict[str, Any]) -> Schema:
    """Load the schema saved with a model; raise InputError unless it matches the model.

    The saved ids and row numbers must also have one entry for each fitted row.
    """
    try:
        schema = Schema.from_dict(notes["schema"])
        check_schema(schema)
        fits = schema.names("used") == estimator.feature_names_in_.tolist()
        ids = notes.get("ids", {}).values()
        fits = fits and all(len(own) == estimator.n_samples_fit_ for own in ids)
        fits = fits and all(type(cell) is str for own in ids for cell in own)
        examples = notes.get("examples", {}).items()
        kinds = {one.name: one for one in schema.columns}
        fits = fits and all(is_written_as(kinds[name], one) for name, one in examples)
        if "rows" in notes:
            fits = fits and len(notes["rows"]) == estimator.n_samples_fit_
            fits = fits and all(type(row) is int for row in notes["rows"])
    except (AttributeError, KeyError, TypeError, ValueError):
        fits = False
    if not fits:
        raise InputError(
            f"--model {path}: the schema saved in this file does not match its model; "
            "create the file again with --save-model."
        )
    return schema


def code(estimator: Any, table: LoadedTable) -> CodedTable:
    """Code the rows of a table by a fitted kernel, or the kernel of an estimator."""
    return code_table(getattr(estimator, "kernel_", estimator), table.frame)


def open_source(invocation: Invocation, wanted: str) -> tuple[Any, Source]:
    """Load the model of --model, if given, and open the table, whole or in batches.

    The estimator, of the class `wanted`, is None if one must be fitted.
    """
    options = invocation.options
    if not _should_stream(invocation):
        model, whole, _ = start(invocation, wanted)
        return model, Source(invocation, whole, whole.name, len(whole.frame))
    model, schema, _ = _load_model(invocation, wanted)
    with invocation.progress(f"opening {options.file}"):
        given = reading_options(options)
        table = open_large_table(options.file, schema=schema, **given)
    check_weights(invocation, table.file.name, table.schema)
    for line in table.assumptions:
        invocation.note(line)
    return model, Source(invocation, table, table.file.name, table.file.n_rows)


def _should_stream(invocation: Invocation) -> bool:
    """Decide whether to read in batches; raise InputError if --stream is impossible."""
    options, file_format = invocation.options, invocation.formats["output"]
    if options.stream is False or (options.file == STANDARD_STREAM != options.stream):
        return False
    file = open_large(options.file)
    obstacles = {
        f"{options.file} is not a Parquet or Arrow file; convert it to one, or leave "
        "--stream out": file is None,
        f"{file_format} cannot be written in batches; name an output that ends in "
        ".parquet, or leave --stream out": file_format not in BATCHED_FORMATS,
        "a report needs the whole table; leave --report or --stream out": (
            getattr(options, "report", None) is not None
        ),
        "--where needs the whole table; leave --where or --stream out": (
            options.where is not None
        ),
        "--fill-down needs the whole table; leave it or --stream out": (
            options.fill_down
        ),
    }
    obstacle = next((text for text, stands in obstacles.items() if stands), None)
    if obstacle and options.stream:
        raise InputError(f"--stream: {obstacle}.")
    n_rows = 0 if file is None else file.n_rows
    return not obstacle and (bool(options.stream) or n_rows > LARGE)


@dataclass
class Source:
    """The table of a command, read at once, or in batches with progress and notes."""

    invocation: Invocation
    table: LoadedTable | LargeTable
    name: str
    n_rows: int
    _coded: CodedTable | None = None
    _first_pass: bool = True

    @property
    def whole(self) -> LoadedTable | None:
        """The table if it was read at once, else None."""
        return self.table if isinstance(self.table, LoadedTable) else None

    def fit(self, estimator: Any, *tasks: str) -> Any:
        """Fit an estimator, and save it if --save-model was given.

        `tasks` name the passes over the batches, for the progress bar; the last name is
        also used for all later passes.
        """
        if self.whole is not None:
            self._coded = fit(self.invocation, estimator, self.whole)
            return estimator
        passes = chain(tasks, repeat(tasks[-1]))
        estimator.fit_batches(lambda: (b.frame for _, b in self.read(next(passes))))
        save_fitted(self.invocation, estimator, self.table.schema)
        return estimator

    def code(self, estimator: Any, batch: LoadedTable) -> Any:
        """Return rows as methods take them: a batch as a frame, a whole table coded."""
        if batch is not self.table:
            return batch.frame
        if self._coded is None:
            self._coded = code(estimator, batch)
        return self._coded

    def read(
        self, task: str, *, all_columns: bool = False
    ) -> Iterator[tuple[int, LoadedTable]]:
        """Read all rows once, as one table or in batches, after its first row's index.

        With `all_columns`, the `source` of a batch has all columns of the file, not
        only ids and compared columns. The `source` of a whole table always has all
        columns.
        """
        if isinstance(self.table, LoadedTable):
            with self.invocation.progress(task):
                yield 0, self.table
            return
        n_notes = n_empty = 0
        with self.invocation.progress(task, self.n_rows) as advance:
            for first, batch in self.table.read(all_columns=all_columns):
                last = first + len(batch.frame)
                n_empty += int(batch.frame.isna().all(axis=1).sum())
                for line in batch.assumptions[1:] if self._first_pass else ():
                    if name_options(line) in self.invocation.notes:
                        continue
                    n_notes += 1
                    if n_notes <= _MAX_NOTES:
                        self.invocation.note(f"rows {first + 1:,} to {last:,}: {line}")
                yield first, batch
                advance(len(batch.frame))
        if n_notes > _MAX_NOTES:
            self.invocation.note(f"and {n_notes - _MAX_NOTES:,} similar notes")
        if n_empty and self._first_pass:
            rows = counted(n_empty, "row has", "rows have")
            self.invocation.note(f"{rows} no observed cell")
        self._first_pass = False
