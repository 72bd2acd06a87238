"""The columns of a parsed file, in few types, with text still text.

Nothing is decided here about what a text means; that is `kinds`. Text columns are
categoricals, so that each distinct text is looked at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from .schema import FileLayout

_NESTED = (list, dict, set, bytes)


@dataclass(frozen=True, eq=False)
class ParsedFile:
    """A file split into columns.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    frame : pandas.DataFrame
        Text as unordered categoricals, also where it spells numbers or dates.
    layout : FileLayout
    assumptions : tuple of str
        What was assumed, in sentences.
    """

    name: str
    frame: Any
    layout: FileLayout
    assumptions: tuple[str, ...]


def is_text(column: Any) -> bool:
    """Whether a column of a `ParsedFile` holds text."""
    dtype = column.dtype
    return isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered


def simplify_columns(frame: Any) -> Any:
    """Convert text columns to categoricals, and columns of objects to typed ones.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    pandas.DataFrame
    """
    return pd.DataFrame({name: _simplify(frame[name]) for name in frame.columns})


def _simplify(column: Any) -> Any:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        if dtype.ordered or not len(dtype.categories):
            return column
        if pd.api.types.infer_dtype(dtype.categories) == "string":
            return column
        return to_categories(column)
    if isinstance(dtype, pd.StringDtype):
        return column.astype("category")
    if dtype.kind != "O":
        return column
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return column.astype(float)
    if kind in ("datetime", "datetime64", "date"):
        return pd.to_datetime(column)
    if kind == "boolean":
        return column.astype("boolean")
    if any(isinstance(cell, _NESTED) or hasattr(cell, "__array__") for cell in column):
        return column  # `kinds` leaves such a column out
    return to_categories(column)


def to_categories(column: Any) -> Any:
    """Convert cells of any type to categories of text."""
    return column.astype(object).map(write_cell, na_action="ignore").astype("category")


def write_cell(cell: Any) -> str:
    """Write a cell as a text file would hold it.

    >>> write_cell(3.0), write_cell(0.5), write_cell("x")
    ('3', '0.5', 'x')
    """
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if hasattr(cell, "isoformat"):
        return str(cell.isoformat())
    return str(cell)
