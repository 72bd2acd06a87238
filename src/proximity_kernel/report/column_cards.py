"""Columns and the kernel in, a card for each column out: its values and its bins.

A card is data; the template draws it. Far values would squeeze all others into one bar
of a histogram. They get a bar of their own at the end of the scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from .._shared.wording import counted, write_share
from ..explanation import bin_names
from .display_columns import DisplayColumn, UsualRange

WIDTH, HEIGHT = 300.0, 88.0  # of a histogram
_N_BARS = 30
_GAP, _FAR_WIDTH = 9.0, 11.0  # between the scale and a bar of far values; of the bar
_LEAST = 4 / HEIGHT  # height of a bar of far values
_MAX_LABELS = 8
_MAX_BINS = 12  # listed on a card
_MAX_ROWS = 5  # named for a column with far values
_MAX_COLUMNS = 10  # with named rows


def describe_columns(
    columns: Sequence[DisplayColumn], kernel: ProximityKernel
) -> list[dict[str, Any]]:
    """Make the cards.

    Parameters
    ----------
    columns : sequence of DisplayColumn
    kernel : ProximityKernel
        Fitted.

    Returns
    -------
    list of dict
        name, kind, share (of missing cells), summary, far (lines), bins (names),
        n_bins, two (whether the bins have groups), and ``histogram`` (see
        `draw_histogram`) or ``labels`` (label, share, rest); neither for an empty
        column.
    """
    cards = []
    for j, (column, names) in enumerate(zip(columns, bin_names(kernel), strict=True)):
        groups, centers = kernel.bin_groups_[j], kernel.bin_centers_[j]
        card: dict[str, Any] = {
            "name": column.name,
            "kind": column.kind,
            "share": float(column.missing.mean()),
            "summary": _summarize(column),
            "far": column.far,
            "n_bins": len(names),
            "bins": [column.write_bin(name) for name in names[:_MAX_BINS]],
            "two": groups is not None,
        }
        usual = column.usual
        if column.labels is not None:
            card["labels"] = _count_labels(column, column.labels)
        elif usual and centers is not None and usual.low < usual.high:
            shown = _cut_tails(column.known, usual)
            card["histogram"] = draw_histogram(column, shown, centers, groups)
        cards.append(card)
    return cards


def list_far_values(columns: Sequence[DisplayColumn]) -> list[dict[str, Any]]:
    """List the columns that have far values, with some of their rows.

    Returns
    -------
    list of dict
        name, lines (descriptions), rows (the first few indices) and more (the number of
        other rows).
    """
    out: list[dict[str, Any]] = []
    for column in columns:
        if column.usual and column.far:
            values, usual = column.values, column.usual
            rows = np.flatnonzero((values < usual.low) | (values > usual.high)).tolist()
            named = rows[: _MAX_ROWS if len(out) < _MAX_COLUMNS else 0]
            more = len(rows) - len(named)
            out.append(
                {"name": column.name, "lines": column.far, "rows": named, "more": more}
            )
    return out


def _summarize(column: DisplayColumn) -> str:
    """Write the range of measured values, or how many labels there are."""
    if not len(column.known):
        return "no value"
    n_distinct = len(np.unique(column.known))
    if column.labels is not None:
        return counted(n_distinct, "value")
    ends = np.quantile(column.known, [0, 0.5, 1], method="lower")
    low, middle, high = map(column.write, ends)
    if low == high:
        return f"always {low}"
    return f"{low} to {high}, median {middle}, {n_distinct:,} different"


def _count_labels(
    column: DisplayColumn, labels: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Count the most common labels, ordered by rank if they have one, else by count."""
    counts = column.count_labels()
    shown = counts if len(counts) == _MAX_LABELS + 1 else counts[:_MAX_LABELS]
    rest = sum(n for _, n in counts[len(shown) :])
    if column.kind != "category":
        shown = sorted(shown)
    bars = [(labels[k], n, False) for k, n in shown]
    if rest:
        bars.append((f"and {len(counts) - len(shown):,} more", rest, True))
    return [
        {"label": label, "share": n / len(column.known), "rest": is_rest}
        for label, n, is_rest in bars
    ]


def _cut_tails(known: NDArray[np.float64], usual: UsualRange) -> UsualRange:
    """Leave out the last percent of an end that is longer than all the rest."""
    low, first, last, high = np.quantile(
        known[(known >= usual.low) & (known <= usual.high)] / 2, [0, 0.01, 0.99, 1]
    )
    if first < last:  # halves: a difference may be too large for a float
        low = first if first - low > last - first else low
        high = last if high - last > last - first else high
    low, high = max(2 * low, usual.low), min(2 * high, usual.high)
    return UsualRange(low, high, known[known < low], known[known > high])


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
        With two different values.
    usual : UsualRange
        What is drawn to scale, and what lies below and above.
    centers : ndarray of shape (n_bins,), float64
        Of the bins, increasing.
    groups : ndarray of shape (n_bins,), int64, or None
        The coarse bin of each.

    Returns
    -------
    dict
        bars and beyond (x, y, width, height), bands (x, width), limits (x, strong),
        left and right (of the scale), low, high, cut (what lies beyond) and text.
    """
    known, low, high = column.known, usual.low, usual.high
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
    middles = (centers[:-1] / 2 + centers[1:] / 2) / size
    return {
        **_draw_bars(edges, counts, usual),
        **_draw_bins(np.interp(middles, ends, places), left, right, groups),
        "left": left,
        "right": right,
        "low": column.write(usual.low),
        "high": column.write(usual.high),
        "cut": _write_cut(column, usual),
        "text": f"Values from {column.write(usual.low)} to {column.write(usual.high)}; "
        f"the tallest bar, {' to '.join(map(column.write, where))}, holds "
        f"{write_share(counts[peak] / len(known))}.",
    }


def _write_cut(column: DisplayColumn, usual: UsualRange) -> str:
    ends = ((usual.below, "below", usual.low), (usual.above, "above", usual.high))
    return " and ".join(
        f"{counted(len(beyond), 'value')} {where} {column.write(end)}"
        for beyond, where, end in ends
        if len(beyond)
    )


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
    """Shade every other bin, or group of bins, and draw the limits between them."""
    owner = range(len(limits) + 1) if groups is None else groups.tolist()
    at = [left, *limits.tolist(), right]
    return {
        "bands": [
            (x, end - x) for k, (x, end) in enumerate(pairwise(at)) if owner[k] % 2
        ],
        "limits": [
            (x, groups is not None and owner[k] != owner[k + 1])
            for k, x in enumerate(at[1:-1])
            if left < x < right
        ],
    }
