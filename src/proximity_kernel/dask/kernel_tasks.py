"""What runs for one partition. Every task uses one thread: others run beside it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config

from .._bins.bin_state import has_no_rows
from .._inner_kernel import represent as represent_rows
from .._matching.row_state import RowState, summarize_rows
from .._shared.extras import require
from .._shared.whole_files import whole_file
from .._similarity.kernel_matrix import kernel_matrix
from .._similarity.nearest import build_index, find_nearest
from ..kernel import ProximityKernel
from .partitions import Shared, share

MAKERS = {"spmatrix": sp.csr_matrix, "sparray": sp.csr_array, "dense": np.asarray}
"""What blocks of a representation are, by how they are asked for."""


def prepare(kernel: ProximityKernel) -> Any:
    """Give all tasks a fitted kernel with one thread, as `share` does."""
    return share(copy.copy(kernel).set_params(n_jobs=1))


def count_columns(kernel: ProximityKernel) -> int:
    """Columns of a fitted kernel's representation."""
    return int(kernel.model_.n_columns.sum())


def summarize_part(part: Any, shared: Shared) -> RowState:
    """Summarize the rows of a partition."""
    binned, plan = shared.get()
    return summarize_rows(part, binned, plan)


def represent(kernel: ProximityKernel, part: Any) -> sp.csr_array:
    """Represent the rows of a partition, perhaps of none."""
    if has_no_rows(part):
        return sp.csr_array((0, count_columns(kernel)), dtype=kernel.dtype)
    return represent_rows(kernel, part)


def represent_part(part: Any, shared: Shared, made: str) -> Any:
    """Represent the rows of a partition in one of the ways of `MAKERS`."""
    matrix = represent(shared.get(), part)
    return matrix.toarray() if made == "dense" else MAKERS[made](matrix)


def write_part(part: Any, shared: Shared, folder: str, number: int) -> int:
    """Write the representation of a partition to a file of its own; tells its rows.

    The file has its name only when it is whole: a worker may die at any time, and
    another do the work again.
    """
    arrow = require("pyarrow", extra="dask")
    parquet = require("pyarrow.parquet", extra="dask")
    kernel = shared.get()
    matrix = represent(kernel, part).tocsc()
    names = kernel.get_feature_names_out().tolist()
    columns = [matrix[:, [j]].toarray().ravel() for j in range(matrix.shape[1])]
    table = arrow.Table.from_arrays([arrow.array(c) for c in columns], names)
    with whole_file(Path(folder, f"part.{number:05d}.parquet")) as unfinished:
        parquet.write_table(table, unfinished)
    return int(matrix.shape[0])


def compare_part(part: Any, shared: Shared, right: Shared) -> NDArray[Any]:
    """Compare the rows of a partition with those of a second table."""
    kernel, other = shared.get(), right.get()
    if has_no_rows(part):
        return np.empty((0, other.shape[0]), kernel.dtype)
    memory = int(get_config()["working_memory"] * 2**20)
    left = represent(kernel, part)
    return kernel_matrix(left, other, kernel.model_.n_counted, memory, 1)


@dataclass(frozen=True)
class Nearest:
    """The nearest rows, of some partitions in a row, of each query.

    Attributes
    ----------
    similarities : ndarray of shape (n_queries, n_found)
        Falling; among equals the lower row number first.
    indices : ndarray of shape (n_queries, n_found), int64
        Row numbers, from the first of these partitions on.
    n_rows : int
        Rows of these partitions.
    wanted : int
        Neighbours to find; there are fewer if there are fewer rows.
    """

    similarities: NDArray[Any]
    indices: NDArray[np.int64]
    n_rows: int
    wanted: int


def search_part(part: Any, shared: Shared, queries: Shared, wanted: int) -> Nearest:
    """Find the nearest rows of a partition."""
    kernel, rows = shared.get(), queries.get()
    if has_no_rows(part):
        none = np.empty((rows.shape[0], 0))
        return Nearest(none.astype(rows.dtype), none.astype(np.int64), 0, wanted)
    index = build_index(represent(kernel, part), kernel.model_.n_counted)
    n_rows = len(index.groups.inverse)
    similarities, indices = find_nearest(index, rows, min(wanted, n_rows))
    return Nearest(similarities, indices, n_rows, wanted)


def merge_nearest(a: Nearest, b: Nearest) -> Nearest:
    """Keep the nearest of two runs of partitions, of which `b` follows `a`.

    Examples
    --------
    >>> a = Nearest(np.array([[0.9, 0.5]]), np.array([[4, 0]]), 5, 2)
    >>> b = Nearest(np.array([[0.9, 0.7]]), np.array([[1, 0]]), 3, 2)
    >>> merged = merge_nearest(a, b)
    >>> merged.indices.tolist(), merged.similarities.tolist()
    ([[4, 6]], [[0.9, 0.9]])
    """
    similarities = np.hstack([a.similarities, b.similarities])
    indices = np.hstack([a.indices, b.indices + a.n_rows])
    # Stable: equal ones stay in the order of the rows.
    best = np.argsort(-similarities, axis=1, kind="stable")[:, : a.wanted]
    return Nearest(
        np.take_along_axis(similarities, best, axis=1),
        np.take_along_axis(indices, best, axis=1),
        a.n_rows + b.n_rows,
        a.wanted,
    )
