"""Files that are there whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

_LONGEST = 100  # characters of the name that the other one is known by


def name_beside(path: Path) -> Path:
    """Name a new file in the folder of another, which may be a link.

    A rename is one step only within a file system, so it is the same folder; and the
    name is a new one each time, because others may be writing as well.
    """
    return path.resolve().with_name(f".{path.name[:_LONGEST]}.{uuid4().hex}.part")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a place to write to, which becomes the file if all went well.

    Parameters
    ----------
    path : Path
        An existing file is replaced.

    Yields
    ------
    Path
        In the same folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "greeting.txt")) as part:
    ...         _ = part.write_text("hello")
    ...     [file.name for file in Path(folder).iterdir()]
    ['greeting.txt']
    """
    part = name_beside(path)
    try:
        yield part
        part.replace(path.resolve())
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
