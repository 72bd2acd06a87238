"""Representation in, the nearest rows out, without the kernel ever being there.

Equal rows are compared once. Of the distinct ones every similarity is bounded from
above first, in small whole numbers, and computed only where the bound leaves
room for it: a row touches few columns, and few rows come near another.

For the bounds an entry b of column c becomes ``ceil(scale * m * b)`` levels, where m is
the greatest entry of its column, and an entry w of a query the share ``w / m`` of the
levels, in 256ths rounded up. A known cell then has all of its levels, and adding is
enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._numba.nearest_loops import (
    WHOLE,
    fill_tile,
    keep_nearest,
    list_near,
    spread_groups,
)
from .._shared.threads import run_pieces

_TILE_BYTES = 1 << 18  # a tile stays in cache
_MOST_ROWS = 2048  # of a tile
_QUERIES = 512  # that a tile is filled for
_HITS = 1 << 16  # that one call lists
_ROUNDING = 1e-4  # levels by which a bound may be too low, for each entry
_TOP_LEVEL, _TOP_BOUND = 255, 65535


@dataclass(frozen=True)
class Groups:
    """The distinct rows of a representation, in the order of their first places.

    Attributes
    ----------
    matrix : csr_array of shape (n_groups, n_columns)
    inverse : ndarray of shape (n,), int64
        Which distinct row each row is.
    starts : ndarray of shape (n_groups + 1,), int64
        Where the rows of each group begin in `members`.
    members : ndarray of shape (n,), int64
        The rows of each group, rising.
    """

    matrix: sp.csr_array
    inverse: NDArray[np.int64]
    starts: NDArray[np.int64]
    members: NDArray[np.int64]


@dataclass(frozen=True)
class Index:
    """Rows that others are compared with.

    Attributes
    ----------
    groups : Groups
    n_features : int
        Features that the kernel takes its mean over.
    levels : ndarray of shape (nnz of the groups,), uint8
    largest : ndarray of shape (n_columns,), float64
        The greatest entry of each column.
    scale : float
        Levels of an entry of one.
    """

    groups: Groups
    n_features: int
    levels: NDArray[np.uint8]
    largest: NDArray[np.float64]
    scale: float


@dataclass(frozen=True)
class Nearest:
    """The nearest rows of each query, in consecutive parts of a table.

    Attributes
    ----------
    similarities : ndarray of shape (n_queries, n_found)
        Largest first; among equals the lower row number first.
    indices : ndarray of shape (n_queries, n_found), int64
        Row numbers, counted from the first of these parts.
    n_rows : int
        Rows of these parts.
    wanted : int
        Neighbors to find; fewer are found if there are fewer rows.
    """

    similarities: NDArray[Any]
    indices: NDArray[np.int64]
    n_rows: int
    wanted: int


def merge_nearest(a: Nearest, b: Nearest) -> Nearest:
    """Keep the nearest rows of two parts of a table, of which `b` follows `a`.

    Examples
    --------
    >>> a = Nearest(np.array([[0.9, 0.5]]), np.array([[4, 0]]), 5, 2)
    >>> b = Nearest(np.array([[0.9, 0.7]]), np.array([[1, 0]]), 3, 2)
    >>> merged = merge_nearest(a, b)
    >>> merged.indices.tolist(), merged.similarities.tolist()
    ([[4, 6]], [[0.9, 0.9]])
    """
    similarities = np.hstack([a.similarities, b.similarities])
    indices = np.hstack([a.indices, b.indices + a.n_rows])
    # Stable: equal ones stay in the order of the rows.
    best = np.argsort(-similarities, axis=1, kind="stable")[:, : a.wanted]
    return Nearest(
        np.take_along_axis(similarities, best, axis=1),
        np.take_along_axis(indices, best, axis=1),
        a.n_rows + b.n_rows,
        a.wanted,
    )


def sort_distances(
    similarities: NDArray[Any], indices: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Turn similarities into distances; among equal ones the lower index comes first.

    Similarities that differ in the last bit can give equal distances.
    """
    distances = 1 - similarities
    order = np.lexsort((indices, distances), axis=1)
    distances = np.take_along_axis(distances, order, axis=1)
    return distances, np.take_along_axis(indices, order, axis=1)


