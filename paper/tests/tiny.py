"""A tiny experiment, to try the runner on: two rounds, and methods that misbehave.

As a program it is the command line with this experiment as the only one:
``python paper/tests/tiny.py tiny``.
"""

import os
import signal
import sys
import time

import pandas as pd

from proximity_kernel_paper.experiments import _catalogue
from proximity_kernel_paper.experiments._rendering import (
    Rendering,
    Table,
    write_numbers,
)
from proximity_kernel_paper.experiments._trials import Experiment, Trial

SEEDS = 12
METHODS = ("good", "slow")
CHOICES = (*METHODS, "raises")
SECONDS = float(os.environ.get("TINY_SECONDS", "0"))  # of a trial


def plan(request, done):
    """Two methods; when both are done, the better one on another table."""
    methods = tuple(name for name in CHOICES if name in request.only) or METHODS
    first = [
        Trial("table", method, seed, parameters={"p": 1.5})
        for seed in range(SEEDS)
        for method in methods
    ]
    tried = done[(done["dataset"] == "table") & done["method"].isin(methods)]
    if len(tried) < len(first) or tried["score"].isna().all():
        return first
    best = tried.groupby("method")["score"].mean().idxmax()
    return first + [Trial("other", best, seed) for seed in range(3)]


def misbehave(method):
    if method == "raises":
        raise ValueError("two\nlines, and a comma")
    if method == "exits":
        os._exit(3)
    if method == "killed":
        os.kill(os.getpid(), signal.SIGKILL)


def measure(trial, data_home):  # noqa: ARG001 (there is none)
    misbehave(trial.method)
    time.sleep(SECONDS)
    score = trial.seed**2 / 7 + len(trial.method + trial.dataset)
    return {"score": score, "note": str(os.getpid())}


def render(results, request):  # noqa: ARG001
    means = results.groupby(["dataset", "method"])["score"].mean().unstack()
    return Rendering((Table("Scores", write_numbers(pd.DataFrame(means))),))


EXPERIMENT = Experiment(
    "tiny",
    "A tiny experiment",
    render,
    scores=("score",),
    plan=plan,
    measure=measure,
    choices=CHOICES,
)

if __name__ == "__main__":
    from proximity_kernel_paper.cli import main

    _catalogue.NAMES = ("tiny",)
    _catalogue._module = lambda name: name
    sys.exit(main())
