"""The weighted ladder with sets, loops and exact fractions: the truth for `weighted`.

Written from the definition in docs/method.md, on the oracle's reference, and sharing
nothing with the package. Slow on purpose.
"""

from fractions import Fraction
from math import floor

import oracle


def most_weight(reference) -> int:
    """The heaviest a code can be: 15, in tables of more than 64 features 7."""
    return 15 if len(reference.cells) <= 64 else 7


def frequencies(rows: set, j: int, reference) -> list[Fraction]:
    """How often each bin of feature j occurs among rows that all observe it."""
    counts = [0] * reference.n_bins[j]
    for m in rows:
        counts[reference.codes[m][j]] += 1
    return [Fraction(count, len(rows)) for count in counts]


def distances(j: int, reference) -> dict:
    """(feature, code) -> how far knowing the code moves the frequencies of j."""
    found = {}
    for f, holders in enumerate(reference.holders):
        both = reference.observers[f] & reference.observers[j]
        if f == j or not both:
            continue
        usual = frequencies(both, j, reference)
        for code, rows in holders.items():
            if rows & both:
                moved = frequencies(rows & both, j, reference)
                gaps = zip(moved, usual, strict=True)
                found[f, code] = sum((p - q) ** 2 for p, q in gaps)
    return found


def weigh(f: int, code: int, j: int, reference, table: dict) -> int:
    """What a code weighs where j is missing: 1 + round((most - 1) D / max D)."""
    if j not in table:
        table[j] = distances(j, reference)
    most = max(table[j].values(), default=0)
    if not most:
        return 1
    share = (most_weight(reference) - 1) * table[j].get((f, code), 0) / most
    return 1 + floor(share + Fraction(1, 2))


def weigh_row(row: list[int], reference, table: dict) -> dict:
    """Feature -> weight of the row's known code: the mean over its missing features."""
    gaps = [
        j
        for j, code in enumerate(row)
        if code == oracle.MISSING and reference.n_bins[j]
    ]
    known = {f: code for f, code in enumerate(row) if 0 <= code < reference.n_bins[f]}
    if not gaps:
        return dict.fromkeys(known, 1)
    return {
        f: floor(
            Fraction(sum(weigh(f, code, j, reference, table) for j in gaps), len(gaps))
            + Fraction(1, 2)
        )
        for f, code in known.items()
    }


def estimate(row: list[int], j: int, weights: dict, reference, min_support: int):
    """Give (distribution over the bins of j, rung, support)."""
    observers = reference.observers[j]
    holders = {f: reference.holders[f].get(row[f], set()) for f in weights}
    shared = {
        m: sum(weight for f, weight in weights.items() if m in holders[f])
        for m in observers
    }
    rungs = sorted({score for score in shared.values() if score})
    if not rungs:
        return frequencies(observers, j, reference), 0, len(observers)
    standing = {t: {m for m, score in shared.items() if score >= t} for t in rungs}
    supported = [t for t in rungs if len(standing[t]) >= min_support]
    taken = max(supported, default=rungs[0])
    block = frequencies(standing[taken], j, reference)
    for t in rungs:
        if t > taken:
            n_rows = len(standing[t])
            here = frequencies(standing[t], j, reference)
            block = [
                (n_rows * p + min_support * below) / (n_rows + min_support)
                for p, below in zip(here, block, strict=True)
            ]
    return block, taken, len(standing[taken])


def describe(columns: list, reference, min_support: int) -> tuple[list, list]:
    """Give the representation, row after row, and the provenance of missing cells."""
    table: dict = {}
    rows, entries = [], []
    for i, row in enumerate(oracle.assign_codes(columns, reference.cells)):
        weights = weigh_row(row, reference, table)
        observed = len(oracle.sharing(row, reference))
        height = sum(weights.values()) if len(weights) == observed else None
        z = []
        for j, code in enumerate(row):
            if code != oracle.MISSING:
                z += [float(k == code) for k in range(reference.n_bins[j])]
                continue
            block, rung, support = [], 0, 0
            if reference.n_bins[j]:
                block, rung, support = estimate(row, j, weights, reference, min_support)
            z += map(float, block)
            level = name_level(rung, height, min(weights.values(), default=0))
            entries.append((i, j, level, rung, observed, support))
        rows.append(z)
    return rows, entries


def name_level(rung: int, height: int | None, least: int) -> str:
    """Name the level of an estimate: nobody, all codes, any code, or between."""
    if rung == 0:
        return "prior"
    if rung == height:
        return "intersection"
    return "union" if rung <= least else "partial"
