"""Columns and the kernel in, a card for each column out: its values and its bins.

A card is data; the template draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from ..explanation import bin_names
from ._display_columns import DisplayColumn
from ._histogram import draw_histogram
from ._text import count, some

_MAX_LABELS = 8
_MAX_BINS = 12  # listed on a card


def describe_bins(
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
        name, kind, bins (their names), n_bins, and ``histogram`` (see `draw_histogram`)
        or ``labels`` (label, count, share, rest); neither for an empty column.
    """
    names = bin_names(kernel)
    cards = []
    for j, column in enumerate(columns):
        bins = [column.write_bin(name) for name in names[j]]
        card: dict[str, Any] = {
            "name": column.name,
            "kind": column.kind,
            "n_bins": len(bins),
            "bins": bins[:_MAX_BINS],
            "more_bins": max(0, len(bins) - _MAX_BINS),
            "two": kernel.bin_groups_[j] is not None,
        }
        categories, centers = kernel.categories_[j], kernel.bin_centers_[j]
        if categories is not None:
            gaps = kernel.missingness_[j].informative
            card["description"] = _describe_bins(len(bins), len(categories), gaps)
        known = column.values[~column.missing]
        if column.labels is not None and len(known):
            card["labels"] = _count_labels(column, known, column.labels)
        elif len(known) and centers is not None:
            card["histogram"] = draw_histogram(column, centers, kernel.bin_groups_[j])
        cards.append(card)
    return cards


def _count_labels(
    column: DisplayColumn, known: NDArray[np.float64], labels: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Count the most common labels, ordered by rank if they have one, else by count."""
    counts = np.bincount(known.astype(np.int64), minlength=len(labels))
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    others = len(order) - _MAX_LABELS
    if others > 1:
        order = order[:_MAX_LABELS]
    rest = int(counts.sum() - counts[order].sum())
    if column.kind != "category":
        order = np.sort(order)
    bars = [(labels[k], int(counts[k]), False) for k in order]
    if rest:
        bars.append((f"and {count(others)} more", rest, True))
    return [
        {"label": label, "count": n, "share": n / len(known), "rest": is_rest}
        for label, n, is_rest in bars
    ]


def _describe_bins(n_bins: int, n_categories: int, gaps: bool) -> str:
    """Describe the bins of a categorical column.

    Examples
    --------
    >>> _describe_bins(3, 3, False)
    '3 bins: one for each category'
    >>> _describe_bins(5, 3, True)
    '5 bins: one for each category, one for the rare ones, one for gaps'
    """
    parts = [f"{some(n_bins, 'bin')}: one for each category"]
    if n_bins - gaps > n_categories:
        parts.append("one for the rare ones")
    return ", ".join([*parts, "one for gaps"] if gaps else parts)
