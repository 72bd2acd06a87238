"""Downloads: fetch, unwrap, check, and try again.

The UCI archive gives out each table as a ZIP of raw files; kidney is a RAR inside that
ZIP. It also offers a ``data.csv`` for each table, which would be easier to read, and is
not used: two labels of kidney hold a stray tab there, the missing cells of one half of
adult are a category, and the orders and kinds of the raw files' documentation are lost.

The archive has outages of minutes, when it answers with errors or breaks off. So a
download is tried again after a pause, and then again after longer ones; but not where
the server says that the fault is in what it was asked for. Everything is held in memory
(the largest table has 6 MB) until its digest is right, so that a failure leaves
nothing behind on disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
import subprocess
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path, PurePosixPath
from typing import Any

import pooch

from ._catalogue import RawFile, Table

PAUSES = (2.0, 6.0, 18.0)  # seconds before each new attempt
TIMEOUT = (10, 60)  # seconds to connect, and between two pieces of an answer
DEADLINE = 600.0  # seconds for all of an attempt
UNPACKING = 60  # seconds for a program to open a RAR
LATER = (408, 429)  # of the answers 4xx, those that another attempt may change
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


class RefusedError(RuntimeError):
    """The server will not give this out: trying again would not help."""


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
        except (CannotUnpackError, RefusedError) as error:
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
    """Fetch an address into memory, within the deadline.

    The timeouts are for each piece of an answer, so that a server that sends a byte now
    and then never meets one. Hence the thread, which is left behind at the deadline.
    """
    responses: list[Any] = []
    fetched: Future[bytes] = Future()

    def keep(response: Any, **_: Any) -> None:
        responses.append(response)

    def work() -> None:
        content = io.BytesIO()
        try:
            # Not as a stream: where one fails, pooch leaves its connection open.
            pooch.HTTPDownloader(
                timeout=TIMEOUT, stream=False, hooks={"response": keep}
            )(address, content, None)
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            fetched.set_exception(error)
        else:
            fetched.set_result(content.getvalue())

    threading.Thread(target=work, name="download", daemon=True).start()
    try:
        return fetched.result(DEADLINE)
    except OSError as error:
        if not fetched.done():
            _hang_up(responses)
            raise TimeoutError(f"it took more than {DEADLINE:g} seconds.") from None
        status = getattr(getattr(error, "response", None), "status_code", 0)
        if 400 <= status < 500 and status not in LATER:
            raise RefusedError(f"{address} cannot be downloaded: {error}.") from error
        raise


def _hang_up(responses: list[Any]) -> None:
    """End a thread that still reads, where urllib3 can (since 2.3)."""
    for response in responses[-1:]:
        with contextlib.suppress(AttributeError, OSError, ValueError):
            response.raw.shutdown()


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
    except ValueError:  # ours
        raise
    except Exception as error:  # a damaged one has many: zlib.error, EOFError, ...
        raise ValueError(f"what came is no whole ZIP file ({error}).") from error


def _from_rar(blob: bytes, wanted: Wanted) -> bytes:
    programs = list(filter(shutil.which, UNPACKERS))
    if not programs:
        raise CannotUnpackError(
            "The publisher wraps this table in a RAR archive, and no program to open "
            f"one was found ({', '.join(UNPACKERS)})."
        )
    failures = []
    for program in programs:
        try:
            return _unpack(program, blob, wanted)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            failures.append(f"{program} could not open the RAR archive ({error}).")
    raise CannotUnpackError(" ".join(failures))


def _unpack(program: str, blob: bytes, wanted: Wanted) -> bytes:
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryFile() as errors:
        folder = Path(name)
        (folder / "archive.rar").write_bytes(blob)
        # A file, not a pipe: what the program started could hold a pipe open.
        done = subprocess.run(
            [str(shutil.which(program)), *UNPACKERS[program]],
            cwd=folder,
            stdin=subprocess.DEVNULL,  # nobody is there to answer a question
            stdout=subprocess.DEVNULL,
            stderr=errors,
            timeout=UNPACKING,
            check=False,
        )
        if done.returncode:
            errors.seek(0)
            raise ValueError(errors.read().decode(errors="replace").strip())
        found = (path for path in folder.rglob("*") if path.is_file())
        paths = [path.relative_to(folder).as_posix() for path in found]
        return (folder / _only(paths, wanted)).read_bytes()


OPENERS = {"zip": _from_zip, "rar": _from_rar}
