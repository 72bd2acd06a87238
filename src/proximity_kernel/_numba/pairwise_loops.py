"""The compiled loops of the pairwise rule: counting, choosing, estimating.

Naked arrays in and out; everything is checked before it comes here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled, inlined

STEP = 0.05
"""Every weight is a whole multiple of it."""
POWERS = (0, 1, 2, 3, 4, 6, 8, 10, 13, 16, 20)
"""The weights to choose from, in steps."""
LANES = 64
"""Cells that are scored at a time."""

_TABLE = 2048  # entries that a group of sources may take


class Evidence(NamedTuple):
    """What codes tell about bins, laid out for the loops.

    The sources of feature j are the entries from ``source_start[j]`` up to
    ``source_start[j + 1]``. With a code of the source at entry m, the evidence for the
    bins of j that have a place begins at ``base[m] + place[code] * stride``.
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


class Room(NamedTuple):
    """Memory for `score_weights`; a lane holds one of the cells scored at a time."""

    groups: NDArray[np.int64]  # (n_groups, 3)
    numbers: NDArray[np.int64]  # (n_groups, n_rows)
    table: NDArray[np.float64]
    without: NDArray[np.float64]
    factor: NDArray[np.float64]  # (n_places, LANES)
    share: NDArray[np.float64]  # (n_places, LANES)
    total: NDArray[np.float64]  # (n_weights, LANES)
    copies: NDArray[np.float64]  # (LANES,) and the others too
    own: NDArray[np.float64]
    step: NDArray[np.float64]
    beside: NDArray[np.float64]
    mass: NDArray[np.float64]
    squares: NDArray[np.float64]
    hit: NDArray[np.float64]


def make_room(evidence: Evidence, n_rows: int) -> Room:
    """Make memory for scoring rows with this evidence."""
    n_sources = int(np.diff(evidence.source_start).max(initial=0))
    n_places = max(1, int(evidence.n_places.max(initial=1)))
    codes = int(evidence.n_places.sum()) + len(evidence.n_places)
    size = n_sources * _TABLE + codes * n_places
    lanes = [np.ones(LANES) for _ in range(7)]
    return Room(
        np.empty((n_sources, 3), np.int64), np.empty((n_sources, n_rows), np.int64),
        np.empty(size), np.empty(size), np.ones((n_places, LANES)),
        np.empty((n_places, LANES)), np.zeros((len(POWERS), LANES)), *lanes,
    )  # fmt: skip


@compiled
def count_codes(
    rows: NDArray[Any], hashes: Any, first: int, last: int, limit: Any, n_bins: Any,
    starts: Any, found: Any, totals: Any, pairs: Any,
) -> None:  # fmt: skip
    """Count the codes of rows, and the pairs in rows whose hash is at most `limit`.

    A missing cell is the code after the last bin; an unknown category does not count.
    `pairs` has no rows if pairs are not wanted; `found` is room for the codes of a row.
    """
    missing = np.int64(np.iinfo(rows.dtype).max)
    for r in range(first, last):
        n_found = 0
        for j in range(rows.shape[1]):
            code = np.int64(rows[r, j])
            if code == missing:
                code = n_bins[j]
            if code <= n_bins[j]:
                totals[starts[j] + code] += 1
                found[n_found] = starts[j] + code
                n_found += 1
        if pairs.shape[0] and hashes[r] <= limit:
            for x in range(n_found):
                for y in range(x, n_found):
                    pairs[found[x], found[y]] += 1


