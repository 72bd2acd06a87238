"""Explanations add up to the kernel, and say what is known about each cell."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from strategies import GRADES, fitted, parameters, raises_naming, tables

from proximity_kernel import (
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
    explain,
)
from proximity_kernel.kernel import bin_names


@given(
    tables(),
    parameters(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["ignorable", "informative"]),
)
def test_parts_add_up_to_the_kernel(both, options, normalize, auto, missingness):
    frame, new = both
    if auto:
        options["n_bins"] = "auto"
    pk = ProximityKernel(**options, normalize=normalize, missingness=missingness)
    fitted(pk, frame)
    a, b = new.iloc[[0]], frame.iloc[[-1]]
    why = explain(pk, a, b)
    want = float(pk.kernel(a, b)[0, 0])
    assert why.similarity == pytest.approx(want, abs=1e-6)
    parts = [feature.contribution for feature in why.features]
    assert sum(parts) == pytest.approx(want, abs=1e-6)
    assert [feature.name for feature in why.features] == list(frame.columns)
    if not normalize:
        n_counted = max(1, np.count_nonzero(pk.n_bins_))
        for feature in why.features:
            wanted = feature.contribution * n_counted
            assert feature.agreement == pytest.approx(wanted, abs=1e-6)
    cells = {int(c["feature"]): c for c in pk.provenance(a) if pk.n_bins_[c["feature"]]}
    for j, feature in enumerate(why.features):
        assert feature.a.missing == bool(a.iloc[0, [j]].isna().iloc[0])
        assert bool(feature.a.assumed) == (j in cells)
        if j in cells:
            assert sum(share for _, share in feature.a.assumed) == pytest.approx(1)
            assert feature.a.level == cells[j]["level"]
            assert feature.a.observed == cells[j]["observed"]
            columns, moved = cells[j]["columns"], cells[j]["moved"]
            wanted = [
                (frame.columns[column], far)
                for column, far in zip(columns.tolist(), moved.tolist(), strict=True)
                if column >= 0
            ]
            assert list(feature.a.moved_by) == wanted
            assert feature.a.support == cells[j]["support"]
            assert feature.alike == "perhaps" or not pk.n_bins_[j]
    first_lines = [line for line in str(why).splitlines() if line[:1] != " "]
    assert len(first_lines) == len(frame.columns) + 2


@pytest.fixture(scope="module")
def people():
    return pd.DataFrame(
        {
            "age": [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, np.nan, 80.0],
            "city": ["x", "x", "x", "y", "y", "y", "y", None],
            "size": pd.Series(list("SSMMLLSL")).map(
                {"S": "low", "M": "mid", "L": "high"}
            ).astype(GRADES),
            "seen": pd.date_range("2020-01-01", periods=8, freq="30D"),
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def pk(people):
    return ProximityKernel(n_bins="auto").fit(people)


def test_words_for_every_alikeness(pk, people):
    why = explain(pk, people.iloc[[0]], people.iloc[[1]])
    assert [feature.alike for feature in why.features][1:3] == ["same", "same"]
    age = why.features[0]
    assert age.a.value == 10.0
    assert age.alike in ("same range", "close")
    far = explain(pk, people.iloc[[0]], people.iloc[[5]])
    assert [feature.alike for feature in far.features] == ["different"] * 4
    assert far.similarity == 0
    gap = explain(pk, people.iloc[[0]], people.iloc[[7]]).features[1]
    assert gap.alike == "perhaps"
    assert gap.b.value is None
    assert gap.b.bin == ""


def test_two_resolutions_count_a_fifth_and_four():
    pk = ProximityKernel(n_bins="auto").fit(np.arange(100.0)[:, None])
    (equal,) = explain(pk, [1.0], [1.0]).features
    (same,) = explain(pk, [1.0], [2.0]).features
    (close,) = explain(pk, [1.0], [40.0]).features
    (other,) = explain(pk, [1.0], [90.0]).features
    found = [f.alike for f in (equal, same, close, other)]
    assert found == ["same", "same range", "close", "different"]
    assert [round(f.contribution, 6) for f in (same, close, other)] == [1, 0.8, 0]


def test_values_are_told_as_they_were(pk, people):
    age, city, size, seen = explain(pk, people.iloc[[2]], people.iloc[[3]]).features
    assert (age.a.value, city.a.value, size.a.value) == (30.0, "x", "mid")
    assert seen.a.value == "2020-03-01"
    assert size.a.bin == "mid"
    assert "2020" in seen.a.bin
    assert str(city.a) == "x"


def test_one_row_in_any_form(pk, people):
    want = explain(pk, people.iloc[[0]], people.iloc[[6]])
    a, b = people.iloc[0], people.iloc[6]
    forms = [
        (a, b),
        (a.to_dict(), dict(reversed(b.to_dict().items()))),
        (a.tolist(), tuple(b.tolist())),
        ([a.tolist()], people.iloc[[6]]),
    ]
    for left, right in forms:
        assert explain(pk, left, right) == want


def test_arrays_and_other_frames():
    rows = np.array([[1.0, 5.0], [2.0, np.nan], [9.0, 7.0]])
    pk = ProximityKernel(n_bins=2).fit(rows)
    want = explain(pk, rows[[0]], rows[[1]])
    assert explain(pk, rows[0], rows[1]) == want
    assert explain(pk, pd.Series(rows[0]), pd.Series(rows[1])) == want
    frame = pl.DataFrame({"a": [1.0, 9.0], "b": ["x", None]})
    named = ProximityKernel().fit(frame)
    assert explain(named, frame[0], frame[1]) == explain(
        named, {"a": 1.0, "b": "x"}, {"b": None, "a": 9.0}
    )


def test_a_row_as_a_series_of_polars():
    rows = pl.DataFrame({"a": [1.0, 2.0, 9.0], "b": [5.0, None, 7.0]})
    pk = ProximityKernel(n_bins=2).fit(rows)
    want = explain(pk, rows[0], rows[1])
    assert explain(pk, pl.Series([1.0, 5.0]), pl.Series([2.0, None])) == want
    assert explain(pk, rows.row(0), rows.row(1, named=True)) == want


def test_estimators_that_hold_a_kernel(people):
    for estimator in (ProximityKMeans(2), ProximityNeighbors(2), ProximityOutliers()):
        with pytest.raises(NotFittedError):
            explain(estimator, people.iloc[0], people.iloc[1])
        estimator.fit(people)
        rows = people.iloc[0], people.iloc[1]
        of_kernel = explain(estimator.kernel_, *rows)
        if not isinstance(estimator, ProximityNeighbors):
            assert explain(estimator, *rows) == of_kernel


def test_one_kernel_is_one_similarity(people):
    """Each estimator uses the kernel that it was given, with its own options."""
    found = [
        explain(estimator.fit(people), people.iloc[0], people.iloc[1])
        for estimator in (
            ProximityKernel(),
            ProximityKMeans(2, kernel=ProximityKernel()),
            ProximityNeighbors(2, kernel=ProximityKernel()),
            ProximityOutliers(kernel=ProximityKernel()),
        )
    ]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("step", ["1ns", "1us", "1ms", "1s", "1h", "1D"])
def test_moments_close_together_have_different_names(step):
    # Near 1970: seconds since then, in floats, have nanoseconds there only.
    times = pd.date_range("1970-01-01", periods=12, freq=step, unit="ns")
    pk = ProximityKernel(n_bins=4).fit(pd.DataFrame({"seen": times}))
    (names,) = bin_names(pk)
    assert len(set(names)) == 4
    low, high = names[1].split(" to ")
    assert low != high
    why = explain(pk, {"seen": times[1]}, {"seen": times[11]})
    if step in ("1us", "1ms", "1s"):
        values = why.features[0].a.value, why.features[0].b.value
        assert [pd.Timestamp(value) for value in values] == [times[1], times[11]]


def test_close_values_of_fine_bins_have_different_ranges():
    near = ProximityNeighbors(kernel=ProximityKernel("fine")).fit(
        pd.DataFrame({"n": [*np.arange(1.0, 9)] * 20, "x": np.linspace(0, 1, 160)})
    )
    why = explain(near, {"n": 5, "x": 0.51}, {"n": 6, "x": 0.512})
    n, x = why.features
    assert (n.alike, str(n.a), str(n.b)) == ("close", "5", "6")
    assert x.alike == "same range"
    assert x.a.bin == x.b.bin
    gap = explain(near, {"n": 5, "x": 0.51}, {"n": None, "x": 0.512}).features[0]
    assert gap.a.bin in [name for name, _ in gap.b.assumed]  # what is compared


def test_informative_gaps_are_bins():
    rows = [[1.0, "a"], [None, "a"], [None, "b"], [9.0, "b"]]
    pk = ProximityKernel(n_bins=2, missingness="informative").fit(rows)
    gap = explain(pk, rows[1], rows[2]).features[0]
    assert gap.alike == "same"
    assert gap.a.missing
    assert gap.a.assumed == ()
    assert str(gap.a) == "missing"
    assert bin_names(pk)[0] == ["up to 5", "6 or more", "missing"]


def test_unknown_categories_and_empty_features():
    with pytest.warns(UserWarning, match="column 1"):
        pk = ProximityKernel().fit([["a", None], ["b", None]])
    known, empty = explain(pk, ["new", None], ["new", None]).features
    assert known.alike == empty.alike == "unknown"
    assert str(known.a) == "new (unknown category)"
    assert str(empty.a) == "nothing observed at fit"
    assert known.contribution == empty.contribution == 0


def test_a_table_of_it(pk, people):
    why = explain(pk, people.iloc[[0]], people.iloc[[7]])
    table = why.to_frame()
    assert table["feature"].tolist() == list(people.columns)
    assert table["contribution"].sum() == pytest.approx(why.similarity)
    assert table["missing_b"].tolist() == [False, True, False, False]
    assert table["support_b"][1] > 0
    assert "y" in table["assumed_b"][1]


def test_text_has_the_greatest_parts_first(pk, people):
    lines = str(explain(pk, people.iloc[[0]], people.iloc[[7]])).splitlines()
    assert lines[0].startswith("similarity 0.")
    parts = [float(line.split()[1]) for line in lines[2:] if line[0] != " "]
    assert parts == sorted(parts, reverse=True)


def test_text_is_folded(pk, people):
    why = explain(pk, people.iloc[[0]], people.iloc[[7]])
    lines = str(why).splitlines()
    assert max(map(len, lines)) <= 88
    assert len(lines) > len(people.columns) + 2
    folded = " ".join(" ".join(lines).split())
    assert all(word in folded for word in str(why.features[1].b).split())


def test_many_bins_are_cut_short():
    rows = [[label, "z"] for label in "abcdef"]
    pk = ProximityKernel(matching="cascade").fit(rows)
    gap = explain(pk, [None, "z"], ["a", "z"]).features[0]
    assert len(gap.a.assumed) == 6
    assert str(gap.a) == "? a (17 %), b (17 %), c (17 %), ... [intersection, 6 rows]"
    assert gap.a.moved_by == ()
    pk = ProximityKernel().fit(rows)
    gap = explain(pk, [None, "z"], ["a", "z"]).features[0]
    assert str(gap.a) == "? a (17 %), b (17 %), c (17 %), ... [prior, 6 rows]"


def test_what_moved_an_estimate_is_named():
    rows = [["a", "x", "k"], ["b", "y", "k"], ["a", "x", "m"], ["b", "y", "m"]] * 8
    pk = ProximityKernel().fit(pd.DataFrame(rows, columns=["t", "u", "v"]))
    row = pd.DataFrame([[None, "x", "k"]], columns=["t", "u", "v"])
    (cell, *_) = (feature.a for feature in explain(pk, row, row).features)
    ((name, moved),) = cell.moved_by
    assert (name, cell.level, cell.observed, cell.support) == ("u", "evidence", 2, 32)
    matcher = pk.model_.matcher
    s, weight = matcher.smoothing, matcher.weight_table[0, 1]
    odds = ((16 + s / 2) / (s / 2)) ** weight  # of a to b: 16 rows to none
    assert moved == pytest.approx(odds / (1 + odds) - 1 / 2)
    assert str(cell) == "? a (98 %), b (2 %) [by u 48 %]"


def test_the_door_gives_the_function_whatever_came_first():
    code = (
        "import proximity_kernel.outliers, proximity_kernel.explanation\n"
        "from proximity_kernel import explain; print(callable(explain))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"


def test_bad_input_is_named(pk, people):
    row = people.iloc[[0]]
    with raises_naming(ValueError, "b must be one row", "8"):
        explain(pk, row, people)
    with raises_naming(
        ValueError, "a lacks 'age'", "has 'agee'", "did you mean 'age'?", "every column"
    ):
        explain(pk, {"agee": 1.0, "city": "x", "size": None, "seen": None}, row)
    with raises_naming(ValueError, "3 features", "4"):
        explain(pk, row, [1.0, "x", None])
    with raises_naming(TypeError, "kernel", "'rbf'"):
        explain("rbf", row, row)
    with pytest.raises(TypeError, match=r"ProximityKernel, got DataFrame\.$"):
        explain(people, row, row)
    with pytest.raises(NotFittedError):
        explain(ProximityKernel(), row, row)
    with raises_naming(ValueError, "column 1|'city'", "text", "numbers") as caught:
        explain(pk, row, [1.0, 5.0, None, None])
    assert "about b" in caught.value.__notes__[0]
    with raises_naming(ValueError, "a must be one row", "4 cells", "cell 1", "x"):
        explain(pk, [1.0, ["x"], None, None], row)
    with raises_naming(TypeError, "a must be a row", "'x'"):
        explain(pk, "x", row)
    for number in (2, np.int64(2)):
        with raises_naming(TypeError, "b must be a row", "2", r"table\.iloc\[\[2\]\]"):
            explain(pk, row, number)
    with raises_naming(ValueError, "b must be one row", "2"):
        explain(pk, row, [[1.0, "x", None, None], [1.0, "x", None, None]])


def test_a_bin_between_two_ranks_has_a_name():
    grades = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    table = pd.DataFrame({"grade": pd.Series(["low", "mid", "high"], dtype=grades)})
    # Centers 0, 2/3, 4/3 and 2: mid is as near to two, and goes to the lower.
    names = bin_names(ProximityKernel(4).fit(table))
    assert names == [["low", "mid", "between mid and high", "high"]]
