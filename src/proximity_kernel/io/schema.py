"""Dataclasses for reading a table: options, file layout, schema, loaded table.

A `Schema` is inferred once (``typed_columns``) and saved with a model: it has all that
is needed to read other rows of the same table in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from html import escape
from itertools import chain
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

Role = Literal["used", "id", "left out"]
Kind = Literal["numbers", "dates", "categories", "ordered", "unchanged"]
SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
_LISTS = (
    "missing", "ids", "only", "drop", "categorical", "numeric", "fill_down", "names",
)  # fmt: skip
_FLAGS = ("default_missing", "ignore_case", "keep_totals")
# Options about the layout of a file; a type of file that is not named here has none.
_LAYOUT_OPTIONS = {
    "text": ("sep", "encoding", "names", "header_rows", "skip_rows"),
    "excel": ("sheet", "names", "header_rows", "skip_rows"),
}


class InputError(ValueError):
    """Raised for a file, table or option that cannot be used.

    The message says what to change.

    Messages name parameters of `read_table` in backquotes, which the command line
    replaces by its options.
    """


class Doubt(str):
    """An assumption that says what may be wrong with the table."""

    __slots__ = ()


class InColumn(str):
    """A string that is read as missing, as "COL=TEXT", where COL must be a column."""

    __slots__ = ()


@dataclass(frozen=True)
class ColumnSchema:
    """How a column of a file is read.

    Attributes
    ----------
    name : str
    role : {"used", "id", "left out"}
    kind : {"numbers", "dates", "categories", "ordered", "unchanged"}
    format : str
        Format of numbers or dates in strings, for example ``"1,5"`` or ``"d.m.y"``;
        empty if the file stores numbers or dates. Of categories: ``"boolean"`` (yes,
        TRUE and 1 are one category) or ``"any case"``; empty if every distinct string
        is a category.
    unit : str
        Unit or currency removed from numbers, for example ``"kg"``; empty if none. With
        several units, for example ``"kg, g"``, all are converted to the first.
    missing : tuple of str or None
        Strings that are read as missing in this column; None for `Schema.missing`.
    order : tuple of str
        The labels of ordered categories, the lowest first; empty for other columns.
    """

    name: str
    role: Role
    kind: Kind
    format: str = ""
    unit: str = ""
    missing: tuple[str, ...] | None = None
    order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schema:
    """How the columns of a file are read.

    Attributes
    ----------
    columns : tuple of ColumnSchema
        In the order of the table.
    missing : tuple of str
        Strings that are read as missing, except in columns that have their own.
    """

    columns: tuple[ColumnSchema, ...]
    missing: tuple[str, ...]

    def names(self, role: Role) -> list[str]:
        """List the names of the columns that have the given role."""
        return [column.name for column in self.columns if column.role == role]

    def to_dict(self) -> dict[str, Any]:
        """Convert the schema to dicts, lists and strings, to save it with a model."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Schema:
        """Restore a schema from the result of `to_dict`."""

        def restore(column: dict[str, Any]) -> ColumnSchema:
            marks, order = column["missing"], tuple(column["order"])
            marks = None if marks is None else tuple(marks)
            return ColumnSchema(**column | {"missing": marks, "order": order})

        return cls(tuple(map(restore, data["columns"])), tuple(data["missing"]))


@dataclass(frozen=True)
class FileLayout:
    """The format of a file. Attributes that do not apply to its type are None.

    Attributes
    ----------
    type : {"text", "excel", "parquet", "arrow", "stream"}
    encoding : str or None
        Of a text file.
    separator : str or None
        Of a text file; ``" "`` is any amount of whitespace. None if there is a single
        column.
    header_rows : int or None
        Number of header rows of a text file or sheet.
    skipped_lines : int
        Number of lines above the table.
    sheet : str or None
        Name of the sheet that was read.
    """

    type: str
    encoding: str | None = None
    separator: str | None = None
    header_rows: int | None = None
    skipped_lines: int = 0
    sheet: str | None = None


@dataclass(frozen=True)
class ReadOptions:
    """The parameters of `read_table`, where they are documented; None if not given."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header_rows: int | None = None
    skip_rows: int | None = None
    names: Any = None
    sheet: Any = None
    missing: Any = ()
    default_missing: bool = True
    ids: Any = ()
    only: Any = ()
    drop: Any = ()
    categorical: Any = ()
    numeric: Any = ()
    day_first: bool | None = None
    ignore_case: bool = False
    where: str | None = None
    keep_totals: bool = False
    fill_down: Any = ()

    def __post_init__(self) -> None:
        for name in _LISTS:
            value = getattr(self, name)
            if value is not None or name != "names":
                object.__setattr__(self, name, _read_list(name, value))
        if _is_whole(self.sheet):
            object.__setattr__(self, "sheet", str(self.sheet))
        for names, allowed, fits in _CHECKS:
            for name in names:
                value = getattr(self, name)
                if not fits(value) and (value is not None or name in _FLAGS):
                    raise _refuse(name, allowed, value)
        if self.encoding is not None and not _is_encoding(self.encoding):
            raise InputError(
                f"`encoding` {self.encoding}: there is no such encoding; utf-8, "
                "latin-1, cp1252 and utf-16 are common."
            )
        if self.names is not None and self.header_rows is None:
            object.__setattr__(self, "header_rows", 0)

    def check_file_type(self, name: str, file_type: str) -> None:
        """Raise InputError if a given option does not apply to the type of the file."""
        fitting = _LAYOUT_OPTIONS.get(file_type, ())
        for option in chain(*_LAYOUT_OPTIONS.values()):
            if getattr(self, option) is not None and option not in fitting:
                raise InputError(
                    f"`{option}`: {name} is {file_type}, and the option does not apply "
                    "to this type; leave it out."
                )


def is_separator(text: Any) -> bool:
    """Whether a value is one character that can separate cells, or the name of one."""
    if not isinstance(text, str):
        return False
    return text in SEPARATORS or (len(text) == 1 and text not in '"\n\r')


def _refuse(option: str, allowed: str, value: Any) -> InputError:
    """Make the error about an option with a wrong value."""
    return InputError(f"`{option}` must be {allowed}; got {value!r}.")


def _is_boolean(value: Any) -> bool:
    return type(value).__name__ in ("bool", "bool_")  # numpy's, too


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_encoding(name: str) -> bool:
    """Whether there is an encoding of text with this name."""
    try:
        return bool(b" ".decode(name))
    except UnicodeDecodeError:  # such as UTF-16
        return True
    except (LookupError, ValueError):
        return False


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number, at least 0, and no boolean."""
    return isinstance(value, Integral) and not _is_boolean(value) and int(value) >= 0


