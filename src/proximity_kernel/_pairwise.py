"""The pairwise rule: estimates from how often two codes occur in the same row.

``n_ij(a, b)`` is the number of fitted rows with code a in feature i and b in feature j,
``N_ij(b)`` its sum over a, and ``q`` the frequency of a code. The evidence of code a of
feature i for bin b of feature j is ::

    e_ij(a, b) = log [ (n_ij(a, b) + s q_i(a)) / ((N_ij(b) + s) q_i(a)) ]

and a missing cell of feature j is estimated by ::

    P_j(b) ~ q_j(b) exp( w_j  sum over observed i of e_ij(c_i, b) )

This is naive Bayes with tempered evidence: the weight w_j is below 1 because features
repeat each other, and 0 if they are unrelated to j. The weights and the smoothing s are
those that best estimate the cells of the fitted rows, each from the other cells of its
row and from the counts without that row.

In a table with very many codes (`MOST_CODES`) pairs are counted in a sample of rows.
Each feature then keeps its most frequent codes and uses only its sources: the features
most related to it (`choose_sources`). How related two features are is measured by
correlations of their codes. A code is written as up to three numbers (polynomials that
are orthogonal under the frequencies), and the squared correlations of these are added.
For up to four codes nothing is lost. The frequencies q_i(a) are those of the sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._coded import CodedTable, Estimates, Part, count_bins, lay_out_cells
from ._compile import compiled, merged
from ._shared.resources import one_blas_thread, run_pieces

MOST_CODES = 2048
"""Most codes of a table, with missing, for which all pairs are counted."""
SMOOTHINGS = (1, 4, 16)
"""Numbers of pseudo-rows to choose the smoothing from."""
_MOST_SCORED = 1 << 27  # rows x features x sources used to choose the weights
_PIECE = 4096  # rows
_DIGITS = 9  # digits of errors compared, so that ties are equal on every machine
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
STEP = 0.05
"""Every weight is a whole multiple of this step."""
POWERS = (0, 1, 2, 3, 4, 6, 8, 10, 13, 16, 20)
"""The weights to choose from, in steps."""


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


@dataclass(frozen=True)
class Pairwise:
    """The fitted pairwise rule: counts of pairs, smoothing and weights.

    Attributes
    ----------
    counts : PairCounts
    smoothing : int
    weights : ndarray of shape (n_features,), float64
    evidence : Evidence
        Computed from the counts and the smoothing.
    """

    counts: PairCounts
    smoothing: int
    weights: _Floats
    evidence: Evidence

    leaves_bins_out = False

    def __reduce__(self) -> Any:
        return restore_pairwise, (self.counts, self.smoothing, self.weights)

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
                np.empty((last - first, n_features), np.int64), np.empty(room),
                cells.probabilities,
            )  # fmt: skip

        run_pieces(estimate_some, len(coded.bins), _PIECE, n_threads)
        return cells

    def by_parts(self, coded: CodedTable, n_threads: int) -> Callable[[int, int], Part]:  # noqa: ARG002
        """Estimate each part only when it is needed, to save memory."""

        def estimate_part(first: int, last: int) -> Part:
            some = CodedTable.of_rows(coded.bins[coded.index[first:last]])
            return some.bins, some.index, self.estimate(some, 1)

        return estimate_part


def restore_pairwise(counts: PairCounts, smoothing: int, weights: _Floats) -> Pairwise:
    """Build the rule from its counts and the smoothing and weights of a fit."""
    layout = lay_out_evidence(counts)
    values, _ = _weigh(counts, smoothing)
    return Pairwise(counts, smoothing, weights, layout._replace(values=values.ravel()))


def learn_pairwise(counts: PairCounts, coded: CodedTable, n_threads: int) -> Pairwise:
    """Choose the smoothing and the weights by leaving one row out.

    Parameters
    ----------
    counts : PairCounts
    coded : CodedTable
        Counted rows, on which the choices are scored.
    n_threads : int

    Returns
    -------
    Pairwise
    """
    layout = lay_out_evidence(counts)
    errors = np.array([_score(counts, layout, s, coded, n_threads) for s in SMOOTHINGS])
    best = int(np.argmin(np.round(errors.min(axis=1).sum(axis=1), _DIGITS)))
    chosen = np.argmin(np.round(errors[best], _DIGITS), axis=0)
    weights = (np.array(POWERS) / POWERS[-1])[chosen]
    return restore_pairwise(counts, SMOOTHINGS[best], weights)


def _score(
    counts: PairCounts,
    layout: Evidence,
    smoothing: int,
    coded: CodedTable,
    n_threads: int,
) -> _Floats:
    """Add up the squared errors, of shape (n_weights, n_features)."""
    values, without = _weigh(counts, smoothing)
    evidence = layout._replace(values=values.ravel())
    affordable = _MOST_SCORED // max(1, len(layout.source))
    if counts.sources is not None:
        affordable //= 4  # slower, because they are far apart in memory
    n_rows = max(1, min(len(coded.bins), affordable))
    codes = np.ascontiguousarray(coded.bins[:n_rows].T)
    at = find_places(layout, codes) * layout.stride
    n_features, room = len(counts.n_bins), int(layout.n_places.max(initial=1))
    powers, errors = np.array(POWERS), np.zeros((len(POWERS), n_features))

    def score_some(first: int, last: int) -> None:
        score_weights(
            codes, coded.counts, at, first, last, evidence, without.ravel(),
            np.empty((n_rows + 1, room)), powers, errors,
        )  # fmt: skip

    run_pieces(score_some, n_features, max(1, n_features // 64), n_threads)
    return errors


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


def _weigh(counts: PairCounts, smoothing: int) -> tuple[_Floats, _Floats]:
    """Compute the evidence of all pairs, and that with one row of each left out."""
    n_bins, pairs = counts.n_bins, counts.pairs
    owner = np.repeat(np.arange(len(n_bins)), n_bins)
    seen = np.bincount(owner, counts.marginals, len(n_bins))[owner]
    frequency = counts.marginals / np.maximum(seen, 1)
    if not len(frequency):  # nothing is observed
        return np.zeros(pairs.shape), np.zeros(pairs.shape)
    if counts.sources is None or counts.kept is None:
        starts = (np.cumsum(n_bins) - n_bins)[n_bins > 0]
        by_feature = np.add.reduceat(pairs, starts, axis=0)
        totals = np.repeat(by_feature, n_bins[n_bins > 0], axis=0)
        return _compare(pairs, totals, frequency[:, None], smoothing)
    offsets = np.cumsum(n_bins) - n_bins
    of_kept = np.where(counts.kept >= 0, frequency[offsets[:, None] + counts.kept], 0)
    of_source = np.pad(of_kept, ((0, 0), (0, 1)))[counts.sources][..., None]
    return _compare(pairs, pairs.sum(axis=2, keepdims=True), of_source, smoothing)


def _compare(
    n: _Ints, totals: _Ints, frequency: _Floats, smoothing: int
) -> tuple[_Floats, _Floats]:
    """Log of the frequency of a code among rows of a bin relative to all rows."""
    usual = np.where(frequency > 0, frequency, 1)
    out = []
    for left_out in (0, 1):
        with_bin = np.maximum(n - left_out, 0) + smoothing * usual
        expected = (np.maximum(totals - left_out, 0) + smoothing) * usual
        out.append(np.where(frequency > 0, np.log(with_bin / expected), 0.0))
    return out[0], out[1]


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
    pairs = np.zeros((n_features, n_sources, n_kept + 1, n_kept), np.int64)
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
def score_weights(
    codes: NDArray[Any], counts: Any, at: Any, first: int, last: int,
    evidence: Evidence, without: Any, totals: Any, powers: Any, errors: Any,
) -> None:  # fmt: skip
    """Add up the squared error of each weight, estimating every cell as if missing.

    ``errors[w, j]`` becomes the error of feature j, for features from `first` up to
    `last`. ``codes[j, r]`` is row r's code of feature j and ``at[j, r]`` its place
    times the stride, or -1 without a place. `without` is the evidence without the row
    itself. `totals` is scratch memory for the evidence of a feature's cells and one
    estimate.
    """
    e = evidence
    n_rows = codes.shape[1]
    share = totals[n_rows]
    for j in range(first, last):
        n_bins, n_places, offset = e.n_bins[j], e.n_places[j], e.offsets[j]
        totals[:n_rows] = 0.0
        for m in range(e.source_start[j], e.source_start[j + 1]):
            i, base = e.source[m], e.base[m]
            for r in range(n_rows):
                if at[i, r] >= 0 and codes[j, r] < n_bins:
                    own = e.place[offset + np.int64(codes[j, r])]
                    place = base + at[i, r]
                    for b in range(n_places):
                        totals[r, b] += e.values[place + b]
                    if own >= 0:
                        totals[r, own] += without[place + own] - e.values[place + own]
        for r in range(n_rows):
            if codes[j, r] >= n_bins:
                continue
            total, code = totals[r], np.int64(codes[j, r])
            largest = _largest(e, j, total)
            for b in range(n_places):
                share[b] = e.placed[offset + b]
                if share[b] > 0:
                    total[b] = np.exp(STEP * (total[b] - largest))
            step, beside = np.exp(-STEP * largest), 1.0
            power = 0
            for w in range(powers.shape[0]):
                while power < powers[w]:
                    power += 1
                    beside *= step
                    for b in range(n_places):
                        share[b] *= total[b]
                mass = e.rest[j, 0] * beside
                squares = e.rest[j, 1] * beside * beside
                for b in range(n_places):
                    mass += share[b]
                    squares += share[b] * share[b]
                hit = e.prior[offset + code] * beside
                if e.place[offset + code] >= 0:
                    hit = share[e.place[offset + code]]
                error = (squares / mass - 2 * hit) / mass + 1
                errors[w, j] += counts[r] * error


@compiled
def estimate_cells(
    rows: NDArray[Any], row: Any, feature: Any, start: Any, order: Any,
    evidence: Evidence, weights: Any, at: Any, total: Any, out: Any,
) -> None:  # fmt: skip
    """Write the distributions of the missing cells of rows, cell after cell in `order`.

    `at` and `total` are scratch memory for places of codes and for the evidence.
    """
    e = evidence
    for r in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            code = np.int64(rows[r, i])
            at[r, i] = -1
            if code < e.n_bins[i]:
                at[r, i] = max(e.place[e.offsets[i] + code] * e.stride, -1)
    for cell in order:
        r, j = row[cell], feature[cell]
        n_places, offset = e.n_places[j], e.offsets[j]
        for b in range(n_places):
            total[b] = 0.0
        for m in range(e.source_start[j], e.source_start[j + 1]):
            place = at[r, e.source[m]]
            if place >= 0:
                for b in range(n_places):
                    total[b] += e.values[e.base[m] + place + b]
        largest = _largest(e, j, total)
        mass = 0.0
        for k in range(e.n_bins[j]):
            share = e.prior[offset + k]
            if share > 0:
                b = e.place[offset + k]
                told = total[b] if b >= 0 else 0.0
                share *= np.exp(weights[j] * (told - largest))
            out[start[cell] + k] = share
            mass += share
        for k in range(e.n_bins[j]):
            out[start[cell] + k] /= mass
