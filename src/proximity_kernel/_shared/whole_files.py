"""Write files completely, or not at all.

A file is written in the same folder under a temporary name, flushed to disk, and
renamed. It is locked while it is written, and a lock ends with its process. So a
temporary file without a lock was left by a killed writer, and the next writer removes
it. Devices and pipes are never replaced, but written to directly.
"""

from __future__ import annotations

import errno
import glob
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows: leftovers stay)
    fcntl = None  # type: ignore[assignment]

_LONGEST = 100  # bytes of the file's name that the temporary name repeats


def is_device(path: Path) -> bool:
    """Whether a path exists, but is neither a file nor a folder, such as /dev/null."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # free, or an invalid name
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def name_beside(path: Path) -> Path:
    """Make a new name for a temporary file, in the folder of a file or symlink target.

    A rename is atomic only within a file system. The name is new each time, because
    other processes may be writing too.
    """
    return path.resolve().with_name(f".{_shorten(path.name)}.{uuid4().hex}.part")


def _shorten(name: str) -> str:
    """Truncate a file name to 100 bytes, so that the temporary name is not too long."""
    return os.fsencode(name)[:_LONGEST].decode(errors="ignore")


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces the target on exit, unless an error occurs.

    An existing file is replaced by one with its permissions and owner. A character
    device or a pipe, which can only be written, and the file that standard output goes
    to are written to directly. `check_replaceable` says what raises OSError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "greeting.txt")) as file:
    ...         _ = file.write(b"hello")
    ...     [file.name for file in Path(folder).iterdir()]
    ['greeting.txt']
    """
    before = check_replaceable(path)
    if before is not None and (stream := _open_stream(path, before)) is not None:
        with stream:
            yield stream
        return
    target = path.resolve()
    _remove_leftovers(path)
    part, file = _create_locked(path)
    try:
        if before is not None:
            # The new file is never more readable than the old file, and it is writable
            # until it is complete.
            part.chmod(stat.S_IMODE(before.st_mode) | stat.S_IRUSR | stat.S_IWUSR)
        yield file
        file.flush()
        if before is not None:
            _take_permissions(part, before)
        os.fsync(file.fileno())
        if fcntl is None:  # pragma: no cover  (Windows renames closed files only)
            file.close()
        part.replace(target)
    finally:
        with suppress(OSError):  # on a full disk, what is left to write is lost
            file.close()
        with suppress(OSError):
            part.unlink(missing_ok=True)


def check_replaceable(path: Path) -> os.stat_result | None:
    """Return the status of a file, or None if it does not exist.

    Raises OSError if the file must not be replaced: a read-only file, disk or socket.
    """
    try:
        before = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISBLK(before.st_mode) or stat.S_ISSOCK(before.st_mode):
        raise OSError(errno.EINVAL, "It is a disk or a socket", str(path))
    # The mode is checked as well, because root may write to a read-only file.
    if not (before.st_mode & 0o222 and os.access(path, os.W_OK)):
        raise PermissionError(errno.EACCES, "It is read-only", str(path))
    return before


@contextmanager
def private_like(inputs: Iterable[str | None]) -> Iterator[None]:
    """Make new files readable only by the user, unless everybody may read all `inputs`.

    These are paths, or ``"-"`` for standard input; None is ignored.
    """
    modes = [_find_mode(one) for one in inputs if one]
    before = os.umask(0o077)
    if all(mode & stat.S_IROTH for mode in modes):
        os.umask(before)
    try:
        yield
    finally:
        os.umask(before)


def _find_mode(path: str) -> int:
    """Return the permissions of a regular file; 0o777 if there is no such file."""
    with suppress(OSError, ValueError, AttributeError):
        found = os.fstat(sys.stdin.fileno()) if path == "-" else Path(path).stat()
        if stat.S_ISREG(found.st_mode):
            return found.st_mode
    return 0o777


def _open_stream(path: Path, before: os.stat_result) -> BinaryIO | None:
    """Open a device, a pipe or the file that is standard output; else return None."""
    if not stat.S_ISREG(before.st_mode):
        flags = os.O_WRONLY | getattr(os, "O_BINARY", 0)  # never creates a file
        return os.fdopen(os.open(path, flags), "wb")
    with suppress(OSError, AttributeError):
        number = sys.__stdout__.fileno()  # type: ignore[union-attr]
        if os.path.samestat(before, os.fstat(number)):
            sys.stdout.flush()
            return os.fdopen(os.dup(number), "wb")
    return None


def _create_locked(path: Path) -> tuple[Path, BinaryIO]:
    """Create a locked temporary file in the folder of a file; closing it unlocks it."""
    while True:
        part = name_beside(path)
        file = part.open("x+b")
        if _lock(file) and not os.fstat(file.fileno()).st_nlink:
            file.close()  # removed by another writer before it was locked
            continue
        return part, file


def _lock(file: BinaryIO, *, wait: bool = True) -> bool:
    """Lock a file for this process; return whether it could be locked."""
    if fcntl is None:  # pragma: no cover
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files of writers of this file that were killed."""
    pattern = f".{glob.escape(_shorten(path.name))}.{'[0-9a-f]' * 32}.part"
    for part in path.resolve().parent.glob(pattern):
        with suppress(OSError):
            if not stat.S_ISREG(part.lstat().st_mode):
                continue  # opening a pipe would wait for its writer
            with part.open("rb") as file:
                if _lock(file, wait=False):
                    part.unlink()


def _take_permissions(part: Path, before: os.stat_result) -> None:
    """Give a new file the permissions of the old one, and its owner if possible."""
    with suppress(OSError, AttributeError):  # only root can; Windows has no owners
        os.chown(part, before.st_uid, before.st_gid)
    part.chmod(stat.S_IMODE(before.st_mode))
