"""A table with gaps and what to fill in, in; a filled table of the same make, out.

A frame comes back as a frame of its own library, with its columns in their order and
their types where these can hold the values; an array as an array; a list of rows as a
list of rows. Cells that were there stay as they are. The caller's table is not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._model.imputation import STRATEGIES, Gaps, estimate_gaps, warn_of_open_gaps
from .._shared.options import check_choice, check_flag
from .._shared.threads import count_threads
from .containers import split_table
from .filled_values import (
    TIMES,
    as_cells,
    as_numbers,
    as_times,
    count_micros,
    is_plain,
    known_cells,
)
from .frames import fill_frame, holds_booleans, is_frame, make_frame

_Array = NDArray[Any]


class Imputing:
    """A kernel's estimates as values, for what needs a filled table."""

    def impute(
        self, X: Any, *, strategy: Any = "mean", return_uncertainty: Any = False
    ) -> Any:
        """Fill the missing cells, with the estimates decoded to values.

        The kernel itself needs no filled table; this is for what does.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.
        strategy : {"mean", "mode"}, default="mean"
            What numbers, dates and durations are filled with: their expected value, or
            the typical value of the likeliest bin. All others get the likeliest label.
        return_uncertainty : bool, default=False
            Whether to give a second table.

        Returns
        -------
        filled : of the make of X: a frame of its library, an array or a list of rows
            A masked array stays one only if cells stay missing.
            What was observed is unchanged. Columns keep their types where these can
            hold the values; whole numbers are rounded, to what their type can hold,
            booleans True where more than half is expected.
        uncertainty : of the same make, only with ``return_uncertainty=True``
            0 where a cell was observed. For numbers the standard deviation of the
            estimate, a duration for dates; for labels and booleans the chance that
            another is right; missing where nothing could be filled in.

        Warns
        -----
        UserWarning
            If cells stay missing: nothing was observed in their column at fit.

        Examples
        --------
        >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
        >>> from proximity_kernel import ProximityKernel
        >>> pk = ProximityKernel(n_bins=2).fit(table)
        >>> filled, uncertainty = pk.impute(table, return_uncertainty=True)
        >>> round(filled[2][0], 2), filled[4][1]
        (7.15, 'b')
        >>> round(uncertainty[2][0], 2), round(uncertainty[4][1], 2)
        (2.89, 0.18)
        """
        check_choice("strategy", strategy, STRATEGIES)
        check_flag("return_uncertainty", return_uncertainty)
        kernel: Any = self
        model = kernel._fitted_model()  # noqa: SLF001  (it is a part of the kernel)
        codes = kernel._code(model, X)  # noqa: SLF001
        gaps = estimate_gaps(model, codes, strategy, count_threads(kernel.n_jobs))
        warn_of_open_gaps(gaps, stacklevel=3)
        gaps = _heed_booleans(X, gaps)
        filled = fill_table(X, gaps)
        return (filled, tell_uncertainty(X, gaps)) if return_uncertainty else filled


def fill_table(table: Any, gaps: Sequence[Gaps]) -> Any:
    """Fill the gaps of a table, in a copy of it.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    gaps : sequence of Gaps, one per column

    Returns
    -------
    frame, array or list of rows
        As `table` is.
    """
    if is_frame(table):
        return fill_frame(table, gaps)
    if isinstance(table, list | tuple):
        return _fill_rows(table, gaps)
    return _fill_array(table, gaps)


def tell_uncertainty(table: Any, gaps: Sequence[Gaps]) -> Any:
    """Make a table of the uncertainties, of the make of `table`; 0 where none is.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    gaps : sequence of Gaps, one per column

    Returns
    -------
    frame, array or list of rows
        Numbers; durations for numeric columns of times.
    """
    columns = [_tell_column(len(table), own) for own in gaps]
    if is_frame(table):
        return make_frame(table, columns)
    if isinstance(table, list | tuple):
        return [list(row) for row in zip(*(c.tolist() for c in columns), strict=True)]
    held = {column.dtype.kind for column in columns}
    out = np.empty((len(table), len(columns)), float if len(held) == 1 else object)
    if held == {"m"}:
        out = out.astype("m8[us]")
    for j, column in enumerate(columns):
        out[:, j] = column
    return out


def _heed_booleans(table: Any, gaps: Sequence[Gaps]) -> list[Gaps]:
    """Tell the uncertainty of booleans as that of labels."""
    return [
        replace(own, uncertainty=np.minimum(own.means, 1 - own.means))
        if own.fillable and is_plain(own) and holds_booleans(column, own.rows)
        else own
        for column, own in zip(split_table(table).columns, gaps, strict=True)
    ]


def _tell_column(n_rows: int, gaps: Gaps) -> _Array:
    out = np.zeros(n_rows)
    if gaps.fillable:
        out[gaps.rows] = gaps.uncertainty
    elif len(gaps.rows):
        out[gaps.rows] = np.nan
    if gaps.type.family in TIMES and is_plain(gaps):
        return count_micros(out, "m8[us]")
    return out


def _fill_rows(rows: Any, gaps: Sequence[Gaps]) -> list[Any]:
    out = [list(row) for row in rows]
    for j, own in enumerate(gaps):
        if own.fillable:
            known = known_cells([row[j] for row in out], own.rows)
            for i, value in zip(own.rows.tolist(), as_cells(own, known), strict=True):
                out[i][j] = value
    return [
        tuple(new) if isinstance(old, tuple) else new
        for old, new in zip(rows, out, strict=True)
    ]


def _holds(kind: str, gaps: Gaps) -> bool:
    """Whether an array can hold the values; not if it holds nothing of a column."""
    kinds = {"numbers": "biufO", "dates": "MO", "durations": "mO"}
    return kind in kinds.get(gaps.type.family, "O")


def _fill_array(table: Any, gaps: Sequence[Gaps]) -> _Array:
    masked = np.ma.isMaskedArray(table)
    out = np.array(np.ma.getdata(table) if masked else table)
    hidden = np.array(np.ma.getmaskarray(table)) if masked else None
    kind = out.dtype.kind
    if kind in "SUT":  # as long as it must be
        out = out.astype(object)
    elif not all(_holds(kind, own) for own in gaps if own.fillable):
        cells = [list(row) for row in out] if kind in "mM" else out.tolist()
        out = np.empty(out.shape, object)
        out[:] = cells
    for j, own in enumerate(gaps):
        if not own.fillable:
            continue
        if out.dtype.kind == "O":
            known = known_cells(out[:, j].tolist(), own.rows)
            values: Any = np.fromiter(as_cells(own, known), object, len(own.rows))
        elif out.dtype.kind in "mM":
            values = as_times(own).astype(out.dtype)
        else:
            values = as_numbers(own, out.dtype)
        out[own.rows, j] = values
        if hidden is not None:
            hidden[own.rows, j] = False
    out = out.astype(str) if kind in "UT" else out
    # What stays missing must not come to light with what lies under a mask.
    return out if hidden is None or not hidden.any() else np.ma.array(out, mask=hidden)
