"""Tables on a terminal: as wide as it is, and readable without colours.

The best of a comparison is bold and has a star, the second best is underlined and has a
plus sign. A table that is too wide loses its spreads first; if it is still too wide, it
is shown in parts, side by side columns becoming tables below each other.
"""

from __future__ import annotations

import re
import textwrap

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from ._rendering import BEST, SECOND, Rendering, Table

_SIGNS = {BEST: "*", SECOND: "+", "": " "}
_STYLES = {BEST: "bold", SECOND: "underline", "": ""}
_SPREAD = re.compile(r" ±\S+")
_GAP = 2  # blanks between columns
WIDE_CELL = 40  # longer texts are wrapped

Cells = list[list[tuple[str, str]]]  # text and style, row by row, the index first


def show(console: Console, rendering: Rendering, *, details: bool = False) -> None:
    """Print the tables of an experiment, and each note once.

    Parameters
    ----------
    console : rich.console.Console
    rendering : Rendering
    details : bool, default=False
        Whether to print all tables; the others are counted.
    """
    shown = [table for table in rendering.tables if details or not table.detail]
    notes: dict[str, None] = {}
    for table in shown:
        notes |= dict.fromkeys([*table.notes, *_show_table(console, table)])
    left_out = len(rendering.tables) - len(shown)
    more = [f"{left_out} tables more with --verbose."] if left_out else []
    _print_notes(console, [*notes, *more])


def _print_notes(console: Console, notes: list[str]) -> None:
    grid = Grid.grid(padding=(0, 1, 0, 0))
    for note in notes:
        grid.add_row("-", Text(_spell(console, note), "dim"))
    console.print(grid)


def _show_table(console: Console, table: Table) -> list[str]:
    """Print a table in as many parts as it takes; say what was left out and how."""
    said = []
    head = [str(table.frame.index.name or ""), *map(str, table.frame.columns)]
    cells = _write_cells(table)
    if _measure(head, cells) > console.width and _has_spreads(cells):
        cells = [
            [(_SPREAD.sub("", text), style) for text, style in row] for row in cells
        ]
        said.append("Standard deviations are shown in a wider terminal.")
    cells = [[(_spell(console, text), style) for text, style in row] for row in cells]
    if table.marks is not None:
        said.append("* the best, + the second best.")
    console.print(f"\n{table.title}", style="bold", markup=False)
    widths = _widths(head, cells)
    for part in split_columns(widths, console.width):
        _print_part(
            console,
            {head[j]: widths[j] for j in part},
            [[row[j] for j in part] for row in cells],
        )
    return said


def _write_cells(table: Table) -> Cells:
    # Where some have a sign, the others have a blank: the digits stay in line.
    signs = {"": ""} if table.marks is None else _SIGNS
    cells = []
    for i, (name, row) in enumerate(table.frame.iterrows()):
        marks = [table.mark(i, j) for j in range(len(row))]
        texts = [
            (_sign(str(text), signs[mark]), _STYLES[mark])
            for text, mark in zip(row, marks, strict=True)
        ]
        cells.append([(str(name), ""), *texts])
    return cells


def _sign(text: str, sign: str) -> str:
    """Put a sign behind the number, before its spread.

    >>> _sign("0.123 ±.004", "*"), _sign("0.123", "")
    ('0.123* ±.004', '0.123')
    """
    number, blank, spread = text.partition(" ±")
    return f"{number}{sign}{blank}{spread}"


def _spell(console: Console, text: str) -> str:
    """Write signs in letters where the terminal does not know them."""
    known = console.encoding.startswith("utf")
    return text if known else text.replace("±", "+-")


def _has_spreads(cells: Cells) -> bool:
    return any(_SPREAD.search(text) for row in cells for text, _ in row)


def _widths(head: list[str], cells: Cells) -> list[int]:
    """How wide each column is; a name may be broken at a blank, a value may not."""
    widths = []
    for j, name in enumerate(head):
        texts = [row[j][0] for row in cells]
        longest = max(map(len, texts), default=0)
        words = max(map(len, name.split()), default=0)
        widths.append(max(words, min(longest, WIDE_CELL), 1))
    return widths


def _measure(head: list[str], cells: Cells) -> int:
    widths = _widths(head, cells)
    return sum(widths) + _GAP * (len(widths) - 1)


def split_columns(widths: list[int], width: int) -> list[list[int]]:
    """Divide columns into parts that fit, each with the first column.

    Parameters
    ----------
    widths : list of int
        Of the columns.
    width : int
        Of the terminal.

    Returns
    -------
    list of list of int
        Places of columns; as few parts as can be, and about equally long.

    Examples
    --------
    >>> split_columns([4, 5, 5, 5], 30), split_columns([4, 5, 5, 5], 20)
    ([[0, 1, 2, 3]], [[0, 1, 2], [0, 3]])
    """
    columns = list(range(1, len(widths)))
    for n_parts in range(1, len(columns) + 1):
        size = -(-len(columns) // n_parts)
        parts = [[0, *columns[i : i + size]] for i in range(0, len(columns), size)]
        if all(sum(widths[j] + _GAP for j in part) - _GAP <= width for part in parts):
            return parts
    return [[0, j] for j in columns] or [[0]]


def _print_part(console: Console, widths: dict[str, int], cells: Cells) -> None:
    # The box draws one blank between columns, the padding the others.
    padding = (0, _GAP - 1, 0, 0)
    grid = Grid(box=SIMPLE_HEAD, padding=padding, pad_edge=False, show_edge=False)
    for j, (name, width) in enumerate(widths.items()):
        number = j > 0 and all(_is_number(row[j][0]) for row in cells)
        grid.add_column(
            Text(textwrap.fill(name, width)),
            justify="right" if number else "left",
            width=width,
            overflow="fold",
            vertical="bottom",
        )
    for row in cells:
        grid.add_row(*(Text(text, style) for text, style in row))
    console.print(grid)
    console.print()


def _is_number(text: str) -> bool:
    return not text or text[0] in "-+<." or text[0].isdigit()
