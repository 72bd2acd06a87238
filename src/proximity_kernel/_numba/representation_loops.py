"""The compiled loops of the representation: how many entries, and what they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled


class Layout(NamedTuple):
    """Where codes go in the representation, feature after feature.

    Attributes
    ----------
    n_bins, offsets : ndarray of shape (n_features,), int64
        Codes of each feature, and which of all codes is its first.
    columns : ndarray of shape (n_codes,), int64
        Of each code.
    weights : ndarray of shape (n_codes,), float64
        What a cell that certainly has the code has there.
    coarse : ndarray of shape (n_codes,), int64
        The column that a bin shares with others of its coarse bin, or -1.
    coarse_weight : float
        What a cell that is certainly in the coarse bin has there.
    possible : ndarray of shape (n_codes,), bool
        Whether any fitted row has the code: then it has an entry in each estimate.
    gap_sizes : ndarray of shape (n_features,), int64
        Entries of a missing cell.
    """

    n_bins: NDArray[np.int64]
    offsets: NDArray[np.int64]
    columns: NDArray[np.int64]
    weights: NDArray[np.float64]
    coarse: NDArray[np.int64]
    coarse_weight: float
    possible: NDArray[np.bool_]
    gap_sizes: NDArray[np.int64]


@compiled
def size_rows(rows: NDArray[Any], layout: Layout, sizes: Any) -> None:
    """Count the entries of each row of the representation."""
    missing = np.iinfo(rows.dtype).max
    for r in range(rows.shape[0]):
        size = 0
        for j in range(rows.shape[1]):
            code = np.int64(rows[r, j])
            if code < layout.n_bins[j]:
                size += 1 + (layout.coarse[layout.offsets[j] + code] >= 0)
            elif code == missing:
                size += layout.gap_sizes[j]
        sizes[r] = size


@compiled
def fill_rows(
    rows: NDArray[Any], inverse: Any, layout: Layout, row_start: Any, start: Any,
    probabilities: Any, indptr: Any, indices: Any, data: Any,
) -> None:  # fmt: skip
    """Write a part of the representation: row i is ``rows[inverse[i]]``.

    An observed cell is the weight of its bin, a missing one the weighted entries of its
    estimate, a category unknown at fit nothing. Bins of a coarse one add to it.
    """
    missing = np.iinfo(rows.dtype).max
    for i in range(inverse.shape[0]):
        at = indptr[i]
        cell = row_start[inverse[i]]
        for j in range(rows.shape[1]):
            code = rows[inverse[i], j]
            first = layout.offsets[j]
            if code < layout.n_bins[j]:
                b = first + np.int64(code)
                indices[at] = layout.columns[b]
                data[at] = layout.weights[b]
                at += 1
                if layout.coarse[b] >= 0:
                    indices[at] = layout.coarse[b]
                    data[at] = layout.coarse_weight
                    at += 1
            elif code == missing:
                estimate = start[cell] - first
                cell += 1
                any_shared = False
                for b in range(first, first + layout.n_bins[j]):
                    if layout.possible[b]:
                        indices[at] = layout.columns[b]
                        data[at] = probabilities[estimate + b] * layout.weights[b]
                        at += 1
                        any_shared |= layout.coarse[b] >= 0
                if not any_shared:
                    continue
                for b in range(first, first + layout.n_bins[j]):
                    if layout.possible[b] and layout.coarse[b] >= 0:
                        if indices[at - 1] != layout.coarse[b]:
                            indices[at] = layout.coarse[b]
                            data[at] = 0
                            at += 1
                        data[at - 1] += (
                            probabilities[estimate + b] * layout.coarse_weight
                        )
