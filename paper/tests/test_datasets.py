"""The catalogue's tables, counted against it and against plain string handling.

The files of the tables are not part of this project. Tests that need them look in
PROXIMITY_KERNEL_DATA, else beside the checkout, and are skipped where there are none.
"""

import dataclasses
import json
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.io import loadmat

from proximity_kernel.datasets import load_penguins
from proximity_kernel_paper.datasets import (
    describe,
    list_datasets,
    load,
)
from proximity_kernel_paper.datasets._catalogue import CATALOGUE, Table, find
from proximity_kernel_paper.datasets._parse import READERS

PAPER_TABLES = [name for name in list_datasets() if name != "penguins"]

# Independent of the catalogue: where the target stands, and what is no feature.
TARGET_AT = {
    "adult": 14,
    "cancer": 10,
    "credit": 15,
    "heart": 13,
    "hepatitis": 0,
    "horse": 23,
    "kidney": 24,
    "mammo": 5,
    "messidor": 19,
    "mushroom": 0,
    "soybean": 0,
    "tumor": 0,
    "voting": 0,
}
IGNORED_AT = {"cancer": 0}
# rows, features, missing cells, classes
COUNTS = {
    "adult": (48842, 14, 6465, 2),
    "cancer": (699, 9, 16, 2),
    "credit": (690, 15, 67, 2),
    "heart": (303, 13, 6, 5),
    "hepatitis": (155, 19, 167, 2),
    "horse": (368, 27, 1927, 2),
    "kidney": (400, 24, 1012, 2),
    "mammo": (961, 5, 162, 2),
    "messidor": (1151, 19, 0, 2),
    "mushroom": (8124, 22, 2480, 2),
    "soybean": (307, 35, 712, 19),
    "three_lines": (560, 2, 0, 3),
    "tumor": (339, 17, 225, 21),
    "voting": (435, 16, 392, 2),
}


def plain_rows(home, name):
    """The fields of a table, by one regular expression: none of them holds a blank."""
    rows = []
    for path in sorted((home / name).iterdir()):
        text = path.read_text().rpartition("@data")[2]
        lines = [line for line in text.splitlines() if not line.startswith("|")]
        rows += [re.findall(r"[^,\s]+", line) for line in lines if line.strip()]
    return rows


def counts(dataset):
    rows, n_features = dataset.frame.shape
    missing = int(dataset.frame.isna().sum().sum())
    return rows, n_features, missing, dataset.target.nunique()


# ------------------------------------------------------------------ the catalogue


def test_the_fourteen_tables_and_the_penguins():
    assert list_datasets() == sorted([*COUNTS, "penguins"])


@pytest.mark.parametrize("name", list_datasets())
def test_entry_is_whole(name):
    table = find(name)
    assert all([table.title, table.page, table.licence, table.citation])
    assert table.format in READERS
    assert table.packaged or table.address.startswith("https://")
    assert [column.role for column in table.columns].count("target") == 1
    assert len(table.features) == table.counts["features"]
    for column in table.columns:
        assert column.kind in ("numeric", "ordinal", "nominal")
        assert (column.order is not None) == (column.kind == "ordinal")
    for file in table.files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)


@pytest.mark.parametrize("name", PAPER_TABLES)
def test_entry_has_our_counts(name):
    assert tuple(find(name).counts.values()) == COUNTS[name]


def test_catalogue_files_know_no_other_key():
    known = {field.name for field in dataclasses.fields(Table)} - {"name"}
    for path in CATALOGUE.glob("*.json"):
        assert set(json.loads(path.read_text())) <= known


