"""Cells: one family of plain values, and times that nothing wraps or splits."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from proximity_kernel._table.columns import read_columns

NAN = math.nan
DAY_S = 86400.0


def one(cells, **kwargs):
    (column,) = read_columns([[cell] for cell in cells], **kwargs)
    return column


def named(cells):
    return one(cells, categorical_features=[0])


# Times beyond what fits in nanoseconds


@pytest.mark.parametrize("unit", ["h", "m", "s", "ms", "us", "ns"])
@pytest.mark.parametrize("step", [1, 7])
@pytest.mark.parametrize("kind", "mM")
def test_every_unit_keeps_its_order_to_the_ends(unit, step, kind):
    counts = np.array([-(2**62), -(2**53) - 1, -1, 0, 1, 2**53 + 1, 2**62])
    times = counts.astype(f"{kind}8[{step}{unit}]").reshape(-1, 1)
    (array,) = read_columns(times)
    assert (np.diff(array.values) > 0).all()
    assert_allclose(array.values, one(list(times[:, 0])).values, rtol=1e-15)
    (labelled,) = read_columns(times, categorical_features=[0])
    assert labelled.values.tolist() == list(range(7))
    assert len(set(labelled.labels)) == 7
    if kind == "M":
        assert labelled.labels == named(list(times[:, 0])).labels


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "s", "ms", "us", "ns"])
def test_seconds_are_those_of_numpy(unit):
    times = np.array([["1969-12-25"], ["2000-02-29"], ["NaT"]], dtype=f"M8[{unit}]")
    expected = (times - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    assert_array_equal(read_columns(times)[0].values, expected[:, 0])


def test_the_same_moment_is_the_same_number_in_every_unit():
    rng = np.random.default_rng(0)
    micro = rng.integers(-(2**60), 2**60, 500) // 1000
    fine = micro.astype("M8[us]")
    expected = [int(n) / 10**6 for n in micro]
    for held in (fine, fine.astype("M8[ns]")):
        assert_array_equal(read_columns(held.reshape(-1, 1))[0].values, expected)
    assert_array_equal(one(fine.tolist()).values, expected)
    assert_array_equal(one(map(pd.Timestamp, fine)).values, expected)


def test_small_negative_durations_are_exact():
    spans = np.array([[-100], [100]], dtype="m8[ms]")
    for held in (spans, spans.astype("m8[us]"), spans.astype("m8[as]")):
        assert read_columns(held)[0].values.tolist() == [-0.1, 0.1]
    assert one([dt.timedelta(seconds=-0.1)]).values.tolist() == [-0.1]


def test_far_dates_and_durations_among_cells():
    far = one([np.datetime64("300000-01-01"), np.datetime64("2020"), None, pd.NaT])
    assert far.values[0] == float(np.datetime64("300000-01-01").astype(int)) * DAY_S
    assert_array_equal(far.values[1:], [1577836800.0, NAN, NAN])
    spans = one([dt.timedelta.max, pd.Timedelta("1s"), dt.timedelta.min])
    assert spans.values.tolist() == [
        dt.timedelta.max.total_seconds(),
        1.0,
        dt.timedelta.min.total_seconds(),
    ]


def test_units_finer_than_a_nanosecond_are_cut():
    (a,) = read_columns(np.array([[10**18], [1], ["NaT"]], dtype="M8[as]"))
    assert_array_equal(a.values, [1.0, 0.0, NAN])
    assert one([np.timedelta64(5 * 10**17, "as")]).values.tolist() == [0.5]


@pytest.mark.parametrize("hours", [-14, 14])
@pytest.mark.parametrize("end", [dt.datetime.min, dt.datetime.max])
def test_the_ends_of_datetime_with_a_time_zone(end, hours):
    zone = dt.timezone(dt.timedelta(hours=hours))
    expected = (end - dt.datetime(1970, 1, 1)).total_seconds() - hours * 3600
    cells = [end.replace(tzinfo=zone), None]
    assert one(cells).values[0] == pytest.approx(expected, abs=1e-4)
    assert len(named(cells).labels) == 1


def test_dates_without_a_unit():
    assert_array_equal(read_columns(np.array([["NaT"]], "M8"))[0].values, [NAN])
    assert named([np.datetime64("NaT")]).labels == ()
    for asked in (None, [0]):
        with pytest.raises(TypeError, match="column 0 holds dates in a unit without"):
            read_columns(np.zeros((2, 1), "M8"), categorical_features=asked)


# Dates as labels

NIGHT, NOON = dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 12, 0, 0, 500000)
PARIS = dt.timezone(dt.timedelta(hours=1))
TIMES = [NOON, None, NIGHT, NOON]
STAMPS = [pd.Timestamp(time) for time in TIMES]
LABELS = ("2020-01-01", "2020-01-01T12:00:00.5")


def _shift(time):
    return None if time is None else time.replace(tzinfo=dt.UTC).astimezone(PARIS)


HELD = {
    "datetime64": pd.DataFrame({"a": TIMES}),
    "datetime64[ns]": pd.DataFrame({"a": pd.Series(TIMES, dtype="M8[ns]")}),
    "with a zone": pd.DataFrame({"a": pd.Series(STAMPS).dt.tz_localize("UTC")}),
    "objects": pd.DataFrame({"a": pd.Series(TIMES, dtype=object)}),
    "stamps": pd.DataFrame({"a": pd.Series(STAMPS, dtype=object)}),
    "categorical": pd.DataFrame({"a": pd.Categorical(TIMES)}),
    "categorical objects": pd.DataFrame(
        {"a": pd.Categorical(pd.Series(TIMES, dtype=object))}
    ),
    "categorical with a zone": pd.DataFrame(
        {"a": pd.Categorical(pd.Series(map(_shift, TIMES)))}
    ),
    "arrow in pandas": pd.DataFrame(
        {"a": pd.Series(TIMES, dtype=pd.ArrowDtype(pa.timestamp("ms")))}
    ),
    "polars": pl.DataFrame({"a": TIMES}),
    "arrow": pa.table({"a": pa.array(TIMES, pa.timestamp("ns"))}),
    "arrow dictionary": pa.table({"a": pa.array(TIMES).dictionary_encode()}),
    "array": np.array(TIMES, dtype="M8[us]").reshape(-1, 1),
    "list": [[time] for time in TIMES],
    "list with a zone": [[_shift(time)] for time in TIMES],
    "list of datetime64": [[np.datetime64(time, "us")] for time in TIMES],
    "date and times": [[NOON], [None], [NIGHT.date()], [NOON]],
}


@pytest.mark.parametrize("table", HELD.values(), ids=HELD)
def test_dates_have_the_same_labels_in_every_holding(table):
    (a,) = read_columns(table, categorical_features=[0])
    assert (a.type.kind, a.type.family) == ("categorical", "dates")
    assert (a.labels, a.values.tolist()) == (LABELS, [1, -1, 0, 1])


def test_labels_of_dates_are_sorted_by_time():
    years = ["-100", "-001", "0001", "2020", "9999", "10000", "300000"]
    dates = [f"{year}-03-01" for year in years]
    assert named([np.datetime64(date) for date in dates[::-1]]).labels == tuple(dates)
    array = np.array(dates, dtype="M8[s]").reshape(-1, 1)
    assert read_columns(array, categorical_features=[0])[0].labels == tuple(dates)
    assert named([np.datetime64(1, "ns")]).labels == ("1970-01-01T00:00:00.000000001",)
    assert named([np.datetime64("2021-02", "M")]).labels == ("2021-02-01",)


def test_durations_have_the_same_labels_in_every_holding():
    spans = [dt.timedelta(seconds=2.5), None, dt.timedelta(1)]
    for cells in (spans, pd.Categorical(spans), pd.Series(spans, dtype=object)):
        (a,) = read_columns(pd.DataFrame({"a": cells}), categorical_features=["a"])
        assert a.type.family == "durations"
        assert (a.labels, a.values.tolist()) == ((2.5, DAY_S), [0, -1, 1])


def test_dates_are_ranked_by_label():
    days = pd.to_datetime(["2021-05-01", "2020-05-01"])
    first = pd.DataFrame({"a": pd.Categorical(days[:1], days, ordered=True)})
    fitted = [column.type for column in read_columns(first)]
    assert fitted[0].order == ("2021-05-01", "2020-05-01")
    later = [[dt.date(2020, 5, 1)], [days[0]], [None]]
    (a,) = read_columns(later, fitted=fitted, categorical_features=[0])
    assert_array_equal(a.values, [1.0, 0.0, NAN])


# Labels and missing cells


@pytest.mark.parametrize("values", [["x", "y", "x", None], [1.5, 2.5, 1.5, None]])
@pytest.mark.parametrize("ordered", [False, True])
def test_arrow_dictionaries_with_repeated_values(values, ordered):
    codes = pa.array([2, 0, 1, None, 3])
    cells = pa.DictionaryArray.from_arrays(codes, pa.array(values), ordered=ordered)
    (a,) = read_columns(pa.table({"a": cells}))
    assert (a.type.order if ordered else a.labels) == tuple(values[:2])
    assert_array_equal(np.where(a.observed, a.values, -1), [0, 0, 1, -1, -1])


@pytest.mark.parametrize("nothing", [np.ma.masked, Decimal("sNaN"), Decimal("NaN")])
def test_cells_without_a_hash_or_a_value(nothing):
    assert_array_equal(one([2, nothing]).values, [2.0, NAN])
    for cells in ([2, nothing, 1], ["b", nothing, "a"], [NOON, nothing, NIGHT]):
        column = named(cells)
        assert column.values.tolist() == [1, -1, 0]
        assert column.labels == named(cells[::2]).labels
    assert named([nothing]).type.family == "nothing"


SIGNALING = {"u2": ("f2", 0x7C01), "u4": ("f4", 0x7F800001)}


@pytest.mark.parametrize("word", SIGNALING)
def test_signaling_nan_is_missing_without_a_word(word):
    kind, bits = SIGNALING[word]
    array = np.array([[bits], [0]], dtype=word).view(kind)
    for table in (array, pd.DataFrame(array), list(array), array.astype(object)):
        assert_array_equal(read_columns(table)[0].values, [NAN, 0.0])
        (a,) = read_columns(table, categorical_features=[0])
        assert (a.labels, a.values.tolist()) == ((0.0,), [-1, 0])


def test_categories_of_decimals_are_plain_numbers():
    frame = pd.DataFrame({"a": pd.Categorical([Decimal("0.1"), None])})
    assert read_columns(frame)[0].labels == (0.1,)
    frame = pd.DataFrame({"a": pd.Categorical([Decimal("Infinity")])})
    with pytest.raises(ValueError, match="column 'a' contains infinity"):
        read_columns(frame)


def test_categories_that_cannot_be_sorted():
    cells = pd.Series([pd.Period("2020", "Y"), pd.Period("2020-01", "M")], dtype=object)
    frame = pd.DataFrame({"a": pd.Categorical(cells, categories=list(cells))})
    with pytest.raises(TypeError, match=r"column 'a' holds Period.*to_timestamp\(\)"):
        read_columns(frame)
