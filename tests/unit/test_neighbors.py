"""Nearest rows against brute force: sort all similarities, take the head."""

import pickle

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.cluster import DBSCAN, HDBSCAN
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import fitted, mixed_table, parameters, raises_naming, tables

from proximity_kernel import ProximityKernel, ProximityNeighbors
from proximity_kernel import _nearest as nearest_loops
from proximity_kernel import _nearest as nearest_module
from proximity_kernel import _vectors as byte_vectors
from proximity_kernel._nearest import (
    GRID,
    build_index,
    find_near,
    find_nearest,
    group_rows,
)


@parametrize_with_checks(
    [
        ProximityNeighbors(),
        ProximityNeighbors(3, kernel=ProximityKernel(n_bins=3, normalize=True)),
    ]
)
def test_checks(estimator, check):
    check(estimator)


def random_rows(n, n_columns, seed, values=(0, 0, 0.25, 0.5, 1)):
    """Sparse rows, many of them equal, whose products are exact in float32."""
    rng = np.random.default_rng(seed)
    dense = rng.choice(values, size=(n, n_columns)).astype(np.float32)
    return sp.csr_array(dense[rng.integers(n, size=n)])


def brute(a, b, n_features):
    """All similarities: sums in float64, rounded once, to a multiple of 2**-24."""
    exact = a.astype(np.float64).toarray() @ b.astype(np.float64).toarray().T
    return np.minimum(np.rint(exact / n_features * 2**24) / 2**24, 1).astype(a.dtype)


def head(similarities, k):
    return np.argsort(-similarities, axis=1, kind="stable")[:, :k]


@pytest.fixture(params=[8192, 128, 64], ids=["large", "small", "smallest"])
def _tiles(request, monkeypatch):
    """Tiles of all rows, and of a few."""
    monkeypatch.setattr(nearest_module, "_TILE_ROWS", request.param)


# --- the search


@pytest.mark.usefixtures("_tiles")
@pytest.mark.parametrize("k", [1, 4, 40, 150])
def test_nearest_is_the_head_of_the_sorted_row(k):
    b, a = random_rows(150, 9, 0), random_rows(60, 9, 1)
    whole = brute(a, b, 9)
    similarities, indices = find_nearest(build_index(b, 9), a, k)
    np.testing.assert_array_equal(indices, head(whole, k))
    np.testing.assert_array_equal(
        similarities, np.take_along_axis(whole, indices, axis=1)
    )


@pytest.mark.usefixtures("_tiles")
@pytest.mark.parametrize("least", [0.0, 0.1, 0.25, 0.9])
def test_near_is_what_reaches_the_similarity(least):
    b, a = random_rows(90, 9, 2), random_rows(40, 9, 3)
    whole = brute(a, b, 9)
    starts, indices, similarities = find_near(build_index(b, 9), a, least)
    row, column = np.nonzero(whole >= least)
    np.testing.assert_array_equal(indices, column)
    np.testing.assert_array_equal(np.diff(starts), np.bincount(row, minlength=40))
    np.testing.assert_array_equal(similarities, whole[row, column])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [3, 40, 700])
def test_any_numbers_are_found_exactly(dtype, n_columns):
    """Rounded bounds never hide a row, whatever the scale of rows and columns."""
    rng = np.random.default_rng(n_columns)
    scale = 10.0 ** rng.integers(-3, 2, size=n_columns)

    def draw(n):
        dense = rng.random((n, n_columns)) * (rng.random((n, n_columns)) < 0.4)
        return sp.csr_array((dense * scale * rng.random((n, 1))).astype(dtype))

    b, a = draw(120), draw(50)
    n_features = 100 * n_columns  # so that no similarity is cut at one
    exact = a.astype(np.float64).toarray() @ b.astype(np.float64).toarray().T
    similarities, _ = find_nearest(build_index(b, n_features), a, 7)
    want = np.sort(exact / n_features, axis=1)[:, :-8:-1]
    np.testing.assert_allclose(similarities, want, rtol=0, atol=0.51 * GRID)


def test_rows_with_more_entries_than_bounds_can_count():
    wide = sp.csr_array(np.ones((3, 70_000), np.float32))
    similarities, indices = find_nearest(build_index(wide, 140_000), wide, 2)
    assert indices.tolist() == [[0, 1]] * 3
    assert similarities.tolist() == [[0.5, 0.5]] * 3


