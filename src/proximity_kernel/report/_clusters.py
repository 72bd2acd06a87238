"""Fitted clusters in, a card for each out: how large, and what is typical of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKMeans
from ._text import clean


def describe_profiles(
    clusters: ProximityKMeans, labels: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Tell the size and the typical values of each cluster.

    Parameters
    ----------
    clusters : ProximityKMeans
        Fitted.
    labels : ndarray of shape (n_samples,)
        The cluster of each row of the table.

    Returns
    -------
    list of dict
        cluster, size, share and values: feature, value, share, overall and lift. Those
        that set the cluster apart most come first.
    """
    sizes = np.bincount(labels, minlength=clusters.n_clusters_)
    out = []
    for c, size in enumerate(sizes.tolist()):
        values = [
            {
                "feature": clean(one["feature"]),
                "value": clean(one["value"]),
                "share": min(1.0, one["share"]),
                "overall": min(1.0, one["share_overall"]),
                "lift": one["lift"],
            }
            for one in clusters.profiles_
            if one["cluster"] == c
        ]
        out.append(
            {"cluster": c, "size": size, "share": size / len(labels), "values": values}
        )
    return out
