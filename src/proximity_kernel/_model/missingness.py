"""Codes of the fitted rows in, a decision out: which gaps are facts of their own.

An *informative* feature has one more cell, "missing", the last of its cells: there a
gap is not estimated, it is a code like others. With ``missingness="auto"`` the table
decides which features these are, without labels (`absence_test`), and later rows are
coded accordingly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._bins.codes import Codes, code_dtype
from .._matching.row_state import RowState
from .._shared.threads import one_blas_thread
from .absence_test import LEAST, count_sample, draw_sample, find_dependent, find_events

Missingness = Literal["ignorable", "informative", "auto"]
MISSINGNESSES: tuple[Missingness, ...] = ("ignorable", "informative", "auto")

_MOST_NAMES = 3  # features that a reason lists


@dataclass(frozen=True)
class Absence:
    """What was decided about the gaps of one feature.

    Attributes
    ----------
    feature : str
        Its name, or "x3" for the one at index 3 of an array.
    informative : bool
        Whether a gap is a cell of its own; else it is estimated.
    missing : int
        Fitted rows in which it is missing, of all.
    p_value : float or None
        Of "absence does not depend on the other columns", times the number of
        features that were tested; None where nothing was tested.
    reason : str
    """

    feature: str
    informative: bool
    missing: int
    p_value: float | None
    reason: str


def decide_missingness(
    fitted: RowState, names: Sequence[str], missingness: Missingness
) -> tuple[Absence, ...]:
    """Decide for each feature whether its gaps are a cell of their own.

    Parameters
    ----------
    fitted : RowState
        Of all rows; those that it keeps are tested.
    names : sequence of str
        Of the features.
    missingness : {"ignorable", "informative", "auto"}

    Returns
    -------
    tuple of Absence, one per feature
    """
    missing, n_bins = fitted.missing, fitted.plan.n_bins
    some = (missing > 0) & (n_bins > 0)
    informative = some & (missingness == "informative")
    p_values: list[float | None] = [None] * len(names)
    reasons = np.select(
        [missing == 0, n_bins == 0], ["no cell is missing", "nothing is observed"],
        f"given: missingness={missingness!r}",
    ).tolist()  # fmt: skip
    if missingness == "auto" and some.any():
        with one_blas_thread():
            sample = count_sample(fitted)
            if sample is None:
                sample = draw_sample(fitted.codes, n_bins, int(some.sum()))
            tested, flagged = find_dependent(sample)
            events = find_events(sample, flagged)
        for j in np.flatnonzero(some).tolist():
            p_values[j] = None if np.isnan(tested[j]) else float(tested[j])
            informative[j] = j in events
            reasons[j] = _say_why(p_values[j], flagged[j], events.get(j), names)
    found = zip(
        names, informative.tolist(), missing.tolist(), p_values, reasons, strict=True
    )
    return tuple(Absence(*of_feature) for of_feature in found)


def code_absences(
    codes: Codes, n_bins: NDArray[np.int64], informative: NDArray[np.bool_]
) -> Codes:
    """Give the gaps of informative features the code after their last bin.

    Parameters
    ----------
    codes : Codes
    n_bins : ndarray of shape (n_features,), int64
        Without that cell.
    informative : ndarray of shape (n_features,), bool

    Returns
    -------
    Codes
        In the same order. It is that of the new codes too, unless a row holds a
        category that was not there at fit.

    Examples
    --------
    >>> rows = np.array([[0, 1], [1, 255], [255, 0]], np.uint8)
    >>> codes = Codes(rows, np.ones(3, np.int64), np.arange(3))
    >>> code_absences(codes, np.array([2, 2]), np.array([True, False])).rows.tolist()
    [[0, 1], [1, 255], [2, 0]]
    """
    if not informative.any():
        return codes
    rows: NDArray[Any] = codes.rows.astype(code_dtype(n_bins + informative))
    # Unknown and missing are the last codes of the dtype, whichever it is.
    beyond = np.iinfo(rows.dtype).max - codes.missing
    if beyond:
        rows[codes.rows >= codes.missing - 1] += rows.dtype.type(beyond)
    for j in np.flatnonzero(informative):
        rows[codes.rows[:, j] == codes.missing, j] = n_bins[j]
    return replace(codes, rows=rows)


def _say_why(
    p_value: float | None,
    flagged: bool,
    event: tuple[NDArray[np.int64], float] | None,
    names: Sequence[str],
) -> str:
    if p_value is None:
        return f"under {LEAST} of the rows looked at observe it, or miss it: not tested"
    if not flagged:
        return "absent at random, as far as the other columns tell"
    if event is None:
        return "depends on the other columns, but is not absent together with another"
    others, r2 = event
    said = ", ".join(repr(names[j]) for j in others[:_MOST_NAMES])
    if len(others) > _MOST_NAMES:
        said += f" and {len(others) - _MOST_NAMES:,} more"
    said = f"absent together with {said} (r2 {r2:.2f})"
    return f"{said}, more than their values explain"
