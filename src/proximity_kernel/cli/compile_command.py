"""``proximity-kernel compile``: compile the code once, so that no later call waits."""

from __future__ import annotations

import argparse
import time
from typing import Any

from .program import Invocation

DESCRIPTION = """\
Compile the code of all commands once, and keep the result on disk.

Without this, each part is compiled when it is first used, which takes some
seconds. Run it when an image is built, or before a service starts, as the
user who runs the service.

  proximity-kernel compile
  NUMBA_CACHE_DIR=/srv/cache proximity-kernel compile

The code is kept in NUMBA_CACHE_DIR, if this variable is set, or in the
folder of the package or the user's cache. It works only on the same kind
of processor.
"""
_SHARE_MISSING = 0.2


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add no option: there is nothing to choose."""
    del parser


def run(invocation: Invocation) -> None:
    """Run the command."""
    folder = _find_cache()
    if folder is None:
        raise OSError(
            "the compiled code cannot be kept, because no cache folder is writable; "
            "set NUMBA_CACHE_DIR to a folder that is."
        )
    start = time.perf_counter()
    with invocation.progress("compiling"):
        _use_every_loop()
    seconds = time.perf_counter() - start
    invocation.note(f"all code is compiled ({seconds:.1f} s), kept in {folder}")


def _find_cache() -> str | None:
    """Find the folder that compiled code is kept in; None if there is none."""
    from .._row_summary import hash_rows

    loop: Any = hash_rows
    path: str | None = loop.stats.cache_path
    return path


def _use_every_loop() -> None:
    """Fit and apply every estimator, so that each loop is compiled for all its types.

    The types differ by rule, by precision, by codes of one or two bytes, and by tables
    with few or with very many codes.
    """
    import numpy as np

    from .. import (
        ProximityKernel,
        ProximityKMeans,
        ProximityNeighbors,
        ProximityOutliers,
    )

    rng = np.random.default_rng(0)
    few, many = rng.normal(size=(300, 3)), rng.normal(size=(600, 7))
    wide = rng.normal(size=(5, 800))
    for table in (few, many, wide):
        table[rng.random(table.shape) < _SHARE_MISSING] = np.nan
    for matching in ("pairwise", "cascade"):
        for dtype in (np.float32, np.float64):
            kernel = ProximityKernel(matching=matching, dtype=dtype)
            ProximityKMeans(2, kernel=kernel, n_init=1).fit(few).transform(few)
            neighbors = ProximityNeighbors(2, kernel=kernel).fit(few)
            neighbors.kneighbors(few)
            neighbors.radius_neighbors(few, 0.1)
            for table in (many[:, :3], many):
                ProximityKernel(400, matching=matching, dtype=dtype).fit(table).kernel(
                    table
                )
        ProximityKernel(matching=matching).fit_batches([few, few])
    for n_bins, table in ((8, few), (400, many)):
        ProximityOutliers(kernel=ProximityKernel(n_bins)).fit(table).reasons(table[:9])
    ProximityNeighbors(2).fit(few).kneighbors(few)  # on the finer scale
    ProximityKernel().fit_transform(wide)
