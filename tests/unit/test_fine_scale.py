"""The scale of ``n_bins="fine"`` against its definition, with recursion and loops."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle_fine import FineTable, find_leaf, grow, list_leaves
from strategies import mixed_table, raises_naming

from proximity_kernel import ProximityKernel, ProximityKMeans, explain
from proximity_kernel._bins import (
    count_values,
    fit_numeric_bins,
    sort_values,
)


@pytest.mark.parametrize("seed", range(4))
def test_kernel_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(60, 4))
    table[:, 1] = np.round(table[:, 1] * 2)
    table[:, 2] = table[:, 2] > 1
    table[rng.random(table.shape) < 0.2] = np.nan
    new = np.vstack([table[:12], rng.normal(size=(3, 4)) * 9])
    pk = ProximityKernel("fine", missingness="ignorable", dtype=np.float64).fit(table)
    np.testing.assert_allclose(pk.kernel(new), FineTable(table).kernel(new), atol=1e-12)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60))
def test_cuts_halve_best_and_never_through_a_value(values):
    tree = grow(sorted(map(float, values)))
    for ordered in (
        count_values(np.array(values, float)),
        sort_values(np.array([*values, np.nan], float)),
    ):
        bins = fit_numeric_bins(ordered, "fine")
        leaves = list_leaves(tree)
        for value in range(-1, 14):
            leaf = int(np.searchsorted(bins.cuts, value))
            assert leaves[leaf] == find_leaf(value, tree)
        paths = [leaf[:2] for leaf in leaves]
        assert bins.n_bins == len(set(paths))
        assert [
            sorted(set(paths)).index(path) for path in paths
        ] == bins.parents.tolist()
        centers = [find_leaf(center, tree)[:2] for center in bins.centers]
        assert centers == sorted(set(paths))


def test_a_complete_row_is_similar_to_itself_with_one():
    table = mixed_table(300, 6, 0.0, seed=0)
    pk = ProximityKernel("fine").fit(table)
    np.testing.assert_allclose(np.diag(pk.kernel(table)), 1, atol=1e-6)
    assert np.linalg.eigvalsh(pk.kernel(table).astype(float)).min() > -1e-3


@pytest.mark.parametrize("missingness", ["ignorable", "informative"])
def test_the_model_is_saved_and_fitted_to_batches(missingness, tmp_path):
    table = mixed_table(250, 6, 0.2, seed=1)
    pk = ProximityKernel("fine", missingness=missingness).fit(table)
    parts = [table.iloc[:90], table.iloc[90:]]
    batched = ProximityKernel("fine", missingness=missingness).fit_batches(parts)
    np.testing.assert_array_equal(batched.kernel(table), pk.kernel(table))
    pk.save(tmp_path / "fine.model")
    loaded = ProximityKernel.load(tmp_path / "fine.model")
    assert (loaded.transform(table) != pk.transform(table)).nnz == 0
    names = pk.get_feature_names_out().tolist()
    assert len(names) == len(set(names)) == pk.transform(table).shape[1]


def test_the_bins_are_the_quarters():
    table = pd.DataFrame({"a": np.arange(64.0), "b": ["x", "y"] * 32})
    pk = ProximityKernel("fine").fit(table)
    assert pk.n_bins_.tolist() == [4, 2]
    assert pk.bin_groups_[0].tolist() == [0, 0, 1, 1]
    assert pk.prior_[0].tolist() == [0.25] * 4
    rows = [[0.0, "x"], [1.0, "x"], [7.0, "x"], [8.0, "y"], [20.0, "x"], [40.0, "y"]]
    marks = [explain(pk, rows[0], row).features[0] for row in rows]
    assert [mark.agreement for mark in marks] == pytest.approx([1, 1, 0.9, 0.7, 0.4, 0])
    words = ["same", "same range", "close", "close", "close", "different"]
    assert [mark.alike for mark in marks] == words


def test_k_means_takes_it():
    table = mixed_table(200, 5, 0.1, seed=2)
    km = ProximityKMeans(3, kernel=ProximityKernel("fine"), random_state=0).fit(table)
    shares = [one["share"] for one in km.profiles_]
    assert 0 < max(shares) <= 1 + 1e-9
    with raises_naming(ValueError, "fit_batches", "'fine'", "'auto'"):
        km.fit_batches([table])


def test_what_does_not_go_together_is_named():
    with raises_naming(ValueError, "'fine'", "pairwise", "'auto'"):
        ProximityKernel("fine", matching="cascade").fit([[1.0], [2.0]])
    with raises_naming(ValueError, "n_bins", "'auto'", "'fine'", "'finer'"):
        ProximityKernel("finer").fit([[1.0], [2.0]])
