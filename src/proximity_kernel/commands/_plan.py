"""How to read a table, column by column: what the user said, and what follows from it.

A plan is guessed once (`_guess`) and then kept with a model: it holds all that is
needed to read other rows of the same table alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from ._call import InputError, listed, near

MISSING = (
    "", "?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "NULL", "null", "<NA>",
    "NaT", "-", "--", ".",
)  # fmt: skip
USED, ID, LEFT_OUT = "used", "id", "left out"
NUMBERS, DATES, CATEGORIES, HELD = "numbers", "dates", "categories", "as held"
ENOUGH = 0.8  # of the cells are numbers, or dates: then the others are strays


@dataclass(frozen=True)
class ColumnPlan:
    """How to read a column.

    Attributes
    ----------
    name : str
    role : {"used", "id", "left out"}
    kind : {"numbers", "dates", "categories", "as held"}
    form : str
        How numbers or dates are written in a text; empty if they are held as such.
    unit : str
        That numbers have in a text, before or behind them.
    """

    name: str
    role: str
    kind: str
    form: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Plan:
    """How to read a table.

    Attributes
    ----------
    columns : tuple of ColumnPlan
        In the order of the table that was fitted.
    missing : tuple of str
        Texts that mean a missing cell.
    """

    columns: tuple[ColumnPlan, ...]
    missing: tuple[str, ...]

    def named(self, role: str) -> list[str]:
        """Name the columns of a role."""
        return [column.name for column in self.columns if column.role == role]

    def missing_numbers(self) -> list[float]:
        """Tell the numbers that mean a missing cell."""
        numbers = []
        for text in self.missing:
            with suppress(ValueError):
                numbers.append(float(text))
        return [one for one in numbers if one == one]  # "nan" is a number for Python

    def to_notes(self) -> dict[str, Any]:
        """Make plain data of it, for a model's notes."""
        return asdict(self)

    @classmethod
    def from_notes(cls, notes: dict[str, Any]) -> Plan:
        """Make a plan of a model's notes."""
        columns = tuple(ColumnPlan(**column) for column in notes["columns"])
        return cls(columns, tuple(notes["missing"]))


@dataclass(frozen=True)
class Wishes:
    """What the user said about the columns.

    Attributes
    ----------
    ids, dropped, categorical : list of str
        As given: names, or several with commas between them.
    missing : list of str
        Texts that mean a missing cell too.
    default_missing : bool
        Whether the usual ones do.
    decimal : {".", ",", None}
    day_first : bool or None
    """

    ids: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    default_missing: bool = True
    decimal: str | None = None
    day_first: bool | None = None


def find_columns(
    source: str, option: str, given: Iterable[str], names: Any
) -> set[str]:
    """Find the columns that an option names; a name may hold commas.

    Parameters
    ----------
    source, option : str
        For messages.
    given : iterable of str
    names : sequence of str
        Of the table's columns.

    Returns
    -------
    set of str

    Examples
    --------
    >>> sorted(find_columns("a.csv", "--id", ["a,b", "c, d"], ["a", "b", "c, d"]))
    ['a', 'b', 'c, d']
    """
    found = set()
    for text in given:
        parts = [text] if text in names else [one.strip() for one in text.split(",")]
        for part in filter(None, parts):
            if part not in names:
                hint = near(part, names)
                has = "" if hint else f"; it has {listed(list(names), 8)}."
                raise InputError(
                    f"{option} {part}: {source} has no such column{hint}{has}"
                )
            found.add(part)
    return found
