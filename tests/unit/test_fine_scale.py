"""The scale of ``n_bins="fine"`` against its definition, with recursion and loops."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle_pairwise import Pairwise
from strategies import mixed_table, raises_naming

from proximity_kernel import ProximityKernel, ProximityKMeans, explain
from proximity_kernel._bins import (
    Selected,
    rank_centers,
    rank_values,
)

SCORE = {0: 0.0, 1: 0.4, 2: 0.7, 3: 0.9, 4: 1.0}


def grow(values, depth=0):
    """Cut sorted values: a limit with the parts below and above it, or None.

    "Split where it halves the rows best and never through a value, four deep; a cell
    with one value is a leaf."
    """
    places = [i for i in range(1, len(values)) if values[i - 1] < values[i]]
    if depth == 4 or not places:
        return None
    at = min(places, key=lambda i: abs(len(values) - 2 * i))
    limit = (values[at - 1] + values[at]) / 2
    return limit, grow(values[:at], depth + 1), grow(values[at:], depth + 1)


def find_leaf(value, tree):
    """Write the way to the leaf of a value: a letter for each cut."""
    path = ""
    while tree is not None:
        limit, low, high = tree
        path, tree = (path + "l", low) if value <= limit else (path + "r", high)
    return path


def list_leaves(tree, path=""):
    if tree is None:
        return [path]
    return [
        leaf
        for t, c in zip(tree[1:], "lr", strict=True)
        for leaf in list_leaves(t, path + c)
    ]


def score(a, b):
    """Score two leaves by the smallest cell that holds both."""
    if a == b:
        return 1.0
    shared = next(i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return SCORE[shared]


def spread(estimate, leaves, quarters):
    """Spread the probabilities of quarters evenly over their parts."""
    out = {}
    for leaf in leaves:
        out[leaf] = estimate[quarters.index(leaf[:2])] * 0.5 ** len(leaf[2:])
    return out


def true_kernel(table, new):
    """Compare the rows of `new` with each other, from the definition."""
    columns = [[v for v in column if v == v] for column in table.T.tolist()]
    trees = [grow(sorted(values)) for values in columns]
    leaves = [list_leaves(tree) for tree in trees]
    quarters = [list(dict.fromkeys(leaf[:2] for leaf in own)) for own in leaves]

    def code(row):
        return [
            quarters[j].index(find_leaf(v, trees[j])[:2]) if v == v else -1
            for j, v in enumerate(row)
        ]

    rule = Pairwise([code(row) for row in table.tolist()], [len(q) for q in quarters])

    def describe(row):
        cells = []
        for j, v in enumerate(row):
            if v == v:
                cells.append({find_leaf(v, trees[j]): 1.0})
            else:
                estimate = rule.estimate(code(row), j)
                cells.append(spread(list(estimate), leaves[j], quarters[j]))
        return cells

    rows = [describe(row) for row in new.tolist()]
    return np.array(
        [
            [
                np.mean(
                    [
                        sum(
                            p * q * score(x, y)
                            for x, p in one.items()
                            for y, q in two.items()
                        )
                        for one, two in zip(a, b, strict=True)
                    ]
                )
                for b in rows
            ]
            for a in rows
        ]
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
    np.testing.assert_allclose(pk.kernel(new), true_kernel(table, new), atol=1e-12)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60))
def test_cuts_halve_best_and_never_through_a_value(values):
    tree = grow(sorted(map(float, values)))
    for ordered in (
        rank_values(np.array(values, float)),
        Selected(np.array([*values, np.nan], float)),
    ):
        bins = rank_centers(ordered, "fine")
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
