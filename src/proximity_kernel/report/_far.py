"""Numbers in, the range that most of them lie in out, and what lies far beyond it.

A number is far if it lies outside of the quartiles by several times their distance, and
if the gap between it and the others is wider than all of these: a long tail has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._shown import Shown
from ._text import some

_REACH = 6.0  # distances of the quartiles
_FEWEST = 20  # values that tell what is usual
_LARGEST = 0.05  # share of the values that can be called far
_QUANTILES = (0.25, 0.1, 0.05)  # the next ones where these are equal
_MOST_ROWS = 5  # named for a column
_MOST_COLUMNS = 10  # with names of rows


@dataclass(frozen=True)
class Reach:
    """Where the known values of a column lie.

    Attributes
    ----------
    low, high : float
        Ends of those that are not far.
    below, above : ndarray, float64
        Those that are far, sorted.
    """

    low: float
    high: float
    below: NDArray[np.float64]
    above: NDArray[np.float64]


def find_reach(known: NDArray[np.float64]) -> Reach:
    """Part numbers that are far from all others from these.

    Parameters
    ----------
    known : ndarray of shape (n,), float64
        At least one, all finite.

    Returns
    -------
    Reach

    Examples
    --------
    >>> find_reach(np.array([*range(100), 990_000.0]))
    Reach(low=0.0, high=99.0, below=array([], dtype=float64), above=array([990000.]))
    """
    known = np.sort(known)
    # Scaled: the difference of the ends may be too large for a float.
    scaled = known / max(abs(known[0]), abs(known[-1]), np.finfo(float).tiny)
    first, last = 0, len(known)
    if last >= _FEWEST and (fences := _find_fences(scaled)) is not None:
        first = int(np.searchsorted(scaled, fences[0], "left"))
        last = int(np.searchsorted(scaled, fences[1], "right"))
        span = scaled[last - 1] - scaled[first]
        if first and scaled[first] - scaled[first - 1] <= span:
            first = 0
        if last < len(known) and scaled[last] - scaled[last - 1] <= span:
            last = len(known)
        if first + len(known) - last > _LARGEST * len(known):
            first, last = 0, len(known)
    return Reach(
        float(known[first]), float(known[last - 1]), known[:first], known[last:]
    )


def _find_fences(scaled: NDArray[np.float64]) -> tuple[float, float] | None:
    for part in _QUANTILES:
        low, high = np.quantile(scaled, [part, 1 - part])
        if high > low:
            reach = _REACH * (high - low)
            return float(low - reach), float(high + reach)
    return None


def say_far(column: Shown, reach: Reach) -> list[str]:
    """Say which values are far, in one line for each end that has some.

    Examples
    --------
    >>> column = Shown("age", "number", np.array([*range(100), 999.0, 999.0]))
    >>> say_far(column, find_reach(column.values))
    ['2 values of 999, far above the others, which end at 99']
    """
    said = []
    for far, where, end in (
        (reach.below, "below the others, which begin at", reach.low),
        (reach.above, "above the others, which end at", reach.high),
    ):
        if len(far):
            ends = [column.write(one) for one in (far[0], far[-1])]
            what = ends[0] if far[0] == far[-1] else " to ".join(ends)
            values = some(len(far), "value")
            said.append(f"{values} of {what}, far {where} {column.write(end)}")
    return said


def list_far(columns: Sequence[Shown]) -> list[dict[str, Any]]:
    """List the columns that have far values, with some of their rows.

    Parameters
    ----------
    columns : sequence of Shown

    Returns
    -------
    list of dict
        name, said (lines), rows (numbers, a few) and more (how many others there are).
    """
    out: list[dict[str, Any]] = []
    for column in columns:
        if column.labels is not None or column.missing.all():
            continue
        reach = find_reach(column.values[~column.missing])
        if said := say_far(column, reach):
            outside = (column.values < reach.low) | (column.values > reach.high)
            rows = np.flatnonzero(outside).tolist()
            n_named = _MOST_ROWS if len(out) < _MOST_COLUMNS else 0
            out.append(
                {
                    "name": column.name,
                    "said": said,
                    "rows": rows[:n_named],
                    "more": max(0, len(rows) - n_named),
                }
            )
    return out
