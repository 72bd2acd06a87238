"""`ProximityImputer`: its options and results, and in pipelines."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import mixed_table, raises_naming

from proximity_kernel import ProximityImputer, ProximityKernel
from proximity_kernel.imputer import draw_model

# scikit-learn asks a result for its shape; lists of rows come back as lists.
_LISTS = {"check_transformer_data_not_an_array": "a list of rows gives a list of rows"}


@parametrize_with_checks(
    [ProximityImputer(), ProximityImputer(add_indicator=True)],
    expected_failed_checks=lambda _: _LISTS,
)
def test_checks(estimator, check):
    check(estimator)


@pytest.fixture
def frame():
    table = mixed_table(150, 6, 0.2, seed=0)
    table["full"] = np.arange(150.0)
    return table


def test_a_frozen_kernel_is_not_fitted_again(frame):
    kernel = ProximityKernel().fit(frame)
    model = kernel.model_
    imputer = ProximityImputer(kernel=FrozenEstimator(kernel)).fit(frame)
    assert imputer.kernel_.model_ is model
    pd.testing.assert_frame_equal(
        imputer.transform(frame), ProximityImputer().fit_transform(frame)
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
    assert [row[2:] for row in rows] == [[False, True], [False, False], [True, False]]
    assert rows[0][:2] == [1.0, "x"]


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
    monkeypatch.setattr("proximity_kernel.imputer.rows_at_a_time", lambda _: 7)
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


def test_probabilities_by_label(frame):
    frame["yes"] = (frame["full"] > 70).astype("boolean").mask(frame.index % 5 == 0)
    imputer = ProximityImputer().fit(frame)
    found = imputer.probabilities(frame)
    assert list(found.columns) == ["row", "column", "label", "probability"]
    labels = [c for c in frame if frame[c].dtype != float]
    wanted = [(i, c) for i in range(len(frame)) for c in labels if pd.isna(frame[c][i])]
    cells = found.groupby(["row", "column"], sort=False)
    assert list(cells.groups) == wanted
    assert cells.probability.sum().to_numpy() == pytest.approx(1)
    filled, unsure = imputer.transform(frame), imputer.uncertainty(frame)
    for (i, c), own in cells:
        best = own.loc[own.probability.idxmax()]
        assert best.probability == pytest.approx(1 - unsure[c][i])
        assert (
            best.label == filled[c][i]
            or own.probability.nlargest(2).diff().abs().iloc[1] < 1e-9
        )  # a tie


@pytest.mark.parametrize("matching", ["pairwise", "cascade"])
def test_probabilities_in_every_make(matching):
    kernel = ProximityKernel(n_bins=2, matching=matching)
    rows = [[1.0, "a"], [1.2, "a"], [9.0, "b"], [8.0, None], [None, "a"], [8.0, None]]
    imputer = ProximityImputer(kernel=kernel).fit(rows)
    listed = imputer.probabilities(rows)
    assert [one[:3] for one in listed] == [
        (3, "x1", "a"), (3, "x1", "b"), (5, "x1", "a"), (5, "x1", "b"),
    ]  # fmt: skip
    array = imputer.probabilities(np.array(rows, object))
    assert array["probability"].tolist() == [one[3] for one in listed]
    for make in (pl.from_pandas, pa.Table.from_pandas):
        table = make(pd.DataFrame(rows, columns=["x0", "x1"]))
        named = ProximityImputer(kernel=kernel).fit(table)
        assert [str(x) for x in named.probabilities(table)["label"]] == list("abab")
    assert imputer.probabilities([[None, "a"]]) == []


def test_labels_that_share_a_bin_are_listed_as_none():
    rows = [["a", 1.0]] * 5 + [["b", 9.0]] * 3 + [["c", 9.0]] * 2
    kernel = ProximityKernel(matching="cascade", max_categories=2)
    found = ProximityImputer(kernel=kernel).fit(rows).probabilities([[None, 9.0]])
    assert [(label, chance) for _, _, label, chance in found] == [
        ("a", 0.0), ("b", pytest.approx(0.6)), (None, pytest.approx(0.4)),
    ]  # fmt: skip


def test_intervals_hold_as_many_values_as_they_say():
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 4000))
    whole = pd.DataFrame({"x": x, "skewed": np.exp(x + noise), "y": 2 * x + noise})
    holed = whole.mask(rng.random(whole.shape) < 0.2)
    imputer = ProximityImputer().fit(holed)
    for level in (0.5, 0.9):
        lower, upper = imputer.interval(holed, level)
        inside = (lower <= whole) & (whole <= upper)
        for name in whole:
            share = inside[name][holed[name].isna()].mean()
            assert abs(share - level) < 0.06, (name, level)
    assert lower[holed.notna()].equals(holed)
    assert upper[holed.notna()].equals(holed)


@pytest.mark.parametrize(("n_rows", "least"), [(30, 0.72), (80, 0.81), (300, 0.865)])
def test_intervals_allow_for_what_few_rows_teach(n_rows, least):
    # Errors of the fitted numbers alone would give .57, .77 and .86.
    inside = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        factor, noise = rng.normal(size=(n_rows, 1)), rng.normal(size=(n_rows, 12))
        whole = pd.DataFrame(factor + noise / 2).rename(columns=str)
        hidden = rng.random(whole.shape) < 0.15
        holed = whole.mask(hidden)
        lower, upper = ProximityImputer().fit(holed).interval(holed, 0.9)
        inside += ((lower <= whole) & (whole <= upper)).to_numpy()[hidden].tolist()
    assert least < np.mean(inside) < 0.95


def test_intervals_of_dates_and_what_has_none():
    day = np.datetime64("2020-01-01")
    table = pd.DataFrame({
        "when": day + np.arange(60).astype("m8[D]"), "n": np.arange(60.0),
        "yes": pd.array(np.arange(60) > 30, "boolean"),
        "label": np.where(np.arange(60) > 30, "a", "b"),
    }).mask(np.arange(60)[:, None] % 10 == np.arange(4))  # fmt: skip
    imputer = ProximityImputer().fit(table)
    lower, upper = imputer.interval(table)
    gap = table["when"].isna()
    assert (lower["when"][gap] <= upper["when"][gap]).all()
    assert lower["when"].dtype == table["when"].dtype
    for ends in (lower, upper):
        assert ends["label"].isna().equals(table["label"].isna())
        assert ends["yes"].isna().equals(table["yes"].isna())
        assert ends["n"].notna().all()
    cascade = ProximityImputer(kernel=ProximityKernel(matching="cascade")).fit(table)
    lower, upper = cascade.interval(table, 0.5)
    filled = cascade.transform(table)
    assert (lower["n"] <= upper["n"]).all()
    assert filled["n"].between(table["n"].min(), table["n"].max()).all()


@pytest.mark.parametrize("level", [0, 1, -0.5, "high", None])
def test_a_bad_level_is_named(frame, level):
    with raises_naming(ValueError, "level"):
        ProximityImputer().fit(frame).interval(frame, level)


@pytest.mark.filterwarnings("ignore:No value is observed")
@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_empty_columns_are_dropped(make):
    frame = pd.DataFrame(
        {"a": [1.0, 2.0, None], "b": [None] * 3, "c": ["x", None, "y"]}
    )
    frame = frame.astype({"b": float})
    imputer = ProximityImputer().fit(make(frame))
    for table in (
        imputer.transform(make(frame)), imputer.uncertainty(make(frame)),
        *imputer.interval(make(frame)), *imputer.draw(make(frame), 1),
    ):  # fmt: skip
        names = getattr(table, "column_names", None) or list(table.columns)
        assert names == ["a", "c"]
    assert imputer.get_feature_names_out().tolist() == ["a", "c"]
    imputer = ProximityImputer(add_indicator=True).fit(make(frame))
    wanted = ["a", "c", *(f"missingindicator_{name}" for name in "abc")]
    assert imputer.get_feature_names_out().tolist() == wanted
    assert imputer.transform(make(frame)).shape == (3, 5)
    rows = frame.astype(object).where(frame.notna(), None).values.tolist()
    assert [len(row) for row in ProximityImputer().fit_transform(rows)] == [2] * 3
    kept = ProximityImputer(keep_empty_features=True).fit(make(frame))
    assert kept.get_feature_names_out().tolist() == ["a", "b", "c"]
    with pytest.warns(UserWarning, match="column 'b' had no observed value at fit"):
        assert kept.transform(make(frame)).shape == (3, 3)


def test_no_column_of_a_pipeline_has_a_missing_cell():
    table = np.array([[1.0, np.nan, 2.0], [2.0, np.nan, 5.0], [np.nan, np.nan, 6.0]])
    pipe = make_pipeline(ProximityImputer(), LogisticRegression())
    with pytest.warns(UserWarning, match="No value is observed"):
        pipe.fit(table, [0, 1, 1])
    assert pipe.predict(table).shape == (3,)


def test_whole_numbers_stored_as_floats_stay_whole():
    rng = np.random.default_rng(0)
    counts = rng.poisson(5, 300).astype(float)
    table = pd.DataFrame({"n": counts, "x": counts + rng.normal(size=300)})
    table.loc[::7, "n"] = np.nan
    gap = table["n"].isna()
    imputer = ProximityImputer(random_state=0).fit(table)
    tables = [imputer.transform(table), *imputer.interval(table), *imputer.draw(table)]
    for filled in tables:
        assert (filled["n"][gap] % 1 == 0).all()
    assert (tables[0]["x"] % 1 != 0).all()
    plain = ProximityImputer(round_whole=False).fit_transform(table)["n"][gap]
    assert (plain % 1 != 0).any()
    np.testing.assert_array_equal(plain.round(), tables[0]["n"][gap])
    rows = table.astype(object).where(table.notna(), None).values.tolist()
    imputer.fit(rows)
    for i in np.flatnonzero(gap):
        assert imputer.transform([rows[i]])[0][0] == tables[0]["n"][i]


KINDS = {
    "integers": [1, 2, 3, 9],
    "floats": [1.0, 2.0, 3.5, 9.0],
    "booleans": [True, False, True, True],
    "decimals": [Decimal("1.5"), Decimal(2), Decimal(7), Decimal(9)],
    "days": [dt.date(2020, 1, n) for n in (1, 2, 8, 9)],
    "moments": [dt.datetime(2020, 1, n) for n in (1, 2, 8, 9)],
    "zones": [dt.datetime(2020, 1, n, tzinfo=dt.UTC) for n in (1, 2, 8, 9)],
    "waits": [dt.timedelta(n) for n in (1, 2, 8, 9)],
    "numpy": [np.datetime64("2020-01-01") + n for n in (1, 2, 8, 9)],
    "pandas": [pd.Timestamp(2020, 1, n, tz="Asia/Tokyo") for n in (1, 2, 8, 9)],
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("saved", [False, True])
def test_a_row_alone_is_filled_as_beside_others(name, saved, tmp_path):
    rows = [[cell, key] for cell, key in zip(KINDS[name], "aabb", strict=True)]
    imputer = ProximityImputer().fit(rows)
    if saved:
        imputer.save(tmp_path / "m")
        imputer = ProximityImputer.load(tmp_path / "m")
    alone = imputer.transform([[None, "a"]])[0][0]
    beside = imputer.transform([[None, "a"], *rows])[0][0]
    assert alone == beside
    assert type(alone) is type(beside) is type(KINDS[name][0])
    frame = pd.DataFrame({"x": pd.Series([None, *KINDS[name]], dtype=object),
                          "key": ["a", "a", "a", "b", "b"]})  # fmt: skip
    whole = ProximityImputer().fit(frame)
    assert whole.transform(frame[:1])["x"][0] == whole.transform(frame)["x"][0]


def test_lists_give_lists_from_every_method():
    rows = [[1.0, "a"], (2.0, None), [None, "b"], [4.0, "b"]]
    imputer = ProximityImputer(random_state=0).fit(rows)
    tables = [
        imputer.transform(rows), imputer.fit_transform(rows), imputer.uncertainty(rows),
        *imputer.interval(rows), *imputer.draw(rows, 2),
    ]  # fmt: skip
    for table in tables:
        assert type(table) is list
        assert [len(row) for row in table] == [2] * 4
    assert type(tables[0][1]) is tuple
    assert type(imputer.probabilities(rows)) is list
    marked = ProximityImputer(add_indicator=True).fit_transform(rows)
    assert marked[1] == (2.0, tables[0][1][1], False, True)


def test_draws_vary_the_model_more_if_the_fit_had_few_rows():
    rng = np.random.default_rng(0)
    spreads = []
    for n in (40, 4000):
        x = rng.normal(size=n)
        table = pd.DataFrame({"x": x, "y": 2 * x + rng.normal(size=n)})
        imputer = ProximityImputer(random_state=0).fit(table)
        asked = pd.DataFrame({"x": np.ones(500), "y": np.full(500, np.nan)})
        means = [one["y"].mean() for one in imputer.draw(asked, 20)]
        spreads.append(np.std(means))
    assert spreads[1] < 0.15  # the draws themselves: about 0.05
    assert spreads[0] > 2 * spreads[1]


@pytest.mark.parametrize("matching", ["pairwise", "cascade"])
def test_a_drawn_model_is_like_the_fitted_one(frame, matching):
    imputer = ProximityImputer(kernel=ProximityKernel(matching=matching)).fit(frame)
    model, learned = imputer.kernel_.model_, imputer.number_model_
    rng = np.random.default_rng(0)
    drawn, numbers = draw_model(model, learned, rng)
    assert drawn.n_bins.tolist() == model.n_bins.tolist()
    assert not np.array_equal(numbers.means, learned.means)
    if matching == "pairwise":
        pairs = [draw_model(model, learned, rng)[0].matcher.counts for _ in range(30)]
        mean = np.mean([one.pairs for one in pairs], axis=0)
        held = model.matcher.counts.pairs
        assert np.abs(mean - held).max() < 6 * np.sqrt(held.max() / 30)
        assert all((one.pairs == one.pairs.T).all() for one in pairs)


def test_values_with_their_own_bin_are_drawn_as_they_are():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    y = np.where(rng.random(1000) < 0.6, 0.0, np.exp(x))
    table = pd.DataFrame({"x": x, "y": y})
    table.loc[::5, "y"] = np.nan
    drawn = ProximityImputer(random_state=0).fit(table).draw(table, 1)[0]
    share = (drawn["y"][table["y"].isna()] == 0).mean()
    assert abs(share - 0.6) < 0.12


def test_a_drawn_model_keeps_frequent_values_and_the_observed_range():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = np.where(rng.random(300) < 0.3, 0.0, rng.normal(size=300))
    table = pd.DataFrame({"x": x, "y": y}).mask(rng.random((300, 2)) < 0.2)
    imputer = ProximityImputer(random_state=0).fit(table)
    learned = imputer.number_model_
    flat = np.diff(learned.quantiles, axis=2) == 0
    assert (flat & (learned.quantiles[..., 1:] == 0)).any()
    for _ in range(50):
        found = draw_model(imputer.kernel_.model_, learned, rng)[1].quantiles
        kept = found[..., 1:] == learned.quantiles[..., 1:]
        assert (kept | ~flat).all()
        assert (np.diff(found, axis=2) >= 0).all()
        assert (found >= learned.low[:, None, None]).all()
        assert (found <= learned.high[:, None, None]).all()
    for one in imputer.draw(table, 50):
        assert ((one >= table.min()) & (one <= table.max())).all(axis=None)


def test_many_numbers_in_batches_need_no_memory_of_all(frame):
    calls = []

    def read():
        calls.append(None)
        return iter([frame[:50], frame[:0], frame[50:]])

    imputer = ProximityImputer().fit_batches(read)
    assert len(calls) == 3
    whole = ProximityImputer().fit(frame)
    pd.testing.assert_frame_equal(imputer.transform(frame), whole.transform(frame))
    with raises_naming(ValueError, "FrozenEstimator"):
        frozen = FrozenEstimator(ProximityKernel().fit(frame))
        ProximityImputer(kernel=frozen).fit_batches([frame])


def test_bad_options_are_named(frame):
    with raises_naming(ValueError, "strategy", "'median'"):
        ProximityImputer(strategy="median").fit(frame)
    with raises_naming(ValueError, "add_indicator"):
        ProximityImputer(add_indicator="yes").fit(frame)
    with raises_naming(ValueError, "n_draws"):
        ProximityImputer().fit(frame).draw(frame, 0)
    for name in ("keep_empty_features", "round_whole"):
        with raises_naming(ValueError, name):
            ProximityImputer(**{name: "yes"}).fit(frame)


@pytest.mark.parametrize("n", [1, 8])
def test_the_only_value_of_a_column_is_not_certain(n):
    table = pd.DataFrame({"a": range(n + 2), "city": ["Rome"] * n + [None] * 2})
    table["paid"] = pd.array([False] * n + [None] * 2, dtype="boolean")
    imputer = ProximityImputer().fit(table)
    unsure = imputer.uncertainty(table)[n:]
    for name in ("city", "paid"):
        assert unsure[name].tolist() == pytest.approx([1 / (n + 2)] * 2)
    found = imputer.probabilities(table)[:4]
    assert found["label"].tolist() == ["Rome", None, False, True]
    chances = [(n + 1) / (n + 2), 1 / (n + 2)] * 2
    assert found["probability"].tolist() == pytest.approx(chances)
    filled = imputer.transform(table)
    assert filled["city"].tolist() == ["Rome"] * (n + 2)
    assert not filled["paid"].any()
