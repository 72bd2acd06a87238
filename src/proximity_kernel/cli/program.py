"""The program: parse arguments, check files, run a command, print notes and errors.

Nothing that takes long is imported here, so that the help and errors about options and
files appear at once. A command's module is imported when it runs.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path
from traceback import format_exc, walk_tb
from typing import Any, NoReturn

from .. import __version__
from .._shared.extras import require
from .._shared.whole_files import (
    check_replaceable,
    is_device,
    name_beside,
    private_like,
)
from .._shared.wording import counted, find_similar, show_controls, suggest
from ..io import InputError
from ..io.files import open_file
from ..io.schema import Doubt
from ..io.write import FORMAT_OF_ENDING
from .arguments import COMMANDS, INPUTS, add_general, name_option, name_options

_PROGRAM = "proximity-kernel"
_DESCRIPTION = """\
Find similar rows in a table with missing cells.

  proximity-kernel look patients.csv
  proximity-kernel cluster patients.csv -o clusters.csv
  proximity-kernel neighbors patients.csv --of P0012
  proximity-kernel outliers patients.csv --top 20
  proximity-kernel explain patients.csv P0012 P0077
  proximity-kernel report patients.csv -o page.html
  proximity-kernel demo

A table is a CSV, TSV, Parquet, Arrow or Excel file. Its format is
detected, and printed. Each command has its own --help.
"""
# Names that other programs give to the option -k.
_SHORT = re.compile(r"(n[_-]?)?(clusters?|neighbou?rs?)|k|num[_-]?clusters?")
_LEAST_WIDTH = 40  # characters in a line; with COLUMNS=0 nothing would be printed
_BROKEN_PIPE = 141  # exit status that shells report for a broken pipe
STANDARD_STREAM = "-"
"""The file name that means standard input or, as an output, standard output."""
_PAGES = {".html": "html", ".htm": "html"}
_SPARSE = {".npz": "npz"}
_TABLES = ("file", "queries", "new")  # options that name tables to read
# Option that names a file to write -> format of each allowed ending; None allows all.
_OUTPUTS = {
    "output": FORMAT_OF_ENDING,
    "report": _PAGES,
    "profiles": FORMAT_OF_ENDING,
    "uncertainty": FORMAT_OF_ENDING,
    "save_model": None,
}


@dataclass
class Invocation:
    """One call of a command: its options, output formats and notes."""

    command: str
    options: Any
    # Name of an option that names an output -> the format to write.
    formats: dict[str, str] = field(default_factory=dict)
    # All notes so far, whether or not they were printed.
    notes: list[str] = field(default_factory=list)
    # What may be wrong with the table, and so with the results.
    doubts: list[str] = field(default_factory=list)

    @property
    def quiet(self) -> bool:
        """Whether only errors are printed."""
        return bool(self.options.quiet)

    def note(self, text: str) -> None:
        """Print a note on standard error; mark a doubt, and recall it at the end."""
        if isinstance(text, Doubt):
            self.doubts.append(text)
            text = f"Check: {text}"
        text = name_options(" ".join(text.split()))
        self.notes.append(text)
        if not self.quiet:
            self.console().print(text, markup=False, highlight=False, soft_wrap=True)

    def console(self, *, out: bool = False) -> Any:
        """Create a rich console for standard error or, if `out`, for standard output.

        Control characters in tables and arguments are shown as escapes.
        """
        from rich.console import Console
        from rich.segment import Segment

        class VisibleConsole(Console):
            """Escape control characters before rich adds its own codes for colors."""

            def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
                for text, style, control in super().render(renderable, options):
                    shown = text if control else show_controls(text)
                    yield Segment(shown, style, control)

            def on_broken_pipe(self) -> NoReturn:
                """Leave the exit status to `main`; rich itself would exit with 1."""
                raise BrokenPipeError

        console = VisibleConsole(stderr=not out, highlight=False)
        console.width = max(console.width, _LEAST_WIDTH)
        return console

    @contextmanager
    def progress(
        self, task: str, total: int | None = None
    ) -> Iterator[Callable[..., Any]]:
        """Show a progress bar if standard error is a terminal, and not with --quiet.

        Yields a function that takes the amount of work done since its last call.
        """
        console = self.console()
        if self.quiet or not console.is_terminal:
            yield lambda amount=1: amount
            return
        from rich.progress import Progress

        bar = Progress(console=console, transient=True)
        with bar:
            number = bar.add_task(task, total=total)
            yield lambda amount=1: bar.advance(number, amount)

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Print the library's warnings as notes; hide warnings of other packages."""

        def note(message: Any, *_: Any, **__: Any) -> None:
            self.note(f"note: {message}")

        logger = logging.getLogger("proximity_kernel")
        level = logger.level
        with warnings.catch_warnings():
            if self.quiet:
                logger.setLevel(logging.ERROR)
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = note  # restored by the context manager
            try:
                yield
            finally:
                logger.setLevel(level)


