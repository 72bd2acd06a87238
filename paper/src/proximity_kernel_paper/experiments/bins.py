"""How much the number of bins matters: NMI against 2 to 10 bins.

The paper's figure shows its method on mammo, hepatitis and heart with 2 to 10 bins. The
same is done here with the paper's rule for missing cells (`PAPER`) and with the
default one (`PAIRWISE`): ten seeds, the real classes, k-means with the number of
classes.

The bins of a table have no part in chance, so the spread over seeds is that of k-means
alone. To take the best of a row is to choose the bins with the labels in hand, as the
paper's main table does; without labels, any of the row could have been the answer.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..plots import draw_lines, make_panels, share_legend
from ._clustering import N_INIT, SCORES, cluster, judge, load_once, represent
from ._rendering import Rendering, Table, mark_best, write_mean_spread
from ._trials import Experiment, Request, Trial
from .nmi import CASCADE, NAMES, PAIRWISE, PAPER

TABLES = ("mammo", "hepatitis", "heart")
RULES: Mapping[str, Mapping[str, Any]] = {
    PAPER: CASCADE,
    PAIRWISE: {"missingness": "ignorable"},
}
BINS, QUICK_BINS = tuple(range(2, 11)), (2, 4, 8)
SEEDS, QUICK_SEEDS = 10, 2
QUICK_TABLES = ("mammo",)
BEST_NEEDS_LABELS = "Which bins are the best of a row is known only with the labels."


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001
    """List the trials; none depends on what is done."""
    quick = request.quick
    points = itertools.product(
        request.choose(TABLES, QUICK_TABLES),
        request.choose(tuple(RULES)),
        QUICK_BINS if quick else BINS,
        range(QUICK_SEEDS if quick else SEEDS),
    )
    return [
        Trial(dataset, "PK", seed, parameters={**RULES[rule], "n_bins": n_bins})
        for dataset, rule, n_bins, seed in points
    ]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Represent, cluster, judge."""
    data = load_once(trial.dataset, data_home)
    points, seconds = represent(trial.method, trial.parameters, data.frame, trial.seed)
    found = cluster(points, data.target.nunique(), trial.seed)
    return {**judge(found, data.target), "fit_seconds": seconds}


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Give mean and spread over the seeds.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame
        A row for each table, rule and number of bins: ``dataset``, ``rule``,
        ``n_bins``, ``n_seeds``, and for each score ``nmi``, ``nmi_std`` and so on, NaN
        where all failed.
    """
    given = results["parameters"].map(json.loads)
    rows = results.assign(
        n_bins=given.map(lambda options: options["n_bins"]),
        rule=given.map(lambda options: PAPER if "matching" in options else PAIRWISE),
    )
    groups = rows.groupby(["dataset", "rule", "n_bins"])[list(SCORES)]
    return (
        groups.mean()
        .join(groups.std().add_suffix("_std"))
        .assign(n_seeds=groups.count()["nmi"])
        .reset_index()
    )


def pivot(summary: pd.DataFrame, score: str = "nmi") -> pd.DataFrame:
    """Arrange a score as (table, rule) by bins."""
    wide = summary.set_index(["dataset", "rule", "n_bins"])[score].unstack("n_bins")
    rows = [key for key in itertools.product(TABLES, RULES) if key in wide.index]
    return wide.loc[rows]


def render(results: pd.DataFrame, request: Request) -> Rendering:  # noqa: ARG001
    """Show a table for each score, and NMI against bins."""
    summary = summarise(results)
    seeds = ", ".join(map(str, sorted(summary["n_seeds"].unique())))
    how = (
        f"Mean ± standard deviation (ddof 1) over {seeds} seeds; the real classes; "
        f"k-means with their number and {N_INIT} starts. {PAPER} estimates missing "
        f"cells by the paper's rule, {PAIRWISE} by the default one in the same bins."
    )
    notes = (how, BEST_NEEDS_LABELS)
    tables = tuple(_render_table(summary, score, notes) for score in SCORES)
    return Rendering(tables, {"bins": lambda: draw(summary)})


def _render_table(summary: pd.DataFrame, score: str, notes: tuple[str, ...]) -> Table:
    means = pivot(summary, score)
    text = write_mean_spread(means, pivot(summary, f"{score}_std"))
    marks = mark_best(means)
    text.index = [f"{dataset}, {rule}" for dataset, rule in means.index]
    text.index.name = "table"
    text.columns = [f"{n_bins} bins" for n_bins in means]
    marks = marks.set_axis(text.index).set_axis(text.columns, axis=1)
    title = f"{score.upper()} against bins"
    return Table(title, text, marks, notes, detail=True)


def draw(summary: pd.DataFrame) -> Any:
    """Draw NMI against bins, a panel for each table.

    Parameters
    ----------
    summary : pandas.DataFrame
        As `summarise` gives it.

    Returns
    -------
    matplotlib.figure.Figure
    """
    means, spreads = pivot(summary), pivot(summary, "nmi_std")
    datasets = list(dict.fromkeys(dataset for dataset, _ in means.index))
    figure, axes = make_panels(datasets, size=(2.5, 2.3))
    for dataset, ax in zip(datasets, axes, strict=True):
        draw_lines(
            ax,
            means.columns.to_numpy(),
            means.loc[dataset].T.to_dict("list"),
            spreads.loc[dataset].T.to_dict("list"),
            xlabel="bins",
            ylabel="NMI",
            names=NAMES,
        )
        ax.set_ylim(0, 1.1 * (means + spreads).loc[dataset].max(axis=None))
    share_legend(figure, axes)
    return figure


EXPERIMENT = Experiment(
    "bins",
    "Clusters against classes with 2 to 10 bins: mammo, hepatitis, heart",
    render,
    scores=(*SCORES, "fit_seconds"),
    plan=plan,
    measure=measure,
    choices=(*TABLES, *RULES),
)
