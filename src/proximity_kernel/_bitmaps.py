"""The bitmaps of the reference: how they lie in memory, and how they are counted.

Bit r of column c says that reference row r has code c (a column per feature and
bin). Beside them stand a column per feature, "observes it", one for the rows that
exist and one for those that stand in the table once; the last is empty. 512 rows
make a block and a block keeps its columns together, so a question about a block
reads a few neighbouring cache lines.

Rows are in lexicographic order, so those of a block are alike, and a summary (the
same layout with one bit per *block*: does any of its rows have this code?) bounds
how many codes a row of a block can share.

How many codes each of the 512 rows shares is counted for all at once: plane p
holds bit p of the 512 counts. Codes can weigh more than one: then those whose weight
has bit b are counted apart, and added b planes higher.

Naked arrays in and out; everything is checked before it comes here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._compile import compiled, inlined
from ._lanes import ROWS, WORDS, any_row, every_row, load, no_rows, store

_ONE = np.uint64(1)
# A bare 0 has a type of its own for numba: what takes it would be compiled twice.
_START: Any = np.int64(0)
FEW_PLANES = 6  # what `_count_few` counts with, in registers: up to 63
_FEW = 60  # the columns it is given at a time: 63 rounded down to whole fours
WEIGHT_BITS = 4
MOST_WEIGHT = (1 << WEIGHT_BITS) - 1


class Bitmaps(NamedTuple):
    """A reference as the loops read it; `_reference.build_reference` makes it."""

    words: NDArray[np.uint64]  # (n_blocks * width * WORDS,) one bit per row
    summary: NDArray[np.uint64]  # (n_groups * width * WORDS,) one bit per block
    rows: NDArray[Any]  # (n_distinct, n_features) distinct codes, lexicographic order
    counts: NDArray[np.int64]  # (n_distinct,) how often each row stands in the table
    bin_counts: NDArray[np.int64]  # (total bins,) how often each bin does
    prior_counts: NDArray[np.int64]  # of all fitted rows, not of a sample
    n_bins: NDArray[np.int64]  # (n_features,)
    offsets: NDArray[np.int64]  # (n_features + 1,) first column of each feature
    n_samples: int  # the sum of the counts
    width: int  # columns of a block


class Layout(NamedTuple):
    """The columns of a row's codes, in runs that are counted together.

    A run has at most `_FEW` columns, a multiple of four: the empty column fills it up.
    """

    code_columns: NDArray[np.int64]  # where the column of each code lies in a block
    weights: NDArray[np.int64]  # what each code weighs
    columns: NDArray[np.int64]  # the same columns, run after run
    stops: NDArray[np.int64]  # where each run ends
    shifts: NDArray[np.int64]  # how many planes higher each run is added


def make_layout(n_features: int) -> Layout:
    """Room for the codes of one row."""
    n_runs = WEIGHT_BITS * (n_features // _FEW + 1)
    return Layout(
        code_columns=np.empty(n_features + 4, np.int64),
        weights=np.empty(n_features, np.int64),
        columns=np.empty(WEIGHT_BITS * (n_features + 4), np.int64),
        stops=np.empty(n_runs, np.int64),
        shifts=np.empty(n_runs, np.int64),
    )


def bitmap_width(total_bins: int, n_features: int) -> int:
    """Columns of a block: bins, observed, rows that exist, rows seen once, nothing."""
    return total_bins + n_features + 3


def empty_bitmaps(n_bits: int, width: int) -> NDArray[np.uint64]:
    """Zeroed words for `n_bits` bits in each of `width` columns.

    They begin on a cache line: a vector that lies across two is twice as slow.
    """
    size = count_blocks(n_bits) * width * WORDS
    raw = np.zeros(size + WORDS, np.uint64)
    start = -(raw.ctypes.data // raw.itemsize) % WORDS
    return raw[start : start + size]


def count_blocks(n_bits: int) -> int:
    """Blocks that hold `n_bits` bits."""
    return -(-n_bits // ROWS)


@compiled
def set_bits(
    rows: NDArray[Any], counts: Any, n_bins: Any, offsets: Any, width: int, words: Any
) -> None:
    """Enter the codes of `rows` into zeroed `words`."""
    n_features = rows.shape[1]
    total = offsets[n_features]
    for r in range(rows.shape[0]):
        start = (r // ROWS) * width * WORDS + (r % ROWS) // 64
        bit = _ONE << np.uint64(r % 64)
        words[start + (total + n_features) * WORDS] |= bit
        if counts[r] == 1:
            words[start + (total + n_features + 1) * WORDS] |= bit
        for j in range(n_features):
            code = np.int64(rows[r, j])
            if code < n_bins[j]:
                words[start + (offsets[j] + code) * WORDS] |= bit
                words[start + (total + j) * WORDS] |= bit


@compiled
def summarize(words: Any, n_blocks: int, width: int, summary: Any) -> None:
    """Enter into zeroed `summary`, for each block, which columns are not empty."""
    for b in range(n_blocks):
        start = (b // ROWS) * width * WORDS + (b % ROWS) // 64
        bit = _ONE << np.uint64(b % 64)
        for c in range(width):
            if any_row(load(words, (b * width + c) * WORDS)):
                summary[start + c * WORDS] |= bit


@inlined
def _count_few(
    words: Any, start: int, columns: Any, first: int, last: int, planes: Any, at: int
) -> None:
    """Count, for each of 512 rows, its bits among at most 60 columns.

    Four columns a step: two full adders take them into the ones, one takes their
    carries into the twos, and a single carry ripples on.
    """
    ones = no_rows()
    twos = no_rows()
    fours = no_rows()
    eights = no_rows()
    sixteens = no_rows()
    rest = no_rows()
    for f in range(first, last, 4):
        a = load(words, start + columns[f])
        b = load(words, start + columns[f + 1])
        either = ones ^ a
        carry = (ones & a) | (either & b)
        ones = either ^ b
        a = load(words, start + columns[f + 2])
        b = load(words, start + columns[f + 3])
        either = ones ^ a
        carry_too = (ones & a) | (either & b)
        ones = either ^ b
        either = twos ^ carry
        up = (twos & carry) | (either & carry_too)
        twos = either ^ carry_too
        carry = fours & up
        fours = fours ^ up
        up = eights & carry
        eights = eights ^ carry
        carry = sixteens & up
        sixteens = sixteens ^ up
        rest = rest ^ carry
    store(planes, at, ones)
    store(planes, at + WORDS, twos)
    store(planes, at + 2 * WORDS, fours)
    store(planes, at + 3 * WORDS, eights)
    store(planes, at + 4 * WORDS, sixteens)
    store(planes, at + 5 * WORDS, rest)


@inlined
def lay_out(layout: Layout, n_codes: int, n_bits: int, empty: int) -> Any:
    """Sort a row's code columns into runs, by the bits of their weights.

    `empty` is a column without rows. Gives the number of runs.
    """
    n_runs = _START
    at = _START
    for bit in range(n_bits):
        first = at
        for c in range(n_codes):
            if (layout.weights[c] >> bit) & 1:
                if at - first == _FEW:
                    layout.stops[n_runs] = at
                    layout.shifts[n_runs] = bit
                    n_runs += 1
                    first = at
                layout.columns[at] = layout.code_columns[c]
                at += 1
        while (at - first) % 4:
            layout.columns[at] = empty
            at += 1
        if at > first or bit == 0:
            layout.stops[n_runs] = at
            layout.shifts[n_runs] = bit
            n_runs += 1
    return n_runs


@inlined
def count_shared(
    words: Any, start: int, layout: Layout, n_runs: int, planes: Any, at: int,
    n_planes: int, more: Any,
) -> None:  # fmt: skip
    """Add up, for each of 512 rows, the weights of the codes it shares.

    The first run weighs one. `more` is scratch memory for the count of another run,
    to be added to the first.
    """
    _count_few(words, start, layout.columns, _START, layout.stops[0], planes, at)
    for p in range(FEW_PLANES, n_planes):
        store(planes, at + p * WORDS, no_rows())
    for run in range(1, n_runs):
        first, last = layout.stops[run - 1], layout.stops[run]
        shift = layout.shifts[run]
        _count_few(words, start, layout.columns, first, last, more, _START)
        carry = no_rows()
        for p in range(shift, n_planes):
            a = load(planes, at + p * WORDS)
            b = no_rows()
            if p < FEW_PLANES + shift:
                b = load(more, (p - shift) * WORDS)
            either = a ^ b
            store(planes, at + p * WORDS, either ^ carry)
            carry = (a & b) | (either & carry)


@inlined
def at_least(planes: Any, n_planes: int, t: int) -> Any:
    """Rows whose count is `t` or more."""
    more = no_rows()
    equal = every_row()
    for p in range(n_planes - 1, -1, -1):
        plane = load(planes, p * WORDS)
        if (t >> p) & 1:
            equal = equal & plane
        else:
            more = more | (equal & plane)
            equal = equal & ~plane
    return more | equal


@inlined
def highest(planes: Any, n_planes: int, rows: Any) -> Any:
    """Find the largest count among `rows`, of which there is at least one."""
    t = _START
    for p in range(n_planes - 1, -1, -1):
        with_bit = rows & load(planes, p * WORDS)
        if any_row(with_bit):
            rows = with_bit
            t |= 1 << p
    return t


@inlined
def exactly(planes: Any, at: int, n_planes: int, t: int) -> Any:
    """Rows whose count is `t`."""
    equal = every_row()
    for p in range(n_planes):
        plane = load(planes, at + p * WORDS)
        if (t >> p) & 1:
            equal = equal & plane
        else:
            equal = equal & ~plane
    return equal


@inlined
def shared_by_none(
    words: Any, start: int, columns: Any, n_columns: int, rows: Any
) -> Any:
    """Those of `rows` that have no bit in any of the columns."""
    left = rows
    for f in range(0, n_columns, 4):
        a = load(words, start + columns[f]) | load(words, start + columns[f + 1])
        b = load(words, start + columns[f + 2]) | load(words, start + columns[f + 3])
        left = left & ~(a | b)
        if not any_row(left):
            break
    return left
