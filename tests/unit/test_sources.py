"""The pairwise rule on tables with many codes: few sources, and the frequent codes."""

import warnings
from math import log

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    adopt_weights,
    assert_same_bits,
    assert_same_provenance,
    dense,
    fitted,
    mixed_table,
    plain,
    tables,
)

from proximity_kernel import ProximityKernel
from proximity_kernel import _pairwise as kept_pairs
from proximity_kernel import _row_summary as row_summary


@pytest.fixture
def always(monkeypatch):
    """Take every table for one with many codes."""
    monkeypatch.setattr(row_summary, "MOST_CODES", 0)


def estimate_by_hand(pk, row, j):
    """Estimate a cell from the counts of a model, with loops."""
    model = pk.model_
    counts, q = model.matcher.counts, model.prior
    first = np.cumsum(counts.n_bins) - counts.n_bins
    weights = model.matcher.weight_table
    shares = []
    for b in range(counts.n_bins[j]):
        total = 0.0
        for s, i in enumerate(counts.sources[j].tolist()):
            known = counts.kept[i].tolist()
            own = counts.kept[j].tolist()
            if row[i] < 0 or row[i] not in known or b not in own:
                continue
            seen = counts.marginals[first[i] : first[i] + counts.n_bins[i]]
            usual = seen[row[i]] / seen.sum()
            if not usual:
                continue
            together = counts.pairs[j, s, known.index(row[i]), own.index(b)]
            with_bin = counts.pairs[j, s, :, own.index(b)].sum()
            smoothing = model.matcher.smoothing
            told = log(
                (together + smoothing * usual) / ((with_bin + smoothing) * usual)
            )
            total += weights[j, i] * told
        shares.append(q[j][b] * np.exp(total))
    return np.array(shares) / sum(shares)


# Where all sources and codes are affordable it is the rule itself


@given(tables(), st.sampled_from(["ignorable", "informative"]))
def test_with_all_sources_and_codes_it_equals_the_oracle(drawn, missingness):
    """Also with one column, one row, columns of nothing, and unknown categories."""
    frame, new = drawn
    pk = ProximityKernel(3, missingness=missingness, dtype=np.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_summary, "MOST_CODES", 0)
        fitted(pk, frame)
    columns = oracle.read_columns(frame)
    gaps = oracle.find_gaps(columns) if missingness == "informative" else ()
    reference = oracle.fit(columns, 3, informative=gaps)
    adopt_weights(pk.model_.matcher, reference.pairwise)
    for table in (frame, new):
        columns = oracle.read_columns(table)
        wanted = oracle.represent(columns, reference)
        np.testing.assert_allclose(
            pk.transform(table).toarray(), wanted, rtol=1e-9, atol=1e-12
        )
        assert_same_provenance(
            pk.provenance(table), oracle.provenance(columns, reference)
        )


@pytest.mark.parametrize("n_bins", [4, "auto", 30])
def test_with_all_sources_and_codes_it_equals_the_dense_way(n_bins, monkeypatch):
    frame, new = (mixed_table(n, 8, 0.2, seed=n, noise=0.2) for n in (400, 50))
    wanted = ProximityKernel(n_bins, dtype=np.float64).fit(frame)
    monkeypatch.setattr(row_summary, "MOST_CODES", 0)
    got = ProximityKernel(n_bins, dtype=np.float64).fit(frame)
    assert wanted.model_.matcher.counts.sources is None
    assert got.model_.matcher.counts.sources.shape == (8, 7)
    assert got.model_.matcher.smoothing == wanted.model_.matcher.smoothing
    left, right = (pk.model_.matcher.weights for pk in (got, wanted))
    np.testing.assert_array_equal(left, right)
    for table in (frame, new):
        left, right = (dense(pk.transform(table)) for pk in (got, wanted))
        np.testing.assert_allclose(left, right, rtol=1e-12)
        left, right = got.provenance(table), wanted.provenance(table)
        assert left["columns"].tolist() == right["columns"].tolist()
        np.testing.assert_allclose(left["moved"], right["moved"], rtol=1e-9)


# Where they are not


