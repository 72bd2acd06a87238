"""Tables that are not held yet, and single rows: the answers of the frame they are."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from strategies import assert_same_bits, mixed_table, raises_naming

from proximity_kernel import (
    ProximityImputer,
    ProximityKernel,
    ProximityKMeans,
    ProximityKNNClassifier,
    ProximityNeighbors,
    ProximityOutliers,
    explain,
)


@pytest.fixture(scope="module")
def frame():
    return mixed_table(80, 5, 0.2, seed=2)


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def relation(frame):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    return duckdb.from_arrow(arrow(frame))


def expression(frame):
    pytest.importorskip("duckdb", reason="duckdb is not installed")
    ibis = pytest.importorskip("ibis", reason="ibis is not installed")
    return ibis.memtable(arrow(frame))


STREAMS = [
    pytest.param(lambda frame: arrow(frame).to_reader(), id="reader"),
    pytest.param(lambda frame: arrow(frame).to_batches()[0], id="record batch"),
    pytest.param(relation, id="duckdb"),
    pytest.param(expression, id="ibis"),
]


@pytest.mark.parametrize("make", STREAMS)
def test_every_estimator_reads_a_stream_once(frame, make):
    table, y = arrow(frame), np.arange(len(frame)) % 2
    pk, wanted = ProximityKernel().fit(make(frame)), ProximityKernel().fit(table)
    assert list(pk.feature_names_in_) == list(frame.columns)
    assert_same_bits(pk.transform(make(frame)), wanted.transform(table))
    assert_same_bits(ProximityKernel().fit_transform(make(frame)), pk.transform(table))
    assert_same_bits(pk.kernel(make(frame), make(frame)), wanted.kernel(table))
    imputer = ProximityImputer(add_indicator=True, random_state=0)
    filled = imputer.fit_transform(make(frame)), imputer.fit_transform(table)
    drawn = imputer.draw(make(frame), 1)[0], imputer.draw(table, 1)[0]
    for got, right in (filled, drawn):
        assert got.to_pylist() == right.to_pylist()
    for estimator, method in (
        (ProximityKMeans(2, random_state=0), "predict"),
        (ProximityNeighbors(2), "kneighbors"),
        (ProximityOutliers(), "score_samples"),
        (ProximityKNNClassifier(2), "predict"),
    ):
        answer = getattr(estimator.fit(make(frame), y), method)(make(frame))
        right = getattr(estimator.fit(table, y), method)(table)
        np.testing.assert_array_equal(np.asarray(answer), np.asarray(right))


def test_record_batches_are_batches(frame):
    table = arrow(frame)
    batches = table.to_batches(max_chunksize=30)
    pk = ProximityKernel().fit_batches(batches)
    assert_same_bits(pk.transform(table), ProximityKernel().fit(table).transform(table))


def test_a_series_is_one_row(frame):
    pk = ProximityKernel().fit(frame)
    near = ProximityNeighbors(3).fit(frame)
    imputer = ProximityImputer().fit(frame)
    for i in range(10):
        row = frame.iloc[i]
        assert_same_bits(pk.transform(row), pk.transform(frame[i : i + 1]))
        assert near.kneighbors(row)[1].tolist() == [
            near.kneighbors(frame)[1][i].tolist()
        ]
        assert imputer.transform(row).shape == (1, frame.shape[1])
    assert explain(pk, frame.iloc[0], frame.iloc[1]) is not None


def test_a_series_that_is_no_row_is_refused(frame):
    pk = ProximityKernel().fit(frame)
    for wrong in (frame["col0"], frame.iloc[0].iloc[::-1], pl.Series([1.0, 2.0])):
        with raises_naming(ValueError, "Expected 2D"):
            pk.transform(wrong)
    with raises_naming(ValueError, "Expected 2D"):
        ProximityKernel().fit(frame.iloc[0])


def test_lazy_tables_are_told_the_call_of_their_library(frame):
    with raises_naming(TypeError, "is lazy", r"call \.collect\(\)"):
        ProximityKernel().fit(pl.from_pandas(frame).lazy())
    dask = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    with raises_naming(TypeError, "is lazy", r"call \.compute\(\)"):
        ProximityKernel().fit(dask.from_pandas(pd.DataFrame({"a": [1.0]}), 1))
