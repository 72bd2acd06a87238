"""The "fine" scale and rarity from their definitions, with recursion and loops.

A column is cut into a tree. A cell is the way to it: a letter, "l" or "r", for each
cut. A row is described by a distribution over the leaves of each feature.
"""

from __future__ import annotations

import numpy as np
from oracle_pairwise import Pairwise

SCORE = {0: 0.0, 1: 0.4, 2: 0.7, 3: 0.9, 4: 1.0}
FLOOR = 0.005


def grow(values, depth=0):
    """Cut sorted values: a limit with the parts below and above it, or None.

    "Split where it halves the rows best and never through a value, four deep; a cell
    with one value is a leaf."
    """
    places = [i for i in range(1, len(values)) if values[i - 1] < values[i]]
    if depth == 4 or not places:
        return None
    at = min(places, key=lambda i: abs(len(values) - 2 * i))
    limit = (values[at - 1] + values[at]) / 2
    return limit, grow(values[:at], depth + 1), grow(values[at:], depth + 1)


def find_leaf(value, tree):
    """Write the way to the leaf of a value: a letter for each cut."""
    path = ""
    while tree is not None:
        limit, low, high = tree
        path, tree = (path + "l", low) if value <= limit else (path + "r", high)
    return path


def list_leaves(tree, path=""):
    if tree is None:
        return [path]
    return [
        leaf
        for t, c in zip(tree[1:], "lr", strict=True)
        for leaf in list_leaves(t, path + c)
    ]


def score(a, b):
    """Score two leaves by the smallest cell that holds both."""
    if a == b:
        return 1.0
    shared = next(i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return SCORE[shared]


def spread(estimate, leaves, quarters):
    """Spread the probabilities of quarters evenly over their parts."""
    out = {}
    for leaf in leaves:
        out[leaf] = estimate[quarters.index(leaf[:2])] * 0.5 ** len(leaf[2:])
    return out


class FineTable:
    """A table of numbers, NaN where a cell is missing, at the "fine" scale."""

    def __init__(self, table):
        self.columns = [[v for v in column if v == v] for column in table.T.tolist()]
        self.trees = [grow(sorted(values)) for values in self.columns]
        self.leaves = [list_leaves(tree) for tree in self.trees]
        self.quarters = [
            list(dict.fromkeys(leaf[:2] for leaf in own)) for own in self.leaves
        ]
        codes = [self.code(row) for row in table.tolist()]
        self.rule = Pairwise(codes, [len(own) for own in self.quarters])

    def code(self, row):
        return [
            self.quarters[j].index(find_leaf(v, self.trees[j])[:2]) if v == v else -1
            for j, v in enumerate(row)
        ]

    def describe(self, row):
        """Describe a row by the probability of each leaf of each feature."""
        cells = []
        for j, v in enumerate(row):
            if v == v:
                cells.append({find_leaf(v, self.trees[j]): 1.0})
            else:
                estimate = list(self.rule.estimate(self.code(row), j))
                cells.append(spread(estimate, self.leaves[j], self.quarters[j]))
        return cells

    def kernel(self, rows):
        """Compare rows with each other."""
        described = [self.describe(row) for row in rows.tolist()]
        return np.array([[self._compare(a, b) for b in described] for a in described])

    def _compare(self, a, b):
        return np.mean(
            [
                sum(p * q * score(x, y) for x, p in one.items() for y, q in two.items())
                for one, two in zip(a, b, strict=True)
            ]
        )

    # --- rarity

    def list_cells(self, j):
        """List the cells of a feature, with what a common one adds to a score (v_c)."""
        cells = {}
        for leaf in self.leaves[j]:
            above = SCORE[len(leaf) - 1] if leaf else 0.0
            cells[leaf] = 1.0 - above
            for depth in range(1, len(leaf)):
                cells[leaf[:depth]] = SCORE[depth] - SCORE[depth - 1]
        return cells

    def weigh_cells(self, j, rarity):
        """Weigh each cell: v_c r(c).

        "r(c) = q(c)^-g / sum over cells c' of v_c' q(c')^(1-g), q floored at .005, so
        that a row has self-similarity 1 in each feature on average." The floor is of
        the power -g only, which keeps that average.
        """
        ways = [find_leaf(v, self.trees[j]) for v in self.columns[j]]
        cells = self.list_cells(j)
        share = {c: sum(w.startswith(c) for w in ways) / len(ways) for c in cells}
        rare = {c: max(share[c], FLOOR) ** -rarity for c in cells}
        mean = sum(v * share[c] * rare[c] for c, v in cells.items())
        return {c: v * rare[c] / mean for c, v in cells.items()}

    def rare_kernel(self, rows, rarity):
        """Compare rows with each other: the mean over features of sum v r z_x z_y."""
        weights = [self.weigh_cells(j, rarity) for j in range(len(self.trees))]
        held = [self._hold(row) for row in rows.tolist()]
        return np.array([[_add_up(weights, a, b) for b in held] for a in held])

    def full_scores(self, rows, rarity):
        """What a row with exactly the values of each row would score: sum v r z_x."""
        weights = [self.weigh_cells(j, rarity) for j in range(len(self.trees))]
        ones = [dict.fromkeys(own, 1.0) for own in weights]
        held = [self._hold(row) for row in rows.tolist()]
        return np.array([_add_up(weights, a, ones) for a in held])

    def _hold(self, row):
        """How far a row lies in each cell of each feature."""
        return [
            {
                c: sum(p for leaf, p in own.items() if leaf.startswith(c))
                for c in self.list_cells(j)
            }
            for j, own in enumerate(self.describe(row))
        ]


def _add_up(weights, a, b):
    return np.mean(
        [
            sum(w * x[c] * y[c] for c, w in own.items())
            for own, x, y in zip(weights, a, b, strict=True)
        ]
    )
