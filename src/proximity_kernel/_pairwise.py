"""The pairwise rule: estimates from how often two codes occur in the same row.

``n_ij(a, b)`` is the number of fitted rows with code a in feature i and b in feature j,
``N_ij(b)`` its sum over a, and ``q`` the frequency of a code. The evidence of code a of
feature i for bin b of feature j is ::

    e_ij(a, b) = log [ (n_ij(a, b) + s q_i(a)) / ((N_ij(b) + s) q_i(a)) ]

and a missing cell of feature j is estimated by ::

    P_j(b) ~ q_j(b) exp( sum over observed i of w_ij e_ij(c_i, b) )

This is naive Bayes with tempered evidence: most weights are below 1, because features
repeat each other. A column of noise keeps about the common weight, which does no harm,
because its evidence is near 0. The smoothing s and the weights are learned, as
described at the end.

A code of feature i that has come with one bin b of j in all of N rows, and not by
chance (``N log(1 / q_j(b)) > DECIDES``), decides: the estimate is then ::

    (1 - e) one-hot(b) + e P_j,    e = 1 / (N + 2)

The fact that feature i is observed, whatever its code, decides too, where the rows that
observe both i and j have one bin b of j: who has a number of cigarettes is a smoker.
Then x of the N + x rows may be exceptions, if N is at least 100 x, or 20 and x is 1,
with ``e = (x + 1) / (N + x + 2)``; but a code of which most rows are exceptions does
not decide (see `is_sure`). If several codes or features decide, the smallest e is used;
ties go to the first feature. Smoothing and weights are chosen without this rule.

In a table with very many codes (`MOST_CODES`) pairs are counted in a sample of rows.
Each feature then keeps its most frequent codes and uses only its sources: the features
most related to it (`choose_sources`). How related two features are is measured by
correlations of their codes. A code is mapped to up to three numbers (polynomials that
are orthogonal under the frequencies), and the squared correlations of these numbers are
added up. For up to four codes nothing is lost. The frequencies q_i(a) are those of the
sample. In such a table, a code can decide a feature only if all codes of this feature
are kept.

*Smoothing and weights.* Each observed cell of the scored rows is estimated from the
other cells of its row, with that row taken out of the counts. The smoothing, and one
common weight for all sources of a feature, are chosen by the lowest squared error. Then
each source i of feature j gets its own weight. With the common weight m, at least
`FLOOR`, these weights minimize ::

    sum over rows of -log P_j(own bin)  +  PULL * mean over i of ((w_ij - m) / m)^2

with ``0 <= w_ij <= MOST_WEIGHT``. This is convex, so there is one answer; it is found
by Newton's method.

The scored rows are the first of a sample that depends on the rows and the seed only. In
wide tables fewer rows are scored; even a dozen improve the weights. A feature with so
many bins and sources that fewer than eight rows are affordable keeps the common weight.

In the arrays, a slot is a bin other than the row's (see `write_log_odds`). Weights are
learned for batches of features, which do not depend on the number of threads; nor do
the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._coded import CodedTable, Estimates, Part, allocate_estimates, count_bins
from ._compile import compiled
from ._shared.resources import one_blas_thread, run_pieces

MOST_CODES = 2048
"""Maximum number of codes of a table, missing included, to count all their pairs."""
SMOOTHINGS = (1, 4, 16)
"""Numbers of pseudo-rows to choose the smoothing from."""
MOST_WEIGHT = 1.5
"""The largest weight of a source."""
DECIDES = 14
"""A code decides if N rows fall in one bin by chance with probability < exp(-14)."""
EXCEPTIONS, ONE_OF = 100, 20
"""Minimum number of rows per exception, and with a single exception, to decide."""
_PIECE = 4096  # rows that a thread estimates at a time
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_MOST_EVIDENCE = 1 << 21  # number of entries
_MOST_SOURCES = 32
_FEWEST = 4  # minimum number of sources, and of kept codes
_MOST_CANDIDATES = 4096  # features considered as sources, evenly spaced
_PRODUCTS = 1e10  # multiplications, some tenths of a second
_FEWEST_ROWS, _MOST_NUMBERS = 100, 3
_STEP = 256  # features whose sources are chosen at a time
_TINY = 1e-12
_Singles = NDArray[np.float32]
STEP = 0.05
"""Every common weight is a whole multiple of this step."""
POWERS = (0, 1, 2, 3, 4, 6, 8, 10, 13, 16, 20)
"""The common weights to choose from, in steps."""
FLOOR, PULL = 0.05, 10
"""The lower limit of m, and the factor of the penalty, in the loss above."""
_COARSE_ROWS = 1024  # rows to choose the smoothing and the common weights
_COARSE_FEATURES = 1024  # features whose errors choose the smoothing, evenly spaced
_REFINED_ROWS = 3000  # rows to learn the weights of sources; more rows gain 0.1 %
_CURVED_ROWS = 1024  # rows from which the Hessian is computed
_FEWEST_SCORED = 8  # if fewer rows are affordable, sources keep the common weight
_MOST_SCORED = 1 << 25  # rows x features x sources used to choose common weights
_MOST_REFINED = 1 << 25  # rows x features x sources x bins used to learn weights
_MOST_ODDS = 1 << 22  # rows x sources x bins of one feature, all in memory at once
_BATCH = 1 << 18  # rows x features x sources x bins of a batch, which fits in a cache
_SUMMED = 8  # numbers in memory for a slot where sources are added up
_DIRECT = 64  # maximum number of sources for which the Hessian is stored
_DIGITS = 9  # digits of errors compared, so that ties are equal on every machine
_MOST_STEPS = 60  # about six are needed
_CLOSE = 1e-5  # a step shorter than this is the last step
_NEAR = 0.1  # the Hessian is computed again after a step longer than this,
_SLOW = 0.3  # or longer than this multiple of the step before
_REMAINING = 1e-4  # squared residual, as a share, at which conjugate gradients stop
_ROUNDING = 1e-12  # an increase of the loss by less than this share is rounding


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
    rest: NDArray[np.float64]  # (n_features, 2) sum of prior, prior**2 without place
    source_start: NDArray[np.int64]  # (n_features + 1,)
    source: NDArray[np.int64]  # (n_sources,) features
    base: NDArray[np.int64]  # (n_sources,)
    stride: int
    values: NDArray[np.float64]


class Deciders(NamedTuple):
    """The codes that decide a feature, and the features that do if observed.

    The entries for feature j are those from ``start[j]`` up to ``start[j + 1]``, by
    feature in ascending order, its single codes before the fact that it is observed.
    What a code of the feature at entry t decides is at ``first[t]`` plus its place.
    """

    start: NDArray[np.int64]  # (n_features + 1,)
    source: NDArray[np.int64]  # (n_entries,) features
    entry: NDArray[np.int64]  # (n_entries,) where the source is in the evidence
    first: NDArray[np.int64]  # (n_entries,)
    support: NDArray[Any]  # rows with the code and the bin; 0: it does not decide
    exceptions: NDArray[Any]  # rows with the code and another bin
    bins: NDArray[np.int64]  # the bin that the code decides for
    pairs: NDArray[Any]  # counts of pairs of codes, in the layout of the evidence


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
        The features that are evidence for each feature; None means all other features.
    kept : ndarray of shape (n_features, n_kept), int64, or None
        The codes of each feature that carry evidence, padded with -1; None means all
        codes.
    informative : ndarray of shape (n_features,), bool, or None
        Whether the last code of each feature stands for missing cells; None means no.
    """

    n_bins: _Ints
    totals: _Ints
    marginals: _Ints
    pairs: _Ints
    sources: _Ints | None = None
    kept: _Ints | None = None
    informative: NDArray[np.bool_] | None = None

    @property
    def n_entries(self) -> int:
        """Number of pairs of a feature and a source of this feature."""
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
        The weights w_ij of the sources i of each feature j, in the order of
        ``evidence.source``.
    evidence : Evidence
        Computed from the counts and the smoothing.
    deciders : Deciders
        Computed from the counts.
    derived : dict
        What other modules compute from the rule, once.
    """

    counts: PairCounts
    smoothing: int
    weights: _Floats
    evidence: Evidence
    deciders: Deciders
    derived: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    leaves_bins_out = False

    def __reduce__(self) -> Any:
        return restore_pairwise, (self.counts, self.smoothing, self.weights)

    @property
    def weight_table(self) -> sp.csr_array:
        """Sparse table of the weights: [j, i] weighs source i for feature j."""
        e, n_features = self.evidence, len(self.counts.n_bins)
        return sp.csr_array(
            (self.weights, e.source, e.source_start), (n_features, n_features)
        )

    def measure_evidence(self) -> _Floats:
        """Average the weighted evidence of each feature for all others, in bits.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            Row i, column j: the mean, over the counted rows that observe both, of the
            weighted evidence of feature i for the bin of feature j that the row is in.
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
        cells = allocate_estimates(coded, self.counts.n_bins)
        row = np.repeat(np.arange(len(coded.bins)), np.diff(cells.row_start))
        n_features = len(self.counts.n_bins)
        room = int(self.evidence.n_places.max(initial=1))

        def estimate_some(first: int, last: int) -> None:
            begin, end = cells.row_start[first], cells.row_start[last]
            feature = cells.feature[begin:end]
            # If the evidence does not fit the caches, estimate feature after feature.
            order = np.arange(end - begin)
            if self.counts.sources is not None:
                order = np.argsort(feature, kind="stable")
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
        """Estimate the listed features of every row, each from the row's other cells.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features), uint8 or uint16
            Codes. The code of a feature is not used in its own estimate.
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
        """Return a function that estimates a part when it is called, to save memory."""

        def estimate_part(first: int, last: int) -> Part:
            some = CodedTable.of_rows(coded.bins[coded.index[first:last]])
            return some.bins, some.index, self.estimate(some, 1)

        return estimate_part


def restore_pairwise(counts: PairCounts, smoothing: int, weights: _Floats) -> Pairwise:
    """Rebuild the pairwise rule from its counts, smoothing and weights."""
    layout = lay_out_evidence(counts)
    evidence, _ = compute_evidence(counts, layout, smoothing)
    deciders = find_deciders(counts, layout)
    return Pairwise(counts, smoothing, weights, evidence, deciders)


def find_places(layout: Evidence, codes: NDArray[Any], other: int = -1) -> _Ints:
    """Look up the places of codes in the evidence, feature by feature.

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
    """Compute the index arrays and priors of `Evidence`; its `values` stay empty."""
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


