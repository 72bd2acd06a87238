"""missingness="ignorable", "informative" and "auto": gaps as facts of their own."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given
from sklearn.base import clone
from strategies import (
    MATCHINGS,
    assert_close,
    assert_same_bits,
    assert_same_provenance,
    entries,
    fitted,
    parameters,
    tables,
)

from proximity_kernel import ProximityKernel
from proximity_kernel import _missingness as absence_test
from proximity_kernel._missingness import ALPHA, decide_missingness
from proximity_kernel._row_summary import keep_rows, plan_rows


def correlated(n, d, seed):
    """A generator, a factor, and columns of numbers that share it."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=n)
    return rng, factor, factor[:, None] + rng.normal(size=(n, d))


def with_panel(n=500, d=6, seed=0):
    """Columns 2, 3 and 4 are missing together where column 0 is high; 5 % elsewhere."""
    rng, _, table = correlated(n, d, seed)
    high = table[:, 0] > 1
    table[rng.random(table.shape) < 0.05] = np.nan
    table[high, 2:5] = np.nan
    return table


def decided(table, n_bins=4):
    pk = ProximityKernel(n_bins, missingness="auto").fit(table)
    return pk, [absence.informative for absence in pk.missingness_]


def depends(pk):
    """Which features' absence was found to depend on the other columns."""
    return [a.p_value is not None and a.p_value <= ALPHA for a in pk.missingness_]


# Informative, against the oracle


def same_as_oracle(pk, table, reference):
    columns = oracle.read_columns(table)
    z = oracle.represent(columns, reference, pk.matching)
    assert_close(pk.transform(table), z, pk.dtype)
    listed = oracle.provenance(columns, reference, pk.matching)
    assert_same_provenance(pk.provenance(table), listed)
    return z


@given(tables(), parameters())
def test_informative_equals_the_oracle(drawn, chosen):
    frame, new = drawn
    pk = fitted(ProximityKernel(**chosen, missingness="informative"), frame)
    columns = oracle.read_columns(frame)
    gaps = oracle.find_gaps(columns)
    reference = oracle.fit(columns, chosen["n_bins"], informative=gaps)
    assert pk.n_bins_.tolist() == reference.n_bins
    assert [len(prior) for prior in pk.prior_] == reference.n_bins
    assert [j for j, a in enumerate(pk.missingness_) if a.informative] == gaps
    for j in gaps:
        share = frame.iloc[:, j].isna().mean()
        np.testing.assert_allclose(pk.prior_[j][-1], share)
    z = same_as_oracle(pk, frame, reference)
    z_new = same_as_oracle(pk, new, reference)
    d, terms = reference.n_counted, z.shape[1]
    assert_close(pk.kernel(new, frame), oracle.kernel(z_new, z, d), terms=terms)
    names = pk.get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == terms
    # New rows may miss what was complete at fit: that alone is estimated.
    estimated = {entry[1] for entry in entries(pk.provenance(new))}
    assert estimated.isdisjoint(gaps)


@pytest.mark.parametrize("n_labels", [252, 253, 254, 255])
@pytest.mark.parametrize("matching", MATCHINGS)
def test_one_bin_more_than_a_byte_can_count(matching, n_labels):
    labels = [f"label{k:03d}" for k in range(n_labels)]
    frame = pd.DataFrame(
        {
            "label": pd.Series([*labels, *labels, None, None], dtype="str"),
            "value": [*range(n_labels), *range(n_labels), 3, np.nan],
        }
    )
    new = pd.DataFrame(
        {
            "label": pd.Series([labels[-1], "unseen", None, labels[0]], dtype="str"),
            "value": [np.nan, np.nan, 3.0, 1.0],
        }
    )
    pk = ProximityKernel(4, matching=matching, missingness="informative").fit(frame)
    columns = oracle.read_columns(frame)
    reference = oracle.fit(columns, informative=[0, 1])
    assert pk.n_bins_[0] == n_labels + 1
    same_as_oracle(pk, new, reference)


def test_names_of_the_cell_stay_unique():
    frame = pd.DataFrame({"blood": ["a", "missing", None], "blood_": ["x", None, "y"]})
    pk = ProximityKernel(missingness="informative").fit(frame)
    assert pk.get_feature_names_out().tolist() == [
        "blood_a", "blood_missing", "blood_missing_", "blood__x", "blood__y",
        "blood__missing",
    ]  # fmt: skip


