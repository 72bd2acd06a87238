"""Summaries of a column in batches: counted values, or a sketch of their quantiles.

Batches of a column are summarized one by one and the summaries merged. While there are
few distinct values, each is kept with its count, and every rank is exact. Beyond
`LIMIT` the summary becomes a sketch: levels of sorted items, where an item of level h
stands for ``2**h`` values. When a level has `WIDTH` items it is halved: every other
item moves up. A checksum of the items decides which of two stays, so the same batches
merged in the same way give the same sketch on any machine.

A halving at level h changes a rank by at most ``2**h`` and needs `WIDTH` - 1 items. All
halvings together change it by a share of at most ``levels / (WIDTH - 1)``: 0.3 % of ten
million values in the worst case. The errors have both signs and mostly cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .centers import Ranked, rank_values

LIMIT = 100_000
"""Most distinct values that are kept with their counts."""
WIDTH = 4096
"""Items at which a level of a sketch is halved."""

_Floats = NDArray[np.float64]
_NONE: _Floats = np.empty(0)


@dataclass(frozen=True)
class Sketch:
    """Summary of very many values.

    Attributes
    ----------
    levels : tuple of ndarray of float64, each sorted
        An item of level h stands for ``2**h`` values.
    low, high : float
        The least and the greatest of all values, exactly.
    """

    levels: tuple[_Floats, ...]
    low: float
    high: float


Held = Ranked | Sketch


def hold_values(values: _Floats) -> Held:
    """Summarize the observed values of a batch.

    Parameters
    ----------
    values : ndarray of shape (n_observed,), float64
        Without NaN.

    Returns
    -------
    Ranked or Sketch
    """
    ranked = rank_values(values)
    if len(ranked.values) <= LIMIT:
        return ranked
    found = np.repeat(ranked.values, ranked.counts)
    return Sketch(_halve((found,)), float(found[0]), float(found[-1]))


def merge_held(a: Held, b: Held) -> Held:
    """Merge the summaries of two parts of a column.

    Parameters
    ----------
    a, b : Ranked or Sketch

    Returns
    -------
    Ranked or Sketch
        Counts if at most `LIMIT` values are distinct, regardless of the parts.

    Examples
    --------
    >>> both = merge_held(hold_values(np.array([1.0, 3.0])), hold_values(np.ones(2)))
    >>> both.values.tolist(), both.counts.tolist()
    ([1.0, 3.0], [3, 1])
    """
    if isinstance(a, Ranked) and isinstance(b, Ranked):
        both = _add_up(
            np.concatenate([a.values, b.values]), np.concatenate([a.counts, b.counts])
        )
        return both if len(both.values) <= LIMIT else _sketch(both)
    if not (_any(a) and _any(b)):
        return a if _any(a) else b
    a, b = _sketch(a), _sketch(b)
    pairs = zip_longest(a.levels, b.levels, fillvalue=_NONE)
    levels = tuple(np.sort(np.concatenate(pair), kind="stable") for pair in pairs)
    return Sketch(_halve(levels), min(a.low, b.low), max(a.high, b.high))


def rank_held(held: Held) -> Ranked:
    """List the values with their counts, or the items of a sketch with theirs."""
    if isinstance(held, Ranked):
        return held
    sizes = [len(items) for items in held.levels]
    values = np.concatenate(held.levels)
    counts = np.repeat(1 << np.arange(len(sizes)), sizes)
    # The exact ends replace one of the values next to them.
    counts[values.argmin()] -= 1
    counts[values.argmax()] -= 1
    ranked = _add_up(
        np.concatenate([[held.low], values, [held.high]]),
        np.concatenate([[1], counts, [1]]),
    )
    there = ranked.counts > 0
    return Ranked(ranked.values[there], ranked.counts[there])


def _any(held: Held) -> bool:
    return isinstance(held, Sketch) or len(held.values) > 0


def _add_up(values: _Floats, counts: NDArray[np.int64]) -> Ranked:
    """Add the counts of equal values."""
    order = np.argsort(values, kind="stable")  # of two sorted runs: a merge
    values, counts = values[order], counts[order]
    first = np.flatnonzero(np.r_[True, values[1:] != values[:-1]][: len(values)])
    if not len(first):
        return Ranked(values, counts)
    return Ranked(values[first], np.add.reduceat(counts, first))


def _sketch(held: Held) -> Sketch:
    """Turn counted values into a sketch: a count of 5 becomes items for 4 and for 1."""
    if isinstance(held, Sketch):
        return held
    n_levels = int(held.counts.max()).bit_length()
    levels = (held.values[(held.counts >> h) & 1 == 1] for h in range(n_levels))
    return Sketch(_halve(tuple(levels)), float(held.values[0]), float(held.values[-1]))


def _halve(levels: tuple[_Floats, ...]) -> tuple[_Floats, ...]:
    """Halve the levels that are full, from the lowest on."""
    out: list[_Floats] = []
    up = _NONE
    while len(out) < len(levels) or len(up):
        items = levels[len(out)] if len(out) < len(levels) else _NONE
        if len(up):
            items = np.sort(np.concatenate([items, up]), kind="stable")
        up = _NONE
        if len(items) >= WIDTH:
            pairs = items[: len(items) // 2 * 2]
            up, items = pairs[crc32(pairs.tobytes()) & 1 :: 2], items[len(pairs) :]
        out.append(items)
    return tuple(out)
