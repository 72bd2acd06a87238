"""The scale of ``n_bins="fine"``: halves, quarters, eighths and sixteenths of a column.

The observed values are cut between two values, where that halves the rows best. Each
part is cut again, four times in all; a part with one value is not cut. Two values score
.4, .7, .9 or 1 by the smallest cell that contains both: a half, a quarter, an eighth,
or a leaf (a sixteenth, or a part with one value). Values of different halves score 0.

The quarters are the bins of the column. Missing cells are estimated on the quarters,
and the estimate of a quarter is spread evenly over its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .centers import Ordered

SCORES = (0.0, 0.4, 0.7, 0.9, 1.0)
"""Score of two values, by the number of cuts of the smallest cell with both."""
QUARTERS = 2
"""Cuts that make a quarter."""
MOST_LEAVES = 2 ** (len(SCORES) - 1)

_Ints = NDArray[np.int64]


def cut_values(values: Ordered) -> tuple[_Ints, _Ints]:
    """Cut the values of a column.

    Parameters
    ----------
    values : Ranked or Selected

    Returns
    -------
    places : ndarray of shape (n_leaves - 1,), int64, strictly ascending
        Place in the sorted order of the first value above each cut.
    levels : ndarray of shape (n_leaves - 1,), int64
        The round in which each cut was made, from 1 to 4.

    Examples
    --------
    >>> from proximity_kernel._bins.centers import rank_values
    >>> values = rank_values(np.array([1.0, 1.0, 1.0, 2.0, 3.0, 4.0]))
    >>> places, levels = cut_values(values)
    >>> places.tolist(), levels.tolist()
    ([3, 4, 5], [1, 2, 3])
    """
    found: dict[int, int] = {}  # place of the first value above a cut: its level
    parts = [(0, len(values))]
    for level in range(1, len(SCORES)):
        cut = [(*part, _halve(values, *part)) for part in parts]
        found |= {at: level for first, last, at in cut if first < at < last}
        parts = [
            part for first, last, at in cut for part in ((first, at), (at, last))
            if first < at < last
        ]  # fmt: skip
    places = np.array(sorted(found), np.int64)
    return places, np.array([found[at] for at in places.tolist()], np.int64)


def _halve(values: Ordered, first: int, last: int) -> int:
    """Find the place that best halves a range; an end if all its values are equal."""
    middle = values.at([(first + last) // 2])[0]
    start, stop = values.span(middle)
    inside = [at for at in (start, stop) if first < at < last]
    return min(inside, key=lambda at: (abs(2 * at - first - last), at), default=first)


def between(low: Any, high: Any) -> NDArray[np.float64]:
    """Find the midpoints of pairs of numbers, below the higher of each pair.

    The midpoint of adjacent floats could be rounded up to the higher one.
    """
    with np.errstate(over="ignore"):
        middle = (low + high) / 2
    middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
    below: NDArray[np.float64] = np.minimum(middle, np.nextafter(high, -np.inf))
    return below


def number_cells(levels: _Ints, level: int) -> _Ints:
    """Find the cell of each leaf after some rounds of cuts, shape (n_leaves,)."""
    return np.concatenate([[0], np.cumsum(levels <= level)])


def nest_cells(levels: _Ints) -> tuple[NDArray[np.float64], list[tuple[_Ints, float]]]:
    """Find how much the leaves and the larger cells add to a score.

    Parameters
    ----------
    levels : ndarray of shape (n_leaves - 1,), int64

    Returns
    -------
    ndarray of shape (n_leaves,)
        What a common leaf adds to the score, beyond what the cells around it add.
    list of (ndarray of int64, float)
        Eighths, quarters and halves with several leaves: the leaves, and what they add.

    Examples
    --------
    >>> own, cells = nest_cells(np.array([1, 2, 3]))
    >>> own.round(2).tolist(), [members.tolist() for members, _ in cells]
    ([1.0, 0.6, 0.3, 0.3], [[2, 3], [1, 2, 3]])
    """
    own, cells = np.ones(len(levels) + 1), []
    for level in range(len(SCORES) - 2, 0, -1):
        cell = number_cells(levels, level)
        for members in _split(cell):
            if len(members) > 1:
                added = SCORES[level] - SCORES[level - 1]
                cells.append((members, added))
                own[members] -= added
    return own, cells


def spread_evenly(levels: _Ints) -> NDArray[np.float64]:
    """Find the share of each leaf in its quarter, shape (n_leaves,)."""
    share = np.ones(len(levels) + 1)
    for level in range(QUARTERS, len(SCORES) - 1):
        inner = number_cells(levels, level + 1)
        for members in _split(number_cells(levels, level)):
            if inner[members[0]] < inner[members[-1]]:
                share[members] /= 2
    return share


def _split(cell: _Ints) -> Sequence[_Ints]:
    return np.split(np.arange(len(cell)), np.flatnonzero(np.diff(cell)) + 1)
