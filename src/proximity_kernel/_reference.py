"""Codes of the fitted rows in, the reference out: what new rows are matched against.

The reference keeps each distinct row once, with its count, and answers "which rows
have this code?" with bitmaps (`_bitmaps` says how they lie in memory). The prior,
how often each bin was observed, is what is left when nobody matches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._bitmaps import (
    Bitmaps,
    bitmap_width,
    count_blocks,
    empty_bitmaps,
    set_bits,
    summarize,
)
from ._codes import Codes


@dataclass(frozen=True)
class Reference:
    """The fitted rows, ready to be matched.

    Attributes
    ----------
    rows : ndarray of shape (n_distinct, n_features), uint8 or uint16
        Distinct codes, in lexicographic order.
    counts : ndarray of shape (n_distinct,), int64
        Rows of the table that have them.
    bin_counts : ndarray of shape (sum(n_bins),), int64
        Rows of the table in each bin, feature after feature.
    n_bins : ndarray of shape (n_features,), int64
    offsets : ndarray of shape (n_features + 1,), int64
        Where the bins of each feature begin.
    words, summary : ndarrays, uint64
        One bit per distinct row, and one bit per block of 512 of them.
    """

    rows: NDArray[Any]
    counts: NDArray[np.int64]
    bin_counts: NDArray[np.int64]
    n_bins: NDArray[np.int64]
    offsets: NDArray[np.int64]
    words: NDArray[np.uint64]
    summary: NDArray[np.uint64]

    @property
    def prior(self) -> list[NDArray[np.float64]]:
        """Bin frequencies of each feature; empty for one without bins."""
        split = np.split(self.bin_counts, self.offsets[1:-1])
        return [counts / max(counts.sum(), 1) for counts in split]

    @property
    def bitmaps(self) -> Bitmaps:
        """The arrays as the compiled loops take them."""
        return Bitmaps(
            words=read_only(self.words),
            summary=read_only(self.summary),
            rows=read_only(self.rows),
            counts=read_only(self.counts),
            bin_counts=read_only(self.bin_counts),
            n_bins=read_only(self.n_bins),
            offsets=read_only(self.offsets),
            n_rows=int(self.counts.sum()),
            width=bitmap_width(int(self.offsets[-1]), len(self.n_bins)),
        )


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """View an array as a plain one that cannot be written to.

    Compiled code is kept per type, and whether an array can be written to is part
    of it: one that travelled to a joblib worker as a memory map cannot. So none can.
    """
    view = np.asarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


def build_reference(codes: Codes, n_bins: NDArray[np.int64]) -> Reference:
    """Enter the fitted rows into bitmaps.

    Parameters
    ----------
    codes : Codes
        Of the fitted table.
    n_bins : ndarray of shape (n_features,), int64

    Returns
    -------
    Reference
    """
    offsets = np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64)
    width = bitmap_width(int(offsets[-1]), len(n_bins))
    words = empty_bitmaps(len(codes.rows), width)
    set_bits(read_only(codes.rows), codes.counts, n_bins, offsets, width, words)
    n_blocks = count_blocks(len(codes.rows))
    summary = empty_bitmaps(n_blocks, width)
    summarize(words, n_blocks, width, summary)
    bin_counts = np.zeros(offsets[-1], np.int64)
    for j, size in enumerate(n_bins):
        known = codes.rows[:, j] < size
        counts = np.bincount(codes.rows[known, j], codes.counts[known], minlength=size)
        bin_counts[offsets[j] : offsets[j + 1]] = counts
    return Reference(
        codes.rows, codes.counts, bin_counts, n_bins, offsets, words, summary
    )
