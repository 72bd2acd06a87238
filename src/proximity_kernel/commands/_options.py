"""What may be asked of the commands, with its help. Nothing here takes long to import.

An option that was not given is None, so that a command can tell it from a default.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

Add = Callable[..., object]


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add the table and how it is read."""
    parser.add_argument(
        "file", metavar="FILE",
        help="CSV, TSV, Parquet, Arrow or Excel (by content and ending; also "
        "compressed by gzip); - is standard input",
    )  # fmt: skip
    group = parser.add_argument_group(
        "how the table is read", "Guessed if not given; what was guessed is said."
    )
    add = group.add_argument
    add("--sep", metavar="C", type=_read_separator,
        help="a character, or tab, comma, semicolon, bar, space")  # fmt: skip
    add("--decimal", choices=[".", ","], help="decimal point or comma")
    add("--na", action="append", default=[], metavar="TEXT",
        help="a text that means a missing cell, beside the usual (empty, ?, NA, "
        "null, -, ...); may be repeated")  # fmt: skip
    add("--na-only", action="store_true", help="only empty cells and --na are missing")
    header = group.add_mutually_exclusive_group()
    header.add_argument("--no-header", action="store_true", dest="no_header",
                        help="the first line is a row")  # fmt: skip
    header.add_argument("--header", action="store_true",
                        help="the first line holds the names")  # fmt: skip
    add("--encoding", metavar="NAME", help="of text, as utf-8 or latin-1")
    add("--sheet", metavar="NAME", help="of Excel: its name or number")
    order = group.add_mutually_exclusive_group()
    order.add_argument("--day-first", action="store_true", default=None,
                       help="3/4/2020 is in April")  # fmt: skip
    order.add_argument("--month-first", action="store_true", default=None,
                       help="3/4/2020 is in March")  # fmt: skip
    add("--id", action="append", default=[], metavar="COL", dest="ids",
        help="names the rows: not compared, but written; may be repeated, or "
        "several with commas between them")  # fmt: skip
    add("--drop", action="append", default=[], metavar="COL",
        help="left out; as --id")  # fmt: skip
    add("--categorical", action="append", default=[], metavar="COL",
        help="numbers that are codes, or texts to keep; as --id")  # fmt: skip


def add_kernel(parser: argparse.ArgumentParser, *, seed: bool = False) -> None:
    """Add the options of the kernel."""
    group = parser.add_argument_group("how rows are compared")
    add = group.add_argument
    add("--bins", type=_read_bins, metavar="N",
        help="bins of a numeric column, or auto (the default)")  # fmt: skip
    add("--matching", choices=["weighted", "graded", "cascade"],
        help="which rows tell about a missing cell (weighted); cascade is the "
        "paper's rule")  # fmt: skip
    add("--min-support", type=count_from(1), metavar="N",
        help="rows behind an estimate (20)")  # fmt: skip
    add("--missingness", choices=["auto", "ignorable", "informative"],
        help="whether a gap itself tells something (auto)")  # fmt: skip
    add("--max-references", type=count_from(1), metavar="N",
        help="estimate from at most N distinct rows, a sample if there are more (all; "
        "200000 in batches)")  # fmt: skip
    add("--jobs", type=count_from(1), metavar="N", help="threads (all cores)")
    if seed:
        add("--seed", type=count_from(0), default=0, metavar="N",
            help="of what is drawn by chance (0)")  # fmt: skip


def add_output(
    parser: argparse.ArgumentParser, *, more: str = "", report: bool = False
) -> None:
    """Add where results go."""
    group = parser.add_argument_group(
        "what is written", "An existing file is replaced, once the new one is whole."
    )
    add = group.add_argument
    add("-o", "--output", "--out", metavar="FILE",
        help=f"ending in .csv, .tsv, .parquet, .arrow, .json, .jsonl or .xlsx{more}; "
        "standard output as CSV if not given")  # fmt: skip
    add("--format", choices=["csv", "tsv", "parquet", "arrow", "json", "jsonl"],
        help="whatever the ending, also on standard output")  # fmt: skip
    if report:
        add("--report", metavar="FILE", help="a page to look at, FILE.html")


def add_batches(parser: argparse.ArgumentParser) -> None:
    """Add whether a file is read in batches."""
    group = parser.add_argument_group("files larger than memory")
    which = group.add_mutually_exclusive_group()
    which.add_argument("--stream", action="store_true",
                       help="read Parquet or Arrow in batches, never whole (as files "
                       "of more than a million rows are)")  # fmt: skip
    which.add_argument("--no-stream", action="store_true", help="read it whole")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add what keeps a fitted model, and uses it."""
    group = parser.add_argument_group("models")
    add = group.add_argument
    add("--save-model", metavar="FILE", help="keep what was learnt")
    add("--model", metavar="FILE",
        help="use what was learnt on FILE's rows, read in the same way")  # fmt: skip


def add_general(parser: argparse.ArgumentParser) -> None:
    """Add what every command has."""
    parser.add_argument("--quiet", action="store_true", help="say errors only")
    parser.add_argument(
        "--debug", action="store_true", help="show the traceback of an error"
    )


def count_from(least: int) -> Callable[[str], int]:
    """Make a reader of whole numbers.

    >>> count_from(1)("3")
    3
    """

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"takes a whole number from {least} on, not {text!r}"
            )
        return int(text)

    return read


def count_or_auto(text: str) -> int | str:
    """Read a number of clusters."""
    if text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(
            f"takes a whole number from 1 on, or auto, not {text!r}"
        )
    return int(text)


def share_up_to(most: float) -> Callable[[str], float]:
    """Make a reader of numbers above 0."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 < value <= most:
            raise argparse.ArgumentTypeError(
                f"takes a number above 0 and at most {most:g}, not {text!r}"
            )
        return value

    return read


def _read_bins(text: str) -> int | str:
    if text == "auto":
        return text
    if not text.isdecimal() or not 2 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(
            f"takes a whole number from 2 on, or auto, not {text!r}"
        )
    return int(text)


def _read_separator(text: str) -> str:
    from ._dialect import SEPARATORS

    text = {"\\t": "tab"}.get(text, text)
    if text in SEPARATORS:
        return text
    if len(text) != 1 or text in '"\n\r':
        raise argparse.ArgumentTypeError(
            f"takes one character, or {', '.join(SEPARATORS)}, not {text!r}"
        )
    return text
