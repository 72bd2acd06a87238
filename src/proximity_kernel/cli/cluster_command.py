"""``proximity-kernel cluster``: groups of similar rows."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich.text import Text

from .. import ProximityKMeans
from .._groups import describe_groups, name_kind
from .._shared.wording import counted, write_share
from ..io import InputError
from ..io.write import write_frame
from ..kernel import code_table
from ..report.findings import count_cells, describe_clusters
from . import fitting
from .program import Invocation
from .results import (
    draw_grid,
    is_for_terminal,
    join_results,
    join_table,
    name_rows,
    open_results,
    write_report,
)

_MAX_VALUES = 3  # typical values of a cluster in the summary
_MAX_CLUSTERS = 20  # clusters in the summary


def run(invocation: Invocation) -> None:
    """Fit clusters or load a model, assign the rows, and write the requested files."""
    options = invocation.options
    model, source = fitting.open_source(invocation, "ProximityKMeans")
    if model is None:
        k: Any = options.n_clusters or "auto"
        n_rows = source.n_rows
        if isinstance(k, int) and k > n_rows:
            rows = counted(n_rows, "row")
            raise InputError(
                f"-k {k}: {source.name} has {rows}; ask for fewer clusters."
            )
        kernel = fitting.make_kernel(options)
        model = ProximityKMeans(
            k, kernel=kernel, random_state=options.seed, n_jobs=options.n_jobs
        )
        source.fit(model, "fitting bins", "fitting rows", "moving centers")
    if options.profiles is not None:
        profiles = pd.DataFrame(model.profiles_)
        write_frame(profiles, options.profiles, invocation.formats["profiles"])
    try:
        _assign_rows(invocation, model, source)
    except BrokenPipeError:  # nobody reads the rows, but the report goes to a file
        _make_report(invocation, model, source)
        raise
    _make_report(invocation, model, source)


def _assign_rows(invocation: Invocation, model: Any, source: fitting.Source) -> None:
    """Write the cluster of each row; print a summary, and the test for groups."""
    options = invocation.options
    counts: Any = 0
    shown = is_for_terminal(options)
    with open_results(invocation) as append:
        for start, batch in source.read("assigning rows", all_columns=not shown):
            coded = code_table(model.kernel_, source.code(model, batch))
            distances = model.transform(coded)
            clusters = distances.argmin(axis=1)
            counts = counts + count_cells(coded, clusters, model.n_clusters_)
            coded.release()  # writing needs much memory, too
            if shown:
                append(join_results(name_rows(batch, start), {"cluster": clusters}))
                continue
            nearest = distances.min(axis=1).round(6)
            append(join_table(batch, {"cluster": clusters, "distance": nearest}))
        groups = _get_groups(invocation, model, source)
        _summarize(invocation, model, counts, groups)  # a terminal shows the rows below
        if text := describe_groups(model.n_clusters_, groups):
            more = " -k sets another number." if options.n_clusters is None else ""
            invocation.note(text + more)


def _make_report(invocation: Invocation, model: Any, source: fitting.Source) -> None:
    """Write the report if --report was given; a table read in batches has none."""
    if source.whole is not None:
        coded = source.code(model, source.whole)
        write_report(invocation, source.whole, coded, model.kernel_, model)


def _get_groups(invocation: Invocation, model: Any, source: Any) -> Any:
    """Return the test for separate groups, run if it is shown; None with --model."""
    if invocation.options.model is not None:
        return None
    needed = invocation.options.report is not None or not invocation.quiet
    if model.groups_ is None and source.whole is not None and needed:
        # Stored in the model, so that the report does not repeat the test.
        model.groups_ = model.find_groups(source.code(model, source.whole))
    return model.groups_


def _summarize(invocation: Invocation, model: Any, counts: Any, groups: Any) -> None:
    """Print the name, the size and the typical values of the first 20 clusters."""
    if invocation.quiet:
        return
    n, lines = model.n_clusters_, []
    for one in describe_clusters(model, counts)[:_MAX_CLUSTERS]:
        text = Text(one["name"], "bold")
        for own in one["values"][:_MAX_VALUES]:
            here, all_rows = (
                write_share(own["share"]),
                write_share(own["share_overall"]),
            )
            line = f"{own['feature']} {own['value']}: {here} (of all {own['cells']} "
            text.append(f"\n{line}{all_rows})", "not bold")
        lines.append((f"{one['cluster']}", f"{one['size']:,}", one["share_text"], text))
    last = "name, and typical values"
    columns = (name_kind(n, groups), "rows", "share", last)
    invocation.console().print(draw_grid(columns, lines, numbers=[0, 1, 2]))
    if n > _MAX_CLUSTERS:
        more = n - _MAX_CLUSTERS
        invocation.note(f"and {more:,} more (--profiles FILE lists them all)")
