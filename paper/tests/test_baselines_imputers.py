"""The imputers that need no network recover what is known to be there."""

import numpy as np
import pandas as pd
import pytest

from proximity_kernel_paper.baselines import _missforest, registry
from proximity_kernel_paper.baselines._em import EM
from proximity_kernel_paper.baselines._missforest import (
    MissForest,
    measure_change,
    stops,
)
from proximity_kernel_paper.baselines._simple import KNN, MICE, Mean, ModeMean

MEAN = np.array([1.0, -20.0, 300.0, 0.0])
# One common cause; units that differ by orders of magnitude.
SCALE = np.array([1.0, 5.0, 100.0, 0.01])
COVARIANCE = np.outer(SCALE, SCALE) * (0.7 + 0.3 * np.eye(4))

IMPUTERS = {
    "Mean": Mean(),
    "KNN": KNN(),
    "MICE": MICE(max_iter=5, random_state=0),
    "EM": EM(),
    "MissForest": MissForest(max_iter=3, n_estimators=10, random_state=0),
    "mode/mean": ModeMean(),
}


def hide(values, rate, seed):
    """Hide cells completely at random."""
    gaps = np.random.default_rng(seed).random(values.shape) < rate
    return np.where(gaps, np.nan, values), gaps


def draw_correlated(n=400, d=5, noise=0.3):
    """Columns that one hidden number explains, up to noise."""
    random = np.random.default_rng(3)
    return random.normal(size=(n, 1)) + noise * random.normal(size=(n, d))


def fill(imputer, values, categorical=None):
    kinds = np.zeros(values.shape[1], bool) if categorical is None else categorical
    return imputer.fit(values, kinds).impute(values)


def rmse(filled, truth, gaps):
    return np.sqrt(np.mean((filled - truth)[gaps] ** 2))


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", IMPUTERS)
def test_observed_cells_stay_and_gaps_are_filled(name):
    values, gaps = hide(draw_correlated(80), 0.3, seed=0)
    before = values.copy()
    filled = fill(IMPUTERS[name], values)
    np.testing.assert_array_equal(values, before)
    np.testing.assert_array_equal(filled[~gaps], values[~gaps])
    assert np.isfinite(filled).all()


@pytest.mark.parametrize("name", IMPUTERS)
def test_a_column_with_nothing_observed_is_filled_with_0(name):
    values, _ = hide(draw_correlated(40), 0.2, seed=0)
    values[:, 2] = np.nan
    filled = fill(IMPUTERS[name], values)
    assert (filled[:, 2] == 0).all()
    assert np.isfinite(filled).all()


@pytest.mark.parametrize("name", IMPUTERS)
def test_a_row_with_nothing_observed_is_filled(name):
    values, _ = hide(draw_correlated(40), 0.2, seed=0)
    values[3] = np.nan
    assert np.isfinite(fill(IMPUTERS[name], values)).all()


@pytest.mark.parametrize("name", IMPUTERS)
def test_one_column_alone_is_filled(name):
    filled = fill(IMPUTERS[name], np.array([[1.0], [np.nan], [4.0], [4.0]]))
    assert filled[1, 0] == pytest.approx(3) or name == "MICE"  # which draws


@pytest.mark.parametrize("name", IMPUTERS)
def test_constant_and_equal_columns_do_no_harm(name):
    values, _ = hide(draw_correlated(40), 0.2, seed=0)
    values[:, 1], values[:, 2] = 5.0, values[:, 0]
    values[4, 1] = np.nan
    filled = fill(IMPUTERS[name], values)
    assert filled[4, 1] == pytest.approx(5, abs=0.01)
    assert np.isfinite(filled).all()


