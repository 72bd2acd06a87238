"""Columns in, what the table is out: its kinds, and where its holes are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._far import find_reach, say_far
from ._shown import Shown
from ._text import count, share, some

PICTURE_ROWS = 500
PICTURE_COLUMNS = 60
_MOST_PATTERNS = 8
_MOST_NAMES = 4  # columns that a pattern lists
_MOST_LABELS = 3  # of a column in the table of columns


@dataclass(frozen=True)
class Gaps:
    """Where the holes of a table are.

    Attributes
    ----------
    cells : int
        Holes in all.
    share : float
        Of the cells.
    columns : int
        Columns with holes.
    complete : int
        Rows without.
    n_patterns : int
        Ways in which holes come together in a row, those of complete rows not counted.
    patterns : list of dict
        The most common of these: rows, share and text; of many, those of several rows.
    picture : dict
        ``rows`` (numbers), ``columns`` (indices) and ``cells`` (a text of 0 and 1 for
        each row), rows of one pattern together.
    """

    cells: int
    share: float
    columns: int
    complete: int
    n_patterns: int
    patterns: list[dict[str, Any]]
    picture: dict[str, Any]


def describe_columns(columns: Sequence[Shown]) -> list[dict[str, Any]]:
    """Tell of each column its kind, its holes and what its values are like."""
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "missing": int(column.missing.sum()),
            "share": float(column.missing.mean()),
            "distinct": len(np.unique(column.values[~column.missing])),
            "values": _summarise(column),
            "far": _find_far(column),
        }
        for column in columns
    ]


def describe_gaps(columns: Sequence[Shown], rng: np.random.Generator) -> Gaps:
    """Find where the holes are, and draw rows for a picture of them.

    Parameters
    ----------
    columns : sequence of Shown
    rng : numpy.random.Generator

    Returns
    -------
    Gaps
    """
    missing = np.column_stack([column.missing for column in columns])
    packed = np.packbits(missing, axis=1)
    _, first, of_row, rows = np.unique(
        packed, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    of_row = of_row.ravel()
    order = np.argsort(-rows, kind="stable")
    holed = [p for p in order.tolist() if missing[first[p]].any()]
    if len(holed) > _MOST_PATTERNS:
        common = [p for p in holed[:_MOST_PATTERNS] if rows[p] > 1]
    else:
        common = holed
    names = [column.name for column in columns]
    patterns = [
        {
            "rows": int(rows[p]),
            "share": float(rows[p] / len(missing)),
            "text": _name_pattern(missing[first[p]], names),
        }
        for p in common
    ]
    return Gaps(
        cells=int(missing.sum()),
        share=float(missing.mean()),
        columns=int(missing.any(axis=0).sum()),
        complete=int((~missing.any(axis=1)).sum()),
        n_patterns=len(holed),
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
        holes = missing.sum(axis=0)
        columns = np.sort(np.argsort(-holes, kind="stable")[:PICTURE_COLUMNS])
    cells = ["".join(map(str, missing[i, columns].astype(int))) for i in rows]
    return {"rows": rows.tolist(), "columns": columns.tolist(), "cells": cells}


def _name_pattern(holes: NDArray[np.bool_], names: Sequence[str]) -> str:
    missing = np.flatnonzero(holes)
    if len(missing) == len(names) > 1:
        return "every column"
    if len(missing) > len(names) / 2 > _MOST_NAMES:
        rest = np.flatnonzero(~holes)
        known = ", ".join(names[j] for j in rest[:_MOST_NAMES])
        more = len(rest) - _MOST_NAMES
        return f"all but {known}" + (f" and {more} more" if more > 0 else "")
    said = ", ".join(names[j] for j in missing[:_MOST_NAMES])
    more = len(missing) - _MOST_NAMES
    return f"{said} and {more} more" if more > 0 else said


def _find_far(column: Shown) -> list[str]:
    if column.labels is not None or column.missing.all():
        return []
    return say_far(column, find_reach(column.values[~column.missing]))


def _summarise(column: Shown) -> str:
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
    if len(order) == len(known) > _MOST_LABELS:
        return f"{count(len(known))} values, all different"
    said = ", ".join(
        f"{column.labels[k]} ({share(counts[k] / len(known))})"
        for k in order[:_MOST_LABELS]
    )
    more = len(order) - _MOST_LABELS
    return f"{said} and {some(more, 'other')}" if more > 0 else said
