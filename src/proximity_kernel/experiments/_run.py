"""From a request to its results: plan, skip what is known, run, write down, repeat."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._ledger import Ledger
from ._machine import describe_machine, find_commit, list_versions
from ._trials import KEY, Experiment, Request, Trial
from ._workers import run_trials

if TYPE_CHECKING:
    import pandas as pd

# report(event, trial, n_done, n_planned); events: "plan", "start", "end", "failed"
Report = Callable[[str, Trial | None, int, int], None]


def open_ledger(experiment: Experiment, folder: Path, quick: bool) -> Ledger:
    """Find the results of an experiment.

    Parameters
    ----------
    experiment : Experiment
        With trials of its own.
    folder : Path
        Where results are kept.
    quick : bool
        Results of quick runs are kept apart, since their training is cut shorter.

    Returns
    -------
    Ledger
    """
    place = folder / "quick" if quick else folder
    return Ledger(place / f"{experiment.name}.csv", experiment.scores)


def run_experiment(
    experiment: Experiment,
    module: str,
    request: Request,
    ledger: Ledger,
    n_jobs: int,
    report: Report = lambda *_: None,
) -> pd.DataFrame:
    """Do what is not done yet, and give all results of the request.

    Parameters
    ----------
    experiment : Experiment
    module : str
        Full name of its module.
    request : Request
    ledger : Ledger
        Every outcome is written there at once.
    n_jobs : int
        Trials at a time.
    report : callable, optional
        Is told what happens, for a progress bar.

    Returns
    -------
    pandas.DataFrame
        The rows of the ledger that the request asks for.
    """
    assert experiment.plan is not None
    while True:
        done = ledger.read()
        known = set(done[list(KEY)].astype(str).itertuples(index=False, name=None))
        planned = experiment.plan(request, done)
        left = [trial for trial in planned if trial.key not in known]
        report("plan", None, len(planned) - len(left), len(planned))
        if not left:
            return keep_planned(done, planned)
        _work_off(left, module, request, ledger, n_jobs, report, len(planned))


def keep_planned(results: pd.DataFrame, planned: list[Trial]) -> pd.DataFrame:
    """Leave out results that nobody asked for.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.
    planned : list of Trial

    Returns
    -------
    pandas.DataFrame
    """
    wanted = {trial.key for trial in planned}
    keys = results[list(KEY)].astype(str).itertuples(index=False, name=None)
    return results[[key in wanted for key in keys]].reset_index(drop=True)


def _work_off(
    left: list[Trial],
    module: str,
    request: Request,
    ledger: Ledger,
    n_jobs: int,
    report: Report,
    n_planned: int,
) -> None:
    n_done = n_planned - len(left)
    about: dict[str, Any] = {
        "commit": find_commit(),
        "machine": describe_machine(),
        "versions": list_versions(),
    }
    for event, trial, outcome in run_trials(module, left, request.data_home, n_jobs):
        if event == "end":
            ledger.append(trial, outcome | about)
            n_done += 1
        failed = bool(outcome.get("error"))
        report("failed" if failed else event, trial, n_done, n_planned)
