"""The estimator: what it learns, what it answers, on tables worked by hand."""

import numpy as np
import oracle
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from strategies import (
    GRADES,
    a_row,
    assert_close,
    assert_same_bits,
    dense,
    entries,
    mixed_table,
    plain,
)

from proximity_kernel import ProximityKernel
from proximity_kernel import _row_summary as row_summary

# Worked by hand


def test_intersection_by_hand(patients):
    pk = plain(matching="cascade").fit(patients)
    z = dense(pk.transform(patients))
    assert_close(z[5], [1, 0, 1, 0, 2 / 3, 1 / 3, 0])
    assert entries(pk.provenance(patients)) == [(5, 2, "intersection", 2, 3)]
    k = pk.kernel(patients)
    assert_close(k[5], [8 / 9, 8 / 9, 7 / 9, 4 / 9, 0, 23 / 27])
    assert (np.diag(k)[:5] == 1).all()


def test_union_by_hand(patients):
    pk = plain(matching="cascade").fit(patients)
    new = a_row("s", "q", None)
    assert_close(pk.transform(new), [[0, 1, 1, 0, 1 / 2, 1 / 4, 1 / 4]])
    assert entries(pk.provenance(new)) == [(0, 2, "union", 2, 4)]


def test_prior_by_hand(patients):
    pk = plain(matching="cascade").fit(patients)
    new = pd.concat([a_row("?", "?", None), a_row(None, None, None)])
    assert_close(
        pk.transform(new),
        [
            [0, 0, 0, 0, 2 / 5, 2 / 5, 1 / 5],
            [5 / 6, 1 / 6, 2 / 3, 1 / 3, 2 / 5, 2 / 5, 1 / 5],
        ],
    )
    assert entries(pk.provenance(new)) == [
        (0, 2, "prior", 2, 5),
        (1, 0, "prior", 0, 6),
        (1, 1, "prior", 0, 6),
        (1, 2, "prior", 0, 5),
    ]


def test_an_unknown_category_counts_as_observed(patients):
    pk = plain(matching="cascade").fit(patients)
    new = a_row("p", "?", None)
    # Nobody shares both codes, so the rows that share "p" answer as a union.
    assert_close(pk.transform(new), [[1, 0, 0, 0, 1 / 2, 1 / 2, 0]])
    assert entries(pk.provenance(new)) == [(0, 2, "union", 2, 4)]
    np.testing.assert_allclose(pk.kernel(new), (1 + 1 / 4 + 1 / 4) / 3, rtol=1e-6)


def test_rows_that_do_not_observe_the_feature_do_not_answer():
    """Twenty equal rows with the same hole say nothing about it."""
    frame = pd.DataFrame(
        {"a": ["p"] * 21 + ["r"], "b": [None] * 20 + ["x", "y"], "c": ["u"] * 22}
    )
    cascade = plain(matching="cascade").fit(frame)
    assert_close(dense(cascade.transform(frame))[0], [1, 0, 1, 0, 1])
    assert entries(cascade.provenance(frame))[19] == (19, 1, "intersection", 2, 1)
    pairwise = plain().fit(frame)
    assert entries(pairwise.provenance(frame))[19][3:] == (2, 2)


# The pairwise rule, worked by hand


@pytest.fixture
def twins():
    """Two columns of which each tells the other, and one that tells nothing."""
    rows = [("a", "x", "k"), ("b", "y", "k"), ("a", "x", "m"), ("b", "y", "m")] * 8
    return pd.DataFrame(rows, columns=list("tuv"))


