"""Convert the columns of a file to a few pandas dtypes, and single cells to strings."""

from __future__ import annotations

from typing import Any

import pandas as pd

_NESTED = (list, dict, set, bytes)


def simplify_columns(frame: Any) -> Any:
    """Convert columns of strings to categoricals, of objects to their cells' dtype."""
    return pd.DataFrame({name: _simplify_column(frame[name]) for name in frame.columns})


def _simplify_column(column: Any) -> Any:
    """Convert one column for `simplify_columns`; nested cells are not converted."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        is_text = pd.api.types.infer_dtype(dtype.categories) == "string"
        simple = dtype.ordered or not len(dtype.categories) or is_text
        return column if simple else to_categories(column)
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
        return column  # `leave_nested_out` leaves it out
    return to_categories(column)


def decode(frame: Any) -> Any:
    """Convert categorical and dictionary-encoded columns to columns of their values."""
    plain: dict[str, Any] = dict.fromkeys(frame.select_dtypes("category"), object)
    for name, dtype in frame.dtypes.items():
        held: Any = getattr(dtype, "pyarrow_dtype", None)
        if hasattr(held, "index_type"):
            plain[name] = pd.ArrowDtype(held.value_type)
    return frame.astype(plain)


def to_categories(column: Any) -> Any:
    """Convert cells of any type to a categorical of strings, made by `write_cell`."""
    return column.astype(object).map(write_cell, na_action="ignore").astype("category")


def write_cell(cell: Any) -> str:
    """Format a cell as a string: whole floats without a point, dates in ISO format.

    >>> write_cell(3.0), write_cell(0.5), write_cell("x")
    ('3', '0.5', 'x')
    """
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if hasattr(cell, "isoformat"):
        return str(cell.isoformat())
    return str(cell)
