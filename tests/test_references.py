"""`max_references`: a sample of the rows that no cut or order changes."""

import pickle
from dataclasses import replace

import numpy as np
import oracle
import pytest
from hypothesis import given
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
from proximity_kernel._loops import hash_rows
from proximity_kernel._rows import merge_rows, summarize_rows
from proximity_kernel._survey import Binned

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


def sampled_oracle(frame, n_bins, most, seed):
    """The oracle's reference of which only some rows hold codes to be shared."""
    reference = oracle.fit(oracle.read_columns(frame), n_bins)
    lowest = {}
    for i, codes in enumerate(reference.codes):
        plain_codes = tuple(255 if c == oracle.MISSING else c for c in codes)
        lowest.setdefault((hash_row(plain_codes, seed), plain_codes), set()).add(i)
    kept = set().union(*(lowest[key] for key in sorted(lowest)[:most]))
    holders = [{c: rows & kept for c, rows in own.items()} for own in reference.holders]
    return replace(reference, holders=holders), len(lowest) > most


@given(
    drawn=tables(),
    chosen=parameters(),
    matching=st.sampled_from(["graded", "cascade"]),
    most=st.integers(1, 15),
    seed=st.integers(0, WORD),
)
def test_equals_the_oracle_on_the_rows_with_the_lowest_hashes(
    drawn, chosen, matching, most, seed
):
    frame, new = drawn
    chosen = {**chosen, "matching": matching}
    pk = fitted(plain(**chosen, max_references=most, random_state=seed), frame)
    reference, sampled = sampled_oracle(frame, chosen["n_bins"], most, seed)
    for table in (frame, new):
        how = oracle.read_columns(table), reference, matching, chosen["min_support"]
        assert_close(pk.transform(table), oracle.represent(*how))
        cells = pk.provenance(table)
        wanted = [(*cell, sampled and cell[2] != "prior") for cell in
                  sorted(oracle.provenance(*how))]  # fmt: skip
        assert sorted(cells.tolist()) == wanted


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
    counts = dict(zip(map(bytes, exact._model.reference.bitmaps.rows),
                      exact._model.reference.bitmaps.counts, strict=True))  # fmt: skip
    maps = kept._model.reference.bitmaps
    assert maps.n_samples == maps.counts.sum() < 2000
    for row, count in zip(map(bytes, maps.rows), maps.counts, strict=True):
        assert counts[row] == count


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


def test_a_row_that_observes_nothing_rests_on_all_rows(frame):
    pk = ProximityKernel(max_references=10).fit(frame)
    cells = pk.provenance(frame[:1].assign(**dict.fromkeys(frame.columns)))
    assert set(cells["level"]) == {"prior"}
    assert not cells["sampled"].any()
    assert cells["support"].tolist() == frame.notna().sum().tolist()


def test_a_part_that_lost_rows_makes_the_whole_a_sample(frame):
    """Also where what is merged with it holds no other row than those kept."""
    pk = ProximityKernel(4, max_references=5, missingness="ignorable")
    kept = pk.fit(frame)._model.reference.bitmaps
    codes = pk._model.code(frame, 1)
    of_kept = np.isin(codes.inverse, [
        k for k, row in enumerate(map(bytes, codes.rows))
        if row in set(map(bytes, kept.rows))
    ])  # fmt: skip
    state = [summarize_rows(part, binned_of(pk), 5) for part in (frame, frame[of_kept])]
    for merged in (merge_rows(*state), merge_rows(*state[::-1])):
        assert merged.sampled
        np.testing.assert_array_equal(merged.rows, kept.rows)
        np.testing.assert_array_equal(merged.counts, 2 * kept.counts)
        assert merged.n_samples == 2000 + of_kept.sum()


def binned_of(pk):
    model = pk._model
    return Binned(model.types, model.categorical_features, model.bins, model.typical)
