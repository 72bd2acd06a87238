"""Learn the bins of a table from batches: the first of two passes over a large table.

A batch is summarized in a `BinSummary`: the type of each column, and its values with
their counts. Summaries merge, in any order, to that of the whole table, from which the
bins are computed. For a column with at most 100,000 distinct values they equal those of
`learn_bins` on the whole table to the last bit; beyond that, `quantile_sketch` is used.

The kind of a column is decided from all batches. A batch in which it is all missing is
ignored, whatever its dtype.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from reprlib import repr as short
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .._shared.options import BinCount
from .._shared.threads import run_pieces
from .._table.cells import NOTHING
from .._table.columns import FORMS, Column, ColumnType, mark_whole, read_columns
from .._table.tables import Table, check_same_columns
from .centers import Bins, rank_centers
from .codes import Binned, bin_labels
from .quantile_sketch import Held, hold_values, merge_held, rank_held
from .typical_values import Typical, average


@dataclass(frozen=True)
class Labels:
    """The labels of a categorical column, sorted, with their counts.

    Attributes
    ----------
    labels : tuple
    counts : ndarray of shape (n_labels,), int64
    """

    labels: tuple[Hashable, ...]
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class ColumnSummary:
    """Type, values and number of missing cells of one column.

    Attributes
    ----------
    type : ColumnType
    held : Ranked, Sketch or Labels
        The observed values.
    missing : int
        Cells that are missing.
    """

    type: ColumnType
    held: Held | Labels
    missing: int


@dataclass(frozen=True)
class BinSummary:
    """Summary of a table, or of a part of it, from which bins are learned.

    Attributes
    ----------
    columns : tuple of ColumnSummary
        Empty if there is no row yet.
    n_samples : int
    """

    columns: tuple[ColumnSummary, ...] = ()
    n_samples: int = 0

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.type.name for column in self.columns]


def has_no_rows(table: Any) -> bool:
    """Whether a batch is empty. If so it is ignored, and so are its dtypes."""
    if isinstance(table, list | tuple):
        return not table
    shape = getattr(table, "shape", ())
    return isinstance(shape, tuple) and len(shape) == 2 and shape[0] == 0


def summarize_bins(
    table: Any, categorical_features: Any = "from_dtype", n_threads: int = 1
) -> BinSummary:
    """Summarize a batch for its bins.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    categorical_features : "from_dtype", None, mask, indices or names
    n_threads : int

    Returns
    -------
    BinSummary

    Examples
    --------
    >>> state = summarize_bins([[1.5, "b"], [None, "a"], [1.5, "b"]])
    >>> size, color = state.columns
    >>> size.held.values.tolist(), size.held.counts.tolist(), size.missing
    ([1.5], [2], 1)
    >>> color.held.labels, color.held.counts.tolist()
    (('a', 'b'), [1, 2])
    """
    if has_no_rows(table):
        return BinSummary()
    columns = read_columns(table, categorical_features=categorical_features)
    states: list[Any] = [None] * len(columns)

    def summarize_some(first: int, last: int) -> None:
        states[first:last] = map(_summarize, columns[first:last])

    run_pieces(summarize_some, len(columns), piece=1, n_threads=n_threads)
    return BinSummary(tuple(states), len(columns[0].values))


def merge_bins(a: BinSummary, b: BinSummary) -> BinSummary:
    """Merge the summaries of two parts of a table, in either order.

    Parameters
    ----------
    a, b : BinSummary

    Returns
    -------
    BinSummary

    Examples
    --------
    >>> parts = [[[1, "b"], [2, "a"]], [[None, "c"]], [[2.0, None]]]
    >>> first, second, third = map(summarize_bins, parts)
    >>> whole = merge_bins(merge_bins(third, first), second)
    >>> whole.n_samples, whole.columns[0].held.counts.tolist()
    (4, [1, 2])
    >>> whole.columns[1].held.labels
    ('a', 'b', 'c')
    """
    if not (a.columns and b.columns):
        return a if a.columns else b
    named = a if a.names != [f"x{j}" for j in range(len(a.columns))] else b
    other = b if named is a else a
    unnamed = other.names == [f"x{j}" for j in range(len(other.columns))]
    check_same_columns(
        Table([None] * len(other.columns), None if unnamed else other.names),
        named.names,
    )
    pairs = zip(named.columns, other.columns, strict=True)
    merged = tuple(_merge(one, another) for one, another in pairs)
    return BinSummary(merged, a.n_samples + b.n_samples)


def finish_bins(
    state: BinSummary,
    categorical_features: Any,
    n_bins: Sequence[BinCount],
    max_categories: int,
) -> Binned:
    """Learn the bins of a table from the merged summaries of its batches.

    Parameters
    ----------
    state : BinSummary
        The summary of all rows.
    categorical_features
        The option that the batches were read with.
    n_bins, max_categories
        As in `learn_bins`.

    Returns
    -------
    Binned

    Examples
    --------
    >>> state = summarize_bins([[0.0, "b"], [1.0, "a"], [2.0, None], [10.0, "b"]])
    >>> length, color = finish_bins(state, "from_dtype", [3, 3], 255).bins
    >>> length.centers
    array([ 0. ,  1.5, 10. ])
    >>> color.categories
    ('a', 'b')
    """
    learnt = [
        _finish(column, asked, max_categories)
        for column, asked in zip(state.columns, n_bins, strict=True)
    ]
    types = tuple(column.type for column in state.columns)
    bins, typical = zip(*learnt, strict=True)
    return Binned(types, categorical_features, bins, typical)


def _finish(
    column: ColumnSummary, n_bins: BinCount, max_categories: int
) -> tuple[Bins, Typical]:
    held = column.held
    if isinstance(held, Labels):
        return bin_labels(held.labels, held.counts, max_categories)
    ranked = rank_held(held)
    bins = rank_centers(ranked, n_bins)
    ordered = column.type.order is not None
    return bins, average(ranked.values, ranked.counts, bins, ordered)


def _summarize(column: Column) -> ColumnSummary:
    observed = column.observed
    present = column.values[observed]
    missing = len(observed) - len(present)
    if column.type.kind == "numeric":
        found = mark_whole(column.type, present)
        return ColumnSummary(found, hold_values(present), missing)
    counts = np.bincount(present, minlength=len(column.labels)).astype(np.int64)
    return ColumnSummary(column.type, Labels(column.labels, counts), missing)


def _merge(a: ColumnSummary, b: ColumnSummary) -> ColumnSummary:
    """Merge two summaries of a column; its name is that in `a`."""
    missing = a.missing + b.missing
    if NOTHING in (a.type.family, b.type.family):
        said = max(a, b, key=_says)
        column_type = replace(said.type, name=a.type.name, place=a.type.place)
        return ColumnSummary(column_type, said.held, missing)
    if replace(b.type, name=a.type.name) != a.type:
        _refuse(a.type, b.type)
    if isinstance(a.held, Labels) and isinstance(b.held, Labels):
        try:
            labels = _merge_labels(a.held, b.held, a.type.family == "dates")
        except (TypeError, ValueError):  # such as periods of different lengths
            _refuse_labels(a.type, a.held, b.held)
        unasked = a.type.unasked or b.type.unasked
        return ColumnSummary(replace(a.type, unasked=unasked), labels, missing)
    assert not isinstance(a.held, Labels)  # both have the same kind here
    assert not isinstance(b.held, Labels)
    rounded = a.type.rounded or b.type.rounded
    form = max(a.type.form, b.type.form, key=FORMS.index)
    column_type = replace(a.type, rounded=rounded, form=form)
    return ColumnSummary(column_type, merge_held(a.held, b.held), missing)


def _says(state: ColumnSummary) -> tuple[bool, bool, bool, str]:
    """Order summaries by how certain the type of the column is.

    If nothing is observed, a text dtype is more certain than floats, because any empty
    column can be read as floats.
    """
    found = state.type
    ordered = found.order is not None
    said = found.family != NOTHING
    return said, ordered, found.kind == "categorical", repr(found.order)


def _refuse(a: ColumnType, b: ColumnType) -> None:
    """Raise an error with the types of a column in two batches."""
    if a.order is not None and b.order is not None:
        orders = " and ".join(sorted(f"{t.order}" for t in (a, b)))
        raise ValueError(
            f"{a.place} is an ordered categorical whose order differs in two batches, "
            f"{orders}; give all batches one order."
        )
    one, another = sorted(map(str, (a, b)))
    raise ValueError(
        f"{a.place} is {one} in one batch and {another} in another; convert it to one "
        "type (categorical_features makes numbers categorical)."
    )


def _refuse_labels(column: ColumnType, a: Labels, b: Labels) -> NoReturn:
    """Raise an error with the labels of two batches that cannot be sorted together."""
    shown = " and ".join(sorted(short(part.labels[0]) for part in (a, b)))
    raise ValueError(
        f"{column.place} has labels in two batches that cannot be sorted together, "
        f"for example {shown}; convert it to one type."
    ) from None


def _merge_labels(a: Labels, b: Labels, dates: bool) -> Labels:
    if a.labels == b.labels and repr(a.labels) == repr(b.labels):
        return Labels(a.labels, a.counts + b.counts)
    counts: dict[Hashable, int] = {}
    for part in (a, b):
        for label, n in zip(part.labels, part.counts.tolist(), strict=True):
            counts[label] = counts.get(label, 0) + n
    # Integers in a column with missing cells are read as floats. In one table all of
    # them would be.
    for wide in (int, float):
        if any(type(label) is wide for label in counts):
            counts = {_widen(label, wide): n for label, n in counts.items()}
    labels = sorted(counts, key=_date_key if dates else None)  # type: ignore[type-var, arg-type]
    totals = np.array([counts[label] for label in labels], np.int64)
    return Labels(tuple(labels), totals)


def _widen(label: Any, wide: type) -> Any:
    """Write a whole number or a boolean as a wider type, if no digit is lost."""
    return wide(label) if isinstance(label, int) and wide(label) == label else label


def _date_key(label: Any) -> tuple[int, str]:
    """Make a key to sort ISO dates by time, also with years beyond 9999 or below 0."""
    year, rest = label[1:].split("-", 1)
    return int(label[0] + year), rest
