"""A parsed file and a schema in, a `LoadedTable` out: cells become typed values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from .delimited_text import parse_text
from .errors import InputError
from .file_type import InputFile
from .formats import (
    AMBIGUOUS,
    DATE_FORMATS,
    NUMBER_FORMATS,
    match_format,
    parse_format,
    remove_unit,
)
from .kinds import infer_schema
from .missing_marks import find_missing_codes
from .parsed_file import ParsedFile, is_text, to_categories
from .reader import LoadedTable
from .schema import MIN_MATCHED, ColumnSchema, FileLayout, ReadOptions, Schema
from .spreadsheet import parse_sheet
from .text_column import TextColumn
from .typed_file import parse_typed
from .wording import counted, find_similar, listed

_SHOWN = {"\t": "tab", " ": "blanks"}


def load_table(
    file: InputFile, options: ReadOptions, schema: Schema | None = None
) -> LoadedTable:
    """Read a table from a file.

    Parameters
    ----------
    file : InputFile
    options : ReadOptions
    schema : Schema, optional
        Of an earlier table, to read this one in the same way.

    Returns
    -------
    LoadedTable
    """
    options.refuse_for(file.name, file.type)
    parse = {"text": parse_text, "excel": parse_sheet}.get(file.type, parse_typed)
    parsed = parse(file, options)
    if not len(parsed.frame):
        raise InputError(f"{file.name}: the table has column names, but no rows.")
    if schema is not None:
        return apply_schema(parsed, schema, earlier=True)
    schema, marks, inferred = infer_schema(parsed, options)
    table = apply_schema(parsed, schema, marks=marks, inferred=inferred)
    found = [*find_missing_codes(table.frame), *_find_constants(table.frame)]
    return replace(table, assumptions=(*table.assumptions, *found))


def apply_schema(
    parsed: ParsedFile,
    schema: Schema,
    *,
    marks: str = "",
    inferred: list[str] | None = None,
    earlier: bool = False,
) -> LoadedTable:
    """Convert the columns of a parsed file.

    Parameters
    ----------
    parsed : ParsedFile
    schema : Schema
    marks : str
        How missing cells and numbers are written, to append to the size of the table.
    inferred : list of str, optional
        What was assumed to infer the schema.
    earlier : bool
        Whether the schema is that of an earlier table. Then columns may differ: ids may
        be absent, and additional columns are left out.

    Returns
    -------
    LoadedTable
    """
    n_rows, n_columns = parsed.frame.shape
    size = f"{counted(n_rows, 'row')}, {counted(n_columns, 'column')}"
    separator = _describe_separator(parsed.layout)
    assumptions = [f"{parsed.name}: {size}{separator}{marks}"]
    assumptions += [*parsed.assumptions, *(inferred or [])]
    if earlier:
        assumptions += _compare_columns(parsed, schema)
    converter = _Converter(parsed, schema, assumptions)
    present = [c for c in schema.columns if c.name in parsed.frame]
    frame = pd.DataFrame(
        {c.name: converter.convert(c) for c in present if c.role == "used"}
    )
    assumptions += converter.describe_unmatched()
    if n_empty := int(frame.isna().all(axis=1).sum()):
        assumptions.append(describe_empty_rows(n_empty))
    ids = parsed.frame[[c.name for c in present if c.role == "id"]]
    texts = dict.fromkeys(ids.select_dtypes("category"), object)
    return LoadedTable(
        parsed.name,
        frame,
        ids.astype(texts),
        parsed.frame[[c.name for c in present if c.role == "left out"]],
        schema,
        parsed.layout,
        tuple(assumptions),
    )


def describe_empty_rows(n_rows: int) -> str:
    """Write how many rows have no observed cell."""
    have = "has" if n_rows == 1 else "have"
    return f"{counted(n_rows, 'row')} {have} no observed cell"


def _describe_separator(layout: FileLayout) -> str:
    if layout.type != "text":
        return ""
    if layout.separator is None:
        return ", no separator found (`sep`)"
    return f", separator {_SHOWN.get(layout.separator, repr(layout.separator))}"


def _compare_columns(parsed: ParsedFile, schema: Schema) -> list[str]:
    """Check that no column of an earlier table is absent; report what is left out."""
    names = list(parsed.frame.columns)
    known = {column.name for column in schema.columns}
    new = [name for name in names if name not in known]
    absent = [name for name in schema.names("used") if name not in names]
    if absent:
        several = len(absent) > 1
        similar = {name: find_similar(name, new) for name in absent}
        pairs = [f"{other!r} for {name!r}" for name, other in similar.items() if other]
        hint = f"; it has {listed(names, 8)}."
        if pairs:
            hint = f", did you mean {', '.join(pairs[:5])}? Rename to match."
        raise InputError(
            f"{parsed.name}: the model was fitted with the column{'s' * several} "
            f"{listed(absent)}, which {'are' if several else 'is'} not in this table"
            f"{hint}"
        )
    lines = []
    if new:
        lines.append(f"unknown to the model, left out: {listed(new)}")
    if out := [name for name in schema.names("left out") if name in names]:
        lines.append(f"left out, as when fitted: {listed(out)}")
    return lines


def _find_constants(frame: Any) -> list[str]:
    """Report the columns with a single value, which cannot tell rows apart."""
    constant = [name for name in frame if frame[name].nunique(dropna=False) == 1]
    if len(frame) < 2 or not constant:
        return []
    verb = "has one value: it" if len(constant) == 1 else "have one value: each"
    effect = "adds the same to every similarity (`drop` leaves it out)"
    return [f"{listed(constant)} {verb} {effect}"]


class _Converter:
    """Converts columns by a schema, and collects the texts that do not fit it."""

    def __init__(
        self, parsed: ParsedFile, schema: Schema, assumptions: list[str]
    ) -> None:
        self.parsed, self.schema, self.assumptions = parsed, schema, assumptions
        # Texts that are not a number (or a date) -> columns, with cells.
        self.unmatched: dict[str, dict[str, int]] = {}

    def convert(self, column: ColumnSchema) -> Any:
        """Convert a column."""
        cells = self.parsed.frame[column.name]
        if not is_text(cells):
            numbers = self.schema.missing_numbers()
            if numbers and pd.api.types.is_numeric_dtype(cells.dtype):
                cells = cells.mask(cells.isin(numbers))
            return self._convert_typed(column, cells.reset_index(drop=True))
        text = TextColumn.from_categories(cells, self.schema.missing)
        if column.kind in ("categories", "unchanged"):
            return pd.Series(pd.Categorical.from_codes(text.codes, text.values))
        return self._convert_text(column, text)

    def _convert_text(self, column: ColumnSchema, text: TextColumn) -> Any:
        """Convert text to numbers or dates."""
        is_date = column.kind == "dates"
        # A model may have been fitted to a file that stores numbers as numbers.
        expected = column.format or ("iso" if is_date else "1.5")
        texts = remove_unit(text.values, column.unit)
        values = parse_format(expected, texts)
        if pd.isna(values).any():
            other = _find_other_format(column, expected, texts)
            if other:
                self.assumptions.append(
                    f"{column.name!r} has another format than when fitted: {other}"
                )
                values = parse_format(other, texts)
            self._collect_unmatched(column, text, values)
        missing = np.array("NaT" if is_date else np.nan, values.dtype)
        padded = np.append(values, missing)  # the code -1 takes the last
        return pd.Series(padded[text.codes])

    def _collect_unmatched(
        self, column: ColumnSchema, text: TextColumn, values: Any
    ) -> None:
        unmatched = np.asarray(pd.isna(values))
        n_cells = text.count(unmatched)
        if not n_cells:
            return
        texts = list(text.values[unmatched])
        expected = "a date" if column.kind == "dates" else "a number"
        if n_cells > (1 - MIN_MATCHED) * text.n_observed + 1:
            raise InputError(
                f"{self.parsed.name}: column {column.name!r} has {column.kind} in the "
                f"model, and here {n_cells:,} of {text.n_observed:,} cells are not "
                f"{expected}, as {listed(texts, 2)}; correct them, or fit again."
            )
        columns = self.unmatched.setdefault(f"{listed(texts, 3)} is not {expected}", {})
        columns[column.name] = n_cells

    def describe_unmatched(self) -> list[str]:
        """Write which texts are read as missing because they do not fit."""
        return [
            f"{listed(list(columns), 3)}: {what}, read as missing "
            f"({counted(sum(columns.values()), 'cell')})"
            for what, columns in self.unmatched.items()
        ]

    def _convert_typed(self, column: ColumnSchema, cells: Any) -> Any:
        """Convert a column that the file stores as numbers, dates or ranks."""
        dtype = cells.dtype
        if column.kind == "categories":
            is_ranked = isinstance(dtype, pd.CategoricalDtype)
            return cells.cat.as_unordered() if is_ranked else to_categories(cells)
        if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
            return cells.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
        if column.kind == "numbers" and pd.api.types.is_datetime64_any_dtype(dtype):
            raise InputError(
                f"{self.parsed.name}: column {column.name!r} holds dates, and numbers "
                "in the model; correct it, or fit again."
            )
        return cells


def _find_other_format(column: ColumnSchema, expected: str, texts: Any) -> str | None:
    """Find a format that all texts have, if none has the expected one."""
    if match_format(expected, texts).any():
        return None
    formats = DATE_FORMATS if column.kind == "dates" else NUMBER_FORMATS
    found = (
        other
        for other in formats
        if other not in AMBIGUOUS and match_format(other, texts).all()
    )
    return next(found, None)
