"""The runner: what is written down, what misbehaves, and what a kill leaves behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import tiny

from proximity_kernel_paper.experiments import Request
from proximity_kernel_paper.experiments._ledger import ABOUT, Ledger
from proximity_kernel_paper.experiments._run import (
    keep_planned,
    open_ledger,
    run_experiment,
)
from proximity_kernel_paper.experiments._trials import KEY, RequestError, Trial
from proximity_kernel_paper.experiments._workers import run_trials

PROGRAM = Path(tiny.__file__)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "deep" / "tiny.csv", ("score",))


# ------------------------------------------------------------------------ the ledger


def test_rows_come_back_as_they_were(ledger):
    trial = Trial("a table", "m", 3, "paper", {"b": 2, "a": [1, "x"]}, {"rate": 0.1})
    ledger.append(trial, {"score": 1 / 3, "note": 'a "quoted",\n note', "seconds": 2.0})
    (row,) = ledger.read().to_dict("records")
    assert tuple(str(row[name]) for name in KEY) == trial.key
    assert row["score"] == pytest.approx(1 / 3, abs=1e-6)
    assert row["note"] == 'a "quoted", note'
    assert row["error"] == ""
    assert row["seconds"] == 2
    assert row["seed"] == 3


def test_an_absent_file_holds_no_rows(ledger):
    rows = ledger.read()
    assert list(rows) == [*KEY, "score", *ABOUT]
    assert len(rows) == 0
    assert not ledger.path.exists()


@pytest.mark.parametrize("rest", ["pap", 'paper,"unclosed', "paper,x,y,é"])
def test_half_a_last_line_is_forgotten_and_mended(ledger, rest):
    ledger.append(Trial("a", "m", 0), {"score": 1.0})
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole + rest.encode())
    again = Ledger(ledger.path, ("score",))
    assert len(again.read()) == 1
    again.append(Trial("a", "m", 1), {"score": 2.0})
    assert ledger.path.read_bytes().startswith(whole)
    assert again.read()["score"].to_list() == [1, 2]


def test_half_a_header_is_written_again(ledger):
    ledger.path.parent.mkdir()
    ledger.path.write_text("protocol,data")
    ledger.append(Trial("a", "m", 0), {"score": 1.0})
    assert ledger.read()["score"].to_list() == [1]


def test_a_file_with_other_columns_is_refused_and_left_alone(ledger):
    ledger.path.parent.mkdir()
    ledger.path.write_text("x,y\n1,2\n")
    with pytest.raises(RequestError, match=r"tiny\.csv holds the columns.*move it"):
        ledger.read()
    with pytest.raises(RequestError, match="move it"):
        ledger.append(Trial("a", "m", 0), {"score": 1.0})
    assert ledger.path.read_text() == "x,y\n1,2\n"


def test_of_a_repeated_trial_the_last_row_counts(ledger):
    for score in (1.0, 2.0):
        ledger.append(Trial("a", "m", 0), {"score": score})
    ledger.append(Trial("a", "m", 1), {"score": 3.0})
    assert ledger.read()["score"].to_list() == [2, 3]


def test_failures_can_be_forgotten(ledger):
    ledger.append(Trial("a", "m", 0), {"score": 1.0})
    ledger.append(Trial("a", "m", 1), {"error": "ValueError: no"})
    before = ledger.read().iloc[:1]
    ledger.forget_failures()
    pd.testing.assert_frame_equal(ledger.read(), before)
    assert list(ledger.path.parent.iterdir()) == [ledger.path]


def test_a_column_that_is_not_there_is_named(ledger):
    with pytest.raises(ValueError, match="no column"):
        ledger.append(Trial("a", "m", 0), {"scor": 1.0})


def test_quick_results_are_kept_apart(tmp_path):
    full = open_ledger(tiny.EXPERIMENT, tmp_path, quick=False)
    quick = open_ledger(tiny.EXPERIMENT, tmp_path, quick=True)
    assert full.path == tmp_path / "tiny.csv"
    assert quick.path == tmp_path / "quick" / "tiny.csv"


# ----------------------------------------------------------------------- the workers


def test_a_method_that_fails_or_dies_takes_nothing_with_it():
    methods = ("good", "raises", "exits", "good", "killed", "good")
    trials = [Trial("t", method, seed) for seed, method in enumerate(methods)]
    events = list(run_trials("tiny", trials, None, 2))
    ends = {trial.seed: outcome for event, trial, outcome in events if event == "end"}
    assert len(events) == 2 * len(trials)
    assert ends[1]["error"] == "ValueError: two\nlines, and a comma"
    assert "score" not in ends[1]
    assert "the process died (exit code 3)" in ends[2]["error"]
    assert "the process died (exit code -9)" in ends[4]["error"]
    for seed in (0, 3, 5):
        assert ends[seed]["error"] == ""
        assert ends[seed]["score"] == seed**2 / 7 + 5
        assert ends[seed]["seconds"] >= 0
        assert ends[seed]["memory_mb"] >= 0
    pids = {ends[seed]["note"] for seed in (0, 3, 5)}
    assert str(os.getpid()) not in pids
    wait_for_end(pids)


def test_the_environment_of_the_parent_is_put_back(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    list(run_trials("tiny", [Trial("t", "good", 0)], None, 1))
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_workers_end_when_the_caller_looks_no_further():
    events = run_trials("tiny", [Trial("t", "good", s) for s in range(9)], None, 1)
    pid = next(outcome["note"] for event, _, outcome in events if event == "end")
    events.close()
    wait_for_end([pid])


def wait_for_end(pids):
    until = time.monotonic() + 20
    for pid in pids:
        while Path(f"/proc/{pid}/cmdline").exists() and (
            b"python" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ):
            assert time.monotonic() < until, f"process {pid} is still there"
            time.sleep(0.05)


# ---------------------------------------------------------------------- whole runs


def run_tiny(ledger, **options):
    seen = []
    request = Request(**options)
    report = lambda *event: seen.append(event)  # noqa: E731
    results = run_experiment(tiny.EXPERIMENT, "tiny", request, ledger, 1, report)
    return results, seen


def test_a_run_has_a_second_round_and_is_not_repeated(ledger):
    results, seen = run_tiny(ledger)
    assert len(results) == 2 * tiny.SEEDS + 3
    assert (results["dataset"] == "other").sum() == 3
    plans = [(done, planned) for event, _, done, planned in seen if event == "plan"]
    assert plans == [(0, 24), (24, 27), (27, 27)]
    assert results[["commit", "machine", "versions"]].ne("").all(axis=None)
    content = ledger.path.read_bytes()
    again, seen = run_tiny(Ledger(ledger.path, ("score",)))
    assert [event for event, *_ in seen] == ["plan"]
    assert ledger.path.read_bytes() == content
    pd.testing.assert_frame_equal(again, results)


def test_results_that_nobody_asked_for_are_left_out(ledger):
    run_tiny(ledger)
    results, seen = run_tiny(ledger, only=("good",))
    assert [event for event, *_ in seen] == ["plan"]
    assert set(results["method"]) == {"good"}
    assert len(keep_planned(results, [])) == 0
    assert list(keep_planned(results, [])) == list(results)


def start_tiny(folder, seconds=0.0):
    command = [sys.executable, PROGRAM, "tiny", "--jobs", "2"]
    return subprocess.Popen(
        [*command, "--results", folder],
        env={**os.environ, "TINY_SECONDS": str(seconds)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, as in a terminal
    )


def await_rows(folder, n_rows):
    until = time.monotonic() + 60
    path = folder / "tiny.csv"
    while not path.exists() or path.read_bytes().count(b"\n") <= n_rows:
        assert time.monotonic() < until, "no results come"
        time.sleep(0.02)
    rows = Ledger(path, ("score",)).read()
    return set(rows["note"])


def read_scores(folder):
    rows = Ledger(folder / "tiny.csv", ("score",)).read()
    return rows.set_index(list(KEY))["score"].sort_index()


def test_a_killed_run_goes_on_and_ends_with_the_same_numbers(tmp_path):
    whole = start_tiny(tmp_path / "whole")
    broken = start_tiny(tmp_path / "broken", seconds=0.2)
    pids = await_rows(tmp_path / "broken", 5)
    os.kill(broken.pid, signal.SIGKILL)
    broken.communicate(timeout=60)
    wait_for_end(pids)
    before = (tmp_path / "broken" / "tiny.csv").read_bytes()
    assert 5 < before.count(b"\n") < 24
    out, err = start_tiny(tmp_path / "broken").communicate(timeout=120)
    assert "of 24 trials done" in err
    assert "good" in out
    assert (tmp_path / "broken" / "tiny.csv").read_bytes().startswith(before)
    whole.communicate(timeout=120)
    assert whole.returncode == 0
    pd.testing.assert_series_equal(
        read_scores(tmp_path / "broken"), read_scores(tmp_path / "whole")
    )


def test_an_interrupt_says_where_it_stopped_and_leaves_no_process(tmp_path):
    # Started in the background of a shell, the tests and what they start ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = start_tiny(tmp_path, seconds=0.3)
    signal.signal(signal.SIGINT, before)
    pids = await_rows(tmp_path, 3)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does: the workers hear it too
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("stopped after ")
    assert err.endswith("of 24 trials; the same command goes on from there\n")
    assert "Traceback" not in out + err
    wait_for_end(pids)
