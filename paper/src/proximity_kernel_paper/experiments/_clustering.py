"""Tables in, clusters out, judged by the classes: what several experiments measure."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pandas as pd
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    normalized_mutual_info_score,
)

from ..baselines import registry
from ..datasets import Dataset, load

SCORES = ("nmi", "ari", "ami")
N_INIT = 10


@lru_cache(maxsize=4)
def load_once(name: str, data_home: str | None, labels: str = "clean") -> Dataset:
    """Load a table; the last few are kept.

    Parameters
    ----------
    name, data_home, labels
        As in `proximity_kernel_paper.datasets.load`.

    Returns
    -------
    Dataset
    """
    return load(name, data_home, labels=labels)


def represent(
    method: str, parameters: Mapping[str, Any], frame: pd.DataFrame, seed: int
) -> tuple[Any, float]:
    """Give what a method makes of a table, ready for k-means.

    Parameters
    ----------
    method : str
    parameters : mapping from str to value
    frame : pandas.DataFrame of shape (n, d)
    seed : int

    Returns
    -------
    ndarray of shape (n, p)
        The filled table scaled to [0, 1], the matrix of similarities, or the
        representation, by method.
    seconds : float
        What it took.
    """
    model = registry[method].build(random_state=seed, **parameters)
    started = time.perf_counter()
    found = model.fit_transform(frame)
    seconds = time.perf_counter() - started
    return found.toarray() if sp.issparse(found) else found, seconds


def cluster(points: Any, n_clusters: int, seed: int, n_init: int = N_INIT) -> Any:
    """Cluster rows with k-means.

    Parameters
    ----------
    points : ndarray of shape (n, p)
    n_clusters, seed : int
    n_init : int, default=10
        Starts, of which the best by inertia is kept.

    Returns
    -------
    ndarray of int of shape (n,)
    """
    model = KMeans(n_clusters, n_init=n_init, random_state=seed)
    return model.fit_predict(points)


def judge(labels: Any, target: Any) -> dict[str, float]:
    """Compare clusters with classes.

    Parameters
    ----------
    labels : array of shape (n,)
    target : array of shape (n,)

    Returns
    -------
    dict from str to float
        Normalised (arithmetic mean) and adjusted mutual information, adjusted Rand
        index.

    Examples
    --------
    >>> judge([0, 0, 1, 1], ["a", "a", "b", "b"])
    {'nmi': 1.0, 'ari': 1.0, 'ami': 1.0}
    """
    return {
        "nmi": float(normalized_mutual_info_score(target, labels)),
        "ari": float(adjusted_rand_score(target, labels)),
        "ami": float(adjusted_mutual_info_score(target, labels)),
    }
