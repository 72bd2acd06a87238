"""Predictions from similar rows, against a vote counted by hand."""

import pickle
from collections import Counter

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN
from sklearn.manifold import TSNE
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import mixed_table, raises_naming

from proximity_kernel import (
    ProximityKernel,
    ProximityKNNClassifier,
    ProximityKNNRegressor,
    ProximityNeighbors,
)


def fade(distances):
    return np.exp(-distances)


@parametrize_with_checks(
    [
        ProximityKNNClassifier(),
        ProximityKNNClassifier(3, weights="distance"),
        ProximityKNNRegressor(),
        ProximityKNNRegressor(3, weights="distance"),
        ProximityKNNRegressor(3, weights=np.exp),
    ]
)
def test_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def frame():
    return mixed_table(150, 6, 0.2, seed=0)


@pytest.fixture(scope="module")
def labels(frame):
    return np.where(frame.iloc[:, 0].fillna(0) > 0, "high", "low")


def test_the_most_votes_win(frame, labels):
    knn = ProximityKNNClassifier(7).fit(frame, labels)
    _, indices = ProximityNeighbors(7).fit(frame).kneighbors(frame[:40])
    for i, row in enumerate(indices):
        votes = Counter(labels[row])
        best = max(sorted(votes), key=votes.get)
        assert knn.predict(frame[i : i + 1]) == [best]
        shares = [votes[label] / 7 for label in ("high", "low")]
        assert knn.predict_proba(frame[i : i + 1])[0].tolist() == pytest.approx(shares)


def test_a_tie_goes_to_the_first_class():
    """Two rows vote for each class, whatever the order of the rows."""
    table = np.array([[0.0], [1.0], [0.0], [1.0]])
    for labels in (["b", "b", "a", "a"], ["a", "b", "b", "a"], ["b", "a", "a", "b"]):
        knn = ProximityKNNClassifier(4).fit(table, labels)
        assert knn.predict_proba(table[:1]).tolist() == [[0.5, 0.5]]
        assert knn.predict(table).tolist() == ["a"] * 4


def test_near_rows_count_more(frame):
    y = np.arange(150.0)
    knn = ProximityKNNRegressor(4, weights="distance").fit(frame, y)
    distances, indices = knn.kneighbors(frame[:30])
    for i in range(30):
        if distances[i, 0] == 0:
            want = y[indices[i][distances[i] == 0]].mean()
        else:
            want = np.average(y[indices[i]], weights=1 / distances[i].astype(float))
        assert knn.predict(frame[i : i + 1])[0] == pytest.approx(want, rel=1e-5)
    both = ProximityKNNRegressor(4).fit(frame, np.column_stack([y, -y]))
    np.testing.assert_allclose(both.predict(frame)[:, 0], -both.predict(frame)[:, 1])


def closeness(distances):
    return (1 - distances) ** 2


def test_weights_can_be_a_function_of_the_distances(frame, labels, tmp_path):
    y = np.arange(150.0)
    knn = ProximityKNNRegressor(4, weights=closeness).fit(frame, y)
    distances, indices = knn.kneighbors(frame[:30])
    want = [
        np.average(y[own], weights=(1 - far.astype(float)) ** 2)
        for own, far in zip(indices, distances, strict=True)
    ]
    np.testing.assert_allclose(knn.predict(frame[:30]), want, rtol=1e-5)
    copy = pickle.loads(pickle.dumps(knn))
    assert copy.weights is closeness
    np.testing.assert_array_equal(copy.predict(frame), knn.predict(frame))
    assert knn.weights is closeness
    with raises_naming(ValueError, "weights", "cannot be saved"):
        knn.save(tmp_path / "knn.model")
    uniform = ProximityKNNClassifier(3, weights=np.ones_like).fit(frame, labels)
    assert (uniform.predict(frame) == _uniform(frame, labels)).all()
    for wrong in (np.zeros_like, np.negative, lambda far: far[:, :1], np.log):
        broken = ProximityKNNRegressor(4, weights=wrong).fit(frame, y)
        with (
            np.errstate(divide="ignore"),
            raises_naming(ValueError, "weights", "shape"),
        ):
            broken.predict(frame)


def _uniform(frame, labels):
    return ProximityKNNClassifier(3).fit(frame, labels).predict(frame)


def test_neighbors_can_be_asked_without_distances(frame, labels):
    knn = ProximityKNNClassifier(3).fit(frame, labels)
    distances, indices = knn.kneighbors(frame[:9], 5)
    assert distances.shape == (9, 5)
    alone = knn.kneighbors(frame[:9], 5, return_distance=False)
    np.testing.assert_array_equal(alone, indices)
    with raises_naming(ValueError, "return_distance"):
        knn.kneighbors(frame, return_distance="no")


def test_they_are_saved(frame, labels, tmp_path):
    for knn, y in (
        (ProximityKNNClassifier(3), labels),
        (ProximityKNNRegressor(3), np.arange(150.0)),
    ):
        knn.fit(frame, y).save(tmp_path / "knn.model")
        loaded = type(knn).load(tmp_path / "knn.model")
        np.testing.assert_array_equal(loaded.predict(frame), knn.predict(frame))


def test_model_selection(frame, labels):
    scores = cross_val_score(ProximityKNNClassifier(5), frame, labels, cv=3)
    assert scores.mean() > 0.5


def test_neighbors_in_a_pipeline_as_scikit_learn_documents(frame, labels):
    pipe = make_pipeline(
        ProximityNeighbors(7), KNeighborsClassifier(7, metric="precomputed")
    ).fit(frame, labels)
    new = mixed_table(40, 6, 0.2, seed=5)
    want = ProximityKNNClassifier(7).fit(frame, labels)
    agreed = pipe.predict(new) == want.predict(new)
    assert agreed.mean() > 0.95  # ties among equal distances may be broken otherwise


def test_the_graph_of_a_table_has_each_row_at_distance_zero(frame):
    graph = ProximityNeighbors(4).fit_transform(frame)
    assert graph.shape == (150, 150)
    assert np.diff(graph.indptr).tolist() == [5] * 150
    for i in range(150):
        at = list(graph.indices[graph.indptr[i] : graph.indptr[i + 1]]).index(i)
        assert graph.data[graph.indptr[i] + at] == 0
    near = ProximityNeighbors(4).fit(frame)
    assert np.diff(near.transform(frame[:9]).indptr).tolist() == [5] * 9
    assert ProximityNeighbors(4).fit_transform([[1.0]]).toarray().tolist() == [[0.0]]
    assert len(near.get_feature_names_out()) == 150


def test_others_take_the_distances(frame):
    distances = ProximityKernel().fit(frame).distance(frame)
    assert len(HDBSCAN(metric="precomputed", copy=True).fit_predict(distances)) == 150
    places = TSNE(metric="precomputed", init="random", perplexity=10, max_iter=250)
    assert places.fit_transform(distances).shape == (150, 2)


def test_bad_options_are_named(frame, labels):
    with raises_naming(ValueError, "weights", "'near'"):
        ProximityKNNClassifier(weights="near").fit(frame, labels)
    with raises_naming(ValueError, "n_neighbors"):
        ProximityKNNRegressor(0).fit(frame, np.arange(150.0))
    with raises_naming(ValueError, "150", "10"):
        ProximityKNNClassifier().fit(frame, labels[:10])
