"""The section on files larger than memory: the command line on Parquet files.

A file is made block by block: five groups, nine columns of numbers (two of them whole,
two skewed), five of text, 10 % of the cells missing. `proximity-kernel represent` and
`cluster -k 5` run in processes of their own, whose time and peak memory (the system's
`ru_maxrss`) are taken when they end. By itself it makes the files and leaves them::

    python benchmarks/large.py FOLDER [ROWS ...]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Record, Table, show_progress
from sections import Sizes

_FOLDER = "PROXIMITY_KERNEL_LARGE"  # where files are made, else in a temporary folder
_TIMES = 20  # the large file has so many times the rows of Sizes.large
_STEP = 10  # and so many times those of the small one
_BLOCK = 2**18  # rows that are made at a time: a row group
_GROUPS = 5
_MISSING = 0.1
_LABELS = {"colour": 4, "region": 12, "plan": 3, "status": 6, "segment": 20}
_NUMBERS = 9
# A process counts what its parent held until it became another program: so the parent
# is a small one.
_LAUNCHER = """
import json, os, sys, time
start = time.perf_counter()
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(process, 0)
seconds = time.perf_counter() - start
processor = used.ru_utime + used.ru_stime
print(json.dumps([status, seconds, processor, used.ru_maxrss]))
"""
_COMMANDS = {
    "represent": ("represent",),
    "cluster": ("cluster", "-k", "5"),
}


def measure_large(sizes: Sizes) -> list[Table]:
    """Represent and cluster two files, and compare the time per row."""
    large = _TIMES * sizes.large
    table = Table(
        f"Files in batches (Parquet, 14 columns, 10 % missing, {os.cpu_count()} cores; "
        "ratio: time per row to that of the smaller file)"
    )
    if find_spec("pyarrow") is None:
        table.notes.append("skipped: pyarrow is not installed")
        return [table]
    with tempfile.TemporaryDirectory(dir=os.environ.get(_FOLDER)) as name:
        folder = Path(name)
        for n_rows in (large // _STEP, large):
            show_progress(f"large: making {n_rows:,} rows")
            path = make_file(folder, n_rows)
            for command in _COMMANDS:
                show_progress(f"large: {command}, {n_rows:,} rows")
                table.records.append(_run(command, path, n_rows))
            path.unlink()
    first = {record["command"]: record for record in table.records[: len(_COMMANDS)]}
    for record in table.records:
        small = first[record["command"]]
        for clock in ("wall", "processor"):
            name = f"{clock}_us_per_row"
            record[f"{clock}_ratio"] = float(record[name] or 0) / float(
                small[name] or 1
            )
    return [table]


def make_file(folder: Path, n_rows: int) -> Path:
    """Write a table of so many rows, a row group at a time.

    Parameters
    ----------
    folder : Path
    n_rows : int

    Returns
    -------
    Path
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"rows-{n_rows}.parquet"
    source = np.random.default_rng(7)
    means = 2 * source.standard_normal((_GROUPS, _NUMBERS))
    shares = {
        name: source.dirichlet(np.ones(n), _GROUPS) for name, n in _LABELS.items()
    }
    writer = None
    for start in range(0, n_rows, _BLOCK):
        rng = np.random.default_rng([11, start])
        block = pa.table(_draw(rng, min(_BLOCK, n_rows - start), means, shares))
        writer = writer or pq.ParquetWriter(path, block.schema)
        writer.write_table(block)
    assert writer is not None
    writer.close()
    return path


def _draw(
    rng: np.random.Generator, n_rows: int, means: Any, shares: dict[str, Any]
) -> dict[str, Any]:
    import pyarrow as pa

    group = rng.integers(_GROUPS, size=n_rows)
    columns: dict[str, Any] = {}
    for j in range(_NUMBERS):
        values = means[group, j] + rng.standard_normal(n_rows)
        if j >= 7:
            values = np.exp(values)
        elif j >= 5:
            values = np.round(10 * values)
        gaps = rng.random(n_rows) < _MISSING
        columns[f"n{j}"] = pa.array(values, mask=gaps)
    for name, share in shares.items():
        limits = np.cumsum(share, axis=1)
        codes = (rng.random(n_rows)[:, None] > limits[group]).sum(axis=1)
        labels = [f"{name} {k}" for k in range(share.shape[1])]
        codes = np.minimum(codes, len(labels) - 1).astype(np.int32)
        gaps = rng.random(n_rows) < _MISSING
        texts = pa.DictionaryArray.from_arrays(pa.array(codes, mask=gaps), labels)
        columns[name] = texts.cast(pa.string())
    return columns


def _run(command: str, path: Path, n_rows: int) -> Record:
    """Run a command in a process of its own; what it writes is removed."""
    output = path.with_name(f"{command}.parquet")
    call = [
        sys.executable, "-m", "proximity_kernel", *_COMMANDS[command], str(path),
        "--stream", "--quiet", "-o", str(output),
    ]  # fmt: skip
    told = subprocess.run(
        [sys.executable, "-c", _LAUNCHER, *call], check=True, stdout=subprocess.PIPE
    )
    status, seconds, processor, peak = json.loads(told.stdout)
    if status:
        raise RuntimeError(f"{' '.join(call)} ended with status {status}")
    written = output.stat().st_size
    output.unlink()
    return {
        "command": command,
        "rows": n_rows,
        "seconds": seconds,
        "processor_seconds": processor,
        "wall_us_per_row": 1e6 * seconds / n_rows,
        "processor_us_per_row": 1e6 * processor / n_rows,
        "peak_mib": peak / 2**10,
        "written_mib": written / 2**20,
    }


if __name__ == "__main__":
    for text in sys.argv[2:] or ["2000000"]:
        print(make_file(Path(sys.argv[1]), int(text)))
