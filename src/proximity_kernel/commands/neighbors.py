"""``proximity-kernel neighbors``: the rows most alike to a row."""

from __future__ import annotations

import argparse
from typing import Any

from . import _options
from ._call import Call, InputError, counted

DESCRIPTION = """\
Find the rows most alike to each row, or to some.

  proximity-kernel neighbors patients.csv -k 5 -o near.csv
  proximity-kernel neighbors patients.csv --of P0012 --of P0077
  proximity-kernel neighbors old.csv --queries new.csv
  proximity-kernel neighbors old.csv --save-model m.pk -o near.csv
  proximity-kernel neighbors new.csv --model m.pk

Written: the row (from 1 on), the rank, the neighbor's row and their
similarity, from 0 to 1; the ids of both where there are any.
"""
_K = 5
_BLOCK = 4096  # rows at a time


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    _options.add_input(parser)
    parser.add_argument(
        "-k", type=_options.count_from(1), metavar="N",
        help="neighbors of each row (5, or all if there are fewer)",
    )  # fmt: skip
    parser.add_argument(
        "--of", action="append", default=[], metavar="ROW",
        help="only of this row: its id, or its number; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--queries", metavar="FILE", help="of the rows of another table, read alike"
    )
    _options.add_kernel(parser)
    _options.add_output(parser)
    _options.add_model(parser)


def run(call: Call) -> int:
    """Run the command."""
    from . import _fitting
    from ._writing import find_format, write_frame

    options = call.options
    form = find_format(options.output, options.format)
    if options.model is not None and options.queries is not None:
        raise InputError("--queries: with --model, name the new table as FILE.")
    model, table, notes = _fitting.start(call, "ProximityNeighbors")
    own = model is None and options.queries is None
    asked, ids = table, _ids_from(notes)
    if model is None:
        ids = table.ids
        if options.queries is not None:
            asked = _fitting.open_table(call, options.queries, table.plan)
        rows = _find_rows(call, asked, len(table.frame) - own)
        from .. import ProximityNeighbors

        kernel = _fitting.make_kernel(options)
        model = ProximityNeighbors(kernel=kernel, n_jobs=options.jobs)
        _fitting.fit(call, model, table, ids=_ids_to(ids))
    else:
        rows = _find_rows(call, asked, model.n_samples_fit_)
    frame = _find(call, model, asked, rows, ids, own)
    write_frame(frame, options.output, form)
    return 0


def _find_rows(call: Call, asked: Any, n_others: int) -> Any:
    """Find the rows whose neighbours are asked for, and refuse to find too many."""
    import numpy as np

    from ._rows import find_row

    k = call.options.k
    if n_others < 1:
        raise InputError(f"{asked.name}: there is no other row to find.")
    if k is None:
        call.options.k = min(_K, n_others)
    elif k > n_others:
        raise InputError(
            f"-k {k}: there {'is' if n_others == 1 else 'are'} "
            f"{counted(n_others, 'row')} to choose from; ask for fewer."
        )
    rows = [find_row(asked, text, "--of ") for text in call.options.of]
    return np.array(rows or range(len(asked.frame)), dtype=int)


def _find(call: Call, model: Any, asked: Any, rows: Any, ids: Any, own: bool) -> Any:
    """Find neighbours, block after block."""
    import numpy as np

    k = call.options.k
    similarities, indices = [], []
    with call.step("finding neighbors", len(rows)) as advance:
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            alike, found = model.kneighbors(
                asked.frame.iloc[block].reset_index(drop=True),
                k + own,
                return_similarity=True,
            )
            if own:
                alike, found = _leave_out(block, alike, found)
            similarities.append(alike)
            indices.append(found)
            advance(len(block))
    return _list(asked, rows, np.vstack(indices), np.vstack(similarities), ids)


def _leave_out(rows: Any, similarities: Any, indices: Any) -> tuple[Any, Any]:
    """Take each row out of what was found for it; the last, where it is not there."""
    others = indices != rows[:, None]
    others[others.all(axis=1), -1] = False
    shape = (len(rows), indices.shape[1] - 1)
    return similarities[others].reshape(shape), indices[others].reshape(shape)


def _list(asked: Any, rows: Any, indices: Any, similarities: Any, ids: Any) -> Any:
    import numpy as np
    import pandas as pd

    n, k = indices.shape
    flat, of = indices.ravel(), np.repeat(rows, k)
    frame = pd.DataFrame(
        {
            "row": of + 1,
            "rank": np.tile(np.arange(1, k + 1), n),
            "neighbor": flat + 1,
            "similarity": similarities.ravel().astype(float).round(6),
        }
    )
    own = {name: asked.ids[name].to_numpy()[of] for name in asked.ids}
    theirs = {f"neighbor_{name}": ids[name].to_numpy()[flat] for name in ids}
    both = {f"{name}_" if name in frame else name: v for name, v in own.items()}
    return frame.assign(**both, **theirs)


def _ids_to(ids: Any) -> dict[str, list[str]]:
    from ._raw import write_cell

    return {name: [write_cell(cell) for cell in ids[name]] for name in ids}


def _ids_from(notes: dict[str, Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(notes.get("ids", {}))
