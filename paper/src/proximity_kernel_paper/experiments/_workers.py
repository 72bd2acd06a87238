"""Trials in processes of their own, so that one that dies takes nothing with it.

Each worker does one trial at a time, with one thread for the libraries beneath. The
parent hands out trials and receives outcomes; it never computes, so it can always be
interrupted, and knows at any moment what is running.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import connection, get_context, parent_process
from typing import Any

from ._machine import PeakMemory
from ._trials import Experiment, Trial

# One thread for each library in each worker: the trials are what runs side by side.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_trials(
    module: str, trials: Sequence[Trial], data_home: str | None, n_jobs: int
) -> Generator[tuple[str, Trial, dict[str, Any]], None, None]:
    """Run trials side by side, and tell when each starts and ends.

    Parameters
    ----------
    module : str
        Full name of the module whose ``EXPERIMENT`` measures the trials.
    trials : sequence of Trial
    data_home : str or None
    n_jobs : int
        Number of processes.

    Yields
    ------
    event : {"start", "end"}
    trial : Trial
    outcome : dict from str to value
        Empty at the start. At the end the scores, ``seconds``, ``memory_mb``, ``note``
        and ``error``, which is empty if all went well.
    """
    waiting = list(reversed(trials))
    workers: list[_Worker] = []
    try:
        with _one_thread_each():
            workers += [
                _Worker(module, data_home) for _ in range(min(n_jobs, len(waiting)))
            ]
        while waiting or any(worker.trial for worker in workers):
            for worker in workers:
                if waiting and not worker.trial:
                    trial = waiting.pop()
                    worker.start(trial)
                    yield "start", trial, {}
            for worker in _wait([worker for worker in workers if worker.trial]):
                trial, outcome = worker.finish()
                yield "end", trial, outcome
    finally:
        for worker in workers:
            worker.stop()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Set what processes started inside will find in their environment."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Let processes started inside ignore Ctrl-C: the parent ends them itself."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say so
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _wait(busy: list[_Worker]) -> list[_Worker]:
    ready = connection.wait([worker.pipe for worker in busy])
    return [worker for worker in busy if worker.pipe in ready]


class _Worker:
    """One process, and the trial it is busy with."""

    def __init__(self, module: str, data_home: str | None) -> None:
        self._arguments = (module, data_home)
        self.trial: Trial | None = None
        self._open()

    def _open(self) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, *self._arguments), daemon=True
        )
        with _deaf_to_interrupts():
            self._process.start()
        theirs.close()  # so that the death of the process is the end of the pipe

    def start(self, trial: Trial) -> None:
        self.trial = trial
        self._started = time.perf_counter()
        self.pipe.send(trial)

    def finish(self) -> tuple[Trial, dict[str, Any]]:
        trial, self.trial = self.trial, None
        assert trial is not None
        try:
            return trial, self.pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            outcome = {
                "seconds": time.perf_counter() - self._started,
                "error": f"the process died (exit code {self._process.exitcode}); "
                "often this is memory",
            }
            with _one_thread_each():
                self._open()
            return trial, outcome

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()
        self.pipe.close()


def _serve(pipe: Any, module: str, data_home: str | None) -> None:
    """Measure what comes through the pipe; runs in a worker, as long as the parent."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    experiment = import_module(module).EXPERIMENT
    with suppress(EOFError, ConnectionError):  # the parent has gone
        while True:
            pipe.send(_measure(experiment, pipe.recv(), data_home))


def _leave_with_parent() -> None:
    """End this process when its parent does, killed or not, in mid-trial or not."""
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def _measure(
    experiment: Experiment, trial: Trial, data_home: str | None
) -> dict[str, Any]:
    assert experiment.measure is not None
    outcome: dict[str, Any] = {"error": ""}
    started = time.perf_counter()
    memory = PeakMemory()
    try:
        with memory, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they would break the progress bar
            outcome |= experiment.measure(trial, data_home)
    except Exception as error:  # noqa: BLE001 (a method that fails is a gap, not the end)
        outcome["error"] = f"{type(error).__name__}: {error}"
    outcome["seconds"] = time.perf_counter() - started
    outcome["memory_mb"] = memory.megabytes
    return outcome
