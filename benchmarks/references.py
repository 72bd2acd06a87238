"""The section on references: a sample of the fitted rows against all of them.

Two kinds of table. "factors" is mixed (a fifth of the columns text, the others numbers,
some skewed), made of six common factors and noise, and a fifth of its cells is missing.
"groups" is that of the other sections: five Gaussian groups, a tenth missing.

Errors are of the kernel over random pairs of rows: root mean square and mean of the
difference to what all rows give. Two yardsticks stand beside them: how far each is from
the kernel of the complete rows, and "another", all rows of another table from the same
source: so much of what all rows give is chance.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from measuring import Record, Table, make_table, show_progress
from numpy.typing import NDArray
from sections import Sizes

from proximity_kernel import ProximityKernel

_COLUMNS = 50
_FACTORS = 6
_NOISE = 0.5
_MISSING = 0.2
_QUERIES = 4000  # rows that pairs are made of
_PAIRS = 40_000
_ROUNDS = 2
_SHARE = 5  # of the rows, one in so many is kept
_OPTIONS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "graded": {"matching": "graded"},
    "graded, 4 bins": {"matching": "graded", "n_bins": 4},
}


def measure_references(sizes: Sizes) -> list[Table]:
    """Time a sample of the rows against all of them, and compare the kernels."""
    n_rows = sizes.large
    wide = Table(
        f"References ({n_rows:,} rows x {_COLUMNS}; errors of the kernel over "
        f"{_PAIRS:,} pairs; processor seconds of transform of {_QUERIES:,} rows)"
    )
    narrow = Table(
        f"References, fit_transform ({n_rows:,} rows x 14, defaults; processor seconds)"
    )
    narrow.records = _time_narrow(n_rows)
    if find_spec("pandas") is None:
        wide.notes.append("skipped: pandas is not installed")
        return [wide, narrow]
    for kind, make in {"factors": make_factors, "groups": make_groups}.items():
        table, complete = make(n_rows, seed=0)
        other, _ = make(n_rows, seed=1)
        for name, options in _OPTIONS.items():
            found = _compare(name, options, table, other, complete)
            wide.records += [{"table": kind, **record} for record in found]
    return [wide, narrow]


def make_groups(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Draw five Gaussian groups with gaps, and the first rows without."""
    # One seed draws both, so that "another" has the groups of the first.
    rows = make_table(2 * n_rows, _COLUMNS)
    whole = make_table(2 * n_rows, _COLUMNS, missing=0)
    part = slice(seed * n_rows, (seed + 1) * n_rows)
    return rows[part].copy(), whole[part][:_QUERIES].copy()


def make_factors(n_rows: int, seed: int, n_columns: int = _COLUMNS) -> tuple[Any, Any]:
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
    fits, kernels = {}, {}
    for kind, (fitted, most) in kinds.items():
        show_progress(f"references: {name}, {kind}")
        pk = ProximityKernel(max_references=most, dtype=np.float64, **options)
        fits[kind] = pk.fit(fitted)
        kernels[kind] = _similarities(pk, rows)  # warms the weights
    truth = _similarities(fits["all"], complete)
    seconds = _processor_seconds(fits, rows)
    records: list[Record] = []
    for kind, (_, most) in kinds.items():
        error = kernels[kind] - kernels["all"]
        record: Record = {
            "options": name,
            "references": kind,
            "max_references": most,
            "transform_seconds": seconds[kind],
            "times_faster": seconds["all"] / seconds[kind],
            "rms_error": float(np.sqrt(np.mean(error**2))),
            "mean_error": float(error.mean()),
            "rms_to_complete": float(np.sqrt(np.mean((kernels[kind] - truth) ** 2))),
        }
        records.append(record)
    return records


def _processor_seconds(fits: dict[str, ProximityKernel], rows: Any) -> dict[str, float]:
    """Time `transform` in turns, on the processor's clock: others may use it too."""
    best = dict.fromkeys(fits, float("inf"))
    for _ in range(_ROUNDS):
        for kind, pk in fits.items():
            start = time.process_time()
            pk.transform(rows)
            best[kind] = min(best[kind], time.process_time() - start)
    return best


def _similarities(pk: ProximityKernel, rows: Any) -> NDArray[np.float64]:
    """Compare random pairs of rows, always the same ones."""
    left, right = np.random.default_rng(5).integers(len(rows), size=(2, _PAIRS))
    z = pk.transform(rows)
    products: NDArray[np.float64] = np.asarray(z[left].multiply(z[right]).sum(axis=1))
    return products.ravel() / int(np.count_nonzero(pk.n_bins_))


def _time_narrow(n_rows: int) -> list[Record]:
    table = make_table(n_rows)
    seconds: dict[int | None, float] = {}
    for most in (None, n_rows // _SHARE, n_rows // 20):
        show_progress(f"references: 14 columns, {most or 'all'}")
        start = time.process_time()
        ProximityKernel(max_references=most).fit_transform(table)
        seconds[most] = time.process_time() - start
    return [
        {
            "max_references": most,
            "seconds": taken,
            "times_faster": seconds[None] / taken,
        }
        for most, taken in seconds.items()
    ]
