"""The command line: parse, call, print.

Tables go to standard output, everything else to standard error. Every outcome is on the
disk before the next is awaited, so an interrupt or a kill loses what was being computed
and nothing else: the same command goes on from there.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console

from . import __version__
from .datasets import command as tables
from .experiments._catalogue import (
    check,
    find_experiment,
    list_experiments,
    narrow,
    reproduce,
)
from .experiments._progress import Progress
from .experiments._screen import show
from .experiments._trials import Request, RequestError

if TYPE_CHECKING:
    from .experiments._rendering import Rendering

PROGRAM = "proximity-kernel-paper"
ALL, PAGE, DATASETS = "all", "page", "datasets"
# Results and page are in the project's folder; without a checkout, in the current one.
CHECKOUT = Path(__file__).parents[2]
PLACE = CHECKOUT if (CHECKOUT / "pyproject.toml").is_file() else Path()
DEFAULT_RESULTS = PLACE / "results"
DEFAULT_PAGE = PLACE / "docs" / "paper.md"
NAMED = 5  # failed trials that are named; the results hold the others

DESCRIPTION = """\
Run a table or a figure of the paper, and show it.

  {names}
  all     everything, in this order, and then the page
  page    only the page that puts all results together: nothing is run

The tables of the experiments are listed by `{program} datasets`.

