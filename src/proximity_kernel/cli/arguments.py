"""The options of every command, with their help. Nothing here takes long to import.

The docstring of each command's function is the text of its ``--help``. Most options are
None unless given, so that a command can tell whether they were given.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..io.schema import SEPARATORS, InputError, is_separator


def name_option(name: str) -> str:
    """Format the name of an option as it is typed, such as --save-model."""
    return f"--{name.replace('_', '-')}"


# Parameter of the library, as its messages name it in backquotes -> option.
_READING = {
    **{name: name_option(name) for name in (
        "sep", "decimal", "encoding", "header_rows", "skip_rows", "names", "sheet",
        "only", "drop", "categorical", "numeric", "ignore_case", "where",
        "keep_totals", "fill_down",
    )},
    "missing": "--na",
    "ids": "--id",
    "day_first": "--day-first or --month-first",
}  # fmt: skip
_OPTIONS = _READING | {
    "default_missing=False": "--na-only",
    "missingness": "--missingness",
    "feature_weights": "--weight",
    "output": "--output",
}
INPUTS = ("file", "queries", "new", "model", "names")
"""Options that name files to read."""
_PARAMETER = re.compile(rf"`({'|'.join(_OPTIONS)})(=[^`]*)?`")


def name_options(text: str) -> str:
    """Replace the names of parameters in a library message by command-line options.

    >>> name_options("see `sep`; `missing=-99` marks a missing cell")
    'see --sep; --na=-99 marks a missing cell'
    >>> name_options("`default_missing=False` or `missing='age=99'`")
    "--na-only or --na='age=99'"
    """
    return _PARAMETER.sub(lambda found: _OPTIONS[found[1]] + (found[2] or ""), text)


def reading_options(given: argparse.Namespace) -> dict[str, Any]:
    """Collect the parameters of `read_table` from the options, and read --names."""
    if isinstance(given.names, str):  # read only once: a pipe cannot be read again
        given.names = _read_names(given.names)
    values = {name: getattr(given, name) for name in (*_READING, "default_missing")}
    return {name: value for name, value in values.items() if value is not None}


def _read_names(path: str) -> list[str]:
    """Read the --names file: one column name in each line, or all names in one line.

    Names in one line are separated by commas, semicolons or tabs. Of several lines, the
    text after a colon is ignored, and so are lines that begin with "|". A file that
    cannot be read raises InputError.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"--names: cannot read {path}: {reason}.") from None
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("|")]
    if len(lines) == 1:
        return [name.strip() for name in re.split("[,;\t]", lines[0])]
    return [line.partition(":")[0].strip() for line in lines]


# ------------------------------------------------------------------------- the commands


def _look(parser: argparse.ArgumentParser) -> None:
    """Show how a file is read: the kind, missing cells and values of each column.

      proximity-kernel look patients.csv
      proximity-kernel look patients.csv --na -99 --drop remark

    Nothing is written. The other commands take the same options for reading a
    file: try them here first.
    """
    _add_input(parser)


def _cluster(parser: argparse.ArgumentParser) -> None:
    """Find groups of similar rows in a table with missing cells.

      proximity-kernel cluster patients.csv -o clusters.csv
      proximity-kernel cluster patients.csv -k 3 --report page.html
      proximity-kernel cluster a.csv -k 4 --save-model m.pk
      proximity-kernel cluster new.csv --model m.pk -o new.json

    Output: all columns of the table, then the cluster (0 is the largest) and
    the distance to its center: within a cluster, rows with a smaller distance
    are more typical.
    """
    _add_input(parser)
    add = parser.add_argument
    add("-k", dest="n_clusters", type=_whole_number(1, auto=True), metavar="N",
        help="number of clusters; auto (the default) chooses it")  # fmt: skip
    add("--profiles", metavar="FILE",
        help="write the typical values of each cluster, with their shares")  # fmt: skip
    _add_kernel(parser, seed=True)
    _add_output(parser, report=True)
    _add_batches(parser)
    _add_model(parser)


