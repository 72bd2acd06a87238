"""The same estimators for tables in partitions, on dask.

Dask is imported when it is used; the extra ``dask`` installs it.
"""

from __future__ import annotations

from .dask_kernel import DaskProximityKernel
from .dask_kmeans import DaskProximityKMeans
from .dask_outliers import DaskProximityOutliers

__all__ = ["DaskProximityKMeans", "DaskProximityKernel", "DaskProximityOutliers"]
