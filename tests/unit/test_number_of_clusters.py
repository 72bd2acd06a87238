"""The number of clusters: how sure it is, and that it does not hang on the seed."""

import numpy as np
import pandas as pd
import pytest

from proximity_kernel import ProximityKernel, ProximityKMeans
from proximity_kernel import _cluster_count as number_of_clusters
from proximity_kernel._cluster_count import describe_stability
from proximity_kernel.datasets import load_penguins


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
        monkeypatch.setattr(number_of_clusters, "SEED", seed)
        assert ProximityKMeans("auto").fit(table).n_clusters_ == n_clusters


def test_the_stability_is_kept_for_a_number_that_was_given():
    table = make_groups(3)
    km = ProximityKMeans(12, random_state=0).fit(table)
    assert km.stability_ is None
    shares = km.measure_stability(table)
    assert list(shares) == [*range(2, 11), 12]
    assert shares[3] == 1
    assert shares[12] < 0.5
    said = describe_stability(12, shares)
    assert said.startswith("12 clusters, which are not reliable: repeated on random ")
    assert "the same 12 came out only " in said
    assert said.endswith("(3 clusters: 100 times).")


def test_the_most_that_are_reliable_are_said_to_be():
    shares = {2: 1.0, 3: 0.61, 4: 0.54}
    said = describe_stability(3, shares)
    assert said.startswith("3 clusters, the most that are reliable: ")
    assert "the same 3 came out 61 times in 100" in said
    assert said.endswith("(2 clusters: 100 times; 4 or more: fewer than 55).")
    said = describe_stability(2, shares)
    assert said.startswith("2 clusters: repeated")
    assert said.endswith("(3 clusters: 61 times).")
    assert "more" not in describe_stability(3, {2: 1.0, 3: 0.61})


def test_one_cluster_comes_with_the_best_weaker_split():
    km = ProximityKMeans("auto", random_state=0).fit(make_groups(1))
    best = max(km.stability_, key=km.stability_.get)
    said = describe_stability(km.n_clusters_, km.stability_)
    assert said.startswith("1 cluster, because more are not reliable: ")
    times = f"{100 * km.stability_[best]:.0f} times in 100"
    assert f"the same {best} came out only {times}" in said


def test_corners_of_bins_are_stable_but_by_chance():
    table = np.random.default_rng(0).integers(0, 2, (400, 2)).astype(float)
    km = ProximityKMeans("auto", kernel=ProximityKernel(2), random_state=0).fit(table)
    assert km.n_clusters_ == 1
    assert km.stability_[4] == 1
    assert "shuffled" in describe_stability(1, km.stability_)


def test_nothing_is_said_where_nothing_is_known():
    assert describe_stability(1, {}) == ""
    assert describe_stability(7, {2: 0.5}) == ""
