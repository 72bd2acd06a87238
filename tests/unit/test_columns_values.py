"""Values of columns: times, what is refused, and what a later table may hold."""

import datetime as dt
import math
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from proximity_kernel._table.columns import (
    ColumnType,
    read_columns,
)

NAN = math.nan
DAY = dt.date(2020, 1, 2)
NOON = dt.datetime(2020, 1, 2, 12, 0, 0, 500000)
MIDNIGHT_S, NOON_S = 1577923200.0, 1577966400.5
PARIS = dt.timezone(dt.timedelta(hours=1))


def _arrow(kind):
    return pd.ArrowDtype(kind)


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
    family = "durations" if seconds == 2.5 else "dates"
    assert when.type == ColumnType("when", "numeric", family)
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
    assert named.labels == ("2020-01-02",)


MIXED = "convert it to one type."
OTHER = (
    "convert it to one type; every cell of the argument must be a string or a number."
)
ITEMS = "make a column of each item."


@pytest.mark.parametrize(
    ("cells", "message", "advice"),
    [
        (["x", 1, None], "numbers and text, for example 1 and 'x';", MIXED),
        (["x", DAY], "dates and text", MIXED),
        ([1.5, dt.timedelta(1)], "durations and numbers", MIXED),
        ([b"x", None], "bytes, for example b'x'", "decode it to text first."),
        ([1.5, {"foo": "bar"}], r"dict.*\{'foo': 'bar'\}", OTHER),
        ([[1], [2]], "list", ITEMS),
        ([(1,), (2,)], "tuple", ITEMS),
        ([np.array([1, 2]), None], "ndarray", ITEMS),
        ([dt.time(1), None], "time", "convert it to numbers, e.g. the seconds since"),
        ([object(), "x"], "object and text", OTHER),
    ],
)
@pytest.mark.parametrize("named", [[], ["a"]])
def test_cells_that_cannot_be_compared(cells, message, advice, named):
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    with pytest.raises(TypeError, match=f"^column 'a' holds {message}") as error:
        read_columns(frame, categorical_features=named)
    said = f"; a column must be all text, all numbers or all dates: {advice}"
    assert said in str(error.value)
    asked_by_sklearn = re.search("argument must be .* string.* number", said)
    assert bool(asked_by_sklearn) == (advice is OTHER)


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
    with pytest.raises(TypeError, match=r"column 'a' holds Period.*\.to_timestamp\(\)"):
        read_columns(pd.DataFrame({"a": pd.period_range("2020", periods=2, freq="D")}))
    with pytest.raises(TypeError, match="column 'a' holds Interval"):
        read_columns(pd.DataFrame({"a": pd.interval_range(0, 2)}))
    with pytest.raises(TypeError, match=r"column 0 holds dtype \|V4"):
        read_columns(np.zeros((2, 2), dtype="V4"))
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
        (pd.DataFrame({"a": [1], "b": [np.longdouble("1e400")]}), "column 'b'"),
        (pd.DataFrame({"a": [1], "b": pd.Categorical([math.inf])}), "column 'b'"),
        (np.array(BAD, dtype="f2"), "column 1"),
        (np.array(BAD, dtype=">f8"), "column 1"),
        (np.ma.masked_equal(BAD, 3.0), "column 1"),
    ],
)
@pytest.mark.parametrize("named", [[], [1]])
def test_infinity_names_the_column(table, place, named):
    with pytest.raises(ValueError, match=rf"^{place} contains infinity \(inf\)"):
        read_columns(table, categorical_features=named)


@pytest.mark.parametrize(
    "table",
    [
        np.array([[1, 2j]]),
        np.array([[2j]], dtype=np.clongdouble),
        [[2j]],
        [[1], [2j]],
        pd.DataFrame({"a": [1j]}),
        pd.DataFrame({"a": pd.Categorical([1j])}),
    ],
)
def test_complex(table):
    with pytest.raises(
        ValueError, match=r"^Complex data not supported: column (0|'a'); keep the real"
    ):
        read_columns(table)


@pytest.mark.parametrize("unit", ["Y", "M", "generic"])
def test_durations_without_a_fixed_length(unit):
    dtype = "m8" if unit == "generic" else f"m8[{unit}]"
    array = np.array([[1], ["NaT"]], dtype=dtype)
    message = rf"holds durations in a unit without fixed length \({unit}\); convert it"
    for table in (array, [[array[0, 0]], [None]]):
        with pytest.raises(TypeError, match=f"column 0 {message}"):
            read_columns(table)
    frame = pd.DataFrame({"a": pd.Series([array[0, 0], None], dtype=object)})
    with pytest.raises(TypeError, match=f"column 'a' {message}"):
        read_columns(frame)
    assert_array_equal(read_columns(array[1:])[0].values, [NAN])


def test_arrow_types_unknown_to_numpy():
    kinds = pa.array([0, 1], pa.int8())
    cells = pa.UnionArray.from_sparse(kinds, [pa.array([1, 2]), pa.array(["x", "y"])])
    with pytest.raises(TypeError, match="column 'a' holds numbers and text"):
        read_columns(pa.table({"a": cells}))
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], [1.5, None])
    assert_array_equal(read_columns(pa.table({"a": runs}))[0].values, [1.5, 1.5, NAN])


