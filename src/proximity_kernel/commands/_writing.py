"""Results in, files out: each whole, or not there.

A file is written beside its place under another name and then renamed, which the system
does in one step. Whether that can be done is asked before the long work, not after it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from .._extras import require
from ._call import InputError
from ._source import STANDARD_INPUT

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
}
PAGES = (".html", ".htm")
EXCEL_ROWS = 2**20 - 1  # that a sheet can hold, below its header


def find_format(
    path: str | None,
    asked: str | None,
    more: Iterable[str] = (),
    option: str = "--output",
) -> str:
    """Tell the format of an output, by what was asked or by its ending.

    Parameters
    ----------
    path : str or None
        None is standard output.
    asked : str or None
    more : iterable of str
        Endings, as ``".npz"``, that the command writes beside the usual ones.
    option : str
        That names the output.

    Returns
    -------
    str

    Examples
    --------
    >>> find_format("a.parquet", None), find_format(None, None)
    ('parquet', 'csv')
    """
    if asked is not None:
        return asked
    if path is None or path == STANDARD_INPUT or _is_device(Path(path)):
        return "csv"
    known = ENDINGS | {ending: ending[1:] for ending in more}
    ending = Path(path).suffix.lower()
    if ending not in known:
        found = f"ends in {ending}" if ending else "has no ending"
        raise InputError(
            f"{option} {path}: it {found}; name it .csv, .parquet, .json or another of "
            f"{', '.join(known)}, or give --format."
        )
    return known[ending]


def check_page(option: str, path: str) -> None:
    """Refuse a page whose name is another format's."""
    ending = Path(path).suffix.lower()
    if ending not in PAGES and not _is_device(Path(path)):
        found = f"ends in {ending}" if ending else "has no ending"
        raise InputError(
            f"{option} {path}: it {found}; the page is HTML, name it .html."
        )


def check_outputs(
    outputs: Mapping[str, str | None], inputs: Iterable[str | None]
) -> None:
    """Refuse outputs that cannot be written, or that would destroy an input.

    Parameters
    ----------
    outputs : mapping of str to str or None
        Files by the options that name them.
    inputs : iterable of str or None
    """
    taken: dict[Path, str] = {}
    read = [Path(one) for one in inputs if one not in (None, STANDARD_INPUT)]
    for option, name in outputs.items():
        if name is None or name == STANDARD_INPUT:
            continue
        path = Path(name)
        _check_place(option, path)
        place = path.resolve()
        if any(place == other.resolve() for other in read):
            raise InputError(
                f"{option} {name}: this is the input itself; name another file."
            )
        if place in taken:
            raise InputError(
                f"{option} {name}: {taken[place]} writes there too; name another file."
            )
        taken[place] = option


def _check_place(option: str, path: Path) -> None:
    said = f"{option} {path}"
    try:
        if path.is_dir():
            raise InputError(f"{said}: this is a folder; name a file in it.")
        if _is_device(path):
            return
        if not path.parent.exists():
            raise InputError(
                f"{said}: there is no folder {path.parent}; make it first."
            )
        part = _part_of(path)
        part.touch()
        part.unlink()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{said}: it cannot be written ({reason}); name another place."
        ) from None


def _is_device(path: Path) -> bool:
    """Whether this is neither a file, a folder nor free: /dev/null, or a pipe."""
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except OSError:  # a name that cannot be
        return False


def _part_of(path: Path) -> Path:
    return path.resolve().with_name(f".{path.name[:100]}.{uuid4().hex}.part")


@contextmanager
def whole_file(path: str) -> Iterator[Path]:
    """Give a place to write to, which becomes the file if all went well.

    Parameters
    ----------
    path : str

    Yields
    ------
    Path
    """
    target = Path(path)
    if _is_device(target):
        yield target
        return
    part = _part_of(target)
    try:
        yield part
        part.replace(target.resolve())
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_frame(frame: Any, path: str | None, form: str) -> None:
    """Write a table of results.

    Parameters
    ----------
    frame : pandas.DataFrame
    path : str or None
        None is standard output.
    form : str
        A value of `ENDINGS`.
    """
    if form == "xlsx" and len(frame) > EXCEL_ROWS:
        raise InputError(
            f"--output {path}: a sheet holds {EXCEL_ROWS:,} rows, these are "
            f"{len(frame):,}; name it .csv or .parquet."
        )
    write = _WRITERS[form]
    try:
        if path is None or path == STANDARD_INPUT:
            write(frame, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        with whole_file(path) as part, part.open("wb") as file:
            write(frame, file)
    except BrokenPipeError:
        raise
    except OSError as error:  # names the place, also where the system does not
        reason = error.strerror or str(error)
        raise OSError(error.errno, reason, path or "standard output") from None


def write_csv(
    frame: Any, file: IO[bytes], separator: str = ",", *, header: bool = True
) -> None:
    """Write rows as text, below a line of names."""
    frame.to_csv(
        file,
        sep=separator,
        header=header,
        index=False,
        encoding="utf-8",
        lineterminator="\n",
    )


def _write_tsv(frame: Any, file: IO[bytes]) -> None:
    write_csv(frame, file, "\t")


def _write_parquet(frame: Any, file: IO[bytes]) -> None:
    arrow = require("pyarrow", extra="cli")
    table = arrow.Table.from_pandas(plain(frame), preserve_index=False)
    require("pyarrow.parquet", extra="cli").write_table(table, file)


def _write_arrow(frame: Any, file: IO[bytes]) -> None:
    arrow = require("pyarrow", extra="cli")
    table = arrow.Table.from_pandas(plain(frame), preserve_index=False)
    with require("pyarrow.ipc", extra="cli").new_file(file, table.schema) as writer:
        writer.write_table(table)


def plain(frame: Any) -> Any:
    """Make text of columns that hold several kinds of objects."""
    pandas = require("pandas", extra="cli")
    mixed = [
        name
        for name in frame.columns
        if frame[name].dtype == object
        and pandas.api.types.infer_dtype(frame[name], skipna=True) != "string"
    ]
    return frame.assign(
        **{name: frame[name].map(str, na_action="ignore") for name in mixed}
    )


def _write_json(frame: Any, file: IO[bytes]) -> None:
    text = frame.to_json(orient="records", date_format="iso", force_ascii=False)
    rows = json.loads(text)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    file.write(f"[\n{lines}\n]\n".encode())


def write_json_lines(frame: Any, file: IO[bytes]) -> None:
    """Write a line of JSON for each row."""
    text = frame.to_json(
        orient="records", date_format="iso", force_ascii=False, lines=True
    )
    file.write(text.encode())


def _write_excel(frame: Any, file: IO[bytes]) -> None:
    require("openpyxl", extra="cli")
    zoned = frame.select_dtypes("datetimetz")  # Excel knows no time zones: UTC
    frame = frame.assign(
        **{
            name: zoned[name].dt.tz_convert("UTC").dt.tz_localize(None)
            for name in zoned
        }
    )
    frame.to_excel(file, index=False, engine="openpyxl")


_WRITERS: dict[str, Callable[[Any, IO[bytes]], None]] = {
    "csv": write_csv,
    "tsv": _write_tsv,
    "parquet": _write_parquet,
    "arrow": _write_arrow,
    "json": _write_json,
    "jsonl": write_json_lines,
    "xlsx": _write_excel,
}
