"""Results: rows named by their id or number (from 1), and where they are written.

A terminal shows the first rows of a result. A file and a pipe get all of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd

from .._shared.wording import counted, show_controls, suggest
from ..io import InputError, LoadedTable
from ..io.cells import decode, write_cell
from ..io.write import open_writer
from .program import Invocation

N_SHOWN = 10
"""Rows of a result that a terminal shows."""
_MAX_COLUMNS = 8
_MAX_LENGTH = 30  # characters of a cell


def name_rows(table: LoadedTable, start: int = 0) -> Any:
    """Make the first columns of a result: the ids or, without ids, the row numbers.

    Parameters
    ----------
    table : LoadedTable
    start : int, default=0
        Index of the table's first row in its file.

    Returns
    -------
    pandas.DataFrame
    """
    if table.ids.shape[1]:
        return table.ids.copy()
    rows = pd.DataFrame({"row": start + 1 + table.frame.index.to_numpy()})
    return rows.set_axis(table.frame.index)


def label_rows(table: LoadedTable) -> list[str]:
    """List a label for each row: its first id or, without ids, its number."""
    names = name_rows(table)
    return [write_cell(cell) for cell in names[names.columns[0]]]


def join_results(names: Any, results: dict[str, Any]) -> Any:
    """Append results to the columns of `name_rows`; a name that is taken gets a "_"."""
    free = {}
    for name, values in results.items():
        while name in names:
            name += "_"  # noqa: PLW2901
        free[name] = values
    return pd.concat([names, pd.DataFrame(free, index=names.index)], axis=1)


def join_table(table: LoadedTable, results: dict[str, Any]) -> Any:
    """Append results to all columns of the file; a row that is a total has none."""
    frame = pd.DataFrame(results, index=table.frame.index)
    if len(table.source) > len(frame):
        frame = frame.convert_dtypes().reindex(table.source.index)
    return join_results(decode(table.source), {name: frame[name] for name in frame})


def write_short(cell: Any) -> str:
    """Write a cell in one line, cut off if it is long."""
    text = " ".join(write_cell(cell).removesuffix("T00:00:00").split())
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 3]}..."


def find_row(table: LoadedTable, text: str, option: str = "") -> int:
    """Find a row by its id, or else by its number.

    Parameters
    ----------
    table : LoadedTable
    text : str
        An id, a number from 1, or a number after ``#``.
    option : str
        The option that names the row, for messages.

    Returns
    -------
    int
        Index of the row, from 0.
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
    hint = "." if ids else "; --id COL names rows by a column."
    raise InputError(
        f"{option}{text}: {table.name} has {counted(n_rows, 'row')}, and none has this "
        f"{what}{suggest(text, known) or hint}"
    )


def is_for_terminal(options: Any) -> bool:
    """Whether a result is only shown: no file, format or pipe is given."""
    return options.output is None and options.format is None and sys.stdout.isatty()


@contextmanager
def open_results(
    invocation: Invocation, file_format: str
) -> Iterator[Callable[[Any], None]]:
    """Open the file, pipe or terminal for results, which are written in parts.

    Parameters
    ----------
    invocation : Invocation
    file_format : str
        Of the file or pipe.

    Yields
    ------
    callable
        Takes a pandas.DataFrame, the next rows.
    """
    options = invocation.options
    if not is_for_terminal(options):
        with open_writer(options.output, file_format) as append:
            yield append
        return
    shown: list[Any] = []
    n_rows = 0

    def keep(frame: Any) -> None:
        nonlocal n_rows
        shown.append(frame.head(max(0, N_SHOWN - n_rows)))
        n_rows += len(frame)

    yield keep
    invocation.console(out=True).print(draw_rows(pd.concat(shown)))
    if n_rows > N_SHOWN:
        invocation.note(f"{N_SHOWN} of {n_rows:,} rows; -o FILE writes all of them")


def write_results(invocation: Invocation, frame: Any, file_format: str) -> None:
    """Write a whole result."""
    with open_results(invocation, file_format) as append:
        append(frame)


def draw_rows(frame: Any) -> Any:
    """Lay out the rows of a frame as a table of rich."""
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
) -> Any:
    """Lay out cells as a table of rich.

    Parameters
    ----------
    names : iterable of str
        Of the columns.
    rows : iterable of iterable
        Cells: str, or rich's own texts.
    numbers : collection of int
        Columns that are aligned on the right; long texts of others are folded.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for j, name in enumerate(names):
        if j in numbers:
            grid.add_column(Text(show_controls(name)), justify="right")
        else:
            grid.add_column(Text(show_controls(name)), overflow="fold")
    for row in rows:
        cells = (Text(show_controls(c)) if isinstance(c, str) else c for c in row)
        grid.add_row(*cells)
    return grid


def _write_result(cell: Any) -> str:
    """Write a cell of a result, a number with few digits."""
    if pd.isna(cell):
        return ""
    if isinstance(cell, float):
        return f"{cell:.3f}" if abs(cell) < 10 else f"{cell:.4g}"
    return write_cell(cell)
