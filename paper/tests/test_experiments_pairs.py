"""The tests of pairs against brute force, Holm's procedure and sums by hand."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scores import make_scores, slow_rank

from proximity_kernel_paper.experiments._pairs import _holm, wilcoxon_holm


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
