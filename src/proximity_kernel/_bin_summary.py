"""Learn the bins of a table from batches: the first of two passes over it.

A batch is summarized in a `BinSummary`: the type of each column, and its values with
their counts. Summaries merge, in any order, to the summary of the whole table, from
which the bins are computed. For a column with at most 100,000 distinct values, the bins
equal those of `learn_bins` on the whole table to the last bit. The kind of a column is
decided from all batches, except those in which all cells of the column are missing:
their dtype is ignored.

Beyond `LIMIT` distinct values the summary of a column becomes a quantile sketch (KLL):
levels of sorted items, where an item of level h stands for ``2**h`` values. When a
level has `WIDTH` items it is compacted: of each two neighboring items, one moves up to
the next level, and the other is dropped. A checksum of the items decides which, so the
same batches merged in the same way give the same sketch on any machine.

A compaction at level h changes a rank by at most ``2**h`` and takes at least `WIDTH`
items. So all compactions together change a rank by at most ``levels / WIDTH`` of the
number of values: 0.3 % for ten million values. Errors mostly cancel, because they have
both signs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from reprlib import repr as short
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ._bins import (
    Binned,
    Bins,
    Typical,
    ValueCounts,
    bin_labels,
    count_values,
    fit_numeric_bins,
    learn_typical,
)
from ._shared.options import BinCount
from ._shared.resources import run_pieces
from ._table.columns import FORMS, NOTHING, Column, ColumnType, mark_whole, read_columns
from ._table.tables import Table, check_same_columns

LIMIT = 100_000
"""Maximum number of distinct values that are kept with their counts."""
WIDTH = 4096
"""Number of items at which a level of a sketch is compacted."""
_Floats = NDArray[np.float64]
_NONE: _Floats = np.empty(0)


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
    """Summary of one column: its type, values with counts, and missing cells.

    Attributes
    ----------
    type : ColumnType
    distribution : ValueCounts, Sketch or Labels
        The observed values with their counts.
    missing : int
        Number of missing cells.
    """

    type: ColumnType
    distribution: ValueSummary | Labels
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
    """Return whether a batch has no rows; then its dtypes are ignored, too."""
    if isinstance(table, list | tuple):
        return not table
    shape = getattr(table, "shape", ())
    return isinstance(shape, tuple) and len(shape) == 2 and shape[0] == 0


def summarize_bins(
    table: Any, categorical_features: Any = "from_dtype", n_threads: int = 1
) -> BinSummary:
    """Summarize a batch: the type of each column, and its values with counts.

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
    >>> values = size.distribution
    >>> values.values.tolist(), values.counts.tolist(), size.missing
    ([1.5], [2], 1)
    >>> color.distribution.labels, color.distribution.counts.tolist()
    (('a', 'b'), [1, 2])
    """
    columns = read_columns(table, categorical_features=categorical_features)
    states: list[Any] = [None] * len(columns)

    def summarize_some(first: int, last: int) -> None:
        states[first:last] = map(_summarize_column, columns[first:last])

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
    >>> whole.n_samples, whole.columns[0].distribution.counts.tolist()
    (4, [1, 2])
    >>> whole.columns[1].distribution.labels
    ('a', 'b', 'c')
    """
    if not (a.columns and b.columns):
        return a if a.columns else b
    named, other = (b, a) if _is_unnamed(a) else (a, b)
    names = None if _is_unnamed(other) else other.names
    check_same_columns(Table([None] * len(other.columns), names), named.names)
    pairs = zip(named.columns, other.columns, strict=True)
    merged = tuple(_merge_columns(one, another) for one, another in pairs)
    return BinSummary(merged, a.n_samples + b.n_samples)


def _is_unnamed(state: BinSummary) -> bool:
    """Whether the column names are the defaults of an array: x0, x1 and so on."""
    return state.names == [f"x{j}" for j in range(len(state.columns))]


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
        The option with which the batches were read.
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
        _finish_column(column, asked, max_categories)
        for column, asked in zip(state.columns, n_bins, strict=True)
    ]
    types = tuple(column.type for column in state.columns)
    bins, typical = zip(*learnt, strict=True)
    return Binned(types, categorical_features, bins, typical)


