"""Choose the smoothing and the weights of the pairwise rule.

Each observed cell of the scored rows is estimated from the other cells of its row, with
that row taken out of the counts. The smoothing, and a weight that all sources of a
feature have in common, are those with the lowest squared error. Then each source gets
its own weight: those with the largest likelihood, less a penalty for differing from the
common one. This is convex, so there is one answer.

The scored rows are the first of a sample that depends on the rows and the seed only.
In wide tables they are fewer; even a dozen improve the weights. A feature with so many
bins and sources that not even these are affordable keeps the common weight.

The likelihood is maximized by Newton's method within bounds. What the cells of rows
tell about j is written out first, in blocks of rows, so that the long loops run over
adjacent numbers.
A row has a slot for each bin of j except its own. What is told about a bin is relative
to the own bin, whose score is therefore 0. Bins without a place share one more slot.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._coded import CodedTable
from ._compile import compiled, merged, reordered
from ._pairwise import (
    MOST_WEIGHT,
    SMOOTHINGS,
    Evidence,
    PairCounts,
    Pairwise,
    find_deciders,
    find_places,
    lay_out_evidence,
    weigh,
)
from ._shared.resources import run_pieces

_COARSE_ROWS = 1024  # to choose the smoothing and the common weights
_REFINED_ROWS = 3000  # to learn the weights of sources; more improve them by 0.1 %
_MOST_SCORED = 1 << 27  # rows x features x sources used to choose common weights
_MOST_REFINED = 1 << 25  # rows x features x sources x bins used to refine them
_MOST_TOLD = 1 << 22  # the same for one feature, which are all in memory
_FEWEST_ROWS = 8  # if fewer are affordable, the weights stay the common one
_DIGITS = 9  # digits of errors compared, so that ties are equal on every machine
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
BLOCK = 256
"""Most rows of a block."""
CURVED = 4
"""Most blocks from which the curvature is computed as a matrix."""
DIRECT = 64
"""Most sources for which the curvature is a matrix."""
STEP = 0.05
"""Every common weight is a whole multiple of this step."""
POWERS = (0, 1, 2, 3, 4, 6, 8, 10, 13, 16, 20)
"""The common weights to choose from, in steps."""
FLOOR, MOST, PULL = 0.05, MOST_WEIGHT, 10.0
"""The least common weight to compare with, the largest weight, and the penalty."""
_MOST_STEPS = 100  # about six are needed
_CLOSE = 1e-5  # a step shorter than this is the last: the next is shorter by far
_NEAR = 0.1  # after a step shorter than this, the curvature is not computed again
_EXACT, _ROUGH = 1e-16, 1e-4  # remaining share of the squared slope in a step
_ROUNDING = 1e-12  # an increase of the loss by less than this share is no increase


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
    affordable = _MOST_SCORED // max(1, len(layout.source))
    if counts.sources is not None:
        affordable //= 4  # slower, because they are far apart in memory
    few = _take_rows(layout, coded, min(_COARSE_ROWS, affordable))
    many = _take_rows(layout, coded, min(_REFINED_ROWS, affordable))
    smoothing, least, common = 0, np.inf, np.empty(0)
    for s in SMOOTHINGS:
        told = weigh(counts, layout, s)
        errors = np.round(_score(*told, few, n_threads), _DIGITS)
        total = round(float(errors.min(axis=0).sum()), _DIGITS)
        if total < least:
            common = (np.array(POWERS) / POWERS[-1])[np.argmin(errors, axis=0)]
            smoothing, least, best = s, total, told
    weights = _refine(*best, many, common, n_threads)
    deciders = find_deciders(counts, layout)
    return Pairwise(counts, smoothing, weights, best[0], deciders)


class _Scored(NamedTuple):
    """The rows that choices are scored on, feature by feature."""

    codes: NDArray[Any]  # (n_features, n_rows)
    counts: _Ints  # (n_rows,)
    places: _Ints  # (n_features, n_rows)


def _take_rows(layout: Evidence, coded: CodedTable, most: int) -> _Scored:
    codes = np.ascontiguousarray(coded.bins[: max(1, most)].T)
    return _Scored(codes, coded.counts[: max(1, most)], find_places(layout, codes))


def _score(
    evidence: Evidence, without: _Floats, scored: _Scored, n_threads: int
) -> _Floats:
    """Add up the squared errors, of shape (n_weights, n_features)."""
    n_features, n_rows = scored.codes.shape
    size = min(n_rows, BLOCK)
    lines = 2 * int(evidence.n_places.max(initial=1)) + len(POWERS) + 5
    powers, errors = np.array(POWERS), np.zeros((len(POWERS), n_features))

    def score_some(first: int, last: int) -> None:
        score_weights(
            *scored, first, last, evidence, without, powers,
            np.empty(n_rows, np.int64), np.empty((lines, size)), errors,
        )  # fmt: skip

    run_pieces(score_some, n_features, max(1, n_features // 64), n_threads)
    return errors


def _refine(
    evidence: Evidence,
    without: _Floats,
    scored: _Scored,
    common: _Floats,
    n_threads: int,
) -> _Floats:
    """Learn a weight for each source of each feature, shape (n_entries,)."""
    n_sources = np.diff(evidence.source_start)
    width = (n_sources + 2) * (evidence.n_places + 2)
    observed = (scored.codes < evidence.n_bins[:, None]).sum(axis=1)
    cost = n_sources * evidence.n_places
    affordable = np.minimum(_MOST_REFINED // max(1, cost.sum()), _MOST_TOLD // width)
    few = (affordable < observed) & (affordable < _FEWEST_ROWS)
    most = np.where(few, 0, np.minimum(affordable, observed))
    weights = np.repeat(np.where(few, common, np.maximum(common, FLOOR)), n_sources)

    def refine_some(first: int, last: int) -> None:
        largest = int(n_sources[first:last].max())
        n_rows = int(most[first:last].max())
        size = np.clip(most, 1, BLOCK)
        told = int((width * -(-most // size) * size)[first:last].max())
        line = int(evidence.n_places[first:last].max() + 2) * BLOCK
        room = Room(
            np.empty(n_rows, np.int64), np.empty(told), np.empty(line),
            np.empty((min(largest, DIRECT),) * 2), np.empty((8, largest)),
        )  # fmt: skip
        refine_weights(
            *scored, first, last, evidence, without, common, most, room, weights
        )

    n_features = len(n_sources)
    run_pieces(refine_some, n_features, max(1, n_features // 64), n_threads)
    return weights


class Room(NamedTuple):
    """Memory for learning the weights of one feature after another.

    A block has lines of (slots + 1) * rows numbers, in the order of slots, then rows.
    The first line has the logarithms of the priors, the second the shares of the slots,
    and the others what each source tells. Behind the slots come, for each row, its
    count, nothing, and the source's sum over the slots weighted by their shares.
    """

    seen: NDArray[np.int64]  # (n_rows,) which rows observe the feature
    told: NDArray[np.float64]  # blocks of lines
    line: NDArray[np.float64]  # a line
    curvature: NDArray[np.float64]  # (n_sources, n_sources)
    vectors: NDArray[np.float64]  # (8, n_sources) weights, trial, slope, step, others


@merged
def _find_seen(codes: NDArray[Any], j: int, n_bins: int, most: int, seen: Any) -> Any:
    """List the first rows that observe feature j, at most so many; count them."""
    n_seen = 0
    for r in range(codes.shape[1]):
        if codes[j, r] < n_bins and n_seen < most:
            seen[n_seen] = r
            n_seen += 1
    return n_seen


@compiled
def score_weights(
    codes: NDArray[Any], counts: Any, places: Any, first: int, last: int,
    evidence: Evidence, without: Any, powers: Any, seen: Any, lines: Any, errors: Any,
) -> None:  # fmt: skip
    """Add up the squared error of each weight, estimating every cell as if missing.

    ``errors[w, j]`` becomes the error of feature j, for features from `first` up to
    `last`. ``codes[j, r]`` is row r's code of feature j and ``places[j, r]`` its place,
    or -1 without one. `without` is the evidence without the row itself. `seen` and
    `lines` are scratch memory.
    """
    e, n_powers, size = evidence, powers.shape[0], lines.shape[1]
    for j in range(first, last):
        n_places, offset = e.n_places[j], e.offsets[j]
        grow, share = lines[:n_places], lines[n_places : 2 * n_places]
        mass, squares = lines[2 * n_places], lines[2 * n_places + 1]
        beside, step = lines[2 * n_places + 2], lines[2 * n_places + 3]
        usual = lines[2 * n_places + 4]
        error = lines[2 * n_places + 5 : 2 * n_places + 5 + n_powers]
        error[:] = 0.0
        n_seen = _find_seen(codes, j, e.n_bins[j], codes.shape[1], seen)
        for begin in range(0, n_seen, size):
            n = min(size, n_seen - begin)
            grow[:] = 0.0
            for m in range(e.source_start[j], e.source_start[j + 1]):
                i, base = e.source[m], e.base[m]
                for x in range(n):
                    r = seen[begin + x]
                    if places[i, r] >= 0:
                        place = base + places[i, r] * e.stride
                        own = e.place[offset + np.int64(codes[j, r])]
                        for b in range(n_places):
                            grow[b, x] += e.values[place + b]
                        if own >= 0:
                            grow[own, x] += without[place + own] - e.values[place + own]
            for x in range(n):
                largest = 0.0 if e.rest[j, 0] > 0 else -np.inf
                for b in range(n_places):
                    share[b, x] = e.placed[offset + b]
                    if share[b, x] > 0:
                        largest = max(largest, grow[b, x])
                for b in range(n_places):
                    if share[b, x] > 0:
                        grow[b, x] = np.exp(STEP * (grow[b, x] - largest))
                    else:
                        grow[b, x] = 0.0
                step[x], beside[x] = np.exp(-STEP * largest), 1.0
            power = 0
            for w in range(n_powers):
                while power < powers[w]:
                    power += 1
                    for x in range(n):
                        beside[x] *= step[x]
                    for b in range(n_places):
                        for x in range(n):
                            share[b, x] *= grow[b, x]
                for x in range(n):
                    mass[x] = e.rest[j, 0] * beside[x]
                    squares[x] = e.rest[j, 1] * beside[x] * beside[x]
                for b in range(n_places):
                    for x in range(n):
                        mass[x] += share[b, x]
                        squares[x] += share[b, x] * share[b, x]
                for x in range(n):
                    r = seen[begin + x]
                    code = offset + np.int64(codes[j, r])
                    hit = e.prior[code] * beside[x]
                    if e.place[code] >= 0:
                        hit = share[e.place[code], x]
                    usual[x] = (squares[x] / mass[x] - 2 * hit) / mass[x] + 1
                    error[w, x] += counts[r] * usual[x]
        for w in range(n_powers):
            errors[w, j] = np.sum(error[w])


@reordered
def _dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Sum the products of two vectors."""
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@merged
def _write_block(
    e: Evidence, j: int, codes: NDArray[Any], counts: Any, places: Any, without: Any,
    seen: Any, block: Any, size: int, n_slots: int,
) -> None:  # fmt: skip
    """Write priors, counts and evidence of the rows `seen`; others are blank."""
    n_places, offset, start = e.n_places[j], e.offsets[j], e.source_start[j]
    items = n_slots * size
    apart = 0 if e.rest[j, 0] > 0 else 1
    for k in range(block.shape[0]):
        block[k] = -np.inf if k < items else 0.0
    for x in range(seen.shape[0]):
        code = offset + np.int64(codes[j, seen[x]])
        own = e.place[code]
        block[items + x] = counts[seen[x]]
        for b in range(n_places):
            prior = e.placed[offset + b]
            if b != own and prior > 0:
                slot = b - apart * (b > own)
                block[slot * size + x] = np.log(prior / e.prior[code])
        if not apart:
            prior = e.rest[j, 0] - (e.prior[code] if own < 0 else 0.0)
            if prior > 0:
                block[n_places * size + x] = np.log(prior / e.prior[code])
    for s in range(e.source_start[j + 1] - start):
        i, base = e.source[start + s], e.base[start + s]
        line = block[(s + 2) * (items + size) : (s + 3) * (items + size)]
        for x in range(seen.shape[0]):
            place = places[i, seen[x]]
            if place >= 0:
                place = base + place * e.stride
                own = e.place[offset + np.int64(codes[j, seen[x]])]
                of_own = without[place + own] if own >= 0 else 0.0
                for b in range(n_places):  # the own bin is overwritten by the next
                    slot = b - apart * (b > own)
                    line[slot * size + x] = e.values[place + b] - of_own
                if not apart:
                    line[n_places * size + x] = -of_own


