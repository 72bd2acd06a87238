"""Fit a model to batches, in two passes over a table that need not fit in memory.

The first pass learns the bins (`BinSummary`), the second counts the codes of the rows
(`RowSummary`). Summaries merge, so the model does not depend on how the table was
divided, nor on the order of the batches. The exception is a numeric column with more
than 100,000 distinct values, whose quantiles come from a sketch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from sklearn.utils.validation import validate_data

from ._bin_summary import (
    BinSummary,
    finish_bins,
    has_no_rows,
    merge_bins,
    summarize_bins,
)
from ._bins import Binned, list_bin_counts
from ._model import finish_model, warn_of_columns
from ._row_summary import RowPlan, RowSummary, merge_rows, plan_rows, summarize_rows
from ._shared.options import FitOptions, resolve_options
from ._shared.wording import note_about
from ._table.tables import collect_table

_READ_AGAIN = (
    "pass a list, or a function that returns a new iterator of the same batches each "
    "time"
)
_State = TypeVar("_State")


def plan_second_pass(
    bin_summary: BinSummary, options: FitOptions
) -> tuple[Binned, RowPlan]:
    """Learn the bins from the summary of all batches, and plan the second pass."""
    if not bin_summary.columns:
        raise ValueError("No batch has a row; pass at least one row.")
    n_bins = list_bin_counts(options, [column.type for column in bin_summary.columns])
    chosen, n_samples = options.categorical_features, bin_summary.n_samples
    binned = finish_bins(bin_summary, chosen, n_bins, options.max_categories)
    return binned, plan_rows(options.matching, binned.n_bins, n_samples, options.seed)


def merge_all(
    states: Iterable[_State | None], merge: Callable[[_State, _State], _State]
) -> _State | None:
    """Merge the states of batches, in pairs that cover about equally many batches.

    Parameters
    ----------
    states : iterable
        None is left out.
    merge : callable

    Returns
    -------
    state or None
        None if there are no states.

    Examples
    --------
    >>> merge_all(iter("abcde"), lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    held: list[tuple[int, _State]] = []
    for one in states:
        if one is None:
            continue
        size, state = 1, one
        while held and held[-1][0] == size:
            state = merge(held.pop()[1], state)
            size *= 2
        held.append((size, state))
    while len(held) > 1:
        (_, last), (size, before) = held.pop(), held.pop()
        held.append((size, merge(before, last)))
    return held[0][1] if held else None


def make_reader(batches: Any) -> Callable[[], Iterator[Any]]:
    """Make a function that returns a new iterator of the batches at each call.

    Raises TypeError for a single table and for an iterator, which cannot be read twice.
    """
    if callable(batches):
        return lambda: iter(batches())
    if getattr(batches, "ndim", 0) == 2 or hasattr(batches, "columns"):
        raise TypeError(
            f"batches must be several tables, got a single {type(batches).__name__}; "
            "call fit, or pass a list of tables."
        )
    if isinstance(batches, Iterator):
        raise TypeError(
            f"batches is an iterator, a {type(batches).__name__}, which can be read "
            "only once, and two passes are needed; pass a list, or a function that "
            "returns a new iterator each time."
        )
    if not isinstance(batches, Iterable) or isinstance(batches, str | bytes):
        raise TypeError(
            "batches must be a list of tables, or a function that returns an iterator "
            f"of tables, got {type(batches).__name__}."
        )
    return lambda: iter(batches)


def check_same_rows(
    bin_summary: BinSummary, rows: RowSummary | None, advice: str = _READ_AGAIN
) -> RowSummary:
    """Return the row summary; raise ValueError if the two passes read different rows.

    Compared are the number of rows, and of missing cells in each column.
    """
    missing = [column.missing for column in bin_summary.columns]
    seen = 0 if rows is None else rows.n_samples
    same = rows is not None and missing == rows.missing.tolist()
    if rows is None or not same or seen != bin_summary.n_samples:
        raise ValueError(
            "The batches had different rows when read again "
            f"({bin_summary.n_samples:,} first, then {seen:,}); {advice}."
        )
    return rows


def fit_to_batches(
    kernel: Any, read: Callable[[], Iterator[Any]]
) -> tuple[RowSummary, BinSummary]:
    """Fit a kernel to batches that are read twice.

    Parameters
    ----------
    kernel : ProximityKernel
    read : callable
        Returns a new iterator of the batches.

    Returns
    -------
    RowSummary
        The summary of all rows.
    BinSummary
        The summary of all columns.
    """
    options = resolve_options(kernel)
    header = type(kernel)()  # has the column names until the fit is complete
    bin_summary = BinSummary()
    for i, batch in enumerate(map(collect_table, read())):
        if has_no_rows(batch):
            continue
        with note_about(f"batch {i}, counted from 0"):
            chosen, threads = options.categorical_features, options.n_threads
            found = summarize_bins(batch, chosen, threads)
            first = not bin_summary.columns
            validate_data(header, batch, reset=first, skip_check_array=True)
            bin_summary = merge_bins(bin_summary, found)
    binned, plan = plan_second_pass(bin_summary, options)

    def summarize(i: int, batch: Any) -> RowSummary | None:
        with note_about(f"batch {i}, counted from 0"):
            if has_no_rows(batch):
                return None
            return summarize_rows(batch, binned, plan, options.n_threads)

    batches = map(collect_table, read())
    rows = merge_all((summarize(*one) for one in enumerate(batches)), merge_rows)
    rows = check_same_rows(bin_summary, rows)
    model = finish_model(binned, rows, options)
    for name in [name for name in vars(kernel) if name.endswith("_")]:
        delattr(kernel, name)  # results of an earlier fit
    names = (name for name in vars(header) if name.endswith("_in_"))
    vars(kernel).update({name: vars(header)[name] for name in names})
    kernel.model_ = model
    warn_of_columns(model)
    return rows, bin_summary
