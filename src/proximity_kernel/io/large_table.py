"""A large file in, its table out in batches: the counterpart of `read_table`.

The schema is inferred from the first rows of the file. A column that is empty there is
searched for in later rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .._shared.extras import require
from .errors import InputError
from .file_type import find_batched_type
from .reader import LoadedTable
from .schema import ReadOptions, Schema
from .wording import counted

if TYPE_CHECKING:
    from .large_file import LargeFile

SAMPLE_ROWS = 2**17
"""First rows of the file, from which the schema is inferred."""


@dataclass(frozen=True)
class LargeTable:
    """A table that is read from its file in batches, as often as needed.

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

    def read(self) -> Iterator[tuple[int, LoadedTable]]:
        """Read all rows once.

        Yields
        ------
        int
            Index of the batch's first row in the file.
        LoadedTable
        """
        from .conversion import apply_schema

        columns, start = self._find_columns(), 0
        for batch in self.file.read(columns):
            parsed = self.file.convert(batch, start)
            table = apply_schema(parsed, self.schema, earlier=self.earlier)
            for name in self._incomplete_ids & set(table.ids.select_dtypes("integer")):
                table.ids[name] = table.ids[name].astype(float)  # as in the others
            yield start, table
            start += batch.num_rows

    @cached_property
    def _incomplete_ids(self) -> set[str]:
        """Id columns that have missing cells in some batch."""
        names = [name for name in self.schema.names("id") if name in self.file.columns]
        return {
            name
            for batch in (self.file.read(names) if names else ())
            for name in names
            if batch[name].null_count
        }

    def _find_columns(self) -> list[str] | None:
        """List the columns to read; None for all, if some were renamed."""
        used, known = self.schema.names("used"), set(self.file.columns)
        ids = self.schema.names("id")
        if self.earlier:  # ids may be absent
            ids = [name for name in ids if name in known]
        unique = len(known) == len(self.file.columns)
        return [*ids, *used] if unique and known.issuperset([*ids, *used]) else None


def open_large_table(
    path: str, *, schema: Schema | None = None, **options: Any
) -> LargeTable:
    """Open a Parquet or Arrow file whose table is read in batches.

    Parameters
    ----------
    path : str
    schema : Schema, optional
        Of an earlier table.
    **options
        The other parameters of `read_table`. Those about text and sheets (`sep`,
        `encoding`, `header`, `sheet`) are errors.

    Returns
    -------
    LargeTable
    """
    file = _open(path)
    if file is None:
        raise InputError(f"{path} is not a Parquet or Arrow file; convert it to one.")
    given = ReadOptions(**options)
    given.refuse_for(path, file.type)
    return _infer(file, given, schema)


def count_rows(path: str) -> int | None:
    """Count the rows of a file that can be read in batches; None if it cannot."""
    file = _open(path)
    return None if file is None else file.n_rows


def _open(path: str) -> LargeFile | None:
    file_type = find_batched_type(path)
    if file_type is None:
        return None
    require("pandas", extra="cli")
    from .large_file import open_large_file

    return open_large_file(path, file_type)


def _infer(file: LargeFile, options: ReadOptions, schema: Schema | None) -> LargeTable:
    from .conversion import apply_schema
    from .large_file import BATCH_ROWS
    from .missing_marks import find_missing_codes

    first = next(file.read()).slice(0, SAMPLE_ROWS)
    sample = file.convert(first, 0)
    earlier, marks = schema is not None, ""
    if schema is None:
        schema, marks, lines = _infer_schema(file, first, options)
        lines += find_missing_codes(apply_schema(sample, schema).frame)
    else:
        known = apply_schema(sample, schema, earlier=True).assumptions[1:]
        left_out = ("unknown to the model", "left out, as when fitted")
        lines = [line for line in known if line.startswith(left_out)]
    n_columns = counted(sample.frame.shape[1], "column")
    size = f"{counted(file.n_rows, 'row')}, {n_columns}"
    batches = "in one batch"
    if file.n_rows > BATCH_ROWS:
        batches = f"in batches of {BATCH_ROWS:,} rows"
    if file.n_rows > SAMPLE_ROWS and not earlier:
        batches += f"; columns inferred from the first {SAMPLE_ROWS:,} rows"
    assumptions = (f"{file.name}: {size}{marks}", f"read {batches}")
    return LargeTable(
        file, schema, (*assumptions, *sample.assumptions, *lines), earlier
    )


def _infer_schema(
    file: LargeFile, sample: Any, options: ReadOptions
) -> tuple[Schema, str, list[str]]:
    """Infer a schema from the first rows, and from later ones where these are empty."""
    from .kinds import infer_schema

    parsed = file.convert(sample, 0)
    schema, marks, lines = infer_schema(parsed, options)
    later = []
    if sample.num_rows < file.n_rows:
        empty = _find_empty(parsed.frame, schema.missing)
        later = _find_later(file, empty, schema.missing)
    if not later:
        return schema, marks, lines
    arrow = require("pyarrow", extra="cli")
    joined = arrow.concat_tables([sample, *later], promote_options="permissive")
    # Ids are kept: a column that numbers the rows does not do so in the joined rows.
    ids = [] if options.ids else schema.names("id")
    id_lines = [line for line in lines if ids and line.startswith("taken as id")]
    options = replace(options, ids=(*options.ids, *ids))
    parsed = file.convert(joined.unify_dictionaries(), 0)
    schema, marks, lines = infer_schema(parsed, options)
    return schema, marks, [*id_lines, *lines]


def _find_empty(frame: Any, missing: Sequence[str]) -> list[str]:
    """List the columns in which no cell is observed."""
    from .parsed_file import is_text
    from .text_column import TextColumn

    def is_empty(column: Any) -> bool:
        if is_text(column):
            return not TextColumn.from_categories(column, missing).n_observed
        return bool(column.isna().all())

    return [name for name in frame if is_empty(frame[name])]


def _find_later(file: LargeFile, empty: list[str], missing: Sequence[str]) -> list[Any]:
    """Find batches that observe columns which are empty in the first rows."""
    searched = [name for name in empty if name in file.columns]
    found = []
    for batch in file.read() if searched else ():
        frame = file.convert(batch.select(searched), 0).frame
        still_empty = _find_empty(frame, missing)
        if len(still_empty) < len(searched):
            found.append(batch)
            searched = still_empty
        if not searched:
            break
    return found
