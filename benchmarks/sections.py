"""The sections of the benchmark: each measures one thing and gives its tables."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Cell, Record, Table, make_table, show_progress, time_together
from numpy.typing import NDArray
from sklearn.impute import KNNImputer
from sklearn.metrics.pairwise import nan_euclidean_distances
from sklearn.preprocessing import KBinsDiscretizer

from proximity_kernel import ProximityKernel

# Four bins with each rule, and the defaults: pairwise with bins in two resolutions.
OPTIONS: dict[str, dict[str, Any]] = {
    "cascade": {"n_bins": 4, "matching": "cascade"},
    "pairwise": {"n_bins": 4},
    "defaults": {},
}
MATCHINGS = tuple(OPTIONS)


@dataclass(frozen=True)
class Sizes:
    """Rows of the tables."""

    large: int  # peers, memory, the end of the growth with rows
    small: int  # the comparisons that need all pairs of rows
    growth: int  # the growth with anything but rows
    mixed: int  # the table of many kinds of column

    def at_most(self, n_rows: int) -> Sizes:
        """Return the same with `n_rows` large rows, and no more elsewhere."""
        others = (min(n, n_rows) for n in (self.small, self.growth, self.mixed))
        return Sizes(n_rows, *others)


FULL = Sizes(large=1_000_000, small=8_000, growth=50_000, mixed=100_000)
QUICK = Sizes(large=50_000, small=2_000, growth=5_000, mixed=10_000)


def warm_up() -> None:
    """Compile the loops, or load them, before anything is timed."""
    show_progress("compiling")
    for matching in MATCHINGS:
        ProximityKernel(**OPTIONS[matching]).fit(make_table(500)).kernel(make_table(9))


def fit_transforms(table: Any, **options: Any) -> dict[str, Callable[[], Any]]:
    """Make a call for each matching, and for the defaults."""
    return {
        matching: partial(
            ProximityKernel(**(OPTIONS[matching] | options)).fit_transform, table
        )
        for matching in MATCHINGS
    }


# --- peers


def measure_peers(sizes: Sizes) -> list[Table]:
    """Compare with what scikit-learn's users have."""
    table = Table("Against scikit-learn (ratio: ours to theirs, below 1 is faster)")
    table.records += _against_discretizer(sizes.large)
    table.records += _against_imputer(sizes.small)
    table.records += _against_distances(sizes.small)
    return [table]


def _against_discretizer(n_rows: int) -> list[Record]:
    # Before scikit-learn 1.7 the discretizer had one kind of quantile only.
    known = KBinsDiscretizer().get_params()
    method = {"quantile_method": "averaged_inverted_cdf"}
    peer = KBinsDiscretizer(
        4,
        encode="onehot",
        strategy="quantile",
        subsample=None,
        **{name: value for name, value in method.items() if name in known},
    )
    complete = make_table(n_rows, missing=0)
    calls = fit_transforms(make_table(n_rows))
    calls["KBinsDiscretizer"] = partial(peer.fit_transform, complete)
    return _ratios("fit_transform", n_rows, calls)


def _against_imputer(n_rows: int) -> list[Record]:
    table = make_table(n_rows)
    return _ratios(
        "fit_transform",
        n_rows,
        {
            "defaults": partial(ProximityKernel().fit_transform, table),
            "KNNImputer": partial(KNNImputer().fit_transform, table),
        },
    )


def _against_distances(n_rows: int) -> list[Record]:
    table = make_table(n_rows)
    fitted = ProximityKernel().fit(table)
    return _ratios(
        "kernel",
        n_rows,
        {
            "defaults": partial(fitted.kernel, table),
            "nan_euclidean_distances": partial(nan_euclidean_distances, table),
        },
    )


def measure_wide(_: Sizes) -> list[Table]:
    """Take tables with many columns, where a feature draws on some of the others."""
    table = Table("Wide tables (defaults)")
    for n_rows, n_columns, missing in ((2_000, 1_000, 0.5), (100, 10_000, 0.2)):
        rows = make_table(n_rows, n_columns, missing)
        call = {"defaults": partial(ProximityKernel().fit_transform, rows)}
        seconds = time_together(f"wide: {n_columns:,} columns", call)["defaults"]
        table.records.append(
            {
                "rows": n_rows,
                "columns": n_columns,
                "missing": missing,
                "seconds": seconds,
            }
        )
    return [table]


def _ratios(
    task: str, n_rows: int, calls: dict[str, Callable[[], Any]]
) -> list[Record]:
    """Time the calls; the last of them is the peer."""
    seconds = time_together(f"{task} of {n_rows:,} rows", calls)
    *ours, peer = seconds
    return [
        {
            "task": task,
            "rows": n_rows,
            "matching": name,
            "seconds": seconds[name],
            "peer": peer,
            "peer_seconds": seconds[peer],
            "ratio": seconds[name] / seconds[peer],
        }
        for name in ours
    ]


# --- growth


def measure_growth(sizes: Sizes) -> list[Table]:
    """Follow the time as one thing grows and the others stay."""
    rows = [n for n in (10_000, 30_000, 100_000, 300_000) if n < sizes.large]
    n = sizes.growth
    return [
        _grow("rows", [*rows, sizes.large], make_table, "14 columns", slopes=True),
        _grow("columns", [7, 14, 28, 56], partial(make_table, n), f"{n:,} rows", True),
        _grow_bins([2, 4, 8, 16, 32], n),
        _grow(
            "missing_percent",
            [1, 5, 10, 20, 40],
            lambda percent: make_table(n, missing=percent / 100),
            f"{n:,} rows of 14 columns",
        ),
    ]


