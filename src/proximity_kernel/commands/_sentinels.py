"""Numbers that may stand for a missing cell, as -99 does in many surveys: pointed out.

Nothing is decided here: a code may be a true value. It is said if it lies far outside
of the other values of its column and is found in several cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ._call import counted, listed

_DIGITS = [int(digit * n) for n in range(2, 7) for digit in "789"]
CODES = np.array([-7, -8, -9, -97, -98, *_DIGITS, *(-code for code in _DIGITS)], float)
_FEWEST = 3  # different other values


def find_sentinels(frame: Any) -> list[str]:
    """Say which numbers may mean a missing cell, a line for each.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    list of str

    Examples
    --------
    >>> find_sentinels(pd.DataFrame({"age": [31.0, 44, -99, 52, 28, -99]}))
    ["'age': -99 (2 cells) may mean a missing cell (then --na=-99)"]
    """
    found: dict[float, list[tuple[str, int]]] = {}
    for name in frame:
        if pd.api.types.is_float_dtype(frame[name].dtype):
            for code, n_cells in _find_codes(frame[name].to_numpy()):
                found.setdefault(code, []).append((str(name), n_cells))
    return [_say(code, columns) for code, columns in found.items()]


def _find_codes(values: Any) -> list[tuple[float, int]]:
    values = values[np.isfinite(values)]
    if not len(values) or not np.isin([values.min(), values.max()], CODES).any():
        return []
    held, counts = np.unique(values, return_counts=True)
    is_code = np.isin(held, CODES)
    others = held[~is_code]
    if not is_code.any() or len(others) < _FEWEST:
        return []
    low, high = others[0], others[-1]
    gap = np.where(held < low, low - held, held - high)
    below = (held < 0) & (low >= 0)
    far = is_code & (counts > 1) & ((gap > high - low) | (below & (gap > 0)))
    return [(float(held[i]), int(counts[i])) for i in np.flatnonzero(far)]


def _say(code: float, columns: list[tuple[str, int]]) -> str:
    names = [name for name, _ in columns]
    cells = counted(sum(n for _, n in columns), "cell")
    where = listed(names, 3) if len(names) < 5 else f"{len(names)} columns"
    return f"{where}: {code:g} ({cells}) may mean a missing cell (then --na={code:g})"
