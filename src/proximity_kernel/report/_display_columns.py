"""A table in, columns that the page can show out.

The table is read as the kernel reads it (`_table.columns`). A display column adds how
values are written: it is floats in which NaN is missing, and which are numbers, dates
and durations in seconds, or indices of labels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from .._table.columns import Column, read_columns
from .._table.containers import split_table
from .._table.frames import holds_booleans
from ._far_values import UsualRange, find_usual_range
from ._text import clean, count, moment, number

_Floats: TypeAlias = NDArray[np.float64]
_NO_YES = ("no", "yes")
_LONG_NUMBER = re.compile(r"(?<![\d.])\d{5,}(?![\de])")
_KINDS = {"dates": "date", "durations": "duration"}


@dataclass(frozen=True)
class DisplayColumn:
    """A column as the page shows it.

    Attributes
    ----------
    name : str
    kind : str
        "number", "date", "duration", "yes or no", "ordered", "category" or "empty".
    values : ndarray of shape (n_samples,), float64
        NaN is missing; an index into `labels` if there are labels.
    labels : tuple of str or None
        Of a column that is not measured; those of an ordered one from the lowest.
    """

    name: str
    kind: str
    values: _Floats
    labels: tuple[str, ...] | None = None

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each cell is missing, shape (n_samples,)."""
        return np.isnan(self.values)

    @cached_property
    def known(self) -> _Floats:
        """The observed values."""
        return self.values[~self.missing]

    @cached_property
    def usual(self) -> UsualRange | None:
        """The range of most values, None if the column is not measured, or empty."""
        measured = self.labels is None and len(self.known)
        return find_usual_range(self.known) if measured else None

    def count_labels(self) -> list[tuple[int, int]]:
        """Count the labels that occur: pairs of index and count, most common first."""
        found, counts = np.unique(self.known.astype(np.int64), return_counts=True)
        order = np.argsort(-counts, kind="stable")
        pairs = zip(found[order].tolist(), counts[order].tolist(), strict=True)
        return list(pairs)

    def write_bin(self, name: str) -> str:
        """Write the name of a bin as the column's values are written."""
        if self.kind == "number":
            return _LONG_NUMBER.sub(lambda found: count(int(found[0])), name)
        if self.kind != "yes or no":
            return clean(name)
        if name == "0" or name.startswith("up to"):
            return "no"
        return "yes" if name == "1" or name.startswith("above") else name

    def write(self, value: float) -> str:
        """Write one value of the column."""
        if self.labels is not None:
            return self.labels[int(value)]
        if self.kind == "date":
            return moment(value)
        return f"{number(value)} s" if self.kind == "duration" else number(value)


def read_display_columns(table: Any, kernel: ProximityKernel) -> list[DisplayColumn]:
    """Read a table.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    kernel : ProximityKernel
        Fitted: its categorical features are read as such.

    Returns
    -------
    list of DisplayColumn

    Examples
    --------
    >>> table = [[1.5, "red"], [None, "blue"]]
    >>> for column in read_display_columns(table, ProximityKernel().fit(table)):
    ...     print(column.name, column.kind, column.values, column.labels)
    x0 number [1.5 nan] None
    x1 category [1. 0.] ('blue', 'red')
    """
    categorical = [categories is not None for categories in kernel.categories_]
    columns = read_columns(table, categorical_features=categorical)
    return [
        _make_display_column(column, cells)
        for column, cells in zip(columns, split_table(table).columns, strict=True)
    ]


def _make_display_column(column: Column, cells: Any) -> DisplayColumn:
    name, observed = clean(column.type.name), column.observed
    values = np.where(observed, column.values, np.nan)
    if not observed.any():
        return DisplayColumn(name, "empty", values)
    if column.type.kind == "categorical":
        return DisplayColumn(name, "category", values, _write_labels(column.labels))
    if column.type.order is not None:
        return DisplayColumn(name, "ordered", values, _write_labels(column.type.order))
    if holds_booleans(cells, np.flatnonzero(~observed)):
        return DisplayColumn(name, "yes or no", values, _NO_YES)
    return DisplayColumn(name, _KINDS.get(column.type.family, "number"), values)


def _write_labels(labels: Sequence[Any]) -> tuple[str, ...]:
    return tuple(
        _NO_YES[label]
        if isinstance(label, bool)
        else (number if isinstance(label, int | float) else clean)(label)
        for label in labels
    )


def take_rows(table: Any, rows: NDArray[np.int64]) -> Any:
    """Take rows of a table, as a table of the same type.

    Examples
    --------
    >>> take_rows([[1, "a"], [2, "b"], [3, "c"]], np.array([2, 0]))
    [[3, 'c'], [1, 'a']]
    """
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows].to_native()
    if isinstance(table, list | tuple):
        return [table[i] for i in rows]
    return np.asanyarray(table)[rows]
