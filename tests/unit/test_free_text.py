"""Text that mostly differs is compared as categories, and the user is told so."""

import warnings

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from proximity_kernel import (
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
)
from proximity_kernel.cli import main
from proximity_kernel.dask import DaskProximityKernel, DaskProximityKMeans

ADVICE = "to_datetime.*to_numeric.*drop ids.*categorical_features"


def people(n=60, different=60):
    """A column of dates as text, a text with few values, and a number."""
    days = pd.date_range("2020-01-01", periods=different).strftime("%Y-%m-%d")
    return pd.DataFrame(
        {
            "since": np.resize(np.array(days, dtype=object), n),
            "ward": np.resize(np.array(["a", "b", None], dtype=object), n),
            "age": np.arange(n, dtype=float),
        }
    )


def told(fit, *arguments):
    """The warnings of a call, each of which must be about this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*arguments)
    assert all(one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    "make",
    [
        lambda frame: frame,
        lambda frame: frame.astype({"since": "str"}),
        lambda frame: frame.astype({"since": "string[pyarrow]"}),
        pl.from_pandas,
        pa.Table.from_pandas,
    ],
)
def test_frames(make):
    (message,) = told(ProximityKernel().fit, make(people()))
    assert "column 'since' (60 of 60)" in message
    assert "ward" not in message
    assert pd.Series([message]).str.contains(ADVICE).all()


def test_rows_and_arrays():
    rows = people().astype(object).to_numpy()
    for table in (rows, rows.tolist()):
        (message,) = told(ProximityKernel().fit, table)
        assert "column 0 (60 of 60)" in message


@pytest.mark.parametrize(
    ("n", "different", "gaps", "expected"),
    [
        (50, 50, 0, "(50 of 50)"),
        (49, 49, 0, None),
        (60, 50, 11, None),  # 49 observed
        (100, 51, 0, "(51 of 100)"),
        (100, 50, 0, None),  # half
        (150, 51, 50, "(51 of 100)"),  # gaps do not count
        (1000, 900, 0, "(900 of 1,000)"),  # most share a bin
    ],
)
def test_more_than_half_of_fifty_observed(n, different, gaps, expected):
    frame = people(n, different)
    frame.loc[n - gaps :, "since"] = None
    for missingness in ("ignorable", "informative"):
        said = told(ProximityKernel(missingness=missingness).fit, frame)
        assert len(said) == (expected is not None)
        assert expected is None or expected in said[0]


@pytest.mark.parametrize("dtype", ["category", pd.CategoricalDtype(ordered=True)])
def test_categories_by_dtype_are_meant_so(dtype):
    frame = people()
    frame["since"] = frame["since"].astype(dtype)
    for table in (frame, pa.Table.from_pandas(frame)):
        assert told(ProximityKernel().fit, table) == []
    assert (
        told(
            ProximityKernel().fit,
            pl.from_pandas(people()).cast({"since": pl.Categorical}),
        )
        == []
    )


@pytest.mark.parametrize("asked", [["since"], [0], [True, False, False]])
def test_named_ones_are_meant_so(asked):
    pk = ProximityKernel(categorical_features=asked)
    for table in (people(), pl.from_pandas(people())):
        assert told(pk.fit, table) == []
    assert told(pk.fit_batches, [people()[:20], people()[20:]]) == []


def test_what_was_advised_is_silent():
    frame = people()
    frame["since"] = pd.to_datetime(frame["since"])
    assert told(ProximityKernel().fit, frame) == []
    assert told(ProximityKernel().fit, frame.assign(since=frame["age"])) == []


def test_one_warning_names_five():
    frame = pd.DataFrame({f"id{j}": people()["since"] for j in range(8)})
    (message,) = told(ProximityKernel().fit, frame)
    assert "'id4' (60 of 60) and 3 more" in message
    assert "'id5'" not in message


@pytest.mark.parametrize(
    "estimator",
    [
        ProximityKernel(),
        ProximityKernel(matching="cascade"),
        ProximityKMeans(2, random_state=0),
        ProximityNeighbors(3),
        ProximityOutliers(),
        DaskProximityKernel(),
        DaskProximityKMeans(2, random_state=0),
    ],
)
def test_every_estimator_says_it_of_the_callers_line(estimator):
    with dask.config.set(scheduler="synchronous"):
        (message,) = told(estimator.fit, people())
    assert "'since' (60 of 60)" in message


def test_batches_and_partitions_together():
    frame = people(90)
    parts = [frame[:30], frame[30:60], frame[60:]]  # too few in each
    for call in (
        lambda: ProximityKernel().fit_transform(frame),
        lambda: ProximityKMeans(2, random_state=0).fit_predict(frame),
        lambda: ProximityOutliers().fit_predict(frame),
        lambda: make_pipeline(ProximityKernel(), MaxAbsScaler()).fit(frame),
        lambda: ProximityKernel().fit_batches(parts),
        lambda: DaskProximityKernel().fit(dd.from_pandas(frame, npartitions=3)),
    ):
        with dask.config.set(scheduler="synchronous"):
            (message,) = told(call)
        assert "'since' (60 of 90)" in message


def test_new_rows_are_not_judged():
    with pytest.warns(UserWarning, match="Most strings are distinct"):
        pk = ProximityKernel().fit(people())
    assert told(pk.transform, people()) == []


def test_the_command_line_has_its_own_words(tmp_path, capsys):
    path = tmp_path / "notes.csv"
    frame = people().assign(note=[f"wrote {i} words" for i in range(60)])
    frame.to_csv(path, index=False)
    for more in ([], ["--categorical", "note"]):
        out = tmp_path / "out.csv"
        command = ["cluster", str(path), "-k", "2", "-o", str(out), *more]
        assert main(command) == 0
        assert "Most strings are distinct" not in capsys.readouterr().err
        out.unlink()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_batch_of_text_is_enough(order):
    text = people()
    batches = [text[:30], text[30:].astype({"since": "category"})]
    assert told(ProximityKernel().fit_batches, [batches[i] for i in order])
