"""Bins in words: ranges of numbers and dates, categories, missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._bins import (
    QUARTERS,
    Bins,
    CategoricalBins,
    NumericBins,
    Typical,
    nest_cells,
)
from ._table.columns import ColumnType, write_date

_DATE_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # in a second
_EXACT = 1e15  # below, whole numbers are written with all their digits
_EQUAL = 1e-6  # standard deviation of equal whole numbers, up to rounding
_DIGITS = 4  # digits of a number, unless two numbers need more to differ


@dataclass(frozen=True)
class BinNames:
    """The names of the bins of a feature, and of ranges of neighboring bins.

    Attributes
    ----------
    labels : tuple of str
        The names of bins that have no order: categories.
    lows, highs : tuple of str
        Where each bin begins and ends, in words; empty at an open end.
    beyond, between : str
        Formats of a range that is open above, and of one with two ends.
    empty : frozenset of int
        Bins without a value, between two neighboring whole numbers or ranks.
    missing : bool
        Whether missing cells have a bin of their own, the last one.
    """

    labels: tuple[str, ...] = ()
    lows: tuple[str, ...] = ()
    highs: tuple[str, ...] = ()
    beyond: str = "above {}"
    between: str = "{} to {}"
    empty: frozenset[int] = frozenset()
    missing: bool = False

    @property
    def n_ordered(self) -> int:
        """How many bins have an order; they come first."""
        return len(self.lows)

    def name(self, first: int, last: int) -> str:
        """Name the bins from `first` to `last`, both included."""
        if first >= len(self.labels) + self.n_ordered:
            return "missing"
        if self.labels:
            return self.labels[first]
        if first < last and last - first == self.n_ordered - 1:
            return "observed"
        low, high = self.lows[first], self.highs[last]
        if first == last and first in self.empty:
            return f"between {high} and {low}"
        if low == high:
            return low
        if not high:
            return self.beyond.format(low)
        return self.between.format(low, high) if low else f"up to {high}"

    def each(self) -> list[str]:
        """Name every bin."""
        n_bins = len(self.labels) + self.n_ordered + self.missing
        return [self.name(k, k) for k in range(n_bins)]


def name_bins(
    bins: Bins, column: ColumnType, typical: Typical, missing: bool
) -> BinNames:
    """Name the range or category of each bin of a feature.

    Parameters
    ----------
    bins : NumericBins or CategoricalBins
    column : ColumnType
    typical : Typical
        The typical values of the bins.
    missing : bool
        Whether missing cells have a bin of their own.

    Returns
    -------
    BinNames

    Examples
    --------
    >>> from proximity_kernel._bins import NumericBins
    >>> bins = NumericBins(np.array([10.0, 15.0, 45.0]))
    >>> typical = Typical(bins.centers, np.ones(3))
    >>> age = ColumnType("age", "numeric", "numbers")
    >>> name_bins(bins, age, typical, missing=True).each()
    ['up to 12.5', '12.5 to 30', 'above 30', 'missing']
    >>> whole = ColumnType("age", "numeric", "numbers", form="whole")
    >>> names = name_bins(bins, whole, typical, missing=False)
    >>> names.each(), names.name(0, 1)
    (['up to 12', '13-30', '31 or more'], 'up to 30')
    """
    if isinstance(bins, CategoricalBins):
        return BinNames(tuple(bins.names()), missing=missing)
    if not bins.n_bins:
        return BinNames(missing=missing)
    order = (False, True) if column.form == "boolean" else column.order
    if order is not None and (bins.n_bins > 1 or column.order is not None):
        return _name_ranks(bins, [str(label) for label in order], missing)
    if bins.n_bins == 1:
        center = float(bins.centers[0])
        value = write_numbers([center], column.family)[0]
        value = value if order is None else str(bool(center))
        return BinNames(lows=(value,), highs=(value,), missing=missing)
    whole = column.form == "whole" and column.family == "numbers"
    if whole and np.abs(bins.midpoints).max() < _EXACT:
        return _name_whole_numbers(bins, typical, missing)
    limits = write_numbers(bins.midpoints.tolist(), column.family)
    return BinNames(lows=("", *limits), highs=(*limits, ""), missing=missing)


def _name_ranks(bins: NumericBins, labels: list[str], missing: bool) -> BinNames:
    """Name the bins of an ordered categorical, or of booleans, by their labels.

    A bin whose center lies between two ranks may contain no label.
    """
    lows, highs = _find_whole_ends(bins, 0, len(labels) - 1)
    return BinNames(
        lows=tuple(labels[k] for k in lows),
        highs=tuple(labels[k] for k in highs),
        empty=_find_empty(lows, highs),
        missing=missing,
    )


def _name_whole_numbers(bins: NumericBins, typical: Typical, missing: bool) -> BinNames:
    """Name bins by the least and the greatest whole number that each can contain.

    The first and the last bin are open, unless all their values are equal: "0" and "1",
    not "up to 0" and "1 or more".
    """
    lows, highs = _find_whole_ends(bins, 0, 0)
    means = np.asarray(typical.values, np.float64)
    first, last = (
        round(means[k]) if typical.spread[k] < _EQUAL else None for k in (0, -1)
    )
    low = str(first) if first == highs[0] else ""
    high = str(last) if last == lows[-1] else ""
    return BinNames(
        lows=(low, *map(str, lows[1:])),
        highs=(*map(str, highs[:-1]), high),
        beyond="{} or more",
        between="{}-{}" if highs[0] >= 0 else "{} to {}",
        empty=_find_empty(lows[1:-1], highs[1:-1], start=1),
        missing=missing,
    )


def _find_whole_ends(
    bins: NumericBins, lowest: int, highest: int
) -> tuple[list[int], list[int]]:
    """Find the least and the greatest whole number of each bin.

    `lowest` and `highest` are those of the first and the last bin. If a bin is between
    two neighboring whole numbers, its least number is above its greatest.
    """
    below = [int(limit) for limit in np.floor(bins.midpoints).tolist()]
    return [lowest, *(n + 1 for n in below)], [*below, highest]


def _find_empty(lows: list[int], highs: list[int], start: int = 0) -> frozenset[int]:
    """Find the bins that contain no whole number: their ends are in reverse order."""
    ends = enumerate(zip(lows, highs, strict=True), start)
    return frozenset(k for k, (low, high) in ends if low > high)


def write_numbers(numbers: Sequence[float], family: str) -> list[str]:
    """Write numbers with few digits, but enough to distinguish different ones."""
    if family == "dates":
        return _write_dates(numbers)
    for digits in range(_DIGITS, 17):
        out = [_shorten(number, digits) for number in numbers]
        if len(set(out)) == len(out):
            break
    return [f"{text} s" for text in out] if family == "durations" else out


def _write_dates(seconds: Sequence[float]) -> list[str]:
    """Write dates, with as much of the time as is needed to distinguish them."""
    whole = np.floor(seconds).astype("datetime64[s]")
    out = [str(day) for day in whole.astype("datetime64[D]")]
    for unit, per_second in _DATE_UNITS.items():
        # A finer unit covers fewer years.
        if len(set(out)) == len(out) or max(map(abs, seconds)) * per_second >= 2**63:
            break
        counts = np.array([round(moment * per_second) for moment in seconds])
        moments = whole if unit == "s" else counts.astype(f"datetime64[{unit}]")
        out = [str(moment) for moment in moments]
    return out


def write_moment(seconds: float) -> str:
    """Write a date, with its time unless it is midnight.

    Examples
    --------
    >>> write_moment(86400.0), write_moment(0.25)
    ('1970-01-02', '1970-01-01T00:00:00.25')
    """
    whole, rest = divmod(seconds, 1)
    return write_date(int(whole) * 10**9 + round(rest * 1e6) * 1000)


def _shorten(number: float, digits: int) -> str:
    """Round to significant digits, without an exponent if that is readable."""
    if number and not 1e-4 <= abs(number) < 1e15:
        return f"{number:.{digits}g}"
    return np.format_float_positional(number, digits, fractional=False, trim="-")


def name_leaves(
    bins: Bins, column: ColumnType, typical: Typical, missing: bool
) -> BinNames:
    """Name the leaves of a feature, as `name_bins` does; most have one for each bin."""
    if isinstance(bins, NumericBins) and bins.cuts is not None and len(bins.cuts):
        every = np.full(len(bins.cuts), QUARTERS)  # as if each leaf were a bin
        bins = NumericBins(np.zeros(len(every) + 1), cuts=bins.cuts, levels=every)
    return name_bins(bins, column, typical, missing)


def _list_cells(bins: Bins) -> list[NDArray[np.int64]]:
    """List the leaves of each cell that has several (halves, quarters, eighths)."""
    if isinstance(bins, CategoricalBins):
        return []
    if bins.levels is None:
        return list(bins.shared.values())
    return [members for members, _ in nest_cells(bins.levels)[1]]


def output_names(
    names: Sequence[str], bins: Sequence[Bins], leaves: Sequence[BinNames]
) -> NDArray[np.object_]:
    """Name every column of the representation: the feature, and the bin in words.

    Words rather than brackets, as other libraries accept no ``[`` and ``<`` in names.
    Underscores are added to a name until it is unique: the column "a" with a category
    "b c" collides with a column "a b" that has a category "c".

    Parameters
    ----------
    names : sequence of str
        The features.
    bins : sequence of Bins
    leaves : sequence of BinNames
        From `name_leaves`.

    Returns
    -------
    ndarray of str of shape (n_columns,)

    Examples
    --------
    >>> from proximity_kernel._bins import CategoricalBins, NumericBins
    >>> bins = [NumericBins(np.array([1.0, 2.0])), CategoricalBins(("a", "b"))]
    >>> leaves = [BinNames(lows=("", "1.5"), highs=("1.5", "")), BinNames(("a", "b"))]
    >>> output_names(["age", "blood"], bins, leaves).tolist()
    ['age up to 1.5', 'age above 1.5', 'blood a', 'blood b']
    """
    out: dict[str, None] = {}  # a set that keeps its order
    for feature, feature_bins, own in zip(names, bins, leaves, strict=True):
        cells = _list_cells(feature_bins)
        for words in [*own.each(), *(own.name(c[0], c[-1]) for c in cells)]:
            name = f"{feature} {words}"
            while name in out:
                name += "_"
            out[name] = None
    return np.array(list(out), dtype=object)
