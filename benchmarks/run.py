"""Speed benchmarks of proximity-kernel.

::

    python benchmarks/run.py [--quick] [--rows N] [--output FILE] [SECTION ...]

Sections, all of them by default but `large`:

peers
    `fit_transform` and `kernel` against what scikit-learn offers for the same rows.
    KBinsDiscretizer takes no missing values and gets a complete table.
growth
    How the time of `fit_transform` grows with rows, columns, bins and missing cells.
wide
    `fit_transform` of tables with 1,000 and 10,000 columns.
memory
    Peak memory of `fit_transform` above the table, as a multiple of the bytes of the
    representation (data, indices and indptr), in a fresh process.
first-call
    Import and first call in a fresh process, without and with compiled code on disk.
kinds
    A frame of numbers, text and ordered categories against an array of numbers.
clusters
    `ProximityKMeans` against scikit-learn's KMeans on the dense representation.
neighbors
    `ProximityNeighbors` against scikit-learn's brute force on the same.
shapes
    HDBSCAN on the sparse graph of a real table, and on all distances of a part of it.
    It needs the table adult in the folder that PROXIMITY_KERNEL_DATA names.
workers
    Dask on one and two worker processes with as many rows each (weak scaling), and the
    bytes that a partition sends.
large
    The command line on files of 2 and 20 million rows, in batches: time per row and
    peak memory. It takes an hour and 3 GiB of disk, in the folder that the variable
    PROXIMITY_KERNEL_LARGE names or else in a temporary one, so only when asked for.

The tables are five Gaussian groups whose cells are missing at random, 10 % of them
unless the line says otherwise, from a seeded generator. The loops are compiled before
anything is timed. A time is the best of three, or of two for what takes over 5 s; what
is compared is timed in turns. The numbers are for reading: none of them is asserted,
and on a busy machine only the ratios mean something.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clusters import measure_clusters
from kinds import measure_kinds
from large import measure_large
from measuring import Record, Table, describe_machine, show_progress
from nearest import measure_neighbors, measure_shapes
from sections import (
    FULL,
    QUICK,
    Sizes,
    measure_first_call,
    measure_growth,
    measure_memory,
    measure_peers,
    measure_wide,
    warm_up,
)
from workers import measure_workers

_SECTIONS: dict[str, Callable[[Sizes], list[Table]]] = {
    "peers": measure_peers,
    "growth": measure_growth,
    "wide": measure_wide,
    "memory": measure_memory,
    "first-call": measure_first_call,
    "kinds": measure_kinds,
    "clusters": measure_clusters,
    "neighbors": measure_neighbors,
    "shapes": measure_shapes,
    "workers": measure_workers,
    "large": measure_large,
}
_DEFAULT = [name for name in _SECTIONS if name != "large"]  # which takes an hour
_FEWEST_ROWS = 1000


def main() -> None:
    """Measure what was asked for, print it, and write it if told where."""
    options = _parse_options()
    sizes = QUICK if options.quick else FULL
    if options.rows is not None:
        sizes = sizes.at_most(options.rows)
    machine = describe_machine()
    print(_machine_text(machine), flush=True)
    warm_up()
    measured: dict[str, list[Table]] = {}
    for name in dict.fromkeys(options.sections or _DEFAULT):
        measured[name] = _SECTIONS[name](sizes)
        show_progress("")
        for table in measured[name]:
            print(f"\n{table.text()}", flush=True)
        if options.output is not None:  # after each: a run that is stopped loses one
            _write(options.output, machine, sizes, measured)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Speed benchmarks of proximity-kernel.",
        epilog=f"Sections: {', '.join(_SECTIONS)}; all of them by default but large.",
    )
    parser.add_argument("sections", nargs="*", type=_section, metavar="SECTION")
    parser.add_argument(
        "--quick", action="store_true", help="small tables: does it run?"
    )
    parser.add_argument(
        "--rows",
        type=_row_count,
        metavar="N",
        help=f"rows of the large tables (default {FULL.large:,}); none has more",
    )
    parser.add_argument(
        "--output",
        type=_new_file,
        metavar="FILE",
        help="also write it here: JSON, or a page if FILE ends in .md",
    )
    return parser.parse_args()


def _section(text: str) -> str:
    if text not in _SECTIONS:
        raise argparse.ArgumentTypeError(
            f"no section {text!r}; there are {', '.join(_SECTIONS)}"
        )
    return text


def _row_count(text: str) -> int:
    if not text.isdecimal() or int(text) < _FEWEST_ROWS:
        raise argparse.ArgumentTypeError(
            f"must be a whole number, at least {_FEWEST_ROWS}; got {text!r}"
        )
    return int(text)


def _new_file(text: str) -> Path:
    """Refuse before an hour of measuring what could not be written after it."""
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(
            f"must be a file in a folder that exists; got {text!r}"
        )
    return path


def _machine_text(machine: Record) -> str:
    width = max(map(len, machine))
    shown = {
        name: f"{value:.1f}" if isinstance(value, float) else value
        for name, value in machine.items()
    }
    return "\n".join(
        f"{name.replace('_', ' '):<{width}}  {value}" for name, value in shown.items()
    )


def _write(
    path: Path, machine: Record, sizes: Sizes, measured: dict[str, list[Table]]
) -> None:
    """Write everything beside `path`, then move it into place."""
    make = _make_page if path.suffix == ".md" else _make_json
    part = path.with_name(f"{path.name}.part")
    part.write_text(make(machine, sizes, measured), encoding="utf-8")
    part.replace(path)


def _make_page(machine: Record, _: Sizes, measured: dict[str, list[Table]]) -> str:
    tables = [table.text() for section in measured.values() for table in section]
    body = "\n\n".join([_machine_text(machine), *tables])
    return f"""\
# Speed

Written by `scripts/bench --output docs/performance.md`; `benchmarks/run.py` says what
each line means. Seconds depend on the machine and its load; ratios within one run vary
less. The heading of a table says which time its ratio divides by which.

```
{body}
```
"""


def _make_json(machine: Record, sizes: Sizes, measured: dict[str, list[Table]]) -> str:
    report: dict[str, Any] = {
        "machine": machine,
        "rows": asdict(sizes),
        "sections": {
            name: [asdict(table) for table in tables]
            for name, tables in measured.items()
        },
    }
    return json.dumps(report, indent=2) + "\n"


if __name__ == "__main__":
    main()
