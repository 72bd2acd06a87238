"""The kernel by tiles, against the plain product."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import silhouette_score
from strategies import mixed_table

from proximity_kernel import ProximityKernel
from proximity_kernel import _nearest as kernel_matrix_module
from proximity_kernel._nearest import kernel_matrix


def random_rows(n, n_columns, filled, seed):
    """Rows of non-negative numbers, `filled` of the columns not zero."""
    rng = np.random.default_rng(seed)
    dense = rng.random((n, n_columns)) * (rng.random((n, n_columns)) < filled)
    return sp.csr_array(dense)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """So that small tables have several."""
    monkeypatch.setattr(kernel_matrix_module, "_TILE", 32)


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


@pytest.mark.parametrize("filled", [0.9, 0.05])
def test_threads_do_not_change_the_bits(filled):
    a, b = random_rows(150, 40, filled, 8), random_rows(110, 40, filled, 9)
    for other in (None, b):
        one, two = (kernel_matrix(a, other, 40, 1 << 20, n) for n in (1, 2))
        np.testing.assert_array_equal(one, two)


def test_no_feature_with_bins_means_no_similarity():
    nothing = sp.csr_array((3, 0), dtype=np.float32)
    assert kernel_matrix(nothing, None, 0, 1 << 20).tolist() == [[0.0] * 3] * 3


def test_distances_have_a_zero_diagonal():
    frame = mixed_table(60, 5, 0.3, seed=4)
    pk = ProximityKernel().fit(frame)
    distances = pk.distance(frame)
    np.testing.assert_array_equal(np.diag(distances), 0)
    np.testing.assert_array_equal(distances, distances.T)
    away = ~np.eye(60, dtype=bool)
    np.testing.assert_array_equal(
        distances[away], 1 - pk.kernel(frame)[away].astype(float)
    )
    np.testing.assert_array_equal(
        pk.distance(frame[:5], frame), 1 - pk.kernel(frame[:5], frame).astype(float)
    )
    labels = np.arange(60) % 2
    assert -1 <= silhouette_score(distances, labels, metric="precomputed") <= 1
    assert linkage(squareform(distances)).shape == (59, 4)
