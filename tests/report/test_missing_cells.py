"""The section of missing cells: what is missing, and how well it is known."""

import numpy as np
import pandas as pd
import pytest
from report_pages import missing_table, section, visible, write

from proximity_kernel import ProximityKernel, explain
from proximity_kernel.kernel import bin_names
from proximity_kernel.report import sections

WHOLE = "the shares in the whole column"
MATCHING = {
    "intersection": "rows that agree in every observed cell",
    "union": "rows that agree in some observed cell",
    "prior": WHOLE,
}


def expected_row(kernel, names, cells):
    """The row of a column in the table of missing cells, from its provenance."""
    certainty = 100 * cells["certainty"].mean()
    usual = 100 * kernel.prior_[cells["feature"][0]].max()
    numbers = [str(len(cells)), f"{certainty:.0f} %", f"{usual:.0f} %"]
    if kernel.matching == "cascade":
        levels = list(cells["level"])
        return [*numbers, MATCHING[max(levels, key=levels.count)]]
    moved = dict.fromkeys(range(len(names)), 0.0)
    for cell in cells:
        for j, far in zip(cell["columns"], cell["moved"], strict=True):
            if j >= 0:
                moved[int(j)] += far
    most = sorted(moved, key=lambda j: -moved[j])[:3]
    named = [names[j] for j in most if moved[j] > max(moved.values()) / 10]
    return [*numbers, ", ".join(named) or WHOLE]


@pytest.mark.parametrize("matching", ["pairwise", "cascade"])
def test_the_missing_cells_are_those_of_provenance(penguins, tmp_path, matching):
    kernel = ProximityKernel(matching=matching).fit(penguins)
    cells = kernel.provenance(penguins)
    shown = missing_table(write(tmp_path, penguins, kernel=kernel))
    names = list(penguins.columns)
    assert next(iter(shown)) == "sex"  # the most first
    assert set(shown) == {names[j] for j in cells["feature"]}
    for name, row in shown.items():
        own = cells[cells["feature"] == names.index(name)]
        assert row == expected_row(kernel, names, own)


def test_the_missing_cells_of_a_sample_of_the_rows(penguins, tmp_path, monkeypatch):
    monkeypatch.setattr(sections, "MAX_ROWS", 200)
    table = pd.concat([penguins] * 2, ignore_index=True)
    text = write(tmp_path, table)
    assert "Counted in 200 rows, sampled at random from 688." in visible(text)
    in_all = int(table["sex"].isna().sum())
    assert 0 < int(missing_table(text)["sex"][0]) < in_all


def correlated(n=400):
    """Two columns that repeat each other, and two of their own; all with gaps."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "ward": np.array(["a", "b", "c"])[group],
            "doctor": np.array(["x", "y", "z"])[group],
            "color": rng.choice(["red", "blue"], n),
            "size": rng.normal(size=n),
        }
    )
    return table.mask(rng.random(table.shape) < 0.15)


def test_columns_that_others_do_not_help_to_estimate(tmp_path):
    def write_ignorable(table):
        kernel = ProximityKernel(missingness="ignorable").fit(table)
        return write(tmp_path, table, kernel=kernel)

    table = correlated()
    text = write_ignorable(table)
    shown = missing_table(text)
    assert shown["ward"][-1] == "doctor"
    assert shown["doctor"][-1] == "ward"
    assert float(shown["ward"][1][:-2]) > float(shown["ward"][2][:-2]) + 30
    for name in ("color", "size"):
        n, certainty, usual, basis = shown[name]
        assert int(n) == table[name].isna().sum()
        assert certainty == usual
        assert basis == WHOLE
    words = visible(section(text, "missing"))
    assert "In 2 of 4 columns the estimates are close to the shares" in words

    text = write_ignorable(table[["ward", "color", "size"]])  # nothing helps
    assert {row[-1] for row in missing_table(text).values()} == {WHOLE}
    words = visible(section(text, "missing"))
    assert "In every column the estimates are close to the shares" in words
    assert "the other columns hardly change them" in words

    text = write_ignorable(table[["ward", "doctor"]])
    words = visible(section(text, "missing"))
    assert "In every column the estimates differ from the shares" in words

    text = write_ignorable(table[["ward"]])
    words = visible(section(text, "missing"))
    assert "The estimates are close to the shares of the values in the whole" in words
    assert "other columns" not in words
    assert missing_table(text)["ward"][-1] == WHOLE


def test_estimates_less_certain_than_the_whole_column_are_informed_too(tmp_path):
    # Most rows are "yes", but it is open where cells are missing: in the south.
    rng = np.random.default_rng(0)
    south = np.arange(600) < 200
    answer = np.where(south & (rng.random(600) < 0.5), "no", "yes")
    table = pd.DataFrame({"region": np.where(south, "s", "n"), "answer": answer})
    table.loc[south & (rng.random(600) < 0.3), "answer"] = None
    kernel = ProximityKernel(missingness="ignorable").fit(table)
    text = write(tmp_path, table, kernel=kernel)
    _, certainty, usual, basis = missing_table(text)["answer"]
    assert float(certainty[:-2]) < float(usual[:-2]) - 10
    assert basis == "region"
    assert "The estimates differ from the shares" in visible(section(text, "missing"))


def test_the_distance_from_the_whole_column_is_that_of_the_estimates(penguins):
    kernel = ProximityKernel().fit(penguins)
    rows = np.flatnonzero(penguins["sex"].isna())
    table = penguins.iloc[rows]
    j = list(penguins.columns).index("sex")
    prior = dict(zip(bin_names(kernel)[j], kernel.prior_[j], strict=True))
    far = []
    for i in range(len(table)):
        row = table.iloc[[i]]
        assumed = dict(explain(kernel, row, row).features[j].a.assumed)
        far.append(sum(abs(assumed.get(name, 0) - prior[name]) for name in prior) / 2)
    coded = kernel.model_.code(table, 1)
    shares = sections.estimate_cells(kernel, coded)[1][j]
    found = sections.measure_distance(shares, kernel.prior_[j])
    assert found == pytest.approx(np.mean(far), abs=1e-6)
    assert 0.1 < found < 0.5


def test_informative_gaps_are_listed(penguins, tmp_path):
    kernel = ProximityKernel(missingness="informative").fit(penguins)
    words = visible(section(write(tmp_path, penguins, kernel=kernel), "missing"))
    assert "No cell had to be estimated." in words
    assert "sex (11 cells)" in words.split("counted as a value of its own")[1]
