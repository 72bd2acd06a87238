"""Decide for which features a missing cell is informative.

An *informative* feature has one more bin, the last, for its missing cells: they are not
estimated. With ``missingness="auto"`` a feature is informative if its cells are missing
together with those of another feature: the tests of a panel that was not ordered, or
the questions of a page that was not filled in. Only the pattern of missing cells is
used, no values and no class labels.

Of n rows, a miss one feature and b another. By chance, a b / n rows would miss both; at
most min(a, b) can. The *overlap* is the number of rows that miss both, on a scale from
chance (0) to the most that is possible (1):

    overlap = (both - a b / n) / (min(a, b) - a b / n + 5)

Without the 5 this is Loevinger's H. The 5 added rows keep a few rows from deciding:
where fewer than 12 rows miss both, no overlap reaches 0.7. A feature whose largest
overlap is at least 0.7 is informative.

With min(a, b), unlike with a correlation, a panel within a larger panel is found: the
few patients without any urine test are among the many without a microscopic urine test.
Rows without an observed cell are left out.

The overlap is measured in the rows that a fit keeps: all distinct rows, or a sample
that does not depend on their order. So a fit to batches or partitions decides the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._coded import CodedTable
from ._row_summary import RowSummary
from ._shared.options import Missingness, MissingnessOption
from ._shared.resources import one_blas_thread
from ._shared.wording import listed
from ._table.columns import ColumnType, find_columns

TOGETHER = 0.7
"""Overlap with another feature from which missing cells are informative."""
FEW = 5
"""Rows added to the denominator of the overlap."""
_MOST_ROWS, _FEWEST_ROWS = 20_000, 1_000  # distinct rows that are compared
_MOST_OTHERS = 1024  # features that each feature is compared with
_PRODUCTS = 1 << 30  # multiplications of counting, some tenths of a second
_STEP = 256  # features that are compared with the others at a time
_MOST_NAMES = 3  # features that a reason lists
_Ints = NDArray[np.int64]
_NONE: _Ints = np.empty(0, np.int64)


@dataclass(frozen=True)
class MissingCells:
    """The decision whether missing cells of one feature are informative.

    Attributes
    ----------
    feature : str
        Name of the feature; "x3" for the column at index 3 of an array.
    informative : bool
        Whether a missing cell has its own bin; otherwise it is estimated.
    missing : int
        Number of fitted rows in which the feature is missing.
    overlap : float or None
        Largest overlap with another feature, from 0 (as by chance) to below 1 (always).
        None if no cell, or every cell, is missing.
    reason : str
        Why the decision was made, in words.
    """

    feature: str
    informative: bool
    missing: int
    overlap: float | None
    reason: str


def spread_missingness(
    given: MissingnessOption, default: Missingness, types: Sequence[ColumnType]
) -> list[Missingness]:
    """List the missingness option of each feature; a mapping may omit features.

    Omitted features have the default.

    Parameters
    ----------
    given : {"ignorable", "informative", "auto"} or mapping from columns to these
    default : {"ignorable", "informative", "auto"}
    types : sequence of ColumnType

    Returns
    -------
    list of length n_features

    Examples
    --------
    >>> types = [ColumnType(name, "numeric", "numbers") for name in ("age", "size")]
    >>> spread_missingness({"size": "informative"}, "auto", types)
    ['auto', 'informative']
    """
    if not isinstance(given, Mapping):
        return [given] * len(types)
    words = [default] * len(types)
    if given:
        for j, (_, word) in find_columns("missingness", given, types).items():
            words[j] = word
    return words


def decide_missingness(
    fitted: RowSummary, names: Sequence[str], words: Sequence[Missingness]
) -> tuple[MissingCells, ...]:
    """Decide for each feature whether missing cells are informative.

    Parameters
    ----------
    fitted : RowSummary
        The summary of all rows; overlaps are measured in the rows that it keeps.
    names : sequence of str
        Names of the features.
    words : sequence of {"ignorable", "informative", "auto"}
        The option of each feature.

    Returns
    -------
    tuple of MissingCells, one per feature
    """
    n_missing = fitted.missing
    some = (n_missing > 0) & (fitted.plan.n_bins > 0)
    with one_blas_thread():
        found = measure_overlaps(fitted.kept, np.flatnonzero(some))
    decided = []
    for j, (name, word) in enumerate(zip(names, words, strict=True)):
        missing = int(n_missing[j])
        if j not in found:
            reason = "nothing is observed" if missing else "no cell is missing"
            decided.append(MissingCells(name, False, missing, None, reason))
            continue
        overlap, others = found[j]
        together = bool(len(others))
        informative = together if word == "auto" else word == "informative"
        near = listed([names[i] for i in others], _MOST_NAMES) if others else "another"
        reason = f"missing together with {near} (overlap {overlap:.2f})"
        reason = reason if together else f"not {reason}"
        if word != "auto":
            reason = f"given: missingness={word!r}; {reason}"
        decided.append(MissingCells(name, informative, missing, overlap, reason))
    return tuple(decided)


def measure_overlaps(
    coded: CodedTable, at: _Ints
) -> dict[int, tuple[float, list[int]]]:
    """Measure the overlap of the missing cells of each feature with other features.

    Parameters
    ----------
    coded : CodedTable
        Distinct rows with their counts.
    at : ndarray of shape (n,), int64
        The features with missing cells.

    Returns
    -------
    dict
        From each feature to its largest overlap, at least 0, and the features with
        which it is missing together, the largest overlap first.

    Examples
    --------
    >>> rows = np.array([[0, 0, 0], [1, 255, 255], [1, 255, 1]], np.uint8)
    >>> codes = CodedTable(rows, np.array([60, 30, 10]), np.arange(3))
    >>> measure_overlaps(codes, np.array([1, 2]))  # (30 - 12) / (30 - 12 + 5)
    {1: (0.782608695652174, [2]), 2: (0.782608695652174, [1])}
    """
    others = at[_mask_evenly(len(at), _MOST_OTHERS)]
    most = _PRODUCTS // max(1, len(at) * len(others))
    most = min(max(most, _FEWEST_ROWS), _MOST_ROWS)
    looked = _mask_evenly(len(coded.bins), most)
    missing = coded.bins[looked] == coded.missing
    # Sums of counts are exact, so they do not depend on the order (`round_weights`).
    counts = np.where(missing.all(axis=1), 0.0, coded.counts[looked])
    n = max(counts.sum(), 1.0)
    every = missing[:, others].astype(np.float64)
    of_others = counts @ every
    found = {}
    for first in range(0, len(at), _STEP):
        here = at[first : first + _STEP]
        weighted = missing[:, here] * counts[:, None]
        own = weighted.sum(axis=0)[:, None]
        chance = own * of_others / n
        most_possible = np.minimum(own, of_others)
        overlaps = (weighted.T @ every - chance) / (most_possible - chance + FEW)
        overlaps[here[:, None] == others] = 0.0
        largest = overlaps.max(axis=1, initial=0.0)
        for j, row, top in zip(here.tolist(), overlaps, largest.tolist(), strict=True):
            together = np.flatnonzero(row >= TOGETHER) if top >= TOGETHER else _NONE
            order = np.argsort(-row[together], kind="stable")
            found[j] = top, others[together[order]].tolist()
    return found


def _mask_evenly(n: int, most: int) -> NDArray[np.bool_]:
    """Return a mask of about `most` of n positions, evenly spread without a period."""
    golden = (np.sqrt(5) - 1) / 2
    return np.asarray(np.arange(n) * golden % 1 < most / max(n, 1))
