"""`ProximityOutliers`: cells and rows that are unlikely, given the rest of the table.

Every observed cell is judged by what the other cells of its row suggest, and a number
also by how far it lies beyond the central values of its column. `_surprise` has the
definition. The score of a row is minus the sum of the scores of its cells, so the
reasons for a row are its cells with the highest scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from ._batches import fit_to_batches, make_reader, merge_all
from ._bin_summary import (
    BinSummary,
    Labels,
    has_no_rows,
    list_value_counts,
    merge_values,
    summarize_values,
)
from ._bins import BinNames, ValueCounts, count_values, format_moment, format_numbers
from ._coded import CodedTable
from ._formulas import FAR, Formula, learn_formulas, pack_formulas, unpack_formulas
from ._model import fit_model
from ._number_model import NumberSample, list_numbers, merge_samples, sample_numbers
from ._pairwise import Pairwise
from ._row_summary import RowSummary
from ._saving import State, check
from ._shared.options import check_count, draw_seed, is_number, resolve_options
from ._shared.sklearn_bases import (
    OutlierDetector,
    TableT,
    Weighted,
    of_one_fit,
    replaces_fit,
)
from ._shared.wording import write_plain, write_share
from ._surprise import (
    FALSE_ALARMS,
    FEWEST_ROWS,
    MARKS,
    Judge,
    Tails,
    find_limit,
    has_tails,
    learn_sorted_tails,
    learn_tails,
    sample_fitted,
    score_cells,
    score_rows,
    take_sample,
)
from ._table.columns import Column
from ._table.filling import make_table
from ._table.records import Records, find_library
from ._table.tables import collect_table
from ._weights import weights_to_counts
from .kernel import (
    KernelEstimator,
    ProximityKernel,
    check_not_frozen,
    copy_kernel,
    fit_kernel,
    pack_with_kernel,
    take_kernel,
    unpack_kernel,
)

__all__ = ["ProximityOutliers", "Reason"]

_AUTO: Literal["auto"] = "auto"
_N_BINS = 8
_ROUNDING = 1e-9
_LIKELY = 0.8  # probability of the bins that are named as expected
_MOST = 0.5  # share above which rows are called most rows
_MOST_NAMED = 3  # expected categories that are named
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_N_GIVEN = 2  # other cells that are named
_N_NEAREST = 15  # rows with lower and with higher values that can contradict one cell
_FEWEST_ASKED = 3  # minimum number of other rows that can contradict the named cells
_LEAST_TOLD = 0.1  # minimum rise of the log odds by a cell that is named
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reason:
    """A cell that makes a row unusual.

    Attributes
    ----------
    feature : str
    value : str
        The cell as text; "missing" for a missing cell whose feature has a bin for it.
    score : float
        The score of the cell; the score of the row is minus the sum over its cells.
    probability : float
        The probability of the cell's bin, given the other cells of the row.
    expected : str
        The bins that have at least 80 % of the probability, in words; or the value that
        a formula gives, such as a product of other numbers of the row. Bins that fewer
        than five other rows have are left out. Empty where the bins do not say enough:
        a number is itself in a likely bin; more than three categories are expected;
        rare categories have over a fifth of the probability; or an extreme number is in
        the outermost bin or the bin next to it, and other extreme cells of the row
        suggest the other of these two bins; or neither `given` nor most of the column
        support it.
    given : tuple of str
        The cells of the row that each make the expected value likelier than it is in
        the whole column, the most important first; at most two. Most other rows that
        have them, or numbers near theirs, have an expected value. Of a formula, its
        other numbers; at most three.
    side : {"above", "below", ""}
        Whether a number lies above or below nearly all fitted values of its column.
    beyond : float
        A lower bound of the share of fitted values that the number lies above or below;
        0 if that share is less than 95 %.
    usual : str
        The range of the central 80 % of the column, if a number is outside this range
        and `expected` is empty; else empty.
    """

    feature: str
    value: str
    score: float
    probability: float
    expected: str
    given: tuple[str, ...] = ()
    side: str = ""
    beyond: float = 0.0
    usual: str = ""

    def __str__(self) -> str:
        parts = [f"usually {self.usual}"] if self.usual else []
        if self.expected:
            given = f" with {' and '.join(self.given)}" if self.given else ""
            parts.append(f"{self.expected} expected{given}")
        if self.side:
            parts.append(f"{self.side} {100 * self.beyond:g} % of all values")
        if not parts and self.probability:
            share = write_share(self.probability)
            parts.append(f"{share} likely, given the other cells")
        return f"{self.feature} {self.value}: {', '.join(parts) or 'rare'}"


class ProximityOutliers(Weighted, OutlierDetector, KernelEstimator):
    """Unusual cells and rows of an incomplete, mixed-type table, with reasons.

    Every observed cell is compared with what the other cells of its row suggest. The
    score of a row is the sum of the scores of its cells. See Notes.

    Parameters
    ----------
    kernel : ProximityKernel, FrozenEstimator or None, default=None
        Its bins and its pairwise rule are used; ``matching="cascade"`` raises
        ValueError. A copy is fitted, unless it is a fitted kernel in a
        `sklearn.frozen.FrozenEstimator`. None is ``ProximityKernel(8)``: its first and
        last centers are the extremes of a column, so that extreme values are in rare
        bins. `feature_weights`, divided by the mean of those above 0, multiply the
        scores of the cells.
    contamination : "auto" or float, default="auto"
        Share of the fitted rows to call outliers, above 0 and at most 0.5. "auto" takes
        the rows that are more unusual than 99 % of rows sampled from the fitted model;
        if these are more than one row in 20, as in tables with many columns that repeat
        each other, only rows whose scores are far above those of the other rows.
    n_jobs : int or None, default=None
        Threads; None is the option of the kernel, by default all cores.

    Attributes
    ----------
    kernel_ : ProximityKernel
        The fitted kernel.
    offset_ : float
        The score below which a row is an outlier.
    expected_false_alarms_ : float or None
        1 % of the number of fitted rows: as many as would be called outliers if the
        rows were sampled from the fitted model. A real table without errors can have
        fewer. None if `contamination` is a number, or if more than one fitted row in 20
        is more unusual than 99 % of the sampled rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    The pairwise rule of the kernel gives each observed cell a distribution over the
    bins of its column, from the other observed cells of its row. The surprise of a cell
    is minus the logarithm of the probability of its own bin. For a number, its tail is
    added: how far it lies beyond the central 80 % of its column, in units of the mean
    of an exponential distribution fitted to the values beyond. The score of a cell is
    this sum, minus the expected surprise, minus 1, but at least 0. Missing cells score
    0, unless they have their own bin.

    A number that up to three other numbers of the row determine, as in ``total =
    quantity * price``, is compared with this formula in place of its bins. Formulas are
    searched among at most 100 numbers, in at least 50 rows.

    One row like the scored row is taken out of the counts, so a row is not evidence for
    itself; a row has the same score whether it was fitted or not.

    The fit keeps no rows. Time grows linearly with the rows.

    Examples
    --------
    >>> from proximity_kernel import ProximityOutliers
    >>> table = [[float(i % 10), "a" if i % 10 < 5 else "b"] for i in range(200)]
    >>> odd = ProximityOutliers().fit(table)
    >>> odd.predict([[1.0, "a"], [90.0, "b"], [1.0, "b"]])
    array([ 1, -1, -1])
    >>> for reason in odd.reasons([[90.0, "b"]])[0]:
    ...     print(reason)
    x0 90: usually 1 to 8, above 99.9 % of all values
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn the distribution of each cell given its row, and the threshold.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
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
        default = self.__default_kernel__()
        kernel, coded = fit_kernel(self.kernel, X, self.n_jobs, default, sample_weight)
        self._learn(kernel, coded, sample_weight)
        return coded

    @replaces_fit
    def fit_batches(self, batches: Any) -> Self:
        """Learn what is usual in a table from its batches, read three or four times.

        Parameters
        ----------
        batches : list of tables, or callable
            Tables with the same columns, or a function that returns a new iterator of
            the same tables each time; then only one table is in memory at a time. They
            are read a fourth time if `contamination` is a number.

        Returns
        -------
        self
            As after `fit` on the whole table; the bins and tails of a numeric column
            with more than 100,000 distinct values are approximate.
        """
        self._check_options()
        check_not_frozen(self.kernel)
        read = make_reader(batches)
        kernel = copy_kernel(self.kernel, self.n_jobs, self.__default_kernel__())
        check_rule(kernel)
        rows, columns = fit_to_batches(kernel, read)
        threads, model = resolve_options(kernel).n_threads, kernel.model_

        def read_coded() -> Iterator[CodedTable]:
            for batch in map(collect_table, read()):
                if not has_no_rows(batch):
                    yield model.code(batch, threads)

        def collect_scores(tails: Tails) -> Any:
            scores = (score_rows(coded, tails, threads) for coded in read_coded())
            return merge_all(map(summarize_values, scores), merge_values)

        samples = (sample_numbers(model, coded, threads) for coded in read_coded())
        sample = merge_all(samples, merge_samples)
        self.__learn_summaries__(kernel, rows, columns, sample, collect_scores)
        return self

    def __learn_summaries__(
        self,
        kernel: ProximityKernel,
        rows: RowSummary,
        columns: BinSummary,
        sample: NumberSample | None,
        collect_scores: Callable[[Tails], Any],
    ) -> None:
        """Learn tails and the threshold from the summaries of batches or partitions.

        `collect_scores` summarizes the scores of all rows; it is called if
        `contamination` is a number.
        """
        model = kernel.model_
        values = [
            None
            if isinstance(column.distribution, Labels) or not has_tails(kind)
            else list_value_counts(column.distribution)
            for column, kind in zip(columns.columns, model.types, strict=True)
        ]
        self._set_fitted(
            kernel,
            learn_sorted_tails(values),
            sample,
            lambda: take_sample(model, rows.rows, rows.counts),
            lambda tails: list_value_counts(collect_scores(tails)),
        )

    def _learn(
        self, kernel: ProximityKernel, coded: CodedTable, sample_weight: Any
    ) -> None:
        """Learn tails and the threshold from the coded rows of the fitted table."""
        check_rule(kernel)
        threads, copies = resolve_options(kernel).n_threads, None
        if sample_weight is not None:
            copies = weights_to_counts(sample_weight, len(coded))

        def take_rows() -> CodedTable:
            return sample_fitted(coded, draw_seed(kernel.random_state), threads, copies)

        def count_scores(tails: Tails) -> ValueCounts:
            scores = score_rows(coded, tails, threads)
            if copies is None:
                return count_values(scores)
            return count_values(scores[copies > 0], copies[copies > 0])

        tails = learn_tails(coded.columns, copies)
        sample = sample_numbers(kernel.model_, coded, threads, copies)
        self._set_fitted(kernel, tails, sample, take_rows, count_scores)

    def _set_fitted(
        self,
        kernel: ProximityKernel,
        tails: Tails,
        numbers: NumberSample | None,
        take_rows: Callable[[], CodedTable],
        count_scores: Callable[[Tails], ValueCounts],
    ) -> None:
        """Find formulas and the threshold, and set the fitted attributes.

        "auto" needs a sample of the fitted rows, a share needs the scores of all rows.
        """
        model, false_alarms = kernel.model_, None
        if numbers is not None:
            found = learn_formulas(numbers, list_numbers(model), tails.measured)
            tails = replace(tails, formulas=found)
        if self.contamination == _AUTO:
            threads = resolve_options(kernel).n_threads
            limit, of_model = find_limit(take_rows(), tails, threads)
            limit += _ROUNDING
            false_alarms = FALSE_ALARMS * model.n_samples if of_model else None
        else:
            limit = _find_upper_quantile(count_scores(tails), self.contamination)
        take_kernel(self, kernel)
        self._tails, self.offset_ = tails, -limit
        self.expected_false_alarms_: float | None = false_alarms

    @of_one_fit
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Compute the score of each row: minus the sum of the scores of its cells.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            At most 0; the lower, the more unusual.
        """
        return -score_rows(self._code(X), self._tails, self._threads)

    @of_one_fit
    def score_cells(self, X: TableT) -> TableT:
        """Compute the score of each cell: its surprise beyond the expected surprise.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        frame, array or list of rows
            Of the type and the shape of X. 0 for cells that are not unusual, and for
            missing cells without a bin. The sum over a row is minus the row's score.

        Examples
        --------
        >>> import numpy as np
        >>> table = [[float(i % 10), "a" if i % 10 < 5 else "b"] for i in range(200)]
        >>> odd = ProximityOutliers().fit(table)
        >>> np.round(odd.score_cells([[1.0, "a"], [90.0, None]]), 1).tolist()
        [[0.0, 0.0], [56.1, 0.0]]
        """
        is_coded = isinstance(X, CodedTable)
        table: Any = X if is_coded else collect_table(X)
        cells: Any = score_cells(self._code(table), self._tails, self._threads)
        made: TableT = cells if is_coded else make_table(table, list(cells.T))
        return made

    @of_one_fit
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the score of each row minus `offset_`: negative for outliers.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    @of_one_fit
    def predict(self, X: Any) -> NDArray[np.int64]:
        """Label outliers with -1 and other rows with 1.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), int64
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    @of_one_fit
    def reasons(
        self, X: Any, n: int = 3, *, among: Any = None
    ) -> Records[list[Reason]]:
        """List the cells that make each row unusual.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        n : int, default=3
            Maximum number of cells of a row.
        among : frame, array or list of rows, or None, default=None
            Rows in which the value expected in a cell is checked; None means X. The
            fitted rows are best; the estimator does not keep them. The check is needed
            because bins suggest the expected value, and rows with exactly the same
            numbers can differ from the rest of their bins. It is skipped if fewer than
            five rows of `among` have the values of the cells that suggest it.

        Returns
        -------
        list of length n_samples, of lists of Reason
            The cells with a score, the highest first. A cell is left out if at least
            five other rows of `among` have the values of the cells that suggest another
            value for it, and most of these rows agree with the cell; but a number above
            or below 95 % of its column is kept. With ``to_frame()``, one line for each
            reason (as a sentence in the column "reason"), and shown as a table in a
            notebook.
        """
        most = check_count("n", n, 1)
        coded = self._code(X)
        cells = score_cells(coded, self._tails, self._threads)
        others = coded if among is None else self._code(among)
        writer = _Writer(coded, self._tails, others)
        found = [writer.write_row(i, own, most) for i, own in enumerate(cells)]
        names = ["row", *Reason.__dataclass_fields__, "reason"]
        return Records(found, find_library(X), names, text="reason")

    def __get_model_state__(self) -> State:
        tails = self._tails
        arrays = {"ends": tails.ends, "units": tails.units}
        arrays["marks"] = tails.marks.reshape(len(tails.ends), -1)
        values: dict[str, Any] = {
            "offset": float(self.offset_),
            "expected_false_alarms": self.expected_false_alarms_,
            "formulas": pack_formulas(tails.formulas),
        }
        return pack_with_kernel(self.kernel_, State(values, arrays))

    def __set_model_state__(self, state: State) -> None:
        self._check_options()
        self.kernel_ = unpack_kernel(state)
        check(isinstance(self.kernel_.model_.matcher, Pairwise), "the matching")
        self._tails = _read_tails(state, len(self.kernel_.model_.bins))
        offset = state.values["offset"]
        check(type(offset) is float and np.isfinite(offset), "the offset")
        expected = state.values["expected_false_alarms"]
        is_count = type(expected) is float and np.isfinite(expected)
        check(expected is None or is_count, "the expected false alarms")
        self.offset_, self.expected_false_alarms_ = offset, expected

    def __default_kernel__(self) -> ProximityKernel:
        return ProximityKernel(_N_BINS)

    def _check_options(self) -> None:
        super()._check_options()
        share = self.contamination
        if isinstance(share, str) and share == _AUTO:
            return
        if not is_number(share) or not 0 < share <= 0.5:
            raise ValueError(
                f"contamination must be in (0, 0.5] or {_AUTO!r}, got {share!r}."
            )


