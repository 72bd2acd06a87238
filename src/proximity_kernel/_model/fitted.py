"""What a `ProximityKernel` does before it answers, and how it learns from batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from .._bins.codes import Codes
from .._matching.row_state import RowState
from .._shared.threads import count_threads
from .._table.columns import read_columns
from .batches import learn_batches
from .fit_options import check_kernel_options, resolve_options
from .model import warn_of_columns


def check_fitted(kernel: Any) -> None:
    """Refuse a kernel that is not fitted, or whose options are bad."""
    if "_learning" in vars(kernel) and "model_" not in vars(kernel):
        raise NotFittedError(
            "The bins are learnt, the rows are not; call partial_fit(batch, "
            "learn='rows') for every batch."
        )
    check_is_fitted(kernel)
    check_kernel_options(kernel)


def code_table(kernel: Any, X: Any) -> Codes:
    """Code the rows of a table by a fitted kernel.

    Parameters
    ----------
    kernel : ProximityKernel
    X : frame, array or list of rows, of shape (n_samples, n_features)

    Returns
    -------
    Codes
    """
    check_fitted(kernel)
    try:
        if len(getattr(X, "shape", (0, 0))) == 2:
            validate_data(kernel, X, reset=False, skip_check_array=True)
    except (ValueError, TypeError, LookupError):
        read_columns(X)  # a better message, if it is the table that is wrong
        raise
    codes: Codes = kernel.model_.code(X, count_threads(kernel.n_jobs))
    return codes


def fit_to_batches(kernel: Any, read: Callable[[], Iterator[Any]]) -> RowState:
    """Fit a kernel to batches.

    Parameters
    ----------
    kernel : ProximityKernel
    read : callable
        Returns a new iterator of the batches.

    Returns
    -------
    RowState
        What was kept of the rows.
    """
    header = type(kernel)()  # takes the column names until everything is learnt

    def check(batch: Any, first: bool) -> None:
        validate_data(header, batch, reset=first, skip_check_array=True)

    model, rows = learn_batches(read, resolve_options(kernel), check)
    forget(kernel)
    names = (name for name in vars(header) if name.endswith("_in_"))
    vars(kernel).update({name: vars(header)[name] for name in names})
    kernel.model_ = model
    warn_of_columns(model)
    return rows


def forget(kernel: Any) -> None:
    """Drop all that a kernel learnt."""
    learnt = [name for name in vars(kernel) if name.endswith("_")]
    for name in (*learnt, "_learning"):
        vars(kernel).pop(name, None)
