"""Filled tables keep the types of their columns, in every make of table."""

import copy
import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from strategies import Filler, plain

from proximity_kernel import ProximityImputer


def exact(**options):
    """The paper's rule: rows that match in all cells give exact values."""
    return Filler(plain(matching="cascade", **options))


MAKES = {
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda d: pd.DataFrame(d).convert_dtypes(),
    "pandas, arrow": lambda d: pd.DataFrame(d).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "polars": lambda d: pl.DataFrame(d, strict=False),
    "pyarrow": pa.table,
}  # fmt: skip
DAY = dt.datetime(2020, 1, 1)
COLUMNS = {
    "float": [0.5, 0.5, 8.5, 8.5, None],
    "int": [1, 1, 8, 8, None],
    "bool": [True, True, False, False, None],
    "text": ["a", "a", "b", "b", None],
    "moment": [DAY, DAY, DAY + dt.timedelta(9), DAY + dt.timedelta(9), None],
    "wait": [dt.timedelta(1)] * 2 + [dt.timedelta(9)] * 2 + [None],
    "key": ["p", "p", "q", "q", "q"],
}


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_frames_of_every_make_keep_their_types(make):
    table = make(COLUMNS)
    pk = exact().fit(table)
    filled, spread = pk.both(table)
    assert type(filled) is type(spread) is type(table)
    types = [[str(t) for t in getattr(one, "dtypes", one)] for one in (table, filled)]
    if isinstance(table, pa.Table):
        types = [[str(t) for t in one.schema.types] for one in (table, filled)]
    assert types[0] == types[1]
    last = {name: list(filled[name])[-1] for name in COLUMNS}
    last = {name: getattr(v, "as_py", lambda v=v: v)() for name, v in last.items()}
    assert last == {
        "float": 8.5, "int": 8, "bool": False, "text": "b",
        "moment": DAY + dt.timedelta(9), "wait": dt.timedelta(9), "key": "q",
    }  # fmt: skip
    sums = {name: list(spread[name]) for name in ("float", "bool", "text")}
    assert all(float(str(v)) == 0 for column in sums.values() for v in column)
    kinds = str(list(spread["moment"])[-1]), str(list(spread["wait"])[-1])
    assert all("0" in kind for kind in kinds)
    assert "uration" in str(spread.schema if not isinstance(spread, pd.DataFrame)
                            else "duration")  # fmt: skip
    if isinstance(spread, pd.DataFrame):
        assert spread["moment"].dtype.kind == spread["wait"].dtype.kind == "m"


@pytest.mark.parametrize(
    "dtype",
    [pl.Categorical, pl.Enum(["a", "b", "c"]), pl.String, pl.Decimal(10, 2), pl.Date,
     pl.Datetime("ms", "Europe/Berlin"), pl.Datetime("ns"), pl.Duration("ms"), pl.UInt8,
     pl.Float32, pl.Int128],
    ids=str,
)  # fmt: skip
def test_polars_types(dtype):
    base = pl.Series("x", [0, 0, 100, 100, None])
    if dtype in (pl.Categorical, pl.String) or isinstance(dtype, pl.Enum):
        base = pl.Series("x", ["a", "a", "b", "b", None])
    if isinstance(dtype, pl.Datetime) and dtype.time_zone:
        base = base.cast(pl.Datetime("ms")).dt.replace_time_zone("UTC")
        base = base.dt.convert_time_zone(dtype.time_zone)
    base = base.cast(dtype)
    table = pl.DataFrame([base, pl.Series("key", ["p", "p", "q", "q", "q"])])
    before = table.clone()
    pk = exact().fit(table)
    filled, _ = pk.both(table)
    assert table.equals(before)
    assert filled.schema == table.schema
    assert filled["x"].to_list() == [*base.to_list()[:4], base.to_list()[3]]


@pytest.mark.parametrize("name", [n for n in ("Int128", "UInt128") if hasattr(pl, n)])
def test_very_large_integers_of_polars(name):
    cells = pl.Series("x", [2**70, 2**70, 2**71, None], dtype=getattr(pl, name))
    table = pl.DataFrame([cells, pl.Series("key", list("ppqq"))])
    filled = exact().fit(table).impute(table)
    assert filled.schema == table.schema
    assert filled["x"].to_list() == [2**70, 2**70, 2**71, 2**71]


