"""How much of the true similarity survives the holes; the paper leaves it open.

Cells of complete tables are hidden, by three mechanisms and at five rates. A method
sees the holed table only: it gives a kernel, or a filled table from which the kernel is
computed. Both are compared with the kernel of the complete table:

- ``kernel_error``: root mean squared difference over all pairs of rows;
- ``relative_error``: the same, as a share of the standard deviation of the true kernel;
- ``top10``: true similarity of the ten rows that the method calls nearest, as a share
  of that of the ten truly nearest.

One set of bins is used for all, that of `ProximityKernel` fitted to the holed table, so
that only what fills the holes differs: four bins, and, with fewer methods, rates and
seeds, the default ones. HI-PMK is a kernel of its own and is compared with itself on
the complete table; its error has another scale, so only its relative error is shown.
"""

from __future__ import annotations

import json
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from proximity_kernel import ProximityKernel

from ..baselines import registry
from ..datasets import simulate_missing
from ..plots import draw_lines, make_panels, share_legend
from ._budget import BUDGET, QUICK_BUDGET, cut_epochs
from ._clustering import load_once
from ._rendering import Rendering, Table, mark_best, write_numbers
from ._trials import Experiment, Request, Trial
from .nmi import BIN0, FOUR_BINS, METHODS

TABLES = ("messidor", "cancer", "heart", "credit", "mushroom", "adult")
QUICK_TABLES = ("heart", "credit")
MECHANISMS = ("mcar", "mar", "mnar")
RATES, QUICK_RATES = (0.1, 0.2, 0.3, 0.4, 0.5), (0.1, 0.3, 0.5)
SEEDS, QUICK_SEEDS = 2, 1
ROWS, QUICK_ROWS = 800, 200
NEIGHBORS = 10
SCORES = ("kernel_error", "relative_error", "top10")
FOUR, DEFAULT = "four bins", "default bins"
IMPUTATIONS = tuple(name for name in METHODS if name not in ("PK", "HI-PMK"))
FOUR_BINS_ONLY = ("MICE", "GAIN", "MIRACLE")  # behind the others there, and slow
# bins -> label -> method, parameters
LABELS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    FOUR: {
        **{name: (name, {}) for name in IMPUTATIONS},
        "PK": ("PK", {"n_bins": 4, "missingness": "ignorable"}),
        "PK cascade": ("PK", FOUR_BINS),
        "prior only": ("prior only", {"n_bins": 4}),
        "HI-PMK": ("HI-PMK", {}),
        "HI-PMK bin0": ("HI-PMK", BIN0),
    },
    DEFAULT: {
        **{name: (name, {}) for name in IMPUTATIONS if name not in FOUR_BINS_ONLY},
        "PK": ("PK", {}),
        "prior only": ("prior only", {}),
    },
}

Kernel = NDArray[np.float64]


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001 (one round)
    """List the trials: every table, mechanism, rate, method and seed."""
    tables = request.choose(TABLES, QUICK_TABLES)
    trials = _plan_bins(request, tables, FOUR, RATES, SEEDS)
    return trials + _plan_bins(request, tables, DEFAULT, QUICK_RATES, QUICK_SEEDS)


def _plan_bins(
    request: Request,
    tables: tuple[str, ...],
    bins: str,
    rates: tuple[float, ...],
    n_seeds: int,
) -> list[Trial]:
    quick = request.quick
    labels = LABELS[bins]
    always: dict[str, Any] = {"rows": QUICK_ROWS if quick else ROWS}
    if bins == DEFAULT:
        always["bins"] = "default"
    return [
        Trial(
            table,
            labels[label][0],
            seed,
            parameters=labels[label][1],
            setting={"mechanism": mechanism, "rate": rate, **always},
            budget=QUICK_BUDGET if quick else BUDGET,
        )
        for table in tables
        for label in request.choose(tuple(labels))
        for mechanism in MECHANISMS
        for rate in (QUICK_RATES if quick else rates)
        for seed in range(QUICK_SEEDS if quick else n_seeds)
    ]


