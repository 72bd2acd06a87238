"""Infer a `Schema` from the columns of a file, and convert columns by a schema.

`infer_schema` applies, in each stage, the first step that applies to a column.
`convert_columns` needs only the schema, so that other rows of the same table are read
in the same way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._shared.wording import counted, join_names, listed, suggest
from . import categories, dates, ids, numbers
from .cells import to_categories
from .column_step import (
    MIN_MATCHED,
    Column,
    DoesNotApply,
    TextColumn,
    if_named,
    is_text,
    only_if,
)
from .missing_marks import MissingMarks, report_minus_values
from .schema import ColumnSchema, Doubt, InputError, ParsedFile, ReadOptions, Schema

_EXPECTED = {"dates": "a date", "numbers": "a number", "ordered": "on the scale"}
# Kind of values -> their formats; "" if the file stores numbers or dates as such.
_FORMATS = {
    "numbers": ("", *numbers.NUMBER_FORMATS),
    "dates": ("", *dates.DATE_FORMATS),
    "categories": ("", categories.BOOLEAN, categories.ANY_CASE),
    "ordered": ("",),
    "unchanged": ("",),
}
_MAX_SHOWN = 6  # columns in a list with details
_COLUMN_OPTIONS = ("ids", "only", "drop", "categorical", "numeric")
_OPPOSITES = (
    ("numeric", "categorical"), ("drop", "only"), ("drop", "ids"),
    ("drop", "categorical"), ("drop", "numeric"),
    ("ids", "categorical"), ("ids", "numeric"),
)  # fmt: skip


# ------------------------------------------------------------------------------ steps


def use_only_named(column: Column) -> Column:
    """If the option `only` is given, use a column that it names; keep ids of others."""
    only_if(column.options.only)
    if "only" in column.named_in:
        return column.with_role("used")
    with suppress(DoesNotApply):
        return ids.take_ids(column)
    return column.with_role("left out")


def leave_nested_out(column: Column) -> Column:
    """Leave out a column of nested cells: lists or structs."""
    only_if(column.cells.dtype == "object")
    return column.with_role("left out", "left out, lists or records")


def leave_empty_out(column: Column) -> Column:
    """Leave out a column in which all cells are missing."""
    only_if(not column.n_observed)
    return column.with_role("left out", "left out, all empty")


def check_numeric(column: Column) -> Column:
    """Raise InputError if `numeric` names a column that was not read as numbers."""
    only_if("numeric" in column.named_in and column.kind != "numbers")
    raise InputError(
        f"`numeric` {column.name}: too few of its cells are numbers; correct the other "
        "cells, or mark them as missing (`missing`)."
    )


# In each stage, the first step that applies is used. The last stage sets the role of a
# column; "used" if none applies.
_STAGES: tuple[tuple[Callable[[Column], Column], ...], ...] = (
    (if_named("drop", role="left out"), leave_nested_out),
    (
        if_named("categorical", kind="categories"),
        categories.read_booleans,
        categories.read_scale,
        dates.read_compact_dates,
        numbers.read_numbers,
        dates.read_dates,
        numbers.read_numbers_with_unit,
        numbers.read_mixed_units,
        numbers.read_numbers_mostly_with_unit,
        categories.read_categories,
        dates.read_stored_dates,
        numbers.read_stored_numbers,
    ),
    (categories.read_codes,),
    (check_numeric,),
    (
        if_named("ids", role="id"),
        leave_empty_out,
        use_only_named,
        if_named("categorical", role="used"),  # even if it looks like an id
        ids.take_ids,
        categories.leave_free_text_out,
        categories.use_categories,
    ),
)


def _apply_steps(column: Column) -> Column:
    """Apply the stages to a column, until its role is decided."""
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
    """Infer how to read each column of a file.

    Also returns the decimal comma and the missing-value markers that were found, to
    append to the size of the table, and what else was assumed, in sentences.
    """
    frame, names = parsed.frame, list(parsed.frame.columns)
    named = {
        option: _resolve_columns(parsed.name, option, getattr(options, option), names)
        for option in _COLUMN_OPTIONS
    }
    for option, other in _OPPOSITES:
        if both := sorted(named[option] & named[other]):
            raise InputError(
                f"`{option}` and `{other}` both name {both[0]}; name it in one only."
            )
    marks = MissingMarks.from_options(options, names)
    texts = {
        name: TextColumn.from_categories(cells, marks.of_column(name, cells))
        for name, cells in frame.items()
        if is_text(cells)
    }
    separator = parsed.layout.separator
    decimal = options.decimal or numbers.detect_decimal(texts.values(), separator)
    assumed = options.decimal is None
    options = replace(options, decimal=decimal, ids=named["ids"])
    columns = []
    for name, cells in frame.items():
        named_in = frozenset(option for option in named if name in named[option])
        is_first, text = name == names[0], texts.get(name)
        column = Column(name, cells, text, options, marks, named_in, is_first)
        columns.append(_apply_steps(column))
    columns, id_lists = ids.choose_ids(columns)
    schema = Schema(
        tuple(_make_column_schema(column, marks) for column in columns), marks.of_table
    )
    lines = _describe_columns(columns, id_lists)
    if not schema.names("used"):
        why = "; ".join(lines) or "see `drop` and `ids`"
        raise InputError(
            f"{parsed.name}: no column is left to compare ({why}); a column named in "
            "`categorical` is compared, unless it is empty."
        )
    texts = {c.name: c.text for c in columns if c.text is not None}
    absent = marks.list_absent(frame, texts)
    used = set(schema.names("used"))
    used_texts = {name: text for name, text in texts.items() if name in used}
    signs = report_minus_values(used_texts)
    if assumed and decimal == ".":
        signs += numbers.report_thousands(used_texts, separator)
    not_found = "not found in any cell"
    lines = [
        f"`missing` {one}: {not_found}{suggest(one.rpartition('=')[0], names)}"
        for one in absent
    ] + lines
    found = marks.list_found(texts) | ({*marks.as_given} - {*absent})
    written = ", decimal comma" if decimal == "," else ""
    if found:
        shown = [repr(mark) for mark in sorted(found - {""})]
        written += f", missing: {' or '.join(shown + ['empty'] * ('' in found))}"
    return schema, written, lines + signs


def _make_column_schema(column: Column, marks: MissingMarks) -> ColumnSchema:
    """Make the schema of a column from the decisions of the steps."""
    own = None
    if column.role != "left out" or column.kind != "unchanged":
        own = marks.of_column(column.name, column.cells)
    own = None if own == marks.of_table else own
    how = (column.role or "used", column.kind, column.format, column.unit)
    return ColumnSchema(column.name, *how, own, column.order)


def _describe_columns(
    columns: Sequence[Column], more: Iterable[tuple[str, str]]
) -> list[str]:
    """List the assumptions about columns in sentences: ids, left out columns, others.

    `more` has further entries in the form of `Column.lists`.
    """
    lists: dict[str, list[str]] = defaultdict(list)
    remarks: dict[str, list[str]] = defaultdict(list)
    for column in columns:
        for remark in column.remarks if column.role == "used" else ():
            remarks[remark].append(column.name)
    for assumed, shown in chain(*(column.lists for column in columns), more):
        lists[assumed].append(shown)
    starts = sorted(lists, key=lambda start: not start.startswith("left out"))
    starts.sort(key=lambda start: not start.startswith("taken as id"))
    lines = [
        type(start)(f"{start}: {join_names(lists[start], _MAX_SHOWN)}")
        for start in starts
    ]
    return lines + [f"{listed(names)}{remark}" for remark, names in remarks.items()]


def fill_down(parsed: ParsedFile, options: ReadOptions) -> ParsedFile:
    """Fill the empty cells of the columns that `fill_down` names with the value above.

    >>> frame = pd.DataFrame({"area": ["N", "", None, "S"]}, dtype="category")
    >>> parsed = ParsedFile("a.csv", frame, frame, None, ())
    >>> fill_down(parsed, ReadOptions(fill_down="area")).frame["area"].tolist()
    ['N', 'N', 'N', 'S']
    """
    found = _resolve_columns(
        parsed.name, "fill_down", options.fill_down, list(parsed.frame)
    )
    names = [name for name in parsed.frame if name in found]
    if not names:
        return parsed
    frame, source, rows = parsed.frame.copy(), parsed.source.copy(), parsed.frame.index
    for name in names:
        cells = frame[name]
        is_empty = cells.isna() | (cells.astype(str).str.strip() == "")
        above = np.maximum.accumulate(np.where(is_empty, 0, np.arange(len(cells))))
        frame[name] = cells.take(above).set_axis(rows)
        source.loc[rows, name] = source[name].loc[rows[above]].to_numpy()
    said = f"empty cells filled with the value above: {listed(names)}"
    return replace(
        parsed, source=source, frame=frame, assumptions=(*parsed.assumptions, said)
    )


def _resolve_columns(
    source: str, option: str, given: Iterable[str], names: list[str]
) -> frozenset[str]:
    """Find the columns that an option names; a string may name several ("a,b").

    A line break in a name may be written as a blank.

    >>> sorted(_resolve_columns("a.csv", "ids", ["a,b", "c, d"], ["a", "b", "c, d"]))
    ['a', 'b', 'c, d']
    """
    found = set()
    known = {" ".join(name.split()): name for name in names}
    known |= {name: name for name in names}
    for text in given:
        parts = [text] if text in known else [one.strip() for one in text.split(",")]
        for part in filter(None, parts):
            if part not in known:
                hint = suggest(part, names) or f"; it has {listed(names, 8)}."
                raise InputError(
                    f"`{option}` {part}: {source} has no such column{hint}"
                )
            found.add(known[part])
    return frozenset(found)


# ---------------------------------------------------------------------- typed columns


def check_schema(schema: Any) -> None:
    """Raise InputError unless `read_table` can have made a schema."""
    good = isinstance(schema, Schema) and _are_texts(schema.missing)
    columns = schema.columns if good else ()
    good = good and all(isinstance(one, ColumnSchema) for one in columns)
    good = good and all(map(_is_known, columns))
    if not good or len({column.name for column in columns}) < len(columns):
        raise InputError(
            "`schema` is not one that read_table makes; pass the `schema` of a table "
            "that it read."
        )


def _is_known(column: ColumnSchema) -> bool:
    """Whether the values of a column's schema are such as `infer_schema` chooses."""
    marks = () if column.missing is None else column.missing
    texts = (column.name, column.role, column.kind, column.format, column.unit)
    return (
        _are_texts((*texts, *marks, *column.order))
        and column.role in ("used", "id", "left out")
        and column.format in _FORMATS.get(column.kind, ())
        and numbers.is_unit(column.unit)
    )


