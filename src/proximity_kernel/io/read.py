"""`read_table`: read a table from a file, and list what was assumed about it.

`open_large_table` reads large files in batches. It infers the schema from the first
rows, and for columns that are empty there also from later rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

from .._shared.extras import require
from .._shared.wording import counted, find_similar, listed
from .files import find_batched_type, open_file
from .schema import InputError, LoadedTable, ParsedFile, ReadOptions, Schema

if TYPE_CHECKING:
    from .typed_files import LargeFile

SAMPLE_ROWS = 2**17
"""Number of first rows from which the schema of a large file is inferred."""
_SHOWN = {"\t": "tab", " ": "blanks"}


def read_table(
    path_or_buffer: str | os.PathLike[str] | IO[bytes] | IO[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header_rows: int | None = None,
    skip_rows: int | None = None,
    names: Iterable[str] | None = None,
    sheet: str | int | None = None,
    missing: str | Iterable[str] | Mapping[str, str | Iterable[str]] = (),
    default_missing: bool = True,
    ids: str | Iterable[str] = (),
    only: str | Iterable[str] = (),
    drop: str | Iterable[str] = (),
    categorical: str | Iterable[str] = (),
    numeric: str | Iterable[str] = (),
    day_first: bool | None = None,
    ignore_case: bool = False,
    where: str | None = None,
    keep_totals: bool = False,
    fill_down: str | Iterable[str] = (),
    schema: Schema | str | os.PathLike[str] | None = None,
) -> LoadedTable:
    r"""Read a table from a file, and infer its format and the types of its columns.

    File type, separator, header, decimal comma, dates, units, missing-value markers and
    ids are inferred from the content. What was assumed is returned with the table;
    every assumption can be overridden by a parameter. Needs the extra ``cli``.

    Parameters
    ----------
    path_or_buffer : path or file-like object
        CSV, TSV, Parquet, Arrow, Feather or Excel (.xlsx); text may be compressed with
        gzip. A file-like object may give bytes or text.
    sep : str, optional
        One character, or ``"tab"``, ``"comma"``, ``"semicolon"``, ``"bar"`` or
        ``"space"``.
    decimal : {".", ","}, optional
        Decimal separator.
    encoding : str, optional
        Encoding of a text file, for example ``"latin-1"``.
    header_rows : int, optional
        Number of header rows of a text file or sheet; 0 for none. Several rows are
        joined into one name for each column.
    skip_rows : int, optional
        Number of lines (text) or rows (Excel) above the table, including empty ones.
    names : iterable of str, optional
        Column names of a table without a header; with ``header_rows`` they replace the
        names in the file.
    sheet : str or int, optional
        Name or number (from 1) of an Excel sheet. By default the sheet with the largest
        table.
    missing : str, iterable of str or mapping
        Strings or numbers to read as missing, in addition to the default strings
        (empty, ``?``, ``NA``, ``null``, ``-``, ...). ``"COL=TEXT"``, or a mapping from
        columns to strings, applies to these columns only. Ids are not affected.
    default_missing : bool, default=True
        If False, only empty cells and the strings in `missing` are read as missing.
    ids : str or iterable of str
        Columns that identify the rows. Detected if none is given.
    only : str or iterable of str
        Columns to use, even if they look like ids or free text; all others are left
        out, except ids.
    drop : str or iterable of str
        Columns to leave out.
    categorical : str or iterable of str
        Columns to read as categories, whatever their values. Empty ones are left out.
    numeric : str or iterable of str
        Columns to read as numbers, even if they are named like codes (``zip``,
        ``shop_id``) or look like dates (20240131).
    day_first : bool, optional
        Whether 3/4/2020 is in April. By default the other dates of the column decide;
        if they cannot decide, the column is read as categories.
    ignore_case : bool, default=False
        Whether strings that differ only in case or whitespace are one category.
    where : str, optional
        Condition on the rows to keep, for example ``"age > 30 and sex == f"``:
        comparisons of a column (``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``) with a
        number, date or category, and ``COL is missing``, joined by ``and``, ``or``,
        ``not`` and parentheses. A comparison with a missing cell is false.
    keep_totals : bool, default=False
        Whether to keep rows and columns that are totals of other rows or columns.
    fill_down : str or iterable of str
        Columns with a value in the first of several rows only: each empty cell is
        filled with the value above it. Cells of a sheet that are merged over several
        rows are always filled.
    schema : Schema or path, optional
        Schema of an earlier table, or a model file of the command line, which has the
        schema of its table. The columns are then read as in that table; only the layout
        of the file is inferred. `where`, `keep_totals` and `fill_down` are not in it.

    Returns
    -------
    LoadedTable

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    InputError
        If the file is not a table, or a parameter does not fit the file. An InputError
        is a ValueError.

    Examples
    --------
    >>> from io import StringIO
    >>> from proximity_kernel import read_table
    >>> text = "code;weight;seen\nP1;71,5;03.02.2020\nP2;?;14.02.2020\nP3;80;\n"
    >>> table = read_table(StringIO(text), ids="code")
    >>> table.frame
       weight       seen
    0    71.5 2020-02-03
    1     NaN 2020-02-14
    2    80.0        NaT
    >>> table.ids["code"].tolist()
    ['P1', 'P2', 'P3']
    >>> print(*table.assumptions, sep="\n")
    buffer: 3 rows, 3 columns, separator ';', decimal comma, missing: '?' or empty
    'seen' read as dates (day.month.year)
    >>> table.schema.columns[1]
    ColumnSchema(name='weight', ..., kind='numbers', format='1,5', ...)
    """
    options = ReadOptions(
        sep, decimal, encoding, header_rows, skip_rows, names, sheet, missing,
        default_missing, ids, only, drop, categorical, numeric, day_first, ignore_case,
        where, keep_totals, fill_down,
    )  # fmt: skip
    file = open_file(path_or_buffer)
    require("pandas", extra="cli")
    from . import checks, excel, row_filter, text, totals, typed_columns

    if isinstance(schema, str | os.PathLike):
        schema = _load_schema(schema)
    if schema is not None:
        typed_columns.check_schema(schema)
    options.check_file_type(file.name, file.type)
    parse: Any = {"text": text.parse_text, "excel": excel.parse_sheet}.get(file.type)
    if parse is None:  # only these need pyarrow
        from .typed_files import parse_typed as parse
    parsed = checks.drop_repeated_headers(parse(file, options))
    parsed = parsed if keep_totals else totals.leave_totals_out(parsed)
    parsed = typed_columns.fill_down(parsed, options)
    if not len(parsed.frame):
        raise InputError(f"{file.name}: the table has column names, but no rows.")
    is_earlier = schema is not None
    if schema is not None:
        table = _apply_schema(parsed, schema, earlier=True)
    else:
        schema, marks, inferred = typed_columns.infer_schema(parsed, options)
        table = _apply_schema(parsed, schema, marks, inferred)
        if not keep_totals:
            named = ",".join((*options.only, *options.numeric)).split(",")
            kept = {name.strip() for name in named}
            table = totals.leave_total_columns_out(table, kept)
    table = row_filter.select_rows(table, where)
    said = [*table.assumptions, *checks.find_empty_rows(checks.name_rows(table))]
    if not is_earlier:
        said += checks.find_few_numbers(table.frame) + checks.find_doubts(table)
    return replace(table, assumptions=tuple(said))


def _load_schema(path: str | os.PathLike[str]) -> Schema:
    """Load the schema of the table of a model file; raise InputError if it has none."""
    from .._saving import ModelFileError, read_archive  # imports numpy

    try:
        notes = read_archive(path)[0].get("notes")
    except ModelFileError as error:
        raise InputError(f"`schema`: {error}") from error
    try:
        return Schema.from_dict(dict(notes or {})["schema"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"`schema` {os.fspath(path)}: this model has no schema of a table, because "
            "it was saved in Python; give the `schema` of a table that was read."
        ) from error


def _apply_schema(
    parsed: ParsedFile,
    schema: Schema,
    marks: str = "",
    inferred: Iterable[str] | None = None,
    *,
    earlier: bool = False,
) -> LoadedTable:
    """Convert a parsed file to typed columns by a schema.

    `inferred` lists the assumptions of a schema that was inferred from this file. With
    `earlier`, the schema is that of an earlier table: ids may be absent, and columns
    that are not in the schema are left out.
    """
    from .cells import decode
    from .excel import except_formulas
    from .typed_columns import convert_columns

    n_rows, n_columns = parsed.frame.shape
    size = f"{counted(n_rows, 'row')}, {counted(n_columns, 'column')}"
    if parsed.layout.type == "text":
        separator = parsed.layout.separator
        shown = f"separator {_SHOWN.get(separator or '', repr(separator))}"
        size += f", {shown if separator else 'no separator found (`sep`)'}"
    assumptions = [f"{parsed.name}: {size}{marks}"]
    assumptions += [*parsed.assumptions, *(inferred or ())]
    if earlier:
        assumptions += _compare_columns(parsed, schema)
    is_inferred = inferred is not None
    frame, missing, converted = convert_columns(parsed, schema, inferred=is_inferred)
    assumptions += converted
    if parsed.layout.type == "excel":
        missing = except_formulas(missing, parsed.source)
    cells = parsed.source.loc[parsed.frame.index]  # without totals
    ids, left_out = (
        cells[[name for name in schema.names(role) if name in cells]]
        for role in ("id", "left out")
    )
    return LoadedTable(
        parsed.name, frame, decode(ids), left_out, missing, parsed.source, schema,
        parsed.layout, tuple(assumptions),
    )  # fmt: skip


def _compare_columns(parsed: ParsedFile, schema: Schema) -> list[str]:
    """Raise InputError if a used column of a model is absent; list unused columns."""
    names = dict.fromkeys(parsed.frame.columns)  # in their order
    known = {column.name for column in schema.columns}
    new = [name for name in names if name not in known]
    absent = [name for name in schema.names("used") if name not in names]
    if absent:
        several = len(absent) > 1
        similar = {name: find_similar(name, new) for name in absent}
        pairs = [f"{other!r} for {name!r}" for name, other in similar.items() if other]
        hint = f"; it has {listed(list(names), 8)}."
        if pairs:
            hint = f", did you mean {', '.join(pairs[:5])}? Rename to match."
        raise InputError(
            f"{parsed.name}: the model was fitted with the column{'s' * several} "
            f"{listed(absent)}, which {'are' if several else 'is'} not in this table"
            f"{hint}"
        )
    out = [name for name in schema.names("left out") if name in names]
    starts = {"unknown to the model, left out": new, "left out, as when fitted": out}
    return [f"{start}: {listed(some)}" for start, some in starts.items() if some]


# ------------------------------------------------------------------------ large files


@dataclass(frozen=True)
class LargeTable:
    """A table in a Parquet or Arrow file that is read in batches, any number of times.

    Attributes
    ----------
    file : LargeFile
    schema : Schema
    assumptions : tuple of str
        What was assumed, in sentences.
    earlier : bool
        Whether the schema is that of an earlier table.
    """

    file: LargeFile
    schema: Schema
    assumptions: tuple[str, ...]
    earlier: bool = False

    def read(self, *, all_columns: bool = False) -> Iterator[tuple[int, LoadedTable]]:
        """Read all rows of the file once, in batches.

        Parameters
        ----------
        all_columns : bool, default=False
            Whether `source` also has the columns that are left out.

        Yields
        ------
        int
            Index of the batch's first row in the file.
        LoadedTable
        """
        columns, start = None if all_columns else self._list_needed_columns(), 0
        for batch in self.file.read(columns):
            parsed = self.file.convert(batch, start)
            yield start, _apply_schema(parsed, self.schema, earlier=self.earlier)
            start += batch.num_rows

    def _list_needed_columns(self) -> list[str] | None:
        """List the ids and used columns; None (read all) if columns were renamed."""
        used, known = self.schema.names("used"), set(self.file.columns)
        ids = self.schema.names("id")
        if self.earlier:  # ids may be absent
            ids = [name for name in ids if name in known]
        unique = len(known) == len(self.file.columns)
        return [*ids, *used] if unique and known.issuperset([*ids, *used]) else None


def open_large_table(
    path: str, *, schema: Schema | None = None, **options: Any
) -> LargeTable:
    """Open a Parquet or Arrow file to read it in batches, and infer its schema.

    Parameters
    ----------
    path : str
    schema : Schema, optional
        Schema of an earlier table.
    **options
        The other parameters of `read_table`. Parameters for text and sheets (`sep`,
        `encoding`, `header_rows`, `skip_rows`, `names`, `sheet`), `where` and
        `fill_down` raise InputError.

    Returns
    -------
    LargeTable
    """
    file = open_large(path)
    if file is None:
        raise InputError(f"{path} is not a Parquet or Arrow file; convert it to one.")
    from .checks import find_missing_codes
    from .typed_files import BATCH_ROWS

    given = ReadOptions(**options)
    given.check_file_type(path, file.type)
    impossible = {"where": "rows can be selected", "fill_down": "cells can be filled"}
    for option, what in impossible.items():
        if getattr(given, option):
            raise InputError(
                f"`{option}`: {what} only in a table that is read at once."
            )
    first = next(file.read()).slice(0, SAMPLE_ROWS)
    sample = file.convert(first, 0)
    earlier, marks = schema is not None, ""
    if schema is None:
        schema, marks, lines = _infer_from_first_rows(file, first, sample, given)
        lines += find_missing_codes(_apply_schema(sample, schema).frame)
    else:
        lines = _compare_columns(sample, schema)
    n_columns = counted(sample.frame.shape[1], "column")
    size = f"{counted(file.n_rows, 'row')}, {n_columns}"
    batches = "in one batch"
    if file.n_rows > BATCH_ROWS:
        batches = f"in batches of {BATCH_ROWS:,} rows"
    if file.n_rows > SAMPLE_ROWS and not earlier:
        batches += f"; columns inferred from the first {SAMPLE_ROWS:,} rows"
    said = (f"{path}: {size}{marks}", f"read {batches}", *sample.assumptions, *lines)
    return LargeTable(file, schema, said, earlier)


def open_large(path: str) -> LargeFile | None:
    """Open a Parquet or Arrow file without reading its rows; None for other types."""
    file_type = find_batched_type(path)
    if file_type is None:
        return None
    require("pandas", extra="cli")
    from .typed_files import open_large_file

    return open_large_file(path, file_type)


def _infer_from_first_rows(
    file: LargeFile, first: Any, sample: ParsedFile, options: ReadOptions
) -> tuple[Schema, str, list[str]]:
    """Infer a schema from the first rows, and for empty columns also from later rows.

    `first` has the first rows as an Arrow table, `sample` the same rows parsed.
    """
    from .typed_columns import infer_schema

    schema, marks, lines = infer_schema(sample, options)
    empty = _list_empty_columns(sample.frame, schema.missing)
    more = len(sample.frame) < file.n_rows
    later = _find_observing_batches(file, empty, schema.missing) if more else []
    if not later:
        return schema, marks, lines
    arrow = require("pyarrow", extra="cli")
    joined = arrow.concat_tables([first, *later], promote_options="permissive")
    # Ids are kept: in the joined rows, a row number is no longer consecutive.
    ids = [] if options.ids else schema.names("id")
    id_lines = [line for line in lines if ids and line.startswith("taken as id")]
    options = replace(options, ids=(*options.ids, *ids))
    parsed = file.convert(joined.unify_dictionaries(), 0)
    schema, marks, lines = infer_schema(parsed, options)
    return schema, marks, [*id_lines, *lines]


def _list_empty_columns(frame: Any, missing: Sequence[str]) -> list[str]:
    """List the columns in which all cells are missing."""
    from .column_step import TextColumn, is_text

    def is_empty(column: Any) -> bool:
        if is_text(column):
            return not TextColumn.from_categories(column, missing).n_observed
        return bool(column.isna().all())

    return [name for name in frame if is_empty(frame[name])]


def _find_observing_batches(
    file: LargeFile, empty: list[str], missing: Sequence[str]
) -> list[Any]:
    """Find the first batches with an observed cell of the columns in `empty`."""
    searched = [name for name in empty if name in file.columns]
    found = []
    for batch in file.read() if searched else ():
        frame = file.convert(batch.select(searched), 0).frame
        still_empty = _list_empty_columns(frame, missing)
        if len(still_empty) < len(searched):
            found.append(batch)
            searched = still_empty
        if not searched:
            break
    return found
