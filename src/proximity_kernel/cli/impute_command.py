"""``proximity-kernel impute``: the table with its missing cells filled."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from . import arguments
from .program import Invocation

DESCRIPTION = """\
Fill the missing cells with estimates from the other cells of their row.
The other commands need no filled table; this is for programs that do.

  proximity-kernel impute patients.csv -o filled.csv
  proximity-kernel impute patients.csv --uncertainty sd.csv
  proximity-kernel impute a.csv --save-model m.pk -o filled.csv
  proximity-kernel impute new.csv --model m.pk

Output: all columns in their order, with every observed cell as it was.
Estimates are written like the observed cells of their column: with as many
decimals, with the unit, in the same date format.
"""


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
    from ..io.writing import TEXT_FORMATS, write_frame
    from . import fitting
    from .outputs import find_format

    options = invocation.options
    file_format = find_format(options.output, options.format)
    second_format = find_format(options.uncertainty, None, option="--uncertainty")
    kernel, table, _ = fitting.start(invocation, "ProximityKernel")
    from ..io.doubts import hide_missing_codes
    from .filled_cells import describe_filling, fill_gaps
    from .results import name_rows, write_results

    known = table.frame
    if kernel is None:
        # Codes such as 99 would be averaged into the estimates.
        known = hide_missing_codes(known)
        fitted = replace(table, frame=known)
        kernel = fitting.fit(invocation, fitting.make_kernel(options), fitted)
    with invocation.progress("filling"):
        filled, uncertainty = kernel.impute(
            known, strategy=options.strategy, return_uncertainty=True
        )
    as_text = file_format in TEXT_FORMATS
    frame = fill_gaps(table, filled, as_text=as_text)
    invocation.note(describe_filling(table, filled))
    if options.uncertainty is not None:
        codes = (known.isna() & table.frame.notna()).to_numpy()
        for j in codes.any(axis=0).nonzero()[0]:  # observed, for all that is known
            uncertainty.iloc[codes[:, j], j] = 0.0
        second = name_rows(table).join(_convert_to_days(uncertainty), rsuffix="_")
        write_frame(second, options.uncertainty, second_format)
    write_results(invocation, frame, file_format)


def _convert_to_days(uncertainty: Any) -> Any:
    """Convert durations to numbers of days."""
    import pandas as pd

    days = uncertainty.select_dtypes("timedelta") / pd.Timedelta(days=1)
    return uncertainty.assign(**days)
