"""Formulas between columns: found, violated, and named in reasons."""

import numpy as np
import pandas as pd
import pytest

from proximity_kernel import ProximityOutliers


def make_orders(n=400):
    """Make orders whose total is the product of quantity and price."""
    rng = np.random.default_rng(1)
    price = rng.choice([249.0, 89.5, 29.9, 119.0], n)
    quantity = rng.integers(1, 20, n).astype(float)
    return pd.DataFrame(
        {
            "shipping": rng.gamma(2, 6, n).round(2),
            "quantity": quantity,
            "price": price,
            "total": (quantity * price).round(2),
        }
    )


def test_a_violated_product_is_named_with_the_numbers_that_give_it():
    orders = make_orders()
    orders.loc[7, "total"] += 400
    odd = ProximityOutliers().fit(orders)
    assert odd.predict(orders)[7] == -1
    texts = [str(one) for one in odd.reasons(orders)[7]]
    quantity, price, total = orders.loc[7, ["quantity", "price", "total"]]
    said = [one for one in texts if one.startswith(f"total {total:g}:")]
    assert len(said) == 1
    assert f"{quantity * price:g} expected with" in said[0]
    assert f"quantity {quantity:g}" in said[0]
    assert f"price {price:g}" in said[0]
    assert not any("shipping" in one for one in texts)


@pytest.mark.parametrize("factor", [0, -1])
def test_a_product_is_found_although_some_rows_have_no_logarithm(factor):
    orders = make_orders()
    orders.loc[::50, ["quantity", "total"]] *= factor  # nothing sold, or returned
    orders.loc[7, "total"] += 400
    odd = ProximityOutliers().fit(orders)
    expected = {one.feature: one.expected for one in odd.reasons(orders)[7]}
    assert (
        expected["total"] == f"{orders.loc[7, 'quantity'] * orders.loc[7, 'price']:g}"
    )
    assert (odd.score_cells(orders).loc[::50, "price"] < 5).all()


def test_a_product_that_is_mostly_zero_is_found_in_the_other_rows():
    rng = np.random.default_rng(8)
    late = np.where(rng.random(600) < 0.6, 0, rng.integers(1, 30, 600))
    rate = rng.choice([0.05, 0.1, 0.25], 600)
    table = pd.DataFrame({"late": late, "rate": rate, "fine": (late * rate).round(2)})
    i = int(table.index[(late == 6) & (rate == 0.1)][0])
    table.loc[i, "fine"] = 6.0
    odd = ProximityOutliers().fit(table)
    first = odd.reasons(table)[i][0]
    assert (first.feature, first.expected) == ("fine", "0.6")
    assert (odd.score_cells(table).loc[late == 0, "fine"] < 5).all()


def test_a_number_that_agrees_with_its_formula_scores_by_its_tail_only():
    orders = make_orders()
    odd = ProximityOutliers().fit(orders)
    scores = odd.score_cells(orders)[["quantity", "price", "total"]]
    central = orders["total"].between(*orders["total"].quantile([0.1, 0.9]))
    assert (scores.loc[central, "total"] == 0).all()


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda a, _: 32 + 1.8 * a, 5.0),
        (lambda a, b: a + b, 8.0),
        (lambda a, b: a / b**2, 1.0),
    ],
)
def test_linear_and_logarithmic_formulas_are_found_despite_gross_errors(make, wrong):
    rng = np.random.default_rng(2)
    a, b = rng.uniform(50, 90, 500), rng.uniform(1.5, 2, 500)
    table = pd.DataFrame({"a": a, "b": b, "c": make(a, b)})
    table.loc[rng.choice(500, 15, replace=False), "a"] = 900.0
    table.loc[rng.random(500) < 0.1, "b"] = np.nan
    i = int(table[(table["a"] < 100) & table["b"].notna()].index[3])
    right = table.loc[i, "c"]
    table.loc[i, "c"] += wrong
    odd = ProximityOutliers().fit(table)
    (reason,) = (one for one in odd.reasons(table)[i] if one.feature == "c")
    assert float(reason.expected) == pytest.approx(right, rel=1e-3)