def test_two_resolutions_beside_it():
    """The cell for gaps has no coarse bin: it counts in full."""
    table = with_panel(200)
    pk = ProximityKernel("auto", missingness="informative", dtype=np.float64)
    z = pk.fit_transform(table).toarray()
    names = pk.get_feature_names_out().tolist()
    assert len(names) == z.shape[1]
    gaps = z[:, [names.index(f"x{j}_missing") for j in range(6)]]
    assert gaps.tolist() == np.isnan(table).tolist()
    np.testing.assert_allclose(pk.kernel(table).diagonal(), 1)


# Ignorable, and the fitted decision


def test_ignorable_estimates_every_gap():
    table = with_panel(150)
    pk = ProximityKernel(4, missingness="ignorable").fit(table)
    assert pk.n_bins_.tolist() == [4] * 6
    frame = pd.DataFrame(table)
    same_as_oracle(pk, frame, oracle.fit(oracle.read_columns(frame)))
    assert len(pk.provenance(table)) == np.isnan(table).sum()
    for absence, missing in zip(pk.missingness_, np.isnan(table).sum(0), strict=True):
        assert not absence.informative
        assert absence.missing == missing
        assert absence.p_value is None
        assert absence.reason == "given: missingness='ignorable'"


def test_auto_without_an_event_is_ignorable_to_the_bit():
    _, _, table = correlated(300, 5, 0)
    table[np.random.default_rng(1).random(table.shape) < 0.2] = np.nan
    pk, informative = decided(table)
    assert not any(informative)
    plain = ProximityKernel(4, missingness="ignorable").fit(table)
    assert_same_bits(pk.transform(table), plain.transform(table))
    assert_same_bits(pk.kernel(table), plain.kernel(table))


def test_unseen_rows_follow_the_fitted_decision():
    table = with_panel()
    table[:, 1] = np.nan_to_num(table[:, 1])  # no gap at fit
    pk, informative = decided(table)
    assert informative == [False, False, True, True, True, False]
    new = np.array([[0.0, np.nan, np.nan, 0.0, np.nan, np.nan]])
    names = pk.get_feature_names_out().tolist()
    row = dict(zip(names, pk.transform(new).toarray()[0].tolist(), strict=True))
    assert row["x2_missing"] == row["x4_missing"] == 1
    assert row["x3_missing"] == 0
    assert [entry[1] for entry in entries(pk.provenance(new))] == [1, 5]
    assert sum(row[f"x1_{k}"] for k in range(4)) == pytest.approx(1)
    pk.set_params(missingness="ignorable")
    assert_same_bits(pk.transform(new), decided(table)[0].transform(new))
    assert pk.fit_transform(table).shape == (500, 24)


@pytest.mark.parametrize("missingness", ["informative", "auto"])
@pytest.mark.parametrize("matching", MATCHINGS)
def test_the_kernel_stays_positive_semi_definite(missingness, matching):
    table = with_panel(200)
    pk = ProximityKernel(
        4, missingness=missingness, matching=matching, dtype=np.float64
    ).fit(table)
    kernel = pk.kernel(table)
    assert np.linalg.eigvalsh(kernel).min() > -1e-10
    assert kernel.min() >= 0
    assert kernel.max() <= 1
    if missingness == "informative":
        assert kernel.diagonal().min() == 1  # no gap is left to guess


# What auto decides


def test_no_event_and_few_false_alarms_completely_at_random():
    """Under MCAR: no event in 200 tables, and at most one table flagged.

    Each table has six features with 5 to 40 % of the cells missing; the level is 0.001
    a table, so 0.2 alarms are expected and more than one has a chance below 2 %.
    """
    alarms, events = 0, 0
    for seed in range(200):
        rng, _, table = correlated(int(120 + 2 * seed), 6, seed)
        rates = rng.uniform(0.05, 0.4, 6)
        table[rng.random(table.shape) < rates] = np.nan
        pk, informative = decided(table)
        alarms += any(depends(pk))
        events += any(informative)
    assert events == 0
    assert alarms <= 1


