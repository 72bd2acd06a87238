"""Columns and the kernel in, a card for each column out: values, and the bins on them.

A card is geometry and words; the template draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from ..explanation import bin_names
from ._histogram import draw_histogram
from ._shown import Shown
from ._text import count, some

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
        name, kind, bins (words), n_bins, and ``histogram`` (as `draw_histogram` has it)
        or ``labels`` (label, count, share, rest); neither of an empty one.
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
            card["labels"] = _count_labels(column, known, column.labels)
        elif len(known):
            centers = kernel.bin_centers_[j]
            card["histogram"] = draw_histogram(column, centers, kernel.bin_groups_[j])
        cards.append(card)
    return cards


def _count_labels(
    column: Shown, known: NDArray[np.float64], labels: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Take the most common labels: by rank where there is one, else by their share."""
    counts = np.bincount(known.astype(np.int64), minlength=len(labels))
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    others = len(order) - _MOST_LABELS
    if others > 1:
        order = order[:_MOST_LABELS]
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
