"""Rows in, the data about their cells in the page out: values, bins, estimates.

The page compares any row of the map with its nearest rows. So it holds the value and
the bin of every cell of these rows, the estimate of every missing one, and for each
pair how much each feature agrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import ProximityKernel
from .._model.representation import COARSE_SHARE
from ..explanation import bin_names
from ._display_columns import DisplayColumn, take_rows
from ._map import RowMap

ESTIMATED, UNKNOWN = -1, -2  # in place of a bin
_MAX_ESTIMATED = 3  # bins of an estimate
_DIGITS = 5  # significant ones of a number


def count_columns(kernel: ProximityKernel) -> NDArray[np.int64]:
    """Count the columns of each feature in the representation: bins and coarse bins."""
    shared = [
        0 if groups is None else int((np.bincount(groups) > 1).sum())
        for groups in kernel.bin_groups_
    ]
    return np.asarray(kernel.n_bins_, np.int64) + np.array(shared, np.int64)


def describe_rows(
    table: Any,
    kernel: ProximityKernel,
    columns: Sequence[DisplayColumn],
    rowmap: RowMap,
) -> dict[str, Any]:
    """Collect what the page needs to compare the rows of the map with their nearest.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    kernel : ProximityKernel
        Fitted, with sparse output.
    columns : sequence of DisplayColumn
        Of the whole table.
    rowmap : RowMap

    Returns
    -------
    dict
        ``rows``: indices of the rows, the ``n`` of the map first. ``places``: their
        positions on the plane. ``near``: for each row of the map, the positions in
        ``rows`` of its nearest ones. ``similarity``: of these, in thousandths.
        ``agreement``: of these pairs for each feature, in hundredths. ``columns``:
        name, kind, labels, values, bins, and names and groups of the bins.
        ``estimates``: position of the row, feature, number of matching rows (0 without
        any), how many features moved it most and which, then bins with their
        probabilities in hundredths.
    """
    others = np.setdiff1d(rowmap.nearest, rowmap.rows)
    rows = np.concatenate([rowmap.rows, others])
    place = {int(row): at for at, row in enumerate(rows)}
    near = [[place[int(row)] for row in some] for some in rowmap.nearest]
    table = take_rows(table, rows)
    matrix = sp.csr_array(kernel.transform(table))
    shares = split_bins(kernel, matrix)
    cells = kernel.provenance(table)
    bins = np.column_stack([_find_bins(share) for share in shares])
    bins[cells["row"], cells["feature"]] = ESTIMATED
    estimates, used = _describe_estimates(cells, shares)
    pairs = _measure_agreement(kernel, matrix, near)
    return {
        "rows": rows.tolist(),
        "n": len(rowmap.rows),
        "places": np.round(rowmap.plane.place(matrix), 4).tolist(),
        "near": near,
        "similarity": np.round(1000 * rowmap.similarity).astype(int).tolist(),
        "agreement": pairs,
        "estimates": estimates,
        "columns": _describe_columns(kernel, columns, rows, bins, used),
    }


def split_bins(kernel: ProximityKernel, matrix: sp.csr_array) -> list[sp.csr_array]:
    """Split the representation into the bins of each feature, each row's sum one."""
    widths = count_columns(kernel)
    ends = np.cumsum(widths)
    by_column = matrix.tocsc()
    out = []
    for j, (end, width) in enumerate(zip(ends, widths, strict=True)):
        n_bins = int(kernel.n_bins_[j])
        block = by_column[:, end - width : end - width + n_bins].tocsr()
        block = sp.csr_array(block @ sp.diags_array(_unscale_bins(kernel, j)))
        sums = np.asarray(block.sum(axis=1), np.float64).ravel()
        out.append(
            sp.csr_array(sp.diags_array(1 / np.where(sums > 0, sums, 1)) @ block)
        )
    return out


