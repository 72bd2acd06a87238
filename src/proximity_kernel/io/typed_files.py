"""Read the columns of Parquet and Arrow files.

Parquet and Arrow files store their rows in groups, so large ones are read in batches.
A batch is an Arrow table with dictionaries for text, so that each distinct text is
looked at once.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .._shared.extras import require
from .files import InputFile
from .schema import FileLayout, InputError, ParsedFile, ReadOptions
from .text import make_unique

BATCH_ROWS = 2**18
"""Rows of each batch but the last."""
_BUFFER = 2**20  # bytes of a column that are read at a time
_NESTED = (list, dict, set, bytes)


# ------------------------------------------------------------------ Parquet and Arrow


def parse_typed(file: InputFile, _: ReadOptions) -> ParsedFile:
    """Parse a Parquet or Arrow file."""
    data = io.BytesIO(file.data)
    with _naming_damage(file.name, file.type):
        if file.type == "parquet":
            table = require("pyarrow.parquet", extra="cli").read_table(data)
        else:
            ipc = require("pyarrow.ipc", extra="cli")
            opener = ipc.open_stream if file.type == "stream" else ipc.open_file
            table = opener(data).read_all()
        table.validate(full=True)  # reading does not look at every offset and index
        return _convert_arrow(file.name, file.type, table)


@contextmanager
def _naming_damage(name: str, file_type: str) -> Iterator[None]:
    """Raise the errors of pyarrow as errors that name the file."""
    arrow = require("pyarrow", extra="cli")
    try:
        yield
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"{name}: this {file_type} file is damaged ({reason}); create or download "
            "it again."
        ) from None


def _convert_arrow(name: str, file_type: str, table: Any) -> ParsedFile:
    arrow = require("pyarrow", extra="cli")
    table = _put_index_first(table)
    names, assumptions = make_unique(table.column_names)
    table = table.rename_columns(names)
    cells = map(pd.arrays.ArrowExtensionArray, table.columns)
    source = dict(zip(names, cells, strict=True))
    for j, field in enumerate(table.schema):
        if arrow.types.is_decimal(field.type) or arrow.types.is_float16(field.type):
            # pandas has no index of float16, and counts of values need one.
            numbers = table[j].cast(arrow.float64())
            table = table.set_column(j, field.name, numbers)
    # Integers with gaps stay integers: as floats, long ids would become equal.
    frame = table.to_pandas(date_as_object=False, types_mapper=_mask_integers)
    frame, layout = simplify_columns(frame), FileLayout(file_type)
    return ParsedFile(name, pd.DataFrame(source), frame, layout, tuple(assumptions))


def _put_index_first(table: Any) -> Any:
    """Move the columns that hold an index of pandas to the front, and name them."""
    index: Any = None
    with suppress(KeyError, TypeError, ValueError):  # no notes of pandas, or damaged
        index = table.schema.pandas_metadata["index_columns"]
    index = [name for name in table.column_names if name in (index or [])]
    if not index:
        return table.replace_schema_metadata(None)
    names = [name for name in table.column_names if name not in index]
    table = table.select([*index, *names]).replace_schema_metadata(None)
    one = len(index) == 1
    unnamed = re.compile(r"__index_level_(\d+)__")
    index = [unnamed.sub("index" if one else r"level_\1", name) for name in index]
    return table.rename_columns([*index, *names])


def _mask_integers(arrow_type: Any) -> Any:
    """Name the type of pandas for integers with gaps; None for other types."""
    is_integer = require("pyarrow", extra="cli").types.is_integer(arrow_type)
    name = str(arrow_type).replace("int", "Int").replace("uI", "UI")
    return pd.api.types.pandas_dtype(name) if is_integer else None


@dataclass(frozen=True)
class LargeFile:
    """A Parquet or Arrow file that is read in batches."""

    name: str
    type: str
    n_rows: int
    columns: tuple[str, ...]  # names as in the file

    def read(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Read Arrow tables of at most `BATCH_ROWS` rows, from the start of the file.

        `columns` are those to read; all by default.
        """
        read = _read_parquet if self.type == "parquet" else _read_ipc
        with _naming_damage(self.name, self.type):
            yield from _make_even(read(self.name, columns))

    def convert(self, batch: Any, start: int) -> ParsedFile:
        """Convert a batch whose first row is row `start` of the file."""
        name = self.name
        if batch.num_rows < self.n_rows:
            name += f", rows {start + 1:,} to {start + batch.num_rows:,}"
        return _convert_arrow(name, self.type, batch)


