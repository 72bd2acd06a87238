"""`ProximityImputer`: a transformer that fills the missing cells of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ._batches import make_reader, merge_all
from ._bin_summary import has_no_rows
from ._coded import CodedTable
from ._imputation import (
    STRATEGIES,
    Strategy,
    draw_missing,
    estimate_missing,
    list_chances,
    list_labels,
    warn_of_unfilled,
)
from ._model import Model
from ._number_model import (
    NumberModel,
    NumberSample,
    learn_numbers,
    merge_samples,
    pack_numbers,
    sample_numbers,
    unpack_numbers,
)
from ._saving import State, check
from ._shared.options import (
    check_choice,
    check_count,
    check_flag,
    check_seed,
    is_number,
    make_random_state,
)
from ._shared.resources import count_threads
from ._shared.sklearn_bases import (
    TableT,
    Transformer,
    Weighted,
    of_one_fit,
    replaces_fit,
)
from ._table.filling import (
    Fill,
    append_columns,
    as_pandas,
    fill_table,
    find_objects,
    is_objects,
    make_records,
    make_uncertainty,
    merge_objects,
    select_columns,
)
from ._table.tables import collect_table
from ._weights import weights_to_counts
from .kernel import (
    KernelEstimator,
    ProximityKernel,
    check_not_frozen,
    code_table,
    copy_kernel,
    fit_kernel,
    pack_with_kernel,
    take_kernel,
    unpack_kernel,
)

__all__ = ["ProximityImputer"]

RowLists = list[Any] | tuple[Any, ...]
_Learned = tuple[NumberSample, tuple[str, ...]]


class ProximityImputer(Weighted, Transformer, KernelEstimator):
    """Fills missing cells with the estimates of a `ProximityKernel`.

    A missing label is filled with the most likely label, a missing number with its
    expected value given the bins of the row's other cells, corrected by a regression on
    the positions of the row's other numbers in their bins and columns.

    Parameters
    ----------
    strategy : {"mean", "mode"}, default="mean"
        How numbers and dates are filled: with their expected value, or with the mean of
        the most likely bin. Other columns get the most likely label.
    add_indicator : bool, default=False
        Whether to append a column for each feature with missing cells at fit, which is
        true where the cell was missing.
    keep_empty_features : bool, default=False
        Whether to keep columns without any observed value at fit. They stay missing,
        with a warning. Otherwise they are left out of all results.
    round_whole : bool, default=True
        Whether a column of floats that were all whole numbers at fit is filled with
        whole numbers, and a column of dates without a time of day with such dates.
        Columns of integers are always filled with whole numbers.
    kernel : ProximityKernel, FrozenEstimator or None, default=None
        Estimates missing cells; a copy is fitted, unless it is a fitted kernel in a
        `sklearn.frozen.FrozenEstimator`. None is a kernel with default options.
    n_jobs : int or None, default=None
        Threads, as in `ProximityKernel`; None is the option of the kernel.
    random_state : int, RandomState instance or None, default=None
        Used by `draw`. An int gives the same tables every time.

    Attributes
    ----------
    kernel_ : ProximityKernel
        The fitted kernel.
    number_model_ : NumberModel
        What was learned about numbers within their bins.
    indicator_features_ : ndarray of int64
        The features with missing cells at fit.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    A filled value and its type depend on the fitted rows and on the row itself, not on
    the other rows of the call. A list of rows gives a list of rows, which
    scikit-learn's own transformers convert to an array.

    Examples
    --------
    >>> from proximity_kernel import ProximityImputer, ProximityKernel
    >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
    >>> imputer = ProximityImputer(kernel=ProximityKernel(n_bins=2))
    >>> filled = imputer.fit_transform(table)
    >>> round(filled[2][0], 2), filled[4][1]
    (7.22, 'b')
    >>> round(imputer.uncertainty(table)[2][0], 2)
    2.84
    >>> [len(one) for one in imputer.draw(table, n_draws=3)]
    [5, 5, 5]
    """

    number_model_: NumberModel

    def __init__(
        self,
        *,
        strategy: Strategy = "mean",
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        round_whole: bool = True,
        kernel: ProximityKernel | FrozenEstimator | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.strategy = strategy
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.round_whole = round_whole
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn how the columns of a table depend on each other, to fill cells.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With a frozen kernel, the table that it was fitted to.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How many rows each row counts for, as in `ProximityKernel.fit`.

        Returns
        -------
        self
        """
        self.__fit_coded__(X, sample_weight)
        return self

    @replaces_fit
    def __fit_coded__(self, X: Any, sample_weight: Any = None) -> CodedTable:
        self._check_options()
        table, copies = collect_table(X), None
        kernel, coded = fit_kernel(self.kernel, table, self.n_jobs, None, sample_weight)
        if sample_weight is not None:
            copies = weights_to_counts(sample_weight, len(coded))
        self._learn(kernel, [(table, coded)], copies)
        return coded

    @replaces_fit
    def fit_batches(self, batches: Any) -> Self:
        """Learn to fill a table from its batches, which are read three times.

        Parameters
        ----------
        batches : list of tables, or callable
            As in `ProximityKernel.fit_batches`.

        Returns
        -------
        self
            As after `fit` on the whole table; see `ProximityKernel.fit_batches`.

        Examples
        --------
        >>> table = [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [None, 8.0]]
        >>> whole = ProximityImputer().fit(table)
        >>> parts = ProximityImputer().fit_batches([table[:2], table[2:]])
        >>> whole.transform(table) == parts.transform(table)
        True
        """
        self._check_options()
        check_not_frozen(self.kernel)
        read = make_reader(batches)
        kernel = copy_kernel(self.kernel, self.n_jobs).fit_batches(read)
        tables = (
            table for table in map(collect_table, read()) if not has_no_rows(table)
        )
        self._learn(kernel, ((table, code_table(kernel, table)) for table in tables))
        return self

    @of_one_fit
    def transform(self, X: TableT) -> TableT:
        """Fill the missing cells of a table, in a copy of it.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        table of the type of X
            Observed cells are unchanged. Columns keep their types if these can hold the
            filled values. Indicators, if requested, are the last columns.
        """
        self._check_options()
        table = self._collect(X)
        filled = self._fill(table, self._estimate(table))
        if _get_output_config("transform", self)["dense"] == "pandas":
            filled = as_pandas(filled)  # scikit-learn would lose the types of columns
        return filled  # type: ignore[no-any-return]

    @replaces_fit
    def fit_transform(
        self, X: TableT, y: Any = None, sample_weight: Any = None
    ) -> TableT:
        """Learn from a table and fill it; the same as `fit`, then `transform`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        table of the type of X
        """
        table: TableT = collect_table(X)
        return self.fit(table, y, sample_weight).transform(table)

    @of_one_fit
    def uncertainty(self, X: TableT) -> TableT:
        """Measure how uncertain the filled values are.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        table of the type of X, with its columns
            0 where a cell was observed. For numbers the standard deviation, for dates
            also, as a duration; for labels and booleans the probability that the filled
            value is wrong (``1 / (N + 2)`` if all N observed values are equal).
        """
        table = self._collect(X)
        made = make_uncertainty(table, self._estimate(table, "mean"))
        return self._drop_empty(made)  # type: ignore[no-any-return]

    @of_one_fit
    def interval(self, X: TableT, level: float = 0.9) -> tuple[TableT, TableT]:
        """Estimate intervals in which missing numbers and dates lie.

        Half of the remaining probability is below the interval, half above. In a skewed
        column an interval says more than a standard deviation.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.
        level : float, default=0.9
            The probability of an interval, between 0 and 1.

        Returns
        -------
        lower, upper : tables of the type of X, with its columns
            Observed cells are unchanged. Missing labels and booleans stay missing.

        Examples
        --------
        >>> table = [[float(n), 2.0 * n] for n in range(50)] + [[20.0, None]]
        >>> lower, upper = ProximityImputer().fit(table).interval(table)
        >>> lower[50][1] <= 40 <= upper[50][1]
        True
        """
        if not is_number(level) or not 0 < level < 1:
            raise ValueError(f"level must be above 0 and below 1, got {level!r}.")
        table = self._collect(X)
        fills = self._estimate(table, "mean", level)
        lower, upper = (
            self._drop_empty(fill_table(table, [_take_end(own, end) for own in fills]))
            for end in (0, 1)
        )
        return lower, upper

    @overload
    def probabilities(self, X: RowLists) -> list[tuple[int, str, Any, float]]: ...

    @overload
    def probabilities(self, X: NDArray[Any]) -> NDArray[np.void]: ...

    @overload
    def probabilities(self, X: TableT) -> TableT: ...

    @of_one_fit
    def probabilities(self, X: Any) -> Any:
        """List the probabilities of the labels of missing cells.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        frame of the library of X, structured array, or list of tuples
            For each missing cell of a column of labels or booleans, one record for each
            label, sorted by row and column: ``row`` (position in X), ``column`` (its
            name), ``label`` and ``probability``. The probabilities of a cell sum to 1.
            The label None stands for all labels that share a bin with a more frequent
            label. In a column in which all N observed values are equal, their label has
            the probability ``(N + 1) / (N + 2)``, and None stands for any other label.

        Examples
        --------
        >>> table = [[1.0, "a"], [1.2, "a"], [9.0, "b"], [8.0, None]]
        >>> imputer = ProximityImputer(kernel=ProximityKernel(n_bins=2)).fit(table)
        >>> for row, column, label, chance in imputer.probabilities(table):
        ...     print(row, column, label, round(chance, 2))
        3 x1 a 0.3
        3 x1 b 0.7
        """
        table = self._collect(X)
        coded = self._code(table)
        found = list_chances(coded.model, self.number_model_, coded, self._threads)
        return make_records(table, found, list_labels(coded.model, self.number_model_))

    @of_one_fit
    def draw(self, X: TableT, n_draws: int = 5) -> list[TableT]:
        """Draw filled tables at random, for multiple imputation.

        Each table is drawn from its own model, which is drawn too, as if it were fitted
        to another sample of rows. So the tables differ more if the fit had few rows.
        The missing cells of a row are drawn one after the other, in the order of the
        columns, each given the observed cells and the cells drawn before. So they are
        consistent with each other, as far as pairs of columns can tell: there is no
        joint distribution of all columns, so another order of columns gives different
        probabilities. A number is drawn within the observed range.

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
        self._check_options()
        check_count("n_draws", n_draws, 1)
        seed = make_random_state(self.random_state).randint(2**31)
        table = self._collect(X)
        coded = self._code(table)
        learned, filled = self.number_model_, []
        for child in np.random.SeedSequence(seed).spawn(n_draws):
            rng = np.random.default_rng(child)
            fills = draw_missing(coded.model, learned, coded, rng, self._threads)
            filled.append(self._fill(table, self._restore_types(fills)))
        return filled

    @of_one_fit
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
        kept = names[self._kept]
        new = self._name_indicators(self.kernel_.model_, names)
        return np.array([*kept, *new], dtype=object)

    @property
    def indicator_features_(self) -> NDArray[np.int64]:
        """The features with missing cells at fit."""
        return _find_incomplete(self.kernel_.model_)

    @property
    def _kept(self) -> list[int]:
        """The features in results: all, or all with an observed cell at fit."""
        bins = self.kernel_.model_.bins
        return [j for j, b in enumerate(bins) if b.n_bins or self.keep_empty_features]

    def _name_indicators(self, model: Model, names: Any) -> list[str]:
        """Name the columns of `add_indicator`; raise ValueError if a name is taken."""
        if not self.add_indicator:
            return []
        new = [f"missingindicator_{names[j]}" for j in _find_incomplete(model)]
        if taken := sorted({*new} & {*names}):
            raise ValueError(
                f"add_indicator makes a column {taken[0]!r}, which the table has; "
                "rename it, or leave out add_indicator."
            )
        return new

    def _learn(
        self,
        kernel: ProximityKernel,
        batches: Iterable[tuple[Any, CodedTable]],
        copies: NDArray[Any] | None = None,
    ) -> None:
        """Fit the number model to all batches, and set the fitted attributes.

        If there is one batch, row i of it counts ``copies[i]`` times.
        """
        threads, model = count_threads(kernel.n_jobs), kernel.model_
        self._name_indicators(model, model.names)

        def merge(a: _Learned, b: _Learned) -> _Learned:
            return merge_samples(a[0], b[0]), tuple(map(merge_objects, a[1], b[1]))

        looked = (
            (sample_numbers(model, c, threads, copies), find_objects(table, c.columns))
            for table, c in batches
        )
        found = merge_all(looked, merge)
        assert found is not None  # a kernel is fitted to at least one row
        sample, objects = found
        learned = learn_numbers(model, sample, threads)
        take_kernel(self, kernel)
        self.number_model_, self._objects = learned, objects

    def _collect(self, X: TableT) -> TableT:
        """Check that the imputer is fitted; make `X` a table that can be read twice."""
        check_is_fitted(self)
        table: TableT = collect_table(X, self.kernel_.model_.names)
        return table

    def _estimate(
        self, table: Any, strategy: Strategy | None = None, level: float = 0.0
    ) -> list[Fill]:
        """Estimate values for the missing cells of a table."""
        coded, learned = self._code(table), self.number_model_
        how = strategy or self.strategy, self._threads, level
        return self._restore_types(estimate_missing(coded.model, learned, coded, *how))

    def _restore_types(self, fills: list[Fill]) -> list[Fill]:
        """Adapt the fills to the types that the columns had at fit."""
        if self.keep_empty_features:
            warn_of_unfilled(fills)
        pairs = zip(fills, self._objects, strict=True)
        return [replace(g, objects=o).decide(self.round_whole) for g, o in pairs]

    def _fill(self, table: Any, fills: list[Fill]) -> Any:
        """Fill the missing cells of a table; append indicators if requested.

        Columns that were empty at fit are dropped unless `keep_empty_features`.
        """
        filled = self._drop_empty(fill_table(table, fills))
        if not self.add_indicator:
            return filled
        model = self.kernel_.model_
        names = self._name_indicators(model, model.names)
        marks = np.zeros((len(table), len(names)), bool)
        for k, j in enumerate(self.indicator_features_):
            marks[fills[j].rows, k] = True
        return append_columns(filled, names, marks)

    def _drop_empty(self, table: Any) -> Any:
        """Drop the columns that were empty at fit, unless they are kept."""
        kept, n_features = self._kept, len(self.kernel_.model_.bins)
        return table if len(kept) == n_features else select_columns(table, kept)

    def _check_options(self) -> None:
        """Raise an error for an invalid option."""
        super()._check_options()
        check_choice("strategy", self.strategy, STRATEGIES)
        for name in ("add_indicator", "keep_empty_features", "round_whole"):
            check_flag(name, getattr(self, name))
        check_seed(self.random_state)

    def __get_model_state__(self) -> State:
        state = State({"objects": list(self._objects)}, {})
        state = state.add_part("numbers", pack_numbers(self.number_model_))
        return pack_with_kernel(self.kernel_, state)

    def __set_model_state__(self, state: State) -> None:
        self._check_options()
        kernel = unpack_kernel(state)
        objects = tuple(state.values["objects"])
        check(len(objects) == len(kernel.model_.types), "objects of other columns")
        check(all(map(is_objects, objects)), "unknown objects")
        self.number_model_ = unpack_numbers(state.part("numbers"), kernel.model_)
        self.kernel_, self._objects = kernel, objects


def _find_incomplete(model: Model) -> NDArray[np.int64]:
    """Find the features with missing cells at fit."""
    return np.flatnonzero([cells.missing > 0 for cells in model.missingness])


def _take_end(fill: Fill, end: int) -> Fill:
    """Fill with one end of the intervals; labels and booleans are not filled."""
    values = fill.ends[:, end]
    if fill.is_boolean or fill.type.has_labels:
        values = values[:0]
    return replace(fill, values=values, means=values)
