"""k-means on partitions: the clusters of the whole table."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from partitions import as_dask, from_source, notes_of, one, read_and_note
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from strategies import cut, mixed_table, raises_naming

from proximity_kernel import ProximityKernel, ProximityKMeans
from proximity_kernel import _row_summary as row_summary
from proximity_kernel._bins import Binned
from proximity_kernel._coded import CodedTable
from proximity_kernel._kmeans import best_clustering, gather_rows, iterate, total_bins
from proximity_kernel._row_summary import plan_rows, summarize_rows
from proximity_kernel.cluster import describe_clusters
from proximity_kernel.dask import DaskProximityKMeans
from proximity_kernel.kernel import represent

pytestmark = pytest.mark.usefixtures("in_this_thread")


@pytest.fixture(scope="module")
def frame():
    return mixed_table(900, 5, 0.2, seed=2)


@pytest.mark.parametrize("n_parts", [1, 2, 7, 50])
def test_all_rows_kept_gives_the_clusters_of_the_table(frame, n_parts):
    parts = cut(frame, n_parts, np.random.RandomState(0))
    km = ProximityKMeans(4, n_init=3, random_state=1).fit(pd.concat(parts))
    got = DaskProximityKMeans(4, n_init=3, random_state=1).fit(as_dask(parts))
    assert got.cluster_centers_.tobytes() == km.cluster_centers_.tobytes()
    assert got.labels_.dtype == np.int32
    np.testing.assert_array_equal(got.labels_.compute(), km.labels_)
    assert got.inertia_ == km.inertia_
    assert got.n_iter_ == km.n_iter_
    assert got.profiles_ == km.profiles_
    assert got.feature_names_in_.tolist() == list(frame.columns)
    new = mixed_table(50, 5, 0.2, seed=3)
    np.testing.assert_array_equal(
        got.predict(as_dask(cut(new, 3))).compute(), km.predict(new)
    )


@pytest.mark.parametrize("n_parts", [1, 7])
def test_it_transforms_scores_and_saves_as_in_memory(frame, n_parts, tmp_path):
    km = ProximityKMeans(4, n_init=3, random_state=1).fit(frame)
    parts = [*cut(frame, n_parts), frame[:0]]
    got = DaskProximityKMeans(4, n_init=3, random_state=1)
    with pytest.raises(NotFittedError):
        got.transform(frame)
    with pytest.raises(NotFittedError):
        got.save(tmp_path / "km.model")
    got.fit(as_dask(parts))
    distances = got.transform(as_dask(parts))
    assert distances.shape[1] == 4
    np.testing.assert_allclose(distances.compute(), km.transform(frame), rtol=1e-6)
    assert got.score(as_dask(parts)) == pytest.approx(km.score(frame))
    assert got.score(as_dask(parts)) == pytest.approx(-got.inertia_)
    got.save(tmp_path / "km.model")
    loaded = ProximityKMeans.load(tmp_path / "km.model")
    np.testing.assert_array_equal(loaded.predict(frame), km.labels_)
    assert loaded.profiles_ == km.profiles_
    assert loaded.get_params()["n_init"] == 3


def lloyd_in_memory(frame, options, kernel):
    """Seeds from the rows that are kept, then Lloyd's iterations on all, in memory."""
    model = kernel.model_
    bins = Binned(model.types, model.categorical_features, model.bins, model.typical)
    plan = plan_rows(kernel.matching, bins.n_bins, len(frame), 0)
    kept = summarize_rows(frame, bins, plan)
    assert kept.sampled
    assert len(kept.rows) == row_summary.SAMPLE
    order = np.lexsort(kept.rows.T[::-1])  # as in a table in memory
    coded = model.take_codes(CodedTable.of_rows(kept.rows[order]))
    seed = np.random.RandomState(options["random_state"]).randint(2**31)
    first = best_clustering(
        gather_rows(represent(kernel, coded), kept.counts[order]),
        options["n_clusters"], options["n_init"], 300, 1e-4, seed,
    )  # fmt: skip
    rows = gather_rows(represent(kernel, frame), np.ones(len(frame)))
    return rows, first, iterate(rows, first.centers, 300, 1e-4 * rows.variance())


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 7, 25])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("persist", [False, True])
def test_a_sample_only_gives_the_seeds(monkeypatch, frame, n_parts, normalize, persist):
    monkeypatch.setattr(row_summary, "SAMPLE", 60)
    kernel = ProximityKernel(normalize=normalize)
    options = {"n_clusters": 4, "n_init": 2, "random_state": 0}
    parts = [*cut(frame, n_parts), frame[:0]]
    got = DaskProximityKMeans(**options, kernel=kernel, persist=persist)
    got.fit(as_dask(parts))
    rows, first, found = lloyd_in_memory(frame, options, got.kernel_)
    sizes = np.bincount(found.labels)
    order = np.argsort(-sizes, kind="stable")
    np.testing.assert_allclose(got.cluster_centers_, found.centers[order], atol=1e-5)
    labels = np.argsort(order)[found.labels]
    np.testing.assert_array_equal(got.labels_.compute(), labels)
    assert got.inertia_ == pytest.approx(found.inertia, rel=1e-6)
    assert got.n_iter_ > first.n_iter
    model = got.kernel_.model_
    labels = labels.astype(np.int32)
    totals = total_bins(model, rows, labels, 4)
    sizes = np.bincount(labels, rows.counts, 4)
    wanted = describe_clusters(model, totals, sizes)
    assert len(got.profiles_) == len(wanted)
    for one_, other in zip(got.profiles_, wanted, strict=True):
        assert one_.keys() == other.keys()
        assert {k: v for k, v in one_.items() if isinstance(v, str | int)} == {
            k: v for k, v in other.items() if isinstance(v, str | int)
        }
        assert one_["share"] == pytest.approx(other["share"], rel=1e-6)
        assert one_["lift"] == pytest.approx(other["lift"], rel=1e-6)


