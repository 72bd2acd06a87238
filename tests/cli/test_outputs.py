"""Outputs are checked before the work begins: places, clashes, inputs."""

import csv
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run_inside

from proximity_kernel.cli.program import check_outputs
from proximity_kernel.io import InputError


def test_outputs_that_cannot_be(tmp_path):
    (tmp_path / "in.csv").write_text("a")
    (tmp_path / "link.csv").symlink_to(tmp_path / "in.csv")
    source = str(tmp_path / "in.csv")
    for outputs, said in (
        ({"-o": source}, "an input file"),
        ({"-o": str(tmp_path / "link.csv")}, "an input file"),
        ({"-o": str(tmp_path)}, "this is a folder"),
        ({"-o": str(tmp_path / "no" / "o.csv")}, "there is no folder"),
        ({"-o": f"{source}/o.csv"}, "cannot be written|no folder"),
        ({"-o": str(tmp_path / ("x" * 300))}, "cannot be written"),
        ({"-o": "o.csv", "--report": "./o.csv"}, "-o writes there too"),
    ):
        with pytest.raises(InputError, match=said):
            check_outputs(outputs, [source, "-", None])
    check_outputs({"-o": str(tmp_path / "o.csv"), "--report": None}, [source])
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_folder_without_the_right_to_write(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        check_outputs({"-o": str(tmp_path / "o.csv")}, [])


CELLS = "a,b\n" + "".join(f"{i % 7},{'xy'[i % 2]}\n" for i in range(30)) + ",x\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table of blanks and letters beyond ASCII in its name."""
    home = tmp_path / "a folder Zürich"
    home.mkdir()
    monkeypatch.chdir(home)
    Path("my täble.csv").write_text(CELLS, encoding="utf-8")
    return home


def make_device(path, minor):
    """Make a device of our own; those of the machine are never tried."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        path.open("wb").close()
    except (OSError, AttributeError):
        pytest.skip("devices cannot be made here")
    return path


WRITING = {
    "output": ("represent", "my täble.csv", "-o", "{}"),
    "sparse": ("represent", "my täble.csv", "-o", "{}.npz"),
    "sheet": ("impute", "my täble.csv", "-o", "{}.xlsx"),
    "report": ("cluster", "my täble.csv", "-k2", "-o", "o.csv", "--report", "{}"),
    "profiles": ("cluster", "my täble.csv", "-k2", "-o", "o.csv", "--profiles", "{}"),
    "model": ("represent", "my täble.csv", "-o", "o.csv", "--save-model", "{}"),
    "deviations": ("impute", "my täble.csv", "-o", "o.csv", "--uncertainty", "{}"),
    "demo": ("demo", "--report", "{}"),
}


@pytest.mark.parametrize("case", WRITING)
def test_a_device_stays_a_device(folder, case):
    *given, name = WRITING[case]
    null = make_device(folder / name.format("my null"), 3)
    assert run_inside(*given, null) == 0
    assert stat.S_ISCHR(null.stat().st_mode)


def test_a_full_device_is_an_error_in_one_line(folder, capsys):
    for case in ("output", "sparse", "sheet", "model"):
        *given, name = WRITING[case]
        full = make_device(folder / name.format(case), 7)
        assert run_inside(*given, full, "--quiet") in (1, 2)
        said = capsys.readouterr().err
        assert said.count("\n") == 1, said
        assert full.name in said
        assert "No space left" in said
        assert stat.S_ISCHR(full.stat().st_mode)


FULL = """
import resource, signal, sys
from proximity_kernel.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.skipif(os.name == "nt", reason="no limits of file sizes")
@pytest.mark.parametrize("limit", [100, 2000, 4000])
def test_a_full_disk_is_an_error_in_one_line(folder, limit):
    command = [sys.executable, "-c", FULL, str(limit), "impute", "my täble.csv"]
    done = subprocess.run(
        [*command, "--quiet", "-o", "filled.xlsx"],
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 1
    wanted = "proximity-kernel impute: filled.xlsx: File too large\n"
    assert done.stderr == wanted
    assert [path.name for path in folder.iterdir()] == ["my täble.csv"]


def test_no_input_is_overwritten(folder, capsys):
    Path("n.txt").write_text("one\ntwo\n")
    Path("hard.csv").hardlink_to("my täble.csv")
    run_inside("represent", "my täble.csv", "-o", "o.csv", "--save-model", "m.pk")
    Path("hard.pk").hardlink_to("m.pk")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with_names = ("represent", "my täble.csv", "--header-rows=0", "--names", "n.txt")
    for given in (
        (*with_names, "-o", "n.txt"),
        (*with_names, "-o", "x.csv", "--save-model", "./n.txt"),
        ("cluster", "my täble.csv", "-o", "x.csv", "--profiles", "hard.csv"),
        ("compare", "my täble.csv", "o.csv", "-o", "o.csv"),
        (
            "represent",
            "my täble.csv",
            "--model",
            "m.pk",
            "--format",
            "csv",
            "-o",
            "m.pk",
        ),
    ):
        assert run_inside(*given) == 2
        assert "this is an input file; name another" in capsys.readouterr().err
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.skipif(os.name == "nt", reason="no permissions for others")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400, 0o644])
def test_what_is_made_of_a_private_file_is_private(folder, mode):
    Path("my täble.csv").chmod(mode)
    before = os.umask(0o022)
    outputs = ("-o", "o.csv", "--report", "p.html", "--save-model", "m.pk")
    run_inside("cluster", "my täble.csv", "-k2", "--profiles", "k.csv", *outputs)
    assert os.umask(before) == 0o022
    wanted = 0o644 if mode == 0o644 else 0o600
    for name in ("o.csv", "p.html", "m.pk", "k.csv"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == wanted


def test_a_read_only_output_is_an_error_before_the_work(folder, capsys):
    path = folder / "o.csv"
    path.write_text("old")
    path.chmod(0o444)
    assert run_inside("represent", "my täble.csv", "-o", path) == 2
    assert "o.csv: it cannot be written (It is read-only)" in capsys.readouterr().err
    assert path.read_text() == "old"


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "xlsx"])
def test_line_ends_in_names_survive(folder, ending):
    text = CELLS.replace("a,b", '"first\nname","\r\nthe\rsecond"')
    (folder / "in.csv").write_text(text, newline="")
    assert run_inside("impute", "in.csv", "-o", f"one.{ending}") == 0
    assert run_inside("impute", f"one.{ending}", "-o", "two.csv") == 0
    with Path("two.csv").open(newline="") as file:
        assert next(csv.reader(file)) == ["first\nname", "the\rsecond"]
