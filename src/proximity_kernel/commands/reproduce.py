"""``proximity-kernel reproduce``: the experiments' own command."""

from __future__ import annotations

import argparse

from ._call import Call

DESCRIPTION = ""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    from ..experiments.command import add_options as add

    add(parser)


def run(call: Call) -> int:
    """Run the command."""
    from ..experiments.command import run as run_experiments

    return run_experiments(call.options)
