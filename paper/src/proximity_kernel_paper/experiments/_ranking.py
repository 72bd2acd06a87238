"""Which differences between methods, over many tables, are more than luck.

Scores on different tables are not comparable, ranks within a table are. So the methods
are ranked on each table, and the ranks averaged. Three questions follow (Demsar, 2006,
"Statistical comparisons of classifiers over multiple data sets", JMLR 7):

- Do the methods differ at all? `friedman`.
- Which pairs differ, judged by mean ranks? `nemenyi`, and `critical_difference` with
  `nemenyi_groups` for a diagram.
- Which pairs differ, judged by the pair alone? `wilcoxon_holm` in `_pairs`.

What scores these take is said in `_scores`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from ._scores import check_counts, check_scores


@dataclass(frozen=True)
class FriedmanResult:
    """Whether methods differ at all.

    Attributes
    ----------
    statistic : float
        Friedman's chi squared with k - 1 degrees of freedom, corrected for ties.
    p_value : float
        Of the statistic.
    f_statistic : float
        Of Iman and Davenport, less conservative: F with k - 1 and (k - 1)(N - 1)
        degrees of freedom. Infinite where all tables rank the methods alike.
    f_p_value : float
        Of the F statistic.
    """

    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float


def mean_ranks(scores: pd.DataFrame) -> pd.Series:
    """Rank the methods on each table, and average over the tables.

    Parameters
    ----------
    scores : pandas.DataFrame of shape (n_tables, n_methods)
        Higher is better.

    Returns
    -------
    pandas.Series of shape (n_methods,)
        In the order of the columns. 1 is the best; tied methods share the average of
        their ranks.

    Raises
    ------
    ValueError
        If a score is missing or infinite, if there are fewer than two methods, if there
        is no table, or if two methods have the same name.

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
    ranks = stats.rankdata(-check_scores(scores, n_tables=1), axis=1)
    return pd.Series(ranks.mean(axis=0), index=scores.columns, name="mean_rank")


def friedman(scores: pd.DataFrame) -> FriedmanResult:
    """Test whether the methods differ at all.

    Parameters
    ----------
    scores : pandas.DataFrame of shape (n_tables, n_methods)
        Higher is better. At least two tables and three methods; for two methods there
        is `wilcoxon_holm`.

    Returns
    -------
    FriedmanResult
        Where every table ties all methods: statistics 0, p-values 1.

    Raises
    ------
    ValueError
        If there are too few tables or methods, or for scores that `mean_ranks` refuses.

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
    >>> result = friedman(scores)
    >>> round(result.statistic, 3), round(result.p_value, 3)
    (6.5, 0.039)
    >>> round(result.f_statistic, 3), round(result.f_p_value, 3)
    (13.0, 0.007)
    """
    values = check_scores(scores, n_methods=3)
    if (values == values[:, :1]).all():
        return FriedmanResult(0.0, 1.0, 0.0, 1.0)
    n, k = values.shape
    chi2 = stats.friedmanchisquare(*values.T)
    statistic = max(float(chi2.statistic), 0.0)  # -1e-15 where mean ranks are equal
    # What full agreement would add; rounding may leave a little, of either sign.
    room = n * (k - 1) - statistic
    agreed = room < 1e-9 * n * (k - 1)
    f = np.inf if agreed else (n - 1) * statistic / room
    f_p_value = stats.f.sf(f, k - 1, (k - 1) * (n - 1))
    return FriedmanResult(statistic, float(chi2.pvalue), float(f), float(f_p_value))


def critical_difference(n_methods: int, n_tables: int, alpha: float) -> float:
    """Give the difference of mean ranks from which two methods differ significantly.

    Parameters
    ----------
    n_methods : int
        k, at least 2.
    n_tables : int
        N, at least 2.
    alpha : float
        The level of the test, over all pairs together; strictly between 0 and 1.

    Returns
    -------
    float
        q sqrt(k (k + 1) / (6 N)), where q is the upper `alpha` point of the studentised
        range of k normal variables, divided by sqrt(2).

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(critical_difference(10, 12, alpha=0.1), 3)
    3.609
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be strictly between 0 and 1, got {alpha}.")
    check_counts(n_methods, n_tables)
    q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * _rank_spread(n_methods, n_tables))


def nemenyi(scores: pd.DataFrame) -> pd.DataFrame:
    """Test all pairs of methods by their mean ranks.

    Parameters
    ----------
    scores : pandas.DataFrame of shape (n_tables, n_methods)
        Higher is better. At least two tables.

    Returns
    -------
    pandas.DataFrame of shape (n_methods, n_methods)
        The p-value of each pair, symmetric, with 1 on the diagonal. It is at most alpha
        exactly where the mean ranks differ by `critical_difference` of alpha or more:
        the p-values are adjusted for the number of pairs already. Below 1e-12 only
        their smallness is to be trusted. Ties are not corrected for, which errs on the
        safe side.

    Raises
    ------
    ValueError
        If there is one table, or for scores that `mean_ranks` refuses.

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
    >>> nemenyi(scores).round(3)
             PK    KNN   Mean
    PK    1.000  0.181  0.036
    KNN   0.181  1.000  0.759
    Mean  0.036  0.759  1.000
    """
    n, k = check_scores(scores).shape
    ranks = mean_ranks(scores)
    i, j = np.triu_indices(k, 1)
    q = np.abs(ranks.to_numpy()[i] - ranks.to_numpy()[j]) / _rank_spread(k, n)
    p_values = np.eye(k)
    upper = stats.studentized_range.sf(q * np.sqrt(2), k, np.inf)
    p_values[i, j] = p_values[j, i] = np.clip(upper, 0, 1)  # integrated numerically
    return pd.DataFrame(p_values, index=ranks.index, columns=ranks.index)


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

    Raises
    ------
    ValueError
        If a mean rank is NaN, or `cd` is not a positive number.

    Examples
    --------
    >>> import pandas as pd
    >>> ranks = pd.Series({"Mean": 3.9, "PK": 1.0, "KNN": 2.5, "MICE": 2.6})
    >>> nemenyi_groups(ranks, cd=1.55)
    [['PK', 'KNN'], ['KNN', 'MICE', 'Mean']]
    """
    if mean_ranks.isna().any():
        raise ValueError(f"{mean_ranks.index[mean_ranks.isna()][0]} has no mean rank.")
    if not cd > 0:
        raise ValueError(f"cd must be positive, got {cd}.")
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


def _rank_spread(n_methods: int, n_tables: int) -> float:
    """Give the standard deviation of a difference of two mean ranks, by chance."""
    return float(np.sqrt(n_methods * (n_methods + 1) / (6 * n_tables)))
