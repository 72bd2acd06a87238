"""Outliers of partitions: those of the whole table."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from partitions import as_dask
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from strategies import cut, mixed_table

from proximity_kernel import ProximityKernel, ProximityOutliers
from proximity_kernel.dask import DaskProximityOutliers

pytestmark = pytest.mark.usefixtures("in_this_thread")


@pytest.fixture(scope="module")
def frame():
    """A table with one wrong number."""
    table = mixed_table(900, 5, 0.2, seed=2)
    number = table.select_dtypes("number").columns[0]
    table.loc[table.index[5], number] = 1e6
    return table


@pytest.mark.parametrize("n_parts", [1, 2, 7, 50])
@pytest.mark.parametrize("contamination", ["auto", 0.03])
def test_scores_and_limit_are_those_of_the_table(frame, n_parts, contamination):
    parts = [frame[:0], *cut(frame, n_parts, np.random.RandomState(0)), frame[:0]]
    whole = pd.concat(parts)
    odd = ProximityOutliers(contamination=contamination).fit(whole)
    got = DaskProximityOutliers(contamination=contamination).fit(as_dask(parts))
    assert got.outliers_.offset_ == odd.offset_
    assert got.outliers_.expected_false_alarms_ == odd.expected_false_alarms_
    assert got.feature_names_in_.tolist() == list(frame.columns)
    X = as_dask(parts)
    scores = got.score_samples(X).compute()
    assert scores.tobytes() == odd.score_samples(whole).tobytes()
    cells = got.score_cells(X).compute()
    np.testing.assert_array_equal(cells, odd.score_cells(whole).to_numpy())
    found = got.predict(X)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found.compute(), odd.predict(whole))
    assert (found.compute() < 0).any()


def test_options_of_the_kernel_are_used(frame):
    kernel = ProximityKernel(5)
    odd = ProximityOutliers(kernel=kernel).fit(frame)
    got = DaskProximityOutliers(kernel=kernel).fit(as_dask(cut(frame, 3)))
    assert got.outliers_.offset_ == odd.offset_
    assert got.outliers_.offset_ != ProximityOutliers().fit(frame).offset_
    assert not hasattr(kernel, "model_")


def test_arrays_and_tables_in_memory():
    numbers = np.random.default_rng(0).normal(size=(60, 3))
    odd = ProximityOutliers().fit(numbers)
    for X in (numbers, da.from_array(numbers, (9, 1))):
        got = DaskProximityOutliers().fit(X)
        np.testing.assert_array_equal(
            got.score_samples(X).compute(), odd.score_samples(numbers)
        )


def test_it_saves_and_gives_reasons_by_the_estimator_in_memory(frame, tmp_path):
    got = DaskProximityOutliers().fit(as_dask(cut(frame, 3)))
    got.outliers_.save(tmp_path / "odd.pk")
    loaded = ProximityOutliers.load(tmp_path / "odd.pk")
    assert loaded.reasons(frame) == ProximityOutliers().fit(frame).reasons(frame)


def test_bad_use_is_named(frame):
    X = as_dask([frame])
    with pytest.raises(NotFittedError):
        clone(DaskProximityOutliers()).predict(X)
    with pytest.raises(ValueError, match="contamination"):
        DaskProximityOutliers(contamination=0.7).fit(X)
    with pytest.raises(ValueError, match="matching='pairwise'"):
        DaskProximityOutliers(kernel=ProximityKernel(matching="cascade")).fit(X)
    frozen = FrozenEstimator(ProximityKernel().fit(frame))
    with pytest.raises(ValueError, match="FrozenEstimator"):
        DaskProximityOutliers(kernel=frozen).fit(X)
    with pytest.raises(ValueError, match="column"):
        DaskProximityOutliers().fit(X).predict(as_dask([frame.iloc[:, :2]]))