@lru_cache(maxsize=4)
def load_complete(
    name: str, rows: int, seed: int, data_home: str | None
) -> pd.DataFrame:
    """Give rows of a table without holes.

    Parameters
    ----------
    name : str
    rows : int
        At most so many, drawn at random.
    seed : int
    data_home : str or None

    Returns
    -------
    pandas.DataFrame of shape (at most rows, d)
        Columns with one value only are left out.
    """
    whole = load_once(name, data_home).frame.dropna()
    whole = whole.sample(min(rows, len(whole)), random_state=seed)
    return whole.loc[:, whole.nunique() > 1].reset_index(drop=True)


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Hide, fill or match, compare."""
    setting = trial.setting
    whole = load_complete(trial.dataset, setting["rows"], trial.seed, data_home)
    holed = simulate_missing(
        whole, setting["rate"], setting["mechanism"], random_state=trial.seed
    )
    parameters, note = cut_epochs(
        trial.method, trial.parameters, len(holed), trial.budget
    )
    model = registry[trial.method].build(random_state=trial.seed, **parameters)
    kernel = ProximityKernel()
    if "bins" not in setting:
        kernel = ProximityKernel(n_bins=4, missingness="ignorable")
    estimate, truth = _kernels(trial.method, model.fit(holed), kernel, holed, whole)
    return {**compare_kernels(estimate, truth), "note": note}


def _kernels(
    method: str,
    model: Any,
    bins: ProximityKernel,
    holed: pd.DataFrame,
    whole: pd.DataFrame,
) -> tuple[Kernel, Kernel]:
    """Give the kernel of the holed table by a method, and that of the complete one."""
    if method == "PK":
        return model.kernel(holed), model.kernel(whole)
    if method == "HI-PMK":
        return model.transform(holed), type(model)(model.missing).fit_transform(whole)
    bins.fit(holed)
    if method == "prior only":
        points = model.transform(holed)
        return (points @ points.T).toarray() / holed.shape[1], bins.kernel(whole)
    return bins.kernel(model.fill(holed)), bins.kernel(whole)


def compare_kernels(estimate: Kernel, truth: Kernel) -> dict[str, float]:
    """Compare a kernel with the true one.

    Parameters
    ----------
    estimate, truth : ndarray of shape (n, n)

    Returns
    -------
    dict from str to float
        See the module.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.random.default_rng(0).random((30, 30))
    >>> compare_kernels(truth + 0.5, truth)["kernel_error"]
    0.5
    """
    pairs = np.triu_indices(len(truth), 1)
    error = float(np.sqrt(np.mean((estimate[pairs] - truth[pairs]) ** 2)))
    true = np.array(truth, dtype=np.float64)
    seen = np.array(estimate, dtype=np.float64)
    np.fill_diagonal(true, -np.inf)
    np.fill_diagonal(seen, -np.inf)
    nearest = np.argsort(-seen, axis=1, kind="stable")[:, :NEIGHBORS]
    found = np.take_along_axis(true, nearest, 1).mean()
    return {
        "kernel_error": error,
        "relative_error": error / float(truth[pairs].std()),
        "top10": float(found / np.sort(true, axis=1)[:, -NEIGHBORS:].mean()),
    }


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Give the mean over tables and seeds.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame
        A row for each ``bins``, ``label``, ``mechanism`` and ``rate``, with the scores.
        A mean over fewer tables than the others would not compare, so it is NaN.
    """
    settings = results["setting"].map(json.loads)
    bins = settings.map(lambda setting: DEFAULT if "bins" in setting else FOUR)
    asked = zip(bins, results["method"], results["parameters"], strict=True)
    tidy = results.assign(
        bins=bins,
        label=[_label(kind, method, json.loads(text)) for kind, method, text in asked],
        mechanism=settings.map(lambda setting: setting["mechanism"]),
        rate=settings.map(lambda setting: setting["rate"]),
    )
    groups = tidy.groupby(["bins", "label", "mechanism", "rate"])[list(SCORES)]
    return groups.agg(lambda scores: scores.mean(skipna=False)).reset_index()


def _label(bins: str, method: str, parameters: dict[str, Any]) -> str:
    known = LABELS[bins].items()
    return next(label for label, entry in known if entry == (method, parameters))


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show the mean errors and the curves against the share of hidden cells."""
    summary = summarise(results)
    tables: list[Table] = []
    figures = {}
    for bins, labels in LABELS.items():
        part = summary[summary["bins"] == bins]
        order = [label for label in labels if label in set(part["label"])]
        if order:
            tables += _render_bins(part, order, bins + ", quick" * request.quick)
            stem = "fidelity" + "-default" * (bins == DEFAULT)
            figures[stem] = partial(draw, part, order)
    return Rendering(tuple(tables), figures)


def _render_bins(summary: pd.DataFrame, order: list[str], bins: str) -> list[Table]:
    note = (
        "Mean over tables, rates and seeds. Error: root mean squared difference from "
        f"the kernel of the complete table. Top 10: the {NEIGHBORS} nearest rows by "
        "the method, their true similarity as a share of the best possible. HI-PMK is "
        "compared with itself."
    )
    return [
        Table(f"{title}, {bins}", *_arrange(summary, order, score), (note,))
        for score, title in (
            ("kernel_error", "Kernel error"),
            ("relative_error", "Kernel error, as a share of the kernel's spread"),
            ("top10", "Top-10 quality"),
        )
    ]


def _arrange(
    summary: pd.DataFrame, order: list[str], score: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Text and marks of one score: methods by mechanisms, and the mean over them."""
    means = summary.groupby(["label", "mechanism"])[score].mean().unstack()
    means = means.loc[order, [name for name in MECHANISMS if name in means]]
    if score == "kernel_error":
        means = means.drop(index=[name for name in order if name.startswith("HI-PMK")])
    means["mean"] = means.mean(axis=1, skipna=False)
    means.index.name, means.columns.name = "method", None
    higher_is_better = means if score == "top10" else -means
    return write_numbers(means, 4), mark_best(higher_is_better, axis=0, digits=4)


def draw(summary: pd.DataFrame, order: list[str]) -> Any:
    """Draw error and top-10 quality against the rate, a column for each mechanism."""
    shown = [name for name in order if name != "HI-PMK bin0"]
    mechanisms = [name for name in MECHANISMS if name in set(summary["mechanism"])]
    rows = (("relative_error", "kernel error / spread"), ("top10", "top-10 quality"))
    titles = [name.upper() for name in mechanisms] + [""] * len(mechanisms)
    figure, axes = make_panels(
        2 * len(mechanisms), columns=len(mechanisms), titles=titles
    )
    places = iter(axes)
    for score, name in rows:
        for mechanism in mechanisms:
            part = summary[summary["mechanism"] == mechanism]
            wide = part.pivot_table(index="rate", columns="label", values=score)
            draw_lines(
                wide.index.to_numpy(),
                {label: wide[label].to_numpy() for label in shown if label in wide},
                ax=next(places),
                xlabel="share of cells hidden",
                ylabel=name,
                highlight=("PK",),
            )
    share_legend(figure, axes)
    return figure


EXPERIMENT = Experiment(
    "fidelity",
    "How much of the true similarity survives the holes",
    render,
    scores=SCORES,
    plan=plan,
    measure=measure,
    choices=(*TABLES, *LABELS[FOUR]),
    unit=("dataset",),  # means over tables compare only where all methods have them
)
