"""``proximity-kernel outliers``: the strangest rows, with reasons."""

from __future__ import annotations

import argparse
from typing import Any

from . import _options
from ._call import Call, counted

DESCRIPTION = """\
Find the rows that resemble the others least, and say why.

  proximity-kernel outliers patients.csv -o strange.csv
  proximity-kernel outliers patients.csv --top 20
  proximity-kernel outliers patients.csv --share 0.01
  proximity-kernel outliers new.csv --model m.pk

Written: the ids (or the row numbers, from 1 on), the score (the mean
similarity with all rows: the lower, the stranger), whether the row is
an outlier, and the reasons of those that are.
"""
_BINS = 4  # whose ends are the extremes, so that far values are rare ones
_BLOCK = 2048


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    _options.add_input(parser)
    parser.add_argument(
        "--top", type=_options.count_from(1), metavar="N",
        help="only the N strangest rows, the strangest first, all with reasons",
    )  # fmt: skip
    parser.add_argument(
        "--share", type=_options.share_up_to(0.5), metavar="S",
        help="share of the rows to call outliers; by default those that are far off",
    )  # fmt: skip
    parser.add_argument(
        "--reasons", type=_options.count_from(0), default=3, metavar="N",
        help="reasons for each (3)",
    )  # fmt: skip
    _options.add_kernel(parser)
    _options.add_output(parser, report=True)
    _options.add_model(parser)


def run(call: Call) -> int:
    """Run the command."""
    from . import _fitting
    from ._writing import find_format, write_frame

    options = call.options
    form = find_format(options.output, options.format)
    model, table, _ = _fitting.start(call, "ProximityOutliers")
    if model is None:
        from .. import ProximityOutliers

        model = ProximityOutliers(
            kernel=_fitting.make_kernel(options, n_bins=_BINS),
            contamination=options.share or "auto",
            n_jobs=options.jobs,
        )
        _fitting.fit(call, model, table)
    frame = _judge(call, model, table)
    _fitting.make_report(call, table, model.kernel_)
    write_frame(frame, options.output, form)
    return 0


def _judge(call: Call, model: Any, table: Any) -> Any:
    import numpy as np

    from ._rows import join_results, name_rows

    with call.step("scoring"):
        scores = model.score_samples(table.frame)
    strange = scores < model.offset_
    rows, told = np.arange(len(scores)), np.flatnonzero(strange)
    call.say(
        f"{len(told):,} of {counted(len(scores), 'row')} "
        f"{'is an outlier' if len(told) == 1 else 'are outliers'} (score below "
        f"{model.offset_:.4f}; the median is {np.median(scores):.4f})"
    )
    if call.options.top is not None:
        rows = np.argsort(scores, kind="stable")[: call.options.top]
        told = rows
    reasons = np.full(len(scores), "", dtype=object)
    if call.options.reasons:
        with call.step("finding reasons", len(told)) as advance:
            for start in range(0, len(told), _BLOCK):
                block = told[start : start + _BLOCK]
                part = table.frame.iloc[block].reset_index(drop=True)
                for i, why in zip(
                    block, model.reasons(part, call.options.reasons), strict=True
                ):
                    reasons[i] = "; ".join(map(str, why))
                advance(len(block))
    results = {"score": scores.round(6), "outlier": strange, "reasons": reasons}
    return join_results(name_rows(table), results).iloc[rows]
