"""`DaskProximityKernel`: `ProximityKernel` for tables in partitions.

The functions named ``_..._part`` run as tasks, one for each partition. They use one
thread, because other tasks run at the same time.
"""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any, Literal, Self, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .._batches import check_same_rows, plan_second_pass
from .._bin_summary import BinSummary, merge_bins, summarize_bins
from .._model import finish_model, warn_of_columns
from .._nearest import Nearest, find_nearest, kernel_matrix, merge_nearest
from .._row_summary import RowSummary, merge_rows, summarize_rows
from .._shared.extras import require
from .._shared.options import check_count, check_flag, resolve_options
from .._shared.whole_files import is_device, name_beside, whole_file
from .._shared.wording import note_about
from ..kernel import (
    ProximityKernel,
    check_kernel,
    index_rows,
    is_limited,
    represent,
    take_kernel,
)
from .partitions import Shared, share, split_parts

_STEADY = "read the table from a source that does not change, or persist it"
_MAKERS = {"spmatrix": sp.csr_matrix, "sparray": sp.csr_array, "dense": np.asarray}


class DaskProximityKernel(BaseEstimator):  # type: ignore[misc]  # untyped
    """`ProximityKernel` for tables in partitions, which need not fit into memory.

    Takes dask DataFrames and dask arrays, and learns what `ProximityKernel` learns from
    the whole table, however it is partitioned. A table in memory is one partition.

    Parameters
    ----------
    estimator : ProximityKernel or None, default=None
        A kernel with the options to use; it is cloned. None is a kernel with default
        options. Tasks use one thread each, whatever its ``n_jobs`` is.

    Attributes
    ----------
    kernel_ : ProximityKernel
        The fitted kernel, for everything that needs no dask: ``save``, ``explain``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    `fit` computes at once, in two passes over the table: the bins, then the counts.
    `transform` and `kernel` are lazy. If a table is slow to read and fits into the
    memory of the workers, persist it first.

    The model is one node of the graph, and every worker process unpickles it once.

    Examples
    --------
    >>> import dask
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from proximity_kernel import ProximityKernel
    >>> from proximity_kernel.dask import DaskProximityKernel
    >>> table = pd.DataFrame(
    ...     {"size": [1.0, 1.2, None, 9.0, 8.0], "kind": ["a", "a", "b", "b", None]}
    ... )
    >>> X = dd.from_pandas(table, npartitions=2)
    >>> pk = DaskProximityKernel(ProximityKernel(n_bins=2))
    >>> with dask.config.set(scheduler="synchronous"):
    ...     Z = pk.fit_transform(X)
    ...     Z.compute().toarray().round(2)
    array([[1.  , 0.  , 1.  , 0.  ],
           [1.  , 0.  , 1.  , 0.  ],
           [0.17, 0.83, 0.  , 1.  ],
           [0.  , 1.  , 0.  , 1.  ],
           [0.  , 1.  , 0.17, 0.83]], dtype=float32)
    >>> pk.kernel_.bin_centers_[0]
    array([1., 9.])
    """

    kernel_: ProximityKernel

    def __init__(self, estimator: ProximityKernel | None = None) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's)
        """Learn the bins and count the codes, in two passes; computes at once.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
            Partitions without rows change nothing. A partition in which a column is
            all missing does not influence the kind of that column.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        fit_partitions(self, X)
        return self

    def transform(self, X: Any) -> Any:
        """Represent the rows of a table as a lazy array.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        dask array of shape (n_samples, n_columns)
            A block for each partition: a CSR matrix, or a dense array with
            ``sparse_output=False``; ``compute()`` gives one such matrix. The number of
            rows is unknown (NaN) if that of `X` is unknown.
        """
        check_is_fitted(self)
        kernel = self.kernel_
        kind = get_config().get("sparse_interface", "spmatrix")
        kind = kind if kernel.sparse_output else "dense"
        parts, empty = split_parts(X, kernel), _MAKERS[kind](_make_empty(kernel))
        return parts.stack(empty, _represent_part, share_kernel(kernel), kind)

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002
        """Fit to a table immediately, and represent it lazily.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        dask array of shape (n_samples, n_columns)
            As returned by `transform`.
        """
        return self.fit(X).transform(X)

    def to_parquet(self, X: Any, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the representation to a folder of Parquet files, one per partition.

        This computes at once. The folder appears when everything is written.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
            With the columns seen at fit.
        path : str or path
            The folder, which all workers must be able to write to. The order of the
            file names is that of the partitions. Columns are dense, one per bin, and
            have the names of `get_feature_names_out`.
        overwrite : bool, default=False
            Whether to replace an existing folder or file.
        """
        check_flag("overwrite", overwrite)
        check_is_fitted(self)
        final = Path(path)
        if is_device(final):
            raise FileExistsError(f"{final} is a device or a pipe; name a folder.")
        if final.exists() and not overwrite:
            raise FileExistsError(
                f"{final} exists; choose another path, or pass overwrite=True."
            )
        dask, kernel = require("dask", extra="dask"), self.kernel_
        parts, empty = split_parts(X, kernel), sp.csr_array(_make_empty(kernel))
        shared = share_kernel(kernel)
        blocks = parts.map(_represent_part, shared, "sparray", empty=empty)
        final.parent.mkdir(parents=True, exist_ok=True)
        unfinished = name_beside(final)
        unfinished.mkdir()
        try:
            write = dask.delayed(_write_block, pure=False, traverse=False)
            names = share(kernel.get_feature_names_out().tolist())
            paths = (unfinished / f"part.{i:05d}.parquet" for i in range(len(blocks)))
            dask.compute(
                [write(*one, names) for one in zip(blocks, paths, strict=True)]
            )
            for left_by_lost_tasks in unfinished.glob(".*"):
                left_by_lost_tasks.unlink()
            _replace_folder(unfinished, final)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def kernel(self, X: Any, Y: Any) -> Any:
        """Compute similarities of rows to the rows of a small table, as a lazy array.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n, n_features)
        Y : table in memory, (m, n_features)
            Its representation is sent to all workers.

        Returns
        -------
        dask array of shape (n, m)
            As from `ProximityKernel.kernel`.
        """
        check_is_fitted(self)
        parts = split_parts(X, self.kernel_)
        right = self._represent_small("Y", Y)
        empty = np.empty((0, right.shape[0]), self.kernel_.dtype)
        return parts.stack(
            empty, _compare_part, share_kernel(self.kernel_), share(right)
        )

    @overload
    def kneighbors(
        self,
        X: Any,
        queries: Any,
        n_neighbors: int = ...,
        return_distance: Literal[True] = ...,
    ) -> tuple[NDArray[np.floating], NDArray[np.int64]]: ...

    @overload
    def kneighbors(
        self,
        X: Any,
        queries: Any,
        n_neighbors: int = ...,
        *,
        return_distance: Literal[False],
    ) -> NDArray[np.int64]: ...

    def kneighbors(
        self,
        X: Any,
        queries: Any,
        n_neighbors: int = 5,
        return_distance: bool = True,
    ) -> Any:
        """Find the rows of a table that are nearest to each query; computes at once.

        The search is exact.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
            The rows to search.
        queries : table in memory, (n_queries, n_features)
        n_neighbors : int, default=5
        return_distance : bool, default=True
            False returns the indices alone.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            As from `ProximityNeighbors.kneighbors`, smallest first.
        indices : ndarray of shape (n_queries, n_neighbors), int64
            Row numbers, counted through the partitions in their order; ties go to the
            lower number.
        """
        check_is_fitted(self)
        parts = split_parts(X, self.kernel_)
        wanted = check_count("n_neighbors", n_neighbors, 1)
        check_flag("return_distance", return_distance)
        rows = share(self._represent_small("queries", queries, np.float64))
        kernel = share_kernel(self.kernel_)
        found = parts.reduce(merge_nearest, _search_part, kernel, rows, wanted)
        n_rows = 0 if found is None else found.n_rows
        if n_rows < wanted:
            raise ValueError(
                f"Expected n_neighbors <= {n_rows}, the number of rows of X, got "
                f"{wanted}."
            )
        distances = (1 - found.similarities).astype(self.kernel_.dtype)
        return (distances, found.indices) if return_distance else found.indices

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the columns of the representation, as `ProximityKernel` does."""
        check_is_fitted(self)
        return self.kernel_.get_feature_names_out(input_features)

    def _represent_small(
        self, name: str, table: Any, dtype: DTypeLike | None = None
    ) -> sp.csr_array:
        """Represent a table in memory; raise TypeError if it is a dask table."""
        if require("dask", extra="dask").is_dask_collection(table):
            raise TypeError(
                f"{name} is a dask {type(table).__name__}, but must be in memory; call "
                ".compute() on it first."
            )
        with note_about(f"{name}, the second table"):
            return represent(self.kernel_, table, dtype)


def fit_partitions(
    estimator: DaskProximityKernel, X: Any
) -> tuple[RowSummary, BinSummary]:
    """Fit an estimator's kernel to partitions; return the summaries of both passes."""
    given = estimator.estimator
    check_kernel(given, "estimator")
    kernel: ProximityKernel = ProximityKernel() if given is None else clone(given)
    options = resolve_options(kernel)
    parts = split_parts(X)
    chosen = kernel.categorical_features
    bin_summary = parts.reduce(merge_bins, summarize_bins, chosen) or BinSummary()
    binned, plan = plan_second_pass(bin_summary, options)
    parts.check_columns(bin_summary.names)
    header = parts.header
    if header is None:
        header = np.empty((0, len(bin_summary.columns)))
    found = parts.reduce(merge_rows, summarize_rows, share(binned), share(plan))
    rows = check_same_rows(bin_summary, found, _STEADY)
    kernel.model_ = finish_model(binned, rows, options)
    validate_data(kernel, header, skip_check_array=True)
    take_kernel(estimator, kernel)
    warn_of_columns(kernel.model_)
    return rows, bin_summary


