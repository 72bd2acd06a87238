"""``proximity-kernel neighbors``: the most similar rows of each row."""

from __future__ import annotations

import argparse
from typing import Any

from .._shared.wording import counted
from ..io import InputError
from . import arguments
from .program import Invocation

DESCRIPTION = """\
Find the most similar rows of each row, or of some rows.

  proximity-kernel neighbors patients.csv -k 5 -o near.csv
  proximity-kernel neighbors patients.csv --of P0012 --of P0077
  proximity-kernel neighbors old.csv --queries new.csv
  proximity-kernel neighbors old.csv --save-model m.pk -o near.csv
  proximity-kernel neighbors new.csv --model m.pk

Output: the row (from 1), the rank, the neighbor's row and their
similarity, from 0 to 1; the ids of both, if there are any.
"""
_DEFAULT_K = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_input(parser)
    parser.add_argument(
        "-k", type=arguments.whole_number(1), metavar="N",
        help="number of neighbors of each row (5, or all if there are fewer)",
    )  # fmt: skip
    parser.add_argument(
        "--of", action="append", default=[], metavar="ROW",
        help="only for this row: its id or its number; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--queries",
        metavar="FILE",
        help="for the rows of another table, read in the same way",
    )
    arguments.add_kernel(parser)
    arguments.add_output(parser)
    arguments.add_model(parser)


def run(invocation: Invocation) -> None:
    """Run the command."""
    from ..io.parquet_and_excel import write_cell
    from . import fitting
    from .outputs import find_format

    options = invocation.options
    file_format = find_format(options.output, options.format)
    if options.model is not None and options.queries is not None:
        raise InputError("--queries: with --model, name the new table as FILE.")
    model, table, notes = fitting.start(invocation, "ProximityNeighbors")
    import pandas as pd

    from .results import write_results

    exclude_self = model is None and options.queries is None
    asked, ids = table, pd.DataFrame(notes.get("ids", {}))
    if model is None:
        from .. import ProximityNeighbors

        ids = table.ids
        saved = {name: list(map(write_cell, ids[name])) for name in ids}
        if options.queries is not None:
            asked = fitting.open_table(invocation, options.queries, table.schema)
        rows, k = _find_rows(options, asked, len(table.frame) - exclude_self)
        kernel = fitting.make_kernel(options)
        model = ProximityNeighbors(kernel=kernel, n_jobs=options.n_jobs)
        fitting.fit(invocation, model, table, ids=saved)
    else:
        rows, k = _find_rows(options, asked, model.n_samples_fit_)
    with invocation.progress("finding neighbors"):
        similarities, indices = model.kneighbors(
            asked.frame.iloc[rows].reset_index(drop=True),
            k + exclude_self,
            return_similarity=True,
        )
    if exclude_self:
        from .._similarity.nearest import drop_itself

        similarities, indices = drop_itself(similarities, indices, rows)
    frame = _list_neighbors(asked, rows, indices, similarities, ids)
    write_results(invocation, frame, file_format)


def _find_rows(options: Any, asked: Any, n_others: int) -> tuple[Any, int]:
    """Find the rows to search neighbors of, and the number of neighbors."""
    import numpy as np

    from .results import find_row

    k = options.k or min(_DEFAULT_K, n_others)
    if n_others < 1:
        raise InputError(f"{asked.name}: there is no other row to search.")
    if k > n_others:
        raise InputError(
            f"-k {k}: there {'is' if n_others == 1 else 'are'} "
            f"{counted(n_others, 'row')} to choose from; ask for fewer."
        )
    rows = [find_row(asked, text, "--of ") for text in options.of]
    return np.array(rows or range(len(asked.frame)), dtype=int), k


def _list_neighbors(
    asked: Any, rows: Any, indices: Any, similarities: Any, ids: Any
) -> Any:
    import numpy as np
    import pandas as pd

    n, k = indices.shape
    neighbors, queries = indices.ravel(), np.repeat(rows, k)
    frame = {
        "row": queries + 1,
        "rank": np.tile(np.arange(1, k + 1), n),
        "neighbor": neighbors + 1,
        "similarity": similarities.ravel().astype(float).round(6),
    }
    for name in asked.ids:
        free = f"{name}_" if name in frame else name
        frame[free] = asked.ids[name].array[queries]
    for name in ids:
        frame[f"neighbor_{name}"] = ids[name].array[neighbors]
    return pd.DataFrame(frame)
