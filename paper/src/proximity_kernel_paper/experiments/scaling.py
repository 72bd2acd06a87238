"""Why some printed numbers of the baselines differ: scaling, and starts of k-means.

The paper does not say how imputed tables are scaled before k-means, nor how often
k-means is started. Most of its numbers agree with columns scaled to [0, 1] and ten
starts, which `nmi` takes for all. Here three imputers, which need no long training, are
clustered in four ways: scaled to [0, 1] or to variance 1, with ten starts or one.

HI-PMK on mushroom, far from its printed number too, has no columns to scale: the rows
of its matrix are clustered as they are, with ten starts or one, in both variants.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from typing import Any

import pandas as pd
from sklearn.preprocessing import StandardScaler

from ._clustering import N_INIT, cluster, judge, load_once, represent
from ._published import read_published
from ._rendering import Rendering, Table, mark_best, write_numbers
from ._trials import Experiment, Request, Trial, find_labels
from .nmi import BIN0, QUICK_TABLES, SLIP

METHODS = ("Mean", "KNN", "EM")
TABLES = ("kidney", "mammo", "heart", "hepatitis", "credit")
SEEDS, QUICK_SEEDS = 10, 1
UNIT, VARIANCE = "[0, 1]", "variance 1"
WAYS = tuple(
    f"{scaling}, {starts} start{'s' * (starts > 1)}"
    for scaling, starts in itertools.product((UNIT, VARIANCE), (N_INIT, 1))
)
KERNELS: Mapping[str, Mapping[str, Any]] = {"HI-PMK": {}, BIN0: SLIP}
KERNEL_TABLE = "mushroom"
COLUMNS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    **{name: (name, {}) for name in METHODS},
    **{label: ("HI-PMK", options) for label, options in KERNELS.items()},
}
TEN, ONE = WAYS[:2]  # of a kernel: its matrix is not scaled
SHOWN = (
    ("Mean", "kidney"),
    ("KNN", "kidney"),
    ("EM", "kidney"),
    ("Mean", "credit"),
    *((label, KERNEL_TABLE) for label in KERNELS),
)
NEAR, SAME = 0.02, 0.0001  # the second: in all printed digits


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001 (one round)
    """List the trials: every table, imputer and seed, and two kernels on one table."""
    chosen = request.choose((*METHODS, *KERNELS))
    tables = request.choose((*TABLES, KERNEL_TABLE), QUICK_TABLES)
    pairs: list[tuple[str, str, Mapping[str, Any]]] = [
        (table, method, {})
        for table in tables
        if table != KERNEL_TABLE
        for method in METHODS
        if method in chosen
    ]
    if KERNEL_TABLE in tables:
        pairs += [
            (KERNEL_TABLE, "HI-PMK", options)
            for label, options in KERNELS.items()
            if label in chosen
        ]
    return [
        Trial(table, method, seed, parameters=options)
        for table, method, options in pairs
        for seed in range(QUICK_SEEDS if request.quick else SEEDS)
    ]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Fill once, scale and cluster in every way, judge by the published classes."""
    data = load_once(trial.dataset, data_home, "as published")
    started = time.perf_counter()
    points, _ = represent(trial.method, trial.parameters, data.frame, trial.seed)
    scaled = {UNIT: points}
    if trial.method in METHODS:
        scaled[VARIANCE] = StandardScaler().fit_transform(points)
    n_clusters = data.target.nunique()
    ways = itertools.product(scaled.values(), (N_INIT, 1))
    found = [
        judge(cluster(table, n_clusters, trial.seed, starts), data.target)["nmi"]
        for table, starts in ways
    ]
    seconds = time.perf_counter() - started
    return {**dict(zip(WAYS, found, strict=False)), "fit_seconds": seconds}


