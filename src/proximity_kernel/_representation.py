"""Codes and estimates in, the representation out: a sparse row per row.

Feature after feature, an observed cell is a single 1 in the column of its bin, a
missing one the distribution that was estimated for it, and a category not seen at fit
nothing at all. So the inner product of two rows adds up, over the features, the
probability that both lie in the same bin.

Where a feature has two resolutions, the probability that both lie in the same coarse
bin counts for `_COARSE_SHARE` of it, and that of the same bin for the others. Each
coarse bin has a column then, behind the bins. One that holds a single bin would say
again what this bin says: it has no column, and the bin counts in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from ._centers import Bins
from ._codes import Codes
from ._loops import fill_rows, size_rows
from ._reference import Reference, read_only
from ._tallies import Estimates
from ._threads import run_pieces

_PIECE = 16384  # rows
_COARSE_SHARE = 0.8
_COARSE_NAMES = ("low", "high")


@dataclass(frozen=True)
class Layout:
    """Where the bins of all features, one after another, go in the representation.

    Attributes
    ----------
    columns : ndarray of shape (sum(n_bins),), int64
        Of each bin.
    weights : ndarray of shape (sum(n_bins),), float64
        What a cell that is certainly in the bin has there.
    coarse : ndarray of shape (sum(n_bins),), int64
        The column that a bin shares with others of its coarse bin, or -1.
    n_columns : int
    """

    columns: NDArray[np.int64]
    weights: NDArray[np.float64]
    coarse: NDArray[np.int64]
    n_columns: int


def lay_out(n_bins: NDArray[np.int64], bins: Sequence[Bins]) -> Layout:
    """Give every bin its column, and every coarse bin that holds several.

    Parameters
    ----------
    n_bins : ndarray of shape (n_features,), int64
        Codes of each feature; those past its bins count in full.
    bins : sequence of Bins, one per feature, or empty for one resolution

    Returns
    -------
    Layout

    Examples
    --------
    >>> from proximity_kernel._centers import NumericBins
    >>> bins = [NumericBins(np.array([1.0, 2.0, 9.0]), np.array([0, 0, 1]))]
    >>> layout = lay_out(np.array([3]), bins)
    >>> layout.weights.round(2).tolist(), layout.coarse.tolist(), layout.n_columns
    ([0.45, 0.45, 1.0], [3, 3, -1], 4)
    """
    shared = [list(b.shared.values()) for b in bins] or [[]] * len(n_bins)
    before = np.cumsum([0, *map(len, shared)])
    columns = np.arange(n_bins.sum()) + np.repeat(before[:-1], n_bins)
    coarse = np.full(len(columns), -1)
    ends = np.cumsum(n_bins)
    for j, groups in enumerate(shared):
        for at, members in enumerate(groups):
            coarse[ends[j] - n_bins[j] + members] = ends[j] + before[j] + at
    weights = np.where(coarse < 0, 1, np.sqrt(1 - _COARSE_SHARE))
    n_columns = int(ends[-1] + before[-1])
    return Layout(read_only(columns), read_only(weights), read_only(coarse), n_columns)


def build_representation(
    codes: Codes,
    estimates: Estimates,
    reference: Reference,
    dtype: DTypeLike,
    n_threads: int,
    bins: Sequence[Bins] = (),
) -> sp.csr_array:
    """Write the rows of the representation.

    Parameters
    ----------
    codes : Codes
    estimates : Estimates
        Of the same rows.
    reference : Reference
    dtype : dtype
        Of the result.
    n_threads : int
    bins : sequence of Bins, one per feature, or empty
        With their resolutions; empty if every feature has one.

    Returns
    -------
    csr_array of shape (n_samples, n_columns)
        A column per bin, and one per coarse bin that holds several.
    """
    rows, inverse = read_only(codes.rows), read_only(codes.inverse)
    n_bins, offsets = reference.bitmaps.n_bins, reference.bitmaps.offsets
    layout = lay_out(n_bins, bins)
    n_samples = len(inverse)
    sizes = np.empty(len(rows), np.int64)
    size_rows(
        rows, n_bins, offsets, layout.coarse, estimates.feature, estimates.row_start,
        estimates.start, estimates.probabilities, sizes,
    )  # fmt: skip
    indptr = np.zeros(n_samples + 1, np.int64)
    np.cumsum(sizes[inverse], out=indptr[1:])
    small = indptr[-1] <= np.iinfo(np.int32).max
    indptr = indptr.astype(np.int32 if small else np.int64)
    indices = np.empty(indptr[-1], indptr.dtype)
    data = np.empty(indptr[-1], dtype)

    def fill_some(first: int, last: int) -> None:
        fill_rows(
            rows, inverse, first, last, n_bins, offsets, layout.columns,
            layout.weights, layout.coarse, np.sqrt(_COARSE_SHARE), estimates.row_start,
            estimates.start, estimates.probabilities, indptr, indices, data,
        )  # fmt: skip

    run_pieces(fill_some, n_samples, _PIECE, n_threads)
    shape = (n_samples, layout.n_columns)
    return _trusted_csr(data, indices, indptr, shape)


def _trusted_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: Any
) -> sp.csr_array:
    matrix = sp.csr_array((data, indices, indptr), shape=shape)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix


def normalize_rows(matrix: sp.csr_array, n_features: int) -> None:
    """Scale rows in place so that each is alike to itself with similarity one.

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
    >>> from proximity_kernel._centers import CategoricalBins, NumericBins
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
