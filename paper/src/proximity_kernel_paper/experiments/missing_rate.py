"""How clusters fare as more cells are hidden: NMI against the share of missing cells.

The paper's figure shows two complete tables, 3L and Messidor, with 10 to 50 % of their
cells hidden completely at random (MCAR). The same is done here, with a point at 0 % and
a line for chance (the classes in random order). All methods are tried at all rates with
the same seeds; a seed draws the holes, the method's own chance and the starts of
k-means. No label is used before the result is judged, with one exception: "best bins"
is the paper's method with the number of bins that is best at each point, since the
paper chose it with the labels. At 0 % all imputations are the same table, which is
clustered once.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

from ..baselines import registry
from ..datasets import simulate_missing
from ..plots import draw_lines, make_panels, share_legend
from ._budget import BUDGET, QUICK_BUDGET, cut_epochs, say_budget
from ._clustering import N_INIT, SCORES, cluster, judge, load_once, represent
from ._rendering import Rendering, Table, mark_best, write_mean_spread
from ._trials import Experiment, Request, Trial, find_labels
from .nmi import BASELINES, BEST_BINS, CASCADE, FOUR_BINS, NAMES, OURS, PAPER

TABLES = ("three_lines", "messidor")
RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
MODERATE = RATES[1:-1]  # those of the paper's claim about 3L
SEEDS = 5
QUICK_TABLES, QUICK_RATES = ("three_lines",), (0.0, 0.1, 0.3, 0.5)
TWO_COLUMNS = (
    "three_lines has two columns: half of the cells hidden leaves a quarter of its "
    "rows empty."
)
CHANCE = "chance"
MIXTURE = "mixture"  # Gaussian, with a shared covariance, on rows filled with the mean
COMPONENT = "second component"  # k-means on it, rows filled with the mean
MIXTURE_STARTS = 50  # with ten it finds the lines in some runs only
IMPUTATIONS = tuple(name for name in BASELINES if name != "HI-PMK")

# label -> method, parameters
COLUMNS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    **{method: (method, {}) for method in BASELINES},
    PAPER: ("PK", FOUR_BINS),
    OURS: ("PK", {}),
    **{
        f"{PAPER}, {n_bins} bins": ("PK", CASCADE | {"n_bins": n_bins})
        for n_bins in registry["PK"].grid["n_bins"]
        if n_bins != FOUR_BINS["n_bins"]
    },
    CHANCE: (CHANCE, {}),
    MIXTURE: (MIXTURE, {}),
    COMPONENT: (COMPONENT, {}),
}
LABELS = tuple(COLUMNS)
SHOWN = (*BASELINES, PAPER, BEST_BINS, OURS)
QUICK_LABELS = ("Mean", "KNN", "EM", "HI-PMK", PAPER, OURS, CHANCE)


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001
    """List the trials; none depends on what is done."""
    quick = request.quick
    points = itertools.product(
        request.choose(TABLES, QUICK_TABLES),
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
            setting={"mechanism": "mcar", "rate": rate},
            budget=QUICK_BUDGET if quick else BUDGET,
        )
        for dataset, rate, label, seed in points
        if rate or label not in IMPUTATIONS[1:]
    ]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Hide cells, represent, cluster, judge."""
    data = load_once(trial.dataset, data_home)
    if trial.method == CHANCE:
        return judge(data.target.sample(frac=1, random_state=trial.seed), data.target)
    frame = simulate_missing(data.frame, random_state=trial.seed, **dict(trial.setting))
    if trial.method == MIXTURE:
        points, seconds = represent("Mean", {}, frame, trial.seed)
        model = GaussianMixture(
            data.target.nunique(), covariance_type="tied", n_init=MIXTURE_STARTS,
            random_state=trial.seed,
        )  # fmt: skip
        found = model.fit_predict(points)
        return {**judge(found, data.target), "fit_seconds": seconds}
    if trial.method == COMPONENT:
        points, seconds = represent("Mean", {}, frame, trial.seed)
        points = PCA(2, svd_solver="full").fit_transform(points)[:, 1:]
        found = cluster(points, data.target.nunique(), trial.seed)
        return {**judge(found, data.target), "fit_seconds": seconds}
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
        A row for each table, rate and label: ``dataset``, ``rate``, ``label``, ``nmi``,
        ``nmi_std`` (ddof 1, NaN for one seed) and ``n_seeds``. All imputations have the
        numbers of the first at rate 0, and `CHANCE` has one rate, 0.
    """
    rates = results["setting"].map(json.loads).map(lambda setting: setting["rate"])
    rows = results.assign(rate=rates, label=find_labels(results, COLUMNS))
    groups = rows.groupby(["dataset", "rate", "label"])["nmi"]
    found = groups.agg(nmi="mean", nmi_std="std", n_seeds="count").reset_index()
    whole = found[(found["rate"] == 0) & (found["label"] == IMPUTATIONS[0])]
    others = [name for name in IMPUTATIONS[1:] if name in set(found["label"])]
    tuned = found[found["label"].str.startswith(PAPER)]
    best = tuned.loc[tuned.groupby(["dataset", "rate"])["nmi"].idxmax()]
    copies = [whole.assign(label=name) for name in others]
    return pd.concat([found, *copies, best.assign(label=BEST_BINS)], ignore_index=True)


def pivot(summary: pd.DataFrame, dataset: str, score: str = "nmi") -> pd.DataFrame:
    """Arrange a score of one table as rates by the labels shown."""
    rows = summary[summary["dataset"] == dataset]
    wide = rows.pivot_table(index="rate", columns="label", values=score, dropna=False)
    wide.columns.name = None
    return wide[[label for label in SHOWN if label in wide]]


def arrange(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Arrange the NMI as rates by all labels, those of single numbers of bins too."""
    summary = summarise(results)
    rows = summary[summary["dataset"] == dataset]
    return rows.pivot_table(index="rate", columns="label", values="nmi", dropna=False)


