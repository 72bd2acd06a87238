"""`ProximityOutliers`: the rows that are least similar to the others, with reasons.

The mean similarity of a row with all fitted rows is the inner product of its
representation with their mean. So it takes one pass over the rows, and it is a sum over
the features: the part of each is the mean similarity in that feature. The score is this
mean, less 1 for each gross error (`far_values`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn.frozen import FrozenEstimator

from ._coded import CodedTable
from ._far_values import (
    FAR,
    UsualValues,
    find_usual,
    robust_deviation,
)
from ._model import Model
from ._saving import State, check
from ._shared.options import check_choice, check_count, is_number
from ._shared.sklearn_bases import OutlierDetector
from ._shared.wording import write_plain, write_share
from ._table.columns import ColumnType
from .explanation import UNKNOWN
from .kernel import (
    KernelEstimator,
    ProximityKernel,
    bin_names,
    fit_kernel,
    pack_with_kernel,
    represent,
    take_kernel,
    unpack_kernel,
)
from .neighbors import ProximityNeighbors

__all__ = ["ProximityOutliers", "Reason"]

_AUTO: Literal["auto"] = "auto"
_METHODS = ("all", "neighbors")
_N_BINS = 4  # few, so that the end bins hold extreme values and are rare
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
    far : bool
        Whether the value is a gross error; `bin` holds it and the range of the others.
    """

    feature: str
    bin: str
    missing: bool
    share: float
    typical: float
    far: bool = False

    def __str__(self) -> str:
        where = f"missing, perhaps {self.bin}" if self.missing else self.bin
        return (
            f"{self.feature}: {where} (similar to {write_share(self.share)} of the "
            f"rows, a typical row to {write_share(self.typical)})"
        )


