"""Options and a table in, a fitted estimator out; models kept and loaded.

A model's notes hold the plan by which its table was read, so that new rows are read in
the same way. pandas and the library are imported when they are needed: a wrong option
or a file that is not there is told at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._extras import require
from ._call import Call, InputError
from ._plan import Plan, Wishes
from ._source import is_there, open_source, sniff_kind
from ._writing import check_outputs, check_page

if TYPE_CHECKING:
    from .. import ProximityKernel
    from ._batches import BatchedFile
    from ._raw import Reading
    from ._streaming import Stream
    from ._table import Table

_KERNEL = {
    "bins": "n_bins",
    "matching": "matching",
    "min_support": "min_support",
    "missingness": "missingness",
    "max_references": "max_references",
    "jobs": "n_jobs",
}
_OUTPUTS = {
    "output": "--output",
    "report": "--report",
    "profiles": "--profiles",
    "uncertainty": "--uncertainty",
    "save_model": "--save-model",
}
# What a model knows, so that it cannot be asked for beside one.
_LEARNT = {
    "bins": "--bins",
    "matching": "--matching",
    "min_support": "--min-support",
    "missingness": "--missingness",
    "max_references": "--max-references",
    "k": "-k",
    "share": "--share",
    "ids": "--id",
    "drop": "--drop",
    "categorical": "--categorical",
    "na": "--na",
    "na_only": "--na-only",
    "decimal": "--decimal",
    "day_first": "--day-first",
    "month_first": "--month-first",
    "save_model": "--save-model",
}
_FREE = {("neighbors", "k")}  # which a model does not know
LARGE = 1_000_000
"""Rows above which a file is read in batches unless the call says otherwise."""
REFERENCES = 200_000
"""Distinct rows that others are compared with in batches, unless the call says."""
_INPUTS = ("file", "queries", "other", "model")


def check_files(call: Call) -> None:
    """Refuse outputs that cannot be written, before anything is read."""
    given = vars(call.options)
    check_outputs(
        {option: given.get(name) for name, option in _OUTPUTS.items()},
        [given.get(name) for name in _INPUTS],
    )
    if given.get("report") is not None:
        check_page("--report", given["report"])
        require("jinja2", extra="report")
        require("plotly", extra="report")


def make_kernel(options: argparse.Namespace, **defaults: Any) -> ProximityKernel:
    """Make a kernel of the options that were given.

    Parameters
    ----------
    options : argparse.Namespace
    **defaults
        Of the command, for `ProximityKernel`.

    Returns
    -------
    ProximityKernel
    """
    from .. import ProximityKernel

    given = {name: getattr(options, option) for option, name in _KERNEL.items()}
    given = {name: value for name, value in given.items() if value is not None}
    return ProximityKernel(**(defaults | given))


def open_table(call: Call, path: str, plan: Plan | None = None) -> Table:
    """Read a table and say what was assumed.

    Parameters
    ----------
    call : Call
    path : str
    plan : Plan, optional
        Of the table that was fitted.

    Returns
    -------
    Table
    """
    source = open_source(path)
    from ._table import read_table

    reading, wishes = read_wishes(call.options)
    with call.step(f"reading {path}"):
        table = read_table(source, reading, wishes, plan)
    for line in table.said:
        call.say(line)
    return table


def read_wishes(given: argparse.Namespace) -> tuple[Reading, Wishes]:
    """Take from the options how a table is to be read."""
    from ._raw import Reading

    header = True if given.header else False if given.no_header else None
    reading = Reading(given.sep, given.encoding, header, given.sheet)
    day_first = True if given.day_first else False if given.month_first else None
    wishes = Wishes(
        tuple(given.ids),
        tuple(given.drop),
        tuple(given.categorical),
        tuple(given.na),
        not given.na_only,
        given.decimal,
        day_first,
    )
    return reading, wishes


def start(call: Call, wanted: str) -> tuple[Any, Table, dict[str, Any]]:
    """Check the files, load the model if there is one, and read the table.

    Parameters
    ----------
    call : Call
    wanted : str
        The class of the estimator that the command needs.

    Returns
    -------
    estimator or None
        Loaded; None if one is to be fitted.
    Table
    dict
        The model's notes.
    """
    check_files(call)
    if call.options.model is None:
        return None, open_table(call, call.options.file), {}
    model, notes = load_model(call, wanted)
    plan = Plan.from_notes(notes["plan"])
    return model, open_table(call, call.options.file, plan), notes


def find_batches(call: Call, form: str, forms: Sequence[str]) -> BatchedFile | None:
    """Tell whether the input is to be read in batches.

    Parameters
    ----------
    call : Call
    form : str
        Of the output.
    forms : sequence of str
        Those that can be written in batches.

    Returns
    -------
    BatchedFile or None
        None if it is to be read whole.
    """
    options = call.options
    if options.no_stream:
        return None
    kind = sniff_kind(options.file)
    why = None
    if kind is None:
        why = f"{options.file} is not a Parquet or Arrow file; make one of it"
    elif form not in forms:
        why = f"{form} is not written in batches; name an output that ends in .parquet"
    elif getattr(options, "report", None) is not None:
        why = "a report needs the whole table; leave --report out"
    if why and options.stream and is_there(options.file):
        raise InputError(f"--stream: {why}, or leave --stream out.")
    if kind is None or why:
        return None
    check_files(call)
    from ._batches import open_batches

    file = open_batches(options.file, kind)
    return file if options.stream or file.n_rows > LARGE else None


def start_batches(call: Call, file: BatchedFile, wanted: str) -> tuple[Any, Stream]:
    """Check the files, load the model if there is one, and plan how to read a file.

    Parameters
    ----------
    call : Call
    file : BatchedFile
    wanted : str
        The class of the estimator that the command needs.

    Returns
    -------
    estimator or None
        Loaded; None if one is to be fitted.
    Stream
    """
    from ._raw import refuse_options
    from ._streaming import plan_stream

    reading, wishes = read_wishes(call.options)
    refuse_options(file.name, file.kind, reading)
    model, plan = None, None
    if call.options.model is not None:
        model, notes = load_model(call, wanted)
        plan = Plan.from_notes(notes["plan"])
    return model, plan_stream(call, file, wishes, plan)


def limit(call: Call) -> dict[str, int]:
    """Limit the rows that batches are compared with, and say so."""
    most = call.options.max_references or REFERENCES
    call.say(
        f"compared with at most {most:,} distinct rows, a sample if there are more "
        "(--max-references)"
    )
    return {"max_references": most}


def fit(call: Call, estimator: Any, table: Table, **notes: Any) -> Any:
    """Fit an estimator, and keep it if the call asks for that.

    Parameters
    ----------
    call : Call
    estimator
    table : Table
    **notes
        More to keep with the model, plain data.

    Returns
    -------
    estimator
    """
    with call.step("learning"):
        estimator.fit(table.frame)
    keep_model(call, estimator, table.plan, **notes)
    return estimator


def keep_model(call: Call, estimator: Any, plan: Plan, **notes: Any) -> None:
    """Save a fitted estimator, if the call asks for that.

    Parameters
    ----------
    call : Call
    estimator
    plan : Plan
        By which its table was read.
    **notes
        More to keep with the model, plain data.
    """
    path = call.options.save_model
    if path is not None:
        from ..model_file import save_model

        save_model(estimator, path, notes={"plan": plan.to_notes(), **notes})
        call.say(f"model: {path}")


def load_model(call: Call, wanted: str) -> tuple[Any, dict[str, Any]]:
    path = call.options.model
    for option, name in _LEARNT.items():
        if getattr(call.options, option, None) and (call.name, option) not in _FREE:
            raise InputError(
                f"{name}: the model already knows; leave it out, or fit anew without "
                "--model."
            )
    from ..model_file import ModelFileError, load_with_notes

    try:
        estimator, notes = load_with_notes(path)
    except ModelFileError as error:
        raise InputError(f"--model: {error}") from None
    if type(estimator).__name__ != wanted:
        raise InputError(
            f"--model {path}: it holds a {type(estimator).__name__}, and "
            f"{call.name} needs a {wanted}; make one with proximity-kernel "
            f"{call.name} --save-model."
        )
    if "plan" not in notes:
        raise InputError(
            f"--model {path}: it does not say how its table was read, so it is for "
            "Python; make one with --save-model."
        )
    return estimator, notes


def make_report(call: Call, table: Table, kernel: Any, clusters: Any = None) -> None:
    """Write the report, if the call asks for it."""
    path = call.options.report
    if path is None:
        return
    from ..report import write_report
    from ._rows import label_rows

    with call.step(f"writing {path}"):
        write_report(
            path,
            table.frame,
            kernel=kernel,
            clusters=clusters,
            ids=label_rows(table),
            title=table.name,
            assumptions=table.said,
        )
    call.say(f"report: {path}")
