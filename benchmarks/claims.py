"""The figures of the README's table, on nine real tables with missing cells.

::

    python benchmarks/claims.py [--output benchmarks/claims.csv] [TABLE ...]

fill
    20 % of the observed cells are hidden and filled: the error of numbers, in standard
    deviations of their column, and the share of labels that are wrong. Beside a forest
    for each column (ExtraTrees) and KNNImputer, which fills numbers only.
claimed, right
    The mean probability of the filled labels, and the share of them that is right.
wrong
    In 2 % of the rows one number is multiplied by ten: the chance that such a row
    scores higher than another (area under the ROC curve). Beside the local outlier
    factor and an isolation forest on filled, scaled, one-hot rows.
clusters
    Agreement of clusters with known classes that are not used (adjusted Rand index),
    with the number of classes given. Beside k-means on filled, scaled, one-hot rows.

Every line of the output is the mean of a method over the tables, with the number of
tables where it is the best and the seconds for all of them. Run it twice: the first run
compiles loops, and its seconds are of that. Needs the project in `paper/`, which has
the tables.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, IsolationForest
from sklearn.impute import KNNImputer
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor

from proximity_kernel import ProximityImputer, ProximityKMeans, ProximityOutliers
from proximity_kernel_paper.datasets import load

TABLES = [
    "adult",
    "cancer",
    "credit",
    "heart",
    "hepatitis",
    "horse",
    "kidney",
    "mammo",
    "messidor",
]
OURS = "proximity-kernel"
_MOST_ROWS = 1500
_SEEDS = range(3)


def read_plain(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Read a table with numbers as floats and all else as text, and its classes."""
    data = load(name)
    some = np.random.default_rng(0).permutation(len(data.frame))[:_MOST_ROWS]
    out = data.frame.iloc[some].reset_index(drop=True)
    out = out.loc[:, out.nunique() > 1]
    for column in out:
        own = out[column]
        if getattr(own.dtype, "ordered", False):
            own = own.cat.codes.where(own.notna())
        if pd.api.types.is_numeric_dtype(own):
            out[column] = own.astype(float)
        else:
            out[column] = own.astype(object).where(own.notna(), None)
    return out, np.asarray(data.target)[some]


def take_numbers(table: pd.DataFrame) -> pd.DataFrame:
    return table.select_dtypes("number")


def encode(table: pd.DataFrame) -> pd.DataFrame:
    """Fill with medians, scale and encode: the recipe that needs no library."""
    numbers = take_numbers(table)
    scaled = (numbers - numbers.mean()) / numbers.std().replace(0, 1)
    words = table.drop(columns=numbers.columns).astype(object)
    words = words.fillna(words.mode().iloc[0]) if words.size else words
    dummies = pd.get_dummies(words, dtype=float) if words.size else words
    return pd.concat([scaled.fillna(scaled.median()), dummies], axis=1)


def fill_by_forests(holed: pd.DataFrame) -> pd.DataFrame:
    """Fill each column by a forest on the others, filled with medians or codes."""
    codes = holed.apply(
        lambda own: own if own.dtype == float else pd.factorize(own)[0] + 0.0
    )
    codes, out = codes.fillna(codes.median()), holed.copy()
    for column, own in holed.items():
        gap = own.isna().to_numpy()
        if gap.any() and not gap.all():
            kind = ExtraTreesRegressor if own.dtype == float else ExtraTreesClassifier
            forest = kind(60, min_samples_leaf=3, random_state=0, n_jobs=1)
            others = codes.drop(columns=column).to_numpy()
            forest.fit(others[~gap], own[~gap])
            out.loc[gap, column] = forest.predict(others[gap])
    return out


def fill_by_neighbors(holed: pd.DataFrame) -> pd.DataFrame:
    numbers, out = take_numbers(holed), holed.copy()
    middle, width = numbers.mean(), numbers.std().replace(0, 1)
    filled = KNNImputer().fit_transform((numbers - middle) / width)
    out[numbers.columns] = filled * width.to_numpy() + middle.to_numpy()
    return out


FILLERS = {
    OURS: lambda holed: ProximityImputer(random_state=0).fit_transform(holed),
    "forest for each column": fill_by_forests,
    "KNNImputer": fill_by_neighbors,
}


def measure_filling(whole: pd.DataFrame, seed: int) -> Iterator[dict[str, Any]]:
    """Hide cells, fill them, and compare; one figure for numbers, one for labels."""
    rng = np.random.default_rng(seed)
    hidden = pd.DataFrame(rng.random(whole.shape) < 0.2, columns=whole.columns)
    hidden &= whole.notna()
    holed = whole.mask(hidden).astype(whole.dtypes)
    for method, fill in FILLERS.items():
        start = time.perf_counter()
        filled = fill(holed)
        seconds = time.perf_counter() - start
        off, wrong = [], []
        for column, own in whole.items():
            at = hidden[column]
            if own.dtype == float:
                far = (filled[column] - own)[at] / own.std()
                off.append(float(np.sqrt(np.mean(far**2))))
            elif method != "KNNImputer":
                wrong.append(float(np.mean(filled[column][at] != own[at])))
        for figure, errors in (("fill, numbers", off), ("fill, labels", wrong)):
            if errors:
                value = {"figure": figure, "value": np.nanmean(errors)}
                yield {**value, "method": method, "seconds": seconds}


