"""``proximity-kernel similarity``: how alike rows are, pair by pair."""

from __future__ import annotations

import argparse
from typing import Any

from . import _options
from ._call import Call, InputError, counted

DESCRIPTION = """\
Tell how alike rows are, from 0 to 1.

  proximity-kernel similarity small.csv -o matrix.csv
  proximity-kernel similarity patients.csv --above 0.9 -o pairs.csv
  proximity-kernel similarity a.csv --with b.csv -o matrix.parquet
  proximity-kernel similarity a.csv -o matrix.npy

Written: a matrix, with the first id (or the row number, from 1 on) of
each row and column; or with --above the pairs that are at least so
alike. A matrix of a large table is refused: use --above, or neighbors.
"""
_LIMIT = 2**30  # bytes of a matrix
_BLOCK = 512
_MOST_PAIRS = 20_000_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    _options.add_input(parser)
    parser.add_argument(
        "--with", dest="other", metavar="FILE",
        help="compare with the rows of this table, read alike",
    )  # fmt: skip
    parser.add_argument(
        "--above", type=_options.share_up_to(1), metavar="S",
        help="list the pairs with at least this similarity",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="write what is huge, too")
    _options.add_kernel(parser)
    _options.add_output(parser, more=", or .npy for a matrix")
    _options.add_model(parser)


def run(call: Call) -> int:
    """Run the command."""
    from . import _fitting
    from ._writing import find_format, write_frame

    options = call.options
    pairs = options.above is not None
    form = find_format(options.output, options.format, () if pairs else (".npy",))
    if pairs and (options.model or options.save_model):
        raise InputError(
            "--above: pairs are found among the fitted rows; leave out --model and "
            "--save-model."
        )
    kernel, table, _ = _fitting.start(call, "ProximityKernel")
    other = None
    if options.other is not None:
        other = _fitting.open_table(call, options.other, table.plan)
    if pairs:
        from .. import ProximityNeighbors

        kernel = _fitting.make_kernel(options)
        near = ProximityNeighbors(kernel=kernel, n_jobs=options.jobs)
        _fitting.fit(call, near, table)
        listed = _list_pairs(call, near, table, other)
        call.say(f"{counted(len(listed), 'pair')} of at least {options.above:g}")
        write_frame(listed, options.output, form)
        return 0
    _check_size(call, table, other)
    if kernel is None:
        kernel = _fitting.fit(call, _fitting.make_kernel(options), table)
    with call.step("comparing rows"):
        matrix = kernel.kernel(table.frame, None if other is None else other.frame)
    if form == "npy":
        _write_matrix(matrix, options.output)
    else:
        write_frame(_name_matrix(matrix, table, other), options.output, form)
    return 0


def _write_matrix(matrix: Any, path: str) -> None:
    import numpy as np

    from ._writing import whole_file

    with whole_file(path) as part, part.open("wb") as file:
        np.save(file, matrix, allow_pickle=False)


def _check_size(call: Call, table: Any, other: Any) -> None:
    n = len(table.frame)
    m = n if other is None else len(other.frame)
    size = 4 * n * m
    if size > _LIMIT and not call.options.force:
        raise InputError(
            f"{table.name}: {n:,} x {m:,} similarities take {size / 2**30:,.1f} GiB; "
            "list the pairs --above a limit, or use neighbors (--force writes them)."
        )


def _name_matrix(matrix: Any, table: Any, other: Any) -> Any:
    import pandas as pd

    from ._dialect import check_names
    from ._rows import label_rows, name_rows

    names = name_rows(table)
    first = names.columns[0]
    columns = label_rows(table if other is None else other)
    if len(set(columns)) < len(columns) or first in columns:
        check_names((other or table).name, [first, *columns])
    frame = pd.DataFrame(matrix.astype(float).round(6), columns=columns)
    frame.insert(0, first, names[first].to_numpy())
    return frame


def _list_pairs(call: Call, near: Any, table: Any, other: Any) -> Any:
    """List the pairs of at least some similarity, each once, in the order of rows."""
    import numpy as np
    import pandas as pd

    asked = table if other is None else other
    parts, n_pairs = [], 0
    with call.step("comparing rows", len(asked.frame)) as advance:
        for start in range(0, len(asked.frame), _BLOCK):
            block = asked.frame.iloc[start : start + _BLOCK].reset_index(drop=True)
            parts.append(_find_pairs(near, block, start, call.options.above))
            if other is None:
                parts[-1] = parts[-1][:, parts[-1][0] < parts[-1][1]]
            n_pairs += parts[-1].shape[1]
            _check_pairs(call, n_pairs)
            advance(len(block))
    theirs, ours, alike = np.hstack(parts)
    rows, others = ours.astype(int), theirs.astype(int)
    if other is None:
        rows, others = others, rows
    order = np.lexsort((others, rows))
    rows, others = rows[order], others[order]
    frame = {"row": rows + 1, "other": others + 1, "similarity": alike[order].round(6)}
    frame |= {name: table.ids[name].to_numpy()[rows] for name in table.ids}
    frame |= {f"other_{name}": asked.ids[name].to_numpy()[others] for name in asked.ids}
    return pd.DataFrame(frame)


def _find_pairs(near: Any, block: Any, start: int, above: float) -> Any:
    """Find the pairs of a block of rows, an array of row, fitted row, similarity."""
    import numpy as np

    alike, found = near.radius_neighbors(block, 1 - above, return_similarity=True)
    lengths = [len(one) for one in found]
    rows = np.repeat(np.arange(start, start + len(block)), lengths)
    return np.vstack([rows, np.concatenate(found), np.concatenate(alike)])


def _check_pairs(call: Call, n_pairs: int) -> None:
    if n_pairs > _MOST_PAIRS and not call.options.force:
        raise InputError(
            f"--above {call.options.above:g}: there are more than {_MOST_PAIRS:,} such "
            "pairs; take a higher limit, or use neighbors (--force writes them)."
        )
