"""The learnt attributes of a kernel: all of them are views of its model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .missingness import Absence
from .model import Model


class LearntAttributes:
    """What a fitted `ProximityKernel` shows of its ``model_``."""

    model_: Model

    @property
    def n_bins_(self) -> NDArray[np.int64]:
        """Bins of each feature."""
        return self.model_.n_bins

    @property
    def bin_centers_(self) -> list[NDArray[np.float64] | None]:
        """Centers of the numeric features."""
        return self.model_.bin_centers

    @property
    def bin_groups_(self) -> list[NDArray[np.int64] | None]:
        """The coarse bin of each bin."""
        return self.model_.bin_groups

    @property
    def categories_(self) -> list[NDArray[np.object_] | None]:
        """Categories of the categorical features."""
        return self.model_.categories

    @property
    def prior_(self) -> list[NDArray[np.float64]]:
        """Frequencies of each feature's bins."""
        return self.model_.prior

    @property
    def missingness_(self) -> list[Absence]:
        """What was decided about the gaps of each feature."""
        return list(self.model_.absences)
