"""Fitted clusters in, a card for each out: its size and its typical values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKMeans
from ._display_columns import DisplayColumn

_MAX_VALUES = 30  # listed for a cluster


def describe_profiles(
    clusters: ProximityKMeans,
    labels: NDArray[np.int64],
    columns: Mapping[str, DisplayColumn],
) -> list[dict[str, Any]]:
    """Describe the size and the typical values of each cluster.

    Parameters
    ----------
    clusters : ProximityKMeans
        Fitted.
    labels : ndarray of shape (n_samples,)
        The cluster of each row of the table.
    columns : mapping of str to DisplayColumn
        By their names in the table.

    Returns
    -------
    list of dict
        cluster, size, share, values (feature, value, share, overall and lift), the most
        typical first, and more (the number of other values).
    """
    sizes = np.bincount(labels, minlength=clusters.n_clusters_)
    out = []
    for c, size in enumerate(sizes.tolist()):
        values = [
            {
                "feature": columns[one["feature"]].name,
                "value": columns[one["feature"]].write_bin(one["value"]),
                "share": min(1.0, one["share"]),
                "overall": min(1.0, one["share_overall"]),
                "lift": one["lift"],
            }
            for one in clusters.profiles_
            if one["cluster"] == c
        ]
        out.append(
            {
                "cluster": c,
                "size": size,
                "share": size / len(labels),
                "values": values[:_MAX_VALUES],
                "more": max(0, len(values) - _MAX_VALUES),
            }
        )
    return out
