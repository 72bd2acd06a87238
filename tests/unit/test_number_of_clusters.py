"""The number of clusters: how sure it is, and that it does not hang on the seed."""

import numpy as np
import pytest

from proximity_kernel import ProximityKernel, ProximityKMeans
from proximity_kernel._kmeans.number_of_clusters import describe_stability
from proximity_kernel.datasets import load_penguins

SEEDS = range(10)


def make_tables():
    """Groups apart, groups that overlap, a ramp, no groups, and the penguins."""
    rng = np.random.default_rng(5)
    gaps = rng.random((600, 4)) < 0.1
    groups = rng.integers(0, 3, 600)
    noise = rng.normal(size=(600, 4))
    columns = {
        "apart": 6.0 * rng.permuted(np.tile(np.arange(3), (4, 1)), axis=1)[:, groups].T,
        "overlap": 3.0 * (groups == 0)[:, None] + np.zeros(4),
        "ramp": 2 * rng.normal(size=(600, 1)) + np.zeros(4),
        "none": np.zeros((600, 4)),
    }
    tables = {
        name: np.where(gaps, np.nan, part + noise) for name, part in columns.items()
    }
    return tables | {"penguins": load_penguins().drop(columns="species")}


@pytest.mark.parametrize(("name", "table"), make_tables().items())
def test_ten_seeds_agree(name, table):
    found = [ProximityKMeans("auto", random_state=seed).fit(table) for seed in SEEDS]
    assert len({km.n_clusters_ for km in found}) == 1
    if name in ("apart", "none"):
        assert found[0].n_clusters_ == {"apart": 3, "none": 1}[name]
    shares = np.array([list(km.stability_.values()) for km in found])
    assert np.ptp(shares, axis=0).max() < 0.5


def test_the_stability_is_kept_for_a_number_that_was_given():
    table = make_tables()["apart"]
    km = ProximityKMeans(12, random_state=0).fit(table)
    assert km.stability_ is None
    shares = km.measure_stability(table)
    assert list(shares) == [*range(2, 11), 12]
    assert shares[3] == 1
    assert shares[12] < 0.5
    said = describe_stability(12, shares)
    assert said.startswith("12 clusters, found again in only ")
    assert said.endswith("3 would be 100 %.")


def test_one_cluster_comes_with_the_best_weaker_split():
    km = ProximityKMeans("auto", random_state=0).fit(make_tables()["none"])
    best = max(km.stability_, key=km.stability_.get)
    said = describe_stability(km.n_clusters_, km.stability_)
    assert f"1 cluster; the best split is {best}, found again in" in said
    assert f"{100 * km.stability_[best]:.0f} %" in said


def test_corners_of_bins_are_stable_but_by_chance():
    table = np.random.default_rng(0).integers(0, 2, (400, 2)).astype(float)
    km = ProximityKMeans("auto", kernel=ProximityKernel(2), random_state=0).fit(table)
    assert km.n_clusters_ == 1
    assert km.stability_[4] == 1
    assert "shuffled" in describe_stability(1, km.stability_)


def test_nothing_is_said_where_nothing_is_known():
    assert describe_stability(1, {}) == ""
    assert describe_stability(7, {2: 0.5}) == ""