_CHECKS: tuple[tuple[tuple[str, ...], str, Callable[[Any], bool]], ...] = (
    ((*_FLAGS, "day_first"), "True or False", _is_boolean),
    (("header_rows", "skip_rows"), "a whole number, at least 0", _is_whole),
    (("encoding", "sheet", "where"), "text", _is_text),
    (
        ("decimal",),
        "'.' or ','",
        lambda value: isinstance(value, str) and value in (".", ","),
    ),
    (("sep",), f"one character, or one of {', '.join(SEPARATORS)}", is_separator),
)


def _read_list(option: str, value: Any) -> tuple[Any, ...]:
    """Convert texts or numbers to a tuple of texts; a mapping to "COL=TEXT".

    A single text or number is a list of one, and None an empty list.
    """
    if option == "missing" and isinstance(value, Mapping):
        named = ((name, _read_list(option, own)) for name, own in value.items())
        return tuple(InColumn(f"{name}={one}") for name, own in named for one in own)
    if value is None:
        return ()
    is_text = isinstance(value, str) and option != "names"  # a letter for each column
    items = [value] if is_text or isinstance(value, Real) else value
    if not isinstance(items, Iterable) or isinstance(items, bytes | Mapping):
        raise _refuse(option, "a list of texts", value)
    items = list(items)
    if any(not isinstance(one, str | Real) or isinstance(one, bool) for one in items):
        raise _refuse(option, "a list of texts", value)
    return tuple(one if isinstance(one, str) else str(one) for one in items)


@dataclass(frozen=True, eq=False)
class ParsedFile:
    """The columns of a file, in which strings are not parsed as numbers or dates yet.

    `source` has the cells as stored in the file: strings as categoricals, Parquet and
    Arrow in their Arrow types, Excel as Python objects. It includes rows that are
    totals. `frame` has the same cells in a few dtypes, without totals. Strings, also
    strings that are numbers or dates, are unordered categoricals, so that each distinct
    string is parsed once. `name` is that of the file, for messages.
    """

    name: str
    source: Any
    frame: Any
    layout: FileLayout
    assumptions: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class LoadedTable:
    """A table that was read from a file, and what was assumed to read it.

    Attributes
    ----------
    name : str
        The path, or the name of the buffer.
    frame : pandas.DataFrame of shape (n_rows, n_features)
        The used columns: numbers as float64, dates as datetime64, strings as
        categoricals. Missing cells are NaN, NaT or None. The index counts the rows of
        the file from 0; rows that are left out have no entry.
    ids : pandas.DataFrame of shape (n_rows, n_ids)
        The columns that identify the rows; there may be none.
    left_out : pandas.DataFrame of shape (n_rows, n_left_out)
        The columns that are neither compared nor ids.
    missing : pandas.DataFrame of shape (n_rows, n_features), bool
        Which cells are missing in the file. A word in a column of numbers is missing in
        `frame`, but not here.
    source : pandas.DataFrame
        All columns of the file as stored, including `ids` and `left_out`: strings as
        categoricals, Parquet and Arrow in their Arrow types, Excel as Python objects.
        Includes rows that are totals.
    schema : Schema
        How each column was read. Pass it to `read_table` to read other rows of the same
        table in the same way.
    layout : FileLayout
        The format of the file: encoding, separator, header, sheet.
    assumptions : tuple of str
        What was assumed, in sentences. The first gives the size of the table.
    doubts : tuple of str
        The assumptions that say what may be wrong with the table; nothing was changed
        because of them.
    """

    name: str
    frame: pd.DataFrame
    ids: pd.DataFrame
    left_out: pd.DataFrame
    missing: pd.DataFrame
    source: pd.DataFrame
    schema: Schema
    layout: FileLayout
    assumptions: tuple[str, ...]

    @property
    def doubts(self) -> tuple[str, ...]:
        """The assumptions that say what may be wrong with the table."""
        return tuple(line for line in self.assumptions if isinstance(line, Doubt))

    def __repr__(self) -> str:
        rows, columns = self.frame.shape
        return f"LoadedTable({self.name!r}, {rows:,} rows, {columns:,} columns)"

    def _repr_html_(self) -> str:
        """Show doubts, assumptions and the first rows in a notebook."""
        said = dict.fromkeys((*self.doubts, *self.assumptions))
        lines = "".join(f"<li>{escape(line)}</li>" for line in said)
        return f"<ul>{lines}</ul>{self.frame.head().to_html()}"
