"""The claims of docs/theory.md, each with a test that fails if it is false.

Here are sections 1, 3 and 4; `test_theory_estimates` and `test_theory_centers` have
section 2.
"""

import pickle
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import assert_same_bits, dense, fitted, mixed_table, tables

from proximity_kernel import ProximityKernel
from proximity_kernel import _pairwise as pairwise
from proximity_kernel import (
    _row_summary as row_summary,
)
from proximity_kernel._coded import CodedTable

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "theory.md"
MATCHINGS = ("pairwise", "cascade")


@st.composite
def options(draw):
    """Every option that the kernel depends on."""
    matching = draw(st.sampled_from(MATCHINGS))
    scales = [2, 3, 5, "auto", *(["fine"] if matching == "pairwise" else [])]
    return {
        "n_bins": draw(st.sampled_from(scales)),
        "matching": matching,
        "missingness": draw(st.sampled_from(["ignorable", "informative", "auto"])),
        "normalize": draw(st.booleans()),
        "dtype": draw(st.sampled_from([np.float32, np.float64])),
    }


# 1. The kernel is valid


def rounding(pk, n_columns):
    """What an entry of the kernel may be off, E of docs/theory.md."""
    return (2 * n_columns + 16) * np.finfo(pk.dtype).eps / 2


def assert_alike_to_itself(pk, frame):
    """Rows without estimates have similarity one; all rows, if it is normalized."""
    own = np.diag(pk.kernel(frame)).astype(float)
    error = rounding(pk, pk.transform(frame).shape[1])
    cells = pk.provenance(frame)
    guessed = cells["row"][pk.n_bins_[cells["feature"]] > 0]
    known = np.setdiff1d(np.arange(len(frame)), guessed)
    np.testing.assert_allclose(own[known], 1, rtol=0, atol=error)
    if pk.normalize:
        np.testing.assert_allclose(own, 1, rtol=0, atol=error)
    elif pk.n_bins not in ("auto", "fine"):
        assert (own[known] == 1).all()


def assert_valid(pk, frame, new):
    """The kernel of old rows, new rows, and all of them is what a kernel should be."""
    z = np.concatenate([dense(pk.transform(table)) for table in (frame, new)])
    error = rounding(pk, z.shape[1])
    parts = [[pk.kernel(one, two) for two in (frame, new)] for one in (frame, new)]
    whole = np.block(parts).astype(float)
    for k in (pk.kernel(frame), pk.kernel(new)):
        assert k.tobytes() == k.T.copy().tobytes()
        assert k.min() >= 0
        assert k.max() <= 1
        assert np.linalg.eigvalsh(k.astype(float)).min() >= -len(k) * error
    np.testing.assert_allclose(whole, whole.T, rtol=0, atol=2 * error)
    lowest = np.linalg.eigvalsh((whole + whole.T) / 2).min()
    assert lowest >= -len(whole) * error
    # It is the product of an explicit map, which each table has from the fit alone.
    d = max(np.count_nonzero(pk.n_bins_), 1)
    explicit = z.astype(float) @ z.T.astype(float) / d
    np.testing.assert_allclose(whole, explicit, rtol=0, atol=error)


@settings(max_examples=40)
@given(tables(), options())
def test_the_kernel_is_valid_for_every_table(drawn, chosen):
    frame, new = drawn
    assert_valid(fitted(ProximityKernel(**chosen), frame), frame, new)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("missingness", ["ignorable", "informative", "auto"])
@pytest.mark.parametrize(
    ("matching", "n_bins"),
    [*product(MATCHINGS, (4, "auto")), ("pairwise", "fine")],
)
def test_the_kernel_is_valid_for_every_option(matching, missingness, n_bins, normalize):
    """On a table where each option makes a difference."""
    frame, new = mixed_table(150, 6, 0.02, seed=0), mixed_table(30, 6, 0.2, seed=1)
    rng = np.random.default_rng(2)
    for table in (frame, new):  # a panel that was not ordered, three columns wide
        chance = np.where(table["col0"] == 0, 0.7, 0.1)
        table.loc[rng.random(len(table)) < chance, ["col1", "col3", "col4"]] = np.nan
    pk = ProximityKernel(
        n_bins, matching=matching, missingness=missingness, normalize=normalize,
        dtype=np.float64,
    ).fit(frame)  # fmt: skip
    events = [cells.informative for cells in pk.missingness_]
    wanted = {"ignorable": [0], "informative": [6], "auto": range(1, 6)}
    assert sum(events) in wanted[missingness]
    assert frame.notna().all(axis=1).any()
    assert any(groups is not None for groups in pk.bin_groups_) == (n_bins != 4)
    assert_valid(pk, frame, new)
    assert_alike_to_itself(pk, frame)


