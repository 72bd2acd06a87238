"""Surprising cells against loops over the definition, and the reasons for them."""

import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from sklearn.frozen import FrozenEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import cut, fitted, mixed_table, raises_naming, tables

from proximity_kernel import ProximityKernel, ProximityOutliers
from proximity_kernel._pairwise import DECIDES
from proximity_kernel._surprise import Judge
from proximity_kernel.datasets import load_penguins
from proximity_kernel.outliers import _find_half, _Writer, fit_like


@parametrize_with_checks(
    [
        ProximityOutliers(),
        ProximityOutliers(contamination=0.1),
        ProximityOutliers(
            kernel=ProximityKernel(n_bins=3, normalize=True), contamination=0.2
        ),
    ]
)
def test_checks(estimator, check):
    check(estimator)


# --- the definition, in loops


def estimate(model, row, j, fitted_rows):
    """Estimate cell j of a row of codes, with one row like it left out."""
    rule, n_bins = model.matcher, model.n_bins.tolist()
    s, weights = rule.smoothing, rule.weight_table.toarray()
    rows = [list(other) for other in fitted_rows]
    own = row[j]
    prior = [0.0] * n_bins[j]
    observed = [other[j] for other in rows if other[j] < n_bins[j]]
    for code in observed:
        prior[code] += 1 / len(observed)
    logs = [math.log(q) if q else -math.inf for q in prior]
    rest, decided = 1.0, 0
    for i in range(len(row)):
        if i == j or row[i] >= n_bins[i]:
            continue
        a = row[i]
        seen = [other[i] for other in rows if other[i] < n_bins[i]]
        q = seen.count(a) / len(seen)
        both = [(other[i], other[j]) for other in rows if other[j] < n_bins[j]]
        both = [pair for pair in both if pair[0] < n_bins[i]]
        if q == 0:
            continue
        left = []
        for b in range(n_bins[j]):
            out = 1 if b == own else 0
            n = max(both.count((a, b)) - out, 0)
            total = max(sum(pair[1] == b for pair in both) - out, 0)
            left.append(n)
            if sum(pair[0] == a for pair in both) - 1 >= 5:
                logs[b] += weights[j, i] * math.log((n + s * q) / ((total + s) * q))
        some = [b for code, b in both if code < model.bins[i].n_bins]
        seen = [some.count(b) for b in range(n_bins[j])]
        if own < n_bins[j] and a < model.bins[i].n_bins:
            seen[own] -= min(both.count((a, own)), 1)
        share, b = leave_to_others(left, prior)
        if share < rest:
            rest, decided = share, b
        share, b = leave_to_others(seen, prior)
        of_bin = both.count((a, b))
        most = 2 * of_bin + 1 >= sum(pair[0] == a for pair in both)
        if share < rest and most and a < model.bins[i].n_bins:
            rest, decided = share, b
    shares = [math.exp(x - max(logs)) for x in logs]
    shares = [x / sum(shares) for x in shares]
    if rest < 1:
        shares = [x * rest for x in shares]
        shares[decided] += 1 - rest
    return shares, len(observed)


def leave_to_others(counts, prior):
    """Find which bin is decided for by counts, and the share left to the others."""
    rows = max(counts)
    b = counts.index(rows)
    others = sum(counts) - rows
    if others and rows < (20 if others == 1 else 100 * others):
        return 1.0, b
    chance = rows * math.log(prior[b]) if prior[b] else 0.0
    if others:
        chance += others * (1 + math.log((rows + others) / others))
    return ((others + 1) / (rows + others + 2) if -chance > DECIDES else 1.0), b


def mix(shares, own, value, centers):
    """Mix the shares of the two bins between whose centers a number lies."""
    other = own + (1 if value > centers[own] else -1)
    if value == centers[own] or not 0 <= other < len(centers):
        return shares[own]
    part = min((value - centers[own]) / (centers[other] - centers[own]), 0.5)
    return (1 - part) * shares[own] + part * shares[other]


