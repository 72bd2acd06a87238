"""Filled tables: values by the definition, known cells unchanged, in any make."""

import copy
import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import oracle
import oracle_weighted
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from strategies import (
    GRADES,
    empty_columns,
    fit_transform,
    fitted,
    mixed_table,
    parameters,
    plain,
    raises_naming,
    tables,
)

from proximity_kernel import ProximityKernel


def fill(pk, table, **options):
    """Impute; the warning about what cannot be filled is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column .* had nothing observed at fit")
        return pk.impute(table, **options)


def blocks(columns, reference, options):
    """The oracle's distribution of every missing cell: (row, feature) -> shares."""
    out, table = {}, {}
    for i, row in enumerate(oracle.assign_codes(columns, reference.cells)):
        for j, code in enumerate(row):
            if code != oracle.MISSING or not reference.n_bins[j]:
                continue
            if options["matching"] == "weighted":
                weights = oracle_weighted.weigh_row(row, reference, table)
                found, *_ = oracle_weighted.estimate(
                    row, j, weights, reference, options["min_support"]
                )
                out[i, j] = [float(share) for share in found]
            else:
                estimate = oracle.match(
                    row, j, reference, options["matching"], options["min_support"]
                )
                out[i, j] = oracle.average_block(estimate, j, reference)
    return out


def by_bin(values, cells):
    """The observed values in each bin."""
    held = [[] for _ in range(cells.n_bins)]
    for value in values:
        if value is not None:
            held[oracle.assign_code(value, cells)].append(value)
    return held


def expect_number(shares, held, centers):
    """Mean and standard deviation: bins by their mean, and what is inside them."""
    means = [np.mean(h) if h else c for h, c in zip(held, centers, strict=True)]
    mean = sum(p * m for p, m in zip(shares, means, strict=True))
    variance = sum(
        p * (np.var(h) if h else 0) + p * (m - mean) ** 2
        for p, h, m in zip(shares, held, means, strict=True)
    )
    return mean, variance**0.5


def chances_of_levels(shares, held):
    """The chance of every level: that of its bin, split as the observed values are."""
    out = {}
    for share, values in zip(shares, held, strict=True):
        for value in set(values):
            out[value] = share * values.count(value) / len(values)
    return out


@given(tables(max_rows=20, max_columns=4), parameters())
def test_values_are_those_of_the_definition(both, options):
    frame, new = both
    pk = fitted(ProximityKernel(**options, missingness="ignorable"), frame)
    filled, spread = fill(pk, new, return_uncertainty=True)
    columns = oracle.read_columns(frame)
    reference = oracle.fit(columns, options["n_bins"])
    wanted = blocks(oracle.read_columns(new), reference, options)
    for (i, j), shares in wanted.items():
        got, uncertainty = filled.iloc[i, j], spread.iloc[i, j]
        dtype = new.dtypes.iloc[j]
        held = by_bin(columns[j].values, reference.cells[j])
        if not columns[j].numeric:
            best = max(shares)
            assert uncertainty == pytest.approx(1 - best, abs=1e-9)
            at = reference.cells[j].categories.index(got)
            assert shares[at] == pytest.approx(best)
        elif isinstance(dtype, pd.CategoricalDtype):
            levels = list(dtype.categories)
            chances = chances_of_levels(shares, held)
            best = max(chances.values())
            assert uncertainty == pytest.approx(1 - best, abs=1e-9)
            assert chances[levels.index(got)] == pytest.approx(best)
        else:
            mean, deviation = expect_number(shares, held, reference.cells[j].centers)
            if dtype == "boolean":
                assert got == (mean > 0.5) or mean == pytest.approx(0.5)
                assert uncertainty == pytest.approx(min(mean, 1 - mean), abs=1e-6)
                continue
            eps = 1e-6 if dtype == np.float32 else 1e-9
            assert uncertainty == pytest.approx(deviation, abs=1e-6, rel=1e-6)
            whole = pd.api.types.is_integer_dtype(dtype)
            limit = 0.5 + 1e-9 if whole else eps * (1 + abs(mean))
            assert abs(float(got) - mean) <= limit
            assert not whole or got == int(got)


