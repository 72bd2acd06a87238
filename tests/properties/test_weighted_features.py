"""The kernel with `feature_weights`: valid, and the weighted mean that is defined."""

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import (
    Filler,
    adopt_weights,
    assert_close,
    assert_same_bits,
    dense,
    empty_columns,
    fitted,
    mixed_table,
    parameters,
    plain,
    tables,
)

from proximity_kernel import ProximityKernel

WEIGHT = st.one_of(
    st.sampled_from([0.0, 0.5, 1.0, 2.0, 1e-3, 1e3]), st.floats(0.01, 100)
)


@st.composite
def weighted_tables(draw):
    """Draw two frames, and a weight for each column, not all 0."""
    frame, new = draw(tables(max_rows=20))
    size = len(frame.columns)
    weights = draw(st.lists(WEIGHT, min_size=size, max_size=size))
    observed = [name not in empty_columns(frame) for name in frame.columns]
    assume(any(w > 0 for w, seen in zip(weights, observed, strict=True) if seen))
    return frame, new, weights


@given(weighted_tables(), parameters(), st.booleans())
def test_weighted_kernel_is_valid(drawn, chosen, normalize):
    frame, new, weights = drawn
    pk = plain(**chosen, normalize=normalize, feature_weights=weights)
    fitted(pk, frame)
    for table in (frame, new):
        k = pk.kernel(table)
        assert k.tobytes() == k.T.copy().tobytes()
        assert k.min() >= 0
        assert k.max() <= 1
        assert np.linalg.eigvalsh(k.astype(float)).min() > -1e-5
    counts = [
        name
        for name, weight in zip(frame.columns, weights, strict=True)
        if weight > 0 and name not in empty_columns(frame)
    ]
    complete = frame[counts].notna().all(axis=1).to_numpy()
    np.testing.assert_allclose(np.diag(pk.kernel(frame))[complete], 1, rtol=1e-6)


@pytest.mark.parametrize("n_bins", ["auto", "fine", 5])
@pytest.mark.parametrize("missingness", ["auto", "informative"])
def test_weighted_kernel_is_valid_on_each_scale(n_bins, missingness):
    frame = mixed_table(120, 6, 0.3, seed=3)
    weights = {"col0": 5.0, "col1": 0.0, "col4": 0.2}
    pk = ProximityKernel(
        n_bins, missingness=missingness, feature_weights=weights, dtype=np.float64
    )
    k = pk.fit(frame).kernel(frame)
    assert np.linalg.eigvalsh(k).min() > -1e-12
    assert k.min() >= 0
    assert k.max() <= 1
    # A weighted mean of the kernels of single columns, each found by weights of 0.
    names = list(frame.columns)
    total, wanted = 0.0, np.zeros_like(k)
    for name in names:
        own = dict.fromkeys(names, 0) | {name: 1}
        single = ProximityKernel(
            n_bins, missingness=missingness, feature_weights=own, dtype=np.float64
        )
        weight = weights.get(name, 1.0)
        wanted += weight * single.fit(frame).kernel(frame)
        total += weight
    np.testing.assert_allclose(k, wanted / total, rtol=1e-12, atol=1e-12)


@given(weighted_tables(), parameters())
def test_weighted_kernel_equals_the_oracle(drawn, chosen):
    frame, new, weights = drawn
    pk = fitted(plain(**chosen, feature_weights=weights), frame)
    reference = oracle.fit(oracle.read_columns(frame), chosen["n_bins"])
    if pk.matching == "pairwise":
        adopt_weights(pk.model_.matcher, reference.pairwise)
    z, z_new = (
        oracle.represent(oracle.read_columns(table), reference, pk.matching)
        for table in (frame, new)
    )
    wanted = oracle.weighted_kernel(z_new, z, reference.n_bins, weights)
    assert_close(pk.kernel(new, frame), wanted, terms=z.shape[1])
    distances = 1 - oracle.weighted_kernel(z, z, reference.n_bins, weights)
    np.fill_diagonal(distances, 0)
    np.testing.assert_allclose(pk.distance(frame), distances, atol=1e-5)


@given(tables(), parameters(), st.floats(0.01, 1e300))
def test_equal_weights_change_no_bit(drawn, chosen, weight):
    frame, new = drawn
    plainly = fitted(plain(**chosen), frame)
    equal = [weight] * len(frame.columns)
    weighted = fitted(plain(**chosen, feature_weights=equal), frame)
    assert_same_bits(weighted.transform(new), plainly.transform(new))
    assert_same_bits(weighted.kernel(new, frame), plainly.kernel(new, frame))


@pytest.mark.filterwarnings("ignore:.*had no observed value at fit")
@given(weighted_tables(), parameters())
def test_weights_do_not_change_bins_or_estimates(drawn, chosen):
    frame, new, weights = drawn
    plainly = fitted(plain(**chosen, dtype=np.float64), frame)
    options = {**chosen, "dtype": np.float64, "feature_weights": weights}
    weighted = fitted(plain(**options), frame)
    got, wanted = weighted.provenance(new), plainly.provenance(new)
    for name in wanted.dtype.names:
        np.testing.assert_array_equal(got[name], wanted[name])
    filled = [Filler(pk).fit(frame).impute(new) for pk in (weighted, plainly)]
    pd.testing.assert_frame_equal(*filled)
    counted = (plainly.n_bins_ > 0) & (np.array(weights) > 0)
    scale = np.where(counted, weights, 0.0)
    scale *= counted.sum() / scale.sum()
    wanted = dense(plainly.transform(new)) * np.sqrt(np.repeat(scale, plainly.n_bins_))
    np.testing.assert_allclose(dense(weighted.transform(new)), wanted, rtol=1e-12)


@pytest.mark.parametrize("n_bins", ["auto", "fine", 3])
def test_weight_two_is_the_column_twice(n_bins):
    frame = mixed_table(80, 5, 0.0, seed=1)
    twice = frame.assign(again=frame["col1"], label=frame["col2"])
    options = {"n_bins": n_bins, "dtype": np.float64}
    weighted = ProximityKernel(**options, feature_weights={"col1": 2, "col2": 2})
    wanted = ProximityKernel(**options).fit(twice).kernel(twice)
    got = weighted.fit(frame).kernel(frame)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_bins", ["auto", "fine", 3])
def test_weight_zero_is_the_column_left_out(n_bins):
    frame = mixed_table(80, 5, 0.0, seed=2)
    pk = ProximityKernel(n_bins, feature_weights={"col2": 0}, dtype=np.float64)
    less = frame.drop(columns="col2")
    wanted = ProximityKernel(n_bins, dtype=np.float64).fit(less).kernel(less)
    np.testing.assert_allclose(pk.fit(frame).kernel(frame), wanted, rtol=1e-12)
    z = pk.transform(frame)
    assert z.data.all()
    assert z.shape[1] == len(pk.get_feature_names_out())