def measure_tail(value, values):
    """Measure how far a value lies beyond the central 80 % of a column."""
    values = sorted(v for v in values if not math.isnan(v))
    n = len(values)
    if math.isnan(value) or len(set(values)) < 3:
        return 0.0
    far = 0.0
    for sign in (1, -1):
        ordered = sorted(sign * v for v in values)
        other = ordered[n - 1 - 9 * (n - 1) // 10]
        end = ordered[9 * (n - 1) // 10]
        beyond = [v for v in ordered if v > end]
        usual = (end - other) or (ordered[-1] - ordered[0])
        unit = usual
        if beyond:
            unit = (beyond[len(beyond) // 2] - end) / math.log(2)
            unit = max(unit, usual / 10)
        if len(beyond) < 10:
            unit = min(unit, usual)
        far = max(far, (sign * value - end) / unit)
    return min(far, 1e12)


def score_in_loops(odd, frame, new):
    model = odd.kernel_.model_
    coded, other = model.code(frame, 1), model.code(new, 1)
    rows = coded.bins.astype(int).tolist()
    out = np.zeros(other.bins.shape)
    for r, row in enumerate(other.bins.astype(int).tolist()):
        for j, own in enumerate(row):
            n_bins = int(model.n_bins[j])
            if own == other.missing or not n_bins:
                continue
            shares, n_seen = estimate(model, row, j, rows)
            share = shares[own] if own < n_bins else 0.0
            expected = -sum(p * math.log(p) for p in shares if p)
            tail = 0.0
            column = coded.columns[j]
            kind = column.type
            measured = kind.kind == "numeric" and not kind.has_labels
            if measured and kind.form != "boolean":
                value = float(other.columns[j].values[r])
                tail = measure_tail(value, column.values.tolist())
                distinct = {v for v in column.values.tolist() if not math.isnan(v)}
                if own < n_bins and len(distinct) > 2:
                    share = mix(shares, own, value, model.bins[j].centers)
            surprise = -math.log(share) if share else math.log(n_seen + 1)
            out[r, j] = max(surprise + tail - expected - 1, 0)
    return out


@settings(max_examples=40)
@given(tables(max_rows=25, max_columns=4))
def test_scores_are_those_of_the_loops(both):
    frame, new = both
    odd = fitted(ProximityOutliers(), frame)
    for table in (frame, new):
        got = odd.score_cells(table).to_numpy()
        want = score_in_loops(odd, frame, table)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_scores_are_those_of_the_loops_where_codes_decide():
    rng = np.random.default_rng(0)
    letter = rng.choice(list("abc"), 60)
    upper = np.char.upper(letter)
    upper[:2] = ["A", "B"]
    letter[:2] = ["b", "b"]
    table = pd.DataFrame({"x": letter, "y": upper, "z": rng.integers(3, size=60)})
    odd = ProximityOutliers().fit(table)
    got = odd.score_cells(table).to_numpy()
    np.testing.assert_allclose(got, score_in_loops(odd, table, table), atol=1e-9)
    # The only row that breaks the rule "b comes with B" scores by its decision.
    assert got[0, 1] > 3
    assert odd.predict(table)[0] == -1
    # A cell that another column determines, and agrees with, is never listed.
    for row in odd.reasons(table[2:]):
        assert not {reason.feature for reason in row} & {"x", "y"}


def test_scores_are_those_of_the_loops_where_being_observed_decides():
    """One row breaks the rule that who smokes has a number, not the ten like it."""
    smokers = [("yes", f"v{k % 10}") for k in range(100)]
    table = pd.DataFrame(
        [("no", None)] * 99 + [("no", "v5"), *smokers], columns=["smoker", "number"]
    )
    odd = ProximityOutliers().fit(table)
    got = odd.score_cells(table).to_numpy()
    np.testing.assert_allclose(got, score_in_loops(odd, table, table), atol=1e-9)
    assert np.flatnonzero(odd.predict(table) == -1).tolist() == [99]
    (reason,) = odd.reasons(table[99:100], 1)[0]
    assert str(reason) == "smoker no: yes expected with number v5"


# --- rows


@pytest.fixture(scope="module")
def frame():
    return mixed_table(300, 6, 0.1, seed=1)


@pytest.fixture(scope="module")
def odd(frame):
    return ProximityOutliers().fit(frame)


def test_the_score_of_a_row_is_the_sum_of_its_cells(frame, odd):
    scores, cells = odd.score_samples(frame), odd.score_cells(frame)
    assert (scores <= 0).all()
    assert cells.shape == frame.shape
    assert (cells.columns == frame.columns).all()
    np.testing.assert_allclose(-cells.sum(axis=1), scores)
    assert (cells.to_numpy()[frame.isna()] == 0).all()
    np.testing.assert_array_equal(odd.decision_function(frame), scores - odd.offset_)
    reasons = odd.reasons(frame, n=6)
    total = [-sum(reason.score for reason in row) for row in reasons]
    np.testing.assert_allclose(total, scores)
    for row in reasons:
        assert [r.score for r in row] == sorted((r.score for r in row), reverse=True)


def test_cells_have_the_type_of_the_table(frame, odd):
    want = odd.score_cells(frame)
    as_polars = pl.from_pandas(frame)
    got = odd.score_cells(as_polars)
    assert isinstance(got, pl.DataFrame)
    np.testing.assert_array_equal(got.to_numpy(), want.to_numpy())
    rows = [[None if pd.isna(c) else c for c in row] for row in frame.to_numpy()]
    by_rows = ProximityOutliers().fit(rows).score_cells(rows)
    assert isinstance(by_rows, list)
    np.testing.assert_array_equal(by_rows, want.to_numpy())


def test_score_does_not_depend_on_the_batch(frame, odd):
    together = odd.score_samples(frame)
    alone = [odd.score_samples(frame.iloc[[i]])[0] for i in range(0, 300, 50)]
    np.testing.assert_allclose(together[::50], alone, rtol=1e-12)


def test_rare_combinations_are_found():
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=300)
    table = pd.DataFrame({f"c{j}": np.where(group, "x", "y") for j in range(6)})
    table.loc[0] = ["x", "y", "x", "y", "x", "y"]
    odd = ProximityOutliers().fit(table)
    assert odd.score_samples(table).argmin() == 0
    assert odd.predict(table)[0] == -1
    assert len(odd.reasons(table[:1], n=6)[0]) >= 3


def test_a_new_category_and_a_new_extreme_are_found(frame, odd):
    new = frame.iloc[[10]].copy()
    new["col2"] = "never seen"
    ((reason, *_),) = odd.reasons(new)
    assert (reason.feature, reason.value) == ("col2", "never seen")
    assert reason.probability == 0
    new = frame.iloc[[10]].copy()
    new["col0"] = 1e9
    assert odd.predict(new) == [-1]
    ((reason, *_),) = odd.reasons(new)
    assert (reason.side, reason.beyond) == ("above", 0.999)
    assert str(reason).startswith("col0 1000000000: ")
    assert str(reason).endswith(", above 99.9 % of all values")


def test_a_value_above_the_largest_is_far_even_where_many_have_the_largest():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"grade": rng.integers(1, 4, 300).astype(float)})
    table["other"] = rng.normal(size=300)
    odd = ProximityOutliers().fit(table)
    assert odd.predict(pd.DataFrame({"grade": [300.0], "other": [0.0]})) == [-1]


def test_weights_of_features_weigh_their_cells(frame):
    plain = ProximityOutliers().fit(frame).score_cells(frame)
    kernel = ProximityKernel(8, feature_weights={"col0": 0, "col1": 2})
    got = ProximityOutliers(kernel=kernel).fit(frame).score_cells(frame)
    weights = np.array([0, 2, 1, 1, 1, 1])
    np.testing.assert_allclose(got, plain * weights / weights[weights > 0].mean())


# --- planted errors


def plant(frame, rng, numbers, labels):
    """Make one cell wrong: ten times the number, or the label of another row."""
    i = int(rng.integers(len(frame)))
    column = str(rng.choice(numbers + labels))
    while pd.isna(frame.at[i, column]):
        i = int(rng.integers(len(frame)))
    if column in numbers:
        frame.at[i, column] *= 10
    else:
        others = frame[column].dropna().unique()
        frame.at[i, column] = rng.choice(others[others != frame.at[i, column]])
    return i, column


def test_reasons_name_the_planted_cell_first():
    numbers = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    frame = load_penguins().astype(dict.fromkeys(numbers, float))
    rng, hits = np.random.default_rng(0), 0
    for _ in range(20):
        wrong = frame.copy()
        i, column = plant(wrong, rng, numbers, ["species"])
        odd = ProximityOutliers().fit(wrong)
        ((first, *_),) = odd.reasons(wrong.iloc[[i]])
        hits += first.feature == column
    assert hits >= 18


def test_reasons_say_what_was_expected_and_from_what():
    numbers = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    frame = load_penguins().astype(dict.fromkeys(numbers, float))
    frame.loc[5, "bill_length_mm"] = 4200.0
    frame.loc[9, "body_mass_g"] = 3.65
    frame.loc[20, "species"] = "Gentoo"
    odd = ProximityOutliers().fit(frame)
    assert (odd.predict(frame)[[5, 9, 20]] == -1).all()
    bill, mass, kind = (row[0] for row in odd.reasons(frame.iloc[[5, 9, 20]]))
    assert (bill.feature, bill.side, bill.value) == ("bill_length_mm", "above", "4200")
    assert (mass.feature, mass.side, mass.value) == ("body_mass_g", "below", "3.65")
    assert (kind.feature, kind.value, kind.side) == ("species", "Gentoo", "")
    assert kind.expected == "Adelie"
    assert kind.probability < 0.01
    assert str(kind) == "species Gentoo: Adelie expected with bill_length_mm 37.8"
    assert str(bill).endswith(", above 99 % of all values")
    assert bill.given  # what is expected of the bill depends on the other cells


def test_few_rows_of_a_table_without_errors_are_outliers():
    normal = np.random.default_rng(0).normal(size=(2000, 6))
    odd = ProximityOutliers().fit(normal)
    assert odd.expected_false_alarms_ == pytest.approx(20)
    assert (odd.predict(normal) < 0).mean() < 0.015
    assert (odd.predict(np.full((1, 6), 12.0)) < 0).all()
    frame = load_penguins()
    assert (ProximityOutliers().fit_predict(frame) < 0).mean() < 0.02


def test_most_gross_errors_are_outliers():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(1000, 1))
    table = 10 + shared + rng.normal(size=(1000, 8))
    wrong = np.arange(20)
    table[wrong, rng.integers(8, size=20)] *= 10
    found = ProximityOutliers().fit_predict(table) < 0
    assert found[wrong].all()
    assert found[20:].mean() < 0.015


