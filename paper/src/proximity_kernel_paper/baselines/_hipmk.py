"""HI-PMK (Zhou et al. 2025, arXiv 2501.04300): likeness by how rare a region is.

Two values are alike if few rows lie in the smallest region that holds both. Every
column j has L bins; c[k] rows are observed in bin k, m rows miss the column. The region
of bins a and b holds

- on a numeric or ordinal column, N(a, b) = c[min(a, b)] + ... + c[max(a, b)];
- on a nominal column, N(a, a) = c[a] and N(a, b) = c[a] + c[b].

A missing value could be anywhere, so its region is the largest it could be (MaxU), and
counts those who miss it too: for one missing side, the larger of the bins up to a and
from a on (nominal: c[a] and the largest other bin), plus m; for two, all observed rows
(nominal: the two largest bins), plus m. With

    l_j(a, b) = log(min(N + 1, n + L - eps) / (n + L)) < 0,

the similarity of rows x and y is

    s(x, y) = 2 sum_j l_j(x, y) / (sum_j l_j(x, x) + sum_j l_j(y, y)).

A column has only (L + 1)^2 different l, so these are kept in a table, and the matrix
is a sum of look-ups.
"""

from __future__ import annotations

from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from ._coding import Kind, TableEncoder

_Floats: TypeAlias = NDArray[np.float64]
_Ints: TypeAlias = NDArray[np.intp]

_EPSILON = 1e-6  # keeps every logarithm below 0, that of a constant column too
_BLOCK = 2**18  # similarities that are summed together: they stay in the cache