def find_deciders(
    counts: PairCounts, layout: Evidence, *, spare: bool = False
) -> Deciders:
    """Find the codes that decide a feature, and the features that do if observed.

    Parameters
    ----------
    counts : PairCounts
    layout : Evidence
    spare : bool
        Let codes have exceptions, too, and return all that would decide with one
        exception less, for scores with a row left out.

    Returns
    -------
    Deciders
    """
    own = _find_common_bins(counts, layout)
    target = np.repeat(np.arange(len(counts.n_bins)), np.diff(layout.source_start))
    # Counts that are drawn, or crafted, can have pairs of a bin that never occurs.
    prior = layout.prior[layout.offsets[target[own.entry]] + own.bins]
    logs = np.log(np.where(prior > 0, prior, 1))
    if spare:
        sure = (own.others <= 1 + np.maximum(1, own.rows / EXCEPTIONS)) & (
            -own.rows * logs > DECIDES
        )
    else:
        some = np.flatnonzero((own.others == 0) | (own.place < 0))
        sure = np.zeros(len(own.entry), bool)
        sure[some] = is_sure(own.rows[some], own.others[some], logs[some])
    whole = sure & (own.place < 0)
    codes = _list_codes(counts, layout, _Common(*(part[whole] for part in own)), spare)
    single = _Common(*(part[sure & ~whole] for part in own))
    entry, place, bins, rows, others = map(
        np.concatenate, zip(single, codes, strict=True)
    )
    kind = np.repeat([0, 1], [len(single.entry), len(codes.entry)])
    found, which = np.unique(2 * entry + kind, return_inverse=True)
    of_entry = found // 2
    first = np.zeros(len(found) + 1, np.int64)
    np.cumsum(layout.n_places[layout.source[of_entry]], out=first[1:])
    at = first[which] + place
    support, exceptions = np.zeros((2, first[-1]), counts.pairs.dtype)
    decided = np.zeros(first[-1], np.int64)
    support[at], exceptions[at], decided[at] = rows, others, bins
    start = np.searchsorted(of_entry, layout.source_start)
    return Deciders(
        start, layout.source[of_entry], of_entry, first[:-1], support, exceptions,
        decided, np.ascontiguousarray(counts.pairs).ravel(),
    )  # fmt: skip


