"""A large Parquet or Arrow file in, its rows out in batches.

These files store their rows in groups, so that the whole is never in memory. A batch is
an Arrow table with dictionaries for text, so that each distinct text is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._shared.extras import require
from .errors import InputError
from .parsed_file import ParsedFile
from .typed_file import convert_arrow, make_damage_error

BATCH_ROWS = 2**18
"""Rows of each batch but the last."""
_BUFFER = 2**20  # bytes of a column that are read at a time


@dataclass(frozen=True)
class LargeFile:
    """A file that is read in batches.

    Attributes
    ----------
    name : str
        Its path.
    type : {"parquet", "arrow"}
    n_rows : int
    columns : tuple of str
        Names as in the file.
    """

    name: str
    type: str
    n_rows: int
    columns: tuple[str, ...]

    def read(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Read the batches, from the start of the file.

        Parameters
        ----------
        columns : sequence of str, optional
            To read; all by default.

        Yields
        ------
        pyarrow.Table
            Of at most `BATCH_ROWS` rows.
        """
        arrow = require("pyarrow", extra="cli")
        read = _read_parquet if self.type == "parquet" else _read_ipc
        try:
            yield from _make_even(arrow, read(self.name, columns))
        except (arrow.ArrowException, OSError) as error:
            raise make_damage_error(self.name, self.type, error) from None

    def convert(self, batch: Any, start: int) -> ParsedFile:
        """Convert a batch whose first row is row `start` of the file."""
        name = self.name
        if batch.num_rows < self.n_rows:
            name += f", rows {start + 1:,} to {start + batch.num_rows:,}"
        return convert_arrow(name, self.type, batch)


def open_large_file(path: str, file_type: str) -> LargeFile:
    """Open a file, and count its rows.

    Parameters
    ----------
    path : str
    file_type : {"parquet", "arrow"}

    Returns
    -------
    LargeFile
    """
    arrow = require("pyarrow", extra="cli")
    try:
        if file_type == "parquet":
            file = _open_parquet(path)
            n_rows, names = file.metadata.num_rows, file.schema_arrow.names
        else:
            with _open_ipc(path) as file:
                names = file.schema.names
                groups = range(file.num_record_batches)
                n_rows = sum(file.get_batch(i).num_rows for i in groups)
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise make_damage_error(path, file_type, error) from None
    if not n_rows:
        raise InputError(f"{path}: the table has column names, but no rows.")
    return LargeFile(path, file_type, n_rows, tuple(names))


def _open_parquet(path: str, texts: Sequence[str] = ()) -> Any:
    parquet = require("pyarrow.parquet", extra="cli")
    # Columns are read in small parts: a group of rows may be as large as the file.
    return parquet.ParquetFile(
        path, read_dictionary=list(texts), pre_buffer=False, buffer_size=_BUFFER
    )


def _read_parquet(path: str, columns: Sequence[str] | None) -> Iterator[Any]:
    types = require("pyarrow", extra="cli").types
    with _open_parquet(path) as file:
        fields = list(file.schema_arrow)
    # Text as the file's own dictionaries: encoding it again takes half of the time.
    texts = [f.name for f in fields if types.is_string(f.type)]
    with _open_parquet(path, texts) as file:
        yield from file.iter_batches(batch_size=BATCH_ROWS, columns=columns)


def _open_ipc(path: str) -> Any:
    arrow = require("pyarrow", extra="cli")
    return require("pyarrow.ipc", extra="cli").open_file(arrow.memory_map(path))


def _read_ipc(path: str, columns: Sequence[str] | None) -> Iterator[Any]:
    with _open_ipc(path) as file:
        for i in range(file.num_record_batches):
            part = file.get_batch(i)
            yield part if columns is None else part.select(columns)


def _make_even(arrow: Any, parts: Iterable[Any]) -> Iterator[Any]:
    """Join and cut parts into tables of `BATCH_ROWS` rows."""
    waiting: list[Any] = []
    n_waiting = 0
    for part in parts:
        while n_waiting + part.num_rows >= BATCH_ROWS:
            cut = BATCH_ROWS - n_waiting
            yield _join(arrow, [*waiting, part.slice(0, cut)])
            waiting, n_waiting, part = [], 0, part.slice(cut)  # noqa: PLW2901
        if part.num_rows:
            waiting.append(part)
            n_waiting += part.num_rows
    if waiting:
        yield _join(arrow, waiting)


def _join(arrow: Any, parts: list[Any]) -> Any:
    """Join parts, with dictionaries for text."""
    table = arrow.Table.from_batches(parts)
    for j, field in enumerate(table.schema):
        if field.type in (arrow.string(), arrow.large_string()):
            table = table.set_column(j, field.name, table[j].dictionary_encode())
    return table.unify_dictionaries()
