"""The compiled loops of the kernel, in the order in which they are called.

Values to codes, codes to counts, counts to weights and estimates, estimates to the
representation. The loops take and fill plain arrays; callers check them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled, merged

STEP = 0.05
"""Every weight is a whole multiple of this step."""
POWERS = (0, 1, 2, 3, 4, 6, 8, 10, 13, 16, 20)
"""The weights to choose from, in steps."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STIR_1 = np.uint64(0xBF58476D1CE4E5B9)
_STIR_2 = np.uint64(0x94D049BB133111EB)
_FEW_MIDPOINTS = 16  # up to this number, a linear search beats a binary one


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


class Layout(NamedTuple):
    """Which columns of the representation belong to each code, feature after feature.

    A leaf is a bin or, at the "fine" scale, a part of one. An observed cell has the
    entries of its leaf. A missing cell has one entry in each of its feature's gap
    columns: the sum over the bins of probability times share.
    """

    n_bins: NDArray[np.int64]  # (n_features,) codes, with that of informative missing
    offsets: NDArray[np.int64]  # (n_features,) number of its first code
    first_leaf: NDArray[np.int64]  # (n_features,) number of its first leaf
    leaf_bins: NDArray[np.int64]  # (n_leaves,) the code that a leaf belongs to
    entry_start: NDArray[np.int64]  # (n_leaves + 1,) its entries; the first is its own
    entry_columns: NDArray[np.int64]  # (n_entries,)
    entry_weights: NDArray[np.float64]  # (n_entries,)
    gap_start: NDArray[np.int64]  # (n_features + 1,)
    gap_columns: NDArray[np.int64]  # (n_gap_columns,) those that a fitted row has
    bin_start: NDArray[np.int64]  # (n_codes + 1,) the shares of a bin
    slots: NDArray[np.int64]  # (n_shares,) which of the feature's gap columns
    shares: NDArray[np.float64]  # (n_shares,)


@merged
def _find_nearest(x: float, midpoints: NDArray[np.float64]) -> int:
    """Count the midpoints strictly below a value."""
    n_midpoints = midpoints.shape[0]
    code = 0
    if n_midpoints <= _FEW_MIDPOINTS:
        for k in range(n_midpoints):
            code += midpoints[k] < x
        return code
    above = n_midpoints
    while code < above:
        middle = (code + above) // 2
        if midpoints[middle] < x:
            code = middle + 1
        else:
            above = middle
    return code


@compiled
def assign_nearest(
    values: NDArray[np.float64],
    midpoints: NDArray[np.float64],
    missing: int,
    codes: Any,
) -> None:
    """Write the number of midpoints strictly below each value, `missing` for NaN."""
    for i in range(values.shape[0]):
        x = values[i]
        codes[i] = missing if x != x else _find_nearest(x, midpoints)


@compiled
def average_bins(
    values: NDArray[np.float64], counts: Any, midpoints: NDArray[np.float64],
    centers: Any, totals: Any, shift: Any, squares: Any,
) -> None:  # fmt: skip
    """Find the mean of each bin's values, less its center, and their squared deviation.

    Subtracting the center first keeps the digits that large sums would lose. `totals`,
    `shift` and `squares` must be zero at the start. Each value counts `counts` times,
    or once if that is empty; NaN is skipped.
    """
    for i in range(values.shape[0]):
        x = values[i]
        if x == x:
            k = _find_nearest(x, midpoints)
            weight = counts[i] if counts.shape[0] else 1
            totals[k] += weight
            shift[k] += weight * (x - centers[k])
    for k in range(centers.shape[0]):
        shift[k] /= max(totals[k], 1)
    for i in range(values.shape[0]):
        x = values[i]
        if x == x:
            k = _find_nearest(x, midpoints)
            weight = counts[i] if counts.shape[0] else 1
            squares[k] += weight * (x - centers[k] - shift[k]) ** 2


@compiled
def hash_rows(rows: NDArray[Any], seed: Any, hashes: Any) -> None:
    """Write a 64-bit hash of each row.

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
def count_codes(
    rows: NDArray[Any], counts: Any, hashes: Any, first: int, last: int, limit: Any,
    n_bins: Any, starts: Any, found: Any, totals: Any, pairs: Any,
) -> None:  # fmt: skip
    """Count the codes of rows, and the pairs in rows whose hash is at most `limit`.

    Row r counts ``counts[r]`` times. A missing cell is the code after the last bin; an
    unknown category is not counted. `pairs` has no rows if pairs are not wanted;
    `found` is scratch memory for a row.
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


@compiled
def size_rows(
    rows: NDArray[Any], leaves: NDArray[Any], layout: Layout, sizes: Any
) -> None:
    """Count the entries of each row of the representation."""
    missing = np.iinfo(rows.dtype).max
    for r in range(rows.shape[0]):
        size = 0
        for j in range(rows.shape[1]):
            code = np.int64(rows[r, j])
            if code < layout.n_bins[j]:
                leaf = layout.first_leaf[j] + np.int64(leaves[r, j])
                size += layout.entry_start[leaf + 1] - layout.entry_start[leaf]
            elif code == missing:
                size += layout.gap_start[j + 1] - layout.gap_start[j]
        sizes[r] = size


@compiled
def fill_rows(
    rows: NDArray[Any], leaves: NDArray[Any], inverse: Any, layout: Layout,
    row_start: Any, start: Any, probabilities: Any, indptr: Any, indices: Any,
    data: Any,
) -> None:  # fmt: skip
    """Write a part of the representation: row i is ``rows[inverse[i]]``.

    An observed cell has the entries of its leaf, a missing cell the shares of its
    estimate, and a category not seen at fit has no entry.
    """
    missing = np.iinfo(rows.dtype).max
    for i in range(inverse.shape[0]):
        at = indptr[i]
        cell = row_start[inverse[i]]
        for j in range(rows.shape[1]):
            code = rows[inverse[i], j]
            if code < layout.n_bins[j]:
                leaf = layout.first_leaf[j] + np.int64(leaves[inverse[i], j])
                for e in range(layout.entry_start[leaf], layout.entry_start[leaf + 1]):
                    indices[at] = layout.entry_columns[e]
                    data[at] = layout.entry_weights[e]
                    at += 1
            elif code == missing:
                size = layout.gap_start[j + 1] - layout.gap_start[j]
                for s in range(size):
                    indices[at + s] = layout.gap_columns[layout.gap_start[j] + s]
                    data[at + s] = 0
                for b in range(layout.n_bins[j]):
                    share = probabilities[start[cell] + b]
                    of_bin = layout.offsets[j] + b
                    for e in range(
                        layout.bin_start[of_bin], layout.bin_start[of_bin + 1]
                    ):
                        data[at + layout.slots[e]] += share * layout.shares[e]
                at += size
                cell += 1
