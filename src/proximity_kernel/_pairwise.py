"""The pairwise rule: estimates from how often two codes occur in the same row.

``n_ij(a, b)`` is the number of fitted rows with code a in feature i and b in feature j,
``N_ij(b)`` its sum over a, and ``q`` the frequency of a code. The evidence of code a of
feature i for bin b of feature j is ::

    e_ij(a, b) = log [ (n_ij(a, b) + s q_i(a)) / ((N_ij(b) + s) q_i(a)) ]

and a missing cell of feature j is estimated by ::

    P_j(b) ~ q_j(b) exp( sum over observed i of w_ij e_ij(c_i, b) )

This is naive Bayes with tempered evidence: a weight is below 1 because features repeat
each other, and near 0 if feature i tells nothing that the others do not tell. The
smoothing s and the weights are learned (`_pair_weights`).

A code of feature i that has come with one bin b of j in all of N rows, and not by
chance (``N log(1 / q_j(b)) > DECIDES``), decides: the estimate is then ::

    (1 - e) one-hot(b) + e P_j,    e = 1 / (N + 2)

Of several codes of a row that decide, the one with the largest N does, and the first
feature if there is a tie. Smoothing and weights are chosen without this rule.

In a table with very many codes (`MOST_CODES`) pairs are counted in a sample of rows.
Each feature then keeps its most frequent codes and uses only its sources: the features
most related to it (`choose_sources`). How related two features are is measured by
correlations of their codes. A code is written as up to three numbers (polynomials that
are orthogonal under the frequencies), and the squared correlations of these are added.
For up to four codes nothing is lost. The frequencies q_i(a) are those of the sample. A
code decides there only about features all of whose codes are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._coded import CodedTable, Estimates, Part, count_bins, lay_out_cells
from ._compile import compiled, merged
from ._shared.resources import one_blas_thread, run_pieces

MOST_CODES = 2048
"""Most codes of a table, with missing, for which all pairs are counted."""
SMOOTHINGS = (1, 4, 16)
"""Numbers of pseudo-rows to choose the smoothing from."""
MOST_WEIGHT = 1.5
"""The largest weight of a source."""
DECIDES = 14
"""A code decides if chance would do as much once in ``exp(14)``, 1.2 million, times."""
_PIECE = 4096  # rows
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_MOST_EVIDENCE = 1 << 21  # number of entries
_MOST_SOURCES = 32
_FEWEST = 4  # minimum number of sources, and of kept codes
_MOST_CANDIDATES = 4096  # features considered as sources, evenly spaced
_PRODUCTS = 1e10  # multiplications, some tenths of a second
_FEWEST_ROWS, _MOST_NUMBERS = 100, 3
_STEP = 256  # features at a time
_TINY = 1e-12
_Singles = NDArray[np.float32]


@dataclass(frozen=True)
class PairCounts:
    """How often two codes occur together, in the fitted rows or a sample of them.

    Attributes
    ----------
    n_bins : ndarray of shape (n_features,), int64
        Number of codes of each feature, including that of informative missing cells.
    totals : ndarray of shape (total bins,), int64
        How often each code is observed, in all rows.
    marginals : ndarray of shape (total bins,), int64
        How often each code is observed in the rows whose pairs were counted.
    pairs : ndarray, int64
        Of shape (total bins, total bins), symmetric. If `sources` is given, of shape
        (n_features, n_sources, n_kept + 1, n_kept): the number of rows with the
        source's a-th and the feature's b-th kept code. The last a is any other code.
    sources : ndarray of shape (n_features, n_sources), int64, or None
        The features that are evidence for each feature; None means all others.
    kept : ndarray of shape (n_features, n_kept), int64, or None
        The codes of each feature that carry evidence, padded with -1; None means all
        codes.
    """

    n_bins: _Ints
    totals: _Ints
    marginals: _Ints
    pairs: _Ints
    sources: _Ints | None = None
    kept: _Ints | None = None

    @property
    def n_entries(self) -> int:
        """Number of sources of all features together."""
        if self.sources is not None:
            return self.sources.size
        n_features, n_sources = len(self.n_bins), np.count_nonzero(self.n_bins)
        return int(n_features * n_sources - n_sources)


@dataclass(frozen=True)
class Pairwise:
    """The fitted pairwise rule: counts of pairs, smoothing and weights.

    Attributes
    ----------
    counts : PairCounts
    smoothing : int
    weights : ndarray of shape (n_entries,), float64
        The weights w_ij, for each feature j those of its sources i, in the order of
        ``evidence.source``.
    evidence : Evidence
        Computed from the counts and the smoothing.
    deciders : Deciders
        Computed from the counts.
    """

    counts: PairCounts
    smoothing: int
    weights: _Floats
    evidence: Evidence
    deciders: Deciders

    leaves_bins_out = False

    def __reduce__(self) -> Any:
        return restore_pairwise, (self.counts, self.smoothing, self.weights)

    @property
    def weight_table(self) -> sp.csr_array:
        """The weights: row j, column i has w_ij, if i is a source of j."""
        e, n_features = self.evidence, len(self.counts.n_bins)
        return sp.csr_array(
            (self.weights, e.source, e.source_start), (n_features, n_features)
        )

    def measure_evidence(self) -> _Floats:
        """Measure how much each feature tells about each other, in bits.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            Row i, column j: the mean over the counted rows that observe both of the
            weighted evidence of feature i for the row's own bin of feature j.
        """
        n_bins, pairs = self.counts.n_bins, self.counts.pairs
        n_features, e = len(n_bins), self.evidence
        if self.counts.sources is None:
            owner = np.repeat(np.arange(n_features), n_bins)
            entries = (np.ones(len(owner)), (owner, np.arange(len(owner))))
            member = sp.csr_array(entries, shape=(n_features, len(owner)))
            seen = (member @ pairs) @ member.T
            total = (member @ (pairs * e.values.reshape(pairs.shape))) @ member.T
        else:
            target = np.repeat(np.arange(n_features), self.counts.sources.shape[1])
            at = self.counts.sources.ravel(), target
            seen, total = (np.zeros((n_features, n_features)) for _ in range(2))
            seen[at] = pairs.sum(axis=(2, 3)).ravel()
            total[at] = (pairs * e.values.reshape(pairs.shape)).sum(axis=(2, 3)).ravel()
        mean = np.asarray(total) / np.maximum(seen, 1)
        return np.asarray(mean * self.weight_table.T.toarray() / np.log(2))

    def estimate(self, coded: CodedTable, n_threads: int) -> Estimates:
        """Estimate the missing cells of coded rows.

        Parameters
        ----------
        coded : CodedTable
        n_threads : int

        Returns
        -------
        Estimates
        """
        cells = lay_out_cells(coded, self.counts.n_bins)
        row = np.repeat(np.arange(len(coded.bins)), np.diff(cells.row_start))
        n_features = len(self.counts.n_bins)
        room = int(self.evidence.n_places.max(initial=1))

        def estimate_some(first: int, last: int) -> None:
            begin, end = cells.row_start[first], cells.row_start[last]
            feature = cells.feature[begin:end]
            # If the evidence does not fit the caches, go feature after feature.
            wide = self.counts.sources is not None
            order = (
                np.argsort(feature, kind="stable") if wide else np.arange(end - begin)
            )
            estimate_cells(
                coded.bins[first:last], row[begin:end] - first, feature,
                cells.start[begin:end], order, self.evidence, self.weights,
                self.deciders, np.empty((last - first, n_features), np.int64),
                np.empty(room), cells.probabilities,
            )  # fmt: skip

        run_pieces(estimate_some, len(coded.bins), _PIECE, n_threads)
        return cells

    def estimate_features(
        self, rows: NDArray[Any], features: Sequence[int]
    ) -> list[NDArray[np.float64]]:
        """Estimate some features of every row, each from the row's other cells.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features), uint8 or uint16
            Codes. That of a feature is not used in its own estimate.
        features : sequence of int

        Returns
        -------
        list of ndarray of shape (n_rows, n_bins)
            One per entry of `features`.
        """
        n_rows, n_bins = len(rows), self.counts.n_bins[list(features)]
        feature, row = np.divmod(np.arange(len(features) * n_rows), max(1, n_rows))
        offsets = n_rows * (np.cumsum(n_bins) - n_bins)
        out = np.zeros(n_rows * int(n_bins.sum()))
        estimate_cells(
            rows, row, np.array(features, np.int64)[feature],
            offsets[feature] + row * n_bins[feature], np.arange(len(row)),
            self.evidence, self.weights, self.deciders, np.empty(rows.shape, np.int64),
            np.empty(int(self.evidence.n_places.max(initial=1))), out,
        )  # fmt: skip
        parts = np.split(out, offsets[1:])
        return [part.reshape(n_rows, -1) for part in parts[: len(features)]]

    def by_parts(self, coded: CodedTable, n_threads: int) -> Callable[[int, int], Part]:  # noqa: ARG002
        """Estimate each part only when it is needed, to save memory."""

        def estimate_part(first: int, last: int) -> Part:
            some = CodedTable.of_rows(coded.bins[coded.index[first:last]])
            return some.bins, some.index, self.estimate(some, 1)

        return estimate_part


def restore_pairwise(counts: PairCounts, smoothing: int, weights: _Floats) -> Pairwise:
    """Rebuild the pairwise rule from its counts, smoothing and weights."""
    layout = lay_out_evidence(counts)
    evidence, _ = weigh(counts, layout, smoothing)
    deciders = find_deciders(counts, layout)
    return Pairwise(counts, smoothing, weights, evidence, deciders)


def find_places(layout: Evidence, codes: NDArray[Any], other: int = -1) -> _Ints:
    """Look up the places of codes, feature by feature.

    Parameters
    ----------
    layout : Evidence
    codes : ndarray of shape (n_features, n_rows)
    other : int
        The result for a code that has no place.

    Returns
    -------
    ndarray of shape (n_features, n_rows), int64
        -1 for missing cells and unknown categories.
    """
    places = np.where(layout.place < 0, other, layout.place)
    places = np.insert(places, layout.offsets + layout.n_bins, -1)  # past the bins
    starts = layout.offsets + np.arange(len(layout.n_bins))
    found: _Ints = places[starts[:, None] + np.minimum(codes, layout.n_bins[:, None])]
    return found


def lay_out_evidence(counts: PairCounts) -> Evidence:
    """Lay out codes and sources, without the evidence itself."""
    n_bins, totals = counts.n_bins, counts.totals
    n_features, n_codes = len(n_bins), len(totals)
    offsets = np.cumsum(n_bins) - n_bins
    observed = np.add.reduceat(np.append(totals, 0), offsets) * (n_bins > 0)
    prior = totals / np.repeat(np.maximum(observed, 1), n_bins)
    if counts.sources is None or counts.kept is None:
        place = np.arange(n_codes) - np.repeat(offsets, n_bins)
        n_places, stride = n_bins, n_codes
        others = ~np.eye(n_features, dtype=bool)
        target, source = np.nonzero(others & (n_bins > 0))
        base = offsets[source] * n_codes + offsets[target]
    else:
        place = np.full(n_codes, -1)
        feature, at = np.nonzero(counts.kept >= 0)
        place[offsets[feature] + counts.kept[feature, at]] = at
        n_places, stride = (counts.kept >= 0).sum(axis=1), counts.kept.shape[1]
        target = np.repeat(np.arange(n_features), counts.sources.shape[1])
        source = counts.sources.ravel()
        base = np.arange(len(source)) * stride * (stride + 1)
    placed = np.zeros(n_codes)
    owner = np.repeat(np.arange(n_features), n_bins)
    has_place = place >= 0
    placed[offsets[owner[has_place]] + place[has_place]] = prior[has_place]
    left = np.where(has_place, 0, prior)
    rest = np.stack(
        [np.bincount(owner, x, n_features) for x in (left, left**2)],
        axis=1,
        dtype=np.float64,
    )
    return Evidence(
        n_bins=n_bins, offsets=offsets, prior=prior, place=place,
        n_places=n_places, placed=placed, rest=rest,
        source_start=np.searchsorted(target, np.arange(n_features + 1)),
        source=np.ascontiguousarray(source), base=base, stride=int(stride),
        values=np.empty(0),
    )  # fmt: skip


def find_deciders(counts: PairCounts, layout: Evidence) -> Deciders:
    """Find the codes that have always come with one bin of a feature, not by chance.

    Parameters
    ----------
    counts : PairCounts
    layout : Evidence

    Returns
    -------
    Deciders
    """
    n_features = len(counts.n_bins)
    target, source, place, support, decided = _find_lone_bins(counts, layout)
    prior = layout.prior[layout.offsets[target] + decided]
    # Counts that are drawn, or crafted, can have pairs of a bin that never occurs.
    some = (prior > 0) & (-support * np.log(np.where(prior > 0, prior, 1)) > DECIDES)
    pair = (target * n_features + source)[some]
    entry, which = np.unique(pair, return_inverse=True)
    of_target, of_source = np.divmod(entry, max(n_features, 1))
    first = np.zeros(len(entry) + 1, np.int64)
    np.cumsum(layout.n_places[of_source], out=first[1:])
    supports, bins = np.zeros((2, first[-1]), np.int64)
    at = first[which] + place[some]
    supports[at], bins[at] = support[some], decided[some]
    start = np.searchsorted(of_target, np.arange(n_features + 1))
    return Deciders(start, of_source, first[:-1], supports, bins)


def _find_lone_bins(counts: PairCounts, layout: Evidence) -> tuple[_Ints, ...]:
    """Find the codes that have come with one bin of a feature only.

    Returns
    -------
    target, source, place, support, bin : ndarray of shape (n,), int64
        The feature, the other feature, the place of its code, the number of rows, and
        the bin.
    """
    n_bins, pairs = counts.n_bins, counts.pairs
    found: tuple[_Ints, ...]
    if counts.sources is None:
        targets = np.flatnonzero(n_bins)
        owner = np.repeat(np.arange(len(n_bins)), n_bins)
        if not len(targets):
            return (np.empty(0, np.int64),) * 5
        starts = layout.offsets[targets]
        together = np.add.reduceat(pairs, starts, axis=1)
        total = np.add.reduceat(pairs * layout.place, starts, axis=1)
        lone = together == np.maximum.reduceat(pairs, starts, axis=1)
        found = np.nonzero(lone & (together > 0) & (owner[:, None] != targets))
        target, source = targets[found[1]], owner[found[0]]
        place = layout.place[found[0]]
    else:
        pairs = pairs[:, :, :-1]
        together, total = pairs.sum(axis=3), pairs @ np.arange(pairs.shape[3])
        lone = together == pairs.max(axis=3, initial=0)
        whole = layout.n_places == n_bins  # all codes of the feature are kept
        found = np.nonzero(lone & (together > 0) & whole[:, None, None])
        target, source = found[0], counts.sources[found[:2]]
        place = found[2]
    # The sum of bin times rows is that of the one bin.
    bins = np.rint(total[found] / together[found]).astype(np.int64)
    return target, source, place, together[found], bins


def weigh(
    counts: PairCounts, layout: Evidence, smoothing: int, features: _Ints | None = None
) -> tuple[Evidence, _Floats]:
    """Compute the evidence of all pairs, and its values with one row of each less.

    Parameters
    ----------
    counts : PairCounts
    layout : Evidence
    smoothing : int
    features : ndarray of int64, or None
        If pairs are counted with some sources only, compute the evidence for these
        features; the rest is 0. None means all.

    Returns
    -------
    evidence : Evidence
    without : ndarray, float64
        As ``evidence.values``, with one row less.
    """
    n_bins, pairs = counts.n_bins, counts.pairs
    owner = np.repeat(np.arange(len(n_bins)), n_bins)
    seen = np.bincount(owner, counts.marginals, len(n_bins))[owner]
    frequency = counts.marginals / np.maximum(seen, 1)
    if not len(frequency):  # nothing is observed
        return layout._replace(values=np.zeros(pairs.size)), np.zeros(pairs.size)
    if counts.sources is None or counts.kept is None:
        starts = layout.offsets[n_bins > 0]
        by_feature = np.add.reduceat(pairs, starts, axis=0)
        totals = np.repeat(by_feature, n_bins[n_bins > 0], axis=0)
        found = _compare(pairs, totals, frequency[:, None], smoothing)
    else:
        kept = np.where(counts.kept >= 0, layout.offsets[:, None] + counts.kept, 0)
        of_kept = np.where(counts.kept >= 0, frequency[kept], 0)
        some = slice(None) if features is None else features
        of_source = np.pad(of_kept, ((0, 0), (0, 1)))[counts.sources[some]][..., None]
        totals = pairs[some].sum(axis=2, keepdims=True)
        found = _compare(pairs[some], totals, of_source, smoothing)
        if features is not None:
            of_some, found = found, np.zeros((2, *pairs.shape))
            found[:, features] = of_some
    return layout._replace(values=found[0].ravel()), found[1].ravel()


def _compare(n: _Ints, totals: _Ints, frequency: _Floats, smoothing: int) -> _Floats:
    """Log of the frequency of a code among rows of a bin relative to all rows.

    The first of two arrays has all rows, the second one row less.
    """
    usual = np.where(frequency > 0, frequency, 1)
    out = np.empty((2, *n.shape))
    for left_out in (0, 1):
        told = out[left_out]
        np.add(np.maximum(n - left_out, 0), smoothing * usual, out=told)
        told /= (np.maximum(totals - left_out, 0) + smoothing) * usual
        np.log(told, out=told)
        if not frequency.all():
            np.copyto(told, 0.0, where=~(frequency > 0))
    return out


def count_kept(
    coded: CodedTable, n_bins: _Ints, totals: _Ints, n_threads: int
) -> PairCounts:
    """Count the pairs of frequent codes of each feature and of its sources.

    Parameters
    ----------
    coded : CodedTable
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
    marginals = count_bins(coded.bins, coded.counts, n_bins)
    sources = choose_sources(coded, n_bins, marginals, n_sources, n_threads)
    shape = (n_features, n_sources, n_kept + 1, n_kept)
    pairs = np.zeros(shape, coded.counts.dtype)
    counts = PairCounts(n_bins, totals, marginals, pairs, sources, kept)
    places = find_places(lay_out_evidence(counts), coded.bins.T, other=n_kept)

    def count_some(first: int, last: int) -> None:
        count_kept_pairs(places, coded.counts, first, last, sources, pairs)

    run_pieces(count_some, n_features, max(1, n_features // 16), n_threads)
    return counts


def choose_sources(
    coded: CodedTable, n_bins: _Ints, marginals: _Ints, n_sources: int, n_threads: int
) -> _Ints:
    """Choose the sources of each feature: the features most related to it.

    Parameters
    ----------
    coded : CodedTable
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
    n_rows = int(min(len(coded.bins), max(_FEWEST_ROWS, affordable)))
    n_numbers = int(np.clip(np.sqrt(affordable / n_rows), 1, _MOST_NUMBERS))
    numbers = _number_codes(coded, n_bins, marginals, n_numbers, n_rows)
    chosen = np.empty((n_features, n_sources), np.int64)

    def choose_some(first: int, last: int) -> None:
        told = np.zeros((last - first, len(candidates)), np.float32)
        for one in numbers:
            for other in numbers:
                told += (one[first:last] @ other[candidates].T) ** 2
        told[candidates == np.arange(first, last)[:, None]] = -1
        least = np.partition(told, -n_sources, axis=1)[:, -n_sources, None]
        among = told > least
        row, at = np.nonzero(told == least)  # of these, the first that are needed
        needed = n_sources - np.count_nonzero(among, axis=1)
        before = np.arange(len(row)) - np.searchsorted(row, row)
        some = before < needed[row]
        among[row[some], at[some]] = True
        of_row = np.nonzero(among)[1].reshape(last - first, n_sources)
        chosen[first:last] = candidates[of_row]

    with one_blas_thread():
        run_pieces(choose_some, n_features, _STEP, n_threads)
    return chosen


def _number_codes(
    coded: CodedTable, n_bins: _Ints, marginals: _Ints, n_numbers: int, n_rows: int
) -> list[_Singles]:
    """Write codes as numbers: each entry of the list has shape (n_features, n_rows)."""
    offsets = np.cumsum(n_bins) - n_bins
    past = np.minimum(coded.bins[:n_rows].T, n_bins[:, None])
    at = (offsets + np.arange(len(n_bins)))[:, None] + past  # with one more code: none
    weight = np.sqrt(coded.counts[:n_rows])
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


class Evidence(NamedTuple):
    """The evidence of codes for bins, laid out for the loops.

    A place is the position of a bin among those with evidence. The sources of feature j
    are the entries from ``source_start[j]`` up to ``source_start[j + 1]``. For a code
    of the source at entry m, the evidence for the bins of j that have a place begins at
    ``base[m] + place[code] * stride``.
    """

    n_bins: NDArray[np.int64]  # (n_features,)
    offsets: NDArray[np.int64]  # (n_features,) first code of each feature
    prior: NDArray[np.float64]  # (total bins,)
    place: NDArray[np.int64]  # (total bins,) among the feature's codes; -1: no evidence
    n_places: NDArray[np.int64]  # (n_features,)
    placed: NDArray[np.float64]  # (total bins,) the prior again, in order of the places
    rest: NDArray[np.float64]  # (n_features, 2) prior of bins without place, squares
    source_start: NDArray[np.int64]  # (n_features + 1,)
    source: NDArray[np.int64]  # (n_sources,) features
    base: NDArray[np.int64]  # (n_sources,)
    stride: int
    values: NDArray[np.float64]


class Deciders(NamedTuple):
    """The codes that have always come with one bin of a feature, for the loops.

    The features with codes that decide feature j are the entries from ``start[j]`` up
    to ``start[j + 1]``, in ascending order. What a code of the feature at entry t
    decides is at ``first[t]`` plus the place of the code.
    """

    start: NDArray[np.int64]  # (n_features + 1,)
    source: NDArray[np.int64]  # (n_entries,) features
    first: NDArray[np.int64]  # (n_entries,)
    support: NDArray[np.int64]  # in how many rows it came with the bin; 0: decides not
    bins: NDArray[np.int64]  # the bin


@merged
def _largest(e: Evidence, j: int, total: Any) -> float:
    """Find the largest evidence for a bin of j; it is 0 for a bin without a place."""
    largest = -np.inf
    if e.rest[j, 0] > 0:
        largest = 0.0
    for b in range(e.n_places[j]):
        if e.placed[e.offsets[j] + b] > 0:
            largest = max(largest, total[b])
    return largest


@compiled
def count_kept_pairs(
    places: Any, counts: Any, first: int, last: int, source: Any, pairs: Any
) -> None:
    """Count the pairs of each feature j from `first` up to `last` with its sources.

    ``places[j, r]`` is the place of row r's code of feature j. Codes that are not kept
    share the place after the kept ones; -1 stands for no code. ``pairs[j, s, a, b]``
    becomes the number of rows with place a of the s-th source and b of feature j.
    """
    n_kept = pairs.shape[3]
    for j in range(first, last):
        for s in range(source.shape[1]):
            i = source[j, s]
            for r in range(places.shape[1]):
                a, b = places[i, r], places[j, r]
                if a >= 0 and b >= 0 and b < n_kept:
                    pairs[j, s, a, b] += counts[r]


@compiled
def tell_rows(
    codes: NDArray[Any], places: Any, features: Any, most: Any, evidence: Evidence,
    without: Any, rows: Any, owns: Any, logs: Any, told: Any,
) -> None:  # fmt: skip
    """Write what the cells of rows tell about features, relative to the own bin.

    ``codes[j, r]`` is row r's code of feature j and ``places[j, r]`` its place, or -1
    without one. `without` is the evidence without the row itself. The first rows that
    observe ``features[f]``, at most ``most[f]``, are written to ``rows[f]``, which must
    be -1 at the start.

    A row has a slot for each place but that of its own bin, and one for the bins
    without place, if there are any. ``logs[f, slot, x]`` becomes the logarithm of the
    slot's prior relative to that of the own bin; it must be -inf at the start.
    ``told[f, s, slot, x]`` becomes the evidence of source s, less that for the own bin;
    it must be 0. If it has room for one source, it becomes the sum over the sources.
    `owns` is scratch memory for a number of each row.
    """
    e = evidence
    for f in range(features.shape[0]):
        j, n_rows = features[f], 0
        n_places, offset, start = e.n_places[j], e.offsets[j], e.source_start[j]
        shift = 0 if e.rest[j, 0] > 0 else 1
        n_sources = e.source_start[j + 1] - start
        for r in range(codes.shape[1]):
            if n_rows < most[f] and codes[j, r] < e.n_bins[j]:
                rows[f, n_rows] = r
                n_rows += 1
        for x in range(n_rows):
            code = offset + np.int64(codes[j, rows[f, x]])
            own = owns[x] = e.place[code]
            for b in range(n_places):
                if b != own and e.placed[offset + b] > 0:
                    slot = b - shift * (b > own)
                    logs[f, slot, x] = np.log(e.placed[offset + b] / e.prior[code])
            rest = e.rest[j, 0] - (e.prior[code] if own < 0 else 0.0)
            if not shift and rest > 0:
                logs[f, n_places, x] = np.log(rest / e.prior[code])
        for s in range(n_sources):
            i, base = e.source[start + s], e.base[start + s]
            line = told[f, min(s, told.shape[1] - 1)]
            for x in range(n_rows):
                place = places[i, rows[f, x]]
                if place >= 0:
                    place = base + place * e.stride
                    own = owns[x]
                    of_own = without[place + own] if own >= 0 else 0.0
                    for b in range(own):
                        line[b, x] += e.values[place + b] - of_own
                    for b in range(own + 1, n_places):
                        line[b - shift, x] += e.values[place + b] - of_own
                    if not shift:
                        line[n_places, x] -= of_own


@compiled
def estimate_cells(
    rows: NDArray[Any], row: Any, feature: Any, start: Any, order: Any,
    evidence: Evidence, weights: Any, deciders: Deciders, at: Any, total: Any, out: Any,
) -> None:  # fmt: skip
    """Write the distributions of the missing cells of rows, cell after cell in `order`.

    ``weights[m]`` is the weight of the source at entry m of the evidence. `at` and
    `total` are scratch memory for places of codes and for the evidence.
    """
    e = evidence
    for r in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            code = np.int64(rows[r, i])
            at[r, i] = -1
            if code < e.n_bins[i]:
                at[r, i] = e.place[e.offsets[i] + code]
    for cell in order:
        r, j = row[cell], feature[cell]
        n_places, offset = e.n_places[j], e.offsets[j]
        for b in range(n_places):
            total[b] = 0.0
        for m in range(e.source_start[j], e.source_start[j + 1]):
            place = at[r, e.source[m]]
            if place >= 0:
                place = e.base[m] + place * e.stride
                for b in range(n_places):
                    total[b] += weights[m] * e.values[place + b]
        largest = _largest(e, j, total)
        mass = 0.0
        for k in range(e.n_bins[j]):
            share = e.prior[offset + k]
            if share > 0:
                b = e.place[offset + k]
                told = total[b] if b >= 0 else 0.0
                share *= np.exp(told - largest)
            out[start[cell] + k] = share
            mass += share
        support, decided = 0, 0
        for t in range(deciders.start[j], deciders.start[j + 1]):
            place = at[r, deciders.source[t]]
            if place >= 0 and deciders.support[deciders.first[t] + place] > support:
                support = deciders.support[deciders.first[t] + place]
                decided = deciders.bins[deciders.first[t] + place]
        if support > 0:
            mass *= support + 2
        for k in range(e.n_bins[j]):
            out[start[cell] + k] /= mass
        if support > 0:
            out[start[cell] + decided] += 1 - 1 / (support + 2)
