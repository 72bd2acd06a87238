"""Bins of two resolutions with lists and fractions: the truth for `n_bins="auto"`.

Written from the definition in docs/method.md, and sharing nothing with the package.
"""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np

FINE, COARSE = 4, 2
COARSE_SHARE = 0.8


def spread(values: list[float], k: int) -> list[float]:
    """Place at most `k` centers.

    "At most k distinct values: a center each. A value held by more than an equal share
    of the rows has a center of its own; it and its rows are set aside, the share of the
    others is computed again, and so on, while more than one center is left. The m
    centers left lie at the percentiles 100 (i + 1/2) / m of the other values."
    """
    counts = Counter(values)
    if len(counts) <= k:
        return sorted(counts)
    alone = set()
    while k - len(alone) > 1:
        rest = [v for v in values if v not in alone]
        share = Fraction(len(rest), k - len(alone))
        joining = [v for v in counts if v not in alone and counts[v] > share]
        joining.sort(key=lambda v: (-counts[v], v))
        if not joining:
            break
        alone.update(joining[: k - 1 - len(alone)])
    rest = sorted(v for v in values if v not in alone)
    m = k - len(alone)
    middles = [percentile(rest, Fraction(2 * i + 1, 2 * m)) for i in range(m)]
    return sorted({*alone, *middles})


def percentile(ordered: list[float], share: Fraction) -> float:
    """Interpolate linearly between the two values next to a place."""
    place = share * (len(ordered) - 1)
    below = place.numerator // place.denominator
    if place == below:
        return ordered[below]
    low, high = ordered[below], ordered[below + 1]
    return low + (high - low) * float(place - below)


def join(values: list[float]) -> list[int]:
    """Find the coarse bin of each bin: the nearest of its centers, the lower in a tie.

    "Where there are two bins at most, or one coarse bin holds them all, there is one
    resolution": each bin is its own coarse bin.
    """
    fine, coarse = spread(values, FINE), spread(values, COARSE)
    groups = [sum((a + b) / 2 < center for a, b in pairwise(coarse)) for center in fine]
    if len(fine) <= COARSE or len(set(groups)) == 1:
        return list(range(len(fine)))
    return groups


def kernel(left, right, columns, reference, auto) -> np.ndarray:
    """Compare rows by their blocks over the bins, as the oracle represents them.

    "Two values score 1 in the same bin, 0.8 in the same coarse bin only, else 0."
    `auto` lists the features with "auto" bins; a bin for gaps is a coarse one too.
    """
    starts = np.cumsum([0, *reference.n_bins])
    total = np.zeros((len(left), len(right)))
    for j, column in enumerate(columns):
        p, q = (z[:, starts[j] : starts[j + 1]] for z in (left, right))
        groups = list(range(p.shape[1]))
        if j in auto and column.numeric:
            known = join([v for v in column.values if v is not None])
            groups = known + [-1] * (len(groups) - len(known))
        same = np.equal.outer(groups, groups)
        total += (1 - COARSE_SHARE) * p @ q.T + COARSE_SHARE * p @ same @ q.T
    return total / reference.n_counted
