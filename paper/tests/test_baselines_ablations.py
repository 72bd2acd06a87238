"""The ablation against the same thing written with loops over cells."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from proximity_kernel import ProximityKernel
from proximity_kernel_paper.baselines import registry

GRADES = ["low", "mid", "high"]
NAME = "prior only"


def make_table(n, seed, rate=0.3):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": random.normal(size=n),
            "grade": pd.Categorical(random.choice(GRADES, n), GRADES, ordered=True),
            "colour": random.choice(["blue", "green", "red"], n, p=[0.2, 0.5, 0.3]),
            "skewed": random.exponential(size=n) ** 3,
        }
    )
    return frame.mask(random.random(frame.shape) < rate)


def slow_block(value, fitted, n_bins, fill):
    """One cell's block from the definition: nearest center, or the label's place.

    `fill` makes the block of a missing cell from the fitted column's blocks.
    """
    observed = list(fitted.dropna())
    if isinstance(fitted.dtype, pd.CategoricalDtype):
        ranks = list(fitted.dtype.categories)
        observed = [ranks.index(v) for v in observed]
        value = value if pd.isna(value) else ranks.index(value)
    if isinstance(observed[0], str):
        places = sorted(set(observed))
        place = lambda v: places.index(v) if v in places else None  # noqa: E731
    else:
        places = np.unique(np.percentile(observed, np.linspace(0, 100, n_bins)))
        place = lambda v: int(np.argmin(np.abs(places - v)))  # noqa: E731
    if pd.isna(value):
        return fill(observed, place, len(places))
    block = np.zeros(len(places))
    if place(value) is not None:
        block[place(value)] = 1
    return block


def fill_by_prior(observed, place, n):
    return np.bincount([place(v) for v in observed], minlength=n) / len(observed)


@pytest.mark.parametrize("n_bins", [2, 4, 7])
def test_agrees_with_the_loop(n_bins):
    fitted, new = make_table(50, seed=n_bins), make_table(15, seed=99)
    method = registry[NAME].build(n_bins=n_bins).fit(fitted)
    for table in (fitted, new):
        want = [
            np.concatenate(
                [
                    slow_block(row[column], fitted[column], n_bins, fill_by_prior)
                    for column in fitted.columns
                ]
            )
            for _, row in table.iterrows()
        ]
        np.testing.assert_allclose(method.transform(table).toarray(), want, atol=1e-6)


def test_only_missing_cells_differ_from_the_proximity_kernel():
    table = make_table(50, seed=0)
    # Columns that tell about each other: where none does, PK takes the prior too.
    table["skewed"] = table["skewed"].mask(table["skewed"].notna(), table["size"])
    pk = ProximityKernel(n_bins=4).fit(table)
    ours = registry[NAME].build(n_bins=4).fit_transform(table)
    theirs = pk.transform(table)
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype
    blocks = np.repeat(table.isna().to_numpy(), pk.n_bins_, axis=1)
    differ = ours.toarray() != theirs.toarray()
    assert differ.any()
    assert not differ[~blocks].any()


def test_an_unseen_category_is_nothing():
    table = make_table(50, seed=0)
    new = make_table(3, seed=1, rate=0).assign(colour="violet")
    prior_only = registry[NAME].build(n_bins=4).fit(table)
    assert not prior_only.transform(new).toarray()[:, 7:10].any()  # after 4 and 3 bins


def test_a_column_with_nothing_observed_has_no_block():
    table = make_table(20, seed=0)
    want = registry[NAME].build().fit_transform(table).toarray()
    with pytest.warns(UserWarning, match="No value is observed in column 'empty'"):
        method = registry[NAME].build().fit(table.assign(empty=np.nan))
    got = method.transform(table.assign(empty=np.nan)).toarray()
    np.testing.assert_array_equal(got, want)


def test_prior_only_with_two_resolutions():
    table = make_table(50, seed=0)
    method = registry[NAME].build(n_bins="auto").fit(table)
    got = method.transform(table).toarray()
    prior, groups = method.kernel_.prior_[0], method.kernel_.bin_groups_[0]
    block = [*0.2**0.5 * prior, *0.8**0.5 * np.bincount(groups, prior)]
    missing = table["size"].isna().to_numpy()
    np.testing.assert_allclose(got[missing, :6], [block] * missing.sum(), rtol=1e-6)
    complete = table.notna().all(axis=1)
    theirs = method.kernel_.transform(table[complete]).toarray()
    np.testing.assert_array_equal(got[complete], theirs)


def test_k_means_takes_it():
    Z = registry[NAME].build().fit_transform(make_table(30, seed=0))
    assert len(KMeans(2, n_init=1, random_state=0).fit_predict(Z)) == 30
