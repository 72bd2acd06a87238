"""What the statistics do about gaps in scores, and about too few of them."""

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from scores import DEMSAR, make_scores

from proximity_kernel_paper.experiments._pairs import wilcoxon_holm
from proximity_kernel_paper.experiments._ranking import friedman, mean_ranks, nemenyi
from proximity_kernel_paper.experiments._scores import complete_cases


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
