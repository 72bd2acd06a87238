"""The paper's rule: estimates from the fitted rows that match a row.

First, the intersection: the rows that share every observed code of the row. If none of
these rows observes the missing feature, the union: the rows that share at least one
code. If none of these observes the feature either, the prior: all rows. The estimate is
the frequency of each bin in the rows that observe the feature.

Each distinct row is kept once, with its count, in bitmaps that answer "which rows have
this code?".

Bit r of column c is set if distinct row r has code c; there is one column per feature
and bin. Further columns mark, per feature, the rows that observe it, then the rows that
exist and the rows that occur once in the table; the last column is empty. 512 rows
make a block. The columns of a block are adjacent, so a query on a block reads only a
few cache lines. Rows are in lexicographic order, so the rows of a block are similar.
The summary has the same layout with one bit per *block*, set if any row of the block
has the code. It rules out the blocks that cannot contain a row with given codes.

Most blocks are never read for the intersection. The union is counted directly or, if
it contains nearly all rows, by its complement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._coded import CodedTable, Estimates, Part, allocate_estimates, count_bins
from ._compile import compiled, inlined
from ._shared.resources import run_pieces
from ._vectors import BLOCK_ROWS, WORDS, any_bit, count_bits, load, lowest_bit, store

_ONE = np.uint64(1)
LEVELS = ("prior", "union", "intersection")
"""Names of the levels, by their number."""
_PIECE = 1024  # maximum number of distinct rows that a thread estimates at a time
_PIECE_WORK = 200_000_000  # features x features x blocks, some tenths of a second
PRIOR, UNION, INTERSECTION = 0, 1, 2
"""Levels of the cascade."""
_NONE = np.uint64(0)
# Numba gives a literal 0 its own type: functions that take it would be compiled twice.
_START: Any = np.int64(0)


class Bitmaps(NamedTuple):
    """Bitmaps of the distinct rows, for the compiled loops; see `build_cascade`."""

    words: NDArray[np.uint64]  # (n_blocks * width * WORDS,) one bit per row
    summary: NDArray[np.uint64]  # (n_groups * width * WORDS,) one bit per block
    rows: NDArray[Any]  # (n_distinct, n_features) distinct codes, lexicographic order
    counts: NDArray[np.int64]  # (n_distinct,) how often each row occurs in the table
    bin_counts: NDArray[np.int64]  # (total bins,) how often each bin occurs
    n_bins: NDArray[np.int64]  # (n_features,)
    offsets: NDArray[np.int64]  # (n_features + 1,) first column of each feature
    n_samples: int  # the sum of the counts
    width: int  # columns of a block


def empty_bitmaps(n_bits: int, width: int) -> NDArray[np.uint64]:
    """Allocate zeroed words for `n_bits` bits in each of `width` columns.

    The words begin on a cache line, because reading a vector that crosses into the next
    line is twice as slow.
    """
    size = count_blocks(n_bits) * width * WORDS
    raw = np.zeros(size + WORDS, np.uint64)
    start = -(raw.ctypes.data // raw.itemsize) % WORDS
    return raw[start : start + size]


def count_blocks(n_bits: int) -> int:
    """Count the blocks needed for `n_bits` bits."""
    return -(-n_bits // BLOCK_ROWS)


@compiled
def set_bits(
    rows: NDArray[Any], counts: Any, n_bins: Any, offsets: Any, width: int, words: Any
) -> None:
    """Set the bits of the codes of `rows` in the zeroed words of a bitmap."""
    n_features = rows.shape[1]
    total = offsets[n_features]
    for r in range(rows.shape[0]):
        start = (r // BLOCK_ROWS) * width * WORDS + (r % BLOCK_ROWS) // 64
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
    """Set the bits of the zeroed summary: which columns of each block are not empty."""
    for b in range(n_blocks):
        start = (b // BLOCK_ROWS) * width * WORDS + (b % BLOCK_ROWS) // 64
        bit = _ONE << np.uint64(b % 64)
        for c in range(width):
            if any_bit(load(words, (b * width + c) * WORDS)):
                summary[start + c * WORDS] |= bit


@inlined
def shared_by_all(words: Any, start: int, columns: Any, n_columns: int) -> Any:
    """Find the rows with a bit in each of the columns (at least one column)."""
    left = load(words, start + columns[0])
    for f in range(1, n_columns):
        left = left & load(words, start + columns[f])
        if not any_bit(left):
            break
    return left


@inlined
def shared_by_none(
    words: Any, start: int, columns: Any, n_columns: int, rows: Any
) -> Any:
    """Find which of `rows` have no bit in any column; `n_columns` divides by four."""
    left = rows
    for f in range(0, n_columns, 4):
        a = load(words, start + columns[f]) | load(words, start + columns[f + 1])
        b = load(words, start + columns[f + 2]) | load(words, start + columns[f + 3])
        left = left & ~(a | b)
        if not any_bit(left):
            break
    return left


@dataclass(frozen=True)
class Cascade:
    """Bitmap index of the distinct fitted rows, to find the rows that match a row.

    Attributes
    ----------
    bitmaps : Bitmaps
        The distinct rows and their counts, laid out for the compiled loops, in
        read-only arrays.
    """

    bitmaps: Bitmaps

    leaves_bins_out = True

    def __reduce__(self) -> Any:
        # A pickle has no bitmaps, which are built again: it is smaller, they are
        # aligned to cache lines, and their layout can change between versions.
        maps = self.bitmaps
        return build_cascade, (maps.rows, maps.counts, maps.n_bins)

    def estimate(self, coded: CodedTable, n_threads: int) -> Estimates:
        """Estimate the missing cells of coded rows, each distinct row once.

        Parameters
        ----------
        coded : CodedTable
        n_threads : int

        Returns
        -------
        Estimates
        """
        return Estimates(*self.match(coded, n_threads)[:4])

    def estimate_features(
        self, rows: NDArray[Any], features: Sequence[int]
    ) -> list[NDArray[np.float64]]:
        """Estimate the listed features of every row, each as if it was missing."""
        found = []
        for j in features:
            opened = np.array(rows)
            opened[:, j] = np.iinfo(rows.dtype).max
            cells = self.estimate(CodedTable.of_rows(opened), n_threads=1)
            found.append(cells.of_feature(j, int(self.bitmaps.n_bins[j])))
        return found

    def by_parts(self, coded: CodedTable, n_threads: int) -> Callable[[int, int], Part]:
        """Estimate all missing cells; return a function that selects a part of rows."""
        cells = self.estimate(coded, n_threads)
        return lambda first, last: (coded.bins, coded.index[first:last], cells)

    def match(self, coded: CodedTable, n_threads: int) -> Cells:
        """Estimate the missing cells, with the level and support of each estimate."""
        maps, rows = self.bitmaps, read_only(coded.bins)
        laid_out = allocate_estimates(coded, maps.n_bins)
        n_cells = len(laid_out.feature)
        level, support = np.zeros(n_cells, np.int64), np.zeros(n_cells)
        cells = Cells(*laid_out, level, support)
        n_features = len(maps.n_bins)

        def match_some(first: int, last: int) -> None:
            columns = np.empty(n_features + 4, np.int64)
            bits = np.empty(2 * WORDS, np.uint64)
            match_rows(maps, rows, first, last, cells, columns, bits)

        work = n_features**2 * count_blocks(len(maps.rows))
        piece = max(1, min(_PIECE, _PIECE_WORK // work))  # short, for interrupts
        run_pieces(match_some, len(rows), piece, n_threads)
        return cells


def build_cascade(
    rows: NDArray[Any], counts: NDArray[Any], n_bins: NDArray[np.int64]
) -> Cascade:
    """Build the bitmaps of distinct rows with their counts.

    Parameters
    ----------
    rows : ndarray of shape (n_distinct, n_features), uint8 or uint16
        In lexicographic order.
    counts : ndarray of shape (n_distinct,), int64, or float64 for fractions
    n_bins : ndarray of shape (n_features,), int64

    Returns
    -------
    Cascade
    """
    rows, counts, n_bins = read_only(rows), read_only(counts), read_only(n_bins)
    offsets = read_only(np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64))
    # One column per bin, one per feature for the rows that observe it, and three more:
    # the rows that exist, the rows that occur once in the table, and an empty column.
    width = int(offsets[-1]) + len(n_bins) + 3
    words = empty_bitmaps(len(rows), width)
    set_bits(rows, counts, n_bins, offsets, width, words)
    n_blocks = count_blocks(len(rows))
    summary = empty_bitmaps(n_blocks, width)
    summarize(words, n_blocks, width, summary)
    return Cascade(
        Bitmaps(
            words=read_only(words),
            summary=read_only(summary),
            rows=rows,
            counts=counts,
            bin_counts=read_only(count_bins(rows, counts, n_bins)),
            n_bins=n_bins,
            offsets=offsets,
            n_samples=int(np.ceil(counts.sum())),
            width=width,
        )
    )


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array, as a plain ndarray.

    Numba compiles separate code for writable and for read-only arrays. Joblib workers
    receive read-only memory maps, so all arrays are made read-only.
    """
    view = np.asarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