def drop_itself(
    similarities: NDArray[Any], indices: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Remove each row from its own neighbors, or the last one if it is not there."""
    n, k = indices.shape
    others = indices != rows[:, None]
    others[others.all(axis=1), -1] = False
    return similarities[others].reshape(n, k - 1), indices[others].reshape(n, k - 1)


@dataclass(frozen=True)
class _Queries:
    """Rows to compare: entries, their shares, and the bound of a similarity of one."""

    matrix: sp.csr_array
    shares: NDArray[np.uint16]
    scales: NDArray[np.float64]


def group_rows(matrix: sp.csr_array) -> Groups:
    """Find the rows that are equal, entry by entry.

    Examples
    --------
    >>> groups = group_rows(sp.csr_array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> groups.inverse.tolist(), groups.members.tolist(), groups.starts.tolist()
    ([0, 1, 0], [0, 2, 1], [0, 2, 3])
    """
    n_rows, n_columns = matrix.shape
    # Equal rows have equal sums, and others nearly never.
    sums = matrix @ np.random.default_rng(0).random(n_columns)
    _, first, inverse = np.unique(sums, return_index=True, return_inverse=True)
    if not _all_equal(matrix, matrix[first[inverse]]):
        first = inverse = np.arange(n_rows)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    inverse = rank[inverse]
    return Groups(
        matrix[np.sort(first)],
        inverse,
        np.concatenate([[0], np.cumsum(np.bincount(inverse, minlength=len(first)))]),
        np.argsort(inverse, kind="stable"),
    )


def _all_equal(a: sp.csr_array, b: sp.csr_array) -> bool:
    pairs = ((a.indptr, b.indptr), (a.indices, b.indices), (a.data, b.data))
    return all(np.array_equal(left, right) for left, right in pairs)


def build_index(matrix: sp.csr_array, n_features: int) -> Index:
    """Prepare rows to be compared with.

    Parameters
    ----------
    matrix : csr_array of shape (n, n_columns)
        Without negative entries.
    n_features : int

    Returns
    -------
    Index
    """
    groups = group_rows(matrix)
    held = groups.matrix
    largest = np.zeros(matrix.shape[1])
    np.maximum.at(largest, held.indices, held.data)
    entries = held.data * largest[held.indices]
    weighed = sp.csr_array((entries, held.indices, held.indptr), shape=held.shape)
    sums = np.asarray(weighed.sum(axis=1))
    room = _TOP_BOUND - int(np.diff(held.indptr).max(initial=0))
    scale = 0.0  # bounds nothing: all is computed
    if len(entries) and room > 0 and sums.max() > 0:
        scale = min(_TOP_LEVEL / entries.max(), room / sums.max())
    levels = np.ceil(entries * scale - _ROUNDING) if scale else np.zeros(len(entries))
    return Index(
        groups, max(n_features, 1), levels.astype(np.uint8), largest, float(scale)
    )


def find_nearest(
    index: Index, rows: sp.csr_array | None, k: int, n_threads: int = 1
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Find the `k` rows most similar to each row; the lower number among equals.

    Parameters
    ----------
    index : Index
    rows : csr_array of shape (m, n_columns) or None
        None means the rows of the index; each finds itself among the others.
    k : int
        At most the rows of the index.
    n_threads : int

    Returns
    -------
    similarities : ndarray of shape (m, k)
        Falling along each row.
    indices : ndarray of shape (m, k), int64

    Examples
    --------
    >>> z = sp.csr_array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.5, 0.5, 1.0]])
    >>> similarities, indices = find_nearest(build_index(z, n_features=2), z, 2)
    >>> indices.tolist()
    [[0, 2], [0, 1], [0, 2]]
    """
    asked = index.groups if rows is None else group_rows(rows)
    queries = _weigh(asked.matrix, index)
    n, dtype = asked.matrix.shape[0], asked.matrix.dtype
    n_kept = min(k, index.groups.matrix.shape[0])
    values = np.full((n, n_kept), -1, dtype)
    found = np.zeros((n, n_kept), np.int64)

    def search_some(first: int, last: int) -> None:
        def look(arguments: Any) -> None:
            keep_nearest(*(*arguments, values, found))

        _visit_tiles(index, queries, first, last, look)

    run_pieces(search_some, n, _share_out(n, n_threads), n_threads)
    out_values, out = np.empty((n, k), dtype), np.empty((n, k), np.int64)
    groups = index.groups
    spread_groups(values, found, groups.starts, groups.members, out_values, out)
    return out_values[asked.inverse], out[asked.inverse]


def find_near(
    index: Index, rows: sp.csr_array | None, similarity: float, n_threads: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Find the rows that reach a similarity with each row.

    Parameters
    ----------
    index, rows, n_threads
        As in `find_nearest`.
    similarity : float

    Returns
    -------
    starts : ndarray of shape (m + 1,), int64
        Where the answer of each row begins in the other two.
    indices : ndarray, int64
        Rising for each row.
    similarities : ndarray

    Examples
    --------
    >>> z = sp.csr_array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.5, 0.5, 1.0]])
    >>> starts, indices, _ = find_near(build_index(z, n_features=2), z, 0.5)
    >>> starts.tolist(), indices.tolist()
    ([0, 3, 5, 7], [0, 1, 2, 0, 1, 0, 2])
    """
    asked = index.groups if rows is None else group_rows(rows)
    queries = _weigh(asked.matrix, index)
    n, dtype = asked.matrix.shape[0], asked.matrix.dtype
    step = max(1, _HITS // _tile_rows(index))
    parts: list[list[tuple[NDArray[Any], ...]]] = [[] for _ in range(0, n, step)]

    def search_some(first: int, last: int) -> None:
        hits = np.empty((2, step * _tile_rows(index)), np.int64)
        values = np.empty(hits.shape[1], dtype)

        def look(arguments: Any) -> None:
            count = list_near(*(*arguments, similarity, *hits, values))
            if count:
                found = (hits[0, :count], hits[1, :count], values[:count])
                parts[first // step].append(tuple(map(np.copy, found)))

        _visit_tiles(index, queries, first, last, look)

    run_pieces(search_some, n, step, n_threads)
    return _gather_near(index.groups, asked, [p for part in parts for p in part], dtype)


def _gather_near(
    groups: Groups, asked: Groups, parts: list[tuple[NDArray[Any], ...]], dtype: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Replace groups by their rows on both sides, and put the answers in order."""
    none = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, dtype))
    query, group, value = map(np.concatenate, zip(none, *parts, strict=True))
    sizes = np.diff(groups.starts)[group]
    place = np.repeat(groups.starts[group] - np.cumsum(sizes) + sizes, sizes)
    members = groups.members[place + np.arange(len(place))]
    query, value = np.repeat(query, sizes), np.repeat(value, sizes)
    order = np.lexsort((members, query))
    counts = np.bincount(query, minlength=asked.matrix.shape[0])
    before = np.cumsum(counts) - counts
    sizes = counts[asked.inverse]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    place = np.repeat(before[asked.inverse] - starts[:-1], sizes)
    picked = order[place + np.arange(len(place))]
    return starts, members[picked], value[picked]


