"""`DaskProximityOutliers`: `ProximityOutliers` for tables in partitions."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._bin_summary import merge_values, summarize_values
from .._number_model import NumberSample, merge_samples, sample_numbers
from .._surprise import Tails, score_rows
from ..kernel import ProximityKernel, check_not_frozen, copy_kernel, take_kernel
from ..outliers import ProximityOutliers, check_rule
from .dask_kernel import DaskProximityKernel, fit_partitions, map_method, share_kernel
from .partitions import share, split_parts


class DaskProximityOutliers(BaseEstimator):  # type: ignore[misc]  # untyped
    """`ProximityOutliers` for tables in partitions, which need not fit into memory.

    Learns what `ProximityOutliers` learns from the whole table, however it is
    partitioned.

    Parameters
    ----------
    kernel : ProximityKernel or None, default=None
        As in `ProximityOutliers`; it is cloned.
    contamination : "auto" or float, default="auto"
        As in `ProximityOutliers`. A number needs a fourth pass over the table.

    Attributes
    ----------
    outliers_ : ProximityOutliers
        The fitted estimator, for everything that needs no dask: ``reasons``, ``save``.
    kernel_ : ProximityKernel
        The fitted kernel.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Examples
    --------
    >>> import dask
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from proximity_kernel.dask import DaskProximityOutliers
    >>> table = pd.DataFrame({"size": [i % 10.0 for i in range(200)] + [90.0]})
    >>> X = dd.from_pandas(table, npartitions=3)
    >>> with dask.config.set(scheduler="synchronous"):
    ...     odd = DaskProximityOutliers().fit(X)
    ...     odd.predict(X).compute()[-3:]
    array([ 1,  1, -1])
    >>> odd.outliers_.reasons(table[-1:])[0][0].side
    'above'
    """

    def __init__(
        self,
        *,
        kernel: ProximityKernel | None = None,
        contamination: float | Literal["auto"] = "auto",
    ) -> None:
        self.kernel = kernel
        self.contamination = contamination

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's)
        """Learn the distributions of cells and the threshold; computes at once.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        odd = ProximityOutliers(kernel=self.kernel, contamination=self.contamination)
        odd._check_options()  # noqa: SLF001  (of this library)
        check_not_frozen(self.kernel)
        kernel = copy_kernel(self.kernel, None, odd.__default_kernel__())
        check_rule(kernel)
        fitted = DaskProximityKernel(kernel)
        rows, columns = fit_partitions(fitted, X)

        def collect_scores(tails: Tails) -> Any:
            shared = share_kernel(fitted.kernel_), share(tails)
            return split_parts(X).reduce(merge_values, _summarize_scores, *shared)

        shared = share_kernel(fitted.kernel_)
        sample = split_parts(X).reduce(merge_samples, _sample_numbers, shared)
        odd.__learn_summaries__(fitted.kernel_, rows, columns, sample, collect_scores)
        take_kernel(self, fitted.kernel_)
        self.outliers_ = odd
        return self

    def score_samples(self, X: Any) -> Any:
        """Score rows, as a lazy array: the lower, the more unusual.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        dask array of shape (n_samples,), float64
        """
        return self._map(X, "score_samples", np.empty(0))

    def score_cells(self, X: Any) -> Any:
        """Score how unusual each cell is, as a lazy array; 0 if it is not unusual.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples, n_features), float64
        """
        check_is_fitted(self)
        return self._map(X, "score_cells", np.empty((0, self.n_features_in_)))

    def predict(self, X: Any) -> Any:
        """Label outliers with -1 and other rows with 1, as a lazy array.

        Parameters
        ----------
        X : dask DataFrame, dask array or table in memory, (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples,), int64
        """
        return self._map(X, "predict", np.empty(0, np.int64))

    def _map(self, X: Any, method: str, empty: NDArray[Any]) -> Any:
        """Call a method of the fitted estimator for each partition, lazily."""
        check_is_fitted(self)
        return map_method(self.outliers_, method, X, empty)


def _summarize_scores(part: Any, kernel: ProximityKernel, tails: Tails) -> Any:
    """Summarize the scores of a partition's rows, to merge and rank them."""
    return summarize_values(score_rows(kernel.model_.code(part, 1), tails, 1))


def _sample_numbers(part: Any, kernel: ProximityKernel) -> NumberSample:
    """Sample the numbers of a partition's rows."""
    return sample_numbers(kernel.model_, kernel.model_.code(part, 1), 1)
