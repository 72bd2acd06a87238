"""``proximity-kernel explain``: why two rows are similar."""

from __future__ import annotations

import argparse
from typing import Any

from . import arguments
from .program import Invocation

DESCRIPTION = """\
Explain why two rows are similar, column by column, and how their
missing cells were estimated.

  proximity-kernel explain patients.csv P0012 P0077
  proximity-kernel explain patients.csv 1 2
  proximity-kernel explain patients.csv 1 2 -o why.json

A row is named by its id, or by its number, from 1 (#12 is always a
number). The similarity is that of `neighbors`, and the sum of what the
columns add. Values in the "same range" count as equal; "close" values count
less the farther they are apart, and rare ones that both rows have count
more. A missing cell is shown as ?, with its most likely ranges or
categories and, in brackets, the columns that moved this estimate most, with
the share of the probability that each moved.
"""
_DIGITS = 2  # of a contribution; one more if there are ten times as many columns


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_input(parser)
    parser.add_argument("row_a", metavar="ROW_A", help="id or number of a row")
    parser.add_argument("row_b", metavar="ROW_B", help="id or number of another")
    arguments.add_kernel(parser)
    arguments.add_output(parser)
    arguments.add_model(parser)


def run(invocation: Invocation) -> None:
    """Run the command."""
    from ..cli import fitting
    from ..io.write import write_frame
    from .outputs import find_format

    options = invocation.options
    file_format = find_format(options.output, options.format)
    kernel, table, _ = fitting.start(invocation, "ProximityKernel")
    from .results import find_row, label_rows

    a, b = find_row(table, options.row_a), find_row(table, options.row_b)
    from sklearn.frozen import FrozenEstimator

    from .. import ProximityNeighbors, explain

    if kernel is None:
        kernel = fitting.make_kernel(options, ProximityNeighbors())
        fitting.fit(invocation, kernel, table)
    rows = table.frame.iloc[[a]], table.frame.iloc[[b]]
    near = ProximityNeighbors(kernel=FrozenEstimator(kernel)).fit(rows[1])
    explanation = explain(near, *rows)
    if options.output is None and options.format is None:
        labels = label_rows(table)
        drawn = draw_explanation(explanation, labels[a], labels[b])
        invocation.console(out=True).print(*drawn)
    else:
        frame = explanation.to_frame().assign(similarity=explanation.similarity)
        write_frame(frame, options.output, file_format)


def draw_explanation(explanation: Any, a: str, b: str) -> tuple[Any, ...]:
    """Lay out an explanation as a text and a table of rich."""
    from rich.text import Text

    from .results import draw_grid

    digits = _DIGITS + len(str(len(explanation.features) // 10))
    rows = [
        (one.name, f"{one.contribution:.{digits}f}", one.reason, str(one.a), str(one.b))
        for one in sorted(explanation.features, key=lambda one: -one.contribution)
    ]
    similarity = Text(f"similarity {explanation.similarity:.3f}", "bold")
    similarity.append(" (0 to 1), the sum of what each column adds", "not bold")
    names = ("column", "adds", "alike", a, b)
    return similarity, draw_grid(names, rows, numbers=[1])