@merged
def _evaluate_block(block: Any, weights: Any, slope: Any, size: int, items: int) -> Any:
    """Compute the shares of a block, add to the slope, and return the loss."""
    width, loss = items + size, 0.0
    share, logs = block[width : width + items], block[:items]
    for k in range(items):
        share[k] = logs[k]
    for s in range(weights.shape[0]):
        line = block[(s + 2) * width : (s + 2) * width + items]
        weight = weights[s]
        for k in range(items):
            share[k] += weight * line[k]
    for x in range(size):
        largest = 0.0
        for k in range(x, items, size):
            largest = max(largest, share[k])
        mass = np.exp(-largest)
        for k in range(x, items, size):
            share[k] = np.exp(share[k] - largest)
            mass += share[k]
        count = block[items + x]
        loss += count * (largest + np.log(mass))
        for k in range(x, items, size):
            share[k] *= count / mass
    for s in range(weights.shape[0]):
        slope[s] += _dot(share, block[(s + 2) * width : (s + 2) * width + items])
    return loss


@merged
def _curve(
    room: Room, n_sources: int, pull: float, n_blocks: int, size: int, items: int
) -> None:
    """Compute the curvature from the shares of the first blocks."""
    curvature, width = room.curvature, items + size
    for s in range(n_sources):
        curvature[s, :n_sources] = 0.0
    for b in range(min(n_blocks, CURVED)):
        block = room.told[
            b * (n_sources + 2) * width : (b + 1) * (n_sources + 2) * width
        ]
        share, held = block[width : width + items], room.line[:width]
        for s in range(n_sources):
            own = block[(s + 2) * width : (s + 3) * width]
            for x in range(size):
                total = 0.0
                for k in range(x, items, size):
                    total += share[k] * own[k]
                own[items + x] = total
                held[items + x] = -total / max(block[items + x], 1.0)
            for k in range(items):
                held[k] = share[k] * own[k]
            for t in range(s + 1):
                line = block[(t + 2) * width : (t + 3) * width]
                curvature[s, t] += _dot(held, line)
    for s in range(n_sources):
        for t in range(s + 1):
            curvature[s, t] *= max(1.0, n_blocks / CURVED)
            curvature[t, s] = curvature[s, t]
        curvature[s, s] += pull


