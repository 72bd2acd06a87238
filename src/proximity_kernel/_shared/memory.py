"""Refuse an array that does not fit into memory, before it is allocated."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

_CONTAINER = Path("/sys/fs/cgroup/memory.max")


def check_memory(n_bytes: int, what: str) -> None:
    """Raise an error if an array would be larger than all memory.

    Linux allocates more memory than it has, and kills the process when it is used.

    Parameters
    ----------
    n_bytes : int
    what : str
        The name of the array in the message.
    """
    memory = count_memory()
    if n_bytes > memory:
        raise MemoryError(
            f"{what} would take {n_bytes / 2**30:,.1f} GiB, but the machine has "
            f"{memory / 2**30:,.1f} GiB: some columns have very many bins. Lower "
            "max_categories or n_bins, or transform fewer rows at a time."
        )


@cache
def count_memory() -> float:
    """Count the bytes of memory of the machine, or of its container."""
    memory = float("inf")
    with suppress(ValueError, OSError, AttributeError):  # not on every system
        memory = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(ValueError, OSError):  # no container, or no limit
        memory = min(memory, float(_CONTAINER.read_text()))
    return memory