def test_catalogue_agrees_with_the_data_homes_own_description(home):
    if not (home / "datasets.json").exists():
        pytest.skip("this data home has no datasets.json")
    theirs = json.loads((home / "datasets.json").read_text())["datasets"]
    assert sorted(theirs) == PAPER_TABLES
    for name, said in theirs.items():
        table = find(name)
        assert [
            (f"{name}/{file.name}", file.sha256, file.bytes) for file in table.files
        ] == [(file["file"], file["sha256"], file["bytes"]) for file in said["files"]]
        assert [
            (column.name, column.kind, column.role, column.order)
            for column in table.columns
        ] == [
            (
                column["name"],
                column["kind"],
                column["role"],
                tuple(column["order"]) if "order" in column else None,
            )
            for column in said["columns"]
        ]
        if name != "messidor":  # the paper prints no figures of it
            paper = said.get("paper", {})
            assert {*paper.values()} <= {*table.paper.values()}
        clean = said.get("classes_without_trailing_dot", said["classes"])
        assert COUNTS[name] == (
            said["rows"],
            said["features"],
            said["missing_cells"],
            clean,
        )


# ------------------------------------------------------------------------ loading


@pytest.mark.parametrize("name", TARGET_AT)
def test_every_cell_against_plain_strings(home, name):
    dataset = load(name, home)
    rows = plain_rows(home, name)
    assert len(rows) == len(dataset.frame)
    fields = list(zip(*rows, strict=True))
    classes = [label.rstrip(".") for label in fields[TARGET_AT[name]]]
    assert dataset.target.to_list() == classes
    apart = {TARGET_AT[name], IGNORED_AT.get(name)}
    features = [column for j, column in enumerate(fields) if j not in apart]
    assert sum(column.count("?") for column in features) == COUNTS[name][2]
    for label, column in zip(dataset.frame.columns, features, strict=True):
        found = dataset.frame[label]
        assert found.isna().to_list() == [value == "?" for value in column], label
        seen = [value for value in column if value != "?"]
        if dataset.kinds[label] == "numeric":
            seen = [float(value) for value in seen]
        assert found.dropna().to_list() == seen, label


def test_three_lines_against_the_matlab_file(home):
    dataset = load("three_lines", home)
    raw = loadmat(home / "three_lines" / "3L.mat")
    np.testing.assert_array_equal(dataset.frame.to_numpy(), raw["data"])
    assert dataset.target.to_list() == [str(label) for label in raw["class"].ravel()]


@pytest.mark.parametrize("name", PAPER_TABLES)
def test_dtypes_follow_the_kinds(home, name):
    dataset = load(name, home)
    for label, kind in dataset.kinds.items():
        dtype = dataset.frame[label].dtype
        if kind == "numeric":
            assert dtype == np.float64
        else:
            assert isinstance(dtype, pd.CategoricalDtype)
            assert dtype.ordered == (kind == "ordinal")
    assert isinstance(dataset.target.dtype, pd.CategoricalDtype)


def test_ordinal_columns_are_in_order(home):
    sg = load("kidney", home).frame["sg"]
    assert list(sg.cat.categories) == ["1.005", "1.010", "1.015", "1.020", "1.025"]
    assert sg.max() == "1.025"


def test_labels_as_published(home):
    adult = load("adult", home, labels="as published").target
    assert adult.value_counts().to_dict() == {
        "<=50K": 24720,
        "<=50K.": 12435,
        ">50K": 7841,
        ">50K.": 3846,
    }
    kidney = load("kidney", home, labels="as published").target
    assert kidney.value_counts().to_dict() == {"ckd": 248, "notckd": 150, "ckd\t": 2}
    clean = load("adult", home).target
    assert clean.value_counts().to_dict() == {"<=50K": 37155, ">50K": 11687}


@pytest.mark.parametrize("name", sorted({*PAPER_TABLES} - {"adult", "kidney"}))
def test_other_labels_are_the_same_as_published(home, name):
    published = load(name, home, labels="as published").target
    pd.testing.assert_series_equal(published, load(name, home).target)


def test_description_says_what_a_user_owes(home):
    said = load("kidney", home).description
    assert said.startswith("Chronic Kidney Disease\n")
    for part in ("archive.ics.uci.edu", "CC BY 4.0", "Rubini", "24 features", "1012"):
        assert part in said


