"""``proximity-kernel impute``: the table with its missing cells filled."""

from __future__ import annotations

import argparse
from typing import Any

from .._shared.wording import counted, listed
from . import arguments
from .program import Invocation

DESCRIPTION = """\
Fill the missing cells with estimates from the other cells of their row.
The other commands need no filled table; this is for programs that do.

  proximity-kernel impute patients.csv -o filled.csv
  proximity-kernel impute patients.csv --uncertainty sd.csv
  proximity-kernel impute a.csv --save-model m.pk -o filled.csv
  proximity-kernel impute new.csv --model m.pk

Output: all columns in their order, with ids and left-out columns
unchanged. Estimates are rounded like the observed cells of their column:
to whole numbers, days or seconds. Dates are written as ISO.
"""
_TEXT_FORMATS = ("csv", "tsv", "json", "jsonl")
_TIME_UNITS = ("D", "h", "min", "s", "ms", "us")  # to which times are rounded


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_input(parser)
    parser.add_argument(
        "--strategy", choices=["mean", "mode"], default="mean",
        help="for numbers: the expected value (mean, the default), or the typical "
        "value of the most likely bin (mode); others get the most likely value",
    )  # fmt: skip
    parser.add_argument(
        "--uncertainty", metavar="FILE",
        help="write a second table: the standard deviation of numbers, and the "
        "probability that another category is right; 0 for observed cells",
    )  # fmt: skip
    arguments.add_kernel(parser)
    arguments.add_output(parser)
    arguments.add_model(parser)


def run(invocation: Invocation) -> None:
    """Run the command."""
    from ..io.writing import write_frame
    from . import fitting
    from .outputs import find_format

    options = invocation.options
    file_format = find_format(options.output, options.format)
    second_format = find_format(options.uncertainty, None, option="--uncertainty")
    kernel, table, _ = fitting.start(invocation, "ProximityKernel")
    if kernel is None:
        kernel = fitting.fit(invocation, fitting.make_kernel(options), table)
    with invocation.progress("filling"):
        filled, uncertainty = kernel.impute(
            table.frame, strategy=options.strategy, return_uncertainty=True
        )
    n_before, n_after = (int(f.isna().to_numpy().sum()) for f in (table.frame, filled))
    invocation.note(f"{counted(n_before - n_after, 'missing cell')} filled")
    _report_dates(invocation, table, file_format)
    if options.uncertainty is not None:
        from .results import name_rows

        second = name_rows(table).join(_convert_to_days(uncertainty), rsuffix="_")
        write_frame(second, options.uncertainty, second_format)
    write_frame(_join_columns(table, filled), options.output, file_format)


def _join_columns(table: Any, filled: Any) -> Any:
    """Join the filled columns with the others, in the order of the table."""
    import pandas as pd

    columns = {name: _round_like(table.frame[name], filled[name]) for name in filled}
    columns |= {name: table.ids[name] for name in table.ids}
    columns |= {name: table.left_out[name] for name in table.left_out}
    order = [c.name for c in table.schema.columns if c.name in columns]
    return pd.DataFrame({name: columns[name] for name in order})


def _round_like(column: Any, filled: Any) -> Any:
    """Round estimates like the observed cells: to whole numbers, days, seconds."""
    import pandas as pd

    observed = column.dropna()
    is_date = pd.api.types.is_datetime64_any_dtype(column)
    if is_date or pd.api.types.is_timedelta64_dtype(column):
        units = (u for u in _TIME_UNITS if (_round(observed, u) == observed).all())
        unit = next(units, None)
        return filled if unit is None else _round(filled, unit)
    if pd.api.types.is_float_dtype(column) and (observed % 1 == 0).all():
        return filled.round().astype("Int64")
    return filled


def _round(times: Any, unit: str) -> Any:
    """Round times, except those that occur twice when clocks are set back."""
    rounded = times.dt.round(unit, ambiguous="NaT", nonexistent="shift_forward")
    return rounded.fillna(times)


def _report_dates(invocation: Invocation, table: Any, file_format: str) -> None:
    """Print which dates are written in another format than they were read."""
    changed = [
        column.name
        for column in table.schema.columns
        if column.role == "used"
        and column.kind == "dates"
        and column.format not in ("", "iso")
    ]
    if changed and file_format in _TEXT_FORMATS:
        invocation.note(f"written as ISO dates (year-month-day): {listed(changed)}")


def _convert_to_days(uncertainty: Any) -> Any:
    """Convert durations to numbers of days."""
    import pandas as pd

    days = uncertainty.select_dtypes("timedelta") / pd.Timedelta(days=1)
    return uncertainty.assign(**days)
