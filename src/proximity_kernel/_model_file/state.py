"""What an estimator learnt, as plain values and arrays, on its way to a file or back.

A file may hold anything, so whoever takes a state up compares it with what a fit makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


@dataclass(frozen=True)
class State:
    """What an estimator learnt.

    Attributes
    ----------
    values : dict
        Of what JSON knows.
    arrays : dict of str to ndarray
        Of numbers.
    """

    values: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    def inner(self, name: str) -> State:
        """Find the state of a part."""
        start = f"{name}/"
        arrays = {
            key.removeprefix(start): array
            for key, array in self.arrays.items()
            if key.startswith(start)
        }
        return State(self.values[name], arrays)

    def holding(self, name: str, part: State) -> State:
        """Put the state of a part in."""
        arrays = {f"{name}/{key}": array for key, array in part.arrays.items()}
        return State({**self.values, name: part.values}, {**self.arrays, **arrays})

    def array(self, name: str, dtype: Any, ndim: int = 1) -> NDArray[Any]:
        """Take an array that must have this dtype and number of dimensions."""
        array = self.arrays[name]
        check(array.dtype == dtype and array.ndim == ndim, f"{name} is {array.dtype}")
        return array


def check(good: Any, wrong: str) -> None:
    """Refuse a state that no fit makes."""
    if not good:
        raise ValueError(wrong)


def pack_sparse(matrix: sp.csr_array) -> dict[str, NDArray[Any]]:
    """Take a sparse matrix apart."""
    return {
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr.astype(np.int64),
    }


def unpack_sparse(state: State, dtype: Any, n_columns: int) -> sp.csr_array:
    """Put a sparse matrix without negative entries together again."""
    data = state.array("data", np.dtype(dtype))
    wide = state.arrays["indices"].dtype == np.int64
    indices = state.array("indices", np.int64 if wide else np.int32)
    indptr = state.array("indptr", np.int64)
    check(len(indptr) and indptr[0] == 0, "rows of a sparse matrix")
    check((np.diff(indptr) >= 0).all(), "rows of a sparse matrix")
    check(indptr[-1] == len(indices) == len(data), "entries of a sparse matrix")
    check(is_finite(data) and (data >= 0).all(), "entries of a sparse matrix")
    inside = (indices >= 0) & (indices < n_columns)
    check(inside.all(), "columns of a sparse matrix")
    starts = np.zeros(len(indices) + 1, bool)
    starts[indptr] = True
    check((np.diff(indices) > 0)[~starts[1:-1]].all(), "columns of a sparse matrix")
    small = max(len(data), n_columns) <= np.iinfo(np.int32).max
    kind = np.int32 if small else np.int64
    return sp.csr_array(
        (data, indices.astype(kind), indptr.astype(kind)),
        shape=(len(indptr) - 1, n_columns),
    )


def is_finite(array: NDArray[Any]) -> bool:
    """Tell whether all numbers are finite."""
    return bool(np.isfinite(array).all())


def check_number(value: Any, most: int) -> int:
    """Take a whole number from 0 to `most`."""
    check(type(value) is int and 0 <= value <= most, f"a count of {value!r}")
    return int(value)
