"""Profiles of clusters: by hand, and against the representation."""

import numpy as np
import pandas as pd
import pytest
from strategies import dense, mixed_table

from proximity_kernel import ProximityKernel, ProximityKMeans


@pytest.fixture(scope="module")
def frame():
    return mixed_table(300, 6, 0.2, seed=3)


@pytest.fixture(scope="module")
def fitted(frame):
    return ProximityKMeans(4, n_init=3, tol=0, random_state=0).fit(frame)


def test_profiles_by_hand():
    table = pd.DataFrame(
        {
            "age": [10.0, 10.0, 10.0, 40.0, 40.0, 10.0],
            "sick": ["no", "no", "no", "yes", "yes", "no"],
        }
    )
    km = ProximityKMeans(2, kernel=ProximityKernel(2), random_state=0).fit(table)
    young = {"cluster": 0, "size": 4, "share": 1.0, "share_overall": 4 / 6, "lift": 1.5}
    old = {"cluster": 1, "size": 2, "share": 1.0, "share_overall": 2 / 6, "lift": 3.0}
    wanted = [
        {**young, "feature": "age", "value": "up to 25"},
        {**young, "feature": "sick", "value": "no"},
        {**old, "feature": "age", "value": "26 or more"},
        {**old, "feature": "sick", "value": "yes"},
    ]
    told = pd.DataFrame(km.profiles_)
    columns = ["cluster", "size", "feature", "value", "share", "share_overall", "lift"]
    assert list(told.columns) == columns
    pd.testing.assert_frame_equal(told, pd.DataFrame(wanted)[columns])


def test_profiles_count_estimates_and_rank_by_what_sets_apart(fitted, frame):
    z = dense(fitted.kernel_.transform(frame)).astype(float)
    names = list(fitted.kernel_.get_feature_names_out())
    told = pd.DataFrame(fitted.profiles_)
    text = [name for name in told["feature"].unique() if frame[name].dtype == "str"]
    checked = 0
    for one in told[told["feature"].isin(text)].to_dict("records"):
        column = z[:, names.index(f"{one['feature']} {one['value']}")]
        here = column[fitted.labels_ == one["cluster"]]
        assert one["share"] == pytest.approx(here.mean(), abs=1e-6)
        assert one["share_overall"] == pytest.approx(column.mean(), abs=1e-6)
        assert one["lift"] == pytest.approx(here.mean() / column.mean(), rel=1e-5)
        checked += 1
    assert checked
    apart = told["share"] * np.log(told["lift"])
    common = (told["share"] >= 0.8) & (told["lift"] >= 1.25)
    for c, is_common in common.groupby(told["cluster"]):
        assert is_common.is_monotonic_decreasing, c
    for _, of_cluster in apart.groupby([told["cluster"], common]):
        assert of_cluster.is_monotonic_decreasing
    features = told.groupby("cluster")["feature"].nunique()
    assert (features == frame.shape[1]).all()


def test_a_value_that_most_rows_have_comes_before_a_rarer_one():
    rng = np.random.default_rng(0)
    product = rng.choice(["Chair", "Desk", "Mug", "Lamp"], 400)
    big = np.isin(product, ["Chair", "Desk"])
    table = pd.DataFrame({"product": product, "place": np.where(big, "floor", "shelf")})
    table["heavy"] = np.where(big | (rng.random(400) < 0.5), "yes", "no")
    km = ProximityKMeans(2, random_state=0).fit(table)
    c = km.labels_[np.flatnonzero(big)[0]]
    own = [one for one in km.profiles_ if one["cluster"] == c]
    values = ["floor", "yes", "Chair", "Desk"]  # half of the rows are chairs
    assert [one["value"] for one in own][:2] == values[:2]
    assert sorted(one["value"] for one in own) == sorted(values)