def _weigh(matrix: sp.csr_array, index: Index) -> _Queries:
    largest = index.largest[matrix.indices]
    ratios = matrix.data / np.where(largest > 0, largest, np.inf)
    held = sp.csr_array((ratios, matrix.indices, matrix.indptr), shape=matrix.shape)
    top = np.zeros(matrix.shape[0])
    if matrix.nnz:  # where there are no columns there is no maximum
        top = held.max(axis=1).toarray().ravel()
    top[top == 0] = 1
    ratios /= np.repeat(top, np.diff(matrix.indptr))
    shares = np.ceil(ratios * WHOLE - _ROUNDING).astype(np.uint16)
    return _Queries(matrix, shares, index.scale * index.n_features / top)


def _tile_rows(index: Index) -> int:
    n_rows, n_columns = map(int, index.groups.matrix.shape)
    return max(1, min(_MOST_ROWS, n_rows, _TILE_BYTES // max(n_columns, 1)))


def _share_out(n_queries: int, n_threads: int) -> int:
    """Choose the queries of a piece: many to a tile, and no thread without work."""
    return max(1, min(_QUERIES, -(-n_queries // n_threads)))


def _visit_tiles(
    index: Index, queries: _Queries, first: int, last: int, look: Callable[[Any], None]
) -> None:
    """Hand the queries from `first` up to `last`, and each tile, to a loop."""
    held, asked = index.groups.matrix, queries.matrix
    (n_rows, n_columns), step = held.shape, _tile_rows(index)
    tile = np.empty((n_columns, step), np.uint8)
    bounds, whole = np.empty(step, np.uint16), np.empty(n_columns, np.uint64)
    row, one = np.zeros(n_columns), np.empty(1, asked.dtype)
    for start in range(0, n_rows, step):
        stop = min(start + step, n_rows)
        fill_tile(held.indptr, held.indices, index.levels, start, stop, tile)
        look((
            asked.indptr, asked.indices, asked.data, queries.shares, queries.scales,
            2 * _ROUNDING, first, last, held.indptr, held.indices, held.data, start,
            stop, float(index.n_features), tile, bounds, whole, row, one,
        ))  # fmt: skip
