"""``proximity-kernel demo``: cluster the penguins with 20 % of the cells hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from .. import ProximityKMeans, explain
from .._shared.wording import write_share
from ..datasets import load_penguins
from ..kernel import code_table
from ..report import TableReport
from ..report.findings import count_cells, describe_clusters
from .program import Invocation
from .results import draw_grid

_HIDDEN = 0.2
_SEED = 0
_NOT_MEASURED = ["sex", "year"]  # they would split each species
_N_SHOWN = 3  # bins of an estimate that are printed


def run(invocation: Invocation) -> None:
    """Print how well clusters of incomplete rows match the species; write --report."""
    whole = load_penguins().drop(columns=_NOT_MEASURED)
    species = whole.pop("species")
    hidden = np.random.default_rng(_SEED).random(whole.shape) < _HIDDEN
    penguins = whole.mask(hidden)
    km = ProximityKMeans(3, random_state=_SEED).fit(penguins)
    out = invocation.console(out=True)
    n_missing = int(penguins.isna().to_numpy().sum())
    out.print(
        f"[bold]{len(penguins)} penguins: their island and four measurements. "
        f"{n_missing} of {penguins.size:,} cells are missing.[/bold]\n\n"
        "Three clusters, as many as there are species (the species is not used):\n"
    )
    out.print(_compare_clusters(km, penguins, species), "")
    filled = _cluster_filled(penguins)
    out.print(
        f"{write_share(_find_purity(km.labels_, species))} of the penguins are in the "
        "cluster of their species. If the missing cells are filled first (median, most "
        "common value; then scikit-learn's KMeans), the share is "
        f"{write_share(_find_purity(filled, species))}.\n"
    )
    out.print(_describe_estimate(km.kernel_, penguins, whole))
    out.print(
        "\nWith your own table:\n"
        "  proximity-kernel look FILE.csv\n"
        "  proximity-kernel cluster FILE.csv --report page.html"
    )
    report = invocation.options.report
    if report is not None:
        page = TableReport(penguins, clusters=km, title="Palmer penguins")
        page.write_html(report)
        invocation.note(f"report: {report}")


def _compare_clusters(km: Any, penguins: Any, species: Any) -> Any:
    """Make a table with the name of each cluster and its number of rows per species."""
    table = pd.crosstab(km.labels_, species)
    coded = code_table(km.kernel_, penguins)
    found = describe_clusters(km, count_cells(coded, km.labels_, km.n_clusters_))
    rows = [[found[c]["name"], *map(str, row)] for c, row in table.iterrows()]
    return draw_grid(["cluster", *table], rows, range(1, 1 + table.shape[1]))


def _cluster_filled(penguins: Any) -> Any:
    """Cluster the penguins with scikit-learn alone: impute, scale, encode, k-means."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    is_number = make_column_selector(dtype_include="number")
    is_word = make_column_selector(dtype_exclude="number")
    columns = make_column_transformer((numbers, is_number), (words, is_word))
    return make_pipeline(columns, KMeans(3, random_state=_SEED)).fit_predict(penguins)


def _find_purity(clusters: Any, species: Any) -> float:
    """Compute the share of rows whose species is the most frequent in their cluster."""
    return float(pd.crosstab(clusters, species).max(axis=1).sum() / len(species))


def _describe_estimate(kernel: Any, penguins: Any, whole: Any) -> str:
    """Describe the estimate of one hidden body mass, and give the true value."""
    name = "body_mass_g"
    hidden = penguins[name].isna() & (
        penguins.notna().sum(axis=1) == whole.shape[1] - 1
    )
    row = int(np.flatnonzero(hidden & whole[name].notna())[0])
    one = penguins.iloc[[row]]
    cell = explain(kernel, one, one).features[list(penguins).index(name)].a
    likely = [
        f"{bin_} ({write_share(share)})" for bin_, share in cell.assumed[:_N_SHOWN]
    ]
    known = ", ".join(f"{k} {v}" for k, v in one.iloc[0].drop(name).items())
    return (
        f"Penguin {row + 1} ({known}): its {name} is hidden. The estimate is a "
        f"distribution: {', '.join(likely)}. The truth is {whole[name][row]:g}."
    )
