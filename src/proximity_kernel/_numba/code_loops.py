"""The compiled loops of codes: nearest centers, distinct rows, hashes, bin means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled, merged

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STIR_1 = np.uint64(0xBF58476D1CE4E5B9)
_STIR_2 = np.uint64(0x94D049BB133111EB)
_FEW_MIDPOINTS = 16  # up to here, comparing with each beats a binary search


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

    From the center on: sums of large numbers, or of many, would lose digits. `totals`,
    `shift` and `squares` start at zero. Values are there `counts` times, or once if
    that is empty; NaN is left out.
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
