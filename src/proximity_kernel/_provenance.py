"""Provenance of estimates: which cells of the row influenced them, and how much."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cascade import LEVELS, Cascade
from ._coded import CodedTable, Estimates
from ._model import Model
from ._pairwise import Evidence, Pairwise

MOST_COLUMNS = 3
"""Maximum number of features that are listed for a cell."""
_ROOM = 1 << 22  # numbers in memory at a time
_ROUNDING = 1e-12
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
        ("feature_name", "O"),
        ("column_names", "O", (MOST_COLUMNS,)),
    ]
)


def list_cells(model: Model, coded: CodedTable, n_threads: int) -> NDArray[np.void]:
    """List every missing cell of a table with the provenance of its estimate.

    Parameters
    ----------
    model : Model
    coded : CodedTable
    n_threads : int

    Returns
    -------
    structured ndarray of shape (n_missing,), row after row
        With the fields of `ProximityKernel.provenance`.
    """
    coded = coded.take(slice(None))
    has_bins = model.n_bins > 0
    observed = ((coded.bins != coded.missing) & has_bins).sum(axis=1)
    if isinstance(model.matcher, Cascade):
        found = model.matcher.match(coded, n_threads)
        cells, level = Estimates(*found[:4]), np.array(LEVELS)[found.level]
        support = found.support
    else:
        cells = model.matcher.estimate(coded, n_threads)
        totals = np.array([own.sum() for own in model.totals_by_feature], np.int64)
        support = totals[cells.feature]
    out = np.zeros(len(cells.feature), _CELL)
    out["row"] = np.repeat(np.arange(len(coded.bins)), np.diff(cells.row_start))
    out["feature"], out["support"] = cells.feature, support
    out["observed"] = observed[out["row"]]
    out["columns"] = -1
    for j in np.flatnonzero(has_bins).tolist():
        here = np.flatnonzero(cells.feature == j)
        step = max(1, _ROOM // max(1, int(model.n_bins[j]) * len(model.bins)))
        for first in range(0, len(here), step):
            some = here[first : first + step]
            at = cells.start[some][:, None] + np.arange(model.n_bins[j])
            shares = cells.probabilities[at]
            out["certainty"][some] = shares.max(axis=1)
            if isinstance(model.matcher, Pairwise):
                rows = coded.bins[out["row"][some]]
                out["columns"][some], out["moved"][some] = _find_movers(
                    model.matcher, rows, j, shares
                )
    if isinstance(model.matcher, Pairwise):
        level = np.where(out["columns"][:, 0] < 0, "prior", "evidence")
    out["level"] = level
    names = np.array([*model.names, ""], object)
    out["feature_name"] = names[out["feature"]]
    out["column_names"] = names[out["columns"]]  # that of -1 is the last, empty
    return out


def _find_movers(
    matcher: Pairwise, rows: NDArray[Any], j: int, shares: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the cells that changed the estimates of feature j most, and how much.

    Parameters
    ----------
    matcher : Pairwise
    rows : ndarray of shape (n, n_features)
        Codes of rows in which j is missing.
    j : int
    shares : ndarray of shape (n, n_bins)
        The estimates of these rows.

    Returns
    -------
    columns : ndarray of shape (n, MOST_COLUMNS), int64
        Features, padded with -1.
    moved : ndarray of shape (n, MOST_COLUMNS)
        Total variation distance between the estimates with and without the cell.
    """
    columns = np.full((len(rows), MOST_COLUMNS), -1)
    far = np.zeros((len(rows), MOST_COLUMNS))
    sources, evidence = _find_evidence(matcher.evidence, rows, j)
    without = shares[:, None, :] * np.exp(-matcher.weights[j] * evidence)
    without /= without.sum(axis=2, keepdims=True)
    moved = np.abs(without - shares[:, None, :]).sum(axis=2) / 2
    moved[moved < _ROUNDING] = 0
    order = np.argsort(-moved, axis=1, kind="stable")[:, :MOST_COLUMNS]
    found = np.take_along_axis(moved, order, axis=1)
    width = order.shape[1]
    columns[:, :width] = np.where(found > 0, sources[order], -1)
    far[:, :width] = found
    return columns, far


def _find_evidence(
    evidence: Evidence, rows: NDArray[Any], j: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Look up how much each cell of some rows is evidence for feature j.

    Returns
    -------
    sources : ndarray of shape (n_sources,), int64
        The features that are evidence for j.
    values : ndarray of shape (n, n_sources, n_bins)
        Evidence for each bin of j; 0 where a cell has none.
    """
    entries = np.arange(evidence.source_start[j], evidence.source_start[j + 1])
    sources = evidence.source[entries]
    codes = rows[:, sources].astype(np.int64)
    known = codes < evidence.n_bins[sources]
    place = evidence.place[np.where(known, evidence.offsets[sources] + codes, 0)]
    known &= place >= 0
    own = evidence.place[evidence.offsets[j] + np.arange(evidence.n_bins[j])]
    at = evidence.base[entries] + np.where(known, place, 0) * evidence.stride
    values = evidence.values[at[:, :, None] + np.maximum(own, 0)]
    return sources, np.where(known[:, :, None] & (own >= 0), values, 0.0)
