"""The search for matching rows: climbing the rungs, or only their two ends.

For a row with missing cells, rung t holds the reference rows that share at least t
of its codes. The search visits blocks of the reference from the highest bound on
their shared codes down, and stops where the bound falls below the rung that
already has its support, so most blocks are never read. What it finds for a missing
cell is a tally: how many of the rows on the rung have each of the feature's bins.

`matching="cascade"` is the same climb with the highest rung alone, then the union,
counted directly or, where it is nearly everybody, by its complement.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._bitmaps import (
    FEW_PLANES,
    Bitmaps,
    at_least,
    count_shared,
    exactly,
    highest,
    shared_by_none,
)
from ._compile import compiled, inlined
from ._lanes import ROWS, WORDS, any_row, count_rows, load, lowest_bit, store

_NONE = np.uint64(0)
_ONE = np.uint64(1)
# A bare 0 has a type of its own for numba: what takes it would be compiled twice.
_START: Any = np.int64(0)
_TALLY_SIZE = 1 << 22  # entries; a row whose cells need more takes them in parts


class Estimates(NamedTuple):
    """What is assumed about the missing cells of distinct rows.

    Attributes
    ----------
    row_start : ndarray of shape (n_distinct + 1,), int64
        The missing cells of distinct row g are those from ``row_start[g]`` up to
        ``row_start[g + 1]``, in the order of their features.
    feature : ndarray of shape (n_cells,), int64
    observed : ndarray of shape (n_distinct,), int64
        Features with bins that the row observes, unknown categories among them.
    rung : ndarray of shape (n_cells,), int64
        Codes shared, at least, by the rows behind the estimate; 0 for the prior.
    support : ndarray of shape (n_cells,), int64
        Rows behind the estimate.
    start : ndarray of shape (n_cells + 1,), int64
        Where each cell's distribution begins in `probabilities`.
    probabilities : ndarray of shape (start[-1],), float64
    """

    row_start: NDArray[np.int64]
    feature: NDArray[np.int64]
    observed: NDArray[np.int64]
    rung: NDArray[np.int64]
    support: NDArray[np.int64]
    start: NDArray[np.int64]
    probabilities: NDArray[np.float64]


class Scratch(NamedTuple):
    """Memory for the row at hand and a run of its missing cells."""

    columns: NDArray[np.int64]  # where the columns of its codes lie within a block
    tally_start: NDArray[np.int64]  # per cell: where its tally begins
    target: NDArray[np.int64]  # per cell: the highest rung known to have its support
    lowest: NDArray[np.int64]  # per cell: the lowest rung tallied so far
    tally: NDArray[np.int64]  # per cell and rung: rows per bin, then their sum
    bounds: NDArray[np.uint64]  # per group: planes of the blocks' bounds
    planes: NDArray[np.uint64]  # planes of the rows' counts in one block
    more: NDArray[np.uint64]  # planes of a second count
    bits: NDArray[np.uint64]  # (2 * WORDS,) blocks to visit, rows found


def make_scratch(maps: Bitmaps) -> Scratch:
    """Scratch memory for matching rows against these bitmaps, one row at a time."""
    n_features = len(maps.n_bins)
    n_groups = len(maps.summary) // (maps.width * WORDS)
    n_planes = max(FEW_PLANES, n_features.bit_length())
    widest = (n_features + 1) * (int(maps.n_bins.max()) + 1)
    whole = (n_features + 1) * (int(maps.offsets[-1]) + n_features)
    return Scratch(
        columns=np.empty(n_features + 4, np.int64),
        tally_start=np.empty(n_features, np.int64),
        target=np.empty(n_features, np.int64),
        lowest=np.empty(n_features, np.int64),
        tally=np.zeros(min(whole, max(widest, _TALLY_SIZE)), np.int64),
        bounds=np.empty(n_groups * n_planes * WORDS, np.uint64),
        planes=np.empty(n_planes * WORDS, np.uint64),
        more=np.empty(n_planes * WORDS, np.uint64),
        bits=np.empty(2 * WORDS, np.uint64),
    )


@inlined
def _tally_rows(
    maps: Bitmaps, scratch: Scratch, found: Any, block: int, j: int, start: int
) -> None:
    """Add the found rows of a block, by their bin in feature j, to a tally."""
    store(scratch.bits, WORDS, found)
    total = start + maps.n_bins[j]
    for w in range(WORDS):
        bits = scratch.bits[WORDS + w]
        while bits != _NONE:
            r = block * ROWS + w * 64 + lowest_bit(bits)
            bits &= bits - _ONE
            scratch.tally[start + np.int64(maps.rows[r, j])] += maps.counts[r]
            scratch.tally[total] += maps.counts[r]


@inlined
def _tally_many(
    maps: Bitmaps, scratch: Scratch, found: Any, block: int, j: int, start: int
) -> None:
    """Do the same, but count those that stand in the table once bin by bin.

    That pays where a good part of the block is found.
    """
    n_bins = maps.n_bins[j]
    columns = block * maps.width
    once = found & load(maps.words, (columns + maps.width - 2) * WORDS)
    n_once = count_rows(once)
    if n_once > 2 * n_bins:
        for k in range(n_bins):
            in_bin = load(maps.words, (columns + maps.offsets[j] + k) * WORDS)
            scratch.tally[start + k] += count_rows(once & in_bin)
        scratch.tally[start + n_bins] += n_once
        found = found & ~once
    _tally_rows(maps, scratch, found, block, j, start)


@inlined
def _raise_target(
    maps: Bitmaps, scratch: Scratch, reach: Any, block: int, j: int, m: int,
    rungs: int, min_support: int, n_planes: int,
) -> None:  # fmt: skip
    """Tally a block's rows that reach a cell's target, until it can be raised.

    Those that share most come first, so rows below the support that this very block
    gives are not looked at.
    """
    size = maps.n_bins[j] + 1
    total = scratch.tally_start[m] + size - 1  # where the sum of rung 0 is
    held = _START
    t = rungs + 1
    while t > scratch.target[m]:
        above = t
        t = scratch.target[m]
        if any_row(reach):
            t = highest(scratch.planes, n_planes, reach)
            found = exactly(scratch.planes, _START, n_planes, t) & reach
            reach = reach & ~found
            start = scratch.tally_start[m] + t * size
            _tally_rows(maps, scratch, found, block, j, start)
            scratch.lowest[m] = min(scratch.lowest[m], t)
        for u in range(above - 1, t - 1, -1):
            held += scratch.tally[total + u * size]
            if held >= min_support:
                scratch.target[m] = u
                return


@inlined
def _visit_block(
    maps: Bitmaps, scratch: Scratch, features: NDArray[np.int64], block: int,
    top: int, rungs: int, min_support: int, n_columns: int, n_planes: int,
) -> None:  # fmt: skip
    """Look in a block, where no row shares more than `top` codes, for each cell."""
    start = block * maps.width
    observes = start + maps.offsets[maps.n_bins.shape[0]]
    counted = False
    for m in range(features.shape[0]):
        if scratch.target[m] > top:
            continue
        observers = load(maps.words, (observes + features[m]) * WORDS)
        if not any_row(observers):
            continue
        if not counted:
            count_shared(
                maps.words, start * WORDS, scratch.columns, n_columns,
                scratch.planes, _START, n_planes, scratch.more,
            )  # fmt: skip
            counted = True
        reach = at_least(scratch.planes, n_planes, scratch.target[m]) & observers
        if any_row(reach):
            _raise_target(
                maps, scratch, reach, block, features[m], m,
                rungs, min_support, n_planes,
            )  # fmt: skip


@inlined
def _all_at_most(values: NDArray[np.int64], n: int, limit: int) -> bool:
    for m in range(n):
        if values[m] > limit:
            return False
    return True


@inlined
def _any_at_most(values: NDArray[np.int64], n: int, limit: int) -> bool:
    for m in range(n):
        if values[m] <= limit:
            return True
    return False


@inlined
def _climb(
    maps: Bitmaps, scratch: Scratch, features: NDArray[np.int64],
    rungs: int, min_support: int, n_columns: int, n_planes: int,
) -> None:  # fmt: skip
    """Visit blocks from the highest bound down until every cell has its support."""
    size = n_planes * WORDS
    n_groups = scratch.bounds.shape[0] // size
    for g in range(n_groups):
        count_shared(
            maps.summary, g * maps.width * WORDS, scratch.columns, n_columns,
            scratch.bounds, g * size, n_planes, scratch.more,
        )  # fmt: skip
    top = rungs
    while _any_at_most(scratch.target, features.shape[0], top):
        for g in range(n_groups):
            store(scratch.bits, 0, exactly(scratch.bounds, g * size, n_planes, top))
            for w in range(WORDS):
                bits = scratch.bits[w]
                while bits != _NONE:
                    block = g * ROWS + w * 64 + lowest_bit(bits)
                    bits &= bits - _ONE
                    _visit_block(
                        maps, scratch, features, block,
                        top, rungs, min_support, n_columns, n_planes,
                    )  # fmt: skip
        top -= 1


@inlined
def _tally_union(
    maps: Bitmaps,
    scratch: Scratch,
    features: NDArray[np.int64],
    rungs: int,
    n_columns: int,
) -> None:
    """For cells with nobody so far, tally on rung 1 the rows that share any code.

    Where these are most of the rows, the others are tallied and taken from all.
    """
    if _all_at_most(scratch.lowest, features.shape[0], rungs):
        return
    n_features = maps.n_bins.shape[0]
    total = maps.offsets[n_features]
    at_most = _START
    for f in range(rungs):
        at_most += maps.bin_counts[scratch.columns[f] // WORDS]
    by_complement = 2 * at_most > maps.n_samples
    for block in range(maps.words.shape[0] // (maps.width * WORDS)):
        start = block * maps.width
        exist = load(maps.words, (start + total + n_features) * WORDS)
        some = shared_by_none(
            maps.words, start * WORDS, scratch.columns, n_columns, exist
        )
        if not by_complement:
            some = exist & ~some
        if not any_row(some):
            continue
        for m in range(features.shape[0]):
            j = features[m]
            found = some & load(maps.words, (start + total + j) * WORDS)
            if scratch.lowest[m] > rungs and any_row(found):
                at = scratch.tally_start[m] + maps.n_bins[j] + 1
                _tally_many(maps, scratch, found, block, j, at)
    for m in range(features.shape[0]):
        if scratch.lowest[m] > rungs:
            _accept_union(maps, scratch, features[m], m, by_complement)


@inlined
def _accept_union(
    maps: Bitmaps, scratch: Scratch, j: int, m: int, by_complement: bool
) -> None:
    """Make the rows tallied on rung 1, or all the others, a cell's answer."""
    n_bins = maps.n_bins[j]
    at = scratch.tally_start[m] + n_bins + 1
    if by_complement:
        scratch.tally[at + n_bins] = 0
        for k in range(n_bins):
            scratch.tally[at + k] = (
                maps.bin_counts[maps.offsets[j] + k] - scratch.tally[at + k]
            )
            scratch.tally[at + n_bins] += scratch.tally[at + k]
    if scratch.tally[at + n_bins] > 0:
        scratch.lowest[m] = 1
        scratch.target[m] = 1


