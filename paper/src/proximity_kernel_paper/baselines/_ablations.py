"""The proximity kernel with its matching taken away, to see what matching gives.

The bins are kept, and the blocks of missing cells are the bin frequencies. Only public
names of `ProximityKernel` are used.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from proximity_kernel import ProximityKernel


class BinnedRows(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The bins of an incomplete table, for `PriorOnly` and the methods of `_soft`."""

    def __init__(self, n_bins: Any = "auto", missingness: Any = None) -> None:
        self.n_bins = n_bins
        self.missingness = missingness

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn passes y)
        """Learn the bins.

        Parameters
        ----------
        X : pandas.DataFrame or array of numbers, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        kernel = ProximityKernel(self.n_bins, missingness=self.missingness)
        self.kernel_ = kernel.fit(X)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


class PriorOnly(BinnedRows):
    """Give every missing cell its feature's bin frequencies, whatever the row.

    Parameters
    ----------
    n_bins : int, "auto" or sequence of these, default="auto"
    missingness : str or None, default=None
        As for `ProximityKernel`.

    Attributes
    ----------
    kernel_ : ProximityKernel
        Fitted on the incomplete table.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([[1.0, 5.0], [1.0, 5.0], [9.0, np.nan], [9.0, 7.0]])
    >>> PriorOnly(n_bins=2).fit_transform(table).toarray().round(2)[2]
    array([0.  , 1.  , 0.67, 0.33], dtype=float32)
    """

    def transform(self, X: Any) -> Any:
        """Represent rows.

        Parameters
        ----------
        X : pandas.DataFrame or array of numbers, of shape (n_samples, n_features)

        Returns
        -------
        CSR matrix of shape (n_samples, n_columns)
        """
        check_is_fitted(self)
        matched: Any = self.kernel_.transform(X)
        known = sp.coo_array(matched)
        cells = self.kernel_.provenance(X)
        widths = _block_widths(self.kernel_)
        missing = np.zeros((known.shape[0], len(widths)), dtype=bool)
        missing[cells["row"], cells["feature"]] = True
        feature = np.repeat(np.arange(len(widths)), widths)
        known.data[missing[known.row, feature[known.col]]] = 0
        prior = _represent_prior(self.kernel_)
        blocks = sp.csr_array(missing, dtype=known.dtype) @ _spread(widths, prior)
        matrix = (known.tocsr() + blocks).astype(known.dtype)
        matrix.eliminate_zeros()
        return type(matched)(matrix)  # as scikit-learn is set: array or matrix


def _block_widths(kernel: ProximityKernel) -> Any:
    """Columns of each feature: its bins, and the coarse bins that several share."""
    coarse = [
        0 if groups is None else np.count_nonzero(np.bincount(groups) > 1)
        for groups in kernel.bin_groups_
    ]
    return kernel.n_bins_ + np.array(coarse)


def _represent_prior(kernel: ProximityKernel) -> Any:
    """Represent a row with nothing observed: every block is its feature's prior."""
    nothing: Any = np.full((1, kernel.n_features_in_), np.nan)
    if hasattr(kernel, "feature_names_in_"):
        nothing = pd.DataFrame(nothing, columns=kernel.feature_names_in_)
    return kernel.transform(nothing).toarray().ravel()


def _spread(widths: Any, prior: Any) -> sp.csr_array:
    """Matrix that puts a feature's prior into the columns of its block."""
    # 32 bits: KMeans takes no other indices.
    start = np.concatenate([[0], np.cumsum(widths)]).astype(np.int32)
    columns = np.arange(start[-1], dtype=np.int32)
    return sp.csr_array((prior, columns, start), (len(widths), len(columns)))
