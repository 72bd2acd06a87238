"""The options of the estimator, checked: bad ones are named, with what to do."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._bins.centers import AUTO, BinCount
from .._bins.codes import MAX_BINS
from .._model.missingness import MISSINGNESSES

MATCHINGS = ("pairwise", "cascade")


def check_kernel_options(options: Any) -> None:
    """Refuse bad options of a `ProximityKernel`, but for those that need the table."""
    check_choice("matching", options.matching, MATCHINGS)
    missingness = suit(options.matching, options.missingness, "ignorable")
    check_choice("missingness", missingness, MISSINGNESSES)
    check_count("max_categories", options.max_categories, 2, MAX_BINS)
    check_flag("normalize", options.normalize)
    check_flag("sparse_output", options.sparse_output)
    check_float_dtype("dtype", options.dtype)
    check_n_jobs(options.n_jobs)
    check_seed(options.random_state)


def check_clustering_options(options: Any) -> None:
    """Refuse bad options of k-means, but for the number of clusters and the kernel."""
    check_count("n_init", options.n_init, 1)
    check_count("max_iter", options.max_iter, 1)
    tol = options.tol
    number = isinstance(tol, numbers.Real) and not isinstance(tol, bool)
    if not number or not 0 <= tol < np.inf:
        raise ValueError(f"tol must be a number, at least 0 and finite, got {tol!r}.")
    check_seed(options.random_state)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a `value` that is none of the `choices`."""
    if not isinstance(value, str) or value not in choices:
        known = " or ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be {known}, got {value!r}.")


def suit(matching: str, value: Any, of_the_paper: Any) -> Any:
    """Give what None stands for: "auto", or the paper's choice with its matching."""
    if value is not None:
        return value
    return of_the_paper if matching == "cascade" else "auto"


def check_count(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Refuse what is no whole number of at least `least` and at most `most`."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        limits = f"at least {least}" + ("" if most is None else f" and at most {most}")
        raise ValueError(f"{name} must be a whole number, {limits}, got {value!r}.")
    return int(value)


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


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_float_dtype(name: str, value: Any) -> None:
    """Refuse a dtype other than float32 and float64."""
    try:
        dtype: np.dtype[Any] = np.dtype(value)
    except (TypeError, ValueError):
        dtype = np.dtype(object)
    if value is None or dtype not in (np.dtype("f4"), np.dtype("f8")):
        raise ValueError(f"{name} must be float32 or float64, got {value!r}.")


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse what is neither None nor a whole number other than zero."""
    if n_jobs is None:
        return
    whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be None, a number of threads, or negative to count back from "
            f"all cores, got {n_jobs!r}."
        )


def check_seed(random_state: Any) -> None:
    """Refuse what is neither None, a seed, nor a source of random numbers."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return
    check_count("random_state", random_state, 0)


def draw_seed(random_state: Any) -> int:
    """Take the seed of the sample of rows, of 64 bits; None is 0."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(1 << 31))
    return int(random_state or 0) % (1 << 64)
