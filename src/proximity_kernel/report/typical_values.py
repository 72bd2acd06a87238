"""Typical values of clusters, by shares of the known cells, and the names made of them.

The shares are those that a reader can count. In `ProximityKMeans.profiles_`, missing
cells count by their estimates. A value is typical if it is clearly more common among
the known cells of the cluster than among those of all rows. If hardly any cell of a
column is known in a cluster, the column has no typical value there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._coded import CodedTable
from .._model import Model
from ..cluster import ProximityKMeans

MIXED = "mixed"
"""The name of a cluster without a typical value."""
_N_TRAITS = 2  # values in the name of a cluster
_MIN_EXCESS = 0.05  # by which the share of a typical value exceeds that in all rows
_MIN_KNOWN = 0.1  # share of the cells of a column in a cluster that must be known


def count_known_cells(
    coded: CodedTable, labels: NDArray[Any], n_clusters: int
) -> NDArray[np.int64]:
    """Count the known cells of each cluster in each bin; counts of batches add up.

    Parameters
    ----------
    coded : CodedTable
        With its model.
    labels : ndarray of shape (n_samples,)
        The cluster of each row.
    n_clusters : int

    Returns
    -------
    ndarray of shape (n_clusters, total bins), int64
    """
    parts = [np.zeros((n_clusters, 0), np.int64)]
    for j, n_bins in enumerate(coded.model.n_bins.tolist()):
        codes = coded.bins[coded.index, j].astype(np.int64)
        known = codes < n_bins
        cells = labels[known] * n_bins + codes[known]
        counts = np.bincount(cells, minlength=n_clusters * n_bins)
        parts.append(counts.reshape(n_clusters, n_bins))
    return np.hstack(parts)


def list_typical_values(
    clusters: ProximityKMeans, counts: NDArray[np.int64], sizes: Sequence[int]
) -> list[dict[str, Any]]:
    """List the typical values of each cluster, in the order of its profile.

    Parameters
    ----------
    clusters : ProximityKMeans
        Fitted.
    counts : ndarray of shape (n_clusters, total bins), int64
        See `count_known_cells`.
    sizes : sequence of int
        Rows of each cluster.

    Returns
    -------
    list of dict
        cluster, feature, value, share and share_overall (of the known cells), and cells
        ("known cells", or "cells" where missing cells have a bin of their own).
    """
    model = clusters.kernel_.model_
    places = {name: j for j, name in enumerate(model.names)}
    ends = np.cumsum(model.n_bins)
    ranges: dict[int, dict[str, slice]] = {}
    typical = []
    for one in clusters.profiles_:
        c, j = one["cluster"], places[one["feature"]]
        if j not in ranges:
            ranges[j] = _name_ranges(model, j)
        own = counts[:, ends[j] - model.n_bins[j] : ends[j]]
        in_value, known = own[:, ranges[j][one["value"]]].sum(axis=1), own.sum(axis=1)
        if known[c] == 0 or known[c] < _MIN_KNOWN * sizes[c]:
            continue
        share, overall = in_value[c] / known[c], in_value.sum() / known.sum()
        if share > overall + _MIN_EXCESS:
            typical.append(
                {
                    "cluster": c,
                    "feature": one["feature"],
                    "value": one["value"],
                    "share": float(share),
                    "share_overall": float(overall),
                    "cells": "cells" if model.informative[j] else "known cells",
                }
            )
    return typical


def _name_ranges(model: Model, j: int) -> dict[str, slice]:
    """Map the name of each bin of a column, and of adjacent bins, to these bins."""
    names = model.bin_names[j]
    return {
        names.name(first, last): slice(first, last + 1)
        for first in range(int(model.n_bins[j]))
        for last in range(first, max(first + 1, names.n_ordered))
    }


def name_clusters(
    typical: Iterable[Mapping[str, Any]], sizes: Sequence[int]
) -> list[str]:
    """Name each cluster by the first two columns with a typical value.

    Parameters
    ----------
    typical : iterable of mapping
        See `list_typical_values`.
    sizes : sequence of int
        Rows of each cluster.

    Returns
    -------
    list of str

    Examples
    --------
    >>> typical = [
    ...     {"cluster": 0, "feature": "size", "value": "up to 4.85"},
    ...     {"cluster": 0, "feature": "color", "value": "red"},
    ... ]
    >>> name_clusters(typical, [5, 3, 0])
    ['size up to 4.85, color red', 'mixed', 'no rows']
    """
    traits: list[dict[str, str]] = [{} for _ in sizes]
    for one in typical:
        own = traits[one["cluster"]]
        if len(own) < _N_TRAITS:
            own.setdefault(one["feature"], one["value"])
    return [
        ", ".join(f"{name} {value}" for name, value in own.items())
        or (MIXED if size else "no rows")
        for own, size in zip(traits, sizes, strict=True)
    ]
