"""Cores and memory: count threads, run work on threads, check that arrays fit.

The compiled loops release the GIL, so plain threads run them in parallel. Each piece of
work writes to its own part of the arrays, so the result does not depend on the number
of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Self

import joblib
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

_BLAS_LIMIT = Lock()
_CONTAINER = Path("/sys/fs/cgroup/memory.max")


def _renew_lock() -> None:
    """Make a new lock in a forked child, which has no thread to release the old one."""
    global _BLAS_LIMIT  # noqa: PLW0603  (one lock per process)
    _BLAS_LIMIT = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def count_threads(n_jobs: int | None) -> int:
    """Resolve the option `n_jobs` to a number of threads.

    ``None`` means the cores that this process may use (by affinity, container limit
    and ``OMP_NUM_THREADS``), or one inside a joblib worker, where the other workers
    use the other cores. A negative number counts back from all cores.
    """
    cores = int(joblib.cpu_count())
    if n_jobs is None:
        if get_active_backend()[0].nesting_level:
            return 1
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(cores, int(limit)) if limit.isdecimal() and int(limit) else cores
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def run_pieces(
    work: Callable[[int, int], object], n_items: int, piece: int, n_threads: int
) -> None:
    """Call ``work(first, last)`` for pieces of ``range(n_items)``, on several threads.

    A piece has `piece` items, few enough that an interrupt takes effect soon.
    """
    with Threads(n_threads) as threads:
        threads.run(work, n_items, piece)


class Threads:
    """A pool of threads that is kept for several short loops.

    >>> squares = [0] * 5
    >>> def work(first, last):
    ...     squares[first:last] = [i * i for i in range(first, last)]
    >>> with Threads(2) as threads:
    ...     for _ in range(3):
    ...         threads.run(work, 5, piece=2)
    >>> squares
    [0, 1, 4, 9, 16]
    """

    def __init__(self, n_threads: int) -> None:
        self._n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def run(self, work: Callable[[int, int], object], n_items: int, piece: int) -> None:
        """Call ``work(first, last)`` for pieces of ``range(n_items)`` on threads."""
        pieces = [(i, min(i + piece, n_items)) for i in range(0, n_items, piece)]
        if min(self._n_threads, len(pieces)) <= 1:
            for first, last in pieces:
                work(first, last)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(min(self._n_threads, len(pieces)))
        for done in [self._pool.submit(work, first, last) for first, last in pieces]:
            done.result()


_find_blas = cache(ThreadpoolController)  # to find BLAS takes milliseconds


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in a ``with`` block, where more threads are slower.

    The limit applies to the whole process, and each block restores the limit that it
    found. If two blocks overlapped, the second would find one thread as the limit, and
    could restore it last. So a lock lets only one block run at a time.
    """
    with _BLAS_LIMIT, _find_blas().limit(limits=1, user_api="blas"):
        yield


def check_memory(n_bytes: int, what: str) -> None:
    """Raise MemoryError if an array, `what`, would be larger than the machine's memory.

    Linux would allocate the array, and kill the process that fills it.
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
    """Return the memory of the machine, or of its container, in bytes."""
    memory = float("inf")
    with suppress(ValueError, OSError, AttributeError):  # not on every system
        memory = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(ValueError, OSError):  # no container, or no limit
        memory = min(memory, float(_CONTAINER.read_text()))
    return memory
