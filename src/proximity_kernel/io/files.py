"""Read the bytes of a path or buffer, and detect the type of the file.

The first bytes show the type. A file extension that contradicts them is an error.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

from .schema import InputError

_PAGE = "a web page or XML (perhaps of a failed download)"
_SUPPORTED = "supported are CSV, TSV, Parquet, Arrow and Excel (.xlsx)"
MAX_BYTES = 2**31
"""Maximum size of a decompressed file."""
_MAX_RATIO = 100  # of decompressed to stored size, in larger Parquet and Arrow files
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# First bytes -> type.
_TABLES = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "stream",
    b"PK\x03\x04": "excel",
}
# First bytes -> what the file is instead of a table, and what to do.
_OTHERS = {
    b"\xd0\xcf\x11\xe0": "an old Excel file; save it as .xlsx",
    b"%PDF": "a PDF file",
    b"SQLite format 3": "a SQLite database; export the table as CSV",
    b"BZh": "compressed with bzip2; decompress it first",
    b"\xfd7zXZ": "compressed with xz; decompress it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it first",
    b"<!doctype": _PAGE,
    b"<html": _PAGE,
    b"<?xml": _PAGE,
    **dict.fromkeys((b"{", b"[{", b"[[", b"[\n"), "JSON"),
}
_TYPE_OF_ENDING = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".xlsx", ".xlsm"), "excel"),
}


@dataclass(frozen=True)
class InputFile:
    """The content of a file, decompressed and not parsed yet; `name` is for messages.

    The type is "text", "parquet", "arrow", "stream" or "excel". `decoded` says whether
    the buffer returned str, which is encoded as UTF-8 in `data`.
    """

    name: str
    type: str
    data: bytes
    decoded: bool = False


def open_file(source: str | os.PathLike[str] | IO[Any]) -> InputFile:
    """Read the bytes of a path or buffer, decompress them, and detect the file type."""
    decoded = False
    if hasattr(source, "read"):
        name, data, decoded = _read_buffer(source)
    elif isinstance(source, str | os.PathLike):
        name, data = os.fspath(source), _read_path(os.fspath(source))
    else:
        raise InputError(
            "`path_or_buffer` must be a path or a file-like object; got "
            f"{type(source).__name__}."
        )
    path = Path(name)
    ending = path.suffix.lower()
    if data[:2] == b"\x1f\x8b":
        data = _decompress(name, data)
        ending = Path(path.stem).suffix.lower() if ending == ".gz" else ending
    if not data.strip():
        raise InputError(f"{name}: the file is empty; a table has a line for each row.")
    return InputFile(name, _find_type(name, data, ending), data, decoded)


def find_batched_type(path: str) -> str | None:
    """Return "parquet" or "arrow" if a file has this type; None for other types."""
    if not Path(path).is_file():
        return None
    with suppress(OSError), Path(path).open("rb") as file:
        head = file.read(8)
        if _match_table(head) in ("parquet", "arrow"):
            return _find_type(path, head, Path(path).suffix.lower())
    return None


def _read_buffer(buffer: Any) -> tuple[str, bytes, bool]:
    """Return the name of a buffer, its bytes, and whether it returned str."""
    name = getattr(buffer, "name", None)
    name = name if isinstance(name, str) else "buffer"
    name = "standard input" if name == "<stdin>" else name
    data = buffer.read()
    decoded = isinstance(data, str)
    try:
        return name, data.encode() if decoded else bytes(data), decoded
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name}: {error}; decode the text with another encoding."
        ) from None


def _read_path(path: str) -> bytes:
    """Read the bytes of a file; an error message says what is wrong with its path."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        if "://" in path:
            raise InputError(
                f"{path}: web addresses are not supported; download the file first."
            ) from None
        names = [one.name for one in Path(path).parent.glob("*")]
        found = get_close_matches(Path(path).name, names, n=1)
        hint = f"did you mean {found[0]}?" if found else "check the name."
        raise FileNotFoundError(f"{path}: there is no such file; {hint}") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; name a file in it.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: the file cannot be read ({reason}).") from None


def _decompress(name: str, data: bytes) -> bytes:
    """Decompress a gzip file; raise InputError if it is damaged or too large."""
    try:
        with gzip.open(io.BytesIO(data)) as file:
            content = file.read(MAX_BYTES + 1)
        check_size(name, len(content))
        return content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{name}: this gzip file is damaged ({error}); create or download it again."
        ) from None


def check_size(name: str, n_bytes: int, n_held: int = 0) -> None:
    """Raise InputError if the decompressed content of a file has too many bytes.

    `n_held` is the stored size of a Parquet or Arrow file, whose content may be 100
    times as large; 0 for other types.
    """
    if n_bytes > max(MAX_BYTES, _MAX_RATIO * n_held):
        remedy = "decompress it, and convert the table to Parquet, which is read"
        if n_held:
            remedy = "read it"
        raise InputError(
            f"{name}: its content is larger than {MAX_BYTES / 2**30:g} GiB; {remedy} "
            "in batches."
        )


def _match_table(data: bytes) -> str:
    """Return the file type whose magic bytes `data` begins with; "text" if none."""
    found = (name for start, name in _TABLES.items() if data.startswith(start))
    return next(found, "text")


def _find_type(name: str, data: bytes, ending: str) -> str:
    """Detect the type of a file; raise InputError if it is unsupported or misnamed."""
    found = _match_table(data)
    start = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    for other, what in _OTHERS.items():
        if start.startswith(other) or start.lower().startswith(other):
            raise InputError(f"{name}: this is {what}, not a table; {_SUPPORTED}.")
    if found == "text" and b"\0" in data[:4096] and not data.startswith(UTF16_MARKS):
        raise InputError(f"{name}: this is binary, not a table; {_SUPPORTED}.")
    family = "arrow" if found == "stream" else found
    if family != _TYPE_OF_ENDING.get(ending, family):
        content = "text" if found == "text" else found.capitalize()
        raise InputError(
            f"{name}: it ends in {ending}, but its content is {content}; give it the "
            "extension of its content."
        )
    return found