@merged
def _curve_diagonal(block: Any, own: Any, size: int, items: int) -> None:
    """Add the diagonal of the curvature of a block whose shares are computed."""
    width = items + size
    share = block[width : width + items]
    for s in range(own.shape[0]):
        line = block[(s + 2) * width : (s + 2) * width + items]
        for x in range(size):
            total, square = 0.0, 0.0
            for k in range(x, items, size):
                total += share[k] * line[k]
                square += share[k] * line[k] * line[k]
            own[s] += square - total * total / max(block[items + x], 1.0)


@merged
def _multiply_block(
    block: Any, line: Any, vector: Any, product: Any, size: int, items: int
) -> None:
    """Add the product of the curvature of a block and a vector."""
    width = items + size
    share, along = block[width : width + items], line[:items]
    along[:] = 0.0
    for s in range(vector.shape[0]):
        told, part = block[(s + 2) * width : (s + 2) * width + items], vector[s]
        for k in range(items):
            along[k] += part * told[k]
    for x in range(size):
        mean = 0.0
        for k in range(x, items, size):
            mean += share[k] * along[k]
        mean /= max(block[items + x], 1.0)
        for k in range(x, items, size):
            along[k] = share[k] * (along[k] - mean)
    for s in range(vector.shape[0]):
        product[s] += _dot(along, block[(s + 2) * width : (s + 2) * width + items])


