"""What the options give, and why the defaults are what they are. Ours.

Every candidate, an assignment of `ProximityKernel`'s options, is measured twice:

- *fidelity*, on complete tables with hidden cells as in `fidelity`: the error of its
  kernel against its own kernel of the complete table, as a share of that kernel's
  spread (so that coarse and fine bins compare), and the quality of its ten nearest rows
  by a similarity that knows no bins: one minus the mean difference of ranks, or of
  labels;
- *clusters*, the protocol "clean" of `nmi`: real classes, which only judge.

Defaults are chosen by the first, then the second. The candidates differ from the first
of them, the paper's method, one option after another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from proximity_kernel import ProximityKernel

from ..datasets import simulate_missing
from ._clustering import cluster, judge, load_once
from ._rendering import Rendering, Table, mark_best, write_numbers
from ._trials import Experiment, Request, Trial
from .fidelity import MECHANISMS, NEIGHBORS, compare_kernels, load_complete
from .nmi import FOUR_BINS
from .nmi import TABLES as CLUSTERED

IN_FOUR_BINS = FOUR_BINS | {"matching": "pairwise"}
IN_AUTO_BINS = IN_FOUR_BINS | {"n_bins": "auto"}
CANDIDATES: Mapping[str, Mapping[str, Any]] = {
    "the paper's, 4 bins": FOUR_BINS,
    "pairwise": IN_FOUR_BINS,
    **{f"pairwise, {k} bins": IN_FOUR_BINS | {"n_bins": k} for k in (2, 3, 6, 8)},
    "pairwise, auto gaps": IN_FOUR_BINS | {"missingness": "auto"},
    "pairwise, auto bins": IN_AUTO_BINS,
    "pairwise, auto bins, auto gaps": IN_AUTO_BINS | {"missingness": "auto"},
    "pairwise, auto bins, all gaps informative": (
        IN_AUTO_BINS | {"missingness": "informative"}
    ),
}
OTHER_BINS = [f"pairwise, {k} bins" for k in (2, 3, 6, 8)]  # in the details
COMPLETE = ("messidor", "cancer", "heart", "credit", "mushroom", "adult", "mammo")
QUICK_TABLES = ("heart", "mammo")
RATES = (0.1, 0.3, 0.5)
SEEDS, ROWS, QUICK_ROWS = 3, 800, 200
MOST_ROWS = 10_000  # of adult, for the clusters: ten candidates are many
SCORES = ("relative_error", "top10", "nmi")

Similarity = NDArray[np.float64]


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001 (one round)
    """List the trials of both kinds."""
    quick = request.quick
    names = request.choose(tuple(CANDIDATES))
    rows = QUICK_ROWS if quick else ROWS
    settings: list[tuple[str, dict[str, Any]]] = [
        (table, {"mechanism": mechanism, "rate": rate, "rows": rows})
        for table in request.choose(QUICK_TABLES if quick else COMPLETE)
        for mechanism in MECHANISMS
        for rate in RATES
    ]
    clustered = request.choose(QUICK_TABLES if quick else CLUSTERED)
    settings += [(table, {}) for table in clustered]
    return [
        Trial(table, name, seed, parameters=CANDIDATES[name], setting=setting)
        for table, setting in settings
        for name in names
        for seed in range(1 if quick else SEEDS)
    ]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Measure fidelity where cells are to be hidden, clusters where not."""
    kernel = ProximityKernel(**trial.parameters)
    if not trial.setting:
        data = load_once(trial.dataset, data_home)
        part = data.frame.sample(min(len(data.frame), MOST_ROWS), random_state=0).index
        points = kernel.fit_transform(data.frame.loc[part]).toarray()
        target = data.target.loc[part]
        found = cluster(points, target.nunique(), trial.seed)
        return {"nmi": judge(found, target)["nmi"]}
    rate, mechanism = trial.setting["rate"], trial.setting["mechanism"]
    whole = load_complete(trial.dataset, trial.setting["rows"], trial.seed, data_home)
    holed = simulate_missing(whole, rate, mechanism, random_state=trial.seed)
    estimate = kernel.fit(holed).kernel(holed)
    same_bins = compare_kernels(estimate, kernel.kernel(whole))
    return {
        "relative_error": same_bins["relative_error"],
        "top10": compare_kernels(estimate, compare_by_rank(whole))["top10"],
    }


