"""Raw columns and a plan in, the frame that is fitted out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ._call import InputError, counted, find_near, listed
from ._forms import (
    AMBIGUOUS,
    DATE_FORMS,
    NUMBER_FORMS,
    Words,
    match_form,
    parse_form,
    without_unit,
)
from ._guess import guess_plan
from ._plan import (
    CATEGORIES,
    DATES,
    ENOUGH,
    HELD,
    ID,
    LEFT_OUT,
    NUMBERS,
    USED,
    ColumnPlan,
    Plan,
    Wishes,
)
from ._raw import Raw, Reading, read_raw, write_cell
from ._sentinels import find_sentinels
from ._source import Source, open_source

# What is not a number or a date, and as which of them it was expected -> column, cells.
Strays = dict[tuple[str, str], list[tuple[str, int]]]


@dataclass(frozen=True)
class Table:
    """A table, ready to be fitted.

    Attributes
    ----------
    name : str
        Of the source.
    frame : pandas.DataFrame of shape (n_rows, n_features)
        The columns that are compared.
    ids : pandas.DataFrame of shape (n_rows, n_ids)
        The columns that name rows; perhaps none.
    aside : pandas.DataFrame
        The columns that were left out, as they are held.
    plan : Plan
        By which it was read.
    said : tuple of str
        What was assumed.
    """

    name: str
    frame: Any
    ids: Any
    aside: Any
    plan: Plan
    said: tuple[str, ...]


def read_table(
    path: str | Source, reading: Reading, wishes: Wishes, plan: Plan | None = None
) -> Table:
    """Read a table.

    Parameters
    ----------
    path : str or Source
        ``"-"`` is standard input.
    reading : Reading
        How the source is written, as far as the user said.
    wishes : Wishes
        What the user said about the columns.
    plan : Plan, optional
        Of a table that was fitted; then nothing is guessed.

    Returns
    -------
    Table
    """
    source = open_source(path) if isinstance(path, str) else path
    raw = read_raw(source, reading)
    if plan is not None:
        return apply_plan(raw, plan, fitted=True)
    plan, writing, guessed = guess_plan(raw, wishes)
    table = apply_plan(raw, plan, writing, tuple(guessed))
    noticed = (*find_sentinels(table.frame), *_find_constants(table.frame))
    return replace(table, said=(*table.said, *noticed))


def apply_plan(
    raw: Raw,
    plan: Plan,
    writing: str = "",
    guessed: tuple[str, ...] = (),
    *,
    fitted: bool = False,
) -> Table:
    """Read columns by a plan.

    Parameters
    ----------
    raw : Raw
    plan : Plan
    writing : str
        What is to be said with the table's size.
    guessed : tuple of str
        What is to be said of the plan.
    fitted : bool, default=False
        Whether the plan is of another table, of which this one may lack ids.

    Returns
    -------
    Table
    """
    said = [_say_size(raw) + writing, *raw.said, *guessed]
    _check_columns(raw, plan, said, fitted)
    strays: Strays = {}
    used: dict[str, Any] = {}
    ids: dict[str, Any] = {}
    for column in plan.columns:
        if column.role == USED:
            used[column.name] = _read_column(raw, column, plan, strays, said)
        elif column.role == ID and column.name in raw.frame:
            ids[column.name] = _read_id(raw.frame[column.name])
    said += [_say_strays(texts, what, held) for (texts, what), held in strays.items()]
    frame = pd.DataFrame(used)
    nothing = int(frame.isna().all(axis=1).sum())
    if nothing:
        said.append(
            f"{counted(nothing, 'row')} {'has' if nothing == 1 else 'have'} nothing "
            "observed"
        )
    names = pd.DataFrame(ids, index=raw.frame.index)
    aside = raw.frame[[one for one in plan.named(LEFT_OUT) if one in raw.frame]]
    return Table(raw.name, frame, names, aside, plan, tuple(said))


def _say_size(raw: Raw) -> str:
    n_rows, n_columns = raw.frame.shape
    separator = f", {raw.separator}" if raw.separator else ""
    size = f"{counted(n_rows, 'row')}, {counted(n_columns, 'column')}"
    return f"{raw.name}: {size}{separator}"


def _check_columns(raw: Raw, plan: Plan, said: list[str], fitted: bool) -> None:
    if not fitted:
        return
    names = set(raw.frame.columns)
    known = {column.name for column in plan.columns}
    new = [name for name in raw.frame.columns if name not in known]
    lost = [name for name in plan.named(USED) if name not in names]
    if lost:
        raise InputError(
            f"{raw.name}: the column{'s' * (len(lost) > 1)} {listed(lost)} "
            f"{'were' if len(lost) > 1 else 'was'} fitted, and "
            f"{'are' if len(lost) > 1 else 'is'} not there"
            + (
                _suggest_names(lost, new)
                or f"; it has {listed(list(raw.frame.columns), 8)}."
            )
        )
    if new:
        said.append(f"not known to the model, left out: {listed(new)}")
    if out := [name for name in plan.named(LEFT_OUT) if name in names]:
        said.append(f"left out, as when fitted: {listed(out)}")


def _suggest_names(lost: list[str], new: list[str]) -> str:
    """Tell which new columns may be those that are lost, under other names."""
    found = [(name, find_near(name, new)) for name in lost]
    pairs = [f"{other!r} for {name!r}" for name, other in found if other is not None]
    if not pairs:
        return ""
    if len(lost) == 1:
        return f", did you mean {found[0][1]!r}? Rename it."
    return f", did you mean {', '.join(pairs[:5])}? Rename them."


def _find_constants(frame: Any) -> list[str]:
    """Say which columns hold one value only, beside which nothing can be compared."""
    if len(frame) < 2:
        return []
    one = [name for name in frame if _is_constant(frame[name].dropna())]
    full = [name for name in one if frame[name].notna().all()]
    holed = [name for name in one if name not in full]
    adds = "the same to every similarity"
    said = []
    if full:
        what = (
            "has one value: it adds" if len(full) == 1 else "have one value: each adds"
        )
        said.append(f"{listed(full)} {what} {adds} (--drop leaves it out)")
    if holed:
        what = "has one value" if len(holed) == 1 else "have one value each"
        said.append(
            f"{listed(holed)} {what} and holes: unless these tell something "
            f"(--missingness), it adds {adds} (--drop leaves it out)"
        )
    return said


def _is_constant(observed: Any) -> bool:
    return bool(len(observed) and observed.eq(observed.iloc[0]).all())


def _read_id(column: Any) -> Any:
    """Keep the cells as they are, text as text."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(object)
    return column