def _neighbors(parser: argparse.ArgumentParser) -> None:
    """Find the rows most similar to each row, or to given rows.

      proximity-kernel neighbors patients.csv -k 5 -o near.csv
      proximity-kernel neighbors patients.csv --of P0012 --of P0077
      proximity-kernel neighbors old.csv --queries new.csv
      proximity-kernel neighbors old.csv --save-model m.pk -o near.csv
      proximity-kernel neighbors new.csv --model m.pk

    Output: for each row and each of its neighbors, the row number (from 1),
    the neighbor's rank and row number, and their similarity, from 0 to 1;
    also the ids of both rows, if the table has ids. A terminal shows which
    rows are equal or most similar, and the neighbors of the first rows.
    With --join: all columns of the table, and for each row its neighbors
    (neighbor_1, similarity_1, ...).
    A model file (--save-model) contains every row of the table, as bins, and
    all ids.
    """
    _add_input(parser)
    add = parser.add_argument
    add("-k", type=_whole_number(1), metavar="N",
        help="number of neighbors of each row (5, or all other rows if there are "
        "fewer)")  # fmt: skip
    add("--of", action="append", default=[], metavar="ROW",
        help="find the neighbors of this row only, given by its id or its number; may "
        "be repeated")  # fmt: skip
    add("--queries", metavar="FILE",
        help="find the neighbors of the rows of another table, which is read with the "
        "same column types")  # fmt: skip
    _add_kernel(parser)
    _add_output(parser, join=True)
    _add_model(parser)


def _outliers(parser: argparse.ArgumentParser) -> None:
    """Find the rows, or the cells, that do not fit the rest of the table.

      proximity-kernel outliers patients.csv -o unusual.csv
      proximity-kernel outliers patients.csv --top 20
      proximity-kernel outliers patients.csv --cells -o check.csv
      proximity-kernel outliers patients.csv --share 0.01
      proximity-kernel outliers new.csv --model m.pk

    Output: the ids (or the row numbers, from 1), the score, whether the row
    is an outlier, and if so, the reasons; with --join, also all columns of
    the table. Each cell is compared with what the other cells of its row
    suggest, and a number also with the range of its column. The score of a
    row is the sum of the scores of its cells; a higher score is more unusual.
    """
    _add_input(parser)
    add = parser.add_argument
    add("--top", type=_whole_number(1), metavar="N",
        help="only the N most unusual rows (or cells), the most unusual first, with "
        "their reasons, if other rows do not confirm all cells")  # fmt: skip
    add("--cells", action="store_true",
        help="list cells instead of rows, the most unusual first: the unusual cells of "
        "outliers, and those of other rows that score 6 or more; with --top N, the N "
        "most unusual of all rows; without cells that other rows confirm")  # fmt: skip
    add("--share", type=_parse_share, metavar="S",
        help="share of the rows to call outliers; by default, outliers are the rows "
        "that score higher than 99 %% of rows sampled from the fitted "
        "model")  # fmt: skip
    add("--reasons", type=_whole_number(0), default=3, metavar="N",
        help="maximum number of reasons for each row (3)")  # fmt: skip
    _add_kernel(parser)
    _add_output(parser, join=True)
    _add_model(parser)


def _compare(parser: argparse.ArgumentParser) -> None:
    """Show what changed between two files of the same table.

      proximity-kernel compare may.csv june.csv
      proximity-kernel compare may.csv june.csv -o unlike.csv

    Shows which columns were added or removed, which values became more or less
    frequent, and which new rows are unlike anything in the old file.
    A column is listed as changed if its values differ more than samples of
    one table usually do; if nothing changed, the chance that any column is
    listed is at most about 2 %. A new row is listed if it has a category that
    is not in the old file, or a number or date outside the range of the old
    file. A new row is also listed if its outlier score is above two limits:
    that of the command outliers, fitted to the old file, and the scores of
    99 % of the old rows, each computed by a model fitted to other old rows.
    -o FILE writes the listed rows with all columns, scores and reasons.
    """
    _add_input(parser, metavar="OLD")
    parser.add_argument("new", metavar="NEW", help="a newer file of the same table")
    _add_kernel(parser)
    _add_output(parser)


