"""Parquet and Arrow files in, their columns out."""

from __future__ import annotations

import io
from typing import Any

from .._shared.extras import require
from .dialect import make_unique
from .errors import InputError
from .file_type import InputFile
from .parsed_file import ParsedFile, simplify_columns
from .schema import FileLayout, ReadOptions


def parse_typed(file: InputFile, _: ReadOptions) -> ParsedFile:
    """Parse a Parquet or Arrow file.

    Parameters
    ----------
    file : InputFile

    Returns
    -------
    ParsedFile
    """
    arrow = require("pyarrow", extra="cli")
    data = io.BytesIO(file.data)
    try:
        if file.type == "parquet":
            table = require("pyarrow.parquet", extra="cli").read_table(data)
        else:
            ipc = require("pyarrow.ipc", extra="cli")
            opener = ipc.open_stream if file.type == "stream" else ipc.open_file
            table = opener(data).read_all()
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise make_damage_error(file.name, file.type, error) from None
    return convert_arrow(file.name, file.type, table)


def make_damage_error(name: str, file_type: str, error: Exception) -> InputError:
    """Make the error for a typed file that cannot be parsed."""
    reason = str(error).partition("\n")[0]
    return InputError(
        f"{name}: this {file_type} file is damaged ({reason}); create or download it "
        "again."
    )


def convert_arrow(name: str, file_type: str, table: Any) -> ParsedFile:
    """Convert an Arrow table.

    Parameters
    ----------
    name, file_type : str
        Of the file it was read from.
    table : pyarrow.Table

    Returns
    -------
    ParsedFile
    """
    arrow = require("pyarrow", extra="cli")
    names, assumptions = make_unique(table.column_names)
    table = table.rename_columns(names)
    for j, field in enumerate(table.schema):
        if arrow.types.is_decimal(field.type):
            numbers = table[j].cast(arrow.float64())
            table = table.set_column(j, field.name, numbers)
    frame = table.to_pandas(date_as_object=False)
    if list(frame.columns) != table.column_names:  # the file holds an index of pandas
        frame = frame.reset_index()
    frame.columns = [str(column) for column in frame.columns]
    frame = simplify_columns(frame.reset_index(drop=True))
    return ParsedFile(name, frame, FileLayout(file_type), tuple(assumptions))
