"""``proximity-kernel look``: how a file is read."""

from __future__ import annotations

from typing import Any

from .._shared.wording import write_share
from .._table.columns import read_columns
from ..io import LoadedTable
from ..io.checks import hide_missing_codes
from ..io.schema import Doubt
from ..report.display_columns import list_far_values, make_display_columns
from ..report.findings import write_far_values
from .fitting import open_table
from .program import Invocation
from .results import draw_grid, label_rows, write_short

_N_EXAMPLES = 3
_MOST_LABELS = 12  # labels of an ordered column
_MOST_FAR = 10  # columns with far values


def run(invocation: Invocation) -> None:
    """Print how each column of a file is read, with examples of its values."""
    table = open_table(invocation, invocation.options.file)
    _note_far_values(invocation, table)
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


def _note_far_values(invocation: Invocation, table: LoadedTable) -> None:
    """Print the numbers and dates that are far from all others, as the report does."""
    frame = hide_missing_codes(table.frame)  # reported as such
    measured = frame.select_dtypes(["number", "datetime", "datetimetz"])
    columns = read_columns(measured) if measured.size else ()
    if far := list_far_values(make_display_columns(columns)):
        line = write_far_values(far, label_rows(table), _MOST_FAR)
        invocation.note(Doubt(line))


def _list_examples(cells: Any) -> str:
    """Describe a column by its range, its ordered labels, or its first categories."""
    known = cells.dropna()
    if not len(known):
        return ""
    if known.dtype.kind in "fMm":
        ends = map(write_short, (known.min(), known.max()))
        return " to ".join(dict.fromkeys(ends))
    if getattr(known.dtype, "ordered", False):
        labels = list(map(write_short, known.cat.categories))
        if len(labels) > _MOST_LABELS:
            labels = [*labels[:_N_EXAMPLES], "...", labels[-1]]
        return " < ".join(labels)
    distinct = known.drop_duplicates()
    shown = [write_short(cell) for cell in distinct[:_N_EXAMPLES]]
    more = len(distinct) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
