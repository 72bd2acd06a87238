"""A connected graph of nearest rows, for methods that need one and no n x n matrix.

Each row is joined to its nearest rows. If the graph has several components, each but
the largest is joined to the nearest row outside it, and so on until one is left.

An edge has the larger of the distances that its two rows have to each other, so the
graph is symmetric. scikit-learn's HDBSCAN drops edges of distance 0, so these have the
least distance above 0 that a search can find.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ._nearest import GRID, Index, find_nearest

_FEW = (1, 4, 16, 64)  # sizes; a row outside so few rows is among their nearest
_Ints = NDArray[np.int64]


def connect_rows(
    index: Index,
    build: Callable[[sp.csr_array], Index],
    nearest: tuple[NDArray[Any], _Ints],
    n_threads: int,
) -> sp.csr_array:
    """Join rows to their nearest, and components of the graph to each other.

    Parameters
    ----------
    index : Index
    build : callable
        Makes an index of some of the represented rows.
    nearest : tuple of ndarray of shape (n, k)
        Similarities and numbers of the nearest other rows of each row of the index.
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
    edges = [_weigh(np.repeat(np.arange(n), k), others.ravel(), similarities, of_row)]
    first = groups.members[groups.starts[:-1]]
    # Rows with the same representation, so that only distinct rows are to be joined.
    edges.append(_weigh_equal(index, first))
    graph = _join(edges, n)
    distinct = build(groups.matrix)
    while True:
        n_parts, part = connected_components(graph, directed=False)
        if n_parts == 1:
            break
        a, b, alike = _leave_parts(distinct, build, part[first], n_threads)
        edges.append(_weigh(first[a], first[b], alike, of_row))
        graph = _join(edges, n)
    graph.setdiag(0.0)
    graph.sort_indices()
    return graph


def _leave_parts(
    distinct: Index, build: Callable[[sp.csr_array], Index], part: _Ints, n_threads: int
) -> tuple[_Ints, _Ints, NDArray[np.float64]]:
    """Find the nearest row outside each component but the largest.

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
        Numbers of distinct rows.
    similarities : ndarray of shape (n_components - 1,), float64
    """
    sizes = np.bincount(part)
    sizes[sizes.argmax()] = 0
    found, least = [], 0
    for most in _FEW:  # small components together, by their sizes
        some = np.flatnonzero((sizes > least)[part] & (sizes <= most)[part])
        least = most
        if len(some):
            found.append(_leave_few(distinct, part, some, most + 1, n_threads))
    found += [
        _leave_many(distinct, build, part == own, n_threads)
        for own in np.flatnonzero(sizes > least)
    ]
    inside, outside, alike = map(np.concatenate, zip(*found, strict=True))
    order = np.lexsort((outside, inside, -alike, part[inside]))
    first = order[np.unique(part[inside][order], return_index=True)[1]]
    return inside[first], outside[first], alike[first]


_Pairs = tuple[_Ints, _Ints, NDArray[np.float64]]


def _leave_few(
    distinct: Index, part: _Ints, some: _Ints, k: int, n_threads: int
) -> _Pairs:
    """Find the nearest row outside for rows of components of less than k rows."""
    matrix = distinct.groups.matrix
    alike, found = find_nearest(
        distinct, matrix[some], min(k, matrix.shape[0]), n_threads
    )
    at = (part[found] != part[some][:, None]).argmax(axis=1)  # the nearest come first
    each = np.arange(len(some))
    return some, found[each, at], alike[each, at].astype(np.float64)


def _leave_many(
    distinct: Index,
    build: Callable[[sp.csr_array], Index],
    inside: NDArray[np.bool_],
    n_threads: int,
) -> _Pairs:
    """Find the nearest row outside a component for each of its rows."""
    matrix = distinct.groups.matrix
    others = np.flatnonzero(~inside)
    rows = matrix[np.flatnonzero(inside)]
    alike, which = find_nearest(build(matrix[others]), rows, 1, n_threads)
    return np.flatnonzero(inside), others[which[:, 0]], alike[:, 0].astype(np.float64)


def _weigh(
    a: _Ints, b: _Ints, similarities: NDArray[Any], full: NDArray[np.float64]
) -> tuple[_Ints, _Ints, NDArray[np.float64]]:
    """Make edges with the larger of the two distances, from similarities of a."""
    kernel = similarities.ravel().astype(np.float64) * full[a]
    distances = 1 - kernel / np.maximum(full[a], full[b])
    return a, b, np.maximum(distances, GRID)


def _weigh_equal(
    index: Index, first: _Ints
) -> tuple[_Ints, _Ints, NDArray[np.float64]]:
    """Join each row to the first one with the same representation."""
    groups = index.groups
    later = np.flatnonzero(first[groups.inverse] != np.arange(len(groups.inverse)))
    squares = np.asarray(groups.matrix.multiply(groups.matrix).sum(axis=1)).ravel()
    itself = squares / index.full.of(groups.matrix)
    distances = np.maximum(1 - itself[groups.inverse[later]], GRID)
    return later, first[groups.inverse[later]], distances


def _join(
    edges: list[tuple[_Ints, _Ints, NDArray[np.float64]]], n: int
) -> sp.csr_array:
    """Make a symmetric graph; of several edges of two rows the longest is kept."""
    a, b, distances = (np.concatenate(column) for column in zip(*edges, strict=True))
    low, high = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((-distances, high, low))
    low, high, distances = low[order], high[order], distances[order]
    kept = np.append(True, (np.diff(low) != 0) | (np.diff(high) != 0))
    low, high, distances = low[kept], high[kept], distances[kept]
    rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
    both = np.concatenate([distances, distances])
    return sp.csr_array((both, (rows, columns)), shape=(n, n))