def _finish_column(
    column: ColumnSummary, n_bins: BinCount, max_categories: int
) -> tuple[Bins, Typical]:
    """Learn the bins of a column, and their typical values, from its summary."""
    summary = column.distribution
    if isinstance(summary, Labels):
        return bin_labels(summary.labels, summary.counts, max_categories)
    ranked = list_value_counts(summary)
    bins = fit_numeric_bins(ranked, n_bins)
    ordered = column.type.order is not None
    return bins, learn_typical(ranked.values, ranked.counts, bins, ordered)


def _summarize_column(column: Column) -> ColumnSummary:
    """Summarize a column: its type, its values with counts, its missing cells."""
    observed = column.observed
    present = column.values[observed]
    missing = len(observed) - len(present)
    if column.type.kind == "numeric":
        found = mark_whole(column.type, present)
        return ColumnSummary(found, summarize_values(present), missing)
    counts = np.bincount(present, minlength=len(column.labels)).astype(np.int64)
    return ColumnSummary(column.type, Labels(column.labels, counts), missing)


def _merge_columns(a: ColumnSummary, b: ColumnSummary) -> ColumnSummary:
    """Merge two summaries of a column; its name is taken from `a`."""
    missing = a.missing + b.missing
    if NOTHING in (a.type.family, b.type.family):
        surer = max(a, b, key=_type_certainty)
        column_type = replace(surer.type, name=a.type.name, place=a.type.place)
        return ColumnSummary(column_type, surer.distribution, missing)
    if replace(b.type, name=a.type.name) != a.type:
        _raise_type_differs(a.type, b.type)
    one, other = a.distribution, b.distribution
    if isinstance(one, Labels) and isinstance(other, Labels):
        try:
            labels = _merge_labels(one, other, a.type.family == "dates")
        except (TypeError, ValueError):  # such as periods of different lengths
            shown = " and ".join(sorted(short(s.labels[0]) for s in (one, other)))
            raise ValueError(
                f"{a.type.place} has labels in two batches that cannot be sorted "
                f"together, for example {shown}; convert it to one type."
            ) from None
        unasked = a.type.unasked or b.type.unasked
        return ColumnSummary(replace(a.type, unasked=unasked), labels, missing)
    assert not isinstance(one, Labels)  # both have the same kind here
    assert not isinstance(other, Labels)
    rounded = a.type.rounded or b.type.rounded
    form = max(a.type.form, b.type.form, key=FORMS.index)
    column_type = replace(a.type, rounded=rounded, form=form)
    return ColumnSummary(column_type, merge_values(one, other), missing)


def _type_certainty(state: ColumnSummary) -> tuple[bool, bool, bool, str]:
    """Return a sort key: how certain the type of the summarized column is.

    If nothing is observed, a text dtype is more certain than floats, because any empty
    column can be read as floats.
    """
    found = state.type
    ordered = found.order is not None
    observed = found.family != NOTHING
    return observed, ordered, found.kind == "categorical", repr(found.order)


def _raise_type_differs(a: ColumnType, b: ColumnType) -> None:
    """Raise ValueError: a column has type `a` in one batch and `b` in another."""
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


def _merge_labels(a: Labels, b: Labels, dates: bool) -> Labels:
    """Merge the labels of two parts of a column, and add up the counts of equal labels.

    If any label is a float, integers are converted to float. With `dates`, labels are
    sorted by time.
    """
    if a.labels == b.labels and repr(a.labels) == repr(b.labels):
        return Labels(a.labels, a.counts + b.counts)
    counts: dict[Hashable, int] = {}
    for part in (a, b):
        for label, n in zip(part.labels, part.counts.tolist(), strict=True):
            counts[label] = counts.get(label, 0) + n
    # Integers are read as floats in a batch with missing cells. In the whole table, all
    # integers would be read as floats.
    for wide in (int, float):
        if any(type(label) is wide for label in counts):
            counts = {_widen(label, wide): n for label, n in counts.items()}
    labels = sorted(counts, key=_date_key if dates else None)  # type: ignore[type-var, arg-type]
    totals = np.array([counts[label] for label in labels], np.int64)
    return Labels(tuple(labels), totals)


def _widen(label: Any, wide: type) -> Any:
    """Convert an int or bool label to a wider type, if the result equals the label."""
    return wide(label) if isinstance(label, int) and wide(label) == label else label


def _date_key(label: Any) -> tuple[int, str]:
    """Return a key that sorts ISO dates by time, also with a negative or long year."""
    year, rest = label[1:].split("-", 1)
    return int(label[0] + year), rest


