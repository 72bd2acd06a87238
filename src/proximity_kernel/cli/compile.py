"""``proximity-kernel compile``: compile every loop once, for images and services."""

from __future__ import annotations

import argparse
import time

from .invocation import Invocation

_MISSING = 0.2

DESCRIPTION = """\
Compile the loops of all estimators and keep the code on disk.

Each loop is compiled the first time it is used, which takes seconds. Run this
once when an image is built, or before a service starts.

  proximity-kernel compile
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add no option: there is nothing to choose."""
    del parser


def run(invocation: Invocation) -> int:
    """Run the command."""
    start = time.perf_counter()
    with invocation.progress("compiling"):
        _use_every_loop()
    invocation.note(f"all loops are compiled ({time.perf_counter() - start:.1f} s)")
    return 0


def _use_every_loop() -> None:
    """Fit every estimator to small tables, in all ways that are compiled apart."""
    import numpy as np

    from .. import (
        ProximityKernel,
        ProximityKMeans,
        ProximityNeighbors,
        ProximityOutliers,
    )

    rng = np.random.default_rng(0)
    few, many = rng.normal(size=(300, 3)), rng.normal(size=(600, 3))
    wide = rng.normal(size=(5, 800))
    for table in (few, many, wide):
        table[rng.random(table.shape) < _MISSING] = np.nan
    for matching in ("pairwise", "cascade"):
        for dtype in (np.float32, np.float64):
            kernel = ProximityKernel(matching=matching, dtype=dtype)
            ProximityKMeans(2, kernel=kernel, n_init=1).fit(few)
            ProximityNeighbors(2, kernel=kernel).fit(few).kneighbors(few)
            ProximityOutliers(kernel=kernel).fit(few)
        # Codes of two bytes.
        ProximityKernel(400, matching=matching).fit(many).kernel(many)
        ProximityKernel(matching=matching).fit_batches([few, few])
    ProximityKernel().fit_transform(wide)
