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
        feature, value, missing, share and typical.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    typical: float
    n_outliers: int
    outlying: NDArray[np.bool_]
    reasons: list[list[dict[str, Any]]]


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
            [
                {
                    "feature": columns[reason.feature].name,
                    "value": columns[reason.feature].say_bin(reason.bin),
                    "missing": reason.missing,
                    "share": reason.share,
                    "typical": reason.typical,
                }
                for reason in of_row
            ]
            for of_row in reasons
        ],
    )
