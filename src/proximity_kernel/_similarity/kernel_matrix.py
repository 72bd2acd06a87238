"""Represented rows to the kernel matrix, ``K(x, y) = z_x . z_y / d``.

Products are computed tile by tile, so memory in addition to the result stays within a
limit. Each thread computes its own tiles and BLAS uses one thread per tile, so the bits
do not depend on the number of threads. `nearest` finds nearest rows without the matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config

from .._model.fitted_kernel import represent_table, take_model
from .._shared.threads import count_threads, one_blas_thread, run_pieces

_TILE = 512  # most rows and columns of a tile, so that it stays in cache
_SPARSE_FROM = 6  # columns per entry; from here on, skipping zeros is faster than BLAS


def compare_tables(kernel: Any, X: Any, Y: Any) -> NDArray[Any]:
    """Compare all rows of a table with all rows of another, or with each other.

    Parameters
    ----------
    kernel : ProximityKernel
        A fitted kernel.
    X, Y : frame, array or list of rows
        None as `Y` means `X`.

    Returns
    -------
    ndarray of shape (n, m)
    """
    model = take_model(kernel)
    left = represent_table(kernel, model, X)
    right = None
    if Y is not None:
        try:
            right = represent_table(kernel, model, Y)
        except (TypeError, ValueError) as error:
            error.add_note("This is about Y, the second table.")
            raise
    memory = int(get_config()["working_memory"] * 2**20)
    threads = count_threads(kernel.n_jobs)
    return kernel_matrix(left, right, model.n_counted, memory, threads)


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
        Bytes to use in addition to the result.
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
    n_columns = a.shape[1]
    step = max(1, min(_TILE, memory // (2 * a.dtype.itemsize * (n_columns + _TILE))))
    sparse = other.shape[0] * n_columns > _SPARSE_FROM * other.nnz
    # If memory allows, make it dense once for all tiles.
    dense = not sparse and other.shape[0] * n_columns * a.dtype.itemsize <= memory // 2
    held = other.toarray() if dense else other
    out = np.empty((a.shape[0], other.shape[0]), a.dtype)

    def fill_some(first: int, last: int) -> None:
        left = a[first:last] if sparse else a[first:last].toarray()
        for start in range(first if b is None else 0, other.shape[0], step):
            stop = min(start + step, other.shape[0])
            if b is None and start == first and not sparse:
                right = left.T  # the same array: BLAS keeps the product symmetric
            elif dense:
                right = held[start:stop].T
            else:  # C order after transposing: the product runs along its rows
                right = held[start:stop].T.toarray(order="C")
            tile = _multiply(left, right, n_features)
            out[first:last, start:stop] = tile
            if b is None and start != first:
                out[start:stop, first:last] = tile.T

    with one_blas_thread():
        run_pieces(fill_some, a.shape[0], step, n_threads)
    return out


def _multiply(left: Any, right: NDArray[Any], n_features: int) -> NDArray[Any]:
    product = np.asarray(left @ right)
    # The sum is divided, not its terms, so that a complete row has similarity exactly 1
    # with itself. With two resolutions, whose weights are square roots, rounding can
    # make it slightly less, but never more.
    product /= max(n_features, 1)
    np.minimum(product, 1, out=product)
    return product
