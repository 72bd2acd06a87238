"""What the sections share: the data, the clock, the tables and the machine."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import proximity_kernel

Cell: TypeAlias = str | int | float | None
Record: TypeAlias = dict[str, Cell]

_GROUPS = 5
_ROUNDS = 3
_LONG = 5.0  # seconds; a call that takes longer is timed one time less


@dataclass
class Table:
    """Measurements of one kind: a record to the line."""

    title: str
    records: list[Record] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Aligned plain text: words to the left, numbers to the right."""
        lines = [self.title]
        if self.records:
            columns = [self._column(name) for name in self.records[0]]
            rows = zip(*columns, strict=True)
            lines += ["  " + "  ".join(row).rstrip() for row in rows]
        return "\n".join(lines + [f"  {note}" for note in self.notes])

    def _column(self, name: str) -> list[str]:
        values = [record[name] for record in self.records]
        cells = [name.replace("_", " "), *map(_format, values)]
        width = max(map(len, cells))
        if any(isinstance(value, str) for value in values):
            return [cell.ljust(width) for cell in cells]
        return [cell.rjust(width) for cell in cells]


def _format(value: Cell) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if not 0.001 <= abs(value) < 1000:
        return f"{value:,.3g}" if abs(value) < 1 else f"{value:,.0f}"
    return f"{value:.{max(0, 2 - int(np.floor(np.log10(abs(value)))))}f}"


def make_table(
    n_rows: int, n_columns: int = 14, missing: float = 0.1, seed: int = 0
) -> NDArray[np.float64]:
    """Draw five Gaussian groups and lose cells at random.

    Parameters
    ----------
    n_rows, n_columns : int
        Shape of the table.
    missing : float
        Probability that a cell is missing.
    seed : int
        Of the generator.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        NaN is missing.
    """
    rng = np.random.default_rng(seed)
    means = 2 * rng.standard_normal((_GROUPS, n_columns))
    table = rng.standard_normal((n_rows, n_columns))
    table += means[rng.integers(_GROUPS, size=n_rows)]
    table[rng.random(table.shape) < missing] = np.nan
    return table


def time_together(
    what: str, calls: Mapping[str, Callable[[], Any]]
) -> dict[str, float]:
    """Time calls in turns, so that a busy spell of the machine meets all of them.

    Parameters
    ----------
    what : str
        What is measured, for the progress line.
    calls : mapping of str to callable
        The calls by name, all of them compiled already.

    Returns
    -------
    dict of str to float
        Seconds of each: the best of three, or of two if the first took over 5 s.
    """
    best = dict.fromkeys(calls, float("inf"))
    for turn in range(_ROUNDS):
        for name, call in calls.items():
            if turn == _ROUNDS - 1 and best[name] > _LONG:
                continue
            show_progress(f"{what}: {name}, {turn + 1} of {_ROUNDS}")
            best[name] = min(best[name], time_once(call))
    show_progress("")
    return best


def time_once(call: Callable[[], Any]) -> float:
    """Seconds of one call, without the time to free its result."""
    gc.collect()
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    del result
    return seconds


def show_progress(text: str) -> None:
    """Write over the progress line; nothing unless a terminal shows it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def describe_machine() -> Record:
    """Where and with what the measurements are taken."""
    facts: Record = {
        "cpu": _cpu_model(),
        "cores": _usable_cores(),
        "memory_gib": _memory_gib(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
    }
    for package in ("numpy", "scipy", "scikit-learn", "numba"):
        facts[package] = version(package)
    facts["proximity_kernel"] = proximity_kernel.__version__
    facts["commit"] = _commit()
    facts["date"] = datetime.now().astimezone().isoformat(timespec="seconds")
    if hasattr(os, "getloadavg"):
        facts["load_at_start"] = os.getloadavg()[0]
    return facts


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    models = [line.split(":", 1)[1] for line in lines if line.startswith("model name")]
    found = models[0].strip() if models else platform.processor()
    return found or platform.machine() or "unknown"


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_gib() -> Cell:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (AttributeError, OSError, ValueError):
        return None


def _commit() -> str:
    """Commit of this checkout, if the package that is measured is the checkout's."""
    root = Path(__file__).resolve().parents[1]
    if not Path(proximity_kernel.__file__).resolve().is_relative_to(root / "src"):
        return "unknown"
    try:
        head, changes = _git(root, "rev-parse", "HEAD"), _git(root, "status", "-s")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head} dirty" if changes else head


def _git(root: Path, *words: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(root), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()
