"""Check the files of a call before the work begins: inputs, outputs, formats.

Nothing here takes long to import, so that a wrong name is reported at once.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from .._shared.extras import require
from .._shared.whole_files import check_replaceable, is_device, name_beside
from ..io import InputError
from ..io.files import open_file
from ..io.write import FORMAT_OF_ENDING
from .arguments import INPUTS, name_option

STANDARD_STREAM = "-"
"""The file name that means standard input or, as an output, standard output."""
_PAGES = {".html": "html", ".htm": "html"}
_SPARSE = {".npz": "npz"}
_TABLES = ("file", "queries", "new")  # options that name tables to read
# Option that names a file to write -> format of each allowed ending; None allows all.
_OUTPUTS = {
    "output": FORMAT_OF_ENDING,
    "report": _PAGES,
    "profiles": FORMAT_OF_ENDING,
    "uncertainty": FORMAT_OF_ENDING,
    "save_model": None,
}


def check_files(command: str, options: argparse.Namespace) -> dict[str, str]:
    """Raise an error unless all inputs exist and all outputs can be written.

    Returns the format to write for each output, by the name of its option, such as
    "report". The page of the command `report` is named after the table if no name was
    given.
    """
    given = vars(options)
    for path in (given[name] for name in _TABLES if given.get(name)):
        # Path.exists would fail for an invalid name; open_file raises with a reason.
        if path != STANDARD_STREAM and not os.path.exists(path):  # noqa: PTH110
            open_file(path)
    if command == "report" and options.report is None:
        name = Path(options.file.removeprefix(STANDARD_STREAM)).name.partition(".")[0]
        options.report = f"{name or 'report'}.html"
    named = {name_option(name): given.get(name) for name in _OUTPUTS}
    check_outputs(named, [given.get(name) for name in INPUTS])
    if given.get("report") is not None:
        require("jinja2", extra="report")
    formats = {}
    for name, known in _OUTPUTS.items():
        if name in given and known is not None:
            asked = given.get("format") if name == "output" else None
            known = known | _SPARSE if command == "represent" else known  # noqa: PLW2901
            formats[name] = find_format(given[name], asked, known, name_option(name))
    return formats


def find_format(
    path: str | None,
    asked: str | None,
    known: Mapping[str, str] = FORMAT_OF_ENDING,
    option: str = "--output",
) -> str:
    """Find the format of an output file; raise InputError for an unknown ending.

    None is standard output; `asked` is the value of --format, and `option` the option
    that names the output.

    >>> find_format("a.parquet", None), find_format(None, None)
    ('parquet', 'csv')
    """
    if asked is not None:
        return asked
    is_stream = path == STANDARD_STREAM and known is not _PAGES
    if path is None or is_stream or is_device(Path(path)):
        return "csv"
    ending = Path(path).suffix.lower()
    if ending not in known:
        found = f"ends in {ending}" if ending else "has no ending"
        also = ", or give --format" if option == "--output" else ""
        raise InputError(
            f"{option} {path}: it {found}; allowed: {', '.join(known)}{also}."
        )
    return known[ending]


def check_outputs(
    outputs: Mapping[str, str | None], inputs: Iterable[str | None]
) -> None:
    """Raise InputError if an output cannot be written, or if two files are the same.

    `outputs` has the file of each option; an output may not replace an input.
    """
    taken = {_identify(one): "" for one in inputs if one and one != STANDARD_STREAM}
    for option, name in outputs.items():
        if name is None or name == STANDARD_STREAM:
            continue
        _check_place(option, path := Path(name))
        if is_device(path):
            continue
        file = _identify(name)
        if file in taken:
            other = taken[file]
            clash = f"{other} writes there too" if other else "this is an input file"
            raise InputError(f"{option} {name}: {clash}; name another file.")
        taken[file] = option


def _identify(name: str) -> tuple[int, int] | Path:
    """Identify a file, whatever its name: device and inode, or path if it is new."""
    with suppress(OSError, ValueError):
        found = Path(name).stat()
        return found.st_dev, found.st_ino
    return Path(name).resolve()


def _check_place(option: str, path: Path) -> None:
    """Raise InputError if a path is a folder, or no file can be written there."""
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
