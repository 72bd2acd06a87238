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
from .dates import parse_dates
from .schema import InputError, LoadedTable
from .typed_files import write_cell

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge,
    "=": operator.eq, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_SIGN = re.compile(r"\s*(==|!=|<=|>=|=|<|>)")
_MISSING = re.compile(r"\s*is\s+(not\s+)?missing\b", re.IGNORECASE)
_QUOTED = re.compile(r"\s*(?:'([^']*)'|\"([^\"]*)\"|`([^`]*)`)")
_NAME = re.compile(r"\s*([^\s<>=!()]+)")
# A value ends before and, or, a parenthesis or the end.
_VALUE = re.compile(r"\s*(.*?)(?=\s+(?:and|or)\b|\s*\)|\s*$)", re.IGNORECASE)


def select_rows(table: LoadedTable, where: str | None) -> LoadedTable:
    """Keep the rows of a table that meet the condition `where`, and report how many.

    None keeps all.
    """
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
        rows = self._join_or()
        if self.text[self.at :].strip():
            raise self._error(f"{self.text[self.at :].strip()!r} was not understood")
        return rows

    def _join_or(self) -> NDArray[np.bool_]:
        """Parse terms joined by ``or``; return their mask of rows."""
        rows = self._join_and()
        while self._take(re.compile(r"\s*or\b", re.IGNORECASE)):
            rows = rows | self._join_and()
        return rows

    def _join_and(self) -> NDArray[np.bool_]:
        """Parse terms joined by ``and``; return their mask of rows."""
        rows = self._read_term()
        while self._take(re.compile(r"\s*and\b", re.IGNORECASE)):
            rows = rows & self._read_term()
        return rows

    def _read_term(self) -> NDArray[np.bool_]:
        """Parse a comparison, ``not`` or parentheses; return its mask of rows."""
        if self._take(re.compile(r"\s*not\b(?!\s*[<>=!])", re.IGNORECASE)):
            return ~self._read_term()
        if self._take(re.compile(r"\s*\(")):
            rows = self._join_or()
            if not self._take(re.compile(r"\s*\)")):
                raise self._error("a parenthesis is not closed")
            return rows
        return self._compare()

    def _compare(self) -> NDArray[np.bool_]:
        """Parse a comparison or ``COL is missing``; return its mask of rows."""
        name = self._read_column()
        if found := self._take(_MISSING):
            missing = np.asarray(pd.isna(self._get_cells(name)))
            return ~missing if found[1] else missing
        sign = self._take(_SIGN)
        if sign is None:
            raise self._error(f"after {name!r} a sign is expected, as in {name} > 3")
        quoted = self._take(_QUOTED)
        if quoted:
            value = next(one for one in quoted.groups() if one is not None)
        else:
            found = self._take(_VALUE)
            value = found[1] if found else ""
        if not value:
            raise self._error(f"after {sign[1]} a value is expected")
        return self._apply(name, sign[1], value)

    def _read_column(self) -> str:
        """Parse the name of a column: the longest that fits, or one in quotes."""
        names = [column.name for column in self.table.schema.columns]
        rest = self.text[self.at :].lstrip()
        for name in sorted(names, key=len, reverse=True):
            after = rest[len(name) : len(name) + 1]
            if rest.startswith(name) and (not after or after in " \t<>=!)"):
                self.at = len(self.text) - len(rest) + len(name)
                return name
        found = self._take(_QUOTED) or self._take(_NAME)
        if found is None:
            raise self._error("a column is expected")
        name = next(one for one in found.groups() if one is not None)
        if name not in names:
            hint = suggest(name, names) or f"; it has {listed(names, 8)}."
            raise InputError(
                f"`where` {self.text}: {self.table.name} has no column {name!r}{hint}"
            )
        return name

    def _get_cells(self, name: str) -> Any:
        """Return the typed cells of a column.

        Ids and columns that are left out become numbers if all cells are, else strings.
        """
        if name in self.table.frame:
            return self.table.frame[name]
        cells = self.table.source[name].loc[self.table.frame.index].astype(object)
        cells = cells.map(write_cell, na_action="ignore").str.strip()
        cells = cells.mask(cells == "")
        numbers = pd.to_numeric(cells, errors="coerce")
        return cells if (numbers.isna() & cells.notna()).any() else numbers

    def _apply(self, name: str, sign: str, value: str) -> NDArray[np.bool_]:
        """Compare the cells of a column with a value; return a mask of rows."""
        cells, compare = self._get_cells(name), _COMPARISONS[sign]
        observed = np.asarray(cells.notna())
        if cells.dtype.kind == "f":
            wanted: Any = pd.to_numeric(value.replace(",", "."), errors="coerce")
            expected = "a number"
        elif cells.dtype.kind == "M":
            wanted, expected = self._parse_date(name, value), "a date"
        else:
            met = self._compare_texts(name, cells, sign, value)
            return np.asarray(met & observed)
        if pd.isna(wanted):
            raise self._error(f"{name!r} is compared with {expected}, not {value!r}")
        return np.asarray(compare(cells, wanted).to_numpy(bool) & observed)

    def _parse_date(self, name: str, value: str) -> Any:
        """Parse a date in ISO format or in that of the column; NaT if it is neither."""
        columns = {column.name: column for column in self.table.schema.columns}
        for form in filter(None, ("iso", columns[name].format)):
            date = parse_dates(form, [value])[0]
            if not pd.isna(date):
                zone = getattr(self.table.frame[name].dt, "tz", None)
                return pd.Timestamp(date, tz=zone)
        return pd.NaT

    def _compare_texts(
        self, name: str, cells: Any, sign: str, value: str
    ) -> NDArray[np.bool_]:
        """Compare categories with a label, by their order if they have one."""
        known = list(pd.unique(cells.dropna()))
        if isinstance(cells.dtype, pd.CategoricalDtype):
            known = list(cells.cat.categories)
        texts = [str(one) for one in known]
        if value not in texts:
            hint = suggest(value, texts) or f"; it has {listed(texts, 8)}."
            raise InputError(f"`where` {self.text}: {name!r} is never {value!r}{hint}")
        if sign in ("==", "=", "!="):
            same = np.asarray(cells.astype(str) == value)
            return ~same if sign == "!=" else same
        if not getattr(cells.dtype, "ordered", False):
            raise self._error(f"{name!r} has no order; use == or !=")
        codes = cells.cat.codes.to_numpy()
        return np.asarray(_COMPARISONS[sign](codes, texts.index(value)), bool)

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern at the current position, and advance past the match."""
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found

    def _error(self, problem: str) -> InputError:
        """Make the error of a condition that cannot be parsed, with an example."""
        example = "write conditions as age > 30 and sex == f"
        return InputError(f"`where` {self.text}: {problem}; {example}.")
