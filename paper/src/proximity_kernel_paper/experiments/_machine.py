"""Where a number was made: the machine, the versions, the commit; and with how much."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "torch")


@cache
def describe_machine() -> str:
    """Say what the processor is, and how many there are.

    Returns
    -------
    str

    Examples
    --------
    >>> describe_machine()
    '... x ...'
    """
    return f"{os.cpu_count()} x {_processor()}"


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or "unknown processor"


@cache
def list_versions() -> str:
    """Name Python and the packages that results depend on, with their versions.

    Returns
    -------
    str

    Examples
    --------
    >>> list_versions()
    'python ... numpy ...'
    """
    found = [f"python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


@cache
def find_commit() -> str:
    """Name the commit of the sources, or the version where they are not in git.

    Returns
    -------
    str
        With a plus sign if the sources differ from the commit. Where the sources were
        copied without git, the variable PROXIMITY_KERNEL_COMMIT can name it.
    """
    if given := os.environ.get("PROXIMITY_KERNEL_COMMIT"):
        return given
    from proximity_kernel import __version__

    folder = Path(__file__).parent
    try:
        commit = _ask_git(folder, "rev-parse", "--short", "HEAD")
        changed = _ask_git(folder, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return __version__
    return commit + "+" * bool(changed)


def _ask_git(folder: Path, *words: str) -> str:
    answer = subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return answer.stdout.strip()


class PeakMemory:
    """The most memory that this process held inside a ``with``, above the start.

    Attributes
    ----------
    megabytes : float
        NaN where the system does not tell; Linux does.
    """

    def __init__(self) -> None:
        self.megabytes = float("nan")

    def __enter__(self) -> PeakMemory:
        try:
            Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        except OSError:
            self._start = float("nan")
        else:
            self._start = _read_status("VmRSS")
        return self

    def __exit__(self, *failure: object) -> None:
        self.megabytes = _read_status("VmHWM") - self._start


def _read_status(name: str) -> float:
    facts = Path("/proc/self/status")
    if facts.exists():
        for line in facts.read_text().splitlines():
            if line.startswith(name):
                return float(line.split()[1]) / 1024
    return float("nan")