def test_contamination_is_the_share_of_outliers(frame):
    odd = ProximityOutliers(contamination=0.05)
    assert (odd.fit_predict(frame) == -1).sum() == 15
    assert odd.expected_false_alarms_ is None


def test_equal_rows_are_no_outliers():
    assert (ProximityOutliers().fit_predict([["x"]] * 9) == 1).all()
    rows = [["x"]] * 95 + [["y"]] * 5
    assert (ProximityOutliers().fit_predict(rows) == 1).all()


# --- ways to fit


@pytest.mark.parametrize("contamination", ["auto", 0.03])
def test_batches_equal_the_whole_table_to_the_bit(frame, contamination):
    whole = ProximityOutliers(contamination=contamination).fit(frame)
    for n_parts in (1, 3):
        parts = ProximityOutliers(contamination=contamination)
        parts.fit_batches(cut(frame, n_parts))
        assert parts.offset_ == whole.offset_
        assert parts.expected_false_alarms_ == whole.expected_false_alarms_
        np.testing.assert_array_equal(
            parts.score_samples(frame), whole.score_samples(frame)
        )


def test_batches_equal_the_whole_table_if_missing_cells_are_informative(frame):
    kernel = ProximityKernel(missingness="informative")
    whole = ProximityOutliers(kernel=kernel).fit(frame)
    assert whole.kernel_.model_.informative.any()
    parts = ProximityOutliers(kernel=kernel).fit_batches(cut(frame, 3))
    assert parts.offset_ == whole.offset_


