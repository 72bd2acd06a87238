"""Columns of typed files that need a second look: decimals, indices, codes, dates."""

from datetime import datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from command_line import run_inside
from pyarrow import feather

from proximity_kernel import ProximityKernel
from proximity_kernel.io import InputError, files, open_large_table, read_table


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


# ------------------------------------------------------------- every type of Arrow

DAY = datetime(2020, 1, 1)
CELLS = {
    "uint64": (pa.uint64(), lambda i: 2**63 + i % 5),
    "float16": (pa.float16(), lambda i: np.float16(i % 5)),
    "boolean": (pa.bool_(), lambda i: i % 2 == 0),
    "string": (pa.string(), lambda i: "abc"[i % 3]),
    "string view": (pa.string_view(), lambda i: "abc"[i % 3] * 20),
    "bytes": (pa.binary(), lambda i: b"ab" * (i % 3)),
    "view of bytes": (pa.binary_view(), lambda i: b"abc" * (i % 9)),
    "long decimal": (pa.decimal128(38, 18), lambda i: Decimal(10**19 + i % 7)),
    "longer decimal": (pa.decimal256(60, 10), lambda i: Decimal(10**40 + i % 7)),
    "day": (pa.date32(), lambda i: (DAY + timedelta(i % 9)).date()),
    "day in ms": (pa.date64(), lambda i: (DAY + timedelta(i % 9)).date()),
    "moment": (pa.timestamp("us", "UTC"), lambda i: DAY + timedelta(i % 9)),
    "time": (pa.time32("s"), lambda i: time(i % 5)),
    "time in ns": (pa.time64("ns"), lambda i: 10**12 * (i % 4) + 1),
    "duration": (pa.duration("s"), lambda i: timedelta(hours=i % 6)),
    "nothing": (pa.null(), lambda _: None),
    "list": (pa.list_(pa.string()), lambda i: ["ab"] * (i % 3)),
    "struct": (pa.struct([("a", pa.string())]), lambda i: {"a": "b" * i}),
}  # fmt: skip


def write_typed(path, columns, **options):
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path, **options)
    else:
        with ipc.new_file(
            path, table.schema, options=ipc.IpcWriteOptions(**options)
        ) as w:
            w.write_table(table)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("missing", ["none", "some", "all"])
@pytest.mark.parametrize("name", CELLS)
def test_a_column_of_every_type_is_read_and_kept(tmp_path, name, missing, ending):
    kind, make = CELLS[name]
    absent = {"none": set(), "some": {*range(1, 40, 4)}, "all": {*range(40)}}[missing]
    cells = pa.array([None if i in absent else make(i) for i in range(40)], kind)
    x = [None if i % 5 == 2 else float(i % 9) for i in range(40)]
    columns = {"v": cells, "x": x, "g": ["pqr"[i % 3] for i in range(40)]}
    path = write_typed(tmp_path / f"t.{ending}", columns)
    assert "x" in read_table(path).frame
    assert "v" in read_table(path, categorical="v").source
    assert (
        sum(len(batch.frame) for _, batch in open_large_table(str(path)).read()) == 40
    )
    output = tmp_path / f"filled.{ending}"
    assert run_inside("impute", path, "-o", output) == 0
    filled = feather.read_table(output) if ending == "arrow" else pq.read_table(output)
    pairs = zip(cells.to_pylist(), filled["v"].to_pylist(), strict=True)
    assert all(old is None or old == new for old, new in pairs)


def test_runs_are_read(tmp_path):
    runs = pc.run_end_encode(pa.array([None] * 10 + [1.0] * 15 + [2.0] * 15))
    columns = {"v": runs, "g": ["pqr"[i % 3] for i in range(40)]}
    path = write_typed(tmp_path / "t.arrow", columns)
    assert read_table(path).frame["v"].isna().sum() == 10
    assert run_inside("impute", path, "-o", tmp_path / "filled.arrow") == 0


@pytest.mark.parametrize("ordered", [False, True])
def test_missing_categories_that_are_numbers(tmp_path, ordered):
    cells = pd.Categorical([None] * 30, categories=[1.0, 2.0, 3.0], ordered=ordered)
    frame = pd.DataFrame({"c": cells, "x": np.arange(30) % 7, "g": list("pqr") * 10})
    frame.to_parquet(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet").left_out) == ["c"]
    table = read_table(tmp_path / "t.parquet", categorical="c")
    assert table.schema.columns[0].role == "left out"


# ------------------------------------------------ small files with very large tables

LABEL = "x" * 2**17


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 2**24)


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda n: pa.array([LABEL] * n), id="text"),
        pytest.param(lambda n: pa.array([LABEL.encode()] * n), id="bytes"),
        pytest.param(lambda n: pa.array([[LABEL]] * n), id="list"),
        pytest.param(lambda n: pa.array([{"a": LABEL}] * n), id="struct"),
        pytest.param(lambda n: pa.array([LABEL] * n, pa.string_view()), id="view"),
    ],
)
def test_a_long_text_in_many_rows_is_counted_before_it_is_repeated(tmp_path, make):
    path = write_typed(tmp_path / "t.parquet", {"v": make(600), "x": [1.0, 2, 3] * 200})
    assert path.stat().st_size < 2**17
    before = pa.total_allocated_bytes()
    with pytest.raises(
        InputError, match=r"content is larger than .* in batches"
    ) as got:
        read_table(path)
    assert "xxx" not in str(got.value)
    assert pa.total_allocated_bytes() - before < 2**24


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_constant_rows_are_counted_before_they_are_read(tmp_path, ending):
    columns = {f"c{j}": pa.array(np.zeros(2**18)) for j in range(20)}
    path = write_typed(tmp_path / f"t.{ending}", columns, compression="zstd")
    assert path.stat().st_size < 2**17
    with pytest.raises(InputError, match="content is larger than"):
        read_table(path)