def test_profiles_speak_of_dates_ranks_gaps_and_numbers():
    grades = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    days = pd.to_datetime(["2020-01-01", "2020-01-03"])
    table = pd.DataFrame(
        {
            "day": days[[0, 0, 1, 1]],
            "grade": pd.Series(["low", "low", "high", "high"], dtype=grades),
            "urea": [1.5, 1.5, np.nan, np.nan],
            "wait": pd.to_timedelta([60, 60, 120, 120], unit="s"),
            "tiny": [1e-7, 1e-7, 3e-7, 3e-7],
            "big": [1e6, 1e6, 1e6 + 1, 1e6 + 1],
        }
    )
    kernel = ProximityKernel(2, missingness="informative")
    km = ProximityKMeans(2, kernel=kernel, random_state=0).fit(table)
    said = {(one["cluster"], one["feature"]): one["value"] for one in km.profiles_}
    first, second = km.labels_[0], km.labels_[2]
    assert said[first, "day"] == "up to 2020-01-02"
    assert said[second, "grade"] == "high"
    assert said[first, "grade"] == "low to mid"
    assert (said[first, "urea"], said[second, "urea"]) == ("1.5", "missing")
    assert said[first, "wait"] == "up to 90 s"
    assert said[second, "tiny"] == "above 2e-07"
    assert said[second, "big"] == "1000001"


def test_bins_that_need_more_digits_get_them():
    values = [1000001.0, 1000002.0, 1000003.0, 1000004.0]
    km = ProximityKMeans(4, kernel=ProximityKernel(4), random_state=0)
    km.fit([[v] for v in values])
    said = {one["value"] for one in km.profiles_}
    assert said == {"1000001", "1000002", "1000003", "1000004"}
    km.fit([[v / 4] for v in values])
    said = {one["value"] for one in km.profiles_}
    assert "250000.375 to 250000.625" in said
    assert len(said) == 4


def test_neighboring_bins_are_one_value_if_that_tells_more():
    # Each cluster has the two lower, or the two upper, of four equally filled bins.
    low, high = [100.5, 101.5, 102.5, 103.5], [200.5, 201.5, 202.5, 203.5]
    rows = [[v, "a"] for v in low * 5] + [[v, "b"] for v in high * 4]
    km = ProximityKMeans(2, random_state=0).fit(rows)
    told = [(one["value"], one["share"]) for one in km.profiles_]
    assert sorted(told) == [
        ("a", 1.0), ("above 151.5", 1.0), ("b", 1.0), ("up to 151.5", 1.0),
    ]  # fmt: skip
    assert [one["share_overall"] for one in km.profiles_] == pytest.approx(
        [20 / 36] * 2 + [16 / 36] * 2
    )


def test_bins_that_differ_in_lift_stay_apart():
    # 40 % of the cluster are 1, as nowhere else; 3 is hardly more common than overall.
    x = [1.0] * 40 + [3.0] * 40 + [9.0] * 20 + [3.0] * 35 + [9.0] * 65
    rows = [[v, c, c] for v, c in zip(x, ["a"] * 100 + ["b"] * 100, strict=True)]
    km = ProximityKMeans(2, kernel=ProximityKernel("auto"), random_state=0).fit(rows)
    told = {(one["cluster"], one["feature"], one["value"]) for one in km.profiles_}
    first = km.labels_[0]
    assert {value for c, name, value in told if (c, name) == (first, "x0")} == {
        "up to 2", "3-6",
    }  # fmt: skip


def test_all_values_together_are_called_observed():
    x = [1.0, 2.0] * 20 + [None] * 40
    rows = [[v, c] for v, c in zip(x, ["a"] * 40 + ["b"] * 40, strict=True)]
    kernel = ProximityKernel(missingness="informative")
    km = ProximityKMeans(2, kernel=kernel, random_state=0).fit(rows)
    told = [one["value"] for one in km.profiles_ if one["feature"] == "x0"]
    assert told == ["observed", "missing"]