@pytest.mark.usefixtures("always")
def test_few_sources_and_codes_by_hand(monkeypatch):
    monkeypatch.setattr(kept_pairs, "_MOST_EVIDENCE", 1)  # four of each
    rng = np.random.default_rng(0)
    table = rng.normal(size=(500, 9)).cumsum(axis=1)
    table[rng.random(table.shape) < 0.2] = np.nan
    pk = plain(9, dtype=np.float64).fit(table)
    counts = pk.model_.matcher.counts
    assert counts.sources.shape == (9, 4)
    assert counts.kept.shape == (9, 4)
    assert (np.diff(counts.sources, axis=1) > 0).all()
    assert (counts.sources != np.arange(9)[:, None]).all()
    for j, codes in enumerate(counts.kept):
        frequent = np.argsort(-pk.prior_[j], kind="stable")[:4]
        assert codes.tolist() == sorted(frequent)
    assert set(pk.model_.matcher.weights) != {0.0}
    codes = pk.model_.code(table[:60], 1)
    found = pk.model_.matcher.estimate(codes, 1)
    rows = np.where(codes.bins == 255, -1, codes.bins.astype(int)).tolist()
    for r, row in enumerate(rows):
        for cell in range(found.row_start[r], found.row_start[r + 1]):
            got = found.probabilities[found.start[cell] : found.start[cell + 1]]
            wanted = estimate_by_hand(pk, row, int(found.feature[cell]))
            np.testing.assert_allclose(got, wanted, rtol=1e-9)
            assert got.sum() == pytest.approx(1)


@pytest.mark.usefixtures("always")
def test_the_sources_are_those_that_tell_most(monkeypatch):
    """Every column has a twin half the table away, and forty that tell nothing."""
    monkeypatch.setattr(kept_pairs, "_MOST_EVIDENCE", 1)
    rng = np.random.default_rng(1)
    first = rng.normal(size=(300, 21))
    twins = np.hstack([first, first**2])  # no straight line shows the second half
    twins[rng.random(twins.shape) < 0.1] = np.nan
    pk = plain(4).fit(twins)
    for j, sources in enumerate(pk.model_.matcher.counts.sources):
        assert (j + 21) % 42 in sources


def test_many_categories_in_several_columns():
    """300 in each of eight columns, of which pairs of columns say the same."""
    rng = np.random.default_rng(2)
    hidden = rng.zipf(1.3, size=(4000, 4)) % 300
    names = np.array([f"l{k:03d}" for k in range(300)], dtype=object)
    table = names[np.repeat(hidden, 2, axis=1)]
    table[rng.random(table.shape) < 0.1] = None
    frame = pd.DataFrame(table, columns=list("abcdefgh"), dtype="str")
    pk = plain(max_categories=400, dtype=np.float64).fit(frame)
    assert pk.n_bins_.min() > 200
    assert pk.model_.matcher.counts.sources is not None
    z = pk.transform(frame)
    np.testing.assert_allclose(z.sum(axis=1), 8, rtol=1e-9)
    labels = list(pk.categories_[0])
    for label in names[1:4]:
        alone = (frame["a"].isna() & (frame["b"] == label)).to_numpy()
        assert alone.sum() > 5
        shares = dense(z[alone])[:, : pk.n_bins_[0]]
        at = labels.index(label)
        assert shares[:, at].mean() > 2 * pk.prior_[0][at]
    unseen = pd.DataFrame({name: ["never"] for name in "abcdefgh"}, dtype="str")
    unseen.loc[0, "a"] = None
    got = dense(pk.transform(unseen))[0, : pk.n_bins_[0]]
    np.testing.assert_allclose(got, pk.prior_[0])


@pytest.mark.parametrize("d", [1, 2])
def test_65_000_bins(d):
    table = np.random.default_rng(3).normal(size=(66_000, d))
    table[:50, 0] = np.nan
    pk = plain(65_000).fit(table)
    assert pk.n_bins_.tolist() == [65_000] * d
    z = pk.transform(table[:60])
    np.testing.assert_allclose(z.sum(axis=1), d, rtol=1e-5)
    assert pk.provenance(table[:60])["level"].tolist() == ["prior"] * 50


def test_more_than_2048_columns_with_nothing_observed():
    """Nothing to learn from is no error, in a table of any width."""
    for d in (3, 2100):
        with pytest.warns(UserWarning, match="No value is observed"):
            z = ProximityKernel().fit_transform(np.full((3, d), np.nan))
        assert z.shape == (3, 0)


def test_a_wide_table_answers_alike_however_it_is_asked():
    rng = np.random.default_rng(4)
    table = rng.normal(size=(60, 700)).cumsum(axis=1)
    table[rng.random(table.shape) < 0.1] = np.nan
    table[:, -1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        pk = plain(n_jobs=1)
        z = pk.fit_transform(table)
        again = plain(n_jobs=3).fit(table)
    assert pk.model_.matcher.counts.sources is not None
    assert_same_bits(pk.transform(table), z)
    assert_same_bits(again.transform(table), z)
    assert_same_bits(pk.transform(table[7:8]), z[7:8])
    np.testing.assert_allclose(z.sum(axis=1), 699, rtol=1e-5)
    cells = pk.provenance(table[:3])
    assert cells["level"][cells["feature"] == 699].tolist() == ["prior"] * 3
    assert np.isin(cells["level"], ["evidence", "determined"]).mean() > 0.5
