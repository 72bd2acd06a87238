"""The compiled loops that find the rows nearest to a row.

Each cell of a row has one of 32 classes, stored in a byte. For a query, a table holds
the highest score that a cell of each class can have, rounded up to whole levels. The
sum of the levels of a row's cells is an upper bound of its similarity, computed for 32
rows at a time. The similarity itself is computed only where the bound is high enough,
always by the same sum in the same order, so the result does not depend on classes,
threads or the machine.

The loops take and fill plain arrays; callers check them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .byte_vectors import LOOKS_UP, ROWS, add_looked_up
from .compiling import compiled, inlined

CLASSES = 32
_OBSERVED = 16  # classes of cells with one leaf; the others are of estimated cells
_ZONES = 4  # estimated cells are classed by their likely bins and the probability


class Search(NamedTuple):
    """Rows to compare queries with."""

    indptr: NDArray[Any]  # of the rows, sparse
    indices: NDArray[Any]
    data: NDArray[Any]
    n_features: float  # number of features that a similarity averages
    n_lines: int  # number of features, rounded up to an even number
    feature: NDArray[np.int64]  # (n_columns,)
    classes: NDArray[np.uint8]  # (n_lines * stride,) feature after feature
    stride: int  # number of rows, rounded up to a multiple of 32
    largest: NDArray[np.float64]  # (n_columns, 32) largest entry of a class


class Queries(NamedTuple):
    """Rows whose nearest rows are wanted."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]


