"""Columns in, an overview of the table out: kinds of columns, and missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._display_columns import DisplayColumn
from ._far_values import describe_far_values, find_usual_range
from ._text import count, share, some

PICTURE_ROWS = 500
PICTURE_COLUMNS = 60
_MAX_PATTERNS = 8
_MAX_NAMES = 4  # columns listed for a pattern
_MAX_LABELS = 3  # listed for a column


@dataclass(frozen=True)
class MissingOverview:
    """Where the missing cells of a table are.

    Attributes
    ----------
    cells : int
        Number of missing cells.
    share : float
        Of all cells.
    columns : int
        Columns with missing cells.
    complete : int
        Rows without missing cells.
    n_patterns : int
        Sets of columns that are missing together in a row, complete rows not counted.
    patterns : list of dict
        The most common of these: rows, share and text. If there are many, only those of
        several rows.
    picture : dict
        ``rows`` and ``columns`` (indices) and ``cells`` (a text of 0 and 1 for each
        row), ordered by pattern.
    """

    cells: int
    share: float
    columns: int
    complete: int
    n_patterns: int
    patterns: list[dict[str, Any]]
    picture: dict[str, Any]


def describe_columns(columns: Sequence[DisplayColumn]) -> list[dict[str, Any]]:
    """Describe the kind, the missing cells and the values of each column."""
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "missing": int(column.missing.sum()),
            "share": float(column.missing.mean()),
            "distinct": len(np.unique(column.values[~column.missing])),
            "values": _summarize(column),
            "far": _find_far(column),
        }
        for column in columns
    ]


def describe_gaps(
    columns: Sequence[DisplayColumn], rng: np.random.Generator
) -> MissingOverview:
    """Find where the missing cells are, and draw rows for a picture of them.

    Parameters
    ----------
    columns : sequence of DisplayColumn
    rng : numpy.random.Generator

    Returns
    -------
    MissingOverview
    """
    missing = np.column_stack([column.missing for column in columns])
    packed = np.packbits(missing, axis=1)
    _, first, of_row, rows = np.unique(
        packed, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    of_row = of_row.ravel()
    order = np.argsort(-rows, kind="stable")
    incomplete = [p for p in order.tolist() if missing[first[p]].any()]
    if len(incomplete) > _MAX_PATTERNS:
        common = [p for p in incomplete[:_MAX_PATTERNS] if rows[p] > 1]
    else:
        common = incomplete
    names = [column.name for column in columns]
    patterns = [
        {
            "rows": int(rows[p]),
            "share": float(rows[p] / len(missing)),
            "text": _name_pattern(missing[first[p]], names),
        }
        for p in common
    ]
    return MissingOverview(
        cells=int(missing.sum()),
        share=float(missing.mean()),
        columns=int(missing.any(axis=0).sum()),
        complete=int((~missing.any(axis=1)).sum()),
        n_patterns=len(incomplete),
        patterns=patterns,
        picture=_draw_gaps(missing, of_row, rows, rng),
    )


def _draw_gaps(
    missing: NDArray[np.bool_],
    of_row: NDArray[np.int64],
    frequency: NDArray[np.int64],
    rng: np.random.Generator,
) -> dict[str, Any]:
    n_rows, n_columns = missing.shape
    rows = np.arange(n_rows)
    if n_rows > PICTURE_ROWS:
        rows = np.sort(rng.choice(n_rows, PICTURE_ROWS, replace=False))
    rows = rows[np.lexsort((rows, of_row[rows], -frequency[of_row[rows]]))]
    columns = np.arange(n_columns)
    if n_columns > PICTURE_COLUMNS:
        n_missing = missing.sum(axis=0)
        columns = np.sort(np.argsort(-n_missing, kind="stable")[:PICTURE_COLUMNS])
    cells = ["".join(map(str, missing[i, columns].astype(int))) for i in rows]
    return {"rows": rows.tolist(), "columns": columns.tolist(), "cells": cells}


def _name_pattern(is_missing: NDArray[np.bool_], names: Sequence[str]) -> str:
    missing = np.flatnonzero(is_missing)
    if len(missing) == len(names) > 1:
        return "every column"
    if len(missing) > len(names) / 2 > _MAX_NAMES:
        rest = np.flatnonzero(~is_missing)
        known = ", ".join(names[j] for j in rest[:_MAX_NAMES])
        more = len(rest) - _MAX_NAMES
        return f"all but {known}" + (f" and {more} more" if more > 0 else "")
    shown = ", ".join(names[j] for j in missing[:_MAX_NAMES])
    more = len(missing) - _MAX_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _find_far(column: DisplayColumn) -> list[str]:
    if column.labels is not None or column.missing.all():
        return []
    return describe_far_values(column, find_usual_range(column.values[~column.missing]))


def _summarize(column: DisplayColumn) -> str:
    known = column.values[~column.missing]
    if not len(known):
        return "nothing observed"
    if column.labels is None:
        low, middle, high = np.quantile(known, [0, 0.5, 1], method="lower")
        if low == high:
            return f"always {column.write(low)}"
        ends = f"{column.write(low)} to {column.write(high)}"
        return f"{ends}, median {column.write(middle)}"
    counts = np.bincount(known.astype(np.int64), minlength=len(column.labels))
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    if len(order) == len(known) > _MAX_LABELS:
        return f"{count(len(known))} values, all different"
    shown = ", ".join(
        f"{column.labels[k]} ({share(counts[k] / len(known))})"
        for k in order[:_MAX_LABELS]
    )
    more = len(order) - _MAX_LABELS
    return f"{shown} and {some(more, 'other')}" if more > 0 else shown
