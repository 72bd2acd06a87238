"""Representation in, kernel out: the whole matrix.

``K(x, y) = z_x . z_y / d``, the mean over the features of the probability that both
rows lie in the same bin. Products are taken tile by tile, so what is held beside
the result stays within the memory that is given. Threads take tiles of their own, and
BLAS uses one thread for each: the bits do not depend on how many there are. The nearest
rows are found without the matrix, in `nearest`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._shared.threads import one_blas_thread, run_pieces

_TILE = 512  # rows and columns of a tile at the most: it is read again from cache
_SPARSE_FROM = 6  # columns per entry; from here on, skipping zeros beats BLAS


class _Rows:
    """The rows of a representation, handed out in tiles.

    Multiplying dense tiles is the fastest way while a row fills a good part of its
    columns; with many categories it does not, and the left factor stays sparse.
    """

    def __init__(self, matrix: sp.csr_array, memory: int, *, sparse: bool) -> None:
        itemsize, (n_rows, n_columns) = matrix.dtype.itemsize, matrix.shape
        self.n_rows = n_rows
        self.sparse = sparse
        tile_bytes = itemsize * (2 * n_columns + _TILE)
        self.step = max(1, min(_TILE, memory // tile_bytes))
        # Dense once for all tiles, if there is room.
        dense = not sparse and n_rows * n_columns * itemsize <= memory // 2
        self.matrix = matrix.toarray() if dense else matrix

    def tiles(self, start: int = 0) -> list[slice]:
        return [
            slice(first, min(first + self.step, self.n_rows))
            for first in range(start, self.n_rows, self.step)
        ]

    def left(self, tile: slice) -> Any:
        part = self.matrix[tile]
        return part.toarray() if sp.issparse(part) and not self.sparse else part

    def right(self, tile: slice) -> Any:
        part = self.matrix[tile]
        if self.sparse:  # C order after transposing: the product runs along its rows
            return part.T.toarray(order="C")
        return part.toarray().T if sp.issparse(part) else part.T


def _mostly_zero(matrix: sp.csr_array) -> bool:
    n_rows, n_columns = matrix.shape
    return bool(n_rows * n_columns > _SPARSE_FROM * matrix.nnz)


def _multiply(left: Any, right: Any, n_features: int) -> NDArray[Any]:
    product = np.asarray(left @ right)
    # The sum is divided, not its terms: so a complete row is similar to itself with
    # similarity exactly one; with two resolutions, whose weights are square roots, it
    # can be less by a rounding, and never more.
    product /= max(n_features, 1)
    np.minimum(product, 1, out=product)
    return product


def kernel_matrix(
    a: sp.csr_array,
    b: sp.csr_array | None,
    n_features: int,
    memory: int,
    n_threads: int = 1,
) -> NDArray[Any]:
    """Compare all rows of `a` with all rows of `b`, or with each other.

    Parameters
    ----------
    a : csr_array of shape (n, n_columns)
    b : csr_array of shape (m, n_columns) or None
        None means `a` itself; the result is then exactly symmetric.
    n_features : int
        Features to take the mean over.
    memory : int
        Bytes to use beside the result.
    n_threads : int

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
    other = a if b is None else b
    sparse = _mostly_zero(other)
    left_held = _Rows(a, memory // 2, sparse=sparse)
    right_held = left_held if b is None else _Rows(b, memory // 2, sparse=sparse)
    out = np.empty((a.shape[0], other.shape[0]), a.dtype)

    def fill_some(first: int, last: int) -> None:
        for i in left_held.tiles()[first:last]:
            left = left_held.left(i)
            for j in right_held.tiles(i.start if b is None else 0):
                # One array and its own transpose: BLAS keeps that product symmetric.
                same = b is None and i == j and not sparse
                right = left.T if same else right_held.right(j)
                tile = _multiply(left, right, n_features)
                out[i, j] = tile
                if b is None and i != j:
                    out[j, i] = tile.T

    _run_tiles(fill_some, left_held, n_threads)
    return out


def _run_tiles(work: Callable[[int, int], object], held: _Rows, n_threads: int) -> None:
    with one_blas_thread():
        run_pieces(work, len(held.tiles()), 1, n_threads)
