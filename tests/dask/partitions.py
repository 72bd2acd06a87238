"""Tables in partitions, and sources of them that worker processes can import."""

from __future__ import annotations

import os
import signal
from functools import wraps
from pathlib import Path

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow.parquet

from proximity_kernel import _model_packing as model_packing


def as_dask(parts):
    """Make a dask frame whose partitions are these, as they are."""
    return from_source(parts, give)


def give(part, number):  # noqa: ARG001  (as the others)
    """Give a part."""
    return part


def read_and_note(part, number, folder):
    """Give a part; leave a note that it was read, and by which process."""
    path = Path(folder) / f"{number}.txt"
    with path.open("a") as notes:
        notes.write(f"{os.getpid()}\n")
    return part


def read_or_die(part, number, folder, deadly):
    """Give a part, but at some readings of number 3 kill the process that reads."""
    read_and_note(part, number, folder)
    if number == 3 and len(notes_of(folder, 3)) in deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return part


def die_while_writing(marker):
    """Make the first process that writes a Parquet file die half way, and only it."""
    plain = pyarrow.parquet.write_table

    def write_table(table, where):
        if not Path(marker).exists():
            Path(marker).touch()
            where.write(b"half")
            where.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        plain(table, where)

    pyarrow.parquet.write_table = write_table


def notes_of(folder, number):
    """Process ids that read a part, in order."""
    path = Path(folder) / f"{number}.txt"
    return path.read_text().split() if path.exists() else []


def from_source(parts, read, *arguments):
    """Make a dask frame whose partitions are read when they are computed."""
    meta = parts[0].iloc[:0]
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_map(read, parts, range(len(parts)), args=arguments, meta=meta)


def one(values, dtype=None):
    """Make a frame with a column to look at, and one that is always good."""
    return pd.DataFrame({"a": pd.Series(values, dtype=dtype), "b": range(len(values))})


def count_builds():
    """Count from now on how often this process builds a matching rule."""
    plain = model_packing.restore_pairwise
    model_packing.builds = 0

    @wraps(plain)
    def restore(*arguments):
        model_packing.builds += 1
        return plain(*arguments)

    model_packing.restore_pairwise = restore


def builds():
    """How often it was, since."""
    return model_packing.builds
