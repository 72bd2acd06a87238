"""Graphs in one piece for HDBSCAN, and neighbors for UMAP."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score
from strategies import mixed_table, raises_naming

from proximity_kernel import (
    ProximityKernel,
    ProximityKNNClassifier,
    ProximityNeighbors,
    _nearest,
)

KERNELS = [None, ProximityKernel(), ProximityKernel("fine", normalize=0.5)]


def far_groups(sizes, seed=0, rate=0.1):
    """Groups of rows that share no value: numbers far apart, and other labels."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    numbers = rng.normal(size=(len(truth), 3)) * 0.2 + 10 * truth[:, None]
    table = pd.DataFrame(numbers, columns=["a", "b", "c"])
    table["d"] = [
        f"g{g}{i}" for g, i in zip(truth, rng.integers(0, 3, len(truth)), strict=True)
    ]
    table = table.mask(rng.random(table.shape) < rate)
    return table, truth


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("sizes", [[40, 40, 40], [150, 30, 5, 2], [1] * 12])
def test_the_graph_is_connected_and_has_the_distances_of_the_kernel(kernel, sizes):
    table, _ = far_groups(sizes)
    near = ProximityNeighbors(min(5, len(table) - 1), kernel=kernel).fit(table)
    graph = near.distance_graph()
    assert graph.shape == (len(table), len(table))
    assert connected_components(graph, directed=False)[0] == 1
    assert abs(graph - graph.T).max() == 0
    distances = near.kernel_.distance(table)
    rows, columns = graph.nonzero()
    wanted = np.maximum(distances[rows, columns], 2.0**-24)
    np.testing.assert_allclose(graph.toarray()[rows, columns], wanted, atol=1e-6)
    _, indices = near.kneighbors()
    for i, others in enumerate(indices):
        stored = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
        assert {*others.tolist(), i} <= set(stored.tolist())
    assert (graph.diagonal() == 0).all()


@pytest.mark.parametrize("few", [(1, 4, 16, 64), (1,), (0,)])
def test_components_are_joined_by_their_nearest_pair(few, monkeypatch):
    monkeypatch.setattr(_nearest, "_FEW", few)
    table, truth = far_groups([30, 20, 10], rate=0.0)
    kernel = ProximityKernel("auto")
    near = ProximityNeighbors(2, kernel=kernel).fit(table)
    distances = near.kernel_.distance(table)
    tree = minimum_spanning_tree(near.distance_graph()).toarray()
    between = truth[:, None] != truth[None, :]
    bridges = np.sort(tree[(tree > 0) & between])
    whole = minimum_spanning_tree(np.maximum(distances, 2.0**-24)).toarray()
    wanted = np.sort(whole[(whole > 0) & between])
    assert len(bridges) == len(wanted)
    np.testing.assert_allclose(bridges, wanted, atol=1e-6)


def test_many_equal_rows_stay_connected():
    """Twenty copies are each other's nearest: no search of five leads out of them."""
    table = pd.DataFrame({"a": list("xyz") * 20, "b": list("uuv") * 20})
    near = ProximityNeighbors(5).fit(table)
    graph = near.distance_graph()
    assert connected_components(graph, directed=False)[0] == 1
    assert graph.nnz < 60 * 20
    labels = HDBSCAN(metric="precomputed", copy=True).fit_predict(graph)
    assert adjusted_rand_score(np.tile([0, 1, 2], 20), labels) == 1


@pytest.mark.parametrize("kernel", KERNELS)
def test_hdbscan_finds_what_it_finds_with_all_distances(kernel):
    table, truth = far_groups([60, 50, 40], seed=1)
    near = ProximityNeighbors(20, kernel=kernel).fit(table)
    clusterer = HDBSCAN(20, metric="precomputed", copy=True)
    sparse = clusterer.fit_predict(near.distance_graph())
    dense = clusterer.fit_predict(near.kernel_.distance(table))
    assert adjusted_rand_score(dense, sparse) > 0.9
    found = sparse >= 0
    assert found.mean() > 0.8
    # Equal distances can be joined in another order.
    assert adjusted_rand_score(truth[found], sparse[found]) > 0.95
    knn = ProximityKNNClassifier(3, kernel=kernel).fit(table[found], sparse[found])
    new, groups = far_groups([60, 50, 40], seed=2)
    assert adjusted_rand_score(groups, knn.predict(new)) > 0.95


def test_all_rows_as_neighbors_give_all_distances():
    table = mixed_table(60, 5, 0.2, seed=0)
    near = ProximityNeighbors().fit(table)
    graph = near.distance_graph(59).toarray()
    wanted = np.maximum(near.kernel_.distance(table), 2.0**-24)
    np.fill_diagonal(wanted, 0)
    np.testing.assert_allclose(graph, wanted, atol=1e-6)


def test_a_single_row_has_no_neighbors():
    with raises_naming(ValueError, "n_neighbors"):
        ProximityNeighbors(1).fit([[1.0]]).distance_graph()


def test_neighbors_for_umap_begin_with_the_row_itself():
    table = mixed_table(80, 5, 0.3, seed=1)
    near = ProximityNeighbors(4).fit(pd.concat([table, table]))
    indices, distances = near.precomputed_knn(7)
    assert indices.shape == distances.shape == (160, 7)
    np.testing.assert_array_equal(indices[:, 0], np.arange(160))
    assert (distances[:, 0] == 0).all()
    assert (np.diff(distances, axis=1) >= 0).all()
    far, others = near.kneighbors(n_neighbors=6)
    np.testing.assert_array_equal(indices[:, 1:], others)
    np.testing.assert_array_equal(distances[:, 1:], far)
    assert near.precomputed_knn()[0].shape == (160, 5)
    with raises_naming(ValueError, "n_neighbors", "at least 2"):
        near.precomputed_knn(1)


# UMAP tells that it cannot place new rows then.
@pytest.mark.filterwarnings("ignore:precomputed_knn:UserWarning")
def test_umap_takes_them():
    umap = pytest.importorskip("umap", reason="umap-learn is not installed")
    table, truth = far_groups([60, 60], seed=3)
    near = ProximityNeighbors(10).fit(table)
    places = umap.UMAP(
        n_neighbors=10,
        precomputed_knn=near.precomputed_knn(10),
        random_state=0,
        n_jobs=1,
    ).fit_transform(np.zeros((120, 1)))
    centers = [places[truth == g].mean(axis=0) for g in (0, 1)]
    own = np.linalg.norm(places - np.array(centers)[truth], axis=1)
    other = np.linalg.norm(places - np.array(centers)[1 - truth], axis=1)
    assert (own < other).mean() > 0.95