Results are kept, a row for each trial, in a CSV file in the folder of the results; what
is there is not run again. A run that was stopped goes on from there.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line. Options are not abbreviated."""

    def __init__(self, **given: Any) -> None:
        layout = argparse.RawDescriptionHelpFormatter
        super().__init__(allow_abbrev=False, formatter_class=layout, **given)

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
        0; 1 for a failure, 2 for bad usage or input, 130 for an interrupt.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == [DATASETS]:
        parser = _Parser(prog=f"{PROGRAM} {DATASETS}")
        tables.add_options(parser)
        options = parser.parse_args(given[1:])
        if options.action != "list" and options.name is None:
            parser.error(f"{options.action}: name a table, for example penguins")
        return _run_tables(options)
    parser = _Parser(prog=PROGRAM)
    _add_options(parser)
    return _run(parser.parse_args(given))


def _run_tables(options: argparse.Namespace) -> int:
    try:
        return tables.run(options)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        return 130
    except Exception as error:
        if options.debug:
            raise
        sys.stderr.write(f"{PROGRAM} {DATASETS}: {_tell(error)}\n")
        return 1


def _add_options(parser: argparse.ArgumentParser) -> None:
    names = textwrap.fill(", ".join(list_experiments()), 84, subsequent_indent="  ")
    parser.description = DESCRIPTION.format(names=names, program=PROGRAM)
    add = parser.add_argument
    add("--version", action="version", version=f"%(prog)s {__version__}")
    add("name", metavar="NAME", help="an experiment, all, or page")
    add("--quick", action="store_true", help="a small version: a few minutes")
    add("--jobs", type=_read_count, default=1, metavar="N", help="trials at a time")
    add(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="only this table or method; may be repeated",
    )
    add(
        "--protocol",
        action="append",
        default=[],
        metavar="NAME",
        help="paper or clean; both by default",
    )
    add("--results", type=Path, default=DEFAULT_RESULTS, metavar="DIR",
        help="default: results, in the folder of this project")  # fmt: skip
    add("--figures", type=Path, metavar="DIR", help="default: figures, in the results")
    add("--data-home", metavar="DIR", help="where the tables are, or will be")
    add(
        "--page",
        type=Path,
        metavar="FILE",
        help="default: docs/paper.md, or in the results if --results is given",
    )
    add("--retry", action="store_true", help="try again what failed")
    add(
        "--redo",
        action="append",
        default=[],
        metavar="COMMIT",
        help="run again what has this commit in the results; may be repeated",
    )
    add("--verbose", action="store_true", help="all tables: ARI and AMI too")
    add("--debug", action="store_true", help="show the traceback of an error")


def _read_count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"takes a number from 1 on, not {text!r}")
    return int(text)


@dataclass
class _Session:
    """One call of the command: what it was given, and where it speaks."""

    options: Any
    out: Console
    err: Console
    progress: Progress | None = None

    @property
    def request(self) -> Request:
        given = self.options
        return Request(
            given.quick,
            tuple(given.only),
            tuple(given.protocol),
            given.data_home,
            tuple(given.redo),
        )

    @property
    def folder(self) -> Path:
        """Of the results; those of quick runs are kept apart."""
        results: Path = self.options.results
        return results / "quick" if self.options.quick else results

    @property
    def page(self) -> Path:
        own = self.folder == DEFAULT_RESULTS
        default = DEFAULT_PAGE if own else self.folder / "paper.md"
        return Path(self.options.page or default)

    def say(self, text: str) -> None:
        self.err.print(text, markup=False, highlight=False, soft_wrap=True)


def _run(options: argparse.Namespace) -> int:
    session = _Session(options, Console(highlight=False), Console(stderr=True))
    try:
        _check(session)
        if options.name == PAGE:
            _write_page(session)
            return 0
        if options.name == ALL:
            return _run_all(session)
        return _run_one(session, options.name, session.request)
    except KeyboardInterrupt:
        session.say(_tell_stop(session))
        return 130
    except Exception as error:
        if options.debug:
            raise
        session.say(f"{PROGRAM}: {_tell(error)}")
        return 2 if isinstance(error, RequestError) else 1


def _tell(error: Exception) -> str:
    """Put an error on one line; one that nobody foresaw has its kind with it."""
    text = " ".join(str(error).split())
    if isinstance(error, RequestError | ImportError | OSError):
        return text
    return f"{type(error).__name__}: {text} (--debug shows where)"


def _tell_stop(session: _Session) -> str:
    progress = session.progress
    if progress is None:
        return "stopped"
    return (
        f"stopped after {progress.n_done:,} of {progress.n_planned:,} trials; the same "
        "command goes on from there"
    )


def _check(session: _Session) -> None:
    """Find what is wrong with the options before anything is run."""
    options, request = session.options, session.request
    for option in ("results", "figures"):
        folder = getattr(options, option)
        if folder is None:
            continue
        if folder.exists() and not folder.is_dir():
            raise RequestError(f"--{option} {folder}: this is a file; name a folder.")
        above = next((one for one in folder.parents if one.exists()), None)
        if above is not None and not above.is_dir():
            raise RequestError(
                f"--{option} {folder}: {above} is a file; name a folder elsewhere."
            )
    if options.page is not None and options.page.is_dir():
        raise RequestError(f"--page {options.page}: this is a folder; name a file.")
    home = options.data_home
    if home is not None and Path(home).exists() and not Path(home).is_dir():
        raise RequestError(f"--data-home {home}: this is a file; name a folder.")
    if options.name not in (ALL, PAGE):
        check(find_experiment(options.name), request)
        return
    experiments = [find_experiment(name) for name in list_experiments()]
    for what, asked, known in (
        ("--only", request.only, {n for e in experiments for n in e.choices}),
        (
            "--protocol",
            request.protocols,
            {n for e in experiments for n in e.protocols},
        ),
    ):
        for name in asked:
            if name not in known:
                raise RequestError(f"{what} {name!r}: no experiment has such a thing.")


def _run_one(session: _Session, name: str, request: Request) -> int:
    options = session.options
    session.out.print(f"\n{find_experiment(name).title}", style="bold", markup=False)
    with Progress(session.err, name) as progress:
        session.progress = progress
        rendering = reproduce(
            name,
            request,
            results=options.results,
            n_jobs=options.jobs,
            retry=options.retry,
            report=progress.report,
        )
    show(session.out, rendering, details=options.verbose)
    _save_figures(session, rendering)
    if rendering.failures:
        _tell_failures(session, rendering.failures)
        return 1 if len(rendering.failures) == progress.n_planned else 0
    return 0


def _tell_failures(session: _Session, failures: tuple[str, ...]) -> None:
    session.say(f"{len(failures)} trials failed (--retry tries them again):")
    for line in failures[:NAMED]:
        session.say(f"  {line}")
    if len(failures) > NAMED:
        session.say(f"  and {len(failures) - NAMED} more, in {session.folder}")


def _save_figures(session: _Session, rendering: Rendering) -> None:
    if not rendering.figures:
        return
    from .plots import save_figure

    folder = session.options.figures or session.folder / "figures"
    for stem, draw in rendering.figures.items():
        for path in save_figure(draw(), folder / stem):
            session.say(f"figure: {path}")


def _run_all(session: _Session) -> int:
    broken = []
    for name in list_experiments():
        request = narrow(find_experiment(name), session.request)
        if request is None:
            session.say(f"{name}: left out, it has none of the names after --only")
            continue
        try:
            failed = _run_one(session, name, request)
        except Exception as error:
            if session.options.debug:
                raise
            failed = 1
            session.say(f"{name}: {_tell(error)}")
        if failed:
            broken.append(name)
    _write_page(session)
    if broken:
        session.say(f"failed: {', '.join(broken)}; see above")
    return int(bool(broken))


def _write_page(session: _Session) -> None:
    from .experiments.page import write_page

    results = session.options.results
    if not results.is_dir():
        raise RequestError(f"--results {results}: there is no such folder.")
    write_page(results, session.page, quick=session.options.quick)
    session.say(f"page: {session.page}")
