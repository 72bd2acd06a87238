"""Estimators for dask tables: the kernel, k-means and outliers, fitted by partitions.

Dask is imported when it is used; the extra ``dask`` installs it.
"""

from __future__ import annotations

from .dask_kernel import DaskProximityKernel
from .dask_kmeans import DaskProximityKMeans
from .dask_outliers import DaskProximityOutliers

__all__ = ["DaskProximityKMeans", "DaskProximityKernel", "DaskProximityOutliers"]
