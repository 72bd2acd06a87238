"""Codes and estimates in, the representation out: a sparse row per row.

Feature after feature, an observed cell is a single 1 in the column of its bin, a
missing one the distribution that was estimated for it, and a category not seen at fit
nothing at all. So the inner product of two rows adds up, over the features, the
probability that both lie in the same bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from ._centers import Bins
from ._codes import Codes
from ._loops import fill_rows, size_rows
from ._reference import Reference, read_only
from ._search import Estimates
from ._threads import run_pieces

_PIECE = 16384  # rows


def build_representation(
    codes: Codes,
    estimates: Estimates,
    reference: Reference,
    dtype: DTypeLike,
    n_threads: int,
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

    Returns
    -------
    csr_array of shape (n_samples, sum(n_bins))
    """
    rows, inverse = read_only(codes.rows), read_only(codes.inverse)
    n_bins, offsets = reference.bitmaps.n_bins, reference.bitmaps.offsets
    n_samples = len(inverse)
    sizes = np.empty(len(rows), np.int64)
    size_rows(
        rows, n_bins, estimates.row_start, estimates.start, estimates.probabilities,
        sizes,
    )  # fmt: skip
    indptr = np.zeros(n_samples + 1, np.int64)
    np.cumsum(sizes[inverse], out=indptr[1:])
    small = indptr[-1] <= np.iinfo(np.int32).max
    indptr = indptr.astype(np.int32 if small else np.int64)
    indices = np.empty(indptr[-1], indptr.dtype)
    data = np.empty(indptr[-1], dtype)

    def fill_some(first: int, last: int) -> None:
        fill_rows(
            rows, inverse, first, last, n_bins, offsets, estimates.row_start,
            estimates.start, estimates.probabilities, indptr, indices, data,
        )  # fmt: skip

    run_pieces(fill_some, n_samples, _PIECE, n_threads)
    shape = (n_samples, int(offsets[-1]))
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


def output_names(names: Sequence[str], bins: Sequence[Bins]) -> NDArray[np.object_]:
    """Name every column of the representation.

    A name that stands there already gets underscores until it does not: the column
    "a" with a category "1_0" beside a numeric column "a_1".

    Examples
    --------
    >>> from proximity_kernel._centers import CategoricalBins, NumericBins
    >>> bins = [NumericBins(np.array([1.0, 2.0])), CategoricalBins(("a", "b"))]
    >>> output_names(["age", "blood"], bins).tolist()
    ['age_0', 'age_1', 'blood_a', 'blood_b']
    """
    out: dict[str, None] = {}  # a set that keeps its order
    for feature, feature_bins in zip(names, bins, strict=True):
        for suffix in feature_bins.names():
            name = f"{feature}_{suffix}"
            while name in out:
                name += "_"
            out[name] = None
    return np.array(list(out), dtype=object)