@merged
def _find_step(
    room: Room, n_sources: int, pull: float, n_blocks: int, size: int, items: int
) -> None:
    """Find Newton's step by conjugate gradients; weights pressed to a bound stay.

    With few sources the curvature is a matrix; with many it is multiplied block after
    block, and only its diagonal, by which the slope is scaled, is computed.
    """
    few, width = n_sources <= DIRECT, items + size
    own, slope = room.vectors[0, :n_sources], room.vectors[2, :n_sources]
    step, residual = room.vectors[3, :n_sources], room.vectors[4, :n_sources]
    along, product = room.vectors[5, :n_sources], room.vectors[6, :n_sources]
    scale, length = room.vectors[7, :n_sources], (n_sources + 2) * width
    if few:
        for s in range(n_sources):
            scale[s] = room.curvature[s, s]
    else:
        scale[:] = pull
        for b in range(n_blocks):
            block = room.told[b * length : (b + 1) * length]
            _curve_diagonal(block, scale, size, items)
    first = 0.0
    for s in range(n_sources):
        held = (own[s] <= 0 and slope[s] > 0) or (own[s] >= MOST and slope[s] < 0)
        scale[s] = 0.0 if held else 1 / scale[s]
        step[s], residual[s] = 0.0, -slope[s]
        along[s] = scale[s] * residual[s]
        first += along[s] * residual[s]
    size_now = first
    for _ in range(2 * n_sources):
        if size_now <= (_EXACT if few else _ROUGH) * first:
            break
        if few:
            for s in range(n_sources):
                product[s] = _dot(room.curvature[s, :n_sources], along)
        else:
            for s in range(n_sources):
                product[s] = pull * along[s]
            for b in range(n_blocks):
                block = room.told[b * length : (b + 1) * length]
                _multiply_block(block, room.line, along, product, size, items)
        far = size_now / _dot(along, product)
        size_next = 0.0
        for s in range(n_sources):
            step[s] += far * along[s]
            residual[s] -= far * product[s]
            size_next += scale[s] * residual[s] * residual[s]
        for s in range(n_sources):
            along[s] = scale[s] * residual[s] + size_next / size_now * along[s]
        size_now = size_next


