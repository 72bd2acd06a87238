"""``proximity-kernel-paper``: called as it is installed, and from within."""

import re
import subprocess
import sys

import pandas as pd
import pytest

from proximity_kernel_paper import cli
from proximity_kernel_paper.experiments import Request, _catalogue
from proximity_kernel_paper.experiments._catalogue import find_experiment, narrow


def run_command(*arguments, **options):
    """Run the command in a process of its own: its status, output and errors."""
    return subprocess.run(
        [sys.executable, "-m", "proximity_kernel_paper", *map(str, arguments)],
        capture_output=True, check=False, encoding="utf-8", **options,
    )  # fmt: skip


def run(*arguments):
    """The status, as the program would end with."""
    try:
        return cli.main([*map(str, arguments)])
    except SystemExit as stop:
        return stop.code


@pytest.fixture
def tiny_only(monkeypatch):
    """The tiny experiment as the only one."""
    monkeypatch.setattr(_catalogue, "NAMES", ("tiny",))
    monkeypatch.setattr(_catalogue, "_module", lambda name: name)


# ---------------------------------------------------------------------- as installed


def test_counts_a_table_and_remembers(tmp_path):
    done = run_command("tables", "--only", "penguins", "--results", tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"penguins +344 +7 +5 \+ 0 \+ 2 +0\.79 +3", done.stdout)
    assert done.stderr.splitlines()[0] == "tables: 0 of 1 trials done"
    assert len(pd.read_csv(tmp_path / "tables.csv")) == 1
    again = run_command("tables", "--only", "penguins", "--results", tmp_path)
    assert again.returncode == 0
    assert again.stdout == done.stdout
    assert again.stderr == ""  # nothing was left to do


def test_help_names_the_experiments():
    done = run_command("--help")
    assert done.returncode == 0
    for word in ("missing-rate", "--protocol", "--data-home", "all ", "page "):
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 88


BAD = {
    "no experiment": (["mni"], "no experiment is called 'mni'"),
    "no name": ([], "NAME"),
    "no jobs": (["nmi", "--jobs", "0"], "--jobs: takes a number from 1 on, not '0'"),
    "jobs in words": (["nmi", "--jobs", "two"], "not 'two'"),
    "no such table": (["nmi", "--only", "mamo"], "--only 'mamo': nmi has no such"),
    "nothing to choose": (["binning", "--only", "PK"], "nothing to choose from"),
    "no such protocol": (["nmi", "--protocol", "mine"], "--protocol 'mine'"),
    "known to none": (["all", "--only", "mamo"], "--only 'mamo': no experiment"),
    "no such protocol for all": (["all", "--protocol", "x"], "--protocol 'x'"),
    "results in a file": (["nmi", "--results", "FILE"], "--results FILE: this is a"),
    "figures in a file": (["nmi", "--figures", "FILE"], "--figures FILE: this is a"),
    "data in a file": (["nmi", "--data-home", "FILE"], "--data-home FILE: this is a"),
    "page in a folder": (["page", "--page", "FOLDER"], "--page FOLDER: this is a"),
    "an unknown option": (["nmi", "--fast"], "--fast"),
}


INSTALLED = (
    "no experiment",
    "no jobs",
    "no such table",
    "no name",
    "an unknown option",
)


@pytest.mark.parametrize("kind", INSTALLED)
def test_bad_usage_as_it_is_installed(kind):
    arguments, told = BAD[kind]
    done = run_command(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("arguments", "told"), BAD.values(), ids=BAD)
def test_bad_usage_is_one_line_and_status_2(arguments, told, tmp_path, capsys):
    names = {"FILE": str(tmp_path / "file"), "FOLDER": str(tmp_path)}
    (tmp_path / "file").touch()
    assert run(*(names.get(word, word) for word in arguments)) == 2
    said = capsys.readouterr()
    for name, path in names.items():
        told = told.replace(name, path)
    if arguments:
        assert told in said.err
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err + said.out


def test_results_of_another_kind_are_named_and_left_alone(tmp_path):
    (tmp_path / "tables.csv").write_text("x,y\n1,2\n")
    done = run_command("tables", "--only", "penguins", "--results", tmp_path)
    assert done.returncode == 2
    assert "tables.csv holds the columns" in done.stderr
    assert "move it away" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "tables.csv").read_text() == "x,y\n1,2\n"


def test_a_wrong_file_in_the_data_home_stops_before_the_first_trial(tmp_path, capsys):
    (tmp_path / "mammo").mkdir()
    (tmp_path / "mammo" / "mammographic_masses.data").write_text("1,2,3\n")
    asked = ["bins", "--only", "mammo", "--data-home", tmp_path]
    assert run(*asked, "--results", tmp_path / "results") == 2
    said = capsys.readouterr().err
    assert "mammographic_masses.data is not the file that the catalogue" in said
    assert not (tmp_path / "results").exists()


# ---------------------------------------------------------------------- from within


@pytest.mark.usefixtures("tiny_only")
def test_trials_that_fail_are_named_and_tried_again(tmp_path, capsys):
    assert run("tiny", "--only", "good", "--only", "raises", "--results", tmp_path) == 0
    said = capsys.readouterr()
    assert "12 trials failed (--retry tries them again):" in said.err
    assert 'table raises {"p": 1.5} 0: ValueError: two lines, and a comma' in said.err
    assert f"and 7 more, in {tmp_path}" in said.err
    assert "good" in said.out
    rows = (tmp_path / "tiny.csv").read_text().count("\n")
    assert run("tiny", "--only", "raises", "--results", tmp_path) == 1  # all of them
    assert "of 12 trials" not in capsys.readouterr().err
    assert run("tiny", "--only", "raises", "--results", tmp_path, "--retry") == 1
    assert "tiny: 12 of 12 trials done, 12 failed" in capsys.readouterr().err
    assert (tmp_path / "tiny.csv").read_text().count("\n") == rows


