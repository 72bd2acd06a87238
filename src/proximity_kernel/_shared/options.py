"""Check the options of estimators, and set tags for scikit-learn.

An error names the option and its allowed values.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .resources import count_threads

AUTO: Final = "auto"
FINE: Final = "fine"
BinCount = int | Literal["auto", "fine"]
FeatureWeights = Mapping[str, float] | Mapping[int, float] | ArrayLike
Matching = Literal["pairwise", "cascade"]
MATCHINGS: tuple[Matching, ...] = ("pairwise", "cascade")
Missingness = Literal["ignorable", "informative", "auto"]
MISSINGNESSES: tuple[Missingness, ...] = ("ignorable", "informative", "auto")
MissingnessOption = Missingness | Mapping[str, Missingness] | Mapping[int, Missingness]
MAX_BINS = int(np.iinfo(np.uint16).max) - 2
"""Maximum number of bins of a feature; a bin of missing cells is not counted."""

_PAPER_BINS = 4


@dataclass(frozen=True)
class FitOptions:
    """The options of a `ProximityKernel` for a fit, checked, with defaults resolved.

    The columns that they name, and `feature_weights`, are checked when the columns are
    known. `seed` is for sampling rows.
    """

    n_bins: Any
    matching: Matching
    missingness: MissingnessOption
    categorical_features: Any
    feature_weights: Any
    rarity: float
    max_categories: int
    seed: int
    n_threads: int

    @property
    def default_missingness(self) -> Missingness:
        """The missingness of a column for which `missingness` gives none."""
        return "ignorable" if self.matching == "cascade" else "auto"

    @property
    def default_bins(self) -> BinCount:
        """The number of bins of a column for which `n_bins` gives none."""
        return _PAPER_BINS if self.matching == "cascade" else AUTO


def resolve_options(kernel: Any) -> FitOptions:
    """Check the parameters of a `ProximityKernel` and resolve the defaults.

    With ``matching="cascade"``, None means the value that the paper uses. If
    `random_state` is a RandomState, one number is taken from it.
    """
    check_kernel_options(kernel)
    n_bins, missingness = kernel.n_bins, kernel.missingness
    return FitOptions(
        {} if n_bins is None else n_bins,
        kernel.matching,
        {} if missingness is None else missingness,
        kernel.categorical_features,
        kernel.feature_weights,
        float(kernel.rarity),
        kernel.max_categories,
        draw_seed(kernel.random_state),
        count_threads(kernel.n_jobs),
    )


def check_kernel_options(kernel: Any) -> None:
    """Raise ValueError unless all options that need no table to check are valid."""
    check_choice("matching", kernel.matching, MATCHINGS)
    check_missingness(kernel.missingness)
    check_count("max_categories", kernel.max_categories, 2, MAX_BINS)
    check_share("rarity", kernel.rarity)
    if not isinstance(kernel.normalize, bool | np.bool_):
        check_share("normalize", kernel.normalize)
    check_flag("sparse_output", kernel.sparse_output)
    check_float_dtype("dtype", kernel.dtype)
    check_n_jobs(kernel.n_jobs)
    check_seed(kernel.random_state)


def check_missingness(value: Any) -> None:
    """Raise ValueError unless the value is None, a valid word or a mapping to words."""
    if isinstance(value, Mapping):
        for key, word in value.items():
            check_choice(f"missingness[{key!r}]", word, MISSINGNESSES)
    elif value is not None:
        check_choice("missingness", value, MISSINGNESSES)


def check_bin_count(name: str, value: Any) -> BinCount:
    """Raise ValueError unless a value is a number of bins, "auto" or "fine"."""
    if not isinstance(value, str):
        return check_count(name, value, 2, MAX_BINS)
    allowed = f"{AUTO!r}, {FINE!r} or a whole number, at least 2 and at most {MAX_BINS}"
    _require(value in (AUTO, FINE), name, allowed, value)
    return AUTO if value == AUTO else FINE


def _require(good: bool, name: str, allowed: str, value: Any) -> None:
    """Raise ValueError unless an option is good; `allowed` are its possible values."""
    if not good:
        raise ValueError(f"{name} must be {allowed}, got {value!r}.")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise ValueError unless `value` is one of the `choices`."""
    known = isinstance(value, str) and value in choices
    _require(known, name, " or ".join(map(repr, choices)), value)


def is_number(value: Any, kind: type = numbers.Real) -> bool:
    """Whether a value is a number of the type `kind`, by default real; no boolean."""
    return isinstance(value, kind) and not isinstance(value, bool)


def check_count(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Raise ValueError unless a value is a whole number from `least` to `most`."""
    good = is_number(value, numbers.Integral) and value >= least
    limits = f"at least {least}" + ("" if most is None else f" and at most {most}")
    good = good and (most is None or value <= most)
    _require(good, name, f"a whole number, {limits}", value)
    return int(value)


def check_flag(name: str, value: Any) -> None:
    """Raise ValueError unless a value is True or False."""
    _require(isinstance(value, bool | np.bool_), name, "True or False", value)


def check_share(name: str, value: Any) -> None:
    """Raise ValueError unless a value is a number from 0 to 1."""
    good = is_number(value) and 0 <= value <= 1
    _require(good, name, "a number from 0 to 1", value)


def check_float_dtype(name: str, value: Any) -> None:
    """Raise ValueError unless a dtype is float32 or float64."""
    try:
        dtype: np.dtype[Any] = np.dtype(value)
    except (TypeError, ValueError):
        dtype = np.dtype(object)
    good = value is not None and dtype in (np.dtype("f4"), np.dtype("f8"))
    _require(good, name, "float32 or float64", value)


def check_n_jobs(n_jobs: Any) -> None:
    """Raise ValueError unless `n_jobs` is None or a non-zero int."""
    good = n_jobs is None or (is_number(n_jobs, numbers.Integral) and n_jobs != 0)
    allowed = "None, a number of threads, or negative to count back from all cores"
    _require(good, "n_jobs", allowed, n_jobs)


def check_seed(random_state: Any) -> None:
    """Raise ValueError unless `random_state` is None, an int or a RandomState."""
    if not isinstance(random_state, np.random.RandomState | None):
        check_count("random_state", random_state, 0)


def make_random_state(random_state: Any) -> np.random.RandomState:
    """Make a RandomState from a checked `random_state`; an int modulo 2**32."""
    if isinstance(random_state, np.random.RandomState | None):
        made: np.random.RandomState = check_random_state(random_state)
        return made
    return np.random.RandomState(int(random_state) % (1 << 32))


def draw_seed(random_state: Any) -> int:
    """Return a seed: an int modulo 2**64, a RandomState's next number, or a new one."""
    if isinstance(random_state, np.random.RandomState | None):
        return int(make_random_state(random_state).randint(1 << 31))
    return int(random_state) % (1 << 64)


def accept_missing(tags: Any) -> Any:
    """Set scikit-learn's tags: missing cells and categorical columns are accepted."""
    tags.input_tags.allow_nan = True
    tags.input_tags.categorical = True
    # Text is accepted, but the tag `string` would promise that any object is accepted.
    tags.input_tags.string = False
    return tags
