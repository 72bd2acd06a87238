"""`max_references`: a sample of the rows that no cut or order changes."""

import pickle
from collections import Counter
from dataclasses import replace
from math import ceil

import numpy as np
import oracle
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import (
    assert_close,
    assert_same_bits,
    fitted,
    mixed_table,
    parameters,
    plain,
    tables,
)

from proximity_kernel import ProximityKernel
from proximity_kernel._numba.code_loops import hash_rows
from proximity_kernel._matching.row_state import merge_rows, summarize_rows
from proximity_kernel._model.model_state import State, pack_model, unpack_model
from proximity_kernel._bins.bin_state import Binned

WORD = (1 << 64) - 1
SECOND = 0x5851F42D4C957F2D


def hash_row(codes, seed):
    """The hash of one row of codes, with Python's integers."""
    h = seed
    for code in codes:
        h = (h + 0x9E3779B97F4A7C15 + code) & WORD
        h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & WORD
        h ^= h >> 31
    return h


def choose(codes, most, seed):
    """Which distinct rows are kept, what each stands for, and a rare one."""
    counts = Counter(codes)
    lowest = sorted(counts, key=lambda row: (hash_row(row, seed), row))[: 8 * most]
    if len(lowest) <= most:
        return {row: counts[row] for row in lowest}, 1

    times = len(codes) / sum(counts[row] for row in lowest)

    def priority(row):
        return counts[row] * times / ((hash_row(row, seed ^ SECOND) + 0.5) / 2.0**64)

    order = sorted(lowest, key=lambda row: (-priority(row), row))
    unit = ceil(priority(order[most]))
    return {row: max(round(counts[row] * times), unit) for row in order[:most]}, unit


def as_oracle_reference(whole, kept):
    """The oracle's reference of rows that stand there so many times each."""
    codes = [list(row) for row, n in kept.items() for _ in range(n)]
    codes = [[oracle.MISSING if c == 255 else c for c in row] for row in codes]
    holders = [{} for _ in whole.cells]
    observers = [set() for _ in whole.cells]
    for i, row in enumerate(codes):
        for j, code in enumerate(row):
            if code != oracle.MISSING:
                holders[j].setdefault(code, set()).add(i)
                observers[j].add(i)
    return oracle.Reference(whole.cells, codes, holders, observers)


def describe(columns, whole, sample, matching, support):
    """The representation, and what each missing cell rests on."""
    rows, cells = [], []
    for i, row in enumerate(oracle.assign_codes(columns, whole.cells)):
        z = []
        for j, code in enumerate(row):
            n = whole.n_bins[j]
            if code != oracle.MISSING:
                z += [float(k == code) for k in range(n)]
                continue
            found, source = oracle.match(row, j, sample, matching, support), sample
            if not found.rung:  # the prior is of all rows
                found, source = replace(found, donors=whole.observers[j]), whole
            z += oracle.average_block(found, j, source) if n else []
            cells.append((i, j, found.rung, len(found.donors)))
        rows.append(z)
    return np.array(rows, float).reshape(len(rows), sum(whole.n_bins)), cells


@given(
    drawn=tables(),
    chosen=parameters(),
    matching=st.sampled_from(["graded", "cascade"]),
    most=st.integers(1, 15),
    seed=st.integers(0, WORD),
)
def test_equals_the_oracle_on_the_chosen_rows(drawn, chosen, matching, most, seed):
    frame, new = drawn
    chosen = {**chosen, "matching": matching}
    whole = oracle.fit(oracle.read_columns(frame), chosen["n_bins"])
    codes = [tuple(255 if c == oracle.MISSING else c for c in r) for r in whole.codes]
    kept, unit = choose(codes, most, seed)
    assume(unit < 300)  # the oracle counts one by one
    sample = as_oracle_reference(whole, kept)
    pk = fitted(plain(**chosen, max_references=most, random_state=seed), frame)
    sampled = len(set(codes)) > most
    for table in (frame, new):
        z, cells = describe(
            oracle.read_columns(table), whole, sample, matching,
            unit * chosen["min_support"],
        )  # fmt: skip
        assert_close(pk.transform(table), z)
        got = pk.provenance(table)[["row", "feature", "rung", "support", "sampled"]]
        assert got.tolist() == [(*cell, sampled and cell[2] > 0) for cell in cells]


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
    wide = np.empty(len(rows), np.uint64)
    hash_rows(rows.astype(np.uint16), np.uint64(7), wide)
    np.testing.assert_array_equal(wide, hashes)


@pytest.fixture(scope="module")
def frame():
    return mixed_table(2000, 8, 0.25, seed=1)


