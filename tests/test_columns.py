"""Columns: the same table in every holding reads the same; bad values are named."""

import datetime as dt
import math
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from proximity_kernel._columns import Column, ColumnType, read_columns

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


def test_names_of_columns():
    assert [c.type.name for c in read_columns(pl.DataFrame(RAW))] == NAMES
    assert [c.type.name for c in read_columns(np.zeros((2, 2)))] == ["x0", "x1"]
    assert [c.type.name for c in read_columns(pd.DataFrame([[1, 2]]))] == ["0", "1"]


DAY = dt.date(2020, 1, 2)
NOON = dt.datetime(2020, 1, 2, 12, 0, 0, 500000)
MIDNIGHT_S, NOON_S = 1577923200.0, 1577966400.5
PARIS = dt.timezone(dt.timedelta(hours=1))


@pytest.mark.parametrize(
    ("cells", "seconds"),
    [
        (pd.Series([NOON, None]), NOON_S),
        (pd.Series([NOON, None]).dt.tz_localize("UTC"), NOON_S),
        (pd.Series([pd.Timestamp(NOON), pd.NaT], dtype=object), NOON_S),
        (pd.Series([NOON, pd.NA], dtype=object), NOON_S),
        (pd.Series([NOON.replace(tzinfo=PARIS), None], dtype=object), NOON_S - 3600),
        (pd.Series([DAY, None], dtype=object), MIDNIGHT_S),
        (pd.Series([DAY, None], dtype=_arrow(pa.date32())), MIDNIGHT_S),
        (pl.Series([DAY, None]), MIDNIGHT_S),
        (pl.Series([NOON, None]), NOON_S),
        (pl.Series([NOON.replace(tzinfo=dt.UTC), None]), NOON_S),
        (pa.chunked_array([[NOON, None]], pa.timestamp("ns")), NOON_S),
        (pa.chunked_array([[DAY, None]], pa.date64()), MIDNIGHT_S),
        (pd.Series([dt.timedelta(seconds=2.5), None]), 2.5),
        (pd.Series([dt.timedelta(seconds=2.5), pd.NaT], dtype=object), 2.5),
        (pl.Series([dt.timedelta(seconds=2.5), None]), 2.5),
        (pa.chunked_array([[dt.timedelta(seconds=2.5), None]]), 2.5),
    ],
)
def test_times_are_seconds(cells, seconds):
    if isinstance(cells, pd.Series):
        table = pd.DataFrame({"when": cells})
    elif isinstance(cells, pl.Series):
        table = pl.DataFrame({"when": cells})
    else:
        table = pa.table({"when": cells})
    (when,) = read_columns(table)
    assert when.type == ColumnType("when", "numeric")
    assert_array_equal(when.values, [seconds, NAN])


def test_times_in_arrays_and_lists():
    array = np.array([["2020-01-02"], ["NaT"]], dtype="M8[D]")
    for table in (
        array,
        array.astype("M8[ns]"),
        [[DAY], [None]],
        [[array[0, 0]], [NAN]],
    ):
        assert_array_equal(read_columns(table)[0].values, [MIDNIGHT_S, NAN])
    spans = np.array([[1500], ["NaT"]], dtype="m8[ms]")
    assert_array_equal(read_columns(spans)[0].values, [1.5, NAN])
    (named,) = read_columns(array, categorical_features=[0])
    assert named.labels == (MIDNIGHT_S,)


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


@pytest.mark.parametrize("order", ["C", "F"])
def test_float_arrays_are_not_copied_nor_changed(order):
    array = np.array([[1.0, NAN], [3.0, 4.0]], order=order)
    array.flags.writeable = False
    for j, column in enumerate(read_columns(array)):
        assert np.shares_memory(column.values, array)
        assert_array_equal(column.values, array[:, j])


class Holder:
    def __array__(self, dtype=None, copy=None):
        return np.array([[1.0, 2.0]])


def test_whatever_has_an_array_is_read():
    assert [c.values.tolist() for c in read_columns(Holder())] == [[1.0], [2.0]]


