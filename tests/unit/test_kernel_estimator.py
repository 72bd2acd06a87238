"""A kernel inside another estimator: copied and fitted, or frozen and used as it is."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from strategies import mixed_table

from proximity_kernel import (
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
)

ESTIMATORS = [
    ProximityKMeans(3, random_state=0),
    ProximityNeighbors(4),
    ProximityOutliers(),
]


@pytest.fixture
def frame():
    return mixed_table(200, 5, 0.2, seed=3)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_a_frozen_kernel_is_used_as_it_is(estimator, frame, monkeypatch):
    pk = ProximityKernel(n_bins=3).fit(frame)
    model = pk.model_
    wanted = clone(estimator).set_params(kernel=ProximityKernel(n_bins=3)).fit(frame)
    monkeypatch.setattr(ProximityKernel, "fit", pytest.fail)
    frozen = clone(estimator).set_params(kernel=FrozenEstimator(pk)).fit(frame)
    assert frozen.kernel_.model_ is model
    assert pk.model_ is model
    for method in ("predict", "score_samples", "kneighbors"):
        if hasattr(wanted, method):
            got = getattr(frozen, method)(frame)
            np.testing.assert_array_equal(
                np.asarray(got), np.asarray(getattr(wanted, method)(frame))
            )


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_a_kernel_that_is_not_frozen_is_copied_and_fitted(estimator, frame):
    pk = ProximityKernel(n_bins=3).fit(frame.head(50))
    model = pk.model_
    other = clone(estimator).set_params(kernel=pk).fit(frame)
    assert other.kernel_ is not pk
    assert pk.model_ is model
    assert other.kernel_.model_.n_samples == 200


def test_a_frozen_kernel_must_be_a_fitted_one(frame):
    for wrong in (FrozenEstimator(ProximityKernel()), FrozenEstimator(object)):
        with pytest.raises((ValueError, TypeError)):
            ProximityNeighbors(kernel=wrong).fit(frame)


def test_batches_need_a_kernel_to_fit(frame):
    km = ProximityKMeans(2, kernel=FrozenEstimator(ProximityKernel().fit(frame)))
    with pytest.raises(ValueError, match="without FrozenEstimator"):
        km.fit_batches([frame])


def test_an_estimator_with_a_frozen_kernel_is_saved_with_it(frame, tmp_path):
    pk = ProximityKernel(n_bins=3).fit(frame)
    near = ProximityNeighbors(4, kernel=FrozenEstimator(pk)).fit(frame)
    near.save(tmp_path / "near.model")
    loaded = ProximityNeighbors.load(tmp_path / "near.model")
    for got, wanted in zip(
        loaded.kneighbors(frame), near.kneighbors(frame), strict=True
    ):
        np.testing.assert_array_equal(got, wanted)


def test_options_of_the_kernel_can_be_set_without_one(frame):
    near = ProximityNeighbors(4).set_params(kernel__normalize=True)
    kernel = near.fit(frame).kernel_
    assert kernel.normalize
    assert kernel.n_bins == "fine"
    assert ProximityNeighbors(4).kernel is None
    assert kernel.rarity == 0.5
    odd = ProximityOutliers().set_params(kernel__dtype=np.float64)
    assert odd.fit(frame).kernel_.n_bins == 8
    given = ProximityKMeans(3, kernel=ProximityKernel(2)).set_params(kernel__n_bins=3)
    assert given.kernel.n_bins == 3
    with pytest.raises(ValueError, match="Invalid parameter 'n_bin'"):
        ProximityNeighbors().set_params(kernel__n_bin=3)
