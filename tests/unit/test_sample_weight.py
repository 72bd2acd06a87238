"""`sample_weight` at the door: large, fractional, routed, and wrong weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from strategies import assert_same_bits, mixed_table, raises_naming

from proximity_kernel import ProximityKernel, ProximityKMeans


@pytest.fixture(scope="module")
def frame():
    return mixed_table(90, 4, 0.2, seed=4)


@pytest.fixture(scope="module")
def copies():
    return np.random.default_rng(0).integers(0, 4, size=90)


def test_many_copies_do_not_overflow(tmp_path):
    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "v", None]})
    copies = np.array([2**40, 2**33, 3])
    pk = ProximityKernel(missingness="ignorable").fit(frame, sample_weight=copies)
    assert pk.model_.n_samples == copies.sum()
    assert pk.model_.totals.tolist() == [2**40 + 3, 2**33, 2**40, 2**33]
    assert pk.model_.matcher.counts.pairs[0].tolist() == [2**40 + 3, 0, 2**40, 0]
    pk.save(tmp_path / "m")
    loaded = ProximityKernel.load(tmp_path / "m")
    assert_same_bits(loaded.transform(frame), pk.transform(frame))


def test_weights_of_one_change_no_bit(frame):
    for one in (np.ones(90), [1] * 90, pd.Series(np.ones(90, np.int8))):
        weighted = ProximityKernel().fit(frame, sample_weight=one)
        plain = ProximityKernel().fit(frame)
        assert_same_bits(weighted.transform(frame), plain.transform(frame))


def test_weights_are_not_changed(frame, copies):
    before = copies.copy()
    weights = copies.astype(float)
    ProximityKMeans(2, random_state=0).fit(frame, sample_weight=weights)
    ProximityKernel().fit(frame, sample_weight=copies)
    np.testing.assert_array_equal(copies, before)
    np.testing.assert_array_equal(weights, before)


def test_labels_that_only_rows_of_weight_zero_have_are_unknown():
    rows = [["a"], ["b"], ["c"]]
    pk = ProximityKernel().fit(rows, sample_weight=[1, 0, 2])
    assert pk.categories_[0].tolist() == ["a", "c"]
    assert pk.transform(rows).toarray().tolist() == [[1, 0], [0, 0], [0, 1]]


def test_a_column_of_rows_of_weight_zero_alone_is_left_out():
    rows = [[1.0, None, "u"], [2.0, 5.0, None], [3.0, None, "v"]]
    with pytest.warns(UserWarning, match="column 1"):
        pk = ProximityKernel().fit(rows, sample_weight=[1, 0, 1])
    assert pk.n_bins_[1] == 0


def test_fit_predict_and_fit_transform_take_weights(frame, copies):
    km = ProximityKMeans(3, random_state=0)
    labels = km.fit_predict(frame, sample_weight=copies)
    distances = km.fit_transform(frame, sample_weight=copies)
    fitted = km.fit(frame, sample_weight=copies)
    np.testing.assert_array_equal(labels, fitted.labels_)
    assert_same_bits(distances, fitted.transform(frame))


def test_clusters_with_fractions_on_a_frozen_kernel(frame, copies):
    kernel = FrozenEstimator(ProximityKernel().fit(frame))
    km = ProximityKMeans(3, kernel=kernel, random_state=0)
    whole = km.fit(frame, sample_weight=copies)
    centers, inertia = whole.cluster_centers_, whole.inertia_
    third = km.fit(frame, sample_weight=copies / 3)
    np.testing.assert_allclose(third.cluster_centers_, centers, atol=1e-6)
    assert third.inertia_ == pytest.approx(inertia / 3)
    sizes = {one["cluster"]: one["size"] for one in third.profiles_}
    weights = np.bincount(third.labels_, copies / 3)
    assert [sizes[c] for c in range(3)] == np.round(weights).tolist()


def test_sums_with_fractions_are_the_weighted_means(frame):
    rng = np.random.default_rng(3)
    weights = rng.random(90) ** 8 * (rng.random(90) < 0.8)
    pk = ProximityKernel(dtype=np.float64).fit(frame)
    km = ProximityKMeans(6, kernel=FrozenEstimator(pk), random_state=0)
    km.fit(frame, sample_weight=weights)
    z = pk.transform(frame).toarray()
    for c, center in enumerate(km.cluster_centers_):
        here = km.labels_ == c
        wanted = weights[here] @ z[here] / weights[here].sum()
        np.testing.assert_allclose(center, wanted, atol=1e-9)
    squares = ((z - km.cluster_centers_[km.labels_]) ** 2).sum(axis=1)
    assert km.inertia_ == pytest.approx(weights @ squares)


def test_in_pipelines_and_routed(frame, copies):
    km = ProximityKMeans(2, random_state=0)
    wanted = km.fit(frame, sample_weight=copies).labels_
    pipeline = make_pipeline(ProximityKMeans(2, random_state=0))
    pipeline.fit(frame, proximitykmeans__sample_weight=copies)
    np.testing.assert_array_equal(pipeline[-1].labels_, wanted)
    with config_context(enable_metadata_routing=True):
        asking = ProximityKMeans(2, random_state=0).set_fit_request(sample_weight=True)
        routed = make_pipeline(asking).fit(frame, sample_weight=copies)
        np.testing.assert_array_equal(routed[-1].labels_, wanted)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.r_[np.ones(89), -1], ["sample_weight", "at least 0", "-1", "row 89"]),
        (np.r_[np.ones(89), np.nan], ["sample_weight", "nan"]),
        (np.r_[np.ones(89), np.inf], ["sample_weight", "infinity"]),
        (np.ones(5), ["sample_weight", "shape"]),
        (np.ones((90, 2)), ["sample.weight", "1D|2"]),
        (np.zeros(90), ["sample.weight", "zero|0 for every row"]),
        (np.full(90, 1e15), ["sample_weight", "sum", "divide"]),
        (["heavy"] * 90, ["sample_weight", "90 numbers", "heavy"]),
        ({"a": 1}, ["sample_weight", "90 numbers", "dict"]),
        ((1 for _ in range(90)), ["sample_weight", "90 numbers", "generator"]),
    ],
)
@pytest.mark.parametrize("estimator", [ProximityKernel(), ProximityKMeans(2)])
def test_bad_weights_are_refused(frame, estimator, weights, words):
    with raises_naming(ValueError, *words):
        estimator.fit(frame, sample_weight=weights)


def test_bad_weights_of_a_frozen_kernel(frame):
    kernel = FrozenEstimator(ProximityKernel().fit(frame))
    with raises_naming(ValueError, "sample_weight", "at least 0"):
        ProximityKMeans(2, kernel=kernel).fit(frame, sample_weight=-np.ones(90))
    with raises_naming(ValueError, "n_clusters='auto'", "sample_weight", "whole"):
        ProximityKMeans(kernel=kernel).fit(frame, sample_weight=np.full(90, 0.7))
    with raises_naming(ValueError, "sample_weight", "multiply"):
        ProximityKMeans(2, kernel=kernel).fit(frame, sample_weight=np.full(90, 1e-300))