def test_few_distinct_rows_stay_exact(frame):
    few = frame[["col0", "col2"]]
    exact = ProximityKernel().fit(few)
    n_distinct = len(exact._model.reference.bitmaps.rows)
    kept = ProximityKernel(max_references=n_distinct).fit(few)
    assert_same_bits(kept.transform(few), exact.transform(few))
    assert not kept.provenance(few)["sampled"].any()
    fewer = ProximityKernel(max_references=n_distinct - 1).fit(few)
    assert fewer._model.reference.sampled
    assert len(fewer._model.reference.bitmaps.rows) == n_distinct - 1


def test_what_is_known_of_all_rows_stays_exact(frame):
    exact = ProximityKernel(missingness="informative").fit(frame)
    kept = ProximityKernel(missingness="informative", max_references=50).fit(frame)
    assert kept._model.reference.n_samples == 2000
    for got, wanted in zip(kept.prior_, exact.prior_, strict=True):
        np.testing.assert_array_equal(got, wanted)
    gaps = [absence.missing for absence in kept.missingness_]
    assert gaps == frame.isna().sum().tolist()
    reference, maps = kept._model.reference, kept._model.reference.bitmaps
    counts = dict(zip(map(bytes, exact._model.reference.bitmaps.rows),
                      exact._model.reference.bitmaps.counts, strict=True))  # fmt: skip
    assert len(maps.rows) == 50
    for row, count in zip(map(bytes, maps.rows), maps.counts, strict=True):
        assert count == max(counts[row], reference.unit)


def test_a_frequent_row_is_always_kept_and_sums_are_right_on_average():
    rng = np.random.default_rng(0)
    table = np.concatenate([np.zeros((700, 6)), rng.integers(4, size=(300, 6))])
    states = []
    for seed in range(200):
        pk = plain(max_references=60, random_state=seed).fit(table)
        states.append(pk._model.reference.bitmaps)
    assert all(not maps.rows[0].any() and maps.counts[0] >= 700 for maps in states)
    totals = np.array([maps.counts.sum() for maps in states])
    assert abs(totals.mean() - 1000) < 4 * totals.std() / np.sqrt(200) + 1 * 60


def test_what_rows_stand_for_is_right_where_most_are_dropped():
    rng = np.random.default_rng(0)
    table = rng.integers(4, size=(3000, 7)).astype(float)
    totals, alike = [], []
    asked = table[:50].copy()
    asked[:, 0] = np.nan
    exact = plain(matching="graded").fit(table)
    for seed in range(40):
        pk = plain(max_references=40, matching="graded", random_state=seed).fit(table)
        totals.append(pk._model.reference.bitmaps.counts.sum())
        kept = plain(max_references=40, min_support=10**6, matching="graded")
        cells = kept.set_params(random_state=seed).fit(table).provenance(asked)
        alike.append(cells["support"].mean())
    every = exact.set_params(min_support=10**6).provenance(asked)["support"].mean()
    assert np.mean(totals) == pytest.approx(3000, rel=0.05)
    assert np.mean(alike) == pytest.approx(every, rel=0.05)


def test_the_seed_decides_and_the_order_does_not(frame):
    def rows(table=frame, **options):
        pk = ProximityKernel(max_references=100, **options).fit(table)
        return pk._model.reference.bitmaps.rows.tobytes()

    shuffled = frame.sample(frac=1, random_state=0)
    assert rows(shuffled) == rows() == rows(random_state=0)
    assert rows(random_state=1) != rows()
    assert rows(random_state=1 << 64) == rows()
    source = np.random.RandomState(3)
    first = rows(random_state=source)
    assert rows(random_state=source) != first
    assert rows(random_state=np.random.RandomState(3)) == first
    untouched = np.random.RandomState(3)
    ProximityKernel(random_state=untouched).fit(frame)
    assert untouched.randint(1 << 31) == np.random.RandomState(3).randint(1 << 31)


def test_more_references_come_nearer_to_all(frame):
    exact = ProximityKernel(dtype=np.float64).fit(frame)
    wanted = exact.kernel(frame[:200])
    errors = []
    for most in (20, 200, 1000):
        kept = ProximityKernel(dtype=np.float64, max_references=most).fit(frame)
        errors.append(np.sqrt(np.mean((kept.kernel(frame[:200]) - wanted) ** 2)))
    assert errors[0] > errors[1] > errors[2] > 0


def test_pickled_and_saved_samples_answer_alike(frame, tmp_path):
    pk = ProximityKernel(max_references=60).fit(frame)
    pk.save(tmp_path / "kernel.model")
    for again in (
        pickle.loads(pickle.dumps(pk)),
        ProximityKernel.load(tmp_path / "kernel.model"),
    ):
        assert_same_bits(again.transform(frame), pk.transform(frame))
        assert again.provenance(frame).tolist() == pk.provenance(frame).tolist()
        for got, wanted in zip(again.prior_, pk.prior_, strict=True):
            np.testing.assert_array_equal(got, wanted)
        assert again._model.reference.n_samples == 2000
    assert pk.provenance(frame)["sampled"].any()


