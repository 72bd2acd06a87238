"""Coded rows in, out: the rows with values that do not fit the rest of their row.

The scores are those of `ProximityOutliers`: each observed cell is compared with what
the other cells of its row suggest, and the scores of the cells of a row add up. Two
kinds of cells are left out here: numbers that the page lists as far from all others,
and values that one other cell of the row decides for, whatever the others suggest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from .._coded import CodedTable
from .._surprise import Judge
from ..outliers import Reason, fit_like
from .display_columns import DisplayColumn, clean

_N_ROWS = 10
_N_LOOKED_AT = 30  # rows, some of which may have nothing to list
_N_CELLS = 3  # of a row


def find_surprising_rows(
    kernel: ProximityKernel, columns: Sequence[DisplayColumn], coded: CodedTable
) -> dict[str, Any]:
    """Find the rows with values that do not fit the rest of their row.

    Parameters
    ----------
    kernel : ProximityKernel
        Its options are used.
    columns : sequence of DisplayColumn
    coded : CodedTable
        All rows.

    Returns
    -------
    dict
        ``found``: how many rows are outliers by such values. ``expected``: how many
        would be by chance. ``rows``: the first ten, the most surprising first: row (its
        index) and cells, a list of dict: feature and text. ``n_cells``: how many
        observed cells were compared.
    """
    odd, own = fit_like(kernel, coded.columns)
    cells: NDArray[np.float64] = odd.score_cells(own)
    for j, column in enumerate(columns):
        if column.usual is not None:
            usual, values = column.usual, column.values
            cells[(values < usual.low) | (values > usual.high), j] = 0
    total = cells.sum(axis=1)
    found = int(np.count_nonzero(-total < odd.offset_))
    order = np.argsort(-total, kind="stable")[: min(_N_LOOKED_AT, found)]
    every = odd.reasons(own.take(order), len(columns))
    judge = Judge.of_model(own.model)
    places = {kind.name: j for j, kind in enumerate(own.model.types)}
    rows: list[dict[str, Any]] = []
    for i, reasons in zip(order.tolist(), every, strict=True):
        listed = [(places[one.feature], one) for one in reasons]
        coded_row = own.bins[own.index[i]]
        shown = [
            (j, one)
            for j, one in listed
            if cells[i, j] and (one.side or not judge.is_confirmed(coded_row, j))
        ][:_N_CELLS]
        if shown:
            texts = [_describe(columns[j], i, one) for j, one in shown]
            rows.append({"row": i, "cells": texts})
        else:
            found -= 1
    n_cells = sum(len(column.known) for column in columns)
    return {
        "found": found,
        "expected": odd.expected_false_alarms_,
        "rows": rows[:_N_ROWS],
        "n_cells": n_cells,
    }


def _describe(column: DisplayColumn, i: int, reason: Reason) -> dict[str, str]:
    """Write a reason as the page writes values."""
    missing = bool(column.missing[i])
    value = "missing" if missing else column.write(column.values[i])
    expected = column.write_bin(reason.expected)
    written = replace(reason, feature="", value=value, expected=expected)
    return {"feature": column.name, "text": clean(str(written).strip(), 300)}
