"""The proximity kernel from its definition, with sets and loops.

This is the independent truth of the tests: slow, obvious, and written from the
text of the definition alone. Sentences in quotation marks are that text. A table
is a list of columns; a cell is None where it is missing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import pandas as pd
from oracle_auto import FINE, percentile, spread
from oracle_pairwise import Pairwise

MISSING = -1
UNKNOWN = -2


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    numeric : bool
        Whether the column is numeric; it is categorical otherwise.
    values : list of length n_samples
        Floats or category labels, None where the cell is missing.
    """

    numeric: bool
    values: list


@dataclass(frozen=True)
class Cells:
    """The bins of one feature.

    Parameters
    ----------
    centers : list of float or None
        Bin centers of a numeric feature, None for a categorical one.
    categories : list or None
        Categories with a bin of their own, None for a numeric feature.
    shared : frozenset
        Categories that share the last bin.
    gap : bool
        Whether a missing cell has a bin of its own, after all others.
    """

    centers: list | None = None
    categories: list | None = None
    shared: frozenset = frozenset()
    gap: bool = False

    @property
    def n_bins(self) -> int:
        if self.categories is None:
            return len(self.centers) + self.gap
        return len(self.categories) + bool(self.shared) + self.gap


@dataclass(frozen=True)
class Reference:
    """The fitted rows.

    Parameters
    ----------
    cells : list of Cells, one per feature
    codes : list of list of int
        Code of every cell of the fitted rows, row by row.
    holders : list of dict
        For each feature, code -> set of the rows that hold it.
    observers : list of set
        For each feature, the rows that observe it.
    """

    cells: list
    codes: list
    holders: list = field(repr=False)
    observers: list = field(repr=False)

    @property
    def n_bins(self) -> list[int]:
        return [cells.n_bins for cells in self.cells]

    @property
    def n_counted(self) -> int:
        """The d of the kernel: features with at least one bin."""
        return sum(n > 0 for n in self.n_bins)

    @cached_property
    def pairwise(self) -> Pairwise:
        """The pairwise rule, learnt from these rows: slow, so only if it is used."""
        informative = [j for j, cells in enumerate(self.cells) if cells.gap]
        return Pairwise(self.codes, self.n_bins, informative=informative)


@dataclass(frozen=True)
class Estimate:
    """What fills the block of one missing cell with the paper's rule.

    Parameters
    ----------
    donors : frozenset of int
        The reference rows behind it; all of them observe the feature.
    level : {"intersection", "union", "prior"}
    """

    donors: frozenset
    level: str


def read_columns(frame: pd.DataFrame, categorical: tuple = ()) -> list[Column]:
    """Read a pandas frame into columns.

    "A column is *numeric* (numbers, booleans as 0/1, ordered categoricals by their
    rank) or *categorical* (strings, unordered categoricals, or named by
    `categorical_features`)." "Missing is NaN, None, NA, NaT, null."
    """
    return [_read_column(frame[name], name in categorical) for name in frame.columns]


def _read_column(series: pd.Series, categorical: bool) -> Column:
    if categorical:
        return Column(False, [None if pd.isna(v) else v for v in series])
    if isinstance(series.dtype, pd.CategoricalDtype) and series.dtype.ordered:
        ranks = {label: rank for rank, label in enumerate(series.cat.categories)}
        return Column(True, [None if pd.isna(v) else float(ranks[v]) for v in series])
    if pd.api.types.is_numeric_dtype(series.dtype):
        return Column(True, [None if pd.isna(v) else float(v) for v in series])
    return Column(False, [None if pd.isna(v) else v for v in series])


def fit_cells(column: Column, n_bins: int = 4, max_categories: int = 255) -> Cells:
    """Find the bins of one feature.

    "Numeric: the k / (n_bins-1) quantiles of the m observed values, linear
    interpolation at the place (m-1) k / (n_bins-1), a whole-number fraction, so that a
    place on a value is exact; equal centers are merged. Categorical: one bin per
    category seen at fit, in sorted order; above `max_categories` the rarest share one
    bin. A column with nothing observed has no bin."
    """
    observed = [v for v in column.values if v is not None]
    if column.numeric:
        if not observed:
            return Cells(centers=[])
        if n_bins == "auto":
            return Cells(centers=spread(observed, FINE))
        ordered = sorted(observed)
        shares = [Fraction(k, n_bins - 1) for k in range(n_bins)]
        return Cells(centers=sorted({percentile(ordered, share) for share in shares}))
    counts = Counter(observed)
    labels = sorted(counts)
    if len(labels) <= max_categories:
        return Cells(categories=labels)
    # `sorted` is stable: among equals the earlier in sorted order is kept.
    by_frequency = sorted(labels, key=lambda label: -counts[label])
    kept = set(by_frequency[: max_categories - 1])
    return Cells(
        categories=[label for label in labels if label in kept],
        shared=frozenset(label for label in labels if label not in kept),
    )


