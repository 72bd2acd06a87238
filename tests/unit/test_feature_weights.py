"""`feature_weights` in all that uses a kernel, in files, and when they are wrong."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from strategies import assert_same_bits, cut, mixed_table, raises_naming

from proximity_kernel import (
    ModelFileError,
    ProximityKernel,
    ProximityKMeans,
    ProximityKNNClassifier,
    ProximityNeighbors,
    ProximityOutliers,
    explain,
)
from proximity_kernel import _saving as archive
from proximity_kernel._nearest import GRID

WEIGHTS = {"col0": 3.0, "col1": 0.0, "col2": 0.5}
SKEWED = {"col0": 500.0, "col3": 1e-4}


@pytest.fixture(scope="module")
def frame():
    return mixed_table(300, 5, 0.15, seed=7)


@pytest.mark.parametrize("weights", [WEIGHTS, SKEWED])
@pytest.mark.parametrize("n_bins", ["fine", "auto"])
def test_neighbors_are_those_of_the_kernel(frame, n_bins, weights):
    kernel = ProximityKernel(n_bins, feature_weights=weights, dtype=np.float64)
    near = ProximityNeighbors(8, kernel=kernel).fit(frame)
    distances, indices = near.kneighbors(frame[:60])
    matrix = 1 - near.kernel_.kernel(frame[:60], frame)
    order = np.argsort(np.rint(matrix / GRID), axis=1, kind="stable")[:, :8]
    wanted = np.take_along_axis(matrix, order, axis=1)
    np.testing.assert_allclose(distances, wanted, rtol=0, atol=0.51 * GRID)
    found = np.take_along_axis(matrix, indices, axis=1)
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    within = near.radius_neighbors(frame[:60], radius=0.4, return_distance=False)
    for row, hits in zip(matrix, within, strict=True):
        assert set(np.flatnonzero(row < 0.4 - 1e-9)) <= set(hits)
        assert set(hits) <= set(np.flatnonzero(row < 0.4 + 1e-9))


def test_a_classifier_learns_from_the_feature_that_counts():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 6))
    y = rng.integers(2, size=200)
    table = np.c_[y + 0.1 * noise[:, 0], noise[:, 1:]]
    scores = []
    for weights in (None, {0: 50}):
        kernel = ProximityKernel("fine", feature_weights=weights)
        knn = ProximityKNNClassifier(5, kernel=kernel).fit(table[:100], y[:100])
        scores.append(knn.score(table[100:], y[100:]))
    assert scores[0] < 0.95 < scores[1]


def test_clusters_follow_the_weights(frame):
    others = dict.fromkeys(frame.columns.drop("col2"), 0)
    kernel = ProximityKernel(feature_weights=others)
    km = ProximityKMeans(2, kernel=kernel, random_state=0).fit(frame)
    assert {one["feature"] for one in km.profiles_} == {"col2"}
    known = frame["col2"].notna()
    for label in frame["col2"].dropna().unique():
        assert len(set(km.labels_[(frame["col2"] == label) & known])) == 1
    assert_same_bits(km.transform(frame), clone(km).fit_transform(frame))
    centers = km.cluster_centers_.astype(float)
    z = km.kernel_.transform(frame).toarray().astype(float)
    wanted = np.linalg.norm(z[:, None] - centers, axis=2)
    np.testing.assert_allclose(km.transform(frame), wanted, atol=1e-5)


def test_profiles_give_shares_of_rows_whatever_the_weights(frame):
    complete = frame.dropna()
    km = ProximityKMeans(1, kernel=ProximityKernel(feature_weights=WEIGHTS))
    profiles = pd.DataFrame(km.fit(complete).profiles_)
    assert set(profiles["feature"]) == set(frame.columns) - {"col1"}
    shares = complete["col2"].value_counts(normalize=True)
    told = profiles[profiles["feature"] == "col2"]
    assert told["share"].tolist() == pytest.approx([shares.max()])


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("n_bins", ["auto", "fine"])
def test_explanations_add_up(frame, n_bins, normalize):
    options = {"normalize": normalize, "dtype": np.float64}
    pk = ProximityKernel(n_bins, feature_weights=WEIGHTS, **options).fit(frame)
    plain = ProximityKernel(n_bins, **options).fit(frame)
    for i, j in ((0, 1), (5, 5), (20, 7)):
        a, b = frame.iloc[[i]], frame.iloc[[j]]
        why, without = explain(pk, a, b), explain(plain, a, b)
        assert why.similarity == pytest.approx(pk.kernel(a, b)[0, 0])
        parts = {one.name: one.contribution for one in why.features}
        assert sum(parts.values()) == pytest.approx(why.similarity)
        assert parts["col1"] == 0
        for one, other in zip(why.features, without.features, strict=True):
            assert one.agreement == pytest.approx(other.agreement)
            assert one.alike == other.alike


def test_scores_of_outliers_are_weighted(frame):
    weighted = ProximityKernel(4, feature_weights=WEIGHTS)
    odd = ProximityOutliers(kernel=weighted).fit(frame)
    plain = ProximityOutliers(kernel=ProximityKernel(4)).fit(frame)
    scales = odd.kernel_.model_.scales
    wanted = plain.score_cells(frame) * scales
    np.testing.assert_allclose(odd.score_cells(frame), wanted)
    for reasons in odd.reasons(frame):
        assert all(one.feature != "col1" for one in reasons)


def test_a_gross_error_counts_if_its_feature_does():
    rng = np.random.default_rng(0)
    table = np.round(rng.normal(size=(60, 2)), 1)
    table[3] = 4200.0, 0.0
    for weight in (1, 0.01, 0):
        kernel = ProximityKernel(4, feature_weights={0: weight})
        odd = ProximityOutliers(kernel=kernel).fit(table)
        assert (odd.predict(table)[3] < 0) == (weight > 0)
        told = [one.feature for one in odd.reasons(table[[3]])[0]]
        assert ("x0" in told) == (weight > 0)


def test_batches_and_positions(frame):
    whole = ProximityKernel(feature_weights=WEIGHTS).fit(frame)
    parts = ProximityKernel(feature_weights=WEIGHTS).fit_batches(cut(frame, 3))
    assert_same_bits(parts.transform(frame), whole.transform(frame))
    for same in ({0: 3, 1: 0, 2: 0.5}, [3, 0, 0.5, 1, 1], np.array([3, 0, 0.5, 1, 1])):
        pk = ProximityKernel(feature_weights=same).fit(frame)
        assert_same_bits(pk.transform(frame), whole.transform(frame))
    rows = frame[["col0", "col1"]].to_numpy()
    by_name = ProximityKernel(feature_weights={"x1": 2}).fit(rows)
    by_place = ProximityKernel(feature_weights={np.int64(1): 2}).fit(rows)
    assert_same_bits(by_name.transform(rows), by_place.transform(rows))


def test_dask(frame):
    dd = pytest.importorskip("dask.dataframe")
    dask = pytest.importorskip("dask")
    from proximity_kernel.dask import DaskProximityKernel

    pk = ProximityKernel(feature_weights=WEIGHTS)
    with dask.config.set(scheduler="synchronous"):
        lazy = DaskProximityKernel(pk).fit(dd.from_pandas(frame, npartitions=2))
        got = lazy.kernel(dd.from_pandas(frame, npartitions=2), frame[:9]).compute()
    np.testing.assert_array_equal(got, pk.fit(frame).kernel(frame, frame[:9]))


# Files, copies and the caller's object


@pytest.mark.parametrize("weights", [WEIGHTS, {0: 2.5}, [1, 2, 3, 4.5, 0], None])
@pytest.mark.parametrize("matching", ["pairwise", "cascade"])
def test_saved_loaded_pickled_and_cloned(frame, tmp_path, weights, matching):
    pk = ProximityKernel(feature_weights=weights, matching=matching).fit(frame)
    pk.save(tmp_path / "m")
    for same in (ProximityKernel.load(tmp_path / "m"), pickle.loads(pickle.dumps(pk))):
        assert same.feature_weights == weights
        assert_same_bits(same.transform(frame), pk.transform(frame))
    assert clone(pk).feature_weights == weights
    near = ProximityNeighbors(3, kernel=pk).fit(frame)
    near.save(tmp_path / "m")
    again = ProximityNeighbors.load(tmp_path / "m")
    assert again.kernel.feature_weights == weights
    assert_same_bits(again.kneighbors(frame)[0], near.kneighbors(frame)[0])


@pytest.mark.parametrize(
    "wrong",
    [
        np.array([1.0, 2.0]),
        np.zeros(5),
        np.array([1.0, -1.0, 1.0, 1.0, 1.0]),
        np.array([1.0, np.nan, 1.0, 1.0, 1.0]),
        np.ones(5, np.float32),
        np.ones((5, 1)),
    ],
)
def test_a_file_with_bad_weights_is_refused(frame, tmp_path, wrong):
    ProximityKernel(feature_weights=WEIGHTS).fit(frame).save(tmp_path / "m")
    header, arrays, _ = archive.read_archive(tmp_path / "m")
    archive.write_archive(tmp_path / "m", header, {**arrays, "feature_weights": wrong})
    with pytest.raises(ModelFileError):
        ProximityKernel.load(tmp_path / "m")


def test_the_callers_object_is_not_changed(frame):
    weights = np.array([1.0, 2.0, 0.0, 3.0, 1.0])
    before = weights.copy()
    pk = ProximityKernel(feature_weights=weights).fit(frame)
    np.testing.assert_array_equal(weights, before)
    weights[:] = -1
    pk.transform(frame)


# Bad weights


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"col9": 2}, ["'col9'", "not a column", "did you mean"]),
        ({7: 2}, ["7", "below 5"]),
        ({-1: 2}, ["-1", "below 5"]),
        ({True: 2}, ["True", "not a column"]),
        ({"col0": 1, 0: 2}, ["column 'col0'", "two values"]),
        ({"col0": -1}, [r"feature_weights\['col0'\]", "at least 0", "-1"]),
        ({"col0": np.nan}, [r"feature_weights\['col0'\]", "nan"]),
        ({"col0": np.inf}, [r"feature_weights\['col0'\]", "finite", "inf"]),
        ({"col0": "2"}, [r"feature_weights\['col0'\]", "number"]),
        ({"col0": True}, [r"feature_weights\['col0'\]", "number"]),
        ({"col0": None}, [r"feature_weights\['col0'\]", "number"]),
        ([1, 2, -3, 1, 1], [r"feature_weights\[2\]", "column 'col2'", "-3"]),
        ([1, 2, 3], ["feature_weights", "5 features", "got 3"]),
        ({"col0": 10**400}, [r"feature_weights\['col0'\]", "finite"]),
        ([0] * 5, ["`feature_weights` is 0 for every feature"]),
        ([[1] * 5], ["feature_weights", "mapping", "list of 5"]),
        (3, ["feature_weights", "mapping", "list of 5"]),
        ("col0", ["feature_weights", "mapping", "list of 5"]),
        (pd.Series([1.0] * 5), ["feature_weights", "Series", "to_dict"]),
    ],
)
def test_bad_weights_are_refused(frame, weights, words):
    with raises_naming(ValueError, *words):
        ProximityKernel(feature_weights=weights).fit(frame)


def test_a_key_that_is_a_position_and_another_name_is_refused():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    frame = pd.DataFrame(rows, columns=[2, 0, 1])
    with raises_naming(ValueError, "has 0", "column '2'", "'0' or '2'"):
        ProximityKernel(feature_weights={0: 5}).fit(frame)
    named = ProximityKernel(feature_weights={"0": 5}).fit(frame)
    assert named.model_.scales.argmax() == 1
    plain = ProximityKernel(feature_weights={0: 5}).fit(pd.DataFrame(rows))
    assert plain.model_.scales.argmax() == 0


def test_weights_on_empty_columns_alone_are_refused():
    table = [[1.0, None], [2.0, None]]
    with raises_naming(ValueError, "feature_weights", "observed value"):
        ProximityKernel(feature_weights=[0, 1]).fit(table)
    with pytest.warns(UserWarning, match="column 1"):
        pk = ProximityKernel(feature_weights=[2, 5]).fit(table)
    assert pk.kernel(table).diagonal().tolist() == [1, 1]
