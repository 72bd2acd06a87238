"""How far a run is, on standard error: a bar on a terminal, a few lines in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Column

if TYPE_CHECKING:
    from ._trials import Trial

STEP = 10  # per cent between two lines where there is no terminal


class Progress:
    """Hears what a run reports, and shows it.

    Parameters
    ----------
    console : rich.console.Console
        Of standard error.
    name : str
        What is run.

    Attributes
    ----------
    n_done, n_planned : int
    failed : list of Trial
        Those that failed in this run.

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> from proximity_kernel_paper.experiments._trials import Trial
    >>> told = io.StringIO()
    >>> with Progress(Console(file=told), "nmi") as progress:
    ...     progress.report("plan", None, 0, 2)
    ...     progress.report("end", Trial("mammo", "Mean", 0), 1, 2)
    ...     progress.report("failed", Trial("mammo", "EM", 0), 2, 2)
    >>> print(told.getvalue())
    nmi: 0 of 2 trials done
    nmi: 1 of 2 trials done
    nmi: 2 of 2 trials done, 1 failed
    """

    def __init__(self, console: Console, name: str) -> None:
        self.name = name
        self.n_done = self.n_planned = 0
        self.failed: list[Trial] = []
        self._console = console
        self._running: list[Trial] = []
        self._bar: Any = None

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            self._bar = _make_bar(self._console)
            self._task = self._bar.add_task(self.name, total=None, now="starting")
            self._bar.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def report(
        self, event: str, trial: Trial | None, n_done: int, n_planned: int
    ) -> None:
        """Take note of what happened; see `_run.Report`."""
        before = self._share
        self.n_done, self.n_planned = n_done, n_planned
        if event == "start" and trial is not None:
            self._running.append(trial)
        elif trial in self._running:
            self._running.remove(trial)
        if event == "failed" and trial is not None:
            self.failed.append(trial)
        if self._bar is not None:
            self._show_bar()
        elif event == "plan":
            if n_done < n_planned:
                self._show_line()
        elif self._share // STEP > before // STEP:
            self._show_line()

    @property
    def _share(self) -> int:
        """Per cent."""
        return 100 * self.n_done // max(self.n_planned, 1)

    def _show_bar(self) -> None:
        now = "; ".join(f"{trial} seed={trial.seed}" for trial in self._running)
        failed = f"{len(self.failed)} failed " if self.failed else ""
        self._bar.update(
            self._task,
            total=self.n_planned,
            completed=self.n_done,
            now=failed + now,
        )

    def _show_line(self) -> None:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        self._console.print(
            f"{self.name}: {self.n_done:,} of {self.n_planned:,} trials done{failed}",
            highlight=False,
            soft_wrap=True,
        )


def _make_bar(console: Console) -> Any:
    now = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[now]}", table_column=now, markup=False),
        console=console,
        expand=True,
        speed_estimate_period=600.0,  # trials differ in length
    )
