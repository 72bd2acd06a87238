"""Results in batches in, one file out: whole, or not there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from .._extras import require
from ._source import STANDARD_INPUT
from ._writing import plain, whole_file, write_csv, write_json_lines

_TEXT = {"csv": ",", "tsv": "\t"}
FORMS = ("parquet", "arrow", *_TEXT, "jsonl")
"""What can be written in batches."""

Append = Callable[[Any, dict[str, Any]], None]


@contextmanager
def appending(path: str | None, form: str, nullable: set[str]) -> Iterator[Append]:
    """Give a function that writes batches of rows, one after the other.

    Parameters
    ----------
    path : str or None
        None is standard output.
    form : str
        One of `FORMS`.
    nullable : set of str
        Columns of names that may have missing cells in some batch.

    Yields
    ------
    callable
        Takes a frame of the rows' names, and the other columns as arrays by name.
    """
    if path is None or path == STANDARD_INPUT:
        with _writer(sys.stdout.buffer, form, nullable) as append:
            yield append
        sys.stdout.buffer.flush()
        return
    with (
        whole_file(path) as part,
        part.open("wb") as file,
        _writer(file, form, nullable) as append,
    ):
        yield append


def _writer(file: IO[bytes], form: str, nullable: set[str]) -> Any:
    if form in ("parquet", "arrow"):
        return _write_arrow(file, form, nullable)
    return _write_text(file, form)


@contextmanager
def _write_text(file: IO[bytes], form: str) -> Iterator[Append]:
    started = False

    def append(names: Any, columns: dict[str, Any]) -> None:
        nonlocal started
        frame = require("pandas", extra="cli").DataFrame({**names, **columns})
        if form == "jsonl":
            write_json_lines(frame, file)
        else:
            write_csv(frame, file, _TEXT[form], header=not started)
        started = True

    yield append


@contextmanager
def _write_arrow(file: IO[bytes], form: str, nullable: set[str]) -> Iterator[Append]:
    arrow = require("pyarrow", extra="cli")
    writer: Any = None

    def append(names: Any, columns: dict[str, Any]) -> None:
        nonlocal writer
        schema = None if writer is None else writer.schema
        made = _make_arrays(arrow, plain(names), schema, nullable)
        table = arrow.table(
            made | {name: arrow.array(v) for name, v in columns.items()}
        )
        if writer is None:
            writer = _open_writer(file, form, table.schema)
        writer.write_table(table, row_group_size=table.num_rows) if (
            form == "parquet"
        ) else writer.write_table(table)

    try:
        yield append
    finally:
        if writer is not None:
            writer.close()


def _make_arrays(
    arrow: Any, names: Any, schema: Any, nullable: set[str]
) -> dict[str, Any]:
    """Make columns of one type in all batches, whatever cells this one has."""
    made = {}
    for name in names:
        wanted = None if schema is None else schema.field(name).type
        made[name] = arrow.Array.from_pandas(names[name], type=wanted)
        if schema is not None:
            continue
        if arrow.types.is_null(made[name].type):
            made[name] = made[name].cast(arrow.string())
        if arrow.types.is_integer(made[name].type) and name in nullable:
            made[name] = made[name].cast(arrow.float64())  # as pandas holds them
    return made


def _open_writer(file: IO[bytes], form: str, schema: Any) -> Any:
    if form == "parquet":
        return require("pyarrow.parquet", extra="cli").ParquetWriter(file, schema)
    writer = require("pyarrow.ipc", extra="cli").new_file(file, schema)
    return _Named(writer, schema)


class _Named:
    """A writer of Arrow files that tells its schema, as that of Parquet does."""

    def __init__(self, writer: Any, schema: Any) -> None:
        self.schema = schema
        self.write_table, self.close = writer.write_table, writer.close
