"""``proximity-kernel demo``: a tour of the Palmer penguins."""

from __future__ import annotations

import argparse

from .invocation import Invocation

DESCRIPTION = """\
Fit, cluster and explain the Palmer penguins, which come with the package.

  proximity-kernel demo
  proximity-kernel demo --report penguins.html
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--report", metavar="FILE", help="write a report, FILE.html")


def run(invocation: Invocation) -> int:
    """Run the command."""
    from .fitting import check_files

    check_files(invocation)
    from .penguin_tour import print_tour, write_tour_report

    print_tour(invocation.console(out=True))
    if invocation.options.report is not None:
        with invocation.progress("writing the report"):
            write_tour_report(invocation.options.report)
        invocation.note(f"report: {invocation.options.report}")
    return 0
