"""The kernel in, a map of some rows out, and the nearest rows of each.

The map shows the first two principal components of the representations of the rows
drawn. The nearest rows are searched in the whole table.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import ProximityKernel, ProximityNeighbors
from ._display_columns import take_rows

MAP_ROWS = 2_000
N_NEAREST = 5
_MAX_CELLS = 170_000  # of the rows in the page
_MIN_ROWS = 100
_BLOCK = 8_192  # rows compared with those of the map at a time
_DECIMALS = 6  # to which similarities are rounded


@dataclass(frozen=True)
class Plane:
    """A plane in the space of the representation.

    Attributes
    ----------
    axes : ndarray of shape (n_columns, 2), float64
    origin : ndarray of shape (2,), float64
        Position of the rows' mean along the axes.
    shown : float
        The share of the variance that the plane shows.
    """

    axes: NDArray[np.float64]
    origin: NDArray[np.float64]
    shown: float

    def place(self, matrix: sp.csr_array) -> NDArray[np.float64]:
        """Compute the positions of represented rows on the plane, shape (n, 2)."""
        placed: NDArray[np.float64] = matrix @ self.axes - self.origin
        return placed


@dataclass(frozen=True)
class RowMap:
    """Rows on a plane, and their nearest rows.

    Attributes
    ----------
    rows : ndarray of shape (n,), int64
        Their indices in the table, increasing.
    plane : Plane
    nearest : ndarray of shape (n, k), int64
        Indices of the nearest rows of the table, the nearest first.
    similarity : ndarray of shape (n, k), float32
    """

    rows: NDArray[np.int64]
    plane: Plane
    nearest: NDArray[np.int64]
    similarity: NDArray[np.float32]


def as_sparse(kernel: ProximityKernel) -> ProximityKernel:
    """Copy a fitted kernel, with sparse output."""
    copied: ProximityKernel = copy.copy(kernel)
    copied.__dict__.pop("_sklearn_output_config", None)  # shared with the original
    copied.set_params(sparse_output=True).set_output(transform="default")
    return copied


def draw_rows(
    n_rows: int, n_columns: int, always: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw the rows of the map at random, in addition to `always`; all if they fit."""
    # The page also holds the nearest rows of each row of the map.
    fit = _MAX_CELLS // n_columns // (1 + N_NEAREST)
    most = min(MAP_ROWS, max(_MIN_ROWS, fit))
    if n_rows <= most or (n_rows <= MAP_ROWS and n_rows * n_columns <= _MAX_CELLS):
        return np.arange(n_rows)
    others = np.setdiff1d(np.arange(n_rows), always)
    drawn = rng.choice(others, most - len(always), replace=False)
    return np.sort(np.concatenate([always, drawn]))


def make_map(table: Any, kernel: ProximityKernel, rows: NDArray[np.int64]) -> RowMap:
    """Place rows on a plane and find the nearest rows of each.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    kernel : ProximityKernel
        Fitted, with sparse output.
    rows : ndarray of shape (n,), int64
        Indices of the rows to place.

    Returns
    -------
    RowMap
    """
    drawn = take_rows(table, rows)
    matrix = sp.csr_array(kernel.transform(drawn))
    plane = _principal_plane(matrix)
    found = _search_index(table, kernel, rows, drawn, matrix)
    if found is None:
        found = _compare_all(table, kernel, rows, drawn)
    return RowMap(rows, plane, *found)


def _principal_plane(matrix: sp.csr_array) -> Plane:
    """Find the first two principal components of rows, with a fixed sign."""
    n, d = matrix.shape
    axes = np.zeros((d, 2))
    matrix = matrix.astype(np.float64)
    mean = np.asarray(matrix.sum(axis=0)).ravel() / n
    by_columns = d <= n
    if by_columns:
        inner = (matrix.T @ matrix).toarray() - n * np.outer(mean, mean)
    else:
        inner = (matrix @ matrix.T).toarray()
        means = inner.mean(axis=0)
        inner += means.mean() - means[:, None] - means[None, :]
    total = float(np.trace(inner))
    if total <= 1e-9 * n:  # all rows are the same
        return Plane(axes, np.zeros(2), 1.0)
    size = len(inner)
    values, vectors = scipy.linalg.eigh(
        inner, subset_by_index=(max(0, size - 2), size - 1)
    )
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    if not by_columns:
        kept = values > 1e-12 * total
        vectors = matrix.T @ vectors - np.outer(mean, vectors.sum(axis=0))
        vectors = np.where(kept, vectors / np.sqrt(np.where(kept, values, 1)), 0)
    axes[:, : vectors.shape[1]] = vectors
    places = matrix @ axes - mean @ axes
    far = places[np.abs(places).argmax(axis=0), [0, 1]]
    axes *= np.where(far < 0, -1.0, 1.0)
    return Plane(axes, mean @ axes, min(1.0, float(values.sum() / total)))


_Found: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float32]]


def _search_index(
    table: Any,
    kernel: ProximityKernel,
    rows: NDArray[np.int64],
    drawn: Any,
    matrix: sp.csr_array,
) -> _Found | None:
    """Find the nearest rows, if the kernel was fitted to this table.

    `ProximityNeighbors` fits a copy of the kernel. None if the copy differs, because
    the kernel was fitted to other rows.
    """
    k = min(N_NEAREST, len(table) - 1)
    with warnings.catch_warnings():
        # About empty columns, which the page shows elsewhere.
        warnings.simplefilter("ignore", UserWarning)
        neighbors = ProximityNeighbors(kernel=kernel).fit(table)
    again = sp.csr_array(neighbors.kernel_.transform(drawn))
    if again.shape != matrix.shape or (again != matrix).nnz:
        return None
    similarity, nearest = neighbors.kneighbors(drawn, k + 1, return_similarity=True)
    others = nearest != rows[:, None]
    # More than k rows are as near as the row itself.
    others[others.all(axis=1), -1] = False
    size = (len(rows), k)
    return nearest[others].reshape(size), similarity[others].reshape(size)


def _compare_all(
    table: Any, kernel: ProximityKernel, rows: NDArray[np.int64], drawn: Any
) -> _Found:
    """Find the nearest rows of the table; ties go to the lower index.

    Compares one block of the table at a time. From the second block on, only
    similarities above the lowest one kept matter.
    """
    n_rows = len(table)
    k = min(N_NEAREST, n_rows - 1)
    nearest = np.full((len(rows), k), -1, np.int64)
    best = np.full((len(rows), k), -np.inf, np.float32)
    for first in range(0, n_rows if k else 0, _BLOCK):
        block = np.arange(first, min(first + _BLOCK, n_rows))
        found = kernel.kernel(drawn, take_rows(table, block)).astype(np.float32)
        np.round(found, _DECIMALS, out=found)
        own = np.flatnonzero((rows >= block[0]) & (rows <= block[-1]))
        found[own, rows[own] - first] = -np.inf
        better = found > best[:, -1:]
        for i in np.flatnonzero(better.any(axis=1)):
            columns = np.flatnonzero(better[i])
            if len(columns) > k:  # the k best, and all ties with the last of them
                last = np.partition(found[i, columns], -k)[-k]
                columns = columns[found[i, columns] >= last]
            values = np.concatenate([best[i], found[i, columns]])
            numbers = np.concatenate([nearest[i], block[columns]])
            order = np.lexsort((numbers, -values))[:k]
            best[i], nearest[i] = values[order], numbers[order]
    return nearest, best
