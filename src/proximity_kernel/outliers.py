"""The rows that resemble the rest least, and in which features.

The mean similarity of a row with all fitted rows is the inner product of its
representation with their mean. So a score takes one pass over the rows, and it is a sum
over the features: each tells in how far the row is like the others there.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._inner_kernel import (
    check_kernel,
    fit_kernel,
    pack_with_kernel,
    represent,
    unpack_kernel,
)
from ._saving.archive import ModelFileMixin
from ._saving.estimator_state import State, check
from ._shared.options import accept_gaps, check_count, check_n_jobs
from ._shared.threads import count_threads
from .explanation import UNKNOWN, bin_names, sum_by_feature
from .kernel import ProximityKernel

__all__ = ["ProximityOutliers", "Reason"]

_AUTO = "auto"
_N_BINS = 4  # of the default kernel
# Iglewicz and Hoaglin: deviations from the median, in units that would be standard
# deviations for normal scores. Of the median deviation and the mean one the larger:
# scores are sums of few different numbers, and most rows can have nearly the same.
_FAR, _PER_MEDIAN, _PER_MEAN = 3.5, 1.4826, 1.2533
_ROUNDING = 1e-9
_LEAST_LACK = 1e-6  # of a reason


@dataclass(frozen=True)
class Reason:
    """A feature in which a row is unlike the others.

    Attributes
    ----------
    feature : str
    bin : str
        Where the row lies, in words; of a missing cell, where it most likely does.
    missing : bool
        Whether the cell was estimated.
    share : float
        How alike the fitted rows are to the row in this feature, in the mean: the
        share of them in the same bin, where there is one resolution.
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
            f"{self.feature}: {where} ({self.share:.0%} are alike, {self.typical:.0%} "
            "for a typical row)"
        )


class ProximityOutliers(ModelFileMixin, OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Rows of a table with holes that are unlike the rest, with reasons.

    Parameters
    ----------
    kernel : ProximityKernel or None, default=None
        Measures the similarity; a copy is fitted. None means one with four bins, whose
        first and last center are the extremes: so far values are rare ones.
    contamination : "auto" or float, default="auto"
        Share of the fitted rows to call outliers, above 0 and at most 0.5. "auto" calls
        those so whose score lies 3.5 robust deviations below the median: of 1.4826
        times the median deviation and 1.2533 times the mean one the larger.
    n_jobs : int or None, default=None
        Threads, as in `ProximityKernel`; None leaves the kernel its own.

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
    The score of a row is its mean similarity with the fitted rows, from 0 to 1, itself
    among them if it is one. It takes one pass over the rows. A row with many holes is
    neither strange nor typical: what is missing counts as expected for rows like it.

    What is strange is a rare value, not a rare combination of common ones. In equally
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
    x0: above 20.5 (5% are alike, 51% for a typical row)
    """

    kernel_class = ProximityKernel

    def __init__(
        self, *, kernel: Any = None, contamination: Any = _AUTO, n_jobs: Any = None
    ) -> None:
        self.kernel = kernel
        self.contamination = contamination
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's)
        """Learn what rows are like.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        share = _check_contamination(self.contamination)
        check_n_jobs(self.n_jobs)
        chosen = ProximityKernel(_N_BINS) if self.kernel is None else self.kernel
        kernel = fit_kernel(chosen, X, self.n_jobs)
        matrix = represent(kernel, X)
        mean = np.asarray(matrix.mean(axis=0, dtype=np.float64)).ravel()
        scores = _score(matrix, mean, kernel.model_.n_counted)
        validate_data(self, X, skip_check_array=True)
        self.kernel_, self.mean_ = kernel, mean
        self.offset_ = _find_offset(scores, share)
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Tell how much each row resembles the fitted rows.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Mean similarities; the lower, the stranger.
        """
        return _score(self._embed(X), self.mean_, self.kernel_.model_.n_counted)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Tell the score above `offset_`, of shape (n_samples,); outliers are negative.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Tell outliers, -1, from the others, 1.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), int64
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def reasons(self, X: Any, n: Any = 3) -> list[list[Reason]]:
        """Tell in which features each row is unlike the others.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        n : int, default=3
            Features to name at the most.

        Returns
        -------
        list of length n_samples, of lists of Reason
            The features in which fewer rows are alike than for a typical row, those
            where the difference is greatest first.
        """
        most = check_count("n", n, 1)
        matrix = self._embed(X)
        model, names = self.kernel_.model_, bin_names(self.kernel_)
        shares = sum_by_feature(model, matrix.multiply(self.mean_))
        typical = sum_by_feature(model, self.mean_[None] ** 2)[0]
        codes = model.code(X, count_threads(self.n_jobs))
        missing = (codes.rows == codes.missing)[codes.inverse]
        layout = model.layout
        out = []
        for i, share in enumerate(shares):
            weights = matrix[[i]].toarray()[0][layout.columns] / layout.weights
            reasons = []
            for j in np.argsort(share - typical, kind="stable")[:most].tolist():
                if share[j] < typical[j] - _LEAST_LACK:
                    held = weights[layout.offsets[j] :][: len(names[j])]
                    where = names[j][held.argmax()] if held.any() else UNKNOWN
                    parts = bool(missing[i, j]), float(share[j]), float(typical[j])
                    reasons.append(Reason(model.types[j].name, where, *parts))
            out.append(reasons)
        return out

    def __get_model_state__(self) -> State:
        state = State({"offset": float(self.offset_)}, {"mean": self.mean_})
        return pack_with_kernel(self.kernel_, state)

    def __set_model_state__(self, state: State) -> None:
        _check_contamination(self.contamination)
        check_n_jobs(self.n_jobs)
        check_kernel(self.kernel)
        self.kernel_ = unpack_kernel(state)
        n_columns = int(self.kernel_.model_.n_columns.sum())
        self.mean_ = state.array("mean", np.float64)
        right = self.mean_.shape == (n_columns,) and np.isfinite(self.mean_).all()
        check(right, "the mean row")
        offset = state.values["offset"]
        check(type(offset) is float and np.isfinite(offset), "the offset")
        self.offset_ = offset

    def _embed(self, X: Any) -> sp.csr_array:
        check_is_fitted(self)
        return represent(self.kernel_, X)

    def __sklearn_tags__(self) -> Any:
        return accept_gaps(super().__sklearn_tags__())


def _score(
    matrix: sp.csr_array, mean: NDArray[np.float64], n_features: int
) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = matrix @ mean / max(n_features, 1)
    return scores


def _find_offset(scores: NDArray[np.float64], share: float | None) -> float:
    if share is not None:
        return float(np.percentile(scores, 100 * share))
    middle = np.median(scores)
    apart = np.abs(scores - middle)
    spread = max(_PER_MEDIAN * np.median(apart), _PER_MEAN * np.mean(apart))
    return float(middle - _FAR * spread - _ROUNDING)


def _check_contamination(contamination: Any) -> float | None:
    """Refuse what is neither "auto", which gives None, nor a share up to a half."""
    if isinstance(contamination, str) and contamination == _AUTO:
        return None
    real = isinstance(contamination, numbers.Real)
    if not real or isinstance(contamination, bool) or not 0 < contamination <= 0.5:
        raise ValueError(
            f"contamination must be in (0, 0.5] or {_AUTO!r}, got {contamination!r}."
        )
    return float(contamination)