def test_a_missing_cell_can_be_the_reason():
    state = np.repeat(["sick", "well"], 100)
    lab = np.where(state == "sick", np.random.default_rng(0).normal(size=200), np.nan)
    lab[7] = np.nan
    table = pd.DataFrame({"state": state, "lab": lab})
    kernel = ProximityKernel(missingness="informative")
    odd = ProximityOutliers(kernel=kernel).fit(table)
    assert odd.predict(table)[7] == -1
    texts = [str(reason) for reason in odd.reasons(table.iloc[[7]])[0]]
    assert "lab missing: a value expected with state sick" in texts


def test_threads_do_not_change_the_scores(frame):
    one, two = (ProximityOutliers(n_jobs=n).fit(frame) for n in (1, 2))
    assert one.offset_ == two.offset_
    np.testing.assert_array_equal(one.score_samples(frame), two.score_samples(frame))


def test_a_saved_model_gives_the_same_scores_and_reasons(frame, odd, tmp_path):
    odd.save(tmp_path / "odd.model")
    loaded = ProximityOutliers.load(tmp_path / "odd.model")
    np.testing.assert_array_equal(loaded.score_samples(frame), odd.score_samples(frame))
    assert loaded.reasons(frame) == odd.reasons(frame)
    assert loaded.offset_ == odd.offset_
    assert loaded.expected_false_alarms_ == odd.expected_false_alarms_


