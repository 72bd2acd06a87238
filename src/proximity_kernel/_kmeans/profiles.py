"""Clusters in, words out: what the rows of each have in common.

The mean of a cluster's rows holds, for every feature, the shares of its bins: a table
of probabilities. A bin is worth telling where it is more common in the cluster than
elsewhere, and the most common bin of a feature always is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._bins.centers import Bins, CategoricalBins
from .._model.model import Model
from .._table.columns import ColumnType

PROFILE_KEYS = (
    "cluster", "size", "feature", "value", "share", "share_overall", "lift",
)  # fmt: skip
"""Of what is told about a bin that is typical of a cluster."""

_LEAST_SHARE = 0.05  # a rarer bin is told only if no other of its feature is as common
_DATE_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # in a second
_DIGITS = 4  # of a number, unless two neighbours need more to differ


def describe_clusters(
    model: Model,
    matrix: sp.csr_array,
    counts: NDArray[np.float64],
    labels: NDArray[np.int32],
    n_clusters: int,
) -> list[dict[str, Any]]:
    """Tell the typical bins of each cluster, those that set it apart most first.

    Parameters
    ----------
    model : Model
        With which the rows are represented.
    matrix : csr_array of shape (n_rows, n_columns)
        The representation of the fitted rows, each distinct one once.
    counts : ndarray of shape (n_rows,)
        How often each stands in the table.
    labels : ndarray of shape (n_rows,)
        The cluster of each.
    n_clusters : int

    Returns
    -------
    list of dict
        With the keys cluster, size, feature, value, share, share_overall and lift.
        By cluster, then by share times the logarithm of the lift, falling: what a bin
        adds to the divergence of the cluster from the whole table.
    """
    totals = total_bins(model, matrix, counts, labels, n_clusters)
    sizes: Any = np.bincount(labels, counts, n_clusters)
    return describe_totals(model, totals, sizes)


def describe_totals(
    model: Model, totals: NDArray[np.float64], sizes: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """Tell the typical bins of each cluster, from its totals alone.

    Parameters
    ----------
    model : Model
    totals : ndarray of shape (n_clusters, total bins)
        As `total_bins` gives them, of all rows.
    sizes : ndarray of shape (n_clusters,)
        Rows of each cluster.

    Returns
    -------
    list of dict
        As `describe_clusters`.
    """
    feature = np.repeat(np.arange(len(model.n_bins)), model.n_bins)
    shares = _to_shares(totals, feature)
    overall = _to_shares(totals.sum(axis=0), feature)
    starts = np.concatenate([[0], np.cumsum(model.n_bins)])
    values = [
        name_bins(bins, column, bool(gaps))
        for bins, column, gaps in zip(
            model.bins, model.types, model.informative, strict=True
        )
    ]
    out: list[dict[str, Any]] = []
    for c in np.flatnonzero(sizes):
        told = [
            {
                "cluster": int(c),
                "size": round(sizes[c]),
                "feature": model.types[j].name,
                "value": value,
                "share": float(shares[c, b]),
                "share_overall": float(overall[b]),
                "lift": float(shares[c, b] / overall[b]),
            }
            for j, names in enumerate(values)
            for b, value in enumerate(names, starts[j])
            if _is_typical(shares[c, starts[j] : starts[j + 1]], overall, starts[j], b)
        ]
        out += sorted(told, key=lambda one: -one["share"] * np.log(one["lift"]))
    return out


def _is_typical(
    shares: NDArray[np.float64], overall: NDArray[np.float64], start: int, b: int
) -> bool:
    share = shares[b - start]
    if b - start == np.argmax(shares):
        return bool(share > 0)
    return bool(share >= _LEAST_SHARE and share > overall[b] * (1 + 1e-6))


def total_bins(
    model: Model,
    matrix: sp.csr_array,
    counts: NDArray[np.float64],
    labels: NDArray[np.int32],
    n_clusters: int,
) -> NDArray[np.float64]:
    """How many rows of each cluster lie in each bin, of shape (n_clusters, total bins).

    The arguments are those of `describe_clusters`; the totals of parts of a table add
    up to those of the whole.
    """
    layout = model.layout
    bins = matrix[:, layout.columns].astype(np.float64)
    bins = sp.csr_array(bins / layout.weights)
    # Every feature of a fitted row sums to one, but where the row was normalized.
    scale = np.asarray(bins.sum(axis=1)).ravel() / max(1, model.n_counted)
    weights = counts / np.where(scale > 0, scale, 1)
    member = sp.csr_array(
        (weights, (labels, np.arange(len(labels)))), (n_clusters, len(labels))
    )
    totals: NDArray[np.float64] = (member @ bins).toarray()
    return totals


def _to_shares(
    totals: NDArray[np.float64], feature: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Divide by the sum over the bins of each feature, where it is not 0."""
    if not len(feature):
        return totals
    same = sp.csr_array(feature[:, None] == np.arange(feature[-1] + 1), dtype=float)
    sums = (totals @ same)[..., feature]
    return totals / np.where(sums > 0, sums, 1)


def name_bins(bins: Bins, column: ColumnType, gaps: bool) -> list[str]:
    """Say in words what each bin of a feature holds.

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
    """Name the bins of an ordered categorical by the categories that they hold.

    A center between two ranks can have none that is nearest to it.
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
    """Write dates, with the time, and so much of a second, as tells them apart."""
    whole = np.floor(seconds).astype("datetime64[s]")
    out = [str(day) for day in whole.astype("datetime64[D]")]
    for unit, per_second in _DATE_UNITS.items():
        # A finer unit does not reach as far.
        if len(set(out)) == len(out) or max(map(abs, seconds)) * per_second >= 2**63:
            break
        counts = np.array([round(moment * per_second) for moment in seconds])
        moments = whole if unit == "s" else counts.astype(f"datetime64[{unit}]")
        out = [str(moment) for moment in moments]
    return out


def write_moment(seconds: float) -> str:
    """Write a date, with its time unless it is a day's start, and parts of a second.

    Examples
    --------
    >>> write_moment(86400.0), write_moment(0.25)
    ('1970-01-02', '1970-01-01T00:00:00.25')
    """
    if seconds % 86400 == 0:
        return str(np.datetime64(int(seconds) // 86400, "D"))
    if seconds == math.floor(seconds) or abs(seconds) * 1e6 >= 2**63:
        return str(np.datetime64(math.floor(seconds), "s"))
    return str(np.datetime64(round(seconds * 1e6), "us")).rstrip("0")


def _shorten(number: float, digits: int) -> str:
    """Round to significant digits, without an exponent where it stays readable."""
    if number and not 1e-4 <= abs(number) < 1e15:
        return f"{number:.{digits}g}"
    return np.format_float_positional(number, digits, fractional=False, trim="-")
