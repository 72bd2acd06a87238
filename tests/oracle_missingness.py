"""Where missing cells are informative, with loops and fractions: the truth for "auto".

Written from the definition in docs/method.md, and sharing nothing with the package.
"""

from collections.abc import Sequence
from fractions import Fraction

TOGETHER = Fraction(7, 10)
ADDED = 5


def overlap(is_missing: Sequence[Sequence[bool]], i: int, j: int) -> Fraction:
    """Overlap of the missing cells of columns i and j.

    "Of n rows with something observed, a miss column i, b miss column j. The overlap is
    (both - a b / n) / (min(a, b) - a b / n + 5)."
    """
    n = a = b = both = 0
    for row in is_missing:
        if not all(row):
            n += 1
            a += row[i]
            b += row[j]
            both += row[i] and row[j]
    chance = Fraction(a * b, max(n, 1))
    return (both - chance) / (min(a, b) - chance + ADDED)


def overlaps(is_missing: Sequence[Sequence[bool]]) -> list[Fraction | None]:
    """Largest overlap of each column with another, at least 0.

    None for a column without a missing cell, or without any other.
    """
    columns = range(len(is_missing[0]))
    mixed = [j for j in columns if len({row[j] for row in is_missing}) == 2]
    found: list[Fraction | None] = [None] * len(columns)
    for j in mixed:
        with_others = [overlap(is_missing, i, j) for i in mixed if i != j]
        found[j] = max([Fraction(0), *with_others])
    return found


def find_informative(is_missing: Sequence[Sequence[bool]]) -> list[bool]:
    """Whether missing cells of each column are informative."""
    return [x is not None and x >= TOGETHER for x in overlaps(is_missing)]