def test_only_no_kernel_is_the_default(frame, odd):
    plain = ProximityOutliers(kernel=ProximityKernel(8)).fit(frame)
    np.testing.assert_array_equal(plain.score_samples(frame), odd.score_samples(frame))
    given = ProximityOutliers(kernel=ProximityKernel()).fit(frame)
    assert given.kernel_.n_bins is None


def test_a_frozen_kernel_is_used_as_it_is(frame, odd):
    kernel = FrozenEstimator(ProximityKernel(n_bins=8).fit(frame))
    frozen = ProximityOutliers(kernel=kernel).fit(frame)
    np.testing.assert_array_equal(frozen.score_samples(frame), odd.score_samples(frame))
    assert frozen.offset_ == odd.offset_


def test_fit_like_fits_to_typed_columns(frame, odd):
    kernel = ProximityKernel(matching="cascade").fit(frame)
    other, coded = fit_like(ProximityKernel(), odd._code(frame).columns)
    np.testing.assert_array_equal(other.score_samples(coded), odd.score_samples(frame))
    other, _ = fit_like(kernel, odd._code(frame).columns)
    assert other.offset_ == odd.offset_


# --- mistakes


@pytest.mark.parametrize("contamination", [0, -0.1, 0.51, "some", True, None])
def test_bad_contamination_is_named(contamination):
    with raises_naming(ValueError, "contamination", "0.5", "auto"):
        ProximityOutliers(contamination=contamination).fit([[1.0], [2.0]])


def test_bad_questions_are_named(odd, frame):
    with raises_naming(ValueError, "n must be", "at least 1"):
        odd.reasons(frame, n=0)
    with raises_naming(ValueError, "kernel", "'rbf'"):
        ProximityOutliers(kernel="rbf").fit(frame)
    with raises_naming(ValueError, "matching", "pairwise"):
        kernel = ProximityKernel(matching="cascade")
        ProximityOutliers(kernel=kernel).fit(frame)


@pytest.mark.parametrize("wrong", [710.0, -710.0])
def test_what_is_expected_does_not_reach_towards_a_wrong_number(wrong):
    ages = [float(20 + i % 50) for i in range(200)]
    odd = ProximityOutliers().fit([[age] for age in [*ages, wrong]])
    (reason,) = odd.reasons([[wrong]])[0]
    ends = [float(part) for part in reason.expected.split() if part[0].isdigit()]
    assert ends
    assert all(20 <= end <= 69 for end in ends), reason.expected


# --- what the reasons rest on


def test_one_exception_does_not_switch_a_determining_column_off():
    """The summary follows from the detail in 999 of 1,000 rows."""
    detail = np.arange(1000) % 4
    table = pd.DataFrame({"detail": [f"d{k}" for k in detail]})
    for name in ("summary", "b", "c", "d"):
        table[name] = np.where(detail < 2, "adult", "child")
    table.loc[8, "summary"] = "child"  # the exception
    table.loc[4, ["b", "c", "d"]] = "child"  # they speak against a right summary
    odd = ProximityOutliers().fit(table)
    assert odd.score_cells(table).loc[8, "summary"] > 3
    coded, judge = odd._code(table), Judge.of_model(odd.kernel_.model_)
    confirmed = [judge.is_confirmed(coded.bins[coded.index[i]], 1) for i in (4, 8)]
    assert confirmed == [True, False]


