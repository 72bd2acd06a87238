"""The options of a fit, checked and resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._bins.centers import AUTO, BinCount
from .._bins.codes import MAX_BINS
from .._shared.options import (
    check_choice,
    check_count,
    check_flag,
    check_float_dtype,
    check_n_jobs,
    check_seed,
    draw_seed,
)
from .._shared.threads import count_threads
from .missingness import MISSINGNESSES, Missingness

Matching = Literal["pairwise", "cascade"]
MATCHINGS: tuple[Matching, ...] = ("pairwise", "cascade")

_PAPER_BINS = 4


@dataclass(frozen=True)
class FitOptions:
    """What a fit needs to know, with nothing left to be chosen.

    Attributes
    ----------
    n_bins : int, "auto" or sequence of these
    matching : {"pairwise", "cascade"}
    missingness : {"ignorable", "informative", "auto"}
    categorical_features
        As `ProximityKernel` takes it.
    max_categories : int
    seed : int
        Of the sample of rows.
    n_threads : int
    """

    n_bins: Any
    matching: Matching
    missingness: Missingness
    categorical_features: Any
    max_categories: int
    seed: int
    n_threads: int

    def spread_bins(self, n_features: int) -> list[BinCount]:
        """Give each feature its number of bins."""
        return check_n_bins(self.n_bins, n_features)


def resolve_options(kernel: Any) -> FitOptions:
    """Check the parameters of a `ProximityKernel` and resolve those left to us.

    With ``matching="cascade"`` None is the paper's choice.

    Parameters
    ----------
    kernel : ProximityKernel
        A RandomState among its parameters is drawn from, once.

    Returns
    -------
    FitOptions
    """
    check_kernel_options(kernel)
    of_the_paper = kernel.matching == "cascade"
    n_bins, missingness = kernel.n_bins, kernel.missingness
    if n_bins is None:
        n_bins = _PAPER_BINS if of_the_paper else AUTO
    if missingness is None:
        missingness = "ignorable" if of_the_paper else "auto"
    return FitOptions(
        n_bins,
        kernel.matching,
        missingness,
        kernel.categorical_features,
        kernel.max_categories,
        draw_seed(kernel.random_state),
        count_threads(kernel.n_jobs),
    )


def check_kernel_options(kernel: Any) -> None:
    """Refuse bad parameters of a `ProximityKernel`, but for those that need a table."""
    check_choice("matching", kernel.matching, MATCHINGS)
    if kernel.missingness is not None:
        check_choice("missingness", kernel.missingness, MISSINGNESSES)
    check_count("max_categories", kernel.max_categories, 2, MAX_BINS)
    check_flag("normalize", kernel.normalize)
    check_flag("sparse_output", kernel.sparse_output)
    check_float_dtype("dtype", kernel.dtype)
    check_n_jobs(kernel.n_jobs)
    check_seed(kernel.random_state)


def check_n_bins(n_bins: Any, n_features: int) -> list[BinCount]:
    """Spread `n_bins` over the features: one number each, or "auto"."""
    if isinstance(n_bins, str) or not np.iterable(n_bins):
        return [_check_bin_count("n_bins", n_bins)] * n_features
    if not hasattr(n_bins, "__getitem__") or isinstance(n_bins, Mapping):
        raise ValueError(
            "n_bins must be a number, 'auto' or a sequence of these, got "
            f"{type(n_bins).__name__}."
        )
    given = list(n_bins)
    if len(given) != n_features:
        raise ValueError(
            f"n_bins must be one number or one for each of the {n_features} features, "
            f"got {len(given)} of them."
        )
    return [_check_bin_count(f"n_bins[{j}]", value) for j, value in enumerate(given)]


def _check_bin_count(name: str, value: Any) -> BinCount:
    """Refuse what is neither a number of bins nor "auto"."""
    if not isinstance(value, str):
        return check_count(name, value, 2, MAX_BINS)
    if value != AUTO:
        raise ValueError(
            f"{name} must be {AUTO!r} or a whole number, at least 2 and at most "
            f"{MAX_BINS}, got {value!r}."
        )
    return AUTO
