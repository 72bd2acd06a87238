"""A column and its bins in, the geometry of its histogram out, with a description.

Far values would squeeze all others into one bar. They get a bar of their own at the end
of the scale.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._display_columns import DisplayColumn
from ._far_values import UsualRange
from ._text import share

WIDTH, HEIGHT = 300.0, 88.0
_N_BARS = 30
_GAP, _FAR_WIDTH = 9.0, 11.0  # between the scale and a bar of far values; of the bar
_LEAST = 4 / HEIGHT  # height of a bar of far values


def draw_histogram(
    column: DisplayColumn,
    usual: UsualRange,
    centers: NDArray[np.float64],
    groups: NDArray[np.int64] | None,
) -> dict[str, Any]:
    """Draw the observed values of a measured column, and the limits of its bins.

    Parameters
    ----------
    column : DisplayColumn
        With an observed value.
    usual : UsualRange
        Of the column.
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
    known, low, high = column.known, usual.low, usual.high
    if low == high:
        return {"bars": [(WIDTH / 2 - 6, 0.0, 12.0, HEIGHT)], "beyond": [],
                "bands": [], "limits": [], "left": 0.0, "right": WIDTH,
                "low": column.write(low), "high": "", "far_text": "",
                "text": f"Every known value is {column.write(low)}."}  # fmt: skip
    whole = high / 2 - low / 2 < _N_BARS / 2 and bool((known == known.round()).all())
    inside = known[(known >= low) & (known <= high)]
    if whole:  # a bar for each whole number
        low, high = low - 0.5, high + 0.5
    left = _GAP + _FAR_WIDTH if len(usual.below) else 0.0
    right = WIDTH - (_GAP + _FAR_WIDTH if len(usual.above) else 0.0)
    # Scaled: the difference of the ends may be too large for a float.
    size = max(abs(low), abs(high))
    ends, places = (low / size, high / size), (left, right)
    n_bars = round(high - low) if whole else _N_BARS
    positions = np.interp(inside / size, ends, places)
    counts, edges = np.histogram(positions, n_bars, places)
    peak = int(counts.argmax())
    tallest = size * np.interp(edges[peak : peak + 2], places, ends)
    where = [usual.low + peak] if whole else tallest.tolist()
    far_text = "; ".join(usual.describe(column.write))
    far_text = far_text and f"Not to scale: {far_text}."
    text = (
        f"Values from {column.write(usual.low)} to {column.write(usual.high)}; the "
        f"tallest bar, {' to '.join(map(column.write, where))}, holds "
        f"{share(counts[peak] / len(known))}. {far_text}"
    )
    middles = (centers[:-1] / 2 + centers[1:] / 2) / size
    return {
        **_draw_bars(edges, counts, usual),
        **_draw_bins(np.interp(middles, ends, places), left, right, groups),
        "left": left,
        "right": right,
        "low": column.write(usual.low),
        "high": column.write(usual.high),
        "text": text.strip(),
        "far_text": far_text,
    }


def _draw_bars(
    edges: NDArray[np.float64], counts: NDArray[np.int64], usual: UsualRange
) -> dict[str, Any]:
    parts = counts / counts.max()
    bars = [
        (x, HEIGHT - HEIGHT * part, end - x, HEIGHT * part)
        for (x, end), part in zip(pairwise(edges.tolist()), parts.tolist(), strict=True)
        if part
    ]
    beyond = [
        (x, HEIGHT - height, _FAR_WIDTH, height)
        for x, far in ((0.0, usual.below), (WIDTH - _FAR_WIDTH, usual.above))
        if len(far)
        for height in [HEIGHT * min(1, max(_LEAST, len(far) / int(counts.max())))]
    ]
    return {"bars": bars, "beyond": beyond}


def _draw_bins(
    limits: NDArray[np.float64],
    left: float,
    right: float,
    groups: NDArray[np.int64] | None,
) -> dict[str, Any]:
    owner = range(len(limits) + 1) if groups is None else groups.tolist()
    at = [left, *limits.tolist(), right]
    return {
        "bands": [
            {"x": x, "width": end - x, "odd": owner[k] % 2 > 0}
            for k, (x, end) in enumerate(pairwise(at))
        ],
        "limits": [
            (x, groups is not None and owner[k] != owner[k + 1])
            for k, x in enumerate(at[1:-1])
            if left < x < right
        ],
    }