class Cells(NamedTuple):
    """The missing cells of distinct rows, and their estimates.

    The fields are those of `Estimates`; during the search, `probabilities` are counts.
    """

    row_start: NDArray[np.int64]
    feature: NDArray[np.int64]
    start: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    level: NDArray[np.int64]  # (n_cells,)
    support: NDArray[np.float64]  # (n_cells,) rows that match and observe the feature


@inlined
def _add_rows(
    maps: Bitmaps, bits: Any, found: Any, block: int, cells: Cells, cell: int
) -> None:
    """Add the matching rows of a block to the counts of a cell, row by row."""
    j = cells.feature[cell]
    store(bits, WORDS, found)
    for w in range(WORDS):
        left = bits[WORDS + w]
        while left != _NONE:
            r = block * BLOCK_ROWS + w * 64 + lowest_bit(left)
            left &= left - _ONE
            at = cells.start[cell] + np.int64(maps.rows[r, j])
            cells.probabilities[at] += maps.counts[r]
            cells.support[cell] += maps.counts[r]


@inlined
def _add_many(
    maps: Bitmaps, bits: Any, found: Any, block: int, cells: Cells, cell: int
) -> None:
    """Add the matching rows of a block to the counts of a cell, bin by bin.

    This is faster than `_add_rows` if a large part of the block matches. Only rows that
    occur once in the table can be counted like this.
    """
    j = cells.feature[cell]
    columns = block * maps.width
    once = found & load(maps.words, (columns + maps.width - 2) * WORDS)
    n_once = count_bits(once)
    if n_once > 2 * maps.n_bins[j]:
        for k in range(maps.n_bins[j]):
            in_bin = load(maps.words, (columns + maps.offsets[j] + k) * WORDS)
            cells.probabilities[cells.start[cell] + k] += count_bits(once & in_bin)
        cells.support[cell] += n_once
        found = found & ~once
    _add_rows(maps, bits, found, block, cells, cell)