def test_masked_cells_are_missing():
    masked = np.ma.masked_equal([[1.0, 2.0], [9.0, 3.0]], 9.0)
    first, second = read_columns(masked)
    assert_array_equal(first.values, [1.0, NAN])
    assert_array_equal(second.values, [2.0, 3.0])


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


def test_pandas_sparse_columns_are_made_dense():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, NAN, 2.0])})
    assert_array_equal(read_columns(frame)[0].values, [0.0, NAN, 2.0])


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
    assert size.type == ColumnType("size", "numeric", tuple(SIZES))
    assert_array_equal(size.values, [1.0, NAN, 0.0])
    (size,) = read_columns(table, categorical_features=["size"])
    assert size.type == ColumnType("size", "categorical")
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


@pytest.mark.parametrize(
    "asked",
    [
        ["b"],
        [1],
        np.array([1]),
        [False, True],
        np.array([False, True]),
        pd.Index(["b"]),
    ],
)
def test_ways_to_name_categorical_features(asked):
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": [4, 3]})
    a, b = read_columns(frame, categorical_features=asked)
    assert a.values.tolist() == [1.5, 2.5]
    assert (b.labels, b.values.tolist()) == ((3, 4), [1, 0])


@pytest.mark.parametrize("asked", [None, "from_dtype", [], [False, False]])
def test_no_categorical_features(asked):
    assert (
        kinds(read_columns([[1, 2.5]], categorical_features=asked)) == ["numeric"] * 2
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("b", "or a list.*got 'b'"),
        (1, "or a list.*got 1"),
        (["b", 0], r"got \['b', 0\]"),
        ([True, 0], r"got \[True, 0\]"),
        ([1.0], r"got \[1.0\]"),
        ([True], r"2 booleans.*got \[True\]"),
        ([-1, 0], r"indices below 2.*got \[-1\]"),
        ([2], r"got \[2\]"),
        (["b", "no"], r"names of a frame's columns; got \['no'\]"),
        ([["a"]], r"got \[\['a'\]\]"),
    ],
)
def test_bad_categorical_features(asked, message):
    frame = pd.DataFrame({"a": [1.5], "b": [4]})
    with pytest.raises(ValueError, match=f"categorical_features must be .*{message}"):
        read_columns(frame, categorical_features=asked)


def test_names_need_a_frame_now_or_at_fit():
    array = np.array([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"categorical_features.*got \['b'\]"):
        read_columns(array, categorical_features=["b"])
    fitted = [ColumnType("a", "numeric"), ColumnType("b", "categorical")]
    _, b = read_columns(array, categorical_features=["b"], fitted=fitted)
    assert (b.type, b.labels) == (fitted[1], (2.0,))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["x", 1, None], r"column 'a' holds numbers and text, for example 1 and 'x';"),
        (["x", DAY], "holds dates and text"),
        ([1.5, dt.timedelta(1)], "holds durations and numbers"),
        ([b"x", None], r"column 'a' holds bytes, for example b'x'"),
        ([1.5, {"foo": "bar"}], r"holds dict.*\{'foo': 'bar'\}"),
        ([[1], [2]], "holds list"),
        ([(1,), (2,)], "holds tuple"),
        ([np.array([1, 2]), None], "holds ndarray"),
        ([dt.time(1), None], "holds time"),
        ([object(), "x"], "holds object and text"),
    ],
)
@pytest.mark.parametrize("named", [[], ["a"]])
def test_cells_that_cannot_be_compared(cells, message, named):
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    with pytest.raises(TypeError, match=message) as error:
        read_columns(frame, categorical_features=named)
    assert error.match("argument must be .* string.* number")
    assert error.match(r"convert it to one type, e\.g\. astype\(str\)")


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (pl.Series([b"x"]), "bytes"),
        (pl.Series([[1]]), "list"),
        (pl.Series([[1]], dtype=pl.Array(pl.Int64, 1)), "list"),
        (pl.Series([{"k": 1}]), "dict"),
        (pl.Series([dt.time(1)]), "time"),
        (pl.Series(["x", 1], dtype=pl.Object), "numbers and text"),
    ],
)
def test_frame_types_that_cannot_be_compared(cells, found):
    with pytest.raises(TypeError, match=f"column 'a' holds ({found})"):
        read_columns(pl.DataFrame({"a": cells}))