@pytest.mark.parametrize(
    ("imputer", "share"),
    # How much of the mean's error may be left; at best noise / spread, about 0.35.
    # A draw has the model's error and its own.
    [
        (KNN(10), 0.6),
        (EM(), 0.45),
        (MICE(random_state=0), 0.7),
        (MissForest(max_iter=5, n_estimators=30, random_state=0), 0.55),
    ],
    ids=lambda value: type(value).__name__,
)
def test_beats_the_mean_on_correlated_data(imputer, share):
    truth = draw_correlated()
    values, gaps = hide(truth, 0.3, seed=1)
    by_mean = rmse(fill(Mean(), values), truth, gaps)
    assert rmse(fill(imputer, values), truth, gaps) < share * by_mean
    # Rows that were not there at fit, too.
    new = np.random.default_rng(4).normal(size=(200, 1)) + np.zeros(5)
    holed, gaps = hide(new, 0.3, seed=5)
    by_mean = rmse(Mean().fit(values, None).impute(holed), new, gaps)
    assert rmse(imputer.impute(holed), new, gaps) < share * by_mean


# ---------------------------------------------------------------------- simple


def test_mean_takes_categories_for_numbers():
    values = np.array([[0.0, 1.0], [0.0, 2.0], [3.0, np.nan], [np.nan, 6.0]])
    filled = fill(Mean(), values, np.array([True, False]))
    np.testing.assert_array_equal(filled[[3, 2], [0, 1]], [1, 3])


def test_mode_mean_does_not():
    values = np.array([[0.0, 1.0], [0.0, 2.0], [3.0, np.nan], [np.nan, 6.0]])
    filled = fill(ModeMean(), values, np.array([True, False]))
    np.testing.assert_array_equal(filled[[3, 2], [0, 1]], [0, 3])


def test_knn_averages_the_nearest_rows():
    values = np.array([[0.0, 10.0], [1.0, 20.0], [9.0, 90.0], [0.4, np.nan]])
    assert fill(KNN(2), values)[3, 1] == 15


def test_mice_draws_with_the_spread_of_the_data():
    # Filling with the expectation would shrink the variance to nearly nothing.
    random = np.random.default_rng(0)
    values, gaps = hide(random.normal(size=(1000, 3)), 0.4, seed=1)
    filled = fill(MICE(max_iter=3, random_state=0), values)
    assert 0.85 < filled[gaps].std() < 1.15


# -------------------------------------------------------------------------- EM


def test_em_recovers_mean_and_covariance():
    random = np.random.default_rng(0)
    cause, rest = random.normal(size=(20000, 1)), random.normal(size=(20000, 4))
    truth = MEAN + SCALE * (np.sqrt(0.7) * cause + np.sqrt(0.3) * rest)
    values, _ = hide(truth, 0.3, seed=1)
    em = EM().fit(values, np.zeros(4, bool))
    assert np.abs((em.mean_ - MEAN) / SCALE).max() < 0.04
    assert np.abs((em.covariance_ - COVARIANCE) / np.outer(SCALE, SCALE)).max() < 0.05


def test_em_gives_the_closed_form_of_a_monotone_pattern():
    # y is missing where x is large: the observed mean of y is far off. The likelihood
    # factors into x and y given x, a regression on the complete rows.
    random = np.random.default_rng(0)
    x = random.normal(3, 2, size=300)
    y = 1 - 0.8 * x + random.normal(size=300)
    seen = x < 3.5
    em = EM(max_iter=1000).fit(
        np.column_stack([x, np.where(seen, y, np.nan)]), np.zeros(2, bool)
    )
    slope, intercept = np.polyfit(x[seen], y[seen], 1)
    noise = np.mean((y[seen] - intercept - slope * x[seen]) ** 2)
    np.testing.assert_allclose(
        em.mean_, [x.mean(), intercept + slope * x.mean()], rtol=1e-5
    )
    covariance = [[1, slope], [slope, slope**2 + noise / x.var()]]
    np.testing.assert_allclose(
        em.covariance_, x.var() * np.array(covariance), rtol=1e-4
    )
    assert em.n_iter_ < 1000


def test_em_of_a_complete_table_is_its_mean_and_covariance():
    values = draw_correlated(50)
    em = EM().fit(values, np.zeros(5, bool))
    np.testing.assert_allclose(em.mean_, values.mean(axis=0))
    np.testing.assert_allclose(em.covariance_, np.cov(values.T, ddof=0))


