"""The paper's table of datasets: what the files hold beside what it prints.

A trial counts one table. There is no chance in it; it is a trial so that the counts lie
with the other results, and can be shown where the files are not.
"""

from __future__ import annotations

from functools import lru_cache
from math import isnan
from typing import Any

import pandas as pd

from ..datasets import describe, list_datasets
from ._rendering import Rendering, Table
from ._trials import Experiment, Request, Trial

FIGURES = ("rows", "features", "missing_percent", "classes")
SCORES = (*FIGURES, *(f"paper_{name}" for name in FIGURES))
TABLES = tuple(list_datasets())


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001 (one round)
    """List the tables."""
    return [Trial(name, "count", 0) for name in request.choose(TABLES)]


@lru_cache(maxsize=1)
def _describe(data_home: str | None) -> pd.DataFrame:
    return describe(data_home)


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Count a table."""
    row = _describe(data_home).loc[trial.dataset].astype(object)
    known = row[list(SCORES)].dropna()
    return {"note": row["note"], **{name: float(known[name]) for name in known.index}}


def render(results: pd.DataFrame, request: Request) -> Rendering:  # noqa: ARG001
    """Show all counts beside the paper's."""
    rows = results.set_index("dataset").sort_index()
    text = {
        name.replace("_percent", " %").replace("_", " "): [
            _write(value, name) for value in rows[name]
        ]
        for name in SCORES
    }
    frame = pd.DataFrame(text, index=rows.index, dtype=object)
    frame["differs"] = [_compare(row) for _, row in rows.iterrows()]
    frame.index.name = "table"
    told = rows["note"].where(rows["error"] == "", rows["error"])
    notes = tuple(f"{name}: {note}" for name, note in told.items() if note)
    return Rendering((Table("Tables, counted from the files", frame, notes=notes),))


def _compare(row: pd.Series) -> str:
    """Name the figures of the paper that are not ours, to the digits that it prints."""
    differ = [
        name.partition("_")[0]
        for name in FIGURES
        if row[[name, f"paper_{name}"]].notna().all()
        and round(row[name], 2) != row[f"paper_{name}"]
    ]
    return ", ".join(differ)


def _write(value: float, name: str) -> str:
    if isnan(value):  # the paper prints nothing
        return ""
    return f"{value:.2f}" if name.endswith("percent") else f"{value:,.0f}"


EXPERIMENT = Experiment(
    "tables",
    "The tables, counted from their files",
    render,
    scores=SCORES,
    plan=plan,
    measure=measure,
    choices=TABLES,
)
