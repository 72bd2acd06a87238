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


def test_the_end_centers_of_a_normal_column_run_away():
    """They are the minimum and the maximum, and their bins empty for ever."""
    rng = np.random.default_rng(15)
    ends, shares, inner, auto = [], [], [], []
    for n in (1000, 30_000, 1_000_000):
        values = rng.normal(size=(n, 1))
        pk = ProximityKernel(4).fit(values)
        low, first, second, high = pk.bin_centers_[0]
        ends.append((high - low) / 2)
        shares.append(pk.prior_[0][[0, 3]].sum())
        inner.append(abs(first + 0.4307) + abs(second - 0.4307))
        centers = ProximityKernel("auto").fit(values).bin_centers_[0]
        auto.append(np.abs(centers - [-1.1503, -0.3186, 0.3186, 1.1503]).max())
    assert ends[0] + 0.5 < ends[1] < ends[2] - 0.3
    assert shares[0] / 2 > shares[1] > 1.5 * shares[2]
    assert shares[2] < 0.015
    assert inner[2] < 0.02  # those inside settle
    assert auto[2] < 0.01  # "auto" puts none on an extreme


def test_an_end_center_runs_away_on_the_unbounded_side_only():
    rng = np.random.default_rng(20)
    small, large = (
        ProximityKernel(4).fit(rng.exponential(size=(n, 1))) for n in (1000, 100_000)
    )
    assert 0 < large.bin_centers_[0][0] < small.bin_centers_[0][0] < 0.01
    assert large.bin_centers_[0][-1] > small.bin_centers_[0][-1] + 2
    assert large.prior_[0][0] == pytest.approx(small.prior_[0][0], abs=0.05)
    assert large.prior_[0][-1] < small.prior_[0][-1] / 3


def test_two_bins_of_a_normal_column_stay():
    rng = np.random.default_rng(21)
    for n in (1000, 1_000_000):
        shares = ProximityKernel(2).fit(rng.normal(size=(n, 1))).prior_[0]
        assert shares.min() > 0.3


def test_auto_has_a_center_on_an_extreme_that_is_frequent():
    """Or one of few distinct values."""
    waits = np.array([0.0] * 10 + [1, 2, 3, 4, 5, 6, 9, 1000])[:, None]
    assert ProximityKernel("auto").fit(waits).bin_centers_[0][0] == 0
    few = np.array([[1.0], [2.0], [3.0]])
    assert ProximityKernel("auto").fit(few).bin_centers_[0].tolist() == [1, 2, 3]


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