def test_mixed_categories_and_other_arrays():
    with pytest.raises(TypeError, match="column 'a' holds numbers and text"):
        read_columns(pd.DataFrame({"a": pd.Categorical(["x", 1])}))
    with pytest.raises(TypeError, match="column 'a' holds Period"):
        read_columns(pd.DataFrame({"a": pd.period_range("2020", periods=2, freq="D")}))
    with pytest.raises(TypeError, match=r"column 0 holds dtype \[\('k', '<f8'\)\]"):
        read_columns(np.zeros((2, 2), dtype=[("k", "f8")]))
    array = np.array([[1.0, 2.0], [3.0, {"foo": "bar"}]], dtype=object)
    with pytest.raises(
        TypeError, match=r"column 1 .*argument must be .* string.* number"
    ):
        read_columns(array)


BAD = [[1.0, 2.0], [3.0, -math.inf]]


@pytest.mark.parametrize(
    ("table", "place"),
    [
        (np.array(BAD), "column 1"),
        (np.asfortranarray(BAD), "column 1"),
        (np.array(BAD, dtype="f4"), "column 1"),
        (np.array([[1, np.longdouble("1e400")]]), "column 1"),
        (np.array(BAD, dtype=object), "column 1"),
        (BAD, "column 1"),
        ([[1, 10**400]], "column 1"),
        ([[1, Decimal("-1e400")]], "column 1"),
        ([[1, np.float32("inf")]], "column 1"),
        (pd.DataFrame(BAD, columns=["a", "b"]), "column 'b'"),
        (pd.DataFrame(BAD, columns=["a", "b"], dtype="Float64"), "column 'b'"),
        (pd.DataFrame(BAD, columns=["a", "b"], dtype=object), "column 'b'"),
        (pl.DataFrame(BAD, schema=["a", "b"], orient="row"), "column 'b'"),
        (pa.table({"a": [1.0], "b": [math.inf]}), "column 'b'"),
    ],
)
@pytest.mark.parametrize("named", [[], [1]])
def test_infinity_names_the_column(table, place, named):
    with pytest.raises(ValueError, match=rf"^{place} contains infinity \(inf\)"):
        read_columns(table, categorical_features=named)


@pytest.mark.parametrize(
    "table", [np.array([[1, 2j]]), [[2j]], pd.DataFrame({"a": [1j]})]
)
def test_complex(table):
    with pytest.raises(ValueError, match=r"Complex data not supported: column (0|'a')"):
        read_columns(table)


@pytest.mark.parametrize(
    "table", [scipy.sparse.csr_matrix(np.eye(2)), scipy.sparse.coo_array(np.eye(2))]
)
def test_sparse(table):
    with pytest.raises(TypeError, match=r"sparse.*\.toarray\(\)"):
        read_columns(table)