def _print_error(text: str) -> None:
    """Print an error on standard error, with control characters as escapes."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    shown = show_controls(text).encode(encoding, "backslashreplace")
    sys.stderr.write(shown.decode(encoding) + "\n")


class _Parser(argparse.ArgumentParser):
    """A parser that reports errors in one line.

    Options cannot be abbreviated: a new option could make a short form ambiguous.
    """

    def __init__(self, prog: str, text: str) -> None:
        raw = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, None, text, formatter_class=raw, allow_abbrev=False)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; an unknown option is an error, with a suggestion."""
        known, rest = self.parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}{self._suggest(rest)}")
        return known

    def _suggest(self, rest: list[str]) -> str:
        """Suggest an option that is similar to the first unknown option, if any is."""
        asked = [one[2:].partition("=")[0] for one in rest if one.startswith("--")]
        if asked and _SHORT.fullmatch(asked[0]) and "-k" in self._option_string_actions:
            at = rest.index(next(one for one in rest if one.startswith("--")))
            value = rest[at].partition("=")[2] or next(iter(rest[at + 1 :]), "")
            value = value if value.isdecimal() or value == "auto" else "N"
            return f", did you mean '-k {value}'?"
        known = [one[2:] for one in self._option_string_actions if one[:2] == "--"]
        found = find_similar(asked[0], known) if asked else None
        return f", did you mean '--{found}'?" if found is not None else ""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2 and a message in one line."""
        line = " ".join(message.split())
        end = "" if line.endswith("?") else ";"
        _print_error(f"{self.prog}: {line}{end} see {self.prog} --help")
        self.exit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command of the command line, and return its exit status.

    0 for success, 1 for failure, 2 for bad usage or input, 130 for an interrupt, 141 if
    the program that reads the output has ended. The arguments are by default those of
    the process, without the program's name.
    """
    _allow_any_encoding()
    given = sys.argv[1:] if arguments is None else list(arguments)
    streams = [one for one in (sys.stdout, sys.stderr) if one is not None]
    try:
        try:
            return _parse_and_run(given)
        finally:  # also when argparse exits after the help
            for stream in streams:
                stream.flush()
    except BrokenPipeError:
        # Otherwise Python reports the error again when it flushes the streams at exit.
        for stream in streams:
            try:
                stream.flush()
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        _print_error(f"{_PROGRAM}: stopped")
        return 130


def _parse_and_run(given: list[str]) -> int:
    """Parse the arguments of a command, run it, and return its exit status."""
    if not given or given[0] not in COMMANDS:
        return _refuse(given)
    add_options = COMMANDS[given[0]]
    help_text = cleandoc(add_options.__doc__ or "")
    parser = _Parser(f"{_PROGRAM} {given[0]}", help_text)
    add_options(parser)
    names = [str(one.metavar) for one in parser._get_positional_actions()]  # noqa: SLF001
    parser.usage = " ".join(["%(prog)s", *names, "[options]"])
    add_general(parser)
    return _run(Invocation(given[0], parser.parse_args(given[1:])))


def _refuse(given: list[str]) -> int:
    """Print the help or version if no command is given; report an unknown command."""
    first = {
        name: (add.__doc__ or "").partition(".\n")[0] for name, add in COMMANDS.items()
    }
    listed = "\n".join(f"  {name:<12}{text}" for name, text in first.items())
    parser = _Parser(_PROGRAM, f"{_DESCRIPTION}\ncommands:\n{listed}")
    parser.usage = "%(prog)s COMMAND FILE ... [options]"
    version = f"%(prog)s {__version__}"
    parser.add_argument("--version", action="version", version=version)
    name = next((one for one in given if not one.startswith("-")), None)
    if name is not None and name not in COMMANDS:
        hint = suggest(name, COMMANDS) or f"; the commands are {', '.join(COMMANDS)}"
        parser.error(f"{name}: there is no such command{hint}")
    parser.parse_args([one for one in given if one != name])
    parser.print_help(sys.stderr)
    return 2


def _run(invocation: Invocation) -> int:
    """Check the files, run the command, print errors, and return the exit status."""
    name, options = invocation.command, invocation.options
    try:
        for package in ("rich", "pandas"):
            if find_spec(package) is None:
                require(package, extra="cli")
        if sys.stdout is None:
            raise InputError(
                "standard output is closed; leave it open. To write to a file, use -o."
            )
        invocation.formats = check_files(name, options)
        inputs = [vars(options).get(name) for name in INPUTS]
        with invocation.warnings_as_notes(), private_like(inputs):
            import_module(f".{name}_command", __package__).run(invocation)
            sys.stdout.flush()
            if invocation.doubts:
                n_doubts = counted(len(invocation.doubts), "line")
                invocation.note(f"{n_doubts} above to check, marked 'Check:'.")
            return 0
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  (any error is printed)
        status, message = _describe_error(error, options)
        line = f"{_PROGRAM} {name}: {' '.join(name_options(message).split())}"
        _print_error(format_exc().rstrip() if options.debug else line)
        return status


