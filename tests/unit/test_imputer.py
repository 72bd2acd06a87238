"""`ProximityImputer` against `ProximityKernel.impute`, and in pipelines."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import mixed_table, raises_naming

from proximity_kernel import ProximityImputer, ProximityKernel


@parametrize_with_checks([ProximityImputer(), ProximityImputer(add_indicator=True)])
def test_checks(estimator, check):
    check(estimator)


@pytest.fixture
def frame():
    table = mixed_table(150, 6, 0.2, seed=0)
    table["full"] = np.arange(150.0)
    return table


def test_it_fills_as_the_kernel_does(frame):
    filled = ProximityImputer(strategy="mode").fit_transform(frame)
    want = ProximityKernel().fit(frame).impute(frame, strategy="mode")
    pd.testing.assert_frame_equal(filled, want)
    assert filled.notna().all().all()
    uncertainty = ProximityImputer().fit(frame).uncertainty(frame)
    pd.testing.assert_frame_equal(
        uncertainty,
        ProximityKernel().fit(frame).impute(frame, return_uncertainty=True)[1],
    )


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas])
def test_indicators_in_frames_of_every_make(frame, make):
    imputer = ProximityImputer(add_indicator=True).fit(frame)
    marks = frame.isna().loc[:, frame.isna().any()].add_prefix("missingindicator_")
    filled = imputer.transform(frame)
    pd.testing.assert_frame_equal(filled.iloc[:, -marks.shape[1] :], marks)
    assert imputer.get_feature_names_out().tolist() == list(filled.columns)
    other = ProximityImputer(add_indicator=True).fit_transform(make(frame))
    assert type(other) is type(make(frame))
    again = other.to_pandas()
    assert list(again.columns) == list(filled.columns)
    assert (again[marks.columns] == marks).all().all()


def test_indicators_in_arrays_and_lists():
    table = np.array([[1.0, np.nan], [2.0, 5.0], [np.nan, 6.0], [3.0, 7.0]])
    imputer = ProximityImputer(add_indicator=True)
    filled = imputer.fit_transform(table)
    assert filled.shape == (4, 4)
    np.testing.assert_array_equal(filled[:, 2:], np.isnan(table))
    rows = imputer.fit_transform([[1.0, None], [2.0, "x"], [None, "x"]])
    assert rows[:, 2:].tolist() == [[False, True], [False, False], [True, False]]
    assert rows[0, :2].tolist() == [1.0, "x"]


def test_indicators_beside_dates():
    days = np.array([["2020-01-01"], ["NaT"]], "M8[D]")
    filled = ProximityImputer(add_indicator=True).fit_transform(days)
    assert filled[:, 1].tolist() == [False, True]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_pandas_output_keeps_the_types_of_any_frame(make):
    frame = pd.DataFrame({"size": [1.5, None, 2.5], "color": ["red", "blue", None]})
    imputer = ProximityImputer().set_output(transform="pandas")
    filled = imputer.fit_transform(make(frame))
    assert isinstance(filled, pd.DataFrame)
    assert filled["size"].dtype == float


@pytest.mark.parametrize("n_bins", [2, 5, "auto", "fine"])
def test_drawn_numbers_stay_in_their_bin(n_bins):
    values = np.random.default_rng(1).gamma(2, size=(400, 1))
    kernel = ProximityKernel(n_bins).fit(values)
    imputer = ProximityImputer(kernel=kernel, random_state=2).fit(values)
    gaps = np.full((4000, 1), np.nan)
    drawn = imputer.draw(gaps, 1)[0]
    assert abs(drawn.mean() - values.mean()) < 4 * values.std() / np.sqrt(len(drawn))
    assert drawn.std() > 0.5 * values.std()
    beyond = 0.1 * np.ptp(values)
    assert values.min() - beyond < drawn.min()
    assert drawn.max() < values.max() + beyond
    borders = kernel.model_.bins[0].midpoints
    counts = np.bincount(np.searchsorted(borders, drawn[:, 0]))
    np.testing.assert_allclose(counts / len(drawn), kernel.prior_[0], atol=0.05)


def test_informative_gaps_are_drawn_from_values(frame):
    kernel = ProximityKernel(missingness="informative")
    imputer = ProximityImputer(kernel=kernel, random_state=0).fit(frame)
    for filled in imputer.draw(frame, 2):
        assert filled.notna().all(axis=None)


def test_draws_do_not_depend_on_threads_nor_on_parts(frame, monkeypatch):
    imputer = ProximityImputer(random_state=0, n_jobs=1).fit(frame)
    wanted = imputer.draw(frame, 1)[0]
    pd.testing.assert_frame_equal(
        imputer.set_params(n_jobs=2).draw(frame, 1)[0], wanted
    )
    monkeypatch.setattr("proximity_kernel._imputation.rows_at_a_time", lambda _: 7)
    parts = imputer.draw(frame, 1)[0]
    assert parts.notna().all(axis=None)
    pd.testing.assert_frame_equal(parts.where(frame.notna()), frame)


def test_draws_have_the_estimated_frequencies(frame):
    frame = pd.concat([frame] * 8, ignore_index=True)
    imputer = ProximityImputer(random_state=0).fit(frame)
    draws = imputer.draw(frame, n_draws=4)
    assert len(draws) == 4
    means = ProximityImputer().fit_transform(frame)
    spread = imputer.uncertainty(frame)
    for name in frame.columns[frame.isna().any()]:
        gaps = frame[name].isna()
        for draw in draws:
            assert draw.loc[~gaps, name].equals(frame.loc[~gaps, name])
            assert draw[name].notna().all()
        if pd.api.types.is_float_dtype(frame[name]):
            drawn = np.array([draw.loc[gaps, name] for draw in draws])
            error = spread.loc[gaps, name].mean() / np.sqrt(drawn.size)
            assert abs(drawn.mean() - means.loc[gaps, name].mean()) < 6 * error
            assert drawn.std() > 0.5 * spread.loc[gaps, name].mean()
    again = ProximityImputer(random_state=0).fit(frame).draw(frame, n_draws=4)
    pd.testing.assert_frame_equal(draws[3], again[3])
    assert not draws[0].equals(draws[1])


def test_draws_of_one_row_fit_together():
    """Two columns that are always equal: drawn one by one they stay equal mostly."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=600)
    columns = {f"c{j}": np.where(group, "x", "y").astype(object) for j in range(3)}
    frame = pd.DataFrame(columns)
    gaps = rng.random(600) < 0.3
    frame.loc[gaps, ["c0", "c1", "c2"]] = None
    kernel = ProximityKernel(missingness="ignorable")
    drawn = ProximityImputer(kernel=kernel, random_state=1).fit(frame).draw(frame, 1)[0]
    equal = (drawn["c0"] == drawn["c1"])[gaps].mean()
    assert equal > 0.9  # drawn without regard to each other: about a half
    assert 0.3 < (drawn["c0"] == "x")[gaps].mean() < 0.7


