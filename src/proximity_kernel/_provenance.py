"""Where the estimates of missing cells come from: which cells of the row moved them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cascade import LEVELS, Cascade
from ._codes import Codes, plain_codes
from ._estimates import Estimates
from ._model import Model
from ._pair_loops import Evidence
from ._pairwise import Pairwise

MOST_COLUMNS = 3
"""Features that are named for a cell."""

_CELL = np.dtype(
    [
        ("row", "i8"),
        ("feature", "i8"),
        ("level", "U12"),
        ("observed", "i8"),
        ("support", "i8"),
        ("certainty", "f8"),
        ("columns", "i8", (MOST_COLUMNS,)),
        ("moved", "f8", (MOST_COLUMNS,)),
    ]
)


def list_cells(model: Model, codes: Codes, n_threads: int) -> NDArray[np.void]:
    """List every missing cell of a table with what its estimate rests on.

    Parameters
    ----------
    model : Model
    codes : Codes
    n_threads : int

    Returns
    -------
    structured ndarray of shape (n_missing,), row after row
        With the fields of `ProximityKernel.provenance`.
    """
    codes = plain_codes(codes.rows[codes.inverse])
    has_bins = model.n_bins > 0
    observed = ((codes.rows != codes.missing) & has_bins).sum(axis=1)
    if isinstance(model.matcher, Cascade):
        found = model.matcher.match(codes, n_threads)
        cells, level = Estimates(*found[:4]), np.array(LEVELS)[found.level]
        support = found.support
    else:
        cells = model.matcher.estimate(codes, n_threads)
        totals = np.array([own.sum() for own in model.totals_by_feature], np.int64)
        support = totals[cells.feature]
    n_cells = len(cells.feature)
    out = np.zeros(n_cells, _CELL)
    out["row"] = np.repeat(np.arange(len(codes.rows)), np.diff(cells.row_start))
    out["feature"], out["support"] = cells.feature, support
    out["observed"] = observed[out["row"]]
    out["columns"] = -1
    for at in range(n_cells):
        shares = cells.probabilities[cells.start[at] : cells.start[at + 1]]
        out["certainty"][at] = shares.max(initial=0.0)
        if isinstance(model.matcher, Pairwise):
            row = codes.rows[out["row"][at]]
            columns, moved = _move(model.matcher, row, int(cells.feature[at]), shares)
            out["columns"][at, : len(columns)] = columns
            out["moved"][at, : len(columns)] = moved
    if isinstance(model.matcher, Pairwise):
        level = np.where(out["columns"][:, 0] < 0, "prior", "evidence")
    out["level"] = level
    return out


def _move(
    matcher: Pairwise, row: NDArray[Any], j: int, shares: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the cells that moved the estimate of feature j most, and how far."""
    sources, told = find_evidence(matcher.evidence, row, j)
    if not len(sources) or not matcher.weights[j]:
        return np.empty(0, np.int64), np.empty(0)
    without = shares * np.exp(-matcher.weights[j] * told)
    without /= without.sum(axis=1, keepdims=True)
    moved = np.abs(without - shares).sum(axis=1) / 2
    order = np.argsort(-moved, kind="stable")[:MOST_COLUMNS]
    order = order[moved[order] > 0]
    return sources[order], moved[order]


def find_evidence(
    evidence: Evidence, row: NDArray[Any], j: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Look up what each observed cell of a row tells about feature j.

    Returns
    -------
    sources : ndarray of shape (n_sources,), int64
        The features that tell something.
    told : ndarray of shape (n_sources, n_bins)
        Evidence for each bin of j.
    """
    entries = np.arange(evidence.source_start[j], evidence.source_start[j + 1])
    features = evidence.source[entries]
    codes = row[features].astype(np.int64)
    known = codes < evidence.n_bins[features]
    entries, features, codes = entries[known], features[known], codes[known]
    place = evidence.place[evidence.offsets[features] + codes]
    entries, features, place = (a[place >= 0] for a in (entries, features, place))
    own = evidence.offsets[j] + np.arange(evidence.n_bins[j])
    at = (evidence.base[entries] + place * evidence.stride)[:, None]
    told = evidence.values[at + np.maximum(evidence.place[own], 0)]
    return features, np.where(evidence.place[own] >= 0, told, 0.0)