def _describe_error(error: Exception, options: argparse.Namespace) -> tuple[int, str]:
    """Return the exit status of an error, and its message."""
    # `read_table` raises FileNotFoundError with a message alone.
    no_table = isinstance(error, FileNotFoundError) and error.errno is None
    if isinstance(error, InputError) or no_table:
        return 2, str(error)
    if isinstance(error, ImportError):
        return 1, str(error)
    if isinstance(error, MemoryError):
        return 1, "out of memory" + (f" ({error})" if str(error) else "") + "."
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return 1, f"{where}{error.strerror or error}"
    # The library raises ValueError or TypeError for an invalid table or option.
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    module = frames[-1].f_globals.get("__name__", "") if frames else ""
    invalid = isinstance(error, ValueError | TypeError)
    if invalid and hasattr(options, "file") and module.startswith("proximity_kernel."):
        return 2, f"{options.file}: {error}"
    return 1, f"{type(error).__name__}: {error} (--debug shows where)"


def _allow_any_encoding() -> None:
    """Let standard output and error print ? for characters that they cannot encode."""
    for stream in (sys.stdout, sys.stderr):
        encoding = getattr(stream, "encoding", None) or "utf-8"
        if not encoding.lower().startswith("utf") and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


# ------------------------------------------------------------------------ the files


def check_files(command: str, options: argparse.Namespace) -> dict[str, str]:
    """Raise an error unless all inputs exist and all outputs can be written.

    Returns the format to write for each output, by the name of its option, such as
    "report". The page of the command `report` is named after the table if no name was
    given.
    """
    given = vars(options)
    for path in (given[name] for name in _TABLES if given.get(name)):
        # Path.exists would fail for an invalid name; open_file raises with a reason.
        if path != STANDARD_STREAM and not os.path.exists(path):  # noqa: PTH110
            open_file(path)
    if command == "report" and options.report is None:
        name = Path(options.file.removeprefix(STANDARD_STREAM)).name.partition(".")[0]
        options.report = f"{name or 'report'}.html"
    named = {name_option(name): given.get(name) for name in _OUTPUTS}
    check_outputs(named, [given.get(name) for name in INPUTS])
    if given.get("report") is not None:
        require("jinja2", extra="report")
    formats = {}
    for name, known in _OUTPUTS.items():
        if name in given and known is not None:
            asked = given.get("format") if name == "output" else None
            known = known | _SPARSE if command == "represent" else known  # noqa: PLW2901
            formats[name] = find_format(given[name], asked, known, name_option(name))
    return formats


def find_format(
    path: str | None,
    asked: str | None,
    known: Mapping[str, str] = FORMAT_OF_ENDING,
    option: str = "--output",
) -> str:
    """Find the format of an output file; raise InputError for an unknown ending.

    None is standard output; `asked` is the value of --format, and `option` the option
    that names the output.

    >>> find_format("a.parquet", None), find_format(None, None)
    ('parquet', 'csv')
    """
    if asked is not None:
        return asked
    is_stream = path == STANDARD_STREAM and known is not _PAGES
    if path is None or is_stream or is_device(Path(path)):
        return "csv"
    ending = Path(path).suffix.lower()
    if ending not in known:
        found = f"ends in {ending}" if ending else "has no ending"
        also = ", or give --format" if option == "--output" else ""
        raise InputError(
            f"{option} {path}: it {found}; allowed: {', '.join(known)}{also}."
        )
    return known[ending]


def check_outputs(
    outputs: Mapping[str, str | None], inputs: Iterable[str | None]
) -> None:
    """Raise InputError if an output cannot be written, or if two files are the same.

    `outputs` has the file of each option; an output may not replace an input.
    """
    taken = {_identify(one): "" for one in inputs if one and one != STANDARD_STREAM}
    for option, name in outputs.items():
        if name is None or name == STANDARD_STREAM:
            continue
        _check_place(option, path := Path(name))
        if is_device(path):
            continue
        file = _identify(name)
        if file in taken:
            other = taken[file]
            clash = f"{other} writes there too" if other else "this is an input file"
            raise InputError(f"{option} {name}: {clash}; name another file.")
        taken[file] = option


def _identify(name: str) -> tuple[int, int] | Path:
    """Identify a file, whatever its name: device and inode, or path if it is new."""
    with suppress(OSError, ValueError):
        found = Path(name).stat()
        return found.st_dev, found.st_ino
    return Path(name).resolve()


def _check_place(option: str, path: Path) -> None:
    """Raise InputError if a path is a folder, or no file can be written there."""
    try:
        if path.is_dir():
            raise InputError(f"{option} {path}: this is a folder; name a file in it.")
        check_replaceable(path)
        if is_device(path):
            return
        if not path.parent.exists():
            raise InputError(
                f"{option} {path}: there is no folder {path.parent}; create it first."
            )
        part = name_beside(path)
        part.touch(exist_ok=False)
        part.unlink()
    except OSError as error:
        raise InputError(
            f"{option} {path}: it cannot be written ({error.strerror}); name another "
            "file."
        ) from None
