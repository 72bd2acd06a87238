"""Every answer equals the oracle's, on random tables and across the loops' borders."""

import numpy as np
import oracle
import oracle_weighted
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    assert_close,
    entries,
    fitted,
    mixed_table,
    parameters,
    plain,
    tables,
)

from proximity_kernel import _tallies
from proximity_kernel._matching import MATCHINGS


def numbers(n, d, rate, seed):
    """A frame of numbers around three places, each cell missing at `rate`."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) + rng.choice([-2.0, 0.0, 3.0], size=(n, 1))
    values[rng.random((n, d)) < rate] = np.nan
    return pd.DataFrame(values, columns=[f"col{j}" for j in range(d)])


def truth(columns, reference, matching, min_support):
    """The representation and the provenance of rows, from the definition."""
    if matching == "weighted":
        rows, listed = oracle_weighted.describe(columns, reference, min_support)
        shape = len(rows), sum(reference.n_bins)
        return np.array(rows, dtype=float).reshape(shape), listed
    how = columns, reference, matching, min_support
    return oracle.represent(*how), oracle.provenance(*how)


def same_as_oracle(pk, table, reference, matching, min_support, rows=None):
    """Compare representation and provenance of some rows with the oracle's."""
    rows = np.arange(len(table)) if rows is None else np.unique(rows)
    columns = oracle.read_columns(table.iloc[rows])
    wanted, listed = truth(columns, reference, matching, min_support)
    assert_close(pk.transform(table)[rows], wanted, pk.dtype)
    place = {row: i for i, row in enumerate(rows.tolist())}
    got = [
        (place[entry[0]], *entry[1:])
        for entry in entries(pk.provenance(table))
        if entry[0] in place
    ]
    assert sorted(got) == sorted(listed)
    return wanted


# Against the oracle


@given(tables(), parameters())
def test_equals_the_oracle(drawn, chosen):
    frame, new = drawn
    pk = fitted(plain(**chosen), frame)
    reference = oracle.fit(oracle.read_columns(frame), chosen["n_bins"])
    assert pk.n_bins_.tolist() == reference.n_bins
    how = chosen["matching"], chosen["min_support"]
    z = same_as_oracle(pk, frame, reference, *how)
    z_new = same_as_oracle(pk, new, reference, *how)
    d, terms = reference.n_counted, z.shape[1]
    assert_close(pk.kernel(frame), oracle.kernel(z, z, d), terms=terms)
    assert_close(pk.kernel(new, frame), oracle.kernel(z_new, z, d), terms=terms)


@given(tables(), parameters())
def test_equals_the_oracle_in_float64(drawn, chosen):
    frame, new = drawn
    pk = fitted(plain(**chosen, dtype=np.float64), frame)
    reference = oracle.fit(oracle.read_columns(frame), chosen["n_bins"])
    how = chosen["matching"], chosen["min_support"]
    z = same_as_oracle(pk, frame, reference, *how)
    z_new = same_as_oracle(pk, new, reference, *how)
    wanted = oracle.kernel(z_new, z, reference.n_counted)
    assert_close(pk.kernel(new, frame), wanted, np.float64, terms=z.shape[1])


@given(tables(), st.lists(st.integers(2, 7), min_size=6, max_size=6))
def test_one_bin_count_per_feature(drawn, n_bins):
    frame, new = drawn
    n_bins = n_bins[: frame.shape[1]]
    pk = fitted(plain(n_bins=n_bins, matching="graded", min_support=3), frame)
    reference = oracle.fit(oracle.read_columns(frame), n_bins)
    assert pk.n_bins_.tolist() == reference.n_bins
    same_as_oracle(pk, frame, reference, "graded", 3)
    same_as_oracle(pk, new, reference, "graded", 3)


@given(tables(), st.integers(2, 7))
def test_centers_categories_and_prior_equal_the_oracle(drawn, n_bins):
    frame, _ = drawn
    pk = fitted(plain(n_bins=n_bins), frame)
    reference = oracle.fit(oracle.read_columns(frame), n_bins)
    for j, cells in enumerate(reference.cells):
        if cells.centers is None:
            assert pk.bin_centers_[j] is None
            assert list(pk.categories_[j]) == cells.categories
        else:
            assert pk.categories_[j] is None
            assert pk.bin_centers_[j].dtype == np.float64
            assert pk.bin_centers_[j].tolist() == cells.centers
        codes = [row[j] for row in reference.codes if row[j] != oracle.MISSING]
        counts = np.bincount(codes, minlength=cells.n_bins)
        assert len(pk.prior_[j]) == cells.n_bins
        wanted = counts / max(len(codes), 1)
        np.testing.assert_allclose(pk.prior_[j], wanted, rtol=1e-6)


