"""What the search finds for a missing cell: a tally, and what is made of it.

A tally holds, for every rung, how many of the rows found there have each bin of the
cell's feature, and their sum. The highest rung with enough rows on it or above makes
the estimate: the mean of their one-hot blocks. With `pseudo_rows` the rungs above it
have their say too, each in proportion to its rows: to the rows of a rung come so many
that are spread like the estimate below, so that a rung with few rows moves it a little.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._bitmaps import FEW_PLANES, MOST_WEIGHT, Bitmaps, Layout, make_layout
from ._compile import inlined
from ._lanes import ROWS, WORDS, count_rows, load, lowest_bit, store

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
    ends : ndarray of shape (n_distinct, 2), int64
        The rung up to which any shared code will do, and the one that only rows with
        all codes reach; out of reach where the row has an unknown category.
    rung : ndarray of shape (n_cells,), int64
        What the rows behind the estimate share, at least: the sum of the weights of
        the shared codes, which is their number where all weigh one; 0 for the prior.
    support : ndarray of shape (n_cells,), int64
        Rows behind the estimate.
    start : ndarray of shape (n_cells + 1,), int64
        Where each cell's distribution begins in `probabilities`.
    probabilities : ndarray of shape (start[-1],), float64
    """

    row_start: NDArray[np.int64]
    feature: NDArray[np.int64]
    observed: NDArray[np.int64]
    ends: NDArray[np.int64]
    rung: NDArray[np.int64]
    support: NDArray[np.int64]
    start: NDArray[np.int64]
    probabilities: NDArray[np.float64]


class Scratch(NamedTuple):
    """Memory for the row at hand and a run of its missing cells."""

    layout: Layout  # the columns of its codes, by what they weigh
    tally_start: NDArray[np.int64]  # per cell: where its tally begins
    target: NDArray[np.int64]  # per cell: the highest rung known to have its support
    lowest: NDArray[np.int64]  # per cell: the lowest rung tallied so far
    tally: NDArray[np.int64]  # per cell and rung: rows per bin, then their sum
    bounds: NDArray[np.uint64]  # per group: planes of the blocks' bounds
    planes: NDArray[np.uint64]  # planes of the rows' counts in one block
    more: NDArray[np.uint64]  # planes of a second count
    bits: NDArray[np.uint64]  # (2 * WORDS,) blocks to visit, rows found


def make_scratch(maps: Bitmaps, weighted: bool) -> Scratch:
    """Scratch memory for matching rows against these bitmaps, one row at a time."""
    n_features = len(maps.n_bins)
    n_groups = len(maps.summary) // (maps.width * WORDS)
    height = n_features * (MOST_WEIGHT if weighted else 1)
    n_planes = max(FEW_PLANES, height.bit_length())
    widest = (height + 1) * (int(maps.n_bins.max()) + 1)
    whole = (height + 1) * (int(maps.offsets[-1]) + n_features)
    return Scratch(
        layout=make_layout(n_features),
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
def tally_rows(
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
def tally_many(
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
    tally_rows(maps, scratch, found, block, j, start)


@inlined
def open_tallies(
    maps: Bitmaps,
    scratch: Scratch,
    cells: Estimates,
    first: int,
    last: int,
    height: int,
    floor: int,
) -> int:
    """Give cells from `first` on an empty tally, while there is room; where to stop."""
    at = 0
    cell = first
    while cell < last:
        size = (height + 1) * (maps.n_bins[cells.feature[cell]] + 1)
        if cell > first and at + size > scratch.tally.shape[0]:
            break
        m = cell - first
        scratch.tally_start[m] = at
        # A feature without bins has nothing to find.
        scratch.target[m] = floor if maps.n_bins[cells.feature[cell]] else height + 1
        scratch.lowest[m] = height + 1
        at += size
        cell += 1
    return cell


@inlined
def close_tally(
    maps: Bitmaps, scratch: Scratch, cells: Estimates, cell: int, m: int, height: int,
    min_support: int, pseudo_rows: float,
) -> None:  # fmt: skip
    """Write down a cell's distribution, rung and support, and empty its tally."""
    j = cells.feature[cell]
    n_bins = maps.n_bins[j]
    size = n_bins + 1
    found = cells.probabilities[cells.start[cell] : cells.start[cell + 1]]
    total = _START
    for t in range(height, scratch.lowest[m] - 1, -1):
        at = scratch.tally_start[m] + t * size
        if t >= scratch.target[m]:  # each rung holds those above it, from here on
            total += scratch.tally[at + n_bins]
            scratch.tally[at + n_bins] = total
            for k in range(n_bins):
                found[k] += scratch.tally[at + k]
                scratch.tally[at + k] = np.int64(found[k])
    rung = scratch.target[m] if total >= min_support else scratch.lowest[m]
    if total == 0:  # nobody on any rung: the prior
        rung = 0
        for k in range(n_bins):
            found[k] = maps.prior_counts[maps.offsets[j] + k]
            total += maps.prior_counts[maps.offsets[j] + k]
    for k in range(n_bins):
        found[k] /= total
    cells.rung[cell] = rung
    cells.support[cell] = total
    if pseudo_rows and rung:
        _refine(scratch, found, m, rung, height, size, pseudo_rows)
    for t in range(scratch.lowest[m], height + 1):
        at = scratch.tally_start[m] + t * size
        for k in range(size):
            scratch.tally[at + k] = 0


@inlined
def _refine(
    scratch: Scratch, found: Any, m: int, rung: int, height: int, size: int,
    pseudo_rows: float,
) -> None:  # fmt: skip
    """Let each higher rung that somebody stands on move the estimate of those below."""
    for t in range(rung + 1, height + 1):
        at = scratch.tally_start[m] + t * size
        n_rows = scratch.tally[at + size - 1]
        above = _START
        if t < height:
            above = scratch.tally[at + 2 * size - 1]
        if n_rows > above:
            for k in range(size - 1):
                found[k] = (scratch.tally[at + k] + pseudo_rows * found[k]) / (
                    n_rows + pseudo_rows
                )
