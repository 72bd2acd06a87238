"""Hide cells of a table: by chance, by another column, or by the value itself.

Rubin's three mechanisms say what a hole depends on:

- ``mcar``, completely at random: on nothing. Every observed cell is equally likely to
  be hidden.
- ``mar``, at random: on what can still be seen. Some columns, the drivers, stay whole;
  in every other column a cell is the likelier hidden the higher its row stands in the
  driver of that column. Were the drivers hidden too, this would be the next one.
- ``mnar``, not at random: on the hidden value. A cell is the likelier hidden the
  higher its own value stands in its column.

"Stands" is by rank among the observed values of a column, from 0 to 1, so that neither
units nor outliers matter, and all kinds of columns can be driver or driven. Labels have
no order, so each column of them gets a random one.

The number of hidden cells is exact. The cells are drawn without replacement, a cell of
rank r with the weight ``exp(strength * r)``, all at once: add Gumbel noise to the log
weights and take the largest (Efraimidis and Spirakis 2006; Kool et al. 2019).
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

MECHANISMS = ("mcar", "mar", "mnar")

TableT = TypeVar("TableT", "pd.DataFrame", npt.NDArray[Any])
Seed = int | np.random.Generator | np.random.RandomState | None
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def simulate_missing(
    table: TableT,
    rate: float,
    mechanism: str = "mcar",
    random_state: Seed = None,
    *,
    strength: float = 4.0,
) -> TableT:
    """Hide cells of a table.

    Parameters
    ----------
    table : pandas.DataFrame or array of numbers, of shape (n_samples, n_features)
        It is not changed, and may have missing cells already.
    rate : float in [0, 1)
        The share of *all* cells of the table that are hidden: exactly
        ``round(rate * n_samples * n_features)`` cells, whatever the mechanism. Cells
        that are missing already stay so and do not count as hidden, so a table with
        holes comes back with more than this share missing.
    mechanism : {"mcar", "mar", "mnar"}, default="mcar"
        What a hole depends on: nothing; the value of another column, which stays
        whole; or the hidden value itself. For ``"mar"`` a third of the columns (at
        least one, at most all that are complete and not constant) are drawn as
        drivers, and each other column is given one of them.
    random_state : int, Generator, RandomState or None, default=None
        An int gives the same cells every time.
    strength : float, default=4.0
        How much the holes of ``"mar"`` and ``"mnar"`` depend on the value: in each
        draw the highest is ``exp(strength)`` times as likely as the lowest, about 55
        times by default. Zero makes them ``"mcar"`` among the cells that can be
        hidden; below zero the low ones are hidden.

    Returns
    -------
    DataFrame or array
        As given, with the hidden cells missing. Floats, categoricals, strings and dates
        keep their dtype. Integers and booleans have no missing value: where one of
        their cells is hidden, a column of a frame becomes nullable (``Int64``,
        ``boolean``), and an array float64.

    Raises
    ------
    ValueError
        If there are fewer cells to hide than the rate asks for (the message tells the
        largest possible rate), or no column can be a driver.

    Examples
    --------
    >>> import pandas as pd
    >>> from proximity_kernel_paper.datasets import simulate_missing
    >>> table = pd.DataFrame({"age": range(500), "sex": list("fm") * 250})
    >>> holes = simulate_missing(table, 0.2, "mnar", random_state=0)
    >>> int(holes.isna().sum().sum())  # of 1000 cells
    200
    >>> bool(table["age"][holes["age"].isna()].mean() > table["age"].mean())
    True
    >>> holes = simulate_missing(table, 0.2, "mar", random_state=0)
    >>> sorted(holes.isna().sum().to_list())  # one of the two is the driver
    [0, 200]
    >>> simulate_missing(table, 0.7, "mar", random_state=0)
    Traceback (most recent call last):
    ValueError: rate=0.7 of 1000 cells are 700, but 'mar' can hide only 500 here...
    """
    if mechanism not in MECHANISMS:
        raise ValueError(f"mechanism must be one of {MECHANISMS}, got {mechanism!r}.")
    if not (isinstance(rate, numbers.Real) and 0 <= rate < 1):
        raise ValueError(f"rate must be at least 0 and less than 1, got {rate!r}.")
    rng = _generator(random_state)
    columns = _columns_of(table)
    shape = (len(table), len(columns))
    observed = np.empty(shape, dtype=bool)
    for j, column in enumerate(columns):
        observed[:, j] = ~column.isna()
    if not round(rate * observed.size):
        return table.copy()
    weights = np.zeros(shape)
    eligible = observed
    if mechanism == "mar":
        weights, eligible = _mar(columns, observed, rng)
    elif mechanism == "mnar":
        weights = _ranks(columns, observed, rng)
    hidden = _draw(strength * weights, eligible, rate, mechanism, rng)
    return _hide(table, columns, hidden)


def _generator(random_state: Seed) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def _columns_of(table: Any) -> list[Any]:
    """Give the columns as pandas series, in their order; names may repeat."""
    if isinstance(table, np.ndarray):
        if table.ndim != 2 or table.dtype.kind not in "fiub":
            raise TypeError(
                "an array must be two-dimensional and hold numbers, got shape "
                f"{table.shape} of {table.dtype}; make a data frame of anything else."
            )
        table = pd.DataFrame(table)
    if not isinstance(table, pd.DataFrame):
        raise TypeError(
            f"table must be a pandas DataFrame or an array, got {type(table).__name__}."
        )
    return [table.iloc[:, j] for j in range(table.shape[1])]


def _ranks(columns: Sequence[Any], observed: Mask, rng: np.random.Generator) -> Floats:
    """Rank the observed cells of each column from 0 to 1; missing cells get 0."""
    ranks = np.zeros(observed.shape)
    for j, column in enumerate(columns):
        seen = observed[:, j]
        if seen.any():
            ranks[seen, j] = _rank(_keys(column[seen], rng))
    return ranks


def _rank(keys: npt.NDArray[Any]) -> Floats:
    """Rank keys from 0 to 1, equal ones equally.

    >>> _rank(np.array([30, 10, 20, 20])).tolist()
    [1.0, 0.0, 0.5, 0.5]
    """
    from scipy.stats import rankdata  # here: it takes long to import

    places: Floats = rankdata(keys) - 1
    return places / max(len(keys) - 1, 1)


def _keys(column: Any, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Give numbers in the order of a column's values: its own, or a random one."""
    types = pd.api.types
    kind = column.dtype
    if getattr(kind, "ordered", False):
        return np.asarray(column.cat.codes)
    if types.is_numeric_dtype(kind):  # booleans as well
        return np.asarray(column, dtype=float)
    if types.is_datetime64_any_dtype(kind) or types.is_timedelta64_dtype(kind):
        return np.asarray(column.astype("int64"))
    codes, labels = column.factorize()
    return np.asarray(rng.permutation(len(labels))[codes])


