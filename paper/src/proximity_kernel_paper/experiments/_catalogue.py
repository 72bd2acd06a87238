"""All experiments by name, in the order of the paper."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pandas as pd

from ._rendering import Rendering
from ._run import Report, open_ledger, run_experiment
from ._trials import KEY, Experiment, Request, RequestError

NAMES = (
    "tables",
    "binning",
    "nmi",
    "boxplot",
    "ranks",
    "missing-rate",
    "levels",
    "runtime",
    "bins",
    "encoding",
    "peers",
    "spaces",
    "scaling",
    "classification",
    "fidelity",
    "differences",
    "options",
)


def list_experiments() -> list[str]:
    """Name the experiments.

    Returns
    -------
    list of str
        In the order of the paper; those that the paper does not have are last.

    Examples
    --------
    >>> list_experiments()[2]
    'nmi'
    """
    return list(NAMES)


def find_experiment(name: str) -> Experiment:
    """Give an experiment by its name.

    Parameters
    ----------
    name : str

    Returns
    -------
    Experiment

    Examples
    --------
    >>> find_experiment("nmi").title
    'Clusters against classes: 12 tables, 10 methods'
    >>> find_experiment("mni")
    Traceback (most recent call last):
    proximity_kernel_paper...RequestError: no experiment is called 'mni'; there are ...
    """
    if name not in NAMES:
        known = ", ".join(NAMES)
        raise RequestError(f"no experiment is called {name!r}; there are {known}.")
    found: Experiment = import_module(_module(name)).EXPERIMENT
    return found


def _module(name: str) -> str:
    return f"{__package__}.{name.replace('-', '_')}"


def reproduce(
    name: str,
    request: Request | None = None,
    *,
    results: str | Path = "results",
    n_jobs: int = 1,
    retry: bool = False,
    report: Report = lambda *_: None,
) -> Rendering:
    """Run what is left to run of an experiment, and show all of it.

    Parameters
    ----------
    name : str
        One of `list_experiments`.
    request : Request, optional
        What of it; all by default.
    results : path, default="results"
        The folder that keeps the results; quick runs have a folder of their own in it.
    n_jobs : int, default=1
        Trials at a time, each in its own process.
    retry : bool, default=False
        Whether trials that failed are tried again.
    report : callable, optional
        ``report(event, trial, n_done, n_planned)`` is told of everything that happens.

    Returns
    -------
    Rendering
        Tables, and functions that draw the figures.
    """
    request = request or Request()
    experiment = find_experiment(name)
    check(experiment, request)
    found = _results(experiment, request, Path(results), n_jobs, retry, report)
    return replace(experiment.render(found, request), failures=list_failures(found))


def list_failures(results: pd.DataFrame) -> tuple[str, ...]:
    """Name the trials that failed.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger, or empty.

    Returns
    -------
    tuple of str
        One line for each.
    """
    if results.empty:
        return ()
    failed = results[results["error"] != ""]
    return tuple(
        " ".join(filter(None, map(str, row[:-1]))).replace(" {}", "") + f": {row[-1]}"
        for row in failed[[*KEY, "error"]].itertuples(index=False, name=None)
    )


def narrow(experiment: Experiment, request: Request) -> Request | None:
    """Keep of a request what an experiment has, to ask the same of all of them.

    Parameters
    ----------
    experiment : Experiment
    request : Request

    Returns
    -------
    Request or None
        None if the names asked for are others' alone: then nothing of it is wanted. An
        experiment that shows another's results must know all names that the other
        does, or the other would be asked for more.
    """
    known = tuple(name for name in request.only if name in experiment.choices)
    source = find_experiment(experiment.source or experiment.name)
    asked = tuple(name for name in request.only if name in source.choices)
    if request.only and experiment.choices and (not known or known != asked):
        return None
    kept = tuple(name for name in request.protocols if name in experiment.protocols)
    return replace(request, only=known, protocols=kept)


def check(experiment: Experiment, request: Request) -> None:
    """Say so if a request names what the experiment does not have.

    Parameters
    ----------
    experiment : Experiment
    request : Request

    Raises
    ------
    RequestError
    """
    for what, asked, known in (
        ("--only", request.only, experiment.choices),
        ("--protocol", request.protocols, experiment.protocols),
    ):
        for name in asked:
            if name not in known:
                has = ", ".join(known) or "nothing to choose from"
                raise RequestError(
                    f"{what} {name!r}: {experiment.name} has no such thing; it has "
                    f"{has}."
                )


def _results(
    experiment: Experiment,
    request: Request,
    folder: Path,
    n_jobs: int,
    retry: bool,
    report: Report,
) -> pd.DataFrame:
    source = find_experiment(experiment.source) if experiment.source else experiment
    if source.plan is None:
        return pd.DataFrame()
    ledger = open_ledger(source, folder, request.quick)
    if retry:
        ledger.forget_failures()
    return run_experiment(source, _module(source.name), request, ledger, n_jobs, report)
