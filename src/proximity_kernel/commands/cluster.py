"""``proximity-kernel cluster``: groups of rows that are alike."""

from __future__ import annotations

import argparse
from typing import Any

from . import _options
from ._call import Call, InputError, counted

DESCRIPTION = """\
Find groups of rows that are alike, in a table with holes.

  proximity-kernel cluster patients.csv -o clusters.csv
  proximity-kernel cluster patients.csv -k 3 --report page.html
  proximity-kernel cluster a.csv -k 4 --save-model m.pk
  proximity-kernel cluster new.csv --model m.pk -o new.json

Written: the ids (or the row numbers, from 1 on), the cluster (0 is the
largest) and the distance to its center.
"""
_TOLD = 3  # features that the summary names
_APART = 0.05  # more often than in all rows, to be named
_MOST = 20  # clusters in the summary


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    _options.add_input(parser)
    parser.add_argument(
        "-k", type=_options.count_or_auto, metavar="N",
        help="how many clusters; auto (the default) finds out",
    )  # fmt: skip
    parser.add_argument(
        "--profiles", metavar="FILE", help="a table of what sets each cluster apart"
    )
    _options.add_kernel(parser, seed=True)
    _options.add_output(parser, report=True)
    _options.add_batches(parser)
    _options.add_model(parser)


def run(call: Call) -> int:
    """Run the command."""
    from . import _fitting
    from ._appending import FORMS
    from ._writing import find_format, write_frame

    options = call.options
    form = find_format(options.output, options.format)
    told = find_format(options.profiles, None, option="--profiles")
    file = _fitting.find_batches(call, form, FORMS)
    if file is not None:
        return _run_batches(call, file, form, told)
    model, table, _ = _fitting.start(call, "ProximityKMeans")
    if model is None:
        _check_count(options, table.name, len(table.frame))
        model = _make_model(options)
        _fitting.fit(call, model, table)
    with call.step("assigning rows"):
        distances = model.transform(table.frame)
    clusters = distances.argmin(axis=1)
    import numpy as np

    _summarize(call, model, np.bincount(clusters, minlength=model.n_clusters_))
    if options.profiles is not None:
        write_frame(_list_profiles(model), options.profiles, told)
    _fitting.make_report(call, table, model.kernel_, model)
    write_frame(_list_rows(table, distances, clusters), options.output, form)
    return 0


def _run_batches(call: Call, file: Any, form: str, told: str) -> int:
    """Cluster a file that is never held whole."""
    import numpy as np

    from . import _fitting
    from ._appending import appending
    from ._writing import write_frame

    options = call.options
    model, stream = _fitting.start_batches(call, file, "ProximityKMeans")
    if model is None:
        _check_count(options, file.name, file.n_rows)
        model = _make_model(options, **_fitting.limit(call))
        passes = ("learning bins", "learning rows", "moving centers")
        model.fit_batches(stream.frames(*passes))
        _fitting.keep_model(call, model, stream.plan)
    sizes = np.zeros(model.n_clusters_, np.int64)
    with appending(options.output, form, stream.nullable()) as append:
        for first, table in stream.tables("assigning rows"):
            distances = model.transform(table.frame)
            clusters = distances.argmin(axis=1)
            sizes += np.bincount(clusters, minlength=len(sizes))
            rows = _list_rows(table, distances, clusters, first)
            append(rows, {})
    _summarize(call, model, sizes)
    if options.profiles is not None:
        write_frame(_list_profiles(model), options.profiles, told)
    return 0


def _make_model(options: argparse.Namespace, **defaults: Any) -> Any:
    from .. import ProximityKMeans
    from ._fitting import make_kernel

    return ProximityKMeans(
        "auto" if options.k is None else options.k,
        kernel=make_kernel(options, **defaults),
        random_state=options.seed,
        n_jobs=options.jobs,
    )


def _check_count(options: argparse.Namespace, name: str, n_rows: int) -> None:
    if isinstance(options.k, int) and options.k > n_rows:
        raise InputError(
            f"-k {options.k}: {name} has {counted(n_rows, 'row')}; ask for fewer "
            "clusters."
        )


def _list_rows(table: Any, distances: Any, clusters: Any, first: int = 0) -> Any:
    from ._rows import join_results, name_rows

    nearest = distances.min(axis=1).round(6)
    return join_results(
        name_rows(table, first), {"cluster": clusters, "distance": nearest}
    )


def _list_profiles(model: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(model.profiles_)


def _summarize(call: Call, model: Any, sizes: Any) -> None:
    """Show how large the clusters are, and what sets them apart."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    n = model.n_clusters_
    if call.options.model is None and call.options.k is None:
        found = "1 cluster: no more hold up" if n == 1 else f"{n} clusters"
        call.say(f"{found} (chosen from the data; -k asks for a number)")
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("cluster", justify="right")
    grid.add_column("rows", justify="right")
    grid.add_column("share", justify="right")
    grid.add_column("what is common in it, and in all rows")
    for c in range(min(n, _MOST)):
        words = _tell_apart(model, c) or ["nothing sets it apart"]
        share = f"{sizes[c] / max(sizes.sum(), 1):.0%}"
        grid.add_row(str(c), f"{sizes[c]:,}", share, Text("\n".join(words)))
    call.show(grid)
    if n > _MOST:
        call.say(f"and {n - _MOST:,} more (--profiles FILE has them all)")


def _tell_apart(model: Any, cluster: int) -> list[str]:
    """Say what is more common in a cluster than in all rows."""
    apart = [
        one
        for one in model.profiles_
        if one["cluster"] == cluster and one["share"] > one["share_overall"] + _APART
    ]
    return [
        f"{one['feature']} {one['value']} ({one['share']:.0%}, all "
        f"{one['share_overall']:.0%})"
        for one in apart[:_TOLD]
    ]