def is_written_as(column: ColumnSchema, text: str) -> bool:
    """Whether a text is one number or date in the format of a column."""
    if column.kind not in ("numbers", "dates") or not _are_texts([text]):
        return False
    cells = TextColumn.from_categories(pd.Series([text], dtype="category"), [])
    form = column.format or ("iso" if column.kind == "dates" else "1.5")
    bare = numbers.remove_unit(cells, column.unit).values
    return len(bare) == 1 and bool(pd.notna(parse_format(form, bare)).all())


def _are_texts(values: Iterable[Any]) -> bool:
    return all(type(value) is str for value in values)


def convert_columns(
    parsed: ParsedFile, schema: Schema, *, inferred: bool
) -> tuple[Any, Any, list[str]]:
    """Convert the used columns of a file to float64, datetime64 or categorical.

    Also returns which cells are missing in the file (a string that does not parse is
    missing in the first frame only), and what was assumed, in sentences. If `schema`
    was not `inferred` from these rows, a column that does not fit it raises InputError.
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
        lines += _report_likely_marks(converter.unmatched, frame)
    return frame, missing, lines


def parse_format(name: str, texts: Any) -> NDArray[Any]:
    """Parse strings in the given number or date format; others become NaN or NaT."""
    is_date = name in dates.DATE_FORMATS
    return (dates.parse_dates if is_date else numbers.parse_numbers)(name, texts)


@dataclass
class _Converter:
    """Convert columns by a schema, and collect the strings that do not parse."""

    file: str
    schema: Schema
    inferred: bool
    other_formats: list[str] = field(default_factory=list)
    # String that does not parse -> number of cells.
    unmatched: Counter[str] = field(default_factory=Counter)
    # Column with such strings -> what was expected.
    unmatched_in: dict[str, str] = field(default_factory=dict)

    def convert(self, column: ColumnSchema, cells: Any) -> tuple[Any, Any]:
        """Convert a column; also return a mask of the cells missing in the file."""
        marks = self.schema.missing if column.missing is None else column.missing
        if not is_text(cells):
            values = self._convert_typed(column, cells, marks)
            return values, pd.isna(values)
        text = TextColumn.from_categories(cells, marks)
        if column.kind == "ordered":
            values = self._convert_ordered(column, text)
        elif column.kind in ("numbers", "dates"):
            values = self._convert_text(column, text)
        else:
            text = categories.merge_spellings(column.format, text)
            labels = pd.Index(text.values, dtype="str")
            values = pd.Categorical.from_codes(text.codes, labels)
        return pd.Series(values), text.codes < 0

    def _convert_text(self, column: ColumnSchema, text: TextColumn) -> Any:
        """Parse strings as numbers or dates, in the format of the schema.

        If none parses, another format that all strings have is used, and reported.
        """
        is_date = column.kind == "dates"
        # A model may have been fitted to a file that stores numbers as numbers.
        expected = column.format or ("iso" if is_date else "1.5")
        bare = numbers.remove_unit(text, column.unit)
        values = parse_format(expected, bare.values)
        read_nothing = len(text.values) > 0 and pd.isna(values).all()
        if read_nothing and (other := _find_other_format(column, bare)):
            self.other_formats.append(
                f"{column.name!r} has another format than when fitted: {other}"
            )
            values = parse_format(other, bare.values)
        self._collect_unmatched(column, text, np.asarray(pd.isna(values)))
        missing = np.array("NaT" if is_date else np.nan, values.dtype)
        return np.append(values, missing)[text.codes]  # the code -1 takes the last

    def _convert_ordered(self, column: ColumnSchema, text: TextColumn) -> Any:
        """Convert strings to an ordered categorical; unknown labels become missing."""
        places = {one: k for k, one in enumerate(column.order)}
        ranks = np.array([*(places.get(one, -1) for one in text.values), -1])
        self._collect_unmatched(column, text, ranks[:-1] < 0)
        labels = pd.Index(column.order, dtype="str")
        return pd.Categorical.from_codes(ranks[text.codes], labels, ordered=True)

    def _collect_unmatched(
        self, column: ColumnSchema, text: TextColumn, unmatched: NDArray[np.bool_]
    ) -> None:
        """Collect the strings that do not parse, which the mask `unmatched` selects.

        Raises InputError if too many cells have them, and the schema was inferred from
        another table.
        """
        n_cells = text.count(unmatched)
        if not n_cells:
            return
        texts = list(text.values[unmatched])
        expected = _EXPECTED[column.kind]
        if column.unit and ", " not in column.unit:
            expected += f" in {column.unit}"
        too_many = n_cells > (1 - MIN_MATCHED) * text.n_observed + 1
        if too_many and not self.inferred:
            kind = "an order" if column.order else column.kind
            raise InputError(
                f"{self.file}: column {column.name!r} has {kind} in the model, "
                f"and here {n_cells:,} of {text.n_observed:,} cells are not "
                f"{expected}, such as {listed(texts, 2)}; correct them, or fit again."
            )
        for one, n in zip(texts, text.n_cells[unmatched].tolist(), strict=True):
            self.unmatched[one] += n
        self.unmatched_in[column.name] = expected

    def describe_unmatched(self) -> list[str]:
        """Describe the strings that did not parse in a list of at most one sentence."""
        if not self.unmatched:
            return []
        n_cells = counted(self.unmatched.total(), "cell")
        expected = " or ".join(sorted({*self.unmatched_in.values()}, reverse=True))
        texts = [f"{text!r} ({n:,})" for text, n in self.unmatched.most_common()]
        where = listed(list(self.unmatched_in), 3)
        not_read = f"{n_cells} read as missing, not {expected}"
        return [Doubt(f"{not_read}: {join_names(texts, 3)}, in {where}")]

    def _convert_typed(
        self, column: ColumnSchema, cells: Any, marks: Sequence[str]
    ) -> Any:
        """Convert a column that the file stores as numbers, dates or ordered labels.

        Numbers that are among the missing-value markers become missing.
        """
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
    """Find an unambiguous number or date format that all strings have, or None."""
    is_date = column.kind == "dates"
    formats = dates.DATE_FORMATS if is_date else numbers.NUMBER_FORMATS
    known = (one for one in formats if one not in dates.AMBIGUOUS)
    found = (one for one in known if pd.notna(parse_format(one, text.values)).all())
    return next(found, None)


def _report_likely_marks(unmatched: Counter[str], frame: Any) -> list[str]:
    """Report categories that are unparsable cells in a column of numbers or dates."""
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
