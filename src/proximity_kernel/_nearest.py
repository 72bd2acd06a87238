"""Compare represented rows: the kernel matrix, and the nearest rows without it.

The matrix ``K(x, y) = z_x . z_y / d`` is computed tile by tile, so memory in addition
to the result stays within a limit. Each thread computes its own tiles and BLAS uses one
thread per tile, so the bits do not depend on the number of threads.

To find nearest rows, equal rows are compared once. Each cell of a row has one of 32
classes, stored in a byte. For a query, a table holds the highest score that a cell of
each class can have, rounded up to whole levels. The sum of the levels of a row's cells
is an upper bound of its similarity, computed for 64 rows at a time. The similarity
itself is computed only where the bound is high enough, always by the same sum in the
same order, so the result does not depend on classes, threads or the machine.

A similarity is a score, divided by the score of a row with exactly the query's values
(`FullScore`). It is rounded once, to a multiple of ``GRID``, which float32 holds
exactly. Sums that differ only by rounding errors are then equal, and ties go to the
lower index in every dtype and partition.

*A connected graph of nearest rows* replaces an n x n matrix of distances in methods
that accept a graph. Each row is joined to its nearest rows. If the graph has several
components, each component but the largest is joined to the nearest row outside it,
until one component is left.

The distance of an edge is the larger of the distances that its two rows have to each
other, so the graph is symmetric. scikit-learn's HDBSCAN drops edges of distance 0, so 0
is replaced by the least distance above 0 that a search can find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ._coded import FullScore, check_columns, make_csr
from ._compile import compiled, inlined
from ._shared.resources import one_blas_thread, run_pieces
from ._shared.sklearn_bases import Matrix
from ._vectors import LOOKS_UP, LOOKUP_ROWS, add_looked_up

_DOUBLE = 8  # bytes of a float64
_TILE = 512  # maximum rows and columns of a tile, so that it stays in cache
_SPARSE_FROM = 6  # columns per entry; from here on, skipping zeros is faster than BLAS
_TILE_ROWS = 8192  # rows whose classes stay in cache, unless they have many features
_QUERIES = 512  # queries for which a tile is read
_TABLE_BYTES = 1 << 22  # size of the scores of these queries
_SAMPLE = 16  # one of this many vectors of rows is searched for a first lower limit
_HITS = 1 << 16  # hits that one call lists
_MOST_LEVELS, _MOST_BOUND = 127, 65535
GRID = 2.0**-24
"""Similarities that a search finds are multiples of this."""
_STEPS = 1 / GRID
_Ints = NDArray[np.int64]
Mode = Literal["connectivity", "distance", "similarity"]
CLASSES = 32
_OBSERVED = 16  # classes of cells with one leaf; estimated cells have the other classes
_ZONES = 4  # estimated cells are classed by their likely bins and the probability
_FEW = (1, 4, 16, 64)  # component sizes: of size + 1 nearest rows, one is outside
_Edges = tuple[_Ints, _Ints, NDArray[np.float64]]


def kernel_matrix(
    a: sp.csr_array,
    b: sp.csr_array | None,
    n_features: int,
    memory: int,
    n_threads: int = 1,
    *,
    limited: bool = True,
) -> NDArray[Any]:
    """Compute the similarity of each row of `a` to each row of `b`, or of `a`.

    Products are summed in float64 and rounded once. In float32, BLAS gives other last
    digits for other shapes, so that partitions would differ from the whole table.

    Parameters
    ----------
    a : csr_array of shape (n, n_columns)
    b : csr_array of shape (m, n_columns) or None
        None means `a` itself; the result is then exactly symmetric.
    n_features : int
        Number of features that a similarity averages.
    memory : int
        Bytes to use in addition to the result.
    n_threads : int
    limited : bool
        Whether only rounding can make a similarity exceed 1; it is then set to 1.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> z = sp.csr_array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.5, 0.5, 1.0]])
    >>> kernel_matrix(z, None, n_features=2, memory=1 << 20)
    array([[1.  , 0.5 , 0.75],
           [0.5 , 0.5 , 0.25],
           [0.75, 0.25, 0.75]])
    """
    other, n_columns = a if b is None else b, a.shape[1]
    step = max(1, min(_TILE, memory // (2 * _DOUBLE * (n_columns + _TILE))))
    sparse = other.shape[0] * n_columns > _SPARSE_FROM * other.nnz
    # If memory allows, make `other` dense once for all tiles.
    dense = not sparse and other.shape[0] * n_columns * _DOUBLE <= memory // 2
    right_rows = other.astype(np.float64).toarray() if dense else other
    out = np.empty((a.shape[0], other.shape[0]), a.dtype)

    def fill_some(first: int, last: int) -> None:
        left = a[first:last].astype(np.float64)
        left = left if sparse else left.toarray()
        for start in range(first if b is None else 0, other.shape[0], step):
            stop = min(start + step, other.shape[0])
            if b is None and start == first and not sparse:
                right = left.T  # the same array: BLAS keeps the product symmetric
            elif dense:
                right = right_rows[start:stop].T
            else:  # C order after transposing: the product runs along its rows
                right = right_rows[start:stop].T.astype(np.float64).toarray(order="C")
            tile = np.asarray(left @ right)
            # The sum is divided, not its terms, so that a complete row has similarity
            # exactly 1 with itself. With two resolutions, whose weights are square
            # roots, rounding can make it slightly less, but never more.
            tile /= max(n_features, 1)
            if limited:
                np.minimum(tile, 1, out=tile)
            out[first:last, start:stop] = tile
            if b is None and start != first:
                out[start:stop, first:last] = tile.T

    with one_blas_thread():
        run_pieces(fill_some, a.shape[0], step, n_threads)
    return out


MODES: tuple[Mode, ...] = ("connectivity", "distance", "similarity")


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows of a representation, in the order of first occurrence.

    Attributes
    ----------
    matrix : csr_array of shape (n_groups, n_columns)
    inverse : ndarray of shape (n,), int64
        Index of the distinct row that equals each row.
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
    """Index of represented rows, with which queries are compared.

    Attributes
    ----------
    groups : DistinctRows
    search : Search
        The distinct rows, laid out for the loops.
    full : FullScore
        Computes the score that is similarity 1 for a query.
    """

    groups: DistinctRows
    search: Search
    full: FullScore

    @property
    def n_groups(self) -> int:
        """Number of distinct rows."""
        return len(self.search.indptr) - 1

    def tiles(self) -> list[tuple[int, int]]:
        """List ranges (first, last + 1) of distinct rows that stay in cache."""
        starts = range(0, self.n_groups, _TILE_ROWS)
        return [(start, min(start + _TILE_ROWS, self.n_groups)) for start in starts]

    @property
    def queries_at_once(self) -> int:
        """Number of queries whose scores are in memory at once."""
        return max(1, min(_QUERIES, _TABLE_BYTES // (CLASSES * self.search.n_lines)))


@dataclass(frozen=True)
class Nearest:
    """The nearest rows of each query, found in consecutive chunks of a table.

    Attributes
    ----------
    similarities : ndarray of shape (n_queries, n_found)
        Largest first; ties go to the lower index.
    indices : ndarray of shape (n_queries, n_found), int64
        Row indices, counted from the first row of these chunks.
    n_rows : int
        Number of rows of these chunks.
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


