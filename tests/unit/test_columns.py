"""Columns: the same table in every holding reads the same; bad values are named."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from proximity_kernel._table.columns import (
    Column,
    ColumnType,
    read_columns,
)

NAN = math.nan
CITIES = ["rome", None, "oslo", "rome"]
AGES = [30, None, 41, 30]
HEIGHTS = [1.5, NAN, 1.75, 2.0]
SMOKES = [True, None, False, True]
ROWS = list(zip(CITIES, AGES, HEIGHTS, SMOKES, strict=True))
NAMES = ["city", "age", "height", "smokes"]
RAW = dict(zip(NAMES, (CITIES, AGES, HEIGHTS, SMOKES), strict=True))


def _pandas(**dtypes):
    return pd.DataFrame(
        {name: pd.Series(cells, dtype=dtypes[name]) for name, cells in RAW.items()}
    )


def _arrow(kind):
    return pd.ArrowDtype(kind)


TABLES = {
    "pandas numpy": pd.DataFrame(RAW),
    "pandas nullable": _pandas(
        city="string", age="Int64", height="Float64", smokes="boolean"
    ),
    "pandas categorical": _pandas(
        city="category", age="float64", height="float32", smokes="boolean"
    ),
    "pandas object": _pandas(city=object, age=object, height=object, smokes=object),
    "pandas arrow": _pandas(
        city=_arrow(pa.string()),
        age=_arrow(pa.int64()),
        height=_arrow(pa.float64()),
        smokes=_arrow(pa.bool_()),
    ),
    "pandas arrow dictionary": _pandas(
        city=_arrow(pa.dictionary(pa.int32(), pa.string())),
        age=_arrow(pa.int8()),
        height=_arrow(pa.float32()),
        smokes=_arrow(pa.bool_()),
    ),
    "polars": pl.DataFrame(RAW),
    "polars categorical": pl.DataFrame(
        RAW, schema_overrides={"city": pl.Categorical, "age": pl.Int128}
    ),
    "polars decimal": pl.DataFrame(
        RAW, schema_overrides={"age": pl.Decimal(10, 2), "smokes": pl.Boolean}
    ),
    "pyarrow": pa.table(RAW),
    "pyarrow dictionary": pa.table(
        {**RAW, "city": pa.array(CITIES).dictionary_encode()}
    ),
    "pyarrow view": pa.table({**RAW, "city": pa.array(CITIES, pa.string_view())}),
    "object array": np.array(ROWS, dtype=object),
    "list of tuples": ROWS,
    "tuple of lists": tuple(list(row) for row in ROWS),
}


def kinds(columns):
    return [column.type.kind for column in columns]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_holding_reads_the_same(table):
    city, age, height, smokes = read_columns(table)
    assert kinds((city, age, height, smokes)) == ["categorical"] + ["numeric"] * 3
    assert city.labels == ("oslo", "rome")
    assert city.values.tolist() == [1, -1, 0, 1]
    assert city.values.dtype == np.int32
    for column, expected in (
        (age, [30.0, NAN, 41.0, 30.0]),
        (height, [1.5, NAN, 1.75, 2.0]),
        (smokes, [1.0, NAN, 0.0, 1.0]),
    ):
        assert column.values.dtype == np.float64
        assert column.labels == ()
        assert_array_equal(column.values, expected)
        assert column.observed.tolist() == [True, False, True, True]
    assert city.observed.tolist() == [True, False, True, True]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_holding_names_the_same_categories(table):
    asked = [False, True, True, True]
    city, age, height, smokes = read_columns(table, categorical_features=asked)
    assert city.labels == ("oslo", "rome")
    assert age.labels == (30, 41)
    assert age.values.tolist() == [0, -1, 1, 0]
    assert height.labels == (1.5, 1.75, 2.0)
    assert height.values.tolist() == [0, -1, 1, 2]
    assert smokes.labels == (False, True)
    assert smokes.values.tolist() == [1, -1, 0, 1]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_holding_agrees_with_the_first(table):
    fitted = [column.type for column in read_columns(TABLES["polars"])]
    columns = read_columns(table, fitted=fitted)
    assert [column.type for column in columns] == fitted
    assert columns[0].values.tolist() == [1, -1, 0, 1]


def test_names_of_columns():
    assert [c.type.name for c in read_columns(pl.DataFrame(RAW))] == NAMES
    assert [c.type.name for c in read_columns(np.zeros((2, 2)))] == ["x0", "x1"]
    assert [c.type.name for c in read_columns(pd.DataFrame([[1, 2]]))] == ["0", "1"]


@pytest.mark.parametrize(
    "dtype", ["f8", "f4", "f2", "i8", "i1", "u8", "bool", "object", "longdouble", ">f8"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_real_dtype(dtype, order):
    array = np.array([[0, 1], [1, 1], [1, 0]], dtype=dtype, order=order)
    first, second = read_columns(array)
    assert first.values.tolist() == [0.0, 1.0, 1.0]
    assert second.values.tolist() == [1.0, 1.0, 0.0]
    assert first.values.dtype == np.float64


def test_lists_keep_their_types():
    number, label = read_columns([[1.0, "a"], [None, "b"], [NAN, None]])
    assert_array_equal(number.values, [1.0, NAN, NAN])
    assert label.labels == ("a", "b")
    assert label.values.tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    "nothing", [None, NAN, pd.NA, pd.NaT, np.float32("nan"), Decimal("NaN")]
)
def test_missing_in_object_cells(nothing):
    number, label = read_columns([[Decimal("1.5"), "a"], [nothing, nothing]])
    assert_array_equal(number.values, [1.5, NAN])
    assert label.values.tolist() == [0, -1]
    number, _ = read_columns([[2, "a"], [nothing, "b"]], categorical_features=[0])
    assert (number.labels, number.values.tolist()) == ((2,), [0, -1])


def test_nan_is_missing_beside_null():
    for table in (
        pl.DataFrame({"a": [1.5, NAN, None]}),
        pa.table({"a": [1.5, NAN, None]}),
    ):
        (a,) = read_columns(table)
        assert_array_equal(a.values, [1.5, NAN, NAN])
        (a,) = read_columns(table, categorical_features=["a"])
        assert (a.labels, a.values.tolist()) == ((1.5,), [0, -1, -1])


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"a": [None, None]}),
        pa.table({"a": pa.nulls(2)}),
        pd.DataFrame({"a": [None, None]}, dtype=object),
        pd.DataFrame({"a": [NAN, NAN]}),
        pl.DataFrame({"a": [None, None]}, schema={"a": pl.Struct({"b": pl.Int8})}),
        [[None], [pd.NA]],
    ],
)
def test_nothing_observed_is_numeric_without_values(table):
    (a,) = read_columns(table)
    assert a.type.kind == "numeric"
    assert_array_equal(a.values, [NAN, NAN])
    (a,) = read_columns(table, categorical_features=[0])
    assert (a.type.kind, a.labels, a.values.tolist()) == ("categorical", (), [-1, -1])


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ([0.0, NAN, 2.0], [0.0, NAN, 2.0]),
        ([0, 0, 2], [0.0, 0.0, 2.0]),
        ([True, False, True], [1.0, 0.0, 1.0]),
        (pd.to_datetime(["1970-01-02", "NaT"]), [86400.0, NAN]),
    ],
)
def test_pandas_sparse_columns_are_made_dense(cells, values):
    frame = pd.DataFrame({"a": pd.arrays.SparseArray(cells)})
    assert_array_equal(read_columns(frame)[0].values, values)


def test_pandas_sparse_text():
    cells = np.array(["x", None, "x"], dtype=object)
    (a,) = read_columns(pd.DataFrame({"a": pd.arrays.SparseArray(cells)}))
    assert (a.labels, a.values.tolist()) == (("x",), [0, -1, 0])


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4", "f2", "longdouble"])
def test_numbers_of_any_make_are_plain_labels(dtype):
    array = np.array([[2], [1], [2]], dtype=dtype)
    for table in (array, pd.DataFrame(array), list(array)):
        (a,) = read_columns(table)
        assert (a.values.dtype, a.values.tolist()) == (np.float64, [2.0, 1.0, 2.0])
        (a,) = read_columns(table, categorical_features=[0])
        assert (a.labels, a.values.tolist()) == ((1, 2), [1, 0, 1])
        assert {type(label) for label in a.labels} <= {int, float}


def test_pandas_index_need_not_be_unique():
    frame = pd.DataFrame({"a": ["x", "y", None]}, index=[7, 7, 7])
    assert read_columns(frame)[0].values.tolist() == [0, 1, -1]


SIZES = ["small", "large", "huge"]
WORN = ["large", None, "small"]
ORDERED = {
    "pandas": pd.DataFrame(
        {"size": pd.Categorical(WORN, categories=SIZES, ordered=True)}
    ),
    "polars": pl.DataFrame({"size": WORN}, schema={"size": pl.Enum(SIZES)}),
    "pyarrow": pa.table(
        {
            "size": pa.DictionaryArray.from_arrays(
                pa.array([1, None, 0]), pa.array(SIZES), ordered=True
            )
        }
    ),
}


@pytest.mark.parametrize("table", ORDERED.values(), ids=ORDERED)
def test_ordered_categoricals_are_ranks(table):
    (size,) = read_columns(table)
    assert size.type == ColumnType("size", "numeric", "text", tuple(SIZES))
    assert_array_equal(size.values, [1.0, NAN, 0.0])
    (size,) = read_columns(table, categorical_features=["size"])
    assert size.type == ColumnType("size", "categorical", "text")
    assert (size.labels, size.values.tolist()) == (("large", "small"), [0, -1, 1])


def test_categories_need_not_be_text():
    frame = pd.DataFrame(
        {"code": pd.Categorical([20, None, 3]), "cut": pd.cut([1.0, NAN, 9.0], 2)}
    )
    code, cut = read_columns(frame)
    assert (code.labels, code.values.tolist()) == ((3, 20), [1, -1, 0])
    assert_array_equal(cut.values, [0.0, NAN, 1.0])
    assert [interval.right for interval in cut.type.order] == [5.0, 9.0]


def test_unused_categories_are_not_labels():
    frame = pd.DataFrame({"a": pd.Categorical(["x"], categories=["w", "x"])})
    assert read_columns(frame)[0].labels == ("x",)


@pytest.mark.parametrize("dtype", ["U", "S", np.dtypes.StringDType()])
def test_text_arrays(dtype):
    array = np.array([["b", "1"], ["a", "nan"]]).astype(dtype)
    with pytest.raises(TypeError, match=r"column 1 .*dtype=object or a data frame"):
        read_columns(array, categorical_features=[0])
    first, second = read_columns(array, categorical_features=[0, 1])
    assert (first.labels, first.values.tolist()) == (("a", "b"), [1, 0])
    assert second.labels == ("1", "nan")


def test_bytes_that_are_not_utf8():
    array = np.array([[b"\xfc"], [b"a"]])
    with pytest.raises(ValueError, match=r"^column 0 holds bytes .*decode the ar") as e:
        read_columns(array, categorical_features=[0])
    assert e.type is ValueError


def test_large_integer_labels_keep_their_digits():
    big = 2**60 + 1
    table = pd.DataFrame({"id": pd.array([big, None, big - 1], dtype="Int64")})
    (label,) = read_columns(table, categorical_features=["id"])
    assert (label.labels, label.values.tolist()) == ((big - 1, big), [1, -1, 0])
    assert all(type(v) is int for v in label.labels)


def test_mixed_numbers_are_one_label():
    (a,) = read_columns(
        [[1], [1.0], [np.int8(1)], [Decimal("0.1")], [0.1]], categorical_features=[0]
    )
    assert (a.labels, a.values.tolist()) == ((0.1, 1), [1, 1, 1, 0, 0])


def test_the_table_is_not_changed():
    frame, rows = pd.DataFrame(RAW), [list(row) for row in ROWS]
    read_columns(frame, categorical_features=["age"])
    read_columns(rows)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(RAW))
    assert [tuple(row)[:2] for row in rows] == [row[:2] for row in ROWS]


def test_column_is_frozen():
    (column,) = read_columns([[1.0]])
    assert isinstance(column, Column)
    with pytest.raises(AttributeError):
        column.values = None


@pytest.mark.parametrize(
    ("cells", "kind", "family"),
    [
        ([1, None], "numeric", "numbers"),
        ([True, None], "numeric", "numbers"),
        ([True, False], "numeric", "numbers"),
        ([Decimal(1), None], "numeric", "numbers"),
        (["x", None], "categorical", "text"),
        ([dt.date(2020, 1, 2), None], "numeric", "dates"),
        ([dt.timedelta(1), None], "numeric", "durations"),
        (pd.Categorical(["x", None]), "categorical", "text"),
        (pd.Categorical([3, None]), "categorical", "numbers"),
        (pd.Categorical([dt.datetime(2020, 1, 2), None]), "categorical", "dates"),
        (pd.Categorical([pd.Interval(0, 1)]), "categorical", "Interval"),
        (pd.Categorical(["x", None], ordered=True), "numeric", "text"),
        ([NAN, NAN], "numeric", "nothing"),
        ([None, None], "numeric", "nothing"),
        (pd.Categorical([None]), "categorical", "nothing"),
        (pd.Categorical([None], ["x"], ordered=True), "numeric", "nothing"),
    ],
)
def test_families(cells, kind, family):
    (a,) = read_columns(pd.DataFrame({"a": cells}))
    assert (a.type.kind, a.type.family, a.type.place) == (kind, family, "column 'a'")
    (a,) = read_columns(pd.DataFrame({"a": cells}), categorical_features=["a"])
    assert (a.type.kind, a.type.family) == ("categorical", family)


def test_an_order_may_have_labels_of_several_families():
    counts = [1, 2, "3+"]
    frame = pd.DataFrame({"a": pd.Categorical(["3+", 1], counts, ordered=True)})
    (a,) = read_columns(frame)
    assert a.type == ColumnType("a", "numeric", "numbers and text", tuple(counts))
    assert a.values.tolist() == [2.0, 0.0]


def test_the_first_cell_missing_is_not_nothing_observed():
    (a,) = read_columns([[NAN], [1.5]])
    assert a.type.family == "numbers"


def test_places_are_not_compared():
    assert read_columns([[1.5]])[0].type.place == "column 0"
    assert ColumnType("a", "numeric", "numbers", place="x") == ColumnType(
        "a", "numeric", "numbers", place="y"
    )
    assert ColumnType("a", "numeric", "numbers") != ColumnType("a", "numeric", "dates")
