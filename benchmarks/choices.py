"""The measurements behind decisions 0012, 0013, 0030 and 0033; printed as tables.

Run it with ``python benchmarks/choices.py``. It needs the project in ``paper``, whose
tables are downloaded once, or read from the folder ``PROXIMITY_KERNEL_DATA``. The
figures do not depend on the machine.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer

from proximity_kernel import (
    ProximityImputer,
    ProximityKernel,
    ProximityKMeans,
    ProximityOutliers,
)
from proximity_kernel._number_model import NumberModel
from proximity_kernel.datasets import load_penguins
from proximity_kernel_paper.datasets import load, simulate_missing

SEEDS = range(3)
RATE = 0.2


def count_clusters() -> pd.DataFrame:
    """How many clusters "auto" finds in tables of 1 to 6 groups, with holes."""
    out = []
    for groups in (1, 2, 3, 4, 5, 6):
        found = []
        for seed in range(5):
            table = simulate_missing(_make_groups(groups, seed), RATE, "mcar", seed)
            found.append(ProximityKMeans("auto", random_state=0).fit(table).n_clusters_)
        out.append({"groups": groups, "found": " ".join(map(str, found))})
    penguins = load_penguins().drop(columns="species")
    found = [
        ProximityKMeans("auto", random_state=seed).fit(penguins).n_clusters_
        for seed in range(5)
    ]
    out.append({"groups": "penguins, 3 species", "found": " ".join(map(str, found))})
    return pd.DataFrame(out)


def separate_groups() -> pd.DataFrame:
    """How many groups are found in ten tables of each kind; 1 is a gradient."""
    kinds = {
        "one factor": _make_factor,
        "a line": _make_line,
        "independent columns": _make_independent,
        "two groups": lambda rng: _make_near_groups(rng, 2),
        "three groups": lambda rng: _make_near_groups(rng, 3),
    }
    out = []
    for name, make in kinds.items():
        tables = [make(np.random.default_rng(seed)) for seed in range(10)]
        found = [ProximityKMeans(random_state=0).fit(t).n_clusters_ for t in tables]
        out.append({"table": name, "found": " ".join(map(str, found))})
    return pd.DataFrame(out)


def _make_factor(rng: np.random.Generator) -> NDArray[np.float64]:
    """Six columns of one Gaussian factor."""
    return 0.8 * rng.normal(size=(500, 1)) + 0.6 * rng.normal(size=(500, 6))


def _make_line(rng: np.random.Generator) -> NDArray[np.float64]:
    """Points along a line, with a little noise."""
    along = rng.random((500, 1)) * np.linspace(1, 2, 5)
    return along + 0.1 * rng.normal(size=(500, 5))


def _make_independent(rng: np.random.Generator) -> NDArray[np.float64]:
    """Six columns that have nothing to do with each other."""
    return np.c_[rng.normal(size=(500, 3)), rng.exponential(size=(500, 3))]


def _make_near_groups(rng: np.random.Generator, n_groups: int) -> NDArray[np.float64]:
    """Draw groups 2.5 standard deviations apart in four columns, 10 % missing."""
    groups = rng.integers(n_groups, size=500)
    centers = rng.permuted(np.tile(np.arange(n_groups), (4, 1)), axis=1)
    table = 2.5 * centers[:, groups].T + rng.normal(size=(500, 4))
    return np.where(rng.random(table.shape) < 0.1, np.nan, table)


def count_blobs() -> pd.DataFrame:
    """How many groups are found in scikit-learn's blobs, four tables of each kind."""
    out = []
    for n_features in (2, 3, 4, 6, 10):
        row: dict[str, object] = {"columns": n_features}
        for groups in (2, 3, 4, 5):
            tables = [
                make_blobs(400, n_features, centers=groups, random_state=seed)[0]
                for seed in range(4)
            ]
            found = [ProximityKMeans(random_state=0).fit(t).n_clusters_ for t in tables]
            row[f"{groups} groups"] = " ".join(map(str, found))
        out.append(row)
    return pd.DataFrame(out)


def compare_samples() -> pd.DataFrame:
    """How many groups are found in a table, and in ten samples of 90 % of its rows."""
    tables = {"penguins": load_penguins().drop(columns="species")}
    names = ("kidney", "cancer", "mushroom", "voting", "credit", "heart", "mammo")
    tables |= {name: load(name).frame for name in names}
    out = []
    for name, table in tables.items():
        groups = ProximityKMeans(random_state=0).fit(table).groups_
        counts = [
            ProximityKMeans(random_state=0)
            .fit(table.sample(frac=0.9, random_state=seed))
            .n_clusters_
            for seed in range(10)
        ]
        found = " ".join(map(str, counts))
        samples = ", ".join(f"{n} have {k}" for k, n in groups.samples.items())
        row = {"table": name, "found": groups.n_groups, "its own samples": samples}
        out.append(row | {"ten samples": found})
    return pd.DataFrame(out)


