"""What a model file reveals, and what `save(min_count=...)` costs.

::

    python benchmarks/privacy.py [--page docs/model-file.md]

A file of `ProximityKernel` holds counts of codes and of pairs of codes. Rows are
rebuilt from these alone: two codes that occur together are taken, the rarest pairs
first, and in each other column the code that occurs with both, if there is at most one.
A row counts as rebuilt if it is a row of the table, in every cell that the file knows.

The cost is measured on 20 % of the observed cells, which are hidden and estimated: how
often the most likely bin is right, with the saved kernel and with the loaded one. A
label that is not in the file counts as wrong.

The table is written between two marks of the page. Needs the project in `paper/`, which
has the data.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proximity_kernel import ProximityKernel
from proximity_kernel.datasets import load_penguins
from proximity_kernel_paper.datasets import load

TABLES = ("penguins", "heart", "hepatitis", "horse", "kidney", "soybean", "credit")
MIN_COUNTS = (1, 2, 5)
SHARE, SEED = 0.2, 0
BEGIN, END = "<!-- written by benchmarks/privacy.py -->", "<!-- end -->"
_MOST_PAIRS = 20_000  # that are tried


def read(name: str) -> Any:
    """Read a table; that of penguins with a name for each of them."""
    if name != "penguins":
        return load(name).frame
    table = load_penguins()
    return table.assign(name=[f"penguin {i}" for i in range(len(table))])


def rebuild_rows(model: Any) -> set[tuple[int, ...]]:
    """Rebuild rows of codes from the counts of a model; -1 where nothing is known."""
    counts = model.matcher.counts
    pairs, owner = counts.pairs, np.repeat(np.arange(len(counts.n_bins)), counts.n_bins)
    starts = np.cumsum(counts.n_bins) - counts.n_bins
    first, second = np.nonzero(np.triu(pairs, 1))
    rarest = np.argsort(pairs[first, second], kind="stable")[:_MOST_PAIRS]
    found = set()
    for a, b in zip(first[rarest], second[rarest], strict=True):
        both = (pairs[a] > 0) & (pairs[b] > 0)
        both[(owner == owner[a]) | (owner == owner[b])] = False
        both[[a, b]] = True
        n_codes = np.bincount(owner[both], minlength=len(starts))
        if n_codes.max() == 1:
            row = np.full(len(starts), -1)
            row[owner[both]] = np.flatnonzero(both) - starts[owner[both]]
            found.add(tuple(row.tolist()))
    return found


def code_rows(model: Any, table: Any) -> NDArray[np.int64]:
    """Code a table; -1 for missing cells and unknown labels."""
    coded = model.code(table, 1)
    codes = coded.bins[coded.index].astype(np.int64)
    return np.where(codes < model.n_bins, codes, -1)


def share_right(kernel: Any, hidden: Any, table: Any, at: NDArray[np.bool_]) -> float:
    """Compute how often the most likely bin of a hidden cell is right."""
    model = kernel.model_
    truth = code_rows(model, table)
    shares = model.share_bins(kernel.transform(hidden)).toarray()
    by_feature = np.split(shares, np.cumsum(model.n_bins)[:-1], axis=1)
    right = [
        own[rows].argmax(axis=1) == truth[rows, j]
        if own.shape[1]
        else truth[rows, j] < -1
        for j, (own, rows) in enumerate(zip(by_feature, at.T, strict=True))
    ]
    return float(np.concatenate(right).mean())


def measure(name: str) -> list[str]:
    """Measure one table; a line of Markdown for each threshold."""
    table = read(name)
    at = (
        np.random.default_rng(SEED).random(table.shape) < SHARE
    ) & table.notna().to_numpy()
    hidden, lines = table.mask(at), []
    whole, part = ProximityKernel().fit(table), ProximityKernel().fit(hidden)
    for min_count in MIN_COUNTS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "m.model")
            try:
                whole.save(path, min_count=min_count)
                saved = ProximityKernel.load(path)
                part.save(path, min_count=min_count)
                loaded = ProximityKernel.load(path)
            except ValueError as error:
                lines.append(f"| {name} | {len(table):,} | {min_count} | {error} | | |")
                continue
        rows = code_rows(saved.model_, table)
        known = {tuple(row) for row in rows.tolist()}
        rebuilt = rebuild_rows(saved.model_) & known
        n_rebuilt = sum(tuple(row) in rebuilt for row in rows.tolist())
        counts = saved.model_.matcher.counts.pairs
        least = int(counts[counts > 0].min(initial=len(table)))
        right = share_right(loaded, hidden, table, at)
        lines.append(
            f"| {name} | {len(table):,} | {min_count} | {least} | "
            f"{n_rebuilt / len(table):.1%} | {right:.1%} |"
        )
    return lines


def main() -> None:
    """Measure all tables, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--page", type=Path, default=Path("docs/model-file.md"))
    page = parser.parse_args().page
    warnings.simplefilter("ignore")
    lines = [
        "| table | rows | `min_count` | smallest count | rows rebuilt | cells right |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in TABLES:
        lines += measure(name)
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    text = "\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{after}"])
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
