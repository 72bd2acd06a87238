"""Outliers against the mean of the kernel's rows, and their reasons."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import fitted, mixed_table, parameters, raises_naming, tables

from proximity_kernel import (
    ProximityKernel,
    ProximityNeighbors,
    ProximityOutliers,
    explain,
)
from proximity_kernel._far_values import UsualValues, find_usual
from proximity_kernel.datasets import load_penguins
from proximity_kernel.outliers import Reason


@parametrize_with_checks(
    [
        ProximityOutliers(),
        ProximityOutliers(contamination=0.1),
        ProximityOutliers(method="neighbors", contamination=0.1),
        ProximityOutliers(
            kernel=ProximityKernel(n_bins=3, normalize=True), contamination=0.2
        ),
    ]
)
def test_checks(estimator, check):
    check(estimator)


@given(tables(), parameters())
def test_score_is_the_mean_similarity(both, options):
    frame, new = both
    odd = fitted(ProximityOutliers(kernel=ProximityKernel(**options)), frame)
    want = odd.kernel_.kernel(new, frame).astype(np.float64).mean(axis=1)
    errors = odd._find_far(odd.kernel_.model_.code(new, 1)).sum(axis=1)
    np.testing.assert_allclose(odd.score_samples(new), want - errors, atol=1e-6)


@pytest.fixture(scope="module")
def frame():
    """A table whose last row has a rare value in two columns and a hole in a third."""
    table = mixed_table(200, 6, 0.1, seed=1)
    table["col1"] = np.where(table["col1"].isna(), np.nan, 2.0)
    table["col2"] = table["col2"].where(table["col2"].isna(), "p")
    table.loc[199, ["col1", "col2", "col3"]] = [500.0, "s", np.nan]
    table.loc[199, "col5"] = "q"
    return table


@pytest.fixture(scope="module")
def odd(frame):
    return ProximityOutliers().fit(frame)


def test_the_odd_one_is_found(frame, odd):
    scores = odd.score_samples(frame)
    assert scores.argmin() == 199
    assert ((scores >= 0) & (scores <= 1)).all()
    assert odd.predict(frame)[199] == -1
    np.testing.assert_array_equal(odd.decision_function(frame), scores - odd.offset_)


def test_auto_is_far_below_the_median(frame, odd):
    scores = odd.score_samples(frame)
    deviation = np.median(np.abs(scores - np.median(scores)))
    assert odd.offset_ == pytest.approx(np.median(scores) - 3.5 * 1.4826 * deviation)


def test_auto_where_most_rows_are_equal():
    rows = [["x"]] * 95 + [["y"]] * 5
    assert (ProximityOutliers().fit_predict(rows) == -1).sum() == 5
    rows = [["x"]] * 55 + [["y"]] * 45
    assert (ProximityOutliers().fit_predict(rows) == -1).sum() == 0
    assert (ProximityOutliers().fit_predict([["x"]] * 9) == 1).all()


def test_contamination_is_the_share_of_outliers(frame):
    odd = ProximityOutliers(contamination=0.05)
    assert (odd.fit_predict(frame) == -1).sum() == 10


def test_reasons_name_the_features(frame, odd):
    (reasons,) = odd.reasons(frame.iloc[[199]], n=2)
    assert {reason.feature for reason in reasons} == {"col1", "col2"}
    for reason in reasons:
        assert not reason.missing
        assert reason.share < 0.2 < 0.8 < reason.typical
    words = {reason.feature: reason.bin for reason in reasons}
    assert words["col2"] == "s"
    assert words["col1"].endswith("or more")


def test_parts_add_up_to_the_score(frame, odd):
    scores = odd.score_samples(frame)
    # All features are named where each is less common than for a typical row.
    everything = odd.reasons(frame, n=6)
    assert [len(reasons) <= 6 for reasons in everything] == [True] * 200
    typical = np.asarray(odd.mean_) @ np.asarray(odd.mean_) / 6
    for score, reasons in zip(scores, everything, strict=True):
        lack = sum(reason.typical - reason.share for reason in reasons) / 6
        assert typical - lack <= score + 1e-6
    lacks = [[r.typical - r.share for r in reasons] for reasons in everything]
    assert all(lack == sorted(lack, reverse=True) for lack in lacks)


def test_share_is_the_mean_of_what_explain_tells(frame, odd):
    row = frame.iloc[[199]]
    (reasons,) = odd.reasons(row, n=6)
    parts = [explain(odd.kernel_, row, frame.iloc[[i]]).features for i in range(200)]
    means = {
        many[0].name: np.mean([one.agreement for one in many])
        for many in zip(*parts, strict=True)
    }
    for reason in reasons:
        assert reason.share == pytest.approx(means[reason.feature], abs=1e-6)


def test_a_missing_cell_is_said_to_be_missing():
    table = pd.DataFrame({"a": [1.0] * 9 + [5.0] * 3, "b": ["x"] * 9 + ["y"] * 3})
    kernel = ProximityKernel(matching="cascade")
    odd = ProximityOutliers(kernel=kernel).fit(table)
    row = pd.DataFrame({"a": [np.nan], "b": ["y"]})
    (reasons,) = odd.reasons(row)
    gap = next(reason for reason in reasons if reason.feature == "a")
    assert gap.missing
    assert str(gap) == (
        "a: missing, perhaps 4 or more (similar to 25 % of the rows, a typical row to "
        "62 %)"
    )


def test_an_unknown_category_is_a_reason():
    odd = ProximityOutliers().fit([["x"], ["x"], ["y"]])
    ((reason,),) = odd.reasons([["z"]])
    assert reason == Reason("x0", "unknown category", False, 0.0, pytest.approx(5 / 9))


def test_a_typical_row_has_no_reasons():
    assert ProximityOutliers().fit([["x"], ["x"], ["y"]]).reasons([["x"]]) == [[]]


def test_score_does_not_depend_on_the_batch(frame, odd):
    together = odd.score_samples(frame)
    alone = [odd.score_samples(frame.iloc[[i]])[0] for i in range(0, 200, 50)]
    assert together[::50].tolist() == alone


@pytest.mark.parametrize("contamination", [0, -0.1, 0.51, "some", True, None])
def test_bad_contamination_is_named(contamination):
    with raises_naming(ValueError, "contamination", "0.5", "auto"):
        ProximityOutliers(contamination=contamination).fit([[1.0], [2.0]])


def test_bad_questions_are_named(odd, frame):
    with raises_naming(ValueError, "n must be", "at least 1"):
        odd.reasons(frame, n=0)
    with raises_naming(ValueError, "kernel", "'rbf'"):
        ProximityOutliers(kernel="rbf").fit(frame)


def test_few_of_many_normal_rows_are_called_outliers():
    """Most have nearly one score, so the median deviation alone is far too small."""
    table = np.random.default_rng(0).normal(size=(2000, 6))
    odd = ProximityOutliers().fit(table)
    scores = odd.score_samples(table)
    apart = np.abs(scores - np.median(scores))
    alone = np.median(scores) - 3.5 * 1.4826 * np.median(apart)
    assert np.mean(scores < alone) > 0.2
    assert np.mean(odd.predict(table) < 0) < 0.05
    assert (odd.predict(np.full((1, 6), 12.0)) < 0).all()


# --- gross errors


@pytest.mark.parametrize("method", ["all", "neighbors"])
def test_gross_errors_are_found(method, tmp_path):
    frame = load_penguins()
    clean = ProximityOutliers(method=method).fit(frame)
    before = clean.predict(frame)
    frame = frame.astype({"body_mass_g": float})
    frame.loc[5, "bill_length_mm"] = 4200.0
    frame.loc[9, "body_mass_g"] = 3.65
    assert (clean.predict(frame)[[5, 9]] == -1).all()
    odd = ProximityOutliers(method=method).fit(frame)
    found = odd.predict(frame)
    assert (found[[5, 9]] == -1).all()
    assert (found == -1).sum() <= (before == -1).sum() + 2
    bill, mass = (reasons[0] for reasons in odd.reasons(frame.iloc[[5, 9]]))
    assert (bill.feature, mass.feature) == ("bill_length_mm", "body_mass_g")
    assert bill.bin == "4200, far from 32.1 to 59.6"
    assert mass.bin == "3.65, far from 2700 to 6300"
    frame.loc[5, "bill_length_mm"] = 12402406.0
    assert odd.reasons(frame.iloc[[5]])[0][0].bin == "12402406, far from 32.1 to 59.6"
    frame.loc[5, "bill_length_mm"] = 4200.0
    odd.save(tmp_path / "odd.model")
    loaded = ProximityOutliers.load(tmp_path / "odd.model")
    np.testing.assert_array_equal(loaded.score_samples(frame), odd.score_samples(frame))
    assert loaded.reasons(frame.iloc[[5]]) == odd.reasons(frame.iloc[[5]])


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).normal(size=500),
        np.random.default_rng(0).lognormal(sigma=1.5, size=500),
        np.random.default_rng(0).poisson(0.1, size=500),
        np.random.default_rng(0).random(500) < 0.01,
        np.random.default_rng(0).pareto(2, size=500),
    ],
    ids=["normal", "lognormal", "counts", "rare", "pareto"],
)
def test_few_values_of_usual_distributions_are_far(values):
    usual = find_usual(values.astype(float))
    far = (values < usual.far_below) | (values > usual.far_above)
    assert far.sum() <= 1


def test_far_values_need_usual_ones():
    # As text: from Python 3.13 on, NaN makes two of these differ.
    assert str(find_usual(np.array([1.0, 2.0, 1e9]))) == str(UsualValues())
    assert find_usual(np.array([1.0] * 50 + [1e9])).far_above == np.inf
    usual = find_usual(np.array([*range(30), 1e9, np.nan]))
    assert (usual.low, usual.high) == (0, 29)
    assert 29 < usual.far_above < 100


# --- the score by neighbors


def test_score_by_neighbors_is_the_mean_similarity_with_them(frame):
    odd = ProximityOutliers(method="neighbors", n_neighbors=4).fit(frame)
    near = ProximityNeighbors(5, kernel=ProximityKernel("fine")).fit(frame)
    similarities, _ = near.kneighbors(frame, return_similarity=True)
    np.testing.assert_allclose(
        odd.score_samples(frame), similarities[:, 1:].mean(axis=1), atol=1e-6
    )


def test_rare_combinations_are_found_by_neighbors():
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=300)
    table = pd.DataFrame({f"c{j}": np.where(group, "x", "y") for j in range(6)})
    table.loc[0] = ["x", "y", "x", "y", "x", "y"]
    scores = ProximityOutliers(method="neighbors").fit(table).score_samples(table)
    assert scores.argmin() == 0
    assert ProximityOutliers(method="neighbors").fit_predict(table)[0] == -1
    alone = ProximityOutliers().fit(table).score_samples(table)
    assert np.ptp(alone) < 0.1  # every value is common
    reasons = ProximityOutliers(method="neighbors").fit(table).reasons(table[:1], n=6)
    assert len(reasons[0]) >= 3


def test_only_no_kernel_is_the_default_of_the_method():
    table = np.random.default_rng(0).normal(size=(60, 3))
    for method, n_bins in (("all", 4), ("neighbors", "fine")):
        plain = ProximityOutliers(method=method).fit(table)
        assert plain.kernel_.n_bins == n_bins
        kernel = ProximityKernel(n_bins)
        odd = ProximityOutliers(method=method, kernel=kernel).fit(table)
        np.testing.assert_array_equal(
            odd.score_samples(table), plain.score_samples(table)
        )
        given = ProximityOutliers(method=method, kernel=ProximityKernel()).fit(table)
        assert given.kernel_.n_bins is None


def test_five_gross_errors_in_a_thousand_rows_do_not_hide_each_other():
    rng = np.random.default_rng(0)
    amounts = np.exp(rng.normal(4.6, 1, 1000)).clip(9, 1600)
    amounts[:5] = 100 * np.linspace(150, 900, 5)
    table = np.column_stack([amounts, rng.normal(size=1000)])
    odd = ProximityOutliers().fit(table)
    assert (odd.predict(table)[:5] == -1).all()
    assert (odd.score_samples(table) < 0).sum() == 5
