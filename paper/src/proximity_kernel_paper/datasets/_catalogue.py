"""The catalogue: what is known about each table, as data.

One JSON file for each table in the folder ``catalogue``; its keys are the fields of
`Table`, and what a file leaves out has the default given there. All that differs from
table to table is said in these files, so that no code asks for a table's name.

A column is written as its kind (``"numeric"``, ``"nominal"``, ``{"ordinal": [values in
their order]}``) or as its role, where it is no feature (``"target"``, ``"ignore"``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).parent / "catalogue"


@dataclass(frozen=True)
class RawFile:
    """A file as its publisher gives it out."""

    name: str
    sha256: str
    bytes: int
    skip_lines: int = 0  # lines at the top that are no rows


@dataclass(frozen=True)
class Column:
    """A column of a table, in the order of the file."""

    name: str
    kind: str  # "numeric", "ordinal" or "nominal"
    role: str = "feature"  # "feature", "target" or "ignore"
    order: tuple[str, ...] | None = None  # of an ordinal column's values

    @classmethod
    def from_entry(cls, name: str, entry: str | dict[str, list[str]]) -> Column:
        """Read the short form of the catalogue.

        >>> Column.from_entry("size", {"ordinal": ["S", "M", "L"]})
        Column(name='size', kind='ordinal', role='feature', order=('S', 'M', 'L'))
        >>> Column.from_entry("species", "target")
        Column(name='species', kind='nominal', role='target', order=None)
        """
        if isinstance(entry, dict):
            return cls(name, "ordinal", order=tuple(entry["ordinal"]))
        if entry in ("target", "ignore"):
            return cls(name, "nominal", role=entry)
        return cls(name, entry)


@dataclass(frozen=True)
class Table:
    """What the catalogue knows about a table."""

    name: str
    title: str
    page: str  # for people
    licence: str
    citation: str
    files: tuple[RawFile, ...]  # their rows follow each other in this order
    format: str  # a key of `_parse.READERS`
    columns: tuple[Column, ...]
    counts: dict[str, int]  # rows, features, missing_cells, classes: as counted by us
    about: str = ""
    address: str = ""  # for the download
    wrapping: tuple[str, ...] = ()  # archives around the files, the outermost first
    packaged: bool = False  # the files come with the library
    delimiter: str | None = ","  # None: any number of blanks
    missing: str = "?"
    drop_empty_fields: bool = False
    label_tail: str = ""  # characters at the end of a label that are an accident
    variables: tuple[str, ...] = ()  # of a MATLAB file: the features, the target
    paper: dict[str, float] = field(default_factory=dict)  # the figures it prints
    paper_note: str = ""  # which of them are wrong, and why

    @classmethod
    def from_entry(cls, name: str, entry: dict[str, Any]) -> Table:
        """Make a table of an entry of the catalogue."""
        columns = [Column.from_entry(*item) for item in entry["columns"].items()]
        lists = {key: tuple(entry.get(key, ())) for key in ("wrapping", "variables")}
        typed = {
            "files": tuple(RawFile(**file) for file in entry["files"]),
            "columns": tuple(columns),
            **lists,
        }
        return cls(name=name, **(entry | typed))

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns that are features."""
        return tuple(column for column in self.columns if column.role == "feature")

    @property
    def target(self) -> Column:
        """The column with the classes."""
        return next(column for column in self.columns if column.role == "target")


def list_datasets() -> list[str]:
    """Name the tables that `load` knows.

    Returns
    -------
    list of str
        Sorted. Whether their files are at hand is another question, see `describe`.

    Examples
    --------
    >>> from proximity_kernel_paper.datasets import list_datasets
    >>> list_datasets()[:4]
    ['adult', 'cancer', 'credit', 'heart']
    """
    return sorted(path.stem for path in CATALOGUE.glob("*.json"))


def find(name: str) -> Table:
    """Look a table up.

    >>> find("kidney").title
    'Chronic Kidney Disease'
    >>> find("kidny")
    Traceback (most recent call last):
    ValueError: no dataset is called 'kidny'; did you mean 'kidney'? There are ...
    """
    known = list_datasets()
    if name not in known:
        near = get_close_matches(str(name), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ValueError(
            f"no dataset is called {name!r}{hint} There are {', '.join(known)}."
        )
    text = (CATALOGUE / f"{name}.json").read_text(encoding="utf-8")
    return Table.from_entry(name, json.loads(text))
