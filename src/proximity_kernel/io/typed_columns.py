"""Read the columns of a file by steps: first a `Schema`, then typed columns by it.

`infer_schema` tries the steps of each stage in their order, and takes the first that
applies. `convert_columns` needs the schema only, so that other rows of the same table
are read in the same way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._shared.wording import counted, join_names, listed, suggest
from ..io import (
    categories,
    dates,
    ids,
    numbers,
)
from ..io import (
    categories as scales,
)
from .column_step import MIN_MATCHED, Column, DoesNotApply, TextColumn, is_text, only_if
from .missing_marks import MissingMarks, find_signs
from .schema import ColumnSchema, InputError, ParsedFile, ReadOptions, Schema
from .typed_files import to_categories

_EXPECTED = {"dates": "a date", "numbers": "a number", "ordered": "on the scale"}
_MAX_SHOWN = 6  # columns in a list with details
_ASKED = ("ids", "only", "drop", "categorical", "numeric")  # that name columns


# ------------------------------------------------------------------------------ steps


def leave_asked_out(column: Column) -> Column:
    """Leave out a column that `drop` names."""
    only_if("drop" in column.asked)
    return column.with_role("left out")


def use_only_asked(column: Column) -> Column:
    """Use the columns that `only` names, and leave out the others."""
    only_if(column.options.only)
    return column.with_role("used" if "only" in column.asked else "left out")


def leave_nested_out(column: Column) -> Column:
    """Leave out lists and records."""
    only_if(column.cells.dtype == "object")
    return column.with_role("left out", "left out, lists or records")


def leave_empty_out(column: Column) -> Column:
    """Leave out a column without an observed cell."""
    only_if(not column.n_observed)
    return column.with_role("left out", "left out, all empty")


def check_numeric(column: Column) -> Column:
    """Raise an error if `numeric` names a column that does not hold numbers."""
    only_if("numeric" in column.asked and column.kind != "numbers")
    raise InputError(
        f"`numeric` {column.name}: too few of its cells are numbers; correct them, or "
        "mark them as missing (`missing`)."
    )


# Of each stage, the first step that applies is taken. The last stage decides what a
# column is used for; one for which none applies is used.
_STAGES: tuple[tuple[Callable[[Column], Column], ...], ...] = (
    (leave_asked_out, leave_nested_out),
    (
        categories.read_asked_categories,
        categories.read_booleans,
        scales.read_scale,
        dates.read_compact_dates,
        numbers.read_numbers,
        dates.read_dates,
        numbers.read_numbers_with_unit,
        numbers.read_mixed_units,
        categories.read_categories,
        dates.read_stored_dates,
        numbers.read_stored_numbers,
    ),
    (categories.read_codes,),
    (check_numeric,),
    (
        ids.take_asked_ids,
        leave_empty_out,
        use_only_asked,
        categories.use_asked_categories,
        ids.take_ids,
        categories.leave_free_text_out,
        categories.use_categories,
    ),
)


def _apply_steps(column: Column) -> Column:
    """Apply the stages to a column, until it is decided what it is used for."""
    for stage in _STAGES:
        for step in stage:
            with suppress(DoesNotApply):
                column = step(column)
                break
        if column.role is not None:
            return column
    return replace(column, role="used")


# ----------------------------------------------------------------------------- schema


def infer_schema(
    parsed: ParsedFile, options: ReadOptions
) -> tuple[Schema, str, list[str]]:
    """Infer how to read the columns of a file.

    Also returned are how missing cells and numbers are written, to append to the size
    of the table, and what else was assumed, in sentences.
    """
    frame, names = parsed.frame, list(parsed.frame.columns)
    asked = {
        option: _find_columns(parsed.name, option, getattr(options, option), names)
        for option in _ASKED
    }
    marks = MissingMarks.from_options(options, names)
    texts = {
        name: TextColumn.from_categories(cells, marks.of_column(name, cells))
        for name, cells in frame.items()
        if is_text(cells)
    }
    separator = parsed.layout.separator
    decimal = options.decimal or numbers.detect_decimal(texts.values(), separator)
    options = replace(options, decimal=decimal, ids=asked["ids"])
    columns = []
    for name, cells in frame.items():
        named = frozenset(option for option in _ASKED if name in asked[option])
        is_first, text = name == names[0], texts.get(name)
        column = Column(name, cells, text, options, marks, named, is_first)
        columns.append(_apply_steps(column))
    columns, id_lists = ids.settle_ids(columns)
    schema = Schema(
        tuple(_make_schema(column, marks) for column in columns), marks.of_table
    )
    lines = _describe_columns(columns, id_lists)
    if not schema.names("used"):
        why = "; ".join(lines) or "see `drop` and `ids`"
        raise InputError(
            f"{parsed.name}: no column is left to compare ({why}); `categorical` "
            "compares by a column, whatever it holds."
        )
    texts = {c.name: c.text for c in columns if c.text is not None}
    absent = marks.list_absent(frame, texts)
    used = set(schema.names("used"))
    signs = find_signs({name: texts[name] for name in texts if name in used})
    lines = [f"`missing` {one}: not found in any cell" for one in absent] + lines
    found = marks.list_found(texts) | ({*marks.as_given} - {*absent})
    written = ", decimal comma" if decimal == "," else ""
    if found:
        shown = [repr(mark) for mark in sorted(found - {""})]
        written += f", missing: {' or '.join(shown + ['empty'] * ('' in found))}"
    return schema, written, lines + signs


def _make_schema(column: Column, marks: MissingMarks) -> ColumnSchema:
    """Keep what is needed to read other rows of a column."""
    role = column.role or "used"
    own = None
    if role != "left out" or column.kind != "unchanged":
        own = marks.of_column(column.name, column.cells)
    own = None if own == marks.of_table else own
    how = (column.kind, column.format, column.unit)
    return ColumnSchema(column.name, role, *how, own, column.order)


def _describe_columns(
    columns: Iterable[Column], more: Iterable[tuple[str, str]]
) -> list[str]:
    """Write what was assumed, in sentences: first which columns are not used."""
    lists: dict[str, list[str]] = defaultdict(list)
    remarks: dict[str, list[str]] = defaultdict(list)
    for column in columns:
        for assumed, shown in column.lists:
            lists[assumed].append(shown)
        for remark in column.remarks if column.role == "used" else ():
            remarks[remark].append(column.name)
    for assumed, shown in more:
        lists[assumed].append(shown)
    starts = sorted(lists, key=lambda start: not start.startswith("left out"))
    starts.sort(key=lambda start: not start.startswith("taken as id"))
    lines = [f"{start}: {join_names(lists[start], _MAX_SHOWN)}" for start in starts]
    return lines + [f"{listed(names)}{remark}" for remark, names in remarks.items()]


def _find_columns(
    source: str, option: str, given: Iterable[str], names: list[str]
) -> frozenset[str]:
    """Find the columns that a parameter names, alone or several separated by commas.

    >>> sorted(_find_columns("a.csv", "ids", ["a,b", "c, d"], ["a", "b", "c, d"]))
    ['a', 'b', 'c, d']
    """
    found, known = set(), set(names)
    for text in given:
        parts = [text] if text in known else [one.strip() for one in text.split(",")]
        for part in filter(None, parts):
            if part not in known:
                hint = suggest(part, names) or f"; it has {listed(names, 8)}."
                raise InputError(
                    f"`{option}` {part}: {source} has no such column{hint}"
                )
            found.add(part)
    return frozenset(found)


# ---------------------------------------------------------------------- typed columns


def convert_columns(
    parsed: ParsedFile, schema: Schema, *, inferred: bool
) -> tuple[Any, Any, list[str]]:
    """Convert the used columns to typed ones.

    Also returned are which cells are missing in the file, and what was assumed. Unless
    the schema was inferred from these rows, a column that does not fit it is an error.
    """
    converter = _Converter(parsed.name, schema, inferred)
    used = [c for c in schema.columns if c.role == "used" and c.name in parsed.frame]
    cells = parsed.frame.reset_index(drop=True)
    pairs = {c.name: converter.convert(c, cells[c.name]) for c in used}
    frame = pd.DataFrame({name: column for name, (column, _) in pairs.items()})
    missing = pd.DataFrame({name: missing for name, (_, missing) in pairs.items()})
    frame.index = missing.index = parsed.frame.index
    lines = converter.other_formats + converter.describe_unmatched()
    if inferred:
        lines += _find_marks(converter.unmatched, frame)
    return frame, missing, lines


def parse_format(name: str, texts: Any) -> NDArray[Any]:
    """Parse texts in a format of numbers or dates; others become missing."""
    is_date = name in dates.DATE_FORMATS
    return (dates.parse_dates if is_date else numbers.parse_numbers)(name, texts)


@dataclass
class _Converter:
    """Converts columns by a schema, and collects the texts that do not fit it."""

    file: str
    schema: Schema
    inferred: bool
    other_formats: list[str] = field(default_factory=list)
    # Text that is not what its column holds -> number of cells.
    unmatched: Counter[str] = field(default_factory=Counter)
    unmatched_in: dict[str, str] = field(
        default_factory=dict
    )  # column -> what it holds

    def convert(self, column: ColumnSchema, cells: Any) -> tuple[Any, Any]:
        """Convert a column; also returned is which of its cells are missing."""
        marks = self.schema.missing if column.missing is None else column.missing
        if not is_text(cells):
            values = self._convert_typed(column, cells, marks)
            return values, pd.isna(values)
        text = TextColumn.from_categories(cells, marks)
        if column.kind == "ordered":
            values = self._order(column, text)
        elif column.kind in ("numbers", "dates"):
            values = self._convert_text(column, numbers.remove_unit(text, column.unit))
        else:
            text = categories.merge_spellings(column.format, text)
            labels = pd.Index(text.values, dtype="str")
            values = pd.Categorical.from_codes(text.codes, labels)
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

    def _order(self, column: ColumnSchema, text: TextColumn) -> Any:
        """Convert text to ordered categories; others become missing."""
        places = {one: k for k, one in enumerate(column.order)}
        ranks = np.array([*(places.get(one, -1) for one in text.values), -1])
        self._collect_unmatched(column, text, ranks[:-1] < 0)
        labels = pd.Index(column.order, dtype="str")
        return pd.Categorical.from_codes(ranks[text.codes], labels, ordered=True)

    def _collect_unmatched(
        self, column: ColumnSchema, text: TextColumn, unmatched: NDArray[np.bool_]
    ) -> None:
        n_cells = text.count(unmatched)
        if not n_cells:
            return
        texts = list(text.values[unmatched])
        expected = _EXPECTED[column.kind]
        too_many = n_cells > (1 - MIN_MATCHED) * text.n_observed + 1
        if too_many and not self.inferred:
            raise InputError(
                f"{self.file}: column {column.name!r} has {column.kind} in the model, "
                f"and here {n_cells:,} of {text.n_observed:,} cells are not "
                f"{expected}, as {listed(texts, 2)}; correct them, or fit again."
            )
        for one, n in zip(texts, text.n_cells[unmatched].tolist(), strict=True):
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
            marked = pd.to_numeric(pd.Series(marks, dtype=object), errors="coerce")
            marked = marked.dropna()
            cells = cells.mask(cells.isin(marked)) if len(marked) else cells
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
    is_date = column.kind == "dates"
    formats = dates.DATE_FORMATS if is_date else numbers.NUMBER_FORMATS
    known = (one for one in formats if one not in dates.AMBIGUOUS)
    found = (one for one in known if pd.notna(parse_format(one, text.values)).all())
    return next(found, None)


def _find_marks(unmatched: Counter[str], frame: Any) -> list[str]:
    """Report texts that are no numbers in one column, and categories of another."""
    texts: dict[str, None] = {}
    columns = []
    for name in frame.select_dtypes("category"):
        if both := {*frame[name].cat.categories} & unmatched.keys():
            columns.append(name)
            texts |= dict.fromkeys(one for one in unmatched if one in both)
    if not columns:
        return []
    marks = join_names([f"`missing={text!r}`" for text in texts], 3)
    found = f"also a category of {listed(columns, 3)}: {listed(list(texts), 3)}"
    return [f"{found}; if this means missing, {marks}"]