class HIPMK(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Represent rows by their HI-PMK similarities to the fitted rows.

    The similarity is for k-means on the rows of the matrix. Bins and counts come from
    the fitted table. Numeric columns have ``floor(log2(n)) + 1`` bins of about equal
    frequency; ordered categoricals are ordinal and have a bin per level; text and
    unordered categoricals are nominal and have a bin per observed category. A category
    not seen at fit is missing; a column with nothing observed is left out.

    Parameters
    ----------
    missing : {"maxu", "bin0"}, default="maxu"
        "maxu" is the definition. "bin0" is what the published code computes: by a slip
        every missing cell is in the first bin before any pair is compared (it is not
        counted there). Say which of them a number comes from.

    Attributes
    ----------
    tables_ : list of ndarray of shape (L + 1, L + 1)
        ``l`` of each column with bins; missing comes last.

    Notes
    -----
    The result is dense, n_fitted x n_new floats of 8 bytes: 19 GB for a table of
    48,842 rows compared with itself.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([[1.0], [1.0], [5.0], [np.nan]])
    >>> HIPMK().fit(table).transform(table).round(2)
    array([[1.  , 1.  , 0.45, 0.42],
           [1.  , 1.  , 0.45, 0.42],
           [0.45, 0.45, 1.  , 0.28],
           [0.42, 0.42, 0.28, 1.  ]])
    """

    def __init__(self, missing: str = "maxu") -> None:
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn passes y)
        """Learn bins and counts, and keep the rows.

        Parameters
        ----------
        X : pandas.DataFrame or array of numbers, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        if self.missing not in ("maxu", "bin0"):
            raise ValueError(f"missing is 'maxu' or 'bin0', not {self.missing!r}.")
        self.encoder_ = TableEncoder(numbers=False).fit(X)
        values = self.encoder_.encode(X)
        validate_data(self, X, skip_check_array=True)  # number and names of columns
        self._n_features_out = n = len(values)
        self._used: list[int] = np.flatnonzero(~np.isnan(values).all(axis=0)).tolist()
        if not self._used:
            raise ValueError("Nothing is observed in any column.")
        self._cuts = [self._cut(values[:, j], j) for j in self._used]
        bins = self._bin(values)
        self.tables_ = []
        for j, column, cuts in zip(self._used, bins.T, self._cuts, strict=True):
            counts = np.bincount(column, minlength=len(cuts) + 2)
            kind = self.encoder_.columns[j].kind
            regions = count_regions(counts[:-1], int(counts[-1]), kind)
            self.tables_.append(_log_share(regions, n))
        self._rows = self._place(bins)
        return self

    def transform(self, X: Any) -> _Floats:
        """Compare rows with the fitted rows.

        Parameters
        ----------
        X : pandas.DataFrame or array of numbers, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_fitted)
        """
        check_is_fitted(self)
        rows = self._place(self._bin(self.encoder_.encode(X)))
        own, fitted = self._sum_self(rows), self._sum_self(self._rows)
        K = np.zeros((len(rows), len(self._rows)))
        step = max(1, _BLOCK // len(self._rows))
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            for table, left, right in zip(
                self.tables_, rows[block].T, self._rows.T, strict=True
            ):
                K[block] += table[:, right][left]
        K *= 2
        K /= own[:, None] + fitted
        return K

    def _cut(self, values: _Floats, j: int) -> _Floats:
        """Limits between the bins of column j."""
        column = self.encoder_.columns[j]
        if column.kind != "numeric":
            return np.arange(0.5, len(column.labels) - 1)  # codes are bins
        n_bins = len(values).bit_length()  # floor(log2(n)) + 1
        return cut_by_frequency(values[~np.isnan(values)], n_bins)

    def _bin(self, values: _Floats) -> _Ints:
        """Bins of the cells of the used columns; L, one past the last, is missing."""
        columns = [
            np.where(
                np.isnan(values[:, j]),
                len(cuts) + 1,
                np.searchsorted(cuts, values[:, j]),
            )
            for j, cuts in zip(self._used, self._cuts, strict=True)
        ]
        return np.array(columns, dtype=np.intp).T.reshape(len(values), -1)

    def _place(self, bins: _Ints) -> _Ints:
        """Where cells are looked up: missing ones in the first bin, with "bin0"."""
        if self.missing == "maxu":
            return bins
        last = np.array([len(cuts) + 1 for cuts in self._cuts])
        return np.where(bins == last, 0, bins)

    def _sum_self(self, rows: _Ints) -> _Floats:
        """Sum l(x, x) over the columns, for each row."""
        columns = zip(self.tables_, rows.T, strict=True)
        return np.asarray(sum(table[k, k] for table, k in columns), dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def cut_by_frequency(observed: _Floats, n_bins: int) -> _Floats:
    """Cut numbers into bins of about equal frequency, never between equal ones.

    Each of the ``n_bins - 1`` wanted cuts goes to the nearest border between distinct
    values (of two as near, the lower), halfway between them. Wanted cuts that meet at
    one border are one cut, so there can be fewer bins.

    Parameters
    ----------
    observed : ndarray of shape (n,)
    n_bins : int

    Returns
    -------
    ndarray of shape (at most n_bins - 1,)
        The cuts, rising.

    Examples
    --------
    >>> cut_by_frequency(np.array([1.0, 2.0, 3.0, 4.0]), 2)
    array([2.5])
    >>> cut_by_frequency(np.array([1.0, 1.0, 1.0, 4.0]), 2)
    array([2.5])
    """
    distinct, counts = np.unique(observed, return_counts=True)
    if len(distinct) == 1:
        return np.empty(0)
    below = np.cumsum(counts)[:-1]
    wanted = len(observed) * np.arange(1, n_bins) / n_bins
    upper = np.searchsorted(below, wanted).clip(max=len(below) - 1)
    lower = np.maximum(upper - 1, 0)
    nearest = np.where(wanted - below[lower] <= below[upper] - wanted, lower, upper)
    borders = np.unique(nearest)
    return np.asarray((distinct[borders] + distinct[borders + 1]) / 2)


def count_regions(counts: _Ints, n_missing: int, kind: Kind) -> _Ints:
    """Count the rows in the region of every pair of bins.

    Parameters
    ----------
    counts : ndarray of shape (L,)
        Observed rows in each bin.
    n_missing : int
        Rows that miss the column.
    kind : {"numeric", "ordinal", "nominal"}

    Returns
    -------
    ndarray of shape (L + 1, L + 1)
        The last row and column are for a missing side.

    Examples
    --------
    >>> count_regions(np.array([3, 1, 2]), 4, "ordinal")
    array([[ 3,  4,  6, 10],
           [ 4,  1,  3,  8],
           [ 6,  3,  2, 10],
           [10,  8, 10, 10]])
    >>> count_regions(np.array([3, 1, 2]), 4, "nominal")
    array([[3, 4, 5, 9],
           [4, 1, 3, 8],
           [5, 3, 2, 9],
           [9, 8, 9, 9]])
    """
    L = len(counts)
    if kind == "nominal":
        inner = counts[:, None] + counts - np.diag(counts)
        one = inner.max(axis=1)  # with the largest other bin
        both = int(np.sort(counts)[-2:].sum())
    else:
        a, b = np.indices((L, L))
        low, high = np.minimum(a, b), np.maximum(a, b)
        upto = np.cumsum(counts)
        inner = upto[high] - upto[low] + counts[low]
        one = np.maximum(upto, upto[-1] - upto + counts)
        both = int(upto[-1])
    regions = np.empty((L + 1, L + 1), dtype=np.intp)
    regions[:L, :L] = inner
    regions[:L, L] = regions[L, :L] = one + n_missing
    regions[L, L] = both + n_missing
    return regions


def _log_share(regions: _Ints, n: int) -> _Floats:
    """Turn counts of rows into l, the logarithm of a smoothed share."""
    total = n + len(regions) - 1
    return np.log(np.minimum(regions + 1, total - _EPSILON) / total)
