"""The paper's table of datasets: what the files hold beside what it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..datasets import describe
from ._rendering import Rendering, Table
from ._trials import Experiment, Request

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = ("rows", "features", "missing_percent", "classes")


def render(results: pd.DataFrame, request: Request) -> Rendering:  # noqa: ARG001 (no trials)
    """Count all tables beside the paper's figures."""
    counts = describe(request.data_home)
    shown = counts[[*_SHOWN, *(f"paper_{name}" for name in _SHOWN), "differs"]]
    shown = shown.rename(columns=lambda name: name.replace("_percent", " %"))
    shown = shown.rename(columns=lambda name: name.replace("_", " "))
    text = shown.astype(object).where(shown.notna(), "").map(_write)
    text.index.name = "table"
    notes = tuple(
        f"{name}: {note}" for name, note in counts["note"].items() if str(note)
    )
    return Rendering((Table("Tables, counted from the files", text, notes=notes),))


def _write(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


EXPERIMENT = Experiment("datasets", "The tables, counted from their files", render)
