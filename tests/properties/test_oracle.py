"""The oracle itself, against numbers worked by hand and its own definition."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import (
    MISSING,
    UNKNOWN,
    Column,
    Origin,
    assign_code,
    fit,
    fit_cells,
    kernel,
    match_cascade,
    normalize,
    provenance,
    read_columns,
    represent,
)
from oracle_pairwise import SMOOTHINGS, Pairwise
from strategies import GRADES, tables


def labels(*rows):
    """A table of category labels, written row by row."""
    return [Column(False, list(values)) for values in zip(*rows, strict=True)]


SHARING = labels(
    ("1", "1", "1", "x"),
    ("1", "1", "2", "y"),
    ("1", "2", "1", "y"),
    ("2", "1", "1", "z"),
    ("1", "2", "2", "z"),
    ("2", "2", "2", "x"),
    ("1", "1", "1", None),
)


def test_kinds_come_from_dtypes():
    frame = pd.DataFrame(
        {
            "number": [1, 2],
            "flag": pd.array([True, None], dtype="boolean"),
            "grade": pd.Series(["high", None], dtype=GRADES),
            "word": pd.Series(["b", None], dtype="str"),
            "label": pd.Categorical([None, "a"]),
            "code": [7, 8],
        }
    )
    columns = read_columns(frame, categorical=("code",))
    assert [c.numeric for c in columns] == [True, True, True, False, False, False]
    assert [c.values for c in columns] == [
        [1.0, 2.0],
        [1.0, None],
        [2.0, None],
        ["b", None],
        [None, "a"],
        [7, 8],
    ]


def test_centers_are_percentiles():
    cells = fit_cells(Column(True, [10.0, None, 0.0, 2.0, 1.0]), n_bins=3)
    assert cells.centers == [0.0, 1.5, 10.0]


def test_a_place_on_a_value_is_exact():
    """Two thirds of nine places are six, and no more or less."""
    assert fit_cells(Column(True, [0.0] * 4 + [10.0] * 6), 4).centers == [0.0, 10.0]


def test_equal_centers_are_merged():
    cells = fit_cells(Column(True, [0.0] * 5 + [1.0]), n_bins=4)
    assert cells.centers == [0.0, 1.0]
    assert fit_cells(Column(True, [3.0, 3.0, None]), n_bins=7).centers == [3.0]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, MISSING),
        (-99.0, 0),
        (0.0, 0),
        (0.75, 0),  # a tie goes to the lower one
        (0.76, 1),
        (5.75, 1),
        (5.76, 2),
        (99.0, 2),
    ],
)
def test_code_is_the_number_of_midpoints_below(value, code):
    cells = fit_cells(Column(True, [0.0, 1.0, 2.0, 10.0]), n_bins=3)
    assert assign_code(value, cells) == code


def test_rare_categories_share_the_last_bin():
    column = Column(False, ["d", "d", "c", "b", "a", "d", "c", None, "e"])
    cells = fit_cells(column, max_categories=3)
    assert cells.categories == ["c", "d"]
    assert cells.shared == {"a", "b", "e"}
    assert cells.n_bins == 3
    codes = [assign_code(v, cells) for v in ("a", "b", "c", "d", "e", "f", None)]
    assert codes == [2, 2, 0, 1, 2, UNKNOWN, MISSING]
    # Five categories fit in five bins: nobody shares.
    assert fit_cells(column, max_categories=5).categories == list("abcde")
    # Of three that are seen once, the earliest is kept.
    assert fit_cells(column, max_categories=4).categories == ["a", "c", "d"]


def test_cascade_levels():
    reference = fit(SHARING)
    every = match_cascade([0, 0, 0, MISSING], 3, reference)
    assert (every.level, every.donors) == ("intersection", {0})
    some = match_cascade([1, 0, UNKNOWN, MISSING], 3, reference)
    assert (some.level, some.donors) == ("union", {0, 1, 3, 5})
    nobody = match_cascade([UNKNOWN, UNKNOWN, MISSING, MISSING], 3, reference)
    assert (nobody.level, nobody.donors) == ("prior", {0, 1, 2, 3, 4, 5})
    nothing = match_cascade([MISSING] * 4, 3, reference)
    assert nothing == nobody


def test_representation_and_kernel_by_hand():
    table = labels(
        ("p", "q", "x"),
        ("p", "q", "x"),
        ("p", "q", "y"),
        ("p", "r", "y"),
        ("s", "r", "z"),
        ("p", "q", None),
    )
    reference = fit(table)
    assert reference.n_bins == [2, 2, 3]
    z = represent(table, reference, "cascade")
    np.testing.assert_array_equal(z[5], [1, 0, 1, 0, 2 / 3, 1 / 3, 0])
    k = kernel(z, z, reference.n_counted)
    np.testing.assert_allclose(k[0, 5], 8 / 9, rtol=1e-15)
    np.testing.assert_allclose(k[5, 5], 23 / 27, rtol=1e-15)
    assert k[0, 0] == 1
    assert provenance(table, reference, "cascade") == [
        Origin(5, 2, "intersection", 2, 3, 2 / 3)
    ]
    scaled = normalize(z, 3)
    np.testing.assert_allclose(kernel(scaled, scaled, 3)[5, 5], 1, rtol=1e-15)


def test_a_column_with_nothing_observed_has_no_bin():
    table = [Column(True, [None, None]), Column(False, ["a", "b"])]
    reference = fit(table)
    assert reference.n_bins == [0, 2]
    assert reference.n_counted == 1
    np.testing.assert_array_equal(represent(table, reference), [[1, 0], [0, 1]])
    for matching in ("pairwise", "cascade"):
        for origin in provenance(table, reference, matching):
            assert (origin.feature, origin.level) == (0, "prior")
            assert (origin.observed, origin.support, origin.certainty) == (1, 0, 0)


# The pairwise rule


COLOURS = labels(
    ("red", "hot"),
    ("red", "hot"),
    ("red", "hot"),
    ("red", "cold"),
    ("blue", "cold"),
    ("blue", "cold"),
    ("blue", None),
)


def test_evidence_by_hand():
    """Blue and cold are codes 0: two rows have both, and three are cold."""
    rule = fit(COLOURS).pairwise
    assert [q.tolist() for q in rule.prior] == [[3 / 7, 4 / 7], [1 / 2, 1 / 2]]
    told = rule.evidence(0, 0, 1, 4, None)
    cold = np.log((2 + 4 * 3 / 7) / ((3 + 4) * 3 / 7))
    hot = np.log((0 + 4 * 3 / 7) / ((3 + 4) * 3 / 7))
    np.testing.assert_allclose(told, [cold, hot], rtol=1e-14)
    left_out = np.log((1 + 4 * 3 / 7) / ((2 + 4) * 3 / 7))
    np.testing.assert_allclose(rule.evidence(0, 0, 1, 4, 0), [left_out, hot])


def test_estimate_by_hand():
    rule = fit(COLOURS).pairwise
    rule.smoothing, rule.weights = 4, [{1: 0.0}, {0: 0.5}]
    cold, hot = rule.evidence(0, 0, 1, 4, None)
    odds = np.exp(0.5 * (cold - hot))
    got = rule.estimate([0, MISSING], 1)
    np.testing.assert_allclose(got, [odds / (1 + odds), 1 / (1 + odds)], rtol=1e-14)
    assert rule.moves([0, MISSING], 1) == {0: pytest.approx(got[0] - 0.5)}
    assert rule.estimate([MISSING, 0], 0) == pytest.approx(rule.prior[0])  # weight 0
    assert rule.estimate([UNKNOWN, MISSING], 1) == pytest.approx([0.5, 0.5])


def test_the_choice_by_hand():
    """Two columns that say the same, and one that says nothing."""
    rows = [("a", "x", "k"), ("b", "y", "k"), ("a", "x", "m"), ("b", "y", "m")] * 8
    rule = fit(labels(*rows)).pairwise
    assert rule.common == [1, 1, 0]
    assert rule.smoothing == 1
    assert rule.weights[0][1] == pytest.approx(rule.weights[1][0])
    assert rule.weights[0][2] < 1 < rule.weights[0][1]
    alone = fit(labels(*[row[2:] for row in rows])).pairwise
    assert (alone.common, alone.smoothing) == ([0], 1)  # all are equally good
    assert alone.weights == [{}]


def test_the_weights_by_hand():
    """Where two columns say the same, the slope of the loss is that of the penalty."""
    rows = [("a", "x"), ("b", "y")] * 16
    rule = fit(labels(*rows)).pairwise
    weight = rule.weights[0][1]
    odds = (15 + 0.5) / 0.5 * (16 + 1) / (15 + 1)  # of its own bin, without the row
    slope = 32 * np.log(odds) / (1 + odds**weight)
    assert slope == pytest.approx(2 * 10 * (weight - 1), rel=1e-4)


def test_a_cell_decides_by_hand():
    """Of 40 rows 20 are "x", all of them "a". 20 log 2 is 13.9, 21 log 2 is 14.6."""
    rows = [("a", "x"), ("b", "y")] * 20
    rule = fit(labels(*rows)).pairwise
    assert rule.decide([MISSING, 0], 0) is None
    rule = fit(labels(*rows, ("a", "x"), ("b", "y"))).pairwise
    assert rule.decide([MISSING, 0], 0) == (1, 21, 0, 0)
    rest = rule.share(
        rule.add_up([MISSING, 0], 0, rule.smoothing, None, rule.weights[0]), 0, 1
    )
    got = rule.estimate([MISSING, 0], 0)
    assert got == pytest.approx([1 - 1 / 23 + rest[0] / 23, rest[1] / 23])
    rule = fit(labels(*rows, *rows, ("a", "y"))).pairwise  # "y" has come with both
    assert rule.decide([MISSING, 1], 0) is None
    assert rule.decide([MISSING, 0], 0) == (1, 40, 0, 0)


def test_an_observed_feature_decides_by_hand():
    """Who has a number of cigarettes smokes, whatever the number, but for one row."""
    rows = [("no", None)] * 150 + [("yes", f"v{k % 10}") for k in range(50)]
    rule = fit(labels(*rows)).pairwise
    assert rule.decide([MISSING, 5], 0) == (1, 50, 1, 0)
    assert rule.decide([MISSING, MISSING], 0) is None
    got = rule.estimate([MISSING, 5], 0)[0]
    assert 0 < got < 1 / 52
    rule = fit(labels(*rows, ("no", "v5"))).pairwise
    assert rule.decide([MISSING, 5], 0) == (1, 50, 1, 1)
    rule = fit(labels(*rows, ("no", "v95"))).pairwise  # a code of exceptions only
    assert rule.decide([MISSING, 10], 0) is None
    assert rule.decide([MISSING, 5], 0) == (1, 50, 1, 1)
    informative = fit(labels(*rows), informative=[1]).pairwise
    assert informative.decide([MISSING, 5], 0) == (1, 50, 1, 0)
    assert informative.decide([MISSING, 10], 0) == (1, 150, 0, 0)


def test_left_out_rows_are_those_of_a_table_without_them():
    """One row less in the counts is what a table without that row would count."""
    rows = [("a", "x"), ("a", "y"), ("b", "y"), ("a", "x"), ("b", "x"), ("b", "y")]
    codes = fit(labels(*rows)).codes
    whole, without = Pairwise(codes, [2, 2]), Pairwise(codes[1:], [2, 2])
    without.usual = whole.usual  # "the priors stay"
    for smoothing in SMOOTHINGS:
        i, j = codes[0]
        got = whole.evidence(0, i, 1, smoothing, j)
        assert got == pytest.approx(without.evidence(0, i, 1, smoothing, None))


@given(tables(max_rows=12, max_columns=3), st.integers(2, 5))
def test_estimates_are_distributions_and_never_worse_than_the_prior(drawn, n_bins):
    frame, _ = drawn
    reference = fit(read_columns(frame), n_bins)
    rule = reference.pairwise
    for row in reference.codes:
        for j, code in enumerate(row):
            if code == MISSING and reference.n_bins[j]:
                assert sum(rule.estimate(row, j)) == pytest.approx(1)
    errors = rule.errors[rule.smoothing]
    for j, weight in enumerate(rule.common):
        assert errors[weight, j] <= errors[0, j] + 1e-9
