"""Columns of typed files that need a second look: decimals, indices, codes, dates."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

from proximity_kernel import ProximityKernel
from proximity_kernel.io import InputError, read_table


def read(path, schema=None, **options):
    return read_table(path, schema=schema, **options)


def test_decimals_times_and_an_index(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame(
        {
            "price": [Decimal("1.50"), None, Decimal("2.25")],
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "kind": pd.Categorical(["b", "a", None], ["b", "a"]),
            "day": [pd.Timestamp("2020-01-01").date()] * 3,
        },
        index=pd.Index(["x", "y", "z"], name="row_name"),
    )
    frame.to_parquet(path)
    table = read(path)
    assert table.ids["row_name"].tolist() == ["x", "y", "z"]
    np.testing.assert_array_equal(table.frame["price"], [1.5, np.nan, 2.25])
    np.testing.assert_array_equal(table.frame["whole"], [1, np.nan, 3])
    np.testing.assert_array_equal(table.frame["maybe"], [1, np.nan, 0])
    assert table.frame["kind"].tolist()[:2] == ["b", "a"]
    assert table.frame["day"][0] == pd.Timestamp("2020-01-01")


def test_numbers_of_half_precision(tmp_path):
    path = tmp_path / "t.arrow"
    half = pa.array(np.array([1.5, 2.5, 1.5], np.float16))
    feather.write_feather(pa.table({"half": half, "other": [1.0, 2.0, 3.0]}), path)
    assert read(path).frame["half"].tolist() == [1.5, 2.5, 1.5]


def test_numbers_and_ranks_as_categories(tmp_path):
    path = tmp_path / "t.parquet"
    order = pd.CategoricalDtype(["low", "high"], ordered=True)
    frame = pd.DataFrame({"code": [1.0, 2.5, None], "n": [1, 2, 3]})
    frame.assign(rank=pd.Series(["low", "high", "low"], dtype=order)).to_parquet(path)
    table = read(path, categorical=("code,n,rank",))
    assert table.frame["code"].cat.categories.tolist() == ["1", "2.5"]
    assert table.frame["n"].tolist() == ["1", "2", "3"]
    assert not table.frame["rank"].cat.ordered


def test_what_is_held_and_what_is_written_are_one_column(tmp_path):
    days = pd.to_datetime(["2020-01-01", "2021-01-01", None])
    rank = pd.Categorical(["a", "b", "a"], ["b", "a"], ordered=True)
    frame = pd.DataFrame({"x": [1.5, 2.5, 9.0], "y": [1, 2, 3], "d": days, "r": rank})
    frame.to_parquet(tmp_path / "a.parquet")
    first = read(tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("x,y,d,r\n1.5,?,2020-06-01,b\n")
    table = read(tmp_path / "b.csv", first.schema)
    assert table.frame["x"][0] == 1.5
    assert np.isnan(table.frame["y"][0])
    assert table.frame["d"][0] == pd.Timestamp("2020-06-01")
    pk = ProximityKernel(n_bins=2).fit(first.frame)
    held = frame.iloc[[1]].assign(x=1.5, y=np.nan, d=table.frame["d"][0])
    np.testing.assert_array_equal(
        pk.kernel(table.frame, first.frame), pk.kernel(held, first.frame)
    )


def test_dates_where_the_model_had_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1.5,2\n2.5,3\n")
    schema = read(tmp_path / "a.csv").schema
    days = pd.to_datetime(["2020-01-01", "2021-01-01"])
    pd.DataFrame({"x": days, "y": [1, 2]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match="'x' holds dates, and numbers in the model"):
        read(tmp_path / "b.parquet", schema)


def test_cells_of_several_kinds_in_excel(tmp_path):
    cells = pd.DataFrame(
        {"a": [1, 2.5, "?", 3], "b": ["x", 7, None, "y"]}, dtype=object
    )
    cells.to_excel(tmp_path / "t.xlsx", index=False)
    table = read(tmp_path / "t.xlsx")
    np.testing.assert_array_equal(table.frame["a"], [1, 2.5, np.nan, 3])
    assert table.frame["b"].tolist()[:2] == ["x", "7"]
    cells.to_excel(tmp_path / "u.xlsx", index=False, header=False)
    table = read(tmp_path / "u.xlsx")
    assert list(table.frame) == ["column_1", "column_2"]
    pd.DataFrame().to_excel(tmp_path / "v.xlsx")
    with pytest.raises(InputError, match="the sheet 'Sheet1' is empty"):
        read(tmp_path / "v.xlsx")
