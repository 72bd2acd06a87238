"""The search for matching rows, on bitmaps: the paper's cascade.

For a row with missing cells, the intersection is the set of fitted rows that share all
of its codes, and the union is the set that share any. The summary shows which blocks
can contain rows of the intersection, so most blocks are never read. The union is
counted directly or, if it contains nearly all rows, by its complement.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bit_vectors import ROWS, WORDS, any_row, count_rows, load, lowest_bit, store
from .bitmaps import Bitmaps, shared_by_all, shared_by_none
from .compiling import compiled, inlined

PRIOR, UNION, INTERSECTION = 0, 1, 2
"""Levels of the cascade."""

_NONE = np.uint64(0)
_ONE = np.uint64(1)
# Numba gives a literal 0 its own type: functions that take it would be compiled twice.
_START: Any = np.int64(0)


class Cells(NamedTuple):
    """The missing cells of distinct rows, and their estimates.

    The fields are those of `Estimates`; during the search, `probabilities` are counts.
    """

    row_start: NDArray[np.int64]
    feature: NDArray[np.int64]
    start: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    level: NDArray[np.int64]  # (n_cells,)
    support: NDArray[np.int64]  # (n_cells,) rows that match and observe the feature


@inlined
def _add_rows(
    maps: Bitmaps, bits: Any, found: Any, block: int, cells: Cells, cell: int
) -> None:
    """Add the matching rows of a block to the counts of a cell, by bin."""
    j = cells.feature[cell]
    store(bits, WORDS, found)
    for w in range(WORDS):
        left = bits[WORDS + w]
        while left != _NONE:
            r = block * ROWS + w * 64 + lowest_bit(left)
            left &= left - _ONE
            at = cells.start[cell] + np.int64(maps.rows[r, j])
            cells.probabilities[at] += maps.counts[r]
            cells.support[cell] += maps.counts[r]


@inlined
def _add_many(
    maps: Bitmaps, bits: Any, found: Any, block: int, cells: Cells, cell: int
) -> None:
    """Do the same, but count the rows that occur once in the table bin by bin.

    This is faster if a large part of the block matches.
    """
    j = cells.feature[cell]
    columns = block * maps.width
    once = found & load(maps.words, (columns + maps.width - 2) * WORDS)
    n_once = count_rows(once)
    if n_once > 2 * maps.n_bins[j]:
        for k in range(maps.n_bins[j]):
            in_bin = load(maps.words, (columns + maps.offsets[j] + k) * WORDS)
            cells.probabilities[cells.start[cell] + k] += count_rows(once & in_bin)
        cells.support[cell] += n_once
        found = found & ~once
    _add_rows(maps, bits, found, block, cells, cell)


@inlined
def _add_intersection(
    maps: Bitmaps, columns: Any, n_codes: int, bits: Any, cells: Cells, first: int,
    last: int,
) -> None:  # fmt: skip
    """Count the rows that share all codes."""
    observes = maps.offsets[maps.n_bins.shape[0]]
    for g in range(maps.summary.shape[0] // (maps.width * WORDS)):
        some = shared_by_all(maps.summary, g * maps.width * WORDS, columns, n_codes)
        store(bits, 0, some)
        for w in range(WORDS):
            left = bits[w]
            while left != _NONE:
                block = g * ROWS + w * 64 + lowest_bit(left)
                left &= left - _ONE
                start = block * maps.width * WORDS
                rows = shared_by_all(maps.words, start, columns, n_codes)
                if not any_row(rows):
                    continue
                for cell in range(first, last):
                    observers = start + (observes + cells.feature[cell]) * WORDS
                    found = rows & load(maps.words, observers)
                    if any_row(found):
                        _add_rows(maps, bits, found, block, cells, cell)


@inlined
def _add_union(
    maps: Bitmaps, columns: Any, n_codes: int, n_padded: int, bits: Any, cells: Cells,
    first: int, last: int,
) -> None:  # fmt: skip
    """Count the rows that share any code, for cells without a matching row so far.

    If most rows do, the other rows are counted and subtracted from the total.
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
        if not any_row(some):
            continue
        for cell in range(first, last):
            observers = (start + total + cells.feature[cell]) * WORDS
            found = some & load(maps.words, observers)
            if cells.level[cell] == UNION and any_row(found):
                _add_many(maps, bits, found, block, cells, cell)
    for cell in range(first, last):
        if by_complement and cells.level[cell] == UNION:
            _take_from_all(maps, cells, cell)


@inlined
def _take_from_all(maps: Bitmaps, cells: Cells, cell: int) -> None:
    """Subtract the counts of a cell from those of all rows."""
    j = cells.feature[cell]
    cells.support[cell] = 0
    for k in range(maps.n_bins[j]):
        at = cells.start[cell] + k
        cells.probabilities[at] = (
            maps.bin_counts[maps.offsets[j] + k] - cells.probabilities[at]
        )
        cells.support[cell] += np.int64(cells.probabilities[at])


@inlined
def _enter_row(maps: Bitmaps, codes: Any, i: int, columns: Any) -> Any:
    """Find the columns of a row's codes.

    Returns how many there are, and whether every observed category was seen at fit.
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
def _close(maps: Bitmaps, cells: Cells, cell: int) -> None:
    """Turn the counts of a cell into a distribution; without counts, use the prior."""
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
    """Fill in the missing cells of the rows from `first` up to `last`.

    `columns` and `bits` are scratch memory for the codes of a row and for two bitmaps.
    """
    empty = (maps.width - 1) * WORDS
    for i in range(first, last):
        begin, end = cells.row_start[i], cells.row_start[i + 1]
        if begin == end:
            continue
        n_codes, known = _enter_row(maps, codes, i, columns)
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
            _close(maps, cells, cell)
