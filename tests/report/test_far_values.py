"""Messy tables in the report: values far from the others, and many categories."""

import re

import numpy as np
import pandas as pd
import pytest
from report_pages import SENTINEL, messy, missing_table, section, visible, write

from proximity_kernel._shared.wording import write_share
from proximity_kernel.report.display_columns import DisplayColumn, draw_histogram


@pytest.fixture(scope="module")
def table():
    return messy()


@pytest.fixture(scope="module")
def page(table, tmp_path_factory):
    return write(tmp_path_factory.mktemp("far"), table)


def card(page, name):
    found = re.search(
        rf'<li class="card" data-name="{name}">(.*?)\n    </li>', page, re.DOTALL
    )
    return found.group(1)


def boxes(text, kind):
    """The x, y, width and height of the rectangles of a kind."""
    pattern = rf'class="{kind}" x="(.*?)" y="(.*?)" width="(.*?)" height="(.*?)"'
    return np.array(re.findall(pattern, text), dtype=float).reshape(-1, 4)


def test_far_values_stand_in_a_bar_of_their_own(page, table):
    income = table["income"].dropna()
    others = income[income < SENTINEL]
    text = card(page, "income")
    counts, _ = np.histogram(others, 30)
    bars, beyond = boxes(text, "bar"), boxes(text, "beyond")
    np.testing.assert_allclose(
        bars[:, 3], 88 * counts[counts > 0] / counts.max(), atol=0.01
    )
    assert len(beyond) == 1
    assert beyond[0, 0] > bars[:, :1].max() + bars[:, 2].max()
    assert beyond[0, 0] + beyond[0, 2] == 300
    words = visible(text)
    assert (
        "Not to scale: 5 values of 990,000,000, far above the others, which end at "
        f"{others.max():,.0f}." in words
    )
    assert f"<span>{others.max():,.0f}</span>" in text


def test_both_ends_and_dates(page, table):
    assert len(boxes(card(page, "balance"), "beyond")) == 2
    words = visible(card(page, "balance"))
    assert (
        "Not to scale: 2 values of -2,000,000 to -1,000,000, far below the others, "
        "which begin at -1,524.04; 1 value of 3,000,000, far above" in words
    )
    last = table["since"].drop(11).max()
    words = visible(page)
    assert (
        "1 value of 2199-12-31, far above the others, which end at "
        f"{last:%Y-%m-%d}" in words
    )


def test_far_values_are_named_with_their_rows(page):
    listed = page[page.index("Numbers far from all others") :]
    listed = listed[: listed.index("Values that are unlikely, taken together")]
    rows = re.findall(r'data-row="(\d+)"', listed)
    assert [int(row) for row in rows] == [
        *(5, 50, 500, 1000, 1500), *(9, 70, 7), 11
    ]  # fmt: skip
    first = re.search(
        "Far from all other numbers of their column: (.*?);", visible(page)
    )[1]
    assert first.startswith("income 990,000,000 in row 6, ")
    words = visible(page)
    for said in ("5 values of 990,000,000, far above", "2 values of -2,000,000 to"):
        assert words.count(said) == 2  # among unusual rows, on the card


def test_the_farthest_numbers_come_first_and_none_is_left_out(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(0, 10, (200, 5)).round(1), columns=list("abcde"))
    table.loc[3, list("abcde")] = [20, 30, 40, 500, -60]
    words = visible(write(tmp_path, table))
    assert (
        "Far from all other numbers of their column: d 500.0 in row 4; e -60.0 in "
        "row 4; c 40.0 in row 4; and 2 more numbers in b and a." in words
    )


def test_only_what_lies_apart_is_far():
    rng = np.random.default_rng(0)
    tails = {
        "normal": rng.normal(size=5000),
        "exponential": rng.exponential(size=5000),
        "counts": rng.poisson(0.2, 5000).astype(float),
        "log-normal": rng.lognormal(0, 1, 5000),
        "constant": np.zeros(50),
        "few": np.array([1.0, 2, 3, 1e9]),
        "a group of its own": np.r_[rng.normal(size=900), 1e6 + np.arange(100)],
        "largest floats": np.r_[-1.7e308, 1.7e308, rng.uniform(-1, 1, 100) * 1e308],
    }
    for name, values in tails.items():
        reach = DisplayColumn(name, "number", values).usual
        assert (reach.low, reach.high) == (values.min(), values.max()), name
        assert len(reach.below) == len(reach.above) == 0
    for factor in (1e-300, 1.0, 1e300):
        values = factor * np.r_[rng.normal(size=100), 1e6, -1e7]
        reach = DisplayColumn("x", "number", values).usual
        assert len(reach.above) == len(reach.below) == 1
        assert reach.high < 10 * factor


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).lognormal(sigma=1.5, size=500),
        np.random.default_rng(0).poisson(0.1, size=500),
        np.random.default_rng(0).pareto(2, size=500),
    ],
    ids=["lognormal", "counts", "pareto"],
)
def test_few_values_of_long_tails_are_far(values):
    usual = DisplayColumn("x", "number", values.astype(float)).usual
    assert len(usual.below) + len(usual.above) <= 1


