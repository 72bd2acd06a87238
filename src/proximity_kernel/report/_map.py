"""The kernel in, a map of some rows out, and the nearest rows of each.

The map is the two directions in which the representations of the rows drawn differ
most (principal components). The nearest rows are looked for in the whole table.
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
from ._shown import count_rows, take_rows

MAP_ROWS = 2_000
N_NEAREST = 5
_MOST_CELLS = 170_000  # of the rows in the page
_LEAST_ROWS = 100
_BLOCK = 8_192  # rows compared with those of the map at a time
_DECIMALS = 6  # up to which similarities are equal


@dataclass(frozen=True)
class Plane:
    """A plane in the space of the representation.

    Attributes
    ----------
    axes : ndarray of shape (n_columns, 2), float64
    origin : ndarray of shape (2,), float64
        Where the mean of the rows lies along the axes.
    shown : float
        The share of the rows' spread that the plane shows.
    """

    axes: NDArray[np.float64]
    origin: NDArray[np.float64]
    shown: float

    def place(self, matrix: sp.csr_array) -> NDArray[np.float64]:
        """Tell where rows of the representation lie on the plane, shape (n, 2)."""
        placed: NDArray[np.float64] = matrix @ self.axes - self.origin
        return placed


@dataclass(frozen=True)
class RowMap:
    """Rows on a plane, and who is near them.

    Attributes
    ----------
    rows : ndarray of shape (n,), int64
        Their numbers in the table, rising.
    plane : Plane
    nearest : ndarray of shape (n, k), int64
        Numbers of the nearest rows of the table, the nearest first.
    similarity : ndarray of shape (n, k), float32
    """

    rows: NDArray[np.int64]
    plane: Plane
    nearest: NDArray[np.int64]
    similarity: NDArray[np.float32]


def as_sparse(kernel: ProximityKernel) -> ProximityKernel:
    """Copy a fitted kernel so that it gives sparse matrices, whatever it was set to."""
    twin: ProximityKernel = copy.copy(kernel)
    twin.__dict__.pop("_sklearn_output_config", None)  # shared with the original
    twin.set_params(sparse_output=True).set_output(transform="default")
    return twin


def draw_rows(
    n_rows: int, n_columns: int, always: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw the rows of the map: some always, others at random; all if they fit."""
    # Rows of the map bring their nearest with them, unless these are there already.
    fit = _MOST_CELLS // n_columns // (1 + N_NEAREST)
    most = min(MAP_ROWS, max(_LEAST_ROWS, fit))
    if n_rows <= most or (n_rows <= MAP_ROWS and n_rows * n_columns <= _MOST_CELLS):
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
        Which.

    Returns
    -------
    RowMap
    """
    drawn = take_rows(table, rows)
    matrix = sp.csr_array(kernel.transform(drawn))
    plane = _principal_plane(matrix)
    found = _ask_neighbors(table, kernel, rows, drawn, matrix)
    if found is None:
        found = _compare_all(table, kernel, rows, drawn)
    return RowMap(rows, plane, *found)


def _principal_plane(matrix: sp.csr_array) -> Plane:
    """Find the two principal components of rows, with a sign that is settled."""
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


def _ask_neighbors(
    table: Any,
    kernel: ProximityKernel,
    rows: NDArray[np.int64],
    drawn: Any,
    matrix: sp.csr_array,
) -> _Found | None:
    """Find the nearest rows, if the kernel was fitted to this very table.

    `ProximityNeighbors` fits a kernel of its own. None where that is another, because
    the one given was fitted to other rows.
    """
    k = min(N_NEAREST, count_rows(table) - 1)
    with warnings.catch_warnings():
        # Of empty columns, which the page tells elsewhere.
        warnings.simplefilter("ignore", UserWarning)
        neighbors = ProximityNeighbors(kernel=kernel).fit(table)
    again = sp.csr_array(neighbors.kernel_.transform(drawn))
    if again.shape != matrix.shape or (again != matrix).nnz:
        return None
    similarity, nearest = neighbors.kneighbors(drawn, k + 1, return_similarity=True)
    others = nearest != rows[:, None]
    others[others.all(axis=1), -1] = False  # as near as itself are more than k
    size = (len(rows), k)
    return nearest[others].reshape(size), similarity[others].reshape(size)


def _compare_all(
    table: Any, kernel: ProximityKernel, rows: NDArray[np.int64], drawn: Any
) -> _Found:
    """Find the nearest rows of the table, among equals the lower number, never itself.

    The similarities of one block of the table are held at a time. From the second block
    on only what is above the last that was kept matters.
    """
    n_rows = count_rows(table)
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
            if len(columns) > k:  # the k best, and all that equal the last of them
                last = np.partition(found[i, columns], -k)[-k]
                columns = columns[found[i, columns] >= last]
            values = np.concatenate([best[i], found[i, columns]])
            numbers = np.concatenate([nearest[i], block[columns]])
            order = np.lexsort((numbers, -values))[:k]
            best[i], nearest[i] = values[order], numbers[order]
    return nearest, best
