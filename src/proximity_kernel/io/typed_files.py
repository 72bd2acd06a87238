"""Read the columns of Parquet and Arrow files, at once or in batches.

A batch is an Arrow table with dictionary-encoded strings, so that each distinct string
is parsed once.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._shared.extras import require
from .cells import simplify_columns
from .files import InputFile, check_size
from .header import make_unique
from .schema import FileLayout, InputError, ParsedFile, ReadOptions

BATCH_ROWS = 2**18
"""Number of rows of each batch but the last."""
_BUFFER = 2**20  # bytes of a column that are read at a time
_DAMAGE = (EOFError, IndexError, OSError, OverflowError, ValueError, struct.error)
pa: Any = require("pyarrow", extra="cli")
compute: Any = require("pyarrow.compute", extra="cli")
# Views of strings -> the plain type they are converted to.
_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


# ------------------------------------------------------------------ Parquet and Arrow


def parse_typed(file: InputFile, _: ReadOptions) -> ParsedFile:
    """Parse a Parquet or Arrow file into columns; raise InputError if too large."""
    name, size = file.name, len(file.data)
    with _convert_errors(name, file.type):
        if file.type == "parquet":
            table = _read_whole_parquet(file)
        else:
            decoded = sum(map(_count_message_bytes, _list_messages(file.data)))
            check_size(name, decoded, size)
            opener = pa.ipc.open_stream if file.type == "stream" else pa.ipc.open_file
            table = opener(file.data).read_all()
        table.validate(full=True)  # reading does not look at every offset and index
        check_size(name, 8 * table.num_rows * table.num_columns, size)
        return _convert_arrow(name, file.type, _clean_dictionaries(table))


def _read_whole_parquet(file: InputFile) -> Any:
    """Read a Parquet file as one Arrow table.

    A small file may store a long string once and repeat it in millions of rows. So
    strings are read dictionary-encoded, and their size is checked before decoding.
    """
    batches, decoded, size = [], 0, len(file.data)
    with _open_parquet(io.BytesIO(file.data)) as parquet:
        schema = parquet.schema_arrow
        check_size(file.name, parquet.metadata.num_rows * len(schema), size)
        n_rows = max(_BUFFER // max(len(schema), 1), 1)
        for batch in parquet.iter_batches(batch_size=n_rows):
            batch.validate(full=True)
            decoded += batch.nbytes + sum(map(_count_decoded_bytes, batch.columns))
            check_size(file.name, decoded, size)
            batches.append(batch)
    plain = require("pyarrow.parquet", extra="cli").read_schema(io.BytesIO(file.data))
    for j, field in enumerate(plain):
        plain = plain.set(j, field.with_type(_VIEWS.get(field.type, field.type)))
    return pa.Table.from_batches(batches, schema).cast(plain)


def _count_decoded_bytes(column: Any) -> int:
    """Count the bytes of a dictionary- or run-end-encoded column once it is decoded.

    Strings inside lists and structs count too; a column that is not encoded counts 0.
    """
    if isinstance(column, pa.ChunkedArray):
        return sum(map(_count_decoded_bytes, column.chunks))
    if pa.types.is_struct(column.type):
        return sum(map(_count_decoded_bytes, column.flatten()))
    if hasattr(column, "values") and hasattr(column, "offsets"):  # of lists
        return _count_decoded_bytes(column.values)
    if pa.types.is_run_end_encoded(column.type):
        n_times = np.diff(column.run_ends.to_numpy(), prepend=0)
        return int(n_times @ _measure_strings(column.values))
    if not pa.types.is_dictionary(column.type):
        return 0
    lengths = _measure_strings(column.dictionary)
    codes = column.indices.drop_null().to_numpy()
    return int(np.bincount(codes, minlength=len(lengths)) @ lengths)


def _measure_strings(texts: Any) -> Any:
    """Count the bytes of each string or list of an Arrow array; 8 for other values."""
    if pa.types.is_nested(texts.type):
        return np.array([texts.slice(i, 1).nbytes for i in range(len(texts))], int)
    try:
        return compute.binary_length(texts).fill_null(0).to_numpy()
    except pa.ArrowNotImplementedError:  # not strings
        return np.full(len(texts), 8)


def _list_messages(data: Any) -> Iterator[Any]:
    """Iterate over the messages of an Arrow file or stream: batches and dictionaries.

    A file's footer has their offsets: in its fields 2, dictionaries, and 3, batches.
    """
    data = pa.py_buffer(data)
    if data.slice(0, 6).to_pybytes() != b"ARROW1":
        yield from pa.ipc.MessageReader.open_stream(data)
        return
    end = data.size - 10
    length = struct.unpack_from("<i", data, end)[0]
    meta = data.slice(max(end - length, 0), length).to_pybytes()
    for number in (2, 3):
        if not (field := _find_field(meta, _follow_offset(meta, 0), number)):
            continue
        blocks = _follow_offset(meta, field)
        for i in range(struct.unpack_from("<I", meta, blocks)[0]):
            start = struct.unpack_from("<q", meta, blocks + 4 + 24 * i)[0]
            yield pa.ipc.read_message(data.slice(start))


def _count_message_bytes(message: Any) -> int:
    """Count the decompressed bytes of the buffers of an Arrow message.

    Its metadata is a flatbuffer: Message.header -> RecordBatch.buffers, .compression. A
    compressed buffer begins with its decompressed size.
    """
    meta, body = message.metadata.to_pybytes(), message.body
    batch = _follow_offset(meta, _find_field(meta, _follow_offset(meta, 0), 2))
    if message.type == "dictionary":
        batch = _follow_offset(meta, _find_field(meta, batch, 1))
    if message.type == "schema" or not _find_field(meta, batch, 3):
        return 0 if body is None else int(body.size)  # not compressed
    buffers, total = _follow_offset(meta, _find_field(meta, batch, 2)), 0
    for i in range(struct.unpack_from("<I", meta, buffers)[0]):
        start, length = struct.unpack_from("<qq", meta, buffers + 4 + 16 * i)
        size = struct.unpack_from("<q", body, start)[0] if length >= 8 else 0
        total += max(size, length)
    return total


def _find_field(meta: bytes, table: int, number: int) -> int:
    """Return the offset of a field in a flatbuffer's table; 0 if it is absent."""
    fields = table - struct.unpack_from("<i", meta, table)[0]
    if 6 + 2 * number > struct.unpack_from("<H", meta, fields)[0]:
        return 0
    offset = struct.unpack_from("<H", meta, fields + 4 + 2 * number)[0]
    return int(table + offset) if offset else 0


