"""Files that are there whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a place to write to, which becomes the file if all went well.

    A rename is one step only within a file system, so the place is in the same folder.
    Its name is a new one each time, because others may be writing as well.

    Parameters
    ----------
    path : Path
        An existing file is replaced.

    Yields
    ------
    Path

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "greeting.txt")) as part:
    ...         _ = part.write_text("hello")
    ...     [file.name for file in Path(folder).iterdir()]
    ['greeting.txt']
    """
    path = path.resolve()  # a link stays a link
    part = path.with_name(f".{uuid4().hex}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
