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
        {**old, "feature": "age", "value": "above 25"},
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
        column = z[:, names.index(f"{one['feature']}_{one['value']}")]
        here = column[fitted.labels_ == one["cluster"]]
        assert one["share"] == pytest.approx(here.mean(), abs=1e-6)
        assert one["share_overall"] == pytest.approx(column.mean(), abs=1e-6)
        assert one["lift"] == pytest.approx(here.mean() / column.mean(), rel=1e-5)
        checked += 1
    assert checked
    apart = told["share"] * np.log(told["lift"])
    for _, of_cluster in apart.groupby(told["cluster"]):
        assert of_cluster.is_monotonic_decreasing
    features = told.groupby("cluster")["feature"].nunique()
    assert (features == frame.shape[1]).all()


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
    assert said[second, "big"] == "above 1000000"


def test_bins_that_need_more_digits_get_them():
    values = [1000001.0, 1000002.0, 1000003.0, 1000004.0]
    km = ProximityKMeans(4, kernel=ProximityKernel(4), random_state=0)
    km.fit([[v] for v in values])
    said = {one["value"] for one in km.profiles_}
    assert "1000001.5 to 1000002.5" in said
    assert len(said) == 4
