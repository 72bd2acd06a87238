"""Choose the smoothing and the weights of the pairwise rule.

Each observed cell of the scored rows is estimated from the other cells of its row, with
that row taken out of the counts. The smoothing, and a weight that all sources of a
feature have in common, are those with the lowest squared error. Then each source i of
feature j gets its own weight. With the common weight m, at least `FLOOR`, they
minimize ::

    sum over rows of -log P_j(own bin)  +  PULL * mean over i of ((w_ij - m) / m)^2

with ``0 <= w_ij <= MOST_WEIGHT``. This is convex, so there is one answer; it is found
by Newton's method.

The scored rows are the first of a sample that depends on the rows and the seed only. In
wide tables they are fewer; even a dozen improve the weights. A feature with so many
bins and sources that not even these are affordable keeps the common weight.

In the arrays, a slot is a bin other than the row's own (see `tell_rows`). Features are
minimized in batches, which do not depend on the number of threads; nor do the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._coded import CodedTable
from ._pairwise import (
    MOST_WEIGHT,
    SMOOTHINGS,
    Evidence,
    PairCounts,
    Pairwise,
    find_deciders,
    find_places,
    lay_out_evidence,
    tell_rows,
    weigh,
)
from ._shared.resources import one_blas_thread, run_pieces

STEP = 0.05
"""Every common weight is a whole multiple of this step."""
POWERS = (0, 1, 2, 3, 4, 6, 8, 10, 13, 16, 20)
"""The common weights to choose from, in steps."""
FLOOR, PULL = 0.05, 10
"""The least common weight that others are compared with, and the penalty."""
_COARSE_ROWS = 1024  # to choose the smoothing and the common weights
_COARSE_FEATURES = 1024  # whose errors choose the smoothing, evenly spaced
_REFINED_ROWS = 3000  # to learn the weights of sources; more improve them by 0.1 %
_CURVED_ROWS = 1024  # of these, to compute the curvature
_FEWEST_ROWS = 8  # if fewer are affordable, the weights stay the common one
_MOST_SCORED = 1 << 25  # rows x features x sources used to choose common weights
_MOST_REFINED = 1 << 25  # rows x features x sources x bins used to refine them
_MOST_TOLD = 1 << 22  # the same for one feature, which are all in memory
_BATCH = 1 << 18  # the same for a batch of features: what fits in a cache
_HELD = 8  # numbers held for a slot where sources are added up
_DIRECT = 64  # most sources for which the curvature is a matrix
_DIGITS = 9  # digits of errors compared, so that ties are equal on every machine
_MOST_STEPS = 60  # about six are needed
_CLOSE = 1e-5  # a step shorter than this is the last: the next is shorter by far
_NEAR = 0.1  # after a step shorter than this, the curvature is computed again only if
_SLOW = 0.3  # it is not shorter by this factor than the step before
_REMAINING = 1e-4  # share of the squared slope that remains after a step
_ROUNDING = 1e-12  # an increase of the loss by less than this share is no increase
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


class _Scored(NamedTuple):
    """The rows that choices are scored on, feature by feature."""

    codes: NDArray[Any]  # (n_features, n_rows)
    counts: _Ints  # (n_rows,)
    places: _Ints  # (n_features, n_rows)


class _Told(NamedTuple):
    """What rows tell about the features of a batch, relative to their own bins."""

    rows: _Ints  # (n_features, n_rows) padded with -1
    counts: _Floats  # (n_features, n_rows) how often a row counts, 0 for no row
    logs: _Floats  # (n_features, n_slots, n_rows) of the priors of slots
    told: _Floats  # (n_features, n_sources, n_slots, n_rows)


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
    slower = 1 if counts.sources is None else 4  # far apart in memory, many features
    few = _take_rows(
        layout,
        coded,
        _MOST_SCORED // slower // max(1, len(layout.source)),
        _COARSE_ROWS,
    )
    affordable = _count_affordable(layout, _MOST_REFINED // slower)
    # Of these, about the affordable number observe a feature.
    many = _take_rows(layout, coded, 4 * int(affordable.max()), _REFINED_ROWS)
    every = np.arange(len(layout.n_bins))
    some = every[:: -(-len(every) // _COARSE_FEATURES)]
    smoothing, least = 0, np.inf
    for s in SMOOTHINGS:
        told = weigh(counts, layout, s, some if len(some) < len(every) else None)
        errors = np.round(_score(*told, few, some, n_threads), _DIGITS)
        total = round(float(errors.min(axis=0).sum()), _DIGITS)
        if total < least:
            smoothing, least, best, best_errors = s, total, told, errors
    if len(some) < len(every):
        best = weigh(counts, layout, smoothing)
        best_errors = np.round(_score(*best, few, every, n_threads), _DIGITS)
    common = (np.array(POWERS) / POWERS[-1])[np.argmin(best_errors, axis=0)]
    with one_blas_thread():
        weights = _refine(*best, many, common, affordable, n_threads)
    deciders = find_deciders(counts, layout)
    return Pairwise(counts, smoothing, weights, best[0], deciders)


def _take_rows(
    layout: Evidence, coded: CodedTable, affordable: int, most: int
) -> _Scored:
    n_rows = max(1, min(affordable, most))
    codes = np.ascontiguousarray(coded.bins[:n_rows].T)
    return _Scored(codes, coded.counts[:n_rows], find_places(layout, codes))


def _count_affordable(layout: Evidence, most_told: int) -> _Ints:
    """Count the rows that each feature's weights can be learned from."""
    cost = np.diff(layout.source_start) * layout.n_places
    for_all = most_told // max(1, int(cost.sum()))
    affordable: _Ints = np.minimum(for_all, _MOST_TOLD // np.maximum(cost, 1))
    return affordable


def _make_batches(
    evidence: Evidence, most: _Ints, each: bool
) -> Iterator[NDArray[np.int64]]:
    """Group features with equal numbers of slots and sources, if rows are scored.

    `most` is the number of rows, shape (n_features,). `each` is whether what each
    source tells is kept.
    """
    n_sources = np.diff(evidence.source_start)
    kinds = np.stack([_count_slots(evidence), evidence.rest[:, 0] > 0, n_sources])
    for kind in np.unique(kinds, axis=1).T:
        alike = np.flatnonzero((kinds == kind[:, None]).all(axis=0) & (most > 0))
        if kind[0] and kind[2] and len(alike):
            width = kind[2] if each else _HELD
            step = max(1, _BATCH // int(most[alike].max() * kind[0] * width))
            yield from np.split(alike, range(step, len(alike), step))


def _count_slots(evidence: Evidence) -> _Ints:
    """Count the slots of the rows of each feature, shape (n_features,)."""
    beside = np.where(evidence.rest[:, 0] > 0, 1, -1)
    slots: _Ints = np.maximum(evidence.n_places + beside, 0)
    return slots


def _tell(
    evidence: Evidence, without: _Floats, scored: _Scored, features: _Ints,
    most: _Ints, each: bool,
) -> _Told:  # fmt: skip
    """Collect what rows tell about the features of a batch, each source or all."""
    j, n_rows = features[0], int(most.max())
    n_slots = int(_count_slots(evidence)[j])
    n_sources = int(evidence.source_start[j + 1] - evidence.source_start[j])
    rows = np.full((len(features), n_rows), -1)
    logs = np.full((len(features), n_slots, n_rows), -np.inf)
    told = np.zeros((len(features), n_sources if each else 1, n_slots, n_rows))
    tell_rows(
        scored.codes, scored.places, features, most, evidence, without, rows,
        np.empty(n_rows, np.int64), logs, told,
    )  # fmt: skip
    counts = np.where(rows < 0, 0.0, scored.counts[rows])
    return _Told(rows, counts, logs, told)


def _score(
    evidence: Evidence, without: _Floats, scored: _Scored, features: _Ints,
    n_threads: int,
) -> _Floats:  # fmt: skip
    """Add up the squared errors of common weights, shape (n_weights, n_features).

    Only those of some features are computed; the others are 0.
    """
    observed = np.zeros(len(scored.codes), np.int64)
    known = scored.codes[features] < evidence.n_bins[features, None]
    observed[features] = known.sum(axis=1)
    errors = np.zeros((len(POWERS), len(observed)))
    batches = list(_make_batches(evidence, observed, each=False))

    def score_some(first: int, last: int) -> None:
        for own in batches[first:last]:
            tell = _tell(evidence, without, scored, own, observed[own], each=False)
            top = np.maximum(tell.told[:, 0].max(axis=1), 0)
            grow = np.exp(STEP * (tell.told[:, 0] - top[:, None]))
            grow_own, hit = np.exp(-STEP * top), np.ones(top.shape)
            shares, power = np.exp(tell.logs), 0
            spread = _spread(evidence, scored, own, tell.rows)
            for w, wanted in enumerate(POWERS):
                for _ in range(power, wanted):
                    shares *= grow
                    hit *= grow_own
                power = wanted
                missed = shares.sum(axis=1)
                squares = (shares * shares).sum(axis=1)
                squares += (spread - 1) * shares[:, -1] ** 2
                error = (squares + missed**2) / (hit + missed) ** 2
                errors[w, own] = (tell.counts * error).sum(axis=1)

    run_pieces(score_some, len(batches), 1, n_threads)
    return errors


def _spread(
    evidence: Evidence, scored: _Scored, features: _Ints, rows: _Ints
) -> _Floats:
    """Sum the squared shares of the bins in the last slot, (n_features, n_rows)."""
    if not evidence.rest[features[0], 0] > 0:  # it is one bin
        return np.ones(1)
    codes = scored.codes[features[:, None], rows].astype(np.int64)
    at = evidence.offsets[features, None] + np.where(rows < 0, 0, codes)
    own = np.where(evidence.place[at] < 0, evidence.prior[at], 0)
    mass, squares = (evidence.rest[features, k, None] - own ** (k + 1) for k in (0, 1))
    return np.asarray(squares / np.where(mass > 0, mass, 1) ** 2)


def _refine(
    evidence: Evidence, without: _Floats, scored: _Scored, common: _Floats,
    affordable: _Ints, n_threads: int,
) -> _Floats:  # fmt: skip
    """Learn a weight for each source of each feature, shape (n_entries,)."""
    n_sources = np.diff(evidence.source_start)
    observed = (scored.codes < evidence.n_bins[:, None]).sum(axis=1)
    few = (affordable < observed) & (affordable < _FEWEST_ROWS)
    most = np.where(few, 0, np.minimum(affordable, observed))
    center = np.where(few, common, np.maximum(common, FLOOR))
    weights = np.repeat(center, n_sources)
    batches = list(_make_batches(evidence, most, each=True))

    def refine_some(first: int, last: int) -> None:
        for own in batches[first:last]:
            tell = _tell(evidence, without, scored, own, most[own], each=True)
            at = evidence.source_start[own, None] + np.arange(tell.told.shape[1])
            with_bins = evidence.n_bins[evidence.source[at]] > 0
            pull = 2 * PULL / with_bins.sum(axis=1).clip(1) / center[own] ** 2
            weights[at] = _minimize(tell, center[own, None], pull[:, None])

    run_pieces(refine_some, len(batches), 1, n_threads)
    return weights


def _minimize(tell: _Told, center: _Floats, pull: _Floats) -> _Floats:
    """Find the weights of least loss, (n_features, n_sources), by Newton's method.

    A step that would increase the loss is halved. Each feature of the batch takes its
    own steps, and none once it has arrived.
    """
    n_features, n_sources = tell.told.shape[:2]
    own = trial = np.tile(center, n_sources)
    slope = step = np.zeros(own.shape)
    curvature = np.zeros((n_features, n_sources, n_sources if _is_few(tell) else 0))
    reached, far, before = np.full((3, n_features), np.inf)
    part, left = np.ones(n_features), np.ones(n_features, bool)
    for _ in range(_MOST_STEPS):
        loss, rising, shares = _evaluate(tell, trial)
        loss += (pull * (trial - center) ** 2).sum(axis=1) / 2
        better = left & (loss <= reached * (1 + _ROUNDING))
        if better.any():
            at = better[:, None]
            fresh = better & ((far > _NEAR) | (far > _SLOW * before))
            reached, own = np.where(better, loss, reached), np.where(at, trial, own)
            slope = np.where(at, rising + pull * (trial - center), slope)
            held = ((own <= 0) & (slope > 0)) | ((own >= MOST_WEIGHT) & (slope < 0))
            if not _is_few(tell):
                new = _solve_roughly(tell, shares, pull, slope, held)
            else:
                if fresh.any():
                    again = fresh[:, None, None]
                    curvature = np.where(again, _curve(tell, shares, pull), curvature)
                new = _solve(curvature, slope, held)
            step = np.where(at, new, step)
        part = np.where(better, 1, part / 2)
        new = np.clip(own + part[:, None] * step, 0, MOST_WEIGHT)
        before, far = far, np.abs(new - own).max(axis=1)
        trial = np.where(left[:, None], new, trial)
        left &= far >= _CLOSE
        if not left.any():
            break
    return trial


def _is_few(tell: _Told) -> bool:
    """Whether there are so few sources that the curvature is computed as a matrix."""
    return bool(tell.told.shape[1] <= _DIRECT)


def _evaluate(tell: _Told, weights: _Floats) -> tuple[_Floats, _Floats, _Floats]:
    """Compute the loss without the penalty, its slope, and the shares of the slots."""
    flat = tell.told.reshape(*weights.shape, -1)
    scores = tell.logs + (weights[:, None] @ flat).reshape(tell.logs.shape)
    top = np.maximum(scores.max(axis=1), 0)
    shares = np.exp(scores - top[:, None])
    mass = np.exp(-top) + shares.sum(axis=1)
    shares /= mass[:, None]
    loss = (tell.counts * (top + np.log(mass))).sum(axis=1)
    counted = (tell.counts[:, None] * shares).reshape(len(weights), -1, 1)
    return loss, (flat @ counted)[:, :, 0], shares


def _curve(tell: _Told, shares: _Floats, pull: _Floats) -> _Floats:
    """Compute the curvature from the first rows, (n_features, n_sources, n_sources)."""
    told, part = tell.told[..., :_CURVED_ROWS], shares[:, None, :, :_CURVED_ROWS]
    counts = tell.counts[:, :_CURVED_ROWS]
    n_features, n_sources, n_slots, n_rows = told.shape
    mean = (part * told).sum(axis=2)
    apart = np.empty((n_features, n_sources, n_slots + 1, n_rows))
    np.subtract(told, mean[:, :, None], out=apart[:, :, :-1])
    apart[:, :, -1] = mean
    apart[:, :, :-1] *= np.sqrt(counts[:, None, None] * part)
    apart[:, :, -1] *= np.sqrt(counts * (1 - part[:, 0].sum(axis=1)).clip(0))[:, None]
    flat = apart.reshape(n_features, n_sources, -1)
    scale = tell.counts.sum(axis=1) / counts.sum(axis=1)
    curvature: _Floats = flat @ flat.transpose(0, 2, 1) * scale[:, None, None]
    curvature[:, range(n_sources), range(n_sources)] += pull
    return curvature


def _solve(curvature: _Floats, slope: _Floats, held: NDArray[np.bool_]) -> _Floats:
    """Find Newton's steps; weights that are held at a bound stay."""
    matrix = np.where(held[:, :, None] | held[:, None], 0, curvature)
    matrix[:, range(slope.shape[1]), range(slope.shape[1])] += held
    return np.linalg.solve(matrix, np.where(held, 0, -slope)[:, :, None])[:, :, 0]


def _solve_roughly(
    tell: _Told, shares: _Floats, pull: _Floats, slope: _Floats,
    held: NDArray[np.bool_],
) -> _Floats:  # fmt: skip
    """Find about Newton's steps by conjugate gradients, without the curvature.

    They are scaled by its diagonal, less what rows share among slots.
    """
    flat = tell.told.reshape(*slope.shape, -1)
    counted = tell.counts[:, None] * shares
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