def test_pandas_types_and_odd_names():
    table = pd.DataFrame({
        "rank": pd.Categorical(["lo", "lo", "high", None], ["lo", "mid", "high"], True),
        "zone": pd.to_datetime(["2020-01-01", "2020-01-01", "2020-06-01", None])
        .tz_localize("Europe/Berlin"),
        "kind": pd.Categorical(["x", "x", "y", None]),
        "day": [dt.date(2020, 1, 1), dt.date(2020, 1, 1), dt.date(2020, 1, 9), None],
        "small": pd.array([1, 1, 5, None], "UInt8"),
        "money": [Decimal("1.5"), Decimal("1.5"), Decimal("9.5"), None],
        "flag": [True, True, False, None],
        "key": ["p", "p", "q", "q"],
    }, index=[7, 7, 3, 1])  # fmt: skip
    pk = exact().fit(table)
    filled, spread = pk.both(table)
    assert list(filled.columns) == list(table.columns) == list(spread.columns)
    assert filled.index.tolist() == spread.index.tolist() == [7, 7, 3, 1]
    assert (filled.dtypes == table.dtypes).all()
    assert filled.iloc[3].tolist() == table.iloc[2].tolist()
    for name in ("day", "money", "flag"):
        assert type(filled[name].iloc[3]) is type(table[name].iloc[0])
    numbered = table.set_axis(range(8), axis=1)
    assert exact().fit(numbered).impute(numbered).columns.tolist() == [*range(8)]


def test_labels_that_a_batch_does_not_know():
    table = pd.DataFrame({"x": list("aabb"), "key": list("ppqq")}).astype("category")
    pk = exact().fit(table)
    batch = pd.DataFrame({
        "x": pd.Categorical(["a", None], ["a"]), "key": pd.Categorical(["p", "q"]),
    })  # fmt: skip
    assert pk.impute(batch)["x"].tolist() == ["a", "b"]
    for nothing in (
        pd.DataFrame({"x": [np.nan], "key": ["q"]}),
        pl.DataFrame({"x": [None], "key": ["q"]}),
        pa.table({"x": pa.array([None], pa.float64()), "key": ["q"]}),
    ):
        filled = pk.impute(nothing)
        assert [str(v) for v in filled["x"]] == ["b"]
    order = pl.DataFrame({"x": ["a", "a", "b", "b"], "key": list("ppqq")})
    order = order.with_columns(pl.col("x").cast(pl.Enum(["a", "b"])))
    pk = exact().fit(order)
    batch = pl.DataFrame({"x": pl.Series([None], dtype=pl.Enum(["a"])), "key": ["q"]})
    assert pk.impute(batch)["x"].to_list() == ["b"]


def test_named_columns_are_labels_and_come_back_as_what_they_are():
    day = np.array(["2020-01-01", "2020-01-01", "2020-03-01", "NaT"], "M8[s]")
    table = pd.DataFrame({
        "code": pd.array([7, 7, 9, None], "Int64"), "day": day,
        "yes": pd.array([True, True, False, None], "boolean"), "key": list("ppqq"),
    })  # fmt: skip
    named = ["code", "day", "yes"]
    pk = exact(categorical_features=named).fit(table)
    filled, spread = pk.both(table)
    assert (filled.dtypes == table.dtypes).all()
    assert filled.iloc[3].tolist() == table.iloc[2].tolist()
    assert spread.dtypes.astype(str).eq("float64").all()


def test_arrays_come_back_as_arrays():
    rows = np.array([[1.0, 5.0], [1.0, np.nan], [9.0, 7.0]], np.float32)
    pk = exact(n_bins=2).fit(rows)
    filled, spread = pk.both(rows)
    assert filled.dtype == np.float32
    assert spread.dtype == float
    assert filled[1, 1] == 5
    assert np.isnan(rows[1, 1])
    mixed = np.array([[1, "a"], [1, "a"], [None, "b"], [9, "b"]], object)
    assert exact(n_bins=2).fit(mixed).impute(mixed).tolist()[2] == [9, "b"]
    masked = np.ma.array([[1, 1], [1, 1], [9, 9]], mask=[[0, 0], [0, 1], [0, 0]])
    filled = exact(n_bins=2).fit(masked).impute(masked)
    assert filled.tolist() == [[1, 1], [1, 1], [9, 9]]
    assert filled.dtype == masked.dtype
    days = np.array(
        [["2020-01-01"] * 2, ["2020-01-01", "NaT"], ["2021-01-01"] * 2], "M8[D]"
    )
    filled, spread = exact(n_bins=2).fit(days).both(days)
    assert filled.dtype == days.dtype
    assert filled[1, 1] == days[0, 0]
    assert spread.dtype.kind == "m"


