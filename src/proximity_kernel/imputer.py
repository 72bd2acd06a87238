"""`ProximityImputer`: a transformer that fills the missing cells of a table."""

from __future__ import annotations

import numbers
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ._coded import CodedTable
from ._imputation import STRATEGIES, Strategy, draw_gaps
from ._saving import State
from ._shared.options import check_choice, check_count, check_flag, check_seed
from ._shared.sklearn_bases import TableT, Transformer
from ._table.filling import append_columns, as_pandas, fill_table, mark_gaps
from ._table.tables import collect_table
from .kernel import (
    KernelEstimator,
    ProximityKernel,
    fit_kernel,
    pack_with_kernel,
    take_kernel,
    unpack_kernel,
)

__all__ = ["ProximityImputer"]

Rows = list[Any] | tuple[Any, ...]


class ProximityImputer(Transformer, KernelEstimator):
    """Fills missing cells with the estimates of a `ProximityKernel`.

    Parameters
    ----------
    strategy : {"mean", "mode"}, default="mean"
        How numbers and times are filled: with their expected value, or with the typical
        value of the most likely bin. Other columns get the most likely label.
    add_indicator : bool, default=False
        Whether to append a column for each feature with missing cells at fit, which is
        true where the cell was missing.
    kernel : ProximityKernel, FrozenEstimator or None, default=None
        Estimates missing cells; a copy is fitted, unless it is a fitted kernel in a
        `sklearn.frozen.FrozenEstimator`. None is a kernel with default options.
    n_jobs : int or None, default=None
        Threads, as in `ProximityKernel`; None is the option of the kernel.
    random_state : int, RandomState instance or None, default=None
        Used by `draw`. An int gives the same draws every time.

    Attributes
    ----------
    kernel_ : ProximityKernel
        The fitted kernel.
    indicator_features_ : ndarray of int64
        The features with missing cells at fit.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    A column without any observed value at fit is not filled, with a warning.

    Examples
    --------
    >>> from proximity_kernel import ProximityImputer, ProximityKernel
    >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
    >>> imputer = ProximityImputer(kernel=ProximityKernel(n_bins=2))
    >>> filled = imputer.fit_transform(table)
    >>> round(filled[2][0], 2), filled[4][1]
    (7.15, 'b')
    >>> round(imputer.uncertainty(table)[2][0], 2)
    2.89
    >>> [len(one) for one in imputer.draw(table, n_draws=3)]
    [5, 5, 5]
    """

    def __init__(
        self,
        *,
        strategy: Strategy = "mean",
        add_indicator: bool = False,
        kernel: ProximityKernel | FrozenEstimator | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.strategy = strategy
        self.add_indicator = add_indicator
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's)
        """Learn how the columns of a table depend on each other.

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
        kernel, coded = fit_kernel(self.kernel, X, self.n_jobs)
        take_kernel(self, kernel)
        return coded

    @overload
    def transform(self, X: Rows) -> NDArray[Any]: ...

    @overload
    def transform(self, X: TableT) -> TableT: ...

    def transform(self, X: Any) -> Any:
        """Fill the missing cells of a table, in a copy of it.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        table of the type of X, or an array if it is a list of rows
            Observed cells are unchanged. Columns keep their types if these can
            represent the values. Indicators, if requested, are the last columns.
        """
        check_is_fitted(self)
        self._check_options()
        X = collect_table(X, self.kernel_.model_.names)
        filled = self._mark(X, self.kernel_.impute(X, strategy=self.strategy))
        if _get_output_config("transform", self)["dense"] == "pandas":
            return as_pandas(filled)  # scikit-learn would lose the types of columns
        return filled

    @overload
    def fit_transform(self, X: Rows, y: Any = ...) -> NDArray[Any]: ...

    @overload
    def fit_transform(self, X: TableT, y: Any = ...) -> TableT: ...

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from a table and fill it; the same as fit, then transform.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        table of the type of X, or an array if it is a list of rows
        """
        X = collect_table(X)
        return self.fit(X, y).transform(X)

    def uncertainty(self, X: TableT) -> TableT:
        """Measure how uncertain the filled values are.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        table of the type of X, of shape (n_samples, n_features)
            0 where a cell was observed. For numbers the standard deviation, for dates a
            duration, for labels and booleans the probability that another is right.
        """
        check_is_fitted(self)
        return self.kernel_.impute(X, return_uncertainty=True)[1]

    @overload
    def draw(self, X: Rows, n_draws: int = ...) -> list[NDArray[Any]]: ...

    @overload
    def draw(self, X: TableT, n_draws: int = ...) -> list[TableT]: ...

    def draw(self, X: Any, n_draws: int = 5) -> Any:
        """Draw filled tables at random, for multiple imputation.

        The missing cells of a row are drawn one after the other, in the order of the
        columns, each given the observed cells and those drawn before. So they are
        consistent with each other as far as the rule can tell. It uses pairs of columns
        and no joint distribution, so another order of columns gives different
        probabilities. A number is drawn uniformly around the mean of its bin, within
        the borders of the bin; in a skewed bin the spread is understated. The first and
        the last bin are open, so a number drawn there can lie slightly outside the
        observed range. The draws do not include the uncertainty of the model itself,
        which is larger for a small table.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.
        n_draws : int, default=5

        Returns
        -------
        list of tables of the type of X
            With indicators, if requested.
        """
        check_is_fitted(self)
        self._check_options()
        check_count("n_draws", n_draws, 1)
        seed = check_random_state(self.random_state).randint(2**31)
        X = collect_table(X, self.kernel_.model_.names)
        coded = self._code(X)
        filled = []
        for child in np.random.SeedSequence(seed).spawn(n_draws):
            rng = np.random.default_rng(child)
            gaps = draw_gaps(coded.model, coded, rng, self._threads)
            filled.append(self._mark(X, fill_table(X, gaps)))
        return filled

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the columns of the filled table.

        Parameters
        ----------
        input_features : array-like of str or None
            Names of the features, when none were seen at fit.

        Returns
        -------
        ndarray of str
            The names of the features, and "missingindicator_age" for an indicator.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array([*names, *self._indicator_names(names)], dtype=object)

    @property
    def indicator_features_(self) -> NDArray[np.int64]:
        """The features with missing cells at fit."""
        missingness = self.kernel_.model_.missingness
        return np.flatnonzero([cells.missing > 0 for cells in missingness])

    def _indicator_names(self, names: Any) -> list[str]:
        if not self.add_indicator:
            return []
        return [f"missingindicator_{names[j]}" for j in self.indicator_features_]

    def _mark(self, X: Any, filled: Any) -> Any:
        if isinstance(filled, list | tuple):
            filled = _make_array(filled)
        if not self.add_indicator:
            return filled
        names = self._indicator_names(self.kernel_.model_.names)
        gaps = mark_gaps(X)[:, self.indicator_features_]
        return append_columns(filled, names, gaps)

    def _check_options(self) -> None:
        super()._check_options()
        check_choice("strategy", self.strategy, STRATEGIES)
        check_flag("add_indicator", self.add_indicator)
        check_seed(self.random_state)

    def __get_model_state__(self) -> State:
        return pack_with_kernel(self.kernel_, State({}, {}))

    def __set_model_state__(self, state: State) -> None:
        self._check_options()
        self.kernel_ = unpack_kernel(state)


def _make_array(rows: Any) -> NDArray[Any]:
    """Convert rows to an array: of floats if all cells are numbers, else of objects."""
    cells = np.empty((len(rows), len(rows[0])), dtype=object)
    cells[:] = rows
    numeric = all(isinstance(cell, numbers.Real) for cell in cells.ravel().tolist())
    return cells.astype(np.float64) if numeric else cells
