"""Every answer equals the oracle's, on random tables and across the loops' borders."""

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    MATCHINGS,
    adopt_weights,
    assert_close,
    assert_same_provenance,
    fitted,
    mixed_table,
    parameters,
    plain,
    tables,
)

from proximity_kernel import ProximityKernel


def numbers(n, d, rate, seed):
    """A frame of numbers around three places, each cell missing at `rate`."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) + rng.choice([-2.0, 0.0, 3.0], size=(n, 1))
    values[rng.random((n, d)) < rate] = np.nan
    return pd.DataFrame(values, columns=[f"col{j}" for j in range(d)])


def same_as_oracle(pk, table, reference, rows=None):
    """Compare representation and provenance of some rows with the oracle's."""
    if pk.matching == "pairwise":
        adopt_weights(pk.model_.matcher, reference.pairwise)
    rows = np.arange(len(table)) if rows is None else np.unique(rows)
    some = table.iloc[rows]
    columns = oracle.read_columns(some)
    wanted = oracle.represent(columns, reference, pk.matching)
    got = pk.transform(table)[rows]
    if pk.dtype == np.float64:
        np.testing.assert_allclose(got.toarray(), wanted, rtol=1e-9, atol=1e-12)
    else:
        assert_close(got, wanted)
    listed = oracle.provenance(columns, reference, pk.matching)
    assert_same_provenance(pk.provenance(some), listed)
    return wanted


# Against the oracle


@given(tables(), parameters())
def test_equals_the_oracle(drawn, chosen):
    frame, new = drawn
    pk = fitted(plain(**chosen), frame)
    reference = oracle.fit(oracle.read_columns(frame), chosen["n_bins"])
    assert pk.n_bins_.tolist() == reference.n_bins
    z = same_as_oracle(pk, frame, reference)
    z_new = same_as_oracle(pk, new, reference)
    d, terms = reference.n_counted, z.shape[1]
    assert_close(pk.kernel(frame), oracle.kernel(z, z, d), terms=terms)
    assert_close(pk.kernel(new, frame), oracle.kernel(z_new, z, d), terms=terms)


@given(tables(), parameters())
def test_equals_the_oracle_in_float64(drawn, chosen):
    frame, new = drawn
    pk = fitted(plain(**chosen, dtype=np.float64), frame)
    reference = oracle.fit(oracle.read_columns(frame), chosen["n_bins"])
    z = same_as_oracle(pk, frame, reference)
    z_new = same_as_oracle(pk, new, reference)
    wanted = oracle.kernel(z_new, z, reference.n_counted)
    np.testing.assert_allclose(pk.kernel(new, frame), wanted, rtol=1e-9, atol=1e-12)


@given(tables(), st.integers(2, 7), st.sampled_from(["ignorable", "informative"]))
def test_the_pairwise_rule_chooses_as_the_oracle_does(drawn, n_bins, missingness):
    frame, _ = drawn
    columns = oracle.read_columns(frame)
    gaps = oracle.find_gaps(columns) if missingness == "informative" else ()
    reference = oracle.fit(columns, n_bins, informative=gaps)
    pk = fitted(ProximityKernel(n_bins, missingness=missingness), frame)
    adopt_weights(pk.model_.matcher, reference.pairwise)


@pytest.mark.parametrize("missingness", ["ignorable", "informative", "auto"])
@pytest.mark.parametrize("n_bins", [3, "auto"])
def test_the_pairwise_rule_where_columns_tell_about_each_other(n_bins, missingness):
    """Every weight is chosen from real evidence, and so are the estimates."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(420, 1)) + rng.normal(size=(420, 6))
    values[rng.random(values.shape) < 0.05] = np.nan
    values[values[:, 0] > 1, 2:5] = np.nan  # an event
    frame = pd.DataFrame(values[:400], columns=[f"col{j}" for j in range(6)])
    new = pd.DataFrame(values[400:], columns=frame.columns)
    new[rng.random(new.shape) < 0.4] = np.nan
    pk = ProximityKernel(n_bins, missingness=missingness, dtype=np.float64).fit(frame)
    gaps = [j for j, cells in enumerate(pk.missingness_) if cells.informative]
    assert len(gaps) == {"ignorable": 0, "informative": 6, "auto": 3}[missingness]
    n_bins = [n_bins] * 6
    reference = oracle.fit(oracle.read_columns(frame), n_bins, informative=gaps)
    adopt_weights(pk.model_.matcher, reference.pairwise)
    assert min(reference.pairwise.common) > 0
    errors = reference.pairwise.errors[pk.model_.matcher.smoothing]
    for j, weight in enumerate(reference.pairwise.common):
        assert errors[weight, j] < errors[0, j]  # that of the prior
    for table in (frame, new):
        found = pk.model_.matcher.estimate(pk.model_.code(table, 1), 1)
        codes = oracle.assign_codes(oracle.read_columns(table), reference.cells)
        wanted = [
            reference.pairwise.estimate(row, j)
            for row in codes
            for j, code in enumerate(row)
            if code == oracle.MISSING
        ]
        wanted = np.concatenate([[], *wanted])
        np.testing.assert_allclose(found.probabilities, wanted, rtol=1e-9)
        listed = oracle.provenance(oracle.read_columns(table), reference)
        assert_same_provenance(pk.provenance(table), listed)


@given(
    tables(),
    st.lists(st.integers(2, 7), min_size=6, max_size=6),
    st.sampled_from(MATCHINGS),
)
def test_one_bin_count_per_feature(drawn, n_bins, matching):
    frame, new = drawn
    n_bins = n_bins[: frame.shape[1]]
    pk = fitted(plain(n_bins=n_bins, matching=matching), frame)
    reference = oracle.fit(oracle.read_columns(frame), n_bins)
    assert pk.n_bins_.tolist() == reference.n_bins
    same_as_oracle(pk, frame, reference)
    same_as_oracle(pk, new, reference)


def test_a_center_on_a_value_is_exact():
    """Six of ten rows hold 10: two of three thirds of the way is the first of them."""
    pk = ProximityKernel(matching="cascade").fit([[0.0]] * 4 + [[10.0]] * 6)
    assert pk.bin_centers_[0].tolist() == [0, 10]
    assert pk.n_bins_.tolist() == [2]


@given(st.integers(1, 400), st.integers(2, 60))
def test_centers_that_fall_on_values_are_these_values(n, n_bins):
    """Of values whose number of gaps the bins divide, no center lies between two."""
    values = np.random.default_rng(n).normal(size=n * (n_bins - 1) + 1)
    pk = plain(n_bins=n_bins).fit(values[:, None])
    assert pk.bin_centers_[0].tolist() == np.sort(values)[::n].tolist()


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


@given(tables(), st.integers(2, 4), st.sampled_from(MATCHINGS))
def test_rare_categories_equal_the_oracle(drawn, max_categories, matching):
    frame, new = drawn
    pk = plain(matching=matching, max_categories=max_categories)
    fitted(pk, frame)
    columns = oracle.read_columns(frame)
    reference = oracle.fit(columns, 4, max_categories)
    assert pk.n_bins_.tolist() == reference.n_bins
    same_as_oracle(pk, frame, reference)
    same_as_oracle(pk, new, reference)


@given(tables(), parameters())
def test_normalized_equals_the_oracle(drawn, chosen):
    frame, new = drawn
    pk = fitted(plain(**chosen, normalize=True), frame)
    reference = oracle.fit(oracle.read_columns(frame), chosen["n_bins"])
    z = oracle.represent(oracle.read_columns(new), reference, chosen["matching"])
    d = reference.n_counted
    wanted = oracle.normalize(z, d)
    assert_close(pk.transform(new), wanted)
    got = pk.kernel(new)
    assert_close(got, oracle.kernel(wanted, wanted, d), terms=z.shape[1])
    on_diagonal = np.where(z.any(axis=1), 1.0, 0.0)
    np.testing.assert_allclose(np.diag(got), on_diagonal, rtol=1e-6)


# Against the oracle on tables that cross the borders of blocks and pieces


@pytest.mark.parametrize(
    ("matching", "n", "d", "rate"),
    [
        ("pairwise", 511, 4, 0.3),
        ("pairwise", 700, 5, 0.6),
        *(
            ("cascade", n, d, rate)
            for n, d, rate in [
                (511, 4, 0.3),
                (512, 3, 0.5),
                (513, 8, 0.2),
                (700, 5, 0.6),
                (1024, 6, 0.3),
                (1025, 3, 0.1),
                (1500, 8, 0.4),
            ]
        ),
    ],
)
def test_larger_tables(matching, n, d, rate):
    frame = mixed_table(n, d, rate, seed=n)
    frame.iloc[n // 2] = None
    pk = fitted(plain(matching=matching), frame)
    reference = oracle.fit(oracle.read_columns(frame))
    rows = np.random.default_rng(d).choice(n, size=25, replace=False)
    rows = np.unique([0, n // 2, n - 1, *rows])
    same_as_oracle(pk, frame, reference, rows)
    new = mixed_table(30, d, rate, seed=n + 1)
    same_as_oracle(pk, new, reference)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("matching", "d"),
    [("pairwise", 40), *(("cascade", d) for d in (64, 70, 300))],  # the oracle is slow
)
@pytest.mark.parametrize("noise", [0.01, 0.3])
@pytest.mark.parametrize("rate", [0.02, 0.4])
def test_wide_tables(d, noise, rate, matching):
    """At little noise rows share very many codes, and evidence adds up to hundreds."""
    frame = mixed_table(80, d, rate, seed=d, noise=noise)
    pk = fitted(plain(n_bins=2, matching=matching), frame)
    reference = oracle.fit(oracle.read_columns(frame), 2)
    rows = [0, 17, 41, 79]
    same_as_oracle(pk, frame, reference, rows)
    new = mixed_table(3, d, rate, seed=d + 1, noise=noise)
    same_as_oracle(pk, new, reference)


@pytest.mark.parametrize(
    ("matching", "n", "d", "rate"),
    [
        ("pairwise", 600, 5, 0.4),
        ("cascade", 3000, 5, 0.2),
        ("cascade", 3000, 6, 0.4),
        ("cascade", 6000, 4, 0.5),
        ("cascade", 2500, 9, 0.6),
    ],
)
def test_many_distinct_rows(matching, n, d, rate):
    """Hardly two rows have equal codes, so there are as many to search as rows."""
    frame = numbers(n, d, rate, seed=n + d)
    pk = fitted(plain(n_bins=7, matching=matching), frame)
    reference = oracle.fit(oracle.read_columns(frame), 7)
    rows = np.random.default_rng(d).choice(n, size=12, replace=False)
    same_as_oracle(pk, frame, reference, [0, n - 1, *rows])
    new = numbers(8, d, rate, seed=n)
    same_as_oracle(pk, new, reference)


@pytest.mark.slow
def test_a_long_table():
    """More distinct rows than 512 blocks of 512 hold."""
    frame = numbers(280_000, 9, 0.1, seed=5)
    reference = oracle.fit(oracle.read_columns(frame), 12)
    assert len({tuple(row) for row in reference.codes}) > 512 * 512
    pk = fitted(plain(n_bins=12, matching="cascade"), frame)
    holed = np.flatnonzero(frame.isna().any(axis=1))[[0, 90_000, -1]]
    same_as_oracle(pk, frame.iloc[holed], reference)


def test_many_bins_in_many_features():
    frame = numbers(60, 700, 0.5, seed=1)
    pk = fitted(plain(n_bins=80, matching="cascade"), frame)
    reference = oracle.fit(oracle.read_columns(frame), 80)
    few = frame.iloc[[0, 0]].reset_index(drop=True)
    few.iloc[1, 3:] = np.nan
    same_as_oracle(pk, few, reference)


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
    pk = plain(n_bins=300, max_categories=400, matching=matching)
    fitted(pk, frame)
    reference = oracle.fit(oracle.read_columns(frame), 300, 400)
    assert pk.n_bins_.tolist() == reference.n_bins
    assert (pk.n_bins_[:2] > 256).all()
    holed = np.flatnonzero(frame.isna().any(axis=1))[:40]
    same_as_oracle(pk, frame, reference, [0, 1, 2, *holed])
    new = pd.DataFrame(
        {
            "number": [np.nan, 124.875, 1e9, np.nan],
            "label": pd.Series(["label299", None, "unseen", None], dtype="str"),
            "other": [1.0, np.nan, np.nan, np.nan],
        }
    )
    same_as_oracle(pk, new, reference)


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
        pk = plain(max_categories=max_categories, matching=matching)
        fitted(pk, frame)
        columns = oracle.read_columns(frame)
        reference = oracle.fit(columns, 4, max_categories)
        assert pk.n_bins_[0] == min(n_labels, max_categories) == reference.n_bins[0]
        same_as_oracle(pk, new, reference)
        same_as_oracle(pk, frame, reference, [0, n_labels, -1 % len(frame)])