def test_what_is_persisted_is_not_read_again(monkeypatch, frame, tmp_path):
    monkeypatch.setattr(row_summary, "SAMPLE", 60)
    reads = {}
    for persist in (True, False):
        folder = tmp_path / str(persist)
        folder.mkdir()
        X = from_source(cut(frame, 3), read_and_note, folder)
        got = DaskProximityKMeans(3, n_init=1, random_state=0)
        got.set_params(persist=persist).fit(X)
        reads[persist] = len(notes_of(folder, 0))
        got.labels_.compute()
        assert len(notes_of(folder, 0)) == reads[persist] + 1
    assert reads[True] == 3  # two passes of the fit, and the representation
    assert reads[False] > 4


def test_arrays_and_known_sizes():
    numbers = np.random.default_rng(0).normal(size=(40, 2))
    got = DaskProximityKMeans(2, random_state=0).fit(da.from_array(numbers, (9, 1)))
    assert got.labels_.chunks == ((9, 9, 9, 9, 4),)
    assert got.n_features_in_ == 2
    assert not hasattr(got, "feature_names_in_")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_clusters": "many"}, ["n_clusters", "'auto'"]),
        ({"n_clusters": 0}, ["n_clusters"]),
        ({"n_clusters": 10_000}, ["n_clusters=10000", "900 samples"]),
        ({"tol": -1}, ["tol"]),
        ({"max_iter": 0}, ["max_iter"]),
        ({"persist": "yes"}, ["persist"]),
        ({"kernel": 3}, ["kernel", "ProximityKernel"]),
    ],
)
def test_bad_options(frame, options, words):
    with raises_naming(ValueError, *words):
        DaskProximityKMeans(**options).fit(as_dask([frame]))


def test_the_number_of_clusters_is_that_of_the_table_in_memory(frame):
    here = ProximityKMeans(random_state=0).fit(frame)
    got = DaskProximityKMeans(random_state=0).fit(as_dask(cut(frame, 7)))
    assert got.stability_ == here.stability_
    assert got.cluster_centers_.tobytes() == here.cluster_centers_.tobytes()


def test_bad_tables(frame):
    with pytest.raises(NotFittedError):
        clone(DaskProximityKMeans()).predict(as_dask([frame]))
    empty = as_dask([one([None] * 3, object)[["a"]]])
    with (
        pytest.warns(UserWarning, match="column 'a'") as caught,
        pytest.raises(ValueError, match="nothing to cluster"),
    ):
        DaskProximityKMeans(2).fit(empty)
    assert caught[0].filename == __file__
    same = as_dask([one([1.0, 1.0, 1.0])[["a"]]])
    with pytest.warns(ConvergenceWarning, match="1 of the 2 clusters") as caught:
        DaskProximityKMeans(2, random_state=0).fit(same)
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_none_is_no_table(frame):
    km = DaskProximityKMeans(2, random_state=0).fit(as_dask([frame]))
    with pytest.raises(TypeError, match="got NoneType"):
        km.predict(None).compute()
