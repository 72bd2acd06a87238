"""Clusters in, words out: what the rows of each have in common.

The mean of a cluster's rows holds, for every feature, the shares of its bins: a table
of probabilities. A bin is worth telling where it is more common in the cluster than
elsewhere, and the most common bin of a feature always is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._bins.names import name_bins
from .._model.model import Model

PROFILE_KEYS = (
    "cluster", "size", "feature", "value", "share", "share_overall", "lift",
)  # fmt: skip
"""What describes a bin that is typical of a cluster."""

_LEAST_SHARE = 0.05  # a rarer bin is listed only if it is the most common one


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

    The totals of parts of a table add up to those of the whole.

    Parameters
    ----------
    model : Model
        With which the rows are represented.
    matrix : csr_array of shape (n_rows, n_columns)
    counts : ndarray of shape (n_rows,)
        How often each row is in the table.
    labels : ndarray of shape (n_rows,)
        The cluster of each.
    n_clusters : int
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
