"""A file or standard input, and what it is: by its first bytes, then by its ending."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from ._call import InputError

STANDARD_INPUT = "-"
_READ = "CSV, TSV, Parquet, Arrow and Excel (.xlsx) are read"
# First bytes -> kind.
_TABLES = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"FEA1": "feather",
    b"\xff\xff\xff\xff": "stream",
    b"PK\x03\x04": "excel",
}
# First bytes -> what it is instead, and what to do.
_OTHERS = {
    b"\xd0\xcf\x11\xe0": "an old Excel file; save it as .xlsx",
    b"%PDF": "a PDF file",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"SQLite format 3": "a SQLite database; export the table as CSV",
    b"BZh": "compressed (bzip2); unpack it first",
    b"\xfd7zXZ": "compressed (xz); unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed (zstd); unpack it first",
    b"\x80\x04": "a Python pickle",
    b"\x80\x05": "a Python pickle",
    b"\x7fELF": "a program",
}
_ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
_FAMILY = {"feather": "arrow", "stream": "arrow"}


@dataclass(frozen=True)
class Source:
    """A table that has not been read.

    Attributes
    ----------
    name : str
        As messages call it.
    kind : {"text", "parquet", "arrow", "feather", "stream", "excel"}
    data : bytes
    ending : str
        Of the file's name, without ``.gz``; empty for standard input.
    """

    name: str
    kind: str
    data: bytes
    ending: str = ""


def open_source(path: str) -> Source:
    """Find out what a file is, or standard input.

    Parameters
    ----------
    path : str
        ``"-"`` is standard input.

    Returns
    -------
    Source
    """
    name = "standard input" if path == STANDARD_INPUT else path
    data = _read_bytes(path)
    ending = "" if path == STANDARD_INPUT else Path(path).suffix.lower()
    if data[:2] == b"\x1f\x8b":
        data = _unpack(name, data)
        ending = Path(Path(path).stem).suffix.lower() if ending == ".gz" else ending
    if not data.strip():
        raise InputError(f"{name}: the file is empty; a table has a line for each row.")
    return Source(name, _find_kind(name, data, ending), data, ending)


def is_there(path: str) -> bool:
    """Tell whether there is something to read."""
    return path == STANDARD_INPUT or Path(path).exists()


def sniff_kind(path: str) -> str | None:
    """Tell whether a file, not standard input, can be read a group of rows at a time.

    Parameters
    ----------
    path : str

    Returns
    -------
    {"parquet", "arrow", None}
    """
    if path == STANDARD_INPUT or not Path(path).is_file():
        return None
    try:
        with Path(path).open("rb") as file:
            head = file.read(8)
    except OSError:
        return None
    kind = next((k for start, k in _TABLES.items() if head.startswith(start)), "text")
    if kind not in ("parquet", "arrow"):
        return None
    return _find_kind(path, head, Path(path).suffix.lower())


def _read_bytes(path: str) -> bytes:
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise InputError("standard input is closed; name a file.")
        return sys.stdin.buffer.read()
    if not path:
        raise InputError("FILE is empty; name a file, or - for standard input.")
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        if "://" in path:
            raise InputError(
                f"{path}: web addresses are not read; download the file first."
            ) from None
        raise InputError(f"{path}: there is no such file{_neighbour(path)}") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; name a file in it.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: it cannot be read ({reason}).") from None


def _neighbour(path: str) -> str:
    """Say which file beside it may have been meant."""
    from difflib import get_close_matches

    try:
        names = [one.name for one in Path(path).parent.iterdir()]
    except OSError:
        return "; check the folder's name."
    found = get_close_matches(Path(path).name, names, n=1)
    return f"; did you mean {found[0]}?" if found else "; check the name."


def _unpack(name: str, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{name}: this gzip file is damaged ({error}); make or fetch it again."
        ) from None


def _find_kind(name: str, data: bytes, ending: str) -> str:
    for start, what in _OTHERS.items():
        if data.startswith(start):
            raise InputError(f"{name}: this is {what}, not a table; {_READ}.")
    kind = next((k for start, k in _TABLES.items() if data.startswith(start)), "text")
    expected = _ENDINGS.get(ending, _FAMILY.get(kind, kind))
    if kind == "excel" and not _holds_sheets(data):
        raise InputError(f"{name}: this is a ZIP file, not a table; unpack it first.")
    if kind == "text":
        _refuse_other_text(name, data)
    if _FAMILY.get(kind, kind) != expected:
        found = "text" if kind == "text" else f"{kind.capitalize()}"
        raise InputError(
            f"{name}: it ends in {ending}, but its content is {found}; give it the "
            "ending of what it is."
        )
    return kind


def _holds_sheets(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except zipfile.BadZipFile:
        return True  # damaged: the reader says so


def find_wide(data: bytes) -> str | None:
    """Tell which UTF-16 a text is: by its mark, or as every second byte is 0.

    >>> find_wide("a,b".encode("utf-16-le")), find_wide(b"a,b")
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
    if b"\0" in head and not find_wide(data):
        raise InputError(f"{name}: this is binary, not a table; {_READ}.")
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        raise InputError(
            f"{name}: this is a web page or XML, not a table; {_READ}. A download may "
            "have given an error page."
        )
    if start.startswith((b"{", b'[{"', b"[[", b"[\n")):
        raise InputError(f"{name}: this is JSON, not a table; {_READ}.")
