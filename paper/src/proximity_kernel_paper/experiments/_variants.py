"""The proximity kernel with one rule changed at a time, written plainly.

A `Rule` says what is changed; with its defaults it is the paper's method as this
package understands it (``ProximityKernel(matching="cascade")``), and gives the same
numbers. Everything is done row against row, in time quadratic in the rows: fine for the
tables of the paper, and short enough to be compared with the definitions by eye.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
# The representation, a block of shape (n, n_bins) for each feature.
Blocks: TypeAlias = list[Floats]

MISSING = -1
_EQUAL = 1e-6  # the representation of `ProximityKernel` has 32 bits


@dataclass(frozen=True)
class Rule:
    """What the representation is made by.

    Attributes
    ----------
    assignment : {"nearest", "distance", "interval"}
        A number's bin: that of the nearest center, by counting the midpoints below it;
        the same by comparing distances, so that rounding decides ties; or the interval
        between neighbouring centers that holds it, of which there is one fewer.
    more_centers : int
        Centers beyond the number of bins asked for.
    merged : bool
        Whether equal centers are one.
    nominal : bool
        Whether every category has its bin; else unordered categories are numbered in
        sorted order and put into bins like numbers.
    most_categories : int
        Bins of an unordered feature; the rarest categories share the last.
    prior : {"nearest", "interval"}
        What the bin frequencies count: codes; or for each center the values from it up
        to the next one.
    intersection, union : bool
        Whether this level of the matching is there.
    skipped : bool
        Whether the union is skipped where another row shares all codes, although none
        of those observes the feature.
    empty_row_zero : bool
        Whether a row with nothing observed is all zero; else it is the prior.
    own_bin : bool
        Whether missing is a bin of its own, in place of the matching.
    """

    assignment: str = "nearest"
    more_centers: int = 0
    merged: bool = True
    nominal: bool = True
    most_categories: int = 255
    prior: str = "nearest"
    intersection: bool = True
    union: bool = True
    skipped: bool = False
    empty_row_zero: bool = False
    own_bin: bool = False


@dataclass(frozen=True, eq=False)
class Feature:
    """One column in bins.

    Attributes
    ----------
    codes : ndarray of int of shape (n,)
        -1 where missing.
    n_bins : int
    prior : ndarray of shape (n_bins,)
    """

    codes: Ints
    n_bins: int
    prior: Floats


def represent_by(rule: Rule, frame: pd.DataFrame, n_bins: int = 4) -> Blocks:
    """Represent a table by a rule.

    Parameters
    ----------
    rule : Rule
    frame : pandas.DataFrame of shape (n, d)
        Numbers, ordered and unordered categories; each column observes something.
    n_bins : int, default=4
        Bins of a numeric feature.

    Returns
    -------
    list of d ndarrays of shape (n, n_bins of the feature)

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1.0, 1.0, 9.0, 9.0], "y": [5.0, 5.0, None, 7.0]})
    >>> represent_by(Rule(), frame, n_bins=2)[1][2]
    array([0., 1.])
    >>> represent_by(Rule(intersection=False, union=False), frame, n_bins=2)[1][2]
    array([0.66666667, 0.33333333])
    """
    features = [code_column(frame[name], rule, n_bins) for name in frame.columns]
    blocks = [_one_hot(feature) for feature in features]
    if rule.own_bin:
        return [_append_missing(*pair) for pair in zip(blocks, features, strict=True)]
    codes = np.column_stack([feature.codes for feature in features])
    incomplete = np.flatnonzero((codes == MISSING).any(axis=1))
    rows, which = np.unique(codes[incomplete], axis=0, return_inverse=True)
    for place, row in enumerate(rows):
        members = incomplete[which.ravel() == place]
        for j, block in estimate_row(row, codes, features, rule).items():
            blocks[j][members] = block
    return blocks


def _one_hot(feature: Feature) -> Floats:
    one_hot: Floats = np.equal.outer(feature.codes, np.arange(feature.n_bins)) * 1.0
    return one_hot


def _append_missing(block: Floats, feature: Feature) -> Floats:
    missing = feature.codes == MISSING
    return np.column_stack([block, missing]) if missing.any() else block


def code_column(column: pd.Series, rule: Rule, n_bins: int) -> Feature:
    """Put a column into bins.

    Parameters
    ----------
    column : pandas.Series of shape (n,)
    rule : Rule
    n_bins : int
        If it is numeric.

    Returns
    -------
    Feature
    """
    values, numeric = read_values(column)
    seen = ~np.isnan(values)
    codes = np.full(len(values), MISSING)
    if rule.nominal and not numeric:
        codes[seen] = _share_last(values[seen].astype(int), rule.most_categories)
        n_cells = int(codes.max()) + 1
        return Feature(codes, n_cells, _shares(codes[seen], n_cells))
    centers = find_centers(values[seen], n_bins + rule.more_centers, rule.merged)
    floor = np.searchsorted(centers, values[seen], side="right") - 1
    if rule.assignment == "interval":
        n_cells = max(len(centers) - 1, 1)
        codes[seen] = np.minimum(floor, n_cells - 1)  # the last interval is closed
    else:
        n_cells = len(centers)
        by_midpoints = rule.assignment == "nearest"
        codes[seen] = _find_nearest(values[seen], centers, by_midpoints)
    counted = floor if rule.prior == "interval" else codes[seen]
    return Feature(codes, n_cells, _shares(counted, n_cells))


def _share_last(codes: Ints, most: int) -> Ints:
    """Let the rarest categories share the last bin, if there are more than allowed."""
    counts = np.bincount(codes)
    if len(counts) <= most:
        return codes
    kept = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
    places = np.full(len(counts), most - 1)
    places[kept] = np.arange(most - 1)
    return places[codes]


def _find_nearest(values: Floats, centers: Floats, by_midpoints: bool) -> Ints:
    """Give the place of the nearest center; a tie goes to the lower one."""
    if not by_midpoints:
        closest: Ints = np.abs(values[:, None] - centers).argmin(axis=1)
        return closest
    distinct = np.unique(centers)
    nearest = np.searchsorted((distinct[:-1] + distinct[1:]) / 2, values, side="left")
    return np.searchsorted(centers, distinct[nearest], side="left")


def read_values(column: pd.Series) -> tuple[Floats, bool]:
    """Read a column as numbers.

    Parameters
    ----------
    column : pandas.Series of shape (n,)

    Returns
    -------
    values : ndarray of shape (n,)
        NaN where missing; ordered categories by rank, others by their place in sorted
        order among those that occur.
    numeric : bool
        False for unordered categories.
    """
    if hasattr(column, "cat") and column.cat.ordered:
        ranks = column.cat.codes.to_numpy(dtype=float)
        return np.where(ranks < 0, np.nan, ranks), True
    if not hasattr(column, "cat") and column.dtype.kind in "fiu":
        return column.to_numpy(dtype=float), True
    places = {label: float(k) for k, label in enumerate(sorted(set(column.dropna())))}
    return np.array([places.get(label, np.nan) for label in column]), False


def find_centers(observed: Floats, n_centers: int, merged: bool) -> Floats:
    """Find the centers of a numeric feature: evenly spaced percentiles.

    A percentile that falls on a value is that value. `numpy.percentile` may miss it by
    a rounding error, which makes two centers of one or sends a tie the other way.

    Parameters
    ----------
    observed : ndarray of shape (m,)
    n_centers : int
        At least 2.
    merged : bool
        Whether equal ones are one.

    Returns
    -------
    ndarray, rising
    """
    values, steps = np.sort(observed), n_centers - 1
    last = len(values) - 1
    below, rest = np.divmod(last * np.arange(n_centers), steps)
    low, high = values[below], values[np.minimum(below + 1, last)]
    centers: Floats = low + (high - low) * (rest / steps)
    return np.unique(centers) if merged else centers


def _shares(codes: Ints, n_cells: int) -> Floats:
    return np.bincount(codes, minlength=n_cells)[:n_cells] / len(codes)


def estimate_row(
    row: Ints, codes: Ints, features: list[Feature], rule: Rule
) -> dict[int, Floats]:
    """Fill the missing cells of a row.

    Parameters
    ----------
    row : ndarray of shape (d,)
        Its codes.
    codes : ndarray of shape (n, d)
        Those of all rows.
    features : list of d Feature
    rule : Rule

    Returns
    -------
    dict from int to ndarray of shape (n_bins,)
        By feature.
    """
    own = row != MISSING
    shared = (codes[:, own] == row[own]).sum(axis=1)
    alike = shared == own.sum()
    levels = [alike] * rule.intersection + [shared > 0] * rule.union
    if rule.skipped and alike.sum() > 1:  # the row is one of them itself
        levels = [alike]
    found = {}
    for j in np.flatnonzero(~own).tolist():
        prior = features[j].prior
        if own.any():
            found[j] = _first_share(levels, codes[:, j], prior)
        else:
            found[j] = prior * (not rule.empty_row_zero)
    return found


def _first_share(levels: list[Mask], codes: Ints, prior: Floats) -> Floats:
    """Bin frequencies of the first level where somebody observes; else the prior."""
    for level in levels:
        donors = codes[level & (codes != MISSING)]
        if len(donors):
            return _shares(donors, len(prior))
    return prior


def split_blocks(matrix: Any, n_bins: Any) -> Blocks:
    """Cut a representation into the blocks of its features.

    Parameters
    ----------
    matrix : sparse matrix of shape (n, sum(n_bins))
    n_bins : array of int of shape (d,)

    Returns
    -------
    list of d ndarrays
    """
    dense = np.asarray(matrix.toarray(), dtype=float)
    return np.split(dense, np.cumsum(n_bins)[:-1], axis=1)


def find_touched(ours: Blocks, theirs: Blocks, missing: Mask) -> Mask:
    """Find the cells that a change of rules touches.

    Parameters
    ----------
    ours, theirs : list of d ndarrays
    missing : ndarray of bool of shape (n, d)

    Returns
    -------
    ndarray of bool of shape (n, d)
        An observed cell is touched if other rows share its bin, a missing one if its
        distribution is another, or is over other bins. Bins that nobody has, and their
        numbers, do not matter.
    """
    touched = np.zeros_like(missing)
    for j, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        a, b = one[:, one.any(axis=0)], other[:, other.any(axis=0)]
        seen = ~missing[:, j]
        touched[seen, j] = _regrouped(a[seen].argmax(axis=1), b[seen].argmax(axis=1))
        if a.shape == b.shape:
            touched[~seen, j] = np.abs(a - b)[~seen].max(axis=1, initial=0) > _EQUAL
        else:
            touched[~seen, j] = True
    return touched


def _regrouped(one: Ints, other: Ints) -> Mask:
    """Whose group in one grouping is not exactly its group in the other."""
    _, pairs = np.unique(np.column_stack([one, other]), axis=0, return_inverse=True)
    together = np.bincount(pairs.ravel())[pairs.ravel()]
    changed: Mask = (np.bincount(one)[one] != together) | (
        np.bincount(other)[other] != together
    )
    return changed