def _report(parser: argparse.ArgumentParser) -> None:
    """Write a page about a table: a map of its rows, what to check, its columns.

      proximity-kernel report patients.csv
      proximity-kernel report patients.csv -o page.html --drop remark

    The page also shows surprising values, missing cells, and which columns
    predict which. It is one HTML file that loads nothing from the network.
    (cluster --report writes the same page with clusters.)
    """
    _add_input(parser)
    parser.add_argument(
        "-o", "--output", "--report", dest="report", metavar="FILE",
        help="the page to write, ending in .html; by default in the current folder, "
        "named like the table; an existing file is replaced",
    )  # fmt: skip
    _add_kernel(parser)


def _represent(parser: argparse.ArgumentParser) -> None:
    """Represent rows as vectors without missing cells, for other programs.

      proximity-kernel represent patients.csv -o vectors.parquet
      proximity-kernel represent patients.csv -o vectors.npz
      proximity-kernel represent a.csv --save-model m.pk -o a.npz
      proximity-kernel represent new.csv --model m.pk -o new.npz

    An observed cell is represented by its bin, a missing cell by a probability
    distribution over bins. The inner product of two rows, divided by the
    number of columns, is their similarity.
    Output: the ids (or the row numbers, from 1) and a column for each bin.
    A .npz file holds only the sparse matrix (scipy.sparse.load_npz).
    """
    _add_input(parser)
    parser.add_argument("--force", action="store_true",
        help="write the table even if it takes more than 1 GiB")  # fmt: skip
    _add_kernel(parser)
    _add_output(parser, more=", or .npz (sparse)")
    _add_batches(parser)
    _add_model(parser)


def _explain(parser: argparse.ArgumentParser) -> None:
    """Explain why two rows are similar, column by column.

      proximity-kernel explain patients.csv P0012 P0077
      proximity-kernel explain patients.csv 1 2
      proximity-kernel explain patients.csv 1 2 -o why.json

    Name a row by its id, or by its number, counted from 1. Write #12 for
    row 12 if 12 could also be an id. The similarity is the one that
    `neighbors` computes, and the sum of what the columns add. Values in the
    "same range" count as equal; "close" values count less the farther they
    are apart; rare values that both rows have count more. A missing cell is
    shown as ?, with its most likely ranges or categories. In brackets: the
    columns that changed this estimate most, and how much probability each
    column shifted.
    """
    _add_input(parser)
    parser.add_argument("row_a", metavar="ROW_A", help="id or number of a row")
    parser.add_argument("row_b", metavar="ROW_B", help="id or number of another row")
    _add_kernel(parser)
    _add_output(parser)
    _add_model(parser)


def _impute(parser: argparse.ArgumentParser) -> None:
    """Fill the missing cells with estimates from the other cells of their row.

      proximity-kernel impute patients.csv -o filled.csv
      proximity-kernel impute patients.csv --uncertainty sd.csv
      proximity-kernel impute a.csv --save-model m.pk -o filled.csv
      proximity-kernel impute new.csv --model m.pk

    The other commands need no filled table; this is for programs that do.
    Output: all columns in their order, with every observed cell as it was.
    Estimates are written in the format of their column: with the same number
    of decimals, the same unit or date format. A terminal shows what was
    filled in each column, with an example: "± 10" is the standard deviation of
    the estimate, "85 % sure" the probability that it is right.
    """
    _add_input(parser)
    add = parser.add_argument
    add("--strategy", choices=["mean", "mode"], default="mean",
        help="estimate of a number or date: its expected value (mean, the default), or "
        "the typical value of the most likely bin (mode); of a category: always the "
        "most likely category")  # fmt: skip
    add("--uncertainty", metavar="FILE",
        help="write a second table: for a number, the standard deviation of its "
        "estimate; for a category, the probability that another category is right; 0 "
        "for observed cells")  # fmt: skip
    _add_kernel(parser)
    _add_output(parser)
    _add_model(parser)


