"""Weights of rows: a row of weight 3 counts as three equal rows, of 0 as none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from .cells import NOTHING
from .columns import Column

_MOST = 1 << 50  # sum of the weights; the counts that a model file accepts


def check_sample_weight(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Refuse weights that are not one finite number of at least 0 for each row.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,)
    n_samples : int

    Returns
    -------
    ndarray of shape (n_samples,), float64
        At least one is above 0.
    """
    rows = np.empty((n_samples, 1))
    try:
        weights: NDArray[np.float64] = _check_sample_weight(
            sample_weight, rows, dtype=np.float64
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight must be a list of {n_samples} numbers, one for each row: "
            f"{error}"
        ) from None
    negative = weights < 0
    if negative.any():
        i = int(negative.argmax())
        raise ValueError(
            f"sample_weight must be at least 0, got {weights[i]:g} for row {i}."
        )
    if not weights.any():
        raise ValueError("sample_weight is 0 for every row; weigh at least one row.")
    if not 1 / _MOST < weights.sum() < _MOST:
        raise ValueError(
            f"The sum of sample_weight must be between {1 / _MOST:.1g} and "
            f"{_MOST:.1g}, got {weights.sum():g}; multiply or divide all weights by "
            "the same number."
        )
    return weights


def count_copies(sample_weight: Any, n_samples: int) -> NDArray[np.int64]:
    """Check that weights are whole numbers, and return these.

    Examples
    --------
    >>> count_copies([2.0, 0.0, 1.0], 3)
    array([2, 0, 1])
    """
    weights = check_sample_weight(sample_weight, n_samples)
    copies = weights.astype(np.int64)
    broken = copies != weights
    if broken.any():
        i = int(broken.argmax())
        raise ValueError(
            "sample_weight must be whole numbers to fit a kernel, because a row of "
            f"weight 3 counts as three equal rows; got {weights[i]:g} for row {i}. "
            "Round the weights, perhaps after multiplying them; or fit the kernel "
            "without weights and pass it to ProximityKMeans as FrozenEstimator(kernel)."
        )
    return copies


def keep_rows_of(
    columns: Sequence[Column], kept: NDArray[np.bool_]
) -> tuple[Column, ...]:
    """Remove rows from columns, and labels that only those rows have.

    Parameters
    ----------
    columns : sequence of Column
    kept : ndarray of shape (n_samples,), bool

    Returns
    -------
    tuple of Column

    Examples
    --------
    >>> from proximity_kernel._table.columns import read_columns
    >>> columns = read_columns([["a"], ["b"], [None], ["c"]])
    >>> (column,) = keep_rows_of(columns, np.array([False, True, True, True]))
    >>> column.labels, column.values.tolist()
    (('b', 'c'), [0, -1, 1])
    """
    if kept.all():
        return tuple(columns)
    out = []
    for column in columns:
        values, labels, found = column.values[kept], column.labels, column.type
        if found.kind == "categorical":
            used = np.unique(values[values >= 0])
            place = np.full(len(labels) + 1, -1, np.int32)  # the last is for -1
            place[used] = np.arange(len(used))
            values, labels = place[values], tuple(labels[k] for k in used)
        less = Column(found, values, labels)
        if not less.observed.any():
            less = replace(less, type=replace(found, family=NOTHING))
        out.append(less)
    return tuple(out)