@compiled
def refine_weights(
    codes: NDArray[Any], counts: Any, places: Any, first: int, last: int,
    evidence: Evidence, without: Any, common: Any, most_rows: Any, room: Room,
    weights: Any,
) -> None:  # fmt: skip
    """Learn the weights of the sources of features from `first` up to `last`.

    ``weights[m]`` becomes the weight of the source at entry m of the evidence. The
    arguments up to `without` are those of `score_weights`. ``common[j]`` is the common
    weight of the sources of j. At most ``most_rows[j]`` rows are scored; if that is 0,
    the weights stay as they are.
    """
    e = evidence
    for j in range(first, last):
        start, n_sources = e.source_start[j], e.source_start[j + 1] - e.source_start[j]
        center = max(common[j], FLOOR)
        n_seen = _find_seen(codes, j, e.n_bins[j], most_rows[j], room.seen)
        n_slots = e.n_places[j] + (1 if e.rest[j, 0] > 0 else -1)
        size = max(1, min(n_seen, BLOCK))
        items, n_blocks = n_slots * size, -(-n_seen // size)
        length = (n_sources + 2) * (items + size)
        for b in range(n_blocks):
            some = room.seen[b * size : min((b + 1) * size, n_seen)]
            block = room.told[b * length : (b + 1) * length]
            _write_block(
                e, j, codes, counts, places, without, some, block, size, n_slots
            )
        own, trial = room.vectors[0, :n_sources], room.vectors[1, :n_sources]
        slope, step = room.vectors[2, :n_sources], room.vectors[3, :n_sources]
        n_told = 0
        for s in range(n_sources):
            own[s] = trial[s] = center
            n_told += e.n_bins[e.source[start + s]] > 0
        pull = 2 * PULL / max(n_told, 1) / (center * center)
        reached, share, far = np.inf, 1.0, np.inf
        for _ in range(_MOST_STEPS if n_blocks and n_slots > 0 else 0):
            loss = 0.0
            for s in range(n_sources):
                apart = trial[s] - center
                loss += pull * apart * apart / 2
                slope[s] = pull * apart
            for b in range(n_blocks):
                block = room.told[b * length : (b + 1) * length]
                loss += _evaluate_block(block, trial, slope, size, items)
            if loss > reached * (1 + _ROUNDING):
                share /= 2
            else:
                reached, share = loss, 1.0
                for s in range(n_sources):
                    own[s] = trial[s]
                if far > _NEAR and n_sources <= DIRECT:
                    _curve(room, n_sources, pull, n_blocks, size, items)
                _find_step(room, n_sources, pull, n_blocks, size, items)
            far = 0.0
            for s in range(n_sources):
                trial[s] = min(max(own[s] + share * step[s], 0.0), MOST)
                far = max(far, abs(trial[s] - own[s]))
            if far < _CLOSE:
                break
        for s in range(n_sources if most_rows[j] else 0):
            weights[start + s] = trial[s]
