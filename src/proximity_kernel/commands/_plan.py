"""Raw columns in, how to read each of them out: guessed once, then kept with a model.

What is guessed here: which column is an id, which texts mean a missing cell, which
columns of text hold numbers or dates and how these are written, and which columns say
nothing (all empty, free text). A plan holds all that is needed to read other rows of
the same table alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from ._call import InputError, listed, near
from ._forms import AMBIGUOUS, DATE_FORMS, NUMBER_FORMS, Words, match_form
from ._raw import Raw

MISSING = (
    "", "?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "NULL", "null", "<NA>",
    "NaT", "-", "--", ".",
)  # fmt: skip
USED, ID, LEFT_OUT = "used", "id", "left out"
NUMBERS, DATES, CATEGORIES, HELD = "numbers", "dates", "categories", "as held"
ENOUGH = 0.8  # of the cells are numbers, or dates: then the others are strays
MOST_STRAYS = 5  # different ones
_FREE = 0.5  # different texts for each cell: free text
_FEW = 20  # rows in which uniqueness says nothing
_MANY = 255  # categories that the kernel keeps apart
_LONG = 40  # characters of an id
_NAMED_ID = re.compile(
    r"(^|[_\s.\-])(id|ids|uuid|guid|key|index|nr|no|number|identifier|row_name)$",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r"[a-z]I[Dd]$")


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
    """

    name: str
    role: str
    kind: str
    form: str = ""


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


def guess_plan(raw: Raw, wishes: Wishes) -> tuple[Plan, str, list[str]]:
    """Decide how to read a table.

    Parameters
    ----------
    raw : Raw
    wishes : Wishes

    Returns
    -------
    Plan
    str
        How missing cells and numbers are written, to be said with the table's size.
    list of str
        What else was assumed.
    """
    names = list(raw.frame.columns)
    chosen = {
        option: find_columns(raw.name, option, given, names)
        for option, given in (
            ("--id", wishes.ids),
            ("--drop", wishes.dropped),
            ("--categorical", wishes.categorical),
        )
    }
    missing = (*(MISSING if wishes.default_missing else ("",)), *wishes.missing)
    words = {
        name: Words.of(raw.frame[name], missing)
        for name in names
        if _is_text(raw.frame[name])
    }
    decimal = wishes.decimal or _guess_decimal(words.values(), raw.separator)
    guess = _Guess(raw, chosen, words, decimal, wishes.day_first)
    plan = Plan(tuple(guess.column(name) for name in names), missing)
    if not plan.named(USED):
        plan = _use_an_id(plan, chosen["--id"]) or guess.refuse()
    found = sorted({one for held in words.values() for one in held.markers})
    return plan, _say_writing(found, decimal), guess.tell(plan)


def _is_text(column: Any) -> bool:
    dtype = column.dtype
    return isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered


def _kind_of(dtype: Any) -> str:
    """Tell the kind of a column that is not text."""
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return DATES
    return NUMBERS if pd.api.types.is_numeric_dtype(dtype) else HELD


def _say_writing(found: list[str], decimal: str) -> str:
    shown = [repr(one) if one else "empty" for one in found]
    shown.sort(key=lambda one: one == "empty")
    said = ", decimal comma" if decimal == "," else ""
    return f"{said}, missing: {' or '.join(shown)}" if shown else said


def _guess_decimal(columns: Iterable[Words], separator: str) -> str:
    """Tell a comma if a column holds numbers only if it is one."""
    for words in columns:
        if words.n_observed and match_form("1,5", words.values) is not None:
            best = {
                form: words.count(match_form(form, words.values))
                for form in NUMBER_FORMS
            }
            rest = best["1.5"] if separator == "';'" else max(
                best["1.5"], best["1,234.5"]
            )  # fmt: skip
            if best["1,5"] > rest and best["1,5"] >= ENOUGH * words.n_observed:
                return ","
    return "."