@settings(max_examples=30)
@given(tables(), options())
def test_a_row_without_estimates_is_alike_to_itself(drawn, chosen):
    frame, _ = drawn
    assert_alike_to_itself(fitted(ProximityKernel(**chosen), frame), frame)


@pytest.mark.parametrize("n_bins", [4, "auto", "fine"])
def test_a_row_with_estimates_is_less_alike_to_itself_unless_they_are_certain(n_bins):
    table = mixed_table(80, 6, 0.1, seed=3)
    pk = ProximityKernel(n_bins, dtype=np.float64, missingness="ignorable").fit(table)
    incomplete = table.isna().any(axis=1).to_numpy()
    own = np.diag(pk.kernel(table))
    assert 10 < incomplete.sum() < 80
    assert own[incomplete].max() < 1 - 1e-3
    assert own[~incomplete] == pytest.approx(1, abs=1e-12)
    # The rows that match all have the same bin, so the cascade is certain.
    coins = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]] * 9, dtype=float)
    row = [[1.0, 1.0, np.nan]]
    pk = ProximityKernel(matching="cascade").fit(coins)
    assert pk.kernel(row).item() == 1
    assert ProximityKernel().fit(coins).kernel(row).item() < 0.9


def test_two_resolutions_are_a_mean_of_two_kernels():
    """0.2 for the same bin and 0.8 for the same coarse bin, counted pair by pair."""
    values = np.random.default_rng(0).lognormal(size=(60, 3))
    pk = ProximityKernel("auto", dtype=np.float64).fit(values)
    same = np.zeros((60, 60))
    for j, (centers, groups) in enumerate(
        zip(pk.bin_centers_, pk.bin_groups_, strict=True)
    ):
        assert sorted(set(groups)) == [0, 1]
        code = np.abs(values[:, [j]] - centers).argmin(axis=1)
        fine = code[:, None] == code
        coarse = groups[code][:, None] == groups[code]
        same += (0.2 * fine + 0.8 * coarse) / 3
    np.testing.assert_allclose(pk.kernel(values), same, atol=1e-14)


# 3. Cost


def coded(n, d, n_bins=4, seed=0):
    """Rows of random codes, row by row."""
    rows = np.random.default_rng(seed).integers(n_bins, size=(n, d), dtype=np.uint8)
    return CodedTable.of_rows(rows)


def test_the_budgets_are_those_of_the_page():
    page = PAGE.read_text().replace("\n", " ")
    budgets = {
        f"{pairwise.MOST_CODES:,} codes": 2048,
        f"{row_summary.SAMPLE:,} distinct rows": 10_000,
        f"2^{row_summary._MOST_PAIRS.bit_length() - 1} pairs of cells": 32,
        f"{row_summary._MOST_COPIES} times": 100,
        f"{pairwise._MOST_SOURCES} sources": 32,
        f"2^{pairwise._MOST_EVIDENCE.bit_length() - 1} entries": 21,
        f"{pairwise._COARSE_ROWS:,} of them": 1024,
        f"{pairwise._COARSE_FEATURES:,} features": 1024,
        f"{pairwise._REFINED_ROWS:,} of them": 3000,
        f"2^{pairwise._MOST_SCORED.bit_length() - 1} triples": 27,
        f"2^{pairwise._MOST_REFINED.bit_length() - 1} entries": 25,
    }
    assert [text for text in budgets if text not in page] == []


def test_counting_adds_the_same_number_of_pairs_for_every_row():
    """A gap is a code, too, so every row of d cells adds d (d + 1) / 2."""
    for n in (500, 1500):
        codes = coded(n, 9)
        codes.bins[::3, 4] = 255  # missing
        plan = row_summary.plan_rows("pairwise", np.full(9, 4), n, seed=0)
        state = row_summary.keep_rows(codes, plan, 1)
        assert state.pairs.sum() == n * 9 * 10 / 2


