"""Codes and estimates in, the representation out: a sparse row per row.

Feature after feature, an observed cell is a single 1 in the column of its bin, a
missing one the distribution that was estimated for it, and a category not seen at fit
nothing at all. So the inner product of two rows adds up, over the features, the
probability that both lie in the same bin.

Where a feature has two resolutions, the probability that both lie in the same coarse
bin counts for `COARSE_SHARE` of it, and that of the same bin for the others. Each
coarse bin has a column then, behind the bins. One that holds a single bin would say
again what this bin says: it has no column, and the bin counts in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from .._bins.centers import Bins
from .._bins.codes import Codes
from .._matching.estimates import Matcher
from .._numba.representation_loops import Layout, fill_rows, size_rows
from .._shared.threads import run_pieces

_PIECE = 1 << 18  # cells
COARSE_SHARE = 0.8
"""What the same coarse bin counts for; the same bin counts for 1."""
_COARSE_NAMES = ("low", "high")


def lay_out(totals: Sequence[NDArray[np.int64]], bins: Sequence[Bins]) -> Layout:
    """Give every code its column, and every coarse bin that holds several.

    Parameters
    ----------
    totals : sequence of ndarray of int64, one per feature
        How often each of its codes was observed at fit.
    bins : sequence of Bins, one per feature
        Codes past its bins count in full.

    Returns
    -------
    Layout

    Examples
    --------
    >>> from proximity_kernel._bins.centers import NumericBins
    >>> bins = [NumericBins(np.array([1.0, 2.0, 9.0]), np.array([0, 0, 1]))]
    >>> layout = lay_out([np.array([5, 5, 5])], bins)
    >>> layout.weights.round(2).tolist(), layout.coarse.tolist()
    ([0.45, 0.45, 1.0], [3, 3, -1])
    """
    n_bins = np.array([len(own) for own in totals], np.int64)
    shared = [list(b.shared.values()) for b in bins]
    before = np.cumsum([0, *map(len, shared)])
    columns = np.arange(n_bins.sum()) + np.repeat(before[:-1], n_bins)
    coarse = np.full(len(columns), -1)
    possible = np.concatenate(totals) > 0
    ends = np.cumsum(n_bins)
    first = ends - n_bins
    owner = np.repeat(np.arange(len(n_bins)), n_bins)
    gap_sizes = np.bincount(owner[possible], minlength=len(n_bins))
    for j, groups in enumerate(shared):
        for at, members in enumerate(groups):
            coarse[first[j] + members] = ends[j] + before[j] + at
            gap_sizes[j] += bool(possible[first[j] + members].any())
    weights = np.where(coarse < 0, 1, np.sqrt(1 - COARSE_SHARE))
    return Layout(
        n_bins, first, columns, weights, coarse, float(np.sqrt(COARSE_SHARE)),
        possible, gap_sizes,
    )  # fmt: skip


def build_representation(
    codes: Codes,
    matcher: Matcher,
    layout: Layout,
    n_columns: int,
    dtype: DTypeLike,
    n_threads: int,
) -> sp.csr_array:
    """Write the rows of the representation.

    Parameters
    ----------
    codes : Codes
    matcher : Pairwise or Cascade
        Estimates the missing cells.
    layout : Layout
    n_columns : int
    dtype : dtype
        Of the result.
    n_threads : int

    Returns
    -------
    csr_array of shape (n_samples, n_columns)
    """
    indptr = _start_rows(codes, layout)
    indices = np.empty(indptr[-1], indptr.dtype)
    data = np.empty(indptr[-1], dtype)

    estimate_part = matcher.by_parts(codes, n_threads)

    def fill_some(first: int, last: int) -> None:
        rows, which, cells = estimate_part(first, last)
        fill_rows(
            rows, which, layout, cells.row_start, cells.start, cells.probabilities,
            indptr[first : last + 1], indices, data,
        )  # fmt: skip

    piece = max(1, _PIECE // codes.rows.shape[1])
    run_pieces(fill_some, len(codes.inverse), piece, n_threads)
    matrix = sp.csr_array((data, indices, indptr), (len(codes.inverse), n_columns))
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    if matcher.leaves_bins_out:
        matrix.eliminate_zeros()
    return matrix


def _start_rows(codes: Codes, layout: Layout) -> NDArray[Any]:
    """Where the entries of each row begin, shape (n_samples + 1,)."""
    sizes = np.empty(len(codes.rows), np.int64)
    size_rows(codes.rows, layout, sizes)
    indptr = np.zeros(len(codes.inverse) + 1, np.int64)
    np.cumsum(sizes[codes.inverse], out=indptr[1:])
    small = indptr[-1] <= np.iinfo(np.int32).max
    return indptr.astype(np.int32 if small else np.int64)


def normalize_rows(matrix: sp.csr_array, n_features: int) -> None:
    """Scale rows in place so that each has similarity 1 with itself.

    A row without entries stays as it is.
    """
    squares = np.asarray(matrix.multiply(matrix).sum(axis=1), np.float64).ravel()
    scale = np.sqrt(n_features / np.where(squares > 0, squares, 1))
    matrix.data *= np.repeat(scale, np.diff(matrix.indptr)).astype(matrix.dtype)


def output_names(
    names: Sequence[str], bins: Sequence[Bins], informative: NDArray[np.bool_]
) -> NDArray[np.object_]:
    """Name every column of the representation.

    A name that stands there already gets underscores until it does not: the column
    "a" with a category "1_0" beside a numeric column "a_1".

    Examples
    --------
    >>> from proximity_kernel._bins.centers import CategoricalBins, NumericBins
    >>> bins = [NumericBins(np.array([1.0, 2.0])), CategoricalBins(("a", "b"))]
    >>> output_names(["age", "blood"], bins, np.array([True, False])).tolist()
    ['age_0', 'age_1', 'age_missing', 'blood_a', 'blood_b']
    """
    out: dict[str, None] = {}  # a set that keeps its order
    for feature, feature_bins, gaps in zip(names, bins, informative, strict=True):
        missing = ["missing"] if gaps else []
        coarse = [_COARSE_NAMES[group] for group in feature_bins.shared]
        for suffix in [*feature_bins.names(), *missing, *coarse]:
            name = f"{feature}_{suffix}"
            while name in out:
                name += "_"
            out[name] = None
    return np.array(list(out), dtype=object)
