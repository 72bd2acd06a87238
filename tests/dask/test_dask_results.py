"""On dask: neighbors by partitions, and the representation in files."""

import os

import numpy as np
import pandas as pd
import pytest
from partitions import as_dask
from strategies import (
    cut,
    mixed_table,
    raises_naming,
)

from proximity_kernel import ProximityKernel, ProximityNeighbors
from proximity_kernel.dask import DaskProximityKernel

pytestmark = pytest.mark.usefixtures("in_this_thread")


@pytest.fixture
def frame():
    return mixed_table(120, 4, 0.3, seed=6)


# ------------------------------------------------------------------- neighbors


@pytest.mark.parametrize("n_parts", [1, 2, 7, 50])
@pytest.mark.parametrize("k", [1, 5, 40])
def test_neighbors_are_those_of_the_whole_table(n_parts, k):
    frame = mixed_table(300, 3, 0.2, seed=1)  # few columns: many ties
    queries = mixed_table(20, 3, 0.2, seed=1)
    parts = [frame[:0], *cut(frame, n_parts, np.random.RandomState(1)), frame[:0]]
    whole = pd.concat(parts)
    got = DaskProximityKernel().fit(as_dask(parts))
    near = ProximityNeighbors(k, kernel=ProximityKernel("auto")).fit(whole)
    distances, indices = got.kneighbors(as_dask(parts), queries, k)
    wanted, rows = near.kneighbors(queries)
    np.testing.assert_array_equal(indices, rows)
    np.testing.assert_array_equal(distances, wanted)
    assert len(np.unique(wanted)) < wanted.size  # ties there are
    only = got.kneighbors(as_dask(parts), queries, k, return_distance=False)
    np.testing.assert_array_equal(only, rows)


def test_more_neighbors_than_rows(frame):
    got = DaskProximityKernel().fit(as_dask(cut(frame, 3)))
    with pytest.raises(ValueError, match="<= 120, the number of rows of X, got 121"):
        got.kneighbors(as_dask(cut(frame, 3)), frame[:2], 121)
    with raises_naming(TypeError, "queries", "compute"):
        got.kneighbors(frame, as_dask([frame]))


# -------------------------------------------------------------------- Parquet


def test_the_representation_in_files(frame, tmp_path):
    parts = [*cut(frame, 11), frame[:0]]
    got = DaskProximityKernel().fit(as_dask(parts))
    path = tmp_path / "new" / "z.parquet"
    got.to_parquet(as_dask(parts), path)
    assert [p.name for p in path.parent.iterdir()] == ["z.parquet"]
    assert sorted(p.name for p in path.iterdir())[::11] == [
        "part.00000.parquet",
        "part.00011.parquet",
    ]
    back = pd.read_parquet(path)
    wanted = ProximityKernel().fit_transform(frame)
    assert back.columns.tolist() == got.get_feature_names_out().tolist()
    assert (back.dtypes == np.float32).all()
    np.testing.assert_array_equal(back.to_numpy(), wanted.toarray())
    with pytest.raises(FileExistsError, match=r"z\.parquet exists.*overwrite=True"):
        got.to_parquet(as_dask(parts), path)
    got.to_parquet(as_dask(parts[:2]), path, overwrite=True)
    assert len(list(path.iterdir())) == 2
    assert [p.name for p in path.parent.iterdir()] == ["z.parquet"]


def test_files_that_fail_leave_nothing(frame, tmp_path):
    got = DaskProximityKernel().fit(as_dask(cut(frame, 2)))
    broken = as_dask([frame[:60], frame[60:].rename(columns={"col0": "other"})])
    with pytest.raises(ValueError, match="feature names should match"):
        got.to_parquet(broken, tmp_path / "z")
    assert not list(tmp_path.iterdir())
    (tmp_path / "z").write_text("old")
    with pytest.raises(ValueError, match="feature names should match"):
        got.to_parquet(broken, tmp_path / "z", overwrite=True)
    assert (tmp_path / "z").read_text() == "old"
    got.to_parquet(as_dask(cut(frame, 2)), tmp_path / "z", overwrite=True)
    assert len(pd.read_parquet(tmp_path / "z")) == 120


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names here")
def test_a_pipe_is_not_replaced_by_a_folder(frame, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    got = DaskProximityKernel().fit(as_dask(cut(frame, 2)))
    with pytest.raises(FileExistsError, match="is a device or a pipe"):
        got.to_parquet(as_dask(cut(frame, 2)), tmp_path / "pipe", overwrite=True)
    assert (tmp_path / "pipe").is_fifo()
