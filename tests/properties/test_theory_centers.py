"""The claims of docs/theory.md about bin centers: section 2g."""

import numpy as np
import pytest

from proximity_kernel import ProximityKernel


def test_centers_converge_where_the_quantile_is_unique():
    rng = np.random.default_rng(10)
    off = []
    for n in (1000, 100_000):
        centers = [
            ProximityKernel(5).fit(rng.random((n, 1))).bin_centers_[0]
            for _ in range(10)
        ]
        off.append(np.abs(np.array(centers) - np.linspace(0, 1, 5)).mean())
    assert off[1] < off[0] / 5  # a tenth is expected


@pytest.mark.parametrize("n", [100, 1000, 10_000, 100_000])
def test_centers_at_a_jump_of_the_quantile_flip_for_ever(n):
    """Half of all values are 0, a fourth 1, a fourth 2; three bins.

    The middle one is 0 or 1 by one row in a million, too.
    """
    found = []
    for extra in (-1, 0, 1, 2):
        zeros, rest = n // 2 + extra, n - n // 2 - extra
        values = np.repeat([0.0, 1.0, 2.0], [zeros, rest // 2, rest - rest // 2])
        found.append(ProximityKernel(3).fit(values[:, None]).bin_centers_[0].tolist())
    assert found == [[0, 1, 2], [0, 0.5, 2], [0, 2], [0, 2]]
    rng = np.random.default_rng(n)
    draws = [rng.choice(4, size=(n, 1)) for _ in range(40)]
    bins = [ProximityKernel(3).fit(np.maximum(x - 1, 0)).n_bins_[0] for x in draws]
    assert 6 <= sum(size == 2 for size in bins) <= 34  # 20, and 4 deviations