def is_sure(rows: Any, others: Any, logs: Any) -> Any:
    """Whether it is no chance that so many rows have one bin, with few exceptions.

    Parameters
    ----------
    rows, others : ndarray
        Numbers of rows with the bin, and of exceptions.
    logs : ndarray
        Logarithm of the prior of the bin.
    """
    few = (others == 0) | (rows >= np.where(others > 1, EXCEPTIONS * others, ONE_OF))
    # Any x of N + x rows can be the exceptions: add a bound of the log binomial.
    x = np.maximum(others, _TINY)
    return few & (-rows * logs - others * (1 + np.log((rows + x) / x)) > DECIDES)


class _Common(NamedTuple):
    """The most common bin of a target, for each code of a source and for all codes."""

    entry: _Ints  # where the source is in the evidence
    place: _Ints  # place of the code; -1: all codes of the source, without missing
    bins: _Ints  # the most common bin
    rows: NDArray[Any]  # number of rows with this bin
    others: NDArray[Any]  # number of rows with another bin


def _find_common_bins(counts: PairCounts, layout: Evidence) -> _Common:
    """Find the most common bin of each feature beside each code of its sources."""
    n_bins, pairs = counts.n_bins, counts.pairs
    n_features, place = len(n_bins), np.append(layout.place, -1)
    missing = (
        np.zeros(n_features, bool) if counts.informative is None else counts.informative
    )
    last = np.where(missing, layout.offsets + n_bins - 1, len(layout.place))
    if counts.sources is None:
        targets = np.flatnonzero(n_bins)
        if not len(targets):
            return _Common(*(np.empty(0, np.int64),) * 5)
        starts, n_codes = layout.offsets[targets], len(pairs)
        seen = pairs.copy()
        seen[last[missing]] = 0
        lines = np.concatenate([pairs, np.add.reduceat(seen, starts, axis=0)])
        rows = np.maximum.reduceat(lines, starts, axis=1)
        others = np.add.reduceat(lines, starts, axis=1) - rows
        is_most = lines == np.repeat(rows, n_bins[targets], axis=1)
        first = np.maximum.reduceat(is_most * (n_codes - layout.place), starts, axis=1)
        owner = np.append(np.repeat(np.arange(n_features), n_bins), targets)
        entry = np.zeros((n_features, n_features), np.int64)
        target = np.repeat(np.arange(n_features), np.diff(layout.source_start))
        entry[target, layout.source] = np.arange(len(target))
        at = np.nonzero((rows > 0) & (owner[:, None] != targets))
        places = np.append(layout.place, np.full(len(targets), -1))[at[0]]
        of = entry[targets[at[1]], owner[at[0]]]
        return _Common(of, places, n_codes - first[at], rows[at], others[at])
    n_kept = pairs.shape[3]
    seen = pairs.sum(axis=2)
    without = place[last][counts.sources]
    held = np.nonzero(without >= 0)
    seen[held] -= pairs[*held, without[held]]
    # Whether the missing code is among the others is not known.
    seen[missing[counts.sources] & (without < 0)] = 0
    lines = np.concatenate([pairs[:, :, :-1], seen[:, :, None]], axis=2)
    rows = lines.max(axis=3)
    whole = layout.n_places == n_bins  # all codes of the feature are kept
    at = np.nonzero((rows > 0) & whole[:, None, None])
    some = lines[at]
    places = np.where(at[2] < n_kept, at[2], -1)
    entry = at[0] * counts.sources.shape[1] + at[1]
    others = some.sum(axis=1) - rows[at]
    return _Common(entry, places, some.argmax(axis=1), rows[at], others)