def test_far_values_are_found_beside_two_humps_and_in_a_long_tail(tmp_path):
    """The planted values are in the first sentences of the page, with their rows."""
    rng = np.random.default_rng(0)
    humps = np.where(rng.random(400) < 0.4, 30, 80) + rng.normal(size=400)
    amounts = -np.round(np.exp(rng.uniform(1, np.log(950), 400)), 2)
    table = pd.DataFrame({"temperature": humps.round(1), "amount": amounts})
    table.loc[[17, 200], "temperature"] = [-999, 780]
    table.loc[99, "amount"] = -48_000
    found = visible(write(tmp_path, table).split("</header>")[0])
    assert "temperature -999.0 in row 18 and 780.0 in row 201" in found
    assert "amount -48,000.00 in row 100" in found
    assert "stands out" not in found


def test_the_extremes_are_shown_with_the_distance_to_the_next():
    column = DisplayColumn("x", "number", np.array([5.0, 1, 2, 2.5, 9, 9, np.nan]))
    assert column.extremes == (
        "lowest 1.0, 1.0 below the next; highest 9.0 (2 times), 4.0 above the next"
    )
    days = np.array([0, 1, 5, 5.5]) * 86_400
    column = DisplayColumn("x", "date", days)
    assert column.extremes == (
        "lowest 1970-01-01, 1 day below the next; highest 1970-01-06 12:00:00, 43200 s "
        "above the next"
    )
    assert DisplayColumn("x", "category", days, ("a",) * 6).extremes == ""


def test_whole_numbers_have_a_bar_each(page, table):
    visits = table["visits"].dropna().astype(int)
    counts = np.bincount(visits)
    bars = boxes(card(page, "visits"), "bar")
    np.testing.assert_allclose(
        bars[:, 3], 88 * counts[counts > 0] / counts.max(), atol=0.01
    )
    assert f"the tallest bar, {counts.argmax()}, holds" in card(page, "visits")


@pytest.mark.parametrize("step", [1, 2, 0.5, 1 / 3])
@pytest.mark.parametrize("common", [11, 42, 60])
def test_the_tallest_bar_is_named_by_the_values_it_holds(step, common):
    values = np.append(np.arange(-5, 61), [common] * 9) * step
    column = DisplayColumn("x", "number", values)
    text = draw_histogram(column, column.usual, np.array([]), None)["text"]
    found = re.search(r"tallest bar, (\S+?)(?: to (\S+))?, holds (.*)\.", text)
    assert found is not None
    first, last = float(found[1]), float(found[2] or found[1])
    inside = (values > first - 1e-3) & (values < last + 1e-3)
    assert common * step in values[inside]
    assert found[3] == write_share(np.mean(inside))


def shown_bars(text):
    return [
        (visible(label), float(width))
        for label, width in re.findall(
            r'class="label"[^>]*>(.*?)</span>.*?width:([\d.]+)%', text
        )
    ]


def test_categories_are_ordered_and_on_one_scale(page, table):
    shares = 100 * table["city"].value_counts(normalize=True)
    assert list(shares.index) == ["Berlin", "Ulm", "Bonn"]
    shown = shown_bars(card(page, "city"))
    assert [label for label, _ in shown] == list(shares.index)
    np.testing.assert_allclose([width for _, width in shown], shares, atol=0.051)
    shown = shown_bars(card(page, "plan"))
    assert [label for label, _ in shown] == ["basic", "plus", "premium"]  # by rank
    shares = 100 * table["zip code"].value_counts(normalize=True)
    *most, (rest, width) = shown_bars(card(page, "zip code"))
    assert len(most) == 8
    np.testing.assert_allclose([one for _, one in most], shares.iloc[:8], atol=0.051)
    assert rest == f"and {len(shares) - 8} more"
    assert abs(width - shares.iloc[8:].sum()) < 0.051


def test_columns_without_an_observed_value_are_not_counted(page, table):
    shown = missing_table(page)
    with_gaps = table.drop(columns=["plan", "fax"])
    assert {name: int(row[0]) for name, row in shown.items()} == (
        with_gaps.isna().sum().to_dict()
    )
    words = visible(section(page, "missing"))
    assert "Not counted: the cells of fax, where no value is observed." in words


def test_numbers_and_dates_are_kept_whole(page):
    assert '<span class="whole">2199-12-31,</span>' in page
    assert re.search(r'up to <span class="whole">\d\d,\d{3}</span>', page)
    assert '<span class="whole">-2,000,000</span>' in page


def test_a_long_tail_does_not_squeeze_the_other_bars(tmp_path):
    rng = np.random.default_rng(0)
    tail = rng.lognormal(0, 1.5, 5000)
    text = card(write(tmp_path, pd.DataFrame({"tail": tail})), "tail")
    bars, beyond = boxes(text, "bar"), boxes(text, "beyond")
    assert len(bars) > 20
    assert len(beyond) == 1
    assert re.search(r"Not to scale: 50 values above [\d.]+\.", visible(text))
