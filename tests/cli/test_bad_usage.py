"""Every command on bad input: one line that names it, exit status 2, nothing left."""

import re

import pytest
from command_line import fill_folder, run_inside, run_installed

from proximity_kernel.cli import fitting


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fill_folder(tmp_path_factory.mktemp("tables"))


# ------------------------------------------------------ bad input, as it is installed

TABLE = "patients.csv"
COMMON = {
    "no such file": (["nothing.csv"], "nothing.csv: there is no such file"),
    "no table": (["page.csv"], "page.csv: this is a web page"),
    "ragged": (["ragged.csv"], "ragged.csv: line 3 has 3 fields"),
    "empty": (["empty.csv"], "empty.csv: the file is empty"),
    "wrong column": ([TABLE, "--drop", "agee"], "--drop agee: .* mean 'age'"),
    "bad value": ([TABLE, "--bins", "1"], "--bins: takes a whole number of at least 2"),
    "output": ([TABLE, "-o", "no/where.csv"], "--output no/where.csv: there is no f"),
    "onto itself": ([TABLE, "-o", TABLE], "--output patients.csv: .* an input file"),
    "bad ending": ([TABLE, "-o", "a.doc"], "--output a.doc: it ends in .doc"),
    "damaged model": ([TABLE, "--model", "damaged.pk"], "--model: damaged.pk is no"),
    "no model": ([TABLE, "--model", "no.pk"], "--model: no.pk does not exist"),
}
# Of each command, what follows the table; five of the above through the program, and
# what only it can be asked wrongly.
COMMANDS = {
    "cluster": ([], ["no such file", "ragged", "wrong column", "output", "bad value"]),
    "neighbors": (
        [],
        ["no table", "empty", "bad value", "onto itself", "no such file"],
    ),
    "outliers": ([], ["empty", "bad ending", "wrong column", "output", "no table"]),
    "represent": ([], ["bad ending", "no table", "bad value", "output", "empty"]),
    "impute": ([], ["no such file", "ragged", "output", "no table", "bad ending"]),
    "explain": (
        ["1", "2"],
        ["no such file", "no table", "bad value", "output", "empty"],
    ),
}
OWN = {
    "cluster": {
        "many": ([TABLE, "-k", "999"], "-k 999: .* 300 rows"),
        "count": (
            [TABLE, "-k", "some"],
            "-k: takes a whole number of at least 1, or auto",
        ),
        "report": ([TABLE, "--report", "no/r.html"], "--report no/r.html: there is no"),
        "a page": (
            [TABLE, "--report", "r.pdf"],
            "--report r.pdf: it ends in .pdf; allowed: .html",
        ),
        "two outputs": ([TABLE, "-o", "x.csv", "--profiles", "x.csv"], "writes there"),
        "with a model": (
            [TABLE, "--model", "m", "-k", "3"],
            "-k: this was set when the model was fitted",
        ),
        "a weight": (
            [TABLE, "--model", "m", "--weight", "age=2"],
            "--weight: this was set",
        ),
        "a marker": ([TABLE, "--model", "m", "--na-only"], "--na-only: this was set"),
        "an order": (
            [TABLE, "--model", "m", "--day-first"],
            "--day-first or --month-first: this was",
        ),
        "both": (
            [TABLE, "--model", "m", "--save-model", "n"],
            "--save-model: this was",
        ),
        "a web address": (["https://a.org/b.csv"], "b.csv: web addresses are not"),
    },
    "neighbors": {
        "row": (
            [TABLE, "--of", "P99999"],
            "--of P99999: .* none has this patient_id or row number",
        ),
        "alone": (["one.csv"], "one.csv: there is no other row"),
        "many": ([TABLE, "-k", "300"], "-k 300: there are 299 rows"),
        "queries": ([TABLE, "--queries", "empty.csv"], "empty.csv: the file is empty"),
        "both": ([TABLE, "--queries", "few.csv", "--model", "m"], "--queries: with"),
    },
    "outliers": {
        "alone": (["one.csv"], "one.csv: there is no other row"),
        "share": ([TABLE, "--share", "0.9"], "--share: takes a number above 0"),
        "with a model": (
            [TABLE, "--model", "m", "--share", "0.1"],
            "--share: this was set",
        ),
        "top": ([TABLE, "--top", "0"], "--top: takes a whole number of at least 1"),
        "cascade": ([TABLE, "--matching", "cascade"], "--matching cascade: .*scores"),
    },
    "explain": {"row": ([TABLE], "0: patients.csv has 300 rows")},
    "impute": {
        "strategy": ([TABLE, "--strategy", "median"], "--strategy: invalid choice"),
        "second": (
            [TABLE, "--uncertainty", "no/u.csv"],
            "--uncertainty no/u.csv: there",
        ),
    },
    "represent": {"sheet": ([TABLE, "--sheet", "1"], "--sheet: patients.csv is text")},
}


