"""Tables: taken apart whatever the make, or refused with a word on what to do."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from proximity_kernel._table.columns import (
    ColumnType,
    read_columns,
)

NAN = math.nan


def kinds(columns):
    return [column.type.kind for column in columns]


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


@pytest.mark.parametrize(
    "dtype",
    ["f8", "f4", "longdouble", "i8", "bool", "object", "m8[s]", "m8[ns]", "M8[s]"],
)
@pytest.mark.parametrize("make", [lambda masked: masked, list])
def test_masked_cells_are_missing(dtype, make):
    cells = np.array([[1, 0], [1, 1]]).astype(dtype.replace("ns", "s")).astype(dtype)
    masked = np.ma.array(cells, mask=[[False, False], [True, False]])
    first, second = read_columns(make(masked))
    assert_array_equal(first.values, [1.0, NAN])
    assert_array_equal(second.values, [0.0, 1.0])
    first, second = read_columns(make(masked), categorical_features=[0, 1])
    labels = ("1970-01-01", "1970-01-01T00:00:01") if dtype == "M8[s]" else (0, 1)
    assert (first.labels, first.values.tolist()) == (labels[1:], [0, -1])
    assert (second.labels, second.values.tolist()) == (labels, [0, 1])
    assert masked.data[1, 0] == cells[0, 0]


def test_masked_infinity_and_text():
    (a,) = read_columns(np.ma.masked_invalid([[math.inf], [1.0]]))
    assert_array_equal(a.values, [NAN, 1.0])
    (a,) = read_columns(np.ma.masked_equal(np.array([["x"], ["?"]]), "?"))
    assert (a.labels, a.values.tolist()) == (("x",), [0, -1])


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
        ("b", r"or a list.*got 'b'; did you mean \['b'\]\?$"),
        ("zop", r"or a list.*got 'zop'\.$"),
        (b"ab", "got b'ab'"),
        ({"a": 1}, r"got \{'a': 1\}"),
        (1, "or a list.*got 1"),
        (["b", 0], r"got \['b', 0\]"),
        ([True, 0], r"got \[True, 0\]"),
        ([1.0], r"got \[1.0\]"),
        ([True], r"2 booleans.*got \[True\]"),
        ([["a"]], r"got \[\['a'\]\]"),
    ],
)
def test_bad_categorical_features(asked, message):
    frame = pd.DataFrame({"a": [1.5], "b": [4]})
    with pytest.raises(ValueError, match=f"categorical_features must be .*{message}"):
        read_columns(frame, categorical_features=asked)


@pytest.mark.parametrize(
    ("asked", "odd"), [([-1, 0], -1), ([2], 2), (["b", "no"], "no")]
)
def test_categorical_features_that_are_no_columns(asked, odd):
    frame = pd.DataFrame({"a": [1.5], "b": [4]})
    message = f"`categorical_features` names {odd!r}, which is not a column.*below 2"
    with pytest.raises(ValueError, match=message):
        read_columns(frame, categorical_features=asked)


@pytest.mark.parametrize(
    "asked", [iter(["a"]), (name for name in "a"), map(str, ["a"])]
)
def test_iterators_are_used_up_by_one_call(asked):
    with pytest.raises(ValueError, match=r"^categorical_features is an iter.*a list"):
        read_columns(pd.DataFrame({"a": [1.5]}), categorical_features=asked)


def test_columns_of_an_array_have_names():
    array = np.array([[1.0, 2.0]])
    columns = read_columns(array, categorical_features=["x1"])
    assert kinds(columns) == ["numeric", "categorical"]


def test_names_need_a_frame_now_or_at_fit():
    array = np.array([[1.0, 2.0]])
    with pytest.raises(
        ValueError, match=r"categorical_features.*'b', which is not a column"
    ):
        read_columns(array, categorical_features=["b"])
    fitted = [
        ColumnType("a", "numeric", "numbers"),
        ColumnType("b", "categorical", "numbers"),
    ]
    _, b = read_columns(array, categorical_features=["b"], fitted=fitted)
    assert (b.type, b.labels) == (fitted[1], (2.0,))


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
        np.ma.ones(3),
    ],
)
def test_one_dimension(table):
    with pytest.raises(ValueError, match=r"got 1D array instead.*Reshape your data"):
        read_columns(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.float64(3), "Expected 2D array, got 0D array instead"),
        (
            np.ones((1, 2, 3)),
            "Found array with dim 3, expected <= 2; make each sample one row",
        ),
        (
            [[[1], [2]]],
            "Found array with dim 3, expected <= 2; make each sample one row",
        ),
        (
            np.ones((0, 3)),
            r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required; pass",
        ),
        (
            np.ones((5, 0)),
            r"0 feature\(s\) \(shape=\(5, 0\)\) while a minimum of 1 is required;",
        ),
        ([[], []], r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (pd.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (pd.DataFrame(index=[1, 2]), r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (pl.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        ([[1, 2], [3]], "different lengths, 1 to 2 cells; make them"),
        (np.ma.ones((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        ([np.array(1.0), np.array(2.0)], "Expected 2D array, got 1D array instead"),
        ([[1.0], np.array(2.0)], "Expected 2D array, got 1D array instead"),
    ],
)
def test_shapes(table, message):
    with pytest.raises(ValueError, match=message):
        read_columns(table)


@pytest.mark.parametrize("table", ["text", {"a": [1]}, None, 3, {1, 2}, iter([[1]])])
def test_not_a_table(table):
    name = type(table).__name__
    with pytest.raises(
        TypeError, match=f"Expected a data frame, .*got {name}; make a data"
    ):
        read_columns(table)


@pytest.mark.parametrize("table", ["file.csv", Path("file.csv")])
def test_a_file_is_read_by_others(table):
    with pytest.raises(TypeError, match=r"make a data frame .*pandas\.read_csv"):
        read_columns(table)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, np.ndarray, list])
def test_a_class_is_not_a_table(table):
    with pytest.raises(TypeError, match=f"^{table.__name__} is a class; pass a table"):
        read_columns(table)


@pytest.mark.parametrize(
    "rows", [[[("a",)], [("b",)]], [["a"], [("b",)]], ((("a",),), (("b",),))]
)
def test_cells_that_are_tuples(rows):
    with pytest.raises(TypeError, match=r"column 0 holds .*tuple.*column of each"):
        read_columns(rows)


def test_lazy_frame():
    with pytest.raises(TypeError, match=r"\.collect\(\)"):
        read_columns(pl.LazyFrame({"a": [1]}))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' 2 times"),
        (pd.DataFrame([range(5)], columns=list("abcba")), "'a' 2 times, 'b' 2 times"),
        (pd.DataFrame([[1, 2]], columns=[1, 1]), "'1' 2 times"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "'1' 2 times"),
        (pd.DataFrame([[1, 2]], columns=[NAN, NAN]), "'nan' 2 times"),
        (pa.table([[1], [2]], names=["a", "a"]), "'a' 2 times"),
    ],
)
def test_names_of_several_columns(table, said):
    with pytest.raises(
        ValueError, match=f"not unique: {said}; rename or drop"
    ) as error:
        read_columns(table)
    assert error.type is ValueError


@pytest.mark.parametrize(
    "table",
    [
        np.zeros(2, dtype=[("k", "f8"), ("l", "i4")]),
        np.zeros((2, 2), dtype=[("k", "f8"), ("l", "i4")]),
        np.rec.array([(1.0, 2)], dtype=[("k", "f8"), ("l", "i4")]),
        np.ma.zeros(2, dtype=[("k", "f8"), ("l", "i4")]),
    ],
)
def test_structured_arrays(table):
    with pytest.raises(TypeError, match="fields 'k' and 'l'; convert it to a"):
        read_columns(table)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"a": 1}, {"a": 2}], "Row 0 is a dict"),
        ([[1], {"a": 2}], "Row 1 is a dict"),
        ([pd.Series([1, 2])], "Row 0 is a Series"),
        ([{1, 2}], "Row 0 is a set"),
        (list(np.zeros(2, dtype=[("k", "f8")])), "Row 0 is a void"),
    ],
)
def test_rows_that_are_no_lists(rows, said):
    with pytest.raises(TypeError, match=f"{said}; make a data frame of the rows"):
        read_columns(rows)


def test_cells_that_are_arrays_without_dimensions():
    with pytest.raises(TypeError, match="column 1 holds ndarray"):
        read_columns([[1.0, np.array(1.0)]])


def test_record_batches():
    batch = pa.RecordBatch.from_pydict({"a": [1, None], "b": ["x", None]})
    for table in (batch, pa.table(batch).to_reader()):
        numbers, words = read_columns(table)
        assert numbers.observed.tolist() == words.observed.tolist() == [True, False]


def types(table, **kwargs):
    return [column.type for column in read_columns(table, **kwargs)]


def test_other_number_of_columns_later():
    with pytest.raises(
        ValueError, match=r"^Found 2 features, but 1 were fitted; pass the columns"
    ):
        read_columns([[1, 2]], fitted=[ColumnType("x0", "numeric", "numbers")])


def test_names_missing_and_unexpected_later():
    fitted = types(pd.DataFrame([[1, 2, 3]], columns=[10, 20, 30]))
    for names, message in (
        ([10, 20, 31], "fitted; missing: '30'; unexpected: '31'. Pass the columns"),
        ([10, 20], "fitted; missing: '30'. Pass"),
        ([10, 20, 30, 40], "fitted; unexpected: '40'. Pass"),
    ):
        frame = pd.DataFrame([range(len(names))], columns=names)
        with pytest.raises(ValueError, match=message):
            read_columns(frame, fitted=fitted)


def test_many_missing_names_are_not_all_listed():
    fitted = types(pd.DataFrame([range(100)]))
    with pytest.raises(ValueError, match=r"'1', '2', .*'8' and 91 more\. Pass"):
        read_columns(pd.DataFrame([[0]]), fitted=fitted)


def test_names_in_another_order_later():
    fitted = types(pd.DataFrame([[1, 2]], columns=[10, 20]))
    with pytest.raises(
        ValueError, match=r"different order .*the order '10' and '20', or fit"
    ):
        read_columns(pd.DataFrame([[2, 1]], columns=[20, 10]), fitted=fitted)


def test_names_are_compared_only_between_frames():
    frame, array = pd.DataFrame([[1, 2]], columns=[10, 20]), np.array([[1.0, 2.0]])
    read_columns(array, fitted=types(frame))
    read_columns(frame, fitted=types(array))
