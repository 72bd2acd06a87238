"""``proximity-kernel represent``: rows as vectors, for other programs."""

from __future__ import annotations

import argparse
from typing import Any

from ..io.errors import InputError
from ..io.wording import counted
from . import arguments
from .invocation import Invocation

DESCRIPTION = """\
Represent rows as vectors without missing cells: an observed cell by its
bin, a missing one by a distribution over bins. The inner product of two
rows, divided by the number of columns, is their similarity.

  proximity-kernel represent patients.csv -o vectors.parquet
  proximity-kernel represent patients.csv -o vectors.npz
  proximity-kernel represent a.csv --save-model m.pk -o a.npz
  proximity-kernel represent new.csv --model m.pk -o new.npz

Output: the ids (or the row numbers, from 1) and a column for each bin.
A .npz file holds only the sparse matrix (scipy.sparse.load_npz).
"""
_MAX_BYTES = 2**30  # of a dense table


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_input(parser)
    parser.add_argument("--force", action="store_true", help="write a very large table")
    arguments.add_kernel(parser)
    arguments.add_output(parser, more=", or .npz (sparse)")
    arguments.add_batches(parser)
    arguments.add_model(parser)


def run(invocation: Invocation) -> int:
    """Run the command."""
    from ..io.writing import write_frame
    from . import fitting
    from .outputs import find_format
    from .streaming import should_stream

    options = invocation.options
    file_format = find_format(options.output, options.format, (".npz",))
    if should_stream(invocation, file_format):
        return _run_stream(invocation, file_format)
    kernel, table, _ = fitting.start(invocation, "ProximityKernel")
    if kernel is None:
        kernel = fitting.fit(invocation, fitting.make_kernel(options), table)
    with invocation.progress("representing rows"):
        matrix = kernel.transform(table.frame)
    n_rows, n_bins = matrix.shape
    invocation.note(f"{counted(n_rows, 'row')}, {counted(n_bins, 'column')} of bins")
    if file_format == "npz":
        _write_sparse(matrix, options.output)
    else:
        frame = _make_frame(invocation, matrix, kernel, table)
        write_frame(frame, options.output, file_format)
    return 0


def _run_stream(invocation: Invocation, file_format: str) -> int:
    """Represent a table that is read in batches."""
    from ..io.writing import open_batch_writer
    from . import fitting
    from .row_names import name_rows
    from .streaming import start_stream

    options = invocation.options
    kernel, stream = start_stream(invocation, "ProximityKernel")
    table = stream.table
    if kernel is None:
        kernel = fitting.make_kernel(options)
        kernel.fit_batches(stream.frames("fitting bins", "fitting rows"))
        fitting.save_model(invocation, kernel, table.schema)
    bins = kernel.get_feature_names_out().tolist()
    incomplete = table.incomplete_ids()
    with open_batch_writer(options.output, file_format, incomplete) as append:
        for start, batch in stream.read("representing rows"):
            names = name_rows(batch, start)
            # Column-major, because columns are written.
            dense = kernel.transform(batch.frame).toarray(order="F")
            free = (f"{one}_" if one in names else one for one in bins)
            append(names, dict(zip(free, dense.T, strict=True)))
    invocation.note(f"{table.file.n_rows:,} rows, {len(bins):,} columns of bins")
    return 0


def _write_sparse(matrix: Any, path: str) -> None:
    import scipy.sparse as sp

    from ..io.writing import open_output

    with open_output(path) as file:
        sp.save_npz(file, matrix)


def _make_frame(invocation: Invocation, matrix: Any, kernel: Any, table: Any) -> Any:
    import pandas as pd

    from .row_names import name_rows

    size = 4 * matrix.shape[0] * matrix.shape[1]
    if size > _MAX_BYTES and not invocation.options.force:
        raise InputError(
            f"{table.name}: {matrix.shape[0]:,} x {matrix.shape[1]:,} numbers take "
            f"{size / 2**30:,.1f} GiB; write them sparse with -o FILE.npz, or all with "
            "--force."
        )
    names = name_rows(table)
    bins = pd.DataFrame(matrix.toarray(), columns=kernel.get_feature_names_out())
    taken = {name: f"{name}_" for name in bins.columns if name in names.columns}
    return pd.concat([names, bins.rename(columns=taken)], axis=1)
