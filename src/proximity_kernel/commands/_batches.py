"""A large file of typed columns in, its rows out in batches: it is never held whole.

Parquet files and Arrow files are read, as they hold their rows in groups. A batch is an
Arrow table in which texts are dictionaries, so that each is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._extras import require
from ._call import InputError
from ._raw import Raw, damaged, frame_of

BATCH = 2**18
"""Rows of a batch, but for the last."""
SAMPLE = 2**17
"""Rows, the first of the file, that it is guessed from how columns are read."""
_BUFFER = 2**20  # bytes of a column that are read at a time


@dataclass(frozen=True)
class BatchedFile:
    """A file that is read in batches.

    Attributes
    ----------
    name : str
        As messages call it.
    kind : {"parquet", "arrow"}
    n_rows : int
    columns : tuple of str
        Names as the file has them.
    """

    name: str
    kind: str
    n_rows: int
    columns: tuple[str, ...]

    def read(
        self, columns: Sequence[str] | None = None, holding: Sequence[str] = ()
    ) -> Iterator[Any]:
        """Read it, from the start.

        Parameters
        ----------
        columns : sequence of str, optional
            To read; None is all.
        holding : sequence of str
            Leave groups of rows out in which all of these are known to be missing.

        Yields
        ------
        pyarrow.Table
            Of at most `BATCH` rows.
        """
        arrow = require("pyarrow", extra="cli")
        parts = (
            _read_parquet(self.name, columns, holding)
            if self.kind == "parquet"
            else _read_ipc(self.name, columns)
        )
        try:
            yield from _even_out(arrow, parts)
        except (arrow.ArrowException, OSError) as error:
            raise damaged(self.name, self.kind, error) from None

    def has_gaps(self, column: str) -> bool:
        """Whether a column has missing cells, as far as that is easily known."""
        if self.kind == "parquet":
            found = _open_parquet(self.name).metadata
            gaps = [_count_gaps(found.row_group(g), column) for g in _groups(found)]
            return any(gap is None or gap > 0 for gap in gaps)
        return any(part[column].null_count for part in _read_ipc(self.name, [column]))

    def to_raw(self, table: Any, first: int) -> Raw:
        """Hold a batch, of which the first row has a number, as `read_raw` does."""
        last = first + table.num_rows
        rows = (
            f", rows {first + 1:,} to {last:,}" if table.num_rows < self.n_rows else ""
        )
        frame, said = frame_of(table)
        return Raw(f"{self.name}{rows}", frame, "", tuple(said))


def open_batches(path: str, kind: str) -> BatchedFile:
    """Look at the end of a file, where its rows are counted.

    Parameters
    ----------
    path : str
    kind : {"parquet", "arrow"}

    Returns
    -------
    BatchedFile
    """
    arrow = require("pyarrow", extra="cli")
    try:
        if kind == "parquet":
            found = _open_parquet(path)
            n_rows, names = found.metadata.num_rows, found.schema_arrow.names
        else:
            with _open_ipc(path) as found:
                names = found.schema.names
                numbers = range(found.num_record_batches)
                n_rows = sum(found.get_batch(i).num_rows for i in numbers)
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise damaged(path, kind, error) from None
    if not n_rows:
        raise InputError(f"{path}: there are no rows in it, only names.")
    return BatchedFile(path, kind, n_rows, tuple(names))


def _open_parquet(path: str, texts: Sequence[str] = ()) -> Any:
    parquet = require("pyarrow.parquet", extra="cli")
    # Columns are read bit by bit: a group of rows may be as large as the file.
    return parquet.ParquetFile(
        path, read_dictionary=list(texts), pre_buffer=False, buffer_size=_BUFFER
    )


def _read_parquet(
    path: str, columns: Sequence[str] | None, holding: Sequence[str]
) -> Iterator[Any]:
    is_text = _find_texts(_open_parquet(path).schema_arrow)
    with _open_parquet(path, is_text) as file:
        found = file.metadata
        groups = [
            g
            for g in _groups(found)
            if found.row_group(g).num_rows
            and (not holding or _may_hold(found.row_group(g), holding))
        ]
        if groups:
            yield from file.iter_batches(
                batch_size=BATCH, row_groups=groups, columns=columns
            )


def _groups(found: Any) -> range:
    return range(found.num_row_groups)


def _may_hold(group: Any, columns: Sequence[str]) -> bool:
    gaps = (_count_gaps(group, name) for name in columns)
    return any(gap is None or gap < group.num_rows for gap in gaps)


def _count_gaps(group: Any, column: str) -> int | None:
    """Count the missing cells of a column in a group of rows; None if nobody knows."""
    for j in range(group.num_columns):
        chunk = group.column(j)
        if chunk.path_in_schema == column:
            known = chunk.is_stats_set and chunk.statistics.has_null_count
            return int(chunk.statistics.null_count) if known else None
    return None


def _open_ipc(path: str) -> Any:
    arrow = require("pyarrow", extra="cli")
    return require("pyarrow.ipc", extra="cli").open_file(arrow.memory_map(path))


def _read_ipc(path: str, columns: Sequence[str] | None) -> Iterator[Any]:
    with _open_ipc(path) as file:
        texts = _find_texts(file.schema)
        for i in range(file.num_record_batches):
            part = file.get_batch(i)
            part = part if columns is None else part.select(columns)
            for start in range(0, part.num_rows, BATCH):
                piece = part.slice(start, BATCH)
                for name in texts:
                    if name in piece.schema.names:
                        at = piece.schema.names.index(name)
                        coded = piece.column(at).dictionary_encode()
                        piece = piece.set_column(at, name, coded)
                yield piece


def _find_texts(schema: Any) -> list[str]:
    types = require("pyarrow", extra="cli").types
    kinds = (types.is_string, types.is_large_string)
    return [
        field.name for field in schema if any(is_one(field.type) for is_one in kinds)
    ]


def _even_out(arrow: Any, parts: Iterable[Any]) -> Iterator[Any]:
    """Make tables of `BATCH` rows of parts that have at most so many."""
    held: list[Any] = []
    n_held = 0
    for part in parts:
        while n_held + part.num_rows >= BATCH:
            cut = BATCH - n_held
            yield _join(arrow, [*held, part.slice(0, cut)])
            held, n_held, part = [], 0, part.slice(cut)  # noqa: PLW2901
        if part.num_rows:
            held.append(part)
            n_held += part.num_rows
    if held:
        yield _join(arrow, held)


def _join(arrow: Any, parts: list[Any]) -> Any:
    return arrow.Table.from_batches(parts).unify_dictionaries()
