"""What holds for every table: valid kernels, and what must not matter does not."""

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from strategies import (
    MATCHINGS,
    assert_close,
    assert_same_bits,
    assert_same_model,
    dense,
    empty_columns,
    entries,
    fit_transform,
    fitted,
    mixed_table,
    parameters,
    plain,
    tables,
)

from proximity_kernel import (
    _cascade as cascade,
)
from proximity_kernel import _coded as coded
from proximity_kernel import _pairwise as pairwise
from proximity_kernel import (
    _row_summary as row_summary,
)


def block_sums(pk, representation):
    """Sum of every block that has a bin, shape (n_samples, features with a bin)."""
    ends = np.cumsum(pk.n_bins_)
    z = dense(representation).astype(float)
    return np.stack(
        [
            z[:, end - size : end].sum(axis=1)
            for size, end in zip(pk.n_bins_, ends, strict=True)
            if size
        ],
        axis=1,
    )


# The representation and the kernel are what they are said to be


@given(tables(), parameters())
def test_blocks_are_distributions_or_zero(drawn, chosen):
    frame, new = drawn
    pk = fitted(plain(**chosen), frame)
    z = pk.transform(frame)
    assert dense(z).min(initial=0) >= 0
    np.testing.assert_allclose(block_sums(pk, z), 1, rtol=1e-6)
    reference = oracle.fit(oracle.read_columns(frame), chosen["n_bins"])
    codes = oracle.assign_codes(oracle.read_columns(new), reference.cells)
    unknown = np.array(codes) == oracle.UNKNOWN
    wanted = np.where(unknown, 0.0, 1.0)[:, pk.n_bins_ > 0]
    np.testing.assert_allclose(block_sums(pk, pk.transform(new)), wanted, rtol=1e-6)


@given(tables(), parameters())
def test_kernel_is_valid(drawn, chosen):
    frame, new = drawn
    pk = fitted(plain(**chosen), frame)
    for table in (frame, new):
        k = pk.kernel(table)
        assert k.shape == (len(table), len(table))
        assert isinstance(k, np.ndarray)
        assert k.dtype == np.float32
        assert k.tobytes() == k.T.copy().tobytes()
        assert k.min() >= 0
        assert k.max() <= 1
        assert np.linalg.eigvalsh(k.astype(float)).min() > -1e-5
    complete = frame.drop(columns=empty_columns(frame)).notna().all(axis=1)
    own = np.diag(pk.kernel(frame))
    assert (own[complete.to_numpy()] == 1).all()


@given(tables(), parameters())
def test_kernel_is_the_product_of_representations(drawn, chosen):
    frame, new = drawn
    pk = fitted(plain(**chosen), frame)
    z, z_new = (dense(pk.transform(t)).astype(float) for t in (frame, new))
    d = int((pk.n_bins_ > 0).sum())
    terms = z.shape[1]
    assert_close(pk.kernel(new, frame), z_new @ z.T / d, terms=terms)
    assert_close(pk.kernel(frame, new), z @ z_new.T / d, terms=terms)
    assert_close(pk.kernel(frame, frame), pk.kernel(frame), terms=terms)


@pytest.mark.parametrize("working_memory", [1, 1024])
@pytest.mark.parametrize("n_labels", [3, 90])
def test_larger_kernels(n_labels, working_memory):
    """Large enough for tiles; with many labels the representation is mostly zero."""
    rng = np.random.default_rng(n_labels)
    labels = np.array([f"label{k:02d}" for k in range(n_labels)], dtype=object)
    table = labels[rng.integers(n_labels, size=(2300, 4))]
    table[rng.random(table.shape) < 0.2] = None
    frame = pd.DataFrame(table, columns=list("abcd"), dtype="str")
    pk = plain().fit(frame)
    with config_context(working_memory=working_memory):
        k = pk.kernel(frame)
        part = pk.kernel(frame[:1100], frame[100:])
    z = dense(pk.transform(frame)).astype(float)
    wanted = z @ z.T / 4
    assert_close(k, wanted, terms=z.shape[1])
    assert_close(part, wanted[:1100, 100:], terms=z.shape[1])
    assert k.tobytes() == k.T.copy().tobytes()
    assert k.min() >= 0
    assert k.max() <= 1
    assert (np.diag(k)[frame.notna().all(axis=1)] == 1).all()


# What must not matter does not


@given(tables(), parameters(), st.randoms(use_true_random=False))
def test_row_order_and_batch_do_not_matter(drawn, chosen, random):
    frame, new = drawn
    pk = fitted(plain(**chosen), frame)
    for table in (frame, new):
        z = dense(pk.transform(table))
        order = list(range(len(table)))
        random.shuffle(order)
        assert_same_bits(pk.transform(table.iloc[order]), z[order])
        cut = random.randrange(1, len(table) + 1)
        parts = [table.iloc[:cut], table.iloc[cut:]]
        halves = [dense(pk.transform(part)) for part in parts if len(part)]
        assert_same_bits(np.concatenate(halves), z)
        last = len(table) - 1
        assert_same_bits(pk.transform(table.iloc[[last]]), z[[last]])


