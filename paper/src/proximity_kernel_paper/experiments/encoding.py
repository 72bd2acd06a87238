"""Where the gain comes from: how gaps are filled, apart from how rows are encoded.

The paper clusters imputed tables as integer codes and its own method as bins, so its
main table compares two things at once. Here they are apart: every way to fill a gap
meets every way to encode the filled table, on the twelve tables, with the real classes
and k-means as in `nmi`.

Encodings: ``codes``, as the paper encodes imputed tables (categories by their place in
sorted order, each column scaled to [0, 1]); ``one-hot``, the same with a column for
each category; ``4 bins``, the paper's; ``auto bins``, the library's default. Bins are
fitted to the incomplete table, so that they are the same for every way to fill.

Fills of the last four rows are distributions over bins. In the first two encodings
they are decoded to values; the prior would be decoded to the mean or mode, which is the
first row.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import OneHotEncoder

from proximity_kernel import ProximityImputer, ProximityKernel

from ..baselines import registry
from ._clustering import cluster, judge, load_once
from ._rendering import Rendering, Table, mark_best, write_numbers
from ._trials import Experiment, Request, Trial
from .nmi import CASCADE, QUICK_TABLES, TABLES

SEEDS, QUICK_SEEDS = 10, 1
MOST_ROWS = 10_000  # of adult
CODES, ONE_HOT, FOUR, AUTO = "codes", "one-hot", "4 bins", "auto bins"
ENCODINGS = (CODES, ONE_HOT, FOUR, AUTO)
BINS: Mapping[str, Any] = {FOUR: 4, AUTO: "auto"}
# Ways to fill: label -> what makes it, and its options.
IMPUTED = {
    "mean or mode": "mean or mode",
    "10 nearest rows": "scaled KNN",
    "MissForest": "MissForest",
}
PRIOR = "prior only"
INFORMATIVE = "pairwise, gaps may be a bin"
MATCHED: Mapping[str, Mapping[str, Any]] = {
    "cascade": CASCADE,
    "pairwise": {"missingness": "ignorable"},
    INFORMATIVE: {},
}
FILLS = (*IMPUTED, PRIOR, *MATCHED)


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001 (one round)
    """List the trials: one for each table, fill and seed, with all encodings."""
    return [
        Trial(table, fill, seed)
        for table in request.choose(TABLES, QUICK_TABLES)
        for fill in request.choose(FILLS)
        for seed in range(QUICK_SEEDS if request.quick else SEEDS)
    ]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Fill once, encode in every way, cluster, judge."""
    data = load_once(trial.dataset, data_home)
    frame = data.frame.sample(min(len(data.frame), MOST_ROWS), random_state=trial.seed)
    target = data.target.loc[frame.index]
    frame = frame.reset_index(drop=True)
    started = time.perf_counter()
    found = {}
    for encoding, points in encode(trial.method, frame, trial.seed).items():
        clusters = cluster(points, target.nunique(), trial.seed)
        found[encoding] = judge(clusters, target)["nmi"]
    return {**found, "fit_seconds": time.perf_counter() - started}


def encode(fill: str, frame: pd.DataFrame, seed: int) -> dict[str, Any]:
    """Represent a table in every encoding.

    Parameters
    ----------
    fill : str
        One of `FILLS`.
    frame : pandas.DataFrame of shape (n, d)
    seed : int

    Returns
    -------
    dict from encoding to ndarray of shape (n, p)
        Without those that the fill does not have.
    """
    if fill == PRIOR:
        build = partial(registry[PRIOR].build, missingness="ignorable")
        return {
            name: build(n_bins=bins).fit_transform(frame).toarray()
            for name, bins in BINS.items()
        }
    if fill in IMPUTED:
        filled = registry[IMPUTED[fill]].build(random_state=seed).fit(frame).fill(frame)
        kernels = {
            name: ProximityKernel(bins, missingness="ignorable").fit(frame)
            for name, bins in BINS.items()
        }
        binned = {name: kernel.transform(filled) for name, kernel in kernels.items()}
    else:
        kernels = {
            name: ProximityKernel(bins, **MATCHED[fill]).fit(frame)
            for name, bins in BINS.items()
        }
        imputer = ProximityImputer(kernel=FrozenEstimator(kernels[AUTO]))
        filled = imputer.fit_transform(frame)
        binned = {name: kernel.transform(frame) for name, kernel in kernels.items()}
    return {
        CODES: registry["Mean"].build().fit_transform(filled),
        ONE_HOT: encode_one_hot(filled),
        **{name: points.toarray() for name, points in binned.items()},
    }


