"""The table in, its most unusual rows out, with the features that make them so."""

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
from ._display_columns import DisplayColumn, take_rows

_N_ROWS = 10
_N_REASONS = 3
_N_BINS = 4  # the end bins hold few rows; in equally filled bins no number is rare


@dataclass(frozen=True)
class UnusualRows:
    """The rows that are least similar to the others.

    Attributes
    ----------
    rows : ndarray of shape (n,), int64
        Indices of the rows, the most unusual first.
    scores : ndarray of shape (n,), float64
        Their mean similarities to all rows.
    typical : float
        The median score of all rows.
    n_outliers : int
        Number of outliers in the table.
    outlying : ndarray of shape (n,), bool
        Whether each of these rows is an outlier.
    reasons : list of lists of dict
        feature, value, bin, missing, share and typical; value is None if it is missing
        or adds nothing to the bin.
    own_bins : bool
        Whether the bins differ from those of the page's kernel.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    typical: float
    n_outliers: int
    outlying: NDArray[np.bool_]
    reasons: list[list[dict[str, Any]]]
    own_bins: bool


def find_unusual_rows(
    table: Any, kernel: ProximityKernel, columns: Mapping[str, DisplayColumn]
) -> UnusualRows:
    """Find the rows that are least similar to the rest of the table.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    kernel : ProximityKernel
        Its parameters are used, except for the bins: there are four.
    columns : mapping of str to DisplayColumn
        By their names in the table.

    Returns
    -------
    UnusualRows
    """
    own = clone(kernel).set_params(n_bins=_N_BINS)
    with warnings.catch_warnings():
        # About empty columns, which the page shows elsewhere.
        warnings.simplefilter("ignore", UserWarning)
        outliers = ProximityOutliers(kernel=own).fit(table)
    scores = outliers.score_samples(table)
    rows = np.argsort(scores, kind="stable")[:_N_ROWS]
    reasons = outliers.reasons(take_rows(table, rows), _N_REASONS)
    return UnusualRows(
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


def _describe(reason: Reason, column: DisplayColumn, row: int) -> dict[str, Any]:
    measured = column.labels is None and not column.missing[row]
    value = column.write(column.values[row]) if measured else None
    name = column.write_bin(reason.bin)
    return {
        "feature": column.name,
        "value": None if value == name else value,
        "bin": name,
        "missing": reason.missing,
        "share": reason.share,
        "typical": reason.typical,
    }


def _have_own_bins(one: ProximityKernel, other: ProximityKernel) -> bool:
    pairs = zip(one.bin_centers_, other.bin_centers_, strict=True)
    return not all(a is None or b is None or np.array_equal(a, b) for a, b in pairs)