def check_rule(kernel: ProximityKernel) -> None:
    """Raise ValueError unless the kernel uses the pairwise rule."""
    if kernel.matching != "pairwise":
        raise ValueError(
            "ProximityOutliers needs a kernel with matching='pairwise', got "
            f"matching={kernel.matching!r}: cells are judged by counts of pairs."
        )


def fit_like(kernel: ProximityKernel, columns: tuple[Column, ...]) -> Any:
    """Fit `ProximityOutliers` to typed columns, with the options of a kernel.

    But `n_bins` is 8 unless it is a number or numbers, and `matching` is "pairwise".
    Also returns the coded table.
    """
    copy = copy_kernel(kernel, None).set_params(matching="pairwise")
    if copy.n_bins is None or isinstance(copy.n_bins, str):
        copy.set_params(n_bins=_N_BINS)
    model, coded = fit_model(columns, resolve_options(copy))
    copy.model_, copy.n_features_in_ = model, len(columns)
    odd = ProximityOutliers(kernel=FrozenEstimator(copy))
    odd.__fit_coded__(coded)
    return odd, coded


def _find_half(shares: NDArray[np.float64], own: int) -> list[int]:
    """Find the likeliest bins but `own` that together have half of the probability."""
    order = [k for k in np.argsort(-shares, kind="stable").tolist() if k != own]
    n_needed = int(np.searchsorted(np.cumsum(shares[order]), 0.5 * shares.sum())) + 1
    return sorted(order[:n_needed])


