"""A fit that does not finish, and one that runs beside a transform, break nothing."""

import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from strategies import (
    assert_same_bits,
    plain,
)

from proximity_kernel import ProximityKernel, ProximityKMeans, ProximityNeighbors
from proximity_kernel import _model as model


@pytest.fixture
def narrow():
    return np.random.default_rng(0).normal(size=(50, 1))


@pytest.fixture
def wide():
    table = np.random.default_rng(1).normal(size=(700, 40))
    table[::3, 5] = np.nan
    return table


@pytest.mark.parametrize(
    ("step", "matching"),
    [
        ("learn_bins", "pairwise"),
        ("code_columns", "pairwise"),
        ("count_pairs", "pairwise"),
        ("learn_pairwise", "pairwise"),
        ("build_cascade", "cascade"),
    ],
)
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_fit_that_fails_leaves_the_old_model(
    monkeypatch, narrow, wide, step, matching, error
):
    pk = plain(matching=matching).fit(narrow)
    before, names = pk.transform(narrow), pk.get_feature_names_out().tolist()

    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(model, step, fail)
        with pytest.raises(error):
            pk.fit(wide)
        with pytest.raises(error):
            pk.fit_transform(wide)
    assert_same_bits(pk.transform(narrow), before)
    assert pk.get_feature_names_out().tolist() == names
    with pytest.raises(ValueError, match=r"40 features, but .* expecting 1 feature"):
        pk.transform(wide)


@pytest.mark.parametrize(
    ("matching", "step"),
    [("pairwise", "learn_pairwise"), ("cascade", "build_cascade")],
)
def test_a_first_fit_that_fails_leaves_nothing(monkeypatch, narrow, matching, step):
    pk = plain(matching=matching)

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(model, step, fail)
    with pytest.raises(MemoryError):
        pk.fit(narrow)
    with pytest.raises(NotFittedError):
        pk.transform(narrow)


def test_a_warning_made_an_error_leaves_the_model_of_the_last_fit(narrow, wide):
    pk = plain().fit(narrow)
    before = pk.transform(narrow)
    wide[:, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="column 0"):
            pk.fit(wide)
    assert_same_bits(pk.transform(narrow), before)


def test_options_of_the_fit_hold_until_the_next(narrow):
    pk = plain(n_bins=3, categorical_features=[0]).fit(narrow.round())
    before = pk.transform(narrow.round())
    pk.set_params(n_bins=7, categorical_features="from_dtype", max_categories=2)
    assert_same_bits(pk.transform(narrow.round()), before)


@pytest.mark.parametrize("matching", ["pairwise", "cascade"])
def test_a_refit_beside_a_transform(wide, matching):
    """With 200 bins the pairwise rule counts few sources only, with 2 all of them."""
    models = {n: plain(n_bins=n, matching=matching).fit(wide) for n in (2, 200)}
    wanted = {n: model.transform(wide) for n, model in models.items()}
    pk = plain(n_bins=2, matching=matching, n_jobs=1).fit(wide)
    stop = threading.Event()

    def refit():
        while not stop.is_set():
            for n in (200, 2):
                pk.set_params(n_bins=n).fit(wide)

    other = threading.Thread(target=refit)
    other.start()
    try:
        for _ in range(60):
            got = pk.transform(wide)
            assert_same_bits(got, wanted[2 if got.shape == wanted[2].shape else 200])
    finally:
        stop.set()
        other.join()


def test_the_warning_points_to_the_caller_and_stays_short():
    table = np.full((2, 300), np.nan)
    for method in (plain().fit, plain().fit_transform):
        with pytest.warns(UserWarning, match="and 295 more") as caught:
            method(table)
        assert caught[0].filename == __file__
        assert len(str(caught[0].message)) < 200


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([], "2D array"),
        (None, "data frame"),
        ({"a": [1]}, "dict"),
        ([1, 2], "2D array"),
        (np.zeros(3), "2D array"),
        (np.zeros((2, 2, 2)), "dim 3"),
    ],
)
def test_transform_says_what_fit_says(narrow, bad, message):
    pk = plain().fit(narrow)
    for method in (pk.fit, pk.transform, pk.kernel, pk.provenance):
        with pytest.raises((TypeError, ValueError), match=message):
            method(bad)


def test_an_error_about_the_second_table_says_so(narrow):
    pk = plain().fit(narrow)
    with pytest.raises(ValueError, match="2 features") as caught:
        pk.kernel(narrow, np.zeros((3, 2)))
    assert "Y" in caught.value.__notes__[0]


@pytest.mark.parametrize("make", [ProximityNeighbors, ProximityKMeans])
def test_a_kernel_that_is_fitted_again_is_an_error_not_a_crash(make, wide):
    options = {} if make is ProximityNeighbors else {"n_clusters": 3}
    estimator = make(kernel=ProximityKernel(2), **options).fit(wide)
    estimator.kernel_.set_params(n_bins=200).fit(wide)
    ask = estimator.kneighbors if make is ProximityNeighbors else estimator.predict
    with pytest.raises(ValueError, match="Fit the estimator again"):
        ask(wide)
