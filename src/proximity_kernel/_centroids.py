"""The compiled loops of k-means on the representation.

A row touches few columns, so its inner products with all centers are a sum of few
look-ups: the table of centers has a line per column, with all centers side by side,
and a vector instruction adds up eight or more of them. Naked arrays in and out; every
piece of rows writes to places of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._compile import compiled, inlined
from ._vectors import sum_eight, sum_sixteen


@inlined
def _score_row(
    i: Any, data: Any, indices: Any, indptr: Any, table: Any, offsets: Any, scores: Any
) -> None:
    """Write offset + row . column for each column of `table`, a multiple of eight."""
    first, last, width = indptr[i], indptr[i + 1], offsets.shape[0]
    at = 0
    while at + 16 <= width:
        sum_sixteen(data, indices, offsets, table, scores, first, last, width, at)
        at += 16
    if at < width:
        sum_eight(data, indices, offsets, table, scores, first, last, width, at)


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
def assign_rows(
    data: Any, indices: Any, indptr: Any, counts: Any, first: int, last: int,
    table: Any, offsets: Any, scratch: Any, labels: Any, scores: Any,
    sums: Any, weights: Any,
) -> int:  # fmt: skip
    """Give each row its nearest center, the lower number in a tie.

    A score is the squared distance less the row's own square. What rows that change
    their cluster (from -1: from none) bring to it or take from it goes to `sums` and
    `weights`. Returns how many do.
    """
    changed = 0
    half = (weights.shape[0] + 1) // 2  # what is past the centers is infinitely far
    for i in range(first, last):
        _score_row(i, data, indices, indptr, table, offsets, scratch)
        # Two halves side by side: each comparison waits for the one before.
        label, best = 0, scratch[0]
        other, least = half, scratch[half]
        for c in range(1, half):
            if scratch[c] < best:
                label, best = c, scratch[c]
            if scratch[half + c] < least:
                other, least = half + c, scratch[half + c]
        if least < best:
            label, best = other, least
        scores[i] = best
        before = labels[i]
        if before != label:
            changed += 1
            labels[i] = label
            count = counts[i]
            if before >= 0:
                _move_row(i, data, indices, indptr, -count, before, sums, weights)
            _move_row(i, data, indices, indptr, count, label, sums, weights)
    return changed


@compiled
def try_seeds(
    data: Any, indices: Any, indptr: Any, counts: Any, squares: Any, first: int,
    last: int, table: Any, offsets: Any, scratch: Any, closest: Any, distances: Any,
    potentials: Any,
) -> None:  # fmt: skip
    """Find how far each row would be from its nearest seed with each of some more.

    ``distances[i, t]`` is the squared distance of row i then, ``closest[i]`` it is now,
    and ``potentials[t]`` the sum over the rows from `first` up to `last`.
    """
    for i in range(first, last):
        _score_row(i, data, indices, indptr, table, offsets, scratch)
        for t in range(potentials.shape[0]):
            distance = max(scratch[t] + squares[i], 0)
            distance = min(distance, closest[i])
            distances[i, t] = distance
            potentials[t] += counts[i] * distance


@compiled
def measure_rows(
    data: Any, indices: Any, indptr: Any, squares: Any, first: int, last: int,
    table: Any, offsets: Any, scratch: Any, distances: Any,
) -> None:  # fmt: skip
    """Write the distance of each row to each center."""
    for i in range(first, last):
        _score_row(i, data, indices, indptr, table, offsets, scratch)
        for c in range(distances.shape[1]):
            distances[i, c] = np.sqrt(max(scratch[c] + squares[i], 0.0))
