"""A row is filled alone as beside other rows: values, types and time zones."""

import datetime as dt
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from proximity_kernel import ProximityImputer

ZONES = (
    None, "UTC", "America/New_York", "Europe/Berlin", "Etc/GMT+8", "Asia/Kolkata",
)  # fmt: skip
OFFSET = "UTC+05:30"
N_ROWS = 24


def find_zone(name):
    if name == OFFSET:
        return dt.timezone(dt.timedelta(hours=5, minutes=30))
    return None if name is None else ZoneInfo(name)


def list_moments(zone, missing=True):
    """Moments with a time of day, and missing cells in the first two rows."""
    first = dt.datetime(2020, 1, 1, 7, 13, 5, 1234, find_zone(zone))
    days = [first + dt.timedelta(days=3 * i) for i in range(N_ROWS)]
    return [None, None, *days[2:]] if missing else days


def make_pandas(moments, unit, zone):
    dtype = f"datetime64[{unit}]" if zone is None else f"datetime64[{unit}, {zone}]"
    series = pd.to_datetime(pd.Series(moments), utc=zone is not None)
    held = series if zone is None else series.dt.tz_convert(zone)
    return pd.DataFrame({"seen": held.astype(dtype), "n": range(len(moments))})


def make_polars(moments, unit, zone):
    if zone is not None:
        moments = [one and one.astimezone(dt.UTC) for one in moments]
    seen = pl.Series(moments, dtype=pl.Datetime(unit, zone and "UTC"))
    seen = seen.dt.convert_time_zone(zone) if zone else seen
    return pl.DataFrame({"seen": seen, "n": range(len(moments))})


def make_arrow(moments, unit, zone):
    cells = pa.array(moments, pa.timestamp("us", zone)).cast(
        pa.timestamp(unit, zone), safe=False
    )
    return pa.table({"seen": cells, "n": range(len(moments))})


def make_objects(moments, *_):
    seen = pd.Series(moments, dtype=object)
    return pd.DataFrame({"seen": seen, "n": range(len(moments))})


def make_timestamps(moments, *_):
    held = [None if one is None else pd.Timestamp(one) for one in moments]
    return make_objects(held)


def make_list(moments, *_):
    return [[one, i] for i, one in enumerate(moments)]


MAKES = {
    "pandas": make_pandas,
    "polars": make_polars,
    "arrow": make_arrow,
    "objects": make_objects,
    "timestamps": make_timestamps,
    "list": make_list,
}


def take(table, rows):
    if isinstance(table, pd.DataFrame):
        return table.iloc[rows]
    return (
        [table[i] for i in rows]
        if isinstance(table, list)
        else table.take(rows)
        if isinstance(table, pa.Table)
        else table[rows]
    )


def describe(table, row=0):
    """The first cell of a row: its value, type and time zone."""
    if isinstance(table, list):
        cell = table[row][0]
        return cell, type(cell), str(cell.tzinfo)
    if isinstance(table, pd.DataFrame):
        cell = table["seen"].iloc[row]
        return cell, type(cell), str(cell.tzinfo), table["seen"].dtype
    if isinstance(table, pa.Table):
        return table["seen"][row], table.schema.field("seen").type
    return table["seen"][row], table.schema["seen"]


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("batches", [False, True])
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("name", MAKES)
def test_dates_of_a_row_alone(name, zone, batches, saved, tmp_path):
    table = MAKES[name](list_moments(zone), "us", zone)
    if batches:
        parts = [take(table, [*range(k, N_ROWS, 2)]) for k in (0, 1)]
        imputer = ProximityImputer().fit_batches(parts)
    else:
        imputer = ProximityImputer().fit(table)
    if saved:
        imputer.save(tmp_path / "m")
        imputer = ProximityImputer.load(tmp_path / "m")
    beside = describe(imputer.transform(table))
    assert describe(imputer.transform(take(table, [0]))) == beside
    assert describe(imputer.transform(take(table, [0, 1]))) == beside
    assert describe(imputer.transform(take(table, [0, 5]))) == beside


@pytest.mark.parametrize("name", ["list", "objects", "timestamps"])
def test_an_offset_is_a_zone(name):
    table = MAKES[name](list_moments(OFFSET), "us", OFFSET)
    imputer = ProximityImputer().fit(table)
    beside = describe(imputer.transform(table))
    assert beside[2] == OFFSET
    assert describe(imputer.transform(take(table, [0]))) == beside


@pytest.mark.parametrize("zone", ["America/New_York", None])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_row_without_a_dtype_has_that_of_the_fit(unit, zone):
    made = {"pandas": make_pandas, "arrow": make_arrow}
    made |= {"polars": make_polars} if unit != "s" else {}
    for name, make in made.items():
        table = make(list_moments(zone), unit, zone)
        imputer = ProximityImputer().fit(table)
        beside = describe(imputer.transform(table))
        rows = {"seen": [None], "n": [0]}
        bare = {"pandas": pd.DataFrame, "arrow": pa.table, "polars": pl.DataFrame}[name]
        assert describe(imputer.transform(bare(rows))) == beside
        if name == "pandas":  # of another unit, and without a zone
            rows["seen"] = [pd.NaT]
            assert describe(imputer.transform(pd.DataFrame(rows))) == beside


