"""How a table is read: the layout of its file, and the role and kind of its columns.

A `Schema` is inferred once (`kinds`) and then saved with a model: it holds all that is
needed to read other rows of the same table in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal

from .errors import InputError
from .wording import listed, suggest

Role = Literal["used", "id", "left out"]
Kind = Literal["numbers", "dates", "categories", "unchanged"]
MIN_MATCHED = 0.8
"""Share of a text column's cells that must be numbers (or dates) to read it as such."""


@dataclass(frozen=True)
class ColumnSchema:
    """How a column is read.

    Attributes
    ----------
    name : str
    role : {"used", "id", "left out"}
    kind : {"numbers", "dates", "categories", "unchanged"}
    format : str
        How numbers or dates are written as text, for example ``"1,5"`` or ``"d.m.y"``;
        empty if the file stores them as numbers or dates.
    unit : str
        Unit or currency removed from numbers, for example ``"kg"``; empty if none.
    """

    name: str
    role: Role
    kind: Kind
    format: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Schema:
    """How the columns of a table are read.

    Attributes
    ----------
    columns : tuple of ColumnSchema
        In the order of the table.
    missing : tuple of str
        Texts that mark a missing cell.
    """

    columns: tuple[ColumnSchema, ...]
    missing: tuple[str, ...]

    def names(self, role: Role) -> list[str]:
        """List the columns that have a role."""
        return [column.name for column in self.columns if column.role == role]

    def missing_numbers(self) -> list[float]:
        """List the missing marks that are numbers, such as -99."""
        numbers = []
        for text in self.missing:
            with suppress(ValueError):
                numbers.append(float(text))
        return [number for number in numbers if number == number]  # not "nan"

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain data, to save it with a model."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Schema:
        """Restore a schema from `to_dict`."""
        columns = tuple(ColumnSchema(**column) for column in data["columns"])
        return cls(columns, tuple(data["missing"]))


@dataclass(frozen=True)
class FileLayout:
    """How a file is laid out. What does not apply to its type is None.

    Attributes
    ----------
    type : {"text", "excel", "parquet", "arrow", "stream"}
    encoding : str or None
        Of text.
    separator : str or None
        Of text; ``" "`` is any number of blanks. None if there is a single column.
    header : bool or None
        Whether the first row of text or of a sheet holds the column names.
    skipped_lines : int
        Titles and comments above the table.
    sheet : str or None
        The sheet that was read.
    """

    type: str
    encoding: str | None = None
    separator: str | None = None
    header: bool | None = None
    skipped_lines: int = 0
    sheet: str | None = None


@dataclass(frozen=True)
class ReadOptions:
    """The parameters of `read_table`, which documents them. None means: detect it."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    sheet: str | None = None
    missing: Any = ()
    default_missing: bool = True
    ids: Any = ()
    drop: Any = ()
    categorical: Any = ()
    day_first: bool | None = None

    def __post_init__(self) -> None:
        for name in ("missing", "ids", "drop", "categorical"):
            value = getattr(self, name)
            several = [value] if isinstance(value, str | int | float) else value
            object.__setattr__(self, name, tuple(map(str, several)))

    def refuse_for(self, name: str, file_type: str) -> None:
        """Raise an error if an option was given that this type of file cannot have."""
        nouns = {"sep": "separator", "encoding": "encoding", "sheet": "sheets"}
        nouns["header"] = "header line"
        kept = {"text": ("sep", "encoding", "header"), "excel": ("sheet", "header")}
        for option, noun in nouns.items():
            foreign = option not in kept.get(file_type, ())
            if foreign and getattr(self, option) is not None:
                raise InputError(
                    f"`{option}`: {name} is {file_type}, which has no {noun}; leave "
                    "the option out."
                )


def find_columns(
    source: str, option: str, given: Iterable[str], names: list[str]
) -> set[str]:
    """Find the columns that a parameter names.

    Parameters
    ----------
    source, option : str
        Names of the table and of the parameter, for messages.
    given : iterable of str
        Column names, or several separated by commas.
    names : list of str
        All columns of the table. A name may itself contain commas.

    Returns
    -------
    set of str

    Examples
    --------
    >>> sorted(find_columns("a.csv", "ids", ["a,b", "c, d"], ["a", "b", "c, d"]))
    ['a', 'b', 'c, d']
    """
    found = set()
    for text in given:
        parts = [text] if text in names else [one.strip() for one in text.split(",")]
        for part in filter(None, parts):
            if part not in names:
                hint = suggest(part, names) or f"; it has {listed(names, 8)}."
                raise InputError(
                    f"`{option}` {part}: {source} has no such column{hint}"
                )
            found.add(part)
    return found
