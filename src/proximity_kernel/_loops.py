"""The other compiled loops: codes, their order, the sparse rows, codes held together.

Naked arrays in and out; everything is checked before it comes here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._compile import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STIR_1 = np.uint64(0xBF58476D1CE4E5B9)
_STIR_2 = np.uint64(0x94D049BB133111EB)
_FEW_MIDPOINTS = 16  # up to here, comparing with each beats a binary search


@compiled
def assign_nearest(
    values: NDArray[np.float64],
    midpoints: NDArray[np.float64],
    missing: int,
    codes: Any,
) -> None:
    """Write the number of midpoints strictly below each value, `missing` for NaN."""
    n_midpoints = midpoints.shape[0]
    for i in range(values.shape[0]):
        x = values[i]
        code = 0
        if n_midpoints <= _FEW_MIDPOINTS:
            for k in range(n_midpoints):
                code += midpoints[k] < x
        else:
            above = n_midpoints
            while code < above:
                middle = (code + above) // 2
                if midpoints[middle] < x:
                    code = middle + 1
                else:
                    above = middle
        codes[i] = missing if x != x else code


@compiled
def pack_digits(codes: NDArray[Any], firsts: Any, radices: Any, digits: Any) -> None:
    """Write the features of each group as one number, most significant first.

    Group g holds the features from ``firsts[g]`` up to ``firsts[g + 1]``;
    ``radices[j]`` is the number of bins of feature j, and the codes past them,
    unknown and missing, become the two numbers after the last bin.
    """
    top = np.int64(np.iinfo(codes.dtype).max)
    for i in range(codes.shape[0]):
        for g in range(digits.shape[0]):
            digit = np.int64(0)
            for j in range(firsts[g], firsts[g + 1]):
                code = np.int64(codes[i, j])
                if code >= radices[j]:
                    code = radices[j] + 1 - (top - code)
                digit = digit * (radices[j] + 2) + code
            digits[g, i] = digit


@compiled
def sort_by_digit(digit: Any, start: Any, order: Any, out: Any) -> None:
    """Reorder row numbers by one digit; a counting sort, so equals keep their order.

    ``start`` is scratch memory, one entry more than there are digit values.
    """
    start[:] = 0
    for i in range(digit.shape[0]):
        start[np.int64(digit[i]) + 1] += 1
    for v in range(1, start.shape[0]):
        start[v] += start[v - 1]
    for r in range(order.shape[0]):
        value = np.int64(digit[order[r]])
        out[start[value]] = order[r]
        start[value] += 1


@compiled
def number_distinct(digits: Any, order: Any, inverse: Any, firsts: Any) -> int:
    """Give equal rows the same number, in order, and count the distinct ones.

    ``firsts[g]`` becomes the place in `order` where distinct row g begins.
    """
    n_distinct = 0
    for r in range(order.shape[0]):
        new = r == 0
        for g in range(digits.shape[0]):
            if new:
                break
            new = digits[g, order[r]] != digits[g, order[r - 1]]
        if new:
            firsts[n_distinct] = r
            n_distinct += 1
        inverse[order[r]] = n_distinct - 1
    return n_distinct


@compiled
def hash_rows(rows: NDArray[Any], seed: Any, hashes: Any) -> None:
    """Write a number of 64 bits for each row that looks drawn at random.

    Equal rows have equal ones. Each code is stirred in by the finalizer of splitmix64.
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
def size_rows(
    rows: NDArray[Any], n_bins: Any, offsets: Any, coarse: Any, feature: Any,
    row_start: Any, start_of_cell: Any, probabilities: Any, sizes: Any,
) -> None:  # fmt: skip
    """Count the entries of each distinct row of the representation.

    A bin has one, and the bins that share a coarse one, which lie side by side, have
    one more together.
    """
    for g in range(rows.shape[0]):
        size = 0
        for j in range(rows.shape[1]):
            code = np.int64(rows[g, j])
            if code < n_bins[j]:
                size += 1 + (coarse[offsets[j] + code] >= 0)
        for cell in range(row_start[g], row_start[g + 1]):
            j = feature[cell]
            before = np.int64(-1)
            for k in range(n_bins[j]):
                if probabilities[start_of_cell[cell] + k] > 0:
                    shared = coarse[offsets[j] + k]
                    size += 1 + (shared >= 0 and shared != before)
                    before = shared
        sizes[g] = size


@compiled
def fill_rows(
    rows: NDArray[Any], inverse: Any, first: int, last: int, n_bins: Any, offsets: Any,
    columns: Any, weights: Any, coarse: Any, coarse_weight: float,
    row_start: Any, start_of_cell: Any, probabilities: Any,
    indptr: Any, indices: Any, data: Any,
) -> None:  # fmt: skip
    """Write the representation of the table's rows from `first` up to `last`.

    An observed cell is the weight of its bin, a missing one the weighted entries of its
    estimate, a category unknown at fit nothing. Bins of a coarse one, whose column is
    not negative, add to it.
    """
    missing = np.iinfo(rows.dtype).max
    for i in range(first, last):
        at = indptr[i]
        cell = row_start[inverse[i]]
        for j in range(rows.shape[1]):
            code = rows[inverse[i], j]
            if code < n_bins[j]:
                b = offsets[j] + np.int64(code)
                indices[at] = columns[b]
                data[at] = weights[b]
                at += 1
                if coarse[b] >= 0:
                    indices[at] = coarse[b]
                    data[at] = coarse_weight
                    at += 1
            elif code == missing:
                estimate = start_of_cell[cell] - offsets[j]
                cell += 1
                any_shared = False
                for b in range(offsets[j], offsets[j] + n_bins[j]):
                    if probabilities[estimate + b] > 0:
                        indices[at] = columns[b]
                        data[at] = probabilities[estimate + b] * weights[b]
                        at += 1
                        any_shared |= coarse[b] >= 0
                if not any_shared:
                    continue
                for b in range(offsets[j], offsets[j] + n_bins[j]):
                    if probabilities[estimate + b] > 0 and coarse[b] >= 0:
                        if indices[at - 1] != coarse[b]:
                            indices[at] = coarse[b]
                            data[at] = 0
                            at += 1
                        data[at - 1] += probabilities[estimate + b] * coarse_weight


@compiled
def count_together(
    rows: NDArray[Any], counts: Any, n_bins: Any, offsets: Any, j: int, together: Any
) -> None:
    """Add up, for each bin of feature j and each code, the rows that have both."""
    for r in range(rows.shape[0]):
        k = np.int64(rows[r, j])
        if k < n_bins[j]:
            for f in range(rows.shape[1]):
                code = np.int64(rows[r, f])
                if code < n_bins[f]:
                    together[k, offsets[f] + code] += counts[r]
