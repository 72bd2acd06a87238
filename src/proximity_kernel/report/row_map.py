"""A map of the rows, and the nearest rows of some of them.

The map shows the first two principal components of the rows. If openTSNE is installed
and the table is not large, it is a t-SNE layout, which keeps similar rows near each
other. Numbers count by their ranks here, because the limits of bins would cut a single
cloud into islands; missing cells count by their estimates. The points are colored by
clusters or columns. Some of the rows can be compared with their nearest rows. For these
rows, the page has the value and the bin of every cell, the estimate of every missing
cell, and how much each feature of each pair agrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from .. import ProximityKernel
from .._coded import CodedTable
from .._model import Model
from .._nearest import Nearest, drop_itself, find_nearest, merge_nearest
from .._shared.resources import count_threads
from ..kernel import bin_names, index_rows, represent_for_search
from .display_columns import DisplayColumn
from .sections import estimate_cells, sample_rows

MAP_ROWS = 50_000
"""Maximum number of rows on the map."""
COMPARED_ROWS = 2_000
"""Maximum number of rows on the map that can be compared with their nearest rows."""
N_NEAREST = 5
"""Number of nearest rows that the page lists for a row."""
N_KEPT = 10
"""Number of nearest rows by which the map is judged."""
ESTIMATED, UNKNOWN = -1, -2  # instead of the index of a bin
_MAX_CELLS = 170_000  # cells of the rows that can be compared
_MAX_GRADES = 2_500_000  # cells of the rows on the map
_MIN_ROWS = 100  # rows that can be compared, however many columns there are
_ROWS_AT_ONCE = 1 << 13  # rows represented at a time for the search, to save memory
_RANKED_AT_ONCE = 1 << 12  # rows represented at a time for the map
_MIN_SPREAD, _MAX_SPREAD = 100, 5_000  # rows on a map that is laid out by t-SNE
# The color of a cell on the map is a character: a label, or a position on a scale.
_GRADES = "0123456789abcdefghijklmnopqrstuvwxyz"
_NO_GRADE = "-"  # a missing cell
_MAX_LABELS = 7  # labels of a column that have a color of their own
_MAX_ESTIMATED = 3  # bins of an estimate that the page lists


def sample_compared_rows(
    n_rows: int, n_columns: int, always: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Sample rows for comparison, and include `always`; take all rows if they fit."""
    # The page also needs room for the nearest rows of each.
    fit = _MAX_CELLS // n_columns // (1 + N_NEAREST)
    most = min(COMPARED_ROWS, max(_MIN_ROWS, fit))
    few = n_rows <= COMPARED_ROWS and n_rows * n_columns <= _MAX_CELLS
    if n_rows <= most or few:
        return np.arange(n_rows)
    others = np.setdiff1d(np.arange(n_rows), always)
    drawn = rng.choice(others, most - len(always), replace=False)
    return np.sort(np.concatenate([always, drawn]))


def rank_rows(
    model: Model,
    columns: Sequence[DisplayColumn],
    coded: CodedTable,
    rows: NDArray[np.int64],
    n_threads: int,
) -> sp.csr_array:
    """Represent rows for the map: numbers by ranks, categories by probabilities.

    `rows` has the indices of the coded rows in the table. A column of numbers has one
    column, the rank of each cell scaled to -1 to 1, so that numbers and categories have
    a similar influence. A missing cell has the expected rank of its estimate. Any other
    column has one column for each bin.
    """
    plain = replace(model, rarity=0.0, feature_weights=None)
    kinds = [one.kind for one in model.types]
    ranks = [
        _rank_cells(column, rows) if kind == "numeric" else None
        for column, kind in zip(columns, kinds, strict=True)
    ]
    ends = np.cumsum(model.n_bins)
    parts = []
    for first in range(0, len(rows), _RANKED_AT_ONCE):
        some = slice(first, first + _RANKED_AT_ONCE)
        matrix = plain.represent(coded.take(some), np.float64, 0.0, n_threads)
        shares = plain.share_bins(matrix)
        blocks = [sp.csr_array((shares.shape[0], 1))]
        for j in np.flatnonzero(model.scales).tolist():
            weight = np.sqrt(model.scales[j])
            own = shares[:, ends[j] - model.n_bins[j] : ends[j]]
            found = ranks[j]
            if found is not None:
                n_ordered = model.bins[j].n_bins
                totals = model.totals_by_feature[j][:n_ordered]
                expected = _expect_rank(own[:, :n_ordered].toarray(), totals)
                filled = np.where(np.isnan(found[some]), expected, found[some])
                blocks.append(sp.csr_array(2 * weight * (filled[:, None] - 0.5)))
                own = own[:, n_ordered:]  # the bin of informative missing cells, if any
            if own.shape[1]:
                blocks.append(sp.csr_array(weight * np.sqrt(0.5) * own))
        parts.append(sp.hstack(blocks, format="csr"))
    return sp.csr_array(sp.vstack(parts, format="csr"))


