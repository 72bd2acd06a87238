"""``proximity-kernel compare``: what changed between two files of the same table."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from rich.text import Text
from scipy.stats import chi2_contingency, fisher_exact, ks_2samp
from sklearn.base import clone

from .. import ProximityOutliers
from .._bins import format_numbers
from .._shared.wording import counted, join_names, listed, write_share
from ..io import ColumnSchema, InputError, LoadedTable, Schema, read_table
from . import fitting
from .arguments import reading_options
from .program import STANDARD_STREAM, Invocation
from .results import draw_grid, join_table, label_rows, write_results, write_short

_CHANCE = 0.02  # probability that any column is listed although nothing changed
_N_TESTS = 2  # tests of each column: one for missing cells, one for values
_MIN_ROWS = 20  # rows that each file must have for a test
_N_ROWS = 5  # rows shown of each kind: with a high score, with new values
_N_FOLDS = 5
_TYPICAL = 0.99  # share of the old rows that score at most the limit
_MIN_COUNT = 10  # cells of a category in both files; rarer categories are pooled
_N_VALUES = 2  # categories of a column whose shares are shown


@dataclass(frozen=True)
class _Change:
    """How the values of a column changed."""

    name: str
    size: float  # distance of the distributions, from 0 (equal) to 1 (disjoint)
    chance: float  # smallest p-value of the tests for a change; 1 if none was made
    text: str


def run(invocation: Invocation) -> None:
    """Read the new file by the schema of the old file, and print what changed."""
    options = invocation.options
    fitting.check_pairwise(options)
    if options.new == STANDARD_STREAM:
        raise InputError("NEW is read twice; name a file, not standard input.")
    old = fitting.open_table(invocation, options.file)
    inferred = fitting.open_table(invocation, options.new)
    names = _find_shared_columns(invocation, old.schema, inferred.schema)
    columns = [one for one in old.schema.columns if one.name in names]
    longer = [one.name for one in columns if _has_new_labels(one, inferred)]
    # The order of a scale with new labels is unknown.
    columns = [
        replace(one, kind="categories", order=()) if one.name in longer else one
        for one in columns
    ]
    plain = {name: old.frame[name].astype(object) for name in longer}
    old = replace(old, frame=old.frame.assign(**plain))
    schema = replace(old.schema, columns=tuple(columns))
    with invocation.progress(f"reading {options.new}"):
        given = reading_options(options)
        new = read_table(options.new, schema=schema, **given)
    ids = inferred.ids
    for name in old.ids:  # the ids of the new file may not look like ids
        if name not in ids and name in inferred.frame:
            ids = ids.assign(**{name: inferred.frame[name]})
    new = replace(new, ids=ids.loc[new.frame.index])
    old, new = _drop_zones(old, new)
    _compare_ids(invocation, old, new)
    changes = [_compare_column(n, old.frame[n], new.frame[n]) for n in new.frame]
    limit = _CHANCE / len(changes) / _N_TESTS
    changed = sorted((c for c in changes if c.chance < limit), key=lambda c: -c.size)
    if changed:
        head = ("column", "change (0 to 1)", "old to new")
        lines = [(one.name, f"{one.size:.2f}", one.text) for one in changed]
        invocation.console(out=True).print(draw_grid(head, lines, numbers=[1]))
    if n_others := len(changes) - len(changed):
        others = counted(n_others, "column differs", "columns differ")
        _print(invocation, f"{others} no more than samples of one table usually do.")
    _print_unlike(invocation, old, new)


def _drop_zones(old: LoadedTable, new: LoadedTable) -> tuple[LoadedTable, LoadedTable]:
    """Convert dates to UTC, without a zone, where the tables have different zones."""
    tables = [old, new]
    for name in new.frame:
        pair = old.frame[name], new.frame[name]
        zones = [str(getattr(own.dtype, "tz", "")) for own in pair]
        for k, (own, zone) in enumerate(zip(pair, zones, strict=True)):
            if zones[0] != zones[1] and zone:
                frame = tables[k].frame.assign(**{str(name): own.dt.tz_convert(None)})
                tables[k] = replace(tables[k], frame=frame)
    return tables[0], tables[1]


def _has_new_labels(column: ColumnSchema, new: LoadedTable) -> bool:
    """Whether a column is ordered, and the new file adds labels to its scale."""
    if column.kind != "ordered":
        return False
    labels = {str(one) for one in new.frame[column.name].dropna().unique()}
    return not labels <= {*column.order}


def _print(invocation: Invocation, line: str) -> None:
    """Print a line of the comparison on standard output."""
    invocation.console(out=True).print(Text(line), soft_wrap=True)


def _find_shared_columns(invocation: Invocation, old: Schema, new: Schema) -> list[str]:
    """List the columns to compare; print which columns cannot be compared, and why."""
    kinds = [{one.name: one for one in schema.columns} for schema in (old, new)]
    only = [[n for n in kinds[i] if n not in kinds[1 - i]] for i in (0, 1)]
    for names, where in zip(only, ("old", "new"), strict=True):
        if names:
            columns = "the column" if len(names) == 1 else "the columns"
            _print(
                invocation, f"Only the {where} file has {columns} {listed(names, 8)}."
            )
    shared, differ = [], []
    for name, a in kinds[0].items():
        b = kinds[1].get(name)
        if b is None or a.role != "used" or b.role == "id":
            continue
        texts = {"categories", "ordered"}
        if b.role == "used" and (a.kind == b.kind or {a.kind, b.kind} <= texts):
            shared.append(name)
        else:
            held = b.kind if b.role == "used" else "left out"
            differ.append(f"{name!r} ({a.kind}, now {held})")
    if differ:
        _print(
            invocation,
            f"Not compared, because the kind of values differs: {join_names(differ)}.",
        )
    if not shared:
        raise InputError(
            f"{invocation.options.new}: it has no column that can be compared with the "
            "old file."
        )
    return shared


def _compare_ids(invocation: Invocation, old: LoadedTable, new: LoadedTable) -> None:
    """Match rows by id; print how many are in each file, and which cells changed."""
    name = next((one for one in old.ids if one in new.ids), None)
    if name is None:
        return
    a, b = (pd.Index(table.ids[name].astype(str)) for table in (old, new))
    if a.has_duplicates or b.has_duplicates:
        _print(invocation, f"Rows are not matched by {name!r}: it has duplicates.")
        return
    both = a.intersection(b)
    rows = counted(len(both), "row is", "rows are")
    gone, added = len(a) - len(both), len(b) - len(both)
    only = f"{gone:,} only in the old file, {added:,} only in the new file"
    _print(invocation, f"By {name!r}, {rows} in both files, {only}.")
    if not len(both):
        return
    before = old.frame[list(new.frame)].set_axis(a).loc[both]
    after = new.frame.set_axis(b).loc[both]
    n_changed = {
        name: int((_convert_to_text(before[name]) != _convert_to_text(own)).sum())
        for name, own in after.items()
    }
    found = [f"{c!r} ({n:,})" for c, n in n_changed.items() if n]
    where = "in the rows that both files have"
    cells = f"Cells that changed {where}: {join_names(found, 8)}."
    _print(invocation, cells if found else f"No cell changed {where}.")


def _convert_to_text(cells: Any) -> Any:
    """Convert cells to strings that can be compared, missing cells to ""."""
    return cells.astype(str).where(cells.notna(), "")


def _compare_column(name: str, old: Any, new: Any) -> _Change:
    """Test how a column changed: its share of missing cells, and its values."""
    a, b, is_date = old.dropna(), new.dropna(), old.dtype.kind == "M"
    missing = [float(cells.isna().mean()) for cells in (old, new)]
    missing_size = size = abs(missing[1] - missing[0])
    chance = 1.0
    texts: list[str] = []
    if min(len(old), len(new)) < _MIN_ROWS:
        return _Change(name, size, chance, "")
    if size > 0:
        counts = [[len(a), len(old) - len(a)], [len(b), len(new) - len(b)]]
        chance = float(chi2_contingency(counts).pvalue)
        texts.append(f"missing {write_share(missing[0])} to {write_share(missing[1])}")
    if not len(a) or not len(b):
        return _Change(name, size, chance, "; ".join(texts))
    if is_date or old.dtype.kind == "f":
        # To the same unit, and to UTC: the two files may differ in unit and zone.
        dtype = "M8[us]" if is_date else float
        values = [cells.to_numpy(dtype).astype(float) for cells in (a, b)]
        found = ks_2samp(*values)
        how = "lower" if is_date else "linear"  # the median date is an observed date
        middles = [cells.quantile(0.5, interpolation=how) for cells in (a, b)]
        said = list(map(write_short, middles))
        if not is_date:
            said = format_numbers(middles, "numbers")
        moved = [f"median {said[0]} to {said[1]}"] * (said[0] != said[1])
        moved.append(_write_largest_step(a, b, values, found.statistic_location))
        # What changed more comes first.
        first = 0 if found.statistic >= missing_size else len(texts)
        texts[first:first] = moved
        chance, size = min(chance, found.pvalue), max(size, float(found.statistic))
        return _Change(name, size, chance, "; ".join(texts))
    cells = {"old": a.astype(str), "new": b.astype(str)}
    counts = pd.DataFrame({k: own.value_counts() for k, own in cells.items()}).fillna(0)
    rare = counts.sum(axis=1) < _MIN_COUNT
    tested = [*counts[~rare].to_numpy(), counts[rare].sum().to_numpy()]
    tested = [row for row in tested if row.sum()]
    if len(tested) > 1:
        chance = min(chance, float(chi2_contingency(np.array(tested)).pvalue))
    shares = counts / counts.sum()
    steps = (shares["new"] - shares["old"]).sort_values(key=abs, ascending=False)
    size = max(size, float(steps.abs().sum() / 2))
    values = [
        f"{write_short(value)}: {write_share(shares['old'][value])} to "
        f"{write_share(shares['new'][value])}"
        for value in steps.index[:_N_VALUES]
    ]
    # What changed most comes first.
    said = [*texts, *values] if missing_size > steps.abs().max() else [*values, *texts]
    return _Change(name, size, chance, "; ".join(said))


def _write_largest_step(old: Any, new: Any, values: Any, place: float) -> str:
    """Write the shares of the values up to the place where they differ most."""
    shares = [write_share(float((own <= place).mean())) for own in values]
    cells = [*old[values[0] == place], *new[values[1] == place]]
    return f"up to {write_short(cells[0])}: {' to '.join(shares)}"


def _find_new_values(old: Any, new: Any) -> dict[str, Any]:
    """Find new categories, and numbers or dates outside the range of the old rows.

    Returns, for each column with such cells, a Series that says for every cell why it
    is new, or "".
    """
    found = {}
    for name, cells in new.items():
        known = old[name].dropna()
        if not len(known):
            continue
        said = pd.Series("", cells.index, dtype=object)
        if cells.dtype.kind in "fM":
            low, high = known.min(), known.max()
            said[cells < low] = f"below {write_short(low)}, the lowest in the old file"
            said[cells > high] = (
                f"above {write_short(high)}, the highest in the old file"
            )
        else:
            seen = {str(one) for one in known.unique()}
            said[cells.notna() & ~cells.astype(str).isin(seen)] = "not in the old file"
        if (said != "").any():
            found[str(name)] = said
    return found


def _hash_rows(old: LoadedTable, new: LoadedTable) -> list[Any]:
    """Compute a hash of the shared cells and the shared id of each old and new row."""
    shared = [name for name in new.ids if name in old.ids][:1]
    hashes = []
    for table in (old, new):
        cells = {name: table.frame[name] for name in new.frame}
        cells |= {f"id {name}": table.ids[name] for name in shared}
        text = pd.DataFrame({n: _convert_to_text(own) for n, own in cells.items()})
        hashes.append(pd.util.hash_pandas_object(text, index=False).to_numpy())
    return hashes


def _take_rows(table: LoadedTable, chosen: Any) -> LoadedTable:
    """Take the chosen rows of a table."""
    rows, parts = table.frame.index[chosen], ("frame", "ids", "source")
    return replace(table, **{part: getattr(table, part).loc[rows] for part in parts})


def _find_moved_constants(old: Any, new: Any) -> dict[str, str]:
    """Find columns with one old value that no new cell has; describe the change."""
    found = {}
    for name, cells in new.items():
        values, known = old[name].dropna().unique(), cells.dropna()
        if len(values) == 1 and len(known) and not (known == values[0]).any():
            now = join_names([write_short(one) for one in known.unique()], _N_VALUES)
            found[str(name)] = f"{write_short(values[0])} to {now}"
    return found


def _compare_counts(new: Any, old: Any, what: str) -> str:
    """Write how many new and old rows have something, and whether they differ.

    The old rows are compared with other old rows; see `_cross_fit`.
    """
    counts = [[int(own.sum()), int((~own).sum())] for own in (new, old)]
    (n, _), (usual, _) = counts
    if len(new) == 1:
        said = f"{'The' if n else 'No'} new row has {what}"
    else:
        said = f"{n:,} of {len(new):,} new rows {'has' if n == 1 else 'have'} {what}"
    said += f"; {usual:,} of {counted(len(old), 'old row')} "
    said += "does" if usual == 1 else "do"
    said += ", each fifth of them compared with the rest"
    enough = min(len(new), len(old)) >= _MIN_ROWS
    if n and usual and enough and fisher_exact(counts, "greater").pvalue > _CHANCE:
        said += ", so they are hardly more frequent than before"
    return said


def _cross_fit(model: ProximityOutliers, known: Any) -> tuple[Any, Any]:
    """Compare each fifth of the old rows with the other four fifths.

    Returns the outlier score of each row by a model that is fitted to the other fifths,
    because it would be lower by a model that is fitted to the row itself, and whether
    the row has a category, number or date that is not in the range of the other fifths.
    """
    scores, beyond = np.zeros(len(known)), np.zeros(len(known), dtype=bool)
    fold = np.random.default_rng(0).permutation(len(known)) % _N_FOLDS
    for k in range(_N_FOLDS if len(known) > 1 else 0):
        own, rest = np.flatnonzero(fold == k), known[fold != k]
        if not len(own):
            continue
        with warnings.catch_warnings():  # the fit to all old rows warns of the same
            warnings.simplefilter("ignore")
            scores[own] = -clone(model).fit(rest).score_samples(known.iloc[own])
        for said in _find_new_values(rest, known.iloc[own]).values():
            beyond[own] |= (said != "").to_numpy()
    return scores, beyond


def _print_unlike(invocation: Invocation, old: LoadedTable, new: LoadedTable) -> None:
    """Print the new rows that are unlike the old rows; write them if -o was given."""
    options = invocation.options
    kernel = fitting.make_kernel(options, ProximityOutliers())
    a, b = _hash_rows(old, new)
    same = np.isin(b, a)
    if np.array_equal(np.sort(a), np.sort(b)):
        _print(invocation, "The files have the same rows.")
    elif same.any():
        rows = counted(int(same.sum()), "new row is", "new rows are")
        _print(invocation, f"{rows} equal to an old row, and left out below.")
    new = _take_rows(new, ~same)
    known = old.frame[list(new.frame)]
    moved = _find_moved_constants(known, new.frame)
    for name, text in moved.items():
        _print(invocation, f"Every cell of {name!r} is new: {text}.")
    frame = new.frame.drop(columns=list(moved))
    known = known[list(frame)]
    if frame.empty:
        if options.output is not None or options.format is not None:
            write_results(invocation, join_table(new, {"score": [], "reasons": []}))
        return
    model = ProximityOutliers(kernel=kernel, n_jobs=options.n_jobs)
    with invocation.progress("fitting"):
        before, were_beyond = _cross_fit(model, known)
        scores = -model.fit(known).score_samples(frame)
    high = float(np.quantile(before, _TYPICAL, method="higher"))
    limit = max(-model.offset_, high)
    found = _find_new_values(known, frame)
    unlike, beyond = scores > limit, np.zeros(len(scores), dtype=bool)
    for own in found.values():
        beyond |= (own != "").to_numpy()
    if found:
        cells = [f"{n!r} ({int((own != '').sum()):,})" for n, own in found.items()]
        rows = _compare_counts(beyond, were_beyond, "such cells")
        what = "New categories, or numbers outside the old range"
        _print(invocation, f"{what}: {join_names(cells, 8)}. {rows}.")
    score = f"an outlier score above {limit:.1f}"
    _print(invocation, f"{_compare_counts(unlike, before > limit, score)}.")
    order = np.argsort(-scores, kind="stable")
    order = order[(unlike | beyond)[order]]
    texts = np.full(len(scores), "", dtype=object)
    reasons = model.reasons(frame.iloc[order], among=known) if len(order) else []
    for i, own in zip(order, reasons, strict=True):
        odd = {name: said.iloc[i] for name, said in found.items() if said.iloc[i]}
        parts = [
            f"{name} {write_short(frame[name].iloc[i])}: {said}"
            for name, said in odd.items()
        ]
        parts += [str(one) for one in own if one.feature not in odd]
        texts[i] = "; ".join(parts)
    labels = label_rows(new)
    order = order[texts[order] != ""]  # the others are confirmed by other rows
    alone = order[~unlike[order]]
    for some in (order[unlike[order]], alone):
        if len(some) and some is alone:
            only = counted(len(alone), "other row has", "other rows have")
            _print(invocation, f"{only} new categories or numbers outside the range:")
        for i in some[:_N_ROWS]:
            _print(invocation, f"row {labels[i]}: {texts[i]}")
        if len(some) > _N_ROWS:
            _print(invocation, f"and {counted(len(some) - _N_ROWS, 'more row')}")
    if options.output is None and options.format is None:
        if max(len(alone), len(order) - len(alone)) > _N_ROWS:
            invocation.note("-o FILE writes all of these rows, with all columns")
        return
    joined = join_table(new, {"score": scores.round(6), "reasons": texts})
    write_results(invocation, joined.loc[frame.index[order]])