def share_kernel(kernel: ProximityKernel) -> Any:
    """Share a fitted kernel with all tasks, set to one thread."""
    return share(copy.copy(kernel).set_params(n_jobs=1))


def map_method(estimator: Any, method: str, X: Any, empty: NDArray[Any]) -> Any:
    """Call a method of a fitted estimator for each partition; make a lazy array.

    Parameters
    ----------
    estimator : ProximityKMeans or ProximityOutliers
        Fitted.
    method : str
    X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
    empty : ndarray
        The result for a partition without rows.

    Returns
    -------
    dask array
    """
    parts = split_parts(X, estimator.kernel_)
    return parts.stack(empty, call_method, share_estimator(estimator), method)


def share_estimator(estimator: Any) -> Any:
    """Share a fitted estimator and its kernel with all tasks, set to one thread."""
    copied = copy.copy(estimator).set_params(n_jobs=1)
    copied.kernel_ = copy.copy(estimator.kernel_).set_params(n_jobs=1)
    return share(copied)


def call_method(part: Any, estimator: Any, method: str) -> NDArray[Any]:
    """Call a method of a fitted estimator for a partition."""
    return np.asarray(getattr(estimator, method)(part))


def _make_empty(kernel: ProximityKernel) -> NDArray[Any]:
    """Make the representation of a table without rows."""
    return np.empty((0, kernel.model_.n_columns.sum()), kernel.dtype)