def assign_code(value, cells: Cells) -> int:
    """Find the bin of one cell.

    "The nearest center; a tie goes to the lower one, so code = number of midpoints
    strictly below x. A value outside the fitted range falls in the end cell. A
    category not seen at fit matches nothing."
    """
    if value is None:
        return cells.n_bins - 1 if cells.gap else MISSING
    if cells.categories is not None:
        if value in cells.categories:
            return cells.categories.index(value)
        return len(cells.categories) if value in cells.shared else UNKNOWN
    if not cells.centers:
        return UNKNOWN
    code = 0
    for low, high in zip(cells.centers, cells.centers[1:], strict=False):
        # Between neighbouring floats there is no midpoint: it rounds to one of them.
        if (low + high) / 2 < value or value == high:
            code += 1
    return code


def assign_codes(columns: list[Column], cells: list[Cells]) -> list[list[int]]:
    """Find the bin of every cell, row by row."""
    by_feature = [
        [assign_code(value, own) for value in column.values]
        for column, own in zip(columns, cells, strict=True)
    ]
    return [list(row) for row in zip(*by_feature, strict=True)]


def find_gaps(columns: list[Column]) -> list[int]:
    """List the features with a missing and an observed cell."""
    return [
        j
        for j, column in enumerate(columns)
        if any(v is None for v in column.values)
        and any(v is not None for v in column.values)
    ]


def fit(
    columns: list[Column], n_bins=4, max_categories: int = 255, informative=()
) -> Reference:
    """Fit the reference; `n_bins` is an int or one int per feature.

    "An *informative* feature has one more cell, "missing", the last of its cells."
    """
    if isinstance(n_bins, int):
        n_bins = [n_bins] * len(columns)
    cells = [
        fit_cells(column, wanted, max_categories)
        for column, wanted in zip(columns, n_bins, strict=True)
    ]
    cells = [replace(own, gap=j in informative) for j, own in enumerate(cells)]
    codes = assign_codes(columns, cells)
    holders = [{} for _ in columns]
    observers = [set() for _ in columns]
    for i, row in enumerate(codes):
        for j, code in enumerate(row):
            if code != MISSING:
                holders[j].setdefault(code, set()).add(i)
                observers[j].add(i)
    return Reference(cells, codes, holders, observers)


def sharing(row: list[int], reference: Reference) -> list[set]:
    """For each feature that the row observes, the reference rows with its code.

    A category unseen at fit "counts as observed, matches nothing": an empty set. A
    feature that had nothing observed at fit is left out, here as in the kernel.
    """
    return [
        reference.holders[j].get(code, set())
        for j, code in enumerate(row)
        if code != MISSING and reference.cells[j].n_bins
    ]


def match_cascade(row: list[int], j: int, reference: Reference) -> Estimate:
    """Match one missing cell by the paper's rule.

    "Level 1, intersection: rows with row i's code in *every* feature that i
    observes. If nobody there observes j: level 2, union: rows with row i's code in
    *any* of them. If nobody: level 3, the prior. A row with nothing observed: the
    prior."
    """
    sets = sharing(row, reference)
    observers = reference.observers[j]
    if sets:
        intersection = set.intersection(*sets) & observers
        if intersection:
            return Estimate(frozenset(intersection), "intersection")
        union = set.union(*sets) & observers
        if union:
            return Estimate(frozenset(union), "union")
    return Estimate(frozenset(observers), "prior")


def average_block(estimate: Estimate, j: int, reference: Reference) -> list[float]:
    """Fill the block of a missing cell.

    "The mean of the one-hot blocks of the fitted rows that match row i and observe j."
    """
    block = [0.0] * reference.n_bins[j]
    for m in estimate.donors:
        block[reference.codes[m][j]] += 1
    return [count / len(estimate.donors) for count in block]


def estimate_block(
    row: list[int], j: int, reference: Reference, matching: str
) -> list[float]:
    """Estimate one missing cell (row, j): a share for each bin of j."""
    if matching == "cascade":
        return average_block(match_cascade(row, j, reference), j, reference)
    return reference.pairwise.estimate(row, j)


def represent(
    columns: list[Column], reference: Reference, matching: str = "pairwise"
) -> np.ndarray:
    """Represent rows.

    "Feature after feature; one 1 for an observed cell, a distribution for a missing
    one." The block of a category unseen at fit is zero.

    Returns
    -------
    representation : ndarray of shape (n_samples, sum of n_bins), float64
    """
    rows = []
    for row in assign_codes(columns, reference.cells):
        z = []
        for j, code in enumerate(row):
            if code == MISSING:
                z += estimate_block(row, j, reference, matching)
            else:
                z += [float(k == code) for k in range(reference.n_bins[j])]
        rows.append(z)
    return np.array(rows, dtype=float).reshape(len(rows), sum(reference.n_bins))