def compare(results: pd.DataFrame) -> pd.DataFrame:
    """Put the printed NMI and that of every way beside each other.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame
        Index (label, table); columns ``printed`` and `WAYS`, NaN where a way does not
        apply.
    """
    rows = results.assign(label=find_labels(results, COLUMNS))
    means = rows.groupby(["label", "dataset"])[list(WAYS)].mean()
    published = read_published()
    printed = [published.loc[table, COLUMNS[label][0]] for label, table in means.index]
    means.insert(0, "printed", printed)
    return means


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Count the numbers that each way comes near to, and show those that were far."""
    every = compare(results)
    found = every[every.index.get_level_values("label").isin(METHODS)]
    off = found[list(WAYS)].sub(found["printed"], axis=0).abs()
    rows = {
        f"of {len(off)} numbers within {NEAR}": (off <= NEAR).sum().astype(float),
        "mean distance to the printed number": off.mean(),
    }
    summary = pd.DataFrame(rows).T
    text = write_numbers(summary)
    text.iloc[0] = [f"{value:.0f}" for value in summary.iloc[0]]
    text.insert(0, "printed", "")
    shown = [key for key in SHOWN if key in every.index]
    cells = every.loc[shown]
    cells.index = [f"{label} on {table}" for label, table in shown]
    text = pd.concat([text, write_numbers(cells)])
    text.index.name = "NMI"
    imputed = results[results["method"].isin(METHODS)]
    note = (
        f"{', '.join(METHODS)} with their defaults on {imputed['dataset'].nunique()} "
        f"tables, mean over {results['seed'].nunique()} "
        "seeds, classes as in the raw files. Variance 1 would bring kidney nearer to "
        "the printed number, and takes most others away from it; one start brings Mean "
        "on credit nearer. Neither explains all differences. The first two rows are of "
        "these three."
    )
    title = "Scaling and starts of k-means" + ", quick" * request.quick
    every.index = [f"{label} on {table}" for label, table in every.index]
    every.index.name = "NMI"
    marks = mark_best(-every[list(WAYS)].sub(every["printed"], axis=0).abs())
    marks.insert(0, "printed", "")
    notes = (note, *_tell_kernels(results))
    return Rendering(
        (
            Table(title, text, notes=notes),
            Table(
                "All of them; the nearest marked", write_numbers(every), marks,
                detail=True,
            ),
        )
    )  # fmt: skip


def _tell_kernels(results: pd.DataFrame) -> tuple[str, ...]:
    """Say which starts give the printed number of HI-PMK, and what that changes."""
    labels = pd.Series(find_labels(results, COLUMNS), results.index)
    slip = results[labels == BIN0]
    if slip.empty:
        return ()
    published = read_published()
    printed = published["HI-PMK"]
    defined = results.loc[labels == "HI-PMK", ONE]
    near = defined.sub(printed[KERNEL_TABLE]).abs()
    hits = slip.loc[slip[ONE].sub(printed[KERNEL_TABLE]).abs() < SAME, "seed"]
    ten = slip[TEN].mean()
    mean = printed["mean"] + (ten - printed[KERNEL_TABLE]) / (len(printed) - 1)
    lead = published.loc["mean", "PK (paper)"]
    seeds = ", ".join(map(str, hits))
    return (
        (
            f"HI-PMK on {KERNEL_TABLE}: the rows of its matrix, not scaled. {BIN0} "
            f"with one start of k-means has the printed {printed[KERNEL_TABLE]:.4f} "
            f"with {len(hits)} of {len(slip)} seeds ({seeds}), between "
            f"{slip[ONE].min():.3f} and {slip[ONE].max():.3f} with all; with ten "
            f"starts {ten:.3f}. HI-PMK as defined comes no nearer than "
            f"{defined[near.idxmin()]:.4f} with one start. So the printed number is "
            f"probably one start of the published code. With {ten:.3f} in its place "
            f"the printed lead over HI-PMK, {lead - printed['mean']:.4f}, would be "
            f"{lead - mean:.4f}."
        ),
    )


EXPERIMENT = Experiment(
    "scaling",
    "Why some printed numbers differ: scaling, and starts of k-means",
    render,
    scores=(*WAYS, "fit_seconds"),
    plan=plan,
    measure=measure,
    choices=(*TABLES, KERNEL_TABLE, *METHODS, *KERNELS),
)
