"""Time and memory against the number of rows, up to what each method bears.

The first table is made up: numbers that hang together through a few hidden factors, and
categories that hang on them too, with a tenth of the cells hidden by chance. Its
numbers are normal, and four percentile bins of a normal column are in effect two (the
end centers are the extremes), so its rows of bins repeat, and the paper's rule has few
distinct rows to search. The second table, `UNIFORM`, has fourteen uniform columns, put
in eight bins: hardly two rows are alike. Every
method gets one thread, and is called once on a tiny table before the clock starts, so
that compiling and importing are not counted. The rows double. A method stops where its
memory (HI-PMK, a square of the rows) or its time (MIWAE) would be out of proportion.

MIWAE trains for ten epochs, a tenth of the least that the paper searched: its time is
linear in epochs and rows, so the slope is the same, and all its lengths are trained
alike. Nothing is cut by a budget here.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..baselines import registry
from ..datasets import simulate_missing
from ..plots import draw_lines, make_panels, share_legend
from ._machine import PeakMemory
from ._rendering import Rendering, Table
from ._trials import Experiment, Request, Trial, find_labels
from .nmi import CASCADE, FOUR_BINS, NAMES, OURS, PAPER

EPOCHS = 10
REPEATS = 2
FEWEST_SIZES = 4  # of a slope: of three sizes it changes from run to run
FEWEST_ROWS = 1_000
WARM_UP_ROWS = 60
FEW = 6  # of more sizes every other is shown
N_NUMERIC, N_CATEGORICAL, N_FACTORS = 10, 4, 3
MISSING_RATE = 0.1

# label -> method, parameters. One thread for all; the runner gives the others one.
METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    OURS: ("PK", {"n_jobs": 1}),
    PAPER: ("PK", FOUR_BINS | {"n_jobs": 1}),
    "HI-PMK": ("HI-PMK", {}),
    "MIWAE": ("MIWAE", {"epochs": EPOCHS}),
}
MOST_ROWS = {
    OURS: 1_024_000,
    PAPER: 1_024_000,
    "HI-PMK": 16_000,
    "MIWAE": 16_000,
}
# The second table: label -> method, parameters; the most rows.
TABLE, UNIFORM = "synthetic", "uniform"
EIGHT_BINS = CASCADE | {"n_bins": 8}
UNIFORM_METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    OURS: ("PK", {"n_jobs": 1}),
    PAPER: ("PK", EIGHT_BINS | {"n_jobs": 1}),
}
UNIFORM_MOST_ROWS, QUICK_UNIFORM_MOST_ROWS = 128_000, 8_000
QUICK_MOST_ROWS = {OURS: 16_000, PAPER: 16_000, "HI-PMK": 4_000, "MIWAE": 4_000}


def make_table(n_rows: int, seed: int) -> pd.DataFrame:
    """Make up a mixed table with holes.

    Parameters
    ----------
    n_rows : int
    seed : int

    Returns
    -------
    pandas.DataFrame of shape (n_rows, 14)
        Ten columns of numbers and four of categories (3, 4, 5 and 6 of them); a tenth
        of the cells is missing, each by chance.

    Examples
    --------
    >>> table = make_table(1000, seed=0)
    >>> table.shape, round(float(table.isna().to_numpy().mean()), 2)
    ((1000, 14), 0.1)
    """
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_rows, N_FACTORS))
    loadings = rng.normal(size=(N_FACTORS, N_NUMERIC + N_CATEGORICAL))
    values = factors @ loadings + rng.normal(size=(n_rows, loadings.shape[1]))
    columns: dict[str, Any] = {f"x{j}": values[:, j] for j in range(N_NUMERIC)}
    for j in range(N_CATEGORICAL):
        letters = list("abcdef"[: 3 + j])
        cuts = np.linspace(-2, 2, len(letters) - 1)
        places = np.searchsorted(cuts, values[:, N_NUMERIC + j])
        columns[f"c{j}"] = pd.Categorical.from_codes(places, letters)
    return simulate_missing(pd.DataFrame(columns), MISSING_RATE, random_state=seed)


def make_uniform(n_rows: int, seed: int) -> pd.DataFrame:
    """Make up a table of uniform numbers, independent of each other, with holes.

    Parameters
    ----------
    n_rows : int
    seed : int

    Returns
    -------
    pandas.DataFrame of shape (n_rows, 14)

    Examples
    --------
    >>> make_uniform(1000, seed=0).shape
    (1000, 14)
    """
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.random((n_rows, N_NUMERIC + N_CATEGORICAL)))
    table.columns = [f"x{j}" for j in table]
    return simulate_missing(table, MISSING_RATE, random_state=seed)


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001
    """List the trials, small tables first."""
    most = QUICK_MOST_ROWS if request.quick else MOST_ROWS
    few = QUICK_UNIFORM_MOST_ROWS if request.quick else UNIFORM_MOST_ROWS
    chosen = request.choose(tuple(METHODS))
    kernels = [label for label in chosen if label in UNIFORM_METHODS]
    first = _list_trials(TABLE, METHODS, {label: most[label] for label in chosen})
    return first + _list_trials(UNIFORM, UNIFORM_METHODS, dict.fromkeys(kernels, few))


def _list_trials(
    table: str,
    methods: Mapping[str, tuple[str, Mapping[str, Any]]],
    most: Mapping[str, int],
) -> list[Trial]:
    if not most:
        return []
    return [
        Trial(
            table,
            methods[label][0],
            seed,
            parameters=methods[label][1],
            setting={"rows": n_rows},
        )
        for n_rows in list_sizes(max(most.values()))
        for label in most
        if n_rows <= most[label]
        for seed in range(REPEATS)
    ]


def list_sizes(most: int) -> list[int]:
    """Double from the fewest rows on.

    Examples
    --------
    >>> list_sizes(8000)
    [1000, 2000, 4000, 8000]
    """
    steps = int(math.log2(most / FEWEST_ROWS))
    return [FEWEST_ROWS * 2**step for step in range(steps + 1)]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:  # noqa: ARG001
    """Fit once to warm up, then fit against the clock.

    The peak of the memory is that of the timed call alone, above what the process held
    with the table already made.
    """
    make = make_uniform if trial.dataset == UNIFORM else make_table
    table = make(int(trial.setting["rows"]), trial.seed)
    method = registry[trial.method]
    tiny = make(WARM_UP_ROWS, trial.seed)
    method.build(random_state=trial.seed, **trial.parameters).fit_transform(tiny)
    model = method.build(random_state=trial.seed, **trial.parameters)
    give_back_memory()
    with PeakMemory() as memory:
        started = time.perf_counter()
        kept = model.fit_transform(table)
        seconds = time.perf_counter() - started
    return {
        "rows": kept.shape[0],
        "fit_seconds": seconds,
        "fit_memory_mb": memory.megabytes,
    }


def give_back_memory() -> None:
    """Hand free memory back to the system, where the system can.

    A process keeps what it freed, and the next trial would be served from there: its
    peak would look like nothing at all.
    """
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def summarise(
    results: pd.DataFrame, score: str = "fit_seconds", table: str = TABLE
) -> pd.DataFrame:
    """Arrange the best of the repetitions as sizes by methods.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.
    score : {"fit_seconds", "fit_memory_mb"}, default="fit_seconds"
        Of the time the least is taken, which is disturbed least. Of the memory the
        most, since a repetition may be served from what the one before left.
    table : {"synthetic", "uniform"}, default="synthetic"

    Returns
    -------
    pandas.DataFrame
        Index ``rows``; NaN where a method was not run, or failed.
    """
    methods = UNIFORM_METHODS if table == UNIFORM else METHODS
    kept = results[results["dataset"] == table]
    rows = kept.assign(
        label=find_labels(kept, methods),
        rows=kept["setting"].map(lambda text: json.loads(text)["rows"]),
    )
    grouped = rows.groupby(["rows", "label"])[score]
    wide = (grouped.min() if score == "fit_seconds" else grouped.max()).unstack()
    wide.columns.name = None
    return wide[[label for label in METHODS if label in wide.columns]]


def fit_slope(rows: Any, heights: Any, fewest: int = 2) -> float:
    """Fit the exponent of a power law to the upper half of the sizes.

    Parameters
    ----------
    rows, heights : array-like of shape (n_sizes,)
        Heights that are NaN or not above 0 are left out.
    fewest : int, default=2
        Sizes in the upper half without which there is no slope.

    Returns
    -------
    float
        The slope of the least-squares line through the logarithms, or NaN.

    Examples
    --------
    >>> round(fit_slope([1, 2, 4, 8], [5, 5, 16, 64]), 6)
    2.0
    """
    x, y = np.asarray(rows, dtype=float), np.asarray(heights, dtype=float)
    good = y > 0
    x, y = x[good], y[good]
    upper = slice(len(x) // 2, None)
    if len(x[upper]) < fewest:
        return float("nan")
    return float(np.polyfit(np.log(x[upper]), np.log(y[upper]), 1)[0])


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show seconds and memory at each size, with the slopes, and a figure of both."""
    seconds = summarise(results)
    memory = summarise(results, "fit_memory_mb")
    tail = ", quick" * request.quick
    repeats = int(results["seed"].nunique())
    first = "Seconds to fit and transform, first table"
    second = "The same, a table in which hardly two rows are alike"
    peak = _tabulate(f"Peak memory of it, MB{tail}", memory, _memory_notes(repeats))
    tables = (
        _tabulate(f"{first}{tail}", seconds, _notes(repeats)),
        *(
            [_tabulate_uniform(f"{second}{tail}", results)]
            if (results["dataset"] == UNIFORM).any()
            else []
        ),
        replace(peak, detail=True),
    )
    return Rendering(tables, {"runtime": lambda: draw(seconds, memory)})