@dataclass(frozen=True)
class Origin:
    """Where the estimate of a missing cell comes from.

    Parameters
    ----------
    row, feature : int
    level : str
    observed : int
        Features with bins that the row observes, unknown categories included.
    support : int
        Fitted rows that observe the feature; with the cascade, that match; if a cell
        decides, those in which its code has come with the bin.
    certainty : float
        Of the likeliest bin.
    moves : dict
        Observed feature -> how far its cell moves the estimate; not with the cascade.
    decider : int, optional
        The feature whose cell decides.
    """

    row: int
    feature: int
    level: str
    observed: int
    support: int
    certainty: float
    moves: dict = field(default_factory=dict)
    decider: int | None = None


def provenance(
    columns: list[Column], reference: Reference, matching: str = "pairwise"
) -> list[Origin]:
    """List where the estimate of every missing cell comes from."""
    out = []
    for i, row in enumerate(assign_codes(columns, reference.cells)):
        observed = len(sharing(row, reference))
        for j, code in enumerate(row):
            if code != MISSING:
                continue
            decider = None
            certainty = max(estimate_block(row, j, reference, matching), default=0.0)
            if matching == "cascade":
                found, moves = match_cascade(row, j, reference), {}
                level, support = found.level, len(found.donors)
            else:
                support = len(reference.observers[j])
                moves = reference.pairwise.moves(row, j)
                level = "evidence" if max(moves.values(), default=0) > 0 else "prior"
                decided = reference.pairwise.decide(row, j)
                if decided is not None:
                    level, (decider, support, *_) = "determined", decided
            out.append(
                Origin(i, j, level, observed, support, certainty, moves, decider)
            )
    return out


def normalize(representation: np.ndarray, n_counted: int) -> np.ndarray:
    """Scale every row so that K(x, x) = 1; "a row that is all zero stays zero"."""
    rows = []
    for z in representation:
        square = sum(v * v for v in z)
        rows.append(z * (n_counted / square) ** 0.5 if square else z)
    return np.array(rows)


def kernel(left: np.ndarray, right: np.ndarray, n_counted: int) -> np.ndarray:
    """Compare rows: "K(x, y) = z_x . z_y / d"."""
    return np.array(
        [
            [sum(a * b for a, b in zip(x, y, strict=True)) / n_counted for y in right]
            for x in left.tolist()
        ]
    )


def weighted_kernel(
    left: np.ndarray, right: np.ndarray, n_bins: list[int], weights: list[float]
) -> np.ndarray:
    """Compare rows with weights, over the features with at least one bin.

    "K(x, y) = sum_j w_j <z_xj, z_yj> / sum_j w_j".
    """
    out = np.zeros((len(left), len(right)))
    total = sum(w for w, size in zip(weights, n_bins, strict=True) if size)
    for i, x in enumerate(left.tolist()):
        for m, y in enumerate(right.tolist()):
            start = 0
            for weight, size in zip(weights, n_bins, strict=True):
                block = range(start, start + size)
                out[i, m] += weight * sum(x[k] * y[k] for k in block) / total
                start += size
    return out


def rarity_weights(reference: Reference, rarity: float) -> list[list[float]]:
    """Weigh the bins of each feature: "a match of a rare value says more".

    "r_j(c) = q_j(c)^-g / sum_c' v_c' q_j(c')^(1-g), q floored at .005, so that
    self-similarity is 1 in each feature on average." Here every v is 1: one scale. The
    floor is of the power -g only; with a floor of q itself the average would be less
    than 1, and g = 0 would not be the paper's kernel.
    """
    out = []
    for j, size in enumerate(reference.n_bins):
        codes = [row[j] for row in reference.codes if row[j] >= 0]
        shares = [codes.count(k) / max(len(codes), 1) for k in range(size)]
        powers = [max(share, 0.005) ** -rarity for share in shares]
        mean = sum(q * power for q, power in zip(shares, powers, strict=True))
        out.append([power / mean for power in powers])
    return out


def rare_kernel(
    left: np.ndarray, right: np.ndarray, reference: Reference, rarity: float
) -> np.ndarray:
    """Compare rows: "K(x, y) = sum_j sum_c r_j(c) z_x(c) z_y(c) / d"."""
    weights = [r for own in rarity_weights(reference, rarity) for r in own]
    out = np.zeros((len(left), len(right)))
    for i, x in enumerate(left.tolist()):
        for m, y in enumerate(right.tolist()):
            terms = zip(weights, x, y, strict=True)
            out[i, m] = sum(r * a * b for r, a, b in terms) / reference.n_counted
    return out


def full_scores(left: np.ndarray, reference: Reference, rarity: float) -> np.ndarray:
    """What a row with exactly the values of each row would score with it.

    "sum_j sum_c r_j(c) z_x(c)"; a category not seen at fit counts 1, the average.
    """
    weights, out = rarity_weights(reference, rarity), []
    for z in left.tolist():
        start, total = 0, 0.0
        for own in weights:
            block = z[start : start + len(own)]
            start += len(own)
            if own and not any(block):
                total += 1
            total += sum(r * share for r, share in zip(own, block, strict=True))
        out.append(total / reference.n_counted)
    return np.array(out)