def test_evidence_by_hand(twins):
    """Of 32 rows 16 are "x", all of them "a": n = N = 16, q = 1/2, s = 1.

    That is not yet enough to decide: 16 log 2 is 11.1.
    """
    pk = plain(dtype=np.float64).fit(twins)
    matcher = pk.model_.matcher
    assert matcher.smoothing == 1
    weight = matcher.weight_table[0, 1]
    assert 1 < weight < 1.5
    new = a_row(None, "x", None, names="tuv")
    # (16 + 1/2) / ((16 + 1) / 2) for "a" and (0 + 1/2) / ((16 + 1) / 2) for "b".
    odds = (16.5 / 0.5) ** weight
    wanted = [odds / (1 + odds), 1 / (1 + odds), 1, 0, 1 / 2, 1 / 2]
    np.testing.assert_allclose(dense(pk.transform(new))[0], wanted, rtol=1e-12)
    cells = pk.provenance(new)
    assert entries(cells) == [(0, 0, "evidence", 1, 32), (0, 2, "prior", 1, 32)]
    assert cells["columns"].tolist() == [[1, -1, -1], [-1, -1, -1]]
    moved = odds / (1 + odds) - 1 / 2
    np.testing.assert_allclose(cells["moved"], [[moved, 0, 0], [0, 0, 0]], rtol=1e-12)
    np.testing.assert_allclose(cells["certainty"], [odds / (1 + odds), 1 / 2])


def test_an_unknown_category_gives_no_evidence(twins):
    pk = plain(dtype=np.float64).fit(twins)
    new = pd.concat(
        [a_row(None, "?", None, names="tuv"), a_row(*[None] * 3, names="tuv")]
    )
    z = dense(pk.transform(new))
    np.testing.assert_allclose(z[:, :2], 1 / 2, rtol=1e-12)
    np.testing.assert_allclose(z[0, 2:4], 0)
    assert entries(pk.provenance(new))[:2] == [
        (0, 0, "prior", 1, 32),
        (0, 2, "prior", 1, 32),
    ]


def test_columns_that_tell_nothing_leave_the_prior():
    """Where every label goes with every other equally often, nothing is learnt.

    The weight is close to the least common one, and all evidence is 0.
    """
    rows = [(t, v) for t in "abcc" for v in "km"] * 5
    pk = plain(dtype=np.float64).fit(pd.DataFrame(rows, columns=["t", "v"]))
    assert pk.model_.matcher.weights == pytest.approx([0.05, 0.05], abs=0.001)
    new = pd.DataFrame({"t": [None, None], "v": ["k", None]}, dtype="str")
    z = dense(pk.transform(new))[:, :3]
    np.testing.assert_allclose(z, [pk.prior_[0]] * 2, rtol=1e-12)
    assert pk.provenance(new)["level"].tolist() == ["prior"] * 3


def test_numbers_by_hand():
    fit_on = np.array([[10.0], [0.0], [2.0], [1.0], [np.nan]])
    pk = plain(n_bins=3).fit(fit_on)
    assert pk.bin_centers_[0].tolist() == [0.0, 1.5, 10.0]
    np.testing.assert_allclose(pk.prior_[0], [1 / 4, 1 / 2, 1 / 4], rtol=1e-7)
    values = [-1e300, 0.0, 0.75, 0.76, 5.75, 5.76, 1e300, np.nan]
    wanted = [*np.eye(3)[[0, 0, 0, 1, 1, 2, 2]].tolist(), [1 / 4, 1 / 2, 1 / 4]]
    assert_close(pk.transform(np.array(values)[:, None]), wanted)


def test_values_near_the_ends_of_float64():
    low, high = -1.7e308, 1.7e308
    pk = plain(n_bins=3).fit([[low], [0.0], [high], [high], [high]])
    assert pk.bin_centers_[0].tolist() == [low, high]
    pk = plain(n_bins=3).fit([[low], [high]])  # their gap is no float64
    assert pk.bin_centers_[0].tolist() == [low, 0, high]
    pk = plain(n_bins=2).fit([[1e308], [1.6e308]])
    assert_close(pk.transform([[1.29e308], [1.31e308]]), [[1, 0], [0, 1]])


def test_neighbouring_floats_lie_in_their_own_cells():
    low = 1 + 2.0**-52
    high = np.nextafter(low, 2)  # their midpoint rounds up to it
    pk = plain(n_bins=2).fit([[low], [high]])
    assert_close(pk.transform([[low], [high]]), [[1, 0], [0, 1]])


def test_centers_of_single_precision_are_double():
    values = np.array([0.1, 0.2, 0.4, 0.9], dtype=np.float32)
    pk = plain(n_bins=3).fit(values[:, None])
    wanted = np.percentile(values.astype(float), [0, 50, 100])
    assert pk.bin_centers_[0].dtype == np.float64
    assert pk.bin_centers_[0].tolist() == wanted.tolist()