def test_what_the_model_keeps_does_not_grow_with_the_rows():
    sizes = {}
    for matching in MATCHINGS:
        tables = [mixed_table(n, 8, 0.2, seed=0) for n in (1000, 4000)]
        held = [ProximityKernel(matching=matching).fit(table) for table in tables]
        sizes[matching] = [len(pickle.dumps(pk.model_.matcher)) for pk in held]
    assert sizes["pairwise"][0] == sizes["pairwise"][1]
    assert sizes["cascade"][1] > 2 * sizes["cascade"][0]


def test_the_sample_is_bounded_and_rows_left_out_cap_the_copies():
    plan = row_summary.plan_rows("pairwise", np.full(10, 4), 30_000, seed=0)
    many = coded(30_000, 10)
    many.bins[:20_000:2] = many.bins[0]  # one row 10,000 times
    seeds = [
        row_summary.keep_rows(many, replace(plan, seed=seed), 1) for seed in range(8)
    ]
    assert all(state.sampled and len(state.rows) == 10_000 for state in seeds)
    assert max(state.counts.max() for state in seeds) == 10_000
    assert all(state.kept.counts.max() <= 100 for state in seeds)
    few = row_summary.keep_rows(CodedTable.of_rows(many.bins[:10_000]), plan, 1)
    assert not few.sampled  # all rows are scored, with their exact counts
    assert few.kept.counts.max() == 5000