def test_em_fills_with_the_conditional_mean():
    values, _ = hide(draw_correlated(60), 0.4, seed=2)
    em = EM().fit(values, np.zeros(5, bool))
    filled = em.impute(values)
    for row, got in zip(values, filled, strict=True):
        m, o = np.flatnonzero(np.isnan(row)), np.flatnonzero(~np.isnan(row))
        weights = em.covariance_[np.ix_(m, o)] @ np.linalg.pinv(
            em.covariance_[np.ix_(o, o)]
        )
        want = em.mean_[m] + weights @ (row[o] - em.mean_[o])
        np.testing.assert_allclose(got[m], want, rtol=1e-3, atol=1e-4)


def test_em_stops_when_told():
    values, _ = hide(draw_correlated(60), 0.4, seed=2)
    assert EM(max_iter=2).fit(values, np.zeros(5, bool)).n_iter_ == 2


# ------------------------------------------------------------------ MissForest


def make_mixed(n=300):
    """A table in which a hidden number drives two numbers and two categories."""
    random = np.random.default_rng(7)
    latent = random.uniform(-1, 1, n)
    return pd.DataFrame(
        {
            "a": latent + random.normal(size=n) / 10,
            "b": latent**2 + random.normal(size=n) / 10,
            "c": np.array(["low", "mid", "top"])[np.digitize(latent, [-0.4, 0.4])],
            "d": np.where(latent > 0, "yes", "no"),
        }
    )


def test_missforest_beats_mean_and_mode_on_mixed_data():
    truth = make_mixed()
    gaps = np.random.default_rng(8).random(truth.shape) < 0.3
    values = truth.mask(gaps)
    options = {"max_iter": 5, "n_estimators": 30, "random_state": 0}
    filled = registry["MissForest"].build(**options).fit(values).fill(values)
    mean = registry["Mean"].build().fit(values).fill(values)
    for j, name in enumerate(truth.columns):
        hidden = truth.loc[gaps[:, j], name]
        by_forest, by_mean = filled.loc[gaps[:, j], name], mean.loc[gaps[:, j], name]
        if name in "ab":
            errors = [((guess - hidden) ** 2).mean() for guess in (by_forest, by_mean)]
            assert errors[0] < 0.7 * errors[1]
        else:
            most_frequent = (hidden == values[name].mode()[0]).mean()
            assert (by_forest == hidden).mean() > most_frequent + 0.2
            assert (by_forest == hidden).mean() > (by_mean == hidden).mean() + 0.2


def test_missforest_predicts_categories_that_exist():
    # The categories 0 and 2 only: a regression would say 1.
    random = np.random.default_rng(0)
    values = np.column_stack(
        [2.0 * random.integers(2, size=60), random.normal(size=60)]
    )
    values[:20, 0] = np.nan
    forest = MissForest(n_estimators=10, random_state=0)
    assert set(fill(forest, values, np.array([True, False]))[:, 0]) == {0, 2}


def test_missforest_takes_categories_with_any_codes():
    random = np.random.default_rng(0)
    values = np.column_stack(
        [random.choice([-3.0, 0.5, 2208.0], 60), random.normal(size=60)]
    )
    values[:20, 0] = np.nan
    filled = fill(MissForest(2, 10, random_state=0), values, np.array([True, False]))
    assert set(filled[:, 0]) == {-3, 0.5, 2208}
    assert fill(ModeMean(), values, np.array([True, False]))[0, 0] in {-3, 0.5, 2208}


def test_forests_grow_in_parallel_to_the_same_digit_and_smaller_with_large_leaves():
    values, _ = hide(draw_correlated(80), 0.3, seed=0)
    alone, together, small = (
        MissForest(2, 10, random_state=0, **options)
        for options in ({}, {"n_jobs": 2}, {"min_samples_leaf": 10})
    )
    filled = fill(alone, values)
    np.testing.assert_array_equal(fill(together, values), filled)
    fill(small, values)
    nodes = [
        forest.rounds_[0][0][1].estimators_[0].tree_.node_count
        for forest in (small, alone)
    ]
    assert nodes[0] < nodes[1] / 3


