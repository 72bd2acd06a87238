"""Columns and the kernel in, a card for each column out: its values and its bins.

A card is data; the template draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
        or ``labels`` (label, share, rest); neither for an empty column.
    """
    cards = []
    for j, (column, names) in enumerate(zip(columns, bin_names(kernel), strict=True)):
        groups, centers = kernel.bin_groups_[j], kernel.bin_centers_[j]
        card: dict[str, Any] = {
            "name": column.name,
            "kind": column.kind,
            "n_bins": len(names),
            "bins": [column.write_bin(name) for name in names[:_MAX_BINS]],
            "more_bins": max(0, len(names) - _MAX_BINS),
            "two": groups is not None,
        }
        if (categories := kernel.categories_[j]) is not None:
            gaps = kernel.missingness_[j].informative
            card["description"] = _describe_bins(len(names), len(categories), gaps)
        if column.labels is not None:
            card["labels"] = _count_labels(column, column.labels)
        elif column.usual is not None and centers is not None:
            card["histogram"] = draw_histogram(column, column.usual, centers, groups)
        cards.append(card)
    return cards


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
        bars.append((f"and {count(len(counts) - len(shown))} more", rest, True))
    return [
        {"label": label, "share": n / len(column.known), "rest": is_rest}
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
    rare = ", one for the rare ones" if n_bins - gaps > n_categories else ""
    missing = ", one for gaps" if gaps else ""
    return f"{some(n_bins, 'bin')}: one for each category{rare}{missing}"
