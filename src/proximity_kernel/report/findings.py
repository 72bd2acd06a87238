"""The findings at the top of the page, in sentences; what to check; names of clusters.

Clusters are named by their typical values, with the shares that a reader can count. In
`ProximityKMeans.profiles_`, missing cells count by their estimates. A value is typical
if it is clearly more common among the known cells of the cluster than among those of
all rows. If hardly any cell of a column is known in a cluster, the column has no
typical value there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._coded import CodedTable
from .._model import Model
from .._shared.wording import capitalize, counted, join_names, write_share
from ..cluster import ProximityKMeans
from .display_columns import DisplayColumn

_MIXED = "mixed"  # the name of a cluster without a typical value
_N_TRAITS = 2  # values in the name of a cluster
_MIN_EXCESS = 0.05  # by which the share of a typical value exceeds that in all rows
_MIN_KNOWN = 0.1  # share of the cells of a column in a cluster that must be known
_N_NAMED = 5  # clusters in a sentence
_N_COLUMNS = 3  # columns in a sentence
_MOSTLY = 0.5  # share of missing cells, or of distinct values, above which to check
_MANY = 20  # a column with fewer values is not checked for distinct or equal values
_NEARLY = 0.99  # share of one value above which to check


# ---------------------------------------------------------------------------- clusters


def count_cells(
    coded: CodedTable, labels: NDArray[Any], n_clusters: int
) -> NDArray[np.int64]:
    """Count the rows of each cluster, and its known cells in each bin.

    Counts of batches add up. Their shape is (n_clusters, 1 + total bins).
    """
    parts = [np.bincount(labels, minlength=n_clusters)[:, None]]
    for j, n_bins in enumerate(coded.model.n_bins.tolist()):
        codes = coded.bins[coded.index, j].astype(np.int64)
        known = codes < n_bins
        cells = labels[known] * n_bins + codes[known]
        counts = np.bincount(cells, minlength=n_clusters * n_bins)
        parts.append(counts.reshape(n_clusters, n_bins))
    return np.hstack(parts)


def describe_clusters(
    clusters: ProximityKMeans,
    counts: NDArray[np.int64],
    columns: Mapping[str, DisplayColumn] | None = None,
) -> list[dict[str, Any]]:
    """Name each cluster, and list its size and its typical values.

    `counts` are from `count_cells`; `columns`, by feature, write the names and the
    values. The keys are cluster, name, size, share_text, and values, in the order of
    the profile: feature, value, share and share_overall (of the known cells), and cells
    ("known cells", or "cells" where missing cells have a bin of their own).
    """
    sizes = counts[:, 0].tolist()
    values: list[list[dict[str, Any]]] = [[] for _ in sizes]
    for c, one in _list_typical_values(clusters, counts[:, 1:], sizes):
        if columns is not None:
            column = columns[one["feature"]]
            one |= {"feature": column.name, "value": column.write_bin(one["value"])}
        values[c].append(one)
    return [
        {
            "cluster": c,
            "name": _name_cluster(own) or (_MIXED if size else "no rows"),
            "size": size,
            "share_text": write_share(size / max(sum(sizes), 1)),
            "values": own,
        }
        for c, (own, size) in enumerate(zip(values, sizes, strict=True))
    ]


def _name_cluster(typical: Sequence[Mapping[str, Any]]) -> str:
    """Name a cluster by the first two columns with a typical value; "" if none.

    >>> _name_cluster([{"feature": "size", "value": "up to 4.85"}])
    'size up to 4.85'
    """
    traits: dict[str, str] = {}
    for one in typical:
        if len(traits) < _N_TRAITS:
            traits.setdefault(one["feature"], one["value"])
    return ", ".join(f"{name} {value}" for name, value in traits.items())


def _list_typical_values(
    clusters: ProximityKMeans, counts: NDArray[np.int64], sizes: Sequence[int]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Iterate over the typical values, each after its cluster."""
    model = clusters.kernel_.model_
    places = {name: j for j, name in enumerate(model.names)}
    ends = np.cumsum(model.n_bins)
    ranges: dict[int, dict[str, slice]] = {}
    for one in clusters.profiles_:
        c, j = one["cluster"], places[one["feature"]]
        if j not in ranges:
            ranges[j] = _name_ranges(model, j)
        own = counts[:, ends[j] - model.n_bins[j] : ends[j]]
        in_value, known = own[:, ranges[j][one["value"]]].sum(axis=1), own.sum(axis=1)
        if known[c] == 0 or known[c] < _MIN_KNOWN * sizes[c]:
            continue
        share, overall = in_value[c] / known[c], in_value.sum() / known.sum()
        if share > overall + _MIN_EXCESS:
            found = {name: one[name] for name in ("feature", "value")}
            found |= {"share": float(share), "share_overall": float(overall)}
            found["cells"] = "cells" if model.informative[j] else "known cells"
            yield c, found


def _name_ranges(model: Model, j: int) -> dict[str, slice]:
    """Map the name of each bin of a column, and of adjacent bins, to these bins."""
    names = model.bin_names[j]
    return {
        names.name(first, last): slice(first, last + 1)
        for first in range(int(model.n_bins[j]))
        for last in range(first, max(first + 1, names.n_ordered))
    }


# ---------------------------------------------------------------------------- findings


