"""What is refused: with the right exception, and a message that says what and where."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from strategies import assert_same_bits, raises_naming

from proximity_kernel import ProximityKernel

REFUSED = (ValueError, TypeError)


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "age": [31.0, 52.0, np.nan, 47.0],
            "visits": [1, 2, 2, 9],
            "blood": ["a", "b", None, "ab"],
        }
    )


@pytest.fixture
def fitted_kernel(frame):
    return ProximityKernel().fit(frame)


# Values


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity(frame, fitted_kernel, value):
    bad = frame.copy()
    bad.loc[1, "age"] = value
    kept = bad.copy(deep=True)
    with raises_naming(ValueError, "inf", "age"):
        ProximityKernel().fit(bad)
    with raises_naming(ValueError, "inf", "age"):
        ProximityKernel().fit_transform(bad)
    for method in (
        fitted_kernel.transform,
        fitted_kernel.kernel,
        fitted_kernel.provenance,
    ):
        with raises_naming(ValueError, "inf", "age"):
            method(bad)
    with raises_naming(ValueError, "inf", "age"):
        fitted_kernel.kernel(frame, bad)
    pd.testing.assert_frame_equal(bad, kept)


def test_infinity_in_an_array():
    bad = np.array([[1.0, 2.0, 3.0], [1.0, np.inf, np.nan]])
    with raises_naming(ValueError, "inf", r"\bx?1\b"):
        ProximityKernel().fit(bad)


def test_infinity_in_polars():
    bad = pl.DataFrame({"visits": [1.0, 2.0], "age": [1.0, float("inf")]})
    with raises_naming(ValueError, "inf", "age"):
        ProximityKernel().fit(bad)


def test_infinity_in_a_categorical_column():
    bad = pd.DataFrame({"code": [1.0, np.inf], "age": [1.0, 2.0]})
    with raises_naming(ValueError, "inf", "code"):
        ProximityKernel(categorical_features=["code"]).fit(bad)


def test_complex_array():
    with raises_naming(ValueError, "complex"):
        ProximityKernel().fit(np.array([[1 + 2j, 3], [4, 5]]))


def test_complex_column(frame):
    bad = frame.assign(wave=[1 + 2j, 3, 4, 5])
    with raises_naming(REFUSED, "complex", "wave"):
        ProximityKernel().fit(bad)


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array, sp.coo_matrix])
def test_sparse(make):
    with raises_naming(REFUSED, "sparse"):
        ProximityKernel().fit(make(np.eye(3)))


@pytest.mark.parametrize(
    "cells",
    [
        [["a"], ["b"], ["c"], ["d"]],
        [{"k": 1}, "b", "c", "d"],
        ["a", {1, 2}, "c", None],
    ],
)
def test_unhashable_cells(frame, cells):
    bad = frame.assign(basket=pd.Series(cells, dtype=object))
    with raises_naming(REFUSED, "basket"):
        ProximityKernel().fit(bad)


@pytest.mark.parametrize(
    "cells",
    [
        ["a", 1, "c", None],
        [1, 2.5, "c", "d"],
        ["a", b"b", "c", "d"],
        ["a", (1, 2), "c", "d"],
        ["a", dt.date(2020, 1, 1), "c", "d"],
    ],
)
def test_cells_of_mixed_types(frame, cells):
    bad = frame.assign(basket=pd.Series(cells, dtype=object))
    with raises_naming(REFUSED, "basket"):
        ProximityKernel().fit(bad)


def test_cells_of_mixed_types_at_transform(frame, fitted_kernel):
    bad = frame.assign(blood=pd.Series(["a", 3, None, "b"], dtype=object))
    with raises_naming(REFUSED, "blood"):
        fitted_kernel.transform(bad)
    bad = frame.assign(blood=pd.Series(["a", ["b"], None, "b"], dtype=object))
    with raises_naming(REFUSED, "blood"):
        fitted_kernel.transform(bad)


# Shapes


@pytest.mark.parametrize("shape", [(5,), (2, 2, 2), ()])
def test_tables_that_are_not_two_dimensional(shape, fitted_kernel):
    with raises_naming(ValueError, "2D|dim|scalar"):
        ProximityKernel().fit(np.ones(shape))
    with raises_naming(ValueError, "2D|dim|scalar"):
        fitted_kernel.transform(np.ones(shape))


def test_a_series_is_not_a_table(frame):
    with raises_naming(REFUSED, "2D|dimension|series|frame"):
        ProximityKernel().fit(frame["age"])


@pytest.mark.parametrize(
    "empty",
    [
        np.ones((0, 3)),
        pd.DataFrame({"age": np.ones(0), "blood": pd.Series([], dtype="str")}),
    ],
)
def test_no_rows(empty):
    with raises_naming(ValueError, "0 sample|no rows|row"):
        ProximityKernel().fit(empty)


def test_no_rows_at_transform(frame, fitted_kernel):
    for method in (fitted_kernel.transform, fitted_kernel.kernel):
        with raises_naming(ValueError, "0 sample|no rows|row"):
            method(frame[:0])


@pytest.mark.parametrize("empty", [np.ones((3, 0)), pd.DataFrame(index=range(3))])
def test_no_columns(empty):
    with raises_naming(ValueError, r"0 feature|no column|column"):
        ProximityKernel().fit(empty)


# Other columns than at fit


def test_too_few_and_too_many_columns(frame, fitted_kernel):
    with raises_naming(ValueError, "blood"):
        fitted_kernel.transform(frame.drop(columns="blood"))
    with raises_naming(ValueError, "height"):
        fitted_kernel.transform(frame.assign(height=1.0))
    pk = ProximityKernel().fit(np.ones((3, 2)))
    for n in (1, 3):
        with raises_naming(ValueError, f"{n} feature", "2 feature"):
            pk.transform(np.ones((3, n)))
        with raises_naming(ValueError, f"{n} feature", "2 feature"):
            pk.kernel(np.ones((3, 2)), np.ones((3, n)))


def test_other_names(frame, fitted_kernel):
    for method in (
        fitted_kernel.transform,
        fitted_kernel.kernel,
        fitted_kernel.provenance,
    ):
        with raises_naming(ValueError, "name", "years"):
            method(frame.rename(columns={"age": "years"}))


def test_other_order(frame, fitted_kernel):
    with raises_naming(ValueError, "order"):
        fitted_kernel.transform(frame[["visits", "age", "blood"]])


def test_duplicate_names(frame):
    bad = pd.concat([frame, frame[["age"]]], axis=1)
    with raises_naming(ValueError, "age", "duplicate|unique|twice|more than once"):
        ProximityKernel().fit(bad)


def test_numbers_that_became_labels(frame, fitted_kernel):
    bad = frame.assign(age=["old", "young", None, "old"])
    with raises_naming(REFUSED, "age"):
        fitted_kernel.transform(bad)
    with raises_naming(REFUSED, "age"):
        fitted_kernel.kernel(frame, bad)


def test_labels_that_became_numbers(frame, fitted_kernel):
    with raises_naming(REFUSED, "blood"):
        fitted_kernel.transform(frame.assign(blood=[1.0, 2.0, np.nan, 3.0]))


def test_an_error_leaves_the_estimator_and_the_table_alone(frame, fitted_kernel):
    wanted = fitted_kernel.transform(frame)
    bad = frame.assign(age=[np.inf, 1.0, 2.0, 3.0])
    kept = bad.copy(deep=True)
    with raises_naming(ValueError, "age"):
        fitted_kernel.transform(bad)
    pd.testing.assert_frame_equal(bad, kept)
    assert_same_bits(fitted_kernel.transform(frame), wanted)


# Parameters


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_bins", 1),
        ("n_bins", 0),
        ("n_bins", -4),
        ("n_bins", 4.0),
        ("n_bins", True),
        ("n_bins", "many"),
        ("n_bins", []),
        ("n_bins", [4, 4]),
        ("n_bins", [4, 4, 4, 4]),
        ("n_bins", [4, 1, 4]),
        ("n_bins", [4, 4, 1]),
        ("n_bins", [4, 4.5, 4]),
        ("n_bins", [4, True, 4]),
        ("n_bins", [4, None, 4]),
        ("n_bins", np.array([4.0, 4.0, 4.0])),
        ("n_bins", np.array([[4, 4, 4]])),
        ("matching", "union"),
        ("matching", None),
        ("matching", "weighted"),
        ("matching", "graded"),
        ("missingness", "perhaps"),
        ("random_state", "dice"),
        ("categorical_features", "blood"),
        ("categorical_features", ["height"]),
        ("categorical_features", [3]),
        ("categorical_features", [-4]),
        ("categorical_features", [True, False]),
        ("categorical_features", [0.5]),
        ("max_categories", 1),
        ("max_categories", 2.5),
        ("max_categories", None),
        ("normalize", "yes"),
        ("normalize", None),
        ("sparse_output", "yes"),
        ("dtype", int),
        ("dtype", np.int32),
        ("dtype", np.float16),
        ("dtype", "number"),
        ("n_jobs", "x"),
        ("n_jobs", 0),
        ("n_jobs", 1.5),
    ],
)
def test_parameters(frame, parameter, value):
    kept = frame.copy(deep=True)
    pk = ProximityKernel(**{parameter: value})
    with raises_naming(ValueError, parameter):
        pk.fit(frame)
    with raises_naming(ValueError, parameter):
        pk.fit_transform(frame)
    pd.testing.assert_frame_equal(frame, kept)
    assert not hasattr(pk, "n_bins_")


def test_categorical_features_by_name_need_names():
    pk = ProximityKernel(categorical_features=["blood"])
    with raises_naming(ValueError, "categorical_features"):
        pk.fit(np.ones((3, 2)))


def test_unknown_parameters_are_refused():
    for name in ("bins", "min_support", "max_references"):
        with pytest.raises(TypeError, match=name):
            ProximityKernel(**{name: 4})


# Order of calls


@pytest.mark.parametrize("method", ["transform", "kernel", "provenance"])
def test_before_fit(frame, method):
    with pytest.raises(NotFittedError, match="ProximityKernel"):
        getattr(ProximityKernel(), method)(frame)


def test_names_before_fit():
    with pytest.raises(NotFittedError, match="ProximityKernel"):
        ProximityKernel().get_feature_names_out()
