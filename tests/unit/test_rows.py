"""What a fit keeps of the rows: counts, and a sample that no cut or order changes."""

from collections import Counter
from dataclasses import replace

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_pairwise import Pairwise
from strategies import (
    adopt_weights,
    assert_same_bits,
    assert_same_model,
    cut,
    fitted,
    mixed_table,
    plain,
    tables,
)

from proximity_kernel import ProximityKernel
from proximity_kernel import _row_summary as row_summary
from proximity_kernel._bins import Binned
from proximity_kernel._coded import code_columns
from proximity_kernel._row_summary import (
    hash_rows,
    merge_rows,
    plan_rows,
    summarize_rows,
)
from proximity_kernel._table.columns import read_columns

WORD = (1 << 64) - 1


def hash_row(codes, seed):
    """The hash of one row of codes, with Python's integers."""
    h = seed
    for code in codes:
        h = (h + 0x9E3779B97F4A7C15 + code) & WORD
        h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & WORD
        h ^= h >> 31
    return h


def hash_codes(row, seed):
    """The hash of a row of the oracle's codes, of which a missing one is 255."""
    return hash_row([255 if code == oracle.MISSING else code for code in row], seed)


def choose_rows(codes, most, seed, limit=WORD):
    """The rows that the weights are chosen with, each as often as it counts.

    The distinct rows with the lowest hashes, at most `most` and none above `limit`.
    Where rows were left out, a row counts at most 100 times as often as the median one.
    """
    counts = Counter(map(tuple, codes))
    low = sorted(counts, key=lambda row: hash_codes(row, seed))[:most]
    copies = len(codes)
    if len(low) < len(counts):
        copies = 100 * int(np.median([counts[row] for row in low]))
    low = [row for row in low if hash_codes(row, seed) <= limit]
    return [list(row) for row in low for _ in range(min(counts[row], copies))]


def same_as(pk, table, codes, rule):
    """Compare the choice, and the estimates of a table, with a rule of the oracle."""
    matcher = pk.model_.matcher
    adopt_weights(matcher, rule)
    found = matcher.estimate(pk.model_.code(table, 1), 1)
    wanted = [
        rule.estimate(row, j)
        for row in codes
        for j, code in enumerate(row)
        if code == oracle.MISSING
    ]
    wanted = np.concatenate([[], *wanted])
    np.testing.assert_allclose(found.probabilities, wanted, rtol=1e-9, atol=1e-12)


# The sample


@given(drawn=tables(), most=st.integers(1, 15), seed=st.integers(0, WORD))
def test_weights_are_chosen_with_the_rows_of_lowest_hash(drawn, most, seed):
    """And the counts are those of all rows."""
    frame, new = drawn
    reference = oracle.fit(oracle.read_columns(frame), 3)
    scored = choose_rows(reference.codes, most, seed)
    rule = Pairwise(reference.codes, reference.n_bins, scored=scored)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_summary, "SAMPLE", most)
        pk = fitted(plain(3, random_state=seed), frame)
    for table in (frame, new):
        codes = oracle.assign_codes(oracle.read_columns(table), reference.cells)
        same_as(pk, table, codes, rule)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("share", [0.9, 0.3])
def test_pairs_of_a_huge_table_are_counted_in_rows_of_low_hash(
    monkeypatch, seed, share
):
    """Priors are of all rows; the usual frequency of a code is of those counted."""
    frame = mixed_table(300, 5, 0.2, seed=seed, noise=0.2)
    whole = plain(random_state=seed).fit(frame)
    monkeypatch.setattr(row_summary, "_MOST_PAIRS", share * 300 * 5**2 / 2)
    few = plain(random_state=seed).fit(frame)  # all rows are kept: nothing changes
    assert_same_bits(few.transform(frame), whole.transform(frame))
    monkeypatch.setattr(row_summary, "SAMPLE", 60)
    pk = plain(random_state=seed).fit(frame)
    limit = plan_rows("pairwise", pk.n_bins_, 300, seed).highest_hash
    assert limit == int(share * WORD)
    reference = oracle.fit(oracle.read_columns(frame))
    counted = [row for row in reference.codes if hash_codes(row, seed) <= limit]
    assert share - 0.2 < len(counted) / 300 < share + 0.2
    scored = choose_rows(reference.codes, 60, seed, limit)
    rule = Pairwise(reference.codes, reference.n_bins, counted, scored)
    same_as(pk, frame, reference.codes, rule)
    kept = summarize_rows(
        frame, binned_of(pk), plan_rows("pairwise", pk.n_bins_, 300, seed)
    )
    assert kept.sampled
    assert pk.model_.matcher.counts.marginals.sum() == sum(
        code >= 0 for row in counted for code in row
    )


