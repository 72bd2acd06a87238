"""Columns in, an overview of the table out: kinds of columns, and missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._display_columns import DisplayColumn
from ._text import count, share, some

PICTURE_ROWS = 500
PICTURE_COLUMNS = 60
_MAX_PATTERNS = 8
_MAX_NAMES = 4  # columns listed for a pattern
_MAX_LABELS = 3  # listed for a column
_MAX_ROWS = 5  # named for a column with far values
_MAX_COLUMNS = 10  # with named rows


def describe_columns(columns: Sequence[DisplayColumn]) -> list[dict[str, Any]]:
    """Describe the kind, the missing cells and the values of each column."""
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "share": float(column.missing.mean()),
            "distinct": len(np.unique(column.known)),
            "values": _summarize(column),
            "far": column.usual.describe(column.write) if column.usual else [],
        }
        for column in columns
    ]


def list_far_values(columns: Sequence[DisplayColumn]) -> list[dict[str, Any]]:
    """List the columns that have far values, with some of their rows.

    Returns
    -------
    list of dict
        name, lines (descriptions), rows (the first few indices) and more (the number of
        other rows).
    """
    out: list[dict[str, Any]] = []
    for column in columns:
        if column.usual and (lines := column.usual.describe(column.write)):
            values, usual = column.values, column.usual
            rows = np.flatnonzero((values < usual.low) | (values > usual.high)).tolist()
            named = rows[: _MAX_ROWS if len(out) < _MAX_COLUMNS else 0]
            more = len(rows) - len(named)
            out.append(
                {"name": column.name, "lines": lines, "rows": named, "more": more}
            )
    return out


def describe_gaps(
    columns: Sequence[DisplayColumn], rng: np.random.Generator
) -> dict[str, Any]:
    """Find where the missing cells are, and draw rows for a picture of them.

    Parameters
    ----------
    columns : sequence of DisplayColumn
    rng : numpy.random.Generator

    Returns
    -------
    dict
        ``cells`` (number of missing cells), ``share`` (of all cells), ``columns`` (with
        missing cells), ``complete`` (rows), ``n_patterns`` (sets of columns that are
        missing together in a row), ``patterns`` (the most common: rows, share and text;
        if there are many, only those of several rows), and ``picture``: ``rows`` and
        ``columns`` (indices) and ``cells`` (a text of 0 and 1 for each row), ordered by
        pattern.
    """
    missing = np.column_stack([column.missing for column in columns])
    packed = np.packbits(missing, axis=1)
    _, first, of_row, rows = np.unique(
        packed, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(-rows, kind="stable").tolist()
    incomplete = [p for p in order if missing[first[p]].any()]
    many = len(incomplete) > _MAX_PATTERNS
    names = np.array([column.name for column in columns])
    return {
        "cells": int(missing.sum()),
        "share": float(missing.mean()),
        "columns": int(missing.any(axis=0).sum()),
        "complete": int((~missing.any(axis=1)).sum()),
        "n_patterns": len(incomplete),
        "patterns": [
            {
                "rows": int(rows[p]),
                "share": float(rows[p] / len(missing)),
                "text": _name_pattern(missing[first[p]], names),
            }
            for p in incomplete[:_MAX_PATTERNS]
            if rows[p] > many
        ],
        "picture": _draw_gaps(missing, of_row.ravel(), rows, rng),
    }


def _draw_gaps(
    missing: NDArray[np.bool_],
    of_row: NDArray[np.int64],
    frequency: NDArray[np.int64],
    rng: np.random.Generator,
) -> dict[str, Any]:
    n_rows = len(missing)
    rows = np.arange(n_rows)
    if n_rows > PICTURE_ROWS:
        rows = np.sort(rng.choice(n_rows, PICTURE_ROWS, replace=False))
    rows = rows[np.lexsort((rows, of_row[rows], -frequency[of_row[rows]]))]
    order = np.argsort(-missing.sum(axis=0), kind="stable")
    columns = np.sort(order[:PICTURE_COLUMNS])
    cells = ["".join(map(str, missing[i, columns].astype(int))) for i in rows]
    return {"rows": rows.tolist(), "columns": columns.tolist(), "cells": cells}


def _name_pattern(is_missing: NDArray[np.bool_], names: NDArray[np.str_]) -> str:
    if is_missing.all() and len(names) > 1:
        return "every column"
    most = is_missing.sum() > len(names) / 2 > _MAX_NAMES
    listed = names[~is_missing if most else is_missing].tolist()
    more = len(listed) - _MAX_NAMES
    shown = ", ".join(listed[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"all but {shown}" if most else shown


def _summarize(column: DisplayColumn) -> str:
    known = column.known
    if not len(known):
        return "nothing observed"
    if column.labels is None:
        ends = np.quantile(known, [0, 0.5, 1], method="lower")
        low, middle, high = map(column.write, ends)
        return f"always {low}" if low == high else f"{low} to {high}, median {middle}"
    counts = column.count_labels()
    if len(counts) == len(known) > _MAX_LABELS:
        return f"{count(len(known))} values, all different"
    shown = ", ".join(
        f"{column.labels[k]} ({share(n / len(known))})" for k, n in counts[:_MAX_LABELS]
    )
    more = len(counts) - _MAX_LABELS
    return f"{shown} and {some(more, 'other')}" if more > 0 else shown
