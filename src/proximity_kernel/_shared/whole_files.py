"""Write files completely, or not at all.

A file is written in the same folder under a temporary name, flushed to disk, and
renamed. It is locked while it is written, and a lock ends with its process. So a
temporary file without a lock was left by a killed writer, and the next writer removes
it.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows: leftovers stay)
    fcntl = None  # type: ignore[assignment]

_LONGEST = 100  # characters of the file's name that the temporary name begins with


def name_beside(path: Path) -> Path:
    """Name a temporary file in the folder of another, which may be a link.

    It is the same folder because a rename is atomic only within a file system. The name
    is new each time because other processes may be writing too.
    """
    return path.resolve().with_name(f".{path.name[:_LONGEST]}.{uuid4().hex}.part")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Open a temporary file, which becomes the file if no error occurs.

    Parameters
    ----------
    path : Path
        An existing file is replaced; the new one has its permissions and owner.

    Yields
    ------
    Path
        An empty file in the same folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "greeting.txt")) as part:
    ...         _ = part.write_text("hello")
    ...     [file.name for file in Path(folder).iterdir()]
    ['greeting.txt']
    """
    target = path.resolve()
    before = target.stat() if target.exists() else None
    _remove_leftovers(path)
    part, file = _create_locked(path)
    try:
        if before is not None:
            # Private from the first byte, and writable until it is complete.
            part.chmod(stat.S_IMODE(before.st_mode) | stat.S_IRUSR | stat.S_IWUSR)
        yield part
        if before is not None:
            _take_permissions(part, before)
        os.fsync(file.fileno())
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        file.close()


def _create_locked(path: Path) -> tuple[Path, BinaryIO]:
    """Create a temporary file for another; it is locked until it is closed."""
    while True:
        part = name_beside(path)
        file = part.open("xb")
        if _lock(file) and not os.fstat(file.fileno()).st_nlink:
            file.close()  # removed by another writer before it was locked
            continue
        return part, file


def _lock(file: BinaryIO, *, wait: bool = True) -> bool:
    """Lock a file; returns False if that is not possible."""
    if fcntl is None:  # pragma: no cover
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files of writers of this file that were killed."""
    pattern = f".{glob.escape(path.name[:_LONGEST])}.{'[0-9a-f]' * 32}.part"
    for part in path.resolve().parent.glob(pattern):
        with suppress(OSError), part.open("rb") as file:
            if _lock(file, wait=False):
                part.unlink()


def _take_permissions(part: Path, before: os.stat_result) -> None:
    """Give a new file the permissions of the old one, and its owner if possible."""
    with suppress(OSError, AttributeError):  # only root can; Windows has no owners
        os.chown(part, before.st_uid, before.st_gid)
    part.chmod(stat.S_IMODE(before.st_mode))