@pytest.mark.parametrize(
    "table",
    [
        np.ones(3),
        [1, 2],
        [],
        ["a", "b"],
        pd.Series([1]),
        pl.Series([1]),
        pa.chunked_array([[1]]),
        pa.array([1]),
        pd.Index([1]),
    ],
)
def test_one_dimension(table):
    with pytest.raises(ValueError, match=r"got 1D array instead.*Reshape your data"):
        read_columns(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.float64(3), "Expected 2D array, got 0D array instead"),
        (np.ones((1, 2, 3)), "Found array with dim 3, expected <= 2"),
        ([[[1], [2]]], "Found array with dim 3, expected <= 2"),
        (np.ones((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is"),
        (np.ones((5, 0)), r"0 feature\(s\) \(shape=\(5, 0\)\) while a minimum of 1 is"),
        ([[], []], r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (pd.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (pd.DataFrame(index=[1, 2]), r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (pl.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        ([[1, 2], [3]], "ragged"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' 2 times"),
        (pa.table([[1], [2]], names=["a", "a"]), "'a' 2 times"),
    ],
)
def test_shapes(table, message):
    with pytest.raises(ValueError, match=message):
        read_columns(table)


@pytest.mark.parametrize("table", ["text", {"a": [1]}, None, 3, {1, 2}, iter([[1]])])
def test_not_a_table(table):
    name = type(table).__name__
    with pytest.raises(TypeError, match=f"Expected a data frame, .*got {name}"):
        read_columns(table)


def test_lazy_frame():
    with pytest.raises(TypeError, match=r"\.collect\(\)"):
        read_columns(pl.LazyFrame({"a": [1]}))


def types(table, **kwargs):
    return [column.type for column in read_columns(table, **kwargs)]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_holding_agrees_with_the_first(table):
    fitted = types(TABLES["polars"])
    columns = read_columns(table, fitted=fitted)
    assert [column.type for column in columns] == fitted
    assert columns[0].values.tolist() == [1, -1, 0, 1]


def test_nothing_observed_takes_the_fitted_type():
    fitted = types(ORDERED["pandas"]) + types(pd.DataFrame({"a": ["x"], "b": [1]}))
    later = pd.DataFrame({"size": ["", ""], "a": [NAN, NAN], "b": ["", ""]})
    size, a, b = read_columns(later.replace("", None), fitted=fitted)
    assert [size.type, a.type, b.type] == fitted
    assert_array_equal(size.values, [NAN, NAN])
    assert (a.values.tolist(), a.values.dtype, a.labels) == ([-1, -1], np.int32, ())
    assert_array_equal(b.values, [NAN, NAN])


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        (["x"], [1.5], "column 'a' was categorical when fitted and is numeric now"),
        ([1.5], ["x"], "column 'a' was numeric when fitted and is categorical now"),
        (pd.Categorical([1], ordered=True), [1], "was ordered when .* is numeric now"),
        ([1], pd.Categorical([1], ordered=True), "was numeric when .* is ordered now"),
    ],
)
def test_other_kinds_later(first, later, message):
    fitted = types(pd.DataFrame({"a": first}))
    with pytest.raises(ValueError, match=f"{message}; convert it"):
        read_columns(pd.DataFrame({"a": later}), fitted=fitted)


def test_numbers_named_categorical_at_both_times():
    fitted = types([[1], [2]], categorical_features=[0])
    (a,) = read_columns([[2], [7]], categorical_features=[0], fitted=fitted)
    assert (a.type, a.labels, a.values.tolist()) == (fitted[0], (2, 7), [0, 1])


@pytest.mark.parametrize(
    "later",
    [
        pd.DataFrame({"size": ["huge", None, "small"]}),
        pd.DataFrame({"size": ["huge", None, "small"]}, dtype="category"),
        pd.DataFrame(
            {
                "size": pd.Categorical(
                    ["huge", None, "small"], ["none", "huge", "small"], ordered=True
                )
            }
        ),
        pl.DataFrame(
            {"size": ["huge", None, "small"]}, schema={"size": pl.Enum(SIZES[::-1])}
        ),
        [["huge"], [None], ["small"]],
    ],
)
def test_labels_are_ranked_in_the_fitted_order(later):
    fitted = types(ORDERED["pandas"])
    (size,) = read_columns(later, fitted=fitted)
    assert size.type == fitted[0]
    assert size.labels == ()
    assert_array_equal(size.values, [2.0, NAN, 0.0])


def test_labels_without_a_rank():
    fitted = types(ORDERED["polars"])
    ordered = pd.Categorical(["vast"], ["small", "vast"], ordered=True)
    for later in (["vast"], ordered):
        with pytest.raises(ValueError, match=r"column 'size' .*rank.*\['vast'\]"):
            read_columns(pd.DataFrame({"size": later}), fitted=fitted)


def test_other_number_of_columns_later():
    with pytest.raises(ValueError, match="Found 2 features, but 1 were fitted"):
        read_columns([[1, 2]], fitted=[ColumnType("x0", "numeric")])


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


def test_a_million_rows_are_read_without_a_pass_in_python():
    array = np.zeros((1_000_000, 14))
    start = time.perf_counter()
    read_columns(array)
    # 0.01 s on two slow cores; a pass over the cells in Python takes seconds.
    assert time.perf_counter() - start < 0.5