@pytest.mark.usefixtures("small_limit")
def test_runs_of_a_long_text_are_counted(tmp_path):
    runs = pc.run_end_encode(pa.array([LABEL] * 600))
    path = write_typed(tmp_path / "t.arrow", {"v": runs, "x": [1.0, 2, 3] * 200})
    with pytest.raises(InputError, match="content is larger than"):
        read_table(path)


@pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
def test_a_file_of_polars_is_read_and_filled(tmp_path, compression):
    cells = {"a": ["x", "y", None, "y"] * 10, "n": [1.0, 2.0, None, 4.0, 5.0] * 8}
    path, output = tmp_path / "t.arrow", tmp_path / "filled.arrow"
    pl.DataFrame(cells).write_ipc(path, compression=compression)
    assert read_table(path).frame["a"].isna().sum() == 10
    assert run_inside("impute", path, "-o", output) == 0
    assert run_inside("represent", path, "--no-stream", "-o", tmp_path / "z.npz") == 0
    filled = pl.read_ipc(output)
    assert filled["a"].null_count() == filled["n"].null_count() == 0


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("opener", [ipc.new_file, ipc.new_stream])
def test_dictionaries_and_batches_of_arrow_are_counted(tmp_path, opener):
    labels = pa.array([LABEL + str(i) for i in range(200)]).dictionary_encode()
    table = pa.table({"v": labels, "x": np.arange(200) % 7})
    path = tmp_path / "t.arrow"
    options = ipc.IpcWriteOptions(compression="zstd")
    with opener(path, table.schema, options=options) as writer:
        writer.write_table(table)
    assert path.stat().st_size < 2**17
    with pytest.raises(InputError, match="content is larger than"):
        read_table(path)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_days_that_python_does_not_have_are_read(tmp_path, ending):
    days = pa.array([10_000_000, 18_000, None] * 10, pa.int32()).cast(pa.date32())
    columns = {"day": days, "x": np.arange(30) % 7}
    table = read_table(write_typed(tmp_path / f"t.{ending}", columns))
    assert table.frame["day"].isna().sum() == 10


def write_arrow(path, array):
    other = pa.array(range(len(array)))
    feather.write_feather(pa.table({"v": array, "x": other}), path)
    return path


def read_both(path):
    """The frame that is read at once, and the same file read in batches."""
    (_, batch), *_ = open_large_table(str(path)).read()
    return read(path).frame, batch.frame


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", None, "a"], ["b", None, "a", None, "b", None]),
        (["b", "b", "a"], ["b", "b", "a", None, "b", "b"]),
        (["b", None, None], ["b", None, None, None, "b", None]),
    ],
)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_a_dictionary_with_null_and_repeated_values(
    tmp_path, values, expected, ordered, kind
):
    codes = pa.array([0, 1, 2, None, 0, 1], pa.int8())
    made = pa.DictionaryArray.from_arrays(
        codes, pa.array(values, kind), ordered=ordered
    )
    for frame in read_both(write_arrow(tmp_path / "t.arrow", made)):
        cells = frame["v"]
        assert [None if pd.isna(one) else one for one in cells] == expected
        if ordered and "a" in values:
            assert cells.cat.categories.tolist() == ["b", "a"]
            assert cells.cat.ordered


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.5, None, np.nan, 2.5]),
        pa.array(np.array([1.5, np.nan, np.nan, 2.5], np.float16)),
        pa.array([1, 1, None, 2]),
        pa.array([1, 2, None, 3]).cast(pa.time64("ns")),
        pa.array([1, None, 2, 3]).cast(pa.timestamp("s", "Europe/Berlin")),
        pa.array([Decimal("1.5"), None, Decimal("2.5"), Decimal("2.5")]),
        pa.array([[1], None, [2], [2]]),
        pa.nulls(4),
    ],
)
@pytest.mark.parametrize("ordered", [False, True])
def test_dictionaries_of_any_values_are_read(tmp_path, values, ordered):
    codes = pa.array([0, 1, 2, 3, None] * 3, pa.int8())
    made = pa.DictionaryArray.from_arrays(codes, values, ordered=ordered)
    path = write_arrow(tmp_path / "t.arrow", made)
    assert "x" in read(path).frame
    assert "x" in read_both(path)[1]


@pytest.mark.parametrize("zone", ["Mars/Phobos", "GMT+3", "../../etc/passwd", "utc+2"])
@pytest.mark.parametrize("unit", ["s", "ns"])
def test_times_in_an_unknown_zone_are_read_in_utc(tmp_path, zone, unit):
    moments = [datetime(2020, 1, 1 + i) for i in range(9)]
    plain = pa.array(moments, pa.timestamp(unit))
    path = write_arrow(tmp_path / "t.arrow", plain.view(pa.timestamp(unit, zone)))
    for frame in read_both(path):
        assert frame["v"].dt.tz_convert(None).tolist() == moments
    said = f"'v' has an unknown time zone, {zone!r}: in UTC"
    assert said in read(path).assumptions


@pytest.mark.parametrize("seconds", [10**12, -(10**12), 10**17])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_years_that_python_lacks(tmp_path, seconds, zone):
    times = pa.array([10**9, seconds] * 5).view(pa.timestamp("s", zone))
    frame, _ = read_both(write_arrow(tmp_path / "t.arrow", times))
    assert frame["v"].to_numpy("M8[s]").astype(int).tolist() == [10**9, seconds] * 5