@inlined
def _open_tallies(
    maps: Bitmaps,
    scratch: Scratch,
    cells: Estimates,
    first: int,
    last: int,
    rungs: int,
    floor: int,
) -> int:
    """Give cells from `first` on an empty tally, while there is room; where to stop."""
    at = 0
    cell = first
    while cell < last:
        size = (rungs + 1) * (maps.n_bins[cells.feature[cell]] + 1)
        if cell > first and at + size > scratch.tally.shape[0]:
            break
        m = cell - first
        scratch.tally_start[m] = at
        # A feature without bins has nothing to find.
        scratch.target[m] = floor if maps.n_bins[cells.feature[cell]] else rungs + 1
        scratch.lowest[m] = rungs + 1
        at += size
        cell += 1
    return cell


@inlined
def _close_tally(
    maps: Bitmaps, scratch: Scratch, cells: Estimates, cell: int, m: int, rungs: int,
    min_support: int,
) -> None:  # fmt: skip
    """Write down a cell's distribution, rung and support, and empty its tally."""
    j = cells.feature[cell]
    n_bins = maps.n_bins[j]
    found = cells.probabilities[cells.start[cell] : cells.start[cell + 1]]
    total = _START
    for t in range(rungs, scratch.lowest[m] - 1, -1):
        at = scratch.tally_start[m] + t * (n_bins + 1)
        if t >= scratch.target[m]:
            total += scratch.tally[at + n_bins]
            for k in range(n_bins):
                found[k] += scratch.tally[at + k]
        for k in range(n_bins + 1):
            scratch.tally[at + k] = 0
    rung = scratch.target[m] if total >= min_support else scratch.lowest[m]
    if total == 0:  # nobody on any rung: the prior
        rung = 0
        for k in range(n_bins):
            found[k] = maps.bin_counts[maps.offsets[j] + k]
            total += maps.bin_counts[maps.offsets[j] + k]
    for k in range(n_bins):
        found[k] /= total
    cells.rung[cell] = rung
    cells.support[cell] = total


