"""An estimator that another thread fits again while it is used: results are of one fit.

The other fit comes at a fixed moment, when the rows of a call were coded.
"""

import threading

import numpy as np
import pytest

from proximity_kernel import (
    ProximityImputer,
    ProximityKernel,
    ProximityKMeans,
    ProximityKNNClassifier,
    ProximityKNNRegressor,
    ProximityNeighbors,
    ProximityOutliers,
)
from proximity_kernel._model import Model


def make_rows(seed):
    """A table whose bins, groups and number of rows depend on the seed."""
    rng = np.random.default_rng(seed)
    n = 60 + 10 * seed
    x = rng.normal(50 * seed, 1 + seed, n)
    rows = np.column_stack([x, x + rng.normal(size=n), rng.normal(size=n)])
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows


def targets(rows):
    return np.arange(len(rows)) % (2 + len(rows) // 65)


CASES = {
    "kernel": (ProximityKernel(), ["transform", "kernel", "distance", "provenance"]),
    "k-means": (
        ProximityKMeans(3, random_state=0, n_init=1),
        ["predict", "transform", "score"],
    ),
    "neighbors": (
        ProximityNeighbors(3),
        ["kneighbors", "kneighbors_graph", "radius_neighbors", "transform"],
    ),
    "classifier": (ProximityKNNClassifier(3), ["predict", "predict_proba"]),
    "regressor": (ProximityKNNRegressor(3), ["predict"]),
    "outliers": (
        ProximityOutliers(),
        ["predict", "decision_function", "score_cells", "reasons"],
    ),
    "imputer": (ProximityImputer(), ["transform", "uncertainty", "interval"]),
}


def flatten(found):
    """The numbers of a result, whatever its type is."""
    if hasattr(found, "toarray"):
        return found.toarray()
    if isinstance(found, tuple):
        return np.concatenate([np.ravel(np.hstack(one)) for one in found])
    if hasattr(found, "dtype") and found.dtype.names:
        return str(found.tolist())
    return str(found) if isinstance(found, list) else np.asarray(found)


@pytest.mark.parametrize(
    ("estimator", "method"),
    [(made, method) for made, methods in CASES.values() for method in methods],
)
def test_a_fit_in_the_middle_of_a_call(estimator, method, monkeypatch):
    old, new, queries = make_rows(1), make_rows(2), make_rows(1)[:20]
    estimator.fit(old, targets(old))
    expected = flatten(getattr(estimator, method)(queries))
    code, waiting = Model.code, [True]

    def code_then_fit(self, *args, **kwargs):
        coded = code(self, *args, **kwargs)
        if waiting:
            waiting.clear()
            other = threading.Thread(target=estimator.fit, args=(new, targets(new)))
            other.start()
            other.join()
        return coded

    monkeypatch.setattr(Model, "code", code_then_fit)
    found = flatten(getattr(estimator, method)(queries))
    monkeypatch.undo()
    assert not waiting
    np.testing.assert_array_equal(found, expected)
    again = type(estimator)(**estimator.get_params(deep=False))
    again.fit(new, targets(new))
    np.testing.assert_array_equal(
        flatten(getattr(estimator, method)(queries)),
        flatten(getattr(again, method)(queries)),
    )


@pytest.mark.parametrize("name", CASES)
def test_a_fit_that_fails_leaves_the_old_one(name):
    estimator, (method, *_) = CASES[name]
    old = make_rows(1)
    estimator.fit(old, targets(old))
    before = dict(vars(estimator))
    with pytest.raises(ValueError, match="infinity"):
        estimator.fit(np.full((4, 2), np.inf), np.arange(4))
    after = vars(estimator)
    assert before.keys() == after.keys()
    assert all(after[key] is value for key, value in before.items())
    assert getattr(estimator, method)(old[:3]) is not None
