"""A table in batches: cut anywhere, in any order, the model of the whole table."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from strategies import (
    GRADES,
    assert_same_bits,
    assert_same_model,
    cut,
    fit_transform,
    mixed_table,
    parameters,
    raises_naming,
    tables,
)

from proximity_kernel import ProximityKernel, ProximityOutliers
from proximity_kernel import _row_summary as row_summary
from proximity_kernel._batches import merge_all


def by_batches(estimator, parts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of empty columns
        return clone(estimator).fit_batches(parts)


@settings(max_examples=60)
@given(
    both=tables(),
    options=parameters(),
    auto=st.booleans(),
    missingness=st.sampled_from(["ignorable", "informative", "auto"]),
    most=st.just(10_000) | st.integers(1, 20),
    n_parts=st.sampled_from([1, 2, 7, 50]),
    order=st.randoms(),
)
def test_however_the_table_was_cut(
    both, options, auto, missingness, most, n_parts, order
):
    frame, new = both
    if auto:
        options = {**options, "n_bins": "auto"}
    pk = ProximityKernel(missingness=missingness, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_summary, "SAMPLE", most)
        wanted = fit_transform(pk, frame)
        got = by_batches(pk, cut(frame, n_parts, order))
    assert_same_model(got, pk)
    assert_same_bits(got.transform(frame), wanted)
    assert_same_bits(got.transform(new), pk.transform(new))


@pytest.mark.parametrize("n_parts", [1, 2, 7, 50])
@pytest.mark.parametrize("most", [10_000, 300])
def test_a_larger_table_with_the_defaults(monkeypatch, n_parts, most):
    monkeypatch.setattr(row_summary, "SAMPLE", most)
    frame = mixed_table(3000, 9, 0.2, seed=4)
    frame.loc[frame.index % 5 == 0, ["col1", "col5"]] = None  # an event
    pk = ProximityKernel(random_state=3)
    wanted = pk.fit_transform(frame)
    order = np.random.RandomState(n_parts)
    got = by_batches(pk, cut(frame, n_parts, order))
    assert_same_model(got, pk)
    assert_same_bits(got.transform(frame), wanted)


def test_rare_categories_share_their_bin_whatever_the_cut():
    rng = np.random.default_rng(1)
    labels = [f"l{k}" for k in rng.zipf(1.5, 400) % 40]
    frame = pd.DataFrame({"a": labels, "b": rng.normal(size=400)})
    pk = ProximityKernel(max_categories=6).fit(frame)
    for n_parts in (2, 50):
        got = by_batches(pk, cut(frame, n_parts, np.random.RandomState(0)))
        assert_same_model(got, pk)
        assert got.model_.bins[0].infrequent


def test_containers_of_batches():
    frame = mixed_table(60, 3, 0.3, seed=2)
    pk = ProximityKernel().fit(frame)
    for convert in (pl.from_pandas, lambda f: pa.table(f.reset_index(drop=True))):
        parts = [convert(part) for part in cut(frame, 4)]
        got = by_batches(pk, parts)
        assert_same_bits(got.transform(frame), pk.transform(frame))
    numbers = np.round(np.random.default_rng(0).normal(size=(50, 3)), 1)
    whole = ProximityKernel().fit(numbers)
    for batches in (
        numbers.reshape(5, 10, 3),
        [numbers[:20].tolist(), numbers[20:]],
        lambda: iter(np.array_split(numbers, 3)),
    ):
        got = ProximityKernel().fit_batches(batches)
        assert_same_model(got, whole)


def test_dates_and_durations():
    moments = pd.date_range("2020-01-01", periods=40, freq="7h", tz="Europe/Paris")
    frame = pd.DataFrame(
        {"when": moments, "long": moments - moments[0], "named": moments.floor("D")}
    )
    frame.loc[3, "when"] = pd.NaT
    pk = ProximityKernel(3, categorical_features=["named"]).fit(frame)
    assert_same_model(by_batches(pk, cut(frame, 7)), pk)


# ------------------------------------------------------- types across batches


def one(values, dtype=None):
    return pd.DataFrame({"a": pd.Series(values, dtype=dtype), "b": range(len(values))})


def test_a_batch_in_which_a_column_is_all_missing_has_no_say():
    empties = [
        one([None, None], object),
        one([np.nan, np.nan], "float64"),
        one([None, None], "str"),
        one([None, None], GRADES),
        one([pd.NaT, pd.NaT], "datetime64[ns]"),
    ]
    fulls = [
        one(["x", None, "y"], "str"),
        one([1, 2, 5], "int64"),
        one([True, False, None], "boolean"),
        one(["low", "top", None], GRADES),
        one(pd.to_datetime(["2020-01-01", "2021-01-01", None])),
    ]
    for full in fulls:
        pk = ProximityKernel(2).fit(full)
        for empty in empties:
            for parts in ([empty, full], [full, empty], [empty, full, empty]):
                got = ProximityKernel(2).fit_batches(parts)
                assert got.model_.types[0] == pk.model_.types[0]
                np.testing.assert_array_equal(got.categories_[0], pk.categories_[0])
                assert str(got.bin_centers_[0]) == str(pk.bin_centers_[0])
                assert got.missingness_[0].missing == (
                    pk.missingness_[0].missing + 2 * (len(parts) - 1)
                )


def test_a_column_that_is_missing_everywhere():
    parts = [one([None], object), one([None], "str"), one([np.nan])]
    for order in (parts, parts[::-1]):
        pk = ProximityKernel()
        with pytest.warns(UserWarning, match="column 'a'") as caught:
            pk.fit_batches(order)
        assert caught[0].filename == __file__
        assert pk.n_bins_[0] == 0
        assert pk.model_.types[0].kind == "categorical"


def test_integers_and_floats_are_numbers():
    parts = [one([1, 2], "int64"), one([2.5, np.nan]), one([True, False])]
    pk = ProximityKernel(3).fit_batches(parts)
    assert pk.bin_centers_[0].tolist() == [0, 1, 2.5]
    pk = ProximityKernel(categorical_features=["a"]).fit_batches(parts)
    assert pk.categories_[0].tolist() == [0.0, 1.0, 2.0, 2.5]
    assert {type(label) for label in pk.categories_[0]} == {float}
    backward = ProximityKernel(categorical_features=["a"]).fit_batches(parts[::-1])
    assert_same_model(backward, pk)


def test_categories_of_one_batch_only():
    parts = [one(["b", "a"], "category"), one(["c", None], "category"), one(["a"])]
    pk = ProximityKernel().fit_batches(parts)
    assert pk.categories_[0].tolist() == ["a", "b", "c"]


OTHER_GRADES = pd.CategoricalDtype(["top", "high", "mid", "low"], ordered=True)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([one([1.0]), one(["x"])], ["column 'a'", "numbers", "text", "batch"]),
        ([one([1.0]), one([pd.Timestamp(0)])], ["column 'a'", "dates", "numbers"]),
        ([one(["low"], GRADES), one(["low"], OTHER_GRADES)], ["'a'", "order", "top"]),
        ([one(["low"], GRADES), one(["low"])], ["'a'", "ordered categorical", "text"]),
        ([one([1], "category"), one([1])], ["'a'", "categorical .numbers", "numeric"]),
        ([one([1]), one([1]).rename(columns={"b": "c"})], ["names", "'?c'?", "'?b'?"]),
        (
            [one([pd.Period("2020", f)], "category") for f in ("Y", "M")],
            ["column 'a'", "sorted", "2020-01"],
        ),
        ([one([1]), one([1])[["b", "a"]]], ["order"]),
        ([one([1]), one([1])[["a"]]], ["b"]),
    ],
)
def test_batches_that_do_not_agree(parts, words):
    for order in (parts, parts[::-1]):
        with raises_naming(ValueError, *words[:1]):
            ProximityKernel().fit_batches(order)
    with raises_naming(ValueError, *words):
        ProximityKernel().fit_batches(parts)


# ------------------------------------------------------------ the two passes


@pytest.fixture
def frame():
    return mixed_table(90, 4, 0.3, seed=6)


@pytest.mark.parametrize("bad", [[["a"]], [[np.inf]], [[1.0, 2.0]], None])
def test_the_batch_that_is_wrong_is_named(bad):
    with pytest.raises((TypeError, ValueError)) as caught:
        ProximityKernel().fit_batches([[[1.0]], [], [[2.0]], bad, [[3.0]]])
    assert "batch 3" in caught.value.__notes__[0]
    passes = iter([[[[1.0]], [[2.0]]], [[[1.0]], [["a"]]]])
    with pytest.raises(ValueError, match="column 0") as caught:
        ProximityKernel().fit_batches(lambda: next(passes))
    assert "batch 1" in caught.value.__notes__[0]


def test_empty_batches_are_neutral(frame):
    pk = ProximityKernel().fit(frame)
    parts = [frame[:0], frame[:40], frame[:0], [], frame[40:], frame.iloc[:0, :2]]
    assert_same_model(by_batches(pk, parts), pk)
    for nothing in ([], [[]], [frame[:0]], lambda: iter(())):
        with pytest.raises(ValueError, match="No batch has a row"):
            ProximityKernel().fit_batches(nothing)


def test_what_can_be_read_only_once_is_refused(frame):
    parts = cut(frame, 3)
    with raises_naming(TypeError, "generator", "only once", "two passes", "function"):
        ProximityKernel().fit_batches(part for part in parts)
    once = iter(parts)
    with raises_naming(ValueError, "read again", "90 first, then 0"):
        ProximityKernel().fit_batches(lambda: once)
    passes = iter([parts, [*parts[:2], parts[0]]])
    with raises_naming(ValueError, "different rows"):
        ProximityKernel().fit_batches(lambda: iter(next(passes)))
    for single in (frame, np.zeros((3, 2)), pl.from_pandas(frame)):
        with raises_naming(TypeError, "several tables", "fit"):
            ProximityKernel().fit_batches(single)
    for odd in ("table.csv", 3):
        with raises_naming(TypeError, "list of tables", type(odd).__name__):
            ProximityKernel().fit_batches(odd)


def test_rows_with_what_the_bins_never_saw_are_refused():
    passes = iter([[one(["x", "y"])], [one(["x", "new"])]])
    with raises_naming(ValueError, "column 'a'", "the first pass"):
        ProximityKernel().fit_batches(lambda: iter(next(passes)))


def test_a_fit_by_batches_that_fails_leaves_the_old_model(frame):
    pk = ProximityKernel().fit(frame)
    before = pk.transform(frame)
    with pytest.raises(ValueError, match="batch"):
        pk.fit_batches([one([1.0]), one(["x"])])
    assert_same_bits(pk.transform(frame), before)
    assert pk.n_features_in_ == 4


def test_merging_is_not_quadratic():
    merged = []

    def merge(a, b):
        merged.append(a + b)
        return a + b

    assert merge_all((1 for _ in range(1000)), merge) == 1000
    assert sum(merged) < 1000 * 12
    assert merge_all([], merge) is None


@pytest.mark.parametrize("missingness", ["ignorable", "informative"])
@pytest.mark.parametrize("matching", ["pairwise", "cascade"])
def test_many_bins(missingness, matching):
    """Codes of two bytes, with a bin for gaps or just below the limit of one byte."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"a": rng.normal(size=900), "b": rng.integers(3, size=900)})
    table.loc[::9, "a"] = np.nan
    for n_bins in (254, 300):
        pk = ProximityKernel(n_bins, missingness=missingness, matching=matching)
        got = by_batches(pk, cut(table, 7, np.random.RandomState(0)))
        assert_same_model(got, pk.fit(table))


def test_an_empty_batch_is_ignored_by_the_third_pass_of_outliers():
    table = pd.DataFrame({"a": np.arange(60.0), "b": list("xyz") * 20})
    batches = [table[:40], table.head(0), table[40:]]
    odd = ProximityOutliers(contamination=0.1).fit_batches(batches)
    assert odd.offset_ == ProximityOutliers(contamination=0.1).fit(table).offset_


def test_an_iterator_cannot_be_the_number_of_bins():
    with pytest.raises(ValueError, match="n_bins must be a whole number"):
        ProximityKernel(iter([2, 3])).fit([[1.0, 2.0], [2.0, 3.0]])
