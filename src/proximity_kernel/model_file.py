"""Load fitted estimators from files, without pickle and without knowing their class.

Estimators have the methods ``save(path)`` and ``load(path)``. A model file is a zip
archive with a header in JSON (the class, its options and the fitted values) and the
arrays in the format of numpy. It ends with a checksum of its other bytes
(``docs/model-file.md``). Loading runs no code from the file, and checks all of it
before it is used: a file from somebody else can be wrong, but it cannot do harm.
"""

from __future__ import annotations

from typing import Any

from ._saving import ModelFileError, read_estimator
from .cluster import ProximityKMeans
from .imputer import ProximityImputer
from .kernel import ProximityKernel
from .neighbors import ProximityKNNClassifier, ProximityKNNRegressor, ProximityNeighbors
from .outliers import ProximityOutliers

__all__ = ["TRUSTED_TYPES", "ModelFileError", "load_model"]

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


def load_model(path: Any) -> Any:
    """Load a fitted estimator of any class of this library from a file.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator
        Its results equal those of the saved estimator, bit for bit.

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model file, or of another version of the format.

    Examples
    --------
    >>> import tempfile
    >>> from proximity_kernel import ProximityNeighbors
    >>> from proximity_kernel.model_file import load_model
    >>> near = ProximityNeighbors(1).fit([[1.0, "a"], [2.0, "b"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     near.save(f"{folder}/rows.model")
    ...     load_model(f"{folder}/rows.model")
    ProximityNeighbors(n_neighbors=1)
    """
    return _load_with_notes(path)[0]


def _load_with_notes(path: Any) -> tuple[Any, dict[str, Any]]:
    """Load an estimator and the notes of the command line, which are JSON values."""

    def find_class(name: str) -> type[Any]:
        """Return the class with this name; raise ModelFileError if there is none."""
        if name not in _CLASSES:
            raise ModelFileError(
                f"{path} holds a {name}, which is not one of {', '.join(_CLASSES)}; "
                "load it with that class, or a newer version of proximity-kernel."
            )
        return _CLASSES[name]

    return read_estimator(path, find_class)
