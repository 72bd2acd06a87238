"""Similarity between the rows of an incomplete, mixed-type table."""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from .cluster import ProximityKMeans
    from .explanation import explain
    from .imputer import ProximityImputer
    from .io import read_table
    from .kernel import ProximityKernel
    from .model_file import ModelFileError
    from .neighbors import (
        ProximityKNNClassifier,
        ProximityKNNRegressor,
        ProximityNeighbors,
    )
    from .outliers import ProximityOutliers
    from .plots import plot_evidence, plot_map, plot_profiles
    from .report import TableReport

__all__ = [
    "ModelFileError",
    "ProximityImputer",
    "ProximityKMeans",
    "ProximityKNNClassifier",
    "ProximityKNNRegressor",
    "ProximityKernel",
    "ProximityNeighbors",
    "ProximityOutliers",
    "TableReport",
    "explain",
    "plot_evidence",
    "plot_map",
    "plot_profiles",
    "read_table",
]
__version__ = "0.1.0.dev0"

# The module of each name. Names are imported when first used (PEP 562), so that the
# help of the command line, for example, does not wait for numba.
_HOMES = {
    "ModelFileError": ".model_file",
    "ProximityImputer": ".imputer",
    "ProximityKMeans": ".cluster",
    "ProximityKNNClassifier": ".neighbors",
    "ProximityKNNRegressor": ".neighbors",
    "ProximityKernel": ".kernel",
    "ProximityNeighbors": ".neighbors",
    "ProximityOutliers": ".outliers",
    "TableReport": ".report",
    "explain": ".explanation",
    "plot_evidence": ".plots",
    "plot_map": ".plots",
    "plot_profiles": ".plots",
    "read_table": ".io",
}


def __getattr__(name: str) -> _typing.Any:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value  # the next access does not call this function
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return [*__all__, "__version__"]
