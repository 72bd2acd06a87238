"""The findings at the top of the page, in sentences, and the columns to check.

The results are computed in other files; here they are put into words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._shared.wording import (
    capitalize,
    counted,
    join_names,
    write_share,
)
from .display_columns import DisplayColumn
from .typical_values import MIXED

_N_NAMED = 5  # clusters in a sentence
_N_COLUMNS = 3  # columns in a sentence
_MOSTLY = 0.5  # share of missing cells, or of distinct values, above which to check
_MANY = 20  # a column with fewer values is not checked for distinct or equal values
_NEARLY = 0.99  # share of one value above which to check


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

    Parameters
    ----------
    clusters : sequence of mapping, or None
        The cluster, name, size, share_text and values of each cluster.
    kind : str
        "cluster", or "part" if the rows vary gradually.
    far : sequence of mapping
        See `list_far_values`.
    surprising : mapping
        See `find_surprising_rows`.
    counts, missing : mapping
        See `count_missing_cells` and `describe_missing_cells`.
    names : sequence of str
        Names of the rows.

    Returns
    -------
    list of str
    """
    lines = [_write_clusters(clusters, kind)] if clusters else []
    if far:
        lines.append(f"{write_far_values(far, names)}.")
    other = "other " if far else ""
    checked = counted(surprising["n_cells"], f"{other}observed cell")
    if surprising["rows"]:
        which, row, cell = _choose_clearest(surprising["rows"])
        rows = counted(surprising["found"], f"{other}row")
        lines.append(
            f"In {rows} the values, taken together, are less likely than in 99 % of "
            f"rows sampled from the fitted model. The {which} is row {names[row]}: "
            f"{cell['feature']} {cell['text']}. Single unusual cells are listed by "
            "outliers --cells."
        )
    else:
        lines.append(
            f"{checked} compared with the rest of their row: {_write_apart(surprising)}"
            "no row is less likely than 99 % of rows sampled from the fitted model. A "
            "wrong value can be likely, and is then not found; the card of each column "
            "shows its extremes."
        )
    return [*lines, _write_missing(counts, missing)]


def _write_apart(surprising: Mapping[str, Any]) -> str:
    """Write which unusual values are not counted as surprising; "" if none."""
    apart = ["the numbers above"] if surprising["n_far"] else []
    if surprising["n_confirmed"]:
        apart.append("values that other cells of their row confirm")
    return f"apart from {join_names(apart)}, " if apart else ""


def _choose_clearest(
    rows: Sequence[Mapping[str, Any]],
) -> tuple[str, int, Mapping[str, Any]]:
    """Choose the first cell for which another value is expected, else the first cell.

    Returns
    -------
    str
        What the row is called: "clearest", or "most unusual".
    int
        Index of the row.
    mapping
        The cell.
    """
    for one in rows:
        for cell in one["cells"]:
            if cell["expected"]:
                return "clearest", one["row"], cell
    return "most unusual", rows[0]["row"], rows[0]["cells"][0]


def write_far_values(
    far: Sequence[Mapping[str, Any]], names: Sequence[str], most: int = _N_COLUMNS
) -> str:
    """Write the far values of `most` columns, and count the others'.

    `far` is from `list_far_values`.
    """
    places = [_write_far(one, names) for one in far[:most]] + _count_far(far[most:])
    return f"Far from all other numbers of their column: {'; '.join(places)}"


def _write_far(one: Mapping[str, Any], names: Sequence[str]) -> str:
    """List the far values of a column, with the names of their rows."""
    held = zip(one["values"], one["rows"], strict=True)
    places = [f"{value} in row {names[row]}" for value, row in held]
    if one["more"]:
        places.append(counted(one["more"], "more row" if places else "row"))
    return f"{one['name']} {join_names(places, len(places))}"


def _count_far(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write how many far values the other columns have; an empty list if none."""
    if not columns:
        return []
    n = sum(len(one["rows"]) + one["more"] for one in columns)
    names = join_names([one["name"] for one in columns], _N_COLUMNS)
    return [f"and {counted(n, 'more number')} in {names}"]


def _write_clusters(clusters: Sequence[Mapping[str, Any]], kind: str) -> str:
    """Write how many clusters there are, and the shares and names of the largest."""
    shown = []
    for one in clusters[:_N_NAMED]:
        mixed = one["name"] == MIXED
        typical = MIXED if mixed else f"typical: {one['name']}"
        shown.append(f"{one['share_text']} of the rows ({typical})")
    more = len(clusters) - len(shown)
    if more:
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
    kept = [one["name"] for one in missing["kept"]]
    if kept:
        line += (
            f" Missing cells in {join_names(kept, _N_COLUMNS)} count as a value of "
            "their own, because they are missing together more often than by chance."
        )
    return line


def find_alerts(columns: Sequence[DisplayColumn]) -> list[dict[str, str]]:
    """List the columns to check before the results are used, and what to check.

    Parameters
    ----------
    columns : sequence of DisplayColumn

    Returns
    -------
    list of dict
        name (of the column) and text.
    """
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
        elif column.far:
            text = "; ".join(column.far)
        else:
            continue
        alerts.append({"name": column.name, "text": text})
    return alerts


def _are_equal(column: DisplayColumn, other: DisplayColumn) -> bool:
    """Whether two columns have the same cells."""
    same_kind = column.kind == other.kind and column.labels == other.labels
    return same_kind and np.array_equal(column.values, other.values, equal_nan=True)
