"""The section on neighbours: exact search on the representation, against the dense."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from measuring import Table, make_table, time_together
from sections import Sizes
from sklearn.neighbors import NearestNeighbors

from proximity_kernel import ProximityKernel, ProximityNeighbors

_QUERIES = 5_000
_NEIGHBORS = 10


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


def _find_loss(dense: Any, asked: Any, found: Any, n_counted: int) -> float:
    """By how much the last neighbour found is less alike than the true one, at most."""
    some = slice(0, 200)
    similarity = asked[some] @ dense.T / n_counted
    best = np.partition(similarity, -_NEIGHBORS, axis=1)[:, -_NEIGHBORS]
    last = np.take_along_axis(similarity, found[some], axis=1).min(axis=1)
    return max(0.0, float((best - last).max()))
