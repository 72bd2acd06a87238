"""The tour of the Palmer penguins that ``proximity-kernel demo`` prints.

Each function takes results and returns a table that rich prints.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from .. import ProximityKernel, ProximityKMeans, explain
from ..datasets import load_penguins
from .explain_command import draw_explanation

_ROW = 47  # a penguin whose sex was not recorded
_LABEL = "species"  # not used to fit, only compared with the clusters


def print_tour(console: Console, report: str | None = None) -> None:
    """Fit the penguins, cluster them, and explain the nearest penguin of one.

    Parameters
    ----------
    console : Console
    report : str, optional
        Path of a report to write.
    """
    penguins = load_penguins()
    species = penguins.pop(_LABEL)
    found = ProximityKMeans(3, kernel=ProximityKernel(n_bins=4), random_state=0)
    pk = found.fit(penguins).kernel_

    n, d = penguins.shape
    n_missing = int(penguins.isna().to_numpy().sum())
    console.print(
        f"[bold]{n} penguins, {d} columns, {n_missing} cells missing.[/bold] "
        "The species is not used.\n"
    )
    console.print(make_column_table(pk, penguins), "")
    names = [str(name) for name in penguins.columns]
    console.print(make_missing_table(pk.provenance(penguins), names), "")

    console.print(make_cluster_table(found.labels_, penguins, species))
    console.print(
        "ProximityKMeans(3, kernel=ProximityKernel(n_bins=4), random_state=0): one "
        "cluster is a species, Gentoo. The others are the females and the males of the "
        "two other species.\n"
    )

    nearest = np.argsort(-pk.kernel(penguins.iloc[[_ROW]], penguins)[0], kind="stable")
    other = int(nearest[nearest != _ROW][0])
    why = explain(pk, penguins.iloc[[_ROW]], penguins.iloc[[other]])
    console.print(f"The nearest to penguin {_ROW} is penguin {other}:")
    console.print(*draw_explanation(why, f"penguin {_ROW}", f"penguin {other}"), "")
    console.print(
        "With your own table: proximity-kernel cluster FILE.csv --report page.html\n"
        "In Python: from proximity_kernel import ProximityKMeans"
    )
    if report is not None:
        from ..report import write_report

        write_report(
            report,
            penguins,
            clusters=found,
            kernel=pk,
            ids=[str(i) for i in range(1, len(penguins) + 1)],
            title="Palmer penguins",
            assumptions=("left out: 'species'",),
        )


def make_column_table(pk: ProximityKernel, frame: Any) -> Table:
    """List the columns with their kinds, bins and missing cells."""
    table = Table(
        "column", "kind", "missing", "bins", title="The columns and their bins"
    )
    for j, name in enumerate(frame.columns):
        centers, categories = pk.bin_centers_[j], pk.categories_[j]
        kind, bins = "categorical", ", ".join(() if categories is None else categories)
        if centers is not None:
            kind, bins = "numeric", "near " + ", ".join(f"{c:.4g}" for c in centers)
        table.add_row(name, kind, str(int(frame[name].isna().sum())), bins)
    return table


def make_missing_table(provenance: NDArray[np.void], names: list[str]) -> Table:
    """Show how well the missing cells of each column are known, and from what."""
    table = Table(
        "column", "missing", "probability", "estimated mostly from",
        title="The missing cells: probability of the likeliest bin",
    )  # fmt: skip
    for j in np.unique(provenance["feature"]).tolist():
        cells = provenance[provenance["feature"] == j]
        columns = np.maximum(cells["columns"], 0).ravel()  # -1 moved nothing
        moved = np.bincount(columns, cells["moved"].ravel(), len(names))
        most = [names[i] for i in np.argsort(-moved, kind="stable")[:2] if moved[i]]
        certainty = f"{cells['certainty'].mean():.0%}"
        table.add_row(names[j], str(len(cells)), certainty, ", ".join(most))
    return table


def make_cluster_table(clusters: NDArray[Any], frame: Any, species: Any) -> Table:
    """Compare the clusters with the sex, which was used, and the species."""
    sexes, kinds = frame["sex"].fillna("sex ?"), sorted(species.unique())
    table = Table(
        "cluster", "female", "male", "sex ?", *kinds,
        title="Three clusters, and the sex and species of their rows",
    )  # fmt: skip
    for cluster in np.unique(clusters):
        inside = clusters == cluster
        counts = [
            int((sexes[inside] == sex).sum()) for sex in ("female", "male", "sex ?")
        ]
        counts += [int((species[inside] == kind).sum()) for kind in kinds]
        table.add_row(str(cluster), *map(str, counts))
    return table
