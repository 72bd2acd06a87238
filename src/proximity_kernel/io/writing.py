"""Write results to files, in the format of their ending.

Files are written completely or not at all (`_whole`), except devices such as /dev/null.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .._shared.extras import require
from .._shared.whole_files import whole_file
from .errors import InputError

FORMAT_OF_ENDING = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
}
BATCHED_FORMATS = ("parquet", "arrow", "csv", "tsv", "jsonl")
"""Formats that can be written in batches."""
MAX_EXCEL_ROWS = 2**20 - 1
"""Rows of a sheet, below its header."""
_SEPARATORS = {"csv": ",", "tsv": "\t"}

Append = Callable[[Any, dict[str, Any]], None]


def is_device(path: Path) -> bool:
    """Whether a path is neither a file nor a folder nor free, such as /dev/null."""
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except OSError:  # an invalid name
        return False


@contextmanager
def open_output(path: str | None) -> Iterator[IO[bytes]]:
    """Open a file that appears at its path only when it is complete.

    Parameters
    ----------
    path : str or None
        None and ``"-"`` are standard output.

    Yields
    ------
    binary file
    """
    if path is None or path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    if is_device(target):
        with target.open("wb") as file:
            yield file
        return
    with whole_file(target) as part, part.open("wb") as file:
        yield file


# --------------------------------------------------------------------- whole tables


def write_frame(frame: Any, path: str | None, file_format: str) -> None:
    """Write a table of results.

    Parameters
    ----------
    frame : pandas.DataFrame
    path : str or None
        None is standard output.
    file_format : str
        A value of `FORMAT_OF_ENDING`.
    """
    if file_format == "xlsx" and len(frame) > MAX_EXCEL_ROWS:
        raise InputError(
            f"`output` {path}: an Excel sheet holds at most {MAX_EXCEL_ROWS:,} rows, "
            f"and there are {len(frame):,}; name the file .csv or .parquet."
        )
    try:
        with open_output(path) as file:
            _WRITERS[file_format](frame, file)
    except BrokenPipeError:
        raise
    except OSError as error:  # the system does not always name the file
        reason = error.strerror or str(error)
        raise OSError(error.errno, reason, path or "standard output") from None


def _write_csv(
    frame: Any, file: IO[bytes], separator: str = ",", *, header: bool = True
) -> None:
    frame.to_csv(
        file,
        sep=separator,
        header=header,
        index=False,
        encoding="utf-8",
        lineterminator="\n",
    )


def _write_tsv(frame: Any, file: IO[bytes]) -> None:
    _write_csv(frame, file, "\t")


def _write_parquet(frame: Any, file: IO[bytes]) -> None:
    arrow = require("pyarrow", extra="cli")
    table = arrow.Table.from_pandas(_unmix(frame), preserve_index=False)
    require("pyarrow.parquet", extra="cli").write_table(table, file)


def _write_arrow(frame: Any, file: IO[bytes]) -> None:
    arrow = require("pyarrow", extra="cli")
    table = arrow.Table.from_pandas(_unmix(frame), preserve_index=False)
    with require("pyarrow.ipc", extra="cli").new_file(file, table.schema) as writer:
        writer.write_table(table)


def _unmix(frame: Any) -> Any:
    """Convert columns with objects of several types to text."""
    pandas = require("pandas", extra="cli")
    mixed = [
        name
        for name in frame.columns
        if frame[name].dtype == object
        and pandas.api.types.infer_dtype(frame[name], skipna=True) != "string"
    ]
    return frame.assign(
        **{name: frame[name].map(str, na_action="ignore") for name in mixed}
    )


def _write_json(frame: Any, file: IO[bytes]) -> None:
    text = frame.to_json(orient="records", date_format="iso", force_ascii=False)
    rows = json.loads(text)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    file.write(f"[\n{lines}\n]\n".encode())


def _write_json_lines(frame: Any, file: IO[bytes]) -> None:
    text = frame.to_json(
        orient="records", date_format="iso", force_ascii=False, lines=True
    )
    file.write(text.encode())


def _write_excel(frame: Any, file: IO[bytes]) -> None:
    require("openpyxl", extra="cli")
    zoned = frame.select_dtypes("datetimetz")  # Excel has no time zones: UTC
    frame = frame.assign(
        **{
            name: zoned[name].dt.tz_convert("UTC").dt.tz_localize(None)
            for name in zoned
        }
    )
    frame.to_excel(file, index=False, engine="openpyxl")


_WRITERS: dict[str, Callable[[Any, IO[bytes]], None]] = {
    "csv": _write_csv,
    "tsv": _write_tsv,
    "parquet": _write_parquet,
    "arrow": _write_arrow,
    "json": _write_json,
    "jsonl": _write_json_lines,
    "xlsx": _write_excel,
}


# ------------------------------------------------------------------ tables in batches


@contextmanager
def open_batch_writer(
    path: str | None, file_format: str, incomplete: set[str]
) -> Iterator[Append]:
    """Open a file to which batches of rows are appended.

    Parameters
    ----------
    path : str or None
        None is standard output.
    file_format : str
        One of `BATCHED_FORMATS`.
    incomplete : set of str
        Id columns that have missing cells in some batch.

    Yields
    ------
    callable
        Takes a frame of ids or row numbers, and the other columns as arrays by name.
    """
    with open_output(path) as file:
        if file_format in _SEPARATORS or file_format == "jsonl":
            yield _make_text_appender(file, file_format)
            return
        writer = _ArrowWriter(file, file_format, incomplete)
        try:
            yield writer.append
        finally:
            writer.close()


def _make_text_appender(file: IO[bytes], file_format: str) -> Append:
    started = False

    def append(ids: Any, columns: dict[str, Any]) -> None:
        nonlocal started
        frame = require("pandas", extra="cli").DataFrame({**ids, **columns})
        if file_format == "jsonl":
            _write_json_lines(frame, file)
        else:
            _write_csv(frame, file, _SEPARATORS[file_format], header=not started)
        started = True

    return append


class _ArrowWriter:
    """Appends batches to a Parquet or Arrow file; the first one sets the schema."""

    def __init__(self, file: IO[bytes], file_format: str, incomplete: set[str]) -> None:
        self.file, self.format, self.incomplete = file, file_format, incomplete
        self.arrow = require("pyarrow", extra="cli")
        self.schema: Any = None
        self.writer: Any = None

    def append(self, ids: Any, columns: dict[str, Any]) -> None:
        """Append a batch."""
        arrays = self._make_arrays(_unmix(ids))
        arrays |= {name: self.arrow.array(v) for name, v in columns.items()}
        table = self.arrow.table(arrays)
        if self.writer is None:
            self.schema, self.writer = table.schema, self._open_writer(table.schema)
        if self.format == "parquet":
            self.writer.write_table(table, row_group_size=table.num_rows)
        else:
            self.writer.write_table(table)

    def close(self) -> None:
        """Write the end of the file."""
        if self.writer is not None:
            self.writer.close()

    def _open_writer(self, schema: Any) -> Any:
        if self.format == "parquet":
            parquet = require("pyarrow.parquet", extra="cli")
            return parquet.ParquetWriter(self.file, schema)
        return require("pyarrow.ipc", extra="cli").new_file(self.file, schema)

    def _make_arrays(self, ids: Any) -> dict[str, Any]:
        """Convert id columns to the same type in all batches."""
        types, arrays = self.arrow.types, {}
        for name in ids:
            known = None if self.schema is None else self.schema.field(name).type
            array = self.arrow.Array.from_pandas(ids[name], type=known)
            if known is None and types.is_null(array.type):
                array = array.cast(self.arrow.string())
            if (
                known is None
                and types.is_integer(array.type)
                and (name in self.incomplete)
            ):
                array = array.cast(self.arrow.float64())  # as pandas reads them
            arrays[name] = array
        return arrays