def test_kernel_divides_by_features_not_bins():
    table = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 9.0]])
    k = plain(n_bins=2).fit(table).kernel(table)
    assert k.tolist() == [[1, 0.75], [0.75, 1]]


# What is learned


def test_attributes():
    frame = pd.DataFrame(
        {
            "age": [1, 2, 3, 4, 5],
            "flag": pd.array([True, None, False, True, True], dtype="boolean"),
            "grade": pd.Series(["low", "high", None, "high", "top"], dtype=GRADES),
            "city": ["y", "x", None, "x", "x"],
            "kind": pd.Categorical(list("nnnmm"), categories=list("zmn")),
            "flat": [7.5] * 5,
        }
    )
    pk = plain(n_bins=3).fit(frame)
    assert pk.n_features_in_ == 6
    assert pk.feature_names_in_.tolist() == list(frame.columns)
    assert isinstance(pk.n_bins_, np.ndarray)
    assert np.issubdtype(pk.n_bins_.dtype, np.integer)
    assert pk.n_bins_.tolist() == [3, 2, 3, 2, 2, 1]
    assert isinstance(pk.bin_centers_, list)
    centers = [None if c is None else c.tolist() for c in pk.bin_centers_]
    # The median of False, True, True, True is True: merged with the maximum.
    assert centers == [[1, 3, 5], [0, 1], [0, 2, 3], None, None, [7.5]]
    labels = [None if c is None else list(c) for c in pk.categories_]
    assert labels == [None, None, None, ["x", "y"], ["m", "n"], None]
    prior = [p.tolist() for p in pk.prior_]
    np.testing.assert_allclose(prior[0], [2 / 5, 2 / 5, 1 / 5], rtol=1e-7)
    np.testing.assert_allclose(prior[1], [1 / 4, 3 / 4], rtol=1e-7)
    np.testing.assert_allclose(prior[2], [1 / 4, 1 / 2, 1 / 4], rtol=1e-7)
    np.testing.assert_allclose(prior[3], [3 / 4, 1 / 4], rtol=1e-7)
    np.testing.assert_allclose(prior[4], [2 / 5, 3 / 5], rtol=1e-7)
    assert prior[5] == [1.0]


def test_no_feature_names_without_names():
    pk = plain().fit([[1.0, 2.0], [3.0, 4.0]])
    assert not hasattr(pk, "feature_names_in_")
    assert pk.n_features_in_ == 2


def test_n_bins_of_categorical_features_is_ignored():
    frame = pd.DataFrame({"a": list("pqrst"), "b": [1.0, 2, 3, 4, 5]})
    pk = plain(n_bins=[2, 3]).fit(frame)
    assert pk.n_bins_.tolist() == [5, 3]
    assert plain(n_bins=np.array([2, 3])).fit(frame).n_bins_[1] == 3


def test_merged_centers():
    frame = pd.DataFrame({"a": [0, 0, 0, 0, 0, 1.0], "b": [4.0] * 6})
    pk = plain(n_bins=4).fit(frame)
    assert pk.n_bins_.tolist() == [2, 1]
    assert pk.bin_centers_[0].tolist() == [0, 1]


# Kinds


@pytest.mark.parametrize("chosen", [[1], ["code"], [False, True], np.array([1])])
def test_categorical_features(chosen):
    frame = pd.DataFrame({"age": [1.0, 2, 3, 4], "code": [30.0, 7, np.nan, 30]})
    pk = plain(n_bins=2, categorical_features=chosen).fit(frame)
    assert pk.bin_centers_[1] is None
    assert list(pk.categories_[1]) == [7, 30]
    assert pk.categories_[0] is None
    reference = oracle.fit(oracle.read_columns(frame, ("code",)), 2)
    new = pd.DataFrame({"age": [1.0, 4, 4], "code": [7.0, 8, np.nan]})
    for table in (frame, new):
        columns = oracle.read_columns(table, ("code",))
        assert_close(pk.transform(table), oracle.represent(columns, reference))


