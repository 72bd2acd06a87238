"""Partitions, however many and in whatever order: the answers of one table."""

import pickle
import sys

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from partitions import as_dask, from_source, notes_of, one, read_and_note
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from strategies import (
    GRADES,
    assert_same_bits,
    assert_same_model,
    cut,
    mixed_table,
    raises_naming,
)

from proximity_kernel import ProximityKernel
from proximity_kernel import _bin_summary as quantile_sketch
from proximity_kernel import _row_summary as row_summary
from proximity_kernel.dask import DaskProximityKernel
from proximity_kernel.dask.partitions import Shared

pytestmark = pytest.mark.usefixtures("in_this_thread")


@pytest.fixture
def frame():
    return mixed_table(120, 4, 0.3, seed=6)


@pytest.mark.parametrize("n_parts", [1, 2, 7, 50])
@pytest.mark.parametrize("most", [10_000, 100])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_however_the_table_is_cut(monkeypatch, n_parts, most, scheduler):
    monkeypatch.setattr(row_summary, "SAMPLE", most)
    frame = mixed_table(1500, 7, 0.2, seed=4)
    frame.loc[frame.index % 5 == 0, ["col1", "col5"]] = None  # an event
    parts = cut(frame, n_parts, np.random.RandomState(n_parts))
    pk = ProximityKernel(random_state=3).fit(frame)
    got = DaskProximityKernel(ProximityKernel(random_state=3))
    with dask.config.set(scheduler=scheduler):
        Z = got.fit_transform(as_dask(parts)).compute()
    assert_same_model(got.kernel_, pk)
    assert_same_bits(Z, pk.transform(pd.concat(parts)))
    assert got.n_features_in_ == 7
    assert got.feature_names_in_.tolist() == list(frame.columns)


def test_values_beyond_the_limit_go_through_sketches(monkeypatch):
    monkeypatch.setattr(quantile_sketch, "LIMIT", 500)
    monkeypatch.setattr(quantile_sketch, "WIDTH", 256)
    values = np.random.default_rng(0).lognormal(size=(20_000, 2))
    X = da.from_array(values, chunks=(1_300, 2))
    got = DaskProximityKernel(ProximityKernel(n_bins=5)).fit(X).kernel_
    exact = ProximityKernel(n_bins=5).fit(values)
    ranks = np.sort(values, axis=0)
    for j in range(2):
        assert got.bin_centers_[j].tobytes() != exact.bin_centers_[j].tobytes()
        pair = (got.bin_centers_[j], exact.bin_centers_[j])
        places, wanted = (np.searchsorted(ranks[:, j], c) for c in pair)
        # levels / (WIDTH - 1) for each of the merges' halvings, at the most
        assert np.abs(places - wanted).max() <= 20_000 * 8 / 255
    again = DaskProximityKernel(ProximityKernel(n_bins=5)).fit(X).kernel_
    assert_same_model(again, got)


# ------------------------------------------------------------- arrays, and types


@pytest.mark.parametrize("chunks", [(50, 3), (7, 2), ((13, 0, 37), (1, 2))])
def test_arrays(chunks):
    numbers = np.round(np.random.default_rng(0).normal(size=(50, 3)), 1)
    numbers[::4, 1] = np.nan
    X = da.from_array(numbers, chunks=(5, 3)).rechunk(chunks)
    pk = ProximityKernel(3).fit(numbers)
    got = DaskProximityKernel(ProximityKernel(3))
    Z = got.fit_transform(X)
    assert_same_model(got.kernel_, pk)
    assert Z.shape == (50, pk.transform(numbers).shape[1])
    assert Z.chunks[0] == X.chunks[0]
    assert_same_bits(Z.compute(), pk.transform(numbers))
    assert_same_bits(Z[3:20].compute(), pk.transform(numbers[3:20]))


def test_arrays_of_unknown_sizes():
    numbers = np.round(np.random.default_rng(0).normal(size=(50, 4)), 1)
    X = da.from_array(numbers, chunks=(9, 2))
    X = X[X[:, 0] > 0]
    kept = numbers[numbers[:, 0] > 0]
    got = DaskProximityKernel()
    Z = got.fit_transform(X)
    assert np.isnan(Z.shape[0])
    pk = ProximityKernel().fit(kept)
    assert_same_model(got.kernel_, pk)
    assert_same_bits(Z.compute(), pk.transform(kept))
    assert Z.compute_chunk_sizes().shape[0] == len(kept)
    frame = dd.from_pandas(pd.DataFrame(numbers), npartitions=3)
    pk = ProximityKernel().fit(numbers)
    blocks = frame.to_dask_array()
    narrow = blocks.map_blocks(lambda b: b, chunks=(blocks.chunks[0], (np.nan,)))
    for unknown in (blocks, narrow):
        assert_same_model(DaskProximityKernel().fit(unknown).kernel_, pk)


