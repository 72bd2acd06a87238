"""`ProximityOutliers`: the rows that are least similar to the others, with reasons.

The mean similarity of a row with all fitted rows is the inner product of its
representation with their mean. So a score takes one pass over the rows, and it is a sum
over the features: the part of each is the mean similarity in that feature.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.frozen import FrozenEstimator

from ._kernel_estimator import (
    KernelEstimator,
    fit_kernel,
    pack_with_kernel,
    represent,
    take_kernel,
    unpack_kernel,
)
from ._saving.estimator_state import State, check
from ._shared.options import check_count
from .explanation import UNKNOWN, bin_names, sum_by_feature
from .kernel import ProximityKernel

__all__ = ["ProximityOutliers", "Reason"]

_AUTO: Literal["auto"] = "auto"
_N_BINS = 4  # of the default kernel
# Iglewicz and Hoaglin: deviations from the median, in units that would be standard
# deviations for normal scores. Of the median deviation and the mean one the larger:
# scores are sums of few different numbers, and most rows can have nearly the same.
_FAR, _PER_MEDIAN, _PER_MEAN = 3.5, 1.4826, 1.2533
_ROUNDING = 1e-9
_LEAST_LACK = 1e-6  # of a reason


@dataclass(frozen=True)
class Reason:
    """A feature in which a row differs from most others.

    Attributes
    ----------
    feature : str
    bin : str
        The bin of the row, in words; of a missing cell, its most likely bin.
    missing : bool
        Whether the cell was estimated.
    share : float
        Mean similarity of the row with the fitted rows in this feature: the share of
        them in the same bin, where an integer `n_bins` makes one resolution.
    typical : float
        The mean of this share over the fitted rows.
    """

    feature: str
    bin: str
    missing: bool
    share: float
    typical: float

    def __str__(self) -> str:
        where = f"missing, perhaps {self.bin}" if self.missing else self.bin
        return (
            f"{self.feature}: {where} (similar to {self.share:.0%} of the rows; a "
            f"typical row: {self.typical:.0%})"
        )


class ProximityOutliers(OutlierMixin, KernelEstimator):  # type: ignore[misc]  # untyped
    """Unusual rows of an incomplete, mixed-type table, with reasons.

    Parameters
    ----------
    kernel : ProximityKernel, FrozenEstimator or None, default=None
        Measures the similarity; a copy is fitted, unless it is a fitted kernel in a
        `sklearn.frozen.FrozenEstimator`. None is a kernel with four bins, whose first
        and last centers are the extremes, so that extreme values are rare ones.
    contamination : "auto" or float, default="auto"
        Share of the fitted rows to call outliers, above 0 and at most 0.5. "auto" takes
        the rows whose score lies 3.5 robust deviations below the median. A robust
        deviation is 1.4826 times the median deviation or 1.2533 times the mean
        deviation, whichever is larger.
    n_jobs : int or None, default=None
        Threads, as in `ProximityKernel`; None is the option of the kernel.

    Attributes
    ----------
    kernel_ : ProximityKernel
        The fitted kernel.
    mean_ : ndarray of shape (n_columns,), float64
        The mean of the fitted rows' representations.
    offset_ : float
        The score below which a row is an outlier.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    The score of a row is its mean similarity with the fitted rows, from 0 to 1, and
    takes one pass over the rows. A fitted row is compared with itself too. Missing
    cells make a row neither unusual nor typical: they count by their estimates.

    The score finds rare values, not rare combinations of common values. In equally
    filled bins, as of ``n_bins="auto"``, no number is rare.

    Examples
    --------
    >>> from proximity_kernel import ProximityOutliers
    >>> table = [[float(i % 3), "a"] for i in range(20)] + [[40.0, "b"], [1.0, None]]
    >>> odd = ProximityOutliers().fit(table)
    >>> odd.predict([[1.0, "a"], [40.0, "b"]])
    array([ 1, -1])
    >>> for reason in odd.reasons([[40.0, "a"]])[0]:
    ...     print(reason)
    x0: above 20.5 (similar to 5% of the rows; a typical row: 51%)
    """

    def __init__(
        self,
        *,
        kernel: ProximityKernel | FrozenEstimator | None = None,
        contamination: float | Literal["auto"] = _AUTO,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.contamination = contamination
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's)
        """Learn the bins, the mean row and the limit of outliers.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_options()
        chosen = ProximityKernel(_N_BINS) if self.kernel is None else self.kernel
        kernel = fit_kernel(chosen, X, self.n_jobs)
        matrix = represent(kernel, X)
        mean = np.asarray(matrix.mean(axis=0, dtype=np.float64)).ravel()
        scores = _score(matrix, mean, kernel.model_.n_counted)
        take_kernel(self, kernel)
        self.mean_ = mean
        self.offset_ = _find_offset(scores, self.contamination)
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Measure the mean similarity of each row with the fitted rows.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            The lower, the more unusual.
        """
        return _score(self._represent(X), self.mean_, self.kernel_.model_.n_counted)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Subtract `offset_` from the score: outliers are negative.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Label outliers with -1, other rows with 1.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), int64
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def reasons(self, X: Any, n: int = 3) -> list[list[Reason]]:
        """List the features in which each row differs from most others.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        n : int, default=3
            Most features of a row.

        Returns
        -------
        list of length n_samples, of lists of Reason
            The features in which the row is less similar to the others than a typical
            row is, the largest difference first.
        """
        most = check_count("n", n, 1)
        matrix = self._represent(X)
        model, names = self.kernel_.model_, bin_names(self.kernel_)
        shares = sum_by_feature(model, matrix.multiply(self.mean_))
        typical = sum_by_feature(model, self.mean_[None] ** 2)[0]
        codes = model.code(X, self._threads)
        missing = (codes.rows == codes.missing)[codes.inverse]
        held_by, offsets = model.share_bins(matrix), model.layout.offsets
        out = []
        for i, share in enumerate(shares):
            weights = held_by[[i]].toarray()[0]
            reasons = []
            for j in np.argsort(share - typical, kind="stable")[:most].tolist():
                if share[j] < typical[j] - _LEAST_LACK:
                    held = weights[offsets[j] :][: len(names[j])]
                    where = names[j][held.argmax()] if held.any() else UNKNOWN
                    parts = bool(missing[i, j]), float(share[j]), float(typical[j])
                    reasons.append(Reason(model.types[j].name, where, *parts))
            out.append(reasons)
        return out

    def __get_model_state__(self) -> State:
        state = State({"offset": float(self.offset_)}, {"mean": self.mean_})
        return pack_with_kernel(self.kernel_, state)

    def __set_model_state__(self, state: State) -> None:
        self._check_options()
        self.kernel_ = unpack_kernel(state)
        n_columns = int(self.kernel_.model_.n_columns.sum())
        self.mean_ = state.array("mean", np.float64)
        right = self.mean_.shape == (n_columns,) and np.isfinite(self.mean_).all()
        check(right, "the mean row")
        offset = state.values["offset"]
        check(type(offset) is float and np.isfinite(offset), "the offset")
        self.offset_ = offset

    def _check_options(self) -> None:
        super()._check_options()
        share = self.contamination
        if isinstance(share, str) and share == _AUTO:
            return
        real = isinstance(share, numbers.Real) and not isinstance(share, bool)
        if not real or not 0 < share <= 0.5:
            raise ValueError(
                f"contamination must be in (0, 0.5] or {_AUTO!r}, got {share!r}."
            )


def _score(
    matrix: sp.csr_array, mean: NDArray[np.float64], n_features: int
) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = matrix @ mean / max(n_features, 1)
    return scores


def _find_offset(
    scores: NDArray[np.float64], contamination: float | Literal["auto"]
) -> float:
    if contamination != _AUTO:
        return float(np.percentile(scores, 100 * contamination))
    middle = np.median(scores)
    apart = np.abs(scores - middle)
    spread = max(_PER_MEDIAN * np.median(apart), _PER_MEAN * np.mean(apart))
    return float(middle - _FAR * spread - _ROUNDING)
