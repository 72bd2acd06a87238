"""Text with a separator in, its columns out; every cell is text."""

from __future__ import annotations

import io
from typing import Any

import pandas as pd

from .._shared.extras import require
from .dialect import Dialect, find_bad_line, find_dialect
from .errors import InputError
from .file_type import InputFile
from .parsed_file import ParsedFile
from .schema import FileLayout, ReadOptions


def parse_text(file: InputFile, options: ReadOptions) -> ParsedFile:
    """Parse text with a separator.

    Parameters
    ----------
    file : InputFile
    options : ReadOptions

    Returns
    -------
    ParsedFile
    """
    dialect = find_dialect(file, options)
    blanks = dialect.separator == " "
    # pandas would fill short lines, and pyarrow would close the quote at the end.
    suspect = blanks or dialect.text.count('"') % 2
    if suspect and (problem := find_bad_line(dialect)):
        raise InputError(f"{file.name}: {problem}")
    parse = _parse_blanks if blanks else _parse_csv
    try:
        frame = parse(dialect)
    except ValueError as error:  # the errors of pandas and pyarrow are ValueErrors too
        reason = str(error).partition("\n")[0]
        problem = find_bad_line(dialect) or (
            f"the file cannot be read as {dialect.encoding} text in columns "
            f"({reason}); see `sep` and `encoding`."
        )
        raise InputError(f"{file.name}: {problem}") from None
    single = len(dialect.names) == 1 and options.sep is None
    layout = FileLayout(
        "text",
        encoding=dialect.encoding,
        separator=None if single else dialect.separator,
        header=dialect.header,
        skipped_lines=dialect.skipped,
    )
    return ParsedFile(file.name, frame, layout, dialect.assumptions)


def _parse_csv(dialect: Dialect) -> Any:
    csv = require("pyarrow.csv", extra="cli")
    arrow = require("pyarrow", extra="cli")
    text = arrow.dictionary(arrow.int32(), arrow.string())
    # pyarrow requires a newline after the names.
    data = f"{dialect.text.rstrip(chr(10) + chr(13))}\n".encode()
    table = csv.read_csv(
        io.BytesIO(data),
        read_options=csv.ReadOptions(
            column_names=dialect.names,
            skip_rows_after_names=int(dialect.header),
            block_size=2**22,
        ),
        parse_options=csv.ParseOptions(
            delimiter=dialect.separator,
            newlines_in_values='"' in dialect.text,
            ignore_empty_lines=len(dialect.names) > 1,
        ),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(dialect.names, text),
            strings_can_be_null=False,
        ),
    )
    return table.unify_dictionaries().to_pandas()


def _parse_blanks(dialect: Dialect) -> Any:
    return pd.read_csv(
        io.StringIO(dialect.text),
        sep=r"\s+",
        names=dialect.names,
        skiprows=int(dialect.header),
        dtype="category",
        keep_default_na=False,
        quoting=3,
    ).apply(lambda column: column.astype(str).astype("category"))
