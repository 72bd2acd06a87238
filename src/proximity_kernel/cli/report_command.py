"""``proximity-kernel report``: a page about a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import arguments
from .program import Invocation

DESCRIPTION = """\
Write a page about a table: a map of its rows, surprising values, missing
cells, columns, and which columns tell about which. It is one HTML file
that loads nothing from the network. (cluster --report writes the same
page with clusters.)

  proximity-kernel report patients.csv
  proximity-kernel report patients.csv -o page.html --drop remark
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_input(parser)
    parser.add_argument(
        "-o", "--output", "--report", dest="report", metavar="FILE",
        help="the page, ending in .html; by default named like the table, in the "
        "current folder; an existing file is replaced",
    )  # fmt: skip
    arguments.add_kernel(parser)


def run(invocation: Invocation) -> None:
    """Run the command."""
    from ..cli import fitting
    from .outputs import STANDARD_STREAM, check_files, make_report

    options = invocation.options
    if options.report is None:
        is_stream = options.file == STANDARD_STREAM
        name = "report" if is_stream else Path(options.file).name.partition(".")[0]
        options.report = f"{name or 'report'}.html"
    options.save_model = None
    check_files(invocation)
    table = fitting.open_table(invocation, options.file)
    fitting.check_weights(invocation, table.name, table.schema)
    kernel = fitting.make_kernel(options)
    coded = fitting.fit(invocation, kernel, table)
    make_report(invocation, table, coded, kernel)
