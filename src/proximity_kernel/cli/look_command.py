"""``proximity-kernel look``: how a file is read."""

from __future__ import annotations

import argparse
from typing import Any

from .._shared.wording import write_share
from . import arguments
from .program import Invocation

DESCRIPTION = """\
Show how a file is read: the kind of each column, its missing cells, ids,
and what was assumed. Nothing is written.

  proximity-kernel look patients.csv
  proximity-kernel look patients.csv --na -99 --drop remark

The options are those of the other commands: try them here first.
"""
_N_EXAMPLES = 3
_LONGEST = 24  # characters of an example


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_input(parser)


def run(invocation: Invocation) -> None:
    """Run the command."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from .fitting import open_table

    table = open_table(invocation, invocation.options.file)
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("column", overflow="fold")
    grid.add_column("read as", overflow="fold")
    grid.add_column("missing", justify="right")
    grid.add_column("values", overflow="fold")
    for column in table.schema.columns:
        name, missing, shown = column.name, "", ""
        kind = f"{column.kind} ({column.unit})" if column.unit else column.kind
        read_as = {"used": kind, "id": "id, not compared"}.get(column.role, "left out")
        if name in table.frame:
            missing = write_share(table.frame[name].isna().mean())
            shown = _list_examples(table.frame[name])
        elif name in table.ids:
            shown = _list_examples(table.ids[name])
        grid.add_row(*map(Text, (name, read_as, missing, shown)))
    invocation.console(out=True).print(grid)


def _list_examples(cells: Any) -> str:
    """List the first different values, or the ends of numbers and dates."""
    from ..io.parquet_and_excel import write_cell

    known = cells.dropna()
    if not len(known):
        return ""
    if known.dtype.kind in "fMm":
        ends = [write_cell(end) for end in (known.min(), known.max())]
        ends = [end.removesuffix("T00:00:00") for end in ends]
        return " to ".join(dict.fromkeys(ends))
    distinct = known.drop_duplicates()
    shown = [write_cell(cell)[:_LONGEST] for cell in distinct[:_N_EXAMPLES]]
    more = len(distinct) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
