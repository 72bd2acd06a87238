"""``proximity-kernel datasets``: tables to try things on."""

from __future__ import annotations

import argparse
from typing import Any

from ..io.errors import InputError
from ..io.wording import suggest
from .invocation import Invocation

DESCRIPTION = """\
Tables with holes, to try things on.

  proximity-kernel datasets
  proximity-kernel datasets describe penguins
  proximity-kernel datasets fetch penguins -o penguins.csv

list (the default) counts the tables that are at hand; describe tells a
table's source and licence; fetch downloads it if need be (with the extra
datasets) and writes it, the classes in the last column.
"""
_ACTIONS = ("list", "describe", "fetch")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = parser.add_argument
    add("action", nargs="?", default="list", metavar="ACTION",
        help="list, describe or fetch")  # fmt: skip
    add("name", nargs="?", metavar="NAME", help="of a table")
    add("--data-home", metavar="DIR", help="where the tables are, or will be")
    add("-o", "--output", metavar="FILE", help="of fetch; standard output otherwise")
    add("--format", choices=["csv", "tsv", "parquet", "arrow", "json", "jsonl"],
        help="whatever the ending")  # fmt: skip


def run(invocation: Invocation) -> int:
    """Run the command."""
    options = invocation.options
    if options.action not in _ACTIONS:
        hint = (
            suggest(options.action, _ACTIONS) or f"; there are {', '.join(_ACTIONS)}."
        )
        raise InputError(f"{options.action}: there is no such action{hint}")
    if options.action == "list":
        return _list(invocation)
    if options.name is None:
        raise InputError(f"{options.action}: name a table, as penguins.")
    return _describe(invocation) if options.action == "describe" else _fetch(invocation)


def _list(invocation: Invocation) -> int:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from ..datasets import describe

    with invocation.progress("counting"):
        counts = describe(invocation.options.data_home)
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("name")
    for name in ("rows", "columns", "missing", "classes"):
        grid.add_column(name, justify="right")
    for name, row in counts.iterrows():
        if row.isna()["rows"]:
            grid.add_row(str(name), "not at hand", "", "", "", style="dim")
            continue
        missing = f"{row['missing_percent']:.1f} %"
        grid.add_row(
            str(name), f"{row['rows']:,}", str(row["features"]), missing,
            str(row["classes"]),
        )  # fmt: skip
    invocation.console(out=True).print(grid)
    return 0


def _load(invocation: Invocation) -> Any:
    from ..datasets import list_datasets, load

    name = invocation.options.name
    if name not in list_datasets():
        hint = (
            suggest(name, list_datasets())
            or f"; there are {', '.join(list_datasets())}."
        )
        raise InputError(f"{name}: no table is called so{hint}")
    with invocation.progress(f"loading {name}"):
        return load(name, invocation.options.data_home)


def _describe(invocation: Invocation) -> int:
    text = _load(invocation).description
    invocation.console(out=True).print(text, markup=False, highlight=False)
    return 0


def _fetch(invocation: Invocation) -> int:
    from ..io.writing import write_frame
    from .outputs import check_outputs, find_format

    options = invocation.options
    form = find_format(options.output, options.format)
    check_outputs({"--output": options.output}, [])
    table = _load(invocation)
    target = table.target.name or "class"
    frame = table.frame.assign(**{target: table.target.to_numpy()})
    write_frame(frame, options.output, form)
    invocation.note(f"{options.name}: {len(frame):,} rows, the classes in {target!r}")
    return 0
