"""``proximity-kernel represent``: rows as vectors, for other programs."""

from __future__ import annotations

import argparse
from typing import Any

from . import _options
from ._call import Call, InputError, counted

DESCRIPTION = """\
Represent rows as vectors, without holes: a known cell in its bin, a
missing one as a distribution. The product of two rows, divided by the
number of columns, is their similarity.

  proximity-kernel represent patients.csv -o vectors.parquet
  proximity-kernel represent patients.csv -o vectors.npz
  proximity-kernel represent a.csv --save-model m.pk -o a.npz
  proximity-kernel represent new.csv --model m.pk -o new.npz

Written: the ids (or the row numbers, from 1 on) and a column for each
bin. A .npz holds scipy's sparse matrix alone (scipy.sparse.load_npz).
"""
_LIMIT = 2**30  # bytes of a dense table


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    _options.add_input(parser)
    parser.add_argument("--force", action="store_true", help="write a huge table too")
    _options.add_kernel(parser)
    _options.add_output(parser, more=", or .npz (sparse)")
    _options.add_batches(parser)
    _options.add_model(parser)


def run(call: Call) -> int:
    """Run the command."""
    from . import _fitting
    from ._appending import FORMS
    from ._writing import find_format, write_frame

    options = call.options
    form = find_format(options.output, options.format, (".npz",))
    file = _fitting.find_batches(call, form, FORMS)
    if file is not None:
        return _run_batches(call, file, form)
    kernel, table, _ = _fitting.start(call, "ProximityKernel")
    if kernel is None:
        kernel = _fitting.fit(call, _fitting.make_kernel(options), table)
    with call.step("representing rows"):
        matrix = kernel.transform(table.frame)
    n_rows, n_bins = matrix.shape
    call.say(f"{counted(n_rows, 'row')}, {counted(n_bins, 'column')} of bins")
    if form == "npz":
        _write_sparse(matrix, options.output)
    else:
        write_frame(_make_frame(call, matrix, kernel, table), options.output, form)
    return 0


def _run_batches(call: Call, file: Any, form: str) -> int:
    """Represent a file that is never held whole."""
    from . import _fitting
    from ._appending import appending
    from ._rows import name_rows

    options = call.options
    kernel, stream = _fitting.start_batches(call, file, "ProximityKernel")
    if kernel is None:
        kernel = _fitting.make_kernel(options, **_fitting.limit(call))
        kernel.fit_batches(stream.frames("learning bins", "learning rows"))
        _fitting.keep_model(call, kernel, stream.plan)
    bins = kernel.get_feature_names_out().tolist()
    with appending(options.output, form, stream.nullable()) as append:
        for first, table in stream.tables("representing rows"):
            names = name_rows(table, first)
            # By columns, as they are written.
            dense = kernel.transform(table.frame).toarray(order="F")
            free = (f"{one}_" if one in names else one for one in bins)
            append(names, dict(zip(free, dense.T, strict=True)))
    call.say(f"{file.n_rows:,} rows, {len(bins):,} columns of bins")
    return 0


def _write_sparse(matrix: Any, path: str) -> None:
    import scipy.sparse as sp

    from ._writing import whole_file

    with whole_file(path) as part, part.open("wb") as file:
        sp.save_npz(file, matrix)


def _make_frame(call: Call, matrix: Any, kernel: Any, table: Any) -> Any:
    import pandas as pd

    from ._rows import name_rows

    size = 4 * matrix.shape[0] * matrix.shape[1]
    if size > _LIMIT and not call.options.force:
        raise InputError(
            f"{table.name}: {matrix.shape[0]:,} x {matrix.shape[1]:,} numbers take "
            f"{size / 2**30:,.1f} GiB; write them sparse with -o FILE.npz (--force "
            "writes them all)."
        )
    names = name_rows(table)
    bins = pd.DataFrame(matrix.toarray(), columns=kernel.get_feature_names_out())
    twice = {name: f"{name}_" for name in bins.columns if name in names.columns}
    return pd.concat([names, bins.rename(columns=twice)], axis=1)
