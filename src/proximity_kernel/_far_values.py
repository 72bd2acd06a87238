"""Gross errors among the numbers of a column: values far from all usual ones.

A value is far if it lies more than 3.5 robust deviations from the median (Iglewicz and
Hoaglin) and is separated from the usual values by a gap of at least half their range. A
column with more than three such values, if that is more than 0.5 %, has another kind of
distribution, and none is called far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FAR, PER_MEDIAN, PER_MEAN = 3.5, 1.4826, 1.2533
_LEAST_VALUES = 10
_LEAST_DISTINCT = 3  # usual ones: two are labels
_GAP = 0.5  # of the range of the usual values
_MOST, _MOST_SHARE, _MOST_OF_FEW = 3, 0.005, 0.1  # far values, of all or of few


@dataclass(frozen=True)
class UsualValues:
    """The range of the usual values of a column, and where far ones begin."""

    low: float = np.nan
    high: float = np.nan
    far_below: float = -np.inf
    far_above: float = np.inf


def robust_deviation(values: NDArray[np.float64]) -> float:
    """Estimate the standard deviation, whatever a few extreme values are.

    The larger of two estimates: many values can be equal to the median.
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
        Without limits if there are too few values to tell.

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
    """Go on from the highest usual value while the next one is near."""
    more = known[known >= inside[-1]]
    apart = np.flatnonzero(np.diff(more) > _GAP * (more[:-1] - inside[0]))
    return float(more[apart[0] if len(apart) else -1])
