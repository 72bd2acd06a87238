"""How many threads, and what they do with the work."""

import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from proximity_kernel import ProximityKernel
from proximity_kernel._shared.threads import count_threads, run_pieces


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
