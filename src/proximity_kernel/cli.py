"""The command line: parse, call, tell errors in one line.

Nothing is imported here that takes long: the help is there at once. Each command is a
module of `commands`, imported when it is called.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

from . import __version__
from ._extras import require
from .commands import Call, InputError, add_general, find_near, near, write_error

_PROGRAM = "proximity-kernel"
_DESCRIPTION = """\
Which rows of a table with holes are alike?

  proximity-kernel cluster patients.csv -o clusters.csv
  proximity-kernel neighbors patients.csv --of P0012
  proximity-kernel outliers patients.csv --top 20
  proximity-kernel explain patients.csv P0012 P0077
  proximity-kernel demo

A table is CSV, TSV, Parquet, Arrow or Excel. How it is read is
guessed, and said. Each command has its own --help.
"""
# Name -> the module of `commands`, and a line of help.
_COMMANDS = {
    "cluster": ("cluster", "groups of rows that are alike"),
    "neighbors": ("neighbors", "the rows most alike to each row"),
    "outliers": ("outliers", "the strangest rows, and why they are"),
    "similarity": ("similarity", "how alike rows are, pair by pair"),
    "represent": ("represent", "rows as vectors, for other programs"),
    "explain": ("explain", "why two rows are alike, column by column"),
    "impute": ("impute", "the table with its holes filled"),
    "demo": ("tour", "a tour on the Palmer penguins"),
}
_BROKEN_PIPE = 141  # as the shell reports it of other programs


class _Layout(argparse.RawDescriptionHelpFormatter):
    """Help with room for the longest command."""

    def __init__(self, prog: str, **given: Any) -> None:
        super().__init__(prog, **({"max_help_position": 22} | given))
        self._action_max_length = (
            16  # without it the longer names get lines of their own
        )


class _Parser(argparse.ArgumentParser):
    """A parser whose options may be imported late, and whose errors are one line.

    Options are not abbreviated: what is short for one today may be so for two tomorrow.

    Attributes
    ----------
    fill : callable or None
        Adds the options; called when the command is.
    """

    fill: Callable[[argparse.ArgumentParser], None] | None = None

    def __init__(self, **given: Any) -> None:
        super().__init__(**({"allow_abbrev": False} | given))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.fill is not None:
            fill, self.fill = self.fill, None
            fill(self)
        known, rest = super().parse_known_args(args, namespace)
        if rest:  # told here, by the command whose help there is to see
            self.error(f"unrecognized arguments: {' '.join(rest)}{self._suggest(rest)}")
        return known, rest

    def _suggest(self, rest: list[str]) -> str:
        """Suggest the option that was meant by the first that is not one."""
        asked = [one[2:].partition("=")[0] for one in rest if one.startswith("--")]
        known = [one[2:] for one in self._option_string_actions if one[:2] == "--"]
        found = find_near(asked[0], known) if asked else None
        return f", did you mean '--{found}'?" if found is not None else ""

    def error(self, message: str) -> NoReturn:
        line = " ".join(message.split())
        end = "" if line.endswith("?") else ";"
        self.exit(2, f"{self.prog}: {line}{end} see {self.prog} --help\n")


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
        interrupt, 141 if nobody reads the output.
    """
    _speak_to_any_terminal()
    parser = _make_parser()
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        _check_command(parser, given)
        options = parser.parse_args(given)
        if options.command is None:
            parser.print_help(sys.stderr)
            return 2
        return _run(options)
    except BrokenPipeError:
        # Python would complain once more when it empties the stream at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        write_error(f"{_PROGRAM}: stopped")
        return 130


def _check_command(parser: argparse.ArgumentParser, given: list[str]) -> None:
    """Refuse a command that there is not, and suggest the one that was meant."""
    name = next((one for one in given if not one.startswith("-")), None)
    if name is None or name in _COMMANDS:
        return
    hint = near(name, _COMMANDS) or f"; there are {', '.join(_COMMANDS)}"
    parser.error(f"{name}: there is no such command{hint}")


def _run(options: argparse.Namespace) -> int:
    """Run a command, and tell what it could not do."""
    call = Call(options.command, options)
    name = f"{_PROGRAM} {options.command}"
    try:
        for package in ("rich", "pandas"):
            if find_spec(package) is None:
                require(package, extra="cli")
        if sys.stdout is None:
            raise InputError("standard output is closed; leave it open, and use -o.")
        with call.hearing_warnings():
            status = _load(options.command).run(call)
            sys.stdout.flush()
            return int(status)
    except BrokenPipeError:
        raise
    except Exception as error:
        if options.debug:
            raise
        status, said = _judge(error, options)
        write_error(f"{name}: {said}")
        return status


def _judge(error: Exception, options: argparse.Namespace) -> tuple[int, str]:
    """Tell the exit status of an error, and what to say."""
    if isinstance(error, InputError):
        return 2, str(error)
    if isinstance(error, ImportError):
        return 1, str(error)
    if isinstance(error, MemoryError):
        return 1, f"the memory does not suffice ({str(error) or 'no more is said'})."
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return 1, f"{where}{error.strerror or error}"
    # What the library refuses is the table or an option: it names which.
    refused = isinstance(error, ValueError | TypeError)
    if refused and hasattr(options, "file") and _from_the_library(error):
        return 2, f"{options.file}: {error}"
    return 1, f"{type(error).__name__}: {error} (--debug shows where)"


def _from_the_library(error: Exception) -> bool:
    """Whether our own code raised it, not a package below."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "") if trace else ""
    return module.startswith("proximity_kernel.")


def _speak_to_any_terminal() -> None:
    """Write a sign that the terminal does not know as another, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        encoding = getattr(stream, "encoding", None) or "utf-8"
        if not encoding.lower().startswith("utf") and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=_PROGRAM,
        description=_DESCRIPTION,
        formatter_class=_Layout,
        usage="%(prog)s COMMAND FILE ... [options]",
    )
    parser.add_argument(
        "--version", action="version", version=f"%(prog)s {__version__}"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (_, text) in _COMMANDS.items():
        command = commands.add_parser(
            name, prog=f"{_PROGRAM} {name}", help=text, formatter_class=_Layout
        )
        command.fill = _filler(name)
    return parser


def _filler(name: str) -> Callable[[argparse.ArgumentParser], None]:
    def fill(parser: argparse.ArgumentParser) -> None:
        module = _load(name)
        parser.description = module.DESCRIPTION
        module.add_options(parser)
        parser.formatter_class = _Layout
        places = [a.metavar for a in parser._get_positional_actions()]  # noqa: SLF001
        parser.usage = " ".join(["%(prog)s", *map(str, places), "[options]"])
        add_general(parser)

    return fill


def _load(name: str) -> Any:
    return import_module(f".commands.{_COMMANDS[name][0]}", __package__)