def _follow_offset(meta: bytes, at: int) -> int:
    """Return the position that the flatbuffer offset stored at `at` points to."""
    return int(at + struct.unpack_from("<I", meta, at)[0])


@contextmanager
def _convert_errors(name: str, file_type: str) -> Iterator[None]:
    """Convert errors of pyarrow to an InputError that names the damaged file."""
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, *_DAMAGE) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"{name}: this {file_type} file is damaged ({reason}); create or download "
            "it again."
        ) from None


def _convert_arrow(name: str, file_type: str, table: Any) -> ParsedFile:
    """Convert an Arrow table to a parsed file of pandas columns."""
    table = _put_index_first(table)
    names, assumptions = make_unique(table.column_names)
    table = _decode_runs_and_views(name, table.rename_columns(names))
    table, said = _replace_unknown_zones(table)
    assumptions += said
    cells = map(pd.arrays.ArrowExtensionArray, table.columns)
    source = dict(zip(names, cells, strict=True))
    for j, field in enumerate(table.schema):
        if (wanted := _find_simple_type(field.type)) is not None:
            table = table.set_column(j, field.name, table[j].cast(wanted))
    # Integers with missing cells stay integers: as floats, long ids would become equal.
    frame = table.to_pandas(date_as_object=False, types_mapper=_choose_integer_dtype)
    frame, layout = simplify_columns(frame), FileLayout(file_type)
    return ParsedFile(name, pd.DataFrame(source), frame, layout, tuple(assumptions))


def _find_simple_type(kind: Any) -> Any:
    """Find the type to which cells are cast because pandas lacks theirs, or None."""
    if pa.types.is_dictionary(kind):
        wanted = _find_simple_type(kind.value_type)
        return wanted and pa.dictionary(kind.index_type, wanted, kind.ordered)
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return pa.float64()  # pandas has no index of float16
    # Python's times have no nanoseconds.
    return pa.string() if kind == pa.time64("ns") else None


