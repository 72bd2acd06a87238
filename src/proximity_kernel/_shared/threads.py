"""How many threads, and the same loop on each of them.

The compiled loops release the GIL, so plain threads run them side by side. Every
piece of work writes to places of its own: the result does not depend on how many
threads there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Self

import joblib
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

_BLAS_LIMIT = Lock()


def _renew_lock() -> None:
    """Give a forked child its own lock: the thread that holds this one is not in it."""
    global _BLAS_LIMIT  # noqa: PLW0603  (of the process, as the limit is)
    _BLAS_LIMIT = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def count_threads(n_jobs: int | None) -> int:
    """Threads to use for `n_jobs`.

    ``None`` means the cores that this process may use (its affinity, its
    container's share, ``OMP_NUM_THREADS``), and one inside a joblib worker, whose
    siblings have the others. A negative number counts back from all cores.
    """
    cores = int(joblib.cpu_count())
    if n_jobs is None:
        if get_active_backend()[0].nesting_level:
            return 1
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(cores, int(limit)) if limit.isdigit() and int(limit) else cores
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def run_pieces(
    work: Callable[[int, int], object], n_items: int, piece: int, n_threads: int
) -> None:
    """Call ``work(first, last)`` for pieces of ``range(n_items)`` on threads.

    Parameters
    ----------
    work : callable
        What to do with the items from `first` up to `last`.
    n_items : int
        How many items there are.
    piece : int
        Items in a piece; small enough that an interrupt is soon heard.
    n_threads : int
        Threads to use.

    Examples
    --------
    >>> from proximity_kernel._shared.threads import run_pieces
    >>> squares = [0] * 5
    >>> def work(first, last):
    ...     squares[first:last] = [i * i for i in range(first, last)]
    >>> run_pieces(work, 5, piece=2, n_threads=2)
    >>> squares
    [0, 1, 4, 9, 16]
    """
    with Threads(n_threads) as threads:
        threads.run(work, n_items, piece)


class Threads:
    """Threads that stay from one loop to the next, for loops that are short.

    Parameters
    ----------
    n_threads : int

    Examples
    --------
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
        """Call ``work(first, last)`` for pieces of ``range(n_items)``."""
        pieces = [(i, min(i + piece, n_items)) for i in range(0, n_items, piece)]
        if min(self._n_threads, len(pieces)) <= 1:
            for first, last in pieces:
                work(first, last)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(min(self._n_threads, len(pieces)))
        for done in [self._pool.submit(work, first, last) for first, last in pieces]:
            done.result()


@cache
def _blas() -> ThreadpoolController:
    """Take hold of the loaded BLAS libraries; looking for them takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Give BLAS one thread inside a ``with``: more would wait for each other there.

    The limit is the whole process's, and each restores what it found: of two at a time
    one could find the other's limit, and leave it for good. So there is one at a time.
    """
    with _BLAS_LIMIT, _blas().limit(limits=1, user_api="blas"):
        yield