class _Writer:
    """Writes the reasons for unusual cells; expectations are checked in `among`."""

    def __init__(self, coded: CodedTable, tails: Tails, among: CodedTable) -> None:
        self._coded, self._tails, self._among = coded, tails, among
        self._sorted: dict[int, tuple[NDArray[Any], dict[Any, int]]] = {}
        self._judge = Judge.of_model(coded.model)
        self._names: list[BinNames] = coded.model.bin_names

    def write_row(self, i: int, scores: _Floats, most: int) -> list[Reason]:
        """List at most so many reasons for row i, the highest score first."""
        order = np.argsort(-scores, kind="stable")
        unusual = order[scores[order] > 0].tolist()
        reasons = (self._write(i, j, float(scores[j])) for j in unusual)
        return list(islice((one for one in reasons if one is not None), most))

    def _write(self, i: int, j: int, score: float) -> Reason | None:
        """Describe why the cell of feature j in row i is unusual.

        None if other rows with the same values confirm a cell that is not extreme.
        """
        row, column = self._coded.bins[self._coded.index[i]], self._coded.columns[j]
        formula, predicted, apart = self._find_formula(i, j)
        shares, told, decided = self._judge.explain(row, j)
        own, side, mark, usual = int(row[j]), "", 0, ""
        if has_tails(column.type) and own < len(shares):
            side, mark = self._tails.find_mark(j, float(column.values[i]))
        prior, known, kept = self._keep_frequent_bins(j, own, shares, decided)
        likely = self._find_expected(j, own, known, kept)
        expected = self._name_bins(j, likely) if likely else ""
        if not column.observed[i]:
            expected, likely = "a value", list(range(own))
        raised = _raise_odds(prior, told, likely)
        # If at least 80 % of the column are as expected, only a cell that decides is a
        # reason.
        usual_share = float(prior[likely].sum())
        decides = decided in likely or usual_share < _LIKELY
        most = _N_GIVEN if expected and decides else 0
        order = np.argsort(-raised, kind="stable")[:most].tolist()
        given = [k for k in order if raised[k] > _LEAST_TOLD]
        confirmed = formula is not None or self._is_confirmed(i, j, own, given)
        if confirmed and not side and apart <= FAR:
            return None
        if confirmed or self._are_extremes(i, j, own, likely, given):
            expected, given = "", []
        while given and self._is_contradicted(i, j, own, likely, given, usual_share):
            given = given[:-1]
        if not given and usual_share <= _MOST:
            expected = ""  # no cell shows it on its own, nor does the column
        if formula is not None and apart > FAR:
            family, whole = column.type.family, column.type.form == "whole"
            predicted = formula.round_prediction(predicted, family, whole=whole)
            expected = _write_number(predicted, column)
            given = list(formula.sources)
        if not expected and self._lies_beyond(i, j):
            usual = self._name_usual(j)
        types = self._coded.model.types
        return Reason(
            feature=types[j].name,
            value=self._write_value(i, j),
            score=score,
            probability=float(shares[own]) if own < len(shares) else 0.0,
            expected=expected,
            given=tuple(f"{types[k].name} {self._write_value(i, k)}" for k in given),
            side=side,
            beyond=mark / 1000,
            usual=usual,
        )

    def _find_formula(self, i: int, j: int) -> tuple[Formula | None, float, float]:
        """Find the formula of a cell, its prediction, and how far the cell is from it.

        None if the cell has no formula, or a source of it is missing.
        """
        for formula in self._tails.formulas:
            if formula.feature == j:
                numbers = [one.values[i : i + 1] for one in self._coded.columns]
                apart = float(self._tails.measure_formula(formula, numbers)[0])
                if not np.isnan(apart):
                    return formula, float(formula.predict(numbers)[0]), apart
        return None, np.nan, 0.0

    def _find_expected(
        self, j: int, own: int, known: _Floats, kept: _Floats
    ) -> list[int]:
        """Find the bins to name as expected, from `_keep_frequent_bins`; often none."""
        n_ordered, is_number = self._names[j].n_ordered, self._tails.measured[j]
        likely = _find_likely(known, n_ordered)
        if own not in likely and kept.sum() >= _LIKELY:
            return _find_likely(kept / kept.sum(), n_ordered)
        if is_number and own in likely:
            return []
        if not is_number:
            likely = _find_half(kept, own) if kept.sum() >= _LIKELY else []
        # A range of numbers may end in a rare bin; rare categories are not named.
        return likely if kept[likely].sum() >= _MOST else []

    def _lies_beyond(self, i: int, j: int) -> bool:
        """Whether a cell is a number outside the central 80 % of its column."""
        value = self._coded.columns[j].values[i : i + 1]
        return bool(self._tails.measured[j] and self._tails.measure(j, value)[0] > 0)

    def _are_extremes(
        self, i: int, j: int, own: int, likely: list[int], given: list[int]
    ) -> bool:
        """Whether extreme cells suggest the bin next to that of an extreme number.

        Only for the outermost bin and the bin next to it: the outermost bin is wide and
        has few rows, so that the bins cannot tell how far out a number should be.
        """
        last = self._coded.model.bins[j].n_bins - 1
        pairs = (0, 1), (1, 0), (last, last - 1), (last - 1, last)
        if not any(own == one and other in likely for one, other in pairs):
            return False
        extreme = [self._lies_beyond(i, k) for k in (j, *given)]
        return extreme[0] and any(extreme[1:])

    def _is_confirmed(self, i: int, j: int, own: int, given: list[int]) -> bool:
        """Whether rows that equal row i in the features `given` agree with its cell j.

        At least five other rows must have the values of all features `given`, or of the
        first, and most of these rows the bin of the cell.
        """
        agree, is_bin = False, own < self._coded.model.bins[j].n_bins
        for n in range(1, 1 + len(given) * is_bin):
            codes = self._list_codes(i, j, own, given[:n])
            if len(codes) < FEWEST_ROWS:
                break
            agree = bool(np.mean(codes == own) > _MOST)
        return agree

    def _is_contradicted(
        self, i: int, j: int, own: int, likely: list[int], given: list[int],
        prior: float,
    ) -> bool:  # fmt: skip
        """Whether most other rows with the cells `given` have none of the likely bins.

        Or whether these bins are no more common there than in the column (`prior`).
        Rows with the same bins and those with the nearest values are asked, if there
        are three, and those with the very same values, if there are five.
        """
        same = self._list_codes(i, j, own, given)
        # The nearest of few rows are not near.
        sizes = (None, _N_NEAREST)[: 1 + (len(self._among) > 2 * _N_NEAREST)]
        near = [self._list_codes(i, j, own, given, size) for size in sizes]
        asked = [codes for codes in near if len(codes) >= _FEWEST_ASKED]
        asked += [same] if len(same) >= FEWEST_ROWS else []
        return any(np.isin(c, likely).mean() <= max(_MOST, prior) for c in asked)

    def _list_codes(
        self, i: int, j: int, own: int, given: list[int], most: int | None = 0
    ) -> NDArray[Any]:
        """List the observed codes of feature j in other rows with the cells `given`.

        Or with cells near these: see `_find_rows`. One row like row i is left out.
        """
        rows = self._find_rows(i, given[0], most)
        for k in given[1:]:  # a mask, because sorting many rows takes long
            same = np.zeros(len(self._among), bool)
            same[self._find_rows(i, k, most)] = True
            rows = rows[same[rows]]
        codes = self._among.bins[self._among.index[rows], j]
        codes = codes[codes != self._among.missing]
        return np.delete(codes, np.flatnonzero(codes == own)[:1])

    def _find_rows(self, i: int, k: int, most: int | None) -> NDArray[np.int64]:
        """Find the rows of `among` with the value of feature k in row i.

        And for numbers, `most` rows with the nearest lower and higher values each; None
        finds the rows with the same bin.
        """
        column, other = self._coded.columns[k], self._among.columns[k]
        if not column.observed[i]:
            return np.flatnonzero(~other.observed)
        if k not in self._sorted:
            order = np.argsort(other.values, kind="stable")  # NaN last
            places = {label: at for at, label in enumerate(other.labels or ())}
            self._sorted[k] = order, places
        order, places = self._sorted[k]
        search: Any = partial(np.searchsorted, other.values, sorter=order)
        value, bins = column.values[i], self._coded.model.bins[k]
        if column.type.kind == "categorical":
            value = places.get(column.labels[value], len(places))
        elif most is None:
            limits = np.concatenate([[-np.inf], bins.midpoints, [np.inf]])
            at = np.searchsorted(bins.midpoints, value)
            first, last = search(limits[at : at + 2], "right").tolist()
            return np.asarray(order[first:last])
        first, last = (int(search(value, side)) for side in _SIDES)
        if column.type.kind != "categorical" and most is not None:
            first, last = max(first - most, 0), min(last + most, other.observed.sum())
        return np.asarray(order[first:last])

    def _keep_frequent_bins(
        self, j: int, own: int, shares: _Floats, decided: int
    ) -> tuple[_Floats, _Floats, _Floats]:
        """Keep the bins of a cell's distribution that a reason may name as expected.

        At least five other rows must have a bin, unless it is `decided`, the bin that
        another cell decides for. For an observed cell, the bin of missing cells is kept
        only if it has at least 80 % of the probability. Returns the shares of the bins
        in the column, and their probabilities before and after rare bins are set to 0.
        """
        model, bins = self._coded.model, np.arange(len(shares))
        totals = model.totals_by_feature[j].astype(np.float64)
        missing = model.bins[j].n_bins  # the code, if it is one
        if own < missing < len(shares) and shares[missing] < _LIKELY:
            totals[missing] = 0
            shares = np.where(bins == missing, 0, shares / (1 - shares[missing]))
        totals[own : own + 1] -= 1
        enough = totals >= FEWEST_ROWS
        kept = np.where(enough | (bins == decided), shares, 0)
        prior = np.maximum(totals, 0) / max(totals.sum(), 1)
        return prior, shares, kept

    def _name_bins(self, j: int, likely: list[int]) -> str:
        """Name the expected bins of feature j: at most three ranges or categories."""
        names = self._names[j]
        if names.n_ordered and likely[-1] < names.n_ordered:
            if clipped := self._name_clipped_range(j, likely[0], likely[-1]):
                return clipped
            ends = np.flatnonzero(np.diff(likely) > 1) + 1  # of adjacent bins
            named = [
                names.name(*own[[0, -1]].tolist()) for own in np.split(likely, ends)
            ]
            named = ["a value" if one == "observed" else one for one in named]
        else:
            named = [names.name(k, k) for k in likely]
        if len(named) > _MOST_NAMED:
            return ""
        return " or ".join([", ".join(named[:-1]), named[-1]] if named[1:] else named)

    def _name_clipped_range(self, j: int, first: int, last: int) -> str:
        """Name a range of bins, cut at the ordinary values; "" if it is within them.

        A bin ends midway to the next center, which can be an outlier. So a range that
        reaches beyond the ordinary values is named by the limits of these.
        """
        column, bins = self._coded.columns[j], self._coded.model.bins[j]
        if not self._tails.measured[j] or bins.n_bins < 2:
            return ""
        names, limits = self._names[j], [-np.inf, *bins.midpoints.tolist(), np.inf]
        low, high = limits[first], limits[last + 1]
        n_values = int(self._coded.model.totals_by_feature[j][: bins.n_bins].sum())
        least, most = self._tails.find_ordinary(j, n_values)
        if least == most and low < most < high:
            return _write_number(most, column)
        ends = format_numbers([least, most], column.type.family)
        over = high < np.inf and low < most < high
        under = low > -np.inf and low < least < high
        if not over and not under:
            return ""
        begin = ends[0] if under else names.lows[first]
        end = ends[1] if over else names.highs[last]
        if not end:
            return f"above {begin}"
        return f"{begin} to {end}" if begin else f"up to {end}"

    def _name_usual(self, j: int) -> str:
        """Name the range of the central 80 % of a column; "" if it has no tails."""
        low, high = self._tails.ends[j].tolist()
        if np.isnan(low):
            return ""
        column = self._coded.columns[j]
        if low == high:
            return _write_number(low, column)
        return " to ".join(format_numbers([low, high], column.type.family, 0.0))

    def _write_value(self, i: int, j: int) -> str:
        column, value = self._coded.columns[j], self._coded.columns[j].values[i]
        if not column.observed[i]:
            return "missing"
        if column.type.kind == "categorical":
            return str(column.labels[value])
        if column.type.order is not None:
            return str(column.type.order[int(value)])
        return _write_number(float(value), column)


