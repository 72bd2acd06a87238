"""The files that a command writes: formats, checks before the work, models, pages."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._shared.extras import require
from .._shared.whole_files import check_replaceable, is_device, name_beside
from ..io import InputError, LoadedTable, Schema
from ..io.write import FORMAT_OF_ENDING
from .arguments import INPUTS, name_options
from .program import Invocation

if TYPE_CHECKING:
    from .._coded import CodedTable

STANDARD_STREAM = "-"
"""Standard input where a table is read, standard output where one is written."""
_REPORT_ENDINGS = (".html", ".htm")
_OUTPUTS = ("output", "report", "profiles", "uncertainty", "save_model")


def find_format(
    path: str | None,
    asked: str | None,
    more: Iterable[str] = (),
    option: str = "--output",
) -> str:
    """Find the format of an output.

    Parameters
    ----------
    path : str or None
        None is standard output.
    asked : str or None
        The format, if it was given.
    more : iterable of str
        Endings such as ``".npz"`` that the command writes in addition.
    option : str
        The option that names the output, for messages.

    Returns
    -------
    str

    Examples
    --------
    >>> find_format("a.parquet", None), find_format(None, None)
    ('parquet', 'csv')
    """
    if asked is not None:
        return asked
    if path is None or path == STANDARD_STREAM or is_device(Path(path)):
        return "csv"
    known = FORMAT_OF_ENDING | {ending: ending[1:] for ending in more}
    ending = Path(path).suffix.lower()
    if ending not in known:
        raise InputError(
            f"{option} {path}: it {_describe_ending(ending)}; name it .csv, .parquet, "
            f".json or another of {', '.join(known)}, or give --format."
        )
    return known[ending]


def check_report(path: str) -> None:
    """Raise InputError unless the name of a report ends in .html or .htm."""
    ending = Path(path).suffix.lower()
    if ending not in _REPORT_ENDINGS and not is_device(Path(path)):
        raise InputError(
            f"--report {path}: it {_describe_ending(ending)}; the report is HTML, name "
            "it .html."
        )


def _describe_ending(ending: str) -> str:
    """Write what a file name ends in."""
    return f"ends in {ending}" if ending else "has no ending"


def check_outputs(
    outputs: Mapping[str, str | None], inputs: Iterable[str | None]
) -> None:
    """Raise InputError if an output cannot be written, or would replace an input.

    Parameters
    ----------
    outputs : mapping of str to str or None
        Option -> file.
    inputs : iterable of str or None
        Files that are read.
    """
    taken = {_identify(one): "" for one in inputs if one and one != STANDARD_STREAM}
    for option, name in outputs.items():
        if name is None or name == STANDARD_STREAM:
            continue
        _check_place(option, Path(name))
        if is_device(Path(name)):
            continue
        file = _identify(name)
        if file in taken:
            other = taken[file]
            clash = f"{other} writes there too" if other else "this is an input file"
            raise InputError(f"{option} {name}: {clash}; name another file.")
        taken[file] = option


def _identify(name: str) -> tuple[int, int] | Path:
    """Return device and inode of a file, equal for all its names, or its path."""
    with suppress(OSError, ValueError):
        found = Path(name).stat()
        return found.st_dev, found.st_ino
    return Path(name).resolve()


def _check_place(option: str, path: Path) -> None:
    """Raise InputError if a file cannot be written at a path."""
    try:
        if path.is_dir():
            raise InputError(f"{option} {path}: this is a folder; name a file in it.")
        check_replaceable(path)
        if is_device(path):
            return
        if not path.parent.exists():
            raise InputError(
                f"{option} {path}: there is no folder {path.parent}; create it first."
            )
        part = name_beside(path)
        part.touch(exist_ok=False)
        part.unlink()
    except OSError as error:
        raise InputError(
            f"{option} {path}: it cannot be written ({error.strerror}); name another "
            "file."
        ) from None


def check_files(invocation: Invocation) -> None:
    """Raise InputError unless all outputs can be written, before anything is read."""
    given = vars(invocation.options)
    check_outputs(
        {f"--{name.replace('_', '-')}": given.get(name) for name in _OUTPUTS},
        [given.get(name) for name in INPUTS],
    )
    if given.get("report") is not None:
        check_report(given["report"])
        require("jinja2", extra="report")


def save_fitted(
    invocation: Invocation, estimator: Any, schema: Schema, **notes: Any
) -> None:
    """Save an estimator with the schema of its table, if --save-model was given."""
    path = invocation.options.save_model
    if path is not None:
        from .._saving import write_estimator

        write_estimator(estimator, path, {"schema": schema.to_dict(), **notes})
        ids = ", ".join(map(repr, notes.get("ids", ())))
        invocation.note(
            f"model: {path}" + f", with the ids of all rows ({ids})" * bool(ids)
        )


def make_report(
    invocation: Invocation,
    table: LoadedTable,
    coded: CodedTable,
    kernel: Any,
    clusters: Any = None,
) -> None:
    """Write the report, if --report was given."""
    path = invocation.options.report
    if path is None:
        return
    from ..neighbors import fit_like
    from ..report import TableReport
    from .results import label_rows

    with invocation.progress(f"writing {path}"):
        if invocation.options.n_bins is None and kernel.matching == "pairwise":
            if clusters is None:
                kernel, coded = fit_like(kernel, coded.columns)
            else:  # the page fits the same
                kernel = None
        page = TableReport(
            coded,
            kernel=kernel,
            clusters=clusters,
            ids=label_rows(table),
            title=Path(table.name).name,
            assumptions=[name_options(line) for line in table.assumptions],
            doubts=[name_options(line) for line in table.doubts],
            made=_describe_call(invocation),
        )
        page.write_html(path)
    invocation.note(f"report: {path}")


def _describe_call(invocation: Invocation) -> str:
    """Write the day and the command that was typed, as far as it is known."""
    given = sys.argv[1:]
    if invocation.command not in given:  # called from Python
        given = [invocation.command, str(invocation.options.file)]
    command = shlex.join(["proximity-kernel", *given])
    return f"Made on {date.today():%Y-%m-%d} by the command: {command}"
