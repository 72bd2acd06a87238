"""The command that compiles the loops: what it prints, and that it misses none."""

import os
import re
import subprocess
import sys

import pandas as pd
import pytest
from command_line import make_table, run_inside

from proximity_kernel.cli import compile_command as command

pytestmark = pytest.mark.slow


def test_compile_prints_the_time_and_the_folder(monkeypatch, capfd):
    calls = []
    monkeypatch.setattr(command, "_use_every_loop", lambda: calls.append(1))
    monkeypatch.setattr(command, "_find_cache", lambda: "/srv/cache")
    assert run_inside("compile") == 0
    done = capfd.readouterr()
    assert done.out == ""
    said = r"all code is compiled \(\d\.\d s\), kept in /srv/cache\n"
    assert re.fullmatch(said, done.err)
    assert run_inside("compile", "--quiet") == 0
    assert capfd.readouterr() == ("", "")
    assert len(calls) == 2


def test_compile_fails_at_once_if_the_code_cannot_be_kept(monkeypatch, capfd):
    monkeypatch.setattr(command, "_use_every_loop", pytest.fail)
    monkeypatch.setattr(command, "_find_cache", lambda: None)
    assert run_inside("compile") == 1
    error = capfd.readouterr().err
    assert error.startswith("proximity-kernel compile: the compiled code cannot be")
    assert "NUMBA_CACHE_DIR" in error
    assert error.count("\n") == 1


def test_compile_takes_no_file(capfd):
    assert run_inside("compile", "table.csv") == 2
    assert "unrecognized arguments: table.csv" in capfd.readouterr().err


def test_the_folder_is_that_of_numba(tmp_path):
    code = (
        "from proximity_kernel.cli import compile_command as c; print(c._find_cache())"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    ).stdout  # fmt: skip
    assert found.startswith(str(tmp_path))


# Afterwards no command may load or compile a loop for types that it was not used with.
AFTERWARDS = """
import sys
from proximity_kernel.cli import main
from proximity_kernel.cli.compile_command import _use_every_loop

def list_loops():
    modules = [module for name, module in sys.modules.items() if "proximity" in name]
    loops = [value for module in modules for value in vars(module).values()]
    return {
        (loop.py_func.__name__, signature)
        for loop in loops
        for signature in getattr(loop, "signatures", [])
    }

_use_every_loop()
before = list_loops()
assert len(before) > 20
for line in sys.stdin.read().splitlines():
    assert main(line.split()) == 0, line
print(sorted({name for name, _ in list_loops() - before}))
"""
CALLS = (
    "cluster t.csv", "neighbors t.csv -k 3", "outliers t.csv", "represent t.csv",
    "impute t.csv",
    "explain t.csv 1 2", "represent t.parquet --stream", "cluster t.parquet --stream",
)  # fmt: skip


WAYS = ("", "--matching cascade", "--bins 300", "--bins 300 --matching cascade")


def test_no_command_needs_a_loop_that_was_not_compiled(tmp_path):
    values, text = make_table(400)
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    values.to_parquet(tmp_path / "t.parquet")
    lines = [
        f"{call} {way} --quiet -o out.csv"
        for call in CALLS
        for way in WAYS
        if not (call.startswith("outliers") and "cascade" in way)
    ]
    done = subprocess.run(
        [sys.executable, "-c", AFTERWARDS], cwd=tmp_path, input="\n".join(lines),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"
    assert len(pd.read_csv(tmp_path / "out.csv")) == 400
