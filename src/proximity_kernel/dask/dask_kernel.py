"""`DaskProximityKernel`: the walk of `ProximityKernel`, partition by partition."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .._bins.bin_state import BinState, merge_bins, summarize_bins
from .._inner_kernel import check_kernel
from .._matching.row_state import RowState, merge_rows
from .._model.batches import check_same_rows, make_bins, make_plan
from .._model.model import finish_model, warn_of_columns
from .._shared.extras import require
from .._shared.options import check_count, check_flag, resolve_options
from .._shared.whole_files import name_beside
from ..kernel import ProximityKernel
from ..neighbors import sort_distances
from .kernel_tasks import (
    MAKERS,
    Nearest,
    compare_part,
    count_columns,
    merge_nearest,
    prepare,
    represent,
    represent_part,
    search_part,
    summarize_part,
    write_part,
)
from .partitions import (
    Parts,
    reduce_parts,
    share,
    split_fitted,
    split_parts,
    stack_blocks,
)

_STEADY = "make the table of something that gives the same each time, or persist it"


class DaskProximityKernel(BaseEstimator):  # type: ignore[misc]  # untyped
    """`ProximityKernel` for tables in partitions, more than fit into memory.

    Takes dask DataFrames and dask arrays, and learns what `ProximityKernel` learns from
    the whole table: which partitions there are, and in what order, is of no matter.
    A table in memory counts as one partition.

    Parameters
    ----------
    estimator : ProximityKernel or None, default=None
        With the options; it is cloned. None is one with its default options.
        ``n_jobs`` is not for the tasks, which use one thread each.

    Attributes
    ----------
    kernel_ : ProximityKernel
        As fitted, for all that needs no dask: ``save``, ``kernel``, ``explain``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    `fit` computes at once, in two passes over the table: the bins, then the counts.
    `transform` and `kernel` compute nothing before they are asked to. A table that is
    costly to make and fits into the memory of the workers is best persisted first.

    The model travels as one node of the graph, and every worker builds it once.

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
           [0.18, 0.82, 0.  , 1.  ],
           [0.  , 1.  , 0.  , 1.  ],
           [0.  , 1.  , 0.18, 0.82]], dtype=float32)
    >>> pk.kernel_.bin_centers_[0]
    array([1., 9.])
    """

    def __init__(self, estimator: ProximityKernel | None = None) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's)
        """Learn the bins and count the codes; two passes, both now.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
            Partitions without rows change nothing. One in which a column is all
            missing has no say in what the column is.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        fit_partitions(self, X)
        return self

    def transform(self, X: Any) -> Any:
        """Represent rows, lazily.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        dask array of shape (n_samples, n_columns)
            A block for each partition, a CSR matrix, or dense if the kernel's
            ``sparse_output`` says so; ``compute()`` gives one such matrix. The number
            of rows is unknown (NaN) where `X` does not know it.
        """
        kernel = self._fitted()
        parts = split_fitted(X, kernel)
        made = get_config().get("sparse_interface", "spmatrix")
        if not kernel.sparse_output:
            made = "dense"
        blocks = parts.map(represent_part, prepare(kernel), made)
        meta = MAKERS[made](np.empty((0, 0), kernel.dtype))
        return stack_blocks(blocks, parts.sizes, count_columns(kernel), meta)

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002
        """Learn from a table now, and represent it lazily.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        dask array of shape (n_samples, n_columns)
            As `transform`.
        """
        fit_partitions(self, X)
        return self.transform(X)

    def to_parquet(self, X: Any, path: Any, *, overwrite: Any = False) -> None:
        """Write the representation to a folder of Parquet files, one per partition.

        Computes. The folder is there when all is written, and not before.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
            With the columns seen at fit.
        path : str or path
            Of the folder, which all workers must see. The files sort in the order of
            the partitions; a column per bin, dense, named by `get_feature_names_out`.
        overwrite : bool, default=False
            Whether to replace what is there.
        """
        check_flag("overwrite", overwrite)
        kernel, final = self._fitted(), Path(path)
        if final.exists() and not overwrite:
            raise FileExistsError(
                f"{final} exists; choose another path, or pass overwrite=True."
            )
        parts = split_fitted(X, kernel)
        final.parent.mkdir(parents=True, exist_ok=True)
        unfinished = name_beside(final)
        unfinished.mkdir()
        try:
            _write(parts, kernel, unfinished)
            _replace(unfinished, final)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def kernel(self, X: Any, Y: Any) -> Any:
        """Compare rows with those of a small second table, lazily.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n, n_features)
        Y : table in memory, (m, n_features)
            Its representation goes to all workers.

        Returns
        -------
        dask array of shape (n, m)
            Similarities in [0, 1].
        """
        kernel = self._fitted()
        parts = split_fitted(X, kernel)
        right = self._represent_small(kernel, "Y", Y)
        blocks = parts.map(compare_part, prepare(kernel), share(right))
        meta = np.empty((0, 0), kernel.dtype)
        return stack_blocks(blocks, parts.sizes, right.shape[0], meta)

    def kneighbors(
        self,
        X: Any,
        queries: Any,
        n_neighbors: Any = 5,
        return_distance: Any = True,
    ) -> Any:
        """Find the rows of a table that are nearest to a few rows, exactly; computes.

        Every partition finds its own nearest, and these are merged.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
            Where to look.
        queries : table in memory, (n_queries, n_features)
        n_neighbors : int, default=5
        return_distance : bool, default=True
            False gives the indices alone.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            ``1 - K``, rising along each row.
        indices : ndarray of shape (n_queries, n_neighbors), int64
            Row numbers, counted through the partitions in their order; among equal
            distances the lower first.
        """
        kernel = self._fitted()
        parts = split_fitted(X, kernel)
        wanted = check_count("n_neighbors", n_neighbors, 1)
        check_flag("return_distance", return_distance)
        rows = self._represent_small(kernel, "queries", queries)
        states = parts.map(search_part, prepare(kernel), share(rows), wanted)
        found: Nearest = reduce_parts(states, merge_nearest)
        if found.n_rows < wanted:
            raise ValueError(
                f"Expected n_neighbors <= {found.n_rows}, the rows of X, got {wanted}."
            )
        distances, indices = sort_distances(found.similarities, found.indices)
        return (distances, indices) if return_distance else indices

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the columns of the representation, as `ProximityKernel` does."""
        return self._fitted().get_feature_names_out(input_features)

    def _fitted(self) -> ProximityKernel:
        check_is_fitted(self)
        kernel: ProximityKernel = self.kernel_
        return kernel

    def _represent_small(
        self, kernel: ProximityKernel, name: str, table: Any
    ) -> sp.csr_array:
        if require("dask", extra="dask").is_dask_collection(table):
            raise TypeError(
                f"{name} is a {type(table).__name__} of dask, and must be in memory; "
                "call .compute() on it first."
            )
        try:
            return represent(kernel, table)
        except (TypeError, ValueError) as error:
            error.add_note(f"This is about {name}, the second table.")
            raise


def fit_partitions(estimator: DaskProximityKernel, X: Any) -> RowState:
    """Fit an estimator to a table in partitions; gives what was kept of the rows."""
    check_kernel(estimator.estimator, "estimator")
    kernel = (
        ProximityKernel() if estimator.estimator is None else clone(estimator.estimator)
    )
    options = resolve_options(kernel)
    parts = split_parts(X)
    bin_state: BinState = reduce_parts(
        parts.map(summarize_bins, kernel.categorical_features), merge_bins
    )
    binned = make_bins(bin_state, options)
    parts.check_columns(bin_state.names)
    header = parts.header
    if header is None:
        header = np.empty((0, len(bin_state.columns)))
    plan = make_plan(bin_state, binned, options)
    states = parts.map(summarize_part, share((binned, plan)))
    rows = check_same_rows(bin_state, reduce_parts(states, merge_rows), _STEADY)
    kernel.model_ = finish_model(binned, rows, options)
    validate_data(kernel, header, skip_check_array=True)
    take_kernel(estimator, kernel)
    warn_of_columns(kernel.model_)
    return rows


def take_kernel(estimator: Any, kernel: ProximityKernel) -> None:
    """Set a fitted kernel, and the names of its columns, in an estimator."""
    vars(estimator).pop("feature_names_in_", None)
    held = {name: own for name, own in vars(kernel).items() if name.endswith("_in_")}
    vars(estimator).update(held, kernel_=kernel)


def _write(parts: Parts, kernel: ProximityKernel, folder: Path) -> None:
    """Write a file for each partition."""
    dask = require("dask", extra="dask")
    task = dask.delayed(write_part, pure=False, traverse=False)
    shared = prepare(kernel)
    numbered = enumerate(parts.parts)
    dask.compute([task(part, shared, str(folder), i) for i, part in numbered])
    for left_by_the_dead in folder.glob(".*"):
        left_by_the_dead.unlink()


def _replace(unfinished: Path, final: Path) -> None:
    """Move a folder to its place, and what is there out of the way."""
    final = final.resolve()
    old = unfinished.with_name(f"{unfinished.name}.old")
    if final.exists():
        final.rename(old)
    unfinished.rename(final)
    if old.is_dir():
        shutil.rmtree(old)
    else:
        old.unlink(missing_ok=True)