@given(tables(), st.integers(2, 4), st.integers(1, 25))
def test_rare_categories_equal_the_oracle(drawn, max_categories, min_support):
    frame, new = drawn
    pk = plain(
        matching="graded", max_categories=max_categories, min_support=min_support
    )
    fitted(pk, frame)
    columns = oracle.read_columns(frame)
    reference = oracle.fit(columns, 4, max_categories)
    assert pk.n_bins_.tolist() == reference.n_bins
    same_as_oracle(pk, frame, reference, "graded", min_support)
    same_as_oracle(pk, new, reference, "graded", min_support)


@given(tables(), parameters())
def test_normalized_equals_the_oracle(drawn, chosen):
    frame, new = drawn
    pk = fitted(plain(**chosen, normalize=True), frame)
    reference = oracle.fit(oracle.read_columns(frame), chosen["n_bins"])
    how = chosen["matching"], chosen["min_support"]
    z, _ = truth(oracle.read_columns(new), reference, *how)
    d = reference.n_counted
    wanted = oracle.normalize(z, d)
    assert_close(pk.transform(new), wanted)
    got = pk.kernel(new)
    assert_close(got, oracle.kernel(wanted, wanted, d), terms=z.shape[1])
    on_diagonal = np.where(z.any(axis=1), 1.0, 0.0)
    np.testing.assert_allclose(np.diag(got), on_diagonal, rtol=1e-6)


# Against the oracle on tables that cross the borders of blocks and counters