def _read_column(
    raw: Raw, column: ColumnPlan, plan: Plan, strays: Strays, said: list[str]
) -> Any:
    held = raw.frame[column.name]
    text = isinstance(held.dtype, pd.CategoricalDtype) and not held.dtype.ordered
    if not text:
        numbers = pd.api.types.is_numeric_dtype(held.dtype) and plan.missing_numbers()
        held = held.mask(held.isin(numbers)) if numbers else held
        return _read_held(raw, column, held)
    words = Words.of(held, plan.missing)
    if column.kind in (CATEGORIES, HELD):
        return pd.Series(pd.Categorical.from_codes(words.codes, words.values))
    # Numbers that were held as such may be written in another file.
    form = column.form or ("iso" if column.kind == DATES else "1.5")
    texts = without_unit(words.values, column.unit)
    values = parse_form(form, texts)
    if np.isnat(values).any() if column.kind == DATES else np.isnan(values).any():
        other = _find_other_form(column, form, texts)
        if other:
            said.append(
                f"{column.name!r} is written otherwise than when fitted: {other}"
            )
            values = parse_form(other, texts)
        _find_strays(raw, column, words, values, strays)
    missing = np.array(np.nan if column.kind != DATES else "NaT", values.dtype)
    padded = np.append(values, missing)  # the code -1 takes the last
    return pd.Series(padded[words.codes])


def _find_other_form(column: ColumnPlan, form: str, texts: Any) -> str | None:
    """Find a form in which all is written, where nothing is as it was when fitted."""
    fitted = match_form(form, texts)
    if fitted is not None and fitted.any():
        return None
    for other in DATE_FORMS if column.kind == DATES else NUMBER_FORMS:
        matched = match_form(other, texts)
        if other not in AMBIGUOUS and matched is not None and matched.all():
            return other
    return None


def _find_strays(
    raw: Raw, column: ColumnPlan, words: Words, values: Any, strays: Strays
) -> None:
    stray = np.asarray(pd.isna(values))
    n_cells = words.count(stray)
    if not n_cells:
        return
    texts = list(words.values[stray])
    what = "a date" if column.kind == DATES else "a number"
    if n_cells > (1 - ENOUGH) * words.n_observed + 1:
        raise InputError(
            f"{raw.name}: column {column.name!r} has {NUMBERS}"
            f"{'' if column.kind != DATES else ' as dates'} in the model, and here "
            f"{n_cells:,} of {words.n_observed:,} cells are not {what}, as "
            f"{listed(texts, 2)}; mend them, or fit again."
        )
    strays.setdefault((listed(texts, 3), what), []).append((column.name, n_cells))


def _say_strays(texts: str, what: str, held: list[tuple[str, int]]) -> str:
    names, counts = zip(*held, strict=True)
    where = f"{names[0]!r}" if len(names) == 1 else f"{len(names)} columns"
    return (
        f"{where}: {texts} is not {what}, taken as missing "
        f"({counted(sum(counts), 'cell')})"
    )


def _read_held(raw: Raw, column: ColumnPlan, held: Any) -> Any:
    """Take a column of numbers or dates, as categories if they are to be that."""
    held = held.reset_index(drop=True)
    if column.kind == CATEGORIES:
        if isinstance(held.dtype, pd.CategoricalDtype):
            return held.cat.as_unordered()
        return held.astype(object).map(write_cell, na_action="ignore").astype(
            "category"
        )  # fmt: skip
    dtype = held.dtype
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        return held.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    is_date = pd.api.types.is_datetime64_any_dtype(dtype)
    if column.kind == NUMBERS and is_date:
        raise InputError(
            f"{raw.name}: column {column.name!r} holds dates, and numbers in the "
            "model; mend it, or fit again."
        )
    return held
