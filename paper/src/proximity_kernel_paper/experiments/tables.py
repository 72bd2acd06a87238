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
KINDS = ("numeric", "ordinal", "nominal")
PAPER_KINDS = ("paper_numeric", "paper_categorical")
SCORES = (*FIGURES, *(f"paper_{name}" for name in FIGURES), *KINDS, *PAPER_KINDS)
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
    text = {name: [_write(row, name) for _, row in rows.iterrows()] for name in FIGURES}
    frame = pd.DataFrame(text, index=rows.index, dtype=object)
    kinds = frame.columns.get_loc("features") + 1
    frame.insert(kinds, "kinds", [_write_kinds(row) for _, row in rows.iterrows()])
    frame = frame.rename(columns={"missing_percent": "missing %"})
    frame.index.name = "table"
    told = rows["note"].where(rows["error"] == "", rows["error"])
    reading = (
        "Counted from the files; in brackets what the paper prints where it differs. "
        "Kinds: numeric + ordinal + nominal; the paper's: numeric + categorical."
    )
    printed = told[rows["paper_rows"].notna() & (told != "")]
    notes = (reading, *(f"{name}: {note}" for name, note in printed.items()))
    return Rendering((Table("Tables", frame, notes=notes),))


def _write(row: pd.Series, name: str) -> str:
    """Write a figure, and the paper's if it is another."""
    form = "{:.2f}" if name.endswith("percent") else "{:,.0f}"
    ours, paper = form.format(row[name]), row[f"paper_{name}"]
    same = isnan(paper) or form.format(paper) == ours
    return ours if same else f"{ours} ({form.format(paper)})"


def _write_kinds(row: pd.Series) -> str:
    ours = " + ".join(f"{row[name]:.0f}" for name in KINDS)
    if isnan(row[PAPER_KINDS[0]]):
        return ours
    return f"{ours} ({' + '.join(f'{row[name]:.0f}' for name in PAPER_KINDS)})"


EXPERIMENT = Experiment(
    "tables",
    "The tables, counted from their files",
    render,
    scores=SCORES,
    plan=plan,
    measure=measure,
    choices=TABLES,
)
