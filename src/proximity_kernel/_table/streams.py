"""Convert streams of rows, and single rows, to frames.

duckdb relations, ibis tables, and arrow readers and batches provide their rows by the
arrow interface for streams, ``__arrow_c_stream__``. A reader can be read only once, so
it is collected before a table is read twice. A row of a pandas frame is a Series whose
index has the names of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
from narwhals.exceptions import DuplicateError

from .._shared.extras import require

_CALLS = {"dask": ".compute()", "pyspark": ".toPandas()", "sqlframe": ".toPandas()"}


def collect_table(table: Any, fitted: Sequence[str] = ()) -> Any:
    """Convert a stream or one row to a frame; other tables are returned unchanged.

    Parameters
    ----------
    table : anything
    fitted : sequence of str
        The names at fit; a Series with these as its index is one row.

    Returns
    -------
    pyarrow Table of a stream, pandas frame of a row; else `table`
    """
    try:
        frame = nw.from_native(table, pass_through=True, allow_series=True)
    except DuplicateError:
        return table  # refused by `split_table`, with the names
    if isinstance(frame, nw.DataFrame) or isinstance(table, type):
        return table
    if isinstance(frame, nw.Series):
        if not frame.implementation.is_pandas():
            return table
        row = [str(name) for name in table.index] == list(fitted)
        return table.to_frame().T.infer_objects() if row else table
    if hasattr(table, "__arrow_c_stream__"):
        return require("pyarrow", extra="cli").table(table)
    return table


def name_call(frame: nw.LazyFrame[Any]) -> str:
    """Name the call that loads a lazy table of some library into memory."""
    return _CALLS.get(frame.implementation.value.partition("[")[0], ".collect()")
