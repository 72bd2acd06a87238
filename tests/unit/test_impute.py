"""Filled tables: values by the definition, known cells unchanged, in any make."""

import warnings
from dataclasses import replace

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from strategies import (
    GRADES,
    Filler,
    adopt_weights,
    empty_columns,
    fit_transform,
    fitted,
    mixed_table,
    parameters,
    plain,
    raises_naming,
    tables,
)

from proximity_kernel import ProximityImputer, ProximityKernel


def filler(kernel, frame):
    """A filler on a fitted kernel."""
    return Filler(kernel).fit(frame)


def fill(pk, table, **options):
    """Impute; the warning about what cannot be filled is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column .* had no observed value at fit")
        return pk.both(table, **options)


def blocks(columns, reference, options):
    """The oracle's distribution of every missing cell: (row, feature) -> shares."""
    out = {}
    for i, row in enumerate(oracle.assign_codes(columns, reference.cells)):
        for j, code in enumerate(row):
            if code != oracle.MISSING or not reference.n_bins[j]:
                continue
            out[i, j] = oracle.estimate_block(row, j, reference, options["matching"])
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


def find_doubt(column):
    """The probability of another label where all N are equal: 1 / (N + 2)."""
    known = [v for v in column.values if v is not None]
    return 1 / (len(known) + 2) if len(set(known)) == 1 else 0


@given(tables(max_rows=20, max_columns=4), parameters())
def test_values_are_those_of_the_definition(both, options):
    frame, new = both
    kernel = fitted(ProximityKernel(**options, missingness="ignorable"), frame)
    pk = filler(kernel, frame)
    filled, spread = fill(pk, new)
    columns = oracle.read_columns(frame)
    reference = oracle.fit(columns, options["n_bins"])
    if options["matching"] == "pairwise":
        adopt_weights(kernel.model_.matcher, reference.pairwise)
    wanted = blocks(oracle.read_columns(new), reference, options)
    for (i, j), shares in wanted.items():
        got, uncertainty = filled.iloc[i, j], spread.iloc[i, j]
        dtype = new.dtypes.iloc[j]
        held = by_bin(columns[j].values, reference.cells[j])
        if not columns[j].numeric:
            best = max(shares)
            sure = best - find_doubt(columns[j])
            assert uncertainty == pytest.approx(1 - sure, abs=1e-9)
            at = reference.cells[j].categories.index(got)
            assert shares[at] == pytest.approx(best)
        elif isinstance(dtype, pd.CategoricalDtype):
            levels = list(dtype.categories)
            chances = chances_of_levels(shares, held)
            best = max(chances.values())
            sure = best - find_doubt(columns[j])
            assert uncertainty == pytest.approx(1 - sure, abs=1e-9)
            assert chances[levels.index(got)] == pytest.approx(best)
        else:
            mean, deviation = expect_number(shares, held, reference.cells[j].centers)
            if dtype == "boolean":
                assert got == (mean > 0.5) or mean == pytest.approx(0.5)
                doubt = max(min(mean, 1 - mean), find_doubt(columns[j]))
                assert uncertainty == pytest.approx(doubt, abs=1e-6)
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
    pk = filler(
        fitted(ProximityKernel(**options, missingness=missingness), frame), frame
    )
    for table in (frame, new):
        before = table.copy()
        filled, spread = fill(pk, table, strategy=strategy)
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