def _demo(parser: argparse.ArgumentParser) -> None:
    """Cluster the Palmer penguins with 20 % of the cells hidden.

      proximity-kernel demo
      proximity-kernel demo --report penguins.html

    The penguins come with the package. The clusters are compared with
    the species, and the estimate of one hidden body mass with its true value.
    """
    parser.add_argument("--report", metavar="FILE", help="write a report, FILE.html")


COMMANDS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    add.__name__.lstrip("_"): add
    for add in (
        _look, _cluster, _neighbors, _outliers, _compare, _report, _represent, _explain,
        _impute, _demo,
    )
}  # fmt: skip
"""Command -> the function that adds its options; ``NAME_command`` runs the command."""


# --------------------------------------------------------- options of several commands


def _add_input(parser: argparse.ArgumentParser, metavar: str = "FILE") -> None:
    """Add the argument for the file of the table, and the options for reading it."""
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
        help="text that marks a missing cell, in addition to empty cells, ?, NA, null, "
        "-, ...; COL=TEXT marks it in one column only; may be repeated")  # fmt: skip
    add("--na-only", action="store_false", dest="default_missing",
        help="treat only empty cells and the texts of --na as missing")  # fmt: skip
    add("--header-rows", type=_whole_number(0), metavar="N",
        help="number of rows with column names: 0 for none; several are joined into "
        "one name for each column")  # fmt: skip
    add("--skip-rows", type=_whole_number(0), metavar="N",
        help="number of lines to skip above the table, including empty "
        "lines")  # fmt: skip
    add("--names", metavar="FILE",
        help="file with the column names, for a table without a header: one name in "
        "each line, or all names in one line, separated by commas")  # fmt: skip
    add("--encoding", metavar="NAME",
        help="encoding of a text file: utf-8, latin-1, ...")  # fmt: skip
    add("--sheet", metavar="NAME", help="Excel sheet: its name or number")
    order = group.add_mutually_exclusive_group()
    order.add_argument("--day-first", action="store_true", default=None,
                       help="3/4/2020 is in April")  # fmt: skip
    order.add_argument("--month-first", action="store_false", dest="day_first",
                       default=None, help="3/4/2020 is in March")  # fmt: skip
    columns = {
        "id": "column that names the rows: written, but not compared; for several "
        "columns, separate them by commas or repeat the option",
        "only": "column to compare; columns that are not listed are left out; several "
        "as in --id",
        "drop": "column to leave out; several as in --id",
        "categorical": "column to compare by categories: numbers that are codes, or "
        "free text that would be left out; several as in --id",
        "numeric": "column to compare by numbers, which are neither codes nor dates; "
        "several as in --id",
    }
    for name, text in columns.items():
        add(f"--{name}", action="append", default=[], metavar="COL", help=text,
            dest="ids" if name == "id" else name)  # fmt: skip
    add("--where", metavar="TEXT",
        help="only rows that meet a condition, as in 'age > 30 and (sex == f or "
        "height is missing)'")  # fmt: skip
    add("--fill-down", action="append", default=[], metavar="COL",
        help="column with a value in the first of several rows only, which is filled "
        "with the value above; several as in --id")  # fmt: skip
    add("--keep-totals", action="store_true",
        help="also compare rows and columns that are totals")  # fmt: skip
    add("--ignore-case", action="store_true", default=None,
        help="count texts that differ only in case or blanks as one "
        "category")  # fmt: skip


def _add_kernel(parser: argparse.ArgumentParser, *, seed: bool = False) -> None:
    """Add the options of the kernel, and --seed if the command uses random numbers."""
    add = parser.add_argument_group("how rows are compared").add_argument
    add("--bins", dest="n_bins", type=_whole_number(2, auto=True), metavar="N",
        help="number of bins of each column of numbers, by default chosen (auto); "
        "numbers in the same bin count as equal")  # fmt: skip
    add("--matching", choices=["pairwise", "cascade"],
        help="rule that estimates missing cells: pairwise (the default), or "
        "cascade, as in the paper that introduced the method")  # fmt: skip
    add("--missingness", choices=["auto", "ignorable", "informative"],
        help="whether a missing cell is estimated (ignorable) or counted as a value "
        "of its own (informative); auto (the default) decides for each "
        "column")  # fmt: skip
    add("--weight", dest="feature_weights", action="append", type=_parse_weight,
        metavar="COL=N", help="weight of a column in the similarity (1); 0 leaves the "
        "column out; may be repeated for other columns")  # fmt: skip
    add("--jobs", dest="n_jobs", type=_whole_number(1), metavar="N",
        help="number of threads (one for each core)")  # fmt: skip
    if seed:
        add("--seed", type=_whole_number(0), default=0, metavar="N",
            help="seed of the random numbers (0)")  # fmt: skip


