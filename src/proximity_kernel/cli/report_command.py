"""``proximity-kernel report``: an HTML page about a table."""

from __future__ import annotations

from . import fitting
from .program import Invocation
from .results import write_report


def run(invocation: Invocation) -> None:
    """Fit a kernel to a table, and write the page about the table."""
    _, table, _ = fitting.start(invocation, "ProximityKernel")
    kernel = fitting.make_kernel(invocation.options)
    coded = fitting.fit(invocation, kernel, table)
    write_report(invocation, table, coded, kernel)
