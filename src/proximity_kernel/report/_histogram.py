"""A column and its bins in, the geometry of its histogram out, and words for it.

Values far from all others would leave one bar of the rest: they stand in a bar of
their own at the end, apart from the scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._far import Reach, find_reach
from ._shown import Shown
from ._text import share, some

WIDTH, HEIGHT = 300.0, 88.0
_N_BARS = 30
_APART, _BEYOND = 9.0, 11.0  # width of the gap before a bar beyond, and of the bar
_LEAST = 4.0  # height of a bar beyond


@dataclass(frozen=True)
class _Scale:
    """From numbers to places between `left` and `right`."""

    low: float
    high: float
    left: float
    right: float
    whole: bool  # one bar for each whole number

    def place(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        # Scaled first: the difference of the ends may be too large for a float.
        scale = max(abs(self.low), abs(self.high))
        span = self.high / scale - self.low / scale
        part = (values / scale - self.low / scale) / span
        placed: NDArray[np.float64] = self.left + part * (self.right - self.left)
        return placed

    def value(self, x: float) -> float:
        part = (x - self.left) / (self.right - self.left)
        return float(self.low * (1 - part) + self.high * part)


def draw_histogram(
    column: Shown,
    centers: NDArray[np.float64],
    groups: NDArray[np.int64] | None,
) -> dict[str, Any]:
    """Draw the known values of a measured column, and the limits of its bins.

    Parameters
    ----------
    column : Shown
        With a known value.
    centers : ndarray of shape (n_bins,), float64
        Of the bins, rising.
    groups : ndarray of shape (n_bins,), int64, or None
        The coarse bin of each.

    Returns
    -------
    dict
        bars and beyond (x, y, width, height), bands (x, width, odd), limits (x,
        strong), left and right (of the scale), low, high, text and said (of what lies
        beyond).
    """
    known = column.values[~column.missing]
    reach = find_reach(known)
    if reach.low == reach.high:
        return {"bars": [(WIDTH / 2 - 6, 0.0, 12.0, HEIGHT)], "beyond": [],
                "bands": [], "limits": [], "left": 0.0, "right": WIDTH,
                "low": column.write(reach.low), "high": "", "said": "",
                "text": f"Every known value is {column.write(reach.low)}."}  # fmt: skip
    scale = _find_scale(known, reach)
    inside = known[(known >= reach.low) & (known <= reach.high)]
    n_bars = round(scale.high - scale.low) if scale.whole else _N_BARS
    counts, edges = np.histogram(scale.place(inside), n_bars, (scale.left, scale.right))
    return {
        "bars": _stand(edges, counts),
        "beyond": _stand_apart(reach, int(counts.max())),
        "left": scale.left,
        "right": scale.right,
        **_draw_bins(scale, centers, groups),
        "low": column.write(reach.low),
        "high": column.write(reach.high),
        "text": _say(column, scale, counts, edges, reach),
        "said": _say_beyond(column, reach),
    }


def _find_scale(known: NDArray[np.float64], reach: Reach) -> _Scale:
    low, high = reach.low, reach.high
    whole = high / 2 - low / 2 < _N_BARS / 2 and bool((known == known.round()).all())
    left = _APART + _BEYOND if len(reach.below) else 0.0
    right = WIDTH - (_APART + _BEYOND if len(reach.above) else 0.0)
    if whole:
        low, high = low - 0.5, high + 0.5
    return _Scale(low, high, left, right, whole)


def _stand(
    edges: NDArray[np.float64], counts: NDArray[np.int64]
) -> list[tuple[float, float, float, float]]:
    heights = HEIGHT * counts / counts.max()
    return [
        (float(x), float(HEIGHT - h), float(w), float(h))
        for x, w, h in zip(edges[:-1], np.diff(edges), heights, strict=True)
        if h > 0
    ]


def _stand_apart(reach: Reach, most: int) -> list[tuple[float, float, float, float]]:
    return [
        (x, HEIGHT - height, _BEYOND, height)
        for x, far in ((0.0, reach.below), (WIDTH - _BEYOND, reach.above))
        if len(far)
        for height in [min(HEIGHT, max(_LEAST, HEIGHT * len(far) / most))]
    ]


def _draw_bins(
    scale: _Scale, centers: NDArray[np.float64], groups: NDArray[np.int64] | None
) -> dict[str, Any]:
    middles = centers[:-1] / 2 + centers[1:] / 2
    limits = scale.place(np.clip(middles, scale.low, scale.high))
    at = np.concatenate([[scale.left], limits, [scale.right]])
    owner = np.arange(len(centers)) if groups is None else groups
    inside = (middles > scale.low) & (middles < scale.high)
    return {
        "bands": [
            {
                "x": float(at[k]),
                "width": float(at[k + 1] - at[k]),
                "odd": bool(owner[k] % 2),
            }
            for k in range(len(centers))
        ],
        "limits": [
            (float(x), groups is not None and bool(groups[k] != groups[k + 1]))
            for k, x in enumerate(limits)
            if inside[k]
        ],
    }


def _say(
    column: Shown,
    scale: _Scale,
    counts: NDArray[np.int64],
    edges: NDArray[np.float64],
    reach: Reach,
) -> str:
    peak = int(counts.argmax())
    if scale.whole:
        where = column.write(reach.low + peak)
    else:
        ends = [column.write(scale.value(float(x))) for x in edges[peak : peak + 2]]
        where = f"{ends[0]} to {ends[1]}"
    of_all = counts.sum() + len(reach.below) + len(reach.above)
    said = (
        f"Values from {column.write(reach.low)} to {column.write(reach.high)}; the "
        f"tallest bar, {where}, holds {share(counts[peak] / of_all)}."
    )
    return " ".join([said, _say_beyond(column, reach)]).strip()


def _say_beyond(column: Shown, reach: Reach) -> str:
    said = []
    if n := len(reach.below):
        low = column.write(float(reach.below[0]))
        said.append(f"{some(n, 'value')} below this range, down to {low}")
    if n := len(reach.above):
        high = column.write(float(reach.above[-1]))
        said.append(f"{some(n, 'value')} above this range, up to {high}")
    if not said:
        return ""
    return f"Not to scale: {', and '.join(said)}."
