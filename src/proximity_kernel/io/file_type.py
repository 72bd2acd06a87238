"""A path or buffer in, its bytes and the type of the file out.

The type is found from the first bytes. An ending that contradicts them is an error.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

from .errors import InputError

_SUPPORTED = "supported are CSV, TSV, Parquet, Arrow and Excel (.xlsx)"
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
    b"FEA1": "an old Feather file; write it again as Feather 2 or Parquet",
    b"%PDF": "a PDF file",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"SQLite format 3": "a SQLite database; export the table as CSV",
    b"BZh": "compressed with bzip2; decompress it first",
    b"\xfd7zXZ": "compressed with xz; decompress it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it first",
    b"\x80\x04": "a Python pickle",
    b"\x80\x05": "a Python pickle",
    b"\x7fELF": "a program",
}
_TYPE_OF_ENDING = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
_BUFFER_NAMES = {"<stdin>": "standard input"}


@dataclass(frozen=True)
class InputFile:
    """The content of a file, not parsed yet.

    Attributes
    ----------
    name : str
        For messages.
    type : {"text", "parquet", "arrow", "stream", "excel"}
    data : bytes
        Decompressed.
    decoded : bool
        Whether a buffer gave text, which `data` holds in UTF-8.
    """

    name: str
    type: str
    data: bytes
    decoded: bool = False


def open_file(source: str | os.PathLike[str] | IO[Any]) -> InputFile:
    """Read the bytes of a file or buffer, and find its type.

    Parameters
    ----------
    source : path or file-like object

    Returns
    -------
    InputFile
    """
    decoded = False
    if hasattr(source, "read"):
        name, data, decoded = _read_buffer(source)
    else:
        name, data = os.fspath(source), _read_path(os.fspath(source))
    path = Path(name)
    ending = path.suffix.lower()
    if data[:2] == b"\x1f\x8b":
        data = _decompress(name, data)
        ending = Path(path.stem).suffix.lower() if ending == ".gz" else ending
    if not data.strip():
        raise InputError(f"{name}: the file is empty; a table has a line for each row.")
    return InputFile(name, _find_type(name, data, ending), data, decoded)


def find_batched_type(path: str) -> str | None:
    """Find whether a file can be read in batches: its type, or None if it cannot.

    Parameters
    ----------
    path : str

    Returns
    -------
    {"parquet", "arrow", None}
    """
    if not Path(path).is_file():
        return None
    with suppress(OSError), Path(path).open("rb") as file:
        head = file.read(8)
        if _match_table(head) in ("parquet", "arrow"):
            return _find_type(path, head, Path(path).suffix.lower())
    return None


def _read_buffer(buffer: Any) -> tuple[str, bytes, bool]:
    name = getattr(buffer, "name", None)
    name = _BUFFER_NAMES.get(name, name) if isinstance(name, str) else "buffer"
    data = buffer.read()
    decoded = isinstance(data, str)
    return name, data.encode() if decoded else bytes(data), decoded


def _read_path(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        if "://" in path:
            raise InputError(
                f"{path}: web addresses are not supported; download the file first."
            ) from None
        raise FileNotFoundError(
            f"{path}: there is no such file{_suggest_file(path)}"
        ) from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; name a file in it.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: the file cannot be read ({reason}).") from None


def _suggest_file(path: str) -> str:
    """Suggest a file of the same folder with a similar name."""
    try:
        names = [one.name for one in Path(path).parent.iterdir()]
    except OSError:
        return "; check the name of the folder."
    found = get_close_matches(Path(path).name, names, n=1)
    return f"; did you mean {found[0]}?" if found else "; check the name."


def _decompress(name: str, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{name}: this gzip file is damaged ({error}); create or download it again."
        ) from None


def _match_table(data: bytes) -> str:
    found = (name for start, name in _TABLES.items() if data.startswith(start))
    return next(found, "text")


def _find_type(name: str, data: bytes, ending: str) -> str:
    for start, what in _OTHERS.items():
        if data.startswith(start):
            raise InputError(f"{name}: this is {what}, not a table; {_SUPPORTED}.")
    found = _match_table(data)
    if found == "excel" and not _holds_sheets(data):
        raise InputError(f"{name}: this is a ZIP file, not a table; unpack it first.")
    if found == "text":
        _refuse_other_text(name, data)
    family = "arrow" if found == "stream" else found
    if family != _TYPE_OF_ENDING.get(ending, family):
        content = "text" if found == "text" else found.capitalize()
        raise InputError(
            f"{name}: it ends in {ending}, but its content is {content}; rename it to "
            "the ending of its content."
        )
    return found


def _holds_sheets(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except zipfile.BadZipFile:
        return True  # damaged: an error when it is parsed


def find_utf16(data: bytes) -> str | None:
    """Find which UTF-16 a text is: by its mark, or because every second byte is 0.

    >>> find_utf16("a,b".encode("utf-16-le")), find_utf16(b"a,b")
    ('utf-16-le', None)
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    head = data[:4096]
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = head[first::2].count(0), head[1 - first :: 2].count(0)
        if not others and zeros > 0.7 * len(head) / 2:
            text = head[: len(head) // 2 * 2].decode(name, "replace")
            return name if all(c.isprintable() or c in "\t\r\n" for c in text) else None
    return None


def _refuse_other_text(name: str, data: bytes) -> None:
    head = data[:4096]
    if b"\0" in head and not find_utf16(data):
        raise InputError(f"{name}: this is binary, not a table; {_SUPPORTED}.")
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        raise InputError(
            f"{name}: this is a web page or XML, not a table; {_SUPPORTED}. A failed "
            "download may have saved an error page."
        )
    if start.startswith((b"{", b'[{"', b"[[", b"[\n")):
        raise InputError(f"{name}: this is JSON, not a table; {_SUPPORTED}.")
