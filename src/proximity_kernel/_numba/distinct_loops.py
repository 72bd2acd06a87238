"""The compiled loops that find the distinct rows of a coded table, by sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled


@compiled
def pack_digits(codes: NDArray[Any], firsts: Any, radices: Any, digits: Any) -> None:
    """Write the codes of each group of features as one number, most significant first.

    Group g has the features from ``firsts[g]`` up to ``firsts[g + 1]``. ``radices[j]``
    is the number of bins of feature j. The codes for an unknown category and for a
    missing cell become the two numbers after the last bin.
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
    """Reorder row numbers by one digit, by a counting sort (which is stable).

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
    """Give each distinct row its number, in order, and count them.

    ``firsts[g]`` becomes the position in `order` where distinct row g begins.
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
