"""MissForest (Stekhoven and Buehlmann 2012): random forests, round after round.

The gaps start at the mean or mode. A round goes through the incomplete columns, those
with the fewest gaps first: a forest learns the column from all others where it is
observed, and predicts its gaps. What changes from round to round shrinks at first;
when it grows, the rounds stop, and the table before the last one is the answer.

To fill rows that were not there at fit, the forests of every round up to that answer
are kept, and new rows go through them in the same order.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils import check_random_state

from ._simple import ModeMean

_Floats: TypeAlias = NDArray[np.float64]
_Mask: TypeAlias = NDArray[np.bool_]
# One round: the forest of each column, in order.
_Round: TypeAlias = list[tuple[int, Any]]


class MissForest(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Fill gaps with the predictions of random forests, until these settle.

    Regression forests for numbers and ordered categories, classification forests for
    categories; a split looks at the square root of the number of columns, as the
    authors chose.

    Parameters
    ----------
    max_iter : int, default=10
        Most rounds.
    n_estimators : int, default=100
        Trees of a forest.
    min_samples_leaf : int or float, default=1
        As of scikit-learn's forests. Larger leaves make smaller forests.
    n_jobs : int or None, default=None
        Trees that are grown at once, as of scikit-learn's forests. It does not change
        the result.
    random_state : int, RandomState instance or None, default=None
        Of the forests.
    verbose : bool, default=False
        Whether to report the rounds on the standard error stream.

    Attributes
    ----------
    rounds_ : list of list of (column, forest)
        The rounds behind the answer.
    changes_ : list of tuple of float
        How much each round changed, also the one too many: see `measure_change`.

    Notes
    -----
    A column that was complete at fit has no forest in the rounds. Where new rows miss
    it, a forest learns it from the filled table, and it is predicted first.

    The forests of all rounds are kept, so that to impute the fitted table gives the
    table at which the rounds ended: one forest for each incomplete column and round. A
    tree has up to 2 n nodes of about 72 bytes (8 more for each further category): with
    10,000 rows and 100 trees up to 144 MB a forest, so 10 rounds over 10 columns can
    take 14 GB. Fewer trees, fewer rounds or larger leaves take less.
    """

    def __init__(
        self,
        max_iter: int = 10,
        n_estimators: int = 100,
        min_samples_leaf: float = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.max_iter = max_iter
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, values: _Floats, categorical: _Mask) -> Self:
        """Go through the rounds."""
        self._categorical, self._gaps = categorical, np.isnan(values)
        # A classifier learns indices of codes, which need not be whole numbers.
        self._codes = {
            int(j): np.unique(values[~self._gaps[:, j], j])
            for j in np.flatnonzero(categorical)
        }
        self._start = ModeMean().fit(values, categorical)
        random = check_random_state(self.random_state)
        # Where the complete columns' forests start, if new rows ever need them.
        self._seed = int(random.randint(2**31))
        self._filled = self._start.impute(values)
        self.rounds_: list[_Round] = []
        self.changes_: list[tuple[float, ...]] = []
        order = self._order()
        while order and len(self.rounds_) < self.max_iter:
            forests, filled = self._round(order, random)
            change = measure_change(filled, self._filled, self._gaps, categorical)
            self.changes_.append(change)
            self._report(change)
            if stops(self.changes_):
                break
            self.rounds_.append(forests)
            self._filled = filled
        return self

    def impute(self, values: _Floats) -> _Floats:
        """Fill the gaps."""
        gaps = np.isnan(values)
        filled = self._start.impute(values)
        first = self._forests_of_complete(gaps)
        for forests in self.rounds_ or [[]]:
            for j, forest in [*first, *forests]:
                self._predict(forest, filled, gaps[:, j], j)
        return filled

    def _order(self) -> list[int]:
        """Columns to predict, those with the fewest gaps first."""
        n_gaps = self._gaps.sum(axis=0)
        if len(n_gaps) == 1:  # nothing to predict it from
            return []
        some = (n_gaps > 0) & (n_gaps < len(self._gaps))
        return [int(j) for j in np.argsort(n_gaps, kind="stable") if some[j]]

    def _round(self, order: Iterable[int], random: Any) -> tuple[_Round, _Floats]:
        """Learn and predict every incomplete column once."""
        filled, forests = self._filled.copy(), []
        for j in order:
            forest = self._grow(filled, j, int(random.randint(2**31)))
            self._predict(forest, filled, self._gaps[:, j], j)
            forests.append((j, forest))
        return forests, filled

    def _grow(self, filled: _Floats, j: int, seed: int) -> Any:
        """Learn column j from the others, where it is observed."""
        make = RandomForestClassifier if self._categorical[j] else RandomForestRegressor
        forest = make(
            self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            max_features="sqrt",
            n_jobs=self.n_jobs,
            random_state=seed,
        )
        known = ~self._gaps[:, j]
        learnt = filled[known, j]
        if j in self._codes:
            learnt = np.searchsorted(self._codes[j], learnt)
        forest.fit(np.delete(filled[known], j, axis=1), learnt)
        # Trees that predict at once are summed in any order: not the same to the digit.
        return forest.set_params(n_jobs=None)

    def _predict(self, forest: Any, filled: _Floats, rows: _Mask, j: int) -> None:
        """Put a forest's predictions of column j into some rows."""
        if rows.any():
            found = forest.predict(np.delete(filled[rows], j, axis=1))
            filled[rows, j] = self._codes[j][found] if j in self._codes else found

    def _forests_of_complete(self, gaps: _Mask) -> _Round:
        """Forests for the columns that only the new rows miss."""
        if gaps.shape[1] == 1:
            return []
        new = gaps.any(axis=0) & ~self._gaps.any(axis=0)
        columns = map(int, np.flatnonzero(new))
        return [(j, self._grow(self._filled, j, self._seed + j)) for j in columns]

    def _report(self, change: tuple[float, ...]) -> None:
        if self.verbose:
            said = ", ".join(f"{part:.2e}" for part in change)
            sys.stderr.write(f"MissForest: round {len(self.changes_)}, change {said}\n")


