"""A real cluster of two worker processes, one of which may die at any time."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from partitions import (
    builds,
    count_builds,
    die_while_writing,
    from_source,
    notes_of,
    read_and_note,
    read_or_die,
)
from sklearn.base import clone
from strategies import assert_same_bits, assert_same_model, cut, mixed_table

from proximity_kernel import ProximityKernel, ProximityKMeans, ProximityNeighbors
from proximity_kernel import _model_packing as model_packing
from proximity_kernel.dask import DaskProximityKernel, DaskProximityKMeans

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def frame():
    return mixed_table(700, 5, 0.25, seed=8)


@pytest.fixture(scope="module")
def pk(frame):
    return ProximityKernel().fit(frame)


@pytest.mark.usefixtures("client")
def test_two_processes_give_the_same(frame, pk, tmp_path):
    X = from_source(cut(frame, 8), read_and_note, tmp_path)
    got = DaskProximityKernel()
    Z = got.fit_transform(X)
    assert_same_model(got.kernel_, pk)
    assert_same_bits(Z.compute(), pk.transform(frame))
    readers = {pid for i in range(8) for pid in notes_of(tmp_path, i)}
    assert len(readers) == 2
    np.testing.assert_allclose(
        got.kernel(X, frame[:5]).compute(), pk.kernel(frame, frame[:5]), atol=1e-6
    )
    in_memory = ProximityNeighbors(4, kernel=ProximityKernel("auto")).fit(frame)
    near = in_memory.kneighbors(frame[:9])
    for one, other in zip(got.kneighbors(X, frame[:9], 4), near, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.usefixtures("client")
def test_a_worker_that_dies_changes_no_fit_and_no_transform(frame, pk, tmp_path):
    # Read in the first pass, again after the first death, in the second pass, again,
    # for transform, and again.
    X = from_source(cut(frame, 8), read_or_die, tmp_path, {1, 3, 5})
    got = DaskProximityKernel().fit(X)
    readers = notes_of(tmp_path, 3)
    assert len(readers) == 4
    assert_same_model(got.kernel_, pk)
    Z = got.transform(X).compute()
    readers = notes_of(tmp_path, 3)
    assert len(readers) == 6
    assert all(readers[i] != readers[i + 1] for i in (0, 2, 4))
    assert_same_bits(Z, pk.transform(frame))


@pytest.mark.usefixtures("client")
def test_k_means_with_a_worker_that_dies(frame, tmp_path):
    for_all = DaskProximityKMeans(3, n_init=2, random_state=0)
    km = ProximityKMeans(3, n_init=2, random_state=0).fit(frame)
    numbers = np.random.default_rng(0).normal(size=(11_500, 9))
    long = pd.DataFrame(numbers, columns=list("abcdefghi"))  # more than are kept
    X = from_source(cut(long, 5), read_or_die, tmp_path, {3})
    sampled = DaskProximityKMeans(3, n_init=1, max_iter=5, random_state=0).fit(X)
    assert len(notes_of(tmp_path, 3)) == 4  # the third reading was for k-means
    again = clone(sampled).fit(X)
    for_all.fit(from_source(cut(frame, 5), read_and_note, tmp_path))
    assert for_all.cluster_centers_.tobytes() == km.cluster_centers_.tobytes()
    np.testing.assert_array_equal(for_all.labels_.compute(), km.labels_)
    assert again.cluster_centers_.tobytes() == sampled.cluster_centers_.tobytes()
    assert again.profiles_ == sampled.profiles_


def test_the_model_is_built_once_by_each_worker(client, frame, pk, tmp_path):
    got = DaskProximityKernel().fit(frame)
    plain = model_packing.restore_pairwise
    client.run(count_builds)
    count_builds()  # the scheduler is here, in this process
    try:
        X = from_source(cut(frame, 20), read_and_note, tmp_path)
        Z = got.transform(X).compute()
        readers = Counter(pid for i in range(20) for pid in notes_of(tmp_path, i))
        assert max(readers.values()) > 1
        built = [n for n in client.run(builds).values() if n]
        assert built == [1] * len(readers)
        assert builds() == 0
    finally:
        model_packing.restore_pairwise = plain
    assert_same_bits(Z, pk.transform(frame))


def test_a_worker_that_dies_half_way_through_a_file(client, frame, pk, tmp_path):
    client.run(die_while_writing, str(tmp_path / "dead"))
    X = from_source(cut(frame, 8), read_and_note, tmp_path)
    path = tmp_path / "new" / "z"
    DaskProximityKernel().fit(frame).to_parquet(X, path)
    assert (tmp_path / "dead").exists()
    back = pd.read_parquet(path).to_numpy()
    np.testing.assert_array_equal(back, pk.transform(frame).toarray())
    assert len(list(path.iterdir())) == 8  # nothing half written is left
    assert list(path.parent.iterdir()) == [path]