@pytest.mark.usefixtures("tiny_only")
def test_what_nobody_foresaw_is_one_line_unless_debugged(tmp_path, monkeypatch, capsys):
    def fail(*_, **__):
        raise RuntimeError("a\nsurprise")

    monkeypatch.setattr(cli, "reproduce", fail)
    assert run("tiny", "--results", tmp_path) == 1
    said = capsys.readouterr().err
    assert said == (
        "proximity-kernel-paper: RuntimeError: a surprise (--debug shows where)\n"
    )
    with pytest.raises(RuntimeError):
        run("tiny", "--results", tmp_path, "--debug")


def test_figures_are_saved_where_they_are_wanted(tmp_path, capsys):
    figures = tmp_path / "pictures"
    assert run("binning", "--results", tmp_path, "--figures", figures) == 0
    said = capsys.readouterr()
    assert f"figure: {figures / 'binning.svg'}" in said.err
    assert "Density-adaptive" in said.out
    assert (figures / "binning.png").stat().st_size > 1000


# ------------------------------------------------------------------------ everything


def test_all_gives_each_its_names_and_writes_the_page(tmp_path, capsys):
    page = tmp_path / "docs" / "paper.md"
    asked = ["--only", "penguins", "--results", tmp_path, "--page", page]
    assert run("all", *asked) == 0
    said = capsys.readouterr()
    assert "runtime: left out, it has none of the names after --only" in said.err
    assert "penguins" in said.out
    assert "Density-adaptive" in said.out  # binning has nothing to choose from
    assert said.err.endswith(f"page: {page}\n")
    assert "(`fidelity`)" in page.read_text()


def test_all_goes_on_after_a_failure_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(_catalogue, "NAMES", ("tables", "binning"))
    monkeypatch.setattr(cli, "_write_page", lambda session: session.say("page"))
    (tmp_path / "tables.csv").write_text("x,y\n")
    assert run("all", "--results", tmp_path) == 1
    said = capsys.readouterr()
    assert "tables: " in said.err
    assert "Density-adaptive" in said.out
    assert said.err.endswith("page\nfailed: tables; see above\n")


@pytest.mark.parametrize(
    ("name", "only", "kept"),
    [
        ("nmi", ("mammo", "three_lines"), ("mammo",)),
        ("nmi", ("three_lines",), None),
        ("ranks", ("mammo",), ("mammo",)),
        ("ranks", ("mammo", "KNN"), None),  # it would ask nmi for all methods
        ("boxplot", ("mammo", "KNN"), ("mammo", "KNN")),
        ("binning", ("mammo",), ()),
        ("nmi", (), ()),
    ],
)
def test_a_request_is_narrowed_to_what_an_experiment_has(name, only, kept):
    request = Request(only=only, protocols=("clean",))
    found = narrow(find_experiment(name), request)
    assert (None if found is None else found.only) == kept
    if found is not None:
        assert found.protocols == (() if name == "binning" else ("clean",))


def test_a_quick_page_lies_with_the_quick_results(tmp_path, capsys):
    assert run("page", "--quick", "--results", tmp_path) == 0
    assert "(quick runs)" in (tmp_path / "quick" / "paper.md").read_text()
    assert str(tmp_path / "quick" / "paper.md") in capsys.readouterr().err


def test_a_page_is_not_made_of_a_folder_that_is_not_there(tmp_path, capsys):
    page = tmp_path / "paper.md"
    page.write_text("kept")
    assert run("page", "--results", tmp_path / "reslts", "--page", page) == 2
    assert "reslts" in capsys.readouterr().err
    assert page.read_text() == "kept"


# ------------------------------------------------------------------------ the tables


def test_list_and_describe_the_tables(tmp_path, capsys):
    assert run("datasets", "--data-home", tmp_path) == 0
    said = capsys.readouterr().out
    assert re.search(r"penguins +344 +7 +0\.8 % +3", said)
    assert re.search(r"adult +not at hand", said)
    assert run("datasets", "describe", "penguins") == 0
    assert "Licence: " in capsys.readouterr().out


def test_fetch_a_table(tmp_path, capsys):
    assert run("datasets", "fetch", "penguins") == 0
    assert capsys.readouterr().out.startswith("island,bill_length_mm")
    path = tmp_path / "penguins.csv"
    assert run("datasets", "fetch", "penguins", "-o", path) == 0
    assert pd.read_csv(path).shape == (344, 8)


BAD_TABLES = {
    "action": (["fetc"], "invalid choice: 'fetc'", 2),
    "no name": (["fetch"], "fetch: name a table", 2),
    "name": (["describe", "penguin"], "invalid choice: 'penguin'", 2),
    "output": (["fetch", "penguins", "-o", "no/p.csv"], "non-existent directory", 1),
}


@pytest.mark.parametrize(
    ("arguments", "told", "status"), BAD_TABLES.values(), ids=BAD_TABLES
)
def test_bad_usage_of_datasets(arguments, told, status, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("datasets", *arguments) == status
    said = capsys.readouterr().err
    assert said.startswith("proximity-kernel-paper datasets: ")
    assert told in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())