@given(tables(max_rows=20, max_columns=4), parameters())
def test_informative_gaps_are_filled_given_that_the_cell_is_not_missing(both, options):
    """All such gaps of the row are taken for unknown, and their bin is left out."""
    frame, _ = both
    kernel = fitted(ProximityKernel(**options, missingness="informative"), frame)
    pk = filler(kernel, frame)
    columns = oracle.read_columns(frame)
    gaps = oracle.find_gaps(columns)
    reference = oracle.fit(columns, options["n_bins"], informative=gaps)
    if options["matching"] == "pairwise":
        adopt_weights(kernel.model_.matcher, reference.pairwise)
    _, spread = fill(pk, frame)
    for i, row in enumerate(reference.codes):
        missing = [j for j in gaps if columns[j].values[i] is None]
        opened = [
            oracle.MISSING if j in missing else code for j, code in enumerate(row)
        ]
        for j in missing:
            shares = oracle.estimate_block(opened, j, reference, options["matching"])
            shares = np.array(shares[:-1])
            if not shares.sum():  # nobody alike observes it
                counts = [
                    len(reference.holders[j].get(k, ())) for k in range(len(shares))
                ]
                shares = np.array(counts)
            shares = shares / shares.sum()
            if not columns[j].numeric:
                wanted = 1 - shares.max() + find_doubt(columns[j])
            elif isinstance(frame.dtypes.iloc[j], pd.CategoricalDtype):
                continue
            else:
                cells = replace(reference.cells[j], gap=False)
                held = by_bin(columns[j].values, cells)
                mean, wanted = expect_number(shares, held, cells.centers)
                if frame.dtypes.iloc[j] == "boolean":
                    wanted = max(min(mean, 1 - mean), find_doubt(columns[j]))
            assert spread.iloc[i, j] == pytest.approx(wanted, abs=1e-6, rel=1e-6)


def test_other_gaps_keep_the_estimates_that_know_of_informative_ones():
    rng = np.random.default_rng(0)
    absent = rng.random(300) < 0.5
    a = np.where(absent, 0.0, 10.0)
    table = pd.DataFrame({
        "a": a, "b": np.where(absent, np.nan, 1.0), "c": np.where(absent, np.nan, 2.0),
    })  # fmt: skip
    pk = Filler(ProximityKernel(n_bins=2, missingness="informative")).fit(table)
    gone = pd.DataFrame({"a": [np.nan], "b": [np.nan], "c": [np.nan]})
    assert pk.impute(gone)["a"].tolist() == pytest.approx([0.0], abs=1e-3)
    assert pk.impute(gone)[["b", "c"]].to_numpy().tolist() == [[1.0, 2.0]]
    pk = Filler(pk.kernel.set_params(matching="cascade").fit(table)).fit(table)
    assert pk.impute(gone)["a"].tolist() == [0.0]  # only who lacks b has 0


def test_blocks_of_rows_change_nothing(monkeypatch):
    table = mixed_table(400, 7, 0.3, 0)
    pk = Filler(ProximityKernel(missingness="informative")).fit(table)
    want = pk.both(table)
    monkeypatch.setattr("proximity_kernel.imputer._MOST_ROWS", 7)
    got = pk.both(table)
    pd.testing.assert_frame_equal(got[0], want[0], check_exact=True)
    pd.testing.assert_frame_equal(got[1], want[1], check_exact=True)


def test_rare_labels_share_a_bin_and_the_commonest_stands_for_it():
    labels = ["a"] * 10 + ["b"] * 3 + ["c"] * 2 + ["d"]
    pk = Filler(ProximityKernel(max_categories=2)).fit(
        [[label, 1.0] for label in labels]
    )
    filled, spread = pk.both([[None, 1.0]])
    assert filled == [["a", 1.0]]
    assert spread[0][0] == pytest.approx(6 / 16)
    others = [["a", 1.0]] * 5 + [["b", 9.0]] * 3 + [["c", 9.0]] * 2
    pk = Filler(ProximityKernel(matching="cascade", max_categories=2)).fit(others)
    filled, spread = pk.both([[None, 9.0]])
    assert filled == [["b", 9.0]]
    assert spread[0][0] == pytest.approx(2 / 5)


def test_the_mode_is_the_typical_value_of_the_likeliest_bin():
    table = [[0.0], [2.0], [4.0], [100.0], [None]]
    pk = Filler(plain(n_bins=2)).fit(table)
    assert pk.impute([[None]])[0][0] == pytest.approx(26.5)
    assert pk.impute([[None]], strategy="mode") == [[2.0]]