def test_arrays_of_objects_and_masked_ones():
    cells = np.array([[1.0, "a"], [None, "b"], [2.5, None], [1.0, "a"]], object)
    got = DaskProximityKernel().fit(da.from_array(cells, chunks=(2, 2)))
    assert_same_model(got.kernel_, ProximityKernel().fit(cells))
    masked = np.ma.masked_equal(np.arange(12).reshape(6, 2) % 5, 3)
    got = DaskProximityKernel().fit(da.from_array(masked, chunks=(4, 2)))
    assert_same_model(got.kernel_, ProximityKernel().fit(masked))


def test_unknown_divisions_and_empty_partitions(frame):
    parts = [frame[:0], frame[:40], frame[:0], frame[40:], frame[:0]]
    X = as_dask(parts)
    assert not X.known_divisions
    pk = ProximityKernel().fit(frame)
    for sparse in (True, False):
        got = DaskProximityKernel(ProximityKernel(sparse_output=sparse)).fit(X)
        Z = got.transform(X).compute()
        assert_same_bits(sp.csr_matrix(Z), pk.transform(frame))
    assert got.kernel(X, frame[:3]).compute().shape == (120, 3)
    nothing = got.transform(as_dask([frame[:0]]))
    assert nothing.compute().shape == (0, Z.shape[1])
    few = X[X["col3"] > 2]
    Z = got.transform(few).compute()
    assert_same_bits(sp.csr_matrix(Z), pk.transform(frame[frame["col3"] > 2]))
    with pytest.raises(ValueError, match="No batch has a row"):
        DaskProximityKernel().fit(as_dask([frame[:0], frame[:0]]))


EMPTIES = [
    one([None, None], object),
    one([np.nan, np.nan], "float64"),
    one([None, None], "str"),
    one([None, None], GRADES),
]
FULLS = [
    one(["x", None, "y"], "str"),
    one([1, 2, 5], "int64"),
    one([True, False, None], "boolean"),
    one(["low", "top", None], GRADES),
    one(pd.to_datetime(["2020-01-01", "2021-01-01", None])),
]


@pytest.mark.parametrize("full", FULLS, ids=lambda f: str(f["a"].dtype))
def test_a_partition_in_which_a_column_is_all_missing(full):
    whole = pd.concat([full, full.iloc[:2].assign(a=full["a"].iloc[:0])])
    if full["a"].dtype != "int64":
        whole["a"] = whole["a"].astype(full["a"].dtype)
    pk = ProximityKernel(2).fit(whole)
    for empty in EMPTIES:
        for parts in ([empty, full], [full, empty]):
            got = DaskProximityKernel(ProximityKernel(2))
            Z = got.fit_transform(as_dask(parts)).compute()
            assert_same_model(got.kernel_, pk)
            rows = whole.iloc[[3, 4, 0, 1, 2]] if parts[0] is empty else whole
            assert_same_bits(Z, pk.transform(rows))


def test_categories_of_one_partition_only():
    parts = [
        one(["b", "a", "b"], "category"),
        one(["c", None], "category"),
        one(["a"], "str"),
        one(["d"], object),
    ]
    got = DaskProximityKernel().fit(as_dask(parts))
    assert got.kernel_.categories_[0].tolist() == ["a", "b", "c", "d"]
    X = dd.from_pandas(pd.concat(parts[:2] * 5, ignore_index=True), npartitions=4)
    X["a"] = X["a"].astype("category")
    assert not X["a"].cat.known
    got = DaskProximityKernel()
    Z = got.fit_transform(X)
    pk = ProximityKernel().fit(X.compute())
    assert_same_model(got.kernel_, pk)
    assert_same_bits(Z.compute(), pk.transform(X.compute()))


def test_numbers_of_several_dtypes():
    parts = [one([1, 2], "int64"), one([2.5, np.nan]), one([True, False])]
    got = DaskProximityKernel(ProximityKernel(3)).fit(as_dask(parts))
    assert got.kernel_.bin_centers_[0].tolist() == [0, 1, 2.5]


