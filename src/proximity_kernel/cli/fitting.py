"""Options and a table in, a fitted estimator out; models are saved and loaded.

A model is saved with the schema of its table, so that new rows are read the same way.
pandas and the library are imported when they are needed, so that a wrong option or an
absent file is reported at once.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from .._shared.extras import require
from ..io import InputError, LoadedTable, Schema, read_table
from .arguments import name_options, reading_options
from .outputs import STANDARD_STREAM, check_outputs, check_report
from .program import Invocation

if TYPE_CHECKING:
    from .. import ProximityKernel

_OUTPUTS = ("output", "report", "profiles", "uncertainty", "save_model")
# Options that were set when a model was fitted, so that they cannot be given with it.
_SET_BY_MODEL = {
    "n_bins": "--bins",
    "matching": "--matching",
    "missingness": "--missingness",
    "n_clusters": "-k",
    "share": "--share",
    "ids": "--id",
    "drop": "--drop",
    "categorical": "--categorical",
    "missing": "--na",
    "decimal": "--decimal",
    "day_first": "--day-first or --month-first",
    "save_model": "--save-model",
}
_INPUTS = ("file", "queries", "other", "model")


def check_files(invocation: Invocation) -> None:
    """Check that all outputs can be written, before anything is read."""
    given = vars(invocation.options)
    check_outputs(
        {f"--{name.replace('_', '-')}": given.get(name) for name in _OUTPUTS},
        [given.get(name) for name in _INPUTS],
    )
    if given.get("report") is not None:
        check_report("--report", given["report"])
        require("jinja2", extra="report")
        require("plotly", extra="report")


def make_kernel(options: argparse.Namespace, **defaults: Any) -> ProximityKernel:
    """Make a kernel from the options.

    Parameters
    ----------
    options : argparse.Namespace
    **defaults
        Parameters of `ProximityKernel` that apply unless an option was given.

    Returns
    -------
    ProximityKernel
    """
    from .. import ProximityKernel

    names = ("n_bins", "matching", "missingness", "n_jobs")
    given = {name: getattr(options, name) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    return ProximityKernel(**(defaults | given))


def open_table(
    invocation: Invocation, path: str, schema: Schema | None = None
) -> LoadedTable:
    """Read a table, and print what was assumed.

    Parameters
    ----------
    invocation : Invocation
    path : str
        ``"-"`` is standard input.
    schema : Schema, optional
        Of the table that was fitted.

    Returns
    -------
    LoadedTable
    """
    options = reading_options(invocation.options)
    with invocation.progress(f"reading {path}"):
        table = read_table(_find_source(path), schema=schema, **options)
    for line in table.assumptions:
        invocation.note(line)
    return table


def _find_source(path: str) -> Any:
    if path != STANDARD_STREAM:
        if not path:
            raise InputError("FILE is empty; name a file, or - for standard input.")
        return path
    if sys.stdin is None:
        raise InputError("standard input is closed; name a file.")
    return sys.stdin.buffer


def start(
    invocation: Invocation, wanted: str
) -> tuple[Any, LoadedTable, dict[str, Any]]:
    """Check the files, load the model if one is given, and read the table.

    Parameters
    ----------
    invocation : Invocation
    wanted : str
        Name of the estimator class that the command needs.

    Returns
    -------
    estimator or None
        The loaded model; None if one must be fitted.
    LoadedTable
    dict
        What was saved with the model.
    """
    check_files(invocation)
    options = invocation.options
    if options.model is None:
        return None, open_table(invocation, options.file), {}
    model, notes = load_model(invocation, wanted)
    schema = Schema.from_dict(notes["schema"])
    return model, open_table(invocation, options.file, schema), notes


def fit(
    invocation: Invocation, estimator: Any, table: LoadedTable, **notes: Any
) -> Any:
    """Fit an estimator, and save it if --save-model was given.

    Parameters
    ----------
    invocation : Invocation
    estimator
    table : LoadedTable
    **notes
        Plain data to save with the model.

    Returns
    -------
    estimator
    """
    with invocation.progress("fitting"):
        estimator.fit(table.frame)
    save_model(invocation, estimator, table.schema, **notes)
    return estimator


def save_model(
    invocation: Invocation, estimator: Any, schema: Schema, **notes: Any
) -> None:
    """Save a fitted estimator and the schema of its table, if --save-model was given.

    Parameters
    ----------
    invocation : Invocation
    estimator
    schema : Schema
    **notes
        Plain data to save with the model.
    """
    path = invocation.options.save_model
    if path is not None:
        from ..model_file import save_model as save

        save(estimator, path, notes={"schema": schema.to_dict(), **notes})
        invocation.note(f"model: {path}")


def load_model(invocation: Invocation, wanted: str) -> tuple[Any, dict[str, Any]]:
    """Load the model of --model, and what was saved with it."""
    options, command = invocation.options, invocation.command
    path = options.model
    given = [
        option
        for name, option in _SET_BY_MODEL.items()
        if getattr(options, name, None) not in (None, [])
    ]
    given += [] if options.default_missing else ["--na-only"]
    if given:
        raise InputError(
            f"{given[0]}: this was set when the model was fitted; leave the option "
            "out, or fit without --model."
        )
    from ..model_file import ModelFileError, load_with_notes

    try:
        estimator, notes = load_with_notes(path)
    except ModelFileError as error:
        raise InputError(f"--model: {error}") from None
    if type(estimator).__name__ != wanted:
        raise InputError(
            f"--model {path}: it holds a {type(estimator).__name__}, and "
            f"{command} needs a {wanted}; create one with proximity-kernel "
            f"{command} --save-model."
        )
    if "schema" not in notes:
        raise InputError(
            f"--model {path}: it was saved in Python, without the schema of its table; "
            "create one with --save-model."
        )
    return estimator, notes


def make_report(
    invocation: Invocation, table: LoadedTable, kernel: Any, clusters: Any = None
) -> None:
    """Write the report, if --report was given."""
    path = invocation.options.report
    if path is None:
        return
    from ..report import write_report
    from .results import label_rows

    with invocation.progress(f"writing {path}"):
        write_report(
            path,
            table.frame,
            kernel=kernel,
            clusters=clusters,
            ids=label_rows(table),
            title=table.name,
            assumptions=[name_options(line) for line in table.assumptions],
        )
    invocation.note(f"report: {path}")
