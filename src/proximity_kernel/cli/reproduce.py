"""``proximity-kernel reproduce``: the experiments' own command."""

from __future__ import annotations

import argparse

from .invocation import Invocation

DESCRIPTION = ""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    from ..experiments.command import add_options as add

    add(parser)


def run(invocation: Invocation) -> int:
    """Run the command."""
    from ..experiments.command import run as run_experiments

    return run_experiments(invocation.options)
