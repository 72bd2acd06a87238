"""Write results to files, in the format of the file extension.

Nothing is lost: numbers are written with all digits, dates in ISO format, nested cells
as JSON. Files are written completely or not at all; devices are written to directly.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from itertools import islice
from math import isfinite, isinf
from pathlib import Path
from typing import IO, Any

from .._shared.extras import require
from .._shared.whole_files import whole_file
from .._shared.wording import show_controls
from .schema import InputError

FORMAT_OF_ENDING = {
    **{f".{name}": name for name in ("csv", "tsv", "parquet", "arrow", "json")},
    ".txt": "csv",
    ".pq": "parquet",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
}
TEXT_FORMATS = ("csv", "tsv")
"""Formats in which every cell is text."""
BATCHED_FORMATS = ("parquet", "arrow", "csv", "tsv", "jsonl")
"""Formats that can be written in batches."""
MAX_EXCEL_ROWS = 2**20 - 1
"""Maximum number of rows of a sheet below its header."""
_MAX_EXCEL_TEXT = 32_767  # characters of a cell
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPED = re.compile(r"_x[0-9A-Fa-f]{4}_")
_FIRST_EXCEL_YEAR = 1901  # earlier dates are wrong: Excel has a 29 February 1900
_QUOTE = '"'
_ROWS = 1 << 14  # rows that become one text at a time, to save memory
_JSON_ROWS = ",\n"

Append = Callable[[Any], None]


@contextmanager
def open_output(path: str | None) -> Iterator[IO[bytes]]:
    """Open a file that appears when complete; None and "-" are standard output."""
    try:
        if path not in (None, "-"):
            with whole_file(Path(path)) as file:
                yield file
        elif isinstance(stream := sys.stdout.buffer, io.RawIOBase):
            # It is unbuffered: it may write a part only.
            with os.fdopen(os.dup(stream.fileno()), "wb") as file:
                yield file
        else:
            yield _VisibleStream(stream) if sys.stdout.isatty() else stream
            stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:  # it does not always name the file
        reason = error.strerror or str(error)
        raise OSError(error.errno, reason, path or "standard output") from None


class _VisibleStream(io.BytesIO):
    """A binary stream to a terminal that writes control characters as escapes."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    def write(self, data: Any) -> int:
        """Write UTF-8 text, with control characters escaped."""
        text = show_controls(bytes(data).decode(errors="backslashreplace"))
        self._stream.write(text.encode())
        return len(data)


def write_frame(frame: Any, path: str | None, file_format: str) -> None:
    """Write a data frame in a format of `FORMAT_OF_ENDING`; None is standard output."""
    with open_writer(path, file_format) as append:
        append(frame)


@contextmanager
def open_writer(path: str | None, file_format: str) -> Iterator[Append]:
    """Open a file of results, and yield a function that appends data frames.

    `file_format` is a value of `FORMAT_OF_ENDING`; formats that are not in
    `BATCHED_FORMATS` take a single frame. The path None is standard output.
    """
    binary = file_format in ("parquet", "arrow")
    if binary and path in (None, "-") and sys.stdout.isatty():
        raise InputError(f"`output`: {file_format} is not for a terminal; name a file.")
    with open_output(path) as file, _WRITERS[file_format](file) as append:
        yield append


# ------------------------------------------------------------------------------ cells


def list_cells(column: Any) -> list[Any]:
    """List the cells of a pandas column as Python objects; None if missing."""
    pandas = require("pandas", extra="cli")
    if isinstance(column.dtype, pandas.ArrowDtype):
        arrow = require("pyarrow", extra="cli")
        cells = arrow.array(column)
        try:
            cells = cells.to_pylist()
        except OverflowError:  # dates out of Python's range
            cells = cells.cast(arrow.string()).to_pylist()
    elif column.dtype == "float32":  # with its digits, not those of float64
        cells = column.astype(str).astype(float).tolist()
    else:
        cells = column.astype(object).tolist()
    return [None if cell is pandas.NA or cell != cell else cell for cell in cells]


