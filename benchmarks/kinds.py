"""The section on kinds of column: a frame of many kinds against an array of numbers."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from measuring import Record, Table, make_table, time_together
from numpy.typing import NDArray
from sections import MATCHINGS, Sizes, fit_transforms

from proximity_kernel import ProximityKernel

_CATEGORIES = (5, 10, 22, 48, 100, 200)  # of the text columns of the mixed table
_LEVELS = ("lowest", "low", "middle", "high", "highest")
_N_NUMERIC = 6


def measure_kinds(sizes: Sizes) -> list[Table]:
    """Time a table of many kinds of column against one of numbers."""
    table = Table(
        f"Kinds of column ({sizes.mixed:,} rows: 6 of numbers, 6 of text, 2 ordered; "
        "ratio: to an array of 14 of numbers)"
    )
    if find_spec("pandas") is None:
        table.notes.append("skipped: pandas is not installed")
        return [table]
    numbers = make_table(sizes.mixed)
    tables: dict[str, Any] = {"numpy": numbers, "pandas": _pandas_frame(numbers)}
    if find_spec("polars") is None:
        table.notes.append("polars is not installed")
    else:
        tables["polars"] = _polars_frame(numbers)
    times = {}
    for name, data in tables.items():
        ProximityKernel().fit_transform(data[:500])
        times[name] = time_together(f"kinds: {name}", fit_transforms(data))
    for name, seconds in times.items():
        record: Record = {"table": name if name != "numpy" else "numpy, numbers only"}
        for matching in MATCHINGS:
            record[f"{matching}_seconds"] = seconds[matching]
            record[f"{matching}_ratio"] = seconds[matching] / times["numpy"][matching]
        table.records.append(record)
    return [table]


def _labels(values: NDArray[np.float64], names: list[str]) -> list[str | None]:
    """Cut numbers into equally frequent parts and name them; missing stays so."""
    shares = np.linspace(0, 1, len(names) + 1)[1:-1]
    codes = np.searchsorted(np.nanquantile(values, shares), values)
    return [
        None if missing else names[code]
        for code, missing in zip(codes.tolist(), np.isnan(values).tolist(), strict=True)
    ]


def _mixed_columns(numbers: NDArray[np.float64]) -> tuple[dict[str, Any], list[str]]:
    """Make text and levels of the columns after the sixth; name the ordered ones."""
    columns: dict[str, Any] = {f"n{j}": numbers[:, j] for j in range(_N_NUMERIC)}
    for j, n_categories in enumerate(_CATEGORIES, start=_N_NUMERIC):
        names = [f"category {i}" for i in range(n_categories)]
        columns[f"c{j}"] = _labels(numbers[:, j], names)
    ordered = [f"o{j}" for j in range(len(columns), numbers.shape[1])]
    for name in ordered:
        columns[name] = _labels(numbers[:, len(columns)], list(_LEVELS))
    return columns, ordered


def _pandas_frame(numbers: NDArray[np.float64]) -> Any:
    import pandas as pd

    columns, ordered = _mixed_columns(numbers)
    for name in ordered:
        columns[name] = pd.Categorical(columns[name], _LEVELS, ordered=True)
    return pd.DataFrame(columns)


def _polars_frame(numbers: NDArray[np.float64]) -> Any:
    import polars as pl

    columns, ordered = _mixed_columns(numbers)
    levels = pl.Enum(_LEVELS)
    return pl.DataFrame(columns, schema_overrides=dict.fromkeys(ordered, levels))
