"""Quantiles of a column: exact, by selection, or from a sketch that merges.

Batches of a column are summarized one by one and the summaries merged. While few values
are distinct, each is kept with its count, and every rank is exact. Beyond `LIMIT` it
becomes a sketch: levels of sorted items, an item of level h standing for ``2**h``
values. A level that holds `WIDTH` items is halved: every other one moves up. A checksum
of the items decides which of two stays, so the same batches merged in the same way give
the same sketch on any machine.

A halving at level h moves a rank by ``2**h`` at most and takes `WIDTH` - 1 items, so
all of them together by a share of ``levels / (WIDTH - 1)``: 0.3 % of ten million
values in the worst case. They go both ways, and mostly cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import count, zip_longest
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

LIMIT = 100_000
"""Most distinct values that are kept with their counts."""
WIDTH = 4096
"""Items at which a level of a sketch is halved."""

_Floats = NDArray[np.float64]
_NONE: _Floats = np.empty(0)
# Buckets by the first 16 bits of a float: negative numbers come first, and fall.
_RISING = np.concatenate([np.arange(0xFFFF, 0x7FFF, -1), np.arange(0x8000)])
_PLACES = np.argsort(_RISING)
_NAN_KEYS = np.flatnonzero((np.arange(1 << 16) & 0x7FF0) == 0x7FF0)


@dataclass(frozen=True)
class Ranked:
    """Values, sorted, with how often each is there.

    Attributes
    ----------
    values : ndarray of shape (n_distinct,), float64, strictly rising
    counts : ndarray of shape (n_distinct,), int64

    Examples
    --------
    >>> ranked = rank_values(np.array([2.0, 1.0, 2.0]))
    >>> len(ranked), ranked.at([0, 1, 2]).tolist(), ranked.count(2.0)
    (3, [1.0, 2.0, 2.0], 2)
    """

    values: _Floats
    counts: NDArray[np.int64]

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.counts)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self.counts) else 0

    def at(self, places: Any) -> _Floats:
        """Values at places of the sorted order, the first at 0."""
        found: _Floats = self.values[self._ends.searchsorted(places, side="right")]
        return found

    def count(self, value: float) -> int:
        """How often a value is there."""
        return int(self.counts[self.values.searchsorted(value)])

    def without(self, values: list[float]) -> Ranked:
        """Leave some values out."""
        kept = ~np.isin(self.values, values)
        return Ranked(self.values[kept], self.counts[kept])

    def few(self, most: int) -> _Floats | None:
        """Give the distinct values, or nothing if there are more than `most`."""
        return self.values if len(self.values) <= most else None


class Selected:
    """The values of a large column, of which only those asked for are put in order.

    The first 16 bits of a value (sign, exponent, four bits more) put it into a bucket.
    That is enough to know into which bucket a place of the sorted order falls.

    Parameters
    ----------
    values : ndarray of shape (n,), float64, in one piece, without -0.0 and infinity
        NaN is left out.

    Examples
    --------
    >>> selected = Selected(np.array([2.0, np.nan, 1.0, 2.0]))
    >>> len(selected), selected.at([0, 1, 2]).tolist(), selected.count(2.0)
    (3, [1.0, 2.0, 2.0], 2)
    """

    def __init__(self, values: _Floats) -> None:
        self._values = values
        self._keys = (values.view(np.uint64) >> np.uint64(48)).astype(np.uint16)
        counts = np.bincount(self._keys, minlength=1 << 16)
        counts[_NAN_KEYS] = 0
        self._ends = np.cumsum(counts[_RISING])
        self._sorted = {-1: _NONE}

    def __len__(self) -> int:
        return int(self._ends[-1])

    def _bucket(self, bucket: int) -> _Floats:
        """Sort the values of a bucket, by its place in the rising order."""
        if bucket not in self._sorted:
            self._sorted[bucket] = np.sort(self._values[self._keys == _RISING[bucket]])
        return self._sorted[bucket]

    def at(self, places: Any) -> _Floats:
        """Values at places of the sorted order, the first at 0."""
        places = np.asarray(places)
        found = np.empty(len(places))
        buckets = self._ends.searchsorted(places, side="right")
        for bucket in np.unique(buckets).tolist():
            held = self._bucket(bucket)
            here = buckets == bucket
            found[here] = held[places[here] - (self._ends[bucket] - len(held))]
        return found

    def count(self, value: float) -> int:
        """How often a value is there, which was found by `at`."""
        key = int(np.float64(value).view(np.uint64) >> np.uint64(48))
        held = self._bucket(int(_PLACES[key]))
        return int(held.searchsorted(value, "right") - held.searchsorted(value))

    def without(self, values: list[float]) -> Selected:
        """Leave some values out."""
        return Selected(self._values[~np.isin(self._values, values)])

    def few(self, most: int) -> _Floats | None:
        """Give the distinct values, or nothing if there are more than `most`."""
        used = np.flatnonzero(np.diff(self._ends, prepend=0))
        if len(used) > most:
            return None
        found = np.concatenate([np.unique(self._bucket(k)) for k in used.tolist()])
        return found if len(found) <= most else None


Ordered = Ranked | Selected
"""Values as if sorted."""


@dataclass(frozen=True)
class Sketch:
    """What is kept of very many values.

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


