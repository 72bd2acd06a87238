"""Imputers that give distributions, and Gower's similarity, against plain loops."""

import numpy as np
import pandas as pd
import pytest

from proximity_kernel_paper.baselines import registry

SOFT = ("MICE, draws", "MIWAE, draws", "scaled KNN, shares", "forest, probabilities")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    frame = pd.DataFrame(
        {
            "x": x,
            "y": 1000 * x + rng.normal(size=60),
            "c": pd.Categorical(np.where(x > 0, "high", "low")),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.2)


def represent(name, table, **options):
    model = registry[name].build(
        random_state=0, n_bins=4, missingness="ignorable", **options
    )
    points = model.fit(table).transform(table)
    dense = points.toarray() if hasattr(points, "toarray") else points
    return model.kernel_, np.split(dense, np.cumsum(model.kernel_.n_bins_)[:-1], axis=1)


@pytest.mark.parametrize("name", SOFT)
def test_only_missing_cells_differ_and_are_distributions(name, table):
    kernel, blocks = represent(name, table)
    plain = kernel.transform(table).toarray()
    for j, block in enumerate(blocks):
        np.testing.assert_allclose(block.sum(axis=1), 1, atol=1e-5)
        seen = table.iloc[:, j].notna().to_numpy()
        start = int(kernel.n_bins_[:j].sum())
        same = plain[:, start : start + block.shape[1]]
        np.testing.assert_allclose(block[seen], same[seen])
    assert (blocks[2].max(axis=1) < 1).any()  # some gap of the category is open


def test_shares_are_those_of_the_nearest_rows_that_observe(table):
    _, blocks = represent("scaled KNN, shares", table, n_neighbors=3)
    coded = table.assign(c=table["c"].cat.codes.where(table["c"].notna()))
    scaled = ((coded - coded.min()) / (coded.max() - coded.min())).to_numpy(float)
    row = int(np.flatnonzero(table["c"].isna() & table["x"].notna())[0])
    apart = []
    for other in np.flatnonzero(table["c"].notna()):
        both = ~np.isnan(scaled[row]) & ~np.isnan(scaled[other])
        squares = (scaled[row, both] - scaled[other, both]) ** 2
        apart.append((squares.sum() * 3 / both.sum() if both.any() else np.inf, other))
    near = [other for _, other in sorted(apart)[:3]]
    expected = np.mean([blocks[2][other] for other in near], axis=0)
    np.testing.assert_allclose(blocks[2][row], expected, atol=1e-6)


def test_scaling_decides_who_is_near():
    frame = pd.DataFrame(
        {"a": [0.0, 1, 2, 1000], "b": [0.0, 1, 0, 1], "c": [5.0, 7, 9, None]}
    )
    scaled = registry["scaled KNN"].build(n_neighbors=1).fit(frame).fill(frame)
    plain = registry["KNN"].build(n_neighbors=1).fit(frame).fill(frame)
    assert plain.loc[3, "c"] == 9  # the nearest by a alone
    assert scaled.loc[3, "c"] == 7


def test_draws_of_one_seed_are_the_same_and_of_two_differ(table):
    model = registry["MICE"].build(random_state=0).fit(table)
    first, again, other = (model.draw(table, seed)["x"] for seed in (1, 1, 2))
    pd.testing.assert_series_equal(first, again)
    assert (first != other).any()
    pd.testing.assert_frame_equal(model.draw(table, 0), model.fill(table))


def test_gower_is_the_mean_over_columns_that_both_observe(table):
    found = registry["Gower"].build().fit(table).transform(table)
    span = table["x"].max() - table["x"].min(), table["y"].max() - table["y"].min()

    def compare(a, b):
        alike = [
            1 - abs(a[name] - b[name]) / width
            for name, width in zip("xy", span, strict=True)
            if pd.notna(a[name]) and pd.notna(b[name])
        ]
        if pd.notna(a["c"]) and pd.notna(b["c"]):
            alike.append(float(a["c"] == b["c"]))
        return np.mean(alike) if alike else np.nan

    rows = [row for _, row in table.iterrows()]
    expected = np.array([[compare(a, b) for b in rows] for a in rows])
    known = ~np.isnan(expected)
    np.testing.assert_allclose(found[known], expected[known])
    np.testing.assert_allclose(found[~known], expected[known].mean())


def test_isotree_compares_rows_by_its_trees(table):
    pytest.importorskip("isotree")
    model = registry["isotree"].build(random_state=0, n_trees=50).fit(table)
    found = model.transform(table)
    assert found.shape == (60, 60)
    np.testing.assert_allclose(found, found.T)
    np.testing.assert_allclose(np.diag(found), 1)