def test_threads_do_not_change_the_bits(monkeypatch):
    monkeypatch.setattr(nearest_module, "_QUERIES", 16)
    b, a = random_rows(300, 12, 4, np.linspace(0, 1, 7)), random_rows(99, 12, 5)
    index = build_index(b, 12)
    for one, two in zip(
        find_nearest(index, a, 6, 1), find_nearest(index, a, 6, 2), strict=True
    ):
        assert one.tobytes() == two.tobytes()
    for one, two in zip(
        find_near(index, a, 0.3, 1), find_near(index, a, 0.3, 2), strict=True
    ):
        assert one.tobytes() == two.tobytes()


def test_rows_whose_sums_agree_are_not_taken_for_equal(monkeypatch):
    class Ones:
        def random(self, n):
            return np.ones(n)

    monkeypatch.setattr(np.random, "default_rng", lambda _: Ones())
    rows = sp.csr_array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert group_rows(rows).inverse.tolist() == [0, 1, 2]
    _, indices = find_nearest(build_index(rows, 1), rows, 2)
    assert indices.tolist() == [[0, 2], [1, 0], [0, 2]]


@pytest.mark.skipif(not byte_vectors.LOOKS_UP, reason="the processor has no look-ups")
def test_bounds_by_vectors_are_those_by_bytes():
    rng = np.random.default_rng(0)
    n = byte_vectors.LOOKUP_ROWS
    search = build_index(sp.csr_array(rng.random((2 * n, 6))), 6).search
    classes = rng.integers(32, size=6 * 2 * n).astype(np.uint8)
    search = search._replace(classes=classes, stride=2 * n)
    tables = rng.integers(128, size=2 * 6 * 32).astype(np.uint8)
    for bound in (nearest_loops._bound_by_vectors, nearest_loops._bound_by_bytes):
        loop = numba.njit(bound)
        for least in (0, 400, 700):
            bounds = np.zeros(n, np.uint16)
            any_found = loop(search, n, tables, 6 * 32, 6, np.uint16(least), bounds)
            table = tables[6 * 32 :].reshape(6, 32)
            want = sum(
                table[j, classes.reshape(6, 2 * n)[j, n:]].astype(int) for j in range(6)
            )
            assert bounds.tolist() == want.tolist()
            assert any_found == (want >= least).any()


def test_rows_far_from_the_first_ones_are_found():
    """With many rows a sample of them tells which to skip; none of the nearest is."""
    rng = np.random.default_rng(1)
    near = ProximityNeighbors(3).fit(rng.normal(size=(4000, 5)))
    queries = rng.normal(size=(40, 5))
    distances, _ = near.kneighbors(queries)
    graph = near.radius_neighbors_graph(queries, radius=1.0, mode="similarity")
    want = np.sort(graph.toarray(), axis=1)[:, :-4:-1]
    np.testing.assert_allclose(1 - distances, want, atol=1e-6)


def test_no_entries_at_all():
    nothing = sp.csr_array((3, 0), dtype=np.float32)
    similarities, indices = find_nearest(build_index(nothing, 0), nothing, 2)
    assert similarities.tolist() == [[0, 0]] * 3
    assert indices.tolist() == [[0, 1]] * 3


# --- the estimator


@given(
    tables(),
    parameters(),
    st.booleans(),
    st.sampled_from(["auto", None]),
    st.integers(1, 6),
)
@pytest.mark.filterwarnings("ignore:No value is observed")
def test_neighbors_are_those_of_the_kernel(both, options, normalize, bins, k):
    frame, new = both
    if bins:
        options["n_bins"] = bins
    kernel = ProximityKernel(**options, normalize=normalize, dtype=np.float64)
    near = fitted(ProximityNeighbors(min(k, len(frame)), kernel=kernel), frame)
    whole = near.kernel_.kernel(new, frame)
    distances, indices = near.kneighbors(new)
    assert indices.shape == (len(new), min(k, len(frame)))
    want = np.sort(whole, axis=1)[:, ::-1][:, : indices.shape[1]]
    np.testing.assert_allclose(1 - distances, want, rtol=0, atol=0.51 * GRID)
    found = np.take_along_axis(whole, indices, axis=1)
    np.testing.assert_allclose(1 - distances, found, rtol=0, atol=0.51 * GRID)
    tied = np.diff(distances, axis=1) == 0
    assert (np.diff(indices, axis=1)[tied] > 0).all()


@pytest.fixture(scope="module")
def frame():
    return mixed_table(120, 6, 0.2, seed=0)


@pytest.fixture(scope="module")
def near(frame):
    return ProximityNeighbors(4).fit(frame)