def write_findings(
    clusters: Sequence[Mapping[str, Any]] | None,
    kind: str,
    far: Sequence[Mapping[str, Any]],
    surprising: Mapping[str, Any],
    counts: Mapping[str, Any],
    missing: Mapping[str, Any],
    names: Sequence[str],
) -> list[str]:
    """Write the findings: clusters, far and surprising values, missing cells.

    The arguments are the results of `describe_clusters`, `name_kind`,
    `list_far_values`, `find_surprising_rows`, `count_missing_cells` and
    `describe_missing_cells`, and the names of the rows.
    """
    lines = [_write_clusters(clusters, kind)] if clusters else []
    if far:
        lines.append(f"{write_far_values(far, names)}.")
    other = "other " if far else ""
    if surprising["rows"]:
        which, row, cell = _choose_clearest(surprising["rows"])
        rows = counted(surprising["found"], f"{other}row")
        lines.append(
            f"In {rows} the values, taken together, are {surprising['than']}. The "
            f"{which} is row {names[row]}: {cell['feature']} {cell['text']}."
        )
    else:
        apart = ["the numbers above"] if surprising["n_far"] else []
        if surprising["n_confirmed"]:
            apart.append("values that other cells of their row confirm")
        but = f"apart from {join_names(apart)}, " if apart else ""
        cells = counted(surprising["n_cells"], f"{other}observed cell")
        lines.append(
            f"{cells} compared with the rest of their row: {but}"
            f"in no row are the values, taken together, {surprising['than']}. A wrong "
            "value can be likely, and is then not found; the card of each column shows "
            "its extremes."
        )
    return [*lines, _write_missing(counts, missing)]


def _choose_clearest(
    rows: Sequence[Mapping[str, Any]],
) -> tuple[str, int, Mapping[str, Any]]:
    """Choose a cell for which another value is expected, else the first cell.

    The first cells of all rows come first. Also returns what its row is called, and the
    index of the row.
    """
    cells = ((k, o["row"], cell) for o in rows for k, cell in enumerate(o["cells"]))
    found = [one for one in cells if one[2]["expected"]]
    if found:
        return "clearest", *min(found, key=lambda one: one[0])[1:]
    return "most unusual", rows[0]["row"], rows[0]["cells"][0]


def write_far_values(
    far: Sequence[Mapping[str, Any]], names: Sequence[str], most: int = _N_COLUMNS
) -> str:
    """Write the far values of `most` columns, and count the others'.

    `far` is from `list_far_values`.
    """
    places = [_write_far(one, names) for one in far[:most]]
    if others := far[most:]:
        n = sum(len(one["rows"]) + one["more"] for one in others)
        columns = join_names([one["name"] for one in others], _N_COLUMNS)
        places.append(f"and {counted(n, 'more number')} in {columns}")
    return f"Far from all other numbers of their column: {'; '.join(places)}"


def _write_far(one: Mapping[str, Any], names: Sequence[str]) -> str:
    """List the far values of a column, with the names of their rows."""
    held = zip(one["values"], one["rows"], strict=True)
    places = [f"{value} in row {names[row]}" for value, row in held]
    if one["more"]:
        places.append(counted(one["more"], "more row" if places else "row"))
    return f"{one['name']} {join_names(places, len(places))}"


def _write_clusters(clusters: Sequence[Mapping[str, Any]], kind: str) -> str:
    """Write how many clusters there are, and the shares and names of the largest."""
    shown = []
    for one in clusters[:_N_NAMED]:
        typical = f"typical: {one['name']}" if one["values"] else one["name"]
        shown.append(f"{one['share_text']} of the rows ({typical})")
    if more := len(clusters) - len(shown):
        shown.append(f"and {counted(more, f'smaller {kind}')}")
    start = "Cut into" if kind == "part" else "The rows form"
    return f"{start} {counted(len(clusters), kind)}: {'; '.join(shown)}."


def _write_missing(counts: Mapping[str, Any], missing: Mapping[str, Any]) -> str:
    """Write how many cells are missing, where most are, and which are informative."""
    if not counts["cells"]:
        return "No cell is missing."
    most = [f"{name} ({write_share(part)})" for name, part in counts["most"]]
    where = "the most" if len(most) < counts["columns"] else "all"
    line = (
        f"{capitalize(write_share(counts['share']))} of the cells are missing, {where} "
        f"in {join_names(most)}."
    )
    if kept := [one["name"] for one in missing["kept"]]:
        names = join_names(kept, _N_COLUMNS)
        line += f" Missing cells in {names} count as a value of their own."
    return line


def find_alerts(columns: Sequence[DisplayColumn]) -> list[dict[str, str]]:
    """List the columns to check before the results are used: their name, and a text."""
    alerts = []
    for j, column in enumerate(columns):
        known = column.known
        distinct, counts = np.unique(known, return_counts=True)
        if not len(known):
            text = "no value is observed; the column is left out"
        elif len(distinct) == 1:
            missing = write_share(float(column.missing.mean()))
            rest = f"the other {missing} of the cells are missing"
            rest = rest if column.missing.any() else "all rows agree here"
            text = f"one value only, {column.write(known[0])}: {rest}"
        elif any(_are_equal(column, other) for other in columns[:j]):
            text = "the same cells as an earlier column, so that they count twice"
        elif column.missing.mean() > _MOSTLY:
            text = f"{write_share(float(column.missing.mean()))} of the cells missing"
        elif column.labels and len(distinct) > max(_MANY, _MOSTLY * len(known)):
            text = f"{len(distinct):,} different values in {counted(len(known), 'row')}"
        elif len(known) > _MANY and counts.max() > _NEARLY * len(known):
            common = column.write(distinct[counts.argmax()])
            text = f"{write_share(counts.max() / len(known))} are {common}"
        else:
            continue
        alerts.append({"name": column.name, "text": text})
    return alerts


def _are_equal(column: DisplayColumn, other: DisplayColumn) -> bool:
    """Whether two columns have the same cells."""
    same_kind = column.kind == other.kind and column.labels == other.labels
    return same_kind and np.array_equal(column.values, other.values, equal_nan=True)
