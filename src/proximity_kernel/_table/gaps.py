"""The missing cells of a column, and what to fill in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import ColumnType


@dataclass(frozen=True)
class Gaps:
    """The missing cells of a column, and what to fill in.

    Attributes
    ----------
    type : ColumnType
    rows : ndarray of shape (n_gaps,), int64
        Of the table, rising.
    values : ndarray of shape (n_gaps,), float64 or object
        Numbers, times in seconds; labels of a categorical or an ordered one. Without
        entries where nothing was observed at fit: there is nothing to fill in.
    uncertainty : ndarray of shape (n_gaps,), float64
        Standard deviation of numbers; the chance of another label.
    means : ndarray of shape (n_gaps,), float64
        Expected numbers, whatever `values` are; without entries for labels.
    """

    type: ColumnType
    rows: NDArray[np.int64]
    values: NDArray[Any]
    uncertainty: NDArray[np.float64]
    means: NDArray[np.float64]

    @property
    def fillable(self) -> bool:
        """Whether there are gaps and values for them."""
        return len(self.values) > 0