def test_a_row_that_fills_the_table_counts_for_100_medians_in_a_sample(monkeypatch):
    frame = mixed_table(100, 3, 0.2, seed=0)
    frame = pd.concat([frame.iloc[[0] * 400], frame]).reset_index(drop=True)
    reference = oracle.fit(oracle.read_columns(frame))
    most = len(set(map(tuple, reference.codes))) - 1
    monkeypatch.setattr(row_summary, "SAMPLE", most)
    pk = plain().fit(frame)
    scored = choose_rows(reference.codes, most, 0)
    assert 100 <= max(Counter(map(tuple, scored)).values()) < 400
    rule = Pairwise(reference.codes, reference.n_bins, scored=scored)
    same_as(pk, frame, reference.codes, rule)


def test_hashes_look_drawn_at_random():
    rows = np.array([[a, b, 255] for a in range(200) for b in range(50)], np.uint8)
    hashes = np.empty(len(rows), np.uint64)
    hash_rows(rows, np.uint64(7), hashes)
    assert hashes[:3].tolist() == [hash_row(r, 7) for r in rows[:3].tolist()]
    assert len(np.unique(hashes)) == len(rows)
    shares = np.array(
        [(hashes >> np.uint64(bit) & np.uint64(1)).mean() for bit in range(64)]
    )
    assert np.abs(shares - 0.5).max() < 0.03  # six standard errors


def binned_of(pk):
    model = pk.model_
    return Binned(model.types, model.categorical_features, model.bins, model.typical)


@pytest.fixture(scope="module")
def frame():
    return mixed_table(2000, 8, 0.25, seed=1)


def test_the_seed_decides_and_the_order_does_not(monkeypatch, frame):
    binned = binned_of(plain().fit(frame))
    monkeypatch.setattr(row_summary, "SAMPLE", 100)

    def rows(table=frame, seed=0):
        plan = plan_rows("pairwise", binned.n_bins, 2000, seed)
        kept = summarize_rows(table, binned, plan)
        assert kept.sampled
        assert len(kept.rows) == 100
        assert (np.diff(kept.hashes.astype(float)) > 0).all()
        return kept.rows.tobytes()

    shuffled = frame.sample(frac=1, random_state=0)
    assert rows(shuffled) == rows()
    assert rows(seed=1) != rows()


def test_random_state_is_a_seed_or_drawn_from_once(monkeypatch, frame):
    monkeypatch.setattr(row_summary, "SAMPLE", 5)
    frame = frame[:300]

    def weights(seed):
        return plain(random_state=seed).fit(frame).model_.matcher.weights.tolist()

    assert weights(0) == weights(1 << 64)
    assert any(weights(seed) != weights(0) for seed in (1, 2, 3))
    source = np.random.RandomState(3)
    first, second = weights(source), weights(source)
    again = np.random.RandomState(3)
    assert [weights(again), weights(again)] == [first, second]
    assert source.randint(99) == again.randint(99)


def test_a_part_that_lost_rows_makes_the_whole_a_sample(monkeypatch, frame):
    """Also where what is merged with it holds no other row than those kept."""
    binned = binned_of(plain().fit(frame))
    monkeypatch.setattr(row_summary, "SAMPLE", 40)
    plan = plan_rows("pairwise", binned.n_bins, 2000, 0)
    large = summarize_rows(frame, binned, plan)
    assert large.sampled
    kept = set(map(bytes, large.rows))
    there = [
        bytes(row) in kept
        for row in code_columns(read_columns(frame), binned.bins, 1).bins
    ]
    small = summarize_rows(frame[there], binned, plan)
    assert not small.sampled
    for merged in (merge_rows(large, small), merge_rows(small, large)):
        assert merged.sampled
        np.testing.assert_array_equal(merged.rows, large.rows)
        np.testing.assert_array_equal(merged.counts, 2 * large.counts)
        assert merged.n_samples == 2000 + sum(there)


def test_no_panel_is_found_in_a_sample_of_random_missing_cells(monkeypatch, frame):
    for most in (60, 1000):
        monkeypatch.setattr(row_summary, "SAMPLE", most)
        pk = ProximityKernel().fit(frame)
        assert not any(cells.informative for cells in pk.missingness_), most
        missing = [cells.missing for cells in pk.missingness_]
        assert missing == frame.isna().sum().tolist()


def test_a_panel_is_found_in_a_sample(monkeypatch):
    monkeypatch.setattr(row_summary, "SAMPLE", 1000)
    table = mixed_table(5000, 8, 0.05, seed=1)
    lost = (table["col0"] > 0) & (np.random.default_rng(0).random(5000) < 0.5)
    table.loc[lost, ["col3", "col4", "col6"]] = np.nan
    pk = ProximityKernel().fit(table)
    found = [j for j, cells in enumerate(pk.missingness_) if cells.informative]
    assert found == [3, 4, 6]


