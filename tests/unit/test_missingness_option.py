"""The option `missingness`: missing cells as a bin of their own, or estimated."""

import pickle
import warnings

import numpy as np
import oracle
import oracle_missingness
import pandas as pd
import pytest
from hypothesis import given
from sklearn.base import clone
from strategies import (
    MATCHINGS,
    adopt_weights,
    assert_close,
    assert_same_bits,
    assert_same_provenance,
    entries,
    fitted,
    mixed_table,
    parameters,
    raises_naming,
    tables,
)

from proximity_kernel import ProximityKernel
from proximity_kernel import _missingness as module
from proximity_kernel._coded import CodedTable
from proximity_kernel._missingness import measure_overlaps
from proximity_kernel.kernel import bin_names


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
    return pk, [cells.informative for cells in pk.missingness_]


def same_decisions(pk, frame):
    """Compare decisions with the truth in loops."""
    is_missing = pd.DataFrame(frame).isna().to_numpy().tolist()
    wanted = oracle_missingness.overlaps(is_missing)
    for cells, overlap in zip(pk.missingness_, wanted, strict=True):
        if overlap is None:
            assert cells.overlap is None
        else:
            assert cells.overlap == pytest.approx(float(overlap), abs=1e-12)
    informative = [cells.informative for cells in pk.missingness_]
    assert informative == oracle_missingness.find_informative(is_missing)


# Informative, against the oracle


def same_as_oracle(pk, table, reference):
    if pk.matching == "pairwise":
        adopt_weights(pk.model_.matcher, reference.pairwise)
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
        "blood a", "blood missing", "blood missing_", "blood_ x", "blood_ y",
        "blood_ missing",
    ]  # fmt: skip


def test_two_resolutions_beside_it():
    """The bin "missing" belongs to no half: it counts in full."""
    table = with_panel(200)
    pk = ProximityKernel("auto", missingness="informative", dtype=np.float64)
    z = pk.fit_transform(table).toarray()
    names = pk.get_feature_names_out().tolist()
    assert len(names) == z.shape[1]
    gaps = z[:, [names.index(f"x{j} missing") for j in range(6)]]
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
    for cells, missing in zip(pk.missingness_, np.isnan(table).sum(0), strict=True):
        assert not cells.informative
        assert cells.missing == missing
        assert cells.reason.startswith("given: missingness='ignorable'; ")
    auto = ProximityKernel(4, missingness="auto").fit(table)
    for one, other in zip(pk.missingness_, auto.missingness_, strict=True):
        assert one.overlap == other.overlap
        assert one.reason.endswith(other.reason)


def test_auto_without_a_panel_is_ignorable_to_the_bit():
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
    assert row["x2 missing"] == row["x4 missing"] == 1
    assert row["x3 missing"] == 0
    assert [entry[1] for entry in entries(pk.provenance(new))] == [1, 5]
    assert sum(row[f"x1 {k}"] for k in bin_names(pk)[1]) == pytest.approx(1)
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


@given(tables(), parameters())
def test_auto_decides_as_the_oracle(drawn, chosen):
    frame, _ = drawn
    same_decisions(fitted(ProximityKernel(**chosen, missingness="auto"), frame), frame)


@pytest.mark.parametrize("matching", MATCHINGS)
@pytest.mark.parametrize("seed", range(5))
def test_auto_decides_as_the_oracle_in_larger_tables(seed, matching):
    rng = np.random.default_rng(seed)
    frame = mixed_table(300, 8, rng.uniform(0, 0.4), seed)
    for first in (0, 4):  # two panels, of which some cells are missing beside
        lost = rng.random(300) < rng.uniform(0.05, 0.5)
        frame.loc[lost, frame.columns[first : first + 3]] = None
    pk = ProximityKernel(matching=matching, missingness="auto").fit(frame)
    same_decisions(pk, frame)


def test_few_rows_decide_nothing():
    for both in range(1, 30):
        table = np.arange(2000.0).reshape(1000, 2) % 7
        table[:both] = np.nan
        table = np.column_stack([table, np.arange(1000.0)])
        assert decided(table)[1] == [both >= 12] * 2 + [False]


