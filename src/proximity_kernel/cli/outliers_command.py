"""``proximity-kernel outliers``: the most unusual rows, with reasons."""

from __future__ import annotations

import argparse
from typing import Any

from .._shared.wording import counted
from . import arguments
from .program import Invocation

DESCRIPTION = """\
Find the rows that are least similar to the others, with reasons.

  proximity-kernel outliers patients.csv -o unusual.csv
  proximity-kernel outliers patients.csv --top 20
  proximity-kernel outliers patients.csv --share 0.01
  proximity-kernel outliers new.csv --model m.pk

Output: the ids (or the row numbers, from 1), the score, whether the row
is an outlier, and the reasons if it is. The score is the mean similarity
to all rows, less 1 for each number that is far from all others; lower is
more unusual.
"""
_BLOCK = 2048  # rows at a time


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_input(parser)
    parser.add_argument(
        "--top", type=arguments.whole_number(1), metavar="N",
        help="only the N most unusual rows, ordered, all with reasons",
    )  # fmt: skip
    parser.add_argument(
        "--share", type=arguments.share_up_to(0.5), metavar="S",
        help="share of the rows to call outliers; chosen from the scores by default",
    )  # fmt: skip
    parser.add_argument(
        "--reasons", type=arguments.whole_number(0), default=3, metavar="N",
        help="reasons for each row (3)",
    )  # fmt: skip
    arguments.add_kernel(parser)
    arguments.add_output(parser, report=True)
    arguments.add_model(parser)


def run(invocation: Invocation) -> None:
    """Run the command."""
    from . import fitting
    from .outputs import find_format

    options = invocation.options
    file_format = find_format(options.output, options.format)
    model, table, _ = fitting.start(invocation, "ProximityOutliers")
    if model is None:
        from .. import ProximityOutliers

        model = ProximityOutliers(
            kernel=fitting.make_kernel(options),
            contamination=options.share or "auto",
            n_jobs=options.n_jobs,
        )
        fitting.fit(invocation, model, table)
    frame = _list_outliers(invocation, model, table)
    fitting.make_report(invocation, table, model.kernel_)
    from .results import write_results

    write_results(invocation, frame, file_format)


def _list_outliers(invocation: Invocation, model: Any, table: Any) -> Any:
    import numpy as np

    from .results import N_SHOWN, is_for_terminal, join_results, name_rows

    options = invocation.options
    top = options.top or (N_SHOWN if is_for_terminal(options) else None)
    with invocation.progress("scoring"):
        scores = model.score_samples(table.frame)
    outlying = scores < model.offset_
    rows, explained = np.arange(len(scores)), np.flatnonzero(outlying)
    n = len(explained)
    invocation.note(
        f"{n:,} of {counted(len(scores), 'row')} "
        f"{'is an outlier' if n == 1 else 'are outliers'} (score below "
        f"{model.offset_:.4f}; the median is {np.median(scores):.4f})"
    )
    if top is not None:
        rows = np.argsort(scores, kind="stable")[:top]
        explained = rows
    reasons = np.full(len(scores), "", dtype=object)
    n_reasons = options.reasons
    with invocation.progress("finding reasons", len(explained)) as advance:
        for start in range(0, len(explained) if n_reasons else 0, _BLOCK):
            block = explained[start : start + _BLOCK]
            frame = table.frame.iloc[block].reset_index(drop=True)
            found = model.reasons(frame, n_reasons)
            reasons[block] = ["; ".join(map(str, of_row)) for of_row in found]
            advance(len(block))
    results = {"score": scores.round(6), "outlier": outlying, "reasons": reasons}
    return join_results(name_rows(table), results).iloc[rows]
