"""Every command on real files, beside the library's own answers."""

import io
import json
import os
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import N_ROWS, fill_folder, make_table, run_inside, run_installed

from proximity_kernel import (
    ProximityImputer,
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
    explain,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fill_folder(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def values():
    return make_table(N_ROWS)[0]


@pytest.fixture(scope="module")
def ids():
    return [f"P{i:05d}" for i in range(N_ROWS)]


# ----------------------------------------------------- real files, as it is installed


def test_cluster(folder, tmp_path, values, ids):
    out, told = tmp_path / "c.csv", tmp_path / "profiles.json"
    done = run_installed(
        "cluster", folder / "patients.csv", "-k", 3, "-o", out, "--profiles", told
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    truth = ProximityKMeans(3, random_state=0).fit(values)
    found = pd.read_csv(out)
    table = pd.read_csv(folder / "patients.csv", sep=";")
    assert found.columns.to_list() == [*table, "cluster", "distance"]
    pd.testing.assert_frame_equal(found[list(table)], table)
    assert found["patient_id"].to_list() == ids
    np.testing.assert_array_equal(found["cluster"], truth.labels_)
    nearest = truth.transform(values).min(axis=1)
    np.testing.assert_allclose(found["distance"], nearest, atol=1e-6)
    assert [one["feature"] for one in json.loads(told.read_text())] == [
        one["feature"] for one in truth.profiles_
    ]
    assert "taken as id, not compared: 'patient_id'" in done.stderr
    sizes = re.findall(r"^ +\d+ +(\d+) +\d+ %", done.stderr, flags=re.MULTILINE)
    assert sum(map(int, sizes)) == N_ROWS


def test_neighbors(folder, values, ids):
    done = run_installed(
        "neighbors", folder / "patients.csv", "-k", 2, "--of", "P00007", "--of", "12"
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split(",") for line in done.stdout.splitlines()]
    assert lines[0] == [
        "row", "rank", "neighbor", "similarity", "patient_id", "neighbor_patient_id",
    ]  # fmt: skip
    pk = ProximityKernel("fine", rarity=0.5).fit(values)
    K = pk.kernel(values)
    expected = []
    for row in (7, 11):
        others = [i for i in np.argsort(-K[row], kind="stable") if i != row][:2]
        expected += [(row + 1, k + 1, i + 1, ids[i]) for k, i in enumerate(others)]
    found = [(int(a), int(b), int(c), e) for a, b, c, _, _, e in lines[1:]]
    assert found == expected
    near = ProximityNeighbors(2, kernel=pk).fit(values)
    distances, _ = near.kneighbors(values.iloc[[7]], 3)
    shares = 1 - distances
    assert float(lines[1][3]) == pytest.approx(max(shares[0, 1:]), abs=1e-6)


def test_outliers(folder, tmp_path, values, ids):
    out = tmp_path / "o.parquet"
    done = run_installed("outliers", folder / "patients.csv", "--top", 4, "-o", out)
    assert done.returncode == 0, done.stderr
    truth = ProximityOutliers().fit(values)
    scores = -truth.score_samples(values)
    order = np.argsort(-scores, kind="stable")[:4]
    found = pd.read_parquet(out)
    assert found["patient_id"].to_list() == [ids[i] for i in order]
    np.testing.assert_allclose(found["score"], scores[order], atol=1e-6)
    assert found["outlier"].to_list() == (scores[order] > -truth.offset_).tolist()
    for why, said in zip(
        truth.reasons(values.iloc[order]), found["reasons"], strict=True
    ):
        assert said == "; ".join(map(str, why))


def test_cells(folder, capsys, values, ids):
    assert run_inside("outliers", folder / "patients.csv", "--cells", "--top", "5") == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    truth = ProximityOutliers().fit(values)
    cells = truth.score_cells(values).to_numpy()
    order = np.argsort(-cells, axis=None, kind="stable")[:5]
    row, feature = np.divmod(order, cells.shape[1])
    assert found["patient_id"].to_list() == [ids[i] for i in row]
    assert found["column"].to_list() == [values.columns[j] for j in feature]
    np.testing.assert_allclose(found["score"], cells.ravel()[order], atol=1e-6)
    for i, name, said in zip(row, found["column"], found["reason"], strict=True):
        reasons = truth.reasons(values.iloc[[i]], len(values.columns))[0]
        assert said in [str(one) for one in reasons if one.feature == name]


def test_an_impossible_cell_is_listed_though_its_row_is_no_outlier(tmp_path):
    """A man on a ward with 49 women; the limit of rows with many numbers is higher."""
    rng = np.random.default_rng(0)
    ward = np.repeat(["women", "heart", "brain"], [50, 250, 250])
    table = pd.DataFrame({"ward": ward, "sex": rng.choice(["F", "M"], len(ward))})
    table.loc[:49, "sex"] = "F"
    for name in "abcdefghijkl":
        table[name] = rng.normal(size=len(table)).round(2)
    table.loc[7, "sex"] = "M"
    path, out = tmp_path / "wards.csv", tmp_path / "cells.csv"
    table.to_csv(path, index=False)
    assert run_inside("outliers", path, "--cells", "-o", out) == 0
    found = pd.read_csv(out)
    said = found[(found["row"] == 8) & (found["column"] == "sex")]["reason"].to_list()
    assert said == ["sex M: F expected with ward women"]
    assert run_inside("outliers", path, "-o", out) == 0
    assert not pd.read_csv(out)["outlier"][7]


def test_weights_of_columns(folder, tmp_path, values):
    given = ("--weight", "age=3", "--weight", "ward=0", "-o", tmp_path / "z.npz")
    assert run_inside("represent", folder / "patients.csv", *given) == 0
    pk = ProximityKernel(feature_weights={"age": 3, "ward": 0}).fit(values)
    found = sp.load_npz(tmp_path / "z.npz").toarray()
    np.testing.assert_allclose(found, pk.transform(values).toarray(), atol=1e-6)


def test_represent_and_a_model_for_new_rows(folder, tmp_path, values, capfd):
    model = tmp_path / "m.pk"
    done = run_installed(
        "represent", folder / "patients.csv", "--bins", 3, "--save-model", model,
        "-o", tmp_path / "z.npz",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    Z = ProximityKernel(n_bins=3).fit(values).transform(values)
    found = sp.load_npz(tmp_path / "z.npz")
    np.testing.assert_allclose(found.toarray(), Z.toarray(), atol=1e-6)
    assert run_inside("represent", folder / "few.csv", "--model", model) == 0
    again = capfd.readouterr().out
    rows = [line.split(",")[1:] for line in again.splitlines()[1:]]
    np.testing.assert_allclose(np.array(rows, float), Z[:5].toarray(), atol=1e-6)


def test_explain(folder, tmp_path, values, capfd, monkeypatch):
    out = tmp_path / "why.json"
    asked = ("explain", folder / "patients.csv", "P00007", "#12")
    done = run_installed(*asked, "-o", out)
    assert done.returncode == 0, done.stderr
    near = ProximityNeighbors(n_neighbors=len(values)).fit(values)
    truth = explain(near, values.iloc[[7]], values.iloc[[11]])
    distances, order = near.kneighbors(values.iloc[[7]])
    similarity = 1 - distances
    assert truth.similarity == pytest.approx(similarity[order == 11].item())
    rows = json.loads(out.read_text())
    assert [row["feature"] for row in rows] == [one.name for one in truth.features]
    parts = [row["contribution"] for row in rows]
    np.testing.assert_allclose(parts, [one.contribution for one in truth.features])
    assert rows[0]["similarity"] == pytest.approx(truth.similarity)
    monkeypatch.setenv("COLUMNS", "60")
    assert run_inside(*asked) == 0
    shown = capfd.readouterr().out
    assert f"similarity {truth.similarity:.3f}" in shown
    assert re.search("alike +P00007 +P00011", shown)  # the ids, also of row 12
    assert max(map(len, shown.splitlines())) <= 60
    for one in truth.features:
        assert re.search(rf"{one.name} +{one.contribution:.3f} +{one.alike}", shown)


def test_demo_with_a_report(tmp_path):
    env = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = run_installed("demo", "--report", tmp_path / "page.html", env=env)
    assert done.returncode == 0, done.stderr
    assert "344 penguins" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html")
    assert "Palmer penguins" in page


def test_impute(folder, tmp_path, values):
    doubts = tmp_path / "u.csv"
    done = run_installed(
        "impute", folder / "patients.csv", "--format", "jsonl", "--uncertainty", doubts
    )
    assert done.returncode == 0, done.stderr
    found = pd.DataFrame([json.loads(line) for line in done.stdout.splitlines()])
    written = pd.read_csv(folder / "patients.csv", sep=";", dtype=str)
    assert found.columns.to_list() == written.columns.to_list()
    assert found["remark"].to_list() == written["remark"].to_list()
    imputer = ProximityImputer().fit(values)
    truth, uncertainty = imputer.transform(values), imputer.uncertainty(values)
    np.testing.assert_array_equal(found["age"], truth["age"].round())
    np.testing.assert_allclose(found["weight"], truth["weight"].round(1))
    assert found["score"][0] == "unknown"  # a word is no gap
    assert found["sex"].to_list() == truth["sex"].to_list()
    days = pd.to_datetime(found["visit"])
    assert (days.to_numpy() == truth["visit"].dt.round("D").to_numpy()).all()
    np.testing.assert_allclose(pd.read_csv(doubts)["age"], uncertainty["age"])
    n_filled = int(values.drop(columns="score").isna().to_numpy().sum())
    assert f"{n_filled} missing cells filled" in done.stderr


# ------------------------------------------------------------------- what else they do


def test_neighbors_of_other_rows_and_by_a_model(folder, tmp_path, capfd, values):
    model = tmp_path / "m.pk"
    asked = ("neighbors", folder / "patients.csv", "-k", 3, "--quiet")
    assert run_inside(*asked, "--queries", folder / "few.csv") == 0
    found = capfd.readouterr().out
    near = ProximityNeighbors(3).fit(values)
    neighbors = [line.split(",")[2] for line in found.splitlines()[1:]]
    distances, indices = near.kneighbors(values.iloc[:5])
    similarities = 1 - distances
    assert neighbors == [str(i + 1) for i in indices.ravel()]
    assert run_inside(*asked, "--save-model", model, "-o", tmp_path / "n.csv") == 0
    everybody = pd.read_csv(tmp_path / "n.csv")
    np.testing.assert_array_equal(
        everybody["neighbor"] - 1,
        near.kneighbors()[1].ravel(),
    )
    model_asked = (
        "neighbors",
        folder / "few.csv",
        "-k",
        3,
        "--model",
        model,
        "--quiet",
    )
    capfd.readouterr()
    assert run_inside(*model_asked) == 0
    assert capfd.readouterr().out == found
    assert similarities[0, 0] >= similarities[0, 1]


def test_huge_answers_are_refused_before_the_work(folder, capfd, monkeypatch):
    from proximity_kernel.cli import represent_command as represent

    monkeypatch.setattr(represent, "_MAX_BYTES", 1000)
    for name, more, said in (("represent", [], "sparse matrix with -o FILE.npz"),):
        assert run_inside(name, folder / "patients.csv", *more) == 2
        assert said in capfd.readouterr().err
        assert run_inside(name, folder / "patients.csv", *more, "--force") == 0
        capfd.readouterr()


def test_outliers_in_the_order_of_rows_with_reasons_for_the_outliers(
    folder, capfd, values
):
    assert run_inside("outliers", folder / "patients.csv", "--share", "0.05") == 0
    done = capfd.readouterr()
    found = [line.split(",", 3) for line in done.out.splitlines()[1:]]
    truth = ProximityOutliers(contamination=0.05).fit(values)
    outlying = truth.predict(values) < 0
    assert [row[2] == "True" for row in found] == outlying.tolist()
    assert [bool(row[3]) for row in found] == outlying.tolist()
    assert f"{outlying.sum()} of 300 rows are outliers" in done.err


def test_models_of_clusters_and_outliers_answer_alike(folder, tmp_path, capfd):
    for name, more in (("cluster", ["-k", "3"]), ("outliers", ["--share", "0.1"])):
        model = tmp_path / f"{name}.pk"
        asked = (name, folder / "patients.csv", "--quiet")
        assert run_inside(*asked, *more, "--save-model", model) == 0
        first = capfd.readouterr().out
        assert run_inside(name, folder / "few.csv", "--model", model, "--quiet") == 0
        again = capfd.readouterr().out
        lines = [line.partition(',"')[0] for line in first.splitlines()[:6]]
        assert [line.partition(',"')[0] for line in again.splitlines()] == lines
    other = ("represent", folder / "few.csv", "--model", model)
    assert run_inside(*other) == 2
    assert "it contains a ProximityOutliers" in capfd.readouterr().err


def test_a_model_saved_in_python_does_not_say_how_to_read(folder, tmp_path, capfd):
    ProximityKernel().fit([[1.0], [2.0]]).save(tmp_path / "m.pk")
    asked = ("represent", folder / "few.csv", "--model", tmp_path / "m.pk")
    assert run_inside(*asked) == 2
    assert "saved in Python, without the schema" in capfd.readouterr().err


def test_the_report_has_what_was_assumed(folder, tmp_path, capfd):
    page = tmp_path / "page.html"
    asked = ("cluster", folder / "patients.csv", "-k", 2, "--report", page)
    assert run_inside(*asked, "-o", tmp_path / "c.csv") == 0
    text = page.read_text(encoding="utf-8")
    assert "taken as id, not compared" in text
    assert "P00007" in text
    assert f"report: {page}" in capfd.readouterr().err


def test_a_filled_table_keeps_what_was_observed(folder, tmp_path, capfd, values):
    asked = ("impute", folder / "patients.csv", "--strategy", "mode")
    out, model = tmp_path / "f.parquet", tmp_path / "m.pk"
    doubts = ("--uncertainty", tmp_path / "u.csv", "--save-model", model)
    assert run_inside(*asked, "-o", out, *doubts) == 0
    found = pd.read_parquet(out)
    for name in ("age", "weight", "visit", "ward"):
        known = values[name].notna()
        assert (found[name][known] == values[name][known]).all()
        assert found[name].notna().all()
    assert found["age"].dtype == "int64"
    doubt = pd.read_csv(tmp_path / "u.csv")
    np.testing.assert_array_equal(doubt["visit"] == 0, values["visit"].notna())
    capfd.readouterr()
    assert run_inside("impute", folder / "few.csv", "--model", model) == 0
    assert len(capfd.readouterr().out.splitlines()) == 6


def test_bars_on_a_terminal_only(folder, capfd, monkeypatch):
    asked = ("neighbors", folder / "few.csv", "-k", "1")
    assert run_inside(*asked) == 0
    assert "finding neighbors" not in capfd.readouterr().err
    monkeypatch.setenv("FORCE_COLOR", "1")  # by which rich takes it for a terminal
    assert run_inside(*asked) == 0
    done = capfd.readouterr()
    assert "finding neighbors" in done.err
    assert "finding neighbors" not in done.out
    assert run_inside(*asked, "--quiet") == 0
    assert capfd.readouterr().err == ""


def test_without_ids_rows_have_numbers_from_1_on(tmp_path, capfd):
    path = tmp_path / "t.csv"
    path.write_text("x,cluster\n1,a\n9,b\n1,a\n")
    assert run_inside("outliers", path, "--quiet") == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "row,score,outlier,reasons"
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "2", "3"]
    assert run_inside("cluster", path, "-k", "2", "--quiet", "--id", "cluster") == 0
    assert capfd.readouterr().out.splitlines()[0] == "x,cluster,cluster_,distance"
    assert run_inside("explain", path, "a", "b", "--id", "cluster") == 2
    assert "a: 2 rows of" in capfd.readouterr().err


def test_the_number_of_clusters_is_found_and_printed(folder, capfd, values):
    asked = ("cluster", folder / "patients.csv", "--matching", "cascade", "--jobs", "1")
    assert run_inside(*asked) == 0
    done = capfd.readouterr()
    kernel = ProximityKernel(matching="cascade")
    n = ProximityKMeans("auto", kernel=kernel, random_state=0).fit(values).n_clusters_
    said = (
        f"{n} separate groups: of 10 samples "
        if n > 1
        else "No separate groups found: "
    )
    assert re.search(f"^{said}", done.err, re.MULTILINE)
    assert pd.read_csv(io.StringIO(done.out))["cluster"].nunique() == n


# --------------------------------------------------------------------- joined results


def test_results_are_joined_to_the_table(folder, tmp_path, values, ids):
    path, out = folder / "patients.csv", tmp_path / "j.csv"
    table = pd.read_csv(path, sep=";")
    assert run_inside("outliers", path, "--join", "-o", out, "--quiet") == 0
    found = pd.read_csv(out)
    assert list(found) == [*table, "score_", "outlier", "reasons"]
    pd.testing.assert_frame_equal(found[list(table)], table)
    scores = -ProximityOutliers().fit(values).score_samples(values)
    np.testing.assert_allclose(found["score_"], scores, atol=1e-6)
    assert run_inside("outliers", path, "--join", "--top", "3", "-o", out) == 0
    top = pd.read_csv(out)
    order = np.argsort(-scores, kind="stable")[:3]
    assert top["patient_id"].to_list() == [ids[i] for i in order]
    asked = ("neighbors", path, "-k", "2", "--quiet", "-o")
    assert run_inside(*asked, out, "--join") == 0
    assert run_inside(*asked, tmp_path / "n.csv") == 0
    joined, pairs = pd.read_csv(out), pd.read_csv(tmp_path / "n.csv")
    near = ["neighbor_1", "similarity_1", "neighbor_2", "similarity_2"]
    assert list(joined) == [*table, *near]
    first = pairs[pairs["rank"] == 2]
    assert joined["neighbor_2"].to_list() == first["neighbor_patient_id"].to_list()
    assert joined["similarity_2"].to_list() == first["similarity"].to_list()
    assert run_inside("outliers", path, "--join", "--cells") == 2


def test_a_total_is_written_without_a_cluster(tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "c.csv"
    rows = [f"s{i % 3},{i}" for i in range(20)]
    path.write_text("\n".join(["shop,sold", *rows, "Total,190", ""]))
    assert run_inside("cluster", path, "-k", "2", "-o", out, "--quiet") == 0
    lines = out.read_text().splitlines()
    assert lines[-1] == "Total,190,,"
    assert all(line.split(",")[2] in "01" for line in lines[1:-1])
    where = ("--where", "sold >= 15", "-k", "1", "-o", out, "--quiet")
    assert run_inside("cluster", path, *where) == 0
    assert [line.split(",")[1] for line in out.read_text().splitlines()[1:]] == [
        "15", "16", "17", "18", "19",
    ]  # fmt: skip


def test_rows_whose_unusual_cells_others_confirm_are_no_outliers(tmp_path, capfd):
    """All who are 65 are "middle", in a bin with older ones, who are "old"."""
    rng = np.random.default_rng(2)
    age = rng.integers(18, 90, 900)
    table = pd.DataFrame({"age": age, "p": 90 + age / 2 + rng.normal(0, 5, 900)})
    table["group"] = np.select([age < 45, age <= 65], ["young", "middle"], "old")
    path, out = tmp_path / "ages.csv", tmp_path / "out.csv"
    table.to_csv(path, index=False)
    assert run_inside("outliers", path, "--share", "0.02", "-o", out) == 0
    found = pd.read_csv(out)
    named = found["reasons"].fillna("") != ""
    assert named.tolist() == found["outlier"].tolist()
    assert 0 < named.sum() < 18
    assert f"{18 - named.sum()} rows of these left out" in capfd.readouterr().err
