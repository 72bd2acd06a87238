"""``proximity-kernel demo``: a tour of the Palmer penguins."""

from __future__ import annotations

import argparse

from .program import Invocation

DESCRIPTION = """\
Fit, cluster and explain the Palmer penguins, which come with the package.

  proximity-kernel demo
  proximity-kernel demo --report penguins.html
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--report", metavar="FILE", help="write a report, FILE.html")


def run(invocation: Invocation) -> None:
    """Run the command."""
    from .fitting import check_files

    check_files(invocation)
    from .penguin_tour import print_tour

    report = invocation.options.report
    print_tour(invocation.console(out=True), report)
    if report is not None:
        invocation.note(f"report: {report}")