@inlined
def _largest(e: Evidence, j: int, total: Any) -> float:
    """Find the largest evidence for a possible bin of j; 0 for one without a place."""
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

    ``places[j, r]`` is the place of row r's code of feature j: of one that is not kept,
    the number of those that are; -1 of none. ``pairs[j, s, a, b]`` gets the rows with
    place a of the s-th source and b of feature j.
    """
    n_kept = pairs.shape[3]
    for j in range(first, last):
        for s in range(source.shape[1]):
            i = source[j, s]
            for r in range(places.shape[1]):
                a, b = places[i, r], places[j, r]
                if a >= 0 and b >= 0 and b < n_kept:
                    pairs[j, s, a, b] += counts[r]


@inlined
def _number_groups(e: Evidence, places: Any, j: int, groups: Any, numbers: Any) -> Any:
    """Join the sources of j to groups, and number the rows by their codes in each.

    ``groups[g]`` gets the first and last entry of group g and how many numbers it has;
    ``numbers[g, r]`` that of row r. A code without a place counts as one more code.
    """
    n_groups = np.int64(0)
    most = _TABLE // e.n_places[j] if e.n_places[j] else np.int64(1)
    for m in range(e.source_start[j], e.source_start[j + 1]):
        base = e.n_places[e.source[m]] + 1
        g = n_groups - 1
        if n_groups == 0 or groups[g, 2] * base > most:
            g = n_groups
            n_groups += 1
            groups[g, 0] = m
            groups[g, 2] = 1
            for r in range(places.shape[1]):
                numbers[g, r] = 0
        groups[g, 1] = m + 1
        groups[g, 2] *= base
        for r in range(places.shape[1]):
            numbers[g, r] = numbers[g, r] * base + places[e.source[m], r] + 1
    return n_groups


@inlined
def _tabulate(
    e: Evidence, values: Any, j: int, groups: Any, n_groups: int, table: Any
) -> None:
    """Write ``exp(STEP * evidence)`` of all numbers of all groups, bin after bin."""
    at = 0
    for g in range(n_groups):
        for number in range(groups[g, 2]):
            for b in range(e.n_places[j]):
                table[at + b] = 0.0
            rest = number
            for m in range(groups[g, 1] - 1, groups[g, 0] - 1, -1):
                base = e.n_places[e.source[m]] + 1
                place = rest % base - 1
                rest //= base
                if place >= 0:
                    for b in range(e.n_places[j]):
                        table[at + b] += values[e.base[m] + place * e.stride + b]
            for b in range(e.n_places[j]):
                table[at + b] = np.exp(STEP * table[at + b])
            at += e.n_places[j]


@inlined
def _look_up(
    e: Evidence, j: int, own: int, numbers: Any, r: int, groups: Any, n_groups: int,
    table: Any, without: Any, factor: Any, lane: int,
) -> float:  # fmt: skip
    """Multiply what the groups tell about a cell; gives the factor without evidence.

    ``factor[b, lane]`` becomes ``exp(STEP * evidence)`` for the bin at place b, over
    the largest of a possible bin, with the row itself left out for its `own` bin.
    """
    n_places, offset = e.n_places[j], e.offsets[j]
    for b in range(n_places):
        factor[b, lane] = 1.0
    at = 0
    exact = 1.0
    for g in range(n_groups):
        first = at + numbers[g, r] * n_places
        for b in range(n_places):
            factor[b, lane] *= table[first + b]
        if own >= 0:
            exact *= without[first + own]
        at += groups[g, 2] * n_places
    if own >= 0:
        factor[own, lane] = exact
    largest = 1.0 if e.rest[j, 0] > 0 else 0.0
    for b in range(n_places):
        if e.placed[offset + b] > 0:
            largest = max(largest, factor[b, lane])
    for b in range(n_places):
        factor[b, lane] = factor[b, lane] / largest if e.placed[offset + b] > 0 else 0.0
    return 1.0 / largest


@inlined
def _add_errors(e: Evidence, j: int, room: Room, powers: Any) -> None:
    """Add up the squared errors of the cells in the lanes, for every weight."""
    n_places, offset = e.n_places[j], e.offsets[j]
    mass, squares, hit, beside = room.mass, room.squares, room.hit, room.beside
    for lane in range(LANES):
        beside[lane] = 1.0
    for b in range(n_places):
        for lane in range(LANES):
            room.share[b, lane] = e.placed[offset + b]
    power = 0
    for w in range(powers.shape[0]):
        while power < powers[w]:
            power += 1
            for lane in range(LANES):
                beside[lane] *= room.step[lane]
            for lane in range(LANES):
                hit[lane] *= room.own[lane]
            for b in range(n_places):
                for lane in range(LANES):
                    room.share[b, lane] *= room.factor[b, lane]
        for lane in range(LANES):
            mass[lane] = e.rest[j, 0] * beside[lane]
        for lane in range(LANES):
            squares[lane] = e.rest[j, 1] * beside[lane] * beside[lane]
        for b in range(n_places):
            for lane in range(LANES):
                mass[lane] += room.share[b, lane]
            for lane in range(LANES):
                squares[lane] += room.share[b, lane] * room.share[b, lane]
        for lane in range(LANES):
            scale = 1.0 / mass[lane]
            error = (squares[lane] * scale - 2 * hit[lane]) * scale + 1
            room.total[w, lane] += room.copies[lane] * error


@compiled
def score_weights(
    codes: NDArray[Any], places: Any, counts: Any, first: int, last: int,
    evidence: Evidence, values: Any, without: Any, powers: Any, room: Room, errors: Any,
) -> None:  # fmt: skip
    """Add up the squared error of each weight, estimating every cell as if missing.

    ``errors[s, j, w]`` gets that of the cells of feature j, from `first` up to `last`,
    with the evidence ``values[s]``; ``without[s]`` is that with the row itself left
    out. ``codes[j, r]`` is row r's code of feature j and ``places[j, r]`` its place.

    Every weight is a multiple of `STEP`, so estimates are products of powers. What
    several sources tell together is looked up in one table.
    """
    e = evidence
    n_rows = codes.shape[1]
    for j in range(first, last):
        n_groups = _number_groups(e, places, j, room.groups, room.numbers)
        for s in range(values.shape[0]):
            _tabulate(e, values[s], j, room.groups, n_groups, room.table)
            _tabulate(e, without[s], j, room.groups, n_groups, room.without)
            lane = 0
            for r in range(n_rows):
                code = np.int64(codes[j, r])
                if code < e.n_bins[j]:
                    own = e.place[e.offsets[j] + code]
                    step = _look_up(
                        e, j, own, room.numbers, r, room.groups, n_groups, room.table,
                        room.without, room.factor, lane,
                    )  # fmt: skip
                    room.step[lane] = step
                    room.own[lane] = room.factor[own, lane] if own >= 0 else step
                    room.hit[lane] = e.prior[e.offsets[j] + code]
                    room.copies[lane] = counts[r]
                    lane += 1
                if lane == LANES or r == n_rows - 1:
                    for empty in range(lane, LANES):
                        room.copies[empty] = 0
                    if lane:
                        _add_errors(e, j, room, powers)
                    lane = 0
            for w in range(powers.shape[0]):
                for lane in range(LANES):
                    errors[s, j, w] += room.total[w, lane]
                    room.total[w, lane] = 0.0


@compiled
def estimate_cells(
    rows: NDArray[Any], row: Any, feature: Any, start: Any, order: Any,
    evidence: Evidence, weights: Any, at: Any, total: Any, out: Any,
) -> None:  # fmt: skip
    """Write the distributions of the missing cells of rows, cell after cell in `order`.

    `at` and `total` are room for the places of the rows' codes and for the evidence.
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