def _write_number(value: float, column: Column) -> str:
    if column.type.family == "dates":
        return format_moment(value)
    if column.type.form == "boolean" and value in (0, 1):
        return str(bool(value))
    return write_plain(value)


def _raise_odds(
    prior: NDArray[np.float64], told: NDArray[np.float64], likely: list[int]
) -> NDArray[np.float64]:
    """Compute by how much each cell alone raises the log odds of the bins `likely`.

    `told`, of shape (n_features, n_bins), is what each cell adds to the log shares.
    """
    shares = np.vstack([prior, prior * np.exp(told)])
    inside = shares[:, likely].sum(axis=1)
    odds = np.maximum(inside, 1e-300) / np.maximum(shares.sum(axis=1) - inside, 1e-300)
    return np.asarray(np.log(odds[1:] / odds[0]))


def _find_likely(shares: NDArray[np.float64], n_ordered: int) -> list[int]:
    """Find the fewest bins with 80 % of the probability; none if all shares are 0.

    If the first `n_ordered` bins have 80 %, the bins are adjacent bins of these.
    """
    if not shares.any():
        return []
    ordered = np.concatenate([[0.0], np.cumsum(shares[:n_ordered])])
    if ordered[-1] >= _LIKELY:
        for size in range(1, n_ordered + 1):
            held = ordered[size:] - ordered[:-size]
            if held.max() >= _LIKELY:
                first = int(held.argmax())
                return list(range(first, first + size))
    order = np.argsort(-shares, kind="stable")
    n_likely = int(np.searchsorted(np.cumsum(shares[order]), _LIKELY)) + 1
    return [int(k) for k in order[:n_likely]]


def _find_upper_quantile(ranked: ValueCounts, share: Any) -> float:
    """Find the quantile at level 1 - `share`, interpolated linearly."""
    place = (1 - float(share)) * (len(ranked) - 1)
    below = int(place)
    low, high = ranked.at([below, min(below + 1, len(ranked) - 1)]).tolist()
    return float(low + (place - below) * (high - low))


def _read_tails(state: State, n_features: int) -> Tails:
    """Read tails from a model file; raise ValueError if no fit can produce them."""
    ends, units = (state.array(name, np.float64, ndim=2) for name in ("ends", "units"))
    marks = state.array("marks", np.float64, ndim=2)
    check(ends.shape == units.shape == (n_features, 2), "tails")
    check(marks.shape == (n_features, 2 * len(MARKS)), "tails")
    none = np.isnan(ends[:, 0])
    for own in (ends, units, marks):
        check(np.isnan(own[none]).all() and np.isfinite(own[~none]).all(), "tails")
    check((units[~none] > 0).all(), "units of tails")
    formulas = unpack_formulas(state.values["formulas"], ~none)
    return Tails(ends, units, marks.reshape(n_features, 2, len(MARKS)), formulas)
