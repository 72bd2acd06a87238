"""The section on references: a sample of the fitted rows against all of them.

The tables are mixed (a fifth of the columns text, the others numbers, some skewed),
made of six common factors and noise, and a fifth of the cells is missing. Errors are
of the kernel over random pairs of rows: root mean square and mean of the difference to
what all rows give. Two yardsticks stand beside them: how far each is from the kernel of
the complete rows, and "another", all rows of another table from the same source: so
much of what all rows give is chance.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from measuring import Record, Table, make_table, show_progress, time_once
from numpy.typing import NDArray
from sections import Sizes

from proximity_kernel import ProximityKernel

_COLUMNS = 50
_FACTORS = 6
_NOISE = 0.5
_MISSING = 0.2
_QUERIES = 4000  # rows that pairs are made of
_PAIRS = 40_000
_SHARE = 5  # of the rows, one in so many is kept
_OPTIONS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "graded": {"matching": "graded"},
}


def measure_references(sizes: Sizes) -> list[Table]:
    """Time a sample of the rows against all of them, and compare the kernels."""
    n_rows = sizes.large
    wide = Table(
        f"References ({n_rows:,} rows x {_COLUMNS}, mixed, correlated, 20 % missing; "
        f"errors of the kernel over {_PAIRS:,} pairs; seconds: fit, and transform of "
        f"{_QUERIES:,} rows)"
    )
    narrow = Table(f"References, fit_transform ({n_rows:,} rows x 14, defaults)")
    narrow.records = _time_narrow(n_rows)
    if find_spec("pandas") is None:
        wide.notes.append("skipped: pandas is not installed")
        return [wide, narrow]
    table, complete = make_mixed(n_rows, seed=0)
    other, _ = make_mixed(n_rows, seed=1)
    for name, options in _OPTIONS.items():
        wide.records += _compare(name, options, table, other, complete)
    return [wide, narrow]


def make_mixed(n_rows: int, seed: int, n_columns: int = _COLUMNS) -> tuple[Any, Any]:
    """Draw a mixed, correlated frame with gaps, and its first rows without."""
    import pandas as pd

    source = np.random.default_rng(99)  # of what tables of all seeds share
    loadings = source.standard_normal((_FACTORS, n_columns)) / np.sqrt(_FACTORS)
    limits = np.quantile(source.standard_normal(10_000), np.arange(1, 6) / 6)
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n_rows, _FACTORS))
    columns, whole = {}, {}
    for j in range(n_columns):
        values = factors @ loadings[:, j] + _NOISE * rng.standard_normal(n_rows)
        gaps = rng.random(n_rows) < _MISSING
        if j % 5 == 0:
            codes = np.searchsorted(limits, values)
            labels = list("abcdef")
            columns[f"c{j}"] = pd.Categorical.from_codes(
                np.where(gaps, -1, codes), labels
            )
            whole[f"c{j}"] = pd.Categorical.from_codes(codes[:_QUERIES], labels)
            continue
        values = np.exp(values) if j % 5 == 1 else values
        whole[f"n{j}"] = values[:_QUERIES].copy()
        values[gaps] = np.nan
        columns[f"n{j}"] = values
    return pd.DataFrame(columns), pd.DataFrame(whole)


def _compare(
    name: str, options: dict[str, Any], table: Any, other: Any, complete: Any
) -> list[Record]:
    rows = table[:_QUERIES]
    n_rows = len(table)
    kinds = {
        "all": (table, None),
        "sample": (table, n_rows // _SHARE),
        "half": (table, n_rows // 2),
        "another": (other, None),
    }
    kernels, seconds = {}, {}
    truth = np.empty(0)
    for kind, (fitted, most) in kinds.items():
        show_progress(f"references: {name}, {kind}")
        pk = ProximityKernel(max_references=most, dtype=np.float64, **options)
        fit_seconds = time_once(lambda pk=pk, fitted=fitted: pk.fit(fitted))
        if kind == "all":
            truth = _similarities(pk, complete)
        kernels[kind] = _similarities(pk, rows)  # warms the weights
        seconds[kind] = (
            fit_seconds,
            min(time_once(lambda pk=pk: pk.transform(rows)) for _ in range(2)),
        )
    records = []
    for kind, (_, most) in kinds.items():
        error = kernels[kind] - kernels["all"]
        record: Record = {
            "options": name,
            "references": kind,
            "max_references": most,
            "fit_seconds": seconds[kind][0],
            "transform_seconds": seconds[kind][1],
            "times_faster": seconds["all"][1] / seconds[kind][1],
            "rms_error": float(np.sqrt(np.mean(error**2))),
            "mean_error": float(error.mean()),
            "rms_to_complete": float(np.sqrt(np.mean((kernels[kind] - truth) ** 2))),
        }
        records.append(record)
    return records


def _similarities(pk: ProximityKernel, rows: Any) -> NDArray[np.float64]:
    """Compare random pairs of rows, always the same ones."""
    left, right = np.random.default_rng(5).integers(len(rows), size=(2, _PAIRS))
    z = pk.transform(rows)
    products: NDArray[np.float64] = np.asarray(z[left].multiply(z[right]).sum(axis=1))
    return products.ravel() / int(np.count_nonzero(pk.n_bins_))


def _time_narrow(n_rows: int) -> list[Record]:
    table = make_table(n_rows)
    records: list[Record] = []
    for most in (None, n_rows // _SHARE, n_rows // 20):
        show_progress(f"references: 14 columns, {most or 'all'}")
        pk = ProximityKernel(max_references=most)
        seconds = min(
            time_once(lambda pk=pk: pk.fit_transform(table)) for _ in range(2)
        )
        first = records[0]["seconds"] if records else seconds
        records.append(
            {
                "max_references": most,
                "seconds": seconds,
                "times_faster": float(first or 0) / seconds,
            }
        )
    return records
