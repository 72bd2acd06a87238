"""The table in, its strangest rows out, with the features in which they are strange."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .. import ProximityKernel, ProximityOutliers
from ..outliers import Reason
from ._shown import Shown, take_rows

N_STRANGEST = 10
_N_REASONS = 3
_N_BINS = 4  # the end bins are few: in equally filled ones no number is rare


@dataclass(frozen=True)
class Strange:
    """The rows that resemble the rest least.

    Attributes
    ----------
    rows : ndarray of shape (n,), int64
        Numbers of the strangest, the strangest first.
    scores : ndarray of shape (n,), float64
        Their mean similarities with all rows.
    typical : float
        The median of it over all rows.
    n_outliers : int
        Rows that are called outliers.
    outlying : ndarray of shape (n,), bool
        Whether each of these is.
    reasons : list of lists of dict
        feature, value, bin, missing, share and typical; value is None where it is not
        known, or says no more than the bin.
    own_bins : bool
        Whether the bins are others than those of the page's kernel.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    typical: float
    n_outliers: int
    outlying: NDArray[np.bool_]
    reasons: list[list[dict[str, Any]]]
    own_bins: bool


def find_strange(
    table: Any, kernel: ProximityKernel, columns: Mapping[str, Shown]
) -> Strange:
    """Find the rows that resemble the rest of the table least.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    kernel : ProximityKernel
        Its options are taken, but for the bins: four, the ends of which are rare.
    columns : mapping of str to Shown
        By their names in the table.

    Returns
    -------
    Strange
    """
    own = clone(kernel).set_params(n_bins=_N_BINS)
    with warnings.catch_warnings():
        # Of empty columns, which the page tells elsewhere.
        warnings.simplefilter("ignore", UserWarning)
        outliers = ProximityOutliers(kernel=own).fit(table)
    scores = outliers.score_samples(table)
    rows = np.argsort(scores, kind="stable")[:N_STRANGEST]
    reasons = outliers.reasons(take_rows(table, rows), _N_REASONS)
    return Strange(
        rows=rows,
        scores=scores[rows],
        typical=float(np.median(scores)),
        n_outliers=int((scores < outliers.offset_).sum()),
        outlying=scores[rows] < outliers.offset_,
        reasons=[
            [_describe(reason, columns[reason.feature], row) for reason in of_row]
            for row, of_row in zip(rows.tolist(), reasons, strict=True)
        ],
        own_bins=_have_own_bins(outliers.kernel_, kernel),
    )


def _describe(reason: Reason, column: Shown, row: int) -> dict[str, Any]:
    known = column.labels is None and not column.missing[row]
    value = column.write(column.values[row]) if known else None
    words = column.say_bin(reason.bin)
    return {
        "feature": column.name,
        "value": None if value == words else value,
        "bin": words,
        "missing": reason.missing,
        "share": reason.share,
        "typical": reason.typical,
    }


def _have_own_bins(one: ProximityKernel, other: ProximityKernel) -> bool:
    return not all(
        (a is None and b is None) or np.array_equal(a, b)
        for a, b in zip(one.bin_centers_, other.bin_centers_, strict=True)
    )