@given(tables(), parameters(), st.sampled_from(["mean", "mode"]), st.booleans())
def test_no_holes_and_nothing_else_changed(both, options, strategy, informative):
    frame, new = both
    missingness = "informative" if informative else "auto"
    pk = fitted(ProximityKernel(**options, missingness=missingness), frame)
    for table in (frame, new):
        before = table.copy()
        filled, spread = fill(pk, table, strategy=strategy, return_uncertainty=True)
        pd.testing.assert_frame_equal(table, before)
        observed = table.notna()
        assert filled.columns.equals(table.columns)
        assert filled.index.equals(table.index)
        for name in table.columns:
            known = observed[name]
            empty = name in empty_columns(frame)
            if empty:
                pd.testing.assert_series_equal(filled[name], table[name])
                assert spread[name].isna().equals(table[name].isna())
                continue
            assert filled[name].notna().all()
            if known.any():
                lost = isinstance(table[name].dtype, pd.CategoricalDtype) and not set(
                    filled[name]
                ) <= set(table[name].cat.categories)  # this batch had no such category
                assert lost or filled[name].dtype == table[name].dtype
                if lost:
                    assert (
                        filled.loc[known, name].tolist()
                        == table.loc[known, name].tolist()
                    )
                    continue
                pd.testing.assert_series_equal(
                    filled.loc[known, name], table.loc[known, name]
                )
            assert (spread.loc[known, name] == 0).all()
            assert (spread[name] >= 0).all()


@given(tables(), parameters())
def test_informative_gaps_are_filled_as_ignorable_ones(both, options):
    frame, _ = both
    told = fitted(ProximityKernel(**options, missingness="informative"), frame)
    not_told = fitted(ProximityKernel(**options, missingness="ignorable"), frame)
    left, right = (fill(pk, frame, return_uncertainty=True) for pk in (told, not_told))
    pd.testing.assert_frame_equal(left[0], right[0])
    pd.testing.assert_frame_equal(left[1], right[1])


def test_other_gaps_keep_the_estimates_that_know_of_informative_ones():
    rng = np.random.default_rng(0)
    absent = rng.random(300) < 0.5
    a = np.where(absent, 0.0, 10.0)
    table = pd.DataFrame({
        "a": a, "b": np.where(absent, np.nan, 1.0), "c": np.where(absent, np.nan, 2.0),
    })  # fmt: skip
    pk = ProximityKernel(n_bins=2, missingness="informative").fit(table)
    gone = pd.DataFrame({"a": [np.nan], "b": [np.nan], "c": [np.nan]})
    assert pk.impute(gone)["a"].tolist() == [0.0]  # only who lacks b has 0
    assert pk.impute(gone)[["b", "c"]].to_numpy().tolist() == [[1.0, 2.0]]


def test_blocks_of_rows_change_nothing(monkeypatch):
    table = mixed_table(400, 7, 0.3, 0)
    pk = ProximityKernel(missingness="informative").fit(table)
    want = pk.impute(table, return_uncertainty=True)
    monkeypatch.setattr("proximity_kernel._imputation._MOST_ROWS", 7)
    got = pk.impute(table, return_uncertainty=True)
    pd.testing.assert_frame_equal(got[0], want[0], check_exact=True)
    pd.testing.assert_frame_equal(got[1], want[1], check_exact=True)


