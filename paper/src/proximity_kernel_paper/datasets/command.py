"""``proximity-kernel-paper datasets``: list, describe and fetch the tables."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from .._whole import whole_file
from ._catalogue import list_datasets
from ._describe import describe
from ._held_out import list_held_out
from ._load import Dataset, load

DESCRIPTION = """\
The tables of the experiments.

  proximity-kernel-paper datasets
  proximity-kernel-paper datasets describe kidney
  proximity-kernel-paper datasets fetch kidney -o kidney.csv

list (the default) counts the tables that are at hand; describe prints the
source and license of one; fetch downloads it if need be and writes it as CSV,
the classes in the last column.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    parser.description = DESCRIPTION
    add = parser.add_argument
    actions = ("list", "describe", "fetch")
    add("action", nargs="?", default="list", choices=actions, help="list by default")
    names = [*list_datasets(), *list_held_out()]
    add("name", nargs="?", choices=names, metavar="NAME", help="of a table")
    add("--data-home", metavar="DIR", help="where the tables are, or will be")
    add("-o", "--output", metavar="FILE", help="of fetch; standard output otherwise")
    add("--debug", action="store_true", help="show the traceback of an error")


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Parameters
    ----------
    options : argparse.Namespace
        As parsed.

    Returns
    -------
    int
        The exit status.
    """
    console = Console(highlight=False)
    if options.action == "list":
        _list(console, options.data_home)
        return 0
    table = load(options.name, options.data_home)
    if options.action == "describe":
        console.print(table.description, markup=False)
    else:
        _fetch(table, options.output)
    return 0


def _list(console: Console, data_home: str | None) -> None:
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("name")
    for head in ("rows", "columns", "missing", "classes"):
        grid.add_column(head, justify="right")
    for name, row in describe(data_home).iterrows():
        if row.isna()["rows"]:
            grid.add_row(str(name), "not at hand", style="dim")
            continue
        missing = f"{row['missing_percent']:.1f} %"
        counts = f"{row['rows']:,}", str(row["features"]), missing, str(row["classes"])
        grid.add_row(str(name), *counts)
    console.print(grid)


def _fetch(table: Dataset, output: str | None) -> None:
    frame = table.frame.assign(**{str(table.target.name): table.target})
    if output is None:
        frame.to_csv(sys.stdout, index=False)
        return
    with whole_file(Path(output)) as part:
        frame.to_csv(part, index=False)
