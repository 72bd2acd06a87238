"""Inputs that once gave a raw error or a silently wrong answer."""

import enum
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator

from proximity_kernel import (
    ProximityImputer,
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
)


class Color(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Grade(str, enum.Enum):  # noqa: UP042  (another class than StrEnum)
    GOOD = "good"
    BAD = "bad"


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "labels", [[*Color], [*Grade], [Text("a"), Text("b")]], ids=["enum", "old", "text"]
)
def test_labels_of_another_class_of_strings_are_strings(labels, tmp_path):
    cells = pd.Series([*labels, None] * 8, dtype=object)
    X = pd.DataFrame({"label": cells, "b": range(24)})
    plain = X.assign(label=[None if c is None else str.__str__(c) for c in cells])
    pk = ProximityKernel().fit(X)
    assert [type(one) for one in pk.categories_[0]] == [str, str]
    wanted = pk.transform(plain).toarray()
    pk.save(tmp_path / "pk")
    for same in (
        pk,
        ProximityKernel.load(tmp_path / "pk"),
        pickle.loads(pickle.dumps(pk)),
    ):
        np.testing.assert_array_equal(same.transform(X).toarray(), wanted)


@pytest.mark.parametrize(
    ("make", "answer"),
    [
        (lambda k: ProximityKMeans(2, kernel=k, random_state=0), "transform"),
        (lambda k: ProximityNeighbors(2, kernel=k), "kneighbors"),
        (lambda k: ProximityOutliers(kernel=k), "score_samples"),
        (lambda k: ProximityImputer(kernel=k), "transform"),
    ],
    ids=["k-means", "neighbors", "outliers", "imputer"],
)
def test_a_frozen_kernel_that_is_fitted_again_changes_no_other_model(make, answer):
    X = pd.DataFrame({"age": [1.0, None, 3, 4] * 5, "x": [1.0, 2, 3, 9] * 5})
    pk = ProximityKernel().fit(X)
    estimator = make(FrozenEstimator(pk)).fit(X)
    before = getattr(estimator, answer)(X)
    pk.fit(X.iloc[:, :1] * 100)
    np.testing.assert_array_equal(getattr(estimator, answer)(X), before)


def test_a_frame_of_empty_columns_keeps_its_rows():
    X = pd.DataFrame({"z": [np.nan] * 4}, index=list("abcd"))
    with pytest.warns(UserWarning, match="No value is observed in column 'z'"):
        imputer = ProximityImputer().fit(X)
    assert imputer.transform(X).shape == imputer.uncertainty(X).shape == (4, 0)
    both = make_column_transformer((imputer, ["z"]), remainder="passthrough")
    with pytest.warns(UserWarning, match="No value is observed in column 'z'"):
        assert both.fit_transform(X.assign(b=1.0)).shape == (4, 1)


def test_an_indicator_does_not_take_the_name_of_a_column():
    X = pd.DataFrame({"age": [1.0, None] * 3, "missingindicator_age": range(6)})
    with pytest.raises(
        ValueError, match=r"add_indicator makes .*'missingindicator_age'"
    ):
        ProximityImputer(add_indicator=True).fit(X)


def test_seeds_may_exceed_the_limit_of_numpy():
    X = [[1.0, "a"], [2.0, None], [3.0, "b"], [None, "b"]]
    for seed in (1 << 32, 10**30):
        same = seed % (1 << 32)
        for make in (ProximityKernel, ProximityImputer):
            rows = [make(random_state=s).fit_transform(X) for s in (seed, same)]
            np.testing.assert_array_equal(
                *[getattr(r, "todense", lambda r=r: r)() for r in rows]
            )
        km = [ProximityKMeans(2, random_state=s).fit_predict(X) for s in (seed, same)]
        np.testing.assert_array_equal(*km)
        draws = [ProximityImputer(random_state=s).fit(X).draw(X) for s in (seed, same)]
        assert draws[0] == draws[1]


def test_a_position_that_is_the_name_of_another_column():
    X = pd.DataFrame({1: [1.0, 2, 3], 0: [1.0, 2, 3]})
    with pytest.raises(ValueError, match="the position of column '0' and the name of"):
        ProximityKernel(categorical_features=[1]).fit(X)


@pytest.mark.parametrize(
    "kind", [float, np.float64, np.float32, np.longdouble, Decimal], ids=str
)
@pytest.mark.parametrize("dtype", [float, object])
def test_minus_zero_is_zero_in_any_order(kind, dtype):
    cells = pd.Series([kind("0.0"), kind("-0.0"), kind("1.0")], dtype=object)
    zeros = pd.DataFrame({"k": cells.astype(dtype), "b": [1.0, 2.0, 3.0]})
    for table in (zeros, zeros.iloc[[1, 0, 2]]):
        pk = ProximityKernel(categorical_features=["k"]).fit(table)
        assert [*map(str, pk.categories_[0])] == ["0.0", "1.0"]
