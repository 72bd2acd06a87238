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

In a table with very many codes (`MOST_CODES`) pairs are counted in a sample of rows,
and for each feature only with the features most related to it (`choose_sources`) and
their most frequent codes. The frequencies q_i(a) are then those of the sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._bins.codes import Codes, plain_codes
from .._numba.kernel_loops import (
    POWERS,
    Evidence,
    estimate_cells,
    score_weights,
)
from .._shared.memory import check_memory
from .._shared.threads import run_pieces

MOST_CODES = 2048
"""Most codes of a table, with missing, for which all pairs are counted."""
SMOOTHINGS = (1, 4, 16)
"""Numbers of pseudo-rows to choose the smoothing from."""

_MOST_SCORED = 1 << 27  # rows x features x sources used to choose the weights
_PIECE = 4096  # rows
_DIGITS = 9  # digits of errors compared, so that ties are equal on every machine
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


class Estimates(NamedTuple):
    """The distributions of the missing cells of coded rows.

    Attributes
    ----------
    row_start : ndarray of shape (n_rows + 1,), int64
        The missing cells of row r are those from ``row_start[r]`` up to
        ``row_start[r + 1]``, in the order of their features.
    feature : ndarray of shape (n_cells,), int64
    start : ndarray of shape (n_cells + 1,), int64
        Where each cell's distribution begins in `probabilities`.
    probabilities : ndarray of shape (start[-1],), float64
    """

    row_start: NDArray[np.int64]
    feature: NDArray[np.int64]
    start: NDArray[np.int64]
    probabilities: NDArray[np.float64]

    def of_feature(self, j: int, n_bins: int) -> NDArray[np.float64]:
        """Probabilities of the first bins of feature j, shape (n_cells, n_bins)."""
        starts = self.start[:-1][self.feature == j]
        shares: NDArray[np.float64] = self.probabilities[
            starts[:, None] + np.arange(n_bins)
        ]
        return shares


Part = tuple[NDArray[Any], NDArray[np.int64], Estimates]
"""Coded rows, the index among them of each row of a part, and their estimates."""


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

    def estimate(self, codes: Codes, n_threads: int) -> Estimates:
        """Estimate the missing cells of coded rows.

        Parameters
        ----------
        codes : Codes
        n_threads : int

        Returns
        -------
        Estimates
        """
        cells = lay_out_cells(codes, self.counts.n_bins)
        row = np.repeat(np.arange(len(codes.rows)), np.diff(cells.row_start))
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
                codes.rows[first:last], row[begin:end] - first, feature,
                cells.start[begin:end], order, self.evidence, self.weights,
                np.empty((last - first, n_features), np.int64), np.empty(room),
                cells.probabilities,
            )  # fmt: skip

        run_pieces(estimate_some, len(codes.rows), _PIECE, n_threads)
        return cells

    def by_parts(self, codes: Codes, n_threads: int) -> Callable[[int, int], Part]:  # noqa: ARG002
        """Estimate each part only when it is needed, to save memory."""

        def estimate_part(first: int, last: int) -> Part:
            some = plain_codes(codes.rows[codes.inverse[first:last]])
            return some.rows, some.inverse, self.estimate(some, 1)

        return estimate_part


def lay_out_cells(codes: Codes, n_bins: NDArray[np.int64]) -> Estimates:
    """Allocate the estimates of the missing cells of coded rows."""
    missing = codes.rows == codes.missing
    cells = np.flatnonzero(missing)
    row, feature = np.divmod(cells, missing.shape[1])
    start = np.zeros(len(cells) + 1, np.int64)
    np.cumsum(n_bins[feature], out=start[1:])
    check_memory(8 * int(start[-1]), "The distributions of the missing cells")
    return Estimates(
        row_start=np.searchsorted(row, np.arange(len(missing) + 1)),
        feature=feature,
        start=start,
        probabilities=np.zeros(start[-1]),
    )


def restore_pairwise(counts: PairCounts, smoothing: int, weights: _Floats) -> Pairwise:
    """Build the rule from its counts and the smoothing and weights of a fit."""
    layout = lay_out_evidence(counts)
    values, _ = _weigh(counts, smoothing)
    return Pairwise(counts, smoothing, weights, layout._replace(values=values.ravel()))


def learn_pairwise(counts: PairCounts, rows: Codes, n_threads: int) -> Pairwise:
    """Choose the smoothing and the weights by leaving one row out.

    Parameters
    ----------
    counts : PairCounts
    rows : Codes
        Counted rows, on which the choices are scored.
    n_threads : int

    Returns
    -------
    Pairwise
    """
    layout = lay_out_evidence(counts)
    errors = np.array([_score(counts, layout, s, rows, n_threads) for s in SMOOTHINGS])
    best = int(np.argmin(np.round(errors.min(axis=1).sum(axis=1), _DIGITS)))
    chosen = np.argmin(np.round(errors[best], _DIGITS), axis=0)
    weights = (np.array(POWERS) / POWERS[-1])[chosen]
    return restore_pairwise(counts, SMOOTHINGS[best], weights)


def _score(
    counts: PairCounts, layout: Evidence, smoothing: int, rows: Codes, n_threads: int
) -> _Floats:
    """Add up the squared errors, of shape (n_weights, n_features)."""
    values, without = _weigh(counts, smoothing)
    evidence = layout._replace(values=values.ravel())
    affordable = _MOST_SCORED // max(1, len(layout.source))
    if counts.sources is not None:
        affordable //= 4  # slower, because they are far apart in memory
    n_rows = max(1, min(len(rows.rows), affordable))
    codes = np.ascontiguousarray(rows.rows[:n_rows].T)
    at = find_places(layout, codes) * layout.stride
    n_features, room = len(counts.n_bins), int(layout.n_places.max(initial=1))
    powers, errors = np.array(POWERS), np.zeros((len(POWERS), n_features))

    def score_some(first: int, last: int) -> None:
        score_weights(
            codes, rows.counts, at, first, last, evidence, without.ravel(),
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
