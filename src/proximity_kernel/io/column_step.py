"""The interface of the steps that infer how to read a column.

A step is a function that takes a `Column` and returns a copy with one more decision:
the type of its values, their format, or that it is an id. A step that does not
apply to a column raises `DoesNotApply`, and the next step is tried. ``numbers``,
``dates``, ``categories`` and ``ids`` hold the steps, ``typed_columns`` their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .schema import Kind, ReadOptions, Role

if TYPE_CHECKING:
    from .missing_marks import MissingMarks

MIN_MATCHED = 0.8
"""Minimum share of cells that parse, in a column that is read as numbers or dates."""
MAX_OTHERS = 5
"""Maximum number of distinct strings that do not parse, in such a column."""


class DoesNotApply(Exception):  # noqa: N818  (not an error: the next step is tried)
    """Raised by a step that does not apply to a column; the next step is tried."""


def only_if(condition: object) -> None:
    """Raise `DoesNotApply` unless the given condition is true."""
    if not condition:
        raise DoesNotApply


def if_named(option: str, **decided: Any) -> Callable[[Column], Column]:
    """Make a step that applies to the columns that an option such as `ids` names."""

    def step(column: Column) -> Column:
        only_if(option in column.named_in)
        return replace(column, **decided)

    return step


def is_text(cells: Any) -> bool:
    """Whether a column of a `ParsedFile` holds strings: an unordered categorical."""
    dtype = cells.dtype
    return isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of strings, each distinct string stored once.

    `values` has the distinct strings that are not missing, without whitespace around
    them; `codes`, of shape (n_rows,), the index of each cell's string, -1 if it is
    missing; `marks` the missing-value markers found in the column, ``""`` for an empty
    cell.
    """

    values: NDArray[np.object_]
    codes: NDArray[np.int64]
    marks: tuple[str, ...]

    @classmethod
    def from_categories(cls, cells: Any, missing: Iterable[str]) -> TextColumn:
        """Strip the strings of a categorical; read the strings in `missing` as missing.

        >>> cells = pd.Series(["a ", "?", "b", "a"], dtype="category")
        >>> text = TextColumn.from_categories(cells, ["?"])
        >>> list(text.values), text.codes.tolist(), text.marks
        (['a', 'b'], [0, -1, 1, 0], ('?',))
        """
        codes, categories = cells.cat.codes.to_numpy(), cells.cat.categories
        present = np.unique(codes[codes >= 0])
        whole = {mark for mark in missing if re.fullmatch(r"[+-]?\d+", mark)}
        known, values, marks = {*missing}, dict[str, int](), dict[str, None]()
        new_codes = np.full(len(categories) + 1, -1)
        for code, text in zip(
            present, categories.take(present).to_numpy(), strict=True
        ):
            stripped = str(text).strip()
            mark = _cut_zeros(stripped, whole)
            if mark in known:
                marks[mark] = None
            else:
                new_codes[code] = values.setdefault(stripped, len(values))
        if (codes < 0).any():
            marks[""] = None
        return cls(np.array([*values], object), new_codes[codes], tuple(marks))

    @cached_property
    def n_cells(self) -> NDArray[np.int64]:
        """For each string of `values`, the number of cells that have it."""
        observed = self.codes[self.codes >= 0]
        return np.bincount(observed, minlength=len(self.values))

    @property
    def n_observed(self) -> int:
        """Number of cells that are not missing."""
        return int(self.n_cells.sum())

    def is_mostly(
        self, selected: NDArray[np.bool_], least: float = MIN_MATCHED
    ) -> bool:
        """Whether at least the share `least` of the observed cells is selected.

        `selected` is a mask of `values`. False if it selects no cell.
        """
        n_selected = self.count(selected)
        return n_selected > 0 and n_selected >= least * self.n_observed

    def count(self, selected: NDArray[np.bool_]) -> int:
        """Count the cells whose string is selected by a mask of `values`."""
        return int(self.n_cells[selected].sum())

    def replaced(self, values: Iterable[str]) -> TextColumn:
        """Replace each string of `values` by a new string, and merge equal new strings.

        >>> text = TextColumn(np.array(["a", "b"], object), np.array([1, -1, 0]), ("",))
        >>> text.replaced(["A", "A"]).codes.tolist()
        [0, -1, 0]
        """
        distinct: dict[str, int] = {}
        codes = [distinct.setdefault(one, len(distinct)) for one in values]
        new_codes = np.array([*codes, -1])[self.codes]
        return TextColumn(np.array([*distinct], object), new_codes, self.marks)


def _cut_zeros(text: str, whole: Collection[str]) -> str:
    """Convert "99.0" to "99" if "99" is in `whole`, the markers that are integers.

    >>> [_cut_zeros(text, ["99"]) for text in ("99.0", "99,00", "98.0")]
    ['99', '99', '98.0']
    """
    cut = re.sub(r"[.,]00?$", "", text) if whole else text
    return cut if cut in whole else text


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a file, and what the steps have decided about it so far.

    `cells` is as in `ParsedFile.frame`; `text` has the same cells as strings, and is
    None if the file stores numbers or dates. `options.decimal` is not None here, and
    `marks` are the missing-value markers of the table. `named_in` has those of the
    options ``ids``, ``only``, ``drop``, ``categorical`` and ``numeric`` that name this
    column.

    `kind`, `format`, `unit` and `order` are as in `ColumnSchema`; `role` is None until
    it is decided. `n_repeats` is the number of rows with a duplicate id, in a column
    that otherwise looks like an id.

    `lists` has assumptions that several columns can share: the start of the sentence,
    and this column's entry in its list. `remarks` are reported only if the column is
    used; each continues a sentence that begins with column names.
    """

    name: str
    cells: Any
    text: TextColumn | None
    options: ReadOptions
    marks: MissingMarks
    named_in: frozenset[str] = frozenset()
    is_first: bool = False
    kind: Kind = "unchanged"
    format: str = ""
    unit: str = ""
    order: tuple[str, ...] = ()
    role: Role | None = None
    n_repeats: int = 0
    lists: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def n_observed(self) -> int:
        """Number of cells that are not missing."""
        if self.text is None:
            return int(self.cells.notna().sum())
        return self.text.n_observed

    def get_text(self) -> TextColumn:
        """Return the cells as strings; raise `DoesNotApply` if they are not strings."""
        if self.text is None:
            raise DoesNotApply
        return self.text

    def read_as(
        self, kind: Kind, form: str = "", unit: str = "", order: tuple[str, ...] = ()
    ) -> Column:
        """Return a copy of the column with the given type, format, unit and order."""
        return replace(self, kind=kind, format=form, unit=unit, order=order)

    def with_role(self, role: Role, assumed: str = "", detail: str = "") -> Column:
        """Return a copy of the column with a role, and with an assumption if given."""
        column = self.listed_as(assumed, detail) if assumed else self
        return replace(column, role=role)

    def listed_as(self, assumed: str, detail: str = "") -> Column:
        """Return a copy of the column with one more assumption in `lists`."""
        shown = f"{self.name!r} ({detail})" if detail else repr(self.name)
        return replace(self, lists=(*self.lists, (assumed, shown)))

    def with_remark(self, remark: str) -> Column:
        """Return a copy of the column with one more assumption in `remarks`."""
        return replace(self, remarks=(*self.remarks, remark))