@given(tables(), parameters(), st.randoms(use_true_random=False))
def test_order_of_the_fitted_rows_does_not_matter(drawn, chosen, random):
    frame, new = drawn
    order = list(range(len(frame)))
    random.shuffle(order)
    left = fitted(plain(**chosen), frame)
    right = fitted(plain(**chosen), frame.iloc[order])
    assert_same_model(left, right)
    for table in (frame, new):
        assert_same_bits(left.transform(table), right.transform(table))
        assert entries(left.provenance(table)) == entries(right.provenance(table))


@given(tables(), parameters(), st.booleans())
def test_fit_transform_is_fit_then_transform(drawn, chosen, normalize):
    frame, _ = drawn
    chosen = {**chosen, "normalize": normalize}
    z = fit_transform(plain(**chosen), frame)
    pk = fitted(plain(**chosen), frame)
    assert_same_bits(z, pk.transform(frame))


@given(tables(), parameters())
def test_dense_output_holds_the_same_bits(drawn, chosen):
    frame, new = drawn
    sparse = fitted(plain(**chosen), frame)
    full = fitted(plain(**chosen, sparse_output=False), frame)
    for table in (frame, new):
        z = full.transform(table)
        assert type(z) is np.ndarray
        assert_same_bits(sparse.transform(table), z)
        assert_same_bits(sparse.kernel(table), full.kernel(table))


@given(tables(), parameters())
def test_fitting_again_forgets(drawn, chosen):
    frame, new = drawn
    used = fitted(plain(**chosen), mixed_table(50, 3, 0.2, seed=1))
    fitted(used, frame)
    fresh = fitted(plain(**chosen), frame)
    assert_same_bits(used.transform(new), fresh.transform(new))


@pytest.mark.parametrize("matching", MATCHINGS)
@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_number_of_jobs_does_not_matter(matching, n_jobs, monkeypatch):
    for module in (cascade, pairwise, row_summary):
        monkeypatch.setattr(module, "_PIECE", 100)  # so that there are several
    monkeypatch.setattr(coded, "_ROWS_AT_ONCE", 100)
    monkeypatch.setattr(coded, "_CELLS_AT_ONCE", 100)
    frame = mixed_table(1500, 6, 0.4, seed=3)
    new = mixed_table(700, 6, 0.4, seed=4)
    alone = plain(matching=matching, n_jobs=None).fit(frame)
    together = plain(matching=matching, n_jobs=n_jobs).fit(frame)
    for table in (frame, new):
        assert_same_bits(alone.transform(table), together.transform(table))
        left, right = alone.provenance(table), together.provenance(table)
        assert entries(left) == entries(right)
    assert_same_bits(alone.kernel(new, frame), together.kernel(new, frame))


@pytest.mark.parametrize("matching", MATCHINGS)
def test_larger_batches_do_not_matter(matching):
    frame = mixed_table(1300, 5, 0.4, seed=6)
    pk = plain(matching=matching).fit(frame)
    z = dense(pk.transform(frame))
    order = np.random.default_rng(0).permutation(len(frame))
    assert_same_bits(pk.transform(frame.iloc[order]), z[order])
    sizes = [1, 3, 508, 512, 276]
    parts = np.split(np.arange(len(frame)), np.cumsum(sizes)[:-1])
    pieces = [dense(pk.transform(frame.iloc[part])) for part in parts]
    assert_same_bits(np.concatenate(pieces), z)
    again = plain(matching=matching).fit(frame.iloc[order])
    assert_same_bits(again.transform(frame), z)


@given(tables(), parameters())
def test_tables_are_left_as_they_were(drawn, chosen):
    frame, new = drawn
    kept = frame.copy(deep=True), new.copy(deep=True)
    pk = fitted(plain(**chosen), frame)
    fit_transform(plain(**chosen), frame)
    pk.transform(new)
    pk.kernel(new, frame)
    pk.provenance(new)
    pd.testing.assert_frame_equal(frame, kept[0])
    pd.testing.assert_frame_equal(new, kept[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_read_only_arrays(dtype, order):
    rng = np.random.default_rng(2)
    table = np.array(rng.integers(9, size=(40, 3)), dtype=dtype, order=order)
    if dtype != np.int64:
        table[rng.random(table.shape) < 0.3] = np.nan
    kept = table.copy()
    table.setflags(write=False)
    pk = plain(n_bins=3).fit(table)
    reference = oracle.fit(oracle.read_columns(pd.DataFrame(kept)), 3)
    wanted = oracle.represent(oracle.read_columns(pd.DataFrame(kept)), reference)
    assert_close(pk.transform(table), wanted)
    assert_close(
        pk.kernel(table),
        oracle.kernel(wanted, wanted, 3),
        terms=wanted.shape[1],
    )
    np.testing.assert_array_equal(table, kept)


def test_answers_are_not_shared_with_the_estimator():
    """Writing on an answer does not change the next one."""
    frame = mixed_table(60, 3, 0.3, seed=8)
    pk = plain(sparse_output=False)
    z = pk.fit_transform(frame)
    kept = z.copy()
    z[:] = 7
    assert_same_bits(pk.transform(frame), kept)