def rank_values(values: _Floats) -> Ranked:
    """Sort values and count the equal ones; -0.0 is 0.0."""
    found, counts = np.unique(values, return_counts=True)
    return Ranked(found + 0.0, counts.astype(np.int64))


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
    few = rank_values(values[: 2 * LIMIT])
    if len(few.values) <= LIMIT:
        if len(values) <= 2 * LIMIT:
            return few
        ranked = rank_values(values)
        if len(ranked.values) <= LIMIT:
            return ranked
    found = np.sort(values) + 0.0
    return Sketch(_halve((found,)), float(found[0]), float(found[-1]))


def merge_held(a: Held, b: Held) -> Held:
    """Merge what is held of two parts of a column.

    Parameters
    ----------
    a, b : Ranked or Sketch

    Returns
    -------
    Ranked or Sketch
        Counts while at most `LIMIT` values are distinct, whatever the parts.

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
    """Give the values with their counts: of a sketch those that its items stand for."""
    if isinstance(held, Ranked):
        return held
    sizes = [len(items) for items in held.levels]
    values, counts = (
        np.concatenate(held.levels),
        np.repeat(1 << np.arange(len(sizes)), sizes),
    )
    order = np.argsort(values, kind="stable")
    values, counts = values[order], counts[order]
    # The ends stand for themselves, in place of one of those next to them.
    counts[0] -= 1
    counts[-1] -= 1
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
    """Make a sketch of counted values: a count of 5 is an item for 4 and one for 1."""
    if isinstance(held, Sketch):
        return held
    n_levels = int(held.counts.max()).bit_length()
    levels = (held.values[(held.counts >> h) & 1 == 1] for h in range(n_levels))
    return Sketch(_halve(tuple(levels)), float(held.values[0]), float(held.values[-1]))


def _halve(levels: tuple[_Floats, ...]) -> tuple[_Floats, ...]:
    """Halve the levels that are full, from the lowest on."""
    out: list[_Floats] = []
    up = _NONE
    for h in count():
        if h >= len(levels) and not len(up):
            return tuple(out)
        items = levels[h] if h < len(levels) else _NONE
        if len(up):
            items = np.sort(np.concatenate([items, up]), kind="stable")
        up = _NONE
        if len(items) >= WIDTH:
            pairs = items[: len(items) // 2 * 2]
            up, items = pairs[crc32(pairs.tobytes()) & 1 :: 2], items[len(pairs) :]
        out.append(items)
    raise AssertionError("unreachable")
