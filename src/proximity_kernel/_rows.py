"""Coded batches in, the fitted rows out: the second of the two passes over a table.

With the bins fixed, a batch becomes a `RowState`: its distinct rows with their counts,
and the exact totals. States merge, in any order, to the state of the whole table.

With `most`, only so many distinct rows are to be kept, in two steps that depend on the
table and the seed, not on how the table was cut.

1. A state keeps eight times as many, those with the lowest hash of their codes. A row
   that is among the lowest of all is among the lowest of every part that holds it: it
   is never dropped, and its count is exact.
2. At the end, with the counts known, frequent rows are kept before rare ones: by
   priority sampling (Duffield, Lund and Thorup, 2007), each with ``count / u`` for a
   hashed u between 0 and 1. The next priority t is what a rare row stands for, a
   frequent one stands for itself. If the first step dropped rows, all stand for as many
   times more as there are rows beside those held: sums are right on average.

Tables with few distinct rows lose none.
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

_SPARE = 8  # times as many rows are held until their counts are known
_SECOND = 0x5851F42D4C957F2D  # makes another seed of one
_NO_INVERSE: NDArray[np.int64] = np.empty(0, np.int64)


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
        Distinct rows to keep in the end; here eight times as many.
    seed : int
        Of the hash that chooses them.
    sampled : bool
        Whether there were more than are here.
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
        """The rows, as those of a table that is not at hand."""
        return Codes(self.rows, self.counts, _NO_INVERSE)


@dataclass(frozen=True)
class Chosen:
    """The distinct rows that are kept in the end.

    Attributes
    ----------
    codes : Codes
        The rows, and how many rows of the table each stands for, as those of a table
        that is not at hand.
    unit : int
        Rows that a rare one stands for; 1 if all are kept.
    sampled : bool
        Whether there were more distinct rows.
    """

    codes: Codes
    unit: int
    sampled: bool


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


def choose_rows(state: RowState) -> Chosen:
    """Choose the rows to keep in the end.

    Parameters
    ----------
    state : RowState
        Of all rows.

    Returns
    -------
    Chosen
    """
    rows, counts = state.rows, state.counts
    n_found = len(rows)
    if state.most is None or n_found <= state.most:
        return Chosen(state.codes, 1, state.sampled)
    share = (_hash(rows, state.seed ^ _SECOND) + 0.5) / 2.0**64
    stands_for = counts * (state.n_samples / counts.sum())  # once, if none was dropped
    priority = stands_for / share
    # Stable: among equal ones the earlier row, in an order that no cut changes.
    order = np.argsort(-priority, kind="stable")
    kept = np.sort(order[: state.most])
    least = int(np.ceil(priority[order[state.most]]))
    whole = np.maximum(np.rint(stands_for[kept]).astype(np.int64), least)
    return Chosen(Codes(rows[kept], whole, _NO_INVERSE), least, sampled=True)


def _keep_lowest(state: RowState) -> RowState:
    """Drop the rows with the highest hashes, if there are too many."""
    if state.most is None or len(state.rows) <= _SPARE * state.most:
        return state
    order = np.argsort(_hash(state.rows, state.seed), kind="stable")
    kept = np.sort(order[: _SPARE * state.most])
    return replace(
        state, rows=state.rows[kept], counts=state.counts[kept], sampled=True
    )


def _hash(rows: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    hashes = np.empty(len(rows), np.uint64)
    hash_rows(rows, np.uint64(seed), hashes)
    return hashes


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