def test_none_is_found_where_cells_are_missing_at_random():
    """Six features with 5 to 40 % of the cells missing, in 100 tables."""
    for seed in range(100):
        rng, _, table = correlated(int(120 + 4 * seed), 6, seed)
        rates = rng.uniform(0.05, 0.4, 6)
        table[rng.random(table.shape) < rates] = np.nan
        pk, informative = decided(table)
        assert not any(informative)
        assert max(cells.overlap for cells in pk.missingness_) < 0.5


def test_panels_are_found():
    pk, informative = decided(with_panel())
    assert informative == [False, False, True, True, True, False]
    cells = pk.missingness_[2]
    assert cells.feature == "x2"
    assert cells.missing == np.isnan(with_panel()[:, 2]).sum()
    assert cells.reason == "missing together with 'x3' and 'x4' (overlap 0.81)"
    assert pk.missingness_[1].reason.startswith("not missing together with another (")


def test_a_panel_within_a_larger_one_is_found():
    """Who lacks column 1 lacks column 2 too; half of the rows lack column 2."""
    rng, _, table = correlated(400, 4, 0)
    lost = rng.random(400)
    table[lost < 0.1, 1], table[lost < 0.5, 2] = np.nan, np.nan
    assert np.corrcoef(np.isnan(table[:, 1]), np.isnan(table[:, 2]))[0, 1] < 0.4
    assert decided(table)[1] == [False, True, True, False]


@pytest.mark.parametrize("own", [False, True], ids=["MAR", "MNAR"])
def test_cells_that_depend_on_values_are_estimated(own):
    """Each missing cell depends on a value, its own or column 0's, but comes alone."""
    rng, _, table = correlated(800, 5, 3)
    by = table if own else np.repeat(table[:, :1], 5, axis=1)
    lost = rng.random(table.shape) < 0.6 / (1 + np.exp(-2 * by))
    lost[:, 0] = False
    table[lost] = np.nan
    pk, informative = decided(table)
    assert not any(informative)
    assert pk.missingness_[0].reason == "no cell is missing"


@pytest.mark.parametrize("matching", MATCHINGS)
@pytest.mark.parametrize("share", [0.3, 0.1])
def test_rows_with_nothing_observed_take_no_part(matching, share):
    rng, _, table = correlated(300, 5, 0)
    table[rng.random(table.shape) < 0.01] = np.nan
    table[rng.random(300) < share, 2:4] = np.nan
    blank = np.full((200, 5), np.nan)
    pk = ProximityKernel(matching=matching, missingness="auto")
    before = pk.fit(table).missingness_
    after = pk.fit(np.vstack([blank, table])).missingness_
    assert [cells.informative for cells in before] == [False, False, True, True, False]
    for one, other in zip(before, after, strict=True):
        assert other.overlap == one.overlap
        assert other.informative == one.informative
        assert other.missing == one.missing + 200


def test_the_order_of_the_rows_does_not_matter():
    table = with_panel(300)
    shuffled = table[np.random.default_rng(0).permutation(300)]
    assert decided(table)[0].missingness_ == decided(shuffled)[0].missingness_
    frame = pd.DataFrame(table, columns=list("abcdef"))
    names = [cells.feature for cells in decided(frame)[0].missingness_]
    assert names == list("abcdef")


@pytest.mark.parametrize("matching", MATCHINGS)
def test_batches_decide_alike(matching):
    table = with_panel(600)
    pk = ProximityKernel(missingness="auto", matching=matching)
    whole = pk.fit(table).missingness_
    for parts in (np.array_split(table, 7), np.array_split(table[::-1], 2)):
        assert pk.fit_batches(parts).missingness_ == whole


def test_equal_rows_count_as_often_as_they_occur():
    table = np.repeat(np.round(with_panel(200)), 3, axis=0)
    pk, _ = decided(table, n_bins=3)
    same_decisions(pk, table)
    codes = pk.model_.code(table, 1)
    distinct = codes.distinct(pk.n_bins_)
    assert len(distinct.bins) < 300
    at = np.arange(6)
    assert measure_overlaps(codes, at) == measure_overlaps(distinct, at)