@compiled
def classify_cells(
    indptr: Any, indices: Any, data: Any, first_column: Any, n_leaves: Any,
    feature: Any, stride: int, classes: Any, largest: Any,
) -> None:  # fmt: skip
    """Class the cells of sparse rows, and find the largest entries of each class."""
    for r in range(indptr.shape[0] - 1):
        p = indptr[r]
        while p < indptr[r + 1]:
            j = feature[indices[p]]
            first, n, start = first_column[j], n_leaves[j], p
            found, best, top, total = 0, 0, 0.0, 0.0
            while p < indptr[r + 1] and feature[indices[p]] == j:
                leaf = indices[p] - first
                if leaf < n:
                    found += 1
                    total += data[p]
                    if data[p] > top:
                        best, top = leaf, data[p]
                p += 1
            if found <= 1:
                kind = best % _OBSERVED
            else:
                likely = top / total * max(1.0, n / _ZONES)
                level = min(_ZONES - 1, int(likely * _ZONES))
                kind = _OBSERVED + _ZONES * (best * _ZONES // n) + level
            classes[j * stride + r] = kind
            for e in range(start, p):
                if data[e] > largest[indices[e], kind]:
                    largest[indices[e], kind] = data[e]


@compiled
def tabulate_scores(
    queries: Queries, first: int, last: int, s: Search, most: float, scores: Any,
    tables: Any, scales: Any,
) -> None:  # fmt: skip
    """Write the highest score of each class with each query, in levels.

    `scales` becomes the number of levels for a similarity of one, or 0 without bounds.
    """
    for q in range(first, last):
        scores[:] = 0.0
        for p in range(queries.indptr[q], queries.indptr[q + 1]):
            column = queries.indices[p]
            line = CLASSES * s.feature[column]
            for c in range(CLASSES):
                scores[line + c] += queries.data[p] * s.largest[column, c]
        top = 0.0
        for c in range(scores.shape[0]):
            top = max(top, scores[c])
        scale = 0.0
        if top > 0:
            scale = most / top
        at = (q - first) * s.n_lines * CLASSES
        for c in range(scores.shape[0]):
            tables[at + c] = np.uint8(min(np.ceil(scores[c] * scale), most))
        scales[q - first] = scale * s.n_features


def _bound_by_vectors(
    s: Search, start: int, tables: Any, at: int, n: int, least: Any, bounds: Any
) -> Any:
    return add_looked_up(s.classes, s.stride, start, tables, at, n, least, bounds)


def _bound_by_bytes(
    s: Search, start: int, tables: Any, at: int, n: int, least: Any, bounds: Any
) -> Any:
    for r in range(ROWS):
        bounds[r] = 0
    for j in range(n):
        for r in range(ROWS):
            kind = s.classes[j * s.stride + start + r]
            bounds[r] += tables[at + CLASSES * j + kind]
    found = False
    for r in range(ROWS):
        found |= bounds[r] >= least
    return found


# Bounds the rows from `start` on; returns whether any bound is at least `least`.
_bound_rows = inlined(_bound_by_vectors if LOOKS_UP else _bound_by_bytes)


@inlined
def _compare(s: Search, r: int, row: Any, out: Any) -> None:
    """Write the similarity of sparse row r and a dense row, in the dtype of `out`."""
    total = 0.0
    for p in range(s.indptr[r], s.indptr[r + 1]):
        total += np.float64(s.data[p]) * row[np.uint64(s.indices[p])]
    out[0] = min(total / s.n_features, 1.0)


@inlined
def _spread(queries: Queries, q: int, row: Any, clear: bool) -> None:
    """Write a sparse row into a dense one, or zeros where it has entries."""
    for p in range(queries.indptr[q], queries.indptr[q + 1]):
        row[np.uint64(queries.indices[p])] = 0.0 if clear else queries.data[p]


@inlined
def _least_bound(similarity: Any, scale: float) -> Any:
    """Find the lowest bound that a greater similarity can have."""
    if similarity < 0 or scale == 0:  # before anything is found, or without bounds
        return np.uint16(0)
    least = np.floor(similarity * scale * (1 - 1e-6)) + 1
    return np.uint16(min(max(least, 0.0), 65535.0))


@inlined
def _reaching_bound(similarity: Any, scale: float) -> Any:
    """Find the lowest bound that a similarity at least as great can have."""
    if similarity < 0 or scale == 0:
        return np.uint16(0)
    return np.uint16(min(np.floor(similarity * scale * (1 - 1e-6)), 65535.0))


@compiled
def find_floors(
    queries: Queries, first_query: int, last_query: int, tables: Any,
    scales: Any,  # noqa: ARG001  (the loops take the same arguments)
    s: Search, step: int, bounds: Any, row: Any, one: Any, best: Any, floors: Any,
) -> None:  # fmt: skip
    """Find a lower limit of the similarity of each query's k nearest rows.

    Among every `step`-th vector of rows, the k rows with the greatest bounds are
    compared; the limit is the least of their similarities. ``best[0]`` and ``best[1]``,
    of shape (k,), are scratch memory for the bounds and the rows.
    """
    k, n_rows = best.shape[1], s.indptr.shape[0] - 1
    for q in range(first_query, last_query):
        at = (q - first_query) * s.n_lines * CLASSES
        best[0, :] = -1
        for start in range(0, n_rows - ROWS + 1, step * ROWS):
            least = np.uint16(best[0, k - 1] + 1)
            if not _bound_rows(s, start, tables, at, s.n_lines, least, bounds):
                continue
            for c in range(ROWS):
                place = k
                while place > 0 and best[0, place - 1] < bounds[c]:
                    place -= 1
                for after in range(k - 1, place, -1):
                    best[0, after] = best[0, after - 1]
                    best[1, after] = best[1, after - 1]
                if place < k:
                    best[0, place] = bounds[c]
                    best[1, place] = start + c
        _spread(queries, q, row, False)
        floor = 1.0
        for place in range(k):
            _compare(s, best[1, place], row, one)
            floor = min(floor, one[0])
        _spread(queries, q, row, True)
        floors[q - first_query] = floor


@compiled
def keep_nearest(
    queries: Queries, first_query: int, last_query: int, tables: Any, scales: Any,
    s: Search, first: int, last: int, bounds: Any, row: Any, one: Any, floors: Any,
    values: Any, found: Any,
) -> None:  # fmt: skip
    """Merge the rows of a tile into the nearest of each query, nearest first.

    Rows come in ascending order and only a greater similarity displaces a row, so ties
    go to the lower index. Rows below the floor of a query are skipped.
    """
    k, n = values.shape[1], s.n_lines
    for q in range(first_query, last_query):
        worst = values[q, k - 1]
        if worst >= 1:
            continue
        at, scale = (q - first_query) * n * CLASSES, scales[q - first_query]
        _spread(queries, q, row, False)
        floor = _reaching_bound(floors[q - first_query], scale)
        least = max(_least_bound(worst, scale), floor)
        for start in range(first, last, ROWS):
            if not _bound_rows(s, start, tables, at, n, least, bounds):
                continue
            for c in range(min(ROWS, last - start)):
                if bounds[c] < least:
                    continue
                _compare(s, start + c, row, one)
                value = one[0]
                if value <= worst:
                    continue
                place = k - 1
                while place > 0 and values[q, place - 1] < value:
                    values[q, place] = values[q, place - 1]
                    found[q, place] = found[q, place - 1]
                    place -= 1
                values[q, place] = value
                found[q, place] = start + c
                worst = values[q, k - 1]
                least = max(_least_bound(worst, scale), floor)
        _spread(queries, q, row, True)


@compiled
def list_near(
    queries: Queries, first_query: int, last_query: int, tables: Any, scales: Any,
    s: Search, first: int, last: int, bounds: Any, row: Any, one: Any,
    similarity: float, which: Any, found: Any, values: Any,
) -> int:  # fmt: skip
    """List the rows of a tile that reach a similarity with each query; count them."""
    n, count = s.n_lines, 0
    for q in range(first_query, last_query):
        at, scale = (q - first_query) * n * CLASSES, scales[q - first_query]
        _spread(queries, q, row, False)
        least = _reaching_bound(similarity, scale)
        for start in range(first, last, ROWS):
            if not _bound_rows(s, start, tables, at, n, least, bounds):
                continue
            for c in range(min(ROWS, last - start)):
                if bounds[c] < least:
                    continue
                _compare(s, start + c, row, one)
                if one[0] >= similarity:
                    which[count] = q
                    found[count] = start + c
                    values[count] = one[0]
                    count += 1
        _spread(queries, q, row, True)
    return count


@compiled
def spread_groups(
    values: Any, groups: Any, starts: Any, members: Any, out_values: Any, out: Any
) -> None:
    """Replace the nearest groups of equal rows by the nearest rows.

    Group g has the rows ``members[starts[g]:starts[g + 1]]``, in ascending order. Rows
    of equal similarity are put in ascending order, also across groups.
    """
    k = out.shape[1]
    for q in range(values.shape[0]):
        n = 0
        for rank in range(values.shape[1]):
            g, value = groups[q, rank], values[q, rank]
            for m in range(starts[g], min(starts[g + 1], starts[g] + k)):
                member = members[m]
                if n == k and (out_values[q, k - 1] > value or out[q, k - 1] < member):
                    break
                at = min(n, k - 1)
                while at > 0 and out_values[q, at - 1] == value:
                    if out[q, at - 1] < member:
                        break
                    out[q, at] = out[q, at - 1]
                    out_values[q, at] = value
                    at -= 1
                out[q, at] = member
                out_values[q, at] = value
                n = min(n + 1, k)
