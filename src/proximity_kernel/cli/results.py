"""Name rows by id or number (from 1); write results to files, pipes and terminals.

A terminal shows the first rows of a result. A file or a pipe gets all rows.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from .._coded import CodedTable
from .._shared.wording import counted, number_repeats, show_controls, suggest
from ..io import InputError, LoadedTable
from ..io.cells import decode, write_cell
from ..io.write import open_writer
from ..neighbors import fit_search_kernel
from .arguments import name_options
from .program import Invocation

N_SHOWN = 10
"""Rows of a result that a terminal shows."""
_MAX_COLUMNS = 8
_MAX_LENGTH = 30  # characters of a cell


def name_rows(table: LoadedTable, start: int = 0) -> Any:
    """Make the first columns of a result: the ids or, without ids, the row numbers.

    The first row of a batch is row `start` of its file, counted from 0.
    """
    if table.ids.shape[1]:
        return table.ids.copy()
    rows = pd.DataFrame({"row": start + 1 + table.frame.index.to_numpy()})
    return rows.set_axis(table.frame.index)


def number_rows(table: LoadedTable) -> Any:
    """Make the first columns of a result as `name_rows`, and number repeated ids."""
    names = name_rows(table)
    if table.ids.shape[1] and names.iloc[:, 0].duplicated().any():
        return join_results(names, {"row": table.frame.index + 1})
    return names


def label_rows(table: LoadedTable) -> list[str]:
    """List a label for each row: its first id or, without ids, its number.

    An id that several rows have is followed by the row number, as in "P3 (#25)".
    """
    names = name_rows(table)
    labels = [write_cell(cell) for cell in names[names.columns[0]]]
    return number_repeats(labels, (table.frame.index + 1).tolist())


def join_results(names: Any, results: dict[str, Any]) -> Any:
    """Append result columns to a frame; a name that is already taken gets a "_"."""
    free = {}
    for name, values in results.items():
        while name in names:
            name += "_"  # noqa: PLW2901
        free[name] = values
    return pd.concat([names, pd.DataFrame(free, index=names.index)], axis=1)


def join_table(table: LoadedTable, results: dict[str, Any]) -> Any:
    """Append results to all columns of the file; rows of totals have no results."""
    frame = pd.DataFrame(results, index=table.frame.index)
    if len(table.source) > len(frame):
        frame = frame.convert_dtypes().reindex(table.source.index)
    return join_results(decode(table.source), {name: frame[name] for name in frame})


def write_short(cell: Any) -> str:
    """Format a cell in one line, truncated to 30 characters."""
    text = " ".join(write_cell(cell).removesuffix("T00:00:00").split())
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 3]}..."


def find_row(table: LoadedTable, text: str, option: str = "") -> int:
    """Find a row by its id, or else by its number, from 1, also after a ``#``.

    `option` is the option that names the row, for messages.
    """
    ids = {name: [write_cell(cell) for cell in table.ids[name]] for name in table.ids}
    for name, cells in ids.items():
        found = [i for i, cell in enumerate(cells) if cell == text]
        if len(found) > 1:
            raise InputError(
                f"{option}{text}: {len(found)} rows of {table.name} have this {name}; "
                "give the row's number, for example #12."
            )
        if found:
            return found[0]
    number = text.removeprefix("#")
    n_rows = len(table.frame)
    if number.isdecimal() and int(number) - 1 in table.frame.index:
        return int(table.frame.index.get_loc(int(number) - 1))
    known = next(iter(ids.values()), [])
    what = " or ".join([*ids, "row number"])
    hint = "." if ids else "; --id COL says which column has ids."
    raise InputError(
        f"{option}{text}: {table.name} has {counted(n_rows, 'row')}, and none has this "
        f"{what}{suggest(text, known) or hint}"
    )


def is_for_terminal(options: Any) -> bool:
    """Whether a terminal shows the result: there is no -o, --format or pipe."""
    return options.output is None and options.format is None and sys.stdout.isatty()


@contextmanager
def open_results(invocation: Invocation) -> Iterator[Callable[[Any], None]]:
    """Open the file, pipe or terminal for results; yield what writes the next rows."""
    options = invocation.options
    if not is_for_terminal(options):
        with open_writer(options.output, invocation.formats["output"]) as append:
            yield append
        return
    parts: list[Any] = []
    n_rows = 0

    def keep(frame: Any) -> None:
        nonlocal n_rows
        parts.append(frame.head(max(0, N_SHOWN - n_rows)))
        n_rows += len(frame)

    yield keep
    invocation.console(out=True).print(draw_rows(pd.concat(parts)))
    if n_rows > N_SHOWN:
        invocation.note(f"{N_SHOWN} of {n_rows:,} rows; -o FILE writes all of them")


def write_results(invocation: Invocation, frame: Any) -> None:
    """Write a complete result at once, to a file, a pipe or the terminal."""
    with open_results(invocation) as append:
        append(frame)


def draw_rows(frame: Any) -> Table:
    """Lay out the rows of a frame, and its first columns, as a `rich.table.Table`."""
    shown = frame.iloc[:, :_MAX_COLUMNS]
    names = [str(name) for name in shown]
    if frame.shape[1] > _MAX_COLUMNS:
        names.append(f"and {frame.shape[1] - _MAX_COLUMNS:,} more columns")
    dtypes = enumerate(shown.dtypes)
    numbers = [j for j, dtype in dtypes if pd.api.types.is_numeric_dtype(dtype)]
    rows = (map(_write_result, row) for row in shown.itertuples(index=False))
    return draw_grid(names, rows, numbers)


def draw_grid(
    names: Iterable[str], rows: Iterable[Iterable[Any]], numbers: Collection[int] = ()
) -> Table:
    """Lay out rows of cells, str or `rich.text.Text`, as a `rich.table.Table`.

    The columns with the indices `numbers` are aligned on the right; in others, long
    texts are wrapped.
    """
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for j, name in enumerate(names):
        style: Any = {"justify": "right"} if j in numbers else {"overflow": "fold"}
        grid.add_column(Text(show_controls(name)), **style)
    for row in rows:
        cells = (Text(show_controls(c)) if isinstance(c, str) else c for c in row)
        grid.add_row(*cells)
    return grid


def _write_result(cell: Any) -> str:
    """Format a cell for a terminal: a float with few digits, "" for a missing cell."""
    if pd.isna(cell):
        return ""
    if isinstance(cell, float):
        return f"{cell:.3f}" if abs(cell) < 10 else f"{cell:.4g}"
    return write_cell(cell)


def write_report(
    invocation: Invocation,
    table: LoadedTable,
    coded: CodedTable,
    kernel: Any,
    clusters: Any = None,
) -> None:
    """Write the report page if --report was given."""
    path = invocation.options.report
    if path is None:
        return
    from ..report import TableReport  # needs jinja2

    with invocation.progress(f"writing {path}"):
        if invocation.options.n_bins is None and kernel.matching == "pairwise":
            if clusters is None:
                kernel, coded = fit_search_kernel(kernel, coded.columns)
            else:  # `TableReport` fits the kernel of neighbors itself
                kernel = None
        page = TableReport(
            coded,
            kernel=kernel,
            clusters=clusters,
            ids=label_rows(table),
            title=Path(table.name).name,
            assumptions=[name_options(line) for line in table.assumptions],
            doubts=[name_options(line) for line in table.doubts],
            made=_describe_call(invocation),
        )
        page.write_html(path)
    invocation.note(f"report: {path}")


def _describe_call(invocation: Invocation) -> str:
    """Write when and by which command a page was made, for its last line."""
    given = sys.argv[1:]
    if invocation.command not in given:  # called from Python: the options are not known
        given = [invocation.command, str(invocation.options.file)]
    command = shlex.join(["proximity-kernel", *given])
    return f"Made on {date.today():%Y-%m-%d} by the command: {command}"
