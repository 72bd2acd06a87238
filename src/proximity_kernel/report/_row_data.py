"""Rows in, the data about their cells in the page out: values, bins, estimates.

The page compares any row of the map with its nearest rows. So it holds the value and
the bin of every cell of these rows, the estimate of every missing one, and for each
pair how much each feature agrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from .. import ProximityKernel, ProximityNeighbors
from .._bins.codes import plain_codes
from .._inner_kernel import represent
from .._model.provenance import list_cells
from .._shared.threads import count_threads
from .._similarity.nearest import drop_itself
from ..explanation import bin_names, sum_by_feature
from ._display_columns import DisplayColumn, take_rows
from ._map import N_NEAREST, place_rows

ESTIMATED, UNKNOWN = -1, -2  # in place of a bin
_MAX_ESTIMATED = 3  # bins of an estimate


def describe_rows(
    table: Any,
    kernel: ProximityKernel,
    columns: Sequence[DisplayColumn],
    drawn: NDArray[np.int64],
) -> dict[str, Any]:
    """Collect what the page needs to compare the rows of the map with their nearest.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    kernel : ProximityKernel
        Fitted.
    columns : sequence of DisplayColumn
        Of the whole table.
    drawn : ndarray of shape (n,), int64
        Indices of the rows on the map, increasing.

    Returns
    -------
    dict
        ``rows``: indices of the rows, the ``n`` of the map first. ``places``: their
        positions on the plane, which shows the share ``variance``. ``near``: for each
        row of the map, the positions in ``rows`` of its nearest ones in the whole
        table. ``similarity``: of these, in thousandths. ``agreement``: of these pairs
        for each feature, in hundredths. ``columns``: name, kind, labels, values, bins,
        and names and groups of the bins. ``estimates``: position of the row, feature,
        number of matching rows (0 without any), how many features moved it most and
        which, then bins with their probabilities in hundredths.
    """
    k = min(N_NEAREST, len(table) - 1)
    neighbors = ProximityNeighbors(kernel=FrozenEstimator(kernel)).fit(table)
    queries = take_rows(table, drawn)
    similarity, nearest = neighbors.kneighbors(queries, k + 1, return_similarity=True)
    similarity, nearest = drop_itself(similarity, nearest, drawn)
    rows = np.concatenate([drawn, np.setdiff1d(nearest, drawn)])
    order = np.argsort(rows)
    near = order[np.searchsorted(rows, nearest, sorter=order)]
    table = take_rows(table, rows)
    matrix = represent(kernel, table)
    places, shown = place_rows(matrix, len(drawn))
    pairs = matrix[np.repeat(np.arange(len(drawn)), k)].multiply(matrix[near.ravel()])
    agreement = np.clip(sum_by_feature(kernel.model_, pairs), 0, 1)
    bins, cells, shares = estimate_cells(kernel, table)
    return {
        "rows": rows.tolist(),
        "n": len(drawn),
        "places": np.round(places, 4).tolist(),
        "variance": shown,
        "near": near.tolist(),
        "similarity": np.round(1000 * similarity).astype(int).tolist(),
        "agreement": np.round(100 * agreement)
        .astype(int)
        .reshape(len(drawn), k, len(columns))
        .tolist(),
        "estimates": (estimates := _describe_estimates(cells, shares)),
        "columns": _describe_columns(kernel, columns, rows, bins, estimates),
    }


def estimate_cells(
    kernel: ProximityKernel, table: Any
) -> tuple[NDArray[np.int64], NDArray[np.void], list[NDArray[np.float64]]]:
    """Find the bins of observed cells, and the estimates of missing ones.

    Returns
    -------
    bins : ndarray of shape (n_samples, n_features), int64
        `ESTIMATED` if a cell is missing, `UNKNOWN` if it is a new category.
    cells : structured ndarray of shape (n_missing,)
        As `ProximityKernel.provenance` lists them.
    shares : list of ndarray of shape (n_missing in the feature, n_bins)
        Estimates of the cells of each feature, in the order of `cells`.
    """
    model, n_threads = kernel.model_, count_threads(kernel.n_jobs)
    coded = model.code(table, n_threads)
    codes = plain_codes(coded.rows[coded.inverse])
    bins = np.where(codes.rows < model.n_bins, codes.rows.astype(np.int64), UNKNOWN)
    bins[codes.rows == codes.missing] = ESTIMATED
    found = model.matcher.estimate(codes, n_threads)
    shares = []
    for j, n_bins in enumerate(model.n_bins.tolist()):
        starts = found.start[:-1][found.feature == j]
        shares.append(found.probabilities[starts[:, None] + np.arange(n_bins)])
    return bins, list_cells(model, codes, n_threads), shares


def _describe_estimates(
    cells: NDArray[np.void], shares: list[NDArray[np.float64]]
) -> list[list[int]]:
    out = []
    rest = [iter(own) for own in shares]
    for cell in cells:
        row, j = int(cell["row"]), int(cell["feature"])
        share = next(rest[j])
        order = np.argsort(-share, kind="stable")[:_MAX_ESTIMATED]
        order = order[share[order] > 0]
        parts = np.column_stack([order, np.round(100 * share[order]).astype(int)])
        movers = [i for i in cell["columns"].tolist() if i >= 0]
        matched = cell["level"] in ("intersection", "union")
        head = [row, j, int(cell["support"]) * matched, len(movers), *movers]
        out.append(head + parts.ravel().tolist())
    return out


def _describe_columns(
    kernel: ProximityKernel,
    columns: Sequence[DisplayColumn],
    rows: NDArray[np.int64],
    bins: NDArray[np.int64],
    estimates: list[list[int]],
) -> list[dict[str, Any]]:
    """Describe the cells of rows, with the names of the bins that they use."""
    used = [set(own.tolist()) - {ESTIMATED, UNKNOWN} for own in bins.T]
    for _, j, _, n_movers, *rest in estimates:
        used[j].update(rest[n_movers::2])
    names = bin_names(kernel)
    out = []
    for j, column in enumerate(columns):
        groups = kernel.bin_groups_[j]
        values, labels = _write_values(column, column.values[rows])
        out.append(
            {
                "name": column.name,
                "kind": column.kind,
                "values": values,
                "labels": labels,
                "bins": bins[:, j].tolist(),
                "names": {k: column.write_bin(names[j][k]) for k in sorted(used[j])},
                "groups": None if groups is None else groups.tolist(),
            }
        )
    return out


def _write_values(
    column: DisplayColumn, values: NDArray[np.float64]
) -> tuple[list[float | int | None], list[str] | None]:
    """Round numbers, and keep only the labels that occur."""
    if column.labels is None:
        short = [None if v != v else _shorten(v) for v in values.tolist()]
        return short, None
    there = np.unique(values[~np.isnan(values)]).astype(np.int64).tolist()
    place = {label: at for at, label in enumerate(there)}
    return [place.get(v) for v in values.tolist()], [column.labels[k] for k in there]


def _shorten(value: float) -> float | int:
    whole = value == round(value) and abs(value) < 1e15
    return int(value) if whole else float(f"{value:.5g}")
