"""Raw columns in, a plan out: how to read each of them, and what to say about it.

What is guessed here: which column is an id, which texts mean a missing cell, which
columns of text hold numbers or dates and how these are written, and which columns say
nothing (all empty, free text, lists).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pandas as pd

from ._call import InputError, counted, listed
from ._forms import (
    AMBIGUOUS,
    DATE_FORMS,
    NUMBER_FORMS,
    Words,
    find_unit,
    has_zone,
    match_form,
    without_unit,
)
from ._ids import judge_id
from ._plan import (
    CATEGORIES,
    DATES,
    ENOUGH,
    HELD,
    ID,
    LEFT_OUT,
    MISSING,
    NUMBERS,
    USED,
    ColumnPlan,
    Plan,
    Wishes,
    find_columns,
)
from ._raw import Raw

MOST_STRAYS = 5  # different ones
_FREE = 0.5  # different texts for each cell: free text
_FEW = 20  # different texts that are none
_MANY = 255  # categories that the kernel keeps apart
_SHOWN = 6  # columns with something in brackets


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
    found = {one for held in words.values() for one in held.markers}
    found |= _find_numbers(raw.frame, plan)
    lost = [one for one in wishes.missing if one not in found]
    unused = [f"--na {one}: no cell holds this" for one in lost]
    return plan, _say_writing(sorted(found), decimal), [*unused, *guess.tell(plan)]


def _find_numbers(frame: Any, plan: Plan) -> set[str]:
    """Find which texts that mean a missing cell are held as numbers."""
    numbers = plan.missing_numbers()
    if not numbers:
        return set()
    columns = [frame[c] for c in frame if pd.api.types.is_numeric_dtype(frame[c])]
    held = {one for one in numbers if any(column.eq(one).any() for column in columns)}
    return {text for text in plan.missing if _is_one_of(text, held)}


def _is_one_of(text: str, numbers: set[float]) -> bool:
    try:
        return float(text) in numbers
    except ValueError:
        return False


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
        texts = without_unit(words.values, find_unit(words.values))
        if words.n_observed and match_form("1,5", texts) is not None:
            best = {form: words.count(match_form(form, texts)) for form in NUMBER_FORMS}
            rest = best["1.5"] if "';'" in separator else max(
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
        self.nested: list[str] = []
        self.units: dict[str, str] = {}
        self.notes: dict[str, list[str]] = {}  # what is to be said -> of which columns
        self.ids: list[str] = []
        self.repeated: dict[str, int] = {}  # rows that repeat what looks like an id

    def note(self, name: str, text: str) -> None:
        """Remember what to say of a column; of several at once, if it is the same."""
        self.notes.setdefault(text, []).append(name)

    def column(self, name: str) -> ColumnPlan:
        """Decide about a column."""
        column, words = self.raw.frame[name], self.words.get(name)
        if name in self.chosen["--drop"]:
            return ColumnPlan(name, LEFT_OUT, HELD)
        if words is None and column.dtype == "object":
            self.nested.append(name)
            return ColumnPlan(name, LEFT_OUT, HELD)
        how = (_kind_of(column.dtype), "", "")
        if name in self.chosen["--categorical"]:
            how = (CATEGORIES, "", "")
        elif words is not None:
            how = self._read_text(name, words)
        return ColumnPlan(name, self._find_role(name, how[0]), *how)

    def _find_role(self, name: str, kind: str) -> str:
        column, words = self.raw.frame[name], self.words.get(name)
        n_observed = column.notna().sum() if words is None else words.n_observed
        if name in self.chosen["--id"]:
            return ID
        if not n_observed:
            self.empty.append(name)
            return LEFT_OUT
        if name in self.chosen["--categorical"]:
            return USED
        role = None if self.chosen["--id"] else self._find_id(name, kind)
        if role is not None:
            return role
        if kind != CATEGORIES or words is None:
            return USED
        if words.is_free_text(_FREE, _FEW):
            self.free.append(f"{name!r} ({len(words.values):,} different texts)")
            return LEFT_OUT
        self._note_categories(name, words)
        return USED

    def _find_id(self, name: str, kind: str) -> str | None:
        """Tell the role of what names the rows, or would if no row repeated another."""
        column, words = self.raw.frame[name], self.words.get(name)
        first = name == self.raw.frame.columns[0]
        found = judge_id(name, column, words, kind, first=first)
        if found.is_id:
            self.ids.append(name)
            return ID
        if found.n_repeats:
            self.repeated[name] = found.n_repeats
            return LEFT_OUT
        if found.rises:
            self.note(name, " rises from row to row (--id if it names the rows)")
        return None

    def _note_categories(self, name: str, words: Words) -> None:
        n = len(words.values)
        if n > _MANY:
            self.note(
                name,
                f" has {n:,} different texts: the rarest are taken as one (--drop "
                "leaves it out)",
            )
        folded = words.values.str.casefold()
        alike = words.values[folded.duplicated(keep=False)]
        if len(alike):
            same = [one for one in alike if one.casefold() == alike[0].casefold()]
            self.note(
                name,
                f": {listed(sorted(same), 3)} differ in case only, and are kept apart",
            )

    def _read_text(self, name: str, words: Words) -> tuple[str, str, str]:
        """Find out whether a text holds numbers or dates, and how they are written."""
        found = self._match_forms(name, words)
        if found is not None:
            return (*found, "")
        unit = find_unit(words.values)
        if unit:
            bare = Words(without_unit(words.values, unit), words.codes, words.markers)
            found = self._match_forms(name, bare)
            if found is not None and found[0] == NUMBERS:
                self.units[name] = unit
                return (*found, unit)
        numbers = max(words.count(match_form(f, words.values)) for f in self.numbers)
        if words.n_observed and numbers > 0.5 * words.n_observed:
            self.note(name, ": numbers and texts, read as categories")
        return CATEGORIES, "", ""

    def _match_forms(self, name: str, words: Words) -> tuple[str, str] | None:
        for kind, forms in ((NUMBERS, self.numbers), (DATES, tuple(DATE_FORMS))):
            for form in forms:
                matched = match_form(form, words.values)
                n_matched = words.count(matched)
                if not n_matched or n_matched < ENOUGH * words.n_observed:
                    continue
                if words.n_strays(matched) > MOST_STRAYS:
                    continue
                if kind == NUMBERS and words.has_leading_zeros():
                    self.note(
                        name, ": numbers with leading zeros, so codes: categories"
                    )
                    return CATEGORIES, ""
                if kind == DATES:
                    return self._read_dates(name, form, words)
                return kind, form
        return None

    def _read_dates(self, name: str, form: str, words: Words) -> tuple[str, str]:
        chosen = self._choose_date_form(name, form, words)
        if chosen is None:
            return CATEGORIES, ""
        zone = ", in UTC" if chosen == "iso" and has_zone(words.values) else ""
        self.note(name, f" read as dates ({DATE_FORMS[chosen].say}{zone})")
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
            self.note(
                name,
                " may have the day or the month first, so read as categories "
                "(--day-first or --month-first makes dates of it)",
            )
            return None
        return dmy if counts[dmy] > counts[mdy] else mdy

    def tell(self, plan: Plan) -> list[str]:
        """Put into words what was guessed."""
        used_ids = set(plan.named(ID))
        said = []
        if ids := [name for name in self.ids if name in used_ids]:
            said.append(f"taken as id, not compared: {listed(ids)}")
        for name, n in self.repeated.items():
            said.append(
                f"left out: {name!r} looks like an id, but {counted(n, 'row')} "
                f"repeat{'s' * (n == 1)} one (--id {name!r} names rows by it)"
            )
        if self.empty:
            said.append(f"left out, all empty: {listed(self.empty)}")
        if self.free:
            said.append(
                f"left out, free text: {_shorten(self.free)} (--categorical keeps it)"
            )
        if self.nested:
            said.append(f"left out, lists or records: {listed(self.nested)}")
        used = set(plan.named(USED))
        if units := [f"{n!r} ({u})" for n, u in self.units.items() if n in used]:
            said.append(f"read as numbers, without the unit: {_shorten(units)}")
        for text, names in self.notes.items():
            if kept := [name for name in names if name in used]:
                said.append(f"{listed(kept)}{text}")
        return said

    def refuse(self) -> Plan:
        """Say that nothing is left to compare."""
        raise InputError(
            f"{self.raw.name}: no column is left to compare ({'; '.join(self._why())})."
        )

    def _why(self) -> list[str]:
        why = [f"{name!r} is empty" for name in self.empty[:3]]
        why += [f"{one} is free text" for one in self.free[:3]]
        why += [f"{name!r} looks like an id" for name in list(self.repeated)[:3]]
        why += [f"{name!r} holds lists or records" for name in self.nested[:3]]
        why += [f"--drop {name}" for name in sorted(self.chosen["--drop"])[:3]]
        why += [f"--id {name}" for name in sorted(self.chosen["--id"])[:3]]
        return why or ["there is none"]


def _shorten(words: list[str]) -> str:
    more = len(words) - _SHOWN
    shown = ", ".join(words[:_SHOWN])
    return f"{shown} and {more:,} more" if more > 0 else shown


def _use_an_id(plan: Plan, asked: set[str]) -> Plan | None:
    """Compare by what was guessed to be an id, if there is nothing else."""
    guessed = [name for name in plan.named(ID) if name not in asked]
    if not guessed:
        return None
    columns = tuple(
        replace(c, role=USED) if c.name in guessed else c for c in plan.columns
    )
    return Plan(columns, plan.missing)
