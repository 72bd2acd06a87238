"""``proximity-kernel neighbors``: the most similar rows of each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator

from .. import ProximityNeighbors, explain
from .._nearest import drop_itself
from .._shared.wording import counted, join_names, join_sentences, number_repeats
from ..io import InputError
from ..io.cells import write_cell
from . import fitting
from .program import Invocation
from .results import (
    N_SHOWN,
    draw_rows,
    find_row,
    is_for_terminal,
    join_results,
    label_rows,
    write_results,
)

_DEFAULT_K = 5
_MAX_GROUPS = 3  # groups of equal rows that are listed
_MAX_SAMPLE = 300  # rows from which the usual similarity is computed
_MAX_NAMES = 3  # columns in which two rows agree that are listed


def run(invocation: Invocation) -> None:
    """Find the nearest rows of each query row, and write or show them."""
    options = invocation.options
    if options.model is not None and options.queries is not None:
        raise InputError("--queries: with --model, name the new table as FILE.")
    model, table, notes = fitting.start(invocation, "ProximityNeighbors")

    exclude_self = model is None and options.queries is None
    asked = table
    if model is None:
        ids = table.ids
        saved = {name: list(map(write_cell, ids[name])) for name in ids}
        if options.queries is not None:
            asked = fitting.open_table(invocation, options.queries, table.schema)
        rows, k = _find_query_rows(options, asked, len(table.frame) - exclude_self)
        kernel = fitting.make_kernel(options, ProximityNeighbors())
        model = ProximityNeighbors(kernel=kernel, n_jobs=options.n_jobs)
        numbers = table.frame.index.tolist()
        left_out = numbers != list(range(len(numbers)))
        more = {"rows": numbers} if left_out else {}
        coded = fitting.fit(invocation, model, table, ids=saved, **more)
    else:
        rows, k = _find_query_rows(options, asked, model.n_samples_fit_)
        numbers = notes.get("rows", range(model.n_samples_fit_))
        ids = pd.DataFrame(notes.get("ids", {}), index=numbers)
    queries = coded if exclude_self else fitting.code(model, asked)
    with invocation.progress("finding neighbors"):
        distances, indices = model.kneighbors(queries.take(rows), k + exclude_self)
    similarities = 1 - distances
    if exclude_self:
        similarities, indices = drop_itself(similarities, indices, rows)
    near = _Nearest(asked, rows, indices, similarities, ids)
    if is_for_terminal(options):
        if exclude_self and not options.of:
            invocation.note(_describe_closest(near))
        if options.model is None and len(table.frame) > 1:
            invocation.note(_describe_scale(model, coded))
        _show_nearest(invocation, model, near, None if options.model else table)
    else:
        make = _join_neighbors if options.join else _list_neighbors
        write_results(invocation, make(near))


def _find_query_rows(options: Any, asked: Any, n_others: int) -> tuple[Any, int]:
    """Return the indices of the query rows, and the number of neighbors to find.

    Raises InputError if fewer rows can be searched.
    """
    k = options.k or min(_DEFAULT_K, n_others)
    if n_others < 1:
        raise InputError(f"{asked.name}: there is no other row to search.")
    if k > n_others:
        raise InputError(
            f"-k {k}: there {'is' if n_others == 1 else 'are'} "
            f"{counted(n_others, 'row')} to choose from; ask for fewer neighbors."
        )
    rows = [find_row(asked, text, "--of ") for text in options.of]
    return np.array(rows or range(len(asked.frame)), dtype=int), k


@dataclass(frozen=True)
class _Nearest:
    """The nearest rows of each query row."""

    asked: Any  # the LoadedTable with the query rows
    rows: Any  # indices of the query rows in `asked`
    indices: Any  # of the nearest rows, the most similar first; shape (n, k)
    similarities: Any
    # Ids of the searched rows, a frame without a column if they have none. Its index is
    # the number of each row in its file, counted from 0.
    ids: Any

    @cached_property
    def labels(self) -> list[str]:
        """The label of each searched row: its id or, without ids, its number from 1.

        An id that several rows have is followed by the row number.
        """
        numbers = (self.ids.index + 1).tolist()
        if not len(self.ids.columns):
            return [str(number) for number in numbers]
        return number_repeats(list(map(write_cell, self.ids.iloc[:, 0])), numbers)


def _describe_closest(near: _Nearest) -> str:
    """Describe which rows of a table are equal or, if none are, the most similar."""
    frame = near.asked.frame
    equal = frame[frame.duplicated(keep=False) & frame.notna().any(axis=1)]
    if len(equal):
        return _describe_equal_rows(equal, near)
    nearest = near.similarities[:, 0].round(3)
    best = int(near.similarities[:, 0].argmax())
    pair = f"{near.labels[near.rows[best]]} and {near.labels[near.indices[best, 0]]}"
    n_equal = int((nearest == nearest[best]).sum())
    if n_equal > 2:
        return (
            f"The highest similarity is {nearest[best]:.3f}; {n_equal:,} rows have a "
            f"row as similar, for example {pair}."
        )
    return f"The most similar rows are {pair}: {nearest[best]:.3f}."


def _describe_scale(model: Any, coded: Any) -> str:
    """Describe the usual similarity of a row to its nearest row and to a random row."""
    some = np.unique(np.linspace(0, len(coded) - 1, _MAX_SAMPLE).astype(int))
    sample = coded.take(some)
    distances, indices = model.kneighbors(sample, 2)
    nearest = 1 - np.median(drop_itself(distances, indices, some)[0])
    among = ProximityNeighbors(kernel=FrozenEstimator(model.kernel_)).fit(sample)
    chance = 1 - np.median(among.kneighbors(None, len(some) - 1)[0])
    return (
        f"The similarity (0 to 1) is usually {nearest:.2f} between a row and its "
        f"nearest row, and {chance:.2f} between two random rows. It is the share of "
        "what an equal row would score, and differs a little in the other direction."
    )


def _describe_equal_rows(equal: Any, near: _Nearest) -> str:
    """List the groups of equal rows in a sentence."""
    groups = equal.groupby(list(equal), dropna=False, observed=True, sort=False)
    rows = [near.ids.index.get_indexer(own) for own in groups.groups.values()]
    texts = [join_names([near.labels[int(i)] for i in own]) for own in rows]
    if len(texts) == 1:
        return f"Rows {texts[0]} have the same cells in every compared column."
    return (
        f"{len(equal):,} rows have the same cells as another row in every compared "
        f"column: {join_sentences(texts, _MAX_GROUPS)}."
    )


def _show_nearest(
    invocation: Invocation, model: Any, near: _Nearest, searched: Any
) -> None:
    """Show the nearest rows of the first rows, and the columns in which they agree.

    `searched` is the table that was fitted, or None if a saved model was loaded.
    """
    n, k = near.indices.shape
    per_row = 1 if n >= N_SHOWN else min(k, N_SHOWN // n)
    labels, lines = label_rows(near.asked), []
    for at in range(min(n, N_SHOWN)):
        for rank in range(per_row):
            row, found = int(near.rows[at]), int(near.indices[at, rank])
            line = {
                "row": labels[row],
                "nearest": near.labels[found],
                "similarity": float(near.similarities[at, rank]),
            }
            if searched is not None:
                pair = near.asked.frame.iloc[[row]], searched.frame.iloc[[found]]
                line["the same, or in the same range"] = _list_shared(model, *pair)
            lines.append(line)
    invocation.console(out=True).print(draw_rows(pd.DataFrame(lines)))
    if n * k > len(lines):
        nearest = "nearest row" if k == 1 else f"{k:,} nearest rows"
        invocation.note(f"-o FILE writes the {nearest} of {counted(n, 'row')}")


def _list_shared(model: Any, a: Any, b: Any) -> str:
    """List the columns known in both rows that have the same value or range."""
    features = explain(model, a, b).features
    n_missing = [(one.a.value is None) + (one.b.value is None) for one in features]
    known = [one for one, n in zip(features, n_missing, strict=True) if n == 0]
    shared = [one.name for one in known if one.alike == "same"]
    shared += [one.name for one in known if one.alike == "same range"]
    names = f"{len(shared)} of {len(known)}: {join_names(shared, _MAX_NAMES)}"
    in_both = n_missing.count(2)
    more = f"; {in_both} missing in both" if in_both > len(known) else ""
    return (names if shared else "nothing") + more


def _list_neighbors(near: _Nearest) -> Any:
    """Make the output table: a row for each pair of a query row and a neighbor."""
    n, k = near.indices.shape
    neighbors, queries = near.indices.ravel(), np.repeat(near.rows, k)
    frame = {
        "row": near.asked.frame.index[queries] + 1,
        "rank": np.tile(np.arange(1, k + 1), n),
        "neighbor": near.ids.index[neighbors] + 1,
        "similarity": near.similarities.ravel().astype(float).round(6),
    }
    for name, cells in near.asked.ids.items():
        free = f"{name}_" if name in frame else name
        frame[free] = cells.array[queries]
    for name, cells in near.ids.items():
        frame[f"neighbor_{name}"] = cells.array[neighbors]
    return pd.DataFrame(frame)


def _join_neighbors(near: _Nearest) -> Any:
    """Make the output table of --join: all columns, and the neighbors of each row."""
    results = {}
    for rank in range(near.indices.shape[1]):
        found = near.indices[:, rank].tolist()
        similarity = near.similarities[:, rank].astype(float).round(6)
        results[f"neighbor_{rank + 1}"] = [near.labels[index] for index in found]
        results[f"similarity_{rank + 1}"] = similarity
    rows = near.asked.frame.index[near.rows]
    return join_results(near.asked.source.loc[rows], results)
