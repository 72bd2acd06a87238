"""Similarity between the rows of an incomplete, mixed-type table."""

from ._estimator import ProximityKernel

__all__ = ["ProximityKernel"]
__version__ = "0.1.0.dev0"
