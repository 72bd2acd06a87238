"""The command line: parse, call, print.

Nothing is imported here that takes long: the help is there at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from . import __version__
from ._extras import require

_DESCRIPTION = """\
Which rows of a table with holes are alike?

  proximity-kernel demo               fit, cluster and explain the penguins
  proximity-kernel reproduce nmi      the paper's main table, next to ours
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose options may be imported late, and whose errors are one line.

    Attributes
    ----------
    fill : callable or None
        Adds the options; called when the command is.
    """

    fill: Callable[[argparse.ArgumentParser], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.fill is not None:
            fill, self.fill = self.fill, None
            fill(self)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process by default.

    Returns
    -------
    int
        Exit status: 0 for success, 1 for failure, 2 for bad usage or input, 130 for an
        interrupt.
    """
    parser = _make_parser()
    try:
        options = parser.parse_args(arguments)
        if options.command is None:
            parser.print_help(sys.stderr)
            return 2
        require("rich", extra="cli")
        require("pandas", extra="cli")
        return int(options.run(options))
    except ImportError as error:
        print(f"proximity-kernel: {error}", file=sys.stderr)
        return 1


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(
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
    again = commands.add_parser("reproduce", help="the paper's tables and figures")
    again.fill = _add_reproduce_options
    again.set_defaults(run=_run_reproduce)
    return parser


def _run_demo(options: argparse.Namespace) -> int:  # noqa: ARG001 (it has none)
    from rich.console import Console

    from .demo import show_demo

    console: Any = Console(highlight=False)
    show_demo(console)
    return 0


def _add_reproduce_options(parser: argparse.ArgumentParser) -> None:
    from .experiments.command import add_options

    add_options(parser)


def _run_reproduce(options: argparse.Namespace) -> int:
    from .experiments.command import run

    return run(options)
