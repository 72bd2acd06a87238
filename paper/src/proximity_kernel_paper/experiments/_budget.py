"""How much work one trial may be, and what is cut when it would be more.

The deep methods train for epochs of rows, and some methods hold a square of the rows.
On the two largest tables (48,842 and 8,124 rows) that is hours for a grid of ten seeds,
so a trial has a budget, the same for all methods of a kind, and what was cut is written
beside the result:

- methods that train see at most `BUDGET` rows (epochs times rows of the table), by
  fewer epochs;
- methods whose memory or time does not bear all rows are given a random part of the
  rows, `MOST_ROWS`, and are judged on that part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..baselines import registry

BUDGET = 1_000_000
QUICK_BUDGET = 20_000
TRAINED = ("GAIN", "MIRACLE", "MIWAE")
# HI-PMK clusters the rows of a square matrix, MissForest keeps its forests.
MOST_ROWS = {"HI-PMK": 8_200, "MissForest": 20_000}


def cut_epochs(
    method: str, parameters: Mapping[str, Any], n_rows: int, budget: int
) -> tuple[dict[str, Any], str]:
    """Keep a method within its budget.

    Parameters
    ----------
    method : str
    parameters : mapping from str to value
    n_rows : int
        Of the table.
    budget : int
        The most epochs times rows; 0 for no limit.

    Returns
    -------
    parameters : dict from str to value
        With fewer epochs if need be.
    note : str
        What was cut; empty if nothing.

    Examples
    --------
    >>> cut_epochs("Mean", {}, 50_000, 1_000_000)
    ({}, '')
    """
    if method not in TRAINED or not budget:
        return dict(parameters), ""
    wanted = int(registry[method].build(**parameters).imputer.epochs)
    allowed = max(1, budget // n_rows)
    if wanted <= allowed:
        return dict(parameters), ""
    note = f"{allowed} of {wanted} epochs ({budget:,} rows seen)"
    return {**parameters, "epochs": allowed}, note


def cut_rows(
    method: str, frame: pd.DataFrame, target: pd.Series, seed: int
) -> tuple[pd.DataFrame, pd.Series, str]:
    """Give a method only as many rows as it bears.

    Parameters
    ----------
    method : str
    frame : pandas.DataFrame of shape (n, d)
    target : pandas.Series of shape (n,)
    seed : int
        Chooses the rows.

    Returns
    -------
    frame : pandas.DataFrame of shape (m, d)
    target : pandas.Series of shape (m,)
    note : str
        What was cut; empty if nothing.
    """
    most = MOST_ROWS.get(method, len(frame))
    if len(frame) <= most:
        return frame, target, ""
    chosen = np.random.default_rng(seed).choice(len(frame), most, replace=False)
    chosen.sort()
    note = f"{most:,} of {len(frame):,} rows"
    part = frame.iloc[chosen].reset_index(drop=True)
    return part, target.iloc[chosen].reset_index(drop=True), note


def say_budget(quick: bool = False) -> str:
    """Say what the budget is, for those who read the results.

    Parameters
    ----------
    quick : bool, default=False
        Whether it was a quick run.

    Returns
    -------
    str
    """
    budget = QUICK_BUDGET if quick else BUDGET
    rows = ", ".join(f"{method} {most:,} rows" for method, most in MOST_ROWS.items())
    return (
        f"Caps: epochs times rows at most {budget:,} for {', '.join(TRAINED)}; at most "
        f"{rows}, drawn at random. What was cut is in the column note of the results."
    )