def _list_codes(
    counts: PairCounts, layout: Evidence, found: _Common, spare: bool
) -> _Common:
    """List the codes of features that decide by being observed, without exceptions."""
    out = [_Common(*(np.empty(0, np.int64),) * 5)]
    n_bins, flat = counts.n_bins, counts.pairs.ravel()
    for m, _, b, rows, others in zip(*found, strict=True):
        i = layout.source[m]
        j = np.searchsorted(layout.source_start, m, side="right") - 1
        place = np.arange(layout.n_places[i])
        if counts.informative is not None and counts.informative[i]:
            place = place[place != layout.place[layout.offsets[i] + n_bins[i] - 1]]
        line = layout.base[m] + place[:, None] * layout.stride + np.arange(n_bins[j])
        of_bin = flat[line[:, b]]
        place = place[flat[line].sum(axis=1) - of_bin <= of_bin + spare]
        out.append(_Common(*np.broadcast_arrays(m, place, b, rows, others)))
    return _Common(*map(np.concatenate, zip(*out, strict=True)))


def compute_evidence(
    counts: PairCounts, layout: Evidence, smoothing: int, features: _Ints | None = None
) -> tuple[Evidence, _Floats]:
    """Compute the evidence of all pairs of codes, with and without one row of the pair.

    Parameters
    ----------
    counts : PairCounts
    layout : Evidence
    smoothing : int
    features : ndarray of int64, or None
        If pairs are counted only with some sources: the features for which the evidence
        is computed; it is 0 for other features. None means all.

    Returns
    -------
    evidence : Evidence
    without : ndarray, float64
        As ``evidence.values``, but one row with the code and the bin is not counted.
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
        found = _compute_log_ratios(pairs, totals, frequency[:, None], smoothing)
    else:
        kept = np.where(counts.kept >= 0, layout.offsets[:, None] + counts.kept, 0)
        of_kept = np.where(counts.kept >= 0, frequency[kept], 0)
        some = slice(None) if features is None else features
        of_source = np.pad(of_kept, ((0, 0), (0, 1)))[counts.sources[some]][..., None]
        totals = pairs[some].sum(axis=2, keepdims=True)
        found = _compute_log_ratios(pairs[some], totals, of_source, smoothing)
        if features is not None:
            of_some, found = found, np.zeros((2, *pairs.shape))
            found[:, features] = of_some
    return layout._replace(values=found[0].ravel()), found[1].ravel()


def _compute_log_ratios(
    n: _Ints, totals: _Ints, frequency: _Floats, smoothing: int
) -> _Floats:
    """Compute ``log [P(code | bin) / P(code)]``, smoothed, of shape (2, *n.shape).

    The first of the two arrays counts all rows; the second leaves out one row of each
    pair.
    """
    usual = np.where(frequency > 0, frequency, 1)
    out = np.empty((2, *n.shape))
    for left_out in (0, 1):
        ratio = out[left_out]
        np.add(np.maximum(n - left_out, 0), smoothing * usual, out=ratio)
        ratio /= (np.maximum(totals - left_out, 0) + smoothing) * usual
        np.log(ratio, out=ratio)
        if not frequency.all():
            np.copyto(ratio, 0.0, where=~(frequency > 0))
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
        How often each code occurs in `coded`.
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
    numbers = _map_codes(coded, n_bins, marginals, n_numbers, n_rows)
    chosen = np.empty((n_features, n_sources), np.int64)

    def choose_some(first: int, last: int) -> None:
        related = np.zeros((last - first, len(candidates)), np.float32)
        for one in numbers:
            for other in numbers:
                related += (one[first:last] @ other[candidates].T) ** 2
        related[candidates == np.arange(first, last)[:, None]] = -1
        least = np.partition(related, -n_sources, axis=1)[:, -n_sources, None]
        is_source = related > least
        row, at = np.nonzero(related == least)  # of these ties, take the first
        needed = n_sources - np.count_nonzero(is_source, axis=1)
        before = np.arange(len(row)) - np.searchsorted(row, row)
        some = before < needed[row]
        is_source[row[some], at[some]] = True
        of_row = np.nonzero(is_source)[1].reshape(last - first, n_sources)
        chosen[first:last] = candidates[of_row]

    with one_blas_thread():
        run_pieces(choose_some, n_features, _STEP, n_threads)
    return chosen


def _map_codes(
    coded: CodedTable, n_bins: _Ints, marginals: _Ints, n_numbers: int, n_rows: int
) -> list[_Singles]:
    """Evaluate polynomials of the codes, times the square root of each row's count.

    Returns one array of shape (n_features, n_rows) for each degree.
    """
    offsets = np.cumsum(n_bins) - n_bins
    past = np.minimum(coded.bins[:n_rows].T, n_bins[:, None])
    at = (offsets + np.arange(len(n_bins)))[:, None] + past  # and a code for "none"
    weight = np.sqrt(coded.counts[:n_rows])
    return [
        (np.insert(one, offsets + n_bins, 0)[at] * weight).astype(np.float32)
        for one in _compute_polynomials(n_bins, marginals, n_numbers)
    ]


def _compute_polynomials(
    n_bins: _Ints, marginals: _Ints, n_numbers: int
) -> list[NDArray[np.float64]]:
    """Compute polynomials of the codes, orthonormal under each feature's counts."""
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


# ---------------------------------------------------------------- smoothing and weights


class _Scored(NamedTuple):
    """The rows on which smoothing and weights are scored, one line per feature."""

    codes: NDArray[Any]  # (n_features, n_rows)
    counts: _Ints  # (n_rows,)
    places: _Ints  # (n_features, n_rows)


class _LogOdds(NamedTuple):
    """Log-odds of the slots against the bins of rows, for a batch of features."""

    rows: _Ints  # (n_features, n_rows) padded with -1
    counts: _Floats  # (n_features, n_rows) counts of the rows, 0 for the padding
    prior: _Floats  # (n_features, n_slots, n_rows)
    by_source: _Floats  # (n_features, n_sources, n_slots, n_rows) not weighted


def learn_pairwise(counts: PairCounts, coded: CodedTable, n_threads: int) -> Pairwise:
    """Choose the smoothing and the weights by leave-one-out estimates.

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
    slower = 1 if counts.sources is None else 4  # by scattered reads of memory
    n_coarse = _MOST_SCORED // slower // max(1, len(layout.source))
    few = _take_rows(layout, coded, n_coarse, _COARSE_ROWS)
    affordable = _count_affordable(layout, _MOST_REFINED // slower)
    # Take more rows than are affordable, because not every row observes a feature.
    many = _take_rows(layout, coded, 4 * int(affordable.max()), _REFINED_ROWS)
    every = np.arange(len(layout.n_bins))
    some = every[:: -(-len(every) // _COARSE_FEATURES)]
    smoothing, least = 0, np.inf
    scored = some if len(some) < len(every) else None
    for s in SMOOTHINGS:
        tried = compute_evidence(counts, layout, s, scored)
        errors = np.round(_score_weights(*tried, few, some, n_threads), _DIGITS)
        total = round(float(errors.min(axis=0).sum()), _DIGITS)
        if total < least:
            smoothing, least, best, best_errors = s, total, tried, errors
    if len(some) < len(every):
        best = compute_evidence(counts, layout, smoothing)
        best_errors = np.round(_score_weights(*best, few, every, n_threads), _DIGITS)
    common = (np.array(POWERS) / POWERS[-1])[np.argmin(best_errors, axis=0)]
    with one_blas_thread():
        weights = _learn_weights(*best, many, common, affordable, n_threads)
    deciders = find_deciders(counts, layout)
    return Pairwise(counts, smoothing, weights, best[0], deciders)


def _take_rows(
    layout: Evidence, coded: CodedTable, affordable: int, most: int
) -> _Scored:
    """Take the first rows of a table to score: at most `affordable`, at most `most`."""
    n_rows = max(1, min(affordable, most))
    codes = np.ascontiguousarray(coded.bins[:n_rows].T)
    return _Scored(codes, coded.counts[:n_rows], find_places(layout, codes))


def _count_affordable(layout: Evidence, most_numbers: int) -> _Ints:
    """Compute from how many rows to learn each feature's weights at a limited cost."""
    cost = np.diff(layout.source_start) * layout.n_places
    for_all = most_numbers // max(1, int(cost.sum()))
    return np.asarray(np.minimum(for_all, _MOST_ODDS // np.maximum(cost, 1)))


def _make_batches(
    evidence: Evidence, most: _Ints, each: bool
) -> Iterator[NDArray[np.int64]]:
    """Yield batches of features with equal numbers of slots and sources.

    `most` is the number of rows to score, (n_features,); a feature with 0 is left out.
    `each` is whether the log-odds are kept by source, or summed.
    """
    n_sources = np.diff(evidence.source_start)
    kinds = np.stack([_count_slots(evidence), evidence.rest[:, 0] > 0, n_sources])
    for kind in np.unique(kinds, axis=1).T:
        alike = np.flatnonzero((kinds == kind[:, None]).all(axis=0) & (most > 0))
        if kind[0] and kind[2] and len(alike):
            width = kind[2] if each else _SUMMED
            step = max(1, _BATCH // int(most[alike].max() * kind[0] * width))
            yield from np.split(alike, range(step, len(alike), step))


def _count_slots(evidence: Evidence) -> _Ints:
    """Count the slots of a row in each feature, see `write_log_odds`, (n_features,)."""
    beside = np.where(evidence.rest[:, 0] > 0, 1, -1)
    return np.asarray(np.maximum(evidence.n_places + beside, 0))


def _find_odds(
    evidence: Evidence, without: _Floats, scored: _Scored, features: _Ints,
    most: _Ints, each: bool,
) -> _LogOdds:  # fmt: skip
    """Compute the log-odds for a batch of features, of each source or their sum."""
    j, n_rows = features[0], int(most.max())
    n_slots = int(_count_slots(evidence)[j])
    n_sources = int(evidence.source_start[j + 1] - evidence.source_start[j])
    rows = np.full((len(features), n_rows), -1)
    prior = np.full((len(features), n_slots, n_rows), -np.inf)
    by_source = np.zeros((len(features), n_sources if each else 1, n_slots, n_rows))
    write_log_odds(
        scored.codes, scored.places, features, most, evidence, without, rows,
        np.empty(n_rows, np.int64), prior, by_source,
    )  # fmt: skip
    counts = np.where(rows < 0, 0.0, scored.counts[rows])
    return _LogOdds(rows, counts, prior, by_source)


def _score_weights(
    evidence: Evidence, without: _Floats, scored: _Scored, features: _Ints,
    n_threads: int,
) -> _Floats:  # fmt: skip
    """Sum the Brier scores of the estimates of each feature, for each common weight.

    Returns an array of shape (n_weights, n_features), with 0 for features that are not
    among `features`.
    """
    observed = np.zeros(len(scored.codes), np.int64)
    known = scored.codes[features] < evidence.n_bins[features, None]
    observed[features] = known.sum(axis=1)
    errors = np.zeros((len(POWERS), len(observed)))
    batches = list(_make_batches(evidence, observed, each=False))

    def score_some(first: int, last: int) -> None:
        for own in batches[first:last]:
            odds = _find_odds(evidence, without, scored, own, observed[own], each=False)
            top = np.maximum(odds.by_source[:, 0].max(axis=1), 0)
            grow = np.exp(STEP * (odds.by_source[:, 0] - top[:, None]))
            grow_own, hit = np.exp(-STEP * top), np.ones(top.shape)
            shares, power = np.exp(odds.prior), 0
            spread = _sum_rest_squares(evidence, scored, own, odds.rows)
            for w, wanted in enumerate(POWERS):
                for _ in range(power, wanted):
                    shares *= grow
                    hit *= grow_own
                power = wanted
                missed = shares.sum(axis=1)
                squares = (shares * shares).sum(axis=1)
                squares += (spread - 1) * shares[:, -1] ** 2
                error = (squares + missed**2) / (hit + missed) ** 2
                errors[w, own] = (odds.counts * error).sum(axis=1)

    run_pieces(score_some, len(batches), 1, n_threads)
    return errors


def _sum_rest_squares(
    evidence: Evidence, scored: _Scored, features: _Ints, rows: _Ints
) -> _Floats:
    """Sum the squared conditional probabilities of the bins within the last slot."""
    if not evidence.rest[features[0], 0] > 0:  # the last slot is one bin
        return np.ones(1)
    codes = scored.codes[features[:, None], rows].astype(np.int64)
    at = evidence.offsets[features, None] + np.where(rows < 0, 0, codes)
    own = np.where(evidence.place[at] < 0, evidence.prior[at], 0)
    mass, squares = (evidence.rest[features, k, None] - own ** (k + 1) for k in (0, 1))
    return np.asarray(squares / np.where(mass > 0, mass, 1) ** 2)


def _learn_weights(
    evidence: Evidence, without: _Floats, scored: _Scored, common: _Floats,
    affordable: _Ints, n_threads: int,
) -> _Floats:  # fmt: skip
    """Learn a weight for each source of each feature, shape (n_entries,)."""
    n_sources = np.diff(evidence.source_start)
    observed = (scored.codes < evidence.n_bins[:, None]).sum(axis=1)
    few = (affordable < observed) & (affordable < _FEWEST_SCORED)
    most = np.where(few, 0, np.minimum(affordable, observed))
    center = np.where(few, common, np.maximum(common, FLOOR))
    weights = np.repeat(center, n_sources)
    batches = list(_make_batches(evidence, most, each=True))

    def learn_some(first: int, last: int) -> None:
        for own in batches[first:last]:
            odds = _find_odds(evidence, without, scored, own, most[own], each=True)
            at = evidence.source_start[own, None] + np.arange(odds.by_source.shape[1])
            with_bins = evidence.n_bins[evidence.source[at]] > 0
            pull = 2 * PULL / with_bins.sum(axis=1).clip(1) / center[own] ** 2
            weights[at] = _minimize(odds, center[own, None], pull[:, None])

    run_pieces(learn_some, len(batches), 1, n_threads)
    return weights


def _minimize(odds: _LogOdds, center: _Floats, pull: _Floats) -> _Floats:
    """Find the weights of least loss, (n_features, n_sources), by Newton's method.

    A step that would increase the loss is halved. The features of the batch take
    separate steps, each feature until it has converged.
    """
    n_features, n_sources = odds.by_source.shape[:2]
    few = n_sources <= _DIRECT  # the Hessian is then stored
    own = trial = np.tile(center, n_sources)
    slope = step = np.zeros(own.shape)
    hessian = np.zeros((n_features, n_sources, n_sources if few else 0))
    reached, far, before = np.full((3, n_features), np.inf)
    part, left = np.ones(n_features), np.ones(n_features, bool)
    for _ in range(_MOST_STEPS):
        loss, rising, shares = _evaluate(odds, trial)
        loss += (pull * (trial - center) ** 2).sum(axis=1) / 2
        better = left & (loss <= reached * (1 + _ROUNDING))
        if better.any():
            at = better[:, None]
            fresh = better & ((far > _NEAR) | (far > _SLOW * before))
            reached, own = np.where(better, loss, reached), np.where(at, trial, own)
            slope = np.where(at, rising + pull * (trial - center), slope)
            held = ((own <= 0) & (slope > 0)) | ((own >= MOST_WEIGHT) & (slope < 0))
            if not few:
                new = _solve_iteratively(odds, shares, pull, slope, held)
            else:
                if fresh.any():
                    new = _find_hessian(odds, shares, pull)
                    hessian = np.where(fresh[:, None, None], new, hessian)
                new = _solve(hessian, slope, held)
            step = np.where(at, new, step)
        part = np.where(better, 1, part / 2)
        new = np.clip(own + part[:, None] * step, 0, MOST_WEIGHT)
        before, far = far, np.abs(new - own).max(axis=1)
        trial = np.where(left[:, None], new, trial)
        left &= far >= _CLOSE
        if not left.any():
            break
    return trial


def _evaluate(odds: _LogOdds, weights: _Floats) -> tuple[_Floats, _Floats, _Floats]:
    """Compute the loss without the penalty, its gradient, and slot probabilities."""
    flat = odds.by_source.reshape(*weights.shape, -1)
    scores = odds.prior + (weights[:, None] @ flat).reshape(odds.prior.shape)
    top = np.maximum(scores.max(axis=1), 0)
    shares = np.exp(scores - top[:, None])
    mass = np.exp(-top) + shares.sum(axis=1)
    shares /= mass[:, None]
    loss = (odds.counts * (top + np.log(mass))).sum(axis=1)
    counted = (odds.counts[:, None] * shares).reshape(len(weights), -1, 1)
    return loss, (flat @ counted)[:, :, 0], shares


def _find_hessian(odds: _LogOdds, shares: _Floats, pull: _Floats) -> _Floats:
    """Compute the Hessian from the first rows, (n_features, n_sources, n_sources)."""
    logits, part = odds.by_source[..., :_CURVED_ROWS], shares[:, None, :, :_CURVED_ROWS]
    counts = odds.counts[:, :_CURVED_ROWS]
    n_features, n_sources, n_slots, n_rows = logits.shape
    mean = (part * logits).sum(axis=2)
    apart = np.empty((n_features, n_sources, n_slots + 1, n_rows))
    np.subtract(logits, mean[:, :, None], out=apart[:, :, :-1])
    apart[:, :, -1] = mean
    apart[:, :, :-1] *= np.sqrt(counts[:, None, None] * part)
    apart[:, :, -1] *= np.sqrt(counts * (1 - part[:, 0].sum(axis=1)).clip(0))[:, None]
    flat = apart.reshape(n_features, n_sources, -1)
    scale = odds.counts.sum(axis=1) / counts.sum(axis=1)
    hessian: _Floats = flat @ flat.transpose(0, 2, 1) * scale[:, None, None]
    hessian[:, range(n_sources), range(n_sources)] += pull
    return hessian


def _solve(hessian: _Floats, slope: _Floats, held: NDArray[np.bool_]) -> _Floats:
    """Solve for Newton's steps; weights that are `held` at a bound stay."""
    matrix = np.where(held[:, :, None] | held[:, None], 0, hessian)
    matrix[:, range(slope.shape[1]), range(slope.shape[1])] += held
    return np.linalg.solve(matrix, np.where(held, 0, -slope)[:, :, None])[:, :, 0]


def _solve_iteratively(
    odds: _LogOdds, shares: _Floats, pull: _Floats, slope: _Floats,
    held: NDArray[np.bool_],
) -> _Floats:  # fmt: skip
    """Approximate Newton's steps by conjugate gradients, without storing the Hessian.

    The preconditioner is the Hessian's diagonal, without the term of the squared means.
    """
    flat = odds.by_source.reshape(*slope.shape, -1)
    counted = odds.counts[:, None] * shares
    diagonal = (flat**2 @ counted.reshape(len(flat), -1, 1))[:, :, 0] + pull
    scale = np.where(held, 0, 1 / diagonal)
    step, residual = np.zeros(slope.shape), -slope
    along = scale * residual
    first = size = (along * residual).sum(axis=1)
    for _ in range(slope.shape[1]):
        left = size > _REMAINING * first
        if not left.any():
            break
        moved = (along[:, None] @ flat).reshape(shares.shape)
        moved -= (shares * moved).sum(axis=1, keepdims=True)
        moved *= counted
        product = (flat @ moved.reshape(len(flat), -1, 1))[:, :, 0] + pull * along
        bend = (along * product).sum(axis=1)
        far = np.where(left, size / np.where(bend > 0, bend, 1), 0)[:, None]
        step, residual = step + far * along, residual - far * product
        before, size = size, (scale * residual**2).sum(axis=1)
        turn = np.where(left, size / np.where(before > 0, before, 1), 0)
        along = np.where(left[:, None], scale * residual + turn[:, None] * along, along)
    return step


# ----------------------------------------------------------------------- compiled loops


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
def write_log_odds(
    codes: NDArray[Any], places: Any, features: Any, most: Any, evidence: Evidence,
    without: Any, rows: Any, owns: Any, prior: Any, by_source: Any,
) -> None:  # fmt: skip
    """Write the log-odds of each slot against the bin of the row, prior and by source.

    ``codes[j, r]`` is row r's code of feature j and ``places[j, r]`` its place, or -1
    if it has none. `without` is the evidence without the row itself. The first rows
    that observe ``features[f]``, at most ``most[f]``, are written to ``rows[f]``, which
    must be -1 at the start.

    A row has a slot for each place but that of its bin, and one for the bins without
    place, if there are any. ``prior[f, slot, x]`` becomes the log of the slot's prior
    relative to that of the row's bin; it must be -inf at the start.
    ``by_source[f, s, slot, x]`` becomes the evidence of source s for the slot, less
    that for the row's bin; it must be 0. If it has room for one source, it becomes the
    sum over the sources. `owns` is scratch memory for the place of each row's bin.
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
                    prior[f, slot, x] = np.log(e.placed[offset + b] / e.prior[code])
            rest = e.rest[j, 0] - (e.prior[code] if own < 0 else 0.0)
            if not shift and rest > 0:
                prior[f, n_places, x] = np.log(rest / e.prior[code])
        for s in range(n_sources):
            i, base = e.source[start + s], e.base[start + s]
            line = by_source[f, min(s, by_source.shape[1] - 1)]
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
    """Write the distribution of each missing cell, taking the cells in `order`.

    ``weights[m]`` is the weight of source ``evidence.source[m]``. `at` (places of
    codes) and `total` (sums of evidence) are scratch memory.
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
        # The evidence for a bin without a place is 0.
        largest = 0.0 if e.rest[j, 0] > 0 else -np.inf
        for b in range(n_places):
            if e.placed[offset + b] > 0:
                largest = max(largest, total[b])
        mass = 0.0
        for k in range(e.n_bins[j]):
            share = e.prior[offset + k]
            if share > 0:
                b = e.place[offset + k]
                added = total[b] if b >= 0 else 0.0
                share *= np.exp(added - largest)
            out[start[cell] + k] = share
            mass += share
        least, decided = 1.0, 0  # least becomes 1 / e
        for t in range(deciders.start[j], deciders.start[j + 1]):
            place = at[r, deciders.source[t]]
            where = deciders.first[t] + place
            if place >= 0 and deciders.support[where] > 0:
                others = deciders.exceptions[where]
                size = (deciders.support[where] + others + 2) / (others + 1)
                if size > least:
                    least, decided = size, deciders.bins[where]
        mass *= least
        for k in range(e.n_bins[j]):
            out[start[cell] + k] /= mass
        if least > 1:
            out[start[cell] + decided] += 1 - 1 / least
