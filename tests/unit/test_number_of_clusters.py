"""Separate groups or a gradient, how many, and what the samples say about it."""

import numpy as np
import pandas as pd
import pytest

from proximity_kernel import ProximityKernel, ProximityKMeans, _groups
from proximity_kernel._groups import (
    Groups,
    describe_groups,
    name_kind,
)
from proximity_kernel.datasets import load_penguins
from proximity_kernel.kernel import represent_distinct

pytestmark = pytest.mark.slow


def make_groups(n_groups):
    """Groups apart in four columns, 300 rows, with gaps; one is none."""
    rng = np.random.default_rng(5)
    places = rng.permuted(np.tile(np.arange(n_groups), (4, 1)), axis=1)
    groups = rng.integers(0, n_groups, 300)
    table = 6.0 * places[:, groups].T + rng.normal(size=(300, 4))
    return np.where(rng.random(table.shape) < 0.1, np.nan, table)


@pytest.mark.parametrize(
    ("table", "n_clusters"),
    [
        (pd.DataFrame(make_groups(3)), 3),
        (pd.DataFrame(make_groups(1)), 1),
        (load_penguins().drop(columns="species"), 3),
    ],
    ids=["three groups", "no groups", "penguins"],
)
def test_neither_seeds_nor_the_order_of_rows_change_it(table, n_clusters):
    first = ProximityKMeans("auto", random_state=1).fit(table)
    assert first.n_clusters_ == n_clusters
    shuffled = table.sample(frac=1, random_state=0)
    for seed in (2, 3):
        km = ProximityKMeans("auto", random_state=seed).fit(shuffled)
        assert km.stability_ == first.stability_
        assert km.n_clusters_ == n_clusters


@pytest.mark.parametrize(("groups", "n_clusters"), [(3, 3), (1, 1)])
def test_other_halves_agree(groups, n_clusters, monkeypatch):
    """So that it is not the luck of the one seed; benchmarks/choices.py has more."""
    table = make_groups(groups)
    for seed in range(1, 4):
        monkeypatch.setattr(_groups, "SEED", seed)
        assert ProximityKMeans("auto").fit(table).n_clusters_ == n_clusters


def one_factor(rng):
    return 0.8 * rng.normal(size=(400, 1)) + 0.6 * rng.normal(size=(400, 6))


def along_a_line(rng):
    return rng.random((400, 1)) * [1, 1.5, 2] + 0.1 * rng.normal(size=(400, 3))


def independent(rng):
    return np.c_[rng.normal(size=(400, 3)), rng.exponential(size=(400, 3))]


def ordered_words(rng):
    """Categories that are cut from one factor, with missing cells."""
    cut = np.digitize(one_factor(rng), [-1, 0, 0.5])
    words = np.array(["none", "some", "most", "all"])[cut].astype(object)
    return pd.DataFrame(np.where(rng.random(words.shape) < 0.1, None, words))


@pytest.mark.parametrize("make", [one_factor, along_a_line, independent, ordered_words])
def test_a_gradient_is_not_called_groups(make):
    table = make(np.random.default_rng(0))
    km = ProximityKMeans("auto", random_state=0).fit(table)
    assert km.n_clusters_ == km.groups_.n_groups == 1
    said = describe_groups(1, km.groups_)
    assert said.startswith("No separate groups found: in the ranks of their ")


def test_independent_columns_have_no_main_direction():
    table = independent(np.random.default_rng(1))
    groups = ProximityKMeans(2, random_state=0).fit(table).find_groups(table)
    assert groups.along == ()
    assert "vary gradually, in no main direction." in describe_groups(1, groups)


def test_the_main_columns_of_a_gradient_are_named():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    table["d"] += 5 * table["b"]
    km = ProximityKMeans(3, random_state=0).fit(table)
    groups = km.find_groups(table)
    assert km.groups_ is None
    assert sorted(groups.along) == ["b", "d"]
    assert name_kind(3, groups) == "part"
    said = describe_groups(3, groups)
    assert said.startswith("3 parts, not groups: in the ranks of their values, ")


def test_the_copula_keeps_columns_missing_cells_and_correlations():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(one_factor(rng), columns=list("abcdef"))
    table["b"] = np.where(table["b"] > 0.5, "much", "little")
    table = table.mask(rng.random(table.shape) < 0.1)
    coded, matrix = represent_distinct(ProximityKernel().fit(table), table)
    rows = np.arange(len(matrix.toarray()))
    axis = _groups.first_axis(matrix)
    copula = _groups._Copula(coded, rows, axis)
    drawn = copula.draw(len(rows), np.random.default_rng(1))[0]
    missing = coded.bins == coded.missing
    assert (missing.sum(axis=0) == (drawn == coded.missing).sum(axis=0)).all()
    for j in range(6):
        np.testing.assert_array_equal(np.sort(drawn[:, j]), np.sort(coded.bins[:, j]))
    both = ~missing[:, [0, 2]].any(axis=1)
    drawn_both = (drawn[:, [0, 2]] != coded.missing).all(axis=1)
    own = np.corrcoef(coded.bins[both][:, [0, 2]].T)[0, 1]
    new = np.corrcoef(drawn[drawn_both][:, [0, 2]].T)[0, 1]
    assert own == pytest.approx(0.55, abs=0.1)
    assert new == pytest.approx(own, abs=0.1)