def test_change_is_measured_as_in_the_paper():
    random = np.random.default_rng(0)
    new, old = random.integers(0, 3, size=(2, 9, 4)).astype(float)
    gaps = random.random((9, 4)) < 0.5
    old = np.where(gaps, old, new)
    kinds = np.array([False, True, True, False])
    top = bottom = changed = missing = 0
    for i in range(9):
        for j in range(4):
            if kinds[j]:
                changed += new[i, j] != old[i, j]
                missing += gaps[i, j]
            else:
                top += (new[i, j] - old[i, j]) ** 2
                bottom += new[i, j] ** 2
    want = top / bottom, changed / missing
    assert measure_change(new, old, gaps, kinds) == pytest.approx(want)
    numbers_only = gaps & ~kinds
    assert measure_change(new, old, numbers_only, kinds) == pytest.approx(want[:1])


def test_it_stops_when_no_kind_changes_less_than_before():
    assert not stops([(9.0,)])
    assert not stops([(9.0,), (8.0,)])
    assert stops([(9.0,), (8.0,), (8.5,)])
    assert not stops([(9.0, 0.3), (9.5, 0.2)])  # categories still settle
    assert not stops([(9.0, 0.3), (8.0, 0.4)])  # numbers still do
    assert stops([(9.0, 0.3), (9.5, 0.4)])
    assert stops([(0.0, 0.0), (0.0, 0.0)])  # nothing changes any more


@pytest.mark.parametrize(
    ("script", "max_iter", "kept"),
    [
        ([(5, 0.5), (4, 0.6), (4.5, 0.4), (4.6, 0.5)], 10, 3),
        ([(5, 0.5), (4, 0.6), (4.5, 0.4), (4.6, 0.5)], 2, 2),
        ([(5,), (6,)], 10, 1),
        ([(5,), (4,), (3,)], 3, 3),
    ],
)
def test_the_table_before_the_rise_is_the_answer(script, max_iter, kept, monkeypatch):
    tables = []

    def scripted(new, *_):
        tables.append(new.copy())
        return script[len(tables) - 1]

    monkeypatch.setattr(_missforest, "measure_change", scripted)
    values, _ = hide(draw_correlated(50), 0.3, seed=0)
    forest = MissForest(max_iter=max_iter, n_estimators=3, random_state=0)
    filled = fill(forest, values)
    assert len(forest.rounds_) == kept
    assert forest.changes_ == script[: len(tables)]
    # Going through the kept forests again gives the table they made, to the digit.
    np.testing.assert_array_equal(filled, tables[kept - 1])


def test_columns_with_fewer_gaps_come_first():
    values = draw_correlated(30)
    for j, n_gaps in enumerate([5, 0, 9, 2, 5]):
        values[:n_gaps, j] = np.nan
    forest = MissForest(max_iter=1, n_estimators=2, random_state=0)
    forest.fit(values, np.zeros(5, bool))
    assert [j for j, _ in forest.rounds_[0]] == [3, 0, 4, 2]


def test_a_column_complete_at_fit_is_predicted_in_new_rows():
    truth = draw_correlated()
    values, _ = hide(truth, 0.3, seed=1)
    values[:, 0] = truth[:, 0]
    forest = MissForest(max_iter=2, n_estimators=20, random_state=0)
    forest.fit(values, np.zeros(5, bool))
    new = draw_correlated(800)[400:]
    holed = new.copy()
    holed[:, 0] = np.nan
    error = forest.impute(holed)[:, 0] - new[:, 0]
    assert np.sqrt(np.mean(error**2)) < 0.55 * new[:, 0].std()


def test_a_complete_table_needs_no_forest():
    values = draw_correlated(20)
    forest = MissForest(random_state=0)
    np.testing.assert_array_equal(fill(forest, values), values)
    assert forest.rounds_ == []
