"""``proximity-kernel impute``: the table with its missing cells filled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from .. import ProximityImputer
from .._shared.wording import counted, write_plain, write_share
from ..io.checks import hide_missing_codes
from ..io.write import TEXT_FORMATS, write_frame
from . import fitting
from .filled_cells import describe_filling, fill_missing, list_examples
from .program import Invocation
from .results import (
    draw_grid,
    is_for_terminal,
    label_rows,
    name_rows,
    write_results,
    write_short,
)

_MAX_COLUMNS = 15  # filled columns that a terminal shows
_N_VALUES = 2  # filled categories of a column that a terminal shows
_DAY = 86_400  # seconds


def run(invocation: Invocation) -> None:
    """Fill the missing cells of a table; write or show the result, with uncertainty."""
    options = invocation.options
    formats = invocation.formats
    imputer, table, notes = fitting.start(invocation, "ProximityImputer")
    known = table.frame
    if imputer is None:
        # Codes for missing cells, such as 99, would be averaged into the estimates.
        known = hide_missing_codes(known)
        fitted = replace(table, frame=known)
        kernel = fitting.make_kernel(options)
        imputer = ProximityImputer(keep_empty_features=True, kernel=kernel)
        fitting.fit(invocation, imputer, fitted, examples=list_examples(table))
    imputer.set_params(strategy=options.strategy)
    with invocation.progress("filling"):
        filled, uncertainty = imputer.transform(known), imputer.uncertainty(known)
    as_text, examples = formats["output"] in TEXT_FORMATS, notes.get("examples")
    frame = fill_missing(table, filled, as_text=as_text, examples=examples)
    invocation.note(describe_filling(table, filled))
    if options.uncertainty is not None:
        codes = (known.isna() & table.frame.notna()).to_numpy()
        for j in codes.any(axis=0).nonzero()[0]:  # not filled: the file keeps the codes
            uncertainty.iloc[codes[:, j], j] = 0.0
        days = uncertainty.select_dtypes("timedelta") / pd.Timedelta(days=1)
        second = name_rows(table).join(uncertainty.assign(**days), rsuffix="_")
        write_frame(second, options.uncertainty, formats["uncertainty"])
    if is_for_terminal(options):
        _show_filling(invocation, table, filled, uncertainty, frame)
    else:
        write_results(invocation, frame)


def _show_filling(
    invocation: Invocation, table: Any, filled: Any, uncertainty: Any, cells: Any
) -> None:
    """Show what was filled in, with a line for each column that had missing cells."""
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
    """Describe the filled cells: their range, or the most frequent categories."""
    if values.dtype.kind in "fMm":
        ends = [cells.iloc[int(at)] for at in (values.argmin(), values.argmax())]
        return " to ".join(dict.fromkeys(map(write_short, ends)))
    counts = values.astype(str).value_counts()
    shown = [f"{write_short(text)} ({n:,})" for text, n in counts[:_N_VALUES].items()]
    return ", ".join(shown) + (", ..." if len(counts) > _N_VALUES else "")


def _write_certainty(values: Any, uncertainty: Any) -> str:
    """Format the uncertainty of an estimate: standard deviation, or probability."""
    if values.dtype.kind in "Mm":
        return f" ± {counted(round(uncertainty.total_seconds() / _DAY), 'day')}"
    if values.dtype.kind == "f":
        return f" ± {write_plain(float(f'{uncertainty:.2g}'))}"
    return f" ({write_share(1 - uncertainty)} sure)"
