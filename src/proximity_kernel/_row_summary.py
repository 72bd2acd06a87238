"""Count the codes of rows and sample rows: the second of two passes over a table.

With the bins fixed, each batch is summarized in a `RowSummary`. Summaries merge, in any
order, to the summary of the whole table. The cascade needs every distinct row with its
count.
The pairwise rule needs counts of codes and of pairs of codes, and a sample of rows to
choose its weights.

The sample has the distinct rows with the lowest hashes. A row whose hash is among the
lowest of the table is among the lowest of every part that has the row, so it is never
dropped and its count is exact. The sample depends on the rows and the seed, not on how
the table was divided. In a very large table, pairs are counted only in rows with a low
hash, unless the sample has all distinct rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._bins import MOST_LEAVES, Binned
from ._coded import CodedTable, code_columns, count_bins, merge_distinct
from ._compile import compiled
from ._pairwise import MOST_CODES, PairCounts, count_kept
from ._shared.resources import run_pieces
from ._table.columns import read_columns

SAMPLE = 10_000
"""Maximum number of distinct rows that the pairwise rule chooses its weights from."""
_MOST_PAIRS = 1 << 32  # pairs of cells in the same row, a few seconds
_MOST_COPIES = 100  # in a sample, counts are limited to this multiple of the median
_EVERY = (1 << 64) - 1  # the largest hash: a limit that includes every row
_PIECE = 16384  # rows that a thread counts or hashes at a time
_NO_INDEX: NDArray[np.int64] = np.empty(0, np.int64)
_Ints = NDArray[np.int64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STIR_1 = np.uint64(0xBF58476D1CE4E5B9)
_STIR_2 = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class RowPlan:
    """Which rows, and which counts of pairs, to keep in a pass over a table.

    Attributes
    ----------
    n_bins : ndarray of shape (n_features,), int64
    every_row : bool
        Whether to keep all distinct rows, as the cascade needs them.
    highest_hash : int
        The highest hash of the rows in which pairs are counted; 0 means in no row.
    seed : int
    """

    n_bins: _Ints
    every_row: bool
    highest_hash: int = 0
    seed: int = 0

    @property
    def n_codes(self) -> int:
        """Number of codes of all features, including one per feature for missing."""
        return int(self.n_bins.sum()) + len(self.n_bins)

    @property
    def starts(self) -> _Ints:
        """Index of the first code of each feature, shape (n_features,)."""
        before: _Ints = np.cumsum(self.n_bins + 1) - self.n_bins - 1
        return before

    def mark_codes(self, informative: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask of the codes in use: bins, and informative missing cells."""
        used = np.ones(self.n_codes, bool)
        used[(self.starts + self.n_bins)[~informative]] = False
        return used


def plan_rows(matching: str, n_bins: _Ints, n_samples: int, seed: int) -> RowPlan:
    """Plan which rows and counts to keep in the second pass over a table.

    The cascade keeps all distinct rows. The pairwise rule keeps a sample of them, and
    counts pairs of codes: in all rows, in a part of a very large table, or, if there
    are more than `MOST_CODES` codes, in none.

    Parameters
    ----------
    matching : {"pairwise", "cascade"}
    n_bins : ndarray of shape (n_features,), int64
    n_samples : int
        Rows of the whole table.
    seed : int

    Returns
    -------
    RowPlan
    """
    plan = RowPlan(n_bins, matching == "cascade", seed=seed)
    if plan.every_row or plan.n_codes > MOST_CODES:
        return plan
    share = 2 * _MOST_PAIRS / max(1, n_samples * len(n_bins) ** 2)
    return replace(plan, highest_hash=_EVERY if share >= 1 else int(share * _EVERY))


