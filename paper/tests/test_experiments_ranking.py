"""The statistics against the published example, the formulae and brute force."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate, stats

from proximity_kernel_paper.experiments._ranking import (
    _holm,
    critical_difference,
    mean_ranks,
    nemenyi,
    nemenyi_groups,
    wilcoxon_holm,
)

# Demsar (2006), Table 6: the AUC of C4.5 and three variants. Its last row but one has
# 0.975 twice; the published mean ranks tell the two apart, so 0.97501 stands for one.
DEMSAR = pd.DataFrame(
    [
        (0.763, 0.768, 0.771, 0.798),
        (0.599, 0.591, 0.590, 0.569),
        (0.954, 0.971, 0.968, 0.967),
        (0.628, 0.661, 0.654, 0.657),
        (0.882, 0.888, 0.886, 0.898),
        (0.936, 0.931, 0.916, 0.931),
        (0.661, 0.668, 0.609, 0.685),
        (0.583, 0.583, 0.563, 0.625),
        (0.775, 0.838, 0.866, 0.875),
        (1.000, 1.000, 1.000, 1.000),
        (0.940, 0.962, 0.965, 0.962),
        (0.619, 0.666, 0.614, 0.669),
        (0.972, 0.981, 0.97501, 0.975),
        (0.957, 0.978, 0.946, 0.970),
    ],
    columns=["C4.5", "m", "cf", "m+cf"],
)


def make_scores(n_tables, n_methods, seed, n_values=None):
    """Random scores; with few values, many ties."""
    random = np.random.default_rng(seed)
    shape = (n_tables, n_methods)
    values = random.random(shape)
    if n_values:
        values = random.integers(0, n_values, shape) / 10
    return pd.DataFrame(values, columns=[f"m{i}" for i in range(n_methods)])


frames = st.builds(
    make_scores,
    n_tables=st.integers(2, 12),
    n_methods=st.integers(3, 7),
    seed=st.integers(0, 10**6),
    n_values=st.sampled_from([None, 2, 4]),
)


def slow_rank(row, j):
    """One more than the number of better ones, and half of those equal."""
    better = sum(v > row[j] for v in row)
    return better + (1 + sum(v == row[j] for v in row)) / 2


# --------------------------------------------------------------------------- ranks


@given(frames)
def test_mean_ranks_by_counting_and_by_scipy(scores):
    rows = scores.to_numpy().tolist()
    found = mean_ranks(scores)
    counted = [
        sum(slow_rank(row, j) for row in rows) / len(rows) for j in range(len(rows[0]))
    ]
    np.testing.assert_allclose(found, counted)
    np.testing.assert_allclose(found, stats.rankdata(-scores, axis=1).mean(axis=0))
    assert list(found.index) == list(scores.columns)
    assert found.sum() == pytest.approx(len(found) * (len(found) + 1) / 2)


def test_rounding_costs_no_rank():
    scores = pd.DataFrame({"a": [1.0, 0.3], "b": [1 - 2**-53, 0.1 + 0.2]})
    assert (scores.a != scores.b).all()
    assert mean_ranks(scores).tolist() == [1.5, 1.5]
    assert wilcoxon_holm(scores, "a").to_numpy().tolist() == [[0, 0, 1, 1]]


def test_published_mean_ranks():
    assert mean_ranks(DEMSAR).round(3).tolist() == [3.143, 2.000, 2.893, 1.964]


# ------------------------------------------------------- critical difference, Nemenyi

PUBLISHED = [(2, 0.05, 1.960), (10, 0.05, 3.164), (2, 0.1, 1.645), (10, 0.1, 2.920)]


@pytest.mark.parametrize(("k", "alpha", "q"), PUBLISHED)
def test_published_critical_values(k, alpha, q):
    spread = math.sqrt(k * (k + 1) / (6 * 20))
    assert round(critical_difference(k, 20, alpha) / spread, 3) == q


def test_known_critical_differences():
    assert round(critical_difference(4, 14, 0.05), 2) == 1.25
    assert round(critical_difference(4, 14, 0.1), 2) == 1.12
    assert round(critical_difference(10, 12, 0.1), 3) == 3.609


def range_tail(q, k):
    """P(the range of k standard normal variables > q), by its integral."""
    inside, _ = integrate.quad(
        lambda x: (
            k
            * stats.norm.pdf(x)
            * (stats.norm.cdf(x + q) - stats.norm.cdf(x)) ** (k - 1)
        ),
        -np.inf,
        np.inf,
    )
    return 1 - inside


@pytest.mark.parametrize("seed", range(4))
def test_nemenyi_by_the_integral(seed):
    scores = make_scores(9, 4, seed, n_values=5)
    ranks = mean_ranks(scores)
    for a, b in itertools.permutations(scores, 2):
        q = abs(ranks[a] - ranks[b]) * math.sqrt(6 * 9 / (4 * 5)) * math.sqrt(2)
        expected = pytest.approx(range_tail(q, 4), abs=1e-7)
        assert nemenyi(scores, against=a)[b] == expected


def test_nemenyi_of_two_methods_is_a_normal_test():
    scores = pd.DataFrame({"a": [1.0] * 7 + [0.0] * 2, "b": [0.5] * 9})
    z = (7 - 2) / 9 * math.sqrt(9)
    assert nemenyi(scores, against="a")["b"] == pytest.approx(2 * stats.norm.sf(z))


@given(frames, st.floats(0.001, 0.5))
def test_nemenyi_crosses_alpha_where_ranks_cross_the_critical_difference(scores, alpha):
    ranks = mean_ranks(scores)
    differences = (ranks - ranks["m0"]).abs().drop("m0")
    cd = critical_difference(scores.shape[1], scores.shape[0], alpha)
    clear = (differences - cd).abs() > 1e-6
    significant = nemenyi(scores, against="m0") <= alpha
    assert (significant == (differences >= cd))[clear].all()


# -------------------------------------------------------------------------- groups


def slow_groups(ranks, cd):
    """All contiguous sets without a critical difference that no other contains."""
    names = sorted(ranks, key=ranks.get)
    spans = [
        names[i:j]
        for i, j in itertools.combinations(range(len(names) + 1), 2)
        if j - i > 1 and ranks[names[j - 1]] - ranks[names[i]] < cd
    ]
    return [s for s in spans if not any(set(s) < set(other) for other in spans)]


@given(
    st.lists(st.integers(4, 40), min_size=1, max_size=8), st.sampled_from([0.3, 1, 2.5])
)
def test_groups_by_brute_force(quarters, cd):
    ranks = {f"m{i}": value / 4 for i, value in enumerate(quarters)}
    found = nemenyi_groups(pd.Series(ranks), cd)
    assert found == slow_groups(ranks, cd)
    alone = set(ranks) - {name for group in found for name in group}
    assert all(abs(ranks[a] - ranks[b]) >= cd for a in alone for b in ranks if a != b)


def test_groups_of_the_published_example():
    ranks = mean_ranks(DEMSAR)
    everything = [["m+cf", "m", "cf", "C4.5"]]
    assert nemenyi_groups(ranks, critical_difference(4, 14, 0.05)) == everything
    # Demsar, 3.2.2: C4.5 is worse than m and m+cf, and cf cannot be told from either.
    assert nemenyi_groups(ranks, critical_difference(4, 14, 0.1)) == [
        ["m+cf", "m", "cf"],
        ["cf", "C4.5"],
    ]


def test_exactly_critical_difference_is_significant():
    assert nemenyi_groups(pd.Series({"a": 1.0, "b": 2.0}), 1.0) == []


# ----------------------------------------------------------------- pairs on their own


def slow_signed_rank_p(differences):
    """Two-sided, over all ways to give the sizes their signs."""
    sizes = [round(abs(d), 9) for d in differences if round(d, 9) != 0]
    signs = [d > 0 for d in differences if round(d, 9) != 0]
    ranks = [len(sizes) + 1 - slow_rank(sizes, j) for j in range(len(sizes))]
    found = sum(itertools.compress(ranks, signs))
    sums = [
        sum(itertools.compress(ranks, flips))
        for flips in itertools.product([0, 1], repeat=len(ranks))
    ]
    low = sum(s <= found for s in sums) / len(sums)
    high = sum(s >= found for s in sums) / len(sums)
    return min(1, 2 * low, 2 * high)


@pytest.mark.parametrize("n_values", [None, 4, 7])
@pytest.mark.parametrize("seed", range(3))
def test_wilcoxon_by_all_signs(seed, n_values):
    scores = make_scores(9, 5, seed, n_values)
    table = wilcoxon_holm(scores, against="m2")
    assert list(table.index) == ["m0", "m1", "m3", "m4"]
    for row in table.itertuples():
        differences = (scores["m2"] - scores[row.Index]).tolist()
        assert row.p_value == pytest.approx(slow_signed_rank_p(differences))
        signs = [np.sign(round(d, 9)) for d in differences]
        assert [row.wins, row.losses] == [signs.count(1), signs.count(-1)]
    assert table.p_holm.tolist() == _holm(table.p_value.to_numpy()).tolist()


def test_ties_are_dropped_and_the_rest_is_exact():
    # Five wins in five untied tables: 2 / 2^5, however many ties there are.
    scores = pd.DataFrame({"a": [1.0, 2, 3, 4, 5, *[0] * 10], "b": [0.0] * 15})
    assert wilcoxon_holm(scores, "a").p_value["b"] == pytest.approx(2 / 32)


def test_differences_of_equal_size_share_a_rank():
    # 0.3 - 0.2 is not 0.2 - 0.1 in floating point. By hand: ranks 1.5, 1.5 (lost), 3.
    # Sums of the 8 ways: 0, 1.5, 1.5, 3, 3, 4.5, 4.5, 6; found 4.5, so 2 * 3 / 8.
    scores = pd.DataFrame({"a": [0.3, 0.1, 0.9], "b": [0.2, 0.2, 0.1]})
    assert wilcoxon_holm(scores, "a").p_value["b"] == pytest.approx(0.75)


def test_holm_by_hand():
    # Sorted: 0.01 * 4, 0.02 * 3, 0.03 * 2 = 0.06, 0.9 * 1.
    assert _holm(np.array([0.9, 0.03, 0.01, 0.02])) == pytest.approx(
        [0.9, 0.06, 0.04, 0.06]
    )
    # 0.04 * 3 = 0.12; 0.045 * 2 = 0.09 is lifted to 0.12; 0.6.
    assert _holm(np.array([0.04, 0.045, 0.6])) == pytest.approx([0.12, 0.12, 0.6])
    assert _holm(np.array([0.5, 0.6])).tolist() == [1, 1]


def rejected_by_holm(p_values, alpha):
    """Holm's procedure as he states it: step down until one is not rejected."""
    rejected = set()
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for step, i in enumerate(order):
        if p_values[i] > alpha / (len(p_values) - step):
            break
        rejected.add(i)
    return rejected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0.001, 0.999))
def test_holm_by_its_procedure(p_values, alpha):
    adjusted = _holm(np.array(p_values))
    assume(np.abs(adjusted - alpha).min() > 1e-9)
    assert set(np.flatnonzero(adjusted <= alpha)) == rejected_by_holm(p_values, alpha)
    assert (adjusted <= 1).all()
    assert (adjusted >= p_values).all()