def _decode_runs_and_views(name: str, table: Any) -> Any:
    """Decode run-end-encoded columns and string views, if they are not too large."""
    for j, field in enumerate(table.schema):
        column = table[j]
        if pa.types.is_run_end_encoded(field.type):
            check_size(name, _count_decoded_bytes(column))
            parts = [compute.run_end_decode(chunk) for chunk in column.chunks]
            column = pa.chunked_array(parts, field.type.value_type)
        elif field.type in _VIEWS:
            parts = [
                _convert_dictionary(chunk.dictionary_encode(), _VIEWS[field.type])
                for chunk in column.chunks
            ]
            check_size(name, sum(map(_count_decoded_bytes, parts)))
            parts = [part.cast(_VIEWS[field.type]) for part in parts]
            column = pa.chunked_array(parts, _VIEWS[field.type])
        elif pa.types.is_dictionary(field.type) and pa.types.is_nested(
            field.type.value_type  # pandas has no such labels
        ):
            check_size(name, _count_decoded_bytes(column))
            parts = [chunk.dictionary_decode() for chunk in column.chunks]
            column = pa.chunked_array(parts, field.type.value_type)
        else:
            continue
        table = table.set_column(j, field.name, column)
    return table


def _convert_dictionary(encoded: Any, value_type: Any) -> Any:
    """Cast the distinct values of a dictionary-encoded array to the given type."""
    values = encoded.dictionary.cast(value_type)
    return type(encoded).from_arrays(encoded.indices, values)


def _clean_dictionaries(table: Any) -> Any:
    """Remove null, NaN and repeated values from dictionaries, as pandas requires."""
    for j, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and table.num_rows:
            chunks = [_clean_dictionary(chunk) for chunk in table[j].chunks]
            table = table.set_column(j, field.name, pa.chunked_array(chunks))
    return table


def _clean_dictionary(encoded: Any) -> Any:
    """Remove null, NaN and repeated values from the dictionary of an array."""
    values, kind = encoded.dictionary, encoded.type
    values = values.cast(_VIEWS.get(values.type, values.type))
    if pa.types.is_float16(values.type):  # arrow cannot search it
        values = values.cast(pa.float32())
    try:
        valid = values.unique()
        valid = valid.filter(compute.invert(compute.is_null(valid, nan_is_null=True)))
        places = compute.index_in(values, valid).cast(kind.index_type)
    except pa.ArrowNotImplementedError:  # lists, which are decoded later
        return encoded
    indices = places.take(encoded.indices)
    return type(encoded).from_arrays(indices, valid, ordered=kind.ordered)


def _replace_unknown_zones(table: Any) -> tuple[Any, list[str]]:
    """Convert times in a zone that is not in the tz database to UTC, and report it."""
    said = []
    for j, field in enumerate(table.schema):
        held = getattr(field.type, "value_type", field.type)
        zone = getattr(held, "tz", None)
        if zone is not None and not _is_zone(zone):
            times = table[j].cast(held).cast(pa.timestamp(held.unit, "UTC"))
            table = table.set_column(j, field.name, times)
            said.append(f"{field.name!r} has an unknown time zone, {zone!r}: in UTC")
    return table, said


def _is_zone(name: str) -> bool:
    """Whether a time zone is in the tz database, or an offset from UTC."""
    try:
        return pa.lib.string_to_tzinfo(name) is not None
    except (pa.ArrowException, ValueError, OSError):
        return False


def _put_index_first(table: Any) -> Any:
    """Move the columns that pandas stored as an index to the front, and rename them."""
    index: Any = None
    with suppress(KeyError, TypeError, ValueError):  # no metadata of pandas, or damaged
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


