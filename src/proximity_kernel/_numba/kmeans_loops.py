"""The compiled loops of k-means on the representation.

A row touches few columns, so its inner products with all centers are a sum of few
look-ups: the table of centers has a line per column, with all centers side by side,
and a vector instruction adds up eight or more of them. Rows come in the order of their
codes, so most begin like the one before, and its sums so far are theirs. Naked arrays
in and out; every piece of rows writes to places of its own.
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
    """Add the row's look-ups in `table` to line 0 of `sums`; returns where they end.

    The lines up to `known` are those of a row that begins alike.
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
    """Count the entries, from the first on, that a row has in common with the last."""
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

    A score is the squared distance less the row's own square; line 0 of `sums` has what
    it starts from. ``slacks[i]`` is by how much the nearest center is nearer than the
    second. It falls by ``falls[c]`` at the most since the centers were moved, c being
    the row's cluster; while more than `margin` is left of it, the row stays, unseen.

    What rows that change their cluster (from -1: from none) bring to it or take from it
    goes to `totals` and `weights`. Returns how many do, and how many were looked at.
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
        # Below zero by a rounding only.
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
    """Find how far each row would be from its nearest seed with each of some more.

    ``distances[i, t]`` is the squared distance of row i then, ``closest[i]`` it is now,
    and ``potentials[t]`` the sum over the rows from `first` up to `last`.
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
