"""Represented rows in, their positions on a plane out: a map of the rows.

The map shows the first two principal components of the rows that are drawn for it.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import PCA

MAP_ROWS = 2_000
N_NEAREST = 5
_MAX_CELLS = 170_000  # of the rows in the page
_MIN_ROWS = 100


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


def place_rows(matrix: sp.csr_array, n_drawn: int) -> tuple[NDArray[np.float64], float]:
    """Place rows on the plane in which the first of them differ most.

    Parameters
    ----------
    matrix : csr_array of shape (n, n_columns)
        Represented rows.
    n_drawn : int
        Rows that make the plane.

    Returns
    -------
    places : ndarray of shape (n, 2), float64
        The farthest of the drawn rows along each axis is on the positive side.
    shown : float
        The share of the variance of the drawn rows that the plane shows.
    """
    matrix = matrix.astype(np.float64)
    places = np.zeros((matrix.shape[0], 2))
    drawn = matrix[:n_drawn]
    few = min(drawn.shape)
    if not few or (drawn.max(axis=0) - drawn.min(axis=0)).max() < 1e-9:  # all equal
        return places, 1.0
    if few > 2:
        pca = PCA(2, svd_solver="arpack", random_state=0).fit(drawn)
        places = pca.transform(matrix)
    else:
        pca = PCA(few, svd_solver="full").fit(drawn.toarray())
        places[:, :few] = pca.transform(matrix.toarray())
    far = places[np.abs(places[:n_drawn]).argmax(axis=0), [0, 1]]
    return places * np.where(far < 0, -1, 1), float(pca.explained_variance_ratio_.sum())