def share(near, frame):
    """Kernel, as a share of what a row with the query's values would score."""
    full = near.kernel_.model_.full_score(near.kernel_.normalize)
    scores = full.of(near.kernel_.transform(frame)) / full.n_features
    return near.kernel_.kernel(frame).astype(np.float64) / scores[:, None]


def test_a_fitted_row_is_not_its_own_neighbor(frame, near):
    whole = share(near, frame)
    np.fill_diagonal(whole, -1)
    distances, indices = near.kneighbors()
    assert (indices != np.arange(len(frame))[:, None]).all()
    want = np.sort(whole, axis=1)[:, :-5:-1]
    np.testing.assert_allclose(1 - distances, want, atol=1e-6)


def test_equal_rows_leave_out_themselves_only():
    near = ProximityNeighbors(2).fit([[1.0], [1.0], [1.0], [1.0], [5.0]])
    distances, indices = near.kneighbors()
    assert indices.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]
    assert distances.tolist() == [[0, 0]] * 4 + [[1, 1]]


def test_what_is_returned(frame, near):
    distances, indices = near.kneighbors(frame[:5])
    np.testing.assert_array_equal(
        near.kneighbors(frame[:5], return_distance=False), indices
    )
    similarities, _ = near.kneighbors(frame[:5], return_similarity=True)
    np.testing.assert_array_equal(1 - similarities, distances)
    alone = near.kneighbors(frame[:5], return_distance=False, return_similarity=True)
    np.testing.assert_array_equal(alone, similarities)
    alone = near.radius_neighbors(
        frame[:5], 0.5, return_distance=False, return_similarity=True
    )
    both, _ = near.radius_neighbors(frame[:5], 0.5, return_similarity=True)
    for one, other in zip(alone, both, strict=True):
        np.testing.assert_array_equal(one, other)
    assert distances.dtype == np.float32
    assert near.kneighbors(frame[:5], n_neighbors=9)[1].shape == (5, 9)


def test_a_row_alone_has_the_answer_it_has_among_others(frame, near):
    together = near.kneighbors(frame)
    for i in (0, 7, 50):
        alone = near.kneighbors(frame.iloc[[i]])
        assert alone[0].tobytes() == together[0][[i]].tobytes()
        assert alone[1].tobytes() == together[1][[i]].tobytes()


@pytest.mark.parametrize("mode", ["connectivity", "distance", "similarity"])
def test_graph_holds_the_neighbors(frame, near, mode):
    distances, indices = near.kneighbors(frame[:9])
    graph = near.kneighbors_graph(frame[:9], mode=mode)
    assert graph.shape == (9, 120)
    assert graph.nnz == 36  # distances of zero are stored
    values = {"connectivity": 1, "distance": distances, "similarity": 1 - distances}
    got = np.take_along_axis(graph.toarray(), indices, axis=1)
    np.testing.assert_allclose(got, np.broadcast_to(values[mode], got.shape), atol=1e-6)


@pytest.mark.parametrize("itself", [False, True])
def test_radius_neighbors(frame, near, itself):
    whole = share(near, frame)
    if not itself:
        np.fill_diagonal(whole, -1)
    asked = frame if itself else None
    distances, indices = near.radius_neighbors(asked, 0.3)
    for i in range(len(frame)):
        np.testing.assert_array_equal(
            indices[i], np.flatnonzero(whole[i] >= 0.7 - 1e-6)
        )
        np.testing.assert_allclose(1 - distances[i], whole[i, indices[i]], atol=1e-6)
    nearest, _ = near.radius_neighbors(asked, 0.3, sort_results=True)
    for some, other in zip(nearest, distances, strict=True):
        np.testing.assert_array_equal(some, np.sort(other))
    alone = near.radius_neighbors(asked, 0.3, return_distance=False)
    assert [len(one) for one in alone] == [len(one) for one in indices]
    alike, _ = near.radius_neighbors(asked, 0.3, return_similarity=True)
    np.testing.assert_array_equal(1 - alike[3], distances[3])


def test_radius_graph_is_symmetric(frame):
    near = ProximityNeighbors(kernel=ProximityKernel("fine")).fit(frame)
    graph = near.radius_neighbors_graph(radius=0.4, mode="distance")
    assert graph.nnz > 200
    np.testing.assert_array_equal(graph.toarray(), graph.toarray().T)


def test_what_lies_at_the_radius_is_within():
    """Of seven features three differ; 3/7 has no float, nor has 1 - 4/7."""
    near = ProximityNeighbors().fit(np.array([[0.0] * 7, [1.0] * 3 + [0.0] * 4]))
    assert near.radius_neighbors(radius=3 / 7)[1][0].tolist() == [1]
    assert near.radius_neighbors(radius=3 / 7 - 1e-5)[1][0].tolist() == []


