"""Where this package departs from the paper's text, numbers or code, and what it costs.

One row for each departure: the paper's rule as this package understands it (cascade,
4 bins, real classes, ten starts of k-means), and the same with one thing
changed. The evaluation (labels, starts of k-means), the rules of the published code and
the levels of the method are all changed in this way, so that a difference is never an
opinion.

A rule can matter in principle and touch no cell of these tables; so beside its effect
is the number of cells and rows that it touches.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from proximity_kernel import ProximityKernel

from ..baselines import registry
from ._clustering import N_INIT, SCORES, cluster, judge, load_once
from ._rendering import Rendering, Table, write_numbers
from ._trials import Experiment, Request, Trial
from ._variants import Blocks, Rule, find_touched, represent_by, split_blocks
from .nmi import CASCADE, PAPER, TABLES

N_BINS = 4
LARGE = 0.005  # a change of the mean NMI that is shown
SEEDS, QUICK_SEEDS = 10, 2
QUICK_TABLES = ("mammo", "hepatitis")
MOST_ROWS = 10_000
# The paper's range of bins, for the variants that are about bins.
RANGE, QUICK_RANGE, RANGE_SEEDS = (2, 3, 4, 6, 8, 10), (2, 4), 3


@dataclass(frozen=True)
class Variant:
    """The paper's method with one thing changed.

    Attributes
    ----------
    source : str
        Where the other way is from.
    rule : Rule
        By which the table is represented, unless ``ProximityKernel`` does it.
    matching : str
        Of ``ProximityKernel``; empty for a rule.
    labels : {"clean", "as published"}
    n_init : int
        Starts of k-means.
    """

    source: str
    rule: Rule = field(default_factory=Rule)
    matching: str = ""
    labels: str = "clean"
    n_init: int = N_INIT


KINDS = "its text, categories apart"
TEXT, NUMBERS, CODE = "the paper's text", "published numbers", "published code"
ABLATION, OPEN = "ablation", "left open by the text"
OWN = "this package's matching"
VARIANTS: Mapping[str, Variant] = {
    PAPER: Variant(KINDS),
    "labels as published": Variant(NUMBERS, labels="as published"),
    "one start of k-means": Variant(NUMBERS, n_init=1),
    "prior counted by intervals": Variant(CODE, Rule(prior="interval")),
    "empty row stays zero": Variant(CODE, Rule(empty_row_zero=True)),
    "blind intersection skips union": Variant(CODE, Rule(skipped=True)),
    "these three together": Variant(
        CODE, Rule(prior="interval", empty_row_zero=True, skipped=True)
    ),
    "equal centers kept": Variant(TEXT, Rule(merged=False)),
    "a bin for every category": Variant(TEXT, Rule(most_categories=10**9)),
    "ties by rounded distances": Variant(OPEN, Rule(assignment="distance")),
    "categories as numbers": Variant(TEXT, Rule(nominal=False)),
    "intervals": Variant(ABLATION, Rule(assignment="interval")),
    "intervals, a center more": Variant(
        ABLATION, Rule(assignment="interval", more_centers=1)
    ),
    "no union": Variant(ABLATION, Rule(union=False)),
    "no intersection": Variant(ABLATION, Rule(intersection=False)),
    "prior only": Variant(ABLATION, Rule(intersection=False, union=False)),
    "missing as its own bin": Variant(ABLATION, Rule(own_bin=True)),
    "pairwise": Variant(OWN, matching="pairwise"),
}
ABOUT_BINS = (PAPER, "categories as numbers", "intervals", "intervals, a center more")


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001
    """List the trials: all variants at 4 bins, those about bins at the others too."""
    chosen = request.choose(tuple(VARIANTS))
    wanted = [name for name in VARIANTS if name in (PAPER, *chosen)]
    others = [n for n in (QUICK_RANGE if request.quick else RANGE) if n != N_BINS]
    seeds = QUICK_SEEDS if request.quick else SEEDS
    trials = []
    for dataset in request.choose(TABLES, QUICK_TABLES):
        for name in wanted:
            trials += _repeat(dataset, name, N_BINS, seeds)
            for n_bins in others if name in ABOUT_BINS else ():
                trials += _repeat(dataset, name, n_bins, min(seeds, RANGE_SEEDS))
    return trials


def _repeat(dataset: str, name: str, n_bins: int, seeds: int) -> list[Trial]:
    setting = {"n_bins": n_bins}
    return [Trial(dataset, name, seed, setting=setting) for seed in range(seeds)]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Represent by the variant, cluster, judge; count what the variant touches."""
    variant = VARIANTS[trial.method]
    data = load_once(trial.dataset, data_home, variant.labels)
    rows = choose_rows(len(data.frame), trial.seed)
    draw = trial.seed if len(rows) < len(data.frame) else 0
    n_bins = int(trial.setting["n_bins"])
    points, touched = _represent(trial.dataset, data_home, variant, n_bins, draw)
    found = cluster(points, data.target.nunique(), trial.seed, variant.n_init)
    target = data.target.iloc[rows]
    real = load_once(trial.dataset, data_home).target.iloc[rows]
    renamed = target.astype(str).to_numpy() != real.astype(str).to_numpy()
    few = len(rows) < len(data.frame)
    return {
        **judge(found, target),
        "touched_cells": int(touched.sum()),
        "touched_rows": int((touched.any(axis=1) | renamed).sum()),
        "note": f"{len(rows):,} of {len(data.frame):,} rows" if few else "",
    }


