"""Numbers in, the range of most of them out, and the values far outside of it.

A number is far if it lies outside of the quartiles by several times their distance, and
if the gap to the others is wider than the range of these. So a long tail is not far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._text import some

_N_DISTANCES = 6.0  # between the quartiles
_MIN_VALUES = 20  # from which on values can be far
_MAX_SHARE = 0.05  # of the values that can be far
_QUANTILES = (0.25, 0.1, 0.05)  # the next pair is used if a pair is equal


@dataclass(frozen=True)
class UsualRange:
    """The range of most values of a column, and the values far outside.

    Attributes
    ----------
    low, high : float
        Ends of the range.
    below, above : ndarray, float64
        The far values, sorted.
    """

    low: float
    high: float
    below: NDArray[np.float64]
    above: NDArray[np.float64]

    def describe(self, write: Callable[[float], str]) -> list[str]:
        """Describe the far values, in one line for each end that has some.

        Examples
        --------
        >>> found = find_usual_range(np.array([*range(100), 999.0, 999.0]))
        >>> found.describe(lambda value: f"{value:g}")
        ['2 values of 999, far above the others, which end at 99']
        """
        lines = []
        for far, where, end in (
            (self.below, "below the others, which begin at", self.low),
            (self.above, "above the others, which end at", self.high),
        ):
            if len(far):
                what = " to ".join(dict.fromkeys([write(far[0]), write(far[-1])]))
                values = some(len(far), "value")
                lines.append(f"{values} of {what}, far {where} {write(end)}")
        return lines


def find_usual_range(known: NDArray[np.float64]) -> UsualRange:
    """Separate far values from the others.

    Parameters
    ----------
    known : ndarray of shape (n,), float64
        Observed values: at least one, all finite.

    Returns
    -------
    UsualRange

    Examples
    --------
    >>> found = find_usual_range(np.array([*range(100), 990_000.0]))
    >>> found.low, found.high, found.above
    (0.0, 99.0, array([990000.]))
    """
    known = np.sort(known)
    # Scaled: the difference of the ends may be too large for a float.
    scaled = known / max(abs(known[0]), abs(known[-1]), np.finfo(float).tiny)
    first, last = 0, len(known)
    pairs = (np.quantile(scaled, [part, 1 - part]) for part in _QUANTILES)
    low, high = next((pair for pair in pairs if pair[1] > pair[0]), (0.0, 0.0))
    if last >= _MIN_VALUES and high > low:
        reach = _N_DISTANCES * (high - low)
        first = int(np.searchsorted(scaled, low - reach, "left"))
        last = int(np.searchsorted(scaled, high + reach, "right"))
        span = scaled[last - 1] - scaled[first]
        if first and scaled[first] - scaled[first - 1] <= span:
            first = 0
        if last < len(known) and scaled[last] - scaled[last - 1] <= span:
            last = len(known)
        if first + len(known) - last > _MAX_SHARE * len(known):
            first, last = 0, len(known)
    return UsualRange(
        float(known[first]), float(known[last - 1]), known[:first], known[last:]
    )
