"""The statistics of ranks against the published example, the formulae, brute force."""

import itertools
import math
from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate, stats
from scores import DEMSAR, frames, make_scores, slow_rank

from proximity_kernel_paper.experiments._pairs import wilcoxon_holm
from proximity_kernel_paper.experiments._ranking import (
    FriedmanResult,
    critical_difference,
    friedman,
    mean_ranks,
    nemenyi,
    nemenyi_groups,
)

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
    assert wilcoxon_holm(scores).ties.tolist() == [2]


def test_published_mean_ranks():
    assert mean_ranks(DEMSAR).round(3).tolist() == [3.143, 2.000, 2.893, 1.964]


# ------------------------------------------------------------------------ friedman


def test_published_friedman_before_the_correction_for_ties():
    n, k = DEMSAR.shape
    # Three tables with a tied pair, one with four tied: the sum of t^3 - t.
    correction = 1 - (3 * 6 + 60) / (n * (k**3 - k))
    uncorrected = friedman(DEMSAR).statistic * correction
    assert uncorrected == pytest.approx(9.28, abs=0.005)
    assert (n - 1) * uncorrected / (n * (k - 1) - uncorrected) == pytest.approx(
        3.69, abs=0.005
    )


def anova_of_ranks(scores):
    """F of the methods, in the two-way analysis of variance of the ranks."""
    ranks = np.array([[slow_rank(row, j) for j in range(len(row))] for row in scores])
    n = len(ranks)
    between = n * ((ranks.mean(axis=0) - ranks.mean()) ** 2).sum()
    within = ((ranks - ranks.mean()) ** 2).sum() - between  # tables all have one mean
    return between / (within / (n - 1)) if within > 1e-9 else math.inf


@given(frames)
def test_friedman_by_scipy_and_by_analysis_of_variance(scores):
    values = scores.to_numpy()
    assume((values != values[:, :1]).any())
    n, k = values.shape
    found = friedman(scores)
    expected = stats.friedmanchisquare(*values.T)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert found.p_value == pytest.approx(expected.pvalue)
    f = anova_of_ranks(values.tolist())
    assert found.f_statistic == pytest.approx(f, abs=1e-9)
    assert found.f_p_value == pytest.approx(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))


def test_friedman_of_identical_columns():
    column = np.random.default_rng(0).random(6)
    scores = pd.DataFrame(dict.fromkeys("abc", column))
    assert friedman(scores) == FriedmanResult(0.0, 1.0, 0.0, 1.0)
    assert (nemenyi(scores) == 1).all(axis=None)
    assert (wilcoxon_holm(scores)[["p_value", "p_holm"]] == 1).all(axis=None)


@pytest.mark.parametrize("n_tables", [2, 7, 12])
def test_friedman_of_full_agreement(n_tables):
    scores = pd.DataFrame([[0.9, 0.5, 0.5, 0.1]] * n_tables)
    result = friedman(scores)
    assert result.statistic == pytest.approx(n_tables * 3)
    assert (result.f_statistic, result.f_p_value) == (math.inf, 0)


def test_friedman_of_equal_mean_ranks():
    scores = pd.DataFrame([[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    assert astuple(friedman(scores)) == pytest.approx((0, 1, 0, 1))
    assert all(type(part) is float for part in astuple(friedman(scores)))


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


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 5, math.nan])
def test_alpha_outside_its_range(alpha):
    with pytest.raises(ValueError, match="alpha must be strictly between 0 and 1"):
        critical_difference(3, 5, alpha)


@pytest.mark.parametrize(("k", "n", "said"), [(1, 5, "2 methods"), (3, 1, "2 tables")])
def test_critical_difference_of_too_few(k, n, said):
    with pytest.raises(ValueError, match=f"needs at least {said}, got 1"):
        critical_difference(k, n, 0.05)


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
    found, ranks = nemenyi(scores), mean_ranks(scores)
    for a, b in itertools.combinations(scores, 2):
        q = abs(ranks[a] - ranks[b]) * math.sqrt(6 * 9 / (4 * 5)) * math.sqrt(2)
        assert found.loc[a, b] == pytest.approx(range_tail(q, 4), abs=1e-7)


def test_nemenyi_of_two_methods_is_a_normal_test():
    scores = pd.DataFrame({"a": [1.0] * 7 + [0.0] * 2, "b": [0.5] * 9})
    z = (7 - 2) / 9 * math.sqrt(9)
    assert nemenyi(scores).loc["a", "b"] == pytest.approx(2 * stats.norm.sf(z))


@given(frames)
def test_nemenyi_p_value_is_the_alpha_at_which_the_difference_is_critical(scores):
    (n, k), p_values, ranks = scores.shape, nemenyi(scores), mean_ranks(scores)
    assert (np.diag(p_values) == 1).all()
    pd.testing.assert_frame_equal(p_values, p_values.T)
    assert p_values.stack().between(0, 1).all()
    a, b = ranks.idxmin(), ranks.idxmax()
    p, difference = p_values.loc[a, b], ranks[b] - ranks[a]
    assume(1e-8 < p < 0.999)
    assert critical_difference(k, n, p) == pytest.approx(difference, rel=1e-4)
    assert critical_difference(k, n, min(p * 1.01, 0.9999)) < difference
    assert critical_difference(k, n, p * 0.99) > difference


@given(frames, st.floats(0.001, 0.5))
def test_nemenyi_crosses_alpha_where_ranks_cross_the_critical_difference(scores, alpha):
    ranks = mean_ranks(scores).to_numpy()
    differences = np.abs(ranks[:, None] - ranks)
    cd = critical_difference(scores.shape[1], scores.shape[0], alpha)
    clear = np.abs(differences - cd) > 1e-6
    significant = nemenyi(scores).to_numpy() <= alpha
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


@pytest.mark.parametrize("cd", [0, -1, math.nan])
def test_critical_difference_must_be_positive(cd):
    with pytest.raises(ValueError, match="cd must be positive"):
        nemenyi_groups(pd.Series({"a": 1.0, "b": 2.0}), cd)


def test_groups_need_every_mean_rank():
    with pytest.raises(ValueError, match="b has no mean rank"):
        nemenyi_groups(pd.Series({"a": 1.0, "b": math.nan}), 1.0)
