"""What commands print beside their results."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import run_inside
from rich.console import Console

from proximity_kernel import ProximityImputer
from proximity_kernel.cli import explain_command as explain
from proximity_kernel.cli.filled_cells import _round_times


def test_the_summary_is_short_and_tells_what_sets_clusters_apart(tmp_path, capfd):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(60)))
    assert run_inside("cluster", path, "-k", "30", "-o", tmp_path / "c.csv") == 0
    said = capfd.readouterr().err
    assert "and 10 more (--profiles" in said
    assert len(re.findall(r"^ +\d+ +\d+ +\d+ %", said, re.MULTILINE)) == 20
    assert run_inside("cluster", path, "-k", "1", "-o", tmp_path / "c.csv") == 0
    assert re.search(r"0 +60 +100 % +mixed", capfd.readouterr().err)


def test_few_rows_have_few_neighbors(tmp_path, capfd):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\n2,b\n1,a\n")
    assert run_inside("neighbors", path, "--quiet") == 0
    assert len(capfd.readouterr().out.splitlines()) == 1 + 3 * 2


def test_parts_of_many_columns_have_more_digits(capsys):
    features = [
        SimpleNamespace(name=f"c{j}", contribution=0.005, reason="same", a="x", b="x")
        for j in range(200)
    ]
    why = SimpleNamespace(similarity=1.0, features=features)
    Console(width=60).print(*explain.draw_explanation(why, "1", "2"))
    assert re.search(r"^c7 +0\.0050 +same", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize("command", ["look", "cluster", "outliers", "impute"])
def test_doubts_about_the_table_are_recalled_at_the_end(command, tmp_path, capfd):
    path = tmp_path / "t.csv"
    ages = [*range(20, 48), -99, -99]
    frame = pd.DataFrame({"age": ages, "land": "DE", "sex": list("fm") * 15})
    frame.to_csv(path, index=False)
    assert run_inside(command, path) == 0
    lines = capfd.readouterr().err.splitlines()
    doubts = [line for line in lines if line.startswith("Check: ")]
    assert doubts[0].startswith("Check: 'age': -99 (2 cells) may stand for")
    assert len(doubts) == 2
    assert lines[-1] == "2 lines above to check, marked 'Check:'."
    assert run_inside(command, path, "--na=-99", "--drop", "land") == 0
    assert "above to check" not in capfd.readouterr().err
    assert run_inside(command, path, "--quiet") == 0
    assert capfd.readouterr().err == ""


def test_look_names_far_values_and_their_rows(tmp_path, capfd):
    path = tmp_path / "t.csv"
    days = [f"2020-01-{i:02d}" for i in range(1, 31)]
    frame = pd.DataFrame(
        {"kg": [*range(60, 90)], "age": [*range(29), 999], "day": days, "a": "x"}
    )
    frame.loc[3, "kg"], frame.loc[7, "day"] = 812, "1900-01-01"
    frame.to_csv(path, index=False)
    assert run_inside("look", path) == 0
    lines = capfd.readouterr().err.splitlines()
    far = "Far from all other numbers of their column: day 1900-01-01 in row 8; kg 812"
    assert any(line.startswith(f"Check: {far}") for line in lines)
    assert any("'age': 999 (1 cell) may stand for" in line for line in lines)
    assert run_inside("look", path, "--only", "a") == 0
    assert "Far" not in capfd.readouterr().err


def test_a_constant_column_is_said_once_with_what_it_does(tmp_path, capfd):
    path, out = tmp_path / "t.csv", tmp_path / "z.npz"
    frame = pd.DataFrame(
        {"x": [1, 2, 3] * 9, "land": "DE", "n": 5, "y": list("abc") * 9}
    )
    frame.to_csv(path, index=False)
    assert run_inside("represent", path, "-o", out) == 0
    said = capfd.readouterr().err
    assert said.count("one value") == 1
    assert "one value only in 'land' and 'n': it adds" in said
    assert "(--drop leaves a column out)" in said
    with_both = sp.load_npz(out)
    assert run_inside("represent", path, "-o", out, "--drop", "land,n") == 0
    assert "one value" not in capfd.readouterr().err
    without = sp.load_npz(out)
    difference = (with_both @ with_both.T - without @ without.T).toarray()
    np.testing.assert_allclose(difference, 2, atol=1e-5)


def test_a_row_that_is_not_found_can_be_called_by_a_column(tmp_path, capfd):
    path = tmp_path / "t.csv"
    path.write_text("x,code\n" + "".join(f"{i % 3},k{i // 2}\n" for i in range(12)))
    assert run_inside("explain", path, "k1", "2") == 2
    last = capfd.readouterr().err.splitlines()[-1]
    assert last.endswith("; --id COL says which column has ids.")
    assert run_inside("explain", path, "k99", "2", "--id", "code") == 2
    assert "--id COL" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("step", "written"),
    [
        ("D", r"[/\d]{10} 00:00:00"),
        ("h", r"[/\d]{10} \d\d:00:00"),
        ("min", r"[/\d]{10} \d\d:\d\d:00"),
        ("s", r"[/\d]{10} \d\d:\d\d:\d\d"),
    ],
)
def test_filled_times_are_as_fine_as_the_others(tmp_path, step, written):
    path, out = tmp_path / "t.csv", tmp_path / "f.csv"
    rng = np.random.default_rng(0)
    seconds = pd.to_timedelta(rng.integers(0, 3e7, 60), unit="s")
    when = pd.Series(pd.Timestamp("2018-01-01") + seconds).dt.floor(step)
    group = np.where(when < when.median(), "early", "late")
    hole = np.arange(60) % 7 == 3
    text = when.dt.strftime("%d/%m/%Y %H:%M:%S").mask(hole)
    pd.DataFrame({"when": text, "group": group}).to_csv(path, index=False)
    assert run_inside("impute", path, "-o", out) == 0
    cells = [line.split(",")[0] for line in out.read_text().splitlines()[1:]]
    assert all(re.fullmatch(written, cell) for cell in cells), cells
    table = pd.DataFrame({"when": when.mask(hole), "group": group})
    truth = ProximityImputer().fit_transform(table)["when"].dt.round(step)
    found = pd.to_datetime(pd.Series(cells), format="%d/%m/%Y %H:%M:%S")
    assert found.tolist() == truth.tolist()


def test_times_when_a_clock_is_set_back_stay_as_they_are():
    zone = "Europe/Berlin"
    held = pd.Series(pd.to_datetime(["2020-10-24 22:00", "2020-10-25 00:00", None]))
    held = held.dt.tz_localize("UTC").dt.tz_convert(zone)
    odd = pd.Timestamp("2020-10-25 01:10", tz="UTC").tz_convert(zone)
    found = _round_times(held.dropna(), held.fillna(odd))
    assert found[:2].tolist() == held[:2].tolist()
    assert found[2] == odd
