"""The rows with surprising values: against `ProximityOutliers`, and at the edges."""

import re

import numpy as np
import pandas as pd
from report_pages import section, visible, write

from proximity_kernel import ProximityKernel, ProximityOutliers
from proximity_kernel.report.findings import _choose_clearest

NONE = "In no row are the values, taken together, less likely than in 99 % of rows"


def read_rows(text):
    return [int(row) for row in re.findall(r'<h4><button.*?data-row="(\d+)"', text)]


def test_the_rows_are_the_outliers(penguins, tmp_path):
    table = penguins.copy()
    table.loc[20, "species"] = "Gentoo"  # an Adelie
    text = section(write(tmp_path, table), "surprising")
    scores = ProximityOutliers().fit(table).decision_function(table)
    assert 0 < (scores < 0).sum() <= 10
    assert read_rows(text) == np.argsort(scores)[: (scores < 0).sum()].tolist()
    assert "species : Gentoo: Adelie expected with" in visible(text)
    kernel = ProximityKernel(matching="cascade").fit(table)
    assert read_rows(section(write(tmp_path, table, kernel=kernel), "surprising")) == (
        read_rows(text)
    )


def test_where_no_cell_is_surprising_none_is_listed(tmp_path):
    table = pd.DataFrame({"a": [1.0, 2.0] * 20, "b": list("xxyy") * 10})
    text = write(tmp_path, table)
    assert NONE in visible(section(text, "surprising"))
    assert (
        "80 observed cells compared with the rest of their row: in no row "
        in visible(text)
    )


def test_a_rare_value_alone_is_not_surprising(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.choice(list("xy"), 300), "b": ["usual"] * 300})
    table.loc[::25, "b"] = "rare"
    assert NONE in visible(section(write(tmp_path, table), "surprising"))


def test_a_value_where_similar_rows_have_none(tmp_path):
    rng = np.random.default_rng(0)
    ward = np.array(["a", "b"])[np.arange(300) % 2]
    test = np.where(ward == "a", rng.choice(["low", "high"], 300), None)
    table = pd.DataFrame({"ward": ward, "floor": ward, "test": test})
    table.loc[7, "test"] = "low"
    kernel = ProximityKernel(missingness="informative").fit(table)
    words = visible(section(write(tmp_path, table, kernel=kernel), "surprising"))
    assert "Row 8 test : low: missing expected with ward b" in words


def test_a_cell_that_another_column_determines_is_not_listed(tmp_path):
    rng = np.random.default_rng(0)
    code = rng.integers(6, size=500)
    table = pd.DataFrame(
        {"code": code.astype(str), "name": np.array(list("abcdef"))[code]}
    )
    table["size"] = rng.normal(size=500)
    table.loc[9, "name"] = "a" if code[9] else "b"
    text = section(write(tmp_path, table), "surprising")
    assert 9 in read_rows(text)
    words = visible(text)
    assert words.count("name :") == 1
    assert words.count("code :") <= 1


def test_a_far_value_is_listed_once(tmp_path):
    rng = np.random.default_rng(0)
    group = np.arange(400) % 2
    table = pd.DataFrame({"size": rng.uniform(0, 100, 400) + 300 * group})
    table["group"] = np.array(["small", "large"])[group]
    table["color"] = np.array(["red", "blue"])[group]
    table.loc[6, "size"] = 1e6  # a small one
    text = section(write(tmp_path, table), "surprising")
    assert 6 not in read_rows(text)
    assert "1 value of 1,000,000, far above" in visible(text)


def test_a_cell_is_not_listed_if_one_column_decides_for_it_against_others(tmp_path):
    """The summary follows from the detail; three other columns are wrong in a row."""
    detail = np.arange(600) % 4
    table = pd.DataFrame({"detail": [f"d{k}" for k in detail]})
    for name in ("summary", "b", "c", "d"):
        table[name] = np.where(detail < 2, "adult", "child")
    table.loc[4, ["b", "c", "d"]] = "child"
    text = section(write(tmp_path, table), "surprising")
    assert read_rows(text) == [4]
    assert "summary : adult" not in visible(text)


def test_the_page_says_why_the_command_outliers_lists_more_rows(tmp_path):
    """Two refunds are far from all others: named once, and compared no more."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"amount": np.arange(400.0) % 50})
    table["refund"] = rng.uniform(10, 20, 400).round(1)
    table.loc[[7, 90], "refund"] = [-48_000.0, -24_000.0]
    words = visible(write(tmp_path, table))
    assert (ProximityOutliers().fit_predict(table) < 0).sum() == 2
    assert "798 other observed cells compared" in words
    assert (
        "apart from the numbers above, in no row are the values, taken together, less"
        in words
    )
    assert "Apart from the values above, in no row are the values" in words
    assert "The command outliers lists 2 rows, for the numbers above." in words
    table["amount"] = rng.normal(50, 9, 400).round()
    words = visible(write(tmp_path, table))
    assert (ProximityOutliers().fit_predict(table) < 0).sum() == 3
    assert (
        "In 1 other row the values, taken together, are less likely than in 99 %"
        in words
    )
    assert "lists all of them, and 2 more rows, for the numbers above; with" in words
    assert "in a table without errors" not in words


def test_a_value_is_not_listed_if_rows_with_the_same_number_have_it(tmp_path):
    """The limit of the groups, 65, is inside a range of ages."""
    rng = np.random.default_rng(2)
    age = np.append(rng.integers(18, 90, 900), [65] * 5)
    table = pd.DataFrame({"age": age, "pressure": 90 + age + rng.normal(0, 3, 905)})
    table["group"] = np.select([age < 45, age <= 65], ["young", "middle"], "old")
    table.loc[900:904, "pressure"] = [310, 311, 312, 313, 314]  # unusual rows, too
    words = visible(section(write(tmp_path, table), "surprising"))
    assert "pressure : 310" in words
    assert "group : middle" not in words


def test_the_clearest_is_a_contradiction_if_there_is_one():
    extreme = {"feature": "size", "text": "99: above 99 %", "expected": False}
    wrong = {"feature": "sex", "text": "m: f expected", "expected": True}
    rows = [{"row": 3, "cells": [extreme]}, {"row": 5, "cells": [extreme, wrong]}]
    assert _choose_clearest(rows) == ("clearest", 5, wrong)
    assert _choose_clearest(rows[:1]) == ("most unusual", 3, extreme)


def test_the_page_says_how_unlikely_the_rows_are(tmp_path):
    """Panels of tests that are missing together make many rows unlikely."""
    rng = np.random.default_rng(1)
    cells = rng.normal(size=(60, 8, 15))
    cells[rng.random((60, 8)) < 0.6] = np.nan
    table = pd.DataFrame(cells.reshape(60, -1)).add_prefix("x")
    assert ProximityOutliers().fit(table).expected_false_alarms_ is None
    words = visible(write(tmp_path, table))
    assert "99 % of rows sampled" not in words
    assert "taken together, are far less likely than in a typical row" in words
