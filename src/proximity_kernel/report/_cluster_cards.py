"""Fitted clusters in, a card for each out: its size and its typical values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKMeans
from ._display_columns import DisplayColumn


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
        cluster, size, share, and values (feature, value, share and overall), the most
        typical first.
    """
    out: list[dict[str, Any]] = [
        {"cluster": c, "size": size, "share": size / len(labels), "values": []}
        for c, size in enumerate(np.bincount(labels, minlength=clusters.n_clusters_))
    ]
    for one in clusters.profiles_:
        column = columns[one["feature"]]
        out[one["cluster"]]["values"].append(
            {
                "feature": column.name,
                "value": column.write_bin(one["value"]),
                "share": min(1.0, one["share"]),
                "overall": min(1.0, one["share_overall"]),
            }
        )
    return out
