"""Sections of the page: surprising cells, missing cells, what columns tell.

*Surprising cells.* The scores are computed as in `ProximityOutliers`: each observed
cell is compared with what the other cells of its row suggest, and the scores of the
cells of a row add up. Three kinds of cells are left out here: numbers that the page
lists as far from all other numbers; values that one other cell of the row decides for,
even if the rest of the row suggests another value; and values that are usual among rows
with the same values in the cells that suggest another value.

*Missing cells.* An estimate is a probability distribution over the bins of its column.
Where the other columns do not help, it is the share of each bin in the whole column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import xlogy

from .. import ProximityKernel
from .._coded import CodedTable
from .._missingness import MissingCells
from .._pairwise import PairCounts, Pairwise
from .._provenance import list_cells
from .._shared.resources import count_threads
from .._shared.wording import join_names
from .._surprise import Judge
from ..outliers import Reason, fit_like
from .display_columns import DisplayColumn, clean

_N_ROWS = 10  # rows that are listed
_N_LOOKED_AT = 200  # rows that are examined; some may have nothing to list
_N_CELLS = 3  # cells of a row that are listed
_OF_MODEL = "less likely than in 99 % of rows sampled from the fitted model"
_OF_ROWS = "far less likely than in a typical row"  # if many rows are less likely
MAX_ROWS = 20_000
"""Maximum number of rows whose missing cells are estimated."""
_MAX_MOST = 3  # columns with the most missing cells
_MAX_PATTERNS = 8
_MAX_NAMES = 4  # columns listed for a pattern
_MAX_MOVERS = 3  # columns that are named as sources of a column's estimates
_MIN_PART = 0.1  # least influence of a named column, as a share of the largest
_MIN_MOVED = 0.02  # least mean distance of informed estimates from the column's shares
_WHOLE_COLUMN = "the shares in the whole column"
_BASES = {
    "intersection": "rows that agree in every observed cell",
    "union": "rows that agree in some observed cell",
}
_MAX_COLUMNS = 12  # columns in the matrix of evidence
_N_PAIRS = 5  # pairs of columns that are listed in words
_SURE = 0.9  # from which a column may determine another, in enough rows
_LEAST = 0.02  # of the entropy of a column; less information counts as none


def find_surprising_rows(
    kernel: ProximityKernel, columns: Sequence[DisplayColumn], coded: CodedTable
) -> dict[str, Any]:
    """Find the rows with values that do not fit the rest of their row.

    The options of `kernel` are used to fit the kernel of `ProximityOutliers`. The keys
    are ``found`` (how many rows are outliers by such values), ``n_far`` (how many
    others only by far numbers), ``n_confirmed`` (how many others only by values that
    other cells or rows confirm), ``rows`` (the ten most surprising rows, the most
    surprising first: row, its index, and cells: feature, text and expected, whether
    another value is expected), ``n_cells`` (how many observed cells were compared) and
    ``than`` (how unlikely these rows are, in words).
    """
    odd, own = fit_like(kernel, coded.columns)
    cells: NDArray[np.float64] = odd.score_cells(own)
    n_cells = sum(len(column.known) for column in columns)
    n_outliers = int(np.count_nonzero(-cells.sum(axis=1) < odd.offset_))
    for j, column in enumerate(columns):
        if column.usual is not None:
            usual, values = column.usual, column.values
            far = (values < usual.low) | (values > usual.high)
            cells[far, j] = 0
            n_cells -= int(np.count_nonzero(far))
    total = cells.sum(axis=1)
    found = int(np.count_nonzero(-total < odd.offset_))
    n_far, n_confirmed = n_outliers - found, 0
    order = np.argsort(-total, kind="stable")[: min(_N_LOOKED_AT, found)]
    every = odd.reasons(own.take(order), len(columns), among=own)
    judge = Judge.of_model(own.model)
    places = {kind.name: j for j, kind in enumerate(own.model.types)}
    rows: list[dict[str, Any]] = []
    for i, reasons in zip(order.tolist(), every, strict=True):
        listed = [(places[one.feature], one) for one in reasons]
        coded_row = own.bins[own.index[i]]
        shown = [
            (j, one)
            for j, one in listed
            if cells[i, j] and (one.side or not judge.is_confirmed(coded_row, j))
        ][:_N_CELLS]
        if shown:
            texts = [_describe_reason(columns, j, i, one) for j, one in shown]
            rows.append({"row": i, "cells": texts})
        else:
            n_confirmed += 1
    return {
        "found": found - n_confirmed,
        "n_far": n_far,
        "n_confirmed": n_confirmed,
        "rows": rows[:_N_ROWS],
        "n_cells": n_cells,
        "than": _OF_ROWS if odd.expected_false_alarms_ is None else _OF_MODEL,
    }


def _describe_reason(
    columns: Sequence[DisplayColumn], j: int, i: int, reason: Reason
) -> dict[str, Any]:
    """Describe why a cell is surprising, with values in the format of the page."""
    column = columns[j]
    missing = bool(column.missing[i])
    value = "missing" if missing else column.write(column.values[i])
    expected = column.write_bin(reason.expected)
    written = replace(
        reason,
        feature="",
        value=value,
        expected=expected,
        usual=column.write_bin(reason.usual),
        given=tuple(_write_given(columns, one) for one in reason.given),
    )
    text = clean(str(written).strip(), 300)
    return {"feature": column.name, "text": text, "expected": bool(expected)}


def _write_given(columns: Sequence[DisplayColumn], text: str) -> str:
    """Format the name of a column and a value of it, in one text, like the page."""
    for column in columns:
        value = text.removeprefix(f"{column.name} ")
        if value != text:
            return f"{column.name} {column.write_bin(value)}"
    return text


def count_missing_cells(columns: Sequence[DisplayColumn]) -> dict[str, Any]:
    """Count missing cells: in all, by column, and by set of columns missing together.

    The keys are ``cells`` (missing), ``share`` (of all cells), ``columns`` (number of
    columns with missing cells), ``most`` (name and missing share of the columns with
    the most), ``complete`` (number of complete rows), ``n_patterns`` (number of sets of
    columns that are missing together in a row) and ``patterns`` (the most common sets:
    rows, share and text; if there are many sets, only sets of several rows).
    """
    missing = np.column_stack([column.missing for column in columns])
    packed = np.packbits(missing, axis=1)
    _, first, rows = np.unique(packed, axis=0, return_index=True, return_counts=True)
    order = np.argsort(-rows, kind="stable").tolist()
    incomplete = [p for p in order if missing[first[p]].any()]
    many = len(incomplete) > _MAX_PATTERNS
    names = np.array([column.name for column in columns])
    parts = missing.mean(axis=0)
    most = np.argsort(-parts, kind="stable")[:_MAX_MOST]
    return {
        "cells": int(missing.sum()),
        "share": float(missing.mean()),
        "columns": int(missing.any(axis=0).sum()),
        "most": [(names[j], float(parts[j])) for j in most.tolist() if parts[j]],
        "complete": int((~missing.any(axis=1)).sum()),
        "n_patterns": len(incomplete),
        "patterns": [
            {
                "rows": int(rows[p]),
                "share": float(rows[p] / len(missing)),
                "text": _name_pattern(missing[first[p]], names),
            }
            for p in incomplete[:_MAX_PATTERNS]
            if rows[p] > many
        ],
    }


def sample_rows(n_rows: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sample rows without replacement, in ascending order; all if there are few."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, most, replace=False))


def _name_pattern(is_missing: NDArray[np.bool_], names: NDArray[np.str_]) -> str:
    """Name the missing columns of a missingness pattern.

    In a table of more than eight columns, if more than half are missing, the observed
    columns are named instead, after "all but".
    """
    if is_missing.all() and len(names) > 1:
        return "every column"
    most = is_missing.sum() > len(names) / 2 > _MAX_NAMES
    listed = names[~is_missing if most else is_missing].tolist()
    shown = join_names(listed, _MAX_NAMES)
    return f"all but {shown}" if most else shown


def describe_missing_cells(
    kernel: ProximityKernel, coded: CodedTable, rng: np.random.Generator
) -> dict[str, Any]:
    """Describe how certain the estimates of the missing cells are.

    `rng` samples `MAX_ROWS` rows of a table that has more. The keys are ``cells`` (that
    were estimated); ``looked`` (number of rows in the sample); ``features``, the
    columns with estimated cells, the column with the most first: name, cells, certainty
    (the mean probability of the likeliest bin), usual (the share of the most common
    bin), informed (whether the estimates differ from the shares in the whole column),
    movers (the columns that changed informed estimates most) and basis (the source of
    the estimates without movers); ``empty``, columns without an observed value, whose
    cells are not counted here; and ``kept``, columns whose missing cells have a bin of
    their own: name, missing (number of missing cells) and reason.
    """
    rows = sample_rows(len(coded), MAX_ROWS, rng)
    cells, shares = estimate_cells(kernel, coded.take(rows))
    names = [clean(own.feature) for own in kernel.missingness_]
    features = [
        _describe_feature(names, j, prior, cells[cells["feature"] == j], shares[j])
        for j, prior in enumerate(kernel.prior_)
        if len(prior) and len(shares[j])
    ]
    return {
        "cells": sum(one["cells"] for one in features),
        "looked": len(rows),
        "features": sorted(features, key=lambda one: -one["cells"]),
        "empty": [names[j] for j, prior in enumerate(kernel.prior_) if not len(prior)],
        "kept": [
            {"name": name, "missing": own.missing, "reason": _write_reason(own)}
            for name, own in zip(names, kernel.missingness_, strict=True)
            if own.informative
        ],
    }


def _write_reason(own: MissingCells) -> str:
    """Write why the missing cells of a column have a bin of their own."""
    reason = own.reason.partition(" (overlap")[0]
    return "an option says so" if reason.startswith("given") else clean(reason)


def estimate_cells(
    kernel: ProximityKernel, coded: CodedTable
) -> tuple[NDArray[np.void], list[NDArray[np.float64]]]:
    """Estimate the missing cells of coded rows.

    Returns the cells as `ProximityKernel.provenance` lists them, and for each feature
    the estimates of its missing cells in this order, of shape (n_missing, n_bins).
    """
    model, n_threads = kernel.model_, count_threads(kernel.n_jobs)
    found = model.matcher.estimate(coded, n_threads)
    shares = [found.of_feature(j, n) for j, n in enumerate(model.n_bins.tolist())]
    return list_cells(model, coded, n_threads), shares


def _describe_feature(
    names: list[str],
    j: int,
    prior: NDArray[np.float64],
    cells: NDArray[np.void],
    shares: NDArray[np.float64],
) -> dict[str, Any]:
    """Describe the estimates of one feature: their certainty and their sources."""
    levels, counts = np.unique(cells["level"], return_counts=True)
    moved = np.bincount(
        np.maximum(cells["columns"], 0).ravel(), cells["moved"].ravel(), len(names)
    )
    movers = np.argsort(-moved, kind="stable")[:_MAX_MOVERS]
    least = _MIN_PART * moved.max()
    informed = measure_distance(shares, prior) > _MIN_MOVED
    return {
        "name": names[j],
        "cells": len(cells),
        "certainty": float(cells["certainty"].mean()),
        "usual": float(prior.max()),
        "informed": informed,
        "movers": [names[i] for i in movers if informed and moved[i] > least],
        "basis": _BASES.get(str(levels[counts.argmax()]), _WHOLE_COLUMN),
    }


def measure_distance(shares: NDArray[np.float64], prior: NDArray[np.float64]) -> float:
    """Compute the mean total variation distance of estimates from column shares."""
    return float(1 - np.minimum(shares, prior).sum() / len(shares))


def describe_evidence(
    kernel: ProximityKernel, columns: list[DisplayColumn]
) -> dict[str, Any] | None:
    """Measure how much each column tells about each other, and order the columns by it.

    The keys are ``names`` of the columns with the largest shares, ``rows`` of the
    matrix (see `measure_information`), ``n_others`` (number of columns that are not
    shown), and the ``pairs`` with the largest shares. None if there are fewer than two
    columns, or with ``matching="cascade"``, which counts no pairs.
    """
    matcher = kernel.model_.matcher
    if not isinstance(matcher, Pairwise) or len(columns) < 2:
        return None
    told = measure_information(matcher.counts)
    most = np.maximum(told.max(axis=0), told.max(axis=1))
    order = np.argsort(-most, kind="stable")
    shown = [j for j in order.tolist()[:_MAX_COLUMNS] if most[j] >= _LEAST]
    places = np.argsort(-told, axis=None, kind="stable")[:_N_PAIRS]
    names = [column.name for column in columns]
    pairs = [
        {"from": names[i], "to": names[j], "share": float(told[i, j])}
        for i, j in zip(*np.unravel_index(places, told.shape), strict=True)
        if told[i, j] >= _LEAST
    ]
    return {
        "names": [names[j] for j in shown],
        "rows": told[np.ix_(shown, shown)].tolist(),
        "n_others": len(columns) - len(shown),
        "pairs": pairs,
    }


def measure_information(counts: PairCounts) -> NDArray[np.float64]:
    """Compute the share of each column's uncertainty that each other column removes.

    The uncertainty is the entropy of the bins. What a bin a of column i tells about bin
    b of column j, log P(a | b) / P(a), is averaged over the rows that observe both. P(a
    | b) is counted in the other rows, with one row added that has the frequencies P(a),
    because rare bins would seem to tell much about the rows they are counted in. If
    every bin of i comes with one bin of j only, and that is not due to rare bins, the
    share is 1. Entry (i, j) is what i tells about j; the diagonal is 0.
    """
    n_features, ends = len(counts.n_bins), np.cumsum(counts.n_bins)
    told = np.zeros((n_features, n_features))
    for j, (end, n_bins) in enumerate(zip(ends, counts.n_bins, strict=True)):
        if counts.sources is None:
            table = counts.pairs[:, end - n_bins : end]
            source = np.repeat(np.arange(n_features), counts.n_bins)
        else:
            table = counts.pairs[j].reshape(-1, counts.pairs.shape[-1])
            source = np.repeat(counts.sources[j], counts.pairs.shape[2])
        same = sp.csr_array(np.arange(n_features)[:, None] == source, dtype=float)
        of_bin = same @ table  # rows that observe the source, by the bin of j
        rows = np.maximum(of_bin.sum(axis=1, keepdims=True), 1)
        share = table.sum(axis=1, keepdims=True) / rows[source]
        expected = share * np.maximum(of_bin[source], 1)
        some = table > 0
        logs = np.zeros(table.shape)
        logs[some] = np.log((table - 1 + share)[some] / expected[some])
        gain = (same @ (table * logs)).sum(axis=1)
        entropy = -xlogy(of_bin, of_bin / rows).sum(axis=1)
        told[:, j] = np.clip(gain / np.where(entropy > 0, entropy, np.inf), 0, 1)
        is_certain = same @ (some.sum(axis=1) > 1) == 0  # each bin comes with one bin
        told[is_certain & (told[:, j] >= _SURE), j] = 1
    np.fill_diagonal(told, 0)
    return told