def _mar(
    columns: Sequence[Any], observed: Mask, rng: np.random.Generator
) -> tuple[Floats, Mask]:
    """Give each cell its row's rank in a driver, and say which cells can be hidden."""
    n_columns = len(columns)
    able = [
        j
        for j, column in enumerate(columns)
        if observed[:, j].all() and column.nunique() > 1  # a constant drives nothing
    ]
    if not able or n_columns < 2:
        raise ValueError(
            "'mar' needs a driver: a column without missing cells and with at least "
            "two different values, beside another column."
        )
    n_drivers = min(max(1, n_columns // 3), len(able))
    drivers = rng.choice(able, size=n_drivers, replace=False)
    driven = np.setdiff1d(np.arange(n_columns), drivers)
    # Each driver drives as many columns as any other, or one more.
    turns = rng.permutation(np.resize(drivers, len(driven)))
    ranks = _ranks([columns[j] for j in drivers], observed[:, drivers], rng)
    place = {int(j): k for k, j in enumerate(drivers)}
    weights = np.zeros(observed.shape)
    weights[:, driven] = ranks[:, [place[int(j)] for j in turns]]
    eligible = observed.copy()
    eligible[:, drivers] = False
    return weights, eligible


def _draw(
    log_weights: Floats,
    eligible: Mask,
    rate: float,
    mechanism: str,
    rng: np.random.Generator,
) -> Mask:
    """Draw cells without replacement, by their weights."""
    n_hidden = round(rate * eligible.size)
    places = np.flatnonzero(eligible)
    if n_hidden > len(places):
        raise ValueError(
            f"rate={rate} of {eligible.size} cells are {n_hidden}, but {mechanism!r} "
            f"can hide only {len(places)} here; the largest possible rate is "
            f"{len(places) / eligible.size}."
        )
    noisy = log_weights.ravel()[places] + rng.gumbel(size=len(places))
    chosen = np.argpartition(-noisy, n_hidden - 1)[:n_hidden]
    hidden = np.zeros(eligible.size, dtype=bool)
    hidden[places[chosen]] = True
    return hidden.reshape(eligible.shape)


def _hide(table: Any, columns: Sequence[Any], hidden: Mask) -> Any:
    """Make a copy of the table with the hidden cells missing."""
    if isinstance(table, np.ndarray):
        dtype = table.dtype if table.dtype.kind == "f" else np.dtype(np.float64)
        return np.where(hidden, np.array(np.nan, dtype=dtype), table.astype(dtype))
    parts = [
        _nullable(column).mask(hidden[:, j]) if hidden[:, j].any() else column.copy()
        for j, column in enumerate(columns)
    ]
    result = pd.concat(parts, axis=1)
    result.columns = table.columns
    return result


def _nullable(column: Any) -> Any:
    """Give integers and booleans a dtype that has a missing value."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iub":
        return column.convert_dtypes()
    return column
