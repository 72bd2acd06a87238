"""``proximity-kernel outliers``: the most unusual rows or cells, with reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from .. import ProximityOutliers
from .._shared.wording import counted, write_share
from .._surprise import FALSE_ALARMS, MOST_OUTLIERS
from ..io import InputError
from . import fitting
from .program import Invocation
from .results import (
    N_SHOWN,
    is_for_terminal,
    join_results,
    join_table,
    number_rows,
    write_results,
    write_short,
)

_MIN_SCORE = 6.0  # from which --cells lists a cell of a row that is no outlier
_BLOCK = 2048  # rows whose reasons are found at a time


def run(invocation: Invocation) -> None:
    """Score the rows of a table; write or show its outliers, or unusual cells."""
    options = invocation.options
    fitting.check_pairwise(options)
    if options.join and options.cells:
        raise InputError(
            "--join: with --cells, each row of the output is a cell, which the columns "
            "of the table cannot be joined to; leave out --join or --cells."
        )
    model, table, _ = fitting.start(invocation, "ProximityOutliers")
    if model is None:
        if len(table.frame) < 2:
            raise InputError(
                f"{table.name}: there is no other row to compare the row with; add "
                "rows, or give the model of a larger table with --model."
            )
        model = ProximityOutliers(
            kernel=fitting.make_kernel(options, ProximityOutliers()),
            contamination=options.share or "auto",
            n_jobs=options.n_jobs,
        )
        coded = fitting.fit(invocation, model, table)
    else:
        coded = fitting.code(model, table)
    list_them = _list_cells if options.cells else _list_outliers
    write_results(invocation, list_them(invocation, model, table, coded))


def _list_outliers(invocation: Invocation, model: Any, table: Any, coded: Any) -> Any:
    """Make the output table: score, outlier and reasons of all rows or the top rows."""
    options, shown = invocation.options, is_for_terminal(invocation.options)
    with invocation.progress("scoring"):
        scores = -model.score_samples(coded)
    outlying = scores > -model.offset_
    rows, explained = np.arange(len(scores)), np.flatnonzero(outlying)
    invocation.note(_describe_outliers(scores, model, fitted=options.model is None))
    top = options.top
    if top is None and shown:
        top = min(len(explained) or N_SHOWN, N_SHOWN, len(rows))
        if len(explained) != top:
            noun = "outlier" if len(explained) else "row"
            invocation.note(f"The {counted(top, f'most unusual {noun}')}:")
    if top is not None:
        rows = explained = np.argsort(-scores, kind="stable")
    texts = np.full(len(scores), "", dtype=object)
    confirmed: list[int] = []
    if options.reasons:
        n = 0
        for row, reasons in _iterate_reasons(
            invocation, model, coded, explained, options.reasons, top
        ):
            texts[row] = ("\n" if shown else "; ").join(map(_write_reason, reasons))
            if outlying[row] and not reasons:
                confirmed.append(row)
                continue
            n += 1
            if n == top:
                break
        outlying[confirmed] = False
        if confirmed:
            invocation.note(
                f"{counted(len(confirmed), 'row')} of these left out: most other rows "
                "with the same values confirm what is unusual."
            )
    if top is not None:
        rows = rows[~np.isin(rows, confirmed)][:top]
    results = {"score": scores.round(6), "outlier": outlying, "reasons": texts}
    if shown and len(set(outlying[rows])) == 1:
        del results["outlier"]
    if options.join and not shown:
        joined = join_table(table, results)
        return joined if options.top is None else joined.loc[table.frame.index[rows]]
    return join_results(number_rows(table), results).iloc[rows]


def _list_cells(invocation: Invocation, model: Any, table: Any, coded: Any) -> Any:
    """Make the output table of --cells: the most unusual cells first, with reasons."""
    options = invocation.options
    with invocation.progress("scoring"):
        cells = model.score_cells(coded)
    scores = cells.sum(axis=1)
    invocation.note(_describe_outliers(scores, model, fitted=options.model is None))
    if options.top is None:
        high = (scores > -model.offset_)[:, None] | (cells >= _MIN_SCORE)
        cells = np.where(high, cells, 0)
    order = np.argsort(-cells, axis=None, kind="stable")
    order = order[cells.ravel()[order] > 0]
    names, listed = list(table.frame), []
    step = min(options.top or _BLOCK, _BLOCK)
    for start in range(0, len(order), step):  # until enough cells have a reason
        row, feature = np.divmod(order[start : start + step], cells.shape[1])
        found = {
            (i, reason.feature): reason
            for i, reasons in _iterate_reasons(
                invocation, model, coded, np.unique(row), len(names)
            )
            for reason in reasons
        }
        asked = zip(row.tolist(), [names[j] for j in feature], strict=True)
        listed += [(i, found[i, name]) for i, name in asked if (i, name) in found]
        if options.top and len(listed) >= options.top:
            break
    listed = listed[: options.top]
    shown = [one for _, one in listed]
    results = {
        "column": [one.feature for one in shown],
        "value": [one.value for one in shown],
        "score": np.round([one.score for one in shown], 6),
        "reason": [_write_reason(one) for one in shown],
    }
    which = number_rows(table).iloc[[i for i, _ in listed]].reset_index(drop=True)
    return join_results(which, {k: pd.Series(v) for k, v in results.items()})


def _describe_outliers(scores: Any, model: Any, *, fitted: bool) -> str:
    """Describe how many rows are outliers, and the limit of their scores."""
    limit, of_all = -model.offset_, counted(len(scores), "row")
    n = int((scores > limit).sum())
    alarms = ""
    if fitted and model.expected_false_alarms_ is not None:
        alarms = (
            f" {write_share(FALSE_ALARMS)} of rows sampled from the fitted model score "
            f"above {limit:.3f}."
        )
    elif fitted and model.contamination == "auto":
        alarms = (
            f" The limit is taken from the rows: more than {write_share(MOST_OUTLIERS)}"
            f" of them score higher than {write_share(1 - FALSE_ALARMS)} of rows "
            "sampled from the model."
        )
    if not n:
        return (
            f"None of {of_all} is an outlier: the highest score is "
            f"{scores.max():.3f}, and outliers are above {limit:.3f}.{alarms}"
        )
    return (
        f"{n:,} of {of_all} {'is an outlier' if n == 1 else 'are outliers'}: the score "
        f"is above {limit:.3f} (a typical row has {np.median(scores):.3f}).{alarms}"
    )


def _iterate_reasons(
    invocation: Invocation, model: Any, coded: Any, rows: Any, most: int,
    wanted: int | None = None,
) -> Iterator[tuple[int, Any]]:  # fmt: skip
    """Yield the index and the reasons of each row in `rows`, with a progress bar.

    The caller stops after about `wanted` rows; None means that it takes all.
    """
    step = min(wanted or _BLOCK, _BLOCK)
    with invocation.progress("finding reasons", wanted or len(rows)) as advance:
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            reasons = model.reasons(coded.take(block), most, among=coded)
            yield from zip(block, reasons, strict=True)
            advance(len(block))


def _write_reason(reason: Any) -> str:
    """Format a reason in one line, and truncate a long value."""
    short = replace(reason, value=write_short(reason.value))
    return " ".join(str(short).split())