class ProximityOutliers(OutlierDetector, KernelEstimator):
    """Unusual rows of an incomplete, mixed-type table, with reasons.

    Parameters
    ----------
    method : {"all", "neighbors"}, default="all"
        The fitted rows with which a row is compared. "all" finds rare values, in one
        pass over the rows. "neighbors" also finds rare combinations of values: rows
        without similar rows.
    n_neighbors : int, default=10
        Number of rows with which "neighbors" compares a row: the most similar ones
        without the first, which can be the row itself.
    kernel : ProximityKernel, FrozenEstimator or None, default=None
        Measures the similarity; a copy is fitted, unless it is a fitted kernel in a
        `sklearn.frozen.FrozenEstimator`. None is ``ProximityKernel("fine")`` with
        "neighbors". With "all" it is ``ProximityKernel(4)``: the first and last centers
        are the extremes, so that extreme values are rare ones.
    contamination : "auto" or float, default="auto"
        Share of the fitted rows to call outliers, above 0 and at most 0.5. "auto" takes
        the rows whose score lies 3.5 robust deviations below the median. A robust
        deviation is 1.4826 times the median deviation or 1.2533 times the mean
        deviation, whichever is larger.
    n_jobs : int or None, default=None
        Threads; None is those of the kernel: all cores, unless it has its own option.

    Attributes
    ----------
    kernel_ : ProximityKernel
        The fitted kernel.
    mean_ : ndarray of shape (n_columns,), float64
        The mean of the fitted rows' representations.
    typical_ : ndarray of shape (n_features,), float64
        The mean of the fitted rows' similarities in each feature.
    offset_ : float
        The score below which a row is an outlier.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    The score of a row is its mean similarity with other rows, from 0 to 1, less 1 for
    each gross error: a number far from all usual ones, as 4200 mm among bills of 32 to
    60 mm. So a row with a gross error is an outlier, unless that feature has weight 0.
    Where more than three numbers, and more than 0.5 % of a column, are far from the
    others, none is called an error.
    In a skewed column a slipped digit often stays within the range, and is not found.

    Missing cells count by their estimates. With "all" they make a row neither unusual
    nor typical; with "neighbors" they lower its score.

    In equally filled bins, such as those of ``n_bins="auto"``, no number is rare.

    Examples
    --------
    >>> from proximity_kernel import ProximityOutliers
    >>> table = [[float(i % 3), "a"] for i in range(20)] + [[40.0, "b"], [1.0, None]]
    >>> odd = ProximityOutliers().fit(table)
    >>> odd.predict([[1.0, "a"], [40.0, "b"]])
    array([ 1, -1])
    >>> for reason in odd.reasons([[40.0, "a"]])[0]:
    ...     print(reason)
    x0: 40, far from 0 to 2 (similar to 0 % of the rows, a typical row to 51 %)
    """

    def __init__(
        self,
        *,
        method: Literal["all", "neighbors"] = "all",
        n_neighbors: int = 10,
        kernel: ProximityKernel | FrozenEstimator | None = None,
        contamination: float | Literal["auto"] = _AUTO,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.n_neighbors = n_neighbors
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
        self.__fit_coded__(X)
        return self

    def __fit_coded__(self, X: Any) -> CodedTable:
        self._check_options()
        default = self.__default_kernel__()
        kernel, coded = fit_kernel(self.kernel, X, self.n_jobs, default)
        near, dtype = None, self._find_dtype(kernel)
        matrix = represent(kernel, coded, dtype)
        if self.method == "neighbors":
            near = ProximityNeighbors(kernel=FrozenEstimator(kernel)).fit(coded)
        usual = [
            find_usual(column.values) if _is_measured(column.type) else UsualValues()
            for column in coded.columns
        ]
        take_kernel(self, kernel)
        self._near, self._usual = near, usual
        self.mean_ = np.asarray(matrix.mean(axis=0, dtype=np.float64)).ravel()
        parts = self._compare(coded)
        self.typical_: NDArray[np.float64] = parts.mean(axis=0)
        scores = _weigh(kernel.model_, parts)
        far = self._find_far(coded).sum(axis=1)
        self.offset_ = _find_offset(scores, far, self.contamination)
        return coded

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Measure how typical each row is: its mean similarity with other rows.

        1 is subtracted for each gross error, a number far from all usual ones.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            The lower, the more unusual; below 0 with gross errors.
        """
        coded = self._code(X)
        far: NDArray[np.int64] = self._find_far(coded).sum(axis=1)
        return _weigh(coded.model, self._compare(coded)) - far

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
            The features with gross errors, then those in which the row is less similar
            to the others than a typical row is, the largest difference first.
        """
        most = check_count("n", n, 1)
        coded = self._code(X)
        matrix = represent(self.kernel_, coded, self._find_dtype(self.kernel_))
        model, names = coded.model, bin_names(self.kernel_)
        columns = coded.columns
        far, typical, scales = self._find_far(coded), self.typical_, model.scales
        shares = np.where(far, -1, self._compare(coded))
        missing = (coded.bins == coded.missing)[coded.index]
        held_by, offsets = model.share_bins(matrix), model.layout.offsets
        out = []
        for i, share in enumerate(shares):
            weights = held_by[[i]].toarray()[0]
            reasons = []
            lack = (share - typical) * scales
            for j in np.lexsort((lack, ~far[i]))[:most].tolist():
                if far[i, j] or lack[j] < -_LEAST_LACK:
                    held = weights[offsets[j] :][: len(names[j])]
                    where = names[j][held.argmax()] if held.any() else UNKNOWN
                    if far[i, j]:
                        usual, value = self._usual[j], columns[j].values[i]
                        low, high = write_plain(usual.low), write_plain(usual.high)
                        where = f"{write_plain(value)}, far from {low} to {high}"
                    reasons.append(
                        Reason(
                            model.types[j].name,
                            where,
                            bool(missing[i, j]),
                            max(float(share[j]), 0.0),
                            float(typical[j]),
                            bool(far[i, j]),
                        )
                    )
            out.append(reasons)
        return out

    def _compare(self, coded: CodedTable) -> NDArray[np.float64]:
        """Compare rows with others in each feature, of shape (n, n_features)."""
        matrix = represent(self.kernel_, coded, self._find_dtype(self.kernel_))
        others: Any = self.mean_
        if self._near is not None:
            k = min(self.n_neighbors + 1, self._near.n_samples_fit_)
            _, near = self._near.kneighbors(coded, k)
            some = near[:, 1:] if k > 1 else near
            size = some.shape[1]
            starts = np.arange(0, some.size + 1, size)
            shape = len(some), self._near.n_samples_fit_
            means = sp.csr_array(
                (np.full(some.size, 1 / size), some.ravel(), starts), shape
            )
            others = means @ self._near.represented
        found: NDArray[np.float64] = coded.model.agree_by_feature(
            matrix.multiply(others)
        )
        return found

    def _find_dtype(self, kernel: ProximityKernel) -> DTypeLike:
        """Take that of the search, so that rows are represented once."""
        return np.float64 if self.method == "neighbors" else kernel.dtype

    def __default_kernel__(self) -> ProximityKernel:
        return ProximityKernel("fine" if self.method == "neighbors" else _N_BINS)

    def _find_far(self, coded: CodedTable) -> NDArray[np.bool_]:
        """Find gross errors, of shape (n, n_features)."""
        # Columns that are not measured have no limits.
        far = [
            (column.values < usual.far_below) | (column.values > usual.far_above)
            for column, usual in zip(coded.columns, self._usual, strict=True)
        ]
        counted: NDArray[np.bool_] = coded.model.scales > 0
        return np.column_stack(far) & counted

    def __get_model_state__(self) -> State:
        usual = np.array([list(vars(own).values()) for own in self._usual])
        arrays = {"mean": self.mean_, "typical": self.typical_, "usual": usual}
        values = {"offset": float(self.offset_)}
        if self._near is None:
            return pack_with_kernel(self.kernel_, State(values, arrays))
        state = self._near.__get_model_state__()
        return replace(
            state,
            values={**state.values, **values},
            arrays={**state.arrays, **arrays},
        )

    def __set_model_state__(self, state: State) -> None:
        self._check_options()
        self._near = None
        if self.method == "neighbors":
            self._near = ProximityNeighbors()
            self._near.__set_model_state__(state)
            self._near.n_features_in_ = len(self._near.kernel_.n_bins_)
        self.kernel_ = self._near.kernel_ if self._near else unpack_kernel(state)
        n_columns = int(self.kernel_.model_.n_columns.sum())
        n_features = len(self.kernel_.model_.bins)
        self.mean_ = state.array("mean", np.float64)
        self.typical_ = state.array("typical", np.float64)
        for array, size in ((self.mean_, n_columns), (self.typical_, n_features)):
            check(array.shape == (size,) and np.isfinite(array).all(), "the mean row")
        usual = state.array("usual", np.float64, ndim=2)
        check(usual.shape == (n_features, 4), "usual values")
        self._usual = [UsualValues(*own) for own in usual.tolist()]
        offset = state.values["offset"]
        check(type(offset) is float and np.isfinite(offset), "the offset")
        self.offset_ = offset

    def _check_options(self) -> None:
        super()._check_options()
        check_choice("method", self.method, _METHODS)
        check_count("n_neighbors", self.n_neighbors, 1)
        share = self.contamination
        if isinstance(share, str) and share == _AUTO:
            return
        if not is_number(share) or not 0 < share <= 0.5:
            raise ValueError(
                f"contamination must be in (0, 0.5] or {_AUTO!r}, got {share!r}."
            )


def _weigh(model: Model, parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average the similarities in each feature, with its weight."""
    total: NDArray[np.float64] = (parts * model.scales).sum(axis=1)
    return total / max(model.n_counted, 1)


def _is_measured(column: ColumnType) -> bool:
    """Whether a column holds numbers, not labels, ranks or times."""
    return column.family == "numbers" and not column.has_labels


def _find_offset(
    scores: NDArray[np.float64],
    far: NDArray[np.int64],
    contamination: float | Literal["auto"],
) -> float:
    if contamination != _AUTO:
        return float(np.percentile(scores - far, 100 * contamination))
    return float(np.median(scores) - FAR * robust_deviation(scores) - _ROUNDING)
