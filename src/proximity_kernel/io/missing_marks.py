"""Texts and numbers that stand for a missing cell.

Texts such as ``NA`` are read as missing. A number such as -99 may be a true value, so
it is only reported: if it lies far outside of the other values of its column, and
several cells hold it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .wording import counted, listed

DEFAULT_MARKS = (
    "", "?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "NULL", "null", "<NA>",
    "NaT", "-", "--", ".",
)  # fmt: skip
_REPEATED = [int(digit * n) for n in range(2, 7) for digit in "789"]  # 77, ..., 999999
_CODES = [-7, -8, -9, -97, -98, *_REPEATED, *(-code for code in _REPEATED)]
_MIN_OTHERS = 3  # other distinct values that a column must have


def find_missing_codes(frame: Any) -> list[str]:
    """Report the numbers that may stand for a missing cell, one sentence for each.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    list of str

    Examples
    --------
    >>> import pandas as pd
    >>> find_missing_codes(pd.DataFrame({"age": [31.0, 44, -99, 52, 28, -99]}))
    ["'age': -99 (2 cells) may stand for a missing cell (if so, `missing=-99`)"]
    """
    found: dict[float, list[tuple[str, int]]] = {}
    for name in frame:
        if frame[name].dtype.kind == "f":
            for code, n_cells in _find_codes(frame[name].to_numpy(dtype=float)):
                found.setdefault(code, []).append((str(name), n_cells))
    return [_describe(code, columns) for code, columns in found.items()]


def _find_codes(values: Any) -> list[tuple[float, int]]:
    """Find the codes in a column, each with its number of cells."""
    values = values[np.isfinite(values)]
    if not len(values) or not np.isin([values.min(), values.max()], _CODES).any():
        return []
    distinct, counts = np.unique(values, return_counts=True)
    is_code = np.isin(distinct, _CODES)
    others = distinct[~is_code]
    if not is_code.any() or len(others) < _MIN_OTHERS:
        return []
    low, high = others[0], others[-1]
    gap = np.where(distinct < low, low - distinct, distinct - high)
    negative = (distinct < 0) & (low >= 0)
    far = is_code & (counts > 1) & ((gap > high - low) | (negative & (gap > 0)))
    return [(float(distinct[i]), int(counts[i])) for i in np.flatnonzero(far)]


def _describe(code: float, columns: list[tuple[str, int]]) -> str:
    names = [name for name, _ in columns]
    cells = counted(sum(n for _, n in columns), "cell")
    where = listed(names, 3) if len(names) < 5 else f"{len(names)} columns"
    return (
        f"{where}: {code:g} ({cells}) may stand for a missing cell (if so, "
        f"`missing={code:g}`)"
    )