def test_panels_are_events_cells_that_depend_are_not():
    pk, informative = decided(with_panel())
    assert informative == [False, False, True, True, True, False]
    said = pk.missingness_[2]
    assert said.feature == "x2"
    assert said.missing == np.isnan(with_panel()[:, 2]).sum()
    assert "absent together with 'x" in said.reason
    assert said.reason.endswith("more than their values explain")


@pytest.mark.parametrize("own", [False, True], ids=["MAR", "MNAR"])
def test_cells_that_depend_are_flagged_but_estimated(own):
    """Each gap depends on a value, its own or column 0's, but comes alone."""
    rng, _, table = correlated(800, 5, 3)
    by = table if own else np.repeat(table[:, :1], 5, axis=1)
    gaps = rng.random(table.shape) < 0.6 / (1 + np.exp(-2 * by))
    gaps[:, 0] = False
    table[gaps] = np.nan
    pk, informative = decided(table)
    assert not any(informative)
    assert depends(pk) == [False, True, True, True, True]
    assert pk.missingness_[1].reason.startswith("depends on the other columns")
    assert pk.missingness_[0].reason == "no cell is missing"


def test_what_is_flagged_helps_to_flag_the_rest():
    """Column 1's gaps depend on column 0; column 2's only on the gaps of column 1."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(1000, 4))
    first = rng.random(1000) < np.where(table[:, 0] > 0.3, 0.8, 0.02)
    second = rng.random(1000) < np.where(first, 0.35, 0.1)
    table[first, 1], table[second, 2] = np.nan, np.nan
    codes = ProximityKernel(4, missingness="ignorable").fit(table).model_.code(table, 1)
    sample = absence_test._draw_sample(codes, np.full(4, 4), 2)
    alone = absence_test._test_round(sample, np.zeros(4, bool), np.array([1, 2]))
    known = np.array([False, True, False, False])
    helped = absence_test._test_round(sample, known, np.array([2]))
    assert alone[0] < 1e-20
    assert helped[0] < alone[1] / 100
    assert depends(decided(table)[0])[:3] == [False, True, True]


def test_the_order_of_the_rows_does_not_matter():
    table = with_panel(300)
    shuffled = table[np.random.default_rng(0).permutation(300)]
    assert decided(table)[0].missingness_ == decided(shuffled)[0].missingness_
    frame = pd.DataFrame(table, columns=list("abcdef"))
    names = [absence.feature for absence in decided(frame)[0].missingness_]
    assert names == list("abcdef")


def test_equal_rows_count_as_often_as_they_stand_there():
    table = np.repeat(np.round(with_panel(200)), 3, axis=0)
    pk, _ = decided(table, n_bins=3)
    plain = ProximityKernel(3, missingness="ignorable").fit(table)
    codes = plain.model_.code(table, 1).distinct(plain.n_bins_)
    assert codes.counts.min() >= 3
    apart = codes.of_rows(np.repeat(codes.bins, codes.counts, axis=0))
    names = [f"x{j}" for j in range(6)]
    kept = keep_rows(apart, plan_rows("pairwise", plain.n_bins_, 600, 0), 1)
    every = replace(kept, rows=apart.bins, counts=apart.counts)
    wanted = decide_missingness(every, names, "auto")
    for one, other in zip(pk.missingness_, wanted, strict=True):
        assert (one.informative, one.missing) == (other.informative, other.missing)
        assert one.p_value == pytest.approx(other.p_value, rel=1e-6)


def test_large_tables_are_decided_from_some_rows(monkeypatch):
    table = with_panel(6000)
    whole = decided(table)[1]
    for most in (1000, 2000):
        monkeypatch.setattr(absence_test, "_MOST_ROWS", most)
        assert decided(table)[1] == whole
    at, weights = absence_test._space_evenly(np.array([5000, 1, 1, 5000]), 1000)
    assert at.tolist() == [0, 1, 2, 3]
    counts = np.r_[9000, np.ones(3000, np.int64)]
    at, weights = absence_test._space_evenly(counts, 1000)
    assert weights.sum() == 1000
    assert weights[0] == pytest.approx(750, abs=1)  # as often as it stands there


def test_rare_codes_share_one():
    codes = np.array([5, 5, 3, 3, 3, -9, *range(100, 180)])
    observed = codes >= 0
    pooled = absence_test._pool_rare(codes, np.ones(len(codes)), observed)
    assert pooled.max() == 63
    assert pooled[:5].tolist() == [1, 1, 0, 0, 0]
    assert np.count_nonzero(pooled == 63) == 80 - 61


def test_wide_tables():
    """Against some columns, with one null for all, a panel is still found."""
    rng, factor, table = correlated(400, 900, 0)
    table[rng.random(table.shape) < 0.02] = np.nan
    table[np.ix_(factor > 0.8, np.arange(0, 900, 30))] = np.nan
    codes = ProximityKernel(4, missingness="ignorable").fit(table).model_.code(table, 1)
    sample = absence_test._draw_sample(codes, np.full(900, 4), 900)
    assert sample.sizes.sum() <= 1024
    names = [str(j) for j in range(900)]
    fitted = keep_rows(codes, plan_rows("pairwise", np.full(900, 4), 400, 0), 1)
    found = decide_missingness(fitted, names, "auto")
    informative = np.flatnonzero([absence.informative for absence in found])
    assert informative.tolist() == list(range(0, 900, 30))
    assert "and 26 more" in found[0].reason


def test_one_null_for_all_is_the_more_careful(monkeypatch):
    own = decided(with_panel(300))[0].missingness_
    monkeypatch.setattr(absence_test, "_OWN_NULL_UP_TO", 0)
    for one, other in zip(own, decided(with_panel(300))[0].missingness_, strict=True):
        assert other.p_value >= one.p_value * 0.999
        assert other.informative == one.informative


# Odd tables


@pytest.mark.parametrize("missingness", ["ignorable", "informative", "auto"])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_tiny_tables(missingness, n):
    table = np.arange(3.0 * n).reshape(n, 3)
    table[0, 0], table[:, 1] = np.nan, 1.0
    pk = ProximityKernel(4, missingness=missingness)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if n == 1 else "error")
        kernel = pk.fit(table).kernel(table)
    assert kernel.shape == (n, n)
    assert np.isfinite(kernel).all()
    informative = [absence.informative for absence in pk.missingness_]
    assert informative == [missingness == "informative" and n > 1, False, False]


@pytest.mark.parametrize("missingness", ["informative", "auto"])
def test_a_column_with_nothing_observed_stays_without_bins(missingness):
    table = with_panel()
    table[:, 5] = np.nan
    with pytest.warns(UserWarning, match="column 5"):
        pk = ProximityKernel(missingness=missingness).fit(table)
    assert pk.n_bins_[5] == 0
    assert not pk.missingness_[5].informative
    assert pk.missingness_[5].reason == "nothing is observed"
    assert pk.missingness_[5].missing == 500


def test_constants_and_one_column_alone():
    table = np.full((40, 2), np.nan)
    table[:20, 0], table[10:30, 1] = 1.0, 2.0
    pk, informative = decided(table)
    assert not any(informative)
    assert [a.p_value for a in pk.missingness_] == [1.0, 1.0]
    pk, informative = decided(table[:, :1])
    assert informative == [False]


# As an estimator


def test_pickle_and_clone():
    table = with_panel()
    pk, _ = decided(table)
    again = pickle.loads(pickle.dumps(pk))
    assert again.missingness_ == pk.missingness_
    assert_same_bits(again.transform(table), pk.transform(table))
    fresh = clone(pk)
    assert fresh.missingness == "auto"
    assert not hasattr(fresh, "missingness_")
    assert len(pd.DataFrame(pk.missingness_).columns) == 5


def test_the_counts_of_the_pairwise_rule_are_those_of_the_rows():
    table = with_panel(300)
    pk = ProximityKernel(4, missingness="ignorable").fit(table)
    codes, n = pk.model_.code(table, 1), len(table)
    state = keep_rows(codes, plan_rows("pairwise", pk.n_bins_, n, 0), 1)
    counted = absence_test._count_sample(state)
    drawn = absence_test._draw_sample(codes, pk.n_bins_, 1)
    np.testing.assert_array_equal(counted.witnesses, drawn.witnesses)
    np.testing.assert_allclose(counted.pairs, drawn.pairs)
    np.testing.assert_allclose(counted.gaps, drawn.gaps)
    every = np.arange(len(pk.n_bins_))
    np.testing.assert_allclose(
        counted.both_absent(every[:2], every), drawn.both_absent(every[:2], every)
    )