def _represent_part(part: Any, kernel: ProximityKernel, kind: str) -> Any:
    """Represent the rows of a partition, as a sparse or dense matrix."""
    matrix = represent(kernel, part)
    return matrix.toarray() if kind == "dense" else _MAKERS[kind](matrix)


def _write_block(matrix: sp.csr_array, path: Path, names: Shared) -> None:
    """Write the representation of a partition to a file.

    The file is renamed when it is complete, because a worker may die at any time and
    another one repeats the task.
    """
    arrow = require("pyarrow", extra="dask")
    parquet = require("pyarrow.parquet", extra="dask")
    columns = matrix.toarray(order="F").T
    table = arrow.Table.from_arrays([arrow.array(c) for c in columns], names.get())
    with whole_file(path) as unfinished:
        parquet.write_table(table, unfinished)


def _compare_part(part: Any, kernel: ProximityKernel, right: Any) -> NDArray[Any]:
    """Compute the similarities of the rows of a partition to a second table."""
    memory = int(get_config()["working_memory"] * 2**20)
    left, model = represent(kernel, part), kernel.model_
    limited = is_limited(kernel, model)
    return kernel_matrix(left, right, model.n_counted, memory, 1, limited=limited)


def _search_part(
    part: Any, kernel: ProximityKernel, queries: sp.csr_array, wanted: int
) -> Nearest:
    """Find the rows of a partition that are nearest to each query."""
    index = index_rows(kernel, represent(kernel, part, np.float64))
    n_rows = len(index.groups.inverse)
    return Nearest(*find_nearest(index, queries, min(wanted, n_rows)), n_rows, wanted)


def _replace_folder(unfinished: Path, final: Path) -> None:
    """Move a folder to a path, replacing the file or folder that is there."""
    final = final.resolve()
    old = unfinished.with_name(f"{unfinished.name}.old")
    if final.exists():
        final.rename(old)
    unfinished.rename(final)
    if old.is_dir():
        shutil.rmtree(old)
    else:
        old.unlink(missing_ok=True)
