"""What is asked for and what is tried: plain values that travel between processes.

An experiment is a plan (which trials?), a measure (one trial's scores) and a rendering
(tables and figures from the scores of all trials). They meet only in a table of
results, one row for each trial, so each can be run, kept or looked at without the
others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from ._rendering import Rendering

# What makes a trial the same trial. The rest of a row is what came of it.
KEY = ("protocol", "dataset", "method", "parameters", "setting", "seed")


def write_options(options: Mapping[str, Any]) -> str:
    """Write options as text, the same for the same options.

    Parameters
    ----------
    options : mapping from str to value

    Returns
    -------
    str
        JSON with sorted names.

    Examples
    --------
    >>> write_options({"b": 2, "a": 1})
    '{"a": 1, "b": 2}'
    """
    return json.dumps(dict(options), sort_keys=True)


def find_labels(
    results: pd.DataFrame, columns: Mapping[str, tuple[str, Mapping[str, Any]]]
) -> list[str]:
    """Find the label of each trial in the results.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.
    columns : mapping from label to (method, parameters)

    Returns
    -------
    list of str

    Examples
    --------
    >>> import pandas as pd
    >>> results = pd.DataFrame({"method": ["PK"], "parameters": ['{"n_bins": 4}']})
    >>> find_labels(results, {"PK (ours)": ("PK", {}), "4": ("PK", {"n_bins": 4})})
    ['4']
    """
    labels = {
        (method, write_options(parameters)): label
        for label, (method, parameters) in columns.items()
    }
    keys = zip(results["method"], results["parameters"], strict=True)
    return [labels[key] for key in keys]


@dataclass(frozen=True)
class Trial:
    """One thing to measure.

    Attributes
    ----------
    dataset, method : str
        Names of the catalogue and of the registry.
    seed : int
    protocol : str
        The rules of the comparison; empty if the experiment has only one.
    parameters : mapping from str to value
        Options of the method.
    setting : mapping from str to value
        What is done to the table: how many rows, how many cells hidden and how.
    budget : int
        The most rows times epochs for methods that train. Not part of what makes
        trials the same: it follows from the request.
    """

    dataset: str
    method: str
    seed: int
    protocol: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    setting: Mapping[str, Any] = field(default_factory=dict, hash=False)
    budget: int = field(default=0, compare=False)

    @cached_property
    def key(self) -> tuple[str, ...]:
        """Tuple of str: what is written in the columns `KEY`."""
        return (
            self.protocol,
            self.dataset,
            self.method,
            write_options(self.parameters),
            write_options(self.setting),
            str(self.seed),
        )

    def __str__(self) -> str:
        options = {**self.setting, **self.parameters}
        told = " ".join(f"{name}={value}" for name, value in options.items())
        return " ".join(
            part for part in (self.protocol, self.dataset, self.method, told) if part
        )


class RequestError(ValueError):
    """What was asked for is not there: a name, a table, or results that fit."""


@dataclass(frozen=True)
class Request:
    """What the caller wants of an experiment.

    Attributes
    ----------
    quick : bool
        A small version: few seeds, small tables, short training.
    only : tuple of str
        Names of tables and methods; empty for all. Names of tables restrict the tables,
        names of methods the methods.
    protocols : tuple of str
        Empty for all that the experiment has.
    data_home : str or None
        The folder with the tables; see `proximity_kernel_paper.datasets.load`.
    redo : tuple of str
        Commits whose results are made again.

    Examples
    --------
    >>> request = Request(only=("mammo", "PK"))
    >>> request.choose(("mammo", "heart")), request.choose(("PK", "Mean"))
    (('mammo',), ('PK',))
    >>> request.choose(("paper", "clean"))
    ('paper', 'clean')
    >>> quick = Request(quick=True, only=("adult",))
    >>> quick.choose(("mammo", "adult"), few=("mammo",)), quick.choose((1, 2), few=(1,))
    (('adult',), (1,))
    """

    quick: bool = False
    only: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    data_home: str | None = None
    redo: tuple[str, ...] = ()

    def choose(
        self, names: tuple[Any, ...], few: tuple[Any, ...] | None = None
    ) -> tuple[Any, ...]:
        """Keep the names asked for; all of them if none of them is.

        Parameters
        ----------
        names : tuple of str
            All tables, or all methods, of an experiment.
        few : tuple of str, optional
            Those of a quick run. What is asked for by name is given all the same.

        Returns
        -------
        tuple of str
            In the order of `names`.
        """
        asked = tuple(name for name in names if name in self.only)
        return asked or (few if self.quick and few is not None else names)


Plan = Callable[["Request", "pd.DataFrame"], "list[Trial]"]
Measure = Callable[["Trial", "str | None"], "dict[str, Any]"]
Render = Callable[["pd.DataFrame", "Request"], "Rendering"]


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
    scores : tuple of str
        The columns of the results that `measure` fills.
    plan : callable
        ``plan(request, done)`` gives the trials of the request, done ones included.
        It is asked again when all are done, with their results, until it names nothing
        new: so a second round can depend on the first.
    measure : callable
        ``measure(trial, data_home)`` gives a value for each score, and may give a
        ``note``. It runs in another process.
    render : callable
        ``render(results, request)`` gives tables and figures. It computes nothing that
        takes long.
    source : str
        The experiment whose results it renders; empty for its own.
    choices : tuple of str
        Names that `Request.only` may hold.
    protocols : tuple of str
    unit : tuple of str
        The columns of `KEY` that make one number of a table. A unit of which trials
        are missing is not shown where results are shown before they are complete.
    """

    name: str
    title: str
    render: Render
    scores: tuple[str, ...] = ()
    plan: Plan | None = None
    measure: Measure | None = None
    source: str = ""
    choices: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    unit: tuple[str, ...] = KEY[:-1]
