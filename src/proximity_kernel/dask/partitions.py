"""Split dask tables into partitions, and join results for partitions to dask arrays.

Work is built from `dask.delayed`: one task for each partition, then a tree of tasks
that merge, or an array of the blocks that the tasks return. The graph, and so the
result, is the same for threads, processes and clusters: the tree depends on the number
of partitions only. A lost task can be repeated.
"""

from __future__ import annotations

import math
import pickle
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any
from uuid import uuid4

import numpy as np

from .._batches import merge_all
from .._bin_summary import has_no_rows
from .._shared.extras import require
from .._table.tables import Table, check_same_columns
from ..kernel import ProximityKernel

_SPLIT_EVERY = 4  # results that one task merges


@dataclass(frozen=True)
class Parts:
    """The partitions of a table.

    Attributes
    ----------
    parts : tuple of dask Delayed
        Each a frame or an array with all columns.
    sizes : tuple of float
        Number of rows of each partition; NaN if it is unknown before it is computed.
    header : frame, array or None
        A table with the columns and no rows; None if their number is unknown.
    """

    parts: tuple[Any, ...]
    sizes: tuple[float, ...]
    header: Any

    def check_columns(self, fitted: Sequence[str]) -> None:
        """Raise ValueError unless the columns, if known, are the fitted columns."""
        names = getattr(self.header, "columns", None)
        names = getattr(self.header, "column_names", names)  # pyarrow's
        shape: tuple[int, ...] = getattr(self.header, "shape", ())
        if len(shape) == 2:
            known = None if names is None else [str(name) for name in names]
            check_same_columns(Table([None] * shape[1], known), fitted)

    def map(self, work: Callable[..., Any], *arguments: Any, empty: Any = None) -> Any:
        """Make the tasks ``work(part, *arguments)``, one for each partition.

        Parameters
        ----------
        work : callable
        *arguments
            The same for all tasks; wrap large arguments by `share`.
        empty : object
            The result for a partition without rows; `work` is not called for it.

        Returns
        -------
        list of dask Delayed
        """
        task = require("dask", extra="dask").delayed(_call, pure=False, traverse=False)
        return [task(part, work, empty, *arguments) for part in self.parts]

    def reduce(
        self,
        merge: Callable[[Any, Any], Any],
        work: Callable[..., Any],
        *arguments: Any,
    ) -> Any:
        """Compute ``work(part, *arguments)`` for each partition; merge in a tree.

        Parameters
        ----------
        merge : callable
            Merges two adjacent results, the left one first.
        work, *arguments
            As in `map`.

        Returns
        -------
        object
            None if no partition has a row.
        """
        dask = require("dask", extra="dask")
        merge_some = dask.delayed(lambda *states: merge_all(states, merge), pure=False)
        level = self.map(work, *arguments)
        while len(level) > 1:
            starts = range(0, len(level), _SPLIT_EVERY)
            level = [merge_some(*level[i : i + _SPLIT_EVERY]) for i in starts]
        return level[0].compute()

    def stack(self, empty: Any, work: Callable[..., Any], *arguments: Any) -> Any:
        """Make a lazy array of ``work(part, *arguments)`` for each partition.

        Parameters
        ----------
        empty : array or sparse matrix
            The result for a partition without rows.
        work, *arguments
            As in `map`.

        Returns
        -------
        dask array
        """
        blocks = self.map(work, *arguments, empty=empty)
        graphs = require("dask.highlevelgraph", extra="dask")
        name = f"proximity-{uuid4().hex}"
        tail = (0,) * (empty.ndim - 1)
        layer = {(name, i, *tail): block.key for i, block in enumerate(blocks)}
        graph = graphs.HighLevelGraph.from_collections(name, layer, dependencies=blocks)
        chunks = (self.sizes, *((width,) for width in empty.shape[1:]))
        arrays = require("dask.array", extra="dask")
        return arrays.Array(graph, name, chunks, meta=empty)


def _call(part: Any, work: Callable[..., Any], empty: Any, *arguments: Any) -> Any:
    """Return ``work(part, ...)``, or `empty` if the partition `part` has no rows.

    Arguments that were wrapped by `share` are unwrapped.
    """
    if has_no_rows(part):
        return empty
    plain = (one.get() if isinstance(one, Shared) else one for one in arguments)
    return work(part, *plain)


class Shared:
    """An object that all tasks use, unpickled once by each process that runs tasks.

    It is pickled as compressed bytes (codes of rows shrink to a third), which the
    scheduler does not unpickle. Tasks in the process that made it share the object.
    """

    def __init__(self, shared: Any, packed: bytes | None = None) -> None:
        self._shared, self._packed = shared, packed
        self._lock = Lock()

    def get(self) -> Any:
        """Return the object, unpickled by the first call in a process."""
        with self._lock:
            if self._packed is not None:
                self._shared = pickle.loads(zlib.decompress(self._packed))
                self._packed = None
            return self._shared

    def __reduce__(self) -> Any:
        """Pickle the object as compressed bytes."""
        with self._lock:
            packed = self._packed
            if packed is None:
                plain = pickle.dumps(self._shared, pickle.HIGHEST_PROTOCOL)
                packed = zlib.compress(plain, level=1)
        return Shared, (None, packed)


def share(shared: Any) -> Any:
    """Wrap an object in one node of the dask graph, as an argument of many tasks."""
    dask = require("dask", extra="dask")
    return dask.delayed(Shared(shared), pure=False, traverse=False)


def split_parts(table: Any, kernel: ProximityKernel | None = None) -> Parts:
    """Split a table into its partitions.

    Parameters
    ----------
    table : dask DataFrame, dask array or table in memory
        Blocks of an array are joined along the columns. A table in memory is one
        partition.
    kernel : ProximityKernel or None
        A fitted kernel, whose columns the table must have.

    Returns
    -------
    Parts

    Examples
    --------
    >>> import dask.array as da
    >>> split_parts(da.ones((5, 4), chunks=(2, 2))).sizes
    (2, 2, 1)
    """
    parts = _split_unchecked(table)
    if kernel is not None:
        parts.check_columns(kernel.model_.names)
    return parts


def _split_unchecked(table: Any) -> Parts:
    """Split a table into its partitions, and do not check its columns."""
    dask = require("dask", extra="dask")
    if not dask.is_dask_collection(table):
        sizes = (len(table) if hasattr(table, "__len__") else math.nan,)
        return Parts((dask.delayed(table, pure=False, traverse=False),), sizes, table)
    if isinstance(table, require("dask.dataframe", extra="dask").DataFrame):
        parts = tuple(table.to_delayed())
        return Parts(parts, (math.nan,) * len(parts), table._meta)  # noqa: SLF001
    array = isinstance(table, require("dask.array", extra="dask").Array)
    if array and table.ndim == 2:
        joined = table if table.numblocks[1] == 1 else table.rechunk({1: -1})
        width = table.shape[1]
        header = None if math.isnan(width) else np.empty((0, width), table.dtype)
        return Parts(tuple(joined.to_delayed().ravel()), joined.chunks[0], header)
    dimensions = f" of {table.ndim} dimensions" if array else ""
    raise TypeError(
        "Expected a dask DataFrame or a dask array of 2 dimensions, got a "
        f"{type(table).__name__}{dimensions}; convert it, for example with "
        "series.to_frame() or dask.dataframe.from_delayed(...)."
    )
