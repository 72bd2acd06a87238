"""Count pairs of codes in a table with very many codes: only the most useful ones.

Each feature keeps its most frequent codes and uses only its sources: the features most
related to it. The pairs are counted in the sample of rows. How related two features are
is measured by correlations of their codes. A code is written as up to three numbers
(polynomials that are orthogonal under the frequencies), and the squared correlations of
these are added. For up to four codes nothing is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bins.codes import Codes
from .._bins.distinct_rows import count_bins
from .._numba.kernel_loops import count_kept_pairs
from .._shared.threads import one_blas_thread, run_pieces
from .pairwise import PairCounts, find_places, lay_out_evidence

_MOST_EVIDENCE = 1 << 21  # number of entries
_MOST_SOURCES = 32
_FEWEST = 4  # minimum number of sources, and of kept codes
_MOST_CANDIDATES = 4096  # features considered as sources, evenly spaced
_PRODUCTS = 1e10  # multiplications, some tenths of a second
_FEWEST_ROWS, _MOST_NUMBERS = 100, 3
_STEP = 256  # features at a time
_TINY = 1e-12
_Ints = NDArray[np.int64]
_Floats = NDArray[np.float32]


def count_kept(
    codes: Codes, n_bins: _Ints, totals: _Ints, n_threads: int
) -> PairCounts:
    """Count the pairs of frequent codes of each feature and of its sources.

    Parameters
    ----------
    codes : Codes
        A sample of the rows.
    n_bins : ndarray of shape (n_features,), int64
    totals : ndarray of shape (total bins,), int64
        How often each code is observed, in all rows.
    n_threads : int

    Returns
    -------
    PairCounts
    """
    n_features = len(n_bins)
    room = int(np.sqrt(_MOST_EVIDENCE / _MOST_SOURCES / n_features))
    n_kept = max(_FEWEST, min(int(n_bins.max()), room))
    n_sources = max(_FEWEST, _MOST_EVIDENCE // (n_features * n_kept**2))
    n_sources = min(n_sources, _MOST_SOURCES, n_features - 1)
    offsets = np.cumsum(n_bins) - n_bins
    kept = np.full((n_features, n_kept), -1)
    for j, size in enumerate(n_bins.tolist()):
        own = totals[offsets[j] : offsets[j] + size]
        most = np.argsort(-own, kind="stable")[:n_kept]
        kept[j, : len(most)] = np.sort(most)
    marginals = count_bins(codes.rows, codes.counts, n_bins)
    sources = choose_sources(codes, n_bins, marginals, n_sources, n_threads)
    pairs = np.zeros((n_features, n_sources, n_kept + 1, n_kept), np.int64)
    counts = PairCounts(n_bins, totals, marginals, pairs, sources, kept)
    places = find_places(lay_out_evidence(counts), codes.rows.T, other=n_kept)

    def count_some(first: int, last: int) -> None:
        count_kept_pairs(places, codes.counts, first, last, sources, pairs)

    run_pieces(count_some, n_features, max(1, n_features // 16), n_threads)
    return counts


def choose_sources(
    codes: Codes, n_bins: _Ints, marginals: _Ints, n_sources: int, n_threads: int
) -> _Ints:
    """Choose the sources of each feature: the features most related to it.

    Parameters
    ----------
    codes : Codes
    n_bins : ndarray of shape (n_features,), int64
    marginals : ndarray of shape (total bins,), int64
        How often each code occurs in `codes`.
    n_sources : int
    n_threads : int

    Returns
    -------
    ndarray of shape (n_features, n_sources), int64
        In ascending order; ties go to the lower feature.
    """
    n_features = len(n_bins)
    candidates = np.arange(0, n_features, -(-n_features // _MOST_CANDIDATES))
    affordable = _PRODUCTS / (n_features * len(candidates))  # rows x numbers squared
    n_rows = int(min(len(codes.rows), max(_FEWEST_ROWS, affordable)))
    n_numbers = int(np.clip(np.sqrt(affordable / n_rows), 1, _MOST_NUMBERS))
    numbers = _number_codes(codes, n_bins, marginals, n_numbers, n_rows)
    chosen = np.empty((n_features, n_sources), np.int64)

    def choose_some(first: int, last: int) -> None:
        told = np.zeros((last - first, len(candidates)), np.float32)
        for one in numbers:
            for other in numbers:
                told += (one[first:last] @ other[candidates].T) ** 2
        told[candidates == np.arange(first, last)[:, None]] = -1
        least = np.partition(told, -n_sources, axis=1)[:, -n_sources]
        for j in range(first, last):
            own = told[j - first]
            above = np.flatnonzero(own > least[j - first])
            equal = np.flatnonzero(own == least[j - first])[: n_sources - len(above)]
            chosen[j] = np.sort(candidates[np.concatenate([above, equal])])

    with one_blas_thread():
        run_pieces(choose_some, n_features, _STEP, n_threads)
    return chosen


def _number_codes(
    codes: Codes, n_bins: _Ints, marginals: _Ints, n_numbers: int, n_rows: int
) -> list[_Floats]:
    """Write codes as numbers: each entry of the list has shape (n_features, n_rows)."""
    offsets = np.cumsum(n_bins) - n_bins
    past = np.minimum(codes.rows[:n_rows].T, n_bins[:, None])
    at = (offsets + np.arange(len(n_bins)))[:, None] + past  # with one more code: none
    weight = np.sqrt(codes.counts[:n_rows])
    return [
        (np.insert(one, offsets + n_bins, 0)[at] * weight).astype(np.float32)
        for one in _orthogonal(n_bins, marginals, n_numbers)
    ]


def _orthogonal(
    n_bins: _Ints, marginals: _Ints, n_numbers: int
) -> list[NDArray[np.float64]]:
    """Make polynomials of the codes, each feature's orthogonal under its counts."""
    owner = np.repeat(np.arange(len(n_bins)), n_bins)
    seen = np.bincount(owner, marginals, len(n_bins))[owner]
    share = marginals / np.maximum(seen, 1)
    first = (np.cumsum(n_bins) - n_bins)[owner]
    position = (np.arange(len(owner)) - first) / np.maximum(n_bins[owner] - 1, 1) - 0.5

    def project(a: NDArray[np.float64], b: NDArray[np.float64]) -> Any:
        return np.bincount(owner, share * a * b, len(n_bins))[owner]

    basis = [np.ones(len(owner))]
    for power in range(1, n_numbers + 1):
        new = position**power
        for known in basis:
            new = new - project(new, known) * known
        size = project(new, new)
        basis.append(np.where(size > _TINY, new / np.sqrt(np.maximum(size, _TINY)), 0))
    return basis[1:]