def test_no_expectation_rests_on_a_single_row():
    """Two rows have the code "odd", and one of them a far number."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.uniform(0, 10, 500)})
    table["group"] = np.where(table["size"] < 5, "small", "large")
    table["mark"] = "plain"
    table.loc[[3, 9], "mark"] = "odd"
    table.loc[[3, 9], "group"] = "small"
    table.loc[3, "size"] = 68.0
    table.loc[9, "size"] = 9.9
    odd = ProximityOutliers().fit(table)
    for reason in odd.reasons(table.iloc[[9]], n=3)[0]:
        assert "68" not in reason.expected
        assert "mark odd" not in reason.given


def test_the_cells_named_lead_to_what_is_expected():
    """Among rows with the named cell, the expected values are more common."""
    frame = load_penguins()
    frame["body_mass_g"] = frame["body_mass_g"].astype(float)
    frame.loc[20, "species"] = "Gentoo"
    frame.loc[200, "island"] = "Torgersen"
    odd = ProximityOutliers().fit(frame)
    coded = odd._code(frame)
    codes = pd.DataFrame(coded.bins[coded.index], columns=frame.columns)
    n_checked = 0
    for i, reasons in enumerate(odd.reasons(frame)):
        for reason in reasons:
            own = frame[reason.feature]
            if reason.feature not in ("species", "island", "sex"):
                continue
            others = own.notna() & (np.arange(len(frame)) != i)
            expected = own.isin(reason.expected.replace(" or ", ", ").split(", "))
            for cell in reason.given:
                name = cell.split(" ")[0]
                alike = others & (codes[name] == codes.loc[i, name])
                assert alike.sum() >= 5
                assert expected[alike].mean() > expected[others].mean()
                n_checked += 1
    assert n_checked > 10


def test_a_number_at_the_end_of_its_bin_is_not_surprising():
    """Rows of one group have sizes up to 10; a size of 10.1 is not a mistake."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 300)
    table = pd.DataFrame({"size": rng.uniform(0, 10, 600) + 10 * group})
    for name in "abc":
        table[name] = np.where(group, "high", "low")
    odd = ProximityOutliers(kernel=ProximityKernel(4)).fit(table)
    (end,) = (x for x in odd.kernel_.model_.bins[0].midpoints.tolist() if 8 < x < 12)
    near = pd.DataFrame(
        {"size": [end - 0.01, end + 0.01], **dict.fromkeys("abc", "low")}
    )
    scores = odd.score_cells(near)["size"]
    assert abs(scores[0] - scores[1]) < 0.2
    assert odd.score_cells(near.assign(size=19.0))["size"].min() > scores.max() + 1


def test_what_is_called_expected_has_at_least_half_of_the_probability():
    shares = np.array([0.2, 0.44, 0.06, 0.3])
    assert _find_half(shares, own=0) == [1, 3]
    assert _find_half(shares, own=1) == [0, 3]
    assert _find_half(np.array([0.1, 0.9]), own=0) == [1]


def make_circles():
    """Radius, perimeter and area of circles; one column follows from another."""
    radius = np.random.default_rng(1).lognormal(2.6, 0.25, 570)
    noise = np.random.default_rng(51).normal(1, 0.03, (2, 570))
    circles = {"perimeter": 2 * np.pi * radius, "area": np.pi * radius**2}
    circles = {name: c * e for (name, c), e in zip(circles.items(), noise, strict=True)}
    return pd.DataFrame({"radius": radius, **circles})


def test_an_extreme_is_no_contradiction_of_the_extremes_it_follows_from():
    table = make_circles()
    largest = table["radius"].nlargest(5).index
    for reasons in ProximityOutliers().fit(table).reasons(table.loc[largest]):
        for reason in reasons:
            assert not reason.given, reason
            assert str(reason) == (
                f"{reason.feature} {reason.value}: usually {reason.usual}, above "
                f"{100 * reason.beyond:g} % of all values"
            )
    wrong = table.loc[[7]].assign(area=table["area"].max())  # of a circle of that size
    ((reason, *_),) = ProximityOutliers().fit(table).reasons(wrong)
    assert reason.feature == "area"
    assert reason.given


def test_a_number_that_is_likely_has_no_other_one_expected():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(400, 1)) + 0.7 * rng.normal(size=(400, 5))
    found = ProximityOutliers().fit(table).reasons(table, n=5).to_frame()
    named = found["expected"] != ""
    assert named.sum() > 20
    assert found["probability"][named].max() <= 0.2
    # Those within the central 80 % have nothing but their probability.
    likely = found[~named & (found["usual"] == "") & (found["side"] == "")]
    assert len(likely) > 2
    assert likely["reason"].str.contains(" % likely, given the other cells").all()