def test_above_the_budget_a_share_of_the_rows_has_its_pairs_counted():
    n_bins = np.full(10, 4)
    every = row_summary.plan_rows("pairwise", n_bins, 2 * 2**32 // 100, seed=0)
    assert every.highest_hash == 2**64 - 1
    fourth = row_summary.plan_rows("pairwise", n_bins, 4 * 2 * 2**32 // 100, seed=0)
    assert fourth.highest_hash / 2**64 == pytest.approx(1 / 4)
    state = row_summary.keep_rows(coded(8000, 10), fourth, 1)
    assert state.totals[:4].sum() == 8000  # codes are counted in all rows
    counted = np.diagonal(state.pairs)[:4].sum()
    assert counted == pytest.approx(2000, abs=4 * np.sqrt(1500))
    assert not state.sampled  # the kept rows are all: their pairs are counted instead
    assert np.diagonal(state.all_pairs)[:4].sum() == 8000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_summary, "SAMPLE", 4000)
        state = row_summary.keep_rows(coded(8000, 10), fourth, 1)
    assert np.diagonal(state.all_pairs)[:4].sum() == counted
    assert state.counts[state.counted].sum() == counted  # these are scored


@pytest.mark.parametrize(("d", "bins"), [(500, 4), (10, 250), (5000, 4)])
def test_wide_tables_have_few_sources_and_keep_the_frequent_codes(d, bins):
    n = 300 if d > 10 else 2000
    rng = np.random.default_rng(0)
    rows = (bins * rng.random((n, d)) ** 2).astype(np.uint8)  # low codes are frequent
    n_bins = np.full(d, bins)
    plan = row_summary.plan_rows("pairwise", n_bins, n, seed=0)
    assert plan.n_codes > 2048
    assert not plan.highest_hash
    state = row_summary.keep_rows(CodedTable.of_rows(rows), plan, 1)
    none = np.zeros(d, bool)
    counts = row_summary.count_pairs(state, state.kept, none, 1)
    assert counts.sources.shape[1] == {500: 32, 10: 9, 5000: 26}[d]
    n_kept = counts.kept.shape[1]
    assert counts.sources.size * n_kept**2 <= 2**21
    assert n_kept == {500: 4, 10: 80, 5000: 4}[d]
    totals = counts.totals.reshape(d, bins)
    kept = np.take_along_axis(totals, counts.kept, axis=1)
    left = totals.sum(axis=1) - kept.sum(axis=1)
    best = np.sort(totals, axis=1)[:, ::-1]
    np.testing.assert_array_equal(left, best[:, n_kept:].sum(axis=1))


@pytest.mark.parametrize(
    ("d", "scored"), [(20, {1024, 3000}), (150, {1024, 375}), (600, {436, 109})]
)
def test_wide_tables_are_scored_on_fewer_rows(d, scored, monkeypatch):
    """For the common weights, and for those of sources."""
    seen, find = set(), pairwise._find_odds

    def note(*given, each):
        seen.add(int(given[4].max()))
        return find(*given, each=each)

    monkeypatch.setattr(pairwise, "_find_odds", note)
    n = 9000 if d < 600 else 3000
    plan = row_summary.plan_rows("pairwise", np.full(d, 4), n, seed=0)
    state = row_summary.keep_rows(coded(n, d), plan, 1)
    counts = row_summary.count_pairs(state, state.kept, np.zeros(d, bool), 1)
    learnt = pairwise.learn_pairwise(counts, state.kept, 1)
    assert seen == scored
    assert ((learnt.weights >= 0) & (learnt.weights <= 1.5)).all()


# 4. Exact, and always the same


@settings(max_examples=25)
@given(tables(), options(), st.randoms(use_true_random=False))
def test_order_and_company_do_not_matter_for_any_option(drawn, chosen, random):
    frame, new = drawn
    order = list(range(len(frame)))
    random.shuffle(order)
    pk = fitted(ProximityKernel(**chosen), frame)
    again = fitted(ProximityKernel(**chosen), frame.iloc[order])
    for table in (frame, new):
        z = dense(pk.transform(table))
        assert_same_bits(again.transform(table), z)
        for i in (0, len(table) - 1):
            assert_same_bits(pk.transform(table.iloc[[i]]), z[[i]])
    fresh = ProximityKernel(**chosen)
    z = dense(fitted(fresh, frame).transform(frame))
    assert_same_bits(z[order], dense(pk.transform(frame.iloc[order])))


@settings(max_examples=20)
@given(tables(), options())
def test_equal_rows_get_equal_answers(drawn, chosen):
    frame, new = drawn
    pk = fitted(ProximityKernel(**chosen), frame)
    for table in (frame, new):
        z = dense(pk.transform(table))
        first = {}
        for i, row in enumerate(table.itertuples(index=False)):
            key = tuple(None if pd.isna(cell) else cell for cell in row)
            assert z[i].tobytes() == z[first.setdefault(key, i)].tobytes()


def label_table(n, rate, seed):
    """Three related columns of labels, with holes."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    table = np.stack([group, (group + rng.integers(2, size=n)) % 3, group % 2], axis=1)
    return np.where(rng.random(table.shape) < rate, np.nan, table)


def fit_labels(table, matching="pairwise", **chosen):
    return ProximityKernel(
        matching=matching, missingness="ignorable", dtype=np.float64,
        categorical_features=list(range(table.shape[1])), **chosen,
    ).fit(table)  # fmt: skip


def test_with_the_cascade_a_row_never_answers_for_itself():
    """Fit without a row that misses a cell: the estimate is the same to the bit."""
    table = label_table(120, 0.1, seed=11)
    z = dense(fit_labels(table, "cascade").transform(table))
    for i in np.flatnonzero(np.isnan(table).any(axis=1))[:12]:
        without = fit_labels(np.delete(table, i, axis=0), "cascade")
        assert_same_bits(without.transform(table[[i]]), z[[i]])


def test_a_row_that_misses_a_feature_is_not_in_its_counts():
    table = label_table(120, 0.1, seed=11)
    whole = fit_labels(table).model_.matcher.counts
    first = np.cumsum(whole.n_bins) - whole.n_bins
    for i, j in np.argwhere(np.isnan(table))[:12]:
        part = fit_labels(np.delete(table, i, axis=0)).model_.matcher.counts
        own = slice(first[j], first[j] + whole.n_bins[j])
        np.testing.assert_array_equal(part.pairs[:, own], whole.pairs[:, own])
        if np.isnan(table[i]).sum() == 1:  # its other cells are counted elsewhere
            assert (part.pairs != whole.pairs).any()


def test_the_seed_does_not_matter_if_all_rows_are_scored():
    frame = mixed_table(200, 5, 0.3, seed=12)
    one, two = (ProximityKernel(random_state=seed).fit(frame) for seed in (0, 1))
    assert_same_bits(one.transform(frame), two.transform(frame))


# The page itself


def test_every_test_that_the_page_names_is_there():
    page = PAGE.read_text()
    named = set(re.findall(r"`(test_\w+)`", page))
    there = set()
    for file in HERE.parent.rglob("test_*.py"):
        there.add(file.stem)
        there |= set(re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE))
    assert len(named) > 20
    assert named <= there
    files = [file.read_text() for file in sorted(HERE.glob("test_theory*.py"))]
    assert len(files) > 1
    mine = re.findall(r"^def (test_\w+)", "\n".join(files), re.MULTILINE)
    assert set(mine) - {"test_every_test_that_the_page_names_is_there"} <= named