def list_slopes(results: pd.DataFrame) -> pd.DataFrame:
    """Give the slopes of the time on both tables.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame
        Index the tables that were run, columns ``rows`` (the most) and the kernels;
        NaN where too few sizes were run.
    """
    rows = {}
    for table in (TABLE, UNIFORM):
        if (results["dataset"] == table).any():
            seconds = summarise(results, table=table)
            found = {
                label: fit_slope(seconds.index, seconds[label], FEWEST_SIZES)
                for label in UNIFORM_METHODS
                if label in seconds
            }
            rows[table] = {"rows": seconds.index[-1], **found}
    return pd.DataFrame.from_dict(rows, orient="index")


def list_local_slopes(results: pd.DataFrame, table: str) -> pd.DataFrame:
    """Give the slope of the time at each doubling of the rows.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.
    table : {"synthetic", "uniform"}

    Returns
    -------
    pandas.DataFrame
        Index ``rows``, after the doubling; a column for each method.
    """
    seconds = summarise(results, table=table)
    return np.log2(seconds / seconds.shift()).iloc[1:]


LAST = 3  # doublings that are told


def _tabulate_uniform(title: str, results: pd.DataFrame) -> Table:
    seconds = summarise(results, table=UNIFORM)
    local = list_local_slopes(results, UNIFORM).get(PAPER, pd.Series(dtype=float))
    told = ", ".join(f"{slope:.2f}" for slope in local.iloc[-LAST:])
    note = (
        f"{N_NUMERIC + N_CATEGORICAL} uniform columns, {MISSING_RATE:.0%} of the cells "
        f"missing; {PAPER} with eight bins. In the first table numbers are normal: "
        "their four percentile bins are in effect two, because the end centers are the "
        "extremes, so rows of bins repeat. Here hardly two rows are alike, as the "
        f"table was made to be, and {PAPER} compares all with all: the worst case that "
        f"the paper names ({OURS} has its own bins). At the last doublings the slope "
        f"of {PAPER} is {told}."
    )
    return _tabulate(title, seconds, (note,))


