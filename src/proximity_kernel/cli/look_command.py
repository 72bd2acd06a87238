"""``proximity-kernel look``: how a file is read."""

from __future__ import annotations

from typing import Any

from .._shared.wording import write_share
from .fitting import open_table
from .program import Invocation
from .results import draw_grid, write_short

_N_EXAMPLES = 3


def run(invocation: Invocation) -> None:
    """Print how each column of a file is read, with examples of its values."""
    table = open_table(invocation, invocation.options.file)
    rows = []
    for column in table.schema.columns:
        name, missing, shown = column.name, "", ""
        kind = f"{column.kind} ({column.unit})" if column.unit else column.kind
        read_as = {"used": kind, "id": "id, not compared"}.get(column.role, "left out")
        if name in table.frame:
            missing = write_share(table.frame[name].isna().mean())
            shown = _list_examples(table.frame[name])
        elif name in table.ids:
            shown = _list_examples(table.ids[name])
        rows.append((name, read_as, missing, shown))
    names = ("column", "read as", "missing", "values")
    invocation.console(out=True).print(draw_grid(names, rows, numbers=[2]))


def _list_examples(cells: Any) -> str:
    """Describe a column by its range, its ordered labels, or its first categories."""
    known = cells.dropna()
    if not len(known):
        return ""
    if known.dtype.kind in "fMm":
        ends = map(write_short, (known.min(), known.max()))
        return " to ".join(dict.fromkeys(ends))
    if getattr(known.dtype, "ordered", False):
        return " < ".join(map(write_short, known.cat.categories))
    distinct = known.drop_duplicates()
    shown = [write_short(cell) for cell in distinct[:_N_EXAMPLES]]
    more = len(distinct) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