def wrong(values, arrays, **changes):
    """A state of which something is changed, as of a file from a stranger."""
    values, arrays = dict(values), dict(arrays)
    for name, value in changes.items():
        (arrays if name in arrays else values)[name] = value
    return State(values, arrays)


def test_totals_that_no_fit_makes_are_refused(frame):
    pk = ProximityKernel(max_references=60).fit(frame)
    state = pack_model(pk._model)
    totals = state.arrays["totals"]
    unpack_model(wrong(state.values, state.arrays))
    for changes in (
        {"totals": totals[:-1]},
        {"totals": -totals},
        {"totals": np.zeros_like(totals)},
        {"totals": totals.astype(float)},
        {"totals": totals * 1000},
        {"totals": np.r_[[np.iinfo(np.int64).max] * 2, totals[2:]]},  # wrap to -2
        {"n_samples": 5},
        {"n_samples": -1},
        {"n_samples": 1.5},
        {"unit": 0},
        {"unit": "many"},
    ):
        with pytest.raises(ValueError, match=r"total|count|rows"):
            unpack_model(wrong(state.values, state.arrays, **changes))


def test_a_row_that_observes_nothing_rests_on_all_rows(frame):
    pk = ProximityKernel(max_references=10).fit(frame)
    cells = pk.provenance(frame[:1].assign(**dict.fromkeys(frame.columns)))
    assert set(cells["level"]) == {"prior"}
    assert not cells["sampled"].any()
    assert cells["support"].tolist() == frame.notna().sum().tolist()


def test_a_part_that_lost_rows_makes_the_whole_a_sample(frame):
    """Also where what is merged with it holds no other row than those kept."""
    binned = binned_of(ProximityKernel(4, missingness="ignorable").fit(frame))
    large = summarize_rows(frame, binned, 5)
    assert large.sampled
    assert len(large.rows) == 40
    kept = set(map(bytes, large.rows))
    codes = binned.code(frame, 1)
    there = [bytes(row) in kept for row in codes.rows[codes.inverse]]
    small = summarize_rows(frame[there], binned, 5)
    assert not small.sampled
    for merged in (merge_rows(large, small), merge_rows(small, large)):
        assert merged.sampled
        np.testing.assert_array_equal(merged.rows, large.rows)
        np.testing.assert_array_equal(merged.counts, 2 * large.counts)
        assert merged.n_samples == 2000 + sum(there)


def binned_of(pk):
    model = pk._model
    return Binned(model.types, model.categorical_features, model.bins, model.typical)


def test_what_is_absent_at_random_stays_so_in_a_sample(frame):
    """A row that stands for many is one row to a test of chance."""
    for most in (10, 30, 60, 1000):
        pk = ProximityKernel(max_references=most).fit(frame)
        assert not any(absence.informative for absence in pk.missingness_), most
    exact = ProximityKernel().fit(frame)
    kept = ProximityKernel(max_references=1000).fit(
        frame
    )  # eight times as many are all
    assert kept.missingness_ == exact.missingness_


def test_a_panel_is_found_in_a_sample():
    table = mixed_table(20_000, 8, 0.25, seed=1)
    lost = (table["col0"] > 0) & (np.random.default_rng(0).random(20_000) < 0.5)
    table.loc[lost, ["col3", "col4", "col6"]] = np.nan
    pk = ProximityKernel(max_references=1000).fit(table)
    assert pk._model.reference.unit > 1
    found = [j for j, absence in enumerate(pk.missingness_) if absence.informative]
    assert found == [3, 4, 6]


def test_gaps_of_a_sample_are_filled_in_from_what_rows_stand_for(frame):
    """Where gaps are informative, as a model that takes them for unknown does."""
    options = {"max_references": 100, "matching": "graded", "n_bins": 4}
    told = ProximityKernel(missingness="informative", **options).fit(frame)
    wanted = ProximityKernel(missingness="ignorable", **options).fit(frame)
    nothing = frame[:1].assign(**dict.fromkeys(frame.columns))
    for column in ("col0", "col1"):
        got = told.impute(nothing)[column].tolist()
        assert got == pytest.approx(wanted.impute(nothing)[column].tolist())
    assert told._model.reference.unit == wanted._model.reference.unit > 1
    np.testing.assert_allclose(
        told.impute(frame[:50])["col1"], wanted.impute(frame[:50])["col1"]
    )