def measure_claims(whole: pd.DataFrame, seed: int) -> Iterator[dict[str, Any]]:
    """Compare the probabilities of filled labels with the share that is right."""
    rng = np.random.default_rng(seed)
    hidden = (rng.random(whole.shape) < 0.2) & whole.notna().to_numpy()
    holed = whole.mask(hidden).astype(whole.dtypes)
    imputer = ProximityImputer(random_state=0).fit(holed)
    filled, doubt = imputer.transform(holed), imputer.uncertainty(holed)
    claimed, right = [], []
    for j, (column, own) in enumerate(whole.items()):
        if own.dtype != float:
            at = hidden[:, j]
            claimed += (1 - doubt[column][at].astype(float)).tolist()
            right += (filled[column] == own)[at].tolist()
    if claimed:
        for figure, found in (("claimed", claimed), ("right", right)):
            value = float(np.mean(found))
            yield {"figure": figure, "method": OURS, "value": value, "seconds": 0.0}


def measure_wrong_rows(whole: pd.DataFrame, seed: int) -> Iterator[dict[str, Any]]:
    """Multiply numbers of some rows by ten, and rank the rows."""
    rng = np.random.default_rng(seed)
    numbers = [name for name, own in take_numbers(whole).items() if own.nunique() > 8]
    if not numbers:
        return
    table = whole.copy()
    spoiled = rng.choice(len(table), max(3, len(table) // 50), replace=False)
    for i in spoiled:
        column = rng.choice(numbers)
        value = table.at[i, column]
        usual = whole[column].median()
        table.at[i, column] = 10 * (value if value and value == value else usual)
    planted, rows = np.isin(np.arange(len(table)), spoiled), encode(table)
    for method, score in {
        OURS: lambda: ProximityOutliers().fit(table).score_samples(table),
        "local outlier factor": lambda: (
            LocalOutlierFactor().fit(rows).negative_outlier_factor_
        ),
        "isolation forest": lambda: (
            IsolationForest(random_state=seed).fit(rows).score_samples(rows)
        ),
    }.items():
        start = time.perf_counter()
        area = roc_auc_score(planted, -score())
        seconds = time.perf_counter() - start
        yield {"figure": "wrong", "method": method, "value": area, "seconds": seconds}


def measure_clusters(
    whole: pd.DataFrame, classes: np.ndarray, seed: int
) -> Iterator[dict[str, Any]]:
    """Cluster into as many groups as there are classes."""
    n_classes, rows = len(np.unique(classes)), encode(whole)
    for method, find in {
        OURS: lambda: ProximityKMeans(n_classes, random_state=seed).fit_predict(whole),
        "k-means after filling": lambda: KMeans(
            n_classes, n_init=10, random_state=seed
        ).fit_predict(rows),
    }.items():
        start = time.perf_counter()
        found = adjusted_rand_score(classes, find())
        seconds = time.perf_counter() - start
        row = {"figure": "clusters", "method": method, "value": found}
        yield {**row, "seconds": seconds}


def measure(names: list[str]) -> pd.DataFrame:
    """Measure everything, and take means over the draws and then over the tables."""
    rows = []
    small = pd.DataFrame({"a": [1.0, 2.0, None] * 30, "b": ["x", None, "y"] * 30})
    FILLERS[OURS](small)  # compile first
    ProximityOutliers().fit(small).score_samples(small)
    ProximityKMeans(2).fit_predict(small)
    for name in names:
        whole, classes = read_plain(name)
        for seed in _SEEDS:
            found = [
                *measure_filling(whole, seed),
                *measure_claims(whole, seed),
                *measure_wrong_rows(whole, seed),
                *measure_clusters(whole, classes, seed),
            ]
            rows += [{"table": name, **one} for one in found]
        print(f"{name} done", flush=True)
    every = pd.DataFrame(rows)
    by_table = every.groupby(["figure", "method", "table"], sort=False)
    of_tables = by_table[["value", "seconds"]].mean().reset_index()
    better = of_tables["value"].where(
        ~of_tables["figure"].str.startswith("fill"), -of_tables["value"]
    )
    of_best = better.groupby([of_tables["figure"], of_tables["table"]])
    of_tables["best"] = better == of_best.transform("max")
    grouped = of_tables.groupby(["figure", "method"], sort=False)
    out = grouped.agg(
        tables=("table", "size"), best=("best", "sum"), value=("value", "mean"),
        seconds=("seconds", "sum"),
    )  # fmt: skip
    return out.round({"value": 4, "seconds": 2}).reset_index()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=TABLES)
    here = Path(__file__).parent / "claims.csv"
    parser.add_argument("--output", type=Path, default=here)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = measure(options.tables)
    print(found.to_string(index=False))
    found.to_csv(options.output, index=False)
