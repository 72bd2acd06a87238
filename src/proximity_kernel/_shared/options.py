"""Checks of options: an error names the option and says what it must be."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a `value` that is none of the `choices`."""
    if not isinstance(value, str) or value not in choices:
        known = " or ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be {known}, got {value!r}.")


def check_count(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Refuse what is no whole number of at least `least` and at most `most`."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        limits = f"at least {least}" + ("" if most is None else f" and at most {most}")
        raise ValueError(f"{name} must be a whole number, {limits}, got {value!r}.")
    return int(value)


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