def test_large_tables_are_decided_from_some_rows(monkeypatch):
    table = with_panel(6000)
    whole = decided(table)[1]
    assert whole == [False, False, True, True, True, False]
    for most in (1000, 2000):
        monkeypatch.setattr(module, "_MOST_ROWS", most)
        assert decided(table)[1] == whole
    for n, most in ((10, 10), (10, 20), (0, 5), (1000, 100), (12_345, 1000)):
        looked = module._mask_evenly(n, most)
        assert abs(looked.sum() - min(n, most)) <= 1
        if n > most:  # evenly spread: no step between two is much longer than usual
            assert np.diff(np.flatnonzero(looked)).max() <= 3 * n / most


def test_wide_tables():
    """Of many columns, each is compared with some others."""
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((100, 3000)) < 0.02, 255, 1).astype(np.uint8)
    panel = np.arange(0, 3000, 30)
    rows[np.ix_(rng.random(100) < 0.5, panel)] = 255
    codes = CodedTable(rows, np.ones(100, np.int64), np.arange(100))
    found = measure_overlaps(codes, np.arange(3000))
    together = [j for j, (_, others) in found.items() if others]
    assert set(together) <= set(panel.tolist())
    assert len(together) >= 90
    exact = oracle_missingness.overlap((rows == 255).tolist(), 0, 30)
    alone = measure_overlaps(codes, np.array([0, 30]))
    assert alone[0][0] == alone[30][0] == pytest.approx(float(exact))


# A mapping from columns to words


def test_a_mapping_decides_for_the_columns_that_it_names():
    frame = pd.DataFrame(with_panel(), columns=list("abcdef"))
    auto = ProximityKernel().fit(frame)
    words = {"c": "ignorable", 0: "informative", "b": "auto"}
    pk = ProximityKernel(missingness=words).fit(frame)
    informative = [cells.informative for cells in pk.missingness_]
    assert informative == [True, False, False, True, True, False]
    assert pk.missingness_[2].reason.startswith("given: missingness='ignorable'; ")
    assert pk.missingness_[3] == auto.missingness_[3]
    for word in ("ignorable", "informative", "auto"):
        one = ProximityKernel(missingness=word).fit(frame)
        each = ProximityKernel(missingness=dict.fromkeys(frame, word)).fit(frame)
        assert_same_bits(one.transform(frame), each.transform(frame))
        assert one.missingness_ == each.missingness_


@pytest.mark.parametrize("matching", MATCHINGS)
def test_columns_that_a_mapping_omits_have_the_default(matching):
    frame = pd.DataFrame(with_panel(), columns=list("abcdef"))
    default = ProximityKernel(matching=matching).fit(frame)
    empty = ProximityKernel(matching=matching, missingness={}).fit(frame)
    assert empty.missingness_ == default.missingness_
    reason = default.missingness_[3].reason
    assert reason.startswith("given: missingness='ignorable'") == (
        matching == "cascade"
    )


def test_a_mapping_survives_clone_batches_and_a_file(tmp_path):
    frame = pd.DataFrame(with_panel(), columns=list("abcdef"))
    pk = ProximityKernel(missingness={"a": "informative", "c": "ignorable"}).fit(frame)
    assert clone(pk).missingness == {"a": "informative", "c": "ignorable"}
    pk.save(tmp_path / "model")
    loaded = ProximityKernel.load(tmp_path / "model")
    batched = clone(pk).fit_batches([frame[:200], frame[200:]])
    for other in (loaded, batched):
        assert other.missingness == pk.missingness
        assert other.missingness_ == pk.missingness_
        assert_same_bits(other.transform(frame), pk.transform(frame))


def test_a_bad_mapping_is_an_error():
    frame = pd.DataFrame(with_panel(50), columns=["age", *"bcdef"])
    for words, parts in (
        ({"age": "perhaps"}, (r"missingness\['age'\]", "'perhaps'")),
        ({"agee": "auto"}, ("`missingness` names 'agee'", "'age'")),
        ({6: "auto"}, ("`missingness` names 6", "positions below 6")),
        ({0: "auto", "age": "auto"}, ("two values", "'age'")),
        (["auto"], ("missingness must be 'ignorable'", r"\['auto'\]")),
    ):
        with raises_naming(ValueError, *parts):
            ProximityKernel(missingness=words).fit(frame)


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
    informative = [cells.informative for cells in pk.missingness_]
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
    assert [cells.overlap for cells in pk.missingness_] == [0.0, 0.0]
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
