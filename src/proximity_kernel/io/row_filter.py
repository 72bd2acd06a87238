"""Select rows by a condition such as ``age > 30 and (sex == f or smoker == yes)``.

The condition is parsed here, and never evaluated as Python code. A comparison with a
missing cell is false; ``age is missing`` tests for one.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._shared.wording import counted, listed, suggest
from .cells import write_cell
from .dates import parse_dates
from .schema import InputError, LoadedTable

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge,
    "=": operator.eq, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_EQUALITY = ("==", "=", "!=")
_QUOTED = r"'([^']*)'|\"([^\"]*)\"|`([^`]*)`"
_NAME = r"([^\s<>=!()]+)"
# A value ends before and, or, a parenthesis or the end.
_VALUE = r"(.*?)(?=\s+(?:and|or)\b|\s*\)|\s*$)"


def select_rows(table: LoadedTable, where: str | None) -> LoadedTable:
    """Keep the rows that meet the condition `where`, if any, and report how many."""
    if where is None:
        return table
    kept = _Condition(where, table).evaluate()
    n_kept, n_rows = int(kept.sum()), len(kept)
    if not n_kept:
        raise InputError(f"`where` {where}: none of {counted(n_rows, 'row')} meets it.")
    rows = table.frame.index[kept]
    said = f"`where` {where}: {n_kept:,} of {counted(n_rows, 'row')} kept"
    return replace(
        table,
        **{
            name: getattr(table, name).loc[rows]
            for name in ("frame", "ids", "left_out", "missing", "source")
        },
        assumptions=(table.assumptions[0], said, *table.assumptions[1:]),
    )


@dataclass
class _Condition:
    """A condition on rows, parsed and evaluated in one pass from left to right."""

    text: str
    table: LoadedTable
    at: int = 0

    def evaluate(self) -> NDArray[np.bool_]:
        """Return a mask of the rows that meet the condition."""
        try:
            rows = self._parse_or()
        except RecursionError:
            raise self._error("it is nested too deeply") from None
        if self.text[self.at :].strip():
            raise self._error(f"{self.text[self.at :].strip()!r} was not understood")
        return rows

    def _parse_or(self) -> NDArray[np.bool_]:
        """Parse terms joined by ``or``; return their mask of rows."""
        rows = self._parse_and()
        while self._match_next(r"or\b"):
            rows = rows | self._parse_and()
        return rows

    def _parse_and(self) -> NDArray[np.bool_]:
        """Parse terms joined by ``and``; return their mask of rows."""
        rows = self._parse_term()
        while self._match_next(r"and\b"):
            rows = rows & self._parse_term()
        return rows

    def _parse_term(self) -> NDArray[np.bool_]:
        """Parse a comparison, ``not`` or parentheses; return its mask of rows."""
        if self._match_next(r"not\b(?!\s*[<>=!])"):
            return ~self._parse_term()
        if self._match_next(r"\("):
            rows = self._parse_or()
            if not self._match_next(r"\)"):
                raise self._error("a parenthesis is not closed")
            return rows
        return self._parse_comparison()

    def _parse_comparison(self) -> NDArray[np.bool_]:
        """Parse a comparison or ``COL is missing``; return its mask of rows."""
        name = self._read_column()
        if found := self._match_next(r"is\s+(not\s+)?missing\b"):
            missing = np.asarray(pd.isna(self._get_cells(name)))
            return ~missing if found[1] else missing
        sign = self._match_next("(==|!=|<=|>=|=|<|>)")
        if sign is None:
            raise self._error(f"after {name!r} a sign is expected, as in {name} > 3")
        value = self._read_word(_VALUE)
        if not value:
            raise self._error(f"after {sign[1]} a value is expected")
        return self._compare_cells(name, sign[1], value)

    def _read_column(self) -> str:
        """Parse a column name: the longest name that matches, or a name in quotes."""
        names = [column.name for column in self.table.schema.columns]
        rest = self.text[self.at :].lstrip()
        for name in sorted(names, key=len, reverse=True):
            after = rest[len(name) : len(name) + 1]
            if rest.startswith(name) and (not after or after in " \t<>=!)"):
                self.at = len(self.text) - len(rest) + len(name)
                return name
        name = self._read_word(_NAME)
        if not name:
            raise self._error("a column is expected")
        if name not in names:
            hint = suggest(name, names) or f"; it has {listed(names, 8)}."
            raise InputError(
                f"`where` {self.text}: {self.table.name} has no column {name!r}{hint}"
            )
        return name

    def _get_cells(self, name: str) -> Any:
        """Return the typed cells of a column.

        Ids and columns that are left out become numbers if all their cells are numbers,
        else strings.
        """
        if name in self.table.frame:
            return self.table.frame[name]
        cells = self.table.source[name].loc[self.table.frame.index].astype(object)
        cells = cells.map(write_cell, na_action="ignore").str.strip()
        cells = cells.mask(cells == "")
        numbers = pd.to_numeric(cells, errors="coerce")
        return cells if (numbers.isna() & cells.notna()).any() else numbers

    def _compare_cells(self, name: str, sign: str, value: str) -> NDArray[np.bool_]:
        """Compare the cells of a column with a value; return a mask of rows."""
        cells, kind = self._get_cells(name), "category"
        wanted: Any
        if cells.dtype.kind == "f":
            wanted, kind = pd.to_numeric(value.replace(",", "."), "coerce"), "number"
        elif cells.dtype.kind == "M":
            wanted, kind = self._parse_date(name, value), "date"
        else:
            cells = cells.astype("category").cat
            wanted, cells = self._find_category(name, cells, sign, value), cells.codes
        if pd.isna(wanted):
            raise self._error(f"{name!r} must be compared with a {kind}, got {value!r}")
        observed = self._get_cells(name).notna()
        return np.asarray(_COMPARISONS[sign](cells, wanted) & observed, bool)

    def _parse_date(self, name: str, value: str) -> Any:
        """Parse a date in ISO format or the column's format; NaT if in neither."""
        formats = {one.name: one.format for one in self.table.schema.columns}
        for form in filter(None, ("iso", formats[name])):
            if not pd.isna(date := parse_dates(form, [value])[0]):
                zone = getattr(self.table.frame[name].dt, "tz", None)
                return pd.Timestamp(date, tz=zone)
        return pd.NaT

    def _find_category(self, name: str, labels: Any, sign: str, value: str) -> int:
        """Return the code of a category; InputError if it is absent or unordered."""
        texts = [str(one) for one in labels.categories]
        if value not in texts:
            hint = suggest(value, texts) or f"; it has {listed(texts, 8)}."
            raise InputError(f"`where` {self.text}: {name!r} is never {value!r}{hint}")
        if sign not in _EQUALITY and not labels.ordered:
            raise self._error(f"{name!r} has no order; use == or !=")
        return texts.index(value)

    def _read_word(self, pattern: str) -> str:
        """Read a string in quotes or one that a pattern matches; empty if neither."""
        found = self._match_next(_QUOTED) or self._match_next(pattern)
        return next(filter(None, found.groups()), "") if found else ""

    def _match_next(self, pattern: str) -> re.Match[str] | None:
        """Match a pattern after whitespace, ignoring case, and advance past it."""
        ignoring = re.compile(rf"\s*(?:{pattern})", re.IGNORECASE)
        found = ignoring.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found

    def _error(self, problem: str) -> InputError:
        """Make an InputError for a condition that cannot be evaluated."""
        example = "write conditions as age > 30 and sex == f"
        return InputError(f"`where` {self.text}: {problem}; {example}.")
