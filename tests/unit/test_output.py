"""What comes out: rare and empty columns, names, containers, provenance, norms."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import config_context
from strategies import (
    a_row,
    assert_close,
    assert_same_bits,
    dense,
    entries,
    fitted,
    mixed_table,
    plain,
    raises_naming,
)

# Many categories, and none


def test_rare_categories_share_a_bin():
    frame = pd.DataFrame({"blood": ["d", "d", "c", "b", "a", "d", "c", None, "e"]})
    pk = plain(max_categories=3).fit(frame)
    assert pk.n_bins_.tolist() == [3]
    names = pk.get_feature_names_out().tolist()
    assert names == ["blood c", "blood d", "blood infrequent"]
    np.testing.assert_allclose(pk.prior_[0], [2 / 8, 3 / 8, 3 / 8], rtol=1e-7)
    new = pd.DataFrame({"blood": ["a", "b", "c", "d", "e", "f"]})
    wanted = [[0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert_close(pk.transform(new), wanted)


def test_of_equally_rare_categories_the_first_is_kept():
    frame = pd.DataFrame({"blood": ["d", "d", "c", "c", "e", "b", "a"]})
    pk = plain(max_categories=4).fit(frame)
    names = pk.get_feature_names_out().tolist()
    assert names == ["blood a", "blood c", "blood d", "blood infrequent"]


def test_as_many_categories_as_allowed_share_nothing():
    frame = pd.DataFrame({"blood": list("edcba")})
    pk = plain(max_categories=5).fit(frame)
    assert pk.n_bins_.tolist() == [5]
    names = pk.get_feature_names_out().tolist()
    assert names == [f"blood {label}" for label in "abcde"]


def test_a_column_with_nothing_observed():
    frame = pd.DataFrame(
        {"age": [1.0, 2.0], "dose": [np.nan, np.nan], "city": ["x", None]}
    )
    pk = plain(n_bins=2)
    with pytest.warns(UserWarning, match="dose") as caught:
        pk.fit(frame)
    assert len(caught) == 1
    assert pk.n_bins_.tolist() == [2, 0, 1]
    assert len(pk.prior_[1]) == 0
    assert_close(pk.transform(frame), [[1, 0, 1], [0, 1, 1]])
    # d is two: the empty column is left out.
    assert pk.kernel(frame).tolist() == [[1, 0.5], [0.5, 1]]
    assert entries(pk.provenance(frame)) == [
        (0, 1, "prior", 2, 0),
        (1, 1, "prior", 1, 0),
        (1, 2, "prior", 1, 1),
    ]
    assert len(pk.get_feature_names_out()) == 3


@pytest.mark.parametrize(
    ("dtype", "values"),
    [("float64", [5.0, np.nan, -1.0]), ("str", ["a", None, "b"])],
)
def test_a_column_with_nothing_observed_at_fit_and_a_value_later(dtype, values):
    """It has no bin, so its value says nothing."""
    nothing = pd.Series([None, None], dtype=dtype)
    frame = pd.DataFrame({"age": [1.0, 2.0], "dose": nothing, "size": [0.0, 8.0]})
    pk = fitted(plain(n_bins=2, matching="cascade"), frame)
    new = pd.DataFrame(
        {
            "age": [1.0, 2.0, np.nan],
            "dose": pd.Series(values, dtype=dtype),
            "size": [0.0, 8.0, 9.0],
        }
    )
    assert_close(pk.transform(new), [[1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 0, 1]])
    assert pk.kernel(new).tolist() == [[1, 0, 0], [0, 1, 1], [0, 1, 1]]
    listed = [entry[:2] for entry in entries(pk.provenance(new))]
    assert listed == [(1, 1), (2, 0)]
    pk = fitted(plain(n_bins=2), frame)
    with_value, without = pk.transform(new), pk.transform(new.assign(dose=nothing[0]))
    assert_close(with_value, without.toarray())
    assert [entry[:2] for entry in entries(pk.provenance(new))] == listed


def test_a_table_with_nothing_observed_gives_no_nan():
    frame = pd.DataFrame({"age": [np.nan, np.nan]})
    pk = fitted(plain(), frame)
    assert pk.transform(frame).shape == (2, 0)
    assert pk.kernel(frame).tolist() == [[0, 0], [0, 0]]


def test_the_warning_names_a_column_of_an_array():
    with pytest.warns(UserWarning, match=r"\b(x?1)\b"):
        plain().fit(np.array([[1.0, np.nan], [2.0, np.nan]]))


# Names


def test_feature_names():
    frame = pd.DataFrame({"age": [1.0, 2.0, 9.0], "blood": ["b", None, "a"]})
    pk = plain(n_bins=3).fit(frame)
    names = pk.get_feature_names_out()
    assert isinstance(names, np.ndarray)
    assert names.dtype == object
    assert names.tolist() == [
        "age 1", "age 2-5", "age 6 or more", "blood a", "blood b",
    ]  # fmt: skip
    same = pk.get_feature_names_out(["age", "blood"])
    assert same.tolist() == names.tolist()
    with pytest.raises(ValueError, match="input_features"):
        pk.get_feature_names_out(["blood", "age"])


def test_feature_names_without_names():
    pk = plain(n_bins=2).fit(np.array([[1.0, 5.0], [2.0, 5.0]]))
    assert pk.get_feature_names_out().tolist() == ["x0 1", "x0 2", "x1 5"]
    names = pk.get_feature_names_out(["left", "right"])
    assert names.tolist() == ["left 1", "left 2", "right 5"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": ["1 0", "1 1"], "a 1": [0.0, 1.0]}),
        pd.DataFrame({"a": list("xxyyz") + ["infrequent"] * 3 + ["w"]}),
    ],
)
def test_feature_names_are_unique(frame):
    pk = plain(n_bins=2, max_categories=4).fit(frame)
    names = pk.get_feature_names_out()
    assert len(set(names)) == len(names) == pk.n_bins_.sum()


# Output


def test_representation_is_csr():
    frame = mixed_table(40, 4, 0.3, seed=1)
    pk = plain().fit(frame)
    z = pk.transform(frame)
    assert isinstance(z, sp.csr_matrix)
    assert z.shape == (40, pk.n_bins_.sum())
    assert z.dtype == np.float32
    assert z.has_canonical_format
    assert (z.data != 0).all()
    with config_context(sparse_interface="sparray"):
        array = pk.transform(frame)
        fresh = plain().fit_transform(frame)
    assert isinstance(array, sp.csr_array)
    assert isinstance(fresh, sp.csr_array)
    assert_same_bits(array, z)
    assert_same_bits(fresh, z)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse_output", [True, False])
def test_dtype(dtype, sparse_output):
    frame = mixed_table(40, 4, 0.3, seed=1)
    pk = plain(dtype=dtype, sparse_output=sparse_output).fit(frame)
    assert pk.transform(frame).dtype == dtype
    assert pk.fit_transform(frame).dtype == dtype
    assert pk.kernel(frame).dtype == dtype
    assert pk.kernel(frame, frame[:3]).dtype == dtype
    assert sp.issparse(pk.transform(frame)) == sparse_output


def test_set_output_pandas():
    frame = mixed_table(40, 3, 0.3, seed=1).set_index(np.arange(40) + 100)
    pk = plain(sparse_output=False).set_output(transform="pandas")
    z = pk.fit_transform(frame)
    assert isinstance(z, pd.DataFrame)
    assert list(z.columns) == list(pk.get_feature_names_out())
    assert z.index.equals(frame.index)
    array = plain(sparse_output=False).fit_transform(frame)
    assert_same_bits(z.to_numpy(), array)
    # The kernel is an array whatever the container of the representation.
    assert isinstance(pk.kernel(frame), np.ndarray)


def test_set_output_polars():
    frame = pl.from_pandas(mixed_table(40, 3, 0.3, seed=1))
    pk = plain(sparse_output=False).set_output(transform="polars")
    z = pk.fit_transform(frame)
    assert isinstance(z, pl.DataFrame)
    assert z.columns == list(pk.get_feature_names_out())
    array = plain(sparse_output=False).fit_transform(frame)
    np.testing.assert_array_equal(z.to_numpy(), array)
    assert isinstance(pk.kernel(frame), np.ndarray)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_refuses_sparse(container):
    frame = mixed_table(40, 3, 0.3, seed=1)
    pk = plain().set_output(transform=container).fit(frame)
    with raises_naming(ValueError, "sparse"):
        pk.transform(frame)
    # The kernel and the provenance need no container.
    assert isinstance(pk.kernel(frame), np.ndarray)
    assert len(pk.provenance(frame)) == frame.isna().sum().sum()


# Provenance, normalize, density


def test_provenance_of_a_complete_table_is_empty():
    pk = plain().fit([[1.0, 2.0], [3.0, 4.0]])
    got = pk.provenance([[1.0, 2.0]])
    assert isinstance(got, np.ndarray)
    assert got.shape == (0,)
    assert entries(got) == []


def test_provenance_is_in_row_major_order():
    frame = mixed_table(60, 5, 0.4, seed=2)
    pk = plain().fit(frame)
    got = pk.provenance(frame)
    rows, features = np.nonzero(frame.isna().to_numpy())
    assert got["row"].tolist() == rows.tolist()
    assert got["feature"].tolist() == features.tolist()
    for name in ("row", "feature", "observed", "support", "columns"):
        assert np.issubdtype(got[name].dtype, np.integer)
    observed = frame.notna().sum(axis=1).to_numpy()[rows]
    assert got["observed"].tolist() == observed.tolist()


def test_normalize_by_hand(patients):
    pk = plain(matching="cascade", normalize=True).fit(patients)
    new = pd.concat([patients, a_row("?", "?", "?"), a_row("p", "?", "x")])
    k = pk.kernel(new)
    np.testing.assert_allclose(np.diag(k), [1, 1, 1, 1, 1, 1, 0, 1], rtol=1e-6)
    # Row 5 has z.z = 23/9; the one with an unknown label has z.z = 2.
    np.testing.assert_allclose(k[0, 5], (8 / 9) / (23 / 27) ** 0.5, rtol=1e-6)
    np.testing.assert_allclose(k[0, 7], (2 / 3) / (2 / 3) ** 0.5, rtol=1e-6)
    assert not k[6].any()
    z = dense(pk.transform(new))
    np.testing.assert_allclose((z**2).sum(axis=1)[:6], 3, rtol=1e-6)
    assert not z[6].any()


def test_a_kernel_is_not_normalized_unasked(patients):
    k = plain(matching="cascade").fit(patients).kernel(patients)
    assert k[5, 5] < 0.9


def test_sparse_regions_are_more_alike_than_dense_ones():
    """The paper's point: cells are wide where rows are few."""
    rng = np.random.default_rng(7)
    sample = rng.exponential(size=(2000, 5))
    pk = plain(n_bins=8).fit(sample)
    step = 0.3

    def similarity(low, high):
        start = rng.uniform(low, high, size=(300, 5))
        return np.mean([pk.kernel(x[None], x[None] + step)[0, 0] for x in start])

    dense_region, sparse_region = similarity(0.0, 0.5), similarity(2.5, 6.0)
    assert sparse_region > dense_region + 0.2


def test_sparse_regions_by_hand():
    sample = np.concatenate([np.linspace(0, 1, 101), [10.0, 20, 30, 40, 50]])
    pk = plain(n_bins=5).fit(sample[:, None])
    few = pk.kernel([[30.0]], [[30.4]])
    many = pk.kernel([[0.3]], [[0.7]])
    assert (few.item(), many.item()) == (1, 0)
