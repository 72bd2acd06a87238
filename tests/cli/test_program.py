"""The command line, called as it is installed and from within."""

import io
import os
import re
import subprocess
import sys

import pandas as pd
import pytest
from command_line import find_command, run_inside, run_installed

import proximity_kernel
from proximity_kernel.cli import fitting, main
from proximity_kernel.datasets import load_penguins


def test_the_demo_compares_clusters_with_species_and_filling_in(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # each cluster in one line
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    said = " ".join(out.split())
    assert "344 penguins" in said
    ours = int(re.search(r"(\d+) % of the penguins are", said)[1])
    filled = int(re.search(r"the share is (\d+) %\.", said)[1])
    assert ours > filled > 50
    counts = re.findall(r" (\d+) +(\d+) +(\d+) *$", out, re.MULTILINE)
    sums = [sum(map(int, column)) for column in zip(*counts, strict=True)]
    assert sums == [152, 68, 124]
    row, truth = re.search(r"Penguin (\d+) .* The truth is ([\d.]+)\.", said).groups()
    assert load_penguins()["body_mass_g"][int(row) - 1] == float(truth)
    shares = re.findall(r"\((\d+) %\)", said.split("distribution")[1])
    assert sum(map(int, shares)) == pytest.approx(100, abs=2)
    assert "proximity-kernel cluster FILE.csv --report page.html" in said


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "proximity_kernel", "--version"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"proximity-kernel {proximity_kernel.__version__}\n"


def test_no_command_is_bad_usage(capsys):
    assert main([]) == 2
    assert "proximity-kernel demo" in capsys.readouterr().err


def test_an_unknown_command_is_named_in_one_line_with_what_was_meant(capsys):
    assert run_inside("clutser", "t.csv") == 2
    assert capsys.readouterr().err == (
        "proximity-kernel: clutser: there is no such command, did you mean 'cluster'? "
        "see proximity-kernel --help\n"
    )
    assert run_inside("t.csv") == 2
    said = capsys.readouterr().err
    assert "t.csv: there is no such command; the commands are look, cluster" in said
    assert said.count("\n") == 1


def test_an_option_is_not_abbreviated_and_the_help_to_see_is_the_commands(
    small, capsys
):
    for option, value, hint in (
        ("--bin", "3", ", did you mean '--bins'?"),
        ("--clusters", "3", ", did you mean '-k 3'?"),
        ("--n-clusters=4", "", ", did you mean '-k 4'?"),
        ("--o", "x.csv", ";"),
        ("--of", "3", ";"),
        ("--raport=x.html", "", ", did you mean '--report'?"),
    ):
        given = " ".join([option, value]).strip()
        assert run_inside("cluster", small, *given.split()) == 2
        assert capsys.readouterr().err == (
            f"proximity-kernel cluster: unrecognized arguments: {given}{hint} "
            "see proximity-kernel cluster --help\n"
        )
    assert run_inside("--vers") == 2
    assert "see proximity-kernel --help" in capsys.readouterr().err


COMMANDS = (
    "look", "cluster", "neighbors", "outliers", "compare", "report", "represent",
    "explain", "impute", "demo",
)  # fmt: skip


INTERRUPTED = """
import sys
awaited = sys.argv[1]

class Interrupted:
    def find_spec(self, name, *_):
        if name == awaited:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
from proximity_kernel.__main__ import main
sys.argv[1:] = ["demo"]
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["argparse", "demo_command"])
def test_an_interrupt_while_importing_shows_no_traceback(module):
    name = module if module == "argparse" else f"proximity_kernel.cli.{module}"
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, name],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == "proximity-kernel: stopped\n"
    assert done.returncode == 130


def test_the_help_waits_for_nothing_heavy():
    # All in one process: what one of them imports, it would not do for the next.
    code = f"""
import contextlib, io, sys
from proximity_kernel.cli import main
for command in [[], *([name] for name in {COMMANDS})]:
    with contextlib.suppress(SystemExit):
        main([*command, "--help"])
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    heavy = {"numpy", "numba", "pandas", "pyarrow", "rich", "sklearn"}
    assert not heavy & loaded
    assert "impute" in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_teaches_by_example(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run_inside(name, "--help") == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: proximity-kernel {name} ")
    assert max(map(len, said.splitlines())) <= 88
    pattern = rf"^  (?:\w+=\S+ )?proximity-kernel {name}\b"
    examples = re.findall(pattern, said, re.MULTILINE)
    assert len(examples) >= 2


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.csv"
    path.write_text("size,colour,empty\n" + "1,rot,\n2,grün,\n2,blau,\n" * 4, "utf-8")
    return path


ASCII = {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}


def test_a_terminal_that_knows_ascii_only(small, monkeypatch):
    written = io.BytesIO()
    terminal = io.TextIOWrapper(written, encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert run_inside("explain", small, "1", "2", "--quiet") == 0
    assert b"gr?n" in written.getvalue()


def test_results_are_utf8_whatever_the_terminal(small):
    done = run_installed("represent", small, env=os.environ | ASCII)
    assert done.returncode == 0, done.stderr
    assert "colour grün" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("stream", "named"), [(0, "input"), (1, "output")])
def test_closed_streams_are_named(small, stream, named):
    file = "-" if stream == 0 else small
    line = f"'{find_command()}' cluster '{file}' {stream}>&-"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"standard {named} is closed" in done.stderr


def test_what_is_not_there_is_told_before_anything_heavy_is_loaded():
    code = """
import sys
from proximity_kernel.cli import main
main(["cluster", "nothing.csv"]), main(["cluster", "x.csv", "-o", "no/where.csv"])
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr.count("there is no") == 2
    assert not {"numpy", "pandas", "pyarrow"} & set(done.stdout.split())


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(tmp_path):
    frame = pd.DataFrame({"x": [i % 9 for i in range(40_000)], "y": 1.5})
    frame.to_csv(tmp_path / "long.csv", index=False)
    command = find_command()
    line = (
        f"'{command}' represent long.csv --drop y | head -n 2; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "141"
    assert "rror" not in done.stderr


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize(
    "arguments",
    [("look", "{table}"), ("look", "nothing.csv"), ("look",), ("--help",)],
)
def test_a_stream_without_a_reader(small, stream, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    given = [one.format(table=small) for one in arguments]
    buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [find_command(), *given],
        check=False, env=buffered, **{**streams, stream: writer},
    )  # fmt: skip
    os.close(writer)
    to_stdout = arguments == ("--help",) or "{table}" in arguments
    if (stream == "stdout") == to_stdout or "{table}" in arguments:
        assert done.returncode == 141
    else:
        assert done.returncode in (0, 2)


@pytest.mark.slow
def test_a_reader_that_goes_away_leaves_the_report(tmp_path):
    frame = pd.DataFrame(
        {"x": [i % 9 for i in range(40_000)], "y": [1.5, 2.5] * 20_000}
    )
    frame.to_csv(tmp_path / "long.csv", index=False)
    arguments = "cluster long.csv -k 2 --quiet --report page.html"
    line = f"'{find_command()}' {arguments} | head -n 2"
    subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, check=True)
    assert "</html>" in (tmp_path / "page.html").read_text()


def _fail(*_):
    raise RuntimeError("on\ntwo lines")


def test_an_unforeseen_error_is_one_line_and_a_traceback_with_debug(
    small, monkeypatch, capsys
):
    monkeypatch.setattr(fitting, "make_kernel", _fail)
    assert run_inside("cluster", small, "--quiet") == 1
    assert capsys.readouterr().err == (
        "proximity-kernel cluster: RuntimeError: on two lines (--debug shows where)\n"
    )
    assert run_inside("cluster", small, "--quiet", "--debug") == 1
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert said.endswith("RuntimeError: on\ntwo lines\n")


def test_an_interrupt(small, monkeypatch, capsys):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "make_kernel", stop)
    assert run_inside("cluster", small, "-o", small.parent / "c.csv") == 130
    assert capsys.readouterr().err.splitlines()[-1] == "proximity-kernel: stopped"
    assert sorted(path.name for path in small.parent.iterdir()) == ["small.csv"]


def test_what_the_library_refuses_and_warns_of_is_told_in_a_line(tmp_path, capsys):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": [1.0, float("inf")], "y": [1, 2]}).to_parquet(path)
    assert run_inside("represent", path) == 2
    assert f"{path}: column 'x'" in capsys.readouterr().err.splitlines()[-1]
    (tmp_path / "u.csv").write_text("x,y\n1,a\n1,a\n1,a\n")
    assert run_inside("cluster", tmp_path / "u.csv", "-k", "2") == 0
    said = capsys.readouterr().err
    assert "note: Only 1 of the 2 clusters have rows" in said
    assert "Warning" not in said


def test_quiet_says_nothing(small, capsys):
    assert run_inside("cluster", small, "--quiet", "-o", small.parent / "c.csv") == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("package", ["rich", "pandas"])
def test_without_its_extra_it_says_so_in_one_line(monkeypatch, capsys, package):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["demo"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert package in said
    assert ".[cli]" in said