def _add_output(
    parser: argparse.ArgumentParser,
    *,
    more: str = "",
    report: bool = False,
    join: bool = False,
) -> None:
    """Add the options for the files to write."""
    group = parser.add_argument_group(
        "what is written", "An existing file is replaced once the new file is complete."
    )
    add = group.add_argument
    add("-o", "--output", "--out", metavar="FILE",
        help="file to write, ending in .csv, .tsv, .parquet, .arrow, .json, .jsonl or "
        f".xlsx{more}; default: CSV on standard output, but a summary on a "
        "terminal")  # fmt: skip
    add("--format", choices=["csv", "tsv", "parquet", "arrow", "json", "jsonl"],
        help="format of the file, whatever its ending, or of standard "
        "output")  # fmt: skip
    if join:
        add("--join", action="store_true",
            help="write the results beside all columns of the table")  # fmt: skip
    if report:
        add("--report", metavar="FILE", help="write a report, FILE.html")


def _add_batches(parser: argparse.ArgumentParser) -> None:
    """Add the option to read the file in batches."""
    parser.add_argument_group("files larger than memory").add_argument(
        "--stream", action=argparse.BooleanOptionalAction,
        help="read Parquet or Arrow in batches (the default above a million rows)",
    )  # fmt: skip


def _add_model(parser: argparse.ArgumentParser) -> None:
    """Add the options that save the fitted model, or apply a saved one."""
    add = parser.add_argument_group("models").add_argument
    add("--save-model", metavar="FILE", help="save the fitted model")
    add("--model", metavar="FILE", help="apply a saved model to the rows of the table")


def add_general(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command has."""
    add = parser.add_argument
    add("--quiet", action="store_true", help="print errors only")
    add("--debug", action="store_true", help="show the traceback of an error")


# ------------------------------------------------------------------ values of options


def _whole_number(least: int, *, auto: bool = False) -> Callable[[str], int | str]:
    """Make a parser that accepts ints from `least` on and, if `auto`, the word auto.

    >>> _whole_number(1)("3")
    3
    """

    def parse(text: str) -> int | str:
        if auto and text == "auto":
            return text
        if not text.isdecimal() or int(text) < least:
            wanted = f"a whole number of at least {least}{', or auto' * auto}"
            raise argparse.ArgumentTypeError(f"takes {wanted}; got {text!r}")
        return int(text)

    return parse


def _parse_weight(text: str) -> tuple[str, float]:
    """Parse a --weight, COLUMN=NUMBER; raise ArgumentTypeError for other text.

    >>> _parse_weight("age=2")
    ('age', 2.0)
    """
    name, equals, number = text.rpartition("=")
    with suppress(ValueError):
        if equals and 0 <= float(number) < float("inf"):
            return name, float(number)
    raise argparse.ArgumentTypeError(
        f"takes a column and a number of at least 0, as in age=2; got {text!r}"
    )


def _parse_share(text: str) -> float:
    """Parse a --share; raise ArgumentTypeError unless 0 < share <= 0.5."""
    with suppress(ValueError):
        if 0 < float(text) <= 0.5:
            return float(text)
    raise argparse.ArgumentTypeError(
        f"takes a number above 0 and at most 0.5; got {text!r}"
    )


def _parse_separator(text: str) -> str:
    """Return the --sep, one character or a name such as tab; raise for other text."""
    text = "tab" if text == "\\t" else text
    if not is_separator(text):
        raise argparse.ArgumentTypeError(
            f"takes one character, or one of {', '.join(SEPARATORS)}; got {text!r}"
        )
    return text
