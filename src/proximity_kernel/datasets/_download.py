"""Downloads: fetch, unwrap, check, and try again.

The UCI archive gives out each table as a ZIP of raw files; kidney is a RAR inside that
ZIP. It also offers a ``data.csv`` for each table, which would be easier to read, and is
not used: two labels of kidney hold a stray tab there, the missing cells of one half of
adult are a category, and the orders and kinds of the raw files' documentation are lost.

The archive has outages of minutes, when it answers with errors or breaks off. So a
download is tried again after a pause, and then again after longer ones. Everything is
held in memory (the largest table has 6 MB) until its digest is right, so that a failure
leaves nothing behind on disk.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from .._extras import require
from ._catalogue import RawFile, Table

PAUSES = (2.0, 6.0, 18.0)  # seconds before each new attempt
TIMEOUT = 60  # seconds without an answer
# Programs that can read a RAR, which the standard library cannot, and how.
UNPACKERS = {
    "bsdtar": ("-xf", "archive.rar"),
    "unrar": ("x", "-idq", "archive.rar"),
    "7zz": ("x", "-bso0", "archive.rar"),
    "7z": ("x", "-bso0", "archive.rar"),
}

Wanted = Callable[[PurePosixPath], bool]


class CannotUnpackError(RuntimeError):
    """No program here can open the archive: trying again would not help."""


def download(table: Table, files: Iterable[RawFile], folder: Path) -> dict[str, bytes]:
    """Fetch files of a table from its publisher.

    Parameters
    ----------
    table : Table
    files : iterable of RawFile
        Those of the table's files that are wanted.
    folder : Path
        Where they belong; only for what an error says, nothing is written.

    Returns
    -------
    dict of str to bytes
        The contents by file name, with the digests of the catalogue.
    """
    files = tuple(files)
    pauses = iter(PAUSES)
    while True:
        try:
            return attempt(table, files)
        except CannotUnpackError as error:
            raise OSError(f"{error} {by_hand(table, files, folder)}") from error
        except (OSError, ValueError) as error:
            pause = next(pauses, None)
            if pause is None:
                raise OSError(
                    f"{table.name}: {len(PAUSES) + 1} attempts to download "
                    f"{table.address} failed, the last with: {error} "
                    f"{by_hand(table, files, folder)}"
                ) from error
            wait(pause)


def wait(seconds: float) -> None:
    """Wait before a new attempt; a function of its own so that tests need not."""
    time.sleep(seconds)


def attempt(table: Table, files: tuple[RawFile, ...]) -> dict[str, bytes]:
    """Fetch and check once; an OSError or a ValueError says what went wrong."""
    blob = fetch(table.address)
    contents = {file.name: unwrap(blob, table.wrapping, file.name) for file in files}
    for file in files:
        found = hashlib.sha256(contents[file.name]).hexdigest()
        if found != file.sha256:
            raise ValueError(
                f"what came as {file.name} has the sha256 {found}, wanted is "
                f"{file.sha256}."
            )
    return contents


def fetch(address: str) -> bytes:
    """Fetch an address into memory."""
    pooch = require("pooch", extra="datasets")
    content = io.BytesIO()
    # Not as a stream: where one fails, pooch leaves its connection open.
    pooch.HTTPDownloader(timeout=TIMEOUT, stream=False)(address, content, None)
    return content.getvalue()


def by_hand(table: Table, files: Iterable[RawFile], folder: Path) -> str:
    """Say which file to put where."""
    places = ", ".join(f"{folder / file.name} (sha256 {file.sha256})" for file in files)
    return f"To do it by hand, see {table.page} and put the raw file here: {places}."


def unwrap(blob: bytes, wrapping: Iterable[str], name: str) -> bytes:
    """Take a file out of the archives around it, wherever it lies in them.

    >>> archive = io.BytesIO()
    >>> with zipfile.ZipFile(archive, "w") as file:
    ...     file.writestr("folder/a.data", "1,2")
    >>> unwrap(archive.getvalue(), ["zip"], "a.data")
    b'1,2'
    >>> unwrap(b"1,2", [], "a.data")
    b'1,2'
    """
    layers = list(wrapping)
    for layer, inner in zip(layers, [*layers, None][1:], strict=True):
        blob = OPENERS[layer](blob, _sought(name, inner))
    return blob


def _sought(name: str, inner: str | None) -> Wanted:
    if inner is None:
        return lambda path: path.name == name
    return lambda path: path.suffix.lower() == f".{inner}"


def _only(paths: Iterable[str], wanted: Wanted) -> str:
    found = [path for path in paths if wanted(PurePosixPath(path))]
    if len(found) != 1:
        raise ValueError(f"the archive holds {len(found)} such files, not one.")
    return found[0]


def _from_zip(blob: bytes, wanted: Wanted) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(blob)) as archive:
            return archive.read(_only(archive.namelist(), wanted))
    except zipfile.BadZipFile as error:
        raise ValueError(f"what came is no whole ZIP file ({error}).") from error


def _from_rar(blob: bytes, wanted: Wanted) -> bytes:
    program = next(filter(shutil.which, UNPACKERS), None)
    if program is None:
        raise CannotUnpackError(
            "The publisher wraps this table in a RAR archive, and no program to open "
            f"one was found ({', '.join(UNPACKERS)})."
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "archive.rar").write_bytes(blob)
        command = [str(shutil.which(program)), *UNPACKERS[program]]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise ValueError(f"{program} could not open the RAR archive ({said}).")
        found = (path for path in folder.rglob("*") if path.is_file())
        paths = [path.relative_to(folder).as_posix() for path in found]
        return (folder / _only(paths, wanted)).read_bytes()


OPENERS = {"zip": _from_zip, "rar": _from_rar}
