"""Columns and the kernel in, a card for each column out: values, and the bins on them.

A card is geometry in a box of `WIDTH` by `HEIGHT` and words; the template draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from ..explanation import bin_names
from ._shown import Shown
from ._text import count, share, some

WIDTH, HEIGHT = 300.0, 88.0
_N_BARS = 30
_MOST_LABELS = 8
_MOST_BINS = 12  # that a card lists


def describe_bins(
    columns: Sequence[Shown], kernel: ProximityKernel
) -> list[dict[str, Any]]:
    """Make the cards.

    Parameters
    ----------
    columns : sequence of Shown
    kernel : ProximityKernel
        Fitted.

    Returns
    -------
    list of dict
        name, kind, bins (words), n_bins, and ``histogram`` (bars, bands, limits, low,
        high, text) or ``labels`` (label, count, share, part); neither of an empty one.
    """
    names = bin_names(kernel)
    cards = []
    for j, column in enumerate(columns):
        words = [column.say_bin(name) for name in names[j]]
        card: dict[str, Any] = {
            "name": column.name,
            "kind": column.kind,
            "n_bins": len(words),
            "bins": words[:_MOST_BINS],
            "more_bins": max(0, len(words) - _MOST_BINS),
            "two": kernel.bin_groups_[j] is not None,
        }
        if kernel.categories_[j] is not None:
            gaps = kernel.missingness_[j].informative
            card["said"] = _say_bins(len(words), len(kernel.categories_[j]), gaps)
        known = column.values[~column.missing]
        if column.labels is not None and len(known):
            card |= _count_labels(known, column.labels)
        elif len(known):
            centers = kernel.bin_centers_[j]
            groups = kernel.bin_groups_[j]
            card["histogram"] = _draw_histogram(column, known, centers, groups)
        cards.append(card)
    return cards


def _count_labels(
    known: NDArray[np.float64], labels: tuple[str, ...]
) -> dict[str, Any]:
    counts = np.bincount(known.astype(np.int64), minlength=len(labels))
    order = np.flatnonzero(counts)
    if len(order) > _MOST_LABELS:
        order = order[np.argsort(-counts[order], kind="stable")][:_MOST_LABELS]
    rest = int(counts.sum() - counts[order].sum())
    bars = [(labels[k], int(counts[k])) for k in order]
    others = int(np.count_nonzero(counts)) - len(order)
    if rest:
        bars.append((f"{count(others)} others", rest))
    most = max(n for _, n in bars)
    return {
        "labels": [
            {"label": label, "count": n, "share": n / len(known), "part": n / most}
            for label, n in bars
        ]
    }


def _say_bins(n_bins: int, n_categories: int, gaps: bool) -> str:
    """Say what the bins of a categorical column are for.

    Examples
    --------
    >>> _say_bins(3, 3, False)
    '3 bins: one for each category'
    >>> _say_bins(5, 3, True)
    '5 bins: one for each category, one for the rare ones, one for gaps'
    """
    said = [f"{some(n_bins, 'bin')}: one for each category"]
    if n_bins - gaps > n_categories:
        said.append("one for the rare ones")
    return ", ".join([*said, "one for gaps"] if gaps else said)


def _draw_histogram(
    column: Shown,
    known: NDArray[np.float64],
    centers: NDArray[np.float64],
    groups: NDArray[np.int64] | None,
) -> dict[str, Any]:
    low, high = float(known.min()), float(known.max())
    if low == high:
        return {"bars": [(WIDTH / 2 - 6, 0.0, 12.0, HEIGHT)], "bands": [], "limits": [],
                "low": column.write(low), "high": "",
                "text": f"Every known value is {column.write(low)}."}  # fmt: skip
    counts, edges = np.histogram(_place(known, low, high), _N_BARS, (0, WIDTH))
    bars = [
        (float(x), float(HEIGHT - h), float(w), float(h))
        for x, w, h in zip(
            edges[:-1], np.diff(edges), HEIGHT * counts / counts.max(), strict=True
        )
        if h > 0
    ]
    middles = centers[:-1] / 2 + centers[1:] / 2
    limits = _place(np.clip(middles, low, high), low, high)
    at = np.concatenate([[0], limits, [WIDTH]])
    owner = np.arange(len(centers)) if groups is None else groups
    bands = [
        {
            "x": float(at[k]),
            "width": float(at[k + 1] - at[k]),
            "odd": bool(owner[k] % 2),
        }
        for k in range(len(centers))
    ]
    peak = int(counts.argmax())
    parts = edges[peak : peak + 2] / WIDTH
    ends = [column.write(float(low * (1 - part) + high * part)) for part in parts]
    return {
        "bars": bars,
        "bands": bands,
        "limits": [
            (float(x), groups is not None and bool(groups[k] != groups[k + 1]))
            for k, x in enumerate(limits)
        ],
        "low": column.write(low),
        "high": column.write(high),
        "text": f"Values from {column.write(low)} to {column.write(high)}; the tallest "
        f"bar, {ends[0]} to {ends[1]}, holds {share(counts[peak] / len(known))}.",
    }


def _place(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    # Scaled first: the difference of the ends may be too large for a float.
    scale = max(abs(low), abs(high))
    span = high / scale - low / scale
    placed: NDArray[np.float64] = (values / scale - low / scale) / span * WIDTH
    return placed
