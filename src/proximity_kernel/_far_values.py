"""Gross errors among the numbers of a column: values far from all usual ones.

A value is far if it lies more than 3.5 robust deviations from the median (Iglewicz and
Hoaglin) and its distance from the usual values is at least half their range. If a
column has more than three such values, and these are more than 0.5 %, its distribution
is of another kind, and no value counts as far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FAR, PER_MEDIAN, PER_MEAN = 3.5, 1.4826, 1.2533
_LEAST_VALUES = 10
_LEAST_DISTINCT = 3  # usual values; with two, numbers are mostly codes
_GAP = 0.5  # distance from the usual values, as a share of their range
# Maximum number of far values, share of all values, and share in a short column.
_MOST, _MOST_SHARE, _MOST_OF_FEW = 3, 0.005, 0.1


@dataclass(frozen=True)
class UsualValues:
    """The range of the usual values of a column, and where far ones begin."""

    low: float = np.nan
    high: float = np.nan
    far_below: float = -np.inf
    far_above: float = np.inf


def robust_deviation(values: NDArray[np.float64]) -> float:
    """Estimate the standard deviation robustly: a few extreme values hardly matter.

    It is the larger of two estimates, because the first is 0 if most values are equal.
    """
    apart = np.abs(values - np.median(values))
    return float(max(PER_MEDIAN * np.median(apart), PER_MEAN * np.mean(apart)))


def find_usual(values: NDArray[np.float64]) -> UsualValues:
    """Find the usual values of a column.

    Parameters
    ----------
    values : ndarray of shape (n,), float64
        NaN is missing.

    Returns
    -------
    UsualValues
        Without limits if there are too few values to decide.

    Examples
    --------
    >>> usual = find_usual(np.array([*range(40), 4200.0]))
    >>> float(usual.low), float(usual.high), bool(usual.far_above < 4200)
    (0.0, 39.0, True)
    """
    known = np.sort(values[~np.isnan(values)])
    if len(known) < _LEAST_VALUES:
        return UsualValues()
    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.median(known)
        deviation = PER_MEDIAN * np.median(np.abs(known - middle))
        reach = FAR * (deviation or robust_deviation(known))
        inside = known[np.abs(known - middle) <= reach]
        if not np.isfinite(reach) or len(np.unique(inside)) < _LEAST_DISTINCT:
            return UsualValues()
        high = _extend(inside, known)
        low = -_extend(-inside[::-1], -known[::-1])
        gap = _GAP * (high - low)
        n_far = np.count_nonzero((known < low) | (known > high))
        few = min(_MOST, _MOST_OF_FEW * len(known))
        if n_far > max(few, _MOST_SHARE * len(known)):
            return UsualValues()
        below, above = min(low - gap, middle - reach), max(high + gap, middle + reach)
    return UsualValues(float(low), float(high), float(below), float(above))


def _extend(inside: NDArray[np.float64], known: NDArray[np.float64]) -> float:
    """Extend the usual values upward while the next one is near; return the highest."""
    more = known[known >= inside[-1]]
    apart = np.flatnonzero(np.diff(more) > _GAP * (more[:-1] - inside[0]))
    return float(more[apart[0] if len(apart) else -1])
