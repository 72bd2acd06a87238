"""Write results to files, in the format of their ending.

Files are written completely or not at all, except devices such as /dev/null.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from .._shared.extras import require
from .._shared.whole_files import whole_file
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
BATCHED_FORMATS = ("parquet", "arrow", "csv", "tsv", "jsonl")
"""Formats that can be written in batches."""
MAX_EXCEL_ROWS = 2**20 - 1
"""Rows of a sheet, below its header."""

Append = Callable[[Any], None]


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
    with open_writer(path, file_format) as append:
        append(frame)


@contextmanager
def open_writer(path: str | None, file_format: str) -> Iterator[Append]:
    """Open a file to which rows are appended.

    Parameters
    ----------
    path : str or None
        None is standard output.
    file_format : str
        A value of `FORMAT_OF_ENDING`; all but `BATCHED_FORMATS` take one batch.

    Yields
    ------
    callable
        Takes a data frame.
    """
    try:
        with open_output(path) as file, _WRITERS[file_format](file) as append:
            yield append
    except BrokenPipeError:
        raise
    except OSError as error:  # the system does not always name the file
        reason = error.strerror or str(error)
        raise OSError(error.errno, reason, path or "standard output") from None


@contextmanager
def _open_csv(file: IO[bytes], separator: str) -> Iterator[Append]:
    header = iter([True])
    style = {"index": False, "encoding": "utf-8", "lineterminator": "\n"}
    yield lambda frame: frame.to_csv(
        file, sep=separator, header=next(header, False), **style
    )


@contextmanager
def _open_json(file: IO[bytes], *, lines: bool) -> Iterator[Append]:
    def append(frame: Any) -> None:
        text = frame.to_json(
            orient="records", date_format="iso", force_ascii=False, lines=True
        )
        if not lines:
            rows = (json.loads(row) for row in text.splitlines())
            rows = (json.dumps(row, ensure_ascii=False) for row in rows)
            text = "[\n{}\n]\n".format(",\n".join(rows))
        file.write(text.encode())

    yield append


@contextmanager
def _open_excel(file: IO[bytes]) -> Iterator[Append]:
    require("openpyxl", extra="cli")

    def append(frame: Any) -> None:
        if len(frame) > MAX_EXCEL_ROWS:
            raise InputError(
                f"`output`: an Excel sheet holds at most {MAX_EXCEL_ROWS:,} rows, "
                f"and there are {len(frame):,}; name the file .csv or .parquet."
            )
        for name in frame.select_dtypes("datetimetz"):  # Excel has no zones: UTC
            utc = frame[name].dt.tz_convert("UTC").dt.tz_localize(None)
            frame = frame.assign(**{name: utc})
        frame.to_excel(file, index=False, engine="openpyxl")

    yield append


@contextmanager
def _open_arrow(file: IO[bytes], module: str, opener: str) -> Iterator[Append]:
    """Open a Parquet or Arrow file; the first batch sets the types of its columns."""
    arrow = require("pyarrow", extra="cli")
    with ExitStack() as stack:
        schema: Any = None
        writer: Any = None

        def append(frame: Any) -> None:
            nonlocal schema, writer
            frame = _unmix(frame)
            if writer is None:
                schema = arrow.Schema.from_pandas(frame, preserve_index=False)
                for j, field in enumerate(schema):
                    if arrow.types.is_null(field.type):
                        schema = schema.set(j, field.with_type(arrow.string()))
                create = getattr(require(module, extra="cli"), opener)
                writer = stack.enter_context(create(file, schema))
            table = arrow.Table.from_pandas(frame, schema, preserve_index=False)
            writer.write_table(table)

        yield append


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


_WRITERS: dict[str, Callable[[IO[bytes]], Any]] = {
    "csv": partial(_open_csv, separator=","),
    "tsv": partial(_open_csv, separator="\t"),
    "json": partial(_open_json, lines=False),
    "jsonl": partial(_open_json, lines=True),
    "xlsx": _open_excel,
    "parquet": partial(_open_arrow, module="pyarrow.parquet", opener="ParquetWriter"),
    "arrow": partial(_open_arrow, module="pyarrow.ipc", opener="new_file"),
}
