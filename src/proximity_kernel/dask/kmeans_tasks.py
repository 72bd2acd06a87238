"""What runs for one partition to sum its rows by their clusters, or to label them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bins.bin_state import has_no_rows
from .._inner_kernel import represent_distinct
from .._kmeans.iterations import nearest_centers, sum_part
from .._kmeans.points import Rows, Sums, gather_rows
from .partitions import Shared


def gather_part(part: Any, shared: Shared) -> Rows | None:
    """Represent each distinct row of a partition once; None if it has no rows."""
    if has_no_rows(part):
        return None
    codes, matrix = represent_distinct(shared.get(), part)
    return gather_rows(matrix, codes.counts)


def sum_shared(
    rows: Rows | None, centers: Shared, shared: Shared | None
) -> Sums | None:
    """Add up the rows of a partition by their nearest centers."""
    return sum_part(
        rows, centers.get(), None if shared is None else shared.get().model_
    )


def label_part(part: Any, shared: Shared, centers: Shared) -> NDArray[np.int32]:
    """Find the nearest center of each row of a partition."""
    if has_no_rows(part):
        return np.empty(0, np.int32)
    codes, matrix = represent_distinct(shared.get(), part)
    rows = gather_rows(matrix, codes.counts)
    return nearest_centers(rows, centers.get()).labels[codes.inverse]
