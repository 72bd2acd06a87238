"""``proximity-kernel similarity``: the similarity of pairs of rows."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from .._shared.wording import counted, listed
from ..cli import arguments, fitting
from ..io import InputError
from ..io.write import open_output
from .outputs import find_format
from .program import Invocation

DESCRIPTION = """\
Compute the similarity of pairs of rows, from 0 to 1.

  proximity-kernel similarity small.csv -o matrix.csv
  proximity-kernel similarity patients.csv --above 0.9 -o pairs.csv
  proximity-kernel similarity a.csv --with b.csv -o matrix.parquet
  proximity-kernel similarity a.csv -o matrix.npy

Output: a matrix, with the first id (or the row number, from 1) of each
row and column ("P6 (row 7)" where several rows have the id P6); or with
--above, the pairs with at least that similarity.
The matrix of a large table is written with --force only: use --above, or
neighbors.
"""
_MAX_BYTES = 2**30  # of a matrix
_BLOCK = 512  # rows at a time
_MAX_PAIRS = 20_000_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_input(parser)
    parser.add_argument(
        "--with", dest="other", metavar="FILE",
        help="compare with the rows of this table, read in the same way",
    )  # fmt: skip
    parser.add_argument(
        "--above", type=arguments.share_up_to(1), metavar="S",
        help="list the pairs with at least this similarity",
    )  # fmt: skip
    parser.add_argument(
        "--force", action="store_true", help="write a very large result"
    )
    arguments.add_kernel(parser)
    arguments.add_output(parser, more=", or .npy for a matrix")
    arguments.add_model(parser)


def run(invocation: Invocation) -> None:
    """Run the command."""
    options = invocation.options
    pairs = options.above is not None
    file_format = find_format(
        options.output, options.format, () if pairs else (".npy",)
    )
    if pairs and (options.model or options.save_model):
        raise InputError(
            "--above: pairs are searched among the fitted rows; leave out --model and "
            "--save-model."
        )
    kernel, table, _ = fitting.start(invocation, "ProximityKernel")
    from .results import write_results

    other = table
    if options.other is not None:
        other = fitting.open_table(invocation, options.other, table.schema)
    if pairs:
        write_results(invocation, _list_pairs(invocation, table, other), file_format)
        return
    n, m = len(table.frame), len(other.frame)
    if 4 * n * m > _MAX_BYTES and not options.force:
        raise InputError(
            f"{table.name}: {n:,} x {m:,} similarities take {n * m / 2**28:,.1f} GiB; "
            "list the pairs --above a limit, use neighbors, or give --force."
        )
    if kernel is None:
        kernel = fitting.make_kernel(options)
        coded = fitting.fit(invocation, kernel, table)
    else:
        coded = fitting.code(kernel, table)
    with invocation.progress("comparing rows"):
        matrix = kernel.kernel(coded, None if other is table else other.frame)
    if file_format == "npy":
        import numpy as np

        with open_output(options.output) as file:
            matrix = np.ascontiguousarray(matrix)
            header = np.lib.format.header_data_from_array_1_0(matrix)
            np.lib.format.write_array_header_1_0(file, header)
            file.write(matrix.data)  # numpy's own writer cannot write to a pipe
    else:
        write_results(invocation, _name_matrix(matrix, table, other), file_format)


def _name_matrix(matrix: Any, table: Any, other: Any) -> Any:
    """Make a frame of the matrix, with the names of its rows and columns."""
    import pandas as pd

    from .results import label_rows, name_rows

    names = name_rows(table)
    first = names.columns[0]
    labels = label_rows(other)
    counts = Counter([first, *labels])
    columns = [
        label if counts[label] == 1 else f"{label} (row {i})"
        for i, label in enumerate(labels, 1)
    ]
    repeated = [name for name, n in Counter([first, *columns]).items() if n > 1]
    if repeated:
        raise InputError(
            f"{other.name}: several columns of the matrix would be called "
            f"{listed(repeated)}; choose another --id, or write a .npy file."
        )
    frame = pd.DataFrame(matrix.astype(float).round(6), columns=columns)
    frame.insert(0, first, names[first].to_numpy())
    return frame


def _list_pairs(invocation: Invocation, table: Any, other: Any) -> Any:
    """List the pairs with at least the similarity of --above, in the order of rows."""
    import numpy as np
    import pandas as pd
    from sklearn.frozen import FrozenEstimator

    from .. import ProximityNeighbors

    options, radius = invocation.options, 1 - invocation.options.above
    kernel = fitting.make_kernel(options)
    coded = fitting.fit(invocation, kernel, table)
    # Frozen, so that pairs have the same similarity as in the matrix.
    model = ProximityNeighbors(kernel=FrozenEstimator(kernel), n_jobs=options.n_jobs)
    model.fit(coded)
    coded = coded if other is table else fitting.code(kernel, other)
    parts, n_pairs = [], 0
    with invocation.progress("comparing rows", len(coded)) as advance:
        for start in range(0, len(coded), _BLOCK):
            block = coded.take(slice(start, start + _BLOCK))
            near, found = model.radius_neighbors(block, radius, return_similarity=True)
            others = np.repeat(start + np.arange(len(block)), list(map(len, found)))
            part = np.vstack([np.concatenate(found), others, np.concatenate(near)])
            parts.append(part[:, part[0] < part[1]] if other is table else part)
            n_pairs += parts[-1].shape[1]
            if n_pairs > _MAX_PAIRS and not options.force:
                raise InputError(
                    f"--above {options.above:g}: there are more than {_MAX_PAIRS:,} "
                    "such pairs; choose a higher limit, use neighbors, or give --force."
                )
            advance(len(block))
    rows, others, similarity = np.hstack(parts)
    order = np.lexsort((others, rows))
    rows, others = rows[order].astype(int), others[order].astype(int)
    frame = {"row": rows + 1, "other": others + 1}
    frame["similarity"] = similarity[order].round(6)
    frame |= {name: table.ids[name].array[rows] for name in table.ids}
    frame |= {f"other_{name}": other.ids[name].array[others] for name in other.ids}
    pairs = counted(len(rows), "pair")
    invocation.note(f"{pairs} with a similarity of at least {options.above:g}")
    return pd.DataFrame(frame)
