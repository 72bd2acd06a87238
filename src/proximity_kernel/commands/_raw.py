"""A source in, its columns out as they are held: numbers, dates, or text as text.

Nothing is decided here about what a text means; that is `_plan`. Text columns are
categoricals, so that what follows looks at each distinct text once.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .._extras import require
from ._call import InputError, listed
from ._dialect import (
    SEPARATORS,
    find_dialect,
    find_open_quote,
    find_ragged_line,
    name_apart,
)
from ._sheets import fill_merged, has_merged_cells, skip_titles
from ._source import Source

_NESTED = (list, dict, set, bytes)
_SHOWN = {"\t": "tab", " ": "blanks"}


@dataclass(frozen=True)
class Reading:
    """How to read a source, as far as the user said.

    Attributes
    ----------
    separator, encoding, sheet : str or None
    header : bool or None
    """

    separator: str | None = None
    encoding: str | None = None
    header: bool | None = None
    sheet: str | None = None


@dataclass(frozen=True)
class Raw:
    """A table as it is held.

    Attributes
    ----------
    name : str
        Of the source.
    frame : pandas.DataFrame
        Text as unordered categoricals of text, also numbers that are written.
    separator : str
        Of a text, in words; else empty.
    said : tuple of str
        What was assumed.
    """

    name: str
    frame: Any
    separator: str
    said: tuple[str, ...]


def read_raw(source: Source, reading: Reading) -> Raw:
    """Read a source.

    Parameters
    ----------
    source : Source
    reading : Reading

    Returns
    -------
    Raw
    """
    if source.kind == "text":
        raw = _read_text(source, reading)
    else:
        refuse_options(source.name, source.kind, reading)
        excel = source.kind == "excel"
        raw = _read_excel(source, reading) if excel else _read_arrow(source)
    if not len(raw.frame):
        raise InputError(f"{source.name}: there are no rows in it, only names.")
    return raw


def refuse_options(name: str, kind: str, reading: Reading) -> None:
    """Refuse options of other kinds of source."""
    given: dict[str, Any] = {"--sep": reading.separator, "--encoding": reading.encoding}
    if kind != "excel":
        given |= {"--sheet": reading.sheet, "--no-header": reading.header}
    for option, value in given.items():
        if value is not None:
            raise InputError(
                f"{option}: {name} is {kind}, which has no such thing; "
                "leave the option out."
            )


# ------------------------------------------------------------------------- text


def _read_text(source: Source, reading: Reading) -> Raw:
    if reading.sheet is not None:
        raise InputError(f"--sheet: {source.name} is text, not Excel; leave it out.")
    given = reading.separator
    dialect = find_dialect(
        source,
        separator=SEPARATORS.get(given or "", given),
        encoding=reading.encoding,
        header=reading.header,
    )
    wrong = find_open_quote(dialect)
    if wrong:
        raise InputError(f"{source.name}: {wrong}")
    try:
        frame = (
            _parse_blanks(dialect) if dialect.separator == " " else _parse_csv(dialect)
        )
    except ValueError as error:  # pandas' and pyarrow's errors are ValueErrors too
        where = find_ragged_line(dialect) or (
            f"this cannot be read as {dialect.encoding} text in columns "
            f"({str(error).partition(chr(10))[0]}); see --sep and --encoding."
        )
        raise InputError(f"{source.name}: {where}") from None
    shown = f"separator {_SHOWN.get(dialect.separator, repr(dialect.separator))}"
    if len(dialect.names) == 1 and reading.separator is None:
        shown = "no separator in it (--sep)"
    return Raw(source.name, frame, shown, dialect.said)


def _parse_csv(dialect: Any) -> Any:
    csv = require("pyarrow.csv", extra="cli")
    arrow = require("pyarrow", extra="cli")
    text = arrow.dictionary(arrow.int32(), arrow.string())
    # pyarrow asks for a newline at the end of the names.
    text_data = f"{dialect.text.rstrip(chr(10) + chr(13))}\n".encode()
    table = csv.read_csv(
        io.BytesIO(text_data),
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


def _parse_blanks(dialect: Any) -> Any:
    wrong = find_ragged_line(dialect)
    if wrong:  # pandas would fill up short lines
        raise ValueError(wrong)
    return pd.read_csv(
        io.StringIO(dialect.text),
        sep=r"\s+",
        names=dialect.names,
        skiprows=int(dialect.header),
        dtype="category",
        keep_default_na=False,
        quoting=3,
    ).apply(lambda column: column.astype(str).astype("category"))


# ------------------------------------------------------------------ typed files


def _read_arrow(source: Source) -> Raw:
    arrow = require("pyarrow", extra="cli")
    data = io.BytesIO(source.data)
    try:
        if source.kind == "parquet":
            table = require("pyarrow.parquet", extra="cli").read_table(data)
        elif source.kind == "feather":
            table = require("pyarrow.feather", extra="cli").read_table(data)
        else:
            ipc = require("pyarrow.ipc", extra="cli")
            opener = ipc.open_stream if source.kind == "stream" else ipc.open_file
            table = opener(data).read_all()
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise damaged(source.name, source.kind, error) from None
    frame, said = frame_of(table)
    return Raw(source.name, frame, "", tuple(said))


def damaged(name: str, kind: str, error: Exception) -> InputError:
    """Make the error of a typed file that cannot be read."""
    reason = str(error).partition("\n")[0]
    return InputError(
        f"{name}: this {kind} file is damaged ({reason}); make or fetch it again."
    )


def frame_of(table: Any) -> tuple[Any, list[str]]:
    """Make a frame of an Arrow table, as `Raw` holds it.

    Parameters
    ----------
    table : pyarrow.Table

    Returns
    -------
    pandas.DataFrame
    list of str
        What was assumed.
    """
    arrow = require("pyarrow", extra="cli")
    names, said = name_apart(table.column_names)
    table = table.rename_columns(names)
    decimals = [f.name for f in table.schema if arrow.types.is_decimal(f.type)]
    for name in decimals:
        at = table.column_names.index(name)
        table = table.set_column(at, name, table[name].cast(arrow.float64()))
    frame = table.to_pandas(date_as_object=False)
    if list(frame.columns) != table.column_names:  # pandas kept an index in the file
        frame = frame.reset_index()
    frame.columns = [str(name) for name in frame.columns]
    return hold_text(frame.reset_index(drop=True)), said


def _read_excel(source: Source, reading: Reading) -> Raw:
    openpyxl = require("openpyxl", extra="cli")
    try:
        book = openpyxl.load_workbook(
            io.BytesIO(source.data), read_only=True, data_only=True
        )
        sheet, said = _choose_sheet(source.name, book.sheetnames, reading.sheet)
        rows = [list(row) for row in book[sheet].iter_rows(values_only=True)]
        book.close()
        if has_merged_cells(source.data):
            rows = fill_merged(source.data, sheet)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001  (openpyxl lets through what it meets)
        raise InputError(
            f"{source.name}: this Excel file is damaged ({error}); save it again."
        ) from None
    cells = pd.DataFrame(rows, dtype=object)
    cells = cells.dropna(how="all").dropna(how="all", axis=1)
    if not cells.size:
        raise InputError(f"{source.name}: the sheet {sheet!r} is empty; see --sheet.")
    cells, above = skip_titles(cells)
    cells, named = _take_names(cells, reading.header)
    frame = hold_text(cells.reset_index(drop=True))
    return Raw(source.name, frame, "", (*said, *above, *named))


def _take_names(cells: Any, header: bool | None) -> tuple[Any, list[str]]:
    """Take the names from the first row, if they are there."""
    first = cells.iloc[0]
    if header is None:
        header = all(pd.isna(one) or isinstance(one, str) for one in first)
    names = [f"column_{j + 1}" for j in range(cells.shape[1])]
    said = [f"no header line: the columns are called column_1 to {names[-1]}"]
    if header:
        names = [
            name if pd.isna(cell) else str(cell).strip()
            for name, cell in zip(names, first, strict=True)
        ]
        names, said = name_apart(names)
        cells = cells.iloc[1:]
    return cells.set_axis(names, axis=1), said


def _choose_sheet(
    source: str, sheets: list[str], asked: str | None
) -> tuple[str, list[str]]:
    if asked is None:
        more = f", the first of {len(sheets)} (--sheet)" if len(sheets) > 1 else ""
        return sheets[0], [f"sheet {sheets[0]!r}{more}"] if more else []
    if asked in sheets:
        return asked, []
    if asked.isdecimal() and 1 <= int(asked) <= len(sheets):
        return sheets[int(asked) - 1], []
    raise InputError(
        f"--sheet {asked}: {source} has no such sheet; it has {listed(sheets, 8)}."
    )


# ------------------------------------------------------------- objects and text


def hold_text(frame: Any) -> Any:
    """Make categoricals of text columns, and typed columns of Python objects.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    pandas.DataFrame
    """
    return pd.DataFrame({name: _hold(frame[name]) for name in frame.columns})


def _hold(column: Any) -> Any:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        if dtype.ordered or not len(dtype.categories):
            return column
        if pd.api.types.infer_dtype(dtype.categories) == "string":
            return column
        return (
            column.astype(object).map(write_cell, na_action="ignore").astype("category")
        )
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
        return column  # for the plan to refuse, unless it is left out
    return column.map(write_cell, na_action="ignore").astype("category")


def write_cell(cell: Any) -> str:
    """Write a cell as a file of text would have it.

    >>> write_cell(3.0), write_cell(0.5), write_cell("x")
    ('3', '0.5', 'x')
    """
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if hasattr(cell, "isoformat"):
        return str(cell.isoformat())
    return str(cell)