def test_rare_labels_share_a_bin_and_the_commonest_stands_for_it():
    labels = ["a"] * 10 + ["b"] * 3 + ["c"] * 2 + ["d"]
    pk = ProximityKernel(max_categories=2).fit([[label, 1.0] for label in labels])
    filled, spread = pk.impute([[None, 1.0]], return_uncertainty=True)
    assert filled == [["a", 1.0]]
    assert spread[0][0] == pytest.approx(6 / 16)
    others = [["a", 1.0]] * 5 + [["b", 9.0]] * 3 + [["c", 9.0]] * 2
    pk = ProximityKernel(n_bins=2, max_categories=2).fit(others)
    filled, spread = pk.impute([[None, 9.0]], return_uncertainty=True)
    assert filled == [["b", 9.0]]
    assert spread[0][0] == pytest.approx(2 / 5)


def test_the_mode_is_the_typical_value_of_the_likeliest_bin():
    table = [[0.0], [2.0], [4.0], [100.0], [None]]
    pk = plain(n_bins=2).fit(table)
    assert pk.impute([[None]])[0][0] == pytest.approx(26.5)
    assert pk.impute([[None]], strategy="mode") == [[2.0]]


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
    pk = plain().fit(table)
    filled, spread = pk.impute(table, return_uncertainty=True)
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
    pk = plain().fit(table)
    filled, _ = pk.impute(table, return_uncertainty=True)
    assert table.equals(before)
    assert filled.schema == table.schema
    assert filled["x"].to_list() == [*base.to_list()[:4], base.to_list()[3]]


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
    pk = plain().fit(table)
    filled, spread = pk.impute(table, return_uncertainty=True)
    assert list(filled.columns) == list(table.columns) == list(spread.columns)
    assert filled.index.tolist() == spread.index.tolist() == [7, 7, 3, 1]
    assert (filled.dtypes == table.dtypes).all()
    assert filled.iloc[3].tolist() == table.iloc[2].tolist()
    for name in ("day", "money", "flag"):
        assert type(filled[name].iloc[3]) is type(table[name].iloc[0])
    numbered = table.set_axis(range(8), axis=1)
    assert plain().fit(numbered).impute(numbered).columns.tolist() == [*range(8)]


def test_labels_that_a_batch_does_not_know():
    table = pd.DataFrame({"x": list("aabb"), "key": list("ppqq")}).astype("category")
    pk = plain().fit(table)
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
    pk = plain().fit(order)
    batch = pl.DataFrame({"x": pl.Series([None], dtype=pl.Enum(["a"])), "key": ["q"]})
    assert pk.impute(batch)["x"].to_list() == ["b"]


def test_named_columns_are_labels_and_come_back_as_what_they_are():
    day = np.array(["2020-01-01", "2020-01-01", "2020-03-01", "NaT"], "M8[s]")
    table = pd.DataFrame({
        "code": pd.array([7, 7, 9, None], "Int64"), "day": day,
        "yes": pd.array([True, True, False, None], "boolean"), "key": list("ppqq"),
    })  # fmt: skip
    named = ["code", "day", "yes"]
    pk = plain(categorical_features=named).fit(table)
    filled, spread = pk.impute(table, return_uncertainty=True)
    assert (filled.dtypes == table.dtypes).all()
    assert filled.iloc[3].tolist() == table.iloc[2].tolist()
    assert spread.dtypes.astype(str).eq("float64").all()


def test_arrays_come_back_as_arrays():
    rows = np.array([[1.0, 5.0], [1.0, np.nan], [9.0, 7.0]], np.float32)
    pk = plain(n_bins=2).fit(rows)
    filled, spread = pk.impute(rows, return_uncertainty=True)
    assert filled.dtype == np.float32
    assert spread.dtype == float
    assert filled[1, 1] == 5
    assert np.isnan(rows[1, 1])
    mixed = np.array([[1, "a"], [1, "a"], [None, "b"], [9, "b"]], object)
    assert plain(n_bins=2).fit(mixed).impute(mixed).tolist()[2] == [9, "b"]
    masked = np.ma.array([[1, 1], [1, 1], [9, 9]], mask=[[0, 0], [0, 1], [0, 0]])
    filled = plain(n_bins=2).fit(masked).impute(masked)
    assert filled.tolist() == [[1, 1], [1, 1], [9, 9]]
    assert filled.dtype == masked.dtype
    days = np.array(
        [["2020-01-01"] * 2, ["2020-01-01", "NaT"], ["2021-01-01"] * 2], "M8[D]"
    )
    filled, spread = plain(n_bins=2).fit(days).impute(days, return_uncertainty=True)
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
        filled, spread = plain().fit(rows).impute(rows, return_uncertainty=True)
    assert rows == before
    assert filled == [rows[0], rows[1], rows[0]]
    assert [type(cell) for cell in filled[2]] == [type(cell) for cell in rows[0]]
    assert type(filled[1]) is tuple
    zero, none = 0.0, dt.timedelta(0)
    assert spread[2] == [zero, zero, zero, none, none, none, zero, zero]