@inlined
def _add_intersection(
    maps: Bitmaps, columns: Any, n_codes: int, bits: Any, cells: Cells, first: int,
    last: int,
) -> None:  # fmt: skip
    """Count, for each missing cell of a row, the rows that share all its codes."""
    observes = maps.offsets[maps.n_bins.shape[0]]
    for g in range(maps.summary.shape[0] // (maps.width * WORDS)):
        some = shared_by_all(maps.summary, g * maps.width * WORDS, columns, n_codes)
        store(bits, 0, some)
        for w in range(WORDS):
            left = bits[w]
            while left != _NONE:
                block = g * BLOCK_ROWS + w * 64 + lowest_bit(left)
                left &= left - _ONE
                start = block * maps.width * WORDS
                rows = shared_by_all(maps.words, start, columns, n_codes)
                if not any_bit(rows):
                    continue
                for cell in range(first, last):
                    observers = start + (observes + cells.feature[cell]) * WORDS
                    found = rows & load(maps.words, observers)
                    if any_bit(found):
                        _add_rows(maps, bits, found, block, cells, cell)


@inlined
def _add_union(
    maps: Bitmaps, columns: Any, n_codes: int, n_padded: int, bits: Any, cells: Cells,
    first: int, last: int,
) -> None:  # fmt: skip
    """Count the rows that share any code, for cells without a matching row so far.

    If most rows share a code, the rows that share none are counted, and subtracted from
    the total.
    """
    n_features = maps.n_bins.shape[0]
    total = maps.offsets[n_features]
    at_most = _START
    for f in range(n_codes):
        at_most += maps.bin_counts[columns[f] // WORDS]
    by_complement = 2 * at_most > maps.n_samples
    for block in range(maps.words.shape[0] // (maps.width * WORDS)):
        start = block * maps.width
        exist = load(maps.words, (start + total + n_features) * WORDS)
        some = shared_by_none(maps.words, start * WORDS, columns, n_padded, exist)
        if not by_complement:
            some = exist & ~some
        if not any_bit(some):
            continue
        for cell in range(first, last):
            observers = (start + total + cells.feature[cell]) * WORDS
            found = some & load(maps.words, observers)
            if cells.level[cell] == UNION and any_bit(found):
                _add_many(maps, bits, found, block, cells, cell)
    for cell in range(first, last):
        if by_complement and cells.level[cell] == UNION:
            _subtract_from_all(maps, cells, cell)


@inlined
def _subtract_from_all(maps: Bitmaps, cells: Cells, cell: int) -> None:
    """Replace the bin counts of a cell by the counts of all other rows."""
    j = cells.feature[cell]
    cells.support[cell] = 0
    for k in range(maps.n_bins[j]):
        at = cells.start[cell] + k
        cells.probabilities[at] = (
            maps.bin_counts[maps.offsets[j] + k] - cells.probabilities[at]
        )
        cells.support[cell] += cells.probabilities[at]


@inlined
def _list_row_columns(maps: Bitmaps, codes: Any, i: int, columns: Any) -> Any:
    """Write the bitmap columns of the codes of row i to `columns`.

    Returns the number of columns, and whether every observed category was seen at fit.
    """
    unknown = np.iinfo(codes.dtype).max - 1
    n_codes = _START
    known = True
    for j in range(codes.shape[1]):
        if codes[i, j] < maps.n_bins[j]:
            columns[n_codes] = (maps.offsets[j] + np.int64(codes[i, j])) * WORDS
            n_codes += 1
        elif codes[i, j] == unknown and maps.n_bins[j]:
            known = False
    return n_codes, known


@inlined
def _normalize_cell(maps: Bitmaps, cells: Cells, cell: int) -> None:
    """Normalize the counts of a cell to a distribution; if all are 0, use the prior."""
    j = cells.feature[cell]
    if cells.support[cell] == 0:
        cells.level[cell] = PRIOR
        for k in range(maps.n_bins[j]):
            count = maps.bin_counts[maps.offsets[j] + k]
            cells.probabilities[cells.start[cell] + k] = count
            cells.support[cell] += count
    for k in range(maps.n_bins[j]):
        cells.probabilities[cells.start[cell] + k] /= cells.support[cell]


@compiled
def match_rows(
    maps: Bitmaps, codes: NDArray[Any], first: int, last: int, cells: Cells,
    columns: Any, bits: Any,
) -> None:  # fmt: skip
    """Estimate the missing cells of the rows from `first` up to `last`.

    `columns` and `bits` are scratch memory for the codes of a row and for two bitmaps.
    """
    empty = (maps.width - 1) * WORDS
    for i in range(first, last):
        begin, end = cells.row_start[i], cells.row_start[i + 1]
        if begin == end:
            continue
        n_codes, known = _list_row_columns(maps, codes, i, columns)
        if n_codes and known:
            _add_intersection(maps, columns, n_codes, bits, cells, begin, end)
        alone = False
        for cell in range(begin, end):
            cells.level[cell] = INTERSECTION if cells.support[cell] else UNION
            alone |= cells.support[cell] == 0
        if n_codes and alone:
            n_padded = n_codes
            while n_padded % 4:
                columns[n_padded] = empty
                n_padded += 1
            _add_union(maps, columns, n_codes, n_padded, bits, cells, begin, end)
        for cell in range(begin, end):
            _normalize_cell(maps, cells, cell)
