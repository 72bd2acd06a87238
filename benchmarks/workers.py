"""The section on workers: Dask on one and two processes, with as many rows for each.

Every worker is a process with one thread and has the same number of rows, so with
perfect scaling two take as long as one (weak scaling). A partition of 250,000 rows is
made by the worker itself. What a partition sends to the others is measured by pickling
its states: that of the bins, that of the counts, and its sums in an iteration of
k-means.
"""

from __future__ import annotations

import pickle
import time
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from measuring import Record, Table, make_table, show_progress
from sections import Sizes

_COLUMNS = 50
_PARTITION = 250_000
_PER_WORKER = 4  # partitions
_CLUSTERS = 8
_WORKERS = (1, 2)
_PLANNED = 1_000_000_000  # rows


def measure_workers(sizes: Sizes) -> list[Table]:
    """Time fit, transform and k-means on one and two workers."""
    rates = Table(
        f"Dask on local workers ({_COLUMNS} columns, 10 % missing, one thread each; "
        "us per row and worker; efficiency: one worker's time to that of more)"
    )
    sent = Table("Bytes that a partition sends")
    if find_spec("distributed") is None:
        rates.notes.append("skipped: distributed is not installed")
        return [rates]
    n_rows = min(_PARTITION, sizes.large)
    for n_workers in _WORKERS:
        show_progress(f"workers: {n_workers}")
        rates.records += _time_workers(n_workers, n_rows)
    first = {record["task"]: record["seconds"] for record in rates.records[:3]}
    for record in rates.records:
        record["efficiency"] = float(first[record["task"]]) / float(record["seconds"])
    sent.records = _weigh_states(n_rows)
    return [rates, sent, _plan(rates.records, sent.records)]


def _plan(rates: list[Record], sent: list[Record]) -> Table:
    """Extrapolate to a billion rows, at the efficiency of the most workers measured."""
    table = Table(
        f"A billion rows x {_COLUMNS}, extrapolated from these rates (minutes; the "
        f"partitions have {_PARTITION:,} rows)"
    )
    last = [record for record in rates if record["workers"] == _WORKERS[-1]]
    for n_workers in (1, 16, 256):
        record: Record = {"workers": n_workers}
        for rate in last:
            seconds = float(rate["us_per_row"] or 0) * _PLANNED / 1e6 / n_workers
            record[str(rate["task"])] = seconds / 60
        table.records.append(record)
    n_parts = _PLANNED // _PARTITION
    total = sum(float(state["kilobytes"] or 0) for state in sent[:2]) * n_parts / 1e6
    table.notes.append(
        f"{n_parts:,} partitions send {total:,.1f} GB in the two passes of fit"
    )
    return table


def _make(i: int, n_rows: int) -> Any:
    return make_table(n_rows, _COLUMNS, seed=i)


def _time_workers(n_workers: int, n_rows: int) -> list[Record]:
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster

    from proximity_kernel.dask import DaskProximityKernel, DaskProximityKMeans

    n_parts = _PER_WORKER * n_workers
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        parts = client.persist(
            [delayed(_make, pure=False)(i, n_rows) for i in range(n_parts)]
        )
        blocks = [da.from_delayed(p, (n_rows, _COLUMNS), float) for p in parts]
        X = da.concatenate(blocks)
        warm = da.from_delayed(delayed(_make)(99, 300), (300, _COLUMNS), float)
        DaskProximityKMeans(2, n_init=1).fit(warm).labels_.compute()
        model = DaskProximityKernel()
        km = DaskProximityKMeans(_CLUSTERS, n_init=1, max_iter=5, random_state=0)
        tasks = {
            "fit": partial(model.fit, X),
            "transform": lambda: model.transform(X).map_blocks(_norm).sum().compute(),
            "k-means, 5 passes": partial(km.fit, X),
        }
        out = []
        for task, call in tasks.items():
            start = time.perf_counter()
            call()
            seconds = time.perf_counter() - start
            record: Record = {
                "workers": n_workers,
                "rows": n_parts * n_rows,
                "task": task,
                "seconds": seconds,
                "us_per_row": 1e6 * seconds / (_PER_WORKER * n_rows),
            }
            out.append(record)
    return out


def _norm(block: Any) -> Any:
    """Reduce a block to one number, so that nothing large travels."""
    return np.array([[float(block.sum())]])


def _weigh_states(n_rows: int) -> list[Record]:
    from proximity_kernel import ProximityKMeans
    from proximity_kernel._bin_summary import finish_bins, summarize_bins
    from proximity_kernel._kmeans import gather_rows, sum_part
    from proximity_kernel._row_summary import plan_rows, summarize_rows
    from proximity_kernel.kernel import represent_distinct

    part = _make(0, n_rows)
    survey = summarize_bins(part)
    binned = finish_bins(survey, "from_dtype", ["auto"] * _COLUMNS, 255)
    plan = plan_rows("pairwise", binned.n_bins, n_rows, seed=0)
    counts = summarize_rows(part, binned, plan)
    km = ProximityKMeans(_CLUSTERS, n_init=1, random_state=0).fit(part[:5000])
    codes, matrix = represent_distinct(km.kernel_, part[:5000])
    sums = sum_part(gather_rows(matrix, codes.counts), km.cluster_centers_, None)
    states = {"bins": survey, "counts": counts, "sums of an iteration": sums}
    return [
        {"state": name, "kilobytes": len(pickle.dumps(state, 5)) / 1e3}
        for name, state in states.items()
    ]
