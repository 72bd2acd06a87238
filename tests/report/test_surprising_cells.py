"""The rows with surprising values: against a second computation, and at the edges."""

import re

import numpy as np
import pandas as pd
import pytest
from report_pages import section, visible, write

from proximity_kernel import ProximityKernel, explain
from proximity_kernel.kernel import bin_names

NONE = "None: no value is much less likely in its row than in the whole column."


def spread(kernel, j, value, own):
    """The bins for which a value counts, with their parts."""
    centers = kernel.bin_centers_[j]
    if centers is None:
        return {own: 1.0}
    step = 1 if value > centers[own] else -1
    if not 0 <= own + step < len(centers):
        return {own: 1.0}
    part = (value - centers[own]) / (centers[own + step] - centers[own])
    return {own: 1 - part, own + step: part}


def surprise(kernel, table):
    """How much less likely each cell is in its row than in its column."""
    names, out = bin_names(kernel), np.zeros(table.shape)
    for j in range(table.shape[1]):
        hidden = table.copy()
        hidden.isetitem(j, hidden.iloc[:, j].where(np.zeros(len(table), bool)))
        for i in np.flatnonzero(table.iloc[:, j].notna()):
            row = hidden.iloc[[i]]
            assumed = explain(kernel, row, row).features[j].a.assumed
            shares = dict(assumed)
            own = explain(kernel, table.iloc[[i]], row).features[j].a.bin
            if own == assumed[0][0]:
                continue
            parts = spread(kernel, j, table.iloc[i, j], names[j].index(own))
            here = sum(part * shares[names[j][k]] for k, part in parts.items())
            usual = sum(part * kernel.prior_[j][k] for k, part in parts.items())
            out[i, j] = np.log(usual / here)
    return out


def read_rows(text):
    return [int(row) for row in re.findall(r'<h4><button.*?data-row="(\d+)"', text)]


def test_values_much_less_likely_than_in_the_whole_column_are_listed(
    penguins, tmp_path
):
    table = penguins.iloc[::3].reset_index(drop=True)
    table.loc[70, "species"] = "Adelie"  # a Gentoo
    kernel = ProximityKernel(missingness="ignorable").fit(table)
    text = section(write(tmp_path, table, kernel=kernel), "surprising")
    found = surprise(kernel, table)
    found[found < np.log(10)] = 0
    total = found.sum(axis=1)
    assert 0 < np.count_nonzero(total) <= 10
    assert read_rows(text) == np.argsort(-total)[: np.count_nonzero(total)].tolist()
    wanted = (
        "Row 71 species : Adelie, but the rest of the row suggests Gentoo (over 99 %)"
    )
    assert wanted in visible(text)


def test_where_no_cell_is_surprising_none_is_listed(tmp_path):
    table = pd.DataFrame({"a": [1.0, 2.0] * 20, "b": list("xxyy") * 10})
    text = write(tmp_path, table)
    assert NONE in visible(section(text, "surprising"))
    assert "No value stands out: all fit the rest of their row." in visible(text)


@pytest.mark.parametrize(("value", "listed"), [(199.0, False), (10.0, True)])
def test_a_number_just_past_the_limit_of_a_bin_is_not_surprising(
    tmp_path, value, listed
):
    # Two groups of numbers, 0 to 100 and 300 to 400: two of the bins meet at about 200.
    rng = np.random.default_rng(0)
    group = np.arange(400) % 2
    table = pd.DataFrame({"size": rng.uniform(0, 100, 400) + 300 * group})
    table["group"] = np.array(["small", "large"])[group]
    table["color"] = np.array(["red", "blue"])[group]
    table.loc[7, "size"] = value  # a large one
    text = section(write(tmp_path, table), "surprising")
    assert (7 in read_rows(text)) == listed


def test_a_rare_value_alone_is_not_surprising(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.choice(list("xy"), 300), "b": ["usual"] * 300})
    table.loc[[5, 50, 150, 250], "b"] = "rare"
    assert NONE in visible(section(write(tmp_path, table), "surprising"))


def test_a_value_where_similar_rows_have_none(tmp_path):
    rng = np.random.default_rng(0)
    ward = np.array(["a", "b"])[np.arange(300) % 2]
    test = np.where(ward == "a", rng.choice(["low", "high"], 300), None)
    table = pd.DataFrame({"ward": ward, "floor": ward, "test": test})
    table.loc[7, "test"] = "low"
    kernel = ProximityKernel(missingness="informative").fit(table)
    words = visible(section(write(tmp_path, table, kernel=kernel), "surprising"))
    assert "Row 8 test : low, but the rest of the row suggests no value (" in words


def test_a_far_value_is_listed_once(tmp_path):
    rng = np.random.default_rng(0)
    group = np.arange(400) % 2
    table = pd.DataFrame({"size": rng.uniform(0, 100, 400) + 300 * group})
    table["group"] = np.array(["small", "large"])[group]
    table["color"] = np.array(["red", "blue"])[group]
    table.loc[6, "size"] = 1e6  # a small one
    text = section(write(tmp_path, table), "surprising")
    assert read_rows(text) == []
    assert "1 value of 1,000,000, far above" in visible(text)