def test_nothing_is_expected_where_rare_categories_are_likely():
    table = pd.DataFrame({"city": ["Rome", "Pisa"] * 150, "group": ["a"] * 300})
    rare = pd.DataFrame({"city": [f"town {k % 5}" for k in range(20)], "group": "b"})
    odd = ProximityOutliers().fit(pd.concat([table, rare]))
    reasons = odd.reasons(pd.DataFrame({"city": ["Rome"], "group": ["b"]}))[0]
    (city,) = (str(reason) for reason in reasons if reason.feature == "city")
    assert re.fullmatch("city Rome: .* % likely, given the other cells", city)


def make_ages():
    """Ages, and groups of them whose limit of 65 is inside a bin of the ages."""
    rng = np.random.default_rng(2)
    age = rng.integers(18, 90, 900)
    table = pd.DataFrame({"age": age, "pressure": 90 + age / 2 + rng.normal(0, 5, 900)})
    table["group"] = np.select([age < 45, age <= 65], ["young", "middle"], "old")
    return table


def test_rows_with_the_very_same_value_are_asked_before_another_is_expected():
    table = make_ages()
    odd = ProximityOutliers().fit(table)
    scores = odd.score_cells(table)["group"].to_numpy()
    at = np.flatnonzero((scores > 0) & (table["age"] == 65).to_numpy())
    assert len(at) > 5
    found = [one for row in odd.reasons(table) for one in row]
    assert not [one for one in found if one.feature == "group"]
    # So are others than those that are judged.
    assert not [
        one
        for row in odd.reasons(table.iloc[at], among=table)
        for one in row
        if one.feature == "group"
    ]
    alone = odd.reasons(table.iloc[at[:1]])[0]
    assert [one for one in alone if one.feature == "group"]
    with raises_naming(ValueError, "age"):
        odd.reasons(table, among=table.drop(columns="age"))
    # A wrong group stays one: the other rows with this age contradict it.
    wrong = table.iloc[[at[0]]].assign(group="young")
    (reason,) = (
        one for one in odd.reasons(wrong, among=table)[0] if one.feature == "group"
    )
    assert not reason.given  # in these bins "old" is expected, at that age "middle"


def test_cells_are_named_only_if_most_rows_with_them_are_as_expected():
    """Of the rows with p and q half have "a" and half "b"."""
    rows = [("a", "p", "q"), ("b", "p", "q")] * 20 + [("c", "r", "s")] * 300
    table = pd.DataFrame([*rows, ("c", "p", "q")], columns=["x", "y", "z"])
    odd = ProximityOutliers().fit(table)
    (reason, *_) = odd.reasons(table[-1:], among=table)[0]
    assert str(reason) == "x c: a or b expected with y p and z q"
    # The rows that the model does not know contradict it.
    other = table.assign(x=np.where(table["y"] == "p", "c", "a"))
    other.loc[other.index[:6], "x"] = ["a", "b"] * 3
    found = odd.reasons(other[-1:], among=other)[0]
    assert "x" not in {one.feature for one in found}
    few = pd.concat([other[6:9], other[-1:]])
    (reason, *_) = odd.reasons(few[-1:], among=few)[0]
    assert str(reason) == "x c: under 1 % likely, given the other cells"


def test_many_categories_are_not_listed():
    """Five are as likely with "p", and the column has others more often."""
    rows = [(letter, "p") for letter in "abcdefgh" for _ in range(30)]
    rows += [("z", "q")] * 400 + [("z", "p")]
    odd = ProximityOutliers().fit(pd.DataFrame(rows, columns=["x", "y"]))
    reasons = odd.reasons(pd.DataFrame({"x": ["z"], "y": ["p"]}))[0]
    (reason,) = (one for one in reasons if one.feature == "x")
    assert re.fullmatch("x z: .* % likely, given the other cells", str(reason))


