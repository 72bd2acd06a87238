"""Resolve the option `feature_weights`: how much each feature counts in the kernel.

``K(x, y) = sum_j w_j <z_xj, z_yj> / sum_j w_j`` over the features with bins. A weighted
mean of valid kernels is a valid kernel, as long as no weight is negative.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._shared.options import is_number
from .._shared.wording import suggest
from .._table.columns import ColumnType

_Floats = NDArray[np.float64]


def spread_weights(
    given: Any, types: Sequence[ColumnType], n_bins: NDArray[np.int64]
) -> _Floats | None:
    """List the weight of each feature; 1 for those that a mapping does not name.

    Parameters
    ----------
    given : mapping, array-like of shape (n_features,), or None
        The option: weights by name or position, or one for each feature.
    types : sequence of ColumnType
    n_bins : ndarray of shape (n_features,), int64

    Returns
    -------
    ndarray of shape (n_features,), float64, or None
        None if no weights are given.

    Examples
    --------
    >>> types = [ColumnType(name, "numeric", "numbers") for name in ("age", "size")]
    >>> spread_weights({"age": 2}, types, np.array([4, 4])).tolist()
    [2.0, 1.0]
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        weights = [1.0] * len(types)
        for j, (key, weight) in _find_features(given, types).items():
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


def scale_weights(weights: _Floats | None, n_bins: NDArray[np.int64]) -> _Floats:
    """Scale weights so that their mean is 1 over the features that count.

    Parameters
    ----------
    weights : ndarray of shape (n_features,), float64, or None
        None means equal weights.
    n_bins : ndarray of shape (n_features,), int64

    Returns
    -------
    ndarray of shape (n_features,), float64
        0 for a feature without bins.

    Examples
    --------
    >>> scale_weights(np.array([1.0, 0.0, 3.0]), np.array([4, 4, 2])).tolist()
    [0.5, 0.0, 1.5]
    """
    counted = n_bins > 0
    if weights is None or not counted.any():
        return counted.astype(np.float64)
    held = np.where(counted, weights, 0.0)
    held /= held.max()  # first, because the sum of large weights could overflow
    scales: _Floats = held * (np.count_nonzero(held) / held.sum())
    return scales


def _find_features(
    given: Mapping[Any, Any], types: Sequence[ColumnType]
) -> dict[int, tuple[Any, Any]]:
    """Find the features that the keys of a mapping name: key and weight of each."""
    names = {column.name: j for j, column in enumerate(types)}
    found: dict[int, tuple[Any, Any]] = {}
    for key, weight in given.items():
        j: Any = names.get(key, key)
        if not is_number(j, Integral) or not 0 <= j < len(types):
            raise ValueError(
                f"`feature_weights` names {key!r}, which is not a column"
                f"{suggest(str(key), names)}; its keys must be names of columns, or "
                f"positions below {len(types)}."
            )
        if names.get(str(key), j) != j:
            raise ValueError(
                f"feature_weights has the key {key!r}, which is the position of "
                f"{types[j].place} and the name of another; name the column by text, "
                f"{str(key)!r} or {types[j].name!r}."
            )
        if j in found:
            raise ValueError(
                f"feature_weights has two weights for {types[j].place}, under "
                f"{found[j][0]!r} and {key!r}; give one."
            )
        found[int(j)] = key, weight
    return found


def _list_weights(given: Any, n_features: int) -> list[Any]:
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
            f"features, got {len(weights)} of them; a mapping need not name all."
        )
    return weights


def _check_weight(weight: Any, name: str, place: str = "") -> float:
    if not is_number(weight) or not 0 <= weight <= sys.float_info.max:
        where = f", of {place}," if place else ""
        raise ValueError(
            f"{name}{where} must be a number, at least 0 and finite, got {weight!r}."
        )
    return float(weight)
