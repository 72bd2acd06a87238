"""``proximity-kernel cluster``: groups of similar rows."""

from __future__ import annotations

import argparse
from typing import Any

from ..io.errors import InputError
from ..io.wording import counted
from . import arguments
from .invocation import Invocation

DESCRIPTION = """\
Find groups of similar rows in a table with missing cells.

  proximity-kernel cluster patients.csv -o clusters.csv
  proximity-kernel cluster patients.csv -k 3 --report page.html
  proximity-kernel cluster a.csv -k 4 --save-model m.pk
  proximity-kernel cluster new.csv --model m.pk -o new.json

Output: the ids (or the row numbers, from 1), the cluster (0 is the
largest) and the distance to its center.
"""
_MAX_VALUES = 3  # that the summary lists for a cluster
_MIN_EXCESS = 0.05  # over the share in all rows, for a value to be listed
_MAX_CLUSTERS = 20  # in the summary


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_input(parser)
    parser.add_argument(
        "-k", type=arguments.count_or_auto, metavar="N",
        help="number of clusters; auto (the default) chooses it",
    )  # fmt: skip
    parser.add_argument(
        "--profiles", metavar="FILE", help="write the typical values of each cluster"
    )
    arguments.add_kernel(parser, seed=True)
    arguments.add_output(parser, report=True)
    arguments.add_batches(parser)
    arguments.add_model(parser)


def run(invocation: Invocation) -> int:
    """Run the command."""
    from ..io.writing import write_frame
    from . import fitting
    from .outputs import find_format
    from .streaming import should_stream

    options = invocation.options
    file_format = find_format(options.output, options.format)
    find_format(options.profiles, None, option="--profiles")
    if should_stream(invocation, file_format):
        return _run_stream(invocation, file_format)
    model, table, _ = fitting.start(invocation, "ProximityKMeans")
    if model is None:
        _check_count(options, table.name, len(table.frame))
        model = _make_model(options)
        fitting.fit(invocation, model, table)
    with invocation.progress("assigning rows"):
        distances = model.transform(table.frame)
    clusters = distances.argmin(axis=1)
    _summarize(invocation, model, _count_rows(model, clusters))
    _write_profiles(invocation, model)
    fitting.make_report(invocation, table, model.kernel_, model)
    write_frame(_list_rows(table, distances, clusters), options.output, file_format)
    return 0


def _run_stream(invocation: Invocation, file_format: str) -> int:
    """Cluster a table that is read in batches."""
    from ..io.writing import open_batch_writer
    from . import fitting
    from .streaming import start_stream

    options = invocation.options
    model, stream = start_stream(invocation, "ProximityKMeans")
    table = stream.table
    if model is None:
        _check_count(options, table.file.name, table.file.n_rows)
        model = _make_model(options)
        tasks = ("fitting bins", "fitting rows", "moving centers")
        model.fit_batches(stream.frames(*tasks))
        fitting.save_model(invocation, model, table.schema)
    sizes: Any = 0
    incomplete = table.incomplete_ids()
    with open_batch_writer(options.output, file_format, incomplete) as append:
        for start, batch in stream.read("assigning rows"):
            distances = model.transform(batch.frame)
            clusters = distances.argmin(axis=1)
            sizes = sizes + _count_rows(model, clusters)
            append(_list_rows(batch, distances, clusters, start), {})
    _summarize(invocation, model, sizes)
    _write_profiles(invocation, model)
    return 0


def _make_model(options: argparse.Namespace) -> Any:
    from .. import ProximityKMeans
    from .fitting import make_kernel

    return ProximityKMeans(
        "auto" if options.k is None else options.k,
        kernel=make_kernel(options),
        random_state=options.seed,
        n_jobs=options.jobs,
    )


def _check_count(options: argparse.Namespace, name: str, n_rows: int) -> None:
    if isinstance(options.k, int) and options.k > n_rows:
        raise InputError(
            f"-k {options.k}: {name} has {counted(n_rows, 'row')}; ask for fewer "
            "clusters."
        )


def _count_rows(model: Any, clusters: Any) -> Any:
    """Count the rows of each cluster."""
    import numpy as np

    return np.bincount(clusters, minlength=model.n_clusters_)


def _list_rows(table: Any, distances: Any, clusters: Any, start: int = 0) -> Any:
    from .row_names import join_results, name_rows

    nearest = distances.min(axis=1).round(6)
    return join_results(
        name_rows(table, start), {"cluster": clusters, "distance": nearest}
    )


def _write_profiles(invocation: Invocation, model: Any) -> None:
    """Write the typical values of each cluster, if --profiles was given."""
    import pandas as pd

    from ..io.writing import write_frame
    from .outputs import find_format

    path = invocation.options.profiles
    if path is not None:
        write_frame(pd.DataFrame(model.profiles_), path, find_format(path, None))


def _summarize(invocation: Invocation, model: Any, sizes: Any) -> None:
    """Print the size and the typical values of each cluster."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    n = model.n_clusters_
    if invocation.options.model is None and invocation.options.k is None:
        found = f"found {n} clusters (-k sets the number)"
        if n == 1:
            found = "found 1 cluster; no larger number was stable (-k sets the number)"
        invocation.note(found)
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("cluster", justify="right")
    grid.add_column("rows", justify="right")
    grid.add_column("share", justify="right")
    grid.add_column("typical values, with their share")
    for c in range(min(n, _MAX_CLUSTERS)):
        values = _list_typical_values(model, c) or ["none"]
        share = f"{sizes[c] / max(sizes.sum(), 1):.0%}"
        grid.add_row(str(c), f"{sizes[c]:,}", share, Text("\n".join(values)))
    invocation.show(grid)
    if n > _MAX_CLUSTERS:
        more = n - _MAX_CLUSTERS
        invocation.note(f"and {more:,} more (--profiles FILE lists them all)")


def _list_typical_values(model: Any, cluster: int) -> list[str]:
    """List the values that are more common in a cluster than in all rows."""
    typical = [
        one
        for one in model.profiles_
        if one["cluster"] == cluster
        and one["share"] > one["share_overall"] + _MIN_EXCESS
    ]
    return [
        f"{one['feature']} {one['value']} ({one['share']:.0%}, all "
        f"{one['share_overall']:.0%})"
        for one in typical[:_MAX_VALUES]
    ]
