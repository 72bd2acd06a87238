"""``proximity-kernel represent``: rows as vectors, for other programs."""

from __future__ import annotations

import argparse
from io import BytesIO

from .._shared.wording import counted
from ..io import InputError
from . import arguments
from .program import Invocation

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


def run(invocation: Invocation) -> None:
    """Run the command."""
    from ..io.write import open_output
    from .fitting import make_kernel, open_source
    from .outputs import find_format

    options = invocation.options
    file_format = find_format(options.output, options.format, (".npz",))
    kernel, source = open_source(invocation, "ProximityKernel", file_format)
    if kernel is None:
        kernel = source.fit(make_kernel(options), "fitting bins", "fitting rows")
    bins = kernel.get_feature_names_out()
    n_rows, n_bins = source.n_rows, len(bins)
    invocation.note(f"{counted(n_rows, 'row')}, {counted(n_bins, 'column')} of bins")
    if file_format == "npz":
        import scipy.sparse as sp

        with open_output(options.output) as file:
            for _, table in source.read("representing rows"):
                # A zip file on a full disk fails again at exit, and pipes cannot seek.
                held = BytesIO()
                sp.save_npz(held, kernel.transform(source.code(kernel, table)))
                file.write(held.getbuffer())
        return
    size = 4 * n_rows * n_bins
    if source.whole is not None and size > _MAX_BYTES and not options.force:
        raise InputError(
            f"{source.name}: {n_rows:,} x {n_bins:,} numbers take "
            f"{size / 2**30:,.1f} GiB; write them sparse with -o FILE.npz, or all with "
            "--force."
        )
    from .results import join_results, name_rows, open_results

    with open_results(invocation, file_format) as append:
        for start, batch in source.read("representing rows"):
            # Column-major, because columns are written.
            rows = kernel.transform(source.code(kernel, batch))
            dense = rows.toarray(order="F")
            columns = dict(zip(bins, dense.T, strict=True))
            append(join_results(name_rows(batch, start), columns))