def measure_change(
    new: _Floats, old: _Floats, gaps: _Mask, categorical: _Mask
) -> tuple[float, ...]:
    """Measure what a round changed, one figure for each kind of column with gaps.

    Parameters
    ----------
    new, old : ndarray of shape (n, d)
        The filled table after and before the round.
    gaps : ndarray of bool of shape (n, d)
    categorical : ndarray of bool of shape (d,)

    Returns
    -------
    tuple of float
        For numbers the sum of squared differences over the sum of squares of the
        new table; for categories the share of gaps with another category.

    Examples
    --------
    >>> new = np.array([[3.0, 1.0], [4.0, 0.0]])
    >>> old = np.array([[3.0, 1.0], [3.0, 1.0]])
    >>> gaps = np.array([[False, True], [True, True]])
    >>> measure_change(new, old, gaps, categorical=np.array([False, True]))
    (0.04, 0.5)
    """
    change = []
    if gaps[:, ~categorical].any():
        size = float((new[:, ~categorical] ** 2).sum())
        moved = float(((new - old)[:, ~categorical] ** 2).sum())
        change.append(moved / size if size else 0.0)
    if gaps[:, categorical].any():
        other = (new != old)[:, categorical][gaps[:, categorical]]
        change.append(float(other.mean()))
    return tuple(change)


def stops(changes: list[tuple[float, ...]]) -> bool:
    """Tell whether the last round was one too many.

    It was if the change of no kind of column became smaller: with numbers and
    categories, both have to rise (or stand still, else a table that no longer
    changes would never stop).

    Parameters
    ----------
    changes : list of tuple of float
        Of each round, from `measure_change`.

    Returns
    -------
    bool

    Examples
    --------
    >>> stops([(0.5, 0.2)]), stops([(0.5, 0.2), (0.6, 0.1)])
    (False, False)
    >>> stops([(0.5, 0.2), (0.6, 0.1), (0.7, 0.1)])
    True
    """
    if len(changes) < 2:
        return False
    return all(new >= old for new, old in zip(changes[-1], changes[-2], strict=True))