def test_several_zones_are_filled_in_utc():
    moments = [*list_moments("Asia/Kolkata")[:12], *list_moments("UTC", missing=False)]
    rows = make_list(moments)
    imputer = ProximityImputer().fit(rows)
    for table in (rows, rows[:1], rows[:3]):
        assert imputer.transform(table)[0][0].tzinfo is dt.UTC


LABELS = {
    "booleans": [True, False, True, None],
    "texts": ["a", "b", "a", None],
    "booleans as texts": ["true", "false", "true", None],
}
FRAMES = {
    "pandas": (pd.DataFrame, lambda frame: tuple(frame.dtypes)),
    "polars": (pl.DataFrame, lambda frame: tuple(frame.schema.values())),
    "arrow": (pa.table, lambda table: tuple(table.schema.types)),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("first", LABELS)
@pytest.mark.parametrize("second", [None, *LABELS])
def test_the_types_of_probabilities_do_not_depend_on_the_rows(name, first, second):
    make, describe_types = FRAMES[name]
    columns = {"p": LABELS[first] * 8, "x": [float(i % 5) for i in range(32)]}
    if second:
        columns["q"] = [None, *(LABELS[second] * 8)[:-1]]
    imputer = ProximityImputer().fit(make(columns))
    known = imputer.probabilities(make(columns))
    for i in range(5):
        row = {n: own[i : i + 1] for n, own in columns.items()}
        if name == "pandas":
            row = {n: pd.Series(own, dtype=object) for n, own in row.items()}
            row["x"] = row["x"].astype(float)
        found = imputer.probabilities(make(row))
        assert describe_types(found) == describe_types(known)


@pytest.mark.parametrize("name", FRAMES)
def test_labels_of_numbers_and_none(name):
    make, describe_types = FRAMES[name]
    columns = {"p": [1, 2, 3, 4, 1, 2, None, 5] * 4, "x": [float(i) for i in range(32)]}
    imputer = ProximityImputer().set_params(
        kernel__categorical_features=["p"], kernel__max_categories=3
    )
    imputer.fit(make(columns))
    known = imputer.probabilities(make(columns))
    assert len(known) == 4 * 4  # two labels, the third bin's and any other
    row = {"p": np.array([np.nan]), "x": np.array([2.0])}
    assert describe_types(imputer.probabilities(make(row))) == describe_types(known)


ARROW = {
    "date64": pa.date64(),
    "decimal256": pa.decimal256(50, 2),
    "decimal32": pa.decimal32(5, 2),
    "run ends": pa.run_end_encoded(pa.int32(), pa.float64()),
    "far": pa.timestamp("s", "Europe/Berlin"),
    "unknown zone": pa.timestamp("s", "Mars/Phobos"),
}


@pytest.mark.parametrize("name", ARROW)
@pytest.mark.parametrize("pandas", [False, True])
def test_a_row_alone_keeps_the_type_of_arrow(name, pandas):
    kind, far = ARROW[name], 10**12 if name == "far" else 10**9  # beyond the year 9999
    seconds = pa.array([None, *(86_400 * i + far for i in range(N_ROWS - 1))])
    if pa.types.is_run_end_encoded(kind):
        cells = pc.run_end_encode(seconds.cast(pa.float64()))
    elif pa.types.is_decimal(kind):
        cells = pa.array([None, *(Decimal(i) / 4 for i in range(N_ROWS - 1))], kind)
    elif pa.types.is_date(kind):
        cells = seconds.view(pa.timestamp("s")).cast(kind)
    else:
        cells = seconds.view(kind)
    cells = pa.chunked_array([cells])
    other = pa.array(range(N_ROWS))
    table = pa.table({"seen": cells, "n": other})
    if pandas:
        seen = pd.Series(pd.arrays.ArrowExtensionArray(cells))
        table = pd.DataFrame({"seen": seen, "n": range(N_ROWS)})
    imputer = ProximityImputer().fit(table)
    first = table.head(1) if pandas else table.slice(0, 1)
    found = []
    for filled in (imputer.transform(table), imputer.transform(first)):
        made = pa.table({"seen": pa.array(filled["seen"])}) if pandas else filled
        assert made.schema.field("seen").type == kind
        plain = made["seen"].combine_chunks()
        if pa.types.is_run_end_encoded(kind):
            plain = pc.run_end_decode(plain)
        assert plain.null_count == 0
        found.append(plain.slice(0, 1))
    assert found[0].equals(found[1])