@pytest.mark.parametrize("correlation", [-0.7, 0.0, 0.4, 0.95])
def test_what_ties_take_away_is_undone(correlation):
    """Normal variables cut into few ranks give back their correlation."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200_000, 2))
    x[:, 1] = correlation * x[:, 0] + np.sqrt(1 - correlation**2) * x[:, 1]
    ranks = np.c_[np.digitize(x[:, 0], [-0.5, 1.0]), np.digitize(x[:, 1], [0.8])]
    scores, series = zip(
        *(_groups._score_ranks(np.bincount(own)) for own in ranks.T),
        strict=True,
    )
    table = np.c_[scores[0][ranks[:, 0]], scores[1][ranks[:, 1]]]
    observed = _groups._correlate(table, np.ones_like(table))
    assert abs(observed[0, 1]) <= abs(correlation) * 0.85 + 0.01
    found = _groups._undo_ties(observed, np.array(series))
    assert found[0, 1] == pytest.approx(correlation, abs=0.02)


def test_a_number_that_was_given_is_compared_with_the_groups():
    table = make_groups(3)
    km = ProximityKMeans(12, random_state=0).fit(table)
    assert km.stability_ is None
    groups = km.find_groups(table)
    assert list(groups.stability) == [*range(2, 11), 12]
    assert groups.stability[3] > 0.95
    assert groups.stability[12] < 0.75
    said = describe_groups(12, groups)
    assert said.startswith("The rows form 3 separate groups rather than 12: of 10 ")
    assert name_kind(12, groups) == "cluster"


def test_the_sentence_counts_the_samples():
    groups = Groups(3, {1: 1, 2: 2, 3: 7}, {2: 0.9, 3: 0.8}, ("a", "b"))
    assert describe_groups(3, groups) == (
        "3 separate groups: of 10 samples of 90 % of the rows, 7 have 3, 2 have 2 and "
        "1 has no groups."
    )
    groups = Groups(3, {2: 4, 3: 6}, {2: 0.9, 3: 0.8}, ("a", "b"), n_sampled=1600)
    assert describe_groups(3, groups) == (
        "Perhaps 3 separate groups: of 10 samples of 1,600 rows, 6 have 3 and 4 have 2."
    )
    groups = Groups(1, {1: 8, 2: 2}, {2: 0.9}, ("a", "b"))
    assert describe_groups(1, groups) == (
        "No separate groups found: in the ranks of their values, the rows vary "
        "gradually, most along a and b. But of 10 "
        "samples of 90 % of the rows, 8 have no groups and 2 have 2."
    )


def test_a_steadier_number_is_preferred():
    flat = [[1.0, 1.0]] * 10
    shaky = [[1.0, 0.9], [0.9, 1.0]] * 5
    assert _groups._choose_stable({3: flat, 4: shaky}) == [[3, 4]] * 10
    assert _groups._choose_stable({3: flat, 5: shaky}) == [[3]] * 10
    shaky = [[0.8, 0.7], [0.7, 0.8]] * 5
    assert _groups._choose_stable({3: flat, 4: shaky}) == [[3]] * 10


def test_corners_of_bins_are_stable_but_no_groups():
    table = np.random.default_rng(0).integers(0, 2, (400, 2)).astype(float)
    km = ProximityKMeans("auto", kernel=ProximityKernel(2), random_state=0).fit(table)
    assert km.n_clusters_ == 1
    assert km.stability_[4] == 1


@pytest.mark.parametrize("n_groups", [2, 3])
def test_groups_in_two_columns_are_not_cut_at_the_limits_of_bins(n_groups):
    """Bins cut such groups into pieces, and these are found again in each half."""
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0], [8, 8], [0, 12]])[:n_groups]
    table = centers[rng.integers(n_groups, size=400)] + rng.normal(size=(400, 2))
    km = ProximityKMeans("auto", random_state=0).fit(table)
    assert km.n_clusters_ == n_groups


@pytest.mark.parametrize("n_bins", ["auto", "fine"])
def test_null_tables_of_clusters_keep_the_clusters_and_fill_their_holes(n_bins):
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 100)
    table = pd.DataFrame({"a": np.choose(group, [0, 5, 10]) + rng.normal(size=300)})
    table["b"] = np.where(group == 1, 8, 0) + rng.normal(size=300)
    table["c"] = np.where(group == 1, "x", "y")
    table = table.mask(rng.random(table.shape) < 0.1)
    kernel = ProximityKernel(n_bins, missingness="ignorable").fit(table)
    coded, matrix = represent_distinct(kernel, table)
    axis = _groups.first_axis(matrix[coded.index])
    whole = _groups._Copula(coded, coded.index, axis)
    parts = _groups._split_table(matrix, whole, 2)
    drawn = np.concatenate([part.drawn for part in parts])
    assert sorted(drawn) == sorted(coded.index)
    own = coded.bins[coded.index]
    null = _groups._draw_table(parts, len(own), np.random.default_rng(1)).bins
    missing = coded.missing
    assert ((own == missing).sum(axis=0) == (null == missing).sum(axis=0)).all()
    # The cluster of the label y has low and high values of a, and few in between.
    is_y = list(kernel.categories_[2]).index("y")
    between, filled = (
        (np.isin(rows[:, 0], [1, 2]) & (rows[:, 2] == is_y)).sum()
        for rows in (own, null)
    )
    assert filled > 1.5 * between


def test_nothing_is_said_where_nothing_is_known():
    assert describe_groups(1, None) == ""
    assert describe_groups(1, Groups()) == ""
