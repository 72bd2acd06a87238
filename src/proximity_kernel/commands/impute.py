"""``proximity-kernel impute``: the table with its holes filled."""

from __future__ import annotations

import argparse
from typing import Any

from . import _options
from ._call import Call, counted, listed

DESCRIPTION = """\
Fill the missing cells with what the rows that match expect there. The
other commands need no filled table; this is for programs that do.

  proximity-kernel impute patients.csv -o filled.csv
  proximity-kernel impute patients.csv --uncertainty sure.csv
  proximity-kernel impute a.csv --save-model m.pk -o filled.csv
  proximity-kernel impute new.csv --model m.pk

Written: all columns in their order, ids and columns that were left out
as they were. Whole numbers stay whole, days stay days, and times are
as fine as the others of their column. Dates are written as ISO.
"""
_TEXTS = ("csv", "tsv", "json", "jsonl")
_STEPS = ("D", "h", "min", "s", "ms", "us")  # of pandas, to which times are rounded


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    _options.add_input(parser)
    parser.add_argument(
        "--strategy", choices=["mean", "mode"], default="mean",
        help="numbers: the expected value (mean), or the typical one of the likeliest "
        "bin; others always get the likeliest",
    )  # fmt: skip
    parser.add_argument(
        "--uncertainty", metavar="FILE",
        help="a second table: of numbers the standard deviation, of others the chance "
        "that another is right; 0 where nothing was missing",
    )  # fmt: skip
    _options.add_kernel(parser)
    _options.add_output(parser)
    _options.add_model(parser)


def run(call: Call) -> int:
    """Run the command."""
    from . import _fitting
    from ._writing import find_format, write_frame

    options = call.options
    form = find_format(options.output, options.format)
    doubts = find_format(options.uncertainty, None, option="--uncertainty")
    kernel, table, _ = _fitting.start(call, "ProximityKernel")
    if kernel is None:
        kernel = _fitting.fit(call, _fitting.make_kernel(options), table)
    with call.step("filling"):
        filled, uncertainty = kernel.impute(
            table.frame, strategy=options.strategy, return_uncertainty=True
        )
    n_cells = int(table.frame.isna().to_numpy().sum())
    n_open = int(filled.isna().to_numpy().sum())
    call.say(f"{counted(n_cells - n_open, 'missing cell')} filled in")
    _say_dates(call, table, form)
    if options.uncertainty is not None:
        from ._rows import name_rows

        sure = name_rows(table).join(_count_days(uncertainty), rsuffix="_")
        write_frame(sure, options.uncertainty, doubts)
    write_frame(_put_together(table, filled), options.output, form)
    return 0


def _put_together(table: Any, filled: Any) -> Any:
    """Put the filled columns among the others, in the order of the table."""
    import pandas as pd

    columns = {name: _keep_form(table.frame[name], filled[name]) for name in filled}
    columns |= {name: table.ids[name] for name in table.ids}
    columns |= {name: table.aside[name] for name in table.aside}
    order = [c.name for c in table.plan.columns if c.name in columns]
    return pd.DataFrame({name: columns[name] for name in order})


def _keep_form(held: Any, filled: Any) -> Any:
    """Round what was filled in as the others are: to whole numbers, days, seconds."""
    import pandas as pd

    observed = held.dropna()
    is_date = pd.api.types.is_datetime64_any_dtype(held)
    if is_date or pd.api.types.is_timedelta64_dtype(held):
        steps = (s for s in _STEPS if (_round(observed, s) == observed).all())
        step = next(steps, None)
        return filled if step is None else _round(filled, step)
    if pd.api.types.is_float_dtype(held) and (observed % 1 == 0).all():
        return filled.round().astype("Int64")
    return filled


def _round(times: Any, step: str) -> Any:
    """Round times; those of which a clock that is set back has two stay as they are."""
    rounded = times.dt.round(step, ambiguous="NaT", nonexistent="shift_forward")
    return rounded.fillna(times)


def _say_dates(call: Call, table: Any, form: str) -> None:
    """Say which dates are not written as they were."""
    from ._plan import DATES, USED

    changed = [
        column.name
        for column in table.plan.columns
        if column.role == USED
        and column.kind == DATES
        and column.form not in ("", "iso")
    ]
    if changed and form in _TEXTS:
        call.say(f"written as ISO dates (year-month-day): {listed(changed)}")


def _count_days(uncertainty: Any) -> Any:
    """Make numbers of durations, in days."""
    import pandas as pd

    spans = {
        name: uncertainty[name] / pd.Timedelta(days=1)
        for name in uncertainty
        if pd.api.types.is_timedelta64_dtype(uncertainty[name])
    }
    return uncertainty.assign(**spans)
