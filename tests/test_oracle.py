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
    assign_code,
    fit,
    fit_cells,
    kernel,
    match_cascade,
    match_graded,
    name_level,
    normalize,
    provenance,
    read_columns,
    represent,
)
from strategies import GRADES, tables


def labels(*rows):
    """A table of category labels, written row by row."""
    return [Column(False, list(values)) for values in zip(*rows, strict=True)]


LADDER = labels(
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


@pytest.mark.parametrize(
    ("min_support", "rung", "donors"),
    [
        (1, 3, {0}),
        (2, 2, {0, 1, 2, 3}),
        (4, 2, {0, 1, 2, 3}),
        (5, 1, {0, 1, 2, 3, 4}),
        (6, 1, {0, 1, 2, 3, 4}),
    ],
)
def test_ladder(min_support, rung, donors):
    estimate = match_graded([0, 0, 0, MISSING], 3, fit(LADDER), min_support)
    assert (estimate.rung, estimate.donors) == (rung, donors)


def test_rung_is_the_highest_that_holds_the_set():
    reference = fit(labels(("p", "q", "x"), ("r", "s", "y")))
    estimate = match_graded([0, 0, MISSING], 2, reference, min_support=20)
    assert (estimate.rung, estimate.donors) == (2, {0})


def test_cascade_levels():
    reference = fit(LADDER)
    every = match_cascade([0, 0, 0, MISSING], 3, reference)
    assert (every.rung, every.donors) == (3, {0})
    some = match_cascade([1, 0, UNKNOWN, MISSING], 3, reference)
    assert (some.rung, some.donors) == (1, {0, 1, 3, 5})
    nobody = match_cascade([UNKNOWN, UNKNOWN, MISSING, MISSING], 3, reference)
    assert (nobody.rung, nobody.donors) == (0, {0, 1, 2, 3, 4, 5})
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
    assert provenance(table, reference, "cascade") == [(5, 2, "intersection", 2, 2, 3)]
    scaled = normalize(z, 3)
    np.testing.assert_allclose(kernel(scaled, scaled, 3)[5, 5], 1, rtol=1e-15)


def test_a_column_with_nothing_observed_has_no_bin():
    table = [Column(True, [None, None]), Column(False, ["a", "b"])]
    reference = fit(table)
    assert reference.n_bins == [0, 2]
    assert reference.n_counted == 1
    np.testing.assert_array_equal(represent(table, reference), [[1, 0], [0, 1]])
    assert provenance(table, reference) == [
        (0, 0, "prior", 0, 1, 0),
        (1, 0, "prior", 0, 1, 0),
    ]


def test_level_names():
    assert name_level(0, 0) == "prior"
    assert name_level(0, 3) == "prior"
    assert name_level(1, 1) == "intersection"
    assert name_level(3, 3) == "intersection"
    assert name_level(2, 3) == "partial"
    assert name_level(1, 3) == "union"


@given(tables(), st.integers(2, 7), st.integers(1, 25))
def test_estimates_keep_what_the_definition_promises(drawn, n_bins, min_support):
    """Of the ladder: the rung above has too few, and the chosen one enough."""
    frame, _ = drawn
    reference = fit(read_columns(frame), n_bins)
    for row in reference.codes:
        known = {j: c for j, c in enumerate(row) if c != MISSING}
        for j in set(range(len(row))) - set(known):
            estimate = match_graded(row, j, reference, min_support)
            share = {
                m: sum(reference.codes[m][i] == c for i, c in known.items())
                for m in reference.observers[j]
            }
            assert estimate.donors == {m for m in share if share[m] >= estimate.rung}
            above = [m for m in share if share[m] > estimate.rung]
            if estimate.rung == 0:
                assert not above
            else:
                assert len(above) < min(min_support, len(estimate.donors))


@given(tables(max_columns=3))
def test_cascade_is_the_two_ends_of_the_ladder(drawn):
    """With one or two observed features there is no rung between all and any."""
    frame, new = drawn
    reference = fit(read_columns(frame))
    for table in (read_columns(frame), read_columns(new)):
        graded = represent(table, reference, "graded", min_support=1)
        cascade = represent(table, reference, "cascade")
        for i, (left, right) in enumerate(zip(graded, cascade, strict=True)):
            if sum(column.values[i] is not None for column in table) <= 2:
                np.testing.assert_array_equal(left, right)
