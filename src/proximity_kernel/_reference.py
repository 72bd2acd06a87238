"""Codes of the fitted rows in, the reference out: what new rows are matched against.

The reference keeps each distinct row once, with its count, and answers "which rows
have this code?" with bitmaps (`_bitmaps` says how they lie in memory). The prior,
how often each bin was observed, is what is left when nobody matches. Of a very large
table the reference may be a sample of the distinct rows; the prior is of all rows.
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
from ._codes import Codes, count_bins


@dataclass(frozen=True)
class Totals:
    """What is known of all fitted rows, when the reference holds some of them.

    Attributes
    ----------
    bin_counts : ndarray of shape (total bins,), int64
        How often each bin was observed.
    n_samples : int
    unit : int
        Of these, how many a rare row of the reference stands for.
    sampled : bool
        Whether the reference holds fewer rows.
    """

    bin_counts: NDArray[np.int64]
    n_samples: int
    unit: int = 1
    sampled: bool = True


@dataclass(frozen=True)
class Reference:
    """The fitted rows, ready to be matched.

    Attributes
    ----------
    bitmaps : Bitmaps
        The distinct rows and their counts, as the compiled loops take them; no array
        can be written to.
    n_samples : int
        Fitted rows, all of them.
    unit : int
        Rows that a rare one of a sample stands for.
    sampled : bool
        Whether the distinct rows are a sample.
    """

    bitmaps: Bitmaps
    n_samples: int
    unit: int = 1
    sampled: bool = False

    @property
    def prior(self) -> list[NDArray[np.float64]]:
        """Bin frequencies of each feature; empty for one without bins."""
        split = np.split(self.bitmaps.prior_counts, self.bitmaps.offsets[1:-1])
        return [counts / max(counts.sum(), 1) for counts in split]

    def __reduce__(self) -> Any:
        # Bitmaps are built again rather than stored: smaller, on cache lines again,
        # and never in the layout of another version.
        maps = self.bitmaps
        totals = Totals(maps.prior_counts, self.n_samples, self.unit)
        return restore_reference, (
            maps.rows, maps.counts, maps.n_bins, totals if self.sampled else None,
        )  # fmt: skip


def build_reference(
    codes: Codes, n_bins: NDArray[np.int64], totals: Totals | None = None
) -> Reference:
    """Enter the fitted rows into bitmaps.

    Parameters
    ----------
    codes : Codes
        Of the fitted table, or a sample of its distinct rows.
    n_bins : ndarray of shape (n_features,), int64
    totals : Totals, with a sample
        Of all rows.

    Returns
    -------
    Reference
    """
    return restore_reference(codes.rows, codes.counts, n_bins, totals)


def restore_reference(
    rows: NDArray[Any],
    counts: NDArray[np.int64],
    n_bins: NDArray[np.int64],
    totals: Totals | None = None,
) -> Reference:
    """Enter distinct rows, with how often each is there, into bitmaps."""
    rows, counts, n_bins = read_only(rows), read_only(counts), read_only(n_bins)
    offsets = read_only(np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64))
    width = bitmap_width(int(offsets[-1]), len(n_bins))
    words = empty_bitmaps(len(rows), width)
    set_bits(rows, counts, n_bins, offsets, width, words)
    n_blocks = count_blocks(len(rows))
    summary = empty_bitmaps(n_blocks, width)
    summarize(words, n_blocks, width, summary)
    if totals is None:
        bin_counts = count_bins(rows, counts, n_bins)
        totals = Totals(bin_counts, int(counts.sum()), sampled=False)
    held = count_bins(rows, counts, n_bins) if totals.sampled else totals.bin_counts
    maps = Bitmaps(
        words=read_only(words),
        summary=read_only(summary),
        rows=rows,
        counts=counts,
        bin_counts=read_only(held),
        prior_counts=read_only(totals.bin_counts),
        n_bins=n_bins,
        offsets=offsets,
        n_samples=int(counts.sum()),
        width=width,
    )
    return Reference(maps, totals.n_samples, totals.unit, totals.sampled)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """View an array as a plain one that cannot be written to.

    Compiled code is kept per type, and whether an array can be written to is part
    of it: one that travelled to a joblib worker as a memory map cannot. So none can.
    """
    view = np.asarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view