def choose_rows(n_rows: int, seed: int) -> Any:
    """Choose the rows of a large table by chance, all of a small one.

    Examples
    --------
    >>> len(choose_rows(700, seed=0)), len(choose_rows(50_000, seed=0))
    (700, 10000)
    """
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    chosen = np.random.default_rng(seed).choice(n_rows, MOST_ROWS, replace=False)
    return np.sort(chosen)


@lru_cache(maxsize=2)  # the same for all seeds, unless rows are drawn
def _represent(
    dataset: str, data_home: str | None, variant: Variant, n_bins: int, draw: int
) -> tuple[Any, Any]:
    """Give the points for k-means, and the mask of the cells that are touched."""
    data = load_once(dataset, data_home)
    frame = data.frame.iloc[choose_rows(len(data.frame), draw)].reset_index(drop=True)
    blocks = represent_variant(variant, frame, n_bins)
    model = ProximityKernel(n_bins, **CASCADE)
    paper = split_blocks(model.fit_transform(frame), model.n_bins_)
    touched = find_touched(paper, blocks, frame.isna().to_numpy())
    return np.hstack(blocks).astype(np.float32), touched


def represent_variant(variant: Variant, frame: pd.DataFrame, n_bins: int) -> Blocks:
    """Represent a table as a variant does.

    Parameters
    ----------
    variant : Variant
    frame : pandas.DataFrame of shape (n, d)
    n_bins : int

    Returns
    -------
    list of d ndarrays of shape (n, n_bins of the feature)
    """
    if not variant.matching:
        return represent_by(variant.rule, frame, n_bins)
    options = CASCADE | {"matching": variant.matching}
    model = registry["PK"].build(n_bins=n_bins, **options)
    return split_blocks(model.fit_transform(frame), model.n_bins_)


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Give the mean over the seeds for each variant, number of bins and table.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame
        Columns ``method``, ``n_bins``, ``dataset``, ``nmi``, ``spread`` (standard
        deviation over the seeds, ddof 1), ``range`` (highest less lowest),
        ``touched_cells``, ``touched_rows``.
    """
    rows = results.assign(
        n_bins=results["setting"].map(lambda text: json.loads(text)["n_bins"])
    )
    grouped = rows.groupby(["method", "n_bins", "dataset"], sort=False)
    return grouped.agg(
        nmi=("nmi", "mean"),
        spread=("nmi", lambda scores: scores.std()),
        range=("nmi", lambda scores: scores.max() - scores.min()),
        touched_cells=("touched_cells", "mean"),
        touched_rows=("touched_rows", "mean"),
    ).reset_index()


def pivot(summary: pd.DataFrame, column: str, n_bins: int = N_BINS) -> pd.DataFrame:
    """Arrange a column of the summary as variants by tables."""
    rows = summary[summary["n_bins"] == n_bins]
    wide = rows.pivot_table(
        index="method", columns="dataset", values=column, dropna=False
    )
    variants = [name for name in VARIANTS if name in wide.index]
    wide = wide.loc[variants, [name for name in TABLES if name in wide.columns]]
    wide.index.name, wide.columns.name = "variant", None
    return wide


def average_bins(results: pd.DataFrame) -> pd.Series:
    """Give the mean NMI of the paper's method over all tables, by number of bins.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.Series
    """
    summary = summarise(results)
    rows = summary[summary["method"] == PAPER]
    lacking = set(TABLES) - set(rows["dataset"])
    if lacking:
        raise ValueError(f"tables are missing: {', '.join(sorted(lacking))}.")
    return rows.groupby("n_bins")["nmi"].mean()


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show the effect of every departure: in all, on each table, and against bins."""
    summary = summarise(results)
    nmi = pivot(summary, "nmi")
    differences = nmi - nmi.loc[PAPER]
    tail = ", quick" * request.quick
    numbers, *reading = _notes(results, len(nmi.columns))
    told = _tell(summary)
    large = differences.mean(axis=1).abs() >= LARGE
    by_bins = _tell_average(results)
    large[PAPER] = True
    small = [name for name in differences.index[~large] if name != PAPER]
    rest = (
        f"{len(small)} other departures change the mean by less than {LARGE}: "
        f"{', '.join(small)}."
    )
    shown = told.loc[large, ["from", "NMI", "difference", "largest"]]
    each = f"NMI of each variant less {PAPER}, on each table{tail}"
    by_table = differences.drop(index=PAPER).map(_sign).astype(object)
    bins = f"NMI against bins, mean over the tables{tail}"
    return Rendering(
        (
            Table(
                f"Departures that matter{tail}", shown, notes=(numbers, rest, *by_bins)
            ),
            Table(f"All departures{tail}", told, notes=tuple(reading), detail=True),
            Table(each, by_table, detail=True),
            Table(bins, _tell_bins(summary), detail=True),
        )
    )