OTHER_GRADES = pd.CategoricalDtype(["top", "high", "mid", "low"], ordered=True)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([one([1.0]), one(["x"])], ["column 'a'", "numbers", "text"]),
        ([one([1.0]), one([pd.Timestamp(0)])], ["column 'a'", "dates", "numbers"]),
        ([one(["low"], GRADES), one(["low"], OTHER_GRADES)], ["'a'", "order", "top"]),
        ([one([1]), one([1]).rename(columns={"b": "c"})], ["'?c'?", "'?b'?"]),
        ([one([1.0]), one([[1, 2]], object)], ["column 'a'"]),
        ([one([1.0]), one([np.inf])], ["column 'a'", "inf"]),
    ],
)
def test_partitions_that_do_not_agree(parts, words):
    for order in (parts, parts[::-1]):
        with raises_naming((ValueError, TypeError), *words):
            DaskProximityKernel().fit(as_dask(order))


# ------------------------------------------------------------- transform and kernel


def test_nothing_is_read_before_it_is_asked_for(frame, tmp_path):
    parts = cut(frame, 3)
    X = from_source(parts, read_and_note, tmp_path)
    got = DaskProximityKernel()
    assert not notes_of(tmp_path, 0)
    got.fit(X)
    assert [len(notes_of(tmp_path, i)) for i in range(4)] == [2, 2, 2, 0]
    Z, K = got.transform(X), got.kernel(X, frame[:2])
    assert len(notes_of(tmp_path, 0)) == 2
    Z.blocks[1].compute()
    assert [len(notes_of(tmp_path, i)) for i in range(3)] == [2, 3, 2]
    K.compute()
    assert [len(notes_of(tmp_path, i)) for i in range(3)] == [3, 4, 3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_make_of_the_blocks(frame, dtype):
    X = as_dask(cut(frame, 3))
    options = {"dtype": dtype, "normalize": True}
    wanted = ProximityKernel(**options).fit_transform(frame)
    got = DaskProximityKernel(ProximityKernel(**options)).fit(X)
    makes = [("spmatrix", sp.csr_matrix), ("sparray", sp.csr_array)]
    for name, make in makes[: 2 if "sparse_interface" in sklearn.get_config() else 1]:
        with sklearn.config_context(**({"sparse_interface": name} if name else {})):
            Z = got.transform(X)
        assert type(Z._meta) is make
        assert Z.dtype == dtype
        assert type(Z.compute()) is make
        assert_same_bits(sp.csr_matrix(Z.compute()), wanted)
    got.kernel_.set_params(sparse_output=False)
    dense = got.transform(X)
    assert isinstance(dense._meta, np.ndarray)
    np.testing.assert_array_equal(dense.compute(), wanted.toarray())


def test_the_kernel_against_a_small_table(frame):
    small = frame.sample(9, random_state=0)
    got = DaskProximityKernel().fit(as_dask(cut(frame, 4)))
    K = got.kernel(as_dask(cut(frame, 7)), small)
    assert K.dtype == np.float32
    np.testing.assert_allclose(
        K.compute(), ProximityKernel().fit(frame).kernel(frame, small), atol=1e-6
    )
    with raises_naming(TypeError, "Y", "in memory", "compute"):
        got.kernel(as_dask([frame]), as_dask([small]))
    with pytest.raises(ValueError, match="feature names should match") as caught:
        got.kernel(as_dask([frame]), small.rename(columns={"col0": "other"}))
    assert "Y" in caught.value.__notes__[0]


def test_other_columns_are_refused_before_anything_is_computed(frame, tmp_path):
    got = DaskProximityKernel().fit(as_dask(cut(frame, 4)))
    with pytest.raises(ValueError, match="order"):
        got.transform(as_dask(cut(frame[frame.columns[::-1]], 4)))
    other = frame.rename(columns={"col0": "other"})
    for call in (
        got.transform,
        lambda X: got.kernel(X, frame[:2]),
        lambda X: got.kneighbors(X, frame[:2]),
        lambda X: got.to_parquet(X, tmp_path / "new" / "z"),
    ):
        for X in (as_dask(cut(other, 4)), other, pa.Table.from_pandas(other)):
            with raises_naming(ValueError, "missing: 'col0'", "unexpected: 'other'"):
                call(X)
        with raises_naming(ValueError, "2 features", str(frame.shape[1])):
            call(da.ones((4, 2)))
    assert not list(tmp_path.iterdir())


def test_arrow_in_memory(frame):
    table = pa.Table.from_pandas(frame)
    got = DaskProximityKernel().fit(table)
    assert_same_bits(got.transform(table).compute(), got.kernel_.transform(table))


def test_a_table_in_memory_is_one_partition(frame):
    got = DaskProximityKernel()
    Z = got.fit_transform(frame)
    assert Z.numblocks == (1, 1)
    assert Z.shape[0] == 120
    assert_same_bits(Z.compute(), ProximityKernel().fit_transform(frame))
    rows = [[1.0, "a"], [None, "b"]]
    assert_same_model(
        DaskProximityKernel().fit(rows).kernel_, ProximityKernel().fit(rows)
    )


def test_what_is_fitted_is_an_ordinary_kernel(frame, tmp_path):
    got = DaskProximityKernel().fit(as_dask(cut(frame, 4)))
    got.kernel_.save(tmp_path / "model.npz")
    pk = ProximityKernel().fit(frame)
    assert_same_bits(
        ProximityKernel.load(tmp_path / "model.npz").transform(frame),
        pk.transform(frame),
    )
    np.testing.assert_array_equal(got.kernel_.kernel(frame), pk.kernel(frame))
    np.testing.assert_array_equal(got.kernel_.provenance(frame), pk.provenance(frame))
    assert got.get_feature_names_out().tolist() == pk.get_feature_names_out().tolist()
    assert got.kernel_.n_jobs is None
    loaded = DaskProximityKernel()
    loaded.kernel_ = ProximityKernel.load(tmp_path / "model.npz")
    Z = loaded.transform(as_dask(cut(frame, 3)))
    assert_same_bits(Z.compute(), pk.transform(frame))


def test_a_column_without_values_is_warned_of_at_the_call():
    X = as_dask([one([None], object), one([np.nan])])
    with pytest.warns(UserWarning, match="column 'a'") as caught:
        DaskProximityKernel().fit(X)
    assert caught[0].filename == __file__


def test_a_fit_that_fails_leaves_the_old_model(frame):
    got = DaskProximityKernel().fit(as_dask(cut(frame, 2)))
    before = got.kernel_
    with pytest.raises(ValueError, match="column 'a'"):
        got.fit(as_dask([one([1.0]), one(["x"])]))
    assert got.kernel_ is before
    assert got.n_features_in_ == 4


def test_a_source_that_changes_its_mind_is_noticed(frame):
    rng = np.random.default_rng(0)
    source = dask.delayed(lambda: frame.sample(rng.integers(50, 100)), pure=False)
    X = dd.from_delayed([source() for _ in range(3)], meta=frame[:0])
    with raises_naming(ValueError, "different rows", "persist"):
        DaskProximityKernel().fit(X)


# -------------------------------------------------------------------- bad input


def test_what_is_no_table_is_refused(frame):
    X = dd.from_pandas(frame, npartitions=2)
    for odd, word in [
        (X["col0"], "Series"),
        (da.ones(5), "Array of 1 dim"),
        (da.ones((2, 3, 4)), "Array of 3 dim"),
        (dask.delayed(frame), "Delayed"),
        (dask.bag.from_sequence([1, 2]), "Bag"),
    ]:
        with raises_naming(TypeError, "dask DataFrame", word):
            DaskProximityKernel().fit(odd)
    with raises_naming(ValueError, "estimator", "ProximityKernel"):
        DaskProximityKernel("kernel").fit(X)
    with raises_naming(ValueError, "n_bins"):
        DaskProximityKernel(ProximityKernel(1)).fit(X)
    for method in ("transform", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(DaskProximityKernel(), method)(X)


def test_what_is_shared_is_built_when_it_is_used(frame):
    pk = ProximityKernel().fit(frame)
    here = Shared(pk)
    assert here.get() is pk
    received = pickle.loads(pickle.dumps(here))
    passed_on = pickle.loads(pickle.dumps(received))  # unopened
    for there in (received, passed_on, pickle.loads(pickle.dumps(passed_on))):
        assert there.get() is there.get()
        assert_same_model(there.get(), pk)


def test_it_is_a_scikit_learn_estimator():
    got = DaskProximityKernel(ProximityKernel(3)).set_params(estimator__n_bins=5)
    assert clone(got).estimator.n_bins == 5


def test_without_the_extra(frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with raises_naming(ImportError, "dask", r"\.\[dask\]"):
        DaskProximityKernel().fit(frame)
