"""What is assumed about missing cells: a distribution for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._bins.codes import Codes


class Estimates(NamedTuple):
    """The distributions of the missing cells of coded rows.

    Attributes
    ----------
    row_start : ndarray of shape (n_rows + 1,), int64
        The missing cells of row r are those from ``row_start[r]`` up to
        ``row_start[r + 1]``, in the order of their features.
    feature : ndarray of shape (n_cells,), int64
    start : ndarray of shape (n_cells + 1,), int64
        Where each cell's distribution begins in `probabilities`.
    probabilities : ndarray of shape (start[-1],), float64
    """

    row_start: NDArray[np.int64]
    feature: NDArray[np.int64]
    start: NDArray[np.int64]
    probabilities: NDArray[np.float64]


Part = tuple[NDArray[Any], NDArray[np.int64], Estimates]
"""Coded rows, which of them each row of a part is, and the estimates of the rows."""


class Matcher(Protocol):
    """A rule that was learnt from fitted rows and estimates missing cells."""

    leaves_bins_out: bool
    """Whether a bin that some fitted row has can get the probability 0."""

    def estimate(self, codes: Codes, n_threads: int) -> Estimates:
        """Estimate the missing cells of ``codes.rows``."""

    def by_parts(self, codes: Codes, n_threads: int) -> Callable[[int, int], Part]:
        """Make a function that estimates for the table's rows `first` up to `last`."""


def lay_out_cells(codes: Codes, n_bins: NDArray[np.int64]) -> Estimates:
    """Make room for the estimates of the missing cells of coded rows."""
    missing = codes.rows == codes.missing
    cells = np.flatnonzero(missing)
    row, feature = np.divmod(cells, missing.shape[1])
    start = np.zeros(len(cells) + 1, np.int64)
    np.cumsum(n_bins[feature], out=start[1:])
    return Estimates(
        row_start=np.searchsorted(row, np.arange(len(missing) + 1)),
        feature=feature,
        start=start,
        probabilities=np.zeros(start[-1]),
    )
