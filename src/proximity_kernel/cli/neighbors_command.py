"""``proximity-kernel neighbors``: the most similar rows of each row."""

from __future__ import annotations

import argparse
from typing import Any

from ..io.errors import InputError
from ..io.wording import counted
from . import arguments
from .invocation import Invocation

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
_BLOCK = 4096  # rows at a time


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


def run(invocation: Invocation) -> int:
    """Run the command."""
    from ..io.writing import write_frame
    from . import fitting
    from .outputs import find_format

    options = invocation.options
    file_format = find_format(options.output, options.format)
    if options.model is not None and options.queries is not None:
        raise InputError("--queries: with --model, name the new table as FILE.")
    model, table, notes = fitting.start(invocation, "ProximityNeighbors")
    exclude_self = model is None and options.queries is None
    asked, ids = table, _unpack_ids(notes)
    if model is None:
        ids = table.ids
        if options.queries is not None:
            asked = fitting.open_table(invocation, options.queries, table.schema)
        rows = _find_rows(invocation, asked, len(table.frame) - exclude_self)
        from .. import ProximityNeighbors

        kernel = fitting.make_kernel(options)
        model = ProximityNeighbors(kernel=kernel, n_jobs=options.n_jobs)
        fitting.fit(invocation, model, table, ids=_pack_ids(ids))
    else:
        rows = _find_rows(invocation, asked, model.n_samples_fit_)
    frame = _find_neighbors(invocation, model, asked, rows, ids, exclude_self)
    write_frame(frame, options.output, file_format)
    return 0


def _find_rows(invocation: Invocation, asked: Any, n_others: int) -> Any:
    """Find the rows to search neighbors of, and check the number of neighbors."""
    import numpy as np

    from .row_names import find_row

    k = invocation.options.k
    if n_others < 1:
        raise InputError(f"{asked.name}: there is no other row to search.")
    if k is None:
        invocation.options.k = min(_DEFAULT_K, n_others)
    elif k > n_others:
        raise InputError(
            f"-k {k}: there {'is' if n_others == 1 else 'are'} "
            f"{counted(n_others, 'row')} to choose from; ask for fewer."
        )
    rows = [find_row(asked, text, "--of ") for text in invocation.options.of]
    return np.array(rows or range(len(asked.frame)), dtype=int)


def _find_neighbors(
    invocation: Invocation,
    model: Any,
    asked: Any,
    rows: Any,
    ids: Any,
    exclude_self: bool,
) -> Any:
    """Find neighbors, block after block."""
    import numpy as np

    k = invocation.options.k
    similarities, indices = [], []
    with invocation.progress("finding neighbors", len(rows)) as advance:
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            similarity, index = model.kneighbors(
                asked.frame.iloc[block].reset_index(drop=True),
                k + exclude_self,
                return_similarity=True,
            )
            if exclude_self:
                similarity, index = _exclude_self(block, similarity, index)
            similarities.append(similarity)
            indices.append(index)
            advance(len(block))
    return _list_neighbors(
        asked, rows, np.vstack(indices), np.vstack(similarities), ids
    )


def _exclude_self(rows: Any, similarities: Any, indices: Any) -> tuple[Any, Any]:
    """Remove each row from its neighbors; the last one where it is not among them."""
    others = indices != rows[:, None]
    others[others.all(axis=1), -1] = False
    shape = (len(rows), indices.shape[1] - 1)
    return similarities[others].reshape(shape), indices[others].reshape(shape)


def _list_neighbors(
    asked: Any, rows: Any, indices: Any, similarities: Any, ids: Any
) -> Any:
    import numpy as np
    import pandas as pd

    n, k = indices.shape
    neighbors, queries = indices.ravel(), np.repeat(rows, k)
    frame = pd.DataFrame(
        {
            "row": queries + 1,
            "rank": np.tile(np.arange(1, k + 1), n),
            "neighbor": neighbors + 1,
            "similarity": similarities.ravel().astype(float).round(6),
        }
    )
    query_ids = {
        f"{name}_" if name in frame else name: asked.ids[name].to_numpy()[queries]
        for name in asked.ids
    }
    neighbor_ids = {f"neighbor_{name}": ids[name].to_numpy()[neighbors] for name in ids}
    return frame.assign(**query_ids, **neighbor_ids)


def _pack_ids(ids: Any) -> dict[str, list[str]]:
    from ..io.parsed_file import write_cell

    return {name: [write_cell(cell) for cell in ids[name]] for name in ids}


def _unpack_ids(notes: dict[str, Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(notes.get("ids", {}))
