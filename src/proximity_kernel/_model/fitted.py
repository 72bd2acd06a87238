"""What a `ProximityKernel` does before it answers, and how it learns from batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from .._bins.bin_state import has_no_rows
from .._bins.codes import Codes
from .._matching.row_state import RowState
from .._shared.threads import count_threads
from .._table.columns import read_columns
from .batches import Learn, Learning, learn_batches
from .fit_options import check_kernel_options, resolve_options
from .model import Model, fit_model, warn_of_columns


def take_model(kernel: Any) -> Model:
    """Take the model of a kernel, once: another thread may fit it at the same time.

    Refuses a kernel that is not fitted, or whose options are bad.
    """
    if "_learning" in vars(kernel) and "model_" not in vars(kernel):
        raise NotFittedError(
            "The bins are learnt, the rows are not; call partial_fit(batch, "
            "learn='rows') for every batch."
        )
    check_is_fitted(kernel)
    check_kernel_options(kernel)
    model: Model = kernel.model_
    return model


def code_table(kernel: Any, model: Model, X: Any) -> Codes:
    """Code the rows of a table with the model of a kernel.

    Parameters
    ----------
    kernel : ProximityKernel
    model : Model
        Of that kernel.
    X : frame, array or list of rows, of shape (n_samples, n_features)

    Returns
    -------
    Codes
    """
    try:
        if len(getattr(X, "shape", (0, 0))) == 2:
            validate_data(kernel, X, reset=False, skip_check_array=True)
    except (ValueError, TypeError, LookupError):
        read_columns(X)  # a better message, if it is the table that is wrong
        raise
    return model.code(X, count_threads(kernel.n_jobs))


def represent_codes(kernel: Any, model: Model, codes: Codes) -> sp.csr_array:
    """Represent coded rows as the options of a kernel ask for."""
    threads = count_threads(kernel.n_jobs)
    return model.represent(codes, kernel.dtype, kernel.normalize, threads)


def fit_to_table(kernel: Any, X: Any) -> tuple[Model, Codes]:
    """Fit a kernel to a table in memory.

    Parameters
    ----------
    kernel : ProximityKernel
    X : frame, array or list of rows, of shape (n_samples, n_features)

    Returns
    -------
    Model
    Codes
        Of the rows of the table.
    """
    options = resolve_options(kernel)
    columns = read_columns(X, categorical_features=options.categorical_features)
    model, codes = fit_model(columns, options)
    # From here on nothing can fail: the old model is there, or the new one.
    validate_data(kernel, X, skip_check_array=True)
    vars(kernel).pop("_learning", None)
    kernel.model_ = model
    warn_of_columns(model)
    return model, codes


def learn_batch(kernel: Any, batch: Any, learn: Learn) -> None:
    """Let a kernel learn from one batch, in the first or the second pass.

    Parameters
    ----------
    kernel : ProximityKernel
    batch : frame, array or list of rows, of shape (n_samples, n_features)
    learn : {"bins", "rows"}
    """
    options = resolve_options(kernel)
    before: Learning = vars(kernel).get("_learning", Learning())

    def check(batch: Any, first: bool) -> None:
        validate_data(kernel, batch, reset=first, skip_check_array=True)

    if learn == "bins":
        after = before.add_bins(batch, options, check)
        if not before.bin_state.columns and after.bin_state.columns:
            forget(kernel)
            check(batch, True)
    else:
        if before.bin_state.columns and not has_no_rows(batch):
            check(batch, False)
        after = before.add_rows(batch, options)
        if after is not before:
            kernel.model_ = after.finish(options)
            if before.row_state is None:
                warn_of_columns(kernel.model_)
    if after is not before:
        vars(kernel)["_learning"] = after


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
