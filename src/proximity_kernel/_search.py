"""The search for matching rows: one ladder, climbed whole or only at its two ends.

For a row with missing cells, rung t holds the reference rows that share codes of it
that weigh at least t together. The search visits blocks of the reference from the
highest bound on what their rows share down, and stops where the bound falls below the
rung that already has its support, so most blocks are never read. What it finds for a
missing cell is a tally: how many of the rows on each rung have each of the feature's
bins.

`matching="graded"` is the ladder on which every code weighs one. `matching="cascade"`
is the same climb with the highest rung alone, then the union, counted directly or,
where it is nearly everybody, by its complement.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._bitmaps import (
    FEW_PLANES,
    WEIGHT_BITS,
    Bitmaps,
    at_least,
    count_shared,
    exactly,
    highest,
    lay_out,
    shared_by_none,
)
from ._compile import compiled, inlined
from ._lanes import ROWS, WORDS, any_row, load, lowest_bit, store
from ._tallies import (
    Estimates,
    Scratch,
    close_tally,
    open_tallies,
    tally_many,
    tally_rows,
)

_NONE = np.uint64(0)
_ONE = np.uint64(1)
# A bare 0 has a type of its own for numba: what takes it would be compiled twice.
_START: Any = np.int64(0)


@inlined
def _raise_target(
    maps: Bitmaps, scratch: Scratch, reach: Any, block: int, j: int, m: int,
    height: int, min_support: int, n_planes: int,
) -> None:  # fmt: skip
    """Tally a block's rows that reach a cell's target, until it can be raised.

    Those that share most come first, so rows below the support that this very block
    gives are not looked at.
    """
    size = maps.n_bins[j] + 1
    total = scratch.tally_start[m] + size - 1  # where the sum of rung 0 is
    held = _START
    t = height + 1
    while t > scratch.target[m]:
        above = t
        t = scratch.target[m]
        if any_row(reach):
            t = highest(scratch.planes, n_planes, reach)
            found = exactly(scratch.planes, _START, n_planes, t) & reach
            reach = reach & ~found
            start = scratch.tally_start[m] + t * size
            tally_rows(maps, scratch, found, block, j, start)
            scratch.lowest[m] = min(scratch.lowest[m], t)
        for u in range(above - 1, t - 1, -1):
            held += scratch.tally[total + u * size]
            if held >= min_support:
                scratch.target[m] = u
                return


@inlined
def _visit_block(
    maps: Bitmaps, scratch: Scratch, features: NDArray[np.int64], block: int,
    top: int, height: int, min_support: int, n_runs: int, n_planes: int,
) -> None:  # fmt: skip
    """Look in a block, where no row shares more than `top`, for each cell."""
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
                maps.words, start * WORDS, scratch.layout, n_runs,
                scratch.planes, _START, n_planes, scratch.more,
            )  # fmt: skip
            counted = True
        reach = at_least(scratch.planes, n_planes, scratch.target[m]) & observers
        if any_row(reach):
            _raise_target(
                maps, scratch, reach, block, features[m], m,
                height, min_support, n_planes,
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
    height: int, min_support: int, n_runs: int, n_planes: int,
) -> None:  # fmt: skip
    """Visit blocks from the highest bound down until every cell has its support."""
    size = n_planes * WORDS
    n_groups = maps.summary.shape[0] // (maps.width * WORDS)
    for g in range(n_groups):
        count_shared(
            maps.summary, g * maps.width * WORDS, scratch.layout, n_runs,
            scratch.bounds, g * size, n_planes, scratch.more,
        )  # fmt: skip
    top = height
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
                        top, height, min_support, n_runs, n_planes,
                    )  # fmt: skip
        top -= 1


@inlined
def _tally_union(
    maps: Bitmaps,
    scratch: Scratch,
    features: NDArray[np.int64],
    n_codes: int,
    n_padded: int,
) -> None:
    """For cells with nobody so far, tally on rung 1 the rows that share any code.

    Every code weighs one. Where these rows are most of all, the others are tallied and
    taken from all.
    """
    if _all_at_most(scratch.lowest, features.shape[0], n_codes):
        return
    n_features = maps.n_bins.shape[0]
    total = maps.offsets[n_features]
    at_most = _START
    for f in range(n_codes):
        at_most += maps.bin_counts[scratch.layout.code_columns[f] // WORDS]
    by_complement = 2 * at_most > maps.n_samples
    for block in range(maps.words.shape[0] // (maps.width * WORDS)):
        start = block * maps.width
        exist = load(maps.words, (start + total + n_features) * WORDS)
        some = shared_by_none(
            maps.words, start * WORDS, scratch.layout.code_columns, n_padded, exist
        )
        if not by_complement:
            some = exist & ~some
        if not any_row(some):
            continue
        for m in range(features.shape[0]):
            j = features[m]
            found = some & load(maps.words, (start + total + j) * WORDS)
            if scratch.lowest[m] > n_codes and any_row(found):
                at = scratch.tally_start[m] + maps.n_bins[j] + 1
                tally_many(maps, scratch, found, block, j, at)
    for m in range(features.shape[0]):
        if scratch.lowest[m] > n_codes:
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
def _weigh(
    weights: NDArray[np.uint8], cells: NDArray[np.int64], n_bins: Any, column: int
) -> Any:
    """Average what a code tells about the features of cells, rounded half up."""
    total = _START
    n_cells = _START
    for c in range(cells.shape[0]):
        if n_bins[cells[c]]:
            total += weights[cells[c], column]
            n_cells += 1
    return (2 * total + n_cells) // (2 * n_cells) if n_cells else np.int64(1)


@inlined
def _enter_row(
    maps: Bitmaps, scratch: Scratch, codes: NDArray[Any], i: int, cells: Estimates,
    weights: NDArray[np.uint8],
) -> Any:  # fmt: skip
    """Find the columns of a row's codes and what they weigh; how many there are.

    Without a table of weights, each weighs one.
    """
    layout = scratch.layout
    missing = cells.feature[cells.row_start[i] : cells.row_start[i + 1]]
    n_codes = _START
    height = _START
    least = np.int64(1 << WEIGHT_BITS)
    for j in range(codes.shape[1]):
        if codes[i, j] < maps.n_bins[j]:
            column = maps.offsets[j] + np.int64(codes[i, j])
            weight = np.int64(1)
            if weights.shape[0]:
                weight = _weigh(weights, missing, maps.n_bins, column)
            layout.code_columns[n_codes] = column * WORDS
            layout.weights[n_codes] = weight
            height += weight
            least = min(least, weight)
            n_codes += 1
    # An unknown category is a code that nobody shares.
    cells.ends[i, 0] = least
    cells.ends[i, 1] = height + (n_codes < cells.observed[i])
    return n_codes


@inlined
def _pad(columns: NDArray[np.int64], n_codes: int, empty: int) -> Any:
    """Fill up with the empty column to a multiple of four, which is the new length."""
    while n_codes % 4:
        columns[n_codes] = empty
        n_codes += 1
    return n_codes


@compiled
def match_rows(
    maps: Bitmaps, codes: NDArray[Any], first: int, last: int, cells: Estimates,
    min_support: int, ends_only: bool, weights: NDArray[np.uint8],
    pseudo_rows: float, scratch: Scratch,
) -> None:  # fmt: skip
    """Fill in the missing cells of the rows from `first` up to `last`.

    `ends_only` leaves of the ladder its two ends, all codes shared or any. `weights`
    has what each code tells about each feature, or no rows: then all weigh one.
    `pseudo_rows` is how many rows the estimate of a rung counts for on the next; 0 if
    the rungs above the one taken have no say.
    """
    empty = (maps.width - 1) * WORDS
    n_bits = WEIGHT_BITS if weights.shape[0] else 1
    for i in range(first, last):
        if cells.row_start[i] == cells.row_start[i + 1]:
            continue
        n_codes = _enter_row(maps, scratch, codes, i, cells, weights)
        n_runs = lay_out(scratch.layout, n_codes, n_bits, empty)
        n_padded = _pad(scratch.layout.code_columns, n_codes, empty)
        height = cells.ends[i, 1] - (n_codes < cells.observed[i])
        n_planes = FEW_PLANES
        while height >> n_planes:
            n_planes += 1
        floor = cells.ends[i, 1] if ends_only else 1
        cell = cells.row_start[i]
        while cell < cells.row_start[i + 1]:
            stop = open_tallies(
                maps, scratch, cells, cell, cells.row_start[i + 1], height, floor
            )
            features = cells.feature[cell:stop]
            if n_codes:
                _climb(maps, scratch, features, height, min_support, n_runs, n_planes)
            if n_codes and ends_only:
                _tally_union(maps, scratch, features, n_codes, n_padded)
            for m in range(stop - cell):
                close_tally(
                    maps, scratch, cells, cell + m, m, height, min_support, pseudo_rows
                )
            cell = stop
