"""The columns of the representation: those of each feature, and their weights.

A feature has a column for each leaf (unless "fine", a leaf is a bin), then one for
missing if that is informative, then one for each larger cell with several leaves. An
observed value has an entry in the columns of its leaf and of the cells around it. The
squares of its entries add up to the weight of the feature, which is 1 unless
`feature_weights` are given. The inner product of two values is their score, times that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bins.centers import Bins, CategoricalBins
from .._bins.fine_scale import nest_cells, spread_evenly
from .._numba.kernel_loops import Layout

COARSE_SHARE = 0.8
"""Score of two values in the same half of an "auto" feature; the same bin is 1."""

_Ints = NDArray[np.int64]
_Cells = list[tuple[_Ints, float]]


def list_cells_of(bins: Bins) -> tuple[NDArray[np.float64], _Cells]:
    """Find how much each leaf and each larger cell of a feature adds to a score."""
    if isinstance(bins, CategoricalBins):
        return np.ones(bins.n_bins), []
    if bins.levels is not None:
        return nest_cells(bins.levels)
    own = np.ones(bins.n_bins)
    cells: _Cells = [(members, COARSE_SHARE) for members in bins.shared.values()]
    for members, added in cells:
        own[members] -= added
    return own, cells


def lay_out(
    totals: Sequence[_Ints], bins: Sequence[Bins], weights: NDArray[np.float64]
) -> Layout:
    """Lay out the columns of every feature.

    Parameters
    ----------
    totals : sequence of ndarray of int64, one per feature
        How often each of its codes occurred at fit, with that of informative missing.
    bins : sequence of Bins, one per feature
    weights : ndarray of shape (n_features,), float64
        How much each feature counts in the kernel.

    Returns
    -------
    Layout

    Examples
    --------
    >>> from proximity_kernel._bins.centers import NumericBins
    >>> bins = [NumericBins(np.array([1.0, 2.0, 9.0]), np.array([0, 0, 1]))]
    >>> layout = lay_out([np.array([5, 5, 5])], bins, np.ones(1))
    >>> layout.entry_columns.tolist(), layout.entry_weights.round(2).tolist()
    ([0, 3, 1, 3, 2], [0.45, 0.89, 0.45, 0.89, 1.0])
    """
    n_bins = np.array([len(own) for own in totals], np.int64)
    nested = [list_cells_of(own) for own in bins]
    gaps = n_bins - np.array([own.n_bins for own in bins])  # 1 if informative
    n_leaves = gaps + np.array([len(own) for own, _ in nested])
    n_columns = n_leaves + np.array([len(cells) for _, cells in nested])
    first_bin, first_leaf, first_column = (
        np.cumsum(sizes) - sizes for sizes in (n_bins, n_leaves, n_columns)
    )
    column = np.arange(n_leaves.sum()) + np.repeat(first_column - first_leaf, n_leaves)
    score, share = np.ones(len(column)), np.ones(len(column))
    bin_ = np.arange(len(column)) + np.repeat(first_bin - first_leaf, n_leaves)
    larger: list[tuple[_Ints, _Ints, NDArray[np.float64]]] = []
    for j, (own, cells) in enumerate(nested):
        if not cells:
            continue
        at = slice(first_leaf[j], first_leaf[j] + len(own))
        score[at] = own
        if (levels := getattr(bins[j], "levels", None)) is not None:
            share[at] = spread_evenly(levels)
            bin_[at] = first_bin[j] + bins[j].parents
            bin_[at.stop :][: gaps[j]] = first_bin[j] + bins[j].n_bins
        for k, (members, added) in enumerate(cells):
            of_cell = first_column[j] + n_leaves[j] + k
            weight = np.full(len(members), added)
            larger.append((at.start + members, np.full(len(members), of_cell), weight))
    leaf = np.concatenate([np.arange(len(column)), *(one[0] for one in larger)])
    column = np.concatenate([column, *(one[1] for one in larger)])
    weight = np.concatenate([score, *(one[2] for one in larger)])
    weight = np.sqrt(weight * np.repeat(weights, n_leaves)[leaf])
    order = np.argsort(leaf, kind="stable")
    possible = np.concatenate(totals) > 0
    return Layout(
        n_bins,
        first_bin,
        first_leaf,
        bin_,
        np.searchsorted(leaf[order], np.arange(len(score) + 1)),
        column[order],
        weight[order],
        *_spread_bins(bin_[leaf], column, weight * share[leaf], possible, first_column),
    )


def _spread_bins(
    bin_: _Ints,
    column: _Ints,
    weight: NDArray[np.float64],
    possible: NDArray[np.bool_],
    first_column: _Ints,
) -> tuple[NDArray[Any], ...]:
    """Lay out missing cells: the columns of each feature, and the shares of each bin.

    Parameters
    ----------
    bin_, column, weight : ndarray of shape (n_entries,)
        Entries of the leaves, in any order; those of one bin in one column are added.
    possible : ndarray of shape (total bins,), bool
        Whether any fitted row has the code; other codes have no share in an estimate.
    first_column : ndarray of shape (n_features,)

    Returns
    -------
    gap_start, gap_columns, bin_start, slots, shares
        As in `Layout`.
    """
    there = possible[bin_]
    n_columns = int(column.max(initial=0)) + 1
    keys, inverse = np.unique(
        bin_[there] * n_columns + column[there], return_inverse=True
    )
    shares: Any = np.bincount(inverse, weight[there], len(keys))
    bins_of, columns_of = np.divmod(keys, n_columns)
    gap_columns = np.unique(columns_of)
    gap_start = np.searchsorted(gap_columns, np.append(first_column, n_columns))
    feature = np.searchsorted(first_column, columns_of, side="right") - 1
    slots = np.searchsorted(gap_columns, columns_of) - gap_start[feature]
    bin_start = np.searchsorted(bins_of, np.arange(len(possible) + 1))
    return gap_start, gap_columns, bin_start, slots, shares
