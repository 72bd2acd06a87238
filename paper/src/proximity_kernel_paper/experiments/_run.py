"""From a request to its results: plan, skip what is known, run, write down, repeat."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..datasets import list_datasets, list_held_out, load
from ._ledger import Ledger
from ._machine import describe_machine, find_commit, list_versions
from ._trials import KEY, Experiment, Request, RequestError, Trial
from ._workers import run_trials

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
    while True:
        done, planned, left = survey(experiment, request, ledger)
        report("plan", None, len(planned) - len(left), len(planned))
        if not left:
            return keep_planned(done, planned)
        check_tables(left, request.data_home)
        _work_off(left, module, request, ledger, n_jobs, report, len(planned))


def survey(
    experiment: Experiment, request: Request, ledger: Ledger
) -> tuple[pd.DataFrame, list[Trial], list[Trial]]:
    """See what is done and what is not; nothing is run.

    Parameters
    ----------
    experiment : Experiment
    request : Request
    ledger : Ledger

    Returns
    -------
    done : pandas.DataFrame
        All rows of the ledger.
    planned, left : list of Trial
        What the request asks for, as far as the results so far can tell, and what of it
        has no row.
    """
    assert experiment.plan is not None
    done = ledger.read()
    outdated = done["commit"].isin(set(request.redo) - {find_commit()})
    kept = done.loc[~outdated, list(KEY)]
    known = set(kept.astype(str).itertuples(index=False, name=None))
    planned = experiment.plan(request, done)
    return done, planned, [trial for trial in planned if trial.key not in known]


def check_tables(trials: list[Trial], data_home: str | None) -> None:
    """See that the tables are at hand, before a thousand trials fail without them.

    Parameters
    ----------
    trials : list of Trial
        Of tables that the catalogue does not know, nothing is said.
    data_home : str or None

    Raises
    ------
    RequestError
        With what `load` says: which file to put where, or what to install.
    """
    known = {*list_datasets(), *list_held_out()}
    for name in dict.fromkeys(trial.dataset for trial in trials):
        if name in known:
            try:
                load(name, data_home)
            except (OSError, ValueError) as error:
                raise RequestError(f"--data-home: {error}") from error
            except ImportError as error:
                raise RequestError(str(error)) from error


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
    kept = np.fromiter((key in wanted for key in keys), bool, len(results))
    return results[kept].reset_index(drop=True)


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
    # Closed here and now, so that no worker outlives an interrupt.
    with closing(run_trials(module, left, request.data_home, n_jobs)) as events:
        for event, trial, outcome in events:
            if event == "end":
                ledger.append(trial, outcome | about)
                n_done += 1
            failed = bool(outcome.get("error"))
            report("failed" if failed else event, trial, n_done, n_planned)
