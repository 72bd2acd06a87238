"""A table with gaps and what to fill in, in; a filled table of the same make, out.

A frame comes back as a frame of its own library, with its columns in their order and
their types where these can hold the values; an array as an array; a list of rows as a
list of rows. Cells that were there stay as they are. The caller's table is not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .containers import split_table
from .filled_values import (
    TIMES,
    as_cells,
    as_numbers,
    as_times,
    count_micros,
    is_plain,
    known_cells,
)
from .frames import fill_frame, holds_booleans, is_frame, make_frame
from .gaps import Gaps

_Array = NDArray[Any]


def fill_table(table: Any, gaps: Sequence[Gaps]) -> Any:
    """Fill the gaps of a table, in a copy of it.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    gaps : sequence of Gaps, one per column

    Returns
    -------
    frame, array or list of rows
        As `table` is.
    """
    if is_frame(table):
        return fill_frame(table, gaps)
    if isinstance(table, list | tuple):
        return _fill_rows(table, gaps)
    return _fill_array(table, gaps)


def make_uncertainty(table: Any, gaps: Sequence[Gaps]) -> Any:
    """Make a table of the uncertainties, of the make of `table`; 0 where none is.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    gaps : sequence of Gaps, one per column

    Returns
    -------
    frame, array or list of rows
        Numbers; durations for numeric columns of times.
    """
    columns = [_list_uncertainty(len(table), own) for own in gaps]
    if is_frame(table):
        return make_frame(table, columns)
    if isinstance(table, list | tuple):
        return [list(row) for row in zip(*(c.tolist() for c in columns), strict=True)]
    if len({column.dtype for column in columns}) > 1:
        columns = [column.astype(object) for column in columns]
    return np.column_stack(columns)


def mark_booleans(table: Any, gaps: Sequence[Gaps]) -> list[Gaps]:
    """Tell the uncertainty of booleans as that of labels."""
    return [
        replace(own, uncertainty=np.minimum(own.means, 1 - own.means))
        if own.fillable and is_plain(own) and holds_booleans(column, own.rows)
        else own
        for column, own in zip(split_table(table).columns, gaps, strict=True)
    ]


def _list_uncertainty(n_rows: int, gaps: Gaps) -> _Array:
    out = np.zeros(n_rows)
    out[gaps.rows] = gaps.uncertainty if gaps.fillable else np.nan
    if gaps.type.family in TIMES and is_plain(gaps):
        return count_micros(out, "m8[us]")
    return out


def _fill_rows(rows: Any, gaps: Sequence[Gaps]) -> list[Any]:
    out = [list(row) for row in rows]
    for j, own in enumerate(gaps):
        if own.fillable:
            known = known_cells([row[j] for row in out], own.rows)
            for i, value in zip(own.rows.tolist(), as_cells(own, known), strict=True):
                out[i][j] = value
    return [
        tuple(new) if isinstance(old, tuple) else new
        for old, new in zip(rows, out, strict=True)
    ]


def _holds(kind: str, gaps: Gaps) -> bool:
    """Whether an array can hold the values; not if it holds nothing of a column."""
    kinds = {"numbers": "biufO", "dates": "MO", "durations": "mO"}
    return kind in kinds.get(gaps.type.family, "O")


def _fill_array(table: Any, gaps: Sequence[Gaps]) -> _Array:
    masked = np.ma.isMaskedArray(table)
    out = np.array(np.ma.getdata(table) if masked else table)
    hidden = np.array(np.ma.getmaskarray(table)) if masked else None
    kind = out.dtype.kind
    if kind in "SUT":  # as long as it must be
        out = out.astype(object)
    elif not all(_holds(kind, own) for own in gaps if own.fillable):
        cells = [list(row) for row in out] if kind in "mM" else out.tolist()
        out = np.empty(out.shape, object)
        out[:] = cells
    for j, own in enumerate(gaps):
        if not own.fillable:
            continue
        if out.dtype.kind == "O":
            known = known_cells(out[:, j].tolist(), own.rows)
            values: Any = np.fromiter(as_cells(own, known), object, len(own.rows))
        elif out.dtype.kind in "mM":
            values = as_times(own).astype(out.dtype)
        else:
            values = as_numbers(own, out.dtype)
        out[own.rows, j] = values
        if hidden is not None:
            hidden[own.rows, j] = False
    out = out.astype(str) if kind in "UT" else out
    # What stays missing must not come to light with what lies under a mask.
    return out if hidden is None or not hidden.any() else np.ma.array(out, mask=hidden)
