"""The table in, its most unusual rows out, with the features that make them so."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import ProximityKernel, ProximityOutliers
from ..outliers import Reason
from ._display_columns import DisplayColumn, take_rows

_N_ROWS = 10
_N_REASONS = 3
_N_BINS = 4  # the end bins hold few rows; in equally filled bins no number is rare


def find_unusual_rows(
    table: Any, kernel: ProximityKernel, columns: Mapping[str, DisplayColumn]
) -> dict[str, Any]:
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
    dict
        ``rows``: indices of the rows, the most unusual first. ``scores``: their mean
        similarities to all rows. ``typical``: the median score of all rows.
        ``offset``: the score below which a row is an outlier. ``n_outliers``: of the
        table. ``reasons``: for each row, a list of dict: feature, value, bin, missing,
        share and typical; value is None if it is missing or adds nothing to the bin.
    """
    outliers = ProximityOutliers(kernel=clone(kernel).set_params(n_bins=_N_BINS))
    with warnings.catch_warnings():
        # About empty columns, which the page shows elsewhere.
        warnings.simplefilter("ignore", UserWarning)
        outliers.fit(table)
    scores = outliers.score_samples(table)
    rows = np.argsort(scores, kind="stable")[:_N_ROWS]
    reasons = outliers.reasons(take_rows(table, rows), _N_REASONS)
    return {
        "rows": rows.tolist(),
        "scores": scores[rows].tolist(),
        "typical": float(np.median(scores)),
        "offset": outliers.offset_,
        "n_outliers": int((scores < outliers.offset_).sum()),
        "reasons": [
            [_describe(reason, columns[reason.feature], row) for reason in of_row]
            for row, of_row in zip(rows.tolist(), reasons, strict=True)
        ],
    }


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
