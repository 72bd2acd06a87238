"""Which differences between methods, over many tables, are more than luck.

Scores on different tables are not comparable, ranks within a table are. So the methods
are ranked on each table, and the ranks averaged. Two questions follow (Demsar, 2006,
"Statistical comparisons of classifiers over multiple data sets", JMLR 7):

- Which methods differ, judged by mean ranks? `nemenyi`, and `critical_difference` with
  `nemenyi_groups` for a diagram.
- Which methods differ, judged by the pair alone? `wilcoxon_holm`: the mean ranks of a
  pair change with the other methods in the table, its signed ranks do not.

Scores are given as tables by methods, without gaps, and higher is better. Scores equal
to 12 decimals are tied: the NMI of a perfect clustering may come out as 1 - 2e-16,
which should not cost it a rank.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

DECIMALS = 12  # beyond these, scores differ by rounding
EXACT = 13  # differences whose signs are counted, as scipy counts them with ties


def mean_ranks(scores: pd.DataFrame) -> pd.Series:
    """Rank the methods on each table, and average over the tables.

    Parameters
    ----------
    scores : pandas.DataFrame of shape (n_tables, n_methods)

    Returns
    -------
    pandas.Series of shape (n_methods,)
        In the order of the columns. 1 is the best; tied methods share the average of
        their ranks.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"PK": [0.9, 0.8], "KNN": [0.7, 0.8], "Mean": [0.6, 0.5]})
    >>> mean_ranks(scores)
    PK      1.25
    KNN     1.75
    Mean    3.00
    Name: mean_rank, dtype: float64
    """
    ranks = stats.rankdata(-scores.round(DECIMALS), axis=1)
    return pd.Series(ranks.mean(axis=0), index=scores.columns, name="mean_rank")


def critical_difference(n_methods: int, n_tables: int, alpha: float) -> float:
    """Give the difference of mean ranks from which two methods differ significantly.

    Parameters
    ----------
    n_methods : int
        k
    n_tables : int
        N
    alpha : float
        The level of the test, over all pairs together.

    Returns
    -------
    float
        q sqrt(k (k + 1) / (6 N)), where q is the upper `alpha` point of the studentised
        range of k normal variables, divided by sqrt(2).

    Examples
    --------
    >>> round(critical_difference(10, 12, alpha=0.1), 3)
    3.609
    """
    q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * _rank_spread(n_methods, n_tables))


def nemenyi(scores: pd.DataFrame, against: str) -> pd.Series:
    """Test one method against each other one by their mean ranks.

    Parameters
    ----------
    scores : pandas.DataFrame of shape (n_tables, n_methods)
    against : str
        The method to compare with the others.

    Returns
    -------
    pandas.Series of shape (n_methods - 1,)
        The p-value of each other method. It is at most alpha exactly where the mean
        ranks differ by `critical_difference` of alpha or more: the p-values are
        adjusted for the number of all pairs already. Below 1e-12 only their smallness
        is to be trusted. Ties are not corrected for, which errs on the safe side.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame(
    ...     {
    ...         "PK": [0.9, 0.8, 0.7, 0.6],
    ...         "KNN": [0.8, 0.7, 0.5, 0.5],
    ...         "Mean": [0.7, 0.6, 0.6, 0.4],
    ...     }
    ... )
    >>> nemenyi(scores, against="PK").round(3)
    KNN     0.181
    Mean    0.036
    Name: nemenyi, dtype: float64
    """
    n, k = scores.shape
    ranks = mean_ranks(scores)
    others = ranks.drop(against)
    q = (others - ranks[against]).abs() / _rank_spread(k, n) * np.sqrt(2)
    upper = stats.studentized_range.sf(q, k, np.inf)  # integrated numerically
    return pd.Series(np.clip(upper, 0, 1), index=others.index, name="nemenyi")


def nemenyi_groups(mean_ranks: pd.Series, cd: float) -> list[list[str]]:
    """Group the methods that do not differ significantly: the bars of a CD diagram.

    Parameters
    ----------
    mean_ranks : pandas.Series of shape (n_methods,)
        As `mean_ranks` gives them.
    cd : float
        The critical difference, positive. Mean ranks that differ by exactly `cd` differ
        significantly.

    Returns
    -------
    list of list of str
        The largest groups within which no two methods differ, best methods and groups
        first. Groups may overlap, but none contains another. A method that differs from
        all others is in no group.

    Examples
    --------
    >>> import pandas as pd
    >>> ranks = pd.Series({"Mean": 3.9, "PK": 1.0, "KNN": 2.5, "MICE": 2.6})
    >>> nemenyi_groups(ranks, cd=1.55)
    [['PK', 'KNN'], ['KNN', 'MICE', 'Mean']]
    """
    ordered = mean_ranks.sort_values(kind="stable")
    ranks, names = ordered.to_numpy(dtype=float), list(ordered.index)
    groups = []
    reached = 0
    for first, rank in enumerate(ranks):
        end = int(np.count_nonzero(ranks - rank < cd))
        # A group that ends no later than one begun before is a part of it.
        if end > reached and end - first > 1:
            groups.append(names[first:end])
        reached = max(reached, end)
    return groups


def wilcoxon_holm(scores: pd.DataFrame, against: str) -> pd.DataFrame:
    """Test one method against each other one by their signed ranks.

    The tests are two-sided. Tables on which a pair is tied are dropped from its test,
    as Wilcoxon did (scipy's ``zero_method="wilcox"``); if all are, its p-value is 1.
    The p-values are exact for up to 13 untied tables, and up to 50 if no two
    differences are of equal size; else by normal approximation.

    Parameters
    ----------
    scores : pandas.DataFrame of shape (n_tables, n_methods)
    against : str
        The method to compare with the others.

    Returns
    -------
    pandas.DataFrame of shape (n_methods - 1, 4)
        A row for each other method, with ``wins`` and ``losses`` (of `against`, in
        tables), ``p_value``, and ``p_holm``, adjusted by Holm's step-down for the
        number of rows.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame(
    ...     {
    ...         "PK": [0.9, 0.8, 0.7, 0.6, 0.5],
    ...         "KNN": [0.8, 0.6, 0.4, 0.2, 0.5],
    ...         "Mean": [0.7, 0.9, 0.6, 0.3, 0.1],
    ...     }
    ... )
    >>> wilcoxon_holm(scores, against="PK")
          wins  losses  p_value  p_holm
    KNN      4       0   0.1250    0.25
    Mean     4       1   0.1875    0.25
    """
    rounded = scores.round(DECIMALS)
    differences = rounded.drop(columns=against).rsub(rounded[against], axis=0)
    differences = differences.round(DECIMALS)  # 0.3 - 0.2 is not 0.2 - 0.1
    table = pd.DataFrame(
        {
            "wins": (differences > 0).sum(),
            "losses": (differences < 0).sum(),
            "p_value": differences.apply(signed_rank_p),
        }
    )
    table["p_holm"] = _holm(table["p_value"].to_numpy())
    return table


def _rank_spread(n_methods: int, n_tables: int) -> float:
    """Give the standard deviation of a difference of two mean ranks, by chance."""
    return float(np.sqrt(n_methods * (n_methods + 1) / (6 * n_tables)))


def signed_rank_p(differences: pd.Series) -> float:
    """Give Wilcoxon's two-sided p-value of the differences that are not zero.

    With zeros among more than 13 differences, scipy would drop these too, but then
    approximate where the exact distribution of the rest is at hand.

    Parameters
    ----------
    differences : pandas.Series of shape (n_tables,)

    Returns
    -------
    float

    Examples
    --------
    >>> signed_rank_p(pd.Series([0.1, 0.2, 0.3, 0.0, 0.4]))
    0.125
    """
    rounded = differences.round(DECIMALS)
    untied = rounded[rounded != 0]
    if untied.empty:
        return 1.0
    if len(untied) <= EXACT:
        return _exact_signed_rank_p(untied.to_numpy())
    return float(stats.wilcoxon(untied, alternative="two-sided").pvalue)


def _exact_signed_rank_p(differences: NDArray[np.float64]) -> float:
    """Count the signs that give sums of ranks as far from the middle as the given ones.

    With differences of equal size scipy goes through all 2^n signs in Python, a second
    for 12 tables; here the sums are counted rank by rank.
    """
    twice = (2 * stats.rankdata(np.abs(differences))).astype(int)  # whole, if shared
    counts = np.zeros(twice.sum() + 1)
    counts[0] = 1
    for rank in twice:
        counts[rank:] += counts[:-rank].copy()
    found = twice[differences > 0].sum()
    one_sided = min(counts[: found + 1].sum(), counts[found:].sum()) / counts.sum()
    return min(1.0, 2 * float(one_sided))


def _holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust by Holm's step-down: the smallest times m, the next times m - 1, ..."""
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted
