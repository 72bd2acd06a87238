"""The options of the commands, with their help. Nothing here takes long to import.

An option that is not given is None, which distinguishes it from a default value.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..io.text import SEPARATORS

# Parameters that messages of the library name in backquotes -> options.
_READING = {
    "sep": "--sep",
    "decimal": "--decimal",
    "encoding": "--encoding",
    "header_rows": "--header-rows",
    "skip_rows": "--skip-rows",
    "names": "--names",
    "sheet": "--sheet",
    "missing": "--na",
    "ids": "--id",
    "only": "--only",
    "drop": "--drop",
    "categorical": "--categorical",
    "numeric": "--numeric",
    "ignore_case": "--ignore-case",
    "day_first": "--day-first or --month-first",
    "where": "--where",
    "keep_totals": "--keep-totals",
}
_OPTIONS = _READING | {
    "default_missing=False": "--na-only",
    "missingness": "--missingness",
    "feature_weights": "--weight",
    "output": "--output",
}
INPUTS = ("file", "queries", "new", "model", "names_file")
"""Options that name files to read."""
_PARAMETER = re.compile(rf"`({'|'.join(_OPTIONS)})(=[^`]*)?`")


def name_options(text: str) -> str:
    """Replace parameters of the library in a message by options of the command line.

    >>> name_options("see `sep`; `missing=-99` marks a missing cell")
    'see --sep; --na=-99 marks a missing cell'
    >>> name_options("`default_missing=False` or `missing='age=99'`")
    "--na-only or --na='age=99'"
    """
    return _PARAMETER.sub(lambda found: _OPTIONS[found[1]] + (found[2] or ""), text)


def reading_options(given: argparse.Namespace) -> dict[str, Any]:
    """Collect the parameters of `read_table` from the options."""
    return {name: getattr(given, name) for name in (*_READING, "default_missing")}


def add_input(parser: argparse.ArgumentParser, metavar: str = "FILE") -> None:
    """Add the table, and the options for reading it."""
    parser.add_argument(
        "file", metavar=metavar,
        help="CSV, TSV, Parquet, Arrow or Excel, also compressed with gzip; - is "
        "standard input",
    )  # fmt: skip
    group = parser.add_argument_group(
        "how the table is read", "Detected if not given; what was assumed is printed."
    )
    add = group.add_argument
    add("--sep", metavar="C", type=_parse_separator,
        help="separator: one character, or tab, comma, semicolon, bar, "
        "space")  # fmt: skip
    add("--decimal", choices=[".", ","], help="decimal point or comma")
    add("--na", action="append", default=[], metavar="TEXT", dest="missing",
        help="a text that marks a missing cell, in addition to the usual (empty, "
        "?, NA, null, -, ...), or COL=TEXT for one column; may be "
        "repeated")  # fmt: skip
    add("--na-only", action="store_false", dest="default_missing",
        help="only empty cells and the texts of --na are missing")  # fmt: skip
    add("--header-rows", type=whole_number(0), metavar="N",
        help="rows that hold the column names: 0 for none; several are joined into "
        "one name for each column")  # fmt: skip
    add("--skip-rows", type=whole_number(0), metavar="N",
        help="lines above the table to skip, empty ones included")  # fmt: skip
    add("--names", metavar="FILE", action=_ReadNames,
        help="column names of a table without a header: one in each line, or all in "
        "one, separated by commas")  # fmt: skip
    add(
        "--encoding",
        metavar="NAME",
        help="encoding of a text file: utf-8, latin-1, ...",
    )
    add("--sheet", metavar="NAME", help="Excel sheet: its name or number")
    order = group.add_mutually_exclusive_group()
    order.add_argument("--day-first", action="store_true", default=None,
                       help="3/4/2020 is in April")  # fmt: skip
    order.add_argument("--month-first", action="store_false", dest="day_first",
                       default=None, help="3/4/2020 is in March")  # fmt: skip
    add("--id", action="append", default=[], metavar="COL", dest="ids",
        help="column that names the rows: written, but not compared; may be "
        "repeated, or several separated by commas")  # fmt: skip
    add("--only", action="append", default=[], metavar="COL",
        help="column to compare by; all others are left out; repeated like "
        "--id")  # fmt: skip
    add("--drop", action="append", default=[], metavar="COL",
        help="column to leave out; repeated like --id")  # fmt: skip
    add("--where", metavar="TEXT",
        help="only rows that meet a condition, as in 'age > 30 and (sex == f or "
        "height is missing)'")  # fmt: skip
    add("--keep-totals", action="store_true",
        help="compare rows and columns that are totals of others, too")  # fmt: skip
    add("--categorical", action="append", default=[], metavar="COL",
        help="column of numbers that are codes, or of texts to keep; repeated "
        "like --id")  # fmt: skip
    add("--numeric", action="append", default=[], metavar="COL",
        help="column of numbers that are not codes or dates; repeated like "
        "--id")  # fmt: skip
    add("--ignore-case", action="store_true", default=None,
        help="texts that differ only in case or blanks are one category")  # fmt: skip


def add_kernel(parser: argparse.ArgumentParser, *, seed: bool = False) -> None:
    """Add the options of the kernel."""
    group = parser.add_argument_group("how rows are compared")
    add = group.add_argument
    add("--bins", dest="n_bins", type=whole_number(2, auto=True), metavar="N",
        help="number of ranges (bins) in which numbers count as equal; chosen by "
        "default (auto)")  # fmt: skip
    add("--matching", choices=["pairwise", "cascade"],
        help="rule that estimates missing cells: pairwise (the default), or "
        "cascade, as in the paper that introduced the method")  # fmt: skip
    add("--missingness", choices=["auto", "ignorable", "informative"],
        help="whether a missing cell is estimated (ignorable) or counted as a value "
        "of its own (informative); auto (the default) decides for each "
        "column")  # fmt: skip
    add("--weight", dest="feature_weights", action="append", type=_parse_weight,
        metavar="COL=N", help="how much a column counts in the similarity (1); 0 "
        "leaves it out; repeated for each column")  # fmt: skip
    add(
        "--jobs",
        dest="n_jobs",
        type=whole_number(1),
        metavar="N",
        help="threads (all cores)",
    )
    if seed:
        add("--seed", type=whole_number(0), default=0, metavar="N",
            help="seed of the random numbers (0)")  # fmt: skip


def add_output(
    parser: argparse.ArgumentParser,
    *,
    more: str = "",
    report: bool = False,
    join: bool = False,
) -> None:
    """Add the options for the files to write."""
    group = parser.add_argument_group(
        "what is written",
        "An existing file is replaced when the new one is complete.",
    )
    add = group.add_argument
    add("-o", "--output", "--out", metavar="FILE",
        help=f"ending in .csv, .tsv, .parquet, .arrow, .json, .jsonl or .xlsx{more}; "
        "default: CSV on standard output; a terminal shows a summary")  # fmt: skip
    add("--format", choices=["csv", "tsv", "parquet", "arrow", "json", "jsonl"],
        help="format, whatever the ending; also for standard output")  # fmt: skip
    if join:
        add("--join", action="store_true",
            help="write all columns of the table, with the results joined to "
            "them")  # fmt: skip
    if report:
        add("--report", metavar="FILE", help="write a report, FILE.html")


def add_batches(parser: argparse.ArgumentParser) -> None:
    """Add the option to read the file in batches."""
    group = parser.add_argument_group("files larger than memory")
    group.add_argument(
        "--stream", action=argparse.BooleanOptionalAction,
        help="read Parquet or Arrow in batches (the default above a million rows)",
    )  # fmt: skip


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add options to save a fitted model and to use it."""
    group = parser.add_argument_group("models")
    add = group.add_argument
    add("--save-model", metavar="FILE", help="save the fitted model")
    add("--model", metavar="FILE",
        help="apply a saved model to the rows of the table")  # fmt: skip


def add_general(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command has."""
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument(
        "--debug", action="store_true", help="show the traceback of an error"
    )


def whole_number(least: int, *, auto: bool = False) -> Callable[[str], int | str]:
    """Make a parser of whole numbers of at least `least`, and of the word auto.

    >>> whole_number(1)("3")
    3
    """

    def parse(text: str) -> int | str:
        """Parse one argument."""
        if auto and text == "auto":
            return text
        if not text.isdecimal() or int(text) < least:
            wanted = f"a whole number of at least {least}{', or auto' * auto}"
            raise argparse.ArgumentTypeError(f"takes {wanted}, not {text!r}")
        return int(text)

    return parse


def _parse_weight(text: str) -> tuple[str, float]:
    """Split the name of a column and its weight.

    >>> _parse_weight("age=2")
    ('age', 2.0)
    """
    name, equals, number = text.rpartition("=")
    with suppress(ValueError):
        if equals and 0 <= float(number) < float("inf"):
            return name, float(number)
    raise argparse.ArgumentTypeError(
        f"takes a column and a number of at least 0, as in age=2, not {text!r}"
    )


def share_up_to(most: float) -> Callable[[str], float]:
    """Make a parser of numbers above 0 and at most `most`."""

    def parse(text: str) -> float:
        """Parse one argument."""
        with suppress(ValueError):
            if 0 < float(text) <= most:
                return float(text)
        raise argparse.ArgumentTypeError(
            f"takes a number above 0 and at most {most:g}, not {text!r}"
        )

    return parse


class _ReadNames(argparse.Action):
    """Read column names when the option is parsed, and keep the name of the file."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: Any = None
    ) -> None:
        """Set the options `names` and `names_file`."""
        try:
            namespace.names = _read_names(values)
        except argparse.ArgumentTypeError as error:
            parser.error(f"argument {option_string}: {error}")
        namespace.names_file = values


def _read_names(path: str) -> list[str]:
    """Read column names from a file.

    Text after a colon is a comment, and so are lines that begin with "|".
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise argparse.ArgumentTypeError(f"cannot read {path}: {reason}") from None
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("|")]
    if len(lines) == 1:
        return [name.strip() for name in re.split("[,;\t]", lines[0])]
    return [line.partition(":")[0].strip() for line in lines]


def _parse_separator(text: str) -> str:
    """Check a separator: one character, or the name of one."""
    text = "tab" if text == "\\t" else text
    if text not in SEPARATORS and (len(text) != 1 or text in '"\n\r'):
        raise argparse.ArgumentTypeError(
            f"takes one character, or {', '.join(SEPARATORS)}, not {text!r}"
        )
    return text