def test_where_the_model_would_call_many_rows_outliers_the_limit_is_that_of_rows():
    """Panels of tests that are missing together repeat each other many times."""
    rng = np.random.default_rng(1)
    table = rng.normal(size=(60, 8, 15))
    table[rng.random((60, 8)) < 0.6] = np.nan
    table = table.reshape(60, -1)
    odd = ProximityOutliers().fit(table)
    assert odd.expected_false_alarms_ is None
    assert 0 < np.sum(odd.predict(table) == -1) <= 5
    parts = ProximityOutliers().fit_batches([table[:20], table[20:]])
    assert parts.offset_ == odd.offset_
    # Gross errors in many rows do not raise it.
    wrong = mixed_table(300, 6, 0.1, seed=1)
    for k, number in enumerate(wrong.select_dtypes("number").columns[:3]):
        wrong.loc[8 * k : 8 * k + 7, number] = 1e6
    assert (ProximityOutliers().fit(wrong).predict(wrong)[:24] == -1).all()


def test_an_ordered_label_between_the_expected_ones_is_not_in_their_range():
    """With "p", the column has its lowest and its highest label, never the third."""
    hours = [f"{hour:02d}:00" for hour in range(8)]
    rows = [(hours[k], "q") for k in range(1, 7) for _ in range(60)]
    rows += [(hours[k], "p") for k in (0, 7) for _ in range(150)]
    rows += [("03:00", "p")]
    frame = pd.DataFrame(rows, columns=["at", "y"])
    frame["at"] = pd.Categorical(frame["at"], hours, ordered=True)
    odd = ProximityOutliers().fit(frame)
    (reason,) = (r for r in odd.reasons(frame.iloc[[-1]])[0] if r.feature == "at")
    assert reason.expected in ("00:00 or 07:00", "07:00 or 00:00")


def test_a_cell_that_decides_is_named_though_most_of_the_column_is_as_expected():
    """Of 300 rows 85 % have EUR, which France and Germany always have."""
    country = np.repeat(["DE", "FR", "US"], [150, 105, 45])
    table = pd.DataFrame({"country": country, "currency": "EUR"})
    table.loc[country == "US", "currency"] = "USD"
    table.loc[200, "currency"] = "USD"
    reasons = ProximityOutliers().fit(table).reasons(table)[200]
    assert "currency USD: EUR expected with country FR" in map(str, reasons)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_expected_with_a_number_is_so_in_the_rows_with_the_nearest(seed):
    """At the end of a bin, rows in the middle of it are no evidence."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 100, 800)).round(3)
    table = pd.DataFrame({"x": x, "y": (x + rng.normal(0, 4, 800)).round(3)})
    n_checked = 0
    for i, reasons in enumerate(ProximityOutliers().fit(table).reasons(table)):
        for one in reasons:
            if one.feature == "y" and one.given:
                between = re.fullmatch(r"(\S+) to (\S+)", one.expected)
                ends = between or re.fullmatch(
                    r"(above )?(?:up to )?(\S+)", one.expected
                )
                low, high = ends.groups()
                low = high if low == "above " else low or -np.inf
                high = np.inf if ends[1] == "above " else high
                near = table["y"].iloc[max(0, i - 15) : i + 16].drop(i)
                assert near.between(float(low), float(high)).mean() > 0.5, one
                n_checked += 1
    assert n_checked > 5


def test_the_usual_range_of_moments_has_their_time():
    """Without it, a moment of the same day before the range would seem to be in it."""
    moments = pd.date_range("2024-03-01 08:00", periods=101, freq="3h")
    table = pd.DataFrame({"seen": moments})
    odd = ProximityOutliers().fit(table)
    coded = odd._code(table)
    usual = _Writer(coded, odd._tails, coded)._name_usual(0)
    assert usual == f"{moments[10].isoformat()} to {moments[90].isoformat()}"


def test_rows_with_a_label_are_found_beside_missing_cells():
    table = pd.DataFrame(
        {"a": [None, None, *"xyzzz"], "b": [1.0, np.nan, 2, 3, 4, 5, 5]}
    )
    odd = ProximityOutliers().fit(table)
    coded = odd._code(table)
    writer = _Writer(coded, odd._tails, coded)
    assert sorted(writer._find_rows(6, 0, 1)) == [4, 5, 6]
    assert sorted(writer._find_rows(0, 0, 1)) == [0, 1]
    assert sorted(writer._find_rows(6, 1, 1)) == [4, 5, 6]
    assert sorted(writer._find_rows(0, 1, 1)) == [0, 2]