def _rank_cells(column: DisplayColumn, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute the ranks of cells in their column, from 0 to 1; NaN if missing."""
    known, values = np.sort(column.known), column.values[rows]
    places = [np.searchsorted(known, values, side) for side in ("left", "right")]
    ranks = (places[0] + places[1]) / (2 * max(len(known), 1))
    return np.where(np.isnan(values), np.nan, ranks)


def _expect_rank(
    shares: NDArray[np.float64], totals: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute the expected rank of each row, the mean rank of bins by their shares."""
    middles = (np.cumsum(totals) - totals / 2) / max(totals.sum(), 1)
    given = shares.sum(axis=1)
    return np.where(given > 0, shares @ middles / np.where(given > 0, given, 1), 0.5)


def place_rows(matrix: sp.csr_array, n_drawn: int) -> NDArray[np.float64]:
    """Project rows on two principal components, fitted to the first `n_drawn` rows.

    On each axis, the farthest of these rows is on the positive side.
    """
    matrix = matrix.astype(np.float64, copy=False)
    places = np.zeros((matrix.shape[0], 2))
    drawn = matrix[:n_drawn]
    few = min(drawn.shape)
    if not few or (drawn.max(axis=0) - drawn.min(axis=0)).max() < 1e-9:  # all equal
        return places
    if few > 2:
        pca = PCA(2, svd_solver="arpack", random_state=0).fit(drawn)
        places = pca.transform(matrix)
    else:
        pca = PCA(few, svd_solver="full").fit(drawn.toarray())
        places[:, :few] = pca.transform(matrix.toarray())
    far = places[np.abs(places[:n_drawn]).argmax(axis=0), [0, 1]]
    return places * np.where(far < 0, -1.0, 1.0)


def spread_rows(
    matrix: sp.csr_array, places: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Move rows on the plane by t-SNE, so that similar rows are near each other.

    They start at `places`, and stay there unless the package openTSNE is installed (the
    extra `map`) and there are 100 to 5,000 rows: fewer rows have no neighborhoods, and
    more rows take long.
    """
    if not _MIN_SPREAD <= len(places) <= _MAX_SPREAD or not places.any():
        return places
    try:
        from openTSNE import TSNE
        from openTSNE.initialization import rescale
    except ModuleNotFoundError:
        return places
    # One thread: the same seed gives the same page.
    layout = TSNE(
        initialization=rescale(places), neighbors="exact", n_jobs=1, random_state=0
    )
    return np.asarray(layout.fit(matrix), np.float64)


def describe_rows(
    kernel: ProximityKernel,
    columns: Sequence[DisplayColumn],
    coded: CodedTable,
    compared: NDArray[np.int64],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Collect what the page needs to draw the map and to compare rows on it.

    `compared` has the indices of the rows that can be compared, ascending. If there are
    too many other rows, `rng` samples them. The keys are:

    ``rows``: indices of the rows on the map: first the ``n`` compared rows; then, up to
    position ``n_cells``, their nearest rows that are not compared; then other rows.
    ``places``: their positions on the map. ``kept``: the mean share of the ten nearest
    rows of a compared row that are also its ten nearest on the map. ``near``: for each
    compared row, its nearest rows in the whole table, as indices into ``rows``.
    ``similarity``: to these rows, in thousandths. ``agreement``: of each such pair of
    rows in each feature, in hundredths.

    ``columns``: a dict for each column, with its name, its kind, and whether it is
    measured (has no labels), and ``steps`` if it has few different numbers. For the
    first ``n_cells`` rows: ``cells``, as indices into the distinct ``texts`` (-1 if
    missing); ``bins`` (-1 if estimated, -2 if unknown), with the ``names`` of the bins
    that occur; and for a "fine" column, ``leaves`` and ``leaf_names``. For all rows:
    ``grades``, which give the colors, and their ``legend``.

    ``estimates``: for each estimated cell a list of integers: the position of its row,
    the feature, the number of matching rows (0 if none was matched), the number of
    features that changed the estimate most, these features, and up to three bins, each
    followed by its probability in hundredths.
    """
    model, n, k = kernel.model_, len(compared), min(N_NEAREST, len(coded) - 1)
    n_kept = min(N_KEPT, len(coded) - 1)
    similarity, nearest = _find_nearest(kernel, coded, compared, n_kept)
    detailed = np.concatenate([compared, np.setdiff1d(nearest[:, :k], compared)])
    rows = np.concatenate([detailed, np.setdiff1d(nearest, detailed)])
    others = np.setdiff1d(np.arange(len(coded)), rows)
    room = max(0, min(MAP_ROWS, _MAX_GRADES // len(columns)) - len(rows))
    rows = np.concatenate([rows, others[sample_rows(len(others), room, rng)]])
    order = np.argsort(rows)
    kept = order[np.searchsorted(rows, nearest, sorter=order)]
    near = kept[:, :k]
    n_threads = count_threads(kernel.n_jobs)
    codes = replace(coded, columns=()).take(rows)  # without a copy of the columns
    ranked = rank_rows(model, columns, codes, rows, n_threads)
    coded = coded.take(detailed)
    # Without rarity, so that agreement in a feature is from 0 to 1.
    form = kernel.dtype, kernel.normalize, n_threads
    plain = replace(model, rarity=0.0).represent(coded, *form)
    coded.release()
    places = spread_rows(ranked, place_rows(ranked, n))
    pairs = plain[np.repeat(np.arange(n), k)].multiply(plain[near.ravel()])
    agreement = np.clip(model.agree_by_feature(pairs), 0, 1)
    estimates = _describe_estimates(*estimate_cells(kernel, coded))
    cells = _describe_cells(kernel, columns, detailed, coded, estimates)
    hundredths = np.round(100 * agreement).astype(int).reshape(n, k, len(columns))
    return {
        "rows": rows.tolist(),
        "n": n,
        "n_cells": len(detailed),
        "places": np.round(places, 3).tolist(),
        "kept": _measure_kept_neighbors(kept, places),
        "near": near.tolist(),
        "similarity": np.round(1000 * similarity[:, :k]).astype(int).tolist(),
        "agreement": hundredths.tolist(),
        "estimates": estimates,
        "columns": [
            cell | _grade_cells(column, rows)
            for cell, column in zip(cells, columns, strict=True)
        ],
    }


def _find_nearest(
    kernel: ProximityKernel, coded: CodedTable, compared: NDArray[np.int64], k: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Find the nearest rows of each compared row; represent the table part by part."""
    n_threads = count_threads(kernel.n_jobs)
    queries = represent_for_search(kernel, coded.take(compared))
    parts = []
    for start in range(0, len(coded), _ROWS_AT_ONCE):
        part = coded.take(slice(start, start + _ROWS_AT_ONCE))
        index = index_rows(kernel, represent_for_search(kernel, part))
        part.release()
        n_rows = len(part)
        found = find_nearest(index, queries, min(k + 1, n_rows), n_threads)
        parts.append(Nearest(*found, n_rows, k + 1))
    nearest = reduce(merge_nearest, parts)
    return drop_itself(nearest.similarities, nearest.indices, compared)


def _measure_kept_neighbors(
    nearest: NDArray[np.int64], places: NDArray[np.float64]
) -> float:
    """Compute the share of the nearest rows of each row that are nearest on the map."""
    n, k = nearest.shape
    if k < 1:
        return 1.0
    index = NearestNeighbors(n_neighbors=k + 1).fit(places)
    distances, found = index.kneighbors(places[:n])
    _, on_map = drop_itself(distances, found, np.arange(n))
    return float((nearest[:, :, None] == on_map[:, None, :]).any(axis=2).mean())


def _grade_cells(column: DisplayColumn, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Map cells to characters for colors: labels, or positions on a color scale."""
    values, known = column.values[rows], column.known
    if not len(known):
        return {"grades": _NO_GRADE * len(rows), "legend": []}
    steps = column.labels is None
    own = np.unique(known).tolist()  # few numbers: a color for each
    if not steps:
        own = [k for k, _ in column.count_labels()[:_MAX_LABELS]]
    if len(own) <= _MAX_LABELS:
        place = dict(zip(own, _GRADES, strict=False))
        rest = _GRADES[len(own)]
        grades = [place.get(v, _NO_GRADE if v != v else rest) for v in values.tolist()]
        legend = [column.write(one) for one in own]
        return {"grades": "".join(grades), "legend": legend, "steps": steps}
    low, high = np.quantile(known, [0.02, 0.98], method="nearest")
    # Halves: the difference of two numbers may be too large for a float.
    part = (values / 2 - low / 2) / ((high / 2 - low / 2) or 1)
    grade = np.nan_to_num(np.clip(part, 0, 1) * (len(_GRADES) - 1), nan=-1).astype(int)
    ends = [
        column.write(low) + " or less" * bool(known.min() < low),
        column.write(high) + " or more" * bool(known.max() > high),
    ]
    symbols = np.array([*_GRADES, _NO_GRADE])
    return {"grades": "".join(symbols[grade].tolist()), "legend": ends}


def _describe_estimates(
    cells: NDArray[np.void], shares: list[NDArray[np.float64]]
) -> list[list[int]]:
    """Convert the estimates to lists of integers for the page; see `describe_rows`."""
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


def _describe_cells(
    kernel: ProximityKernel,
    columns: Sequence[DisplayColumn],
    rows: NDArray[np.int64],
    coded: CodedTable,
    estimates: list[list[int]],
) -> list[dict[str, Any]]:
    """Describe the cells of rows for the page: texts, bins and names of the bins."""
    codes = coded.bins.astype(np.int64)
    bins = np.where(codes < kernel.model_.n_bins, codes, UNKNOWN)
    bins[codes == coded.missing] = ESTIMATED
    used = [set(own.tolist()) - {ESTIMATED, UNKNOWN} for own in bins.T]
    for _, j, _, n_movers, *rest in estimates:
        used[j].update(rest[n_movers::2])
    names = bin_names(kernel)
    out = [
        {
            "name": column.name,
            "kind": column.kind,
            "measured": column.labels is None,
            **_list_texts(column, column.values[rows]),
            "bins": bins[:, j].tolist(),
            "names": {k: column.write_bin(names[j][k]) for k in sorted(used[j])},
        }
        for j, column in enumerate(columns)
    ]
    codes = codes if coded.leaves is None else coded.leaves.astype(np.int64)
    for j, own in kernel.model_.leaf_names.items():
        leaves = np.where(columns[j].missing[rows], ESTIMATED, codes[:, j])
        held = np.unique(leaves[leaves >= 0]).tolist()
        out[j]["leaves"] = leaves.tolist()
        out[j]["leaf_names"] = {k: columns[j].write_bin(own[k]) for k in held}
    return out


def _list_texts(column: DisplayColumn, values: NDArray[np.float64]) -> dict[str, Any]:
    """Encode values as indices into a list of distinct texts; -1 is missing."""
    known = ~np.isnan(values)
    distinct, place = np.unique(values[known], return_inverse=True)
    places = np.full(len(values), -1)
    places[known] = place
    return {"cells": places.tolist(), "texts": list(map(column.write, distinct))}
