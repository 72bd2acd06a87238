"""``proximity-kernel cluster``: groups of similar rows."""

from __future__ import annotations

import argparse
from typing import Any

from .._shared.wording import counted, write_share
from ..cli import arguments, fitting
from ..io import InputError
from ..io.write import write_frame
from .outputs import find_format, make_report
from .program import Invocation

DESCRIPTION = """\
Find groups of similar rows in a table with missing cells.

  proximity-kernel cluster patients.csv -o clusters.csv
  proximity-kernel cluster patients.csv -k 3 --report page.html
  proximity-kernel cluster a.csv -k 4 --save-model m.pk
  proximity-kernel cluster new.csv --model m.pk -o new.json

Output: all columns of the table, then the cluster (0 is the largest) and
the distance to its center: within a cluster, rows with a smaller distance
are more typical.
"""
_MAX_VALUES = 3  # that the summary lists for a cluster
_MAX_CLUSTERS = 20  # in the summary


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_input(parser)
    parser.add_argument(
        "-k", dest="n_clusters", type=arguments.whole_number(1, auto=True), metavar="N",
        help="number of clusters; auto (the default) chooses it",
    )  # fmt: skip
    parser.add_argument(
        "--profiles", metavar="FILE", help="write the typical values of each cluster"
    )
    arguments.add_kernel(parser, seed=True)
    arguments.add_output(parser, report=True)
    arguments.add_batches(parser)
    arguments.add_model(parser)


def run(invocation: Invocation) -> None:
    """Run the command."""
    options = invocation.options
    file_format = find_format(options.output, options.format)
    find_format(options.profiles, None, option="--profiles")
    model, source = fitting.open_source(invocation, "ProximityKMeans", file_format)
    if model is None:
        _check_count(options, source.name, source.n_rows)
        model = source.fit(
            _make_model(options), "fitting bins", "fitting rows", "moving centers"
        )
    _write_profiles(invocation, model)
    try:
        _assign_rows(invocation, model, source, file_format)
    except BrokenPipeError:  # the reader of the rows is gone; the report is a file
        _make_report(invocation, model, source)
        raise
    _make_report(invocation, model, source)


def _assign_rows(
    invocation: Invocation, model: Any, source: fitting.Source, file_format: str
) -> None:
    """Write the cluster of each row; print the clusters and how reliable they are."""
    import numpy as np

    from .results import (
        is_for_terminal,
        join_results,
        join_table,
        name_rows,
        open_results,
    )

    options = invocation.options
    sizes: Any = 0
    shown = is_for_terminal(options)
    with open_results(invocation, file_format) as append:
        for start, batch in source.read("assigning rows", all_columns=not shown):
            distances = model.transform(source.code(model, batch))
            clusters = distances.argmin(axis=1)
            sizes = sizes + np.bincount(clusters, minlength=model.n_clusters_)
            if shown:
                append(join_results(name_rows(batch, start), {"cluster": clusters}))
                continue
            nearest = distances.min(axis=1).round(6)
            append(join_table(batch, {"cluster": clusters, "distance": nearest}))
        groups = _find_groups(invocation, model, source)
        _summarize(invocation, model, sizes, groups)  # a terminal shows the rows below
        _tell_groups(invocation, model, groups)


def _make_report(invocation: Invocation, model: Any, source: fitting.Source) -> None:
    """Write the report, if the table was read at once."""
    if source.whole is not None:
        coded = source.code(model, source.whole)
        make_report(invocation, source.whole, coded, model.kernel_, model)


def _make_model(options: argparse.Namespace) -> Any:
    """Make an estimator with the options that were given."""
    from .. import ProximityKMeans

    return ProximityKMeans(
        options.n_clusters or "auto",
        kernel=fitting.make_kernel(options),
        random_state=options.seed,
        n_jobs=options.n_jobs,
    )


def _check_count(options: argparse.Namespace, name: str, n_rows: int) -> None:
    """Raise InputError if more clusters than rows are requested."""
    k = options.n_clusters
    if isinstance(k, int) and k > n_rows:
        raise InputError(
            f"-k {k}: {name} has {counted(n_rows, 'row')}; ask for fewer clusters."
        )


def _find_groups(invocation: Invocation, model: Any, source: Any) -> Any:
    """Find out whether there are separate groups; None if that is not asked."""
    if invocation.options.model is not None:
        return None
    if model.groups_ is None and source.whole is not None:
        needed = invocation.options.report is not None or not invocation.quiet
        if needed:  # kept for the report
            model.groups_ = model.find_groups(source.code(model, source.whole))
    return model.groups_


def _tell_groups(invocation: Invocation, model: Any, groups: Any) -> None:
    """Print whether there are separate groups, and how many samples have as many."""
    from .._groups import describe_groups

    text = describe_groups(model.n_clusters_, groups)
    if text and invocation.options.n_clusters is None:
        text = f"{text} -k sets another number."
    if text:
        invocation.note(text)


def _write_profiles(invocation: Invocation, model: Any) -> None:
    """Write the typical values of each cluster, if --profiles was given."""
    import pandas as pd

    path = invocation.options.profiles
    if path is not None:
        write_frame(pd.DataFrame(model.profiles_), path, find_format(path, None))


def _summarize(invocation: Invocation, model: Any, sizes: Any, groups: Any) -> None:
    """Print the size and the typical values of each cluster."""
    from rich.text import Text

    from .._groups import name_kind
    from ..report.findings import name_clusters
    from .results import draw_grid

    n, lines = model.n_clusters_, []
    names = name_clusters(model.profiles_)
    for c in range(min(n, _MAX_CLUSTERS)):
        share = write_share(sizes[c] / max(sizes.sum(), 1))
        text = Text(names.get(c, "no rows"), "bold")
        text.append("".join(f"\n{one}" for one in _list_typical(model, c)), "not bold")
        lines.append((str(c), f"{sizes[c]:,}", share, text))
    last = "name, and the share of typical values, with estimates"
    columns = (name_kind(n, groups), "rows", "share", last)
    if not invocation.quiet:
        invocation.console().print(draw_grid(columns, lines, numbers=[0, 1, 2]))
    if n > _MAX_CLUSTERS:
        more = n - _MAX_CLUSTERS
        invocation.note(f"and {more:,} more (--profiles FILE lists them all)")


def _list_typical(model: Any, cluster: int) -> list[str]:
    """List the values that are more common in a cluster than in all rows."""
    from ..report.findings import is_typical

    own = [one for one in model.profiles_ if one["cluster"] == cluster]
    typical = list(filter(is_typical, own))
    return [
        f"{one['feature']} {one['value']}: {write_share(one['share'])} (of all rows "
        f"{write_share(one['share_overall'])})"
        for one in typical[:_MAX_VALUES]
    ]
