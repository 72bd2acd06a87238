"""Batches in, a fitted kernel out: two passes over a table that is never held whole.

The first pass learns the bins (`_survey`), the second codes the rows with them and
keeps the distinct ones (`_rows`). What is learnt does not depend on how the table was
cut, nor on the order of the batches; but for a number with so many distinct values that
a sketch stands for them (`_ranks`), whose centers the cuts can move a little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from .._bins.bin_state import (
    Binned,
    BinState,
    finish_bins,
    has_no_rows,
    merge_bins,
    summarize_bins,
)
from .._matching.row_state import (
    RowPlan,
    RowState,
    merge_rows,
    plan_rows,
    summarize_rows,
)
from .._shared.options import (
    check_choice,
    check_kernel_options,
    check_n_bins,
    draw_seed,
    suit,
)
from .._shared.threads import count_threads
from .model import Model, finish_model, warn_of_columns

Learn = Literal["bins", "rows"]
LEARN: tuple[Learn, ...] = ("bins", "rows")

_READ_AGAIN = (
    "pass a list, or a function that returns a new iterator of the same batches each "
    "time"
)

_State = TypeVar("_State")


@dataclass(frozen=True)
class Learning:
    """What `partial_fit` has learnt so far.

    Attributes
    ----------
    survey : BinState
        Of the batches of the first pass.
    binned : Binned or None
        The bins, once the second pass has begun.
    rows : RowState or None
        Of the batches of the second pass.
    """

    survey: BinState = field(default_factory=BinState)
    binned: Binned | None = None
    rows: RowState | None = None


class Batched:
    """An estimator that can learn from batches."""

    def partial_fit(self: Any, X: Any, y: Any = None, *, learn: Learn = "bins") -> Any:  # noqa: ARG002
        """Learn from one batch; every batch is needed twice.

        First ``partial_fit(batch, learn="bins")`` for every batch, then
        ``partial_fit(batch, learn="rows")`` for every batch: a row can only be coded
        when the bins are known, and these depend on all rows. What is learnt is what
        `fit` learns from the whole table, in whatever way it was cut, and in any order;
        of a number with more than 100,000 distinct values the centers are near those.
        `fit_batches` does both passes, and is faster where there are many batches.

        The first call, and the first after `fit`, starts anew. From the first batch of
        rows on the estimator is fitted, to the rows so far, and its bins are fixed.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            Without any row it changes nothing.
        y : None
            Ignored.
        learn : {"bins", "rows"}, default="bins"
            Which of the two passes this is.

        Returns
        -------
        self

        Examples
        --------
        >>> from proximity_kernel import ProximityKernel
        >>> batches = [[[1.0, "a"], [1.2, "a"]], [[None, "b"], [9.0, "b"]]]
        >>> pk = ProximityKernel(n_bins=2)
        >>> for learn in ("bins", "rows"):
        ...     for batch in batches:
        ...         pk = pk.partial_fit(batch, learn=learn)
        >>> pk.bin_centers_[0]
        array([1., 9.])
        """
        check_choice("learn", learn, LEARN)
        check_kernel_options(self)
        if learn == "bins":
            self._learn_bins(X)
        else:
            self._learn_rows(X)
        return self

    def fit_batches(self: Any, batches: Any) -> Any:
        """Learn from a table in batches; they are read twice.

        Parameters
        ----------
        batches : list of tables, or callable
            Something that can be iterated over again and again, or a function without
            arguments that returns a new iterator of the same batches each time. Each is
            a frame, an array or a list of rows with the same columns. Only one is in
            memory at a time if they are made on the way.

        Returns
        -------
        self
            As `fit` on the whole table leaves it, or near that: see `partial_fit`.

        Examples
        --------
        >>> from proximity_kernel import ProximityKernel
        >>> rows = [[float(i % 10), "ab"[i % 2]] for i in range(100)]
        >>> def read():
        ...     for start in range(0, 100, 30):
        ...         yield rows[start : start + 30]
        >>> pk = ProximityKernel(n_bins=2).fit_batches(read)
        >>> pk.bin_centers_[0]
        array([0., 9.])
        """
        self._fit_batches(again(batches))
        return self

    def _fit_batches(self: Any, read: Callable[[], Iterator[Any]]) -> RowState:
        """Learn from batches; gives what was kept of the rows."""
        check_kernel_options(self)
        threads = count_threads(self.n_jobs)
        header = type(self)()  # takes the names until everything is learnt
        survey = BinState()
        for i, batch in enumerate(read()):
            if has_no_rows(batch):
                continue
            with _about_batch(i):
                found = summarize_bins(batch, self.categorical_features, threads)
                first = not survey.columns
                validate_data(header, batch, reset=first, skip_check_array=True)
                survey = merge_bins(survey, found)
        binned = finish_survey(self, survey)
        plan = plan_survey(self, binned, survey)

        def summarize(i: int, batch: Any) -> RowState:
            with _about_batch(i):
                return summarize_rows(batch, binned, plan, threads)

        rows = merge_all((summarize(*one) for one in enumerate(read())), merge_rows)
        rows = check_same_rows(survey, rows)
        model = finish_rows(self, binned, rows)
        self._forget()
        self.__dict__.update(
            (name, value) for name, value in vars(header).items() if "_in_" in name
        )
        self._adopt(model)
        warn_of_columns(model)
        return rows

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def _check_fitted(self) -> None:
        """Say whether rows are still to come."""
        if "_learning" in vars(self) and "_model" not in vars(self):
            raise NotFittedError(
                "The bins are learnt, the rows are not; call partial_fit(batch, "
                "learn='rows') for every batch."
            )
        check_is_fitted(self)

    def _forget(self) -> None:
        """Drop all that was learnt."""
        learnt = [name for name in vars(self) if name.endswith("_")]
        for name in ("_model", "_learning", *learnt):
            vars(self).pop(name, None)

    def _learn_bins(self: Any, X: Any) -> None:
        learning: Learning = vars(self).get("_learning", Learning())
        if learning.rows is not None:
            raise ValueError(
                "The bins are fixed since the first batch with learn='rows'; learn "
                "them from all batches first, with a new estimator "
                "(sklearn.base.clone), or call fit_batches."
            )
        if has_no_rows(X):
            return
        batch = summarize_bins(X, self.categorical_features, count_threads(self.n_jobs))
        if learning.survey.columns:
            validate_data(self, X, reset=False, skip_check_array=True)
        survey = merge_bins(learning.survey, batch)
        if not learning.survey.columns:
            self._forget()
            validate_data(self, X, skip_check_array=True)
        self._learning = replace(learning, survey=survey)

    def _learn_rows(self: Any, X: Any) -> None:
        learning: Learning = vars(self).get("_learning", Learning())
        if not learning.survey.columns:
            raise ValueError(
                "No bins are learnt yet; call partial_fit(batch, learn='bins') for "
                "every batch, then partial_fit(batch, learn='rows') for every batch."
            )
        if has_no_rows(X):
            return
        validate_data(self, X, reset=False, skip_check_array=True)
        binned = learning.binned or finish_survey(self, learning.survey)
        known = learning.rows
        plan = (
            plan_survey(self, binned, learning.survey) if known is None else known.plan
        )
        rows = summarize_rows(X, binned, plan, count_threads(self.n_jobs))
        if known is not None:
            rows = merge_rows(known, rows)
        model = finish_rows(self, binned, rows)
        self._learning = replace(learning, binned=binned, rows=rows)
        self._adopt(model)
        if known is None:
            warn_of_columns(model)


def merge_all(
    states: Iterable[_State], merge: Callable[[_State, _State], _State]
) -> _State | None:
    """Merge states two by two, those of about as many batches with each other.

    Parameters
    ----------
    states : iterable
    merge : callable

    Returns
    -------
    state or None
        None if there is none.

    Examples
    --------
    >>> merge_all(iter("abcde"), lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    held: list[tuple[int, _State]] = []
    for one in states:
        size, state = 1, one
        while held and held[-1][0] == size:
            state = merge(held.pop()[1], state)
            size *= 2
        held.append((size, state))
    while len(held) > 1:
        (_, last), (size, before) = held.pop(), held.pop()
        held.append((size, merge(before, last)))
    return held[0][1] if held else None


@contextmanager
def _about_batch(i: int) -> Iterator[None]:
    """Say which batch an error is about."""
    try:
        yield
    except (TypeError, ValueError) as error:
        error.add_note(f"This is about batch {i}, counted from 0.")
        raise


def again(batches: Any) -> Callable[[], Iterator[Any]]:
    """Make a function that reads the batches from the start."""
    if callable(batches):
        return lambda: iter(batches())
    if getattr(batches, "ndim", 0) == 2 or hasattr(batches, "columns"):
        raise TypeError(
            f"batches must be several tables, got a single {type(batches).__name__}; "
            "call fit, or pass a list of tables."
        )
    if isinstance(batches, Iterator):
        raise TypeError(
            f"batches is an iterator, a {type(batches).__name__}, which can be read "
            "only once, and two passes are needed; pass a list, or a function that "
            "returns a new iterator each time."
        )
    if not isinstance(batches, Iterable) or isinstance(batches, str | bytes):
        raise TypeError(
            "batches must be a list of tables, or a function that returns an iterator "
            f"of tables, got {type(batches).__name__}."
        )
    return lambda: iter(batches)


def finish_survey(options: Any, survey: BinState) -> Binned:
    """Learn the bins as the options of a `ProximityKernel` ask for."""
    if not survey.columns:
        raise ValueError("No batch has a row; pass at least one that has.")
    asked = suit(options.matching, options.n_bins, 4)
    n_bins = check_n_bins(asked, len(survey.columns))
    chosen = options.categorical_features
    return finish_bins(survey, chosen, n_bins, options.max_categories)


def plan_survey(options: Any, binned: Binned, survey: BinState) -> RowPlan:
    """Plan the second pass over a table whose bins are learnt."""
    seed = draw_seed(options.random_state)
    return plan_rows(options.matching, binned.n_bins, survey.n_samples, seed)


def finish_rows(options: Any, binned: Binned, rows: RowState) -> Model:
    """Make the model that the options of a `ProximityKernel` ask for."""
    missingness = suit(options.matching, options.missingness, "ignorable")
    return finish_model(binned, rows, missingness, count_threads(options.n_jobs))


def check_same_rows(
    survey: BinState, rows: RowState | None, advice: str = _READ_AGAIN
) -> RowState:
    """Refuse a second pass that met other rows than the first."""
    missing = [column.missing for column in survey.columns]
    seen = 0 if rows is None else rows.n_samples
    if rows is None or seen != survey.n_samples or missing != rows.missing.tolist():
        raise ValueError(
            "The batches gave other rows when read again "
            f"({survey.n_samples:,} first, then {seen:,}); {advice}."
        )
    return rows
