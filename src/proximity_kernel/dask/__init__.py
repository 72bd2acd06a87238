"""The same estimators for tables in partitions, on dask.

Nothing of dask is imported before it is used; it comes with the extra ``dask``.
"""

from __future__ import annotations

from ._clusters import DaskProximityKMeans
from ._estimator import DaskProximityKernel

__all__ = ["DaskProximityKMeans", "DaskProximityKernel"]
