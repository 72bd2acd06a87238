"""A table in, its partitions out, and back: what is known of dask stays here.

Work on partitions is put together from `dask.delayed`: one task for each, then a tree
of tasks that merge, or an array of the blocks that the tasks return. The graph is the
same whoever runs it, threads, processes or a cluster, and so is the result: the tree
depends on the number of partitions only. A task that is lost is run again.
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
from sklearn.utils.validation import check_is_fitted

from .._model.batches import merge_all
from .._shared.extras import require
from .._table.containers import Table, check_same_columns
from ..kernel import ProximityKernel

_SPLIT_EVERY = 4  # states that one task merges


@dataclass(frozen=True)
class Parts:
    """The partitions of a table.

    Attributes
    ----------
    parts : tuple of dask Delayed
        Each a frame or an array with all columns.
    sizes : tuple of float
        Rows of each, NaN where nobody knows before it is computed.
    header : frame, array or None
        Without rows, but with the columns; None if their number is not known.
    """

    parts: tuple[Any, ...]
    sizes: tuple[float, ...]
    header: Any

    def check_columns(self, fitted: Sequence[str]) -> None:
        """Refuse columns that are not the fitted ones, where they are known.

        Parameters
        ----------
        fitted : sequence of str
            Names at fit, as in `check_same_columns`.
        """
        names = getattr(self.header, "columns", None)
        names = getattr(self.header, "column_names", names)  # pyarrow's
        shape: tuple[int, ...] = getattr(self.header, "shape", ())
        if len(shape) == 2:
            known = None if names is None else [str(name) for name in names]
            check_same_columns(Table([None] * shape[1], known), fitted)

    def map(self, work: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Make the tasks ``work(part, *arguments)``.

        Parameters
        ----------
        work : callable
        *arguments
            The same for all tasks; what is large, as `share` gives it.

        Returns
        -------
        list of dask Delayed
        """
        task = require("dask", extra="dask").delayed(work, pure=False, traverse=False)
        return [task(part, *arguments) for part in self.parts]


class Shared:
    """Something that all tasks use, built once by each process that runs some.

    Pickled it is a string of bytes, compressed (codes of rows become a third), which
    the scheduler never opens. Where tasks run in the process that made it, it is the
    very object.

    Parameters
    ----------
    held : object
    """

    def __init__(self, held: Any, packed: bytes | None = None) -> None:
        self._held, self._packed = held, packed
        self._lock = Lock()

    def get(self) -> Any:
        """Give the object."""
        with self._lock:
            if self._packed is not None:
                self._held = pickle.loads(zlib.decompress(self._packed))
                self._packed = None
            return self._held

    def __reduce__(self) -> Any:
        with self._lock:
            packed = self._packed
            if packed is None:
                plain = pickle.dumps(self._held, pickle.HIGHEST_PROTOCOL)
                packed = zlib.compress(plain, level=1)
        return Shared, (None, packed)


def share(held: Any) -> Any:
    """Give all tasks one object, as a node of the graph: no task holds a copy.

    Parameters
    ----------
    held : object

    Returns
    -------
    dask Delayed
        That a task receives as a `Shared`.
    """
    dask = require("dask", extra="dask")
    return dask.delayed(Shared(held), pure=False, traverse=False)


def split_fitted(table: Any, kernel: ProximityKernel) -> Parts:
    """Take a table apart whose columns must be those that a kernel was fitted to."""
    parts = split_parts(table)
    check_is_fitted(kernel)
    parts.check_columns([column.name for column in kernel.model_.types])
    return parts


def split_parts(table: Any) -> Parts:
    """Take a table apart.

    Parameters
    ----------
    table : dask DataFrame, dask array or table in memory
        An array is joined along its columns first. What is in memory is one partition.

    Returns
    -------
    Parts

    Examples
    --------
    >>> import dask.array as da
    >>> split_parts(da.ones((5, 4), chunks=(2, 2))).sizes
    (2, 2, 1)
    """
    dask = require("dask", extra="dask")
    if not dask.is_dask_collection(table):
        sizes = (len(table) if hasattr(table, "__len__") else math.nan,)
        return Parts((dask.delayed(table, pure=False, traverse=False),), sizes, table)
    if isinstance(table, require("dask.dataframe", extra="dask").DataFrame):
        parts = tuple(table.to_delayed())
        return Parts(parts, (math.nan,) * len(parts), table._meta)  # noqa: SLF001
    array = isinstance(table, require("dask.array", extra="dask").Array)
    if array and table.ndim == 2:
        whole = table if table.numblocks[1] == 1 else table.rechunk({1: -1})
        width = table.shape[1]
        header = None if math.isnan(width) else np.empty((0, width), table.dtype)
        return Parts(tuple(whole.to_delayed().ravel()), whole.chunks[0], header)
    dimensions = f" of {table.ndim} dimensions" if array else ""
    raise TypeError(
        "Expected a dask DataFrame or a dask array of 2 dimensions, got a "
        f"{type(table).__name__}{dimensions}; make one of it, e.g. with "
        "series.to_frame() or dask.dataframe.from_delayed(...)."
    )


def reduce_parts(states: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Merge the states of partitions in a tree, neighbours with each other.

    Parameters
    ----------
    states : sequence of dask Delayed
    merge : callable
        Of two states, the left one first.

    Returns
    -------
    state
        Computed.
    """
    dask = require("dask", extra="dask")
    merge_some = dask.delayed(lambda *states: merge_all(states, merge), pure=False)
    level = list(states)
    while len(level) > 1:
        groups = [
            level[i : i + _SPLIT_EVERY] for i in range(0, len(level), _SPLIT_EVERY)
        ]
        level = [merge_some(*group) for group in groups]
    return dask.compute(level[0])[0]


def stack_blocks(
    blocks: Sequence[Any], sizes: Sequence[float], width: int | None, meta: Any
) -> Any:
    """Make one array of what tasks return for the partitions, without computing it.

    Parameters
    ----------
    blocks : sequence of dask Delayed
    sizes : sequence of float
        Rows of each, or NaN.
    width : int or None
        Columns, None if there is one dimension.
    meta : array or sparse matrix
        Of no rows: of the type and dtype of the blocks.

    Returns
    -------
    dask array
    """
    graphs = require("dask.highlevelgraph", extra="dask")
    name = f"proximity-{uuid4().hex}"
    tail, chunks = ((), ()) if width is None else ((0,), ((width,),))
    layer = {(name, i, *tail): block.key for i, block in enumerate(blocks)}
    graph = graphs.HighLevelGraph.from_collections(name, layer, dependencies=blocks)
    arrays = require("dask.array", extra="dask")
    return arrays.Array(graph, name, (tuple(sizes), *chunks), meta=meta)