class _Guess:
    """Guesses one column after the other, and remembers what to say."""

    def __init__(
        self,
        raw: Raw,
        chosen: dict[str, set[str]],
        words: dict[str, Words],
        decimal: str,
        day_first: bool | None,
    ) -> None:
        self.raw, self.chosen, self.words = raw, chosen, words
        self.numbers = ("1,5", "1.5") if decimal == "," else ("1.5", "1,234.5")
        self.day_first = day_first
        self.empty: list[str] = []
        self.free: list[str] = []
        self.notes: list[str] = []
        self.ids: list[str] = []

    def column(self, name: str) -> ColumnPlan:
        """Decide about a column."""
        column, words = self.raw.frame[name], self.words.get(name)
        kind, form = HELD, ""
        if name in self.chosen["--drop"]:
            return ColumnPlan(name, LEFT_OUT, kind)
        if words is not None:
            kind, form = self._read_text(name, words)
        elif column.dtype == "object":
            raise InputError(
                f"{self.raw.name}: column {name!r} holds lists or records; leave it "
                f"out with --drop {name!r}."
            )
        else:
            kind = _kind_of(column.dtype)
        if name in self.chosen["--categorical"]:
            kind, form = CATEGORIES, ""
        n_observed = column.notna().sum() if words is None else words.n_observed
        if name in self.chosen["--id"]:
            return ColumnPlan(name, ID, kind, form)
        if not n_observed:
            self.empty.append(name)
            return ColumnPlan(name, LEFT_OUT, kind, form)
        if name in self.chosen["--categorical"]:
            return ColumnPlan(name, USED, kind, form)
        if not self.chosen["--id"] and self._is_id(name, kind):
            self.ids.append(name)
            return ColumnPlan(name, ID, kind, form)
        if kind == CATEGORIES and words is not None and words.is_free_text(_FREE, _FEW):
            self.free.append(f"{name!r} ({len(words.values):,} different texts)")
            return ColumnPlan(name, LEFT_OUT, kind, form)
        if kind == CATEGORIES and words is not None and len(words.values) > _MANY:
            self.notes.append(
                f"{name!r} has {len(words.values):,} different texts: the rarest are "
                "taken as one (--drop leaves it out)"
            )
        return ColumnPlan(name, USED, kind, form)

    def _read_text(self, name: str, words: Words) -> tuple[str, str]:
        """Find out whether a text holds numbers or dates, and how they are written."""
        for kind, forms in ((NUMBERS, self.numbers), (DATES, tuple(DATE_FORMS))):
            for form in forms:
                matched = match_form(form, words.values)
                n_matched = words.count(matched)
                if not n_matched or n_matched < ENOUGH * words.n_observed:
                    continue
                if words.n_strays(matched) > MOST_STRAYS:
                    continue
                if kind == NUMBERS and words.has_leading_zeros():
                    self.notes.append(
                        f"{name!r} has numbers with leading zeros, taken as codes: "
                        "categories"
                    )
                    return CATEGORIES, ""
                if kind == DATES:
                    return self._read_dates(name, form, words)
                return kind, form
        if words.n_observed and words.count(match_form("1.5", words.values)) > (
            0.5 * words.n_observed
        ):
            self.notes.append(f"{name!r} holds numbers and texts, read as categories")
        return CATEGORIES, ""

    def _read_dates(self, name: str, form: str, words: Words) -> tuple[str, str]:
        chosen = self._choose_date_form(name, form, words)
        if chosen is None:
            return CATEGORIES, ""
        self.notes.append(f"{name!r} read as dates ({DATE_FORMS[chosen].say})")
        return DATES, chosen

    def _choose_date_form(self, name: str, form: str, words: Words) -> str | None:
        """Choose between day first and month first: by the data, or as was said."""
        other = AMBIGUOUS.get(form)
        if other is None:
            return form
        dmy, mdy = sorted((form, other), key=lambda one: not one.startswith("d"))
        counts = {f: words.count(match_form(f, words.values)) for f in (dmy, mdy)}
        if self.day_first is not None:
            return dmy if self.day_first else mdy
        if counts[dmy] == counts[mdy]:
            self.notes.append(
                f"{name!r} may have the day or the month first, so it is read as "
                "categories (--day-first or --month-first makes dates of it)"
            )
            return None
        return dmy if counts[dmy] > counts[mdy] else mdy

    def _is_id(self, name: str, kind: str) -> bool:
        """Whether all cells differ and the name or the form is an id's."""
        column, words = self.raw.frame[name], self.words.get(name)
        n_rows = len(column)
        if n_rows < 3 or kind == DATES:
            return False
        named = bool(_NAMED_ID.search(name) or _CAMEL_ID.search(name))
        if words is not None:
            if words.n_observed < n_rows or len(words.values) < n_rows:
                return False
            if kind == CATEGORIES:
                short = max(map(len, words.values)) <= _LONG
                one_word = not words.values.str.contains(" ").mean() > _FREE
                return named or (n_rows >= _FEW and short and one_word)
            numbers = pd.to_numeric(words.values, errors="coerce").to_numpy()
            column = pd.Series(numbers[words.codes])
        elif not pd.api.types.is_numeric_dtype(column) or column.isna().any():
            return False
        values = column.to_numpy(float)
        if not np.isfinite(values).all() or (values % 1).any():
            return False
        counting = bool((np.diff(values) == 1).all())
        first = name == self.raw.frame.columns[0]
        unique = counting or len(np.unique(values)) == n_rows
        return (named and unique) or (counting and first and n_rows >= _FEW)

    def tell(self, plan: Plan) -> list[str]:
        """Put into words what was guessed."""
        used_ids = set(plan.named(ID))
        said = []
        if ids := [name for name in self.ids if name in used_ids]:
            said.append(f"taken as id, not compared: {listed(ids)}")
        if self.empty:
            said.append(f"left out, all empty: {listed(self.empty)}")
        if self.free:
            said.append(
                f"left out, free text: {', '.join(self.free)} (--categorical keeps it)"
            )
        return [*said, *self.notes]

    def refuse(self) -> Plan:
        """Say that nothing is left to compare."""
        raise InputError(
            f"{self.raw.name}: no column is left to compare ({'; '.join(self._why())})."
        )

    def _why(self) -> list[str]:
        why = [f"{name!r} is empty" for name in self.empty[:3]]
        why += [f"{one} is free text" for one in self.free[:3]]
        why += [f"--drop {name}" for name in sorted(self.chosen["--drop"])[:3]]
        why += [f"--id {name}" for name in sorted(self.chosen["--id"])[:3]]
        return why or ["there is none"]


def _use_an_id(plan: Plan, asked: set[str]) -> Plan | None:
    """Compare by what was guessed to be an id, if there is nothing else."""
    guessed = [name for name in plan.named(ID) if name not in asked]
    if not guessed:
        return None
    columns = tuple(
        ColumnPlan(c.name, USED, c.kind, c.form) if c.name in guessed else c
        for c in plan.columns
    )
    return Plan(columns, plan.missing)
