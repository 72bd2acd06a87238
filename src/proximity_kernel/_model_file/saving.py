"""Estimators to model files and back: what is common to all of them.

An estimator gives what it learnt by ``__get_model_state__`` and takes it up again by
``__set_model_state__``. Here its options go beside that, into one archive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .archive import ModelFileError, read_archive, write_archive
from .json_values import decode, encode
from .state import State, check

_OUTPUTS = ("default", "pandas", "polars")  # of scikit-learn's `set_output`
_CONFIG = "_sklearn_output_config"


class ModelFileMixin:
    """Saves a fitted estimator to a file, and loads it."""

    def save(self, path: Any) -> None:
        """Keep the fitted estimator in a file, without pickle.

        The file is written whole or not at all. A RandomState instance among the
        options is saved as None: it matters only to another fit.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.

        See Also
        --------
        proximity_kernel.model_file : The format, and notes beside the estimator.

        Examples
        --------
        >>> import tempfile
        >>> from proximity_kernel import ProximityKernel
        >>> pk = ProximityKernel(n_bins=2).fit([[1.0, "a"], [2.0, "b"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pk.save(f"{folder}/kernel.model")
        ...     ProximityKernel.load(f"{folder}/kernel.model").bin_centers_[0]
        array([1., 2.])
        """
        write_estimator(self, path, None)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Load an estimator of this class from a file.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        estimator
            Fitted; its answers are those of the saved one, bit for bit.

        Raises
        ------
        ModelFileError
            If the file is damaged, foreign, of another class, or newer than this
            library.
        """

        def only_this(name: str) -> type[Any]:
            if name != cls.__name__:
                raise ModelFileError(
                    f"{path} holds a {name}, not a {cls.__name__}; load it with "
                    f"{name}.load(...), or with proximity_kernel.model_file.load_model."
                )
            return cls

        loaded: Self = read_estimator(path, only_this)[0]
        return loaded


def write_estimator(estimator: Any, path: Any, notes: Mapping[str, Any] | None) -> None:
    """Write a fitted estimator, with notes, into a file."""
    check_is_fitted(estimator)
    state = pack_estimator(estimator)
    try:
        own_version = version("proximity-kernel")
    except PackageNotFoundError:  # run from the sources
        own_version = "unknown"
    header = {
        "library_version": own_version,
        "class": type(estimator).__name__,
        "notes": dict(notes or {}),
        **state.values,
    }
    write_archive(path, header, state.arrays)


def read_estimator(
    path: Any, find_class: Callable[[str], type[Any]]
) -> tuple[Any, dict[str, Any]]:
    """Read an estimator and the notes beside it.

    Parameters
    ----------
    path : str or path
    find_class : callable
        Gives the class of a name, or refuses it.

    Returns
    -------
    estimator
    notes : dict
    """
    header, arrays = read_archive(path)
    name, notes = header.get("class"), header.get("notes")
    try:
        check(type(name) is str and type(notes) is dict, "no class, or no notes")
        # Not by filters of warnings: these are the whole process's, other threads' too.
        with np.errstate(all="ignore"):
            estimator = unpack_estimator(find_class(str(name)), State(header, arrays))
            return estimator, dict(notes or {})
    except (ModelFileError, ImportError):
        raise
    # The checksums fit, but no fit makes such a model.
    except Exception as error:
        raise ModelFileError(
            f"{path} holds no {name} that can be used ({error}); save the model again."
        ) from error


def pack_estimator(estimator: Any) -> State:
    """Take an estimator apart: options, names, and what it learnt."""
    learnt = estimator.__get_model_state__()
    names = getattr(estimator, "feature_names_in_", None)
    values = {
        "options": _pack_options(estimator),
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else names.tolist(),
        "set_output": getattr(estimator, _CONFIG, None),
        "learnt": learnt.values,
    }
    return State(values, learnt.arrays)


def unpack_estimator(cls: type[Any], state: State) -> Any:
    """Put an estimator together again."""
    estimator = cls(**_unpack_options(cls, state.values["options"]))
    estimator.__set_model_state__(State(state.values["learnt"], state.arrays))
    n_features, names = state.values["n_features_in"], state.values["feature_names_in"]
    kernel = getattr(estimator, "kernel_", estimator)
    right = type(n_features) is int and n_features == len(kernel.n_bins_)
    check(right, "n_features_in")
    estimator.n_features_in_ = n_features
    if names is not None:
        fitted = [column.name for column in kernel.model_.types]
        check(type(names) is list and names == fitted, "feature_names_in")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    config = state.values["set_output"]
    if config is not None:
        known = set(config) <= {"transform"} and set(config.values()) <= set(_OUTPUTS)
        check(known, "set_output")
        setattr(estimator, _CONFIG, config)
    return estimator


def _pack_options(estimator: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, np.random.RandomState):
            out[name] = None
        elif name == "kernel" and value is not None:
            out[name] = {"kernel": _pack_options(getattr(value, "estimator", value))}
        else:
            out[name] = encode(value, f"the option {name}")
    return out


def _unpack_options(cls: type[Any], held: Mapping[str, Any]) -> dict[str, Any]:
    out = {}
    for name, value in held.items():
        if isinstance(value, dict) and set(value) == {"kernel"}:
            out[name] = cls.kernel_class(**_unpack_options(cls, value["kernel"]))
        else:
            out[name] = decode(value)
    return out
