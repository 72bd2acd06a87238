"""Coded batches in, the fitted rows out: the second of the two passes over a table.

With the bins fixed, a batch becomes a `RowState`: its distinct rows with their counts,
and the exact totals. States merge, in any order, to the state of the whole table.

With `most`, a state keeps only so many distinct rows, those with the lowest hash of
their codes. A row that is among the lowest of all is among the lowest of every part
that holds it: it is never dropped, and its count is exact. So which rows are kept
depends on the table and the seed, not on how the table was cut, and tables with few
distinct rows lose none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._codes import Codes, code_dtype, count_bins, merge_distinct
from ._columns import ColumnType
from ._loops import hash_rows
from ._survey import Binned, has_no_rows


@dataclass(frozen=True)
class RowState:
    """The distinct rows of a table, or of a part of it, and its totals.

    Attributes
    ----------
    rows : ndarray of shape (n_distinct, n_features), uint8 or uint16
        In lexicographic order, every gap missing.
    counts : ndarray of shape (n_distinct,), int64
        How often each stands in the table.
    n_bins : ndarray of shape (n_features,), int64
    totals : ndarray of shape (total bins,), int64
        How often each bin is observed, in all rows.
    n_samples : int
        All rows.
    most : int or None
        Distinct rows that are kept at the most.
    seed : int
        Of the hash that chooses them.
    sampled : bool
        Whether there were more.
    """

    rows: NDArray[Any]
    counts: NDArray[np.int64]
    n_bins: NDArray[np.int64]
    totals: NDArray[np.int64]
    n_samples: int
    most: int | None = None
    seed: int = 0
    sampled: bool = False

    @property
    def missing(self) -> NDArray[np.int64]:
        """Rows that miss each feature, of all rows, shape (n_features,)."""
        observed = [part.sum() for part in np.split(self.totals, _ends(self.n_bins))]
        return self.n_samples - np.array(observed, np.int64)

    @property
    def codes(self) -> Codes:
        """The rows that are kept, as codes of a table that is not at hand."""
        return Codes(self.rows, self.counts, np.empty(0, np.int64))


def summarize_rows(
    table: Any,
    binned: Binned,
    max_references: int | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> RowState:
    """Summarize a batch for the reference.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    binned : Binned
        The bins of all batches.
    max_references : int or None
        Distinct rows that are kept at the most.
    seed : int
        Of the hash that chooses them.
    n_threads : int

    Returns
    -------
    RowState

    Examples
    --------
    >>> from proximity_kernel._survey import finish_bins, summarize_bins
    >>> table = [[1.0, "a"], [2.0, "b"], [None, "b"], [1.0, "a"]]
    >>> binned = finish_bins(summarize_bins(table), "from_dtype", [2, 2], 255)
    >>> state = summarize_rows(table, binned)
    >>> state.rows.tolist(), state.counts.tolist(), state.missing.tolist()
    ([[0, 0], [1, 1], [255, 1]], [2, 1, 1], [1, 0])
    """
    n_bins = binned.n_bins
    if has_no_rows(table):
        rows = np.empty((0, len(n_bins)), code_dtype(n_bins))
        totals = np.zeros(n_bins.sum(), np.int64)
        none = np.empty(0, np.int64)
        return RowState(rows, none, n_bins, totals, 0, max_references, seed)
    codes = binned.code(table, n_threads)
    _check_known(codes, binned.types)
    return keep_rows(codes, n_bins, max_references, seed)


def keep_rows(
    codes: Codes, n_bins: NDArray[np.int64], most: int | None, seed: int
) -> RowState:
    """Keep the rows of a coded table, at most so many distinct ones.

    Parameters
    ----------
    codes : Codes
        Every gap missing, no label unknown.
    n_bins : ndarray of shape (n_features,), int64
    most : int or None
    seed : int

    Returns
    -------
    RowState
    """
    totals = count_bins(codes.rows, codes.counts, n_bins)
    n_samples = int(codes.counts.sum())
    return _keep_lowest(
        RowState(codes.rows, codes.counts, n_bins, totals, n_samples, most, seed)
    )


def merge_rows(a: RowState, b: RowState) -> RowState:
    """Merge the summaries of two parts of a table; their order is of no matter.

    Parameters
    ----------
    a, b : RowState
        With the same bins, number of rows to keep, and seed.

    Returns
    -------
    RowState
    """
    if not (a.n_samples and b.n_samples):
        return a if a.n_samples else b
    parts = [(a.rows, a.counts), (b.rows, b.counts)]
    rows, counts = merge_distinct(parts, a.n_bins)
    merged = replace(
        a,
        rows=rows,
        counts=counts,
        totals=a.totals + b.totals,
        n_samples=a.n_samples + b.n_samples,
        sampled=a.sampled or b.sampled,
    )
    return _keep_lowest(merged)


def _keep_lowest(state: RowState) -> RowState:
    """Drop the rows with the highest hashes, if there are too many."""
    most = state.most
    if most is None or len(state.rows) <= most:
        return state
    hashes = np.empty(len(state.rows), np.uint64)
    hash_rows(state.rows, np.uint64(state.seed), hashes)
    # Stable: among equal hashes the earlier row, in an order that no cut changes.
    kept = np.sort(np.argsort(hashes, kind="stable")[:most])
    return replace(
        state, rows=state.rows[kept], counts=state.counts[kept], sampled=True
    )


def _check_known(codes: Codes, types: tuple[ColumnType, ...]) -> None:
    """Refuse rows with something that the bins were not learnt from."""
    unknown = (codes.rows == codes.missing - 1).any(axis=0)
    if unknown.any():
        place = types[int(unknown.argmax())].place
        raise ValueError(
            f"{place} holds a value now that it did not when the bins were learnt; "
            "learn the bins and the rows from the same batches."
        )


def _ends(n_bins: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the bins of each feature but the last end."""
    return np.cumsum(n_bins)[:-1]
