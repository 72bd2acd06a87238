"""The bitmaps of the fitted rows: their layout in memory, and how they are read.

Bit r of column c is set if distinct row r has code c; there is one column per feature
and bin. Further columns mark, per feature, the rows that observe it, then the rows that
exist and the rows that occur once in the table; the last column is empty. 512 rows
make a block. The columns of a block are adjacent, so a query on a block reads only a
few cache lines.

Rows are in lexicographic order, so those of a block are similar. The summary has the
same layout with one bit per *block*, set if any of its rows has the code. It rules out
the blocks that cannot contain a row with given codes.

The loops take and fill plain arrays; callers check them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bit_vectors import ROWS, WORDS, any_row, load
from .compiling import compiled, inlined

_ONE = np.uint64(1)


class Bitmaps(NamedTuple):
    """Distinct rows as the loops read them; `build_cascade` makes it."""

    words: NDArray[np.uint64]  # (n_blocks * width * WORDS,) one bit per row
    summary: NDArray[np.uint64]  # (n_groups * width * WORDS,) one bit per block
    rows: NDArray[Any]  # (n_distinct, n_features) distinct codes, lexicographic order
    counts: NDArray[np.int64]  # (n_distinct,) how often each row occurs in the table
    bin_counts: NDArray[np.int64]  # (total bins,) how often each bin occurs
    n_bins: NDArray[np.int64]  # (n_features,)
    offsets: NDArray[np.int64]  # (n_features + 1,) first column of each feature
    n_samples: int  # the sum of the counts
    width: int  # columns of a block


def bitmap_width(total_bins: int, n_features: int) -> int:
    """Columns of a block: bins, observed, rows that exist, rows seen once, nothing."""
    return total_bins + n_features + 3


def empty_bitmaps(n_bits: int, width: int) -> NDArray[np.uint64]:
    """Zeroed words for `n_bits` bits in each of `width` columns.

    They begin on a cache line, because reading a vector across two is twice as slow.
    """
    size = count_blocks(n_bits) * width * WORDS
    raw = np.zeros(size + WORDS, np.uint64)
    start = -(raw.ctypes.data // raw.itemsize) % WORDS
    return raw[start : start + size]


def count_blocks(n_bits: int) -> int:
    """Count the blocks needed for `n_bits` bits."""
    return -(-n_bits // ROWS)


@compiled
def set_bits(
    rows: NDArray[Any], counts: Any, n_bins: Any, offsets: Any, width: int, words: Any
) -> None:
    """Set the bits of the codes of `rows` in zeroed `words`."""
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
    """Set in zeroed `summary`, for each block, the bits of its non-empty columns."""
    for b in range(n_blocks):
        start = (b // ROWS) * width * WORDS + (b % ROWS) // 64
        bit = _ONE << np.uint64(b % 64)
        for c in range(width):
            if any_row(load(words, (b * width + c) * WORDS)):
                summary[start + c * WORDS] |= bit


@inlined
def shared_by_all(words: Any, start: int, columns: Any, n_columns: int) -> Any:
    """Find the rows with a bit in each of the columns (at least one column)."""
    left = load(words, start + columns[0])
    for f in range(1, n_columns):
        left = left & load(words, start + columns[f])
        if not any_row(left):
            break
    return left


@inlined
def shared_by_none(
    words: Any, start: int, columns: Any, n_columns: int, rows: Any
) -> Any:
    """Find those of `rows` that have no bit in any of the columns."""
    left = rows
    for f in range(0, n_columns, 4):
        a = load(words, start + columns[f]) | load(words, start + columns[f + 1])
        b = load(words, start + columns[f + 2]) | load(words, start + columns[f + 3])
        left = left & ~(a | b)
        if not any_row(left):
            break
    return left