def _write_slope(slope: float) -> str:
    return "-" if math.isnan(slope) else f"{slope:.2f}"


def _tabulate(title: str, wide: pd.DataFrame, notes: tuple[str, ...]) -> Table:
    few = wide.iloc[:: -2 if len(wide) > FEW else -1].iloc[::-1]  # the largest is shown
    text = few.map(_write).astype(object)
    text.index = [f"{n_rows:,}" for n_rows in few.index]
    slopes = [fit_slope(wide.index, wide[label], FEWEST_SIZES) for label in wide]
    text.loc["slope"] = [_write_slope(slope) for slope in slopes]
    text.index.name = "rows"
    return Table(title, text, notes=notes)


def _write(value: float) -> str:
    """Three digits that count, whatever the size of the number."""
    if math.isnan(value):
        return "-"
    digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 1
    return f"{value:,.{min(digits, 4)}f}"


def _notes(repeats: int) -> tuple[str, ...]:
    table = (
        f"A made-up table of {N_NUMERIC} numeric and {N_CATEGORICAL} categorical "
        f"columns, {MISSING_RATE:.0%} of the cells missing; the fastest of {repeats} "
        "repetitions after a warm-up, one trial at a time on one thread."
    )
    methods = (
        f"MIWAE trains for {EPOCHS} epochs at every size (the paper's grid starts at "
        "100). PK is compiled code, HI-PMK is in numpy, MIWAE in torch. HI-PMK makes "
        "its square matrix, PK a representation of the rows, from which a matrix would "
        "have to be computed first where a method takes one. Slope: of log seconds "
        "against log rows, over the upper half of the sizes, if these are "
        f"{FEWEST_SIZES} or more. A dash: not run, out of proportion in memory "
        "(HI-PMK) or time (MIWAE)."
    )
    return (f"{table} {methods}",)


def _memory_notes(repeats: int) -> tuple[str, ...]:
    memory = (
        "The peak of the resident memory during the call, above what the process held "
        f"when the table had been made; the most of {repeats} repetitions."
    )
    return (memory,)


def draw(seconds: pd.DataFrame, memory: pd.DataFrame) -> Any:
    """Draw both against the rows, all axes logarithmic.

    Parameters
    ----------
    seconds, memory : pandas.DataFrame
        Of `summarise`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, axes = make_panels(["time", "memory"], size=(3.4, 2.9))
    found = {
        name: fit_slope(seconds.index, seconds[name], FEWEST_SIZES) for name in seconds
    }
    slopes = {name: slope for name, slope in found.items() if not math.isnan(slope)}
    for ax, wide, ylabel in (
        (axes[0], seconds, "seconds"),
        (axes[1], memory.where(memory > 0), "MB"),
    ):
        draw_lines(
            ax,
            wide.index,
            {label: wide[label] for label in wide.columns},
            xlabel="rows",
            ylabel=ylabel,
            highlight=(PAPER, OURS),
            logx=True,
            logy=True,
            slopes=slopes if ylabel == "seconds" else None,
            names=NAMES,
        )
    share_legend(figure, axes[:1])
    return figure


EXPERIMENT = Experiment(
    "runtime",
    "Time and memory against rows: PK, HI-PMK, MIWAE",
    render,
    scores=("rows", "fit_seconds", "fit_memory_mb"),
    plan=plan,
    measure=measure,
    choices=tuple(METHODS),
)