def test_the_far_number_is_the_wrong_one():
    rng = np.random.default_rng(3)
    a = rng.uniform(0, 30, 300)
    table = pd.DataFrame({"c": a, "f": 32 + 1.8 * a})
    table.loc[5, "c"] = -999.0
    (reason,) = ProximityOutliers().fit(table).reasons(table)[5]
    assert reason.feature == "c"
    assert float(reason.expected) == pytest.approx((table.loc[5, "f"] - 32) / 1.8)


def make_stays(n=300):
    """Make stays whose last day and whose cost follow from the length."""
    rng = np.random.default_rng(5)
    days = rng.integers(1, 12, n)
    first = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    rate = rng.choice([380.0, 410.0, 620.0], n)
    table = pd.DataFrame({"age": rng.integers(1, 90, n), "days": days, "first": first})
    table["last"] = first + pd.to_timedelta(days, "D")
    return table.assign(rate=rate, cost=days * rate, extra=rng.normal(size=n))


def test_a_small_error_in_an_exact_formula_is_found():
    table = make_stays()
    i = int(table.index[table["days"] == 8][0])
    table.loc[i, "cost"] += 100
    odd = ProximityOutliers().fit(table)
    assert odd.predict(table).tolist().count(-1) == 1
    said = str(odd.reasons(table)[i][0])
    days, rate, cost = table.loc[i, ["days", "rate", "cost"]]
    assert said.startswith(f"cost {cost:g}: {cost - 100:g} expected with ")
    assert {f"days {days:g}", f"rate {rate:g}"} == set(odd.reasons(table)[i][0].given)
    # No whole number of days times the rate would be this cost.
    assert odd.score_cells(table).loc[i, "days"] < 5


def test_a_sum_that_is_one_off_is_found_and_a_rounded_product_is_none():
    rng = np.random.default_rng(6)
    table = pd.DataFrame(rng.integers(0, 500, (400, 2)), columns=["a", "b"])
    table["sum"] = table["a"] + table["b"]
    table["price"] = (1.19 * table["a"]).round(2)
    table.loc[7, "sum"] += 1
    scores = ProximityOutliers().fit(table).score_cells(table)
    assert scores.loc[7, "sum"] > 5
    assert (scores["price"] == 0).mean() > 0.75  # the others are in its tails
    assert scores["price"].max() < 5


def test_expected_dates_are_whole_days():
    table = make_stays()
    table.loc[9, "last"] -= pd.Timedelta(20, "D")
    right = table.loc[9, "first"] + pd.Timedelta(table.loc[9, "days"], "D")
    reasons = {r.feature: r for r in ProximityOutliers().fit(table).reasons(table)[9]}
    assert reasons["last"].expected == f"{right:%Y-%m-%d}"


def test_a_number_that_a_formula_does_not_need_is_no_part_of_it():
    odd = ProximityOutliers().fit(make_stays())
    names = list(make_stays())
    found = {
        names[f.feature]: {names[k] for k in f.sources} for f in odd._tails.formulas
    }
    assert found["cost"] == {"days", "rate"}
    assert found["last"] == {"first", "days"}
    assert found["rate"] == {"cost", "days"}


def test_noise_is_no_formula():
    rng = np.random.default_rng(4)
    a = rng.normal(size=500)
    table = pd.DataFrame({"a": a, "b": a + 0.3 * rng.normal(size=500)})
    odd = ProximityOutliers().fit(table)
    assert odd._tails.formulas == ()


def test_batches_and_files_have_the_same_formulas(tmp_path):
    orders = make_orders()
    orders.loc[7, "total"] += 400
    whole = ProximityOutliers().fit(orders)
    parts = ProximityOutliers().fit_batches([orders[:150], orders[150:]])
    whole.save(tmp_path / "odd")
    loaded = ProximityOutliers.load(tmp_path / "odd")
    for other in (parts, loaded):
        np.testing.assert_array_equal(
            whole.score_samples(orders), other.score_samples(orders)
        )
    assert list(map(str, loaded.reasons(orders)[7])) == list(
        map(str, whole.reasons(orders)[7])
    )


@pytest.mark.parametrize("broken", [[["x"]], [[0, [9], False, [0.0], [1.0], *"abcde"]]])
def test_damaged_formulas_are_refused(broken):
    odd = ProximityOutliers().fit(make_orders())
    state = odd.__get_model_state__()
    state.values["formulas"] = broken
    with pytest.raises(ValueError, match="formula"):
        odd.__set_model_state__(state)