def _make_groups(n_groups: int, seed: int) -> pd.DataFrame:
    """Rows of groups apart in four numbers and two labels, 150 each."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), 150)
    centers = 6 * rng.permuted(np.tile(np.arange(n_groups), (4, 1)), axis=1)
    table = pd.DataFrame(centers[:, group].T + rng.normal(size=(len(group), 4)))
    table.columns = list("abcd")
    for name in "ef":
        own = rng.permutation(n_groups)[group]
        other = rng.integers(n_groups, size=len(group))
        label = np.where(rng.random(len(group)) < 0.1, other, own)
        table[name] = pd.Series(label).map(lambda k: f"v{k}")
    return table


def count_outliers() -> pd.DataFrame:
    """Count what "auto" calls outliers, without and with 1 % planted strange rows."""
    out = []
    for name, make in {
        "normal": lambda rng: rng.normal(size=(2000, 6)),
        "exponential": lambda rng: rng.exponential(size=(2000, 6)),
        "uniform": lambda rng: rng.random((2000, 6)),
        "three groups": lambda rng: (
            rng.normal(size=(2000, 6)) + 6 * rng.integers(3, size=(2000, 1))
        ),
    }.items():
        for holes in (0.0, RATE):
            rows = {"table": name, "missing": holes}
            called, caught = [], []
            for seed in SEEDS:
                rng = np.random.default_rng(seed)
                table = make(rng)
                clean = simulate_missing(table, holes, "mcar", seed)
                odd = ProximityOutliers().fit(clean)
                scores = odd.score_samples(clean)
                called.append(np.mean(scores < odd.offset_))
                table[:20] = table.mean(0) + 12 * table.std(0)
                table = simulate_missing(table, holes, "mcar", seed)
                odd = ProximityOutliers().fit(table)
                caught.append(np.mean(odd.predict(table[:20]) < 0))
            rows["called, none planted"] = np.mean(called)
            rows["planted that are caught"] = np.mean(caught)
            out.append(rows)
    return pd.DataFrame(out)


def measure_values() -> pd.DataFrame:
    """Error of filled numbers, in standard deviations of their column."""
    out = []
    for name in ("heart", "cancer", "credit", "messidor"):
        table = load(name).frame.dropna(axis=0)
        numbers = table.select_dtypes("number").astype(float)
        errors: dict[str, list[float]] = {}
        for seed in SEEDS:
            holed = simulate_missing(table, RATE, "mcar", seed)
            held = holed[numbers.columns].astype(float)
            spread = numbers.std().replace(0, 1)
            for label, filled in _fill(holed, numbers.columns, held, spread).items():
                gaps = held.isna().to_numpy()
                apart = ((filled - numbers) / spread).to_numpy()[gaps]
                errors.setdefault(label, []).append(float(np.sqrt(np.mean(apart**2))))
        out.append({"table": name} | {k: np.mean(v) for k, v in errors.items()})
    return pd.DataFrame(out)


def _fill(
    holed: pd.DataFrame, names: pd.Index, held: pd.DataFrame, spread: pd.Series
) -> dict[str, pd.DataFrame]:
    out = {"column means": held.fillna(held.mean())}
    scaled = KNNImputer(n_neighbors=5).fit_transform(held / spread)
    out["5 neighbours (numbers)"] = pd.DataFrame(scaled, held.index, names) * spread
    for label, n_bins in {"4 bins": 4, "defaults": None}.items():
        pk = ProximityKernel(n_bins).fit(holed)
        imputer = ProximityImputer(round_whole=False, kernel=FrozenEstimator(pk))
        out[label] = imputer.fit_transform(holed)[names].astype(float)
        for kind, other in _without_regression(pk, imputer.number_model_).items():
            imputer.number_model_ = other
            out[f"{label}, {kind}"] = imputer.transform(holed)[names].astype(float)
    return out


def _without_regression(
    pk: ProximityKernel, learned: NumberModel
) -> dict[str, NumberModel]:
    """Decode bins alone, by their means or by their centers."""
    means = replace(
        learned,
        sources=np.full_like(learned.sources, -1),
        labels=np.full_like(learned.labels, -1),
        left=np.ones_like(learned.left),
    )
    centers = np.zeros_like(learned.means)
    for s, j in enumerate(learned.features.tolist()):
        own = pk.bin_centers_[j]
        centers[s, : len(own)] = own
    return {"bin means": means, "centers": replace(means, means=centers)}


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for measure in (
            count_clusters,
            separate_groups,
            count_blobs,
            compare_samples,
            count_outliers,
            measure_values,
        ):
            print(f"\n{measure.__doc__}\n")
            print(measure().round(3).to_string(index=False))
