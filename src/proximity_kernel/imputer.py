"""`ProximityImputer`: a transformer that fills the missing cells of a table.

Cells are filled with expected values, or random draws. The estimates are those of the
representation: a distribution over the bins of a feature for each missing cell. Here
they are decoded with the typical values of the bins. A number is the expected value, or
the typical value of the likeliest bin. A category is the likeliest label.

Missing cells of an informative feature have their own bin, and the kernel does not
estimate them. A filled table needs a value there too. It is estimated as if all such
cells of the row were ordinary missing cells, and the bin for missing is left out.

For random values, a model is first drawn from the sampling distribution of the fitted
model. Then values are drawn for one missing cell of a row after another, in the order
of the columns, each from its estimate. The drawn code is then used like an observed
code for the next cell, so the values drawn for one row are consistent as far as the
matching rule can tell. Cells of informative features come last, because that they are
missing is evidence for the other features. A number is drawn from the quantiles that
are stored for its bins, and moved by the regression on the other numbers of the row
(`NumberModel`); its code is the bin in which it then lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ._batches import make_reader, merge_all
from ._bin_summary import has_no_rows
from ._bins import Typical
from ._cascade import Cascade, build_cascade
from ._coded import CodedTable, Estimates
from ._model import Model
from ._number_model import (
    NumberModel,
    NumberSample,
    drop_missing,
    learn_numbers,
    merge_samples,
    pack_numbers,
    sample_numbers,
    unpack_numbers,
)
from ._pairwise import Pairwise, restore_pairwise
from ._saving import State, check
from ._shared.options import (
    check_choice,
    check_count,
    check_flag,
    check_seed,
    is_number,
    make_random_state,
)
from ._shared.resources import count_threads, run_pieces
from ._shared.sklearn_bases import (
    TableT,
    Transformer,
    Weighted,
    of_one_fit,
    replaces_fit,
)
from ._shared.wording import join_names, warn_user
from ._table.columns import ColumnType
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

Strategy = Literal["mean", "mode"]
_MOST_ROWS = 16384  # distinct rows that are estimated at a time
_MOST_SHARES = 1 << 22  # probabilities in the estimates of these rows
_TINY = np.finfo(float).tiny
_Floats = NDArray[np.float64]
STRATEGIES: tuple[Strategy, ...] = ("mean", "mode")
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


# ------------------------------------------------------------------------- estimates


@dataclass(frozen=True)
class _Decoded:
    """Decoded values of missing cells of some distinct rows, one entry per cell."""

    rows: NDArray[np.int64]
    picks: NDArray[np.int64]  # the likeliest bin
    modes: _Floats  # the mean of the likeliest bin; 0 for labels
    means: _Floats  # the expected value; 0 for labels
    uncertainty: _Floats
    ends: _Floats  # of intervals, shape (n_cells, 2)


def estimate_missing(
    model: Model,
    learned: NumberModel,
    coded: CodedTable,
    strategy: Strategy,
    n_threads: int,
    level: float = 0.0,
) -> list[Fill]:
    """Estimate values for the missing cells of coded rows: a Fill for each feature.

    `level` is the coverage probability of the intervals of numbers; 0 for no intervals.
    """
    parts: list[list[_Decoded]] = [[] for _ in model.types]
    for j, rows, codes, shares in _estimate_shares(model, coded, n_threads):
        parts[j].append(_decode_cells(model, learned, j, rows, codes, shares, level))
    found = []
    for j, own in enumerate(parts):
        fill = _copy_to_rows(model, coded, j, own, strategy, learned)
        found.append(_apply_regression(learned, coded, j, fill, strategy, level))
    return found


def list_chances(
    model: Model, learned: NumberModel, coded: CodedTable, n_threads: int
) -> dict[str, NDArray[Any]]:
    """List the probabilities of the labels of missing cells, row after row.

    By name: row of the table, name of the column, label, and probability. The label
    None stands for all labels that share a bin with a more frequent label, and in a
    column with a single label for any other label.
    """
    none = np.empty(0, np.int64)
    parts: list[tuple[NDArray[Any], ...]] = [
        (none, none, np.empty(0, object), np.empty(0))
    ]
    for j, rows, _, shares in _estimate_shares(model, coded, n_threads):
        if (found := _label_shares(model, learned, j, shares)) is not None:
            labels, chances = found
            parts.append((
                np.repeat(rows, len(labels)), np.full(chances.size, j),
                np.tile(labels, len(rows)), chances.ravel(),
            ))  # fmt: skip
    distinct, features, labels, chances = map(np.concatenate, zip(*parts, strict=True))
    known = (labels != None) | (chances > 0)  # noqa: E711  (of each entry)
    # A distinct row can be several rows of the table.
    order = np.lexsort((features, distinct))
    order = order[known[order]]
    starts = np.searchsorted(distinct[order], np.arange(len(coded.bins) + 1))
    sizes = np.diff(starts)[coded.index]
    rows = np.repeat(np.arange(len(coded.index)), sizes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    at = order[np.repeat(starts[coded.index], sizes) + np.arange(len(rows)) - first]
    names = np.array(model.names, object)[features[at]]
    listed = {"row": rows, "column": names, "label": labels[at]}
    return {**listed, "probability": chances[at]}


def list_labels(model: Model, learned: NumberModel) -> list[Any]:
    """List all labels that `list_chances` can give for a row, of all columns."""
    labels: list[Any] = []
    for j, (column, typical) in enumerate(zip(model.types, model.typical, strict=True)):
        if learned.place(j) is None:
            labels += label_bins(column, typical).tolist()
            other = typical.spread.any() or _find_doubt(model, j)
            labels += [None] if other else []
        elif column.form == "boolean":
            labels += [False, True]
    return labels


def _label_shares(
    model: Model, learned: NumberModel, j: int, shares: _Floats
) -> tuple[NDArray[np.object_], _Floats] | None:
    """Return the labels of a feature, and their probabilities in each missing cell.

    Returns None for numbers and times, which have no labels.
    """
    column, typical = model.types[j], model.typical[j]
    t = learned.place(j)
    if t is None:
        spread = typical.spread + _find_doubt(model, j)
        chances = shares * (1 - spread)
        other = (shares * spread).sum(axis=1)
        labels = np.append(label_bins(column, typical), np.array([None]))
        return labels, np.column_stack([chances, other])
    if column.form != "boolean":
        return None
    true = (shares * learned.means[t, : shares.shape[1]]).sum(axis=1)
    doubt = _find_doubt(model, j)
    true = np.clip(true, doubt, 1 - doubt)
    return np.array([False, True], object), np.column_stack([1 - true, true])


def _find_doubt(model: Model, j: int) -> float:
    """Find the probability of another label where all N observed ones are equal.

    This is ``1 / (N + 2)``, by the rule of succession; 0 for other columns.
    """
    totals = model.totals_by_feature[j][: model.bins[j].n_bins]
    lone = len(totals) == 1 and not model.typical[j].spread.any()
    return float(1 / (totals[0] + 2)) if lone else 0.0


def rows_at_a_time(model: Model) -> int:
    """Compute how many rows to estimate together, to limit memory."""
    return max(1, min(_MOST_ROWS, _MOST_SHARES // max(1, int(model.n_bins.sum()))))


def _estimate_shares(
    model: Model, coded: CodedTable, n_threads: int
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[Any], _Floats]]:
    """Yield estimates of the missing cells of distinct rows, feature by feature.

    Yields the feature; the distinct rows in which it is missing, ascending; their
    codes, as used for the estimates; and the probabilities of the feature's bins
    without the bin for missing, of shape (n_cells, n_bins).
    """
    step = rows_at_a_time(model)
    informative = np.flatnonzero(model.informative)
    for first in range(0, len(coded.bins), step):
        rows = coded.bins[first : first + step]
        found = model.matcher.estimate(CodedTable.of_rows(rows), n_threads)
        for j, cells, shares in _split_features(model, found, range(len(model.types))):
            yield j, cells + first, rows[cells], shares
        own_bin = rows[:, informative] == (model.n_bins - 1)[informative]
        some = np.flatnonzero(own_bin.any(axis=1))
        if len(some):  # informative features, which were not estimated above
            opened = CodedTable.of_rows(open_missing(model, rows[some]))
            found = model.matcher.estimate(opened, n_threads)
            again = _split_features(model, found, informative.tolist())
            for j, cells, shares in again:
                yield j, some[cells] + first, opened.bins[cells], shares


def _split_features(
    model: Model, estimates: Estimates, features: Iterable[int]
) -> Iterator[tuple[int, NDArray[np.int64], _Floats]]:
    """Yield each feature with missing cells, their rows and their distributions."""
    order = np.argsort(estimates.feature, kind="stable")
    ends = np.searchsorted(estimates.feature[order], np.arange(len(model.types) + 1))
    for j in features:
        cells = order[ends[j] : ends[j + 1]]
        if len(cells) and len(model.typical[j].spread):
            rows = np.searchsorted(estimates.row_start, cells, side="right") - 1
            shares = estimates.of_cells(cells, int(model.n_bins[j]))
            yield j, rows, drop_missing(model, j, shares)


def _decode_cells(
    model: Model,
    learned: NumberModel,
    j: int,
    rows: NDArray[np.int64],
    codes: NDArray[Any],
    shares: _Floats,
    level: float,
) -> _Decoded:
    """Decode distributions over bins to picks, means, uncertainty and intervals."""
    picks = shares.argmax(axis=1)
    t = learned.place(j)
    if t is None:
        # The likeliest label, and the probability of any other.
        chances = shares * (1 - model.typical[j].spread - _find_doubt(model, j))
        none, unsure = np.zeros((len(rows), 2)), 1 - chances.max(axis=1)
        picks = chances.argmax(axis=1)
        zeros = none[:, 0]
        return _Decoded(rows, picks, zeros, zeros, np.clip(unsure, 0, 1), none)
    values, spread = learned.find_moments(t, codes, shares.shape[1])
    means, deviation = _average_bins(shares, values, spread)
    if model.types[j].form == "boolean" and (doubt := _find_doubt(model, j)):
        means = np.clip(means, doubt, 1 - doubt)
        deviation = np.sqrt(means * (1 - means))
    ends = np.zeros((len(rows), 2))
    if level > 0:
        for k, place in enumerate(((1 - level) / 2, (1 + level) / 2)):
            places = np.full(len(rows), place)
            ends[:, k] = learned.find_quantiles(t, codes, shares, places)[0]
        ends.sort(axis=1)  # a label may have moved only one of them, past the other
    modes = values[np.arange(len(rows)), picks]
    return _Decoded(rows, picks, modes, means, deviation, ends)


def _average_bins(
    shares: _Floats, values: _Floats, spread: _Floats
) -> tuple[_Floats, _Floats]:
    """Compute mean and standard deviation of mixtures of bins, one mixture per row."""
    means = (shares * values).sum(axis=1)  # in BLAS, rounding depends on the row count
    widest = np.maximum(np.abs(values), spread).max(axis=1, keepdims=True)
    scale = np.maximum(widest, _TINY)  # squares of unscaled numbers could overflow
    apart = (values / scale - means[:, None] / scale) ** 2 + (spread / scale) ** 2
    with np.errstate(over="ignore"):  # a model file can have any spread
        deviations = np.sqrt((shares * apart).sum(axis=1)) * scale[:, 0]
    return means, deviations


def open_missing(model: Model, rows: NDArray[Any]) -> NDArray[Any]:
    """Replace the codes of informative missing cells by the code of a missing cell."""
    out = np.array(rows)
    for j in np.flatnonzero(model.informative):
        out[rows[:, j] == model.n_bins[j] - 1, j] = np.iinfo(rows.dtype).max
    return out


def _copy_to_rows(
    model: Model,
    coded: CodedTable,
    j: int,
    parts: Sequence[_Decoded],
    strategy: Strategy,
    learned: NumberModel,
) -> Fill:
    """Copy the decoded values of distinct rows to the rows of the table, as a Fill."""
    column, typical, t = model.types[j], model.typical[j], learned.place(j)
    missing = coded.bins[:, j] == coded.missing
    if model.informative[j]:
        missing |= coded.bins[:, j] == model.n_bins[j] - 1
    rows = np.flatnonzero(missing[coded.index])
    if not parts:
        return Fill(column, rows, np.empty(0), np.empty(0), np.empty(0))
    held = np.concatenate([one.rows for one in parts])
    at = np.searchsorted(held, coded.index[rows])
    means, picks, modes, uncertainty, ends = (
        np.concatenate([getattr(one, name) for one in parts])[at]
        for name in ("means", "picks", "modes", "uncertainty", "ends")
    )
    if t is None:
        values = label_bins(column, typical)[picks]
    else:
        values = means if strategy == "mean" else modes
    return Fill(column, rows, values, uncertainty, means, ends)


def _apply_regression(
    learned: NumberModel,
    coded: CodedTable,
    j: int,
    fill: Fill,
    strategy: Strategy,
    level: float,
) -> Fill:
    """Add the predicted residuals to numbers, and reduce their uncertainty."""
    t = learned.place(j)
    if t is None or not fill.fillable or fill.is_boolean:
        return fill
    index = coded.index[fill.rows]

    def read(s: int) -> tuple[_Floats, NDArray[Any]]:
        i = int(learned.features[s])
        return coded.columns[i].values[fill.rows], coded.bins[index, i]

    shift, left = learned.predict(t, read, fill.uncertainty)
    means = np.clip(fill.means + shift, learned.low[t], learned.high[t])
    unsure = fill.uncertainty * np.sqrt(left)
    values = means if strategy == "mean" else fill.values
    ends = learned.compute_intervals(t, means, unsure, level) if level > 0 else None
    ends = fill.ends if ends is None else ends
    return replace(fill, values=values, means=means, ends=ends, uncertainty=unsure)


def label_bins(column: ColumnType, typical: Typical) -> NDArray[np.object_]:
    """Return the label to which each bin is decoded."""
    labels: Sequence[Any] = tuple(typical.values)
    if column.order is not None:
        labels = [column.order[int(rank)] for rank in labels]
    return np.fromiter(labels, object, len(labels))


def warn_of_unfilled(fills: Sequence[Fill]) -> None:
    """Warn of the columns whose missing cells cannot be filled, if any."""
    left = [one.type.place for one in fills if len(one.rows) and not one.fillable]
    if left:
        warn_user(
            f"{join_names(left)} had no observed value at fit, so these missing cells "
            "are not filled. Drop the column, or fit on rows in which it has values."
        )


def draw_missing(
    model: Model,
    learned: NumberModel,
    coded: CodedTable,
    random: np.random.Generator,
    n_threads: int,
) -> list[Fill]:
    """Draw values for the missing cells of coded rows: a Fill for each feature."""
    rows = coded.bins[coded.index]
    missing = open_missing(model, rows) == coded.missing
    numbers = {
        s: np.array(coded.columns[j].values, np.float64)
        for s, j in enumerate(learned.features.tolist())
    }
    model, learned = draw_model(model, learned, random)
    for informative in (False, True):
        if informative:
            rows[:] = open_missing(model, rows)
        for j in np.flatnonzero(model.informative == informative).tolist():
            at = np.flatnonzero(missing[:, j])
            if len(at) and len(model.typical[j].spread):
                _draw_feature(model, learned, rows, numbers, j, at, random, n_threads)
    fills = []
    for j, (column, typical) in enumerate(zip(model.types, model.typical, strict=True)):
        at, t = np.flatnonzero(missing[:, j]), learned.place(j)
        values = unsure = np.zeros(len(at) if len(typical.spread) else 0)
        if len(typical.spread):  # something was observed at fit
            codes = rows[at, j]
            values = label_bins(column, typical)[codes] if t is None else numbers[t][at]
        fills.append(Fill(column, at, values, unsure, unsure if t is None else values))
    return fills


def _draw_feature(
    model: Model, learned: NumberModel, rows: NDArray[Any],
    numbers: dict[int, _Floats], j: int, at: NDArray[np.int64],
    random: np.random.Generator, n_threads: int,
) -> None:  # fmt: skip
    """Draw the missing cells of a feature; write their codes and numbers in place."""
    codes, shares = rows[at], np.empty((len(at), int(model.n_bins[j])))

    def estimate_some(first: int, last: int) -> None:
        own = model.matcher.estimate_features(codes[first:last], [j])
        shares[first:last] = own[0]

    run_pieces(estimate_some, len(at), rows_at_a_time(model), n_threads)
    shares = drop_missing(model, j, shares)
    t = learned.place(j)
    places = random.random(len(at))
    if t is None:
        rows[at, j] = _pick_bins(shares, places)
        return
    found, frequent = learned.find_quantiles(t, codes, shares, places)
    moments = learned.find_moments(t, codes, shares.shape[1])
    expected, deviations = _average_bins(shares, *moments)

    def read(s: int) -> tuple[_Floats, NDArray[Any]]:
        return numbers[s][at], codes[:, learned.features[s]]

    shift, left = learned.predict(t, read, deviations)
    drawn = expected + shift + np.sqrt(left) * (found - expected)
    drawn = np.where(frequent, found, drawn)
    drawn = np.clip(drawn, learned.low[t], learned.high[t])
    numbers[t][at] = drawn
    rows[at, j] = np.searchsorted(model.bins[j].midpoints, drawn)  # type: ignore[union-attr]


def _pick_bins(shares: _Floats, places: _Floats) -> NDArray[np.int64]:
    """Invert the cumulative distributions over bins at `places`, shape (n_rows,)."""
    reached = np.cumsum(shares, axis=1)
    # The last bin at most, even if the place is rounded up to the sum.
    below = reached[:, :-1] <= places[:, None] * reached[:, -1:]
    return np.asarray(below.sum(axis=1))


def draw_model(
    model: Model, learned: NumberModel, random: np.random.Generator
) -> tuple[Model, NumberModel]:
    """Draw a model from the sampling distribution of the fitted model.

    Counts are drawn from Poisson distributions; the means of bins and the slopes of the
    number model are drawn from normal distributions with their standard errors.
    """
    rule: Any = model.matcher
    draw = _draw_pairwise if isinstance(rule, Pairwise) else _draw_cascade
    drawn = replace(model, matcher=draw(rule, random))
    return drawn, _draw_numbers(model, learned, random)


def _draw_pairwise(matcher: Pairwise, random: np.random.Generator) -> Pairwise:
    """Draw the counts of codes and pairs from Poisson distributions."""
    seen = matcher.counts
    pairs = random.poisson(np.triu(seen.pairs) if seen.pairs.ndim == 2 else seen.pairs)
    if seen.pairs.ndim == 2:  # symmetric
        pairs += np.triu(pairs, 1).T
    totals, marginals = random.poisson(seen.totals), random.poisson(seen.marginals)
    counts = replace(seen, pairs=pairs, totals=totals, marginals=marginals)
    starts = np.cumsum(seen.n_bins) - seen.n_bins
    for old, new in ((seen.totals, totals), (seen.marginals, marginals)):
        for first, size in zip(starts.tolist(), seen.n_bins.tolist(), strict=True):
            if not new[first : first + size].any():  # possible with few rows
                new[first : first + size] = old[first : first + size]
    return restore_pairwise(counts, matcher.smoothing, matcher.weights)


def _draw_cascade(matcher: Cascade, random: np.random.Generator) -> Cascade:
    """Draw the counts of the fitted rows from Poisson distributions."""
    maps = matcher.bitmaps
    counts = random.poisson(maps.counts)
    some = counts > 0
    if not some.any():
        return matcher
    return build_cascade(maps.rows[some], counts[some], maps.n_bins)


def _draw_numbers(
    model: Model, learned: NumberModel, random: np.random.Generator
) -> NumberModel:
    """Draw the means of bins and the slopes, by their standard errors."""
    totals = np.ones(learned.means.shape)
    for s, j in enumerate(learned.features.tolist()):
        own = model.totals_by_feature[j][: len(model.typical[j].spread)]
        totals[s, : len(own)] = np.maximum(own, 1)
    shift = learned.spreads / np.sqrt(totals) * random.normal(size=totals.shape)
    flat = np.diff(learned.quantiles, axis=2) == 0  # frequent values stay
    ends = np.pad(flat, ((0, 0), (0, 0), (1, 1)))
    at_flat = ends[..., 1:] | ends[..., :-1]
    moved = learned.quantiles + np.where(at_flat, 0, shift[..., None])
    next_flat = np.where(at_flat, learned.quantiles, np.inf)[..., ::-1]
    moved = np.minimum(moved, np.minimum.accumulate(next_flat, axis=2)[..., ::-1])
    quantiles = np.maximum.accumulate(moved, axis=2)
    low, high = learned.low[:, None, None], learned.high[:, None, None]
    quantiles = np.clip(quantiles, low, high)
    errors = learned.errors * random.normal(size=learned.errors.shape[:2])[:, None]
    slopes = learned.slopes + errors.sum(axis=2).reshape(learned.slopes.shape)
    # Where a label decides the number, the mean of the bin does not matter.
    offsets = learned.label_offsets - shift[:, None] * (1 - learned.label_ratios)
    return replace(
        learned, means=learned.means + shift, label_offsets=offsets,
        quantiles=quantiles, slopes=slopes,
    )  # fmt: skip