def test_categorical_features_of_an_array():
    table = np.array([[1.0, 30], [2, 7], [3, np.nan], [4, 30]])
    pk = plain(n_bins=2, categorical_features=[1], matching="cascade").fit(table)
    assert list(pk.categories_[1]) == [7, 30]
    assert_close(
        pk.transform(table),
        [[1, 0, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 0, 1]],
    )


def test_booleans_are_numbers():
    frame = pd.DataFrame({"flag": [True, False, True]})
    pk = plain(n_bins=3).fit(frame)
    assert pk.bin_centers_[0].tolist() == [0, 1]
    assert_close(pk.transform(frame), [[0, 1], [1, 0], [0, 1]])


@pytest.mark.parametrize("hole", [None, np.nan, pd.NA, pd.NaT])
def test_every_mark_of_a_missing_label(hole):
    frame = pd.DataFrame({"a": pd.Series(["x", hole, "y"], dtype=object)})
    pk = plain().fit(frame)
    assert list(pk.categories_[0]) == ["x", "y"]
    assert_close(pk.transform(frame), [[1, 0], [1 / 2, 1 / 2], [0, 1]])


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "double[pyarrow]"])
def test_every_mark_of_a_missing_number(dtype):
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype=dtype)})
    pk = plain(n_bins=2).fit(frame)
    assert pk.bin_centers_[0].tolist() == [1, 3]
    assert_close(pk.transform(frame), [[1, 0], [1 / 2, 1 / 2], [0, 1]])


@pytest.mark.parametrize("dtype", ["str", "string", object, "category"])
def test_every_dtype_of_labels(dtype, patients):
    wanted = plain().fit(patients)
    table = patients.astype(dtype).where(patients.notna(), None)
    got = plain().fit(table)
    assert [list(c) for c in got.categories_] == [list("ps"), list("qr"), list("xyz")]
    assert_same_bits(got.transform(table), wanted.transform(patients))
    assert_same_bits(got.transform(patients), wanted.transform(patients))


def test_unused_categories_have_no_bin():
    dtype = pd.CategoricalDtype(["c", "b", "a"])
    frame = pd.DataFrame({"kind": pd.Series(["c", "a", None], dtype=dtype)})
    pk = plain().fit(frame)
    assert list(pk.categories_[0]) == ["a", "c"]
    new = pd.DataFrame({"kind": pd.Series(["b", "c"], dtype=dtype)})
    assert_close(pk.transform(new), [[0, 0], [0, 1]])


@pytest.mark.parametrize("package", ["polars", "pyarrow"])
def test_other_frames_give_the_same_answer(package):
    frame = mixed_table(80, 6, 0.3, seed=9)
    new = mixed_table(20, 6, 0.3, seed=10)
    convert = {"polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}[package]
    wanted = plain().fit(frame)
    got = plain().fit(convert(frame))
    assert got.feature_names_in_.tolist() == list(frame.columns)
    assert got.n_bins_.tolist() == wanted.n_bins_.tolist()
    for table in (frame, new):
        assert_same_bits(got.transform(convert(table)), wanted.transform(table))
        assert_same_bits(got.kernel(convert(table)), wanted.kernel(table))
        left = entries(got.provenance(convert(table)))
        assert left == entries(wanted.provenance(table))


def test_arrays_lists_and_frames_of_numbers_agree():
    rng = np.random.default_rng(4)
    table = rng.integers(6, size=(50, 4)).astype(float)
    table[rng.random(table.shape) < 0.3] = np.nan
    wanted = plain().fit_transform(table)
    assert_same_bits(plain().fit_transform(pd.DataFrame(table)), wanted)
    assert_same_bits(plain().fit_transform(table.tolist()), wanted)
    named = pd.DataFrame(table, columns=list("abcd"))
    assert_same_bits(plain().fit_transform(named), wanted)


def test_no_random_state_samples_other_rows_each_time(monkeypatch):
    monkeypatch.setattr(row_summary, "SAMPLE", 50)
    table = np.random.default_rng(0).normal(size=(2000, 3))

    def weights(**options):
        return ProximityKernel(**options).fit(table).model_.matcher.weights.tolist()

    assert weights() == weights() == weights(random_state=0)
    assert weights(random_state=None) != weights(random_state=None)
