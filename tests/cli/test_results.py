"""What a terminal shows, and `look`."""

import sys
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from command_line import N_ROWS, fill_folder, run_inside

from proximity_kernel import (
    ProximityImputer,
    ProximityKernel,
    ProximityOutliers,
    explain,
    read_table,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fill_folder(tmp_path_factory.mktemp("tables"))


@pytest.fixture
def run_in_terminal(capsys, monkeypatch):
    """Run a command with standard output taken for a terminal; what it printed."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "dumb")  # without escapes for bold letters

    def run(*arguments):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        assert run_inside(*arguments) == 0
        return capsys.readouterr()

    return run


def lines_below_head(text):
    lines = text.splitlines()
    return lines[1 + next(i for i, line in enumerate(lines) if set(line) == {"─"}) :]


@pytest.mark.parametrize("name", ["cluster", "represent"])
def test_a_terminal_shows_ten_rows(folder, run_in_terminal, name):
    said = run_in_terminal(name, folder / "patients.csv")
    assert len(lines_below_head(said.out)) == 10
    assert f"10 of {N_ROWS:,} rows; -o FILE writes all of them" in said.err


def test_a_terminal_shows_the_most_similar_rows_and_a_scale(folder, run_in_terminal):
    said = run_in_terminal("neighbors", folder / "patients.csv")
    table = read_table(folder / "patients.csv")
    pk = ProximityKernel("fine", rarity=0.5, dtype=np.float64).fit(table.frame)
    full = pk.model_.full_score(0.0)  # what a row with the same values would score
    scores = full.of(pk.transform(table.frame)) / full.n_features
    K = pk.kernel(table.frame) / scores[:, None]
    pairs = K[~np.eye(len(K), dtype=bool)]  # in both directions
    np.fill_diagonal(K, 0)
    ids = table.ids["patient_id"]
    a, b = np.unravel_index(K.argmax(), K.shape)
    assert f"similar rows are {ids[a]} and {ids[b]}: {K[a, b]:.3f}." in said.err
    nearest = f"{np.median(K.max(axis=1)):.2f} between a row and its nearest row, "
    by_chance = f"{np.median(pairs):.2f} between two random rows."
    assert f"usually {nearest}and {by_chance}" in said.err
    lines = [line.split() for line in lines_below_head(said.out)]
    assert len(lines) == 10
    first = lines[0]
    assert first[:3] == [ids[0], ids[K[0].argmax()], f"{K[0].max():.3f}"]
    why = explain(
        pk,
        table.frame.iloc[[0]],
        table.frame.iloc[[K[0].argmax()]],
    )
    shared = [one for one in why.features if one.alike.startswith("same")]
    known = [one for one in why.features if None not in (one.a.value, one.b.value)]
    n = len([one for one in shared if one in known])
    assert " ".join(first[3:]).startswith(f"{n} of {len(known)}: ")
    assert len(known) < len(why.features)
    assert f"-o FILE writes the 5 nearest rows of {N_ROWS} rows" in said.err


def test_a_terminal_shows_all_neighbors_of_few_rows(folder, run_in_terminal):
    asked = ("neighbors", folder / "patients.csv", "--of", "P00007", "-k", 3)
    said = run_in_terminal(*asked)
    assert "The most similar rows" not in said.err
    assert "between two random rows" in said.err
    assert [line.split()[0] for line in lines_below_head(said.out)] == ["P00007"] * 3
    assert "-o FILE" not in said.err


def test_a_terminal_shows_neighbors_among_the_rows_of_a_model(
    folder, run_in_terminal, tmp_path
):
    old, new = folder / "patients.csv", folder / "few.csv"
    saved = ("--save-model", tmp_path / "m.pk")
    assert run_inside("neighbors", old, *saved, "-o", tmp_path / "n.csv") == 0
    said = run_in_terminal("neighbors", new, "--model", tmp_path / "m.pk", "-k", 1)
    lines = [line.split() for line in lines_below_head(said.out)]
    assert [len(line) for line in lines] == [3] * 5  # the rows of the model are gone
    said = run_in_terminal("neighbors", old, "--queries", new, "-k", 1)
    again = [line.split() for line in lines_below_head(said.out)]
    assert [line[:3] for line in again] == lines
    assert all("of" in line for line in again)


def test_columns_missing_in_both_rows_are_not_shared(tmp_path, run_in_terminal):
    table = pd.DataFrame({f"x{k}": ["a", "b", *[None] * 18] for k in range(7)})
    table["y"], table["z"] = np.arange(20) // 2, np.repeat(list("abcdefghij"), 2)
    table.to_csv(tmp_path / "t.csv", index=False)
    said = run_in_terminal("neighbors", tmp_path / "t.csv", "--of", "9", "-k", 1).out
    assert "2 of 2: y and z; 7 missing in both" in said


def test_rows_with_one_id_are_told_apart_by_their_numbers(tmp_path, run_in_terminal):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((40, 4)), columns=list("wxyz"))
    table.insert(0, "id", [f"K{i:03}" for i in range(40)])
    table.loc[25] = table.loc[7]
    table.to_csv(tmp_path / "t.csv", index=False)
    given = (tmp_path / "t.csv", "--id", "id")
    said = run_in_terminal("neighbors", *given)
    assert "Rows K007 (#8) and K007 (#26) have the same cells" in said.err
    said = run_in_terminal("neighbors", *given, "--of", "#8", "-k", 1).out
    assert lines_below_head(said)[0].startswith("K007 (#8)   K007 (#26)        1.000")
    said = run_in_terminal("outliers", *given).out
    assert said.split()[:3] == ["id", "row", "score"]


def test_equal_rows_are_named(tmp_path, run_in_terminal):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.random(30), "y": rng.choice(list("ab"), 30)})
    table.loc[8, "x"] = None
    table.loc[11] = table.loc[4]
    table.to_csv(path, index=False)
    said = run_in_terminal("neighbors", path)
    assert "Rows 5 and 12 have the same cells in every compared column." in said.err
    table.loc[[20, 21]] = table.loc[[8, 8]].to_numpy()
    table.to_csv(path, index=False)
    said = run_in_terminal("neighbors", path)
    assert "5 rows have the same cells as another row in every compared " in said.err
    assert "column: 5 and 12; 9, 21 and 22." in said.err


def test_a_terminal_shows_the_clusters_before_the_rows(
    folder, run_in_terminal, monkeypatch
):
    monkeypatch.setattr(sys, "stderr", sys.stdout)
    lines = run_in_terminal("cluster", folder / "patients.csv").out.splitlines()
    at = {
        "clusters": next(i for i, one in enumerate(lines) if "typical values" in one),
        "groups": next(i for i, one in enumerate(lines) if "separate groups" in one),
        "rows": next(i for i, one in enumerate(lines) if one.startswith("patient_id")),
    }
    assert sorted(at, key=at.get) == ["clusters", "groups", "rows"]
    assert lines[at["groups"]].endswith(" -k sets another number.")
    assert lines[at["rows"]].split() == ["patient_id", "cluster"]


def test_a_terminal_shows_what_was_filled(folder, run_in_terminal, capsys):
    path = folder / "patients.csv"
    said = run_in_terminal("impute", path)
    lines = [line for line in lines_below_head(said.out) if line[0] != " "]
    shown = {line.split()[0]: line.split()[1:] for line in lines}
    table = read_table(path)
    assert run_inside("impute", path, "--format", "csv", "--quiet") == 0
    filled = pd.read_csv(StringIO(capsys.readouterr().out), sep=None, engine="python")
    gaps = table.missing
    assert set(shown) == {name for name in gaps if gaps[name].any()}
    for name, (n_filled, *_) in shown.items():
        assert int(n_filled) == gaps[name].sum()
    cells = filled["weight"][gaps["weight"]].sort_values(
        key=lambda one: one.str.replace(",", ".").astype(float)
    )
    assert shown["weight"][1:4] == [cells.iloc[0], "to", cells.iloc[-1]]
    first = int(np.argmax(gaps["sex"]))
    unsure = ProximityImputer().fit(table.frame).uncertainty(table.frame)
    share = f"({100 * (1 - unsure['sex'][first]):.0f} % sure)"
    example = f"row {filled['patient_id'][first]}: {filled['sex'][first]} {share}"
    assert " ".join(shown["sex"]).endswith(example)
    assert "-o FILE writes the filled table" in said.err


def test_of_many_columns_a_terminal_shows_what_was_filled_in_some(
    tmp_path, run_in_terminal
):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, (40, 20))).add_prefix("c")
    frame.mask(rng.random(frame.shape) < 0.2).to_csv(tmp_path / "t.csv", index=False)
    said = run_in_terminal("impute", tmp_path / "t.csv")
    assert len(lines_below_head(said.out)) == 15
    assert "and 5 more columns" in said.err
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = run_in_terminal("impute", tmp_path / "t.csv")
    assert said.out == ""
    assert "0 missing cells filled" in said.err


def test_a_format_asks_for_all_rows(folder, run_in_terminal):
    said = run_in_terminal("cluster", folder / "patients.csv", "--format", "csv")
    assert len(said.out.splitlines()) == 1 + N_ROWS


def test_a_terminal_shows_the_most_unusual_rows(folder, run_in_terminal):
    said = run_in_terminal("outliers", folder / "patients.csv")
    table = read_table(folder / "patients.csv")
    scores = ProximityOutliers().fit(table.frame).score_samples(table.frame)
    first = table.ids["patient_id"][int(np.argmin(scores))]
    assert lines_below_head(said.out)[0].startswith(first)


def test_outliers_that_are_none_are_not_called_so(tmp_path, run_in_terminal, capsys):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    table = {"x": rng.integers(0, 4, 60), "y": rng.choice(list("abc"), 60)}
    pd.DataFrame(table).to_csv(path, index=False)
    said = run_in_terminal("outliers", path)
    assert "None of 60 rows is an outlier: the highest score is " in said.err
    assert "The 10 most unusual rows:" in said.err
    assert said.out.split()[:3] == ["row", "score", "reasons"]
    assert run_inside("outliers", path, "--format", "csv") == 0
    said = capsys.readouterr()
    assert "most unusual" not in said.err
    assert all(line.endswith(",False,") for line in said.out.splitlines()[1:])


def test_only_outliers_are_shown_each_reason_in_a_line(tmp_path, run_in_terminal):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.integers(0, 40, 90), "y": ["a"] * 89 + ["b"]})
    table.loc[7, "x"] = 9_999_999
    table.loc[89, "x"] = 8_888_888
    table.to_csv(path, index=False)
    said = run_in_terminal("outliers", path)
    assert "2 of 90 rows are outliers: the score is above " in said.err
    assert ". 1 % of rows sampled from the fitted model score above " in said.err
    assert "most unusual" not in said.err
    lines = [" ".join(line.split()) for line in lines_below_head(said.out)]
    assert lines[0].startswith("8 ")
    assert " x 9999999: " in lines[0]
    assert lines[1].startswith("90 ")
    assert " x 8888888: " in lines[1]
    assert lines[2] == "y b: a expected"


def test_reasons_of_gaps_that_count_as_values(tmp_path, run_in_terminal):
    path = tmp_path / "t.csv"
    ward = ["a"] * 40 + ["b"] * 40
    table = pd.DataFrame({"ward": ward, "lab": [1.5, 2.5] * 20 + [None] * 40})
    table.loc[3, "lab"] = None
    table.to_csv(path, index=False)
    said = run_in_terminal("outliers", path, "--missingness", "informative")
    assert "lab missing: a value expected with ward a" in said.out


def test_few_rows_are_shown_without_a_remark(tmp_path, run_in_terminal):
    pd.DataFrame({"x": [1, 2, 1], "y": list("aba")}).to_csv(tmp_path / "t.csv")
    said = run_in_terminal("cluster", tmp_path / "t.csv", "-k", "2")
    assert "-o FILE" not in said.err


def test_look_shows_how_a_file_is_read(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert run_inside("look", folder / "patients.csv", "--drop", "ward") == 0
    said = capsys.readouterr()
    shown = {line.split()[0]: line for line in lines_below_head(said.out)}
    assert "id, not compared" in shown["patient_id"]
    assert shown["visit"].split()[1] == "dates"
    assert "left out" in shown["notes"]
    assert "left out" in shown["ward"]
    frame = read_table(folder / "patients.csv").frame
    assert f"{100 * frame['age'].isna().mean():.0f} %" in shown["age"]
    assert f"{frame['age'].min():g} to {frame['age'].max():g}" in shown["age"]
    assert "m, f" in shown["sex"] or "f, m" in shown["sex"]
    assert "'visit' read as dates" in said.err


@pytest.mark.parametrize(
    "text",
    [
        "letter\ncolor\n",
        "letter, color",
        "| of 2020\nletter: continuous.\ncolor: red, tan.",
    ],
)
def test_names_from_a_file(tmp_path, capsys, text):
    (tmp_path / "t.csv").write_text("1,red\n2,tan\n1,red\n")
    (tmp_path / "t.names").write_text(text)
    assert run_inside("look", tmp_path / "t.csv", "--names", tmp_path / "t.names") == 0
    shown = [line.split()[0] for line in lines_below_head(capsys.readouterr().out)]
    assert shown == ["letter", "color"]


def test_names_from_a_file_that_is_not_there(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("1,red\n2,tan\n")
    assert run_inside("look", tmp_path / "t.csv", "--names", "no.names") == 2
    said = "--names: cannot read no.names: No such file"
    assert said in capsys.readouterr().err
