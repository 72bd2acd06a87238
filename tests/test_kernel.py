"""The kernel by tiles, by blocks of rows and by its best, against the plain product."""

import numpy as np
import pytest
import scipy.sparse as sp

from proximity_kernel import _kernel
from proximity_kernel._kernel import kernel_blocks, kernel_matrix, top_k


def random_rows(n, n_columns, filled, seed):
    """Rows of non-negative numbers, `filled` of the columns not zero."""
    rng = np.random.default_rng(seed)
    dense = rng.random((n, n_columns)) * (rng.random((n, n_columns)) < filled)
    return sp.csr_array(dense)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """So that small tables have several."""
    monkeypatch.setattr(_kernel, "_TILE", 32)


# Many columns per entry make the product go the sparse way; little memory makes the
# tiles small, and too little for the dense matrix.
@pytest.fixture(params=[0.9, 0.05], ids=["dense", "sparse"])
def filled(request):
    return request.param


@pytest.fixture(params=[1 << 30, 15_000, 1], ids=["ample", "little", "none"])
def memory(request):
    return request.param


def test_matrix_is_the_product(filled, memory):
    a, b = random_rows(90, 40, filled, 0), random_rows(70, 40, filled, 1)
    want = np.minimum((a @ b.T).toarray() / 40, 1)
    np.testing.assert_allclose(kernel_matrix(a, b, 40, memory), want, rtol=1e-12)


def test_matrix_with_itself_is_exactly_symmetric(filled, memory):
    a = random_rows(80, 40, filled, 2).astype(np.float32)
    got = kernel_matrix(a, None, 40, memory)
    np.testing.assert_array_equal(got, got.T)
    want = (a.astype(np.float64) @ a.T.astype(np.float64)).toarray() / 40
    np.testing.assert_allclose(got, np.minimum(want, 1), atol=1e-6)


def test_blocks_keep_within_their_memory(filled):
    a, b = random_rows(300, 30, filled, 3), random_rows(1000, 30, filled, 4)
    memory, stop = 400_000, 0
    for rows, block in kernel_blocks(a, b, 30, memory):
        assert rows.start == stop
        assert block.nbytes <= memory // 2
        want = (a[rows] @ b.T).toarray() / 30
        np.testing.assert_allclose(block, np.minimum(want, 1), rtol=1e-12)
        stop = rows.stop
    assert stop == 300


def test_top_k_is_the_head_of_the_sorted_row(filled, memory):
    a, b = random_rows(30, 20, filled, 5), random_rows(120, 20, filled, 6)
    whole = np.minimum((a @ b.T).toarray() / 20, 1)
    similarities, indices = top_k(a, b, 7, 20, memory)
    np.testing.assert_allclose(similarities, np.sort(whole, axis=1)[:, :-8:-1])
    found = np.take_along_axis(whole, indices, axis=1)
    np.testing.assert_allclose(found, similarities)


def test_top_k_gives_ties_to_the_lower_row(monkeypatch):
    monkeypatch.setattr(_kernel, "_TILE", 4)  # so that ties cross tiles
    rows = sp.csr_array(np.eye(3)[[0, 1, 0, 2, 1, 0, 0, 2, 0, 1]])
    similarities, indices = top_k(rows[:2], rows, 4, 1, 1 << 20)
    assert indices.tolist() == [[0, 2, 5, 6], [1, 4, 9, 0]]
    assert similarities.tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]


def test_top_k_never_holds_the_matrix(monkeypatch):
    shapes = []
    multiply = _kernel._multiply

    def watched(left, right, n_features):
        tile = multiply(left, right, n_features)
        shapes.append(tile.shape)
        return tile

    monkeypatch.setattr(_kernel, "_multiply", watched)
    rows = random_rows(200, 12, 0.5, 7)
    top_k(rows, rows, 3, 12, 1 << 30)
    assert max(n * m for n, m in shapes) <= 32 * 32
    assert sum(n * m for n, m in shapes) == 200 * 200


@pytest.mark.parametrize("filled", [0.9, 0.05])
def test_threads_do_not_change_the_bits(filled):
    a, b = random_rows(150, 40, filled, 8), random_rows(110, 40, filled, 9)
    for other in (None, b):
        one, two = (kernel_matrix(a, other, 40, 1 << 20, n) for n in (1, 2))
        np.testing.assert_array_equal(one, two)
    one, two = (top_k(a, b, 5, 40, 1 << 20, n) for n in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


def test_no_feature_with_bins_means_no_similarity():
    nothing = sp.csr_array((3, 0), dtype=np.float32)
    assert kernel_matrix(nothing, None, 0, 1 << 20).tolist() == [[0.0] * 3] * 3
