"""The raw files of a table: found in the data home, checked, or put there.

A data home is a folder with one folder for each table, and in it the files as their
publisher gives them out. Files that are there are only read, so that a data home may be
read-only. Every file is checked by its digest at each reading; what is read is parsed
from the very bytes that were checked.

A file that was downloaded is written beside its place under another name and then
renamed, which the system does in one step. Whoever looks sees the whole file or none,
also when two programs load the same table at the same time.
"""

from __future__ import annotations

import hashlib
import os
from importlib.resources import files
from pathlib import Path

import pooch

from .._whole import whole_file
from ._catalogue import RawFile, Table
from ._download import by_hand, download

VARIABLE = "PROXIMITY_KERNEL_DATA"
LIBRARY = Path(str(files("proximity_kernel")))  # where packaged tables lie

Home = str | os.PathLike[str] | None


class WrongFileError(ValueError):
    """A file in the data home is another than the one in the catalogue."""


def find_home(given: Home = None) -> Path:
    """Say which folder is the data home: as given, by the environment, or the cache.

    >>> find_home("tables").name
    'tables'
    """
    chosen = given or os.environ.get(VARIABLE)
    if not chosen:
        chosen = pooch.os_cache("proximity-kernel")
    return Path(chosen).expanduser()


def folder_of(table: Table, home: Home = None) -> Path:
    """Say where the files of a table lie."""
    return (LIBRARY if table.packaged else find_home(home)) / table.name


def absent(table: Table, home: Home = None) -> list[RawFile]:
    """Name the files of a table that are not in the data home."""
    folder = folder_of(table, home)
    return [file for file in table.files if not (folder / file.name).exists()]


def read_files(table: Table, home: Home = None) -> list[bytes]:
    """Read the files of a table; download first what is not in the data home.

    Parameters
    ----------
    table : Table
    home : path, optional
        The data home. Nothing is written there if all the files are present.

    Returns
    -------
    list of bytes
        The contents, in the order of ``table.files``.
    """
    folder = folder_of(table, home)
    lacking = absent(table, home)
    if lacking:
        for name, content in download(table, lacking, folder).items():
            try:
                _keep(folder / name, content)
            except OSError as error:
                raise OSError(
                    f"{table.name}: {folder / name} could not be written ({error}). "
                    f"Choose another data home, by the argument or by {VARIABLE}. "
                    f"{by_hand(table, lacking, folder)}"
                ) from error
    return [read_checked(folder / file.name, file) for file in table.files]


def read_checked(path: Path, file: RawFile) -> bytes:
    """Read a file, and refuse any other than the one in the catalogue."""
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        # Not ours to throw away: it may be the user's own, or a newer release.
        raise WrongFileError(
            f"{path} is not the file that the catalogue describes: its sha256 is "
            f"{found}, wanted is {file.sha256} ({file.bytes} bytes). Move it away "
            "and load again to have it downloaded, or put the publisher's file there."
        )
    return content


def _keep(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as part:
        part.write_bytes(content)
