"""Fitted clusters in, a card for each out: how large, and what is typical of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKMeans
from ._shown import Shown

_MOST_VALUES = 30  # of a cluster


def describe_profiles(
    clusters: ProximityKMeans,
    labels: NDArray[np.int64],
    columns: Mapping[str, Shown],
) -> list[dict[str, Any]]:
    """Tell the size and the typical values of each cluster.

    Parameters
    ----------
    clusters : ProximityKMeans
        Fitted.
    labels : ndarray of shape (n_samples,)
        The cluster of each row of the table.
    columns : mapping of str to Shown
        By their names in the table.

    Returns
    -------
    list of dict
        cluster, size, share, values (feature, value, share, overall and lift), those
        that set the cluster apart most, and how many more there are.
    """
    sizes = np.bincount(labels, minlength=clusters.n_clusters_)
    out = []
    for c, size in enumerate(sizes.tolist()):
        values = [
            {
                "feature": columns[one["feature"]].name,
                "value": columns[one["feature"]].say_bin(one["value"]),
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
                "values": values[:_MOST_VALUES],
                "more": max(0, len(values) - _MOST_VALUES),
            }
        )
    return out