def _check_refusal(status, said, expected, name):
    last = said.splitlines()[-1]
    assert status == 2, said
    assert re.match(rf"proximity-kernel {name}: .*({expected})", last), last
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name, (_, kinds) in COMMANDS.items() for kind in kinds],
)
def test_bad_input_as_installed(folder, name, kind):
    (file, *more), said = COMMON[kind]
    done = run_installed(name, file, *COMMANDS[name][0], *more, "--quiet", cwd=folder)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    _check_refusal(done.returncode, done.stderr, said, name)


@pytest.mark.parametrize("name", COMMANDS)
def test_bad_input(folder, monkeypatch, capfd, name):
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    for (file, *more), said in (*COMMON.values(), *OWN[name].values()):
        rows = COMMANDS[name][0]
        if said == OWN["explain"]["row"][1]:
            rows = ["1", "0"]
        status = run_inside(name, file, *rows, *more)
        _check_refusal(status, capfd.readouterr().err, said, name)
    assert sorted(path.name for path in folder.iterdir()) == before


DEMO = {
    "folder": (["--report", "."], r"--report \.: this is a folder"),
    "nowhere": (["--report", "no/r.html"], "--report no/r.html: there is no folder"),
    "below a file": (
        ["--report", "a/r.html"],
        "--report a/r.html: .*(folder|directory)",
    ),
    "ending": (["--report", "page"], "--report page: it has no ending; allowed: .html"),
    "option": (["--raport", "r.html"], ".*unrecognized arguments: --raport"),
    "no value": (["--report"], "argument --report: expected one argument"),
}


@pytest.mark.parametrize(("arguments", "said"), DEMO.values(), ids=DEMO)
def test_bad_input_of_demo(arguments, said, tmp_path):
    (tmp_path / "a").touch()
    done = run_installed("demo", *arguments, cwd=tmp_path)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 2
    assert re.search(said, last), last
    assert done.stdout == ""


USED = ("age", "weight", "sex", "visit", "ward", "score")  # columns of patients.csv
VALUES = {
    "separator": (["--sep", "xx"], "--sep: takes one character, or one of tab"),
    "quote": (["--sep", '"'], "--sep: takes one character"),
    "bins": (["--bins", "x"], "--bins: takes a whole number of at least 2, or auto"),
    "no clusters": (["-k", "0"], "-k: takes a whole number of at least 1, or auto"),
    "weight": (["--weight", "age"], "--weight: takes a column and a number of at"),
    "negative": (["--weight", "age=-1"], "--weight: takes a column and a number"),
    "no column": (["--weight", "agee=2"], "--weight agee: .* no such.* mean 'age'"),
    "weight of an id": (
        ["--weight", "patient_id=2"],
        "--weight patient_id: .* has this column, but it is not compared",
    ),
    "two weights": (
        ["--weight", "age=2", "--weight", "age=3"],
        "--weight age: given twice",
    ),
    "weights 0": (
        [f"--weight={name}=0" for name in USED],
        "--weight is 0 for every",
    ),
    "matching": (["--matching", "exact"], "--matching: invalid choice"),
    "seed": (["--seed", "1.5"], "--seed: takes a whole number of at least 0"),
    "decimal": (["--decimal", ";"], "--decimal: invalid choice"),
    "both orders": (
        ["--day-first", "--month-first"],
        "--month-first: not allowed",
    ),
    "folder": (["--profiles", "."], r"--profiles \.: this is a folder"),
}


@pytest.mark.parametrize(("arguments", "said"), VALUES.values(), ids=VALUES)
def test_bad_values_of_options(folder, monkeypatch, capfd, arguments, said):
    monkeypatch.chdir(folder)
    status = run_inside("cluster", "patients.csv", *arguments)
    _check_refusal(status, capfd.readouterr().err, said, "cluster")


def test_good_values_of_options(folder, capfd):
    given = ("--sep", "\\t", "--bins", "auto", "-k", "auto", "--share", "0.1")
    table = folder / "tabs.tsv"
    table.write_text("x\ty\n" + "1\ta\n2\tb\n" * 9, encoding="utf-8")
    assert run_inside("cluster", table, *given[:6]) == 0
    assert "18 rows, 2 columns, separator tab" in capfd.readouterr().err
    assert run_inside("outliers", table, *given[6:], "--reasons", "0") == 0
    assert capfd.readouterr().out.startswith("row,score,outlier,reasons\n")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError("9 GiB"), "out of memory (9 GiB)."),
        (OSError(28, "No space left", "c.csv"), "c.csv: No space left"),
        (ValueError("of numpy's"), "ValueError: of numpy's (--debug shows where)"),
    ],
)
def test_failures_end_with_status_1(folder, monkeypatch, capfd, error, said):
    def fail(*_):
        raise error

    monkeypatch.setattr(fitting, "make_kernel", fail)
    assert run_inside("cluster", folder / "patients.csv", "--quiet") == 1
    assert capfd.readouterr().err == f"proximity-kernel cluster: {said}\n"
