"""A kernel inside another estimator: made, fitted, and asked for sparse rows.

What is built on `ProximityKernel` holds one, as an option or the default, fits a copy
of it on the same table and works on the representation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ._estimator import ProximityKernel


def fit_kernel(
    kernel: Any, X: Any, n_jobs: int | None
) -> tuple[ProximityKernel, sp.csr_array]:
    """Fit a copy of a kernel and represent the table.

    Parameters
    ----------
    kernel : ProximityKernel or None
        None means one with default options.
    X : frame, array or list of rows, of shape (n_samples, n_features)
    n_jobs : int or None
        None leaves it to the kernel's own option.

    Returns
    -------
    ProximityKernel
        Fitted; its output is sparse whatever `kernel` says.
    csr_array of shape (n_samples, n_columns)
    """
    if kernel is not None and not isinstance(kernel, ProximityKernel):
        raise ValueError(
            f"kernel must be a ProximityKernel or None, got {kernel!r}; options go "
            "into it, as in kernel=ProximityKernel(n_bins=4)."
        )
    fitted = ProximityKernel() if kernel is None else clone(kernel)
    fitted.set_params(sparse_output=True)
    if n_jobs is not None:
        fitted.set_params(n_jobs=n_jobs)
    # Frames are not for what is sparse, even where they are asked for everywhere.
    fitted.set_output(transform="default")
    return fitted, sp.csr_array(fitted.fit_transform(X))


def embed(kernel: ProximityKernel, X: Any) -> sp.csr_array:
    """Represent rows by a kernel of `fit_kernel`, of shape (n_samples, n_columns)."""
    return sp.csr_array(kernel.transform(X))


def count_features(kernel: ProximityKernel) -> int:
    """Features that the kernel takes its mean over: those with bins."""
    return int(np.count_nonzero(kernel.n_bins_))


def welcome_gaps(tags: Any) -> Any:
    """Tell scikit-learn's tags that tables may have holes and mixed columns."""
    tags.input_tags.allow_nan = True
    tags.input_tags.categorical = True
    tags.input_tags.string = False  # as `ProximityKernel`
    return tags
