"""Why some printed numbers of the baselines differ: scaling, and starts of k-means.

The paper does not say how imputed tables are scaled before k-means, nor how often
k-means is started. Most of its numbers agree with columns scaled to [0, 1] and ten
starts, which `nmi` takes for all. Here three imputers, which need no long training, are
clustered in four ways: scaled to [0, 1] or to variance 1, with ten starts or one.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import pandas as pd
from sklearn.preprocessing import StandardScaler

from ._clustering import N_INIT, cluster, judge, load_once, represent
from ._published import read_published
from ._rendering import Rendering, Table, mark_best, write_numbers
from ._trials import Experiment, Request, Trial
from .nmi import QUICK_TABLES

METHODS = ("Mean", "KNN", "EM")
TABLES = ("kidney", "mammo", "heart", "hepatitis", "credit")
SEEDS, QUICK_SEEDS = 10, 1
UNIT, VARIANCE = "[0, 1]", "variance 1"
WAYS = tuple(
    f"{scaling}, {starts} start{'s' * (starts > 1)}"
    for scaling, starts in itertools.product((UNIT, VARIANCE), (N_INIT, 1))
)
SHOWN = (("Mean", "kidney"), ("KNN", "kidney"), ("EM", "kidney"), ("Mean", "credit"))
NEAR = 0.02


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001 (one round)
    """List the trials: every table, imputer and seed, clustered in all ways."""
    return [
        Trial(table, method, seed)
        for table in request.choose(TABLES, QUICK_TABLES)
        for method in request.choose(METHODS)
        for seed in range(QUICK_SEEDS if request.quick else SEEDS)
    ]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Fill once, scale and cluster in every way, judge by the published classes."""
    data = load_once(trial.dataset, data_home, "as published")
    started = time.perf_counter()
    points, _ = represent(trial.method, {}, data.frame, trial.seed)
    scaled = {UNIT: points, VARIANCE: StandardScaler().fit_transform(points)}
    n_clusters = data.target.nunique()
    ways = itertools.product(scaled.values(), (N_INIT, 1))
    found = [
        judge(cluster(table, n_clusters, trial.seed, starts), data.target)["nmi"]
        for table, starts in ways
    ]
    seconds = time.perf_counter() - started
    return {**dict(zip(WAYS, found, strict=True)), "fit_seconds": seconds}


def compare(results: pd.DataFrame) -> pd.DataFrame:
    """Put the printed NMI and that of every way beside each other.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame
        Index (method, table); columns ``printed`` and `WAYS`.
    """
    means = results.groupby(["method", "dataset"])[list(WAYS)].mean()
    published = read_published()
    printed = [published.loc[table, method] for method, table in means.index]
    means.insert(0, "printed", printed)
    return means


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Count the numbers that each way comes near to, and show those that were far."""
    found = compare(results)
    off = found[list(WAYS)].sub(found["printed"], axis=0).abs()
    rows = {
        f"of {len(off)} numbers within {NEAR}": (off <= NEAR).sum().astype(float),
        "mean distance to the printed number": off.mean(),
    }
    summary = pd.DataFrame(rows).T
    text = write_numbers(summary)
    text.iloc[0] = [f"{value:.0f}" for value in summary.iloc[0]]
    text.insert(0, "printed", "")
    shown = [key for key in SHOWN if key in found.index]
    cells = found.loc[shown]
    cells.index = [f"{method} on {table}" for method, table in shown]
    text = pd.concat([text, write_numbers(cells)])
    text.index.name = "NMI"
    note = (
        f"{', '.join(METHODS)} with their defaults on {results['dataset'].nunique()} "
        f"tables, mean over {results['seed'].nunique()} "
        "seeds, classes as in the raw files. Variance 1 would bring kidney nearer to "
        "the printed number, and takes most others away from it; one start brings Mean "
        "on credit nearer. Neither explains all differences."
    )
    title = "Scaling and starts of k-means" + ", quick" * request.quick
    every = found.copy()
    every.index = [f"{method} on {table}" for method, table in found.index]
    every.index.name = "NMI"
    marks = mark_best(-every[list(WAYS)].sub(every["printed"], axis=0).abs())
    marks.insert(0, "printed", "")
    return Rendering(
        (
            Table(title, text, notes=(note,)),
            Table(
                "All of them; the nearest marked", write_numbers(every), marks,
                detail=True,
            ),
        )
    )  # fmt: skip


EXPERIMENT = Experiment(
    "scaling",
    "Why some printed numbers differ: scaling, and starts of k-means",
    render,
    scores=(*WAYS, "fit_seconds"),
    plan=plan,
    measure=measure,
    choices=(*TABLES, *METHODS),
)