def _choose_integer_dtype(arrow_type: Any) -> Any:
    """Return the nullable integer dtype for an Arrow integer; None for other types."""
    is_integer = pa.types.is_integer(arrow_type)
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
        """Iterate over Arrow tables of at most `BATCH_ROWS` rows of the file."""
        read = _read_parquet if self.type == "parquet" else _read_ipc
        with _convert_errors(self.name, self.type):
            yield from _rebatch(read(self.name, columns))

    def convert(self, batch: Any, start: int) -> ParsedFile:
        """Convert an Arrow table whose first row has index `start` in the file."""
        name = self.name
        if batch.num_rows < self.n_rows:
            name += f", rows {start + 1:,} to {start + batch.num_rows:,}"
        with _convert_errors(self.name, self.type):
            return _convert_arrow(name, self.type, batch)


def open_large_file(path: str, file_type: str) -> LargeFile:
    """Open a Parquet or Arrow file, check its size, and count its rows."""
    with _convert_errors(path, file_type):
        if file_type == "parquet":
            file = _open_parquet(path)
            n_rows, names = file.metadata.num_rows, file.schema_arrow.names
        else:
            for message in _list_messages(pa.memory_map(path).read_buffer()):
                check_size(path, _count_message_bytes(message))
            with pa.ipc.open_file(pa.memory_map(path)) as file:
                names = file.schema.names
                groups = range(file.num_record_batches)
                n_rows = sum(file.get_batch(i).num_rows for i in groups)
    if not n_rows:
        raise InputError(f"{path}: the table has column names, but no rows.")
    return LargeFile(path, file_type, n_rows, tuple(names))


def _open_parquet(source: Any) -> Any:
    """Open a Parquet file so that strings are read dictionary-encoded, as stored.

    Decoding and encoding them again would take half of the read time, and much memory.
    """
    parquet = require("pyarrow.parquet", extra="cli")
    leaves = parquet.ParquetFile(source).schema
    texts = [one.path for one in leaves if one.physical_type == "BYTE_ARRAY"]
    # Columns are read in small parts: a row group may be as large as the file.
    return parquet.ParquetFile(
        source, read_dictionary=texts, pre_buffer=False, buffer_size=_BUFFER
    )


def _read_parquet(path: str, columns: Sequence[str] | None) -> Iterator[Any]:
    """Iterate over the record batches of a Parquet file, with encoded strings."""
    plain = require("pyarrow.parquet", extra="cli").read_schema(path)
    texts = (pa.string(), pa.large_string())
    with _open_parquet(path) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=columns):
            arrays = batch.columns
            for j, name in enumerate(batch.schema.names):
                wanted = plain.field(j if columns is None else name).type
                wanted = _VIEWS.get(wanted, wanted)
                if wanted in texts:
                    arrays[j] = _convert_dictionary(arrays[j], wanted)
                elif wanted != arrays[j].type:  # lists, or bytes
                    check_size(path, _count_decoded_bytes(arrays[j]))
                    arrays[j] = arrays[j].cast(wanted)
            table = pa.record_batch(arrays, names=batch.schema.names)
            yield table.replace_schema_metadata(batch.schema.metadata)


def _read_ipc(path: str, columns: Sequence[str] | None) -> Iterator[Any]:
    """Iterate over the record batches of an Arrow file."""
    with pa.ipc.open_file(pa.memory_map(path)) as file:
        for i in range(file.num_record_batches):
            part = file.get_batch(i)
            yield part if columns is None else part.select(columns)


def _rebatch(parts: Iterable[Any]) -> Iterator[Any]:
    """Split and join record batches into tables of `BATCH_ROWS` rows, but the last."""
    waiting: list[Any] = []
    n_waiting = 0
    for part in parts:
        part.validate(full=True)
        while n_waiting + part.num_rows >= BATCH_ROWS:
            cut = BATCH_ROWS - n_waiting
            yield _join_batches([*waiting, part.slice(0, cut)])
            waiting, n_waiting, part = [], 0, part.slice(cut)  # noqa: PLW2901
        if part.num_rows:
            waiting.append(part)
            n_waiting += part.num_rows
    if waiting:
        yield _join_batches(waiting)


def _join_batches(parts: list[Any]) -> Any:
    """Join record batches into a table with dictionary-encoded strings."""
    table = pa.Table.from_batches(parts)
    for j, field in enumerate(table.schema):
        if field.type in (pa.string(), pa.large_string()):
            table = table.set_column(j, field.name, table[j].dictionary_encode())
    return _clean_dictionaries(table).unify_dictionaries()