def _unscale_bins(kernel: ProximityKernel, j: int) -> NDArray[np.float64]:
    """Compute the factors that undo the smaller weight of bins with a coarse bin."""
    factors = np.ones(int(kernel.n_bins_[j]))
    groups = kernel.bin_groups_[j]
    if groups is not None:  # the bin of informative gaps is not in a group
        shared = np.bincount(groups)[groups] > 1
        factors[: len(groups)][shared] = 1 / np.sqrt(1 - COARSE_SHARE)
    return factors


def _find_bins(share: sp.csr_array) -> NDArray[np.int64]:
    """Find the first bin with a share in each row: that of an observed cell."""
    bins = np.full(share.shape[0], UNKNOWN, np.int64)
    some = np.flatnonzero(np.diff(share.indptr))
    bins[some] = share.indices[share.indptr[some]]
    return bins


def _describe_estimates(
    cells: NDArray[np.void], shares: list[sp.csr_array]
) -> tuple[list[list[int]], list[set[int]]]:
    """Pack the estimates, and collect the bins of each feature that they use."""
    used: list[set[int]] = [set() for _ in shares]
    out = []
    for cell in cells:
        row, j = int(cell["row"]), int(cell["feature"])
        held = shares[j]
        here = slice(held.indptr[row], held.indptr[row + 1])
        order = np.argsort(-held.data[here], kind="stable")[:_MAX_ESTIMATED]
        names = held.indices[here][order].tolist()
        parts = np.round(100 * held.data[here][order]).astype(int).tolist()
        used[j].update(names)
        movers = [i for i in cell["columns"].tolist() if i >= 0]
        matched = cell["level"] in ("intersection", "union")
        head = [row, j, int(cell["support"]) * matched, len(movers), *movers]
        out.append(head + [n for pair in zip(names, parts, strict=True) for n in pair])
    return out, used


def _measure_agreement(
    kernel: ProximityKernel, matrix: sp.csr_array, near: list[list[int]]
) -> list[list[list[int]]]:
    """Compute how much each pair of near rows agrees in each feature, in hundredths."""
    widths = count_columns(kernel)
    of_column = np.repeat(np.arange(len(widths)), widths)
    sums = sp.csr_array(
        (np.ones(len(of_column)), (np.arange(len(of_column)), of_column)),
        shape=(len(of_column), len(widths)),
    )
    k = len(near[0])
    left = np.repeat(np.arange(len(near)), k)
    right = np.array(near, np.int64).ravel()
    products = matrix[left].multiply(matrix[right])
    agreement = np.asarray((sp.csr_array(products) @ sums).toarray())
    whole = np.round(100 * np.clip(agreement, 0, 1)).astype(int)
    parts: list[list[list[int]]] = whole.reshape(len(near), k, len(widths)).tolist()
    return parts


def _describe_columns(
    kernel: ProximityKernel,
    columns: Sequence[DisplayColumn],
    rows: NDArray[np.int64],
    bins: NDArray[np.int64],
    used: list[set[int]],
) -> list[dict[str, Any]]:
    names = bin_names(kernel)
    out = []
    for j, column in enumerate(columns):
        kept = sorted({*used[j], *(bins[:, j][bins[:, j] >= 0].tolist())})
        groups = kernel.bin_groups_[j]
        values, labels = _write_values(column, column.values[rows])
        out.append(
            {
                "name": column.name,
                "kind": column.kind,
                "values": values,
                "labels": labels,
                "bins": bins[:, j].tolist(),
                "names": {str(k): column.write_bin(names[j][k]) for k in kept},
                "groups": None if groups is None else np.asarray(groups).tolist(),
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
    there = np.unique(values[~np.isnan(values)]).astype(np.int64)
    place = {float(label): at for at, label in enumerate(there.tolist())}
    return [place.get(v) for v in values.tolist()], [column.labels[k] for k in there]


def _shorten(value: float) -> float | int:
    if value == round(value) and abs(value) < 1e15:
        return int(value)
    return float(f"{value:.{_DIGITS}g}")
