"""The command line, called as it is installed and from within."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import proximity_kernel
from proximity_kernel.cli import main


def run_command(*arguments, **options):
    command = shutil.which("proximity-kernel", path=str(Path(sys.executable).parent))
    assert command, "the command is not installed beside this Python"
    return subprocess.run(
        [command, *arguments], capture_output=True, text=True, check=False, **options
    )


def test_demo_as_installed():
    done = run_command("demo")
    assert done.returncode == 0, done.stderr
    assert "344 penguins, 7 columns, 19 cells missing" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_demo_tells_what_was_learnt_matched_clustered_and_why(capsys):
    assert main(["demo"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"bill_depth_mm +. numeric +. 2 +. near 13.1, ", said)
    assert re.search(r"sex +. categorical +. 11 +. female, male", said)
    matched = re.findall(r"(?:intersection|partial|union|prior) \(.*?\) +. (\d+)", said)
    assert sum(map(int, matched)) == 19
    clusters = re.findall(r"^│ [012] +│(.*)│$", said, flags=re.MULTILINE)
    counts = [[int(n) for n in row.split("│")] for row in clusters]
    assert [sum(column) for column in zip(*counts, strict=True)] == [
        165, 168, 11, 152, 68, 124,
    ]  # fmt: skip
    assert re.search(r"sex +. \? +. female ~", said)
    assert re.search(r"year +. 2007 +. 2007 =", said)


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "proximity_kernel", "--version"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"proximity-kernel {proximity_kernel.__version__}\n"


def test_no_command_is_bad_usage(capsys):
    assert main([]) == 2
    assert "proximity-kernel demo" in capsys.readouterr().err


def test_unknown_command_is_named_in_one_line(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["clusterr"])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert "clusterr" in said
    assert said.count("\n") == 1


def test_the_help_waits_for_nothing_heavy():
    code = (
        "import sys\nfrom proximity_kernel.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    heavy = {"numpy", "numba", "pandas", "rich", "sklearn"}
    assert not heavy & loaded
    assert "reproduce" in done.stdout


@pytest.mark.parametrize("package", ["rich", "pandas"])
def test_without_its_extra_it_says_so_in_one_line(monkeypatch, capsys, package):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["demo"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert package in said
    assert "proximity-kernel[cli]" in said