@dataclass(frozen=True)
class Sketch:
    """Quantile sketch of a column with very many distinct values.

    Attributes
    ----------
    levels : tuple of ndarray of float64, each sorted
        An item of level h stands for ``2**h`` values.
    low, high : float
        The exact minimum and maximum.
    """

    levels: tuple[_Floats, ...]
    low: float
    high: float


ValueSummary = ValueCounts | Sketch


def summarize_values(values: _Floats) -> ValueSummary:
    """Count the distinct values of a column, or sketch them if more than `LIMIT`.

    Parameters
    ----------
    values : ndarray of shape (n_observed,), float64
        Without NaN.

    Returns
    -------
    ValueCounts or Sketch
    """
    ranked = count_values(values)
    if len(ranked.values) <= LIMIT:
        return ranked
    found = np.repeat(ranked.values, ranked.counts)
    return Sketch(_compact((found,)), float(found[0]), float(found[-1]))


def merge_values(a: ValueSummary, b: ValueSummary) -> ValueSummary:
    """Merge the value counts or sketches of two parts of a column.

    Parameters
    ----------
    a, b : ValueCounts or Sketch

    Returns
    -------
    ValueCounts or Sketch
        Counts if both are counts and at most `LIMIT` values are distinct.

    Examples
    --------
    >>> first, second = map(summarize_values, (np.array([1.0, 3.0]), np.ones(2)))
    >>> both = merge_values(first, second)
    >>> both.values.tolist(), both.counts.tolist()
    ([1.0, 3.0], [3, 1])
    """
    if isinstance(a, ValueCounts) and isinstance(b, ValueCounts):
        both = _add_counts(
            np.concatenate([a.values, b.values]), np.concatenate([a.counts, b.counts])
        )
        return both if len(both.values) <= LIMIT else _to_sketch(both)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, ValueCounts) and not len(one.values):
            return other
    a, b = _to_sketch(a), _to_sketch(b)
    pairs = zip_longest(a.levels, b.levels, fillvalue=_NONE)
    levels = tuple(np.sort(np.concatenate(pair), kind="stable") for pair in pairs)
    return Sketch(_compact(levels), min(a.low, b.low), max(a.high, b.high))


def list_value_counts(summary: ValueSummary) -> ValueCounts:
    """List the sorted values and counts of a summary; a sketch has weighted items."""
    if isinstance(summary, ValueCounts):
        return summary
    sizes = [len(items) for items in summary.levels]
    values = np.concatenate(summary.levels)
    counts = np.repeat(1 << np.arange(len(sizes)), sizes)
    # The exact minimum and maximum replace one copy of the least and greatest item.
    counts[values.argmin()] -= 1
    counts[values.argmax()] -= 1
    ranked = _add_counts(
        np.concatenate([[summary.low], values, [summary.high]]),
        np.concatenate([[1], counts, [1]]),
    )
    there = ranked.counts > 0
    return ValueCounts(ranked.values[there], ranked.counts[there])


def _add_counts(values: _Floats, counts: NDArray[np.int64]) -> ValueCounts:
    """Sort values and add up the counts of equal values."""
    if not len(values):
        return ValueCounts(values, counts)
    order = np.argsort(values, kind="stable")  # fast: merges two sorted runs
    values, counts = values[order], counts[order]
    first = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    return ValueCounts(values[first], np.add.reduceat(counts, first))


def _to_sketch(summary: ValueSummary) -> Sketch:
    """Convert value counts to a sketch: a count of 5 gives items of levels 2 and 0."""
    if isinstance(summary, Sketch):
        return summary
    n_levels = int(summary.counts.max()).bit_length()
    levels = (summary.values[(summary.counts >> h) & 1 == 1] for h in range(n_levels))
    return Sketch(
        _compact(tuple(levels)), float(summary.values[0]), float(summary.values[-1])
    )


def _compact(levels: tuple[_Floats, ...]) -> tuple[_Floats, ...]:
    """Compact the full levels of a sketch, the lowest level first."""
    out: list[_Floats] = []
    up = _NONE
    while len(out) < len(levels) or len(up):
        items = levels[len(out)] if len(out) < len(levels) else _NONE
        if len(up):
            items = np.sort(np.concatenate([items, up]), kind="stable")
        up = _NONE
        if len(items) >= WIDTH:
            pairs = items[: len(items) // 2 * 2]
            up, items = pairs[crc32(pairs.tobytes()) & 1 :: 2], items[len(pairs) :]
        out.append(items)
    return tuple(out)
