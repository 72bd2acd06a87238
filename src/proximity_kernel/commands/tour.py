"""``proximity-kernel demo``: the tour on the penguins."""

from __future__ import annotations

import argparse

from ._call import Call

DESCRIPTION = """\
Fit, cluster and explain the Palmer penguins, which come with the package.

  proximity-kernel demo
  proximity-kernel demo --report penguins.html
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("--report", metavar="FILE", help="a page to look at, FILE.html")


def run(call: Call) -> int:
    """Run the command."""
    from ._fitting import check_files

    check_files(call)
    from ..demo import show_demo, write_demo_report

    show_demo(call.console(out=True))
    if call.options.report is not None:
        with call.step("writing the report"):
            write_demo_report(call.options.report)
        call.say(f"report: {call.options.report}")
    return 0