@compiled
def match_rows(
    maps: Bitmaps, codes: NDArray[Any], first: int, last: int, cells: Estimates,
    min_support: int, ends_only: bool, scratch: Scratch,
) -> None:  # fmt: skip
    """Fill in the missing cells of the rows from `first` up to `last`.

    `ends_only` leaves of the ladder its two ends, all codes shared or any.
    """
    n_features = codes.shape[1]
    n_planes = scratch.planes.shape[0] // WORDS
    for i in range(first, last):
        rungs = _START
        for j in range(n_features):
            if codes[i, j] < maps.n_bins[j]:
                scratch.columns[rungs] = (
                    maps.offsets[j] + np.int64(codes[i, j])
                ) * WORDS
                rungs += 1
        n_columns = rungs
        while n_columns % 4:
            scratch.columns[n_columns] = (maps.width - 1) * WORDS
            n_columns += 1
        floor = 1
        if ends_only:  # an unknown category is a code that nobody shares
            floor = rungs if rungs == cells.observed[i] else rungs + 1
        cell = cells.row_start[i]
        while cell < cells.row_start[i + 1]:
            stop = _open_tallies(
                maps, scratch, cells, cell, cells.row_start[i + 1], rungs, floor
            )
            features = cells.feature[cell:stop]
            if rungs:
                _climb(maps, scratch, features, rungs, min_support, n_columns, n_planes)
            if rungs and ends_only:
                _tally_union(maps, scratch, features, rungs, n_columns)
            for m in range(stop - cell):
                _close_tally(maps, scratch, cells, cell + m, m, rungs, min_support)
            cell = stop
