"""EM: the most likely Gaussian behind an incomplete table, and what it expects.

With mean mu and covariance S, a row that observes the columns o and misses m has

    E[x_m | x_o]   = mu_m + S_mo S_oo^-1 (x_o - mu_o)
    Cov[x_m | x_o] = C    = S_mm - S_mo S_oo^-1 S_om.

Both depend on the row only through what it observes, so rows with one *pattern* of
gaps share one factorisation of S_oo. A step fills every row by its expectation and
takes the mean and the covariance of the filled rows, plus the mean of C.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator

_Floats: TypeAlias = NDArray[np.float64]
_Mask: TypeAlias = NDArray[np.bool_]
_Rows: TypeAlias = NDArray[np.intp]

_RIDGE = 1e-6  # on the diagonal of S_oo, where every column has variance 1
_TOLERANCE = 1e-8  # of a step, in standard deviations


@dataclass(frozen=True)
class _Pattern:
    """Rows with gaps in the same columns."""

    rows: _Rows
    observed: _Rows
    missing: _Rows


class EM(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Fill gaps with their expectation under a Gaussian fitted by EM.

    All columns of the coded table are taken as numbers, categories too.

    Parameters
    ----------
    max_iter : int, default=100
        Most steps; fewer if one changes mean and covariance by less than 1e-8, in
        units of the columns' standard deviations.
    verbose : bool, default=False
        Whether to report the steps on the standard error stream.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    covariance_ : ndarray of shape (n_features, n_features)
    n_iter_ : int
        Steps taken.
    """

    def __init__(self, max_iter: int = 100, verbose: bool = False) -> None:
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(self, values: _Floats, categorical: _Mask) -> Self:  # noqa: ARG002 (not told apart)
        """Fit mean and covariance."""
        self._center, self._scale = _standardise(values)
        scaled = (values - self._center) / self._scale
        patterns = _find_patterns(scaled)
        # The observed means and variances, in these units.
        varies = [len(np.unique(x[~np.isnan(x)])) > 1 for x in values.T]
        self._mu, self._S = np.zeros(len(varies)), np.diag(np.array(varies, float))
        self.n_iter_, change = 0, np.inf
        while self.n_iter_ < self.max_iter and change > _TOLERANCE:
            change = self._step(scaled, patterns)
            self.n_iter_ += 1
            if self.verbose:
                sys.stderr.write(f"EM: step {self.n_iter_}, change {change:.1e}\n")
        self.mean_ = self._center + self._scale * self._mu
        self.covariance_ = self._S * np.outer(self._scale, self._scale)
        return self

    def impute(self, values: _Floats) -> _Floats:
        """Fill the gaps."""
        scaled = (values - self._center) / self._scale
        filled, _ = _expect(scaled, _find_patterns(scaled), self._mu, self._S)
        # Observed cells as they were, to the last digit.
        return np.where(np.isnan(values), self._center + self._scale * filled, values)

    def _step(self, scaled: _Floats, patterns: list[_Pattern]) -> float:
        """Take one step; return the largest change of mean or covariance."""
        filled, spread = _expect(scaled, patterns, self._mu, self._S)
        mu = filled.mean(axis=0)
        centered = filled - mu
        S = (centered.T @ centered + spread) / len(filled)
        change = max(np.abs(mu - self._mu).max(), np.abs(S - self._S).max())
        self._mu, self._S = mu, S
        return float(change)


def _standardise(values: _Floats) -> tuple[_Floats, _Floats]:
    """Mean and standard deviation of the observed cells of each column.

    EM itself does not care for units, but a ridge and a tolerance do. A column with
    nothing observed has mean 0; one with no spread is not scaled.
    """
    present = ~np.isnan(values)
    n = np.maximum(present.sum(axis=0), 1)
    center = np.where(present, values, 0).sum(axis=0) / n
    spread = np.sqrt((np.where(present, values - center, 0) ** 2).sum(axis=0) / n)
    return center, np.where(spread > 0, spread, 1)


def _find_patterns(values: _Floats) -> list[_Pattern]:
    """Group the rows that have gaps by where they are."""
    gaps = np.isnan(values)
    masks, which = np.unique(gaps, axis=0, return_inverse=True)
    order = np.argsort(which, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(which))[:-1])
    return [
        _Pattern(rows, np.flatnonzero(~mask), np.flatnonzero(mask))
        for mask, rows in zip(masks, groups, strict=True)
        if mask.any()
    ]


def _expect(
    values: _Floats, patterns: list[_Pattern], mu: _Floats, S: _Floats
) -> tuple[_Floats, _Floats]:
    """Fill rows by their expectation; sum the covariances of what was filled."""
    filled, spread = values.copy(), np.zeros_like(S)
    for pattern in patterns:
        o, m = pattern.observed, pattern.missing
        S_om, S_oo = S[np.ix_(o, m)], S[np.ix_(o, o)]
        beta = np.zeros(S_om.shape)
        if len(o):
            beta = cho_solve(cho_factor(S_oo + _RIDGE * np.eye(len(o))), S_om)
        known = values[np.ix_(pattern.rows, o)]
        filled[np.ix_(pattern.rows, m)] = mu[m] + (known - mu[o]) @ beta
        C = S[np.ix_(m, m)] - S_om.T @ beta
        spread[np.ix_(m, m)] += len(pattern.rows) * C
    return filled, spread