def test_large_numbers_do_not_overflow():
    table = np.array([[-1.7e308], [1.7e308], [1.6e308], [np.nan]])
    filled, spread = plain(n_bins=2).fit(table).impute(table, return_uncertainty=True)
    assert np.isfinite(filled).all()
    assert np.isfinite(spread).all()


def test_typical_values_are_learnt_from_a_part_of_many_rows():
    rng = np.random.default_rng(0)
    table = rng.exponential(size=(100_000, 1))
    pk = plain().fit(table)
    (typical,) = pk._model.typical
    codes = pk.transform(table).indices
    want = [table[codes == k].mean() for k in range(4)]
    np.testing.assert_allclose(typical.values[:3], want[:3], rtol=0.05)


def test_means_of_bins_are_nearer_than_centers():
    rng = np.random.default_rng(1)
    hidden = rng.exponential(size=4000)
    key = np.digitize(hidden, [0.3, 1.0, 2.0])
    table = np.column_stack([hidden, key])
    pk = plain().fit(table)
    asked = table.copy()
    asked[:, 0] = np.nan
    got = pk.impute(asked)[:, 0]
    centers = dense_centers(pk, asked)
    assert np.mean((got - hidden) ** 2) < 0.8 * np.mean((centers - hidden) ** 2)


def dense_centers(pk, asked):
    shares = pk.transform(asked).toarray()[:, : pk.n_bins_[0]]
    return shares @ pk.bin_centers_[0]


def test_what_cannot_be_filled_is_said():
    table = pd.DataFrame({"a": [1.0, 2.0, None], "b": [None, None, None]})
    with pytest.warns(UserWarning, match="'b'"):
        pk = plain().fit(table)
    with pytest.warns(UserWarning, match="column 'b' had nothing observed") as caught:
        filled, spread = pk.impute(table, return_uncertainty=True)
    assert caught[0].filename == __file__
    assert filled["a"].notna().all()
    assert filled["b"].isna().all()
    assert spread["b"].isna().all()
    whole = table.assign(b=1.0)
    assert pk.impute(whole)["b"].tolist() == [1.0] * 3


def test_bad_input_is_named():
    table = [[1.0], [2.0], [None]]
    with pytest.raises(NotFittedError):
        ProximityKernel().impute(table)
    pk = plain().fit(table)
    with raises_naming(ValueError, "strategy", "'mean' or 'mode'", "'median'"):
        pk.impute(table, strategy="median")
    with raises_naming(ValueError, "return_uncertainty", "yes"):
        pk.impute(table, return_uncertainty="yes")
    with raises_naming(ValueError, "2 features"):
        pk.impute([[1.0, 2.0]])


def test_it_does_not_depend_on_the_options_of_the_output():
    table = mixed_table(60, 5, 0.3, 3)
    want = ProximityKernel().fit(table).impute(table)
    pk = ProximityKernel(normalize=True, sparse_output=False, dtype=np.float64)
    pk.set_output(transform="pandas").fit(table)
    pd.testing.assert_frame_equal(pk.impute(table), want)
    assert fit_transform(pk, table).shape[0] == 60
    assert GRADES.ordered
