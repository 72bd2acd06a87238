"""Clusters: against brute force, scikit-learn's k-means and small tables by hand."""

import gc
import pickle
import signal
import threading
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import dense, mixed_table

from proximity_kernel import ProximityKernel, ProximityKMeans
from proximity_kernel import _kmeans as iterations
from proximity_kernel._groups import least_shared
from proximity_kernel._kmeans import (
    best_clustering,
    choose_seeds,
    gather_rows,
    iterate,
)


# A check has bins of two groups only, and asks for more clusters.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Only 2 of:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        ProximityKMeans(n_init=2),
        ProximityKMeans(3, kernel=ProximityKernel("auto"), n_init=1),
        ProximityKMeans("auto", n_init=1),
    ]
)
def test_checks(estimator, check):
    check(estimator)


def blobs(n_groups, n_rows=400, n_columns=10, missing=0.1, seed=0):
    """Rows around corners that are far apart, and the group of each."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n_rows)
    means = 4 * rng.integers(-1, 2, size=(n_groups, n_columns))
    table = means[groups] + rng.normal(size=(n_rows, n_columns))
    table[rng.random(table.shape) < missing] = np.nan
    return table, groups


def brute_distances(z, centers):
    difference = dense(z).astype(float)[:, None] - np.asarray(centers, float)
    return np.sqrt((difference**2).sum(axis=2))


@pytest.fixture(scope="module")
def frame():
    return mixed_table(300, 6, 0.2, seed=3)


@pytest.fixture(scope="module")
def fitted(frame):
    return ProximityKMeans(4, n_init=3, tol=0, random_state=0).fit(frame)


# ------------------------------------------------------------- against brute force


def test_labels_are_the_nearest_centers(fitted, frame):
    distances = brute_distances(
        fitted.kernel_.transform(frame), fitted.cluster_centers_
    )
    chosen = distances[np.arange(len(frame)), fitted.labels_]
    np.testing.assert_allclose(chosen, distances.min(axis=1), atol=1e-6)
    assert fitted.inertia_ == pytest.approx((chosen**2).sum(), rel=1e-6)
    assert fitted.score(frame) == pytest.approx(-fitted.inertia_, rel=1e-9)
    np.testing.assert_allclose(fitted.transform(frame), distances, atol=1e-6)


def test_centers_are_the_means_of_their_rows(fitted, frame):
    z = dense(fitted.kernel_.transform(frame)).astype(float)
    for c, center in enumerate(fitted.cluster_centers_):
        mean = z[fitted.labels_ == c].mean(axis=0)
        np.testing.assert_allclose(center, mean, atol=1e-6)


def test_the_largest_cluster_comes_first(fitted):
    sizes = np.bincount(fitted.labels_)
    assert (np.diff(sizes) <= 0).all()
    assert fitted.n_clusters_ == len(sizes) == 4


def test_unseen_rows_go_to_the_nearest_center(fitted):
    rows = mixed_table(50, 6, 0.4, seed=4)
    distances = brute_distances(fitted.kernel_.transform(rows), fitted.cluster_centers_)
    labels = fitted.predict(rows)
    chosen = distances[np.arange(50), labels]
    np.testing.assert_allclose(chosen, distances.min(axis=1), atol=1e-6)
    assert fitted.score(rows) == pytest.approx(-(chosen**2).sum(), rel=1e-6)


def test_fit_predict_transform_agree(fitted, frame):
    again = clone(fitted)
    np.testing.assert_array_equal(again.fit_predict(frame), fitted.labels_)
    np.testing.assert_array_equal(again.predict(frame), fitted.labels_)
    np.testing.assert_array_equal(again.fit_transform(frame), fitted.transform(frame))


def test_inertia_falls_with_iterations():
    rows = gather_rows(sp.csr_array(ProximityKernel().fit_transform(blobs(5)[0])), ONES)
    seeds = rows.matrix[:7].toarray()
    inertias = [iterate(rows, seeds, n, 0.0).inertia for n in range(1, 8)]
    assert inertias[0] > inertias[-1]
    assert all(after <= before for before, after in pairwise(inertias))


ONES = np.ones(400)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_clusters", [1, 3, 9, 20])
def test_the_same_as_scikit_learn_from_the_same_seeds(n_clusters, dtype):
    table, _ = blobs(5, missing=0.2, seed=1)
    z = sp.csr_array(ProximityKernel(n_bins="auto", dtype=dtype).fit_transform(table))
    seeds = z[:n_clusters].toarray()
    ours = iterate(gather_rows(z, ONES), seeds, 300, 0.0)
    theirs = KMeans(n_clusters, init=seeds, n_init=1, tol=0).fit(z.toarray())
    assert ours.inertia == pytest.approx(theirs.inertia_, rel=1e-5)
    np.testing.assert_array_equal(ours.labels, theirs.labels_)
    np.testing.assert_allclose(ours.centers, theirs.cluster_centers_, atol=1e-5)


@pytest.mark.parametrize("n_clusters", [5, 20])
def test_inertia_is_that_of_scikit_learn(n_clusters):
    table, _ = blobs(5, n_rows=1500, missing=0.2, seed=2)
    ours = ProximityKMeans(n_clusters, random_state=0).fit(table)
    z = dense(ours.kernel_.transform(table))
    theirs = KMeans(n_clusters, n_init=10, random_state=0).fit(z)
    assert ours.inertia_ <= 1.01 * theirs.inertia_


def test_equal_rows_count_as_often_as_they_stand_there():
    z = sp.csr_array(np.eye(3))
    once = iterate(gather_rows(z, np.array([1, 3, 2])), np.eye(3)[:2], 10, 0.0)
    spread = z[[0, 1, 1, 1, 2, 2]]
    each = iterate(gather_rows(spread, np.ones(6)), np.eye(3)[:2], 10, 0.0)
    np.testing.assert_array_equal(once.centers, each.centers)
    assert once.inertia == pytest.approx(each.inertia)
    np.testing.assert_array_equal(once.labels[[0, 1, 1, 1, 2, 2]], each.labels)


def test_wide_indices_give_the_same():
    """As a representation of over two thousand million entries has them."""
    z = sp.csr_array(ProximityKernel().fit_transform(blobs(3)[0]))
    wide = z.copy()
    wide.indices, wide.indptr = z.indices.astype("i8"), z.indptr.astype("i8")
    seeds = z[:9].toarray()
    one, two = (iterate(gather_rows(m, ONES), seeds, 9, 0.0) for m in (z, wide))
    assert one.centers.tobytes() == two.centers.tobytes()
    assert one.labels.tobytes() == two.labels.tobytes()


# ---------------------------------------------------------------- seeds and threads


def test_seeds_are_rows_far_apart():
    points = np.repeat(np.eye(4), 25, axis=0)
    rows = gather_rows(sp.csr_array(points), np.ones(100))
    for seed in range(5):
        seeds = choose_seeds(rows, 4, np.random.default_rng(seed))
        assert sorted(seeds.argmax(axis=1)) == [0, 1, 2, 3]


def test_an_empty_cluster_takes_the_farthest_row():
    points = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [5.0, 5.0], [9.0, 9.0]])
    rows = gather_rows(sp.csr_array(points), np.ones(5))
    seeds = np.array([[0.0, 0.0], [100.0, 100.0], [200.0, 200.0]])
    found = iterate(rows, seeds, 50, 0.0)
    assert len(np.unique(found.labels)) == 3
    assert len({found.labels[0], found.labels[3], found.labels[4]}) == 3


def test_the_threads_do_not_show():
    table, _ = blobs(5, n_rows=30_000, n_columns=8)
    one, two = (
        ProximityKMeans(6, n_init=2, random_state=1, n_jobs=n).fit(table)
        for n in (1, 2)
    )
    assert one.cluster_centers_.tobytes() == two.cluster_centers_.tobytes()
    assert one.labels_.tobytes() == two.labels_.tobytes()
    assert one.inertia_ == two.inertia_
    assert one.transform(table).tobytes() == two.transform(table).tobytes()


def test_a_seed_gives_the_same_every_time(frame):
    km = ProximityKMeans(5, n_init=2, random_state=7)
    first, second = clone(km).fit(frame), clone(km).fit(frame)
    assert first.cluster_centers_.tobytes() == second.cluster_centers_.tobytes()
    assert first.profiles_ == second.profiles_
    source = np.random.RandomState(7)
    other = clone(km).set_params(random_state=source).fit(frame)
    assert other.inertia_ == first.inertia_


def test_more_runs_are_never_worse():
    z = sp.csr_array(ProximityKernel().fit_transform(blobs(5)[0]))
    rows = gather_rows(z, ONES)
    one, many = (best_clustering(rows, 6, n, 100, 1e-4, 0).inertia for n in (1, 8))
    assert many <= one


def test_an_interrupt_is_heard():
    table, _ = blobs(5, n_rows=20_000)
    km = ProximityKMeans(20, n_init=10_000, random_state=0)
    clone(km).set_params(n_init=1).fit(table)  # compiled now, not while it is heard
    timer = threading.Timer(1.5, signal.raise_signal, [signal.SIGINT])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # may be ignored
    gc.disable()  # hypothesis has a callback there, in which the signal would be lost
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        km.fit(table)
    timer.join()
    gc.enable()
    signal.signal(signal.SIGINT, before)
    assert not hasattr(km, "labels_")


def test_groups_are_found_in_tables_of_every_kind():
    table, groups = blobs(3, missing=0.2, seed=5)
    names = [f"c{j}" for j in range(table.shape[1])]
    pandas_frame = pd.DataFrame(table, columns=names)
    words = np.array(["red", "green", "blue"], object)[groups]
    words[::7] = None
    pandas_frame["word"] = words
    polars_frame = pl.DataFrame(
        {n: pl.Series(pandas_frame[n].tolist(), strict=False) for n in pandas_frame}
    ).with_columns(pl.col(names).fill_nan(None))
    listed = [
        [None if cell is None or cell != cell else cell for cell in row]
        for row in pandas_frame.to_numpy(object).tolist()
    ]
    km = ProximityKMeans(3, random_state=0)
    wanted = km.fit_predict(pandas_frame)
    assert adjusted_rand_score(wanted, groups) > 0.95
    for other in (polars_frame, listed):
        np.testing.assert_array_equal(clone(km).fit_predict(other), wanted)
    assert list(km.feature_names_in_) == [*names, "word"]
    assert km.n_features_in_ == len(names) + 1
    km.fit(table)
    assert not hasattr(km, "feature_names_in_")


def test_in_a_pipeline_with_names(frame):
    km = ProximityKMeans(3, n_init=1, random_state=0)
    pipeline = make_pipeline(km, StandardScaler()).set_output(transform="pandas")
    names = [f"proximitykmeans{c}" for c in range(3)]
    assert list(pipeline.fit_transform(frame).columns) == names


@pytest.mark.parametrize(
    "options",
    [{"sparse_output": False}, {"normalize": True}, {"missingness": "informative"}],
)
def test_any_kernel_will_do(frame, options):
    kernel = ProximityKernel(n_bins=3, **options).set_output(transform="default")
    km = ProximityKMeans(3, kernel=kernel, n_init=2, random_state=0).fit(frame)
    assert not hasattr(kernel, "n_bins_")
    assert km.kernel_.n_bins == 3
    z = dense(km.kernel_.transform(frame))
    distances = brute_distances(z, km.cluster_centers_)
    np.testing.assert_allclose(km.transform(frame), distances, atol=1e-5)
    for feature in {one["feature"] for one in km.profiles_}:
        shares = [one["share"] for one in km.profiles_ if one["feature"] == feature]
        assert max(shares) <= 1 + 1e-6


def test_pickle_and_clone(fitted, frame):
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(frame), fitted.labels_)
    assert copy.profiles_ == fitted.profiles_
    assert clone(fitted).get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        clone(fitted).predict(frame)


def test_fewer_distinct_rows_than_clusters_is_said():
    table = [[1.0], [1.0], [2.0], [2.0], [2.0]]
    km = ProximityKMeans(4, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Only 2 of the 4"):
        labels = km.fit_predict(table)
    assert labels.tolist() == [1, 1, 0, 0, 0]
    assert km.inertia_ == 0
    assert {one["cluster"] for one in km.profiles_} == {0, 1}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("n_clusters", 0),
        ("n_clusters", "many"),
        ("n_clusters", 2.0),
        ("kernel", "rbf"),
        ("kernel", ProximityKernel),
        ("n_init", 0),
        ("max_iter", 0),
        ("tol", -1e-3),
        ("tol", float("nan")),
        ("tol", True),
        ("random_state", -1),
        ("n_jobs", 0),
    ],
)
def test_a_bad_option_is_named(option, value):
    with pytest.raises(ValueError, match=f"^{option} must be"):
        ProximityKMeans(**{option: value}).fit([[1.0], [2.0]])


def test_more_clusters_than_rows_is_an_error():
    with pytest.raises(ValueError, match=r"n_clusters=3 is more than the 2 samples"):
        ProximityKMeans(3).fit([[1.0], [2.0]])


def test_a_bad_table_leaves_the_old_clusters(fitted, frame):
    km = clone(fitted).fit(frame)
    with pytest.raises(ValueError, match="nfinit"):
        km.fit([[1.0], [np.inf]])
    np.testing.assert_array_equal(km.predict(frame), fitted.labels_)


# -------------------------------------------------------------------- how many, auto


@pytest.mark.parametrize("kernel", [ProximityKernel(4), ProximityKernel("auto")])
@pytest.mark.parametrize("n_groups", [3, 5])
def test_auto_finds_the_groups(n_groups, kernel):
    table, groups = blobs(n_groups, n_rows=600, seed=n_groups)
    km = ProximityKMeans("auto", kernel=kernel, random_state=0).fit(table)
    assert km.n_clusters_ == len(km.cluster_centers_) == n_groups
    assert adjusted_rand_score(km.labels_, groups) > 0.95
    assert list(km.stability_) == [2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert km.stability_[n_groups] >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [1, 2, 10])
@pytest.mark.parametrize("kernel", [ProximityKernel(4), ProximityKernel("auto")])
def test_auto_leaves_one_blob_whole(n_columns, kernel):
    table = np.random.default_rng(0).normal(size=(400, n_columns))
    km = ProximityKMeans("auto", kernel=kernel, random_state=0).fit(table)
    assert km.n_clusters_ == 1
    assert (km.labels_ == 0).all()


def test_auto_with_few_rows():
    km = ProximityKMeans("auto").fit([[1.0], [2.0], [None]])
    assert km.n_clusters_ == 1
    assert km.stability_ == {}
    assert ProximityKMeans(2).fit([[1.0], [2.0]]).stability_ is None


def test_strength_by_hand():
    assert least_shared(np.diag([3.0, 4.0])) == 1
    assert least_shared(np.array([[2.0, 2.0], [0.0, 4.0]])) == pytest.approx(1 / 3)
    assert least_shared(np.array([[1.0, 0.0], [0.0, 4.0]])) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_clusters", [1, 2, 7, 20])
def test_rows_that_are_not_looked_at_would_have_stayed(n_clusters, dtype, monkeypatch):
    rng = np.random.default_rng(n_clusters)
    table = np.round(rng.normal(size=(3_000, 6)) + rng.integers(0, 3, (3_000, 1)), 1)
    table[rng.random(table.shape) < 0.2] = np.nan
    matrix = sp.csr_array(ProximityKernel(dtype=dtype).fit_transform(table))
    rows = gather_rows(matrix, rng.integers(1, 4, len(table)))
    seeds = matrix[:n_clusters].toarray()
    quick = iterate(rows, seeds, 60, 0.0)
    monkeypatch.setattr(
        iterations, "_bound_falls", lambda moved: np.full(len(moved), np.inf)
    )
    whole = iterate(rows, seeds, 60, 0.0)
    assert quick.n_iter == whole.n_iter > 1
    assert_array_equal(quick.labels, whole.labels)
    assert_array_equal(quick.centers, whole.centers)


def test_distinct_rows_keep_their_order_with_the_cascade():
    table = [[9.0, "a"], [1.0, "b"], [9.5, "b"], [1.5, "a"]]
    kernel = ProximityKernel(matching="cascade")
    km = ProximityKMeans(4, kernel=kernel, random_state=0).fit(table)
    assert km.labels_.tolist() == [int(km.predict([row])[0]) for row in table]
    assert km.transform(table).argmin(axis=1).tolist() == km.labels_.tolist()
    kernel = ProximityKernel(2, matching="cascade")
    one = ProximityKMeans(1, kernel=kernel).fit(table, sample_weight=[100, 1, 1, 1])
    four = ProximityKMeans(1, kernel=kernel).fit([table[0]] * 100 + table[1:])
    np.testing.assert_allclose(one.cluster_centers_, four.cluster_centers_, atol=1e-6)
