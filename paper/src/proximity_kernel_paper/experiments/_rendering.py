"""Tables of text and figures: what an experiment shows, wherever it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

BEST, SECOND = "best", "second"


@dataclass(frozen=True, eq=False)
class Table:
    """A table ready to be read.

    Attributes
    ----------
    title : str
    frame : pandas.DataFrame
        The text of each cell; the index is the first column.
    marks : pandas.DataFrame or None
        Of the same shape: ``"best"``, ``"second"`` or nothing for each cell.
    notes : tuple of str
        What a reader must know, shown below.
    detail : bool
        Whether it is for those who ask for more, with ``--verbose``.
    """

    title: str
    frame: pd.DataFrame
    marks: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    detail: bool = False

    def mark(self, row: int, column: int) -> str:
        """Say how a cell is marked.

        Parameters
        ----------
        row, column : int

        Returns
        -------
        str
            ``"best"``, ``"second"`` or empty.
        """
        return "" if self.marks is None else str(self.marks.iloc[row, column])


@dataclass(frozen=True, eq=False)
class Rendering:
    """All that an experiment shows.

    Attributes
    ----------
    tables : tuple of Table
    figures : mapping from str to callable
        The stem of a file's name -> a function without arguments that draws the figure.
        Drawing needs matplotlib, so it waits until somebody wants to see it.
    failures : tuple of str
        The trials that failed, each with its error.
    """

    tables: tuple[Table, ...] = ()
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    failures: tuple[str, ...] = ()


def write_numbers(values: pd.DataFrame, digits: int = 3) -> pd.DataFrame:
    """Write numbers as text, gaps as a dash.

    Parameters
    ----------
    values : pandas.DataFrame of numbers
    digits : int, default=3
        After the point.

    Returns
    -------
    pandas.DataFrame of str

    Examples
    --------
    >>> import pandas as pd
    >>> write_numbers(pd.DataFrame({"a": [0.12345, None]})).a.to_list()
    ['0.123', '-']
    """
    return values.map(lambda value: _write(value, digits)).astype(object)


def _write(value: Any, digits: int) -> str:
    return "-" if value is None or np.isnan(value) else f"{value:.{digits}f}"


def write_mean_spread(
    means: pd.DataFrame, spreads: pd.DataFrame, digits: int = 3
) -> pd.DataFrame:
    """Write means with their spread.

    Parameters
    ----------
    means, spreads : pandas.DataFrame of numbers, of the same shape
    digits : int, default=3

    Returns
    -------
    pandas.DataFrame of str
        ``0.123 ±.004``; a gap is a dash, and a spread that is NaN is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> means, spreads = pd.DataFrame({"a": [0.5]}), pd.DataFrame({"a": [0.012]})
    >>> write_mean_spread(means, spreads).loc[0, "a"]
    '0.500 ±.012'
    """
    text = write_numbers(means, digits)
    tail = spreads.map(lambda value: f" ±{value:.{digits}f}".replace("±0.", "±."))
    return text + tail.where(means.notna() & spreads.notna(), "")


def mark_best(values: pd.DataFrame, *, axis: int = 1, digits: int = 3) -> pd.DataFrame:
    """Mark the highest and the second highest of each row or column.

    Parameters
    ----------
    values : pandas.DataFrame of numbers
    axis : {0, 1}, default=1
        1 to compare within rows, 0 within columns.
    digits : int, default=3
        Values that are printed alike are marked alike.

    Returns
    -------
    pandas.DataFrame of str

    Examples
    --------
    >>> import pandas as pd
    >>> mark_best(pd.DataFrame([[0.1, 0.3, 0.2, 0.3]])).iloc[0].to_list()
    ['', 'best', 'second', 'best']
    """
    rounded = values.round(digits)
    places = rounded.rank(axis=axis, ascending=False, method="dense")
    text = np.select([places == 1, places == 2], [BEST, SECOND], default="")
    return pd.DataFrame(text, values.index, values.columns)


_MARKDOWN = {BEST: "**{}**", SECOND: "*{}*", "": "{}"}


def write_markdown(table: Table) -> str:
    """Write a table in Markdown.

    Parameters
    ----------
    table : Table

    Returns
    -------
    str
        Title (if any), table and notes; the best in bold, the second best in italics.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"PK": ["0.6"]}, index=pd.Index(["kidney"], name="table"))
    >>> print(write_markdown(Table("NMI", frame)))
    **NMI**
    <BLANKLINE>
    | table | PK |
    | --- | --- |
    | kidney | 0.6 |
    """
    frame = table.frame
    head = [str(frame.index.name or ""), *map(str, frame.columns)]
    lines = [f"**{table.title}**", ""] if table.title else []
    lines += [_write_row(head), _write_row(["---"] * len(head))]
    for i, (name, row) in enumerate(frame.iterrows()):
        cells = [
            _MARKDOWN[table.mark(i, j)].format(str(cell)) if str(cell) else ""
            for j, cell in enumerate(row)
        ]
        lines.append(_write_row([str(name), *cells]))
    if table.notes:
        lines += ["", *(f"- {note}" for note in table.notes)]
    return "\n".join(lines)


def _write_row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
