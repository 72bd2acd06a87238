"""What a baseline is to those who run it: a name, a grid, and a way to build it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from types import MappingProxyType
from typing import Any

from ._encoding import ImputedTable

_EVERYWHERE = ("random_state", "verbose")  # may be given to every method


@dataclass(frozen=True)
class Method:
    """One way from an incomplete mixed table to what is clustered.

    Attributes
    ----------
    name : str
        As in the paper, where it has the method.
    grid : mapping from str to tuple
        The values of each option that the paper searched; empty if none.
    build : callable
        ``build(random_state=None, verbose=False, **options)`` gives a new scikit-learn
        transformer. It fits on one table and transforms others, and with an integer
        `random_state` gives the same answer every time. What MICE draws for a row
        depends on the batch it is transformed with; with the other methods a row's
        answer does not. Imputation methods give the filled table, each column scaled
        to [0, 1]: an array of shape (n, n_features). HI-PMK gives similarities to the
        fitted rows: (n, n_fitted). PK and others that give distributions over bins give
        a sparse representation: (n, n_bins in all). An option that the method does not
        have is a TypeError. With `verbose`, long training reports its progress on the
        standard error stream, else it is silent.

    Examples
    --------
    >>> from proximity_kernel_paper.baselines import registry
    >>> knn = registry["KNN"]
    >>> dict(knn.grid)
    {'n_neighbors': (5, 10, 20)}
    >>> knn.build(n_neighbors=10)
    ImputedTable(imputer=KNN(n_neighbors=10))
    >>> knn.build(k=10)
    Traceback (most recent call last):
    TypeError: KNN has no option 'k'; it has 'n_neighbors'.
    """

    name: str
    grid: Mapping[str, tuple[Any, ...]] = field(hash=False)
    build: Callable[..., Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", MappingProxyType(dict(self.grid)))


@dataclass(frozen=True)
class Recipe:
    """Builds a method from the class behind it, which is imported only then.

    Attributes
    ----------
    name : str
        Of the method, for messages.
    module : str
        Where the class is, from this package.
    cls : str
        A transformer, or an imputer.
    imputes : bool
        Whether the class is an imputer, to be put into an `ImputedTable`.
    """

    name: str
    module: str
    cls: str
    imputes: bool = False

    def __call__(
        self, random_state: Any = None, verbose: bool = False, **options: Any
    ) -> Any:
        """Build the method.

        Parameters
        ----------
        random_state : int or None, default=None
            For methods that draw at random.
        verbose : bool, default=False
            Whether long training reports its progress.
        **options
            Of the class.

        Returns
        -------
        transformer
        """
        make = getattr(import_module(self.module, __package__), self.cls)
        known = signature(make).parameters
        self._check(options, [name for name in known if name not in _EVERYWHERE])
        common = {"random_state": random_state, "verbose": verbose}
        options |= {name: value for name, value in common.items() if name in known}
        built = make(**options)
        return ImputedTable(built) if self.imputes else built

    def _check(self, options: Mapping[str, Any], known: list[str]) -> None:
        unknown = [repr(name) for name in options if name not in known]
        if unknown:
            has = ", ".join(map(repr, known)) or "none"
            raise TypeError(
                f"{self.name} has no option {', '.join(unknown)}; it has {has}."
            )


def imputation(name: str, module: str, cls: str, **grid: Any) -> Method:
    """Describe a method that fills the table.

    Parameters
    ----------
    name, module, cls
        See `Recipe`.
    **grid
        The values of each option that the paper searched.

    Returns
    -------
    Method
    """
    return Method(name, grid, Recipe(name, module, cls, imputes=True))


def transformer(name: str, module: str, cls: str, **grid: Any) -> Method:
    """Describe a method that compares rows with the gaps in place.

    Parameters
    ----------
    name, module, cls
        See `Recipe`.
    **grid
        The values of each option that the paper searched.

    Returns
    -------
    Method
    """
    return Method(name, grid, Recipe(name, module, cls))
