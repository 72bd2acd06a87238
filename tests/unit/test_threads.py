"""How many threads, and what they do with the work."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from proximity_kernel import ProximityKernel
from proximity_kernel._shared.resources import count_threads, run_pieces


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.parametrize(
    ("n_jobs", "threads"),
    [(None, 4), (1, 1), (3, 3), (9, 9), (-1, 4), (-2, 3), (-9, 1)],
)
@pytest.mark.usefixtures("four_cores")
def test_counting(n_jobs, threads):
    assert count_threads(n_jobs) == threads


@pytest.mark.parametrize(
    ("setting", "threads"), [("2", 2), ("8", 4), ("0", 4), ("", 4), ("many", 4)]
)
@pytest.mark.usefixtures("four_cores")
def test_none_respects_the_setting_for_openmp(monkeypatch, setting, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", setting)
    assert count_threads(None) == threads
    assert count_threads(3) == 3


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_one_inside_a_joblib_worker(backend):
    with joblib.parallel_config(backend=backend):
        counted = joblib.Parallel(n_jobs=2)(
            joblib.delayed(count_threads)(n_jobs) for n_jobs in (None, 3)
        )
    assert counted == [1, 3]


@pytest.mark.parametrize("n_threads", [1, 2, 7])
@pytest.mark.parametrize("piece", [1, 3, 100])
def test_every_item_once(n_threads, piece):
    seen, lock = [], threading.Lock()

    def work(first, last):
        assert 0 < last - first <= piece
        with lock:
            seen.extend(range(first, last))

    run_pieces(work, 20, piece, n_threads)
    assert sorted(seen) == list(range(20))


def test_nothing_to_do():
    run_pieces(lambda *_: pytest.fail("called"), 0, 5, 2)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_comes_out_and_stops_the_rest(n_threads):
    started = []

    def work(first, last):
        started.append(first)
        raise RuntimeError(f"at {first} of {last}")

    with pytest.raises(RuntimeError, match="at 0"):
        run_pieces(work, 1000, 1, n_threads)
    assert len(started) < 1000


def test_blas_gets_its_threads_back_from_fits_on_many_threads():
    """The limit is the process's, and must not outlive the last of those inside."""
    controller = ThreadpoolController()

    def count():
        found = controller.select(user_api="blas").info()
        return [entry["num_threads"] for entry in found]

    before = count()
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 4))
    table[rng.random(table.shape) < 0.2] = np.nan
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: ProximityKernel().fit(table).kernel(table), range(24)))
    assert count() == before


FORK = """
import os, sys, threading, time
import numpy as np
from proximity_kernel import ProximityKernel
from proximity_kernel._compile import compiled
from proximity_kernel._shared.resources import one_blas_thread

table = [[1.0, 2.0], [2.0, None], [3.0, 1.0], [None, 2.0]]
ProximityKernel().fit(table).kernel(table)
begun = threading.Event()

def compute():
    with one_blas_thread():
        begun.set()
        time.sleep(3)

def compile_loop():
    loop = compiled(lambda x: x + 1)
    loop._cache = type("Slow", (), {
        "load_overload": lambda *_: begun.set() or time.sleep(3),
        "save_overload": lambda *_: None,
    })()
    loop(1)

target = {"blas": compute, "compiler": compile_loop}[sys.argv[1]]
threading.Thread(target=target).start()
begun.wait()
child = os.fork()
if not child:
    ProximityKernel().fit(table).kernel(table)
    assert compiled(lambda x: x + 2)(1) == 3
    os._exit(7)
for _ in range(200):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        break
    time.sleep(0.1)
else:
    os.kill(child, 9)
    sys.exit("the child hangs")
assert os.waitstatus_to_exitcode(status) == 7
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("held", ["blas", "compiler"])
def test_a_child_forked_while_a_thread_computes_does_not_hang(held):
    done = subprocess.run(
        [sys.executable, "-c", FORK, held], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