def drop_itself(
    similarities: NDArray[Any], indices: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Drop the query row from its neighbors; if it is absent, drop the farthest."""
    n, k = indices.shape
    others = indices != rows[:, None]
    others[others.all(axis=1), -1] = False
    return similarities[others].reshape(n, k - 1), indices[others].reshape(n, k - 1)


def group_rows(matrix: sp.csr_array) -> DistinctRows:
    """Group the identical rows of a representation.

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
    if len(first) == n_rows or (matrix != matrix[first[inverse]]).nnz:
        return _list_groups(matrix, np.arange(n_rows))
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    inverse = rank[inverse]
    return _list_groups(matrix[np.sort(first)], inverse)


def _list_groups(matrix: sp.csr_array, inverse: NDArray[np.int64]) -> DistinctRows:
    """List the members of each distinct row."""
    sizes = np.bincount(inverse, minlength=matrix.shape[0])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return DistinctRows(matrix, inverse, starts, np.argsort(inverse, kind="stable"))


def build_index(
    matrix: sp.csr_array,
    n_features: int,
    n_columns: _Ints | None = None,
    n_leaves: _Ints | None = None,
    full: FullScore | None = None,
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
    full : FullScore or None
        Computes the score that is similarity 1 for a query; None means 1.

    Returns
    -------
    Index
    """
    groups = group_rows(matrix)
    distinct = groups.matrix
    sizes = np.ones(matrix.shape[1], np.int64) if n_columns is None else n_columns
    first_column = np.concatenate([[0], np.cumsum(sizes)])
    stride = -(-distinct.shape[0] // LOOKUP_ROWS) * LOOKUP_ROWS
    n_lines = max(2, len(sizes) + len(sizes) % 2)
    search = Search(
        distinct.indptr,
        distinct.indices,
        distinct.data,
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
    return Index(groups, search, full or FullScore(float(max(n_features, 1))))


def spread_index(index: Index, inverse: NDArray[np.int64]) -> Index:
    """Convert an index of distinct rows to an index of all rows, given by `inverse`.

    Parameters
    ----------
    index : Index
    inverse : ndarray of shape (n,), int64
        The row of the index that equals each row; first occurrences are 0, 1, 2, ...

    Examples
    --------
    >>> index = build_index(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), n_features=1)
    >>> spread_index(index, np.array([0, 1, 0])).groups.members.tolist()
    [0, 2, 1]
    """
    groups = index.groups
    if groups.matrix.shape[0] != len(groups.inverse):
        raise ValueError("rows of the index are not distinct")
    return replace(index, groups=_list_groups(groups.matrix, inverse))


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
        Descending in each row; multiples of `GRID`.
    indices : ndarray of shape (m, k), int64

    Examples
    --------
    >>> z = sp.csr_array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.5, 0.5, 1.0]])
    >>> similarities, indices = find_nearest(build_index(z, n_features=2), z, 2)
    >>> indices.tolist()
    [[0, 2], [0, 1], [0, 2]]
    """
    if rows is not None:
        check_columns(rows, index.groups.matrix.shape[1])
    asked = index.groups if rows is None else group_rows(rows)
    n, dtype = asked.matrix.shape[0], asked.matrix.dtype
    n_kept = min(k, index.n_groups)
    values = np.full((n, n_kept), -1, dtype)
    found = np.zeros((n, n_kept), np.int64)

    def search_some(first: int, last: int) -> None:
        asking, room = _prepare_queries(index, asked.matrix, first, last)
        floors = np.full(last - first, -1.0)
        if index.n_groups > _SAMPLE * LOOKUP_ROWS * n_kept:
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
    if rows is not None:
        check_columns(rows, index.groups.matrix.shape[1])
    asked = index.groups if rows is None else group_rows(rows)
    n, dtype = asked.matrix.shape[0], asked.matrix.dtype
    step = max(1, min(_HITS // _TILE_ROWS, index.queries_at_once))
    parts: list[list[tuple[NDArray[Any], ...]]] = [[] for _ in range(0, n, step)]

    def search_some(first: int, last: int) -> None:
        hits = np.empty((2, step * _TILE_ROWS), np.int64)
        values = np.empty(hits.shape[1], dtype)
        asking, room = _prepare_queries(index, asked.matrix, first, last)
        for tile in index.tiles():
            arguments = (*asking, *tile, *room, similarity, *hits, values)
            count = list_near(*arguments)
            if count:
                found = (hits[0, :count], hits[1, :count], values[:count])
                parts[first // step].append(tuple(map(np.copy, found)))

    run_pieces(search_some, n, step, n_threads)
    return _gather_near(index.groups, asked, [p for part in parts for p in part], dtype)


def _gather_near(
    groups: DistinctRows,
    asked: DistinctRows,
    parts: list[tuple[NDArray[Any], ...]],
    dtype: Any,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Expand hits of distinct rows to all rows, sorted by query, then by row."""
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


def _prepare_queries(
    index: Index, matrix: sp.csr_array, first: int, last: int
) -> tuple[Any, Any]:
    """Tabulate queries `first` up to `last`; return arguments for the loops."""
    search = index.search
    size = CLASSES * search.n_lines
    full = index.full.of(matrix[first:last])
    queries = Queries(matrix.indptr, matrix.indices, matrix.data, first, full)
    tables, scales = np.empty((last - first) * size, np.uint8), np.empty(last - first)
    most = min(_MOST_LEVELS, _MOST_BOUND // search.n_lines)
    tabulate_scores(
        queries, first, last, search, float(most), np.empty(size), tables, scales
    )
    bounds, row = np.empty(LOOKUP_ROWS, np.uint16), np.zeros(matrix.shape[1])
    room = (bounds, row, np.empty(1, matrix.dtype))
    return (queries, first, last, tables, scales, search), room


def make_graph(
    starts: _Ints, indices: _Ints, similarities: NDArray[Any], mode: Mode, n_rows: int
) -> Matrix:
    """Make a sparse matrix of the results of a search, of shape (n_queries, n_rows)."""
    data = similarities
    if mode == "connectivity":
        data = np.ones_like(similarities)
    elif mode == "distance":
        data = 1 - similarities
    return make_csr((data, indices, starts), (len(starts) - 1, n_rows))


def split_answers(values: NDArray[Any], starts: _Ints) -> NDArray[np.object_]:
    """Split the results of a search into an array for each query."""
    out = np.empty(len(starts) - 1, dtype=object)
    for i in range(len(out)):
        out[i] = values[starts[i] : starts[i + 1]]
    return out


class Search(NamedTuple):
    """Distinct rows to compare queries with, laid out for the loops."""

    indptr: NDArray[Any]  # of the CSR matrix of the rows, like the next two
    indices: NDArray[Any]
    data: NDArray[Any]
    n_lines: int  # number of features, rounded up to an even number
    feature: NDArray[np.int64]  # (n_columns,)
    classes: NDArray[np.uint8]  # (n_lines * stride,) feature after feature
    stride: int  # number of rows, rounded up to a multiple of `LOOKUP_ROWS`
    largest: NDArray[np.float64]  # (n_columns, 32) largest entry of a class


class Queries(NamedTuple):
    """Represented rows whose nearest rows are searched."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]
    first: int  # index of the query of ``full[0]``
    full: NDArray[np.float64]  # full scores, by which inner products are divided


def _bound_by_vectors(
    s: Search, start: int, tables: Any, at: int, n: int, least: Any, bounds: Any
) -> Any:
    """Write bounds of 64 rows by vector lookups; return whether any reaches `least`."""
    return add_looked_up(s.classes, s.stride, start, tables, at, n, least, bounds)


def _bound_by_bytes(
    s: Search, start: int, tables: Any, at: int, n: int, least: Any, bounds: Any
) -> Any:
    """Write bounds of 64 rows, byte by byte; return whether any reaches `least`."""
    for r in range(LOOKUP_ROWS):
        bounds[r] = 0
    for j in range(n):
        for r in range(LOOKUP_ROWS):
            kind = s.classes[j * s.stride + start + r]
            bounds[r] += tables[at + CLASSES * j + kind]
    found = False
    for r in range(LOOKUP_ROWS):
        found |= bounds[r] >= least
    return found


_bound_rows = inlined(_bound_by_vectors if LOOKS_UP else _bound_by_bytes)


def connect_rows(
    index: Index,
    build: Callable[[sp.csr_array], Index],
    nearest: tuple[NDArray[Any], _Ints],
    n_threads: int,
) -> sp.csr_array:
    """Build a connected graph that joins each row to its nearest rows.

    Parameters
    ----------
    index : Index
    build : callable
        Builds an index of represented rows.
    nearest : tuple of ndarray of shape (n, k)
        Similarities and indices of the nearest other rows of each row of the index.
    n_threads : int

    Returns
    -------
    csr_array of shape (n, n), float64
        Distances, symmetric, with stored zeros on the diagonal.
    """
    groups = index.groups
    full = index.full.of(groups.matrix)
    similarities, others = nearest
    n, k = others.shape
    of_row = full[groups.inverse]
    row = np.repeat(np.arange(n), k)
    edges = [_make_edges(row, others.ravel(), similarities, of_row)]
    first = groups.members[groups.starts[:-1]]
    # Join equal rows, so that only distinct rows remain to be joined.
    edges.append(_link_equal_rows(index, first))
    graph = _build_graph(edges, n)
    distinct = build(groups.matrix)
    while True:
        n_parts, part = connected_components(graph, directed=False)
        if n_parts == 1:
            break
        a, b, alike = _find_nearest_outside(distinct, build, part[first], n_threads)
        edges.append(_make_edges(first[a], first[b], alike, of_row))
        graph = _build_graph(edges, n)
    graph.setdiag(0.0)
    graph.sort_indices()
    return graph


def _find_nearest_outside(
    distinct: Index, build: Callable[[sp.csr_array], Index], part: _Ints, n_threads: int
) -> _Edges:
    """Find, for each component but the largest, the row outside that is most similar.

    Returns one pair of a row inside and a row outside per component, in the order of
    the components.

    Parameters
    ----------
    distinct : Index
        Of distinct rows.
    build, n_threads
        As in `connect_rows`.
    part : ndarray of shape (n_distinct,), int64
        The component of each distinct row.

    Returns
    -------
    inside, outside : ndarray of shape (n_components - 1,), int64
        Indices of distinct rows.
    similarities : ndarray of shape (n_components - 1,), float64
    """
    matrix, sizes = distinct.groups.matrix, np.bincount(part)
    sizes[sizes.argmax()] = 0
    found, least = [], 0
    for most in _FEW:  # small components together, by their sizes
        own = np.flatnonzero((sizes > least)[part] & (sizes <= most)[part])
        least = most
        if len(own):
            k = min(most + 1, matrix.shape[0])  # at least one of k rows is outside
            alike, near = find_nearest(distinct, matrix[own], k, n_threads)
            is_outside = part[near] != part[own][:, None]
            at = np.arange(len(own)), is_outside.argmax(axis=1)  # the nearest is first
            found.append((own, near[at], alike[at]))
    for large in np.flatnonzero(sizes > least):
        own, others = np.flatnonzero(part == large), np.flatnonzero(part != large)
        alike, near = find_nearest(build(matrix[others]), matrix[own], 1, n_threads)
        found.append((own, others[near[:, 0]], alike[:, 0]))
    inside, outside, alike = map(np.concatenate, zip(*found, strict=True))
    order = np.lexsort((outside, inside, -alike, part[inside]))
    first = order[np.unique(part[inside][order], return_index=True)[1]]
    return inside[first], outside[first], alike[first]


def _make_edges(
    a: _Ints, b: _Ints, similarities: NDArray[Any], full: NDArray[np.float64]
) -> _Edges:
    """Make edges from the similarities of rows `b` to queries `a`.

    A distance depends on which row is the query; the larger distance is used.
    """
    kernel = similarities.ravel().astype(np.float64) * full[a]
    distances = 1 - kernel / np.maximum(full[a], full[b])
    return a, b, np.maximum(distances, GRID)


def _link_equal_rows(index: Index, first: _Ints) -> _Edges:
    """Make an edge from each row to the first row with the same representation."""
    groups = index.groups
    later = np.flatnonzero(first[groups.inverse] != np.arange(len(groups.inverse)))
    squares = np.asarray(groups.matrix.multiply(groups.matrix).sum(axis=1)).ravel()
    itself = squares / index.full.of(groups.matrix)
    distances = np.maximum(1 - itself[groups.inverse[later]], GRID)
    return later, first[groups.inverse[later]], distances


def _build_graph(edges: list[_Edges], n: int) -> sp.csr_array:
    """Build a symmetric graph; of several edges of two rows, keep the longest."""
    a, b, distances = (np.concatenate(column) for column in zip(*edges, strict=True))
    low, high = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((-distances, high, low))
    low, high, distances = low[order], high[order], distances[order]
    kept = np.append(True, (np.diff(low) != 0) | (np.diff(high) != 0))
    low, high, distances = low[kept], high[kept], distances[kept]
    rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
    both = np.concatenate([distances, distances])
    return sp.csr_array((both, (rows, columns)), shape=(n, n))


@compiled
def classify_cells(
    indptr: Any, indices: Any, data: Any, first_column: Any, n_leaves: Any,
    feature: Any, stride: int, classes: Any, largest: Any,
) -> None:  # fmt: skip
    """Write the class of each cell of sparse rows, and each class's largest entries."""
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
    """Write the highest score of a cell of each class with each query, in levels.

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
        scales[q - first] = scale * queries.full[q - queries.first]


@inlined
def _compute_similarity(s: Search, r: int, row: Any, full: float, out: Any) -> None:
    """Write the similarity of sparse row r and a dense row, rounded to the grid."""
    total = 0.0
    for p in range(s.indptr[r], s.indptr[r + 1]):
        total += np.float64(s.data[p]) * row[np.uint64(s.indices[p])]
    out[0] = min(np.rint(total / full * _STEPS) * GRID, 1.0)


@inlined
def _write_dense(queries: Queries, q: int, row: Any, clear: bool) -> None:
    """Write a sparse query to the dense `row`; with `clear`, reset its entries to 0."""
    for p in range(queries.indptr[q], queries.indptr[q + 1]):
        row[np.uint64(queries.indices[p])] = 0.0 if clear else queries.data[p]


@inlined
def _bound_to_exceed(similarity: Any, scale: float) -> Any:
    """Return the least quantized upper bound of a row that can exceed `similarity`."""
    if similarity < 0 or scale == 0:  # no neighbor yet, or no bounds
        return np.uint16(0)
    least = np.floor(similarity * scale * (1 - 1e-6)) + 1
    return np.uint16(min(max(least, 0.0), 65535.0))


@inlined
def _bound_to_reach(similarity: Any, scale: float) -> Any:
    """Return the least quantized upper bound of a row that can reach `similarity`."""
    if similarity < 0 or scale == 0:
        return np.uint16(0)
    least = max(similarity - GRID, 0.0)  # a similarity may have been rounded up
    return np.uint16(min(np.floor(least * scale * (1 - 1e-6)), 65535.0))


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
        for start in range(0, n_rows - LOOKUP_ROWS + 1, step * LOOKUP_ROWS):
            least = np.uint16(best[0, k - 1] + 1)
            if not _bound_rows(s, start, tables, at, s.n_lines, least, bounds):
                continue
            for c in range(LOOKUP_ROWS):
                place = k
                while place > 0 and best[0, place - 1] < bounds[c]:
                    place -= 1
                for after in range(k - 1, place, -1):
                    best[0, after] = best[0, after - 1]
                    best[1, after] = best[1, after - 1]
                if place < k:
                    best[0, place] = bounds[c]
                    best[1, place] = start + c
        _write_dense(queries, q, row, False)
        floor, full = 1.0, queries.full[q - queries.first]
        for place in range(k):
            _compute_similarity(s, best[1, place], row, full, one)
            floor = min(floor, one[0])
        _write_dense(queries, q, row, True)
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
        _write_dense(queries, q, row, False)
        full = queries.full[q - queries.first]
        floor = _bound_to_reach(floors[q - first_query], scale)
        least = max(_bound_to_exceed(worst, scale), floor)
        for start in range(first, last, LOOKUP_ROWS):
            if not _bound_rows(s, start, tables, at, n, least, bounds):
                continue
            for c in range(min(LOOKUP_ROWS, last - start)):
                if bounds[c] < least:
                    continue
                _compute_similarity(s, start + c, row, full, one)
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
                least = max(_bound_to_exceed(worst, scale), floor)
        _write_dense(queries, q, row, True)


@compiled
def list_near(
    queries: Queries, first_query: int, last_query: int, tables: Any, scales: Any,
    s: Search, first: int, last: int, bounds: Any, row: Any, one: Any,
    similarity: float, which: Any, found: Any, values: Any,
) -> int:  # fmt: skip
    """List the rows of a tile that reach `similarity` with a query; return how many."""
    n, count = s.n_lines, 0
    for q in range(first_query, last_query):
        at, scale = (q - first_query) * n * CLASSES, scales[q - first_query]
        _write_dense(queries, q, row, False)
        full = queries.full[q - queries.first]
        least = _bound_to_reach(similarity, scale)
        for start in range(first, last, LOOKUP_ROWS):
            if not _bound_rows(s, start, tables, at, n, least, bounds):
                continue
            for c in range(min(LOOKUP_ROWS, last - start)):
                if bounds[c] < least:
                    continue
                _compute_similarity(s, start + c, row, full, one)
                if one[0] >= similarity:
                    which[count] = q
                    found[count] = start + c
                    values[count] = one[0]
                    count += 1
        _write_dense(queries, q, row, True)
    return count


@compiled
def spread_groups(
    values: Any, groups: Any, starts: Any, members: Any, out_values: Any, out: Any
) -> None:
    """Expand the nearest groups of equal rows to the k nearest rows.

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
