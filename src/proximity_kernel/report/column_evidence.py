"""Which column tells about which: the evidence behind the estimates, as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ProximityKernel
from .._pairwise import Pairwise
from .display_columns import DisplayColumn

_MAX_COLUMNS = 12  # that the page shows
_N_PAIRS = 5  # that are listed in words
_LEAST = 0.05  # bits of evidence that count as some


def describe_evidence(
    kernel: ProximityKernel, columns: list[DisplayColumn]
) -> dict[str, Any] | None:
    """Describe how much each column tells about each other, the largest first.

    Returns
    -------
    dict or None
        ``names`` of the columns with the most evidence, ``rows`` of the matrix as
        (bits, share of the largest), ``n_others`` that are not shown, and the largest
        ``pairs``. None if the rule for missing cells weighs no columns, or if there
        are fewer than two columns.
    """
    matcher = kernel.model_.matcher
    if not isinstance(matcher, Pairwise) or len(columns) < 2:
        return None
    bits = np.maximum(matcher.measure_evidence(), 0)
    most = np.maximum(bits.max(axis=0), bits.max(axis=1))
    order = np.argsort(-most, kind="stable")
    shown = [j for j in order.tolist()[:_MAX_COLUMNS] if most[j] >= _LEAST]
    largest = max(float(bits.max()), _LEAST)
    places = np.argsort(-bits, axis=None, kind="stable")[:_N_PAIRS]
    names = [column.name for column in columns]
    pairs = [
        {"from": names[i], "to": names[j], "bits": float(bits[i, j])}
        for i, j in zip(*np.unravel_index(places, bits.shape), strict=True)
        if bits[i, j] >= _LEAST
    ]
    return {
        "names": [names[j] for j in shown],
        "rows": [
            [(float(bits[i, j]), float(bits[i, j]) / largest) for j in shown]
            for i in shown
        ],
        "n_others": len(columns) - len(shown),
        "pairs": pairs,
    }