@dataclass(frozen=True)
class RowSummary:
    """Counts and kept rows of a table, or of a part of it.

    Attributes
    ----------
    plan : RowPlan
    n_samples : int
    totals : ndarray of shape (n_codes,), int64
        How often each code occurs, in all rows.
    leaves : ndarray of shape (n_features, MOST_LEAVES), int64
        How often each leaf of a "fine" feature occurs, in all rows; 0 for other
        features.
    pairs : ndarray of shape (n_codes, n_codes), int64
        How often two codes occur in the same row; the line is the code of the earlier
        feature. Of shape (0, 0) if pairs are not counted.
    rows : ndarray of shape (n_kept, n_features), uint8 or uint16
        Distinct rows: all, in lexicographic order, or a sample, in the order of hashes.
    counts : ndarray of shape (n_kept,), int64
        How often each kept row occurs in the table.
    hashes : ndarray of shape (n_kept,), uint64
        Hashes of the rows of a sample.
    sampled : bool
        Whether some distinct rows were not kept.
    """

    plan: RowPlan
    n_samples: int
    totals: _Ints
    leaves: _Ints
    pairs: _Ints
    rows: NDArray[Any]
    counts: _Ints
    hashes: NDArray[np.uint64]
    sampled: bool = False

    @property
    def missing(self) -> _Ints:
        """Number of missing cells of each feature, shape (n_features,)."""
        missing: _Ints = self.totals[self.plan.starts + self.plan.n_bins]
        return missing

    @property
    def kept(self) -> CodedTable:
        """The kept rows, as a table of distinct rows."""
        counts = limit_copies(self.counts, self.sampled)
        return CodedTable(self.rows, counts, _NO_INDEX)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Mask of the kept rows whose pairs were counted, shape (n_kept,)."""
        if not self.plan.highest_hash or not self.sampled:
            return np.ones(len(self.rows), bool)
        return np.asarray(self.hashes <= np.uint64(self.plan.highest_hash))

    @property
    def all_pairs(self) -> _Ints:
        """Counts of pairs; in all rows, if every distinct row was kept."""
        if self.sampled or self.plan.highest_hash in (0, _EVERY):
            return self.pairs
        codes = np.minimum(self.rows, self.plan.n_bins) + self.plan.starts
        row = np.repeat(np.arange(len(codes)), codes.shape[1])
        shape = (len(codes), self.plan.n_codes)
        there = (np.ones(codes.size, np.int64), (row, codes.ravel()))
        weighted = (np.repeat(self.counts, codes.shape[1]), (row, codes.ravel()))
        pairs: _Ints = (
            sp.csr_array(weighted, shape).T @ sp.csr_array(there, shape)
        ).toarray()
        return np.triu(pairs)


def summarize_rows(
    table: Any, binned: Binned, plan: RowPlan, n_threads: int = 1
) -> RowSummary:
    """Summarize a batch: count its codes, and keep rows by a plan.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    binned : Binned
        The bins of all batches.
    plan : RowPlan
    n_threads : int

    Returns
    -------
    RowSummary

    Examples
    --------
    >>> from proximity_kernel._bin_summary import finish_bins, summarize_bins
    >>> table = [[1.0, "a"], [2.0, "b"], [None, "b"], [1.0, "a"]]
    >>> binned = finish_bins(summarize_bins(table), "from_dtype", [2, 2], 255)
    >>> plan = plan_rows("cascade", binned.n_bins, 4, seed=0)
    >>> state = summarize_rows(table, binned, plan)
    >>> state.rows.tolist(), state.counts.tolist(), state.missing.tolist()
    ([[0, 0], [1, 1], [255, 1]], [2, 1, 1], [1, 0])
    """
    columns = read_columns(
        table, categorical_features=binned.categorical_features, fitted=binned.types
    )
    coded = code_columns(columns, binned.bins, n_threads, plan.every_row)
    unknown = (coded.bins == coded.missing - 1).any(axis=0)
    if unknown.any():
        raise ValueError(
            f"{binned.types[int(unknown.argmax())].place} has a value that did not "
            "occur in the first pass over the table; make sure that the second pass "
            "reads the same rows."
        )
    return keep_rows(coded, plan, n_threads)


def keep_rows(coded: CodedTable, plan: RowPlan, n_threads: int) -> RowSummary:
    """Summarize coded rows: count their codes, and keep rows by a plan.

    Parameters
    ----------
    coded : CodedTable
        Missing cells must have the code for missing, and no label may be unknown. If
        the plan keeps every distinct row, the rows of `bins` must be distinct.
    plan : RowPlan
    n_threads : int

    Returns
    -------
    RowSummary
    """
    rows, counts, hashes = coded.bins, coded.counts, np.empty(0, np.uint64)
    if not plan.every_row:
        hashes = np.empty(len(rows), np.uint64)
        run_pieces(
            lambda first, last: hash_rows(
                rows[first:last], np.uint64(plan.seed), hashes[first:last]
            ),
            len(rows), _PIECE, n_threads,
        )  # fmt: skip
    totals, pairs = _count_by_plan(coded, hashes, plan, n_threads)
    n_samples, leaves = int(np.ceil(counts.sum())), _count_leaves(coded, n_threads)
    state = RowSummary(plan, n_samples, totals, leaves, pairs, rows, counts, hashes)
    return state if plan.every_row else _keep_lowest(state)


def merge_rows(a: RowSummary, b: RowSummary) -> RowSummary:
    """Merge the summaries of two parts of a table, in either order.

    Parameters
    ----------
    a, b : RowSummary
        Summaries of the same plan.

    Returns
    -------
    RowSummary
    """
    merged = replace(
        a,
        n_samples=a.n_samples + b.n_samples,
        totals=a.totals + b.totals,
        leaves=a.leaves + b.leaves,
        pairs=a.pairs + b.pairs,
        sampled=a.sampled or b.sampled,
    )
    if a.plan.every_row:
        parts = [(a.rows, a.counts), (b.rows, b.counts)]
        rows, counts = merge_distinct(parts, a.plan.n_bins)
        return replace(merged, rows=rows, counts=counts)
    return _keep_lowest(
        replace(
            merged,
            rows=np.concatenate([a.rows, b.rows]),
            counts=np.concatenate([a.counts, b.counts]),
            hashes=np.concatenate([a.hashes, b.hashes]),
        )
    )


def limit_copies(counts: _Ints, sampled: bool) -> _Ints:
    """Limit the counts of sampled rows, so that a very frequent row does not dominate.

    The counts of a table whose distinct rows are all kept do not change.
    """
    if not sampled:
        return counts
    usual = counts.dtype.type(np.median(counts))
    return np.minimum(counts, _MOST_COPIES * usual)


def _keep_lowest(state: RowSummary) -> RowSummary:
    """Keep the distinct rows of a summary with the lowest hashes, sorted by hash."""
    at, counts, sampled = find_lowest(state.hashes, state.counts, SAMPLE)
    return replace(
        state, rows=state.rows[at], counts=counts, hashes=state.hashes[at],
        sampled=state.sampled or sampled,
    )  # fmt: skip


def find_lowest(
    hashes: NDArray[np.uint64], counts: _Ints, most: int
) -> tuple[_Ints, _Ints, bool]:
    """Find the distinct rows with the lowest hashes, and how often they occur.

    Equal rows have equal hashes; different rows with equal hashes are very unlikely.

    Parameters
    ----------
    hashes : ndarray of shape (n_rows,), uint64
    counts : ndarray of shape (n_rows,), int64 or float64
        The weight of each row.
    most : int
        Maximum number of distinct rows to return.

    Returns
    -------
    at : ndarray of shape (n_found,), int64
        Index of one row for each hash, by ascending hash.
    counts : ndarray of shape (n_found,), int64
    sampled : bool
        Whether there are more distinct rows than were returned.

    Examples
    --------
    >>> hashes = np.array([7, 3, 7, 9], np.uint64)
    >>> at, counts, sampled = find_lowest(hashes, np.ones(4, np.int64), 2)
    >>> at.tolist(), counts.tolist(), sampled
    ([1, 0], [1, 2], True)
    """
    wanted = 2 * most
    while True:
        some = np.arange(len(hashes))
        if wanted < len(hashes):
            highest = np.partition(hashes, wanted)[wanted]
            some = np.flatnonzero(hashes <= highest)
        found, first, which = np.unique(
            hashes[some], return_index=True, return_inverse=True
        )
        if len(found) > most or len(some) == len(hashes):
            break
        wanted *= 4
    totals = np.bincount(which, counts[some], len(found)).astype(counts.dtype)
    return some[first[:most]], totals[:most], len(found) > most


def _count_by_plan(
    coded: CodedTable, hashes: NDArray[np.uint64], plan: RowPlan, n_threads: int
) -> tuple[_Ints, _Ints]:
    """Count the codes of rows, and pairs of codes if the plan asks for pairs."""
    n_codes = plan.n_codes
    if plan.every_row:
        rows = np.minimum(coded.bins, plan.n_bins)  # missing comes after the bins
        totals = count_bins(rows, coded.counts, plan.n_bins + 1)
        return totals, np.zeros((0, 0), np.int64)
    size = n_codes if plan.highest_hash else 0
    # Small counts are faster, but rows with many copies need large ones.
    exact = coded.counts.dtype
    small = exact == np.int64 and coded.counts.sum() <= np.iinfo(np.int32).max
    dtype: Any = np.int32 if small else exact
    free: list[tuple[_Ints, NDArray[Any]]] = []
    made: list[tuple[_Ints, NDArray[Any]]] = []

    def count_some(first: int, last: int) -> None:
        """Count some rows in arrays that no other thread is using."""
        try:
            mine = free.pop()
        except IndexError:
            mine = np.zeros(n_codes, exact), np.zeros((size, size), dtype)
            made.append(mine)
        count_codes(
            coded.bins, coded.counts, hashes, first, last, np.uint64(plan.highest_hash),
            plan.n_bins, plan.starts, np.empty(len(plan.n_bins), np.int64), *mine,
        )  # fmt: skip
        free.append(mine)

    run_pieces(count_some, len(coded.bins), _PIECE, n_threads)
    totals, pairs = np.zeros(n_codes, exact), np.zeros((size, size), exact)
    for own_totals, own_pairs in made:
        totals += own_totals
        pairs += own_pairs
    return totals, pairs


def _count_leaves(coded: CodedTable, n_threads: int) -> _Ints:
    """Count how often each leaf of each feature occurs; 0 if all leaves are bins."""
    shape = coded.bins.shape[1], MOST_LEAVES
    leaves = coded.leaves
    if leaves is None:
        return np.zeros(shape, coded.counts.dtype)
    parts: list[_Ints] = []

    def count_some(first: int, last: int) -> None:
        found = np.zeros(shape, coded.counts.dtype)
        count_leaves(leaves[first:last], coded.counts[first:last], found)
        parts.append(found)

    run_pieces(count_some, len(leaves), _PIECE, n_threads)
    return sum(parts, np.zeros(shape, coded.counts.dtype))


def count_pairs(
    fitted: RowSummary,
    coded: CodedTable,
    informative: NDArray[np.bool_],
    n_threads: int,
) -> PairCounts:
    """Select or compute the counts of codes and pairs for the pairwise rule.

    Parameters
    ----------
    fitted : RowSummary
        The summary of all rows.
    coded : CodedTable
        The rows that the summary keeps, with informative missing cells coded as bins.
    informative : ndarray of shape (n_features,), bool
    n_threads : int

    Returns
    -------
    PairCounts
    """
    plan = fitted.plan
    n_bins = plan.n_bins + informative
    used = plan.mark_codes(informative)
    totals = fitted.totals[used]
    counted = fitted.all_pairs
    if len(counted):
        upper = counted[np.ix_(used, used)]
        pairs = upper + np.triu(upper, 1).T
        counts = PairCounts(n_bins, totals, np.diagonal(pairs).copy(), pairs)
    else:
        counts = count_kept(coded, n_bins, totals, n_threads)
    return replace(counts, informative=informative)


@compiled
def hash_rows(rows: NDArray[Any], seed: Any, hashes: Any) -> None:
    """Write a 64-bit hash of each row of codes.

    Equal rows have equal hashes. Each code is mixed in by the finalizer of splitmix64.
    """
    for i in range(rows.shape[0]):
        h = seed
        for j in range(rows.shape[1]):
            h += _GOLDEN + np.uint64(rows[i, j])
            h = (h ^ (h >> np.uint64(30))) * _STIR_1
            h = (h ^ (h >> np.uint64(27))) * _STIR_2
            h ^= h >> np.uint64(31)
        hashes[i] = h


@compiled
def count_leaves(leaves: NDArray[Any], counts: Any, found: Any) -> None:
    """Add ``counts[r]`` to the count of each leaf of row r."""
    for r in range(leaves.shape[0]):
        for j in range(leaves.shape[1]):
            leaf = np.int64(leaves[r, j])
            if leaf < found.shape[1]:
                found[j, leaf] += counts[r]


@compiled
def count_codes(
    rows: NDArray[Any], counts: Any, hashes: Any, first: int, last: int, limit: Any,
    n_bins: Any, starts: Any, found: Any, totals: Any, pairs: Any,
) -> None:  # fmt: skip
    """Count codes in all rows, and pairs of codes in rows with a hash up to `limit`.

    ``counts[r]`` is the weight of row r. A missing cell is counted as the code after
    the last bin; an unknown category is not counted. If `pairs` is empty, pairs are not
    counted; `found` is scratch memory for a row.
    """
    missing = np.int64(np.iinfo(rows.dtype).max)
    for r in range(first, last):
        n_found, count = 0, counts[r]
        for j in range(rows.shape[1]):
            code = np.int64(rows[r, j])
            if code == missing:
                code = n_bins[j]
            if code <= n_bins[j]:
                totals[starts[j] + code] += count
                found[n_found] = starts[j] + code
                n_found += 1
        if pairs.shape[0] and hashes[r] <= limit:
            for x in range(n_found):
                for y in range(x, n_found):
                    pairs[found[x], found[y]] += count
