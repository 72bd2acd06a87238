"""Names of bins as people say them: booleans, whole numbers, other numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from proximity_kernel import ProximityKernel, explain
from proximity_kernel.kernel import bin_names


def named(column, n_bins=4, **options):
    (names,) = bin_names(ProximityKernel(n_bins, **options).fit(column))
    return names


def test_whole_numbers_in_words():
    children = [[n] for n in [0] * 10 + [1] * 10 + [2, 3] * 5 + [5, 6, 7, 9] * 3]
    assert named(children, "auto") == ["0", "1-2", "3-4", "5 or more"]
    ages = [[float(n)] for n in range(20, 80)]
    assert named(ages, 2) == ["up to 49", "50 or more"]
    assert named([[n] for n in range(-6, 6)]) == [
        "up to -5", "-4 to -1", "0 to 3", "4 or more",
    ]  # fmt: skip
    assert named([[0], [1], [1], [None]], "auto") == ["0", "1"]
    assert named([[7.0], [7.0]]) == ["7"]


def test_each_whole_number_is_in_the_bin_that_names_it():
    rng = np.random.default_rng(0)
    for n_bins in (2, 3, 5, 7, "auto", "fine"):
        values = rng.integers(0, 10, 40)
        pk = ProximityKernel(n_bins).fit(values[:, None].astype(float))
        names = bin_names(pk)[0]
        codes = pk.model_.code(np.arange(-3.0, 14.0)[:, None], 1)
        for n, code in zip(range(-3, 14), codes.bins[codes.index, 0], strict=True):
            low, _, high = names[code].removesuffix(" or more").rpartition("-")
            low = low or high.removeprefix("up to ")
            assert n <= int(high.removeprefix("up to ")) or code == len(names) - 1
            assert n >= int(low) or code == 0


def test_a_bin_without_a_whole_number():
    assert named([[0.0], [1.0]]) == ["0", "between 0 and 1", "between 0 and 1", "1"]
    assert named([[False], [True]])[1] == "between False and True"


def test_digits_are_not_rounded_away_and_huge_numbers_have_none():
    assert named([[12_345], [67_890]], 2) == ["up to 40117", "40118 or more"]
    assert named([[1e20], [3e20]], 2) == ["up to 2e+20", "above 2e+20"]


def test_limits_are_not_rounded_across_values():
    """A value is on the same side of the limit as of its name."""
    rng = np.random.default_rng(0)
    for n_bins in (2, 4, "auto", "fine"):
        pressure = rng.normal(1014, 3, 300).round(1)
        (low,) = {one for one in named(pressure[:, None], n_bins) if "up to" in one}
        model = ProximityKernel(n_bins).fit(pressure[:, None]).model_
        limit = model.bins[0].midpoints[0]
        rounded = float(low.removeprefix("up to "))
        assert ((pressure <= rounded) == (pressure <= limit)).all()
    time = pd.Timestamp("2023-10-27") + pd.to_timedelta(np.arange(480) * 900, unit="s")
    assert named(pd.DataFrame({"time": time}), 2) == [
        "up to 2023-10-29T11:52:30", "above 2023-10-29T11:52:30",
    ]  # fmt: skip
    days = pd.DataFrame(
        {"day": pd.Timestamp("2023-10-27") + pd.to_timedelta(range(4), "D")}
    )
    assert named(days, 2) == ["up to 2023-10-28", "2023-10-29 or later"]


@pytest.mark.parametrize(
    "column",
    [
        np.array([[True], [False], [True]]),
        [[True], [None], [False]],
        pd.DataFrame({"a": [True, False, True]}),
        pd.DataFrame({"a": pd.array([True, None, False], "boolean")}),
        pd.DataFrame({"a": pd.Series([True, None, False], dtype=object)}),
        pl.DataFrame({"a": [True, None, False]}),
        pa.table({"a": [True, None, False]}),
    ],
)
def test_booleans_of_every_make(column):
    pk = ProximityKernel().fit(column)
    assert bin_names(pk) == [["False", "True"]]
    cell = explain(pk, [True], [False]).features[0].a
    assert cell.value is True
    assert str(cell) == "True"


def test_a_constant_boolean():
    assert named([[True], [None], [True]]) == ["True"]
    assert named([[True], [None], [True]], missingness="informative") == [
        "True", "missing",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "want"),
    [
        ([1, 2, 4, 8, None, 3], "whole"),
        ([1.0, 2.0, 4.0, 8.5, None, 3.0], "decimal"),
        ([True, None, False, True, None, True], "boolean"),
        ([True, 2, None, False, 0.0, 1], "whole"),
        ([None, None, None, 1, None, True], "whole"),
        ([None, None, None, 0.25, True, 1], "decimal"),
    ],
)
def test_the_form_does_not_depend_on_the_batches(cells, want):
    rows = [[cell, "z"] for cell in cells]
    whole = ProximityKernel().fit(rows)
    assert whole.model_.types[0].form == want
    for size in (1, 2, 3):
        batches = [rows[i : i + size] for i in range(0, len(rows), size)]
        for some in (batches, batches[::-1]):
            got = ProximityKernel().fit_batches(some)
            assert got.model_.types[0].form == want
            assert bin_names(got) == bin_names(whole)


def test_one_fraction_late_in_a_long_column_is_found():
    values = np.arange(50_000.0)
    values[-1] += 0.5
    pk = ProximityKernel(2).fit(values[:, None])
    assert pk.model_.types[0].form == "decimal"


def test_files_keep_names(tmp_path):
    table = pd.DataFrame({"a": [0, 3, 5], "b": [True, False, True]})
    pk = ProximityKernel(2).fit(table)
    pk.save(tmp_path / "m.pk")
    assert bin_names(ProximityKernel.load(tmp_path / "m.pk")) == bin_names(pk)


def test_provenance_names_its_columns():
    size, kind = [1.5, 9.5] * 8 + [None], ["a", "b"] * 8 + ["a"]
    table = pd.DataFrame({"size": size, "kind": kind})
    (cell,) = ProximityKernel(2).fit(table).provenance(table)
    assert cell["feature_name"] == "size"
    assert cell["column_names"].tolist() == ["kind", "", ""]
