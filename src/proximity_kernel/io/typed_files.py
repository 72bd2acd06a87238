"""Read the columns of Parquet, Arrow and Excel files.

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
from itertools import islice
from typing import Any
from zipfile import ZipFile

import pandas as pd

from .._shared.extras import require
from .._shared.wording import counted, listed
from .files import InputFile, check_size
from .schema import FileLayout, InputError, ParsedFile, ReadOptions
from .text import check_names, make_unique, number_columns

BATCH_ROWS = 2**18
"""Rows of each batch but the last."""
_BUFFER = 2**20  # bytes of a column that are read at a time
_MAX_CELLS = 10**8  # of a sheet
_MIN_COLUMNS = 3  # from which on a row with one cell above the table is a title
_MIN_TABLE_ROWS = 3  # with several cells, that make a sheet a table
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
    frame, layout = _simplify_columns(frame), FileLayout(file_type)
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


# ------------------------------------------------------------------------------ Excel


def parse_sheet(file: InputFile, options: ReadOptions) -> ParsedFile:
    """Parse a sheet of an Excel file."""
    openpyxl = require("openpyxl", extra="cli")
    data = io.BytesIO(file.data)
    try:
        check_size(file.name, sum(part.file_size for part in ZipFile(data).infolist()))
        book = openpyxl.load_workbook(data, read_only=True, data_only=True)
        sheet, chosen = _choose_sheet(file.name, book, options.sheet)
        cells = pd.DataFrame(_list_rows(file.name, book[sheet]), dtype=object)
        book.close()
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001  (openpyxl raises errors of many types)
        raise InputError(
            f"{file.name}: this Excel file is damaged ({error}); save it again."
        ) from None
    cells = cells.dropna(how="all").dropna(how="all", axis=1)
    if not cells.size:
        raise InputError(f"{file.name}: the sheet {sheet!r} is empty; see `sheet`.")
    has_none = options.header is False or (options.names and not options.header)
    table, skipped = (cells, list[str]()) if has_none else _skip_titles(cells)
    rows, named = _take_names(file.name, table, options)
    layout = FileLayout(
        "excel",
        header=len(rows) < len(table),
        skipped_lines=len(cells) - len(table),
        sheet=sheet,
    )
    said = (*chosen, *skipped, *named)
    rows = rows.reset_index(drop=True)
    return ParsedFile(file.name, rows, _simplify_columns(rows), layout, said)


def _list_rows(name: str, sheet: Any) -> list[tuple[Any, ...]]:
    """List the rows that are not empty, equally long; a small file may hold many."""
    rows: list[tuple[Any, ...]] = []
    width = 0
    sheet.reset_dimensions()  # which may be false
    for row in sheet.values:
        if any(cell is not None for cell in row):
            rows.append(row)
            width = max(width, len(row))
        if len(rows) * width > _MAX_CELLS:
            raise InputError(
                f"{name}: the sheet has more than {_MAX_CELLS:,} cells; save the part "
                "that is the table as CSV."
            )
    return [(*row, *[None] * (width - len(row))) for row in rows]


def _choose_sheet(name: str, book: Any, asked: str | None) -> tuple[str, list[str]]:
    """Choose the sheet that is asked for, or else the first that holds a table."""
    sheets = book.sheetnames
    if asked is None:
        if len(sheets) == 1:
            return sheets[0], []
        found = next((one for one in sheets if _holds_table(book[one])), sheets[0])
        others = [one for one in sheets if one != found]
        return found, [f"sheet {found!r} read; not read: {listed(others)} (`sheet`)"]
    if asked in sheets:
        return asked, []
    if asked.isdecimal() and 1 <= int(asked) <= len(sheets):
        return sheets[int(asked) - 1], []
    raise InputError(
        f"`sheet` {asked}: {name} has no such sheet; it has {listed(sheets, 8)}."
    )


def _holds_table(sheet: Any) -> bool:
    """Whether several rows of a sheet hold several cells each."""
    if not hasattr(sheet, "reset_dimensions"):  # a chart
        return False
    sheet.reset_dimensions()
    rows = (sum(cell is not None for cell in row) for row in sheet.values)
    long_rows = (n_cells for n_cells in rows if n_cells > 1)
    return sum(1 for _ in islice(long_rows, _MIN_TABLE_ROWS)) == _MIN_TABLE_ROWS


def _skip_titles(cells: Any) -> tuple[Any, list[str]]:
    """Remove rows above the table that hold a single cell, which is text."""
    is_text = cells.map(lambda cell: isinstance(cell, str))
    is_row = (cells.notna().sum(axis=1) > 1) | (cells.notna() & ~is_text).any(axis=1)
    start = int(is_row.to_numpy().argmax())
    if cells.shape[1] < _MIN_COLUMNS or not start:
        return cells, []
    title = str(cells.iloc[0].dropna().iloc[0])
    below = cells.iloc[start:].dropna(how="all", axis=1)
    return below, [f"{counted(start, 'row')} above the table skipped: {title!r}"]


def _take_names(file: str, cells: Any, options: ReadOptions) -> tuple[Any, list[str]]:
    """Take the column names from the first row, unless it holds values."""
    first, header = cells.iloc[0], options.header
    if header is None:
        is_text = all(pd.isna(one) or isinstance(one, str) for one in first)
        header = is_text and options.names is None
    names, assumptions = number_columns(cells.shape[1])
    if header:
        names = [
            name if pd.isna(cell) else str(cell).strip()
            for name, cell in zip(names, first, strict=True)
        ]
        names, assumptions = make_unique(names)
        cells = cells.iloc[1:]
    if options.names is not None:
        names, assumptions = check_names(file, options.names, cells.shape[1])
    return cells.set_axis(names, axis=1), assumptions


# -------------------------------------------------------------------------- few types


def _simplify_columns(frame: Any) -> Any:
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
