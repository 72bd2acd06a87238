"""Which pairs of methods differ over many tables, judged by the pair alone.

A pair's mean ranks (see `_ranking`) change with the other methods in the table; its
signed ranks do not. What scores are taken is said in `_scores`.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from ._scores import DECIMALS, check_scores


def wilcoxon_holm(scores: pd.DataFrame, against: str | None = None) -> pd.DataFrame:
    """Test pairs of methods by their signed ranks, corrected for the number of pairs.

    The tests are two-sided. Tables on which a pair is tied are dropped from its test,
    as Wilcoxon did (scipy's ``zero_method="wilcox"``); if all are, its p-value is 1.
    The p-values are exact for up to 13 untied tables, and up to 50 if no two
    differences are of equal size; else by normal approximation. (Before scipy 1.15,
    differences of equal size make them approximate for few tables too.)

    Parameters
    ----------
    scores : pandas.DataFrame of shape (n_tables, n_methods)
        Higher is better. At least two tables.
    against : str or None, default=None
        Test only the pairs of this method with each other one, and correct for those.

    Returns
    -------
    pandas.DataFrame of shape (n_pairs, 8)
        Smallest p-value first, with the columns ``method_a`` (`against` if given),
        ``method_b``, ``mean_difference`` (a - b), ``wins``, ``ties`` and ``losses`` (of
        a, in tables), ``p_value``, and ``p_holm``, adjusted by Holm's step-down.

    Raises
    ------
    ValueError
        If there is one table, if `against` is not a method, or for scores that
        `_ranking.mean_ranks` refuses.

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
    >>> table = wilcoxon_holm(scores, against="PK")
    >>> table[["method_b", "mean_difference", "wins", "ties", "losses"]]
      method_b  mean_difference  wins  ties  losses
    0      KNN             0.20     4     1       0
    1     Mean             0.18     4     0       1
    >>> table[["method_b", "p_value", "p_holm"]]
      method_b  p_value  p_holm
    0      KNN   0.1250    0.25
    1     Mean   0.1875    0.25
    """
    values = check_scores(scores)
    names = list(scores.columns)
    columns = dict(zip(names, values.T, strict=True))
    if against is None:
        pairs = list(combinations(names, 2))
    elif against in columns:
        pairs = [(against, name) for name in names if name != against]
    else:
        known = ", ".join(map(repr, names))
        raise ValueError(f"against must be one of {known}, got {against!r}.")
    table = pd.DataFrame([_pair(a, b, columns[a] - columns[b]) for a, b in pairs])
    table["p_holm"] = _holm(table["p_value"].to_numpy())
    return table.sort_values("p_value", kind="stable", ignore_index=True)


def _pair(a: str, b: str, differences: NDArray[np.float64]) -> dict[str, Any]:
    """Give the row of one pair, all but the adjusted p-value."""
    differences = np.round(differences, DECIMALS)  # 0.3 - 0.2 is not 0.2 - 0.1
    return {
        "method_a": a,
        "method_b": b,
        "mean_difference": float(differences.mean()),
        "wins": int((differences > 0).sum()),
        "ties": int((differences == 0).sum()),
        "losses": int((differences < 0).sum()),
        "p_value": _signed_rank_p(differences[differences != 0]),
    }


def _signed_rank_p(differences: NDArray[np.float64]) -> float:
    """Give Wilcoxon's p-value of differences without zeros.

    With zeros among more than 13 differences, scipy would drop these too, but then
    approximate where the exact distribution of the rest is at hand.
    """
    if not len(differences):
        return 1.0
    return float(stats.wilcoxon(differences, alternative="two-sided").pvalue)


def _holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust by Holm's step-down: the smallest times m, the next times m - 1, ..."""
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted
