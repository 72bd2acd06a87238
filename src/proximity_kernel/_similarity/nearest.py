"""Find the nearest rows of represented rows, without the kernel matrix.

Equal rows are compared once. For distinct rows, an upper bound of every similarity is
computed first from the classes of the cells (`_numba.nearest_loops`). The similarity
itself is computed only where the bound is high enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config

from .._numba.byte_vectors import ROWS
from .._numba.nearest_loops import (
    CLASSES,
    Queries,
    Search,
    classify_cells,
    find_floors,
    keep_nearest,
    list_near,
    spread_groups,
    tabulate_scores,
)
from .._shared.sklearn_bases import Matrix
from .._shared.threads import run_pieces

_TILE_ROWS = 8192  # their classes stay in cache, unless there are many features
_QUERIES = 512  # queries for which a tile is read
_TABLE_BYTES = 1 << 22  # size of the scores of these queries
_SAMPLE = 16  # one of this many vectors of rows is searched for a first lower limit
_HITS = 1 << 16  # hits that one call lists
_MOST_LEVELS, _MOST_BOUND = 127, 65535
_Ints = NDArray[np.int64]

Mode = Literal["connectivity", "distance", "similarity"]
MODES: tuple[Mode, ...] = ("connectivity", "distance", "similarity")


@dataclass(frozen=True)
class Groups:
    """The distinct rows of a representation, in the order of first occurrence.

    Attributes
    ----------
    matrix : csr_array of shape (n_groups, n_columns)
    inverse : ndarray of shape (n,), int64
        Which distinct row each row is.
    starts : ndarray of shape (n_groups + 1,), int64
        Where the rows of each group begin in `members`.
    members : ndarray of shape (n,), int64
        The rows of each group, ascending.
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
    search : Search
        The distinct rows, laid out for the loops.
    """

    groups: Groups
    search: Search

    @property
    def n_groups(self) -> int:
        """Number of distinct rows."""
        return len(self.search.indptr) - 1

    def tiles(self) -> list[tuple[int, int]]:
        """First row, and the one after the last, of parts that stay in cache."""
        starts = range(0, self.n_groups, _TILE_ROWS)
        return [(start, min(start + _TILE_ROWS, self.n_groups)) for start in starts]

    @property
    def queries_at_once(self) -> int:
        """Number of queries whose scores are in memory at once."""
        return max(1, min(_QUERIES, _TABLE_BYTES // (CLASSES * self.search.n_lines)))


@dataclass(frozen=True)
class Nearest:
    """The nearest rows of each query, in consecutive parts of a table.

    Attributes
    ----------
    similarities : ndarray of shape (n_queries, n_found)
        Largest first; ties go to the lower index.
    indices : ndarray of shape (n_queries, n_found), int64
        Row numbers, counted from the first of these parts.
    n_rows : int
        Number of rows of these parts.
    wanted : int
        Number of neighbors to find; fewer are found if there are fewer rows.
    """

    similarities: NDArray[Any]
    indices: NDArray[np.int64]
    n_rows: int
    wanted: int


def merge_nearest(a: Nearest, b: Nearest) -> Nearest:
    """Keep the nearest rows of two consecutive parts of a table, `a` and then `b`.

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
    # A stable sort leaves equal similarities in the order of the rows.
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
    """Turn similarities into distances; ties go to the lower index.

    Similarities that differ in the last bit can give equal distances.
    """
    distances = 1 - similarities
    order = np.lexsort((indices, distances), axis=1)
    distances = np.take_along_axis(distances, order, axis=1)
    return distances, np.take_along_axis(indices, order, axis=1)


def drop_itself(
    similarities: NDArray[Any], indices: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Remove each row from its own neighbors, or the last neighbor if it is not one."""
    n, k = indices.shape
    others = indices != rows[:, None]
    others[others.all(axis=1), -1] = False
    return similarities[others].reshape(n, k - 1), indices[others].reshape(n, k - 1)


def group_rows(matrix: sp.csr_array) -> Groups:
    """Group the rows whose entries are all equal.

    Examples
    --------
    >>> groups = group_rows(sp.csr_array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> groups.inverse.tolist(), groups.members.tolist(), groups.starts.tolist()
    ([0, 1, 0], [0, 2, 1], [0, 2, 3])
    """
    n_rows, n_columns = matrix.shape
    # Equal rows have equal sums; different rows almost never do.
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


def build_index(
    matrix: sp.csr_array,
    n_features: int,
    n_columns: _Ints | None = None,
    n_leaves: _Ints | None = None,
) -> Index:
    """Build an index of rows, with which queries can be compared.

    Parameters
    ----------
    matrix : csr_array of shape (n, sum(n_columns))
        Without negative entries.
    n_features : int
        Number of features that a similarity averages.
    n_columns, n_leaves : ndarray of int64, one entry per feature
        Number of columns of each feature, and of leaves, which are its first columns.
        If not given, every column is a feature.

    Returns
    -------
    Index
    """
    groups = group_rows(matrix)
    held = groups.matrix
    sizes = np.ones(matrix.shape[1], np.int64) if n_columns is None else n_columns
    first_column = np.concatenate([[0], np.cumsum(sizes)])
    stride = -(-held.shape[0] // ROWS) * ROWS
    n_lines = max(2, len(sizes) + len(sizes) % 2)
    search = Search(
        held.indptr,
        held.indices,
        held.data,
        float(max(n_features, 1)),
        n_lines,
        np.repeat(np.arange(len(sizes)), sizes),
        np.zeros(n_lines * stride, np.uint8),
        stride,
        np.zeros((matrix.shape[1], CLASSES)),
    )
    classify_cells(
        *search[:3], first_column, sizes if n_leaves is None else n_leaves,
        search.feature, stride, search.classes, search.largest,
    )  # fmt: skip
    return Index(groups, search)


def find_nearest(
    index: Index, rows: sp.csr_array | None, k: int, n_threads: int = 1
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Find the `k` rows most similar to each row; ties go to the lower index.

    Parameters
    ----------
    index : Index
    rows : csr_array of shape (m, n_columns) or None
        None means the rows of the index; a row is not excluded from its own results.
    k : int
        At most the number of rows of the index.
    n_threads : int

    Returns
    -------
    similarities : ndarray of shape (m, k)
        Descending in each row.
    indices : ndarray of shape (m, k), int64

    Examples
    --------
    >>> z = sp.csr_array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.5, 0.5, 1.0]])
    >>> similarities, indices = find_nearest(build_index(z, n_features=2), z, 2)
    >>> indices.tolist()
    [[0, 2], [0, 1], [0, 2]]
    """
    asked = index.groups if rows is None else group_rows(rows)
    n, dtype = asked.matrix.shape[0], asked.matrix.dtype
    n_kept = min(k, index.n_groups)
    values = np.full((n, n_kept), -1, dtype)
    found = np.zeros((n, n_kept), np.int64)

    def search_some(first: int, last: int) -> None:
        asking, room = _prepare(index, asked.matrix, first, last)
        floors = np.full(last - first, -1.0)
        if index.n_groups > _SAMPLE * ROWS * n_kept:
            best = np.zeros((2, n_kept), np.int64)
            find_floors(*(*asking, _SAMPLE, *room, best, floors))
        for tile in index.tiles():
            keep_nearest(*(*asking, *tile, *room, floors, values, found))

    # Enough queries to share the reading of a tile, few enough to busy all threads.
    piece = max(1, min(index.queries_at_once, -(-n // n_threads)))
    run_pieces(search_some, n, piece, n_threads)
    out_values, out = np.empty((n, k), dtype), np.empty((n, k), np.int64)
    groups = index.groups
    spread_groups(values, found, groups.starts, groups.members, out_values, out)
    return out_values[asked.inverse], out[asked.inverse]


def find_near(
    index: Index, rows: sp.csr_array | None, similarity: float, n_threads: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Find the rows whose similarity to each row is at least `similarity`.

    Parameters
    ----------
    index, rows, n_threads
        As in `find_nearest`.
    similarity : float

    Returns
    -------
    starts : ndarray of shape (m + 1,), int64
        Where the results of each row begin in the other two arrays.
    indices : ndarray, int64
        Ascending for each row.
    similarities : ndarray

    Examples
    --------
    >>> z = sp.csr_array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.5, 0.5, 1.0]])
    >>> starts, indices, _ = find_near(build_index(z, n_features=2), z, 0.5)
    >>> starts.tolist(), indices.tolist()
    ([0, 3, 5, 7], [0, 1, 2, 0, 1, 0, 2])
    """
    asked = index.groups if rows is None else group_rows(rows)
    n, dtype = asked.matrix.shape[0], asked.matrix.dtype
    step = max(1, min(_HITS // _TILE_ROWS, index.queries_at_once))
    parts: list[list[tuple[NDArray[Any], ...]]] = [[] for _ in range(0, n, step)]

    def search_some(first: int, last: int) -> None:
        hits = np.empty((2, step * _TILE_ROWS), np.int64)
        values = np.empty(hits.shape[1], dtype)
        asking, room = _prepare(index, asked.matrix, first, last)
        for tile in index.tiles():
            arguments = (*asking, *tile, *room, similarity, *hits, values)
            count = list_near(*arguments)
            if count:
                found = (hits[0, :count], hits[1, :count], values[:count])
                parts[first // step].append(tuple(map(np.copy, found)))

    run_pieces(search_some, n, step, n_threads)
    return _gather_near(index.groups, asked, [p for part in parts for p in part], dtype)


def _gather_near(
    groups: Groups, asked: Groups, parts: list[tuple[NDArray[Any], ...]], dtype: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Replace groups by their rows on both sides, and sort the results."""
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


def _prepare(
    index: Index, matrix: sp.csr_array, first: int, last: int
) -> tuple[Any, Any]:
    """Tabulate the scores of the queries from `first` up to `last`; allocate memory."""
    search = index.search
    size = CLASSES * search.n_lines
    queries = Queries(matrix.indptr, matrix.indices, matrix.data)
    tables, scales = np.empty((last - first) * size, np.uint8), np.empty(last - first)
    most = min(_MOST_LEVELS, _MOST_BOUND // search.n_lines)
    tabulate_scores(
        queries, first, last, search, float(most), np.empty(size), tables, scales
    )
    bounds, row = np.empty(ROWS, np.uint16), np.zeros(matrix.shape[1])
    room = (bounds, row, np.empty(1, matrix.dtype))
    return (queries, first, last, tables, scales, search), room


def make_graph(
    starts: _Ints, indices: _Ints, similarities: NDArray[Any], mode: Mode, n_rows: int
) -> Matrix:
    """Make a sparse matrix of the results, of shape (n_queries, n_rows)."""
    data = similarities
    if mode == "connectivity":
        data = np.ones_like(similarities)
    elif mode == "distance":
        data = 1 - similarities
    plain = get_config().get("sparse_interface", "spmatrix") == "spmatrix"
    make = sp.csr_matrix if plain else sp.csr_array
    graph: Matrix = make((data, indices, starts), shape=(len(starts) - 1, n_rows))
    return graph


def split_answers(values: NDArray[Any], starts: _Ints) -> NDArray[np.object_]:
    """Split the results into an array for each query."""
    out = np.empty(len(starts) - 1, dtype=object)
    for i in range(len(out)):
        out[i] = values[starts[i] : starts[i + 1]]
    return out