@pytest.mark.parametrize("n_bins", [3, "auto"])
def test_distances_keep_the_triangle_inequality(n_bins):
    frame = mixed_table(40, 4, 0.4, seed=3)
    kernel = ProximityKernel(n_bins=n_bins, dtype=np.float64)
    near = ProximityNeighbors(40, kernel=kernel).fit(frame)
    d = near.kneighbors_graph(frame, mode="distance").toarray()
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 2 * GRID).all()
    complete = frame.notna().all(axis=1).to_numpy()
    assert complete.any()
    np.testing.assert_allclose(np.diag(d)[complete], 0, atol=1e-12)
    assert (np.diag(d)[~complete] >= 0).all()


def test_company_of_scikit_learn():
    rng = np.random.default_rng(0)
    rows = np.repeat([[0.0] * 8, [9.0] * 8], 40, axis=0) + rng.normal(size=(80, 8))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    near = ProximityNeighbors(kernel=ProximityKernel(n_bins=2)).fit(rows)
    graph = near.radius_neighbors_graph(radius=0.45, mode="distance")
    truth = np.repeat([0, 1], 40)
    labels = DBSCAN(eps=0.45, metric="precomputed").fit_predict(graph)
    np.testing.assert_array_equal(labels, truth)
    dense = 1 - near.kernel_.kernel(rows).astype(np.float64)
    labels = HDBSCAN(metric="precomputed", copy=True).fit_predict(dense)
    assert {(t, g) for t, g in zip(truth, labels, strict=True) if g >= 0} <= {
        (0, labels[0]),
        (1, labels[-1]),
    }


def test_output_settings_and_pickle(frame, near):
    with config_context(transform_output="pandas"):
        again = ProximityNeighbors(
            4, kernel=ProximityKernel("fine", rarity=0.5, sparse_output=False), n_jobs=1
        ).fit(frame)
        _, indices = again.kneighbors(frame)
    np.testing.assert_array_equal(indices, near.kneighbors(frame)[1])
    copy = pickle.loads(pickle.dumps(near))
    np.testing.assert_array_equal(copy.kneighbors()[1], near.kneighbors()[1])


def test_the_given_kernel_stays_as_it_was(frame):
    kernel = ProximityKernel(n_bins=3)
    near = ProximityNeighbors(kernel=kernel, n_jobs=2).fit(frame)
    assert not hasattr(kernel, "n_bins_")
    assert near.kernel_.n_bins == 3
    assert near.kernel_.n_jobs == 2
    assert near.get_params()["kernel__n_bins"] == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_neighbors": 0}, ("n_neighbors", "at least 1")),
        ({"n_neighbors": 2.5}, ("n_neighbors", "whole")),
        ({"radius": -1}, ("radius", "0 to 1")),
        ({"radius": "wide"}, ("radius", "'wide'")),
        ({"kernel": "rbf"}, ("kernel", "ProximityKernel", "'rbf'")),
        ({"n_jobs": 0}, ("n_jobs",)),
    ],
)
def test_bad_options_are_named(frame, options, words):
    with raises_naming(ValueError, *words):
        ProximityNeighbors(**options).fit(frame)


def test_bad_questions_are_named(frame, near):
    with raises_naming(ValueError, "n_neighbors <= 119", "itself", "120"):
        near.kneighbors(n_neighbors=120)
    with raises_naming(ValueError, "n_neighbors <= 120", "121"):
        near.kneighbors(frame, n_neighbors=121)
    with raises_naming(ValueError, "mode", "'distance'", "'near'"):
        near.kneighbors_graph(mode="near")
    with raises_naming(ValueError, "radius", "2"):
        near.radius_neighbors(radius=2)
    with raises_naming(ValueError, "return_distance"):
        near.kneighbors(frame, return_distance="yes")


def test_a_kernel_that_is_given_is_used_as_it_is():
    table = np.random.default_rng(0).normal(size=(60, 3))
    near = ProximityNeighbors(3, kernel=ProximityKernel(random_state=1)).fit(table)
    assert (near.kernel_.n_bins, near.kernel_.rarity) == (None, 0)
    own = ProximityNeighbors(3).fit(table).kernel_
    assert (own.n_bins, own.rarity) == ("fine", 0.5)
    cascade = ProximityNeighbors(kernel=ProximityKernel(matching="cascade")).fit(table)
    assert cascade.kernel_.n_bins is None
