"""The rows of a table, as a user calls them: by number, from 1 on, or by their id."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ._call import InputError, counted, near
from ._raw import write_cell
from ._table import Table

ROW = "row"


def name_rows(table: Table, first: int = 0) -> Any:
    """Make the first columns of a result: the ids, or else the row numbers.

    Parameters
    ----------
    table : Table
    first : int, default=0
        Rows before those of the table.

    Returns
    -------
    pandas.DataFrame
    """
    if table.ids.shape[1]:
        return table.ids.copy()
    return pd.DataFrame({ROW: first + np.arange(1, len(table.frame) + 1)})


def label_rows(table: Table) -> list[str]:
    """Give each row one text: its first id, or else its number."""
    names = name_rows(table)
    return [write_cell(cell) for cell in names[names.columns[0]]]


def join_results(names: Any, results: dict[str, Any]) -> Any:
    """Put results beside the rows' names; a name that is taken has "_" behind it."""
    taken = {f"{name}_" if name in names else name: v for name, v in results.items()}
    return names.assign(**taken)


def find_row(table: Table, text: str, option: str = "") -> int:
    """Find a row by its id, or else by its number.

    Parameters
    ----------
    table : Table
    text : str
    option : str
        That names it, for messages.

    Returns
    -------
    int
        From 0 on.
    """
    for name in table.ids:
        cells = [write_cell(cell) for cell in table.ids[name]]
        found = [i for i, cell in enumerate(cells) if cell == text]
        if len(found) > 1:
            raise InputError(
                f"{option}{text}: {len(found)} rows of {table.name} have this {name}; "
                "give the row's number, as #12."
            )
        if found:
            return found[0]
    number = text.removeprefix("#")
    n_rows = len(table.frame)
    if number.isdecimal() and 1 <= int(number) <= n_rows:
        return int(number) - 1
    names = list(table.ids)
    known = [write_cell(cell) for cell in table.ids[names[0]]] if names else []
    what = f"no {' or '.join(names)} and no row number" if names else "no row number"
    hint = "." if names else "; --id COL calls rows by a column."
    raise InputError(
        f"{option}{text}: {table.name} has {counted(n_rows, 'row')}, and this is "
        f"{what} of theirs"
        f"{near(text, known) or hint}"
    )
