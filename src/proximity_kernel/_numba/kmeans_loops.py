"""The compiled loops of k-means on the representation.

A row has few entries, so its inner products with all centers are the sum of a few lines
of a table: one line per column, with the values of all centers side by side. A vector
instruction adds eight or more of them. Rows come in the order of their codes, so most
start with the same entries as the row before and reuse its partial sums. The loops take
and fill plain arrays; each piece of rows writes to its own part of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiling import compiled, inlined
from .float_vectors import find_two_least, sum_eight, sum_sixteen


@inlined
def _score_row(
    i: Any, known: Any, data: Any, indices: Any, indptr: Any, table: Any, width: Any,
    sums: Any,
) -> Any:  # fmt: skip
    """Add the row's lines of `table` to line 0 of `sums`; returns where the sum is.

    The lines up to `known` are reused from the row before, which starts the same way.
    """
    start = indptr[i]
    size = indptr[i + 1] - start
    at = 0
    while at + 16 <= width:
        sum_sixteen(data, indices, table, sums, start, known, size, width, at)
        at += 16
    if at < width:
        sum_eight(data, indices, table, sums, start, known, size, width, at)
    return size * width


@inlined
def _move_row(
    i: Any, data: Any, indices: Any, indptr: Any, weight: float, c: Any,
    sums: Any, weights: Any,
) -> None:  # fmt: skip
    """Add a row, `weight` times, to the sums of cluster `c`."""
    for p in range(indptr[i], indptr[i + 1]):
        sums[c, indices[p]] += weight * data[p]
    weights[c] += weight


@compiled
def count_alike(data: Any, indices: Any, indptr: Any, alike: Any) -> None:
    """Count the leading entries that each row shares with the row before it."""
    alike[0] = 0
    for i in range(1, alike.shape[0]):
        before, start = indptr[i - 1], indptr[i]
        most = min(start - before, indptr[i + 1] - start)
        n = 0
        while (
            n < most
            and indices[before + n] == indices[start + n]
            and data[before + n] == data[start + n]
        ):
            n += 1
        alike[i] = n


@compiled
def assign_rows(
    data: Any, indices: Any, indptr: Any, alike: Any, counts: Any, squares: Any,
    first: int, last: int, table: Any, falls: Any, margin: float, sums: Any,
    labels: Any, slacks: Any, totals: Any, weights: Any,
) -> Any:  # fmt: skip
    """Give each row its nearest center, the lower number in a tie.

    A score is the squared distance minus the row's own square; sums start from line 0
    of `sums`. ``slacks[i]`` is Hamerly's bound: how much nearer row i is to its center
    than to any other. Moving the centers lowers it by ``falls[c]`` for rows of cluster
    c. A row whose slack stays above `margin` keeps its cluster and is not scored.

    Rows that change cluster (-1 is none) are subtracted from the old and added to the
    new in `totals` and `weights`. Returns how many changed, and how many were scored.
    """
    changed, seen = 0, 0
    width = table.shape[0] // totals.shape[1]
    known = 0
    for i in range(first, last):
        known = min(known, alike[i])
        before = labels[i]
        if before >= 0:
            slack = slacks[i] - falls[before]
            if slack > margin:
                slacks[i] = slack
                continue
        seen += 1
        line = _score_row(i, known, data, indices, indptr, table, width, sums)
        known = indptr[i + 1] - indptr[i]
        best, second = find_two_least(sums, line, width)
        # It can be below zero only by rounding.
        near, far = abs(best + squares[i]), abs(second + squares[i])
        slacks[i] = np.sqrt(far) - np.sqrt(near)
        if before >= 0 and sums[line + before] == best and best < second:
            continue
        label = 0
        while sums[line + label] != best:
            label += 1
        if before != label:
            changed += 1
            labels[i] = label
            count = counts[i]
            if before >= 0:
                _move_row(i, data, indices, indptr, -count, before, totals, weights)
            _move_row(i, data, indices, indptr, count, label, totals, weights)
    return changed, seen


@compiled
def try_seeds(
    data: Any, indices: Any, indptr: Any, alike: Any, counts: Any, squares: Any,
    first: int, last: int, table: Any, width: int, sums: Any, closest: Any,
    distances: Any, potentials: Any,
) -> None:  # fmt: skip
    """Find the distance of each row to its nearest seed if a candidate t were added.

    ``closest[i]`` is the squared distance of row i now and ``distances[i, t]`` with the
    candidate; ``potentials[t]`` is their sum over the rows from `first` up to `last`.
    """
    known = 0
    for i in range(first, last):
        known = min(known, alike[i])
        line = _score_row(i, known, data, indices, indptr, table, width, sums)
        known = indptr[i + 1] - indptr[i]
        for t in range(potentials.shape[0]):
            distance = max(sums[line + t] + squares[i], 0)
            distance = min(distance, closest[i])
            distances[i, t] = distance
            potentials[t] += counts[i] * distance


@compiled
def measure_rows(
    data: Any, indices: Any, indptr: Any, alike: Any, squares: Any, first: int,
    last: int, table: Any, width: int, sums: Any, distances: Any,
) -> None:  # fmt: skip
    """Write the distance of each row to each center."""
    known = 0
    for i in range(first, last):
        known = min(known, alike[i])
        line = _score_row(i, known, data, indices, indptr, table, width, sums)
        known = indptr[i + 1] - indptr[i]
        for c in range(distances.shape[1]):
            distances[i, c] = np.sqrt(max(sums[line + c] + squares[i], 0.0))
