"""How clusters fare as more cells are hidden: NMI against the share of missing cells.

The paper's figure shows two complete tables, 3L and Messidor, with 10 to 50 % of their
cells hidden completely at random (MCAR). The same is done here, and beside it what the
paper leaves open: holes that depend on another column (MAR) and holes that depend on
the hidden value itself (MNAR), see `proximity_kernel_paper.datasets.simulate_missing`.

All methods have their defaults, no label is used before the result is judged, and the
seed of a trial draws the holes, the method's own chance and k-means' starts. Methods
that take long (`SLOW`) are tried at three of the rates and with one seed.

3L has two columns. With half of its cells hidden by chance, a quarter of its rows have
nothing left; and since MAR keeps one column whole, half of the cells would be the other
column altogether. That point is left out.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..datasets import simulate_missing
from ..plots import draw_lines, make_panels, share_legend
from ._budget import BUDGET, QUICK_BUDGET, TRAINED, cut_epochs, say_budget
from ._clustering import N_INIT, SCORES, cluster, judge, load_once, represent
from ._rendering import Rendering, Table, mark_best, write_mean_spread, write_numbers
from ._trials import Experiment, Request, Trial, write_options
from .boxplot import NAMES
from .nmi import FOUR_BINS, METHODS

TABLES = ("three_lines", "messidor")
MECHANISMS = ("mcar", "mar", "mnar")
RATES = (0.1, 0.2, 0.3, 0.4, 0.5)
SEEDS = 5
SLOW = ("MissForest", "EM", *TRAINED)
QUICK_TABLES, QUICK_MECHANISMS, QUICK_RATES = ("three_lines",), ("mcar",), RATES[::2]
QUICK_LABELS = ("Mean", "KNN", "EM", "HI-PMK", "PK")
TWO_COLUMNS = (
    "three_lines has two columns: half of the cells hidden by chance leaves a quarter "
    "of its rows empty. mar keeps one of the two whole, so 50 % would be all of the "
    "other, and is left out."
)
NOTHING_LEFT = (("three_lines", "mar", 0.5),)  # a whole column would be hidden

# label -> method, parameters
COLUMNS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    **{method: (method, {}) for method in METHODS},
    "PK cascade": ("PK", FOUR_BINS),
}
LABELS = tuple(COLUMNS)
AT = ("dataset", "mechanism", "rate")


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001
    """List the trials; none depends on what is done."""
    quick = request.quick
    points = itertools.product(
        request.choose(TABLES, QUICK_TABLES),
        request.choose(MECHANISMS, QUICK_MECHANISMS),
        QUICK_RATES if quick else RATES,
        request.choose(LABELS, QUICK_LABELS),
        range(1 if quick else SEEDS),
    )
    return [
        Trial(
            dataset,
            COLUMNS[label][0],
            seed,
            parameters=COLUMNS[label][1],
            setting={"mechanism": mechanism, "rate": rate},
            budget=QUICK_BUDGET if quick else BUDGET,
        )
        for dataset, mechanism, rate, label, seed in points
        if (dataset, mechanism, rate) not in NOTHING_LEFT
        and (label not in SLOW or (rate in QUICK_RATES and seed == 0))
    ]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Hide cells, represent, cluster, judge."""
    data = load_once(trial.dataset, data_home)
    frame = simulate_missing(data.frame, random_state=trial.seed, **dict(trial.setting))
    parameters, note = cut_epochs(
        trial.method, trial.parameters, len(frame), trial.budget
    )
    points, seconds = represent(trial.method, parameters, frame, trial.seed)
    found = cluster(points, data.target.nunique(), trial.seed)
    return {**judge(found, data.target), "fit_seconds": seconds, "note": note}


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Give mean and spread over the seeds.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame
        A row for each table, mechanism, rate and label: ``dataset``, ``mechanism``,
        ``rate``, ``label``, ``n_seeds``, and for each score ``nmi``, ``nmi_std`` and so
        on, NaN where a method failed.
    """
    labels = {
        (name, write_options(given)): key for key, (name, given) in COLUMNS.items()
    }
    keys = results[["method", "parameters"]].itertuples(index=False, name=None)
    settings = results["setting"].map(json.loads)
    rows = results.assign(
        mechanism=settings.map(lambda setting: setting["mechanism"]),
        rate=settings.map(lambda setting: setting["rate"]),
        label=[labels[key] for key in keys],
    )
    groups = rows.groupby([*AT, "label"])[list(SCORES)]
    return (
        groups.mean()
        .join(groups.std(ddof=0).add_suffix("_std"))
        .assign(n_seeds=groups.count()["nmi"])
        .reset_index()
    )


def pivot(summary: pd.DataFrame, dataset: str, score: str = "nmi") -> pd.DataFrame:
    """Arrange a score of one table as (mechanism, rate) by labels."""
    rows = summary[summary["dataset"] == dataset]
    wide = rows.set_index(["mechanism", "rate", "label"])[score].unstack("label")
    found = [name for name in MECHANISMS if name in wide.index.unique("mechanism")]
    wide.columns.name = None
    return wide.loc[found, [label for label in LABELS if label in wide]]


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show a table for each score and data table, and NMI against the rate."""
    if results.empty:
        return Rendering()
    summary = summarise(results)
    datasets = [name for name in TABLES if (summary["dataset"] == name).any()]
    notes = _notes(results, summary, request.quick)
    tables = [
        _render_table(summary, dataset, score, notes)
        for score in SCORES
        for dataset in datasets
    ]
    return Rendering(tuple(tables), {"missing-rate": lambda: draw(summary)})