def test_rows_come_back_as_rows_with_cells_like_theirs():
    noon = dt.datetime(2020, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    known = [3, True, "a", noon, dt.timedelta(2), dt.date(2020, 5, 1), 1.5]
    rows = [[*known, "p"], (*known, "p"), [*[None] * 7, "p"]]
    before = copy.deepcopy(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filled, spread = exact().fit(rows).both(rows)
    assert rows == before
    assert filled == [rows[0], rows[1], rows[0]]
    assert [type(cell) for cell in filled[2]] == [type(cell) for cell in rows[0]]
    assert type(filled[1]) is tuple
    zero, none, other = 0.0, dt.timedelta(0), 1 / 4  # another label than both rows have
    assert spread[2] == [zero, other, other, none, none, none, zero, zero]


@pytest.mark.parametrize("fill_value", [np.nan, 0.0])
def test_sparse_columns_stay_sparse(fill_value):
    cells = pd.arrays.SparseArray([0.0, 0.0, 9.0, 9.0, np.nan], fill_value=fill_value)
    table = pd.DataFrame({"x": cells, "key": list("ppqqq")})
    filled = exact().fit(table).impute(table)
    assert filled["x"].dtype == table["x"].dtype
    assert filled["x"].tolist() == [0.0, 0.0, 9.0, 9.0, 9.0]


def test_objects_stay_objects():
    day = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    cells = [day, day, day + dt.timedelta(9), None]
    table = pd.DataFrame({"x": pd.Series(cells, dtype=object), "key": list("ppqq")})
    filled = exact().fit(table).impute(table)
    assert filled["x"].dtype == object
    assert filled["x"].tolist() == [*cells[:3], cells[2]]


ODD_ARROWS = {
    "views": pa.array(["a", "a", "b", None], pa.string_view()),
    "runs": pc.run_end_encode(pa.array([1, 1, 8, None]), run_end_type=pa.int16()),
    "runs of text": pc.run_end_encode(pa.array(["a", "a", "b", None])),
}


@pytest.mark.parametrize("cells", ODD_ARROWS.values(), ids=ODD_ARROWS)
def test_arrow_types_that_lack_functions(cells):
    table = pa.table({"x": cells, "key": list("ppqq")})
    pk = exact().fit(table)
    filled = pk.impute(table)
    assert filled.schema == table.schema
    known = cells.to_pylist()
    assert filled["x"].to_pylist() == [*known[:3], known[2]]
    nothing = table.slice(3)
    assert pk.impute(nothing)["x"].to_pylist() == [known[2]]


@pytest.mark.parametrize(
    "dtype",
    [pl.Date, pl.Datetime("us"), pl.Datetime("ns", "Asia/Tokyo"), pl.Datetime("ms")],
    ids=str,
)
@pytest.mark.parametrize("hours", [0, 24])
def test_dates_that_are_labels_fit_into_any_type(dtype, hours):
    late = dt.datetime(2020, 1, 9) + dt.timedelta(hours=hours)
    cells = pl.Series("x", [dt.datetime(2020, 1, 1)] * 2 + [late, None])
    if getattr(dtype, "time_zone", None):
        cells = cells.dt.replace_time_zone("Asia/Tokyo")
    cells = cells.cast(dtype)
    table = pl.DataFrame([cells, pl.Series("key", list("ppqq"))])
    pk = exact(categorical_features=["x"]).fit(table)
    for one in (table, table.to_arrow()):
        filled = pk.impute(one)
        assert filled.schema == one.schema
        column = pl.from_arrow(filled)["x"] if one is not table else filled["x"]
        assert column.to_list() == [*cells.to_list()[:3], cells.to_list()[2]]


def test_days_of_arrow_that_count_milliseconds():
    days = pa.array([dt.date(2020, 1, 1)] * 3 + [dt.date(2020, 1, 9)] * 3 + [None])
    table = pa.table({"day": days.cast(pa.date64()), "a": [1, 1, 1, 9, 9, 9, 9]})
    filled = ProximityImputer().fit_transform(table)["day"]
    assert filled.type == pa.date64()
    assert filled.to_pylist()[:6] == days.to_pylist()[:6]
    assert dt.date(2020, 1, 1) <= filled[6].as_py() <= dt.date(2020, 1, 9)


def test_nanoseconds_of_labels_are_kept():
    moments = ["2020-01-01T00:00:00.000000001"] * 2 + ["2020-01-01T00:00:00.000000002"]
    cells = pa.array(np.array([*moments, "NaT"], "M8[ns]"))
    table = pa.table({"x": cells, "key": list("ppqq")})
    for one in (table, pl.from_arrow(table)):
        pk = exact(categorical_features=["x"]).fit(one)
        filled = pl.DataFrame(pk.impute(one))["x"].cast(pl.Int64).to_list()
        assert filled[3] == filled[2] != filled[1]


def test_what_lies_under_a_mask_does_not_come_to_light():
    table = np.ma.array([[1, 5], [1, 6], [9, 7]], mask=[[0, 1], [0, 1], [1, 1]])
    with pytest.warns(UserWarning, match="column 1"):
        pk = exact(n_bins=2).fit(table)
    with pytest.warns(UserWarning, match="column 1 had no observed value"):
        filled = pk.impute(table)
    assert filled.tolist() == [[1, None], [1, None], [1, None]]
    assert table.mask.tolist() == [[False, True], [False, True], [True, True]]


CELLS = {
    "text": "a",
    "numbers": 5.0,
    "dates": dt.datetime(2020, 1, 1),
    "durations": dt.timedelta(1),
}
ARRAYS = {
    "numbers": np.array([[np.nan, 2.0]]),
    "dates": np.array([["NaT", "2020-05-01"]], "M8[ns]"),
    "durations": np.array([["NaT", 7]], "m8[s]"),
}


@pytest.mark.parametrize("family", CELLS)
@pytest.mark.parametrize("held", ARRAYS)
def test_an_array_that_knows_nothing_of_a_column_can_hold_its_values(family, held):
    batch, cell = ARRAYS[held], CELLS[family]
    pk = exact().fit([[cell, batch[0, 1]]] * 2)
    filled = pk.impute(batch)
    assert (filled.dtype == batch.dtype) == (family == held)
    assert filled[0, 1] == batch[0, 1]
    if family != held:
        assert filled[0, 0] == cell


def test_dates_beside_moments_are_moments():
    noon, days = dt.time(13, 42), [dt.date(2020, 1, i) for i in range(1, 21)]
    moments = [dt.datetime.combine(day, noon) for day in days]
    rows = [[day, "x"] for day in days] + [[one, "y"] for one in moments]
    *held, (filled, _) = ProximityImputer().fit_transform([*rows, [None, "y"]])
    assert held == rows
    assert isinstance(filled, dt.datetime)  # not cut to a day
    assert filled.time() != dt.time()


@pytest.mark.parametrize("labels", [[1, 2, 3], [1.5, 2.5], ["x"], [True, False], []])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_categorical_without_values(labels, ordered):
    kind = pd.CategoricalDtype(labels, ordered=ordered)
    table = pd.DataFrame({"a": pd.Series([None] * 6, dtype=kind), "b": range(6)})
    table.loc[3, "b"] = None
    for frame in (table, pa.Table.from_pandas(table)):
        with pytest.warns(UserWarning, match="No value is observed in column 'a'"):
            imputer = ProximityImputer(keep_empty_features=True).fit(frame)
        with pytest.warns(UserWarning, match="had no observed value at fit"):
            filled = imputer.transform(frame)
        assert (
            filled["a"].isna().all() if frame is table else filled["a"].null_count == 6
        )


def test_days_beyond_the_year_9999():
    days = np.array([f"{12_000 + i}-03-01" for i in range(20)] + ["NaT"], "M8[D]")
    table = pa.table({"d": pa.array(days), "c": list("ab") * 10 + ["a"]})
    filled = ProximityImputer().fit_transform(table)
    assert filled["d"].type == pa.date32()
    assert filled["d"].cast(pa.int32())[-1].as_py() > days[0].astype(int)
    far = table.set_column(
        0, "d", table["d"].cast(pa.timestamp("ms")).cast(pa.date64())
    )
    with pytest.raises(ValueError, match="column 'd' holds dates beyond the year 9999"):
        ProximityImputer().fit(far)
