"""Convert columns by a schema to typed columns: numbers, dates and categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._shared.wording import counted, join_names, listed
from .numbers_and_dates import (
    AMBIGUOUS,
    DATE_FORMATS,
    MIN_MATCHED,
    NUMBER_FORMATS,
    TextColumn,
    is_text,
    match_format,
    parse_format,
)
from .parquet_and_excel import to_categories
from .schema import ColumnSchema, InputError, ParsedFile, Schema


def convert_columns(
    parsed: ParsedFile, schema: Schema, *, inferred: bool
) -> tuple[Any, Any, list[str]]:
    """Convert the used columns to typed ones.

    Also returned are which cells are missing in the file, and what was assumed. Unless
    the schema was inferred from these rows, a column that does not fit it is an error.
    """
    converter = _Converter(parsed.name, schema, inferred)
    used = [c for c in schema.columns if c.role == "used" and c.name in parsed.frame]
    pairs = {c.name: converter.convert(c, parsed.frame[c.name]) for c in used}
    frame = pd.DataFrame({name: column for name, (column, _) in pairs.items()})
    gaps = pd.DataFrame({name: missing for name, (_, missing) in pairs.items()})
    lines = converter.other_formats + converter.describe_unmatched()
    if inferred:
        lines += _find_marks(converter.unmatched, frame)
    return frame, gaps, lines


def _find_marks(unmatched: Iterable[str], frame: Any) -> list[str]:
    """Report texts that are no numbers in one column, and categories of another."""
    texts: dict[str, None] = {}
    columns = []
    for name in frame.select_dtypes("category"):
        if both := [one for one in unmatched if one in frame[name].cat.categories]:
            columns.append(name)
            texts |= dict.fromkeys(both)
    if not columns:
        return []
    marks = join_names([f"`missing={text!r}`" for text in texts], 3)
    found = f"also a category of {listed(columns, 3)}: {listed(list(texts), 3)}"
    return [f"{found}; if this means missing, {marks}"]


class _Converter:
    """Converts columns by a schema, and collects the texts that do not fit it."""

    def __init__(self, file: str, schema: Schema, inferred: bool) -> None:
        self.file, self.schema, self.inferred = file, schema, inferred
        self.other_formats: list[str] = []
        # Text that is not what its column holds -> number of cells.
        self.unmatched: Counter[str] = Counter()
        self.unmatched_in: dict[str, str] = {}  # column -> what it holds

    def convert(self, column: ColumnSchema, cells: Any) -> tuple[Any, Any]:
        """Convert a column; also returned is which of its cells are missing."""
        marks = self.schema.missing if column.missing is None else column.missing
        if not is_text(cells):
            values = self._convert_typed(column, cells, marks)
            return values, pd.isna(values)
        text = TextColumn.from_categories(cells, marks)
        if column.kind == "categories" and column.format:
            text = text.merged(column.format)
        values = pd.Categorical.from_codes(text.codes, text.values)
        if column.kind in ("numbers", "dates"):
            values = self._convert_text(column, text.without_unit(column.unit))
        return pd.Series(values), text.codes < 0

    def _convert_text(self, column: ColumnSchema, text: TextColumn) -> Any:
        """Convert text to numbers or dates."""
        is_date = column.kind == "dates"
        # A model may have been fitted to a file that stores numbers as numbers.
        expected = column.format or ("iso" if is_date else "1.5")
        values = parse_format(expected, text.values)
        if pd.isna(values).all() and (other := _find_other_format(column, text)):
            self.other_formats.append(
                f"{column.name!r} has another format than when fitted: {other}"
            )
            values = parse_format(other, text.values)
        self._collect_unmatched(column, text, np.asarray(pd.isna(values)))
        missing = np.array("NaT" if is_date else np.nan, values.dtype)
        return np.append(values, missing)[text.codes]  # the code -1 takes the last

    def _collect_unmatched(
        self, column: ColumnSchema, text: TextColumn, unmatched: NDArray[np.bool_]
    ) -> None:
        n_cells = text.count(unmatched)
        if not n_cells:
            return
        counts = np.bincount(text.codes[text.codes >= 0], minlength=len(unmatched))
        texts = list(text.values[unmatched])
        expected = "a date" if column.kind == "dates" else "a number"
        too_many = n_cells > (1 - MIN_MATCHED) * text.n_observed + 1
        if too_many and not self.inferred:
            raise InputError(
                f"{self.file}: column {column.name!r} has {column.kind} in the model, "
                f"and here {n_cells:,} of {text.n_observed:,} cells are not "
                f"{expected}, as {listed(texts, 2)}; correct them, or fit again."
            )
        for one, n in zip(texts, counts[unmatched].tolist(), strict=True):
            self.unmatched[one] += n
        self.unmatched_in[column.name] = expected

    def describe_unmatched(self) -> list[str]:
        """Write which cells were read as missing, in one sentence."""
        if not self.unmatched:
            return []
        n_cells = counted(self.unmatched.total(), "cell")
        expected = " or ".join(sorted({*self.unmatched_in.values()}, reverse=True))
        texts = [f"{text!r} ({n:,})" for text, n in self.unmatched.most_common()]
        where = listed(list(self.unmatched_in), 3)
        not_read = f"{n_cells} read as missing, not {expected}"
        return [f"{not_read}: {join_names(texts, 3)}, in {where}"]

    def _convert_typed(
        self, column: ColumnSchema, cells: Any, marks: Sequence[str]
    ) -> Any:
        """Convert a column that the file stores as numbers, dates or ranks."""
        dtype = cells.dtype
        is_number = pd.api.types.is_numeric_dtype(dtype)  # or boolean
        if is_number:
            numbers = pd.to_numeric(pd.Series(marks, dtype=object), errors="coerce")
            numbers = numbers.dropna()
            cells = cells.mask(cells.isin(numbers)) if len(numbers) else cells
        if column.kind == "categories":
            is_ranked = isinstance(dtype, pd.CategoricalDtype)
            return cells.cat.as_unordered() if is_ranked else to_categories(cells)
        if is_number:
            return cells.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
        if column.kind == "numbers" and pd.api.types.is_datetime64_any_dtype(dtype):
            raise InputError(
                f"{self.file}: column {column.name!r} holds dates, and numbers in the "
                "model; correct it, or fit again."
            )
        return cells


def _find_other_format(column: ColumnSchema, text: TextColumn) -> str | None:
    """Find a format that all texts have."""
    formats = DATE_FORMATS if column.kind == "dates" else NUMBER_FORMATS
    found = (
        other
        for other in formats
        if other not in AMBIGUOUS and match_format(other, text.values).all()
    )
    return next(found, None)
