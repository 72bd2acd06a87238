"""``proximity-kernel represent``: rows as vectors without missing cells."""

from __future__ import annotations

from io import BytesIO

import scipy.sparse as sp

from .._shared.wording import counted
from ..io import InputError
from ..io.write import open_output
from .fitting import make_kernel, open_source
from .program import Invocation
from .results import join_results, name_rows, open_results

_MAX_BYTES = 2**30  # size of a dense table that needs no --force


def run(invocation: Invocation) -> None:
    """Write the rows of a table as vectors: a sparse matrix (.npz) or a dense table."""
    options = invocation.options
    kernel, source = open_source(invocation, "ProximityKernel")
    if kernel is None:
        kernel = source.fit(make_kernel(options), "fitting bins", "fitting rows")
    bins = kernel.get_feature_names_out()
    n_rows, n_bins = source.n_rows, len(bins)
    invocation.note(f"{counted(n_rows, 'row')}, {counted(n_bins, 'column')} of bins")
    if invocation.formats["output"] == "npz":
        with open_output(options.output) as file:
            for _, table in source.read("representing rows"):
                # In memory first: scipy's zip file fails on a pipe, and on a full disk
                # it fails again at exit.
                held = BytesIO()
                sp.save_npz(held, kernel.transform(source.code(kernel, table)))
                file.write(held.getbuffer())
        return
    size = 4 * n_rows * n_bins
    if source.whole is not None and size > _MAX_BYTES and not options.force:
        raise InputError(
            f"{source.name}: {n_rows:,} x {n_bins:,} numbers take "
            f"{size / 2**30:,.1f} GiB; write a sparse matrix with -o FILE.npz, or this "
            "table with --force."
        )
    with open_results(invocation) as append:
        for start, batch in source.read("representing rows"):
            # Column-major, because columns are written.
            rows = kernel.transform(source.code(kernel, batch))
            dense = rows.toarray(order="F")
            columns = dict(zip(bins, dense.T, strict=True))
            append(join_results(name_rows(batch, start), columns))
