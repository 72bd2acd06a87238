"""A column and its bins in, the geometry of its histogram out, with a description.

Far values would squeeze all others into one bar. They get a bar of their own at the end
of the scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._display_columns import DisplayColumn
from ._far_values import UsualRange, find_usual_range
from ._text import share, some

WIDTH, HEIGHT = 300.0, 88.0
_N_BARS = 30
_GAP, _FAR_WIDTH = 9.0, 11.0  # between the scale and a bar of far values; of the bar
_MIN_HEIGHT = 4.0  # of a bar of far values


@dataclass(frozen=True)
class _Scale:
    """Maps numbers to positions between `left` and `right`."""

    low: float
    high: float
    left: float
    right: float
    whole: bool  # one bar for each whole number

    def position(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        # Scaled first: the difference of the ends may be too large for a float.
        scale = max(abs(self.low), abs(self.high))
        span = self.high / scale - self.low / scale
        part = (values / scale - self.low / scale) / span
        positions: NDArray[np.float64] = self.left + part * (self.right - self.left)
        return positions

    def value(self, x: float) -> float:
        part = (x - self.left) / (self.right - self.left)
        return float(self.low * (1 - part) + self.high * part)


def draw_histogram(
    column: DisplayColumn,
    centers: NDArray[np.float64],
    groups: NDArray[np.int64] | None,
) -> dict[str, Any]:
    """Draw the observed values of a measured column, and the limits of its bins.

    Parameters
    ----------
    column : DisplayColumn
        With an observed value.
    centers : ndarray of shape (n_bins,), float64
        Of the bins, increasing.
    groups : ndarray of shape (n_bins,), int64, or None
        The coarse bin of each.

    Returns
    -------
    dict
        bars and beyond (x, y, width, height), bands (x, width, odd), limits (x,
        strong), left and right (of the scale), low, high, text and far_text.
    """
    known = column.values[~column.missing]
    usual = find_usual_range(known)
    if usual.low == usual.high:
        return {"bars": [(WIDTH / 2 - 6, 0.0, 12.0, HEIGHT)], "beyond": [],
                "bands": [], "limits": [], "left": 0.0, "right": WIDTH,
                "low": column.write(usual.low), "high": "", "far_text": "",
                "text": f"Every known value is {column.write(usual.low)}."}  # fmt: skip
    scale = _find_scale(known, usual)
    inside = known[(known >= usual.low) & (known <= usual.high)]
    n_bars = round(scale.high - scale.low) if scale.whole else _N_BARS
    counts, edges = np.histogram(
        scale.position(inside), n_bars, (scale.left, scale.right)
    )
    return {
        "bars": _make_bars(edges, counts),
        "beyond": _make_far_bars(usual, int(counts.max())),
        "left": scale.left,
        "right": scale.right,
        **_draw_bins(scale, centers, groups),
        "low": column.write(usual.low),
        "high": column.write(usual.high),
        "text": _describe(column, scale, counts, edges, usual),
        "far_text": _describe_far(column, usual),
    }


def _find_scale(known: NDArray[np.float64], usual: UsualRange) -> _Scale:
    low, high = usual.low, usual.high
    whole = high / 2 - low / 2 < _N_BARS / 2 and bool((known == known.round()).all())
    left = _GAP + _FAR_WIDTH if len(usual.below) else 0.0
    right = WIDTH - (_GAP + _FAR_WIDTH if len(usual.above) else 0.0)
    if whole:
        low, high = low - 0.5, high + 0.5
    return _Scale(low, high, left, right, whole)


def _make_bars(
    edges: NDArray[np.float64], counts: NDArray[np.int64]
) -> list[tuple[float, float, float, float]]:
    heights = HEIGHT * counts / counts.max()
    return [
        (float(x), float(HEIGHT - h), float(w), float(h))
        for x, w, h in zip(edges[:-1], np.diff(edges), heights, strict=True)
        if h > 0
    ]


def _make_far_bars(
    usual: UsualRange, most: int
) -> list[tuple[float, float, float, float]]:
    return [
        (x, HEIGHT - height, _FAR_WIDTH, height)
        for x, far in ((0.0, usual.below), (WIDTH - _FAR_WIDTH, usual.above))
        if len(far)
        for height in [min(HEIGHT, max(_MIN_HEIGHT, HEIGHT * len(far) / most))]
    ]


def _draw_bins(
    scale: _Scale, centers: NDArray[np.float64], groups: NDArray[np.int64] | None
) -> dict[str, Any]:
    middles = centers[:-1] / 2 + centers[1:] / 2
    limits = scale.position(np.clip(middles, scale.low, scale.high))
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


def _describe(
    column: DisplayColumn,
    scale: _Scale,
    counts: NDArray[np.int64],
    edges: NDArray[np.float64],
    usual: UsualRange,
) -> str:
    peak = int(counts.argmax())
    if scale.whole:
        where = column.write(usual.low + peak)
    else:
        ends = [column.write(scale.value(float(x))) for x in edges[peak : peak + 2]]
        where = f"{ends[0]} to {ends[1]}"
    of_all = counts.sum() + len(usual.below) + len(usual.above)
    text = (
        f"Values from {column.write(usual.low)} to {column.write(usual.high)}; the "
        f"tallest bar, {where}, holds {share(counts[peak] / of_all)}."
    )
    return " ".join([text, _describe_far(column, usual)]).strip()


def _describe_far(column: DisplayColumn, usual: UsualRange) -> str:
    parts = []
    if n := len(usual.below):
        low = column.write(float(usual.below[0]))
        parts.append(f"{some(n, 'value')} below this range, down to {low}")
    if n := len(usual.above):
        high = column.write(float(usual.above[-1]))
        parts.append(f"{some(n, 'value')} above this range, up to {high}")
    if not parts:
        return ""
    return f"Not to scale: {', and '.join(parts)}."
