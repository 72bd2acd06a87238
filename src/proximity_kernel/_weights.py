"""The options `feature_weights` and `sample_weight`: check them, and scale them.

*Features.* ``K(x, y) = sum_j w_j <z_xj, z_yj> / sum_j w_j`` over the features with
bins. A weighted mean of valid kernels is a valid kernel, as long as no weight is
negative.

*Rows.* A row of weight 3 counts as three equal rows, a row of weight 0 as none.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from ._shared.options import is_number
from ._table.columns import ColumnType, find_columns

_Floats = NDArray[np.float64]
_MOST = 1 << 50  # maximum sum of weights; a model file accepts counts up to this


def list_feature_weights(
    given: Any, types: Sequence[ColumnType], n_bins: NDArray[np.int64]
) -> _Floats | None:
    """Resolve the option `feature_weights` to one weight per feature.

    Parameters
    ----------
    given : mapping, array-like of shape (n_features,), or None
        The option: weights by name or position, or one for each feature.
    types : sequence of ColumnType
    n_bins : ndarray of shape (n_features,), int64
        0 for a feature without an observed value.

    Returns
    -------
    ndarray of shape (n_features,), float64, or None
        1 for features that a mapping does not name; None if no weights are given.

    Examples
    --------
    >>> types = [ColumnType(name, "numeric", "numbers") for name in ("age", "size")]
    >>> list_feature_weights({"age": 2}, types, np.array([4, 4])).tolist()
    [2.0, 1.0]
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        weights = [1.0] * len(types)
        named = find_columns("feature_weights", given, types)
        for j, (key, weight) in named.items():
            weights[j] = _check_weight(weight, f"feature_weights[{key!r}]")
    else:
        weights = [
            _check_weight(weight, f"feature_weights[{j}]", column.place)
            for j, (weight, column) in enumerate(
                zip(_list_weights(given, len(types)), types, strict=True)
            )
        ]
    found = np.array(weights)
    counted = n_bins > 0
    if not found.any() or (counted.any() and not found[counted].any()):
        raise ValueError(
            "`feature_weights` is 0 for every feature with an observed value; give at "
            "least one of them a weight above 0."
        )
    return found


def scale_feature_weights(
    weights: _Floats | None, n_bins: NDArray[np.int64]
) -> _Floats:
    """Scale weights so that their mean is 1 over the features with a weight above 0.

    Parameters
    ----------
    weights : ndarray of shape (n_features,), float64, or None
        None means equal weights.
    n_bins : ndarray of shape (n_features,), int64

    Returns
    -------
    ndarray of shape (n_features,), float64
        0 for features without bins.

    Examples
    --------
    >>> scale_feature_weights(np.array([1.0, 0.0, 3.0]), np.array([4, 4, 2])).tolist()
    [0.5, 0.0, 1.5]
    """
    counted = n_bins > 0
    if weights is None or not counted.any():
        return counted.astype(np.float64)
    scaled = np.where(counted, weights, 0.0)
    scaled /= scaled.max()  # first, because the sum of large weights could overflow
    return np.asarray(scaled * (np.count_nonzero(scaled) / scaled.sum()))


def _list_weights(given: Any, n_features: int) -> list[Any]:
    """Return feature weights as a list; raise ValueError unless one per feature."""
    if hasattr(given, "to_dict"):
        raise ValueError(
            f"feature_weights is a {type(given).__name__}, whose order can differ from "
            "that of the columns; pass weights.to_dict(), or a list."
        )
    if isinstance(given, str | bytes) or np.ndim(given) != 1:
        raise ValueError(
            "feature_weights must be a mapping from names or positions of columns to "
            f"numbers, or a list of {n_features} numbers, got {given!r}."
        )
    weights = list(given)
    if len(weights) != n_features:
        raise ValueError(
            f"feature_weights must have one number for each of the {n_features} "
            f"features, got {len(weights)} numbers; to weight only some features, pass "
            "a mapping."
        )
    return weights


def _check_weight(weight: Any, name: str, place: str = "") -> float:
    """Return a feature weight as float; raise ValueError unless finite and at least 0.

    `name` (the option) and `place` (the column) are for the message.
    """
    if not is_number(weight) or not 0 <= weight <= sys.float_info.max:
        where = f", of {place}," if place else ""
        raise ValueError(
            f"{name}{where} must be a finite number of at least 0, got {weight!r}."
        )
    return float(weight)


def check_sample_weight(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Return sample weights as an array; raise ValueError if they cannot be used.

    Weights must be finite and at least 0; their sum must be above 0, and not extreme.

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
        raise ValueError(
            "sample_weight is 0 for every row; give at least one row a weight above 0."
        )
    if not 1 / _MOST < weights.sum() < _MOST:
        raise ValueError(
            f"The sum of sample_weight must be between {1 / _MOST:.1g} and "
            f"{_MOST:.1g}, got {weights.sum():g}; multiply or divide all weights by "
            "the same number."
        )
    return weights


def weights_to_counts(sample_weight: Any, n_samples: int) -> NDArray[Any]:
    """Convert sample weights to counts of rows.

    Fractions are rounded, see `round_weights`.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,)
    n_samples : int

    Returns
    -------
    ndarray of shape (n_samples,), int64 if all are whole numbers, else float64

    Examples
    --------
    >>> weights_to_counts([2.0, 0.0, 1.0], 3)
    array([2, 0, 1])
    >>> weights_to_counts([0.5, 0.0, 1.5], 3)
    array([0.5, 0. , 1.5])
    """
    weights = check_sample_weight(sample_weight, n_samples)
    whole = weights.astype(np.int64)
    return whole if (whole == weights).all() else round_weights(weights)


def round_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round weights to multiples of a power of two near 1e-15 times their sum.

    Sums of rounded weights are exact in any order. A weight above 0 stays above 0.
    """
    unit = 2.0 ** (np.frexp(weights.sum())[1] - 52)
    return np.asarray(np.maximum(np.round(weights / unit), weights > 0) * unit)