def _tell_average(results: pd.DataFrame) -> tuple[str, ...]:
    try:
        means = average_bins(results)
    except ValueError:  # not all tables
        return ()
    told = ", ".join(f"{n} {score:.3f}" for n, score in means.items())
    return (
        (
            f"Mean NMI of {PAPER} by number of bins: {told} ({N_BINS} with {SEEDS} "
            f"seeds, the others with {RANGE_SEEDS})."
        ),
    )


def _tell(summary: pd.DataFrame) -> pd.DataFrame:
    nmi, ranges = pivot(summary, "nmi"), pivot(summary, "range")
    differences = nmi - nmi.loc[PAPER]
    numbers = {"NMI": nmi, "spread": pivot(summary, "spread")}
    # A mean over the other tables would not be comparable: a gap stays one.
    means = {name: wide.mean(axis=1, skipna=False) for name, wide in numbers.items()}
    text = write_numbers(pd.DataFrame(means))
    text.insert(0, "from", [VARIANTS[name].source for name in nmi.index])
    text.insert(2, "difference", differences.mean(axis=1, skipna=False).map(_sign))
    text.insert(3, "largest", [_tell_largest(row) for _, row in differences.iterrows()])
    text["widest"] = [_tell_largest(row).lstrip("+") for _, row in ranges.iterrows()]
    for kind in ("cells", "rows"):
        counts = pivot(summary, f"touched_{kind}").sum(axis=1, skipna=False)
        text[kind] = counts.map("{:,.0f}".format).replace("nan", "-")
    text.loc[PAPER, ["difference", "largest"]] = ""
    return text


def _tell_largest(row: pd.Series) -> str:
    """Say which value is farthest from zero, and on which table."""
    if row.isna().all():
        return "-"
    said = _sign(row[row.abs().idxmax()])
    return said if said == "0.000" else f"{said} {row.abs().idxmax()}"


def _sign(value: float) -> str:
    """Write a difference; one that would be printed as zero has no sign."""
    if np.isnan(value):
        return "-"
    return f"{value:+.3f}" if abs(value) >= 0.0005 else "0.000"


def _tell_bins(summary: pd.DataFrame) -> pd.DataFrame:
    rows = summary[summary["method"].isin(ABOUT_BINS)]
    wide = rows.pivot_table(index="n_bins", columns="method", values="nmi")
    wide.index.name, wide.columns.name = "bins", None
    return write_numbers(wide[[name for name in ABOUT_BINS if name in wide.columns]])


_READING = (
    (
        "Cells: observed cells that share their bin with other rows than in the "
        "paper's, and missing cells with another distribution, over all tables; rows: "
        "rows with such a cell, or with another label."
    ),
    (
        "Equal centers kept: the same representation with empty columns between the "
        "others. k-means then sums in another order, and where rows are nearly tied "
        "ends elsewhere: differences of this size are not effects of a rule."
    ),
    (
        "Prior counted by intervals: read as each center counting the values from it "
        "up to the next. Blind intersection: another row shares all codes, but none of "
        "them observes the feature; would a row count itself, this would be the "
        "variant without union. Intervals: one fewer than centers, so with a center "
        "more there are as many cells."
    ),
    (
        "Pairwise: this package's default rule for missing cells, with four bins and "
        "no gap as a bin of its own. It multiplies the column's bin frequencies by "
        "what each known cell of the row tells about it, from counts of pairs of bins."
    ),
    (
        "Two rules of the published code cannot show where the fitted table is the one "
        "represented: a value below the fitted minimum raises, and transform matches "
        "among the rows given, so that a row alone gives NaN."
    ),
)


def _notes(results: pd.DataFrame, n_tables: int) -> tuple[str, ...]:
    numbers = (
        f"NMI: mean over {n_tables} tables of the mean over "
        f"{results['seed'].nunique()} seeds; {N_BINS} bins, real classes, k-means with "
        f"{N_INIT} starts, unless the variant is about it. Of tables with more, "
        f"{MOST_ROWS:,} rows, drawn anew for each seed. From: what the variant "
        "follows, or an ablation. Intervals, a center more: a bin reaches from one "
        "center to the next, instead of halfway to both."
    )
    spreads = (
        "Spread: mean over the tables of the standard deviation between seeds; widest: "
        "the largest distance between two seeds. Other numbers of bins are tried with "
        f"{RANGE_SEEDS} seeds at most."
    )
    return numbers, spreads, *_READING


EXPERIMENT = Experiment(
    "differences",
    "Where the method here departs from the paper, and what it changes",
    render,
    scores=(*SCORES, "touched_cells", "touched_rows"),
    plan=plan,
    measure=measure,
    choices=(*TABLES, *VARIANTS),
    unit=("dataset",),  # every variant is compared with the paper's on the same table
)
