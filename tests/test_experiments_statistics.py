"""The statistics against the published example, the formulae and brute force."""

import itertools
import math
from dataclasses import FrozenInstanceError, astuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate, stats

from proximity_kernel.experiments._statistics import (
    FriedmanResult,
    _holm,
    complete_cases,
    critical_difference,
    friedman,
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

# ------------------------------------------------------------------ gaps and errors


def test_complete_cases_keeps_order_and_names_the_dropped():
    scores = pd.DataFrame(
        {"a": [1.0, None, 3.0, 4.0], "b": [1.0, 2.0, 3.0, None]}, index=list("wxyz")
    )
    cases = complete_cases(scores)
    pd.testing.assert_frame_equal(cases.scores, scores.loc[["w", "y"]])
    assert cases.dropped == ("x", "z")
    assert scores.isna().sum().sum() == 2
    assert complete_cases(cases.scores).dropped == ()


EVERY = [mean_ranks, friedman, nemenyi, wilcoxon_holm]


@pytest.mark.parametrize("function", EVERY)
@pytest.mark.parametrize("gap", [np.nan, None, pd.NA])
def test_gap_is_named(function, gap):
    scores = make_scores(4, 3, 0).set_axis(["iris", "wine", "zoo", "heart"])
    scores = scores.astype("Float64" if gap is pd.NA else float)
    scores.loc["zoo", "m1"] = gap
    with pytest.raises(ValueError, match=r"^'m1' has no score on table 'zoo'\.$"):
        function(scores)
    scores.loc["heart", "m0"] = gap
    with pytest.raises(ValueError, match=r"'m1' .* 'zoo' \(1 more such\)\.$"):
        function(scores)


@pytest.mark.parametrize("function", EVERY)
def test_infinite_score_is_named(function):
    scores = make_scores(4, 3, 0)
    scores.loc[2, "m1"] = -np.inf
    with pytest.raises(ValueError, match="'m1' has no finite score on table 2"):
        function(scores)


@pytest.mark.parametrize("function", EVERY)
def test_one_method_is_too_few(function):
    with pytest.raises(ValueError, match=r"needs at least \d methods, got 1"):
        function(make_scores(5, 1, 0))


def test_friedman_needs_three_methods():
    with pytest.raises(ValueError, match="needs at least 3 methods, got 2"):
        friedman(make_scores(5, 2, 0))


@pytest.mark.parametrize("function", [friedman, nemenyi, wilcoxon_holm])
def test_one_table_is_too_few_for_a_test(function):
    with pytest.raises(ValueError, match="needs at least 2 tables, got 1"):
        function(make_scores(1, 3, 0))


def test_ranks_of_one_table_are_ranks_and_of_none_an_error():
    scores = pd.DataFrame({"a": [0.1], "b": [0.3], "c": [0.2]})
    assert mean_ranks(scores).to_dict() == {"a": 3, "b": 1, "c": 2}
    with pytest.raises(ValueError, match="needs at least 1 tables, got 0"):
        mean_ranks(scores[:0])


@pytest.mark.parametrize("function", EVERY)
def test_repeated_name_is_refused(function):
    with pytest.raises(ValueError, match="the same name 'a'"):
        function(make_scores(4, 3, 0).set_axis(["a", "b", "a"], axis=1))


def test_results_are_frozen():
    with pytest.raises(FrozenInstanceError):
        friedman(DEMSAR).statistic = 0
    with pytest.raises(FrozenInstanceError):
        complete_cases(DEMSAR).dropped = ()


# --------------------------------------------------------------------------- ranks


def slow_rank(row, j):
    """One more than the number of better ones, and half of those equal."""
    better = sum(v > row[j] for v in row)
    return better + (1 + sum(v == row[j] for v in row)) / 2


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


# ------------------------------------------------------------------- Wilcoxon, Holm


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
    scores = make_scores(9, 4, seed, n_values)
    table = wilcoxon_holm(scores)
    assert len(table) == 6
    for row in table.itertuples():
        differences = (scores[row.method_a] - scores[row.method_b]).tolist()
        assert row.p_value == pytest.approx(slow_signed_rank_p(differences))
        assert row.mean_difference == pytest.approx(sum(differences) / 9)
        signs = [np.sign(round(d, 9)) for d in differences]
        counts = [signs.count(1), signs.count(0), signs.count(-1)]
        assert [row.wins, row.ties, row.losses] == counts


def test_every_pair_once_and_sorted():
    table = wilcoxon_holm(make_scores(10, 5, 1))
    pairs = {
        frozenset(pair) for pair in zip(table.method_a, table.method_b, strict=True)
    }
    assert len(table) == len(pairs) == 10
    assert table.p_value.is_monotonic_increasing
    assert table.p_holm.is_monotonic_increasing
    assert list(table.index) == list(range(10))
    assert list(table) == [
        "method_a",
        "method_b",
        "mean_difference",
        "wins",
        "ties",
        "losses",
        "p_value",
        "p_holm",
    ]


def test_against_one_method_corrects_for_its_pairs_only():
    scores = make_scores(10, 5, 1)
    table = wilcoxon_holm(scores, against="m2")
    assert set(table.method_a) == {"m2"}
    assert sorted(table.method_b) == ["m0", "m1", "m3", "m4"]
    assert table.p_holm[0] == pytest.approx(min(1, 4 * table.p_value[0]))
    every = wilcoxon_holm(scores)
    of_pair = {
        frozenset(pair): p
        for *pair, p in every[["method_a", "method_b", "p_value"]].itertuples(
            index=False
        )
    }
    for row in table.itertuples():
        assert row.p_value == of_pair[frozenset((row.method_a, row.method_b))]


def test_unknown_method_is_named():
    with pytest.raises(
        ValueError, match="against must be one of 'm0', 'm1', 'm2', got 'PK'"
    ):
        wilcoxon_holm(make_scores(5, 3, 0), against="PK")


def test_ties_are_dropped_and_the_rest_is_exact():
    # Five wins in five untied tables: 2 / 2^5, however many ties there are.
    scores = pd.DataFrame({"a": [1.0, 2, 3, 4, 5, *[0] * 10], "b": [0.0] * 15})
    assert wilcoxon_holm(scores).p_value[0] == pytest.approx(2 / 32)


def test_differences_of_equal_size_share_a_rank():
    # 0.3 - 0.2 is not 0.2 - 0.1 in floating point. By hand: ranks 1.5, 1.5 (lost), 3.
    # Sums of the 8 ways: 0, 1.5, 1.5, 3, 3, 4.5, 4.5, 6; found 4.5, so 2 * 3 / 8.
    scores = pd.DataFrame({"a": [0.3, 0.1, 0.9], "b": [0.2, 0.2, 0.1]})
    assert wilcoxon_holm(scores).p_value[0] == pytest.approx(0.75)


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