def open_large_file(path: str, file_type: str) -> LargeFile:
    """Open a Parquet or Arrow file, and count its rows."""
    with _naming_damage(path, file_type):
        if file_type == "parquet":
            file = _open_parquet(path)
            n_rows, names = file.metadata.num_rows, file.schema_arrow.names
        else:
            with _open_ipc(path) as file:
                names = file.schema.names
                groups = range(file.num_record_batches)
                n_rows = sum(file.get_batch(i).num_rows for i in groups)
    if not n_rows:
        raise InputError(f"{path}: the table has column names, but no rows.")
    return LargeFile(path, file_type, n_rows, tuple(names))


def _open_parquet(path: str, texts: Sequence[str] = ()) -> Any:
    # Columns are read in small parts: a group of rows may be as large as the file.
    return require("pyarrow.parquet", extra="cli").ParquetFile(
        path, read_dictionary=list(texts), pre_buffer=False, buffer_size=_BUFFER
    )


def _read_parquet(path: str, columns: Sequence[str] | None) -> Iterator[Any]:
    types = require("pyarrow", extra="cli").types
    schema = require("pyarrow.parquet", extra="cli").read_schema(path)
    # Text as the file's own dictionaries: encoding it again takes half of the time.
    texts = [field.name for field in schema if types.is_string(field.type)]
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


def _make_even(parts: Iterable[Any]) -> Iterator[Any]:
    """Join and cut parts into tables of `BATCH_ROWS` rows."""
    waiting: list[Any] = []
    n_waiting = 0
    for part in parts:
        part.validate(full=True)
        while n_waiting + part.num_rows >= BATCH_ROWS:
            cut = BATCH_ROWS - n_waiting
            yield _join([*waiting, part.slice(0, cut)])
            waiting, n_waiting, part = [], 0, part.slice(cut)  # noqa: PLW2901
        if part.num_rows:
            waiting.append(part)
            n_waiting += part.num_rows
    if waiting:
        yield _join(waiting)


def _join(parts: list[Any]) -> Any:
    """Join parts, with dictionaries for text."""
    arrow = require("pyarrow", extra="cli")
    table = arrow.Table.from_batches(parts)
    for j, field in enumerate(table.schema):
        if field.type in (arrow.string(), arrow.large_string()):
            table = table.set_column(j, field.name, table[j].dictionary_encode())
    return table.unify_dictionaries()


# -------------------------------------------------------------------------- few types


def simplify_columns(frame: Any) -> Any:
    """Convert text columns to categoricals, and columns of objects to typed ones."""
    return pd.DataFrame({name: _simplify(frame[name]) for name in frame.columns})


def _simplify(column: Any) -> Any:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        is_text = pd.api.types.infer_dtype(dtype.categories) == "string"
        simple = dtype.ordered or not len(dtype.categories) or is_text
        return column if simple else to_categories(column)
    if isinstance(dtype, pd.StringDtype):
        return column.astype("category")
    if dtype.kind != "O":
        return column
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return column.astype(float)
    if kind in ("datetime", "datetime64", "date"):
        return pd.to_datetime(column)
    if kind == "boolean":
        return column.astype("boolean")
    if any(isinstance(cell, _NESTED) or hasattr(cell, "__array__") for cell in column):
        return column  # left out
    return to_categories(column)


def decode(frame: Any) -> Any:
    """Convert columns with dictionaries, of pandas or Arrow, to plain ones."""
    plain: dict[str, Any] = dict.fromkeys(frame.select_dtypes("category"), object)
    for name, dtype in frame.dtypes.items():
        held: Any = getattr(dtype, "pyarrow_dtype", None)
        if hasattr(held, "index_type"):
            plain[name] = pd.ArrowDtype(held.value_type)
    return frame.astype(plain)


def to_categories(column: Any) -> Any:
    """Convert cells of any type to categories of text."""
    return column.astype(object).map(write_cell, na_action="ignore").astype("category")


def write_cell(cell: Any) -> str:
    """Write a cell as a label: a whole number without a point, a date in ISO format.

    >>> write_cell(3.0), write_cell(0.5), write_cell("x")
    ('3', '0.5', 'x')
    """
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if hasattr(cell, "isoformat"):
        return str(cell.isoformat())
    return str(cell)