def _render_table(
    summary: pd.DataFrame, dataset: str, score: str, notes: tuple[str, ...]
) -> Table:
    means = pivot(summary, dataset, score)
    text = write_numbers(means)
    if (summary["n_seeds"] > 1).any():
        text = write_mean_spread(means, pivot(summary, dataset, f"{score}_std"))
    marks = mark_best(means)
    text.index = [f"{mechanism} {rate:.0%}" for mechanism, rate in means.index]
    text.index.name = "hidden"
    marks.index = text.index
    title = f"{score.upper()} on {dataset} with hidden cells"
    return Table(title, text, marks, notes, detail=score != SCORES[0])


def _notes(
    results: pd.DataFrame, summary: pd.DataFrame, quick: bool
) -> tuple[str, ...]:
    seeds = ", ".join(map(str, sorted(summary["n_seeds"].unique())))
    how = (
        f"Mean ± standard deviation over {seeds} seeds, each with its own holes; "
        "defaults of all methods; k-means with the number of classes and "
        f"{N_INIT} starts. A dash: the method failed."
    )
    told = [how, TWO_COLUMNS, say_budget(quick)]
    failed = results[results["error"] != ""]
    for (dataset, method), group in failed.groupby(["dataset", "method"]):
        told.append(f"{method} failed on {dataset}: {group['error'].iloc[0]}")
    return tuple(told)


def draw(summary: pd.DataFrame) -> Any:
    """Draw NMI against the rate: a row of panels for each table.

    Parameters
    ----------
    summary : pandas.DataFrame
        As `summarise` gives it.

    Returns
    -------
    matplotlib.figure.Figure
    """
    present = set(zip(summary["dataset"], summary["mechanism"], strict=True))
    mechanisms = [name for name in MECHANISMS if name in {m for _, m in present}]
    datasets = [name for name in TABLES if name in {d for d, _ in present}]
    titles = [f"{name}, {holes}" for name in datasets for holes in mechanisms]
    size = (2.5, 2.3) if len(titles) > 1 else (5.0, 3.0)
    figure, axes = make_panels(
        len(titles), columns=len(mechanisms), size=size, titles=titles
    )
    for i, dataset in enumerate(datasets):
        row = axes[i * len(mechanisms) : (i + 1) * len(mechanisms)]
        wide = pivot(summary, dataset)
        for ax, mechanism in zip(row, mechanisms, strict=True):
            if (dataset, mechanism) in present:
                _draw_panel(wide.loc[mechanism], ax)
        _share_height(row)
        row[0].set_ylabel("NMI")
    share_legend(figure, axes)
    return figure


def _draw_panel(wide: pd.DataFrame, ax: Any) -> None:
    draw_lines(
        100 * wide.index.to_numpy(),
        {label: wide[label].to_numpy() for label in wide},
        ax=ax,
        xlabel="cells hidden (%)",
        highlight="PK",
        names=NAMES,
        legend=False,
    )
    # The same in all panels, though some rates are not in all of them.
    ticks = [round(100 * rate) for rate in RATES]
    ax.set(xlim=(ticks[0] - 3, ticks[-1] + 3), xticks=ticks)


def _share_height(row: list[Any]) -> None:
    """Give the panels of one table the same limits; tables differ too much for that."""
    low, high = zip(*(ax.get_ylim() for ax in row), strict=True)
    for ax in row:
        ax.set_ylim(min(0.0, *low), max(high))


EXPERIMENT = Experiment(
    "missing-rate",
    "Clusters against classes as more cells are hidden: 3L and Messidor",
    render,
    scores=(*SCORES, "fit_seconds"),
    plan=plan,
    measure=measure,
    choices=(*TABLES, *MECHANISMS, *LABELS),
)
