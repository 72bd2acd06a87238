"""What is too close for float64 is warned of; what is too large is refused at once."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.frozen import FrozenEstimator

from proximity_kernel import ProximityImputer, ProximityKernel
from proximity_kernel._shared import resources as memory

LARGE = [2**60 + 1, 2**60 + 3, 2**60 + 5, 7]
MOMENTS = np.datetime64("2024-05-01T12:00:00.000000000") + np.array([1, 2, 90, 4000])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": LARGE}),
        pd.DataFrame({"a": pd.array([*LARGE, None], dtype="Int64")}),
        pl.DataFrame({"a": [*LARGE, None]}),
        np.array(LARGE)[:, None],
        [[one] for one in LARGE],
        pd.DataFrame({"a": MOMENTS}),
        pl.DataFrame({"a": MOMENTS}),
    ],
    ids=["pandas", "Int64", "polars", "array", "lists", "dates", "polars dates"],
)
def test_values_too_close_for_floats_are_warned_of(table):
    with pytest.warns(UserWarning, match="too close for float64"):
        ProximityKernel().fit(table)


@pytest.mark.parametrize(
    "cells",
    [
        np.array([2**60, 2**61, 5]),  # each is a float64
        np.array([2**53 - 1, 2**53 - 2]),
        np.array([1e300, 1e300 + 1, 3.0]),  # floats are what they are
        MOMENTS.astype("datetime64[us]"),
        np.array([1, 2, 3_000_000_000], "timedelta64[us]"),
    ],
)
def test_values_that_floats_can_tell_are_not_warned_of(cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ProximityKernel().fit(pd.DataFrame({"a": cells}))


def test_batches_warn_if_any_of_them_is_rounded():
    batches = [pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": LARGE})]
    with pytest.warns(UserWarning, match="column 'a' are too close for float64"):
        ProximityKernel().fit_batches(batches)


def test_listed_as_categories_they_are_told_apart():
    pk = ProximityKernel(categorical_features=["a"]).fit(pd.DataFrame({"a": LARGE}))
    assert pk.n_bins_.tolist() == [4]


@pytest.mark.parametrize("call", ["transform", "fill", "provenance"])
def test_too_many_bins_are_refused_before_the_memory_is_taken(monkeypatch, call):
    names = [f"k{i}" for i in range(3000)] + [None] * 200
    frame = pd.DataFrame({"c": pd.Categorical(names), "x": np.arange(3200.0)})
    pk = ProximityKernel(max_categories=3000).fit(frame)
    imputer = ProximityImputer(kernel=FrozenEstimator(pk)).fit(frame)
    fill = imputer.transform if call == "fill" else getattr(pk, call)
    monkeypatch.setattr(memory, "count_memory", lambda: 1e6)
    with pytest.raises(MemoryError, match=r"GiB.* Lower max_categories"):
        fill(frame)


def test_memory_is_counted_here():
    assert 2**26 < memory.count_memory() < 2**50