def compare_by_rank(frame: pd.DataFrame) -> Similarity:
    """Compare the rows of a complete table without bins.

    Parameters
    ----------
    frame : pandas.DataFrame of shape (n, d)

    Returns
    -------
    ndarray of shape (n, n)
        One minus the mean over the columns of the difference of ranks, from 0 to 1, or
        for labels of whether they differ.

    Examples
    --------
    >>> import pandas as pd
    >>> compare_by_rank(pd.DataFrame({"a": [1.0, 2.0, 9.0], "b": ["x", "x", "y"]}))
    array([[1.  , 0.75, 0.  ],
           [0.75, 1.  , 0.25],
           [0.  , 0.25, 1.  ]])
    """
    total: Similarity = np.zeros((len(frame), len(frame)))
    for name in frame:
        column = frame[name]
        ordered = column.dtype.kind in "biuf" or getattr(column.dtype, "ordered", False)
        if ordered:
            ranks = (column.rank().to_numpy() - 1) / max(len(frame) - 1, 1)
            total += 1 - np.abs(ranks[:, None] - ranks)
        else:
            labels = column.astype(str).to_numpy()
            total += labels[:, None] == labels
    mean: Similarity = total / frame.shape[1]
    return mean


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Give the means of each candidate: by mechanism, and NMI by table.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame of shape (n_candidates, n_scores)
    """
    settings = results["setting"].map(json.loads)
    hidden = results[settings.map(bool)]
    whole = results[~settings.map(bool)]
    means = hidden.groupby("method")[["relative_error", "top10"]].mean()
    by_table = whole.groupby(["method", "dataset"])["nmi"].mean().unstack()
    means["nmi"] = by_table.mean(axis=1, skipna=False)
    order = [name for name in CANDIDATES if name in means.index]
    tables = [name for name in CLUSTERED if name in by_table]
    found = pd.concat([means, by_table[tables]], axis=1).loc[order]
    found.index.name = "candidate"
    return found


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show the candidates."""
    summary = summarise(results)
    main = summary.loc[~summary.index.isin(OTHER_BINS), list(SCORES)]
    marks = mark_best(
        main.assign(relative_error=-main["relative_error"]), axis=0, digits=4
    )
    names = {
        "relative_error": "kernel error / spread",
        "top10": f"{NEIGHBORS} nearest, by rank",
        "nmi": "mean NMI",
    }
    quick = ", quick" * request.quick
    note = (
        f"Errors: mean over the complete rows of {len(COMPLETE)} tables "
        f"({', '.join(COMPLETE)}), {', '.join(MECHANISMS)}, rates "
        f"{', '.join(map(str, RATES))}. NMI: real classes, {SEEDS} seeds; of adult "
        f"{MOST_ROWS:,} rows."
    )
    rules = (
        "The paper's rule estimates a missing cell from the rows that share all known "
        "cells of its row, or else any of them. Pairwise multiplies the column's bin "
        "frequencies by what each known cell of the row tells about it, from counts of "
        "pairs of bins. Auto bins: four bins in two halves; values in the same half "
        "are similar too. Auto gaps: a gap is a bin of its own in columns whose "
        "missing cells come together with those of another column."
    )
    by_table = summary.drop(columns=["relative_error", "top10"])
    return Rendering(
        (
            Table(
                f"Candidates for the defaults{quick}",
                write_numbers(main.rename(columns=names), 4),
                marks.rename(columns=names),
                (note, rules),
            ),
            Table(
                f"NMI of the candidates{quick}",
                write_numbers(by_table),
                mark_best(by_table, axis=0),
                detail=True,
            ),
        )
    )


EXPERIMENT = Experiment(
    "options",
    "What the options give, and why the defaults are what they are",
    render,
    scores=SCORES,
    plan=plan,
    measure=measure,
    choices=(*dict.fromkeys((*COMPLETE, *CLUSTERED)), *CANDIDATES),
)