def test_in_a_pipeline(frame):
    y = np.arange(len(frame)) % 2
    words = make_column_selector(dtype_exclude="number")
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), words), remainder="passthrough"
    )
    pipe = make_pipeline(ProximityImputer(), encode, LogisticRegression(max_iter=5000))
    assert set(pipe.fit(frame, y).predict(frame)) <= {0, 1}
    numbers = make_column_selector(dtype_include="number")
    some = make_column_transformer((ProximityImputer(), numbers)).fit_transform(frame)
    assert not np.isnan(some.astype(float)).any()
    out = ProximityImputer().set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == list(frame.columns)


def test_it_is_saved(frame, tmp_path):
    imputer = ProximityImputer(add_indicator=True).fit(frame)
    imputer.save(tmp_path / "imputer.model")
    loaded = ProximityImputer.load(tmp_path / "imputer.model")
    pd.testing.assert_frame_equal(loaded.transform(frame), imputer.transform(frame))


def test_bad_options_are_named(frame):
    with raises_naming(ValueError, "strategy", "'median'"):
        ProximityImputer(strategy="median").fit(frame)
    with raises_naming(ValueError, "add_indicator"):
        ProximityImputer(add_indicator="yes").fit(frame)
    with raises_naming(ValueError, "n_draws"):
        ProximityImputer().fit(frame).draw(frame, 0)