def count_wins(
    results: pd.DataFrame, dataset: str, rates: tuple[float, ...]
) -> dict[int, int]:
    """Count the rates at which the paper's method is best, for each number of bins.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.
    dataset : str
    rates : tuple of float

    Returns
    -------
    dict from int to int
    """
    wide = arrange(results, dataset).loc[list(rates)]
    best = wide[list(BASELINES)].max(axis=1)
    names = {
        n_bins: PAPER if n_bins == FOUR_BINS["n_bins"] else f"{PAPER}, {n_bins} bins"
        for n_bins in registry["PK"].grid["n_bins"]
    }
    return {n_bins: int((wide[name] > best).sum()) for n_bins, name in names.items()}


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show a table for each data table, and NMI against the rate."""
    summary = summarise(results)
    datasets = [name for name in TABLES if (summary["dataset"] == name).any()]
    notes = (*_notes(summary), *_tell_lines(results))
    if (results["note"] != "").any():
        notes += (say_budget(request.quick),)
    tables = [_render_table(summary, dataset, notes) for dataset in datasets]
    return Rendering(tuple(tables), {"missing-rate": lambda: draw(summary)})


def _render_table(summary: pd.DataFrame, dataset: str, notes: tuple[str, ...]) -> Table:
    means = pivot(summary, dataset)
    text = write_mean_spread(means, pivot(summary, dataset, "nmi_std"))
    marks = mark_best(means)
    rates = [f"{rate:.0%}" for rate in means.index]
    text.index = pd.Index(rates, name=f"{dataset}, hidden")
    marks.index = text.index
    chance = summary[(summary["dataset"] == dataset) & (summary["label"] == CHANCE)]
    title = f"NMI on {dataset} with hidden cells (chance {chance['nmi'].mean():.3f})"
    return Table(title, text, marks, notes)


def _notes(summary: pd.DataFrame) -> tuple[str, ...]:
    seeds = ", ".join(map(str, sorted(summary["n_seeds"].unique())))
    how = (
        f"Mean ± standard deviation (ddof 1) over {seeds} seeds, each with its own "
        "hidden cells; defaults of all methods; k-means with the number of classes and "
        f"{N_INIT} starts. {BEST_BINS}: the best of {registry['PK'].grid['n_bins']} "
        "bins at each point, known only with the labels."
    )
    other = summary[(summary["dataset"] == TABLES[1])]["nmi"]
    low = f" On {TABLES[1]} no NMI is above {other.max():.3f}." if len(other) else ""
    return (f"{how} {TWO_COLUMNS}{low}",)


def _tell_lines(results: pd.DataFrame) -> tuple[str, ...]:
    """Say who wins on 3L with how many bins, and why k-means is weak there."""
    for table in TABLES:
        wide = arrange(results, table)
        if not {*LABELS} <= {*wide.columns} or not {*RATES} <= {*wide.index}:
            return ()  # not all was run
    wide = arrange(results, TABLES[0])
    mixture, component = wide[MIXTURE], wide[COMPONENT]
    return (
        (
            f"Rates at which {PAPER} is best, by its number of bins: "
            f"{_write_wins(results, TABLES[0], MODERATE)} (10 to 40 %); "
            f"{_write_wins(results, TABLES[1], RATES[1:])}. So on {TABLES[0]} it wins "
            "only with bins that labels chose and that the paper calls too coarse; all "
            "other methods have their defaults."
        ),
        (
            f"Nobody should tune for {TABLES[0]}: its classes are three long parallel "
            "lines, and k-means on scaled columns, or on any kernel here, cuts across "
            "them. On the second principal component alone, rows filled with the mean, "
            f"it has an NMI of {component[0.0]:.2f} on the complete table and "
            f"{component[0.1]:.2f} with 10 % hidden; a Gaussian mixture with a shared "
            f"covariance has {mixture[0.0]:.2f} and {mixture[0.1]:.2f}."
        ),
    )


def _write_wins(results: pd.DataFrame, table: str, rates: tuple[float, ...]) -> str:
    wins = count_wins(results, table, rates)
    told = ", ".join(f"{n_bins} bins {count}" for n_bins, count in wins.items())
    return f"{table} {told} of {len(rates)}"


def draw(summary: pd.DataFrame) -> Any:
    """Draw NMI against the rate: a panel for each table.

    Parameters
    ----------
    summary : pandas.DataFrame
        As `summarise` gives it.

    Returns
    -------
    matplotlib.figure.Figure
    """
    datasets = [name for name in TABLES if name in set(summary["dataset"])]
    figure, axes = make_panels(datasets, size=(3.6, 3.2))
    for ax, dataset in zip(axes, datasets, strict=True):
        wide, spread = pivot(summary, dataset), pivot(summary, dataset, "nmi_std")
        draw_lines(
            ax,
            100 * wide.index.to_numpy(),
            {label: wide[label].to_numpy() for label in wide},
            {label: spread[label].to_numpy() for label in spread},
            xlabel="cells hidden (%)",
            ylabel="NMI",
            highlight=(PAPER, OURS),
            names=NAMES,
        )
        ax.set_xticks([round(100 * rate) for rate in wide.index])
        chance = summary[(summary["dataset"] == dataset) & (summary["label"] == CHANCE)]
        ax.axhline(chance["nmi"].mean(), color="black", linewidth=0.8, label=CHANCE)
    share_legend(figure, axes)
    return figure


EXPERIMENT = Experiment(
    "missing-rate",
    "Clusters against classes as more cells are hidden: 3L and Messidor",
    render,
    scores=(*SCORES, "fit_seconds"),
    plan=plan,
    measure=measure,
    choices=(*TABLES, *LABELS),
)