def _grow(
    axis: str,
    values: list[Any],
    make: Callable[[Any], NDArray[np.float64]],
    where: str,
    slopes: bool = False,
) -> Table:
    times = []
    for value in values:
        calls = fit_transforms(make(value))
        times.append(time_together(f"growth with {axis}, {value:,}", calls))
    return _growth_table(axis, values, times, where, slopes)


def _grow_bins(values: list[int], n_rows: int) -> Table:
    rows = make_table(n_rows)
    times = [
        time_together(f"growth with bins, {n}", fit_transforms(rows, n_bins=n))
        for n in values
    ]
    return _growth_table("bins", values, times, f"{n_rows:,} rows of 14 columns")


def _growth_table(
    axis: str,
    values: list[Any],
    times: list[dict[str, float]],
    where: str,
    slopes: bool = False,
) -> Table:
    """Lay out seconds, the factor and the slope against the line before."""
    name = axis.replace("_", " ")
    table = Table(f"Growth of fit_transform with {name} ({where})")
    for i, (value, seconds) in enumerate(zip(values, times, strict=True)):
        record: Record = {axis: value}
        for name in MATCHINGS:
            factor = seconds[name] / times[i - 1][name] if i else None
            record[f"{name}_seconds"] = seconds[name]
            record[f"{name}_factor"] = factor
            if slopes:
                record[f"{name}_slope"] = _slope(factor, values[i - 1], value)
        table.records.append(record)
    if slopes and len(values) > 1:
        table.notes.append(_overall_slopes(values, times))
    return table


def _slope(factor: float | None, before: float, value: float) -> Cell:
    return None if factor is None else float(np.log(factor) / np.log(value / before))


def _overall_slopes(values: list[Any], times: list[dict[str, float]]) -> str:
    slopes = (
        np.polyfit(np.log(values), np.log([seconds[name] for seconds in times]), 1)[0]
        for name in MATCHINGS
    )
    found = ", ".join(
        f"{name} {slope:.2f}" for name, slope in zip(MATCHINGS, slopes, strict=True)
    )
    return f"log-log slope over all lines: {found}"


# --- memory


def measure_memory(sizes: Sizes) -> list[Table]:
    """Take the peak of fit_transform above the table, each in a fresh process."""
    table = Table("Peak memory of fit_transform above the table (MB: 10^6 bytes)")
    if find_spec("resource") is None:
        table.notes.append("skipped: this system does not tell the peak")
        return [table]
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.npy")
        np.save(path, make_table(sizes.large))
        for matching in MATCHINGS:
            show_progress(f"memory: {matching}")
            with ProcessPoolExecutor(1, mp_context=spawn) as pool:
                peak, kept = pool.submit(_peak_in_child, path, matching).result()
            table.records.append(
                {
                    "matching": matching,
                    "rows": sizes.large,
                    "table_mb": path.stat().st_size / 1e6,
                    "representation_mb": kept / 1e6,
                    "peak_mb": peak / 1e6,
                    "multiple": peak / kept,
                }
            )
    show_progress("")
    return [table]


def _peak_in_child(path: Path, matching: str) -> tuple[int, int]:
    """Bytes of the peak above the table, and of the representation, in this process.

    The table comes from a file: drawing it here would have a peak of its own.
    """
    estimator = ProximityKernel(**OPTIONS[matching])
    estimator.fit_transform(make_table(500))  # the code is loaded before, too
    table = np.load(path)
    before = _start_peak()
    out = estimator.fit_transform(table)
    peak = _read_memory("VmHWM") - before
    return peak, out.data.nbytes + out.indices.nbytes + out.indptr.nbytes


def _start_peak() -> int:
    """Forget the peak so far where the system can, and give the memory held now."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:  # not Linux: the peak so far, which the table has just raised
        return _read_memory("VmHWM")
    return _read_memory("VmRSS")


def _read_memory(name: str) -> int:
    """Read VmHWM, the peak, or VmRSS, the memory held now, in bytes.

    On Linux ``ru_maxrss`` of a child starts at the peak of its parent, so it serves
    only where ``/proc`` does not tell.
    """
    import resource

    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    found = [int(line.split()[1]) for line in lines if line.startswith(name)]
    if found:
        return found[0] * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


# --- first call

_FIRST_CALL = """
import json, logging, sys, time
times = [time.perf_counter()]
from proximity_kernel import ProximityKernel
times.append(time.perf_counter())
logging.getLogger("proximity_kernel").setLevel("ERROR")  # we know that it compiles
import numpy
table = numpy.load(sys.argv[1])
for _ in range(2):
    start = time.perf_counter()
    ProximityKernel().fit_transform(table)
    times.append(time.perf_counter() - start)
print(json.dumps([times[1] - times[0], *times[2:]]))
"""


def measure_first_call(sizes: Sizes) -> list[Table]:
    """Time the import and the first call, with and without compiled code on disk."""
    table = Table(f"First fit_transform of a process ({sizes.small:,} rows, seconds)")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.npy")
        np.save(path, make_table(sizes.small))
        environment = os.environ | {"NUMBA_CACHE_DIR": str(Path(folder, "cache"))}
        for cache in ("empty", "filled"):
            show_progress(f"first call: {cache} cache")
            done = subprocess.run(
                [sys.executable, "-c", _FIRST_CALL, str(path)],
                env=environment,
                stdout=subprocess.PIPE,
                check=True,
            )
            names = ("import", "first_call", "second_call")
            seconds = zip(names, json.loads(done.stdout), strict=True)
            table.records.append({"cache": cache, **dict(seconds)})
    show_progress("")
    return [table]