# Neither the order of rows nor the cut of a table matters


def limits(monkeypatch, case):
    """Make a small table meet the limits of a large one."""
    if case != "few rows":
        monkeypatch.setattr(row_summary, "SAMPLE", 150)
    if case == "too many pairs":
        monkeypatch.setattr(row_summary, "_MOST_PAIRS", 8000)
    if case == "too many codes":
        monkeypatch.setattr(row_summary, "MOST_CODES", 20)


CASES = ["few rows", "many rows", "too many pairs", "too many codes"]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_parts", [1, 2, 7, 50])
def test_however_the_table_is_cut_and_ordered(monkeypatch, case, n_parts):
    limits(monkeypatch, case)
    table = mixed_table(900, 6, 0.2, seed=3)
    table.loc[table["col0"] == 0, ["col1", "col4", "col5"]] = None  # an event
    pk = ProximityKernel(random_state=4).fit(table)
    counts = pk.model_.matcher.counts
    assert (counts.sources is not None) == (case == "too many codes")
    fewer = counts.marginals.sum() < counts.totals.sum()
    assert fewer == (case in ("too many pairs", "too many codes"))
    order = np.random.RandomState(n_parts)
    shuffled = table.sample(frac=1, random_state=order)
    assert_same_model(ProximityKernel(random_state=4).fit(shuffled), pk)
    parts = cut(shuffled, n_parts, order)
    by_parts = ProximityKernel(random_state=4).fit_batches(parts)
    assert_same_model(by_parts, pk)
    assert_same_bits(by_parts.transform(table), pk.transform(table))


@pytest.mark.parametrize("case", CASES)
def test_the_number_of_threads_does_not_matter(monkeypatch, case):
    limits(monkeypatch, case)
    monkeypatch.setattr(row_summary, "_PIECE", 100)
    table = mixed_table(900, 6, 0.2, seed=3)
    one, two, three = (ProximityKernel(n_jobs=n).fit(table) for n in (1, 2, 3))
    assert_same_model(two, one)
    assert_same_model(three, one)
    assert_same_bits(three.transform(table), one.transform(table))


def test_more_rows_than_are_kept():
    """Above 10,000 distinct rows, with nothing changed."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(14_000, 9))
    table[rng.random(table.shape) < 0.1] = np.nan
    pk = ProximityKernel(5, random_state=1)
    z = pk.fit_transform(table)
    plan = plan_rows("pairwise", pk.n_bins_, 14_000, 1)
    kept = summarize_rows(table, binned_of(pk), plan)
    assert kept.sampled
    assert len(kept.rows) == 10_000
    assert_same_bits(pk.transform(table), z)
    order = rng.permutation(len(table))
    assert_same_model(ProximityKernel(5, random_state=1).fit(table[order]), pk)
    parts = np.array_split(table[order], 7)
    assert_same_model(ProximityKernel(5, random_state=1).fit_batches(parts), pk)


def test_heavy_duplicates_are_few_rows():
    """However often rows repeat, all distinct ones are kept, with their counts."""
    rng = np.random.default_rng(1)
    table = rng.integers(3, size=(50_000, 3)).astype(float)
    table[rng.random(table.shape) < 0.1] = np.nan
    pk = plain().fit(table)
    plan = plan_rows("pairwise", pk.n_bins_, 50_000, 0)
    kept = summarize_rows(table, binned_of(pk), plan)
    assert not kept.sampled
    assert len(kept.rows) == 4**3
    assert kept.counts.sum() == 50_000
    np.testing.assert_array_equal(kept.kept.counts, kept.counts)
    few = replace(kept, counts=np.r_[np.ones(63, np.int64), 9000], sampled=True)
    assert few.kept.counts.max() == 100  # times the median


@settings(max_examples=20)
@given(tables(), st.sampled_from(["pairwise", "cascade"]))
def test_fit_then_transform_is_fit_transform_by_any_way(drawn, matching):
    frame, _ = drawn
    for most, codes in ((10_000, 2048), (3, 2048), (10_000, 0), (3, 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_summary, "SAMPLE", most)
            patch.setattr(row_summary, "MOST_CODES", codes)
            pk = fitted(ProximityKernel(matching=matching), frame)
            empty = frame.isna().all().any()
            with pytest.warns() if empty else pytest.MonkeyPatch.context():
                z = ProximityKernel(matching=matching).fit_transform(frame)
        assert_same_bits(pk.transform(frame), z)
