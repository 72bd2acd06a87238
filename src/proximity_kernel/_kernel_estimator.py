"""Base class of the estimators that have a kernel as an option.

`ProximityKMeans`, `ProximityNeighbors` and `ProximityOutliers` take a kernel as an
option, fit a copy of it and use the representation of the rows. A fitted kernel in a
`sklearn.frozen.FrozenEstimator` is not fitted again.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ._bins.codes import Codes, code_absences, plain_codes
from ._bins.distinct_rows import merge_distinct
from ._matching.row_summary import RowSummary
from ._model.fitted_kernel import (
    code_table,
    represent_codes,
    represent_table,
    take_model,
)
from ._saving.archive import ModelFileMixin
from ._saving.estimator_state import State, pack_estimator, unpack_estimator
from ._shared.options import accept_gaps, check_n_jobs
from ._shared.sklearn_bases import Estimator
from ._shared.threads import count_threads
from ._similarity.nearest import Index, build_index
from ._table.streams import collect_table
from .kernel import ProximityKernel


def check_kernel(kernel: Any, name: str = "kernel") -> None:
    """Refuse a value that is neither a kernel, a frozen fitted kernel, nor None."""
    frozen = isinstance(kernel, FrozenEstimator)
    inner = kernel.estimator if frozen else kernel
    if inner is not None and not isinstance(inner, ProximityKernel):
        raise ValueError(
            f"{name} must be a ProximityKernel or None, got {kernel!r}; pass options "
            f"to it, as in {name}=ProximityKernel(n_bins=4)."
        )
    if frozen:
        check_is_fitted(inner)


def check_not_frozen(kernel: Any) -> None:
    """Refuse a frozen kernel where the kernel must be fitted too."""
    if isinstance(kernel, FrozenEstimator):
        raise ValueError(
            "fit_batches fits the kernel too; pass the kernel without FrozenEstimator."
        )


def copy_kernel(
    kernel: Any, n_jobs: int | None, n_bins: int | str | None = None
) -> ProximityKernel:
    """Make the kernel to fit.

    Parameters
    ----------
    kernel : ProximityKernel or None
        None means one with default options.
    n_jobs : int or None
        None leaves it to the kernel's own option.
    n_bins : int, "fine" or None
        For a kernel that leaves `n_bins` open. "fine" does not go with the cascade,
        which then keeps its own default.

    Returns
    -------
    ProximityKernel
        Not fitted; its output is sparse, whatever the option of `kernel` is.
    """
    copy: ProximityKernel = ProximityKernel() if kernel is None else clone(kernel)
    copy.set_params(sparse_output=True)
    if copy.n_bins is None and (n_bins != "fine" or copy.matching == "pairwise"):
        copy.set_params(n_bins=n_bins)
    if n_jobs is not None:
        copy.set_params(n_jobs=n_jobs)
    # A sparse matrix cannot become a data frame, even if that is the global setting.
    copy.set_output(transform="default")
    return copy


def fit_kernel(
    kernel: Any,
    X: Any,
    n_jobs: int | None,
    n_bins: int | str | None = None,
    sample_weight: Any = None,
) -> ProximityKernel:
    """Fit a copy of a kernel; a frozen one is returned unchanged.

    Parameters
    ----------
    kernel : ProximityKernel, FrozenEstimator or None
        None means one with default options.
    X : frame, array or list of rows, of shape (n_samples, n_features)
    n_jobs, n_bins
        As in `copy_kernel`.
    sample_weight : array-like of shape (n_samples,), or None

    Returns
    -------
    ProximityKernel
        Fitted.
    """
    check_kernel(kernel)
    if isinstance(kernel, FrozenEstimator):
        fitted: ProximityKernel = kernel.estimator
        return fitted
    return copy_kernel(kernel, n_jobs, n_bins).fit(X, sample_weight=sample_weight)


def represent(kernel: ProximityKernel, X: Any) -> sp.csr_array:
    """Represent rows by a fitted kernel, of shape (n_samples, n_columns)."""
    return represent_table(kernel, take_model(kernel), X)


def represent_distinct(kernel: ProximityKernel, X: Any) -> tuple[Codes, sp.csr_array]:
    """Represent each distinct row of a table once.

    Returns
    -------
    Codes
        The distinct rows, and the index among them of each row of the table.
    csr_array of shape (n_distinct, n_columns)
    """
    model = take_model(kernel)
    codes = model.gather(code_table(kernel, model, X))
    return codes, represent_codes(kernel, model, plain_codes(codes.rows, codes.leaves))


def represent_kept(
    kernel: ProximityKernel, kept: RowSummary
) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """Represent the distinct rows that a fit kept, and return their counts.

    The order is that of `represent_distinct`, so that results for a table whose rows
    are all kept are equal to the bit.
    """
    if any(getattr(bins, "cuts", None) is not None for bins in kernel.model_.bins):
        raise ValueError(
            "fit_batches keeps rows by their bins, which are too coarse for "
            "n_bins='fine'; use n_bins='auto'."
        )
    rows, counts = merge_distinct([(kept.rows, kept.counts)], kept.plan.n_bins)
    codes = Codes(rows, counts, np.arange(len(rows)))
    codes = code_absences(codes, kernel.model_.bins, kernel.model_.informative)
    return represent_codes(kernel, kernel.model_, codes), counts


def index_rows(kernel: ProximityKernel, matrix: sp.csr_array) -> Index:
    """Build an index of represented rows, with which others can be compared."""
    model = kernel.model_
    return build_index(matrix, model.n_counted, model.n_columns, model.n_leaves)


def pack_with_kernel(kernel: ProximityKernel, state: State) -> State:
    """Add a fitted kernel to the state of its estimator."""
    return state.holding("kernel", pack_estimator(kernel))


def unpack_kernel(state: State) -> ProximityKernel:
    """Rebuild the kernel from a state."""
    kernel: ProximityKernel = unpack_estimator(ProximityKernel, state.inner("kernel"))
    return kernel


def take_kernel(estimator: Any, kernel: ProximityKernel) -> None:
    """Set a fitted kernel and the columns it was fitted to in an estimator."""
    estimator.kernel_ = kernel
    estimator.n_features_in_ = kernel.n_features_in_
    vars(estimator).pop("feature_names_in_", None)
    if hasattr(kernel, "feature_names_in_"):
        estimator.feature_names_in_ = kernel.feature_names_in_


class KernelEstimator(ModelFileMixin, Estimator):
    """An estimator with the option `kernel` and the fitted attribute ``kernel_``."""

    kernel_class = ProximityKernel
    kernel: ProximityKernel | FrozenEstimator | None
    n_jobs: int | None
    kernel_: ProximityKernel
    n_features_in_: int

    def set_params(self, **params: Any) -> Self:
        """Set options; those of the kernel are called ``kernel__n_bins`` and so on.

        Parameters
        ----------
        **params : dict
            Options by name. If there is no kernel yet, one is made for its options.

        Returns
        -------
        self
        """
        given = params.get("kernel", self.kernel)
        if given is None and any(name.startswith("kernel__") for name in params):
            params = {**params, "kernel": ProximityKernel()}
        super().set_params(**params)
        return self

    def _check_options(self) -> None:
        check_kernel(self.kernel)
        check_n_jobs(self.n_jobs)

    @property
    def _threads(self) -> int:
        check_n_jobs(self.n_jobs)
        return count_threads(
            self.kernel_.n_jobs if self.n_jobs is None else self.n_jobs
        )

    def _collect(self, X: Any) -> Any:
        """Convert a stream or one row to a frame, which can be read more than once."""
        check_is_fitted(self)
        return collect_table(X, self.kernel_.model_.names)

    def _represent(self, X: Any) -> sp.csr_array:
        check_is_fitted(self)
        return represent(self.kernel_, X)

    def __sklearn_tags__(self) -> Any:
        return accept_gaps(super().__sklearn_tags__())