def types(table, **kwargs):
    return [column.type for column in read_columns(table, **kwargs)]


SIZES = ["small", "large", "huge"]


ORDERED = pd.DataFrame(
    {"size": pd.Categorical(["large", None], categories=SIZES, ordered=True)}
)


def test_nothing_observed_takes_the_fitted_type():
    fitted = types(ORDERED) + types(pd.DataFrame({"a": ["x"], "b": [1]}))
    later = pd.DataFrame({"size": ["", ""], "a": [NAN, NAN], "b": ["", ""]})
    size, a, b = read_columns(later.replace("", None), fitted=fitted)
    assert [size.type, a.type, b.type] == fitted
    assert_array_equal(size.values, [NAN, NAN])
    assert (a.values.tolist(), a.values.dtype, a.labels) == ([-1, -1], np.int32, ())
    assert_array_equal(b.values, [NAN, NAN])


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        (
            ["x"],
            [1.5],
            r"'a' was categorical \(text\) when fitted and is numeric \(numbers\)",
        ),
        (
            [1.5],
            ["x"],
            r"'a' was numeric \(numbers\) when fitted and is categorical \(text\)",
        ),
        (pd.Categorical([1], ordered=True), [1], "was an ordered .*is numeric"),
        ([1], pd.Categorical([1], ordered=True), "is an ordered categorical now"),
    ],
)
def test_other_kinds_later(first, later, message):
    fitted = types(pd.DataFrame({"a": first}))
    with pytest.raises(ValueError, match=f"{message}.*; convert it"):
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
    fitted = types(ORDERED)
    (size,) = read_columns(later, fitted=fitted)
    assert size.type == fitted[0]
    assert size.labels == ()
    assert_array_equal(size.values, [2.0, NAN, 0.0])


def test_labels_without_a_rank():
    fitted = types(ORDERED)
    ordered = pd.Categorical(["vast"], ["small", "vast"], ordered=True)
    for later in (["vast"], ordered):
        with pytest.raises(ValueError, match=r"column 'size' .*rank.*\['vast'\]"):
            read_columns(pd.DataFrame({"size": later}), fitted=fitted)


DAYS = [dt.datetime(2020, 1, 2), dt.datetime(2021, 1, 2)]


@pytest.mark.parametrize(
    ("first", "later", "asked", "families"),
    [
        ([1, 2], ["x", "y"], ["a"], ("numbers", "text")),
        (["x", "y"], [1, 2], ["a"], ("text", "numbers")),
        (DAYS, [1.5, 2.5], None, ("dates", "numbers")),
        ([1.5, 2.5], DAYS, None, ("numbers", "dates")),
        (DAYS, [dt.timedelta(1)] * 2, None, ("dates", "durations")),
        (DAYS, [1.5, 2.5], ["a"], ("dates", "numbers")),
        (pd.Categorical([1, 2]), ["x", "y"], None, ("numbers", "text")),
    ],
)
def test_other_families_later(first, later, asked, families):
    fitted = types(pd.DataFrame({"a": first}), categorical_features=asked)
    kind, (was, now) = fitted[0].kind, families
    message = (
        rf"^column 'a' was {kind} \({was}\) when fitted and is {kind} \({now}\) now; "
        "convert it .*fit again"
    )
    with pytest.raises(ValueError, match=message):
        read_columns(
            pd.DataFrame({"a": later}), categorical_features=asked, fitted=fitted
        )


@pytest.mark.parametrize("asked", [None, ["a"]])
@pytest.mark.parametrize("first", [[1, 2], DAYS])
def test_nothing_observed_has_no_family_to_disagree(first, asked):
    seen, unseen = pd.DataFrame({"a": first}), pd.DataFrame({"a": [NAN, NAN]})
    for fit_on, later in ((seen, unseen), (unseen, seen)):
        fitted = types(fit_on, categorical_features=asked)
        (a,) = read_columns(later, categorical_features=asked, fitted=fitted)
        assert a.type == fitted[0]
        assert a.observed.all() == (later is seen)


@pytest.mark.parametrize("asked", [None, ["a"]])
@pytest.mark.parametrize(
    "nothing", [[NAN] * 3, pd.Categorical([None] * 3, ["x"], ordered=True)]
)
@pytest.mark.parametrize(
    "later",
    [
        [1.5, None, 2.5],
        ["x", None, "y"],
        [*DAYS[:1], None, DAYS[1]],
        pd.Categorical(["x", None, "y"]),
        pd.Categorical(["y", None, "x"], ["x", "y"], ordered=True),
    ],
)
def test_nothing_observed_at_fit_agrees_with_any_kind(nothing, later, asked):
    fitted = types(pd.DataFrame({"a": nothing}), categorical_features=asked)
    assert fitted[0].family == "nothing"
    for again in (None, ["a"]):
        (a,) = read_columns(
            pd.DataFrame({"a": later}), fitted=fitted, categorical_features=again
        )
        assert a.type == fitted[0]
        assert a.observed.tolist() == [True, False, True]
        assert a.values.dtype == (np.float64 if asked is None else np.int32)


def test_the_place_in_a_message_is_that_of_the_later_table():
    fitted = types(pd.DataFrame({"a": [1, 2]}))
    with pytest.raises(ValueError, match=r"^column 0 was numeric"):
        read_columns([["x"]], fitted=fitted)