def test_dataset_is_frozen_and_small_to_look_at():
    dataset = load("penguins")
    with pytest.raises(dataclasses.FrozenInstanceError):
        dataset.frame = None
    assert repr(dataset) == "<Dataset Palmer penguins: 344 rows, 7 features>"


def test_penguins_are_the_same_both_ways():
    dataset, plain = load("penguins"), load_penguins()
    assert counts(dataset) == (344, 7, 19, 3)
    assert dataset.target.to_list() == plain["species"].to_list()
    for label in ("bill_length_mm", "body_mass_g", "year"):
        np.testing.assert_array_equal(dataset.frame[label], plain[label])


def test_penguins_need_no_data_home(monkeypatch):
    monkeypatch.delenv("PROXIMITY_KERNEL_DATA", raising=False)
    assert len(load("penguins").frame) == 344


@pytest.mark.parametrize("name", ["kidny", "Adult", "no such thing", "../kidney", 3])
def test_unknown_name_lists_the_known(name):
    with pytest.raises(ValueError, match="There are adult, cancer") as caught:
        load(name)
    assert ("did you mean 'kidney'" in str(caught.value)) == (name == "kidny") or (
        name in ("Adult", "../kidney")
    )


def test_unknown_labels():
    with pytest.raises(ValueError, match="labels must be one of"):
        load("penguins", labels="raw")


# ---------------------------------------------------------------------- describing


def test_describe_agrees_with_the_paper_but_for_its_slips(home):
    table = describe(home)
    figures = ["rows", "features", "missing_percent", "classes"]
    paper = table[[f"paper_{name}" for name in figures]].set_axis(figures, axis=1)
    differs = (table[figures].round(2) != paper) & paper.notna()
    slips = differs.stack()[lambda found: found].index.to_list()
    assert slips == [
        ("adult", "missing_percent"),
        ("adult", "classes"),
        ("credit", "missing_percent"),
        ("kidney", "features"),
    ]
    assert all(f"{figure}:" in table.loc[name, "note"] for name, figure in slips)
    unprinted = {"messidor", "penguins", "three_lines"}
    assert set(table.index[table["paper_rows"].isna()]) == unprinted
    printed = table.loc["kidney", ["paper_categorical", "paper_numeric"]]
    assert printed.to_list() == [3, 22]


def test_describe_counts(home):
    table = describe(home).loc[PAPER_TABLES]
    columns = ["rows", "features", "missing_cells", "classes"]
    found = {name: tuple(row) for name, row in table[columns].T.to_dict("list").items()}
    assert found == COUNTS
    kinds = table[["numeric", "ordinal", "nominal"]]
    assert (kinds.sum(axis=1) == table["features"]).all()
    assert kinds.loc["kidney"].to_list() == [11, 3, 10]
    cells = table["rows"] * table["features"]
    share = 100 * table["missing_cells"] / cells
    np.testing.assert_allclose(table["missing_percent"], share.astype(float))


def test_the_papers_figure_for_adult_is_that_of_one_file(home):
    text = (home / "adult" / "adult.test").read_text()
    marks = Counter(re.findall(r"[^,\s]+", text))["?"]
    assert marks == 2203
    assert (
        round(100 * marks / (48842 * 14), 2) == find("adult").paper["missing_percent"]
    )


def test_describe_without_files(tmp_path):
    table = describe(tmp_path / "nothing here")
    away = table.drop(index="penguins")
    assert away["rows"].isna().all()
    assert away["missing_percent"].isna().all()
    assert away["note"].str.startswith("Absent: ").all()
    assert table.loc["horse", "note"] == "Absent: horse-colic.data, horse-colic.test."
    assert table.loc["adult", "paper_rows"] == 48842
    assert not (tmp_path / "nothing here").exists()
