"""``proximity-kernel explain``: why two rows are alike."""

from __future__ import annotations

import argparse
from typing import Any

from . import _options
from ._call import Call

DESCRIPTION = """\
Tell why two rows are alike, column by column, and what was assumed
about their missing cells.

  proximity-kernel explain patients.csv P0012 P0077
  proximity-kernel explain patients.csv 1 2
  proximity-kernel explain patients.csv 1 2 -o why.json

A row is named by its id, or by its number, from 1 on (#12 is always a
number). A missing cell is shown as ?, with the likely bins and the rows
behind this.
"""
_DIGITS = 2  # of a part, and one more for each tenfold of columns


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    _options.add_input(parser)
    parser.add_argument("row_a", metavar="ROW_A", help="id or number of a row")
    parser.add_argument("row_b", metavar="ROW_B", help="id or number of another")
    _options.add_kernel(parser)
    _options.add_output(parser)
    _options.add_model(parser)


def run(call: Call) -> int:
    """Run the command."""
    from . import _fitting
    from ._writing import find_format, write_frame

    options = call.options
    form = find_format(options.output, options.format)
    kernel, table, _ = _fitting.start(call, "ProximityKernel")
    from ._rows import find_row

    a, b = find_row(table, options.row_a), find_row(table, options.row_b)
    if kernel is None:
        kernel = _fitting.fit(call, _fitting.make_kernel(options), table)
    from .. import explain

    why = explain(kernel, table.frame.iloc[[a]], table.frame.iloc[[b]])
    if options.output is None and options.format is None:
        call.console(out=True).print(*_draw(why, options.row_a, options.row_b))
    else:
        import pandas as pd

        frame = pd.DataFrame(why.to_rows())
        write_frame(frame.assign(similarity=why.similarity), options.output, form)
    return 0


def _draw(why: Any, a: str, b: str) -> tuple[Any, ...]:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("column", overflow="fold")
    grid.add_column("part", justify="right")
    grid.add_column("alike")
    grid.add_column(Text(a), overflow="fold")
    grid.add_column(Text(b), overflow="fold")
    digits = _DIGITS + len(str(len(why.features) // 10))
    for one in sorted(why.features, key=lambda one: -one.contribution):
        part = f"{one.contribution:.{digits}f}"
        cells = (one.name, part, one.alike, str(one.a), str(one.b))
        grid.add_row(*map(Text, cells))
    return Text(f"similarity {why.similarity:.3f}", "bold"), grid