def write_text(cell: Any) -> str:
    """Format a cell as a string for a text file; None as an empty string.

    >>> write_text(0.1), write_text(True), write_text(Decimal("1.50")), write_text([1])
    ('0.1', 'True', '1.50', '[1]')
    """
    if cell is None or isinstance(cell, str):
        return cell or ""
    if isinstance(cell, list | tuple | dict):
        return _write_json(cell)
    if isinstance(cell, bytes):
        raise InputError("holds binary data; name the file .parquet or .arrow")
    if isinstance(cell, Decimal):
        return format(cell, "f")
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    return str(cell.isoformat() if hasattr(cell, "isoformat") else cell)


def _write_json(cell: Any) -> str:
    """Format a cell as JSON; numbers keep all digits.

    >>> _write_json([None, 2**60 + 1, Decimal("1.50"), {"a": "b"}])
    '[null, 1152921504606846977, 1.50, {"a": "b"}]'
    """
    if isinstance(cell, list | tuple):
        return f"[{', '.join(map(_write_json, cell))}]"
    if isinstance(cell, dict):
        pairs = (f"{_write_json(str(k))}: {_write_json(v)}" for k, v in cell.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(cell, float) and not isfinite(cell):
        if isinf(cell):
            raise InputError("holds infinity, unknown to JSON; name the file .parquet")
        cell = None
    if cell is None or isinstance(cell, bool | int | float):
        return json.dumps(cell)
    if isinstance(cell, Decimal):
        return write_text(cell)
    text = cell.isoformat() if isinstance(cell, datetime) else write_text(cell)
    return json.dumps(text, ensure_ascii=False)


def _convert_for_excel(cell: Any) -> Any:
    """Convert a cell to a type that Excel stores without loss, else to str."""
    if isinstance(cell, datetime):
        below_ms = cell.microsecond % 1000 or getattr(cell, "nanosecond", 0)
        if not (cell.tzinfo or below_ms or cell.year < _FIRST_EXCEL_YEAR):
            return cell
    elif isinstance(cell, date):
        if cell.year >= _FIRST_EXCEL_YEAR:
            return cell
    elif isinstance(cell, float):
        if isfinite(cell):
            return cell
    elif cell is None or isinstance(cell, bool | int | Decimal | time | timedelta):
        return cell
    text = write_text(cell)
    if len(text) > _MAX_EXCEL_TEXT:
        raise InputError(
            f"has a text of {len(text):,} characters; Excel's limit is "
            f"{_MAX_EXCEL_TEXT:,}; name the file .csv or .parquet"
        )
    if found := _CONTROL.search(text):
        raise InputError(
            f"holds the control character {found[0]!r}, which Excel cannot hold; name "
            "the file .csv or .parquet"
        )
    return text


def _cut_times(cells: list[Any]) -> list[Any]:
    """Convert the datetimes of a column to dates, if none has a time of day or zone."""
    times = [cell for cell in cells if isinstance(cell, datetime)]
    if not times or any(one.tzinfo or one.time() != time() for one in times):
        return cells
    return [one.date() if isinstance(one, datetime) else one for one in cells]


def _write_columns(frame: Any, write: Callable[[Any], Any]) -> list[list[Any]]:
    """Convert the cells of each column by `write`; an error names the column."""
    columns = []
    for name in frame.columns:
        cells = _cut_times(list_cells(frame[name]))
        try:
            columns.append([write(cell) for cell in cells])
        except InputError as error:
            raise InputError(f"`output`: the column {name!r} {error}.") from None
    return columns


# ---------------------------------------------------------------------------- formats


@contextmanager
def _open_csv(file: IO[bytes], separator: str) -> Iterator[Append]:
    """Yield a function that appends frames to a text file with a header line."""
    special = re.compile(f'[{separator}"\r\n]')
    names_written = False

    def quote(cell: Any) -> str:
        text = write_text(cell)
        return f'"{text.replace(_QUOTE, 2 * _QUOTE)}"' if special.search(text) else text

    def append(frame: Any) -> None:
        nonlocal names_written
        rows = zip(*_write_columns(frame, quote), strict=True)
        if not names_written:
            file.write(f"{separator.join(map(quote, frame.columns))}\n".encode())
            names_written = True
        while lines := [separator.join(row) or '""' for row in islice(rows, _ROWS)]:
            file.write("".join(f"{line}\n" for line in lines).encode())

    yield append


@contextmanager
def _open_json(file: IO[bytes], *, lines: bool) -> Iterator[Append]:
    """Yield a function that writes a frame as a JSON list, or frames as JSON lines."""

    def append(frame: Any) -> None:
        names = [_write_json(str(name)) for name in frame.columns]
        rows = [
            f"{{{', '.join(map(': '.join, zip(names, row, strict=True)))}}}"
            for row in zip(*_write_columns(frame, _write_json), strict=True)
        ]
        text = "\n".join([*rows, ""]) if lines else f"[\n{_JSON_ROWS.join(rows)}\n]\n"
        file.write(text.encode())

    yield append


@contextmanager
def _open_excel(file: IO[bytes]) -> Iterator[Append]:
    """Yield a function that writes a frame as an Excel file with one sheet."""
    openpyxl = require("openpyxl", extra="cli")

    def append(frame: Any) -> None:
        if len(frame) > MAX_EXCEL_ROWS:
            raise InputError(
                f"`output`: an Excel sheet holds at most {MAX_EXCEL_ROWS:,} rows, "
                f"and there are {len(frame):,}; name the file .csv or .parquet."
            )
        columns = _write_columns(frame, _convert_for_excel)
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet("Sheet1")
        names = [_convert_for_excel(str(name)) for name in frame.columns]
        try:
            for row in (names, *zip(*columns, strict=True)):
                sheet.append([_make_excel_cell(sheet, value) for value in row])
            held = io.BytesIO()  # a zip file on a full disk fails again at exit
            book.save(held)
            file.write(held.getbuffer())
        except OSError:  # a full disk, which openpyxl would report again at exit
            for unfinished in (sheet._rows, sheet._writer.xf):  # noqa: SLF001
                with suppress(OSError, AttributeError):
                    unfinished.close()
            raise

    yield append


def _make_excel_cell(sheet: Any, value: Any) -> Any:
    """Make an openpyxl cell: numbers with all digits, strings never as formulas."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    # openpyxl would round numbers to 16 digits.
    shown = write_text(value) if is_number else value
    if isinstance(value, str):  # XML cannot hold a carriage return
        shown = _ESCAPED.sub(r"_x005F\g<0>", value).replace("\r", "_x000D_")
    cell = require("openpyxl.cell", extra="cli").WriteOnlyCell(sheet, shown)
    if isinstance(shown, str):
        cell.data_type = "n" if is_number else "s"  # never a formula or an error code
    return cell


@contextmanager
def _open_arrow(file: IO[bytes], module: str, opener: str) -> Iterator[Append]:
    """Yield a function that appends frames; the first sets the types of columns."""
    arrow = require("pyarrow", extra="cli")
    with ExitStack() as stack:
        writer: Any = None
        schema: Any = None

        def append(frame: Any) -> None:
            nonlocal writer, schema
            columns = {str(name): _make_arrow(frame[name]) for name in frame.columns}
            table = arrow.table(columns)
            if writer is None:
                create = getattr(require(module, extra="cli"), opener)
                schema = table.schema
                writer = stack.enter_context(create(file, schema))
            writer.write_table(table.cast(schema))

        yield append


def _make_arrow(column: Any) -> Any:
    """Convert a pandas column to an Arrow array; mixed types become strings."""
    arrow = require("pyarrow", extra="cli")
    try:
        cells = arrow.array(column, from_pandas=True)
    except (arrow.ArrowException, OverflowError):
        texts = (None if c is None else write_text(c) for c in list_cells(column))
        cells = arrow.array(texts, arrow.string())
    return cells.cast(arrow.string()) if arrow.types.is_null(cells.type) else cells


_WRITERS: dict[str, Callable[[IO[bytes]], Any]] = {
    "csv": partial(_open_csv, separator=","),
    "tsv": partial(_open_csv, separator="\t"),
    "json": partial(_open_json, lines=False),
    "jsonl": partial(_open_json, lines=True),
    "xlsx": _open_excel,
    "parquet": partial(_open_arrow, module="pyarrow.parquet", opener="ParquetWriter"),
    "arrow": partial(_open_arrow, module="pyarrow.ipc", opener="new_file"),
}
