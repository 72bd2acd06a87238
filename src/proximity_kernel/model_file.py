"""Save fitted estimators to files, completely or not at all; load them without pickle.

A model file is a zip archive with a header in JSON (the class, its options, the fitted
values, and the dtype, shape and checksum of every array) and the arrays in the format
of numpy. It ends with the checksum of the whole file (``docs/model-file.md``). Loading
runs no code from the file, and checks everything before it is used: a file from
somebody else can be wrong, but it cannot do harm.

Estimators have the methods ``save(path)`` and ``load(path)``. The functions here can
also save notes with the estimator, and load a file without knowing its class.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ._saving.archive import (
    ModelFileError,
    ModelFileMixin,
    read_estimator,
    write_estimator,
)
from .cluster import ProximityKMeans
from .imputer import ProximityImputer
from .kernel import ProximityKernel
from .neighbors import ProximityKNNClassifier, ProximityKNNRegressor, ProximityNeighbors
from .outliers import ProximityOutliers

__all__ = [
    "TRUSTED_TYPES",
    "ModelFileError",
    "load_model",
    "load_with_notes",
    "save_model",
]

_CLASSES: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        ProximityImputer,
        ProximityKMeans,
        ProximityKNNClassifier,
        ProximityKNNRegressor,
        ProximityKernel,
        ProximityNeighbors,
        ProximityOutliers,
    )
}

TRUSTED_TYPES = [f"{cls.__module__}.{name}" for name, cls in _CLASSES.items()]
"""The estimators of this library, for skops (`trusted`) and MLflow
(`skops_trusted_types`): a saved estimator holds no other type."""


def save_model(
    estimator: Any, path: Any, notes: Mapping[str, Any] | None = None
) -> None:
    """Save a fitted estimator to a file.

    Parameters
    ----------
    estimator : ProximityKernel, ProximityKMeans, ProximityNeighbors, ProximityOutliers
        Fitted. A RandomState instance among its options is saved as None.
    path : str or path
        An existing file is replaced, when the new one is complete.
    notes : mapping, optional
        Saved with the estimator. Keys must be text; values can be text, numbers,
        booleans, None, and lists and mappings of these.

    Raises
    ------
    ModelFileError
        If the file cannot be written.
    ValueError
        If an option, a category or a note cannot be saved.

    Examples
    --------
    >>> import tempfile
    >>> from proximity_kernel import ProximityKernel
    >>> pk = ProximityKernel(n_bins=2).fit([[1.0, "a"], [2.0, "b"], [None, "b"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(pk, f"{folder}/kernel.model", notes={"id": "patient"})
    ...     loaded, notes = load_with_notes(f"{folder}/kernel.model")
    >>> loaded.bin_centers_[0], notes
    (array([1., 2.]), {'id': 'patient'})
    """
    if not isinstance(estimator, ModelFileMixin):
        known = ", ".join(_CLASSES)
        raise TypeError(f"estimator must be one of {known}, got {estimator!r}.")
    write_estimator(estimator, path, _check_notes(notes))


def load_model(path: Any) -> Any:
    """Load an estimator of any class.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    ProximityKernel, ProximityKMeans, ProximityNeighbors or ProximityOutliers
        Fitted; its results equal those of the saved one, bit for bit.

    Raises
    ------
    ModelFileError
        If the file is damaged, foreign or newer than this library.

    Examples
    --------
    >>> import tempfile
    >>> from proximity_kernel import ProximityNeighbors
    >>> near = ProximityNeighbors(1).fit([[1.0, "a"], [2.0, "b"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     near.save(f"{folder}/rows.model")
    ...     load_model(f"{folder}/rows.model")
    ProximityNeighbors(n_neighbors=1)
    """
    return load_with_notes(path)[0]


def load_with_notes(path: Any) -> tuple[Any, dict[str, Any]]:
    """Load an estimator and the notes that were saved with it.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator
        As from `load_model`.
    notes : dict
        Empty if there were none.

    Raises
    ------
    ModelFileError
        If the file is damaged, foreign or newer than this library.

    Examples
    --------
    >>> import tempfile
    >>> from proximity_kernel import ProximityKernel
    >>> pk = ProximityKernel().fit([[1.0, "a"], [2.0, "b"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(pk, f"{folder}/kernel.model", notes={"dropped": ["name"]})
    ...     load_with_notes(f"{folder}/kernel.model")
    (ProximityKernel(), {'dropped': ['name']})
    """

    def find_class(name: str) -> type[Any]:
        if name not in _CLASSES:
            raise ModelFileError(
                f"{path} holds a {name}, which is not one of {', '.join(_CLASSES)}; "
                "load it with that class, or a newer version of proximity-kernel."
            )
        return _CLASSES[name]

    return read_estimator(path, find_class)


def _check_notes(notes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Refuse notes that would change when saved and loaded."""
    if notes is None:
        return {}
    try:
        text = json.dumps(dict(notes), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"notes must be plain JSON values: {error}.") from None
    if not _has_text_keys(dict(notes)):
        raise ValueError("notes must have text keys, and so must mappings in them.")
    same: dict[str, Any] = json.loads(text)
    return same


def _has_text_keys(value: Any) -> bool:
    """Whether the keys of all mappings are text, which JSON does not change."""
    if isinstance(value, dict):
        texts = all(type(key) is str for key in value)
        return texts and all(map(_has_text_keys, value.values()))
    return not isinstance(value, list | tuple) or all(map(_has_text_keys, value))
