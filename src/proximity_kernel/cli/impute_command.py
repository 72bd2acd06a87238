"""``proximity-kernel impute``: the table with its missing cells filled."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from .._shared.wording import counted, write_plain, write_share
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
decimals, with the unit, in the same date format. A terminal shows what was
filled in each column, with an example: "± 10" is the standard deviation of
the estimate, "85 % sure" the probability that it is right.
"""
_MAX_COLUMNS = 15  # that a terminal shows
_N_VALUES = 2  # of categories that were filled in
_DAY = 86_400  # seconds


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
    from ..cli import fitting
    from ..io.write import TEXT_FORMATS, write_frame
    from .outputs import find_format

    options = invocation.options
    file_format = find_format(options.output, options.format)
    second_format = find_format(options.uncertainty, None, option="--uncertainty")
    imputer, table, _ = fitting.start(invocation, "ProximityImputer")
    from ..io.checks import hide_missing_codes
    from .filled_cells import describe_filling, fill_missing
    from .results import is_for_terminal, name_rows, write_results

    known = table.frame
    if imputer is None:
        # Codes such as 99 would be averaged into the estimates.
        known = hide_missing_codes(known)
        fitted = replace(table, frame=known)
        imputer = fitting.make_imputer(options)
        fitting.fit(invocation, imputer, fitted)
    imputer.set_params(strategy=options.strategy)
    with invocation.progress("filling"):
        filled, uncertainty = imputer.transform(known), imputer.uncertainty(known)
    as_text = file_format in TEXT_FORMATS
    frame = fill_missing(table, filled, as_text=as_text)
    invocation.note(describe_filling(table, filled))
    if options.uncertainty is not None:
        codes = (known.isna() & table.frame.notna()).to_numpy()
        for j in codes.any(axis=0).nonzero()[0]:  # written as observed in the file
            uncertainty.iloc[codes[:, j], j] = 0.0
        second = name_rows(table).join(_convert_to_days(uncertainty), rsuffix="_")
        write_frame(second, options.uncertainty, second_format)
    if is_for_terminal(options):
        _show_filling(invocation, table, filled, uncertainty, frame)
    else:
        write_results(invocation, frame, file_format)


def _show_filling(
    invocation: Invocation, table: Any, filled: Any, uncertainty: Any, cells: Any
) -> None:
    """Show what was filled in, one line for each column with missing cells."""
    from .results import draw_grid, label_rows, write_short

    missing = table.missing & filled.notna()
    columns = [name for name in missing if missing[name].any()]
    if not columns:
        return
    labels, lines, cells = label_rows(table), [], cells.loc[table.frame.index]
    for name in columns[:_MAX_COLUMNS]:
        rows = missing[name].to_numpy().nonzero()[0]
        first, values = rows[0], filled[name].iloc[rows]
        sure = _write_certainty(values, uncertainty[name].iloc[first])
        example = f"row {labels[first]}: {write_short(cells[name].iloc[first])}{sure}"
        held = _list_values(values, cells[name].iloc[rows])
        lines.append((str(name), f"{len(rows):,}", held, example))
    names = ("column", "filled", "with", "for example")
    invocation.console(out=True).print(draw_grid(names, lines, numbers=[1]))
    if len(columns) > _MAX_COLUMNS:
        invocation.note(f"and {len(columns) - _MAX_COLUMNS:,} more columns")
    invocation.note("-o FILE writes the filled table")


def _list_values(values: Any, cells: Any) -> str:
    """Write the range of numbers or dates, or list the most frequent categories."""
    from .results import write_short

    if values.dtype.kind in "fMm":
        ends = [cells.iloc[int(at)] for at in (values.argmin(), values.argmax())]
        return " to ".join(dict.fromkeys(map(write_short, ends)))
    counts = values.astype(str).value_counts()
    shown = [f"{write_short(text)} ({n:,})" for text, n in counts[:_N_VALUES].items()]
    return ", ".join(shown) + (", ..." if len(counts) > _N_VALUES else "")


def _write_certainty(values: Any, uncertainty: Any) -> str:
    """Write the uncertainty of an estimate: ± its deviation, or its probability."""
    if values.dtype.kind in "Mm":
        return f" ± {counted(round(uncertainty.total_seconds() / _DAY), 'day')}"
    if values.dtype.kind == "f":
        return f" ± {write_plain(float(f'{uncertainty:.2g}'))}"
    return f" ({write_share(1 - uncertainty)} sure)"


def _convert_to_days(uncertainty: Any) -> Any:
    """Convert durations to numbers of days."""
    import pandas as pd

    days = uncertainty.select_dtypes("timedelta") / pd.Timedelta(days=1)
    return uncertainty.assign(**days)
