"""Kernels clustered alike: by k-means in their feature space, or on rows of the matrix.

HI-PMK is made for k-means on the rows of its matrix of similarities, the proximity
kernel for k-means on its representation, which is kernel k-means. The main table
clusters each in its own way, so it compares two things at once. Here both are clustered
in both ways, without labels. The feature space of HI-PMK is that of the eigenvectors of
its matrix; what a negative eigenvalue would need is left out.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._clustering import N_INIT, cluster, judge, load_once, represent
from ._rendering import Rendering, Table, mark_best, write_numbers
from ._trials import Experiment, Request, Trial, find_labels
from .nmi import BIN0, FOUR_BINS, OURS, PAPER, QUICK_TABLES, SLIP, TABLES

SEEDS, QUICK_SEEDS = 5, 1
MOST_ROWS = 1_000  # of a table, drawn anew for each seed
FEATURES, ROWS = "in feature space", "rows of the matrix"
WAYS = (FEATURES, ROWS)
COLUMNS: dict[str, tuple[str, dict[str, Any]]] = {
    OURS: ("PK", {}),
    PAPER: ("PK", FOUR_BINS),
    "HI-PMK": ("HI-PMK", {}),
    BIN0: ("HI-PMK", SLIP),
}


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001 (one round)
    """List the trials: every table, kernel and seed, clustered in both ways."""
    return [
        Trial(table, COLUMNS[label][0], seed, parameters=COLUMNS[label][1])
        for table in request.choose(TABLES, QUICK_TABLES)
        for label in request.choose(tuple(COLUMNS))
        for seed in range(QUICK_SEEDS if request.quick else SEEDS)
    ]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Compare the rows, cluster them in both ways, judge by the classes."""
    data = load_once(trial.dataset, data_home)
    frame = data.frame.sample(min(len(data.frame), MOST_ROWS), random_state=trial.seed)
    target = data.target.loc[frame.index].reset_index(drop=True)
    frame = frame.reset_index(drop=True)
    started = time.perf_counter()
    points, _ = represent(trial.method, trial.parameters, frame, trial.seed)
    if trial.method == "PK":
        points = np.asarray(points, dtype=np.float64) / np.sqrt(frame.shape[1])
        spaces = {FEATURES: points, ROWS: points @ points.T}
    else:
        spaces = {FEATURES: find_features(points), ROWS: points}
    found = {
        way: judge(cluster(space, target.nunique(), trial.seed), target)["nmi"]
        for way, space in spaces.items()
    }
    return {**found, "fit_seconds": time.perf_counter() - started}


def find_features(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give points whose inner products are the entries of a matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric; parts with negative eigenvalues are left out.

    Returns
    -------
    ndarray of shape (n, at most n)

    Examples
    --------
    >>> matrix = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> points = find_features(matrix)
    >>> (points @ points.T).round(6)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    values, vectors = np.linalg.eigh(matrix)
    kept = values > len(matrix) * np.finfo(np.float64).eps * values.max()
    points: NDArray[np.float64] = vectors[:, kept] * np.sqrt(values[kept])
    return points


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Give the mean over the tables of the mean over the seeds.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame of shape (n_kernels, 2)
    """
    rows = results.assign(label=find_labels(results, COLUMNS))
    by_table = rows.groupby(["label", "dataset"])[list(WAYS)].mean()
    means = by_table.groupby("label").agg(lambda scores: scores.mean(skipna=False))
    means = means.loc[[label for label in COLUMNS if label in means.index]]
    means.index.name = "kernel"
    return means


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show the mean NMI of every kernel in both ways."""
    means = summarise(results)
    note = (
        f"Mean NMI over {results['dataset'].nunique()} tables and "
        f"{results['seed'].nunique()} seeds, real classes, one default for each "
        f"kernel; at most {MOST_ROWS:,} rows of a table, drawn anew for each seed; "
        f"k-means with the number of classes and {N_INIT} starts. The main table has "
        "PK in feature space and HI-PMK by the rows of its matrix."
    )
    title = "Kernels clustered alike" + ", quick" * request.quick
    marks = mark_best(means, axis=0)
    return Rendering((Table(title, write_numbers(means), marks, (note,)),))


EXPERIMENT = Experiment(
    "spaces",
    "Kernels clustered alike: in feature space, or by the rows of their matrix",
    render,
    scores=(*WAYS, "fit_seconds"),
    plan=plan,
    measure=measure,
    choices=(*TABLES, *COLUMNS),
    unit=("dataset",),
)
