"""Estimators through pickle, copy, skops and MLflow: plain state, one type to trust."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from strategies import assert_same_bits, mixed_table

from proximity_kernel import (
    ModelFileError,
    ProximityImputer,
    ProximityKernel,
    ProximityKMeans,
    ProximityKNNClassifier,
    ProximityKNNRegressor,
    ProximityNeighbors,
    ProximityOutliers,
)
from proximity_kernel.model_file import TRUSTED_TYPES, load_model

ESTIMATORS = [
    (ProximityKernel(), "transform"),
    (ProximityKMeans(2, random_state=0), "predict"),
    (ProximityNeighbors(3), "kneighbors"),
    (ProximityOutliers(), "score_samples"),
    (ProximityImputer(), "uncertainty"),
    (ProximityKNNClassifier(3), "predict_proba"),
    (ProximityKNNRegressor(3), "predict"),
]
IDS = [type(estimator).__name__ for estimator, _ in ESTIMATORS]


@pytest.fixture(scope="module")
def frame():
    return mixed_table(60, 4, 0.2, seed=0)


def answers(estimator, method, frame):
    """What a method gives, as one array."""
    got = getattr(estimator, method)(frame)
    return got.toarray() if hasattr(got, "toarray") else np.asarray(got)


@pytest.mark.parametrize(("estimator", "method"), ESTIMATORS, ids=IDS)
def test_the_state_is_options_and_a_model_file(estimator, method, frame, tmp_path):
    estimator.fit(frame, np.arange(60) % 2)
    state = estimator.__getstate__()
    assert set(state) == {*estimator.get_params(deep=False), "model_file"}
    (tmp_path / "estimator.model").write_bytes(state["model_file"])
    wanted = answers(estimator, method, frame)
    for other in (
        load_model(tmp_path / "estimator.model"),
        pickle.loads(pickle.dumps(estimator)),
        copy.deepcopy(estimator),
    ):
        assert set(vars(other)) == set(vars(estimator))
        np.testing.assert_array_equal(answers(other, method, frame), wanted)


def test_what_a_file_does_not_keep_is_pickled():
    random = np.random.RandomState(3)
    kernel = FrozenEstimator(ProximityKernel(3).fit([[1.0], [2.0], [3.0]]))
    km = ProximityKMeans(2, kernel=kernel, random_state=random).fit([[1.0], [3.0]])
    again = pickle.loads(pickle.dumps(km))
    assert isinstance(again.random_state, np.random.RandomState)
    assert isinstance(again.kernel, FrozenEstimator)


def test_an_estimator_that_is_not_fitted_is_pickled():
    again = pickle.loads(pickle.dumps(ProximityKernel(3)))
    assert again.n_bins == 3
    assert not hasattr(again, "model_")


def test_output_settings_are_pickled(frame):
    pk = ProximityKernel(sparse_output=False).set_output(transform="pandas").fit(frame)
    again = pickle.loads(pickle.dumps(pk))
    assert again.transform(frame).equals(pk.transform(frame))


def test_damage_is_told(frame):
    state = ProximityKernel().fit(frame).__getstate__()
    state["model_file"] = state["model_file"][:-5]
    with pytest.raises(ModelFileError, match="The pickled model is damaged"):
        ProximityKernel().__setstate__(state)


@pytest.mark.parametrize(("estimator", "method"), ESTIMATORS, ids=IDS)
def test_skops(estimator, method, frame):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    estimator.fit(frame, np.arange(60) % 2)
    data = skops.dumps(estimator)
    (untrusted,) = skops.get_untrusted_types(data=data)
    assert untrusted in TRUSTED_TYPES
    loaded = skops.loads(data, trusted=TRUSTED_TYPES)
    wanted = answers(estimator, method, frame)
    np.testing.assert_array_equal(answers(loaded, method, frame), wanted)


@pytest.mark.filterwarnings("ignore")  # MLflow's own, which differ by version
def test_mlflow(frame, tmp_path):
    mlflow = pytest.importorskip("mlflow.sklearn", reason="mlflow is not installed")
    pytest.importorskip("skops.io", reason="skops is not installed")
    pipeline = make_pipeline(ProximityKernel(), LogisticRegression())
    pipeline.fit(frame, np.arange(60) % 2)
    mlflow.save_model(
        pipeline,
        tmp_path / "model",
        serialization_format="skops",
        skops_trusted_types=TRUSTED_TYPES,
        pip_requirements=[],
    )
    loaded = mlflow.load_model(str(tmp_path / "model"))
    assert_same_bits(loaded[:-1].transform(frame), pipeline[:-1].transform(frame))
    np.testing.assert_array_equal(loaded.predict(frame), pipeline.predict(frame))
