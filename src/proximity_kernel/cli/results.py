"""Rows as users name them: by their id, or by their number, from 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .._shared.wording import counted, suggest
from ..io import InputError, LoadedTable
from ..io.parquet_and_excel import write_cell


def name_rows(table: LoadedTable, start: int = 0) -> Any:
    """Make the first columns of a result: the ids, or else the row numbers.

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
    return pd.DataFrame({"row": start + np.arange(1, len(table.frame) + 1)})


def label_rows(table: LoadedTable) -> list[str]:
    """Give each row one label: its first id, or else its number."""
    names = name_rows(table)
    return [write_cell(cell) for cell in names[names.columns[0]]]


def join_results(names: Any, results: dict[str, Any]) -> Any:
    """Append results to the columns of `name_rows`; a name that is taken gets a "_"."""
    free = {f"{name}_" if name in names else name: v for name, v in results.items()}
    return pd.concat([names, pd.DataFrame(free, index=names.index)], axis=1)


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
    if number.isdecimal() and 1 <= int(number) <= n_rows:
        return int(number) - 1
    known = next(iter(ids.values()), [])
    what = " or ".join([*ids, "row number"])
    hint = "." if ids else "; --id COL names rows by a column."
    raise InputError(
        f"{option}{text}: {table.name} has {counted(n_rows, 'row')}, and none has this "
        f"{what}{suggest(text, known) or hint}"
    )
