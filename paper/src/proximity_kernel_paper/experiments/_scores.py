"""Scores of methods over many tables, as the statistics take them.

Scores are given as tables by methods, and higher is better: negate what is to be small.
Every function of `_ranking` and `_pairs` takes complete scores only, and names the gap
otherwise; `complete_cases` drops the tables with gaps and says which. Scores equal to
12 decimals are tied: the NMI of a perfect clustering may come out as 1 - 2e-16, which
should not cost it a rank.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

DECIMALS = 12  # beyond these, scores differ by rounding


@dataclass(frozen=True, eq=False)  # frames have no single truth value to compare by
class CompleteCases:
    """The tables on which every method has a score.

    Attributes
    ----------
    scores : pandas.DataFrame of shape (n_complete, n_methods)
        Without gaps, in the order given.
    dropped : tuple of table names
        The tables with a gap, in the order given.
    """

    scores: pd.DataFrame
    dropped: tuple[Hashable, ...]


def complete_cases(scores: pd.DataFrame) -> CompleteCases:
    """Keep the tables on which every method has a score.

    Parameters
    ----------
    scores : pandas.DataFrame of shape (n_tables, n_methods)
        NaN where a method has no score.

    Returns
    -------
    CompleteCases

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame(
    ...     {"PK": [0.9, 0.8], "KNN": [0.7, None]}, index=["iris", "wine"]
    ... )
    >>> cases = complete_cases(scores)
    >>> cases.scores
           PK  KNN
    iris  0.9  0.7
    >>> cases.dropped
    ('wine',)
    """
    gaps = scores.isna().any(axis=1)
    return CompleteCases(scores[~gaps], tuple(scores.index[gaps]))


def check_scores(
    scores: pd.DataFrame, n_methods: int = 2, n_tables: int = 2
) -> NDArray[np.float64]:
    """Give the scores as a rounded array, or say what is wrong with them."""
    check_counts(scores.shape[1], scores.shape[0], n_methods, n_tables)
    if not scores.columns.is_unique:
        twice = scores.columns[scores.columns.duplicated()][0]
        raise ValueError(f"two methods have the same name {twice!r}.")
    values: NDArray[np.float64] = scores.to_numpy(dtype=float, na_value=np.nan)
    gaps = np.argwhere(~np.isfinite(values))
    if len(gaps):
        row, column = gaps[0]
        table, method = scores.index[row], scores.columns[column]
        what = "score" if np.isnan(values[row, column]) else "finite score"
        more = f" ({len(gaps) - 1} more such)" if len(gaps) > 1 else ""
        raise ValueError(f"{method!r} has no {what} on table {table!r}{more}.")
    return np.round(values, DECIMALS)


def check_counts(
    n_methods: int, n_tables: int, least_methods: int = 2, least_tables: int = 2
) -> None:
    """Refuse too few methods or tables."""
    if n_methods < least_methods:
        raise ValueError(f"needs at least {least_methods} methods, got {n_methods}.")
    if n_tables < least_tables:
        raise ValueError(f"needs at least {least_tables} tables, got {n_tables}.")
