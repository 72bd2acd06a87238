"""One call of a command: its options, and its notes and progress on standard error."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .arguments import name_options


@dataclass
class Invocation:
    """One call of a command.

    Attributes
    ----------
    command : str
        Its name.
    options : argparse.Namespace
    notes : list of str
        All notes so far, whether or not they were printed.
    """

    command: str
    options: Any
    notes: list[str] = field(default_factory=list)

    @property
    def quiet(self) -> bool:
        """Whether only errors are printed."""
        return bool(getattr(self.options, "quiet", False))

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        text = name_options(" ".join(text.split()))
        self.notes.append(text)
        if not self.quiet:
            self.console().print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, *things: Any) -> None:
        """Print tables and texts of rich on standard error."""
        if not self.quiet:
            self.console().print(*things)

    def console(self, *, out: bool = False) -> Any:
        """Create rich's console for standard error, or for standard output."""
        from rich.console import Console

        return Console(stderr=not out, highlight=False)

    @contextmanager
    def progress(
        self, task: str, total: int | None = None
    ) -> Iterator[Callable[..., Any]]:
        """Show a progress bar, if standard error is a terminal.

        Parameters
        ----------
        task : str
            What is being done.
        total : int, optional
            Amount of work; None if unknown.

        Yields
        ------
        callable
            Takes the amount of work done since the last call.
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
        """Print the library's warnings as notes, and hide those of other packages."""

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


def print_error(text: str) -> None:
    """Print one line on standard error, in any encoding of the terminal."""
    line = " ".join(text.split())
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    shown = line.encode(encoding, "backslashreplace").decode(encoding)
    sys.stderr.write(f"{shown}\n")
