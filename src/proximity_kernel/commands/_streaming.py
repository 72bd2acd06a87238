"""A large file by a plan, in passes: it is fitted, and its results written, in parts.

Each pass reads the file from its start, a batch at a time, and shows how far it is. How
columns are to be read is guessed from the first rows; a column that is empty there is
looked for in the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .._extras import require
from ._batches import BATCH, SAMPLE, BatchedFile
from ._call import Call, counted
from ._guess import guess_plan
from ._plan import ID, USED, Plan, Wishes
from ._sentinels import find_sentinels
from ._table import Table, apply_plan

_TOLD = 5  # notes about batches


@dataclass
class Stream:
    """A file and the plan by which it is read.

    Attributes
    ----------
    call : Call
    file : BatchedFile
    plan : Plan
    fitted : bool
        Whether the plan is of another table.
    n_passes : int
        Passes over all rows that were begun.
    """

    call: Call
    file: BatchedFile
    plan: Plan
    fitted: bool = False
    n_passes: int = field(default=0, init=False)

    def tables(self, what: str) -> Iterator[tuple[int, Table]]:
        """Read all rows once.

        Parameters
        ----------
        what : str
            What is done with them.

        Yields
        ------
        int
            Number of the first row, from 0 on.
        Table
        """
        self.n_passes += 1
        tell = _Notes(self.call) if self.n_passes == 1 else None
        columns, first = self._find_columns(), 0
        with self.call.step(what, total=self.file.n_rows) as advance:
            for batch in self.file.read(columns):
                raw = self.file.to_raw(batch, first)
                table = apply_plan(raw, self.plan, fitted=self.fitted)
                if tell is not None:
                    tell.hear(table, first)
                yield first, table
                first += batch.num_rows
                advance(batch.num_rows)
        if tell is not None:
            tell.end()

    def frames(self, *passes: str) -> Callable[[], Iterator[Any]]:
        """Make what `fit_batches` takes; the last name is for all further passes."""
        numbers = iter(range(len(passes)))

        def read() -> Iterator[Any]:
            what = passes[next(numbers, len(passes) - 1)]
            return (table.frame for _, table in self.tables(what))

        return read

    def nullable(self) -> set[str]:
        """Name the ids that are missing in some rows."""
        names = set(self.plan.named(ID)) & set(self.file.columns)
        return {name for name in names if self.file.has_gaps(name)}

    def _find_columns(self) -> list[str] | None:
        """Name the columns to read; None for all, if some are called otherwise."""
        used = [*self.plan.named(ID), *self.plan.named(USED)]
        known = set(self.file.columns)
        if self.fitted:  # ids may be lacking
            used = [
                name for name in used if name in known or name in self.plan.named(USED)
            ]
        apart = len(known) == len(self.file.columns)
        return used if apart and known.issuperset(used) else None


class _Notes:
    """What is said of batches: the first few notes, and how many rows are empty."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.n_told = self.n_empty = 0

    def hear(self, table: Table, first: int) -> None:
        """Say what was assumed about a batch."""
        self.n_empty += int(table.frame.isna().all(axis=1).sum())
        for line in table.said[1:]:
            if line.endswith("nothing observed") or line in self.call.said:
                continue
            self.n_told += 1
            if self.n_told <= _TOLD:
                last = first + len(table.frame)
                self.call.say(f"rows {first + 1:,} to {last:,}: {line}")

    def end(self) -> None:
        """Say what was counted."""
        if self.n_told > _TOLD:
            self.call.say(f"and {self.n_told - _TOLD:,} notes more like these")
        if self.n_empty:
            have = "has" if self.n_empty == 1 else "have"
            rows = counted(self.n_empty, "row")
            self.call.say(f"{rows} {have} nothing observed")


def plan_stream(
    call: Call, file: BatchedFile, wishes: Wishes, plan: Plan | None
) -> Stream:
    """Decide how to read a file, and say it.

    Parameters
    ----------
    call : Call
    file : BatchedFile
    wishes : Wishes
        What the user said about the columns.
    plan : Plan, optional
        Of a table that was fitted; then nothing is guessed.

    Returns
    -------
    Stream
    """
    with call.step(f"looking at {file.name}"):
        batch = next(file.read())
        sample = file.to_raw(batch.slice(0, SAMPLE), 0)
        fitted = plan is not None
        if plan is None:
            plan, writing, said = _guess(file, batch.slice(0, SAMPLE), wishes)
            said += find_sentinels(apply_plan(sample, plan).frame)
        else:
            known = apply_plan(sample, plan, fitted=True).said[1:]
            said = [line for line in known if "known to the model" in line]
            said += [line for line in known if "as when fitted" in line]
            writing = ""
    n_columns = sample.frame.shape[1]
    size = f"{counted(file.n_rows, 'row')}, {counted(n_columns, 'column')}"
    call.say(f"{file.name}: {size}{writing}")
    batches = f"in batches of {BATCH:,} rows" if file.n_rows > BATCH else "in a batch"
    guessed = f", its columns guessed from the first {SAMPLE:,}"
    call.say(f"read {batches}{guessed if file.n_rows > SAMPLE and not fitted else ''}")
    for line in [*sample.said, *said]:
        call.say(line)
    return Stream(call, file, plan, fitted)


def _guess(
    file: BatchedFile, sample: Any, wishes: Wishes
) -> tuple[Plan, str, list[str]]:
    """Guess a plan from the first rows, and from later ones where these are empty."""
    raw = file.to_raw(sample, 0)
    plan, writing, said = guess_plan(raw, wishes)
    empty = _find_empty(raw.frame, plan) if sample.num_rows < file.n_rows else []
    later = _find_later(file, empty, plan) if empty else []
    if not later:
        return plan, writing, said
    arrow = require("pyarrow", extra="cli")
    joined = arrow.concat_tables([sample, *later], promote_options="permissive")
    # Rows are left out in between, so that what counts them seems not to.
    ids = [] if wishes.ids else plan.named(ID)
    told = [line for line in said if ids and line.startswith("taken as id")]
    wishes = replace(wishes, ids=(*wishes.ids, *ids))
    raw = file.to_raw(joined.unify_dictionaries(), 0)
    plan, writing, said = guess_plan(raw, wishes)
    return plan, writing, [*told, *said]


def _find_empty(frame: Any, plan: Plan) -> list[str]:
    """Name the columns of which no cell is known."""
    return [
        name
        for name in frame
        if frame[name].isna().all() or _holds_only(frame[name], plan.missing)
    ]


def _holds_only(column: Any, missing: Sequence[str]) -> bool:
    if not hasattr(column, "cat"):
        return False
    texts = column.cat.remove_unused_categories().cat.categories
    return bool(texts.astype(str).str.strip().isin(list(missing)).all())


def _find_later(file: BatchedFile, empty: list[str], plan: Plan) -> list[Any]:
    """Find batches in which columns have values that have none in the first rows."""
    known = [name for name in empty if name in file.columns]
    found = []
    for batch in file.read(holding=known):
        frame = file.to_raw(batch.select(known), 0).frame
        left = _find_empty(frame, plan)
        if len(left) < len(known):
            found.append(batch)
            known = left
        if not known:
            break
    return found
