"""Bins in words: ranges of numbers and dates, categories, missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table.cells import write_date
from .._table.columns import ColumnType
from .centers import Bins, CategoricalBins
from .fine_scale import nest_cells

_DATE_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # in a second
_COARSE_NAMES = ("low", "high")
_DIGITS = 4  # digits of a number, unless two adjacent ones need more to differ


def name_bins(bins: Bins, column: ColumnType, gaps: bool) -> list[str]:
    """Name the range or category of each bin of a feature.

    Examples
    --------
    >>> from proximity_kernel._bins.centers import NumericBins
    >>> bins = NumericBins(np.array([10.0, 15.0, 45.0]))
    >>> name_bins(bins, ColumnType("age", "numeric", "numbers"), gaps=True)
    ['up to 12.5', '12.5 to 30', 'above 30', 'missing']
    """
    missing = ["missing"] if gaps else []
    if isinstance(bins, CategoricalBins):
        return [*bins.names(), *missing]
    if column.order is not None:
        return [*_name_ranks(bins.midpoints, column.order, bins.n_bins), *missing]
    if bins.n_bins == 1:
        return [_write([float(bins.centers[0])], column.family)[0], *missing]
    limits = _write(bins.midpoints.tolist(), column.family)
    inner = [f"{low} to {high}" for low, high in pairwise(limits)]
    ends = [f"up to {limits[0]}", *inner, f"above {limits[-1]}"] if limits else []
    return [*ends, *missing]


def _name_ranks(
    midpoints: NDArray[np.float64], order: Sequence[Any], n_bins: int
) -> list[str]:
    """Name the bins of an ordered categorical by their categories.

    The bin of a center between two ranks can be without a category.
    """
    held = np.searchsorted(midpoints, np.arange(len(order)))
    names = []
    for k in range(n_bins):
        labels = [str(order[rank]) for rank in np.flatnonzero(held == k).tolist()]
        if not labels:
            below = int(np.searchsorted(held, k)) - 1
            names.append(f"between {order[below]} and {order[below + 1]}")
        else:
            several = len(labels) > 1
            names.append(f"{labels[0]} to {labels[-1]}" if several else labels[0])
    return names


def _write(numbers: Sequence[float], family: str) -> list[str]:
    """Write numbers short, but so that different ones look different."""
    if family == "dates":
        return _write_dates(numbers)
    for digits in range(_DIGITS, 17):
        out = [_shorten(number, digits) for number in numbers]
        if len(set(out)) == len(out):
            break
    return [f"{text} s" for text in out] if family == "durations" else out


def _write_dates(seconds: Sequence[float]) -> list[str]:
    """Write dates with just as much of the time as is needed to distinguish them."""
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
    """Write a date, with its time unless it is midnight, and fractions of a second.

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


def _name_cells(bins: Bins) -> list[str]:
    """Name the columns of cells that have several leaves."""
    if isinstance(bins, CategoricalBins):
        return []
    if bins.levels is None:
        return [_COARSE_NAMES[group] for group in bins.shared]
    cells = [members for members, _ in nest_cells(bins.levels)[1]]
    return [f"{members[0]}-{members[-1]}" for members in cells]


def output_names(
    names: Sequence[str], bins: Sequence[Bins], informative: NDArray[np.bool_]
) -> NDArray[np.object_]:
    """Name every column of the representation.

    Underscores are added to a name until it is unique: the column "a" with a category
    "1_0" collides with a numeric column "a_1".

    Examples
    --------
    >>> from proximity_kernel._bins.centers import CategoricalBins, NumericBins
    >>> bins = [NumericBins(np.array([1.0, 2.0])), CategoricalBins(("a", "b"))]
    >>> output_names(["age", "blood"], bins, np.array([True, False])).tolist()
    ['age_0', 'age_1', 'age_missing', 'blood_a', 'blood_b']
    """
    out: dict[str, None] = {}  # a set that keeps its order
    for feature, feature_bins, gaps in zip(names, bins, informative, strict=True):
        missing = ["missing"] if gaps else []
        for suffix in [*feature_bins.names(), *missing, *_name_cells(feature_bins)]:
            name = f"{feature}_{suffix}"
            while name in out:
                name += "_"
            out[name] = None
    return np.array(list(out), dtype=object)
