"""The command line: parse, call, print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from . import __version__
from ._extras import require

_DESCRIPTION = """\
Which rows of a table with holes are alike?

  proximity-kernel demo     fit, cluster and explain the penguins that come along
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process by default.

    Returns
    -------
    int
        Exit status: 0 for success, 1 for failure, 2 for bad usage.
    """
    try:
        require("rich", extra="cli")
        require("pandas", extra="cli")
    except ImportError as error:
        print(f"proximity-kernel: {error}", file=sys.stderr)
        return 1
    parser = _make_parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    return int(options.run())


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="proximity-kernel",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"%(prog)s {__version__}"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser("demo", help="a tour on the Palmer penguins")
    demo.set_defaults(run=_run_demo)
    return parser


def _run_demo() -> int:
    from rich.console import Console

    from .demo import show_demo

    console: Any = Console(highlight=False)
    show_demo(console)
    return 0
