"""Provenance of estimates: which cells of a row influenced each, and how much."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cascade import LEVELS, Cascade
from ._coded import CodedTable, Estimates
from ._model import Model
from ._pairwise import Pairwise, find_places

MOST_COLUMNS = 3
"""Maximum number of features that are listed for a cell."""
_ROOM = 1 << 22  # numbers in memory at a time
_ROUNDING = 1e-12
_CELL = np.dtype([
    ("row", "i8"), ("feature", "i8"), ("level", "U12"), ("observed", "i8"),
    ("support", "i8"), ("certainty", "f8"), ("columns", "i8", (MOST_COLUMNS,)),
    ("moved", "f8", (MOST_COLUMNS,)), ("feature_name", "O"),
    ("column_names", "O", (MOST_COLUMNS,)),
])  # fmt: skip


def list_cells(model: Model, coded: CodedTable, n_threads: int) -> NDArray[np.void]:
    """List every missing cell of a table with the provenance of its estimate.

    Row after row, with the fields of `ProximityKernel.provenance`.
    """
    coded = coded.take(slice(None))
    has_bins = model.n_bins > 0
    observed = ((coded.bins != coded.missing) & has_bins).sum(axis=1)
    if isinstance(model.matcher, Cascade):
        found = model.matcher.match(coded, n_threads)
        cells, level = Estimates(*found[:4]), np.array(LEVELS)[found.level]
        support = np.ceil(found.support)
    else:
        cells = model.matcher.estimate(coded, n_threads)
        totals = np.array([own.sum() for own in model.totals_by_feature])
        support = np.ceil(totals[cells.feature])
    out = np.zeros(len(cells.feature), _CELL)
    out["row"] = np.repeat(np.arange(len(coded.bins)), np.diff(cells.row_start))
    out["feature"], out["support"] = cells.feature, support
    out["observed"] = observed[out["row"]]
    out["columns"] = -1
    determined = np.zeros(len(out), bool)
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
                movers = _find_movers(model.matcher, rows, j)
                out["columns"][some], out["moved"][some], decided = movers
                out["support"][some] = np.where(decided, decided, support[some])
                determined[some] = decided > 0
    if isinstance(model.matcher, Pairwise):
        level = np.where(out["columns"][:, 0] < 0, "prior", "evidence")
        level = np.where(determined, "determined", level)
    out["level"] = level
    names = np.array([*model.names, ""], object)
    out["feature_name"] = names[out["feature"]]
    out["column_names"] = names[out["columns"]]  # -1 gives the last name: empty
    return out


def _find_movers(
    matcher: Pairwise, rows: NDArray[Any], j: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Rank the other cells of rows by how much they change the estimate of feature j.

    Returns arrays for `rows`, the codes of rows in which j is missing: the features,
    padded with -1, a cell that decides first; the total variation distance between the
    estimates with and without each; both of shape (n, MOST_COLUMNS); and the number of
    fitted rows in which the deciding code came with its bin, 0 if no cell decides.
    """
    columns = np.full((len(rows), MOST_COLUMNS), -1)
    far = np.zeros((len(rows), MOST_COLUMNS))
    e, n_bins = matcher.evidence, matcher.evidence.n_bins[j]
    sources = e.source[e.source_start[j] : e.source_start[j + 1]]
    if not len(sources):
        return columns, far, np.zeros(len(rows), np.int64)
    places = find_places(e, rows.T).T
    evidence = _find_evidence(matcher, places[:, sources], j)
    without = np.insert(evidence, 0, 0, axis=1)
    with np.errstate(divide="ignore"):  # of a bin that was never observed
        prior = np.log(e.prior[e.offsets[j] : e.offsets[j] + n_bins])
    scores = prior + evidence.sum(axis=1)[:, None] - without
    shares = np.exp(scores - scores.max(axis=2, keepdims=True))
    shares /= shares.sum(axis=2, keepdims=True)
    decider, support = _apply_deciders(matcher, places, j, sources, shares)
    moved = np.abs(shares[:, 1:] - shares[:, :1]).sum(axis=2) / 2
    moved[moved < _ROUNDING] = 0
    rank = moved.copy()
    first = np.flatnonzero(support)
    rank[first, decider[first]] = np.inf
    order = np.argsort(-rank, axis=1, kind="stable")[:, :MOST_COLUMNS]
    named = np.take_along_axis(rank, order, axis=1) > 0
    width = order.shape[1]
    columns[:, :width] = np.where(named, sources[order], -1)
    far[:, :width] = np.take_along_axis(moved, order, axis=1)
    return columns, far, support


def _apply_deciders(
    matcher: Pairwise,
    places: NDArray[np.int64],
    j: int,
    sources: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Apply the codes that decide to the estimates with and without each source.

    `places` (n, n_features) has the places of the codes in the evidence, -1 for none.
    `shares` (n, 1 + n_sources, n_bins) has the estimates from all cells, then without
    the cell of each source; it is changed in place. Returns the index of the source
    whose code decides, and the number of fitted rows with this code and its bin, 0 if
    no code decides.
    """
    deciders, n = matcher.deciders, len(places)
    at_row = np.arange(n)
    supports, bins = np.zeros((2, n, len(sources)), np.int64)
    certain = np.ones((n, len(sources)))  # one over the probability of other bins
    for t in range(deciders.start[j], deciders.start[j + 1]):
        i = deciders.source[t]
        place, s = places[:, i], np.searchsorted(sources, i)
        at = deciders.first[t] + np.maximum(place, 0)
        support, others = deciders.support[at], deciders.exceptions[at]
        sure = (support + others + 2) / (others + 1)
        some = (place >= 0) & (support > 0) & (sure > certain[:, s])
        certain[some, s], supports[some, s] = sure[some], support[some]
        bins[some, s] = deciders.bins[at[some]]
    decider = certain.argmax(axis=1)
    others = certain.copy()
    others[at_row, decider] = 1
    by = np.repeat(decider[:, None], 1 + len(sources), axis=1)
    by[at_row, 1 + decider] = others.argmax(axis=1)
    held = np.take_along_axis(certain, by, axis=1)
    held[at_row, 1 + decider] = others.max(axis=1)
    cells = np.nonzero(held > 1)
    rest = 1 / held[cells]
    shares[cells] *= rest[:, None]
    shares[*cells, np.take_along_axis(bins, by, axis=1)[cells]] += 1 - rest
    return decider, supports[at_row, decider]


def _find_evidence(
    matcher: Pairwise, places: NDArray[np.int64], j: int
) -> NDArray[np.float64]:
    """Look up the weighted evidence of each source's code for the bins of feature j.

    `places` (n, n_sources) has the places of the codes in the evidence; -1 for none.
    Where a code has no evidence, the result (n, n_sources, n_bins) is 0.
    """
    e = matcher.evidence
    entries = slice(e.source_start[j], e.source_start[j + 1])
    own = e.place[e.offsets[j] + np.arange(e.n_bins[j])]
    at = e.base[entries] + np.maximum(places, 0) * e.stride
    evidence = e.values[at[:, :, None] + np.maximum(own, 0)]
    evidence *= matcher.weights[entries, None]
    return np.where((places >= 0)[:, :, None] & (own >= 0), evidence, 0.0)