def test_large_numbers_do_not_overflow():
    table = np.array([[-1.7e308], [1.7e308], [1.6e308], [np.nan]])
    filled, spread = Filler(plain(n_bins=2)).fit(table).both(table)
    assert np.isfinite(filled).all()
    assert np.isfinite(spread).all()


def test_typical_values_are_learnt_from_a_part_of_many_rows():
    rng = np.random.default_rng(0)
    table = rng.exponential(size=(100_000, 1))
    pk = plain().fit(table)
    (typical,) = pk.model_.typical
    codes = pk.transform(table).indices
    want = [table[codes == k].mean() for k in range(4)]
    np.testing.assert_allclose(typical.values[:3], want[:3], rtol=0.05)


def test_means_of_bins_are_nearer_than_centers():
    rng = np.random.default_rng(1)
    hidden = rng.exponential(size=4000)
    key = np.digitize(hidden, [0.3, 1.0, 2.0])
    table = np.column_stack([hidden, key])
    pk = Filler(plain()).fit(table)
    asked = table.copy()
    asked[:, 0] = np.nan
    got = pk.impute(asked)[:, 0]
    centers = dense_centers(pk.kernel, asked)
    assert np.mean((got - hidden) ** 2) < 0.8 * np.mean((centers - hidden) ** 2)


def dense_centers(pk, asked):
    shares = pk.transform(asked).toarray()[:, : pk.n_bins_[0]]
    return shares @ pk.bin_centers_[0]


def test_what_cannot_be_filled_is_said():
    table = pd.DataFrame({"a": [1.0, 2.0, None], "b": [None, None, None]})
    with pytest.warns(UserWarning, match="'b'"):
        pk = Filler(plain()).fit(table)
    imputer = pk.imputer
    with pytest.warns(UserWarning, match="column 'b' had no observed value") as caught:
        filled = imputer.transform(table)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="column 'b' had no observed value"):
        spread = imputer.uncertainty(table)
    assert filled["a"].notna().all()
    assert filled["b"].isna().all()
    assert spread["b"].isna().all()
    whole = table.assign(b=1.0)
    assert pk.impute(whole)["b"].tolist() == [1.0] * 3


def test_bad_input_is_named():
    table = [[1.0], [2.0], [None]]
    for name in ("transform", "uncertainty", "interval", "probabilities", "draw"):
        with pytest.raises(NotFittedError):
            getattr(ProximityImputer(), name)(table)
    pk = Filler(plain()).fit(table)
    with raises_naming(ValueError, "strategy", "'mean' or 'mode'", "'median'"):
        pk.impute(table, strategy="median")
    pk = Filler(plain()).fit(table)
    with raises_naming(ValueError, "2 features"):
        pk.impute([[1.0, 2.0]])


def test_it_does_not_depend_on_the_options_of_the_output():
    table = mixed_table(60, 5, 0.3, 3)
    want = ProximityImputer().fit_transform(table)
    pk = ProximityKernel(normalize=True, sparse_output=False, dtype=np.float64)
    pk.set_output(transform="pandas").fit(table)
    got = ProximityImputer(kernel=FrozenEstimator(pk)).fit_transform(table)
    pd.testing.assert_frame_equal(got, want)
    assert fit_transform(pk, table).shape[0] == 60
    assert GRADES.ordered


@pytest.mark.parametrize("spread", [1e200, 1.7e308])
def test_a_spread_near_the_end_of_float64_is_no_overflow(spread):
    table = np.array([[1.0, 2.0], [1.2, 2.0], [np.nan, 3.0], [9.0, 3.0]])
    pk = Filler(ProximityKernel()).fit(table)
    learned = pk.imputer.number_model_
    wide = np.full_like(learned.spreads, spread)
    pk.imputer.number_model_ = replace(learned, spreads=wide)
    _, uncertainty = pk.both(table)
    assert uncertainty[2, 0] == pytest.approx(spread)
