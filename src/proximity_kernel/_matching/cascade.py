"""The paper's rule: estimates from the fitted rows that match a row.

Level 1, the intersection: the rows that share every code of the row. If none of them
observes the missing feature, level 2, the union: the rows that share any code. If none
of those does either, level 3, the prior: how often each bin was observed. The estimate
is the mean of the one-hot blocks of these rows.

Each distinct row is kept once, with its count, in bitmaps that answer "which rows have
this code?" (`bitmaps`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bins.codes import Codes
from .._bins.distinct_rows import count_bins
from .._numba.bit_vectors import WORDS
from .._numba.bitmaps import (
    Bitmaps,
    bitmap_width,
    count_blocks,
    empty_bitmaps,
    set_bits,
    summarize,
)
from .._numba.cascade_loops import Cells, match_rows
from .._shared.threads import run_pieces
from .pairwise import Estimates, Part, lay_out_cells

LEVELS = ("prior", "union", "intersection")
"""Names of the levels, by their number."""

_PIECE = 1024  # maximum number of distinct rows
_PIECE_WORK = 200_000_000  # features x features x blocks, some tenths of a second


@dataclass(frozen=True)
class Cascade:
    """The fitted rows, ready to be matched.

    Attributes
    ----------
    bitmaps : Bitmaps
        The distinct rows and their counts, laid out for the compiled loops, in
        read-only arrays.
    """

    bitmaps: Bitmaps

    leaves_bins_out = True

    def __reduce__(self) -> Any:
        # Bitmaps are not stored but built again: this is smaller, aligns them to cache
        # lines, and does not depend on the layout of another version.
        maps = self.bitmaps
        return build_cascade, (maps.rows, maps.counts, maps.n_bins)

    def estimate(self, codes: Codes, n_threads: int) -> Estimates:
        """Estimate the missing cells of coded rows, each distinct row once.

        Parameters
        ----------
        codes : Codes
        n_threads : int

        Returns
        -------
        Estimates
        """
        return Estimates(*self.match(codes, n_threads)[:4])

    def by_parts(self, codes: Codes, n_threads: int) -> Callable[[int, int], Part]:
        """Estimate the cells of all rows now, each distinct row once."""
        cells = self.estimate(codes, n_threads)
        return lambda first, last: (codes.rows, codes.inverse[first:last], cells)

    def match(self, codes: Codes, n_threads: int) -> Cells:
        """Estimate the missing cells, with the level and support of each estimate."""
        maps, rows = self.bitmaps, read_only(codes.rows)
        laid_out = lay_out_cells(codes, maps.n_bins)
        n_cells = len(laid_out.feature)
        level, support = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
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
    rows: NDArray[Any], counts: NDArray[np.int64], n_bins: NDArray[np.int64]
) -> Cascade:
    """Build the bitmaps of distinct rows with their counts.

    Parameters
    ----------
    rows : ndarray of shape (n_distinct, n_features), uint8 or uint16
        In lexicographic order.
    counts : ndarray of shape (n_distinct,), int64
    n_bins : ndarray of shape (n_features,), int64

    Returns
    -------
    Cascade
    """
    rows, counts, n_bins = read_only(rows), read_only(counts), read_only(n_bins)
    offsets = read_only(np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64))
    width = bitmap_width(int(offsets[-1]), len(n_bins))
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
            n_samples=int(counts.sum()),
            width=width,
        )
    )


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """View an array as a plain one that cannot be written to.

    Numba compiles separate code for writable and for read-only arrays. Joblib workers
    receive read-only memory maps, so all arrays are made read-only.
    """
    view = np.asarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view
