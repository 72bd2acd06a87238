"""The sections on neighbors: exact search, and clusters of any shape from it."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from measuring import Table, make_table, show_progress, time_together
from sections import Sizes
from sklearn.cluster import HDBSCAN
from sklearn.neighbors import NearestNeighbors

from proximity_kernel import ProximityKernel, ProximityNeighbors

_QUERIES = 5_000
_NEIGHBORS = 10
_EDGES = 30
_SMALLEST = 30  # rows of a cluster


def measure_neighbors(sizes: Sizes) -> list[Table]:
    """Time the ten nearest rows of some queries, and compare what was found."""
    n_rows, n_queries = sizes.mixed, min(_QUERIES, sizes.mixed)
    rows = make_table(n_rows + n_queries)
    table, queries = rows[:n_rows], rows[n_rows:]
    out = Table(
        f"{_NEIGHBORS} nearest of {n_rows:,} rows x 14 to {n_queries:,} queries "
        "(theirs: brute force on the dense float32 representation; ratio: theirs to "
        "ours, above 1 is faster; ours represents the queries too)"
    )
    for name, options in {"4 bins": {"n_bins": 4}, "defaults": {}}.items():
        ours = ProximityNeighbors(_NEIGHBORS, kernel=ProximityKernel(**options))
        ours.fit(table)
        dense, asked = (
            sp.csr_array(ours.kernel_.transform(part)).toarray()
            for part in (table, queries)
        )
        theirs = NearestNeighbors(n_neighbors=_NEIGHBORS, algorithm="brute").fit(dense)
        calls: dict[str, Any] = {
            "ours": partial(ours.kneighbors, queries),
            "theirs": partial(theirs.kneighbors, asked),
        }
        seconds = time_together(f"neighbors: {name}", calls)
        n_counted = int(np.count_nonzero(ours.kernel_.n_bins_))
        _, found = ours.kneighbors(queries)
        out.records.append(
            {
                "kernel": name,
                "our_seconds": seconds["ours"],
                "their_seconds": seconds["theirs"],
                "ratio": seconds["theirs"] / seconds["ours"],
                "similarity_lost": _find_loss(dense, asked, found, n_counted),
            }
        )
    return [out]


def measure_shapes(sizes: Sizes) -> list[Table]:
    """Time HDBSCAN on the neighbors of a real table, and on all distances of a part."""
    out = Table(
        "HDBSCAN on the rows of the table adult (14 columns; gib: peak of the process; "
        "distances: for all pairs of rows, 8 bytes each)"
    )
    folder = os.environ.get("PROXIMITY_KERNEL_DATA")
    if folder is None:
        out.notes.append("skipped: PROXIMITY_KERNEL_DATA names no folder")
        return [out]
    n_rows, spawn = len(_read_adult(folder)), multiprocessing.get_context("spawn")
    few = min(sizes.small, n_rows)
    for way, size in (("graph", few), ("all distances", few), ("graph", n_rows)):
        show_progress(f"shapes: {way}, {size:,} rows")
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            found = pool.submit(_cluster_in_child, folder, way, size).result()
        out.records.append(
            {"way": way, "rows": size} | found | {"distances_gib": size**2 / 2**27}
        )
    return [out]


def _read_adult(folder: str) -> pd.DataFrame:
    """Read the incomplete table without its classes."""
    form: Any = {"header": None, "na_values": "?", "skipinitialspace": True}
    parts = [
        pd.read_csv(Path(folder, "adult", name), comment="|", **form)
        for name in ("adult.data", "adult.test")
    ]
    table = pd.concat(parts, ignore_index=True)
    table.columns = [f"column {j}" for j in range(table.shape[1])]
    return table.iloc[:, :-1].sample(frac=1, random_state=0)


def _cluster_in_child(folder: str, way: str, n_rows: int) -> dict[str, Any]:
    import resource

    table, start = _read_adult(folder)[:n_rows], time.perf_counter()
    near = ProximityNeighbors(_EDGES).fit(table)
    if way == "graph":
        distances: Any = near.distance_graph()
    else:
        distances = near.kernel_.distance(table)
    between = time.perf_counter()
    labels = HDBSCAN(_SMALLEST, metric="precomputed", copy=False).fit_predict(distances)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "distance_seconds": between - start,
        "cluster_seconds": time.perf_counter() - between,
        "gib": peak,
        "clusters": int(labels.max()) + 1,
        "noise": float((labels < 0).mean()),
    }


def _find_loss(dense: Any, asked: Any, found: Any, n_counted: int) -> float:
    """By how much the last neighbour found is less alike than the true one, at most."""
    some = slice(0, 200)
    similarity = asked[some] @ dense.T / n_counted
    best = np.partition(similarity, -_NEIGHBORS, axis=1)[:, -_NEIGHBORS]
    last = np.take_along_axis(similarity, found[some], axis=1).min(axis=1)
    return max(0.0, float((best - last).max()))
