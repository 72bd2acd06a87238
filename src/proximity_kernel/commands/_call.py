"""Where a command speaks: notes and progress on standard error, errors in one line."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


class InputError(Exception):
    """Bad usage or bad input, told to the user in one line; exit status 2."""


@dataclass
class Call:
    """One call of a command.

    Attributes
    ----------
    name : str
        Of the command.
    options : argparse.Namespace
    said : list of str
        The notes so far, also when nobody hears them.
    """

    name: str
    options: Any
    said: list[str] = field(default_factory=list)

    @property
    def quiet(self) -> bool:
        """Whether only errors are told."""
        return bool(getattr(self.options, "quiet", False))

    def say(self, text: str) -> None:
        """Tell something on standard error, and remember it."""
        text = " ".join(text.split())
        self.said.append(text)
        if not self.quiet:
            self.console().print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, *things: Any) -> None:
        """Print what rich can print on standard error."""
        if not self.quiet:
            self.console().print(*things)

    def console(self, *, out: bool = False) -> Any:
        """Make rich's console, of standard error or of standard output."""
        from rich.console import Console

        return Console(stderr=not out, highlight=False)

    @contextmanager
    def step(self, what: str, total: int | None = None) -> Iterator[Callable[..., Any]]:
        """Show a bar while something is done, on a terminal only.

        Parameters
        ----------
        what : str
            What is done.
        total : int, optional
            Of what; None moves to and fro.

        Yields
        ------
        callable
            Takes by how much the work advanced.
        """
        console = self.console()
        if self.quiet or not console.is_terminal:
            yield lambda amount=1: amount
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        counts = [] if total is None else [MofNCompleteColumn(separator=" of ")]

        bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            *counts,
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        with bar:
            task = bar.add_task(what, total=total)
            yield lambda amount=1: bar.advance(task, amount)

    @contextmanager
    def hearing_warnings(self) -> Iterator[None]:
        """Make one-line notes of the library's warnings; others' are not for users."""

        def note(message: Any, *_: Any, **__: Any) -> None:
            self.say(f"note: {message}")

        logger = logging.getLogger("proximity_kernel")
        level = logger.level
        with warnings.catch_warnings():
            if self.quiet:
                logger.setLevel(logging.ERROR)
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = note  # put back by the context
            try:
                yield
            finally:
                logger.setLevel(level)


def write_error(text: str) -> None:
    """Print one line on standard error, whatever the terminal can show."""
    line = " ".join(text.split())
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    shown = line.encode(encoding, "backslashreplace").decode(encoding)
    sys.stderr.write(f"{shown}\n")


def listed(names: Any, most: int = 5) -> str:
    """Write names in a row, the first few of many.

    >>> listed(["a", "b"]), listed(range(8), most=2)
    ("'a' and 'b'", '0, 1 and 6 more')
    """
    shown = [repr(name) for name in list(names)[:most]]
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def counted(n: int, what: str) -> str:
    """Write how many there are.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def near(name: str, known: Any) -> str:
    """Suggest the name that was meant, if one is near.

    >>> near("agee", ["age", "sex"]), near("x", ["age"])
    (", did you mean 'age'?", '')
    """
    found = find_near(name, known)
    return f", did you mean {found!r}?" if found is not None else ""


def find_near(name: str, known: Any) -> str | None:
    """Find the name that was meant, whatever its case.

    >>> find_near("AGE ", ["age", "sex"])
    'age'
    """
    from difflib import get_close_matches

    folded = {str(one).casefold().strip(): str(one) for one in known}
    found = get_close_matches(name.casefold().strip(), list(folded), n=1)
    return folded[found[0]] if found else None