@pytest.mark.parametrize("matching", MATCHINGS)
@pytest.mark.parametrize(
    ("n", "d", "rate", "min_support"),
    [
        (511, 4, 0.3, 20),
        (512, 3, 0.5, 1),
        (513, 8, 0.2, 25),
        (700, 5, 0.6, 600),
        (1024, 6, 0.3, 513),
        (1025, 3, 0.1, 20),
        (1500, 8, 0.4, 5),
    ],
)
def test_larger_tables(n, d, rate, min_support, matching):
    frame = mixed_table(n, d, rate, seed=n)
    frame.iloc[n // 2] = None
    pk = fitted(plain(matching=matching, min_support=min_support), frame)
    reference = oracle.fit(oracle.read_columns(frame))
    rows = np.random.default_rng(d).choice(n, size=25, replace=False)
    rows = np.unique([0, n // 2, n - 1, *rows])
    same_as_oracle(pk, frame, reference, matching, min_support, rows)
    new = mixed_table(30, d, rate, seed=n + 1)
    same_as_oracle(pk, new, reference, matching, min_support)


@pytest.mark.parametrize(
    ("matching", "d"),
    [
        *(("weighted", d) for d in (64, 70)),  # wider takes the oracle minutes
        *(("graded", d) for d in (64, 70, 300)),
        *(("cascade", d) for d in (64, 70, 300)),
    ],
)
@pytest.mark.parametrize("noise", [0.01, 0.3])
@pytest.mark.parametrize("rate", [0.02, 0.4])
def test_wide_tables(d, noise, rate, matching):
    """At little noise rows share more codes than six or eight bits can count."""
    frame = mixed_table(80, d, rate, seed=d, noise=noise)
    pk = fitted(plain(n_bins=2, matching=matching, min_support=4), frame)
    reference = oracle.fit(oracle.read_columns(frame), 2)
    rows = [0, 17, 41, 79]
    same_as_oracle(pk, frame, reference, matching, 4, rows)
    new = mixed_table(3, d, rate, seed=d + 1, noise=noise)
    same_as_oracle(pk, new, reference, matching, 4)


@pytest.mark.parametrize("matching", MATCHINGS)
@pytest.mark.parametrize(
    ("n", "d", "rate", "min_support"),
    [(3000, 5, 0.2, 1), (3000, 6, 0.4, 20), (6000, 4, 0.5, 900), (2500, 9, 0.6, 20)],
)
def test_many_distinct_rows(n, d, rate, min_support, matching):
    """Hardly two rows have equal codes, so there are as many to search as rows."""
    frame = numbers(n, d, rate, seed=n + d)
    chosen = {"n_bins": 7, "matching": matching, "min_support": min_support}
    pk = fitted(plain(**chosen), frame)
    reference = oracle.fit(oracle.read_columns(frame), 7)
    rows = np.random.default_rng(d).choice(n, size=12, replace=False)
    same_as_oracle(pk, frame, reference, matching, min_support, [0, n - 1, *rows])
    new = numbers(8, d, rate, seed=n)
    same_as_oracle(pk, new, reference, matching, min_support)


@pytest.fixture(scope="module")
def long_table():
    """More distinct rows than 512 blocks of 512 hold."""
    frame = numbers(280_000, 9, 0.1, seed=5)
    reference = oracle.fit(oracle.read_columns(frame), 12)
    assert len({tuple(row) for row in reference.codes}) > 512 * 512
    return frame, reference


@pytest.mark.parametrize(
    ("matching", "min_support"),
    [("weighted", 20), ("graded", 20), ("graded", 9000), ("cascade", 1)],
)
def test_a_long_table(long_table, matching, min_support):
    frame, reference = long_table
    chosen = {"n_bins": 12, "matching": matching, "min_support": min_support}
    pk = fitted(plain(**chosen), frame)
    holed = np.flatnonzero(frame.isna().any(axis=1))[[0, 90_000, -1]]
    same_as_oracle(pk, frame.iloc[holed], reference, matching, min_support)


@pytest.mark.parametrize("matching", ["graded", "cascade"])
def test_many_bins_in_many_features(matching):
    """Counts for every rung and bin of every missing cell would fill much memory."""
    frame = numbers(60, 700, 0.5, seed=1)
    pk = plain(n_bins=80, matching=matching, min_support=4)
    fitted(pk, frame)
    reference = oracle.fit(oracle.read_columns(frame), 80)
    few = frame.iloc[[0, 0]].reset_index(drop=True)
    few.iloc[1, 3:] = np.nan
    same_as_oracle(pk, few, reference, matching, 4)


@pytest.mark.parametrize("matching", MATCHINGS)
def test_cells_taken_in_parts_get_the_same_answer(monkeypatch, matching):
    """A row whose tallies need more memory than there is takes its cells in parts."""
    frame = numbers(200, 40, 0.5, seed=2)
    pk = fitted(plain(n_bins=9, matching=matching), frame)
    whole = pk.transform(frame)
    monkeypatch.setattr(_tallies, "_TALLY_SIZE", 1)
    np.testing.assert_array_equal(pk.transform(frame).toarray(), whole.toarray())


@pytest.mark.parametrize("matching", MATCHINGS)
def test_more_bins_than_a_byte_can_count(matching):
    rng = np.random.default_rng(0)
    n = 1000
    other = rng.integers(3, size=n).astype(float)
    labels = np.array([f"label{k:03d}" for k in range(300)])
    frame = pd.DataFrame(
        {
            "number": rng.permutation(n) / 8,
            "label": pd.Series(labels[rng.permutation(n) % 300], dtype="str"),
            "other": np.where(rng.random(n) < 0.3, np.nan, other),
        }
    )
    frame.loc[rng.random(n) < 0.1, "number"] = np.nan
    frame.loc[rng.random(n) < 0.1, "label"] = None
    pk = plain(n_bins=300, max_categories=400, matching=matching, min_support=2)
    fitted(pk, frame)
    reference = oracle.fit(oracle.read_columns(frame), 300, 400)
    assert pk.n_bins_.tolist() == reference.n_bins
    assert (pk.n_bins_[:2] > 256).all()
    holed = np.flatnonzero(frame.isna().any(axis=1))[:40]
    same_as_oracle(pk, frame, reference, matching, 2, [0, 1, 2, *holed])
    new = pd.DataFrame(
        {
            "number": [np.nan, 124.875, 1e9, np.nan],
            "label": pd.Series(["label299", None, "unseen", None], dtype="str"),
            "other": [1.0, np.nan, np.nan, np.nan],
        }
    )
    same_as_oracle(pk, new, reference, matching, 2)


@pytest.mark.parametrize("n_labels", [254, 255, 256, 257])
@pytest.mark.parametrize("matching", MATCHINGS)
def test_as_many_categories_as_a_byte_can_count(matching, n_labels):
    """An unknown label and a missing cell must not look like the last code."""
    labels = [f"label{k:03d}" for k in range(n_labels)]
    frame = pd.DataFrame(
        {
            "label": pd.Series([*labels, *labels, None], dtype="str"),
            "value": [*range(n_labels), *range(n_labels), n_labels],
        }
    )
    new = pd.DataFrame(
        {
            "label": pd.Series([labels[-1], "unseen", None, labels[0]], dtype="str"),
            "value": [np.nan, np.nan, 3.0, np.nan],
        }
    )
    for max_categories in (255, 256, 300):
        pk = plain(max_categories=max_categories, matching=matching, min_support=1)
        fitted(pk, frame)
        columns = oracle.read_columns(frame)
        reference = oracle.fit(columns, 4, max_categories)
        assert pk.n_bins_[0] == min(n_labels, max_categories) == reference.n_bins[0]
        same_as_oracle(pk, new, reference, matching, 1)
        same_as_oracle(
            pk, frame, reference, matching, 1, [0, n_labels, -1 % len(frame)]
        )
