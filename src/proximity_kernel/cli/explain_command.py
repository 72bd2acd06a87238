"""``proximity-kernel explain``: why two rows are similar."""

from __future__ import annotations

from typing import Any

from rich.text import Text
from sklearn.frozen import FrozenEstimator

from .. import ProximityNeighbors, explain
from ..io.write import write_frame
from . import fitting
from .program import Invocation
from .results import draw_grid, find_row, label_rows

_DIGITS = 2  # decimals of a contribution, plus one, or two from 100 columns on


def run(invocation: Invocation) -> None:
    """Print or write why two rows of a table are similar."""
    options = invocation.options
    kernel, table, _ = fitting.start(invocation, "ProximityKernel")
    a, b = find_row(table, options.row_a), find_row(table, options.row_b)
    if kernel is None:
        kernel = fitting.make_kernel(options, ProximityNeighbors())
        fitting.fit(invocation, kernel, table)
    rows = table.frame.iloc[[a]], table.frame.iloc[[b]]
    near = ProximityNeighbors(kernel=FrozenEstimator(kernel)).fit(rows[1])
    explanation = explain(near, *rows)
    if options.output is None and options.format is None:
        labels = label_rows(table)
        drawn = draw_explanation(explanation, labels[a], labels[b])
        invocation.console(out=True).print(*drawn)
    else:
        frame = explanation.to_frame().assign(similarity=explanation.similarity)
        write_frame(frame, options.output, invocation.formats["output"])


def draw_explanation(explanation: Any, a: str, b: str) -> tuple[Any, ...]:
    """Lay out an explanation for a terminal: a `rich.text.Text` and a table."""
    digits = _DIGITS + len(str(len(explanation.features) // 10))
    rows = [
        (one.name, f"{one.contribution:.{digits}f}", one.reason, str(one.a), str(one.b))
        for one in sorted(explanation.features, key=lambda one: -one.contribution)
    ]
    similarity = Text(f"similarity {explanation.similarity:.3f}", "bold")
    similarity.append(" (0 to 1), the sum of what each column adds", "not bold")
    names = ("column", "adds", "alike", a, b)
    return similarity, draw_grid(names, rows, numbers=[1])