def encode_one_hot(filled: pd.DataFrame) -> Any:
    """Scale numbers and ranks to [0, 1], and give every category a column.

    Parameters
    ----------
    filled : pandas.DataFrame of shape (n, d)
        Without gaps, but for columns that have nothing else.

    Returns
    -------
    ndarray of shape (n, p)
        Two rows that differ in a category are as far apart as the ends of a number.
    """
    nominal = [
        name
        for name in filled
        if not pd.api.types.is_numeric_dtype(filled[name])
        and not getattr(filled[name].dtype, "ordered", False)
    ]
    parts = []
    if len(nominal) < filled.shape[1]:
        parts.append(
            registry["Mean"].build().fit_transform(filled.drop(columns=nominal))
        )
    if nominal:
        encoder = OneHotEncoder(sparse_output=False)
        parts.append(encoder.fit_transform(filled[nominal].astype(str)) * np.sqrt(0.5))
    return np.hstack(parts)


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Give the mean over tables of the mean over seeds.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame of shape (n_fills, n_encodings)
        NaN where a fill has no such encoding, or not on all tables.
    """
    by_table = results.groupby(["method", "dataset"])[list(ENCODINGS)].mean()
    means = by_table.groupby("method").agg(lambda scores: scores.mean(skipna=False))
    means = means.loc[[name for name in FILLS if name in means.index]]
    means.index.name = "missing cells filled by"
    return means


def compare_codes(results: pd.DataFrame, codes: str = CODES) -> pd.DataFrame:
    """Give the NMI in the paper's bins less that in other codes, by table and fill.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.
    codes : {"codes", "one-hot"}, default="codes"

    Returns
    -------
    pandas.DataFrame of shape (n_tables, n_imputations)
    """
    by_table = results.groupby(["method", "dataset"])[list(ENCODINGS)].mean()
    gains = (by_table[FOUR] - by_table[codes]).unstack("method")
    return gains[list(IMPUTED)]


def compare_cascade(results: pd.DataFrame) -> pd.DataFrame:
    """Give the NMI of the paper's rule less that of each imputation, in its bins.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame of shape (n_tables, n_imputations)
    """
    four = results.groupby(["method", "dataset"])[FOUR].mean().unstack("method")
    return -four[list(IMPUTED)].sub(four["cascade"], axis=0)


def compare_auto(results: pd.DataFrame) -> pd.Series:
    """Give the NMI of this library's default less that of the mean or mode in its bins.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.Series of shape (n_tables,)
    """
    auto = results.groupby(["method", "dataset"])[AUTO].mean().unstack("method")
    return auto[INFORMATIVE] - auto[next(iter(IMPUTED))]


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show the mean NMI of every fill in every encoding."""
    means = summarise(results)
    n_tables, n_seeds = results["dataset"].nunique(), results["seed"].nunique()
    note = (
        f"Mean NMI over {n_tables} tables and {n_seeds} seeds, real classes, one "
        f"setting for all tables; of adult {MOST_ROWS:,} rows. Codes: categories as "
        "integers. 4 bins: the paper's. Auto bins: this library's. Prior only: the "
        "frequencies of the column. Cascade: the paper's rule. Pairwise: ours. Read a "
        "column downwards for what the fill gives, a row across for what the encoding "
        "gives. A dash: as a single value the prior is the mean or mode."
    )
    title = "Encoding apart from gaps" + ", quick" * request.quick
    marks = mark_best(means.stack().to_frame().T).iloc[0].unstack()
    marks = marks.reindex(index=means.index, columns=means.columns).fillna("")
    return Rendering((Table(title, write_numbers(means), marks, (note,)),))


EXPERIMENT = Experiment(
    "encoding",
    "Where the gain comes from: filling missing cells, or encoding rows",
    render,
    scores=(*ENCODINGS, "fit_seconds"),
    plan=plan,
    measure=measure,
    choices=(*TABLES, *FILLS),
    unit=("dataset",),
)
