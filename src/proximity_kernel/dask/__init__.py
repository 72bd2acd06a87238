"""The same estimators for tables in partitions, on dask.

Nothing of dask is imported before it is used; it comes with the extra ``dask``.
"""

from __future__ import annotations

from .dask_kernel import DaskProximityKernel
from .dask_kmeans import DaskProximityKMeans

__all__ = ["DaskProximityKMeans", "DaskProximityKernel"]
