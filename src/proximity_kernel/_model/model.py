"""What a fit learns, in one piece: it is there as a whole, or not at all.

A fit can be interrupted, run out of memory, or run while another thread transforms.
Bins of one table beside the counts of another would make the compiled loops read memory
that is not theirs. So all of it is one frozen object, made before the old one
is replaced, and a method takes it once and works with that.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from .._bins.bin_state import Binned
from .._bins.centers import Bins, CategoricalBins, NumericBins, fit_centers
from .._bins.codes import Codes, assign_codes, gather_distinct
from .._bins.typical_values import Typical, learn_typical
from .._matching.cascade import Cascade, build_cascade
from .._matching.pair_counts import count_pairs
from .._matching.pairwise import Pairwise, learn_pairwise
from .._matching.row_state import RowState, keep_rows, plan_rows
from .._numba.representation_loops import Layout
from .._shared.caller import find_caller
from .._table.columns import Column, ColumnType, read_columns
from .fit_options import FitOptions
from .missingness import Absence, code_absences, decide_missingness
from .representation import build_representation, lay_out, normalize_rows

_MOST_NAMES = 5  # columns that a warning lists
_FEW = 50  # texts of which nothing can be said
_FREE = 0.5  # different ones for each text: ids, free text, dates as text


@dataclass(frozen=True)
class Model:
    """Everything that new rows are represented with.

    Attributes
    ----------
    types : tuple of ColumnType
        Of the fitted columns.
    categorical_features
        The option as it was at fit.
    bins : tuple of NumericBins and CategoricalBins
    absences : tuple of Absence
        What was decided about the gaps of each feature.
    matcher : Pairwise or Cascade
        Estimates missing cells.
    typical : tuple of Typical
        What the bins of each feature are decoded to.
    totals : ndarray of shape (sum(n_bins),), int64
        How often each bin was observed.
    n_samples : int
        Fitted rows.
    """

    types: tuple[ColumnType, ...]
    categorical_features: Any
    bins: tuple[Bins, ...]
    absences: tuple[Absence, ...]
    matcher: Pairwise | Cascade
    typical: tuple[Typical, ...]
    totals: NDArray[np.int64]
    n_samples: int

    @cached_property
    def n_bins(self) -> NDArray[np.int64]:
        """Bins of each feature, the one for its gaps among them."""
        return _count_bins(self.bins) + self.informative

    @property
    def totals_by_feature(self) -> list[NDArray[np.int64]]:
        """How often each bin of each feature was observed."""
        return np.split(self.totals, np.cumsum(self.n_bins)[:-1])

    @property
    def prior(self) -> list[NDArray[np.float64]]:
        """Bin frequencies of each feature; empty for one without bins."""
        return [own / max(own.sum(), 1) for own in self.totals_by_feature]

    @property
    def layout(self) -> Layout:
        """Where codes go in the representation."""
        return lay_out(self.totals_by_feature, self.bins)

    @property
    def n_columns(self) -> NDArray[np.int64]:
        """Columns of each feature: its bins, and the coarse ones that hold several."""
        coarse = np.array([len(bins.shared) for bins in self.bins], np.int64)
        return self.n_bins + coarse

    @property
    def informative(self) -> NDArray[np.bool_]:
        """Whether gaps are a bin of their own, shape (n_features,)."""
        return np.array([absence.informative for absence in self.absences])

    @property
    def n_counted(self) -> int:
        """Features that the kernel takes its mean over: those with bins."""
        return int(np.count_nonzero(self.n_bins))

    @property
    def empty(self) -> list[str]:
        """How messages call the columns that had nothing observed."""
        pairs = zip(self.types, self.bins, strict=True)
        return [column.place for column, bins in pairs if not bins.n_bins]

    @property
    def free_text(self) -> list[str]:
        """How messages call the columns of text that mostly differs, with counts."""
        found = []
        held = zip(self.types, self.bins, self.totals_by_feature, strict=True)
        for column, bins, totals in held:
            if column.unasked and isinstance(bins, CategoricalBins):
                texts = int(totals[: bins.n_bins].sum())
                different = len(bins.categories) + len(bins.infrequent)
                if texts >= _FEW and different > _FREE * texts:
                    found.append(f"{column.place} ({different:,} of {texts:,})")
        return found

    @property
    def bin_centers(self) -> list[NDArray[np.float64] | None]:
        """Centers of the numeric features, None for the others."""
        return [b.centers if isinstance(b, NumericBins) else None for b in self.bins]

    @property
    def bin_groups(self) -> list[NDArray[np.int64] | None]:
        """The coarse bin of each bin where there are two resolutions, else None."""
        return [b.groups if isinstance(b, NumericBins) else None for b in self.bins]

    @property
    def categories(self) -> list[NDArray[np.object_] | None]:
        """Categories with a bin of their own, None for numeric features."""
        return [
            np.array(b.categories, dtype=object)
            if isinstance(b, CategoricalBins)
            else None
            for b in self.bins
        ]

    def code(self, table: Any, n_threads: int) -> Codes:
        """Code the rows of a table that has the fitted columns."""
        columns = read_columns(
            table, categorical_features=self.categorical_features, fitted=self.types
        )
        distinct = isinstance(self.matcher, Cascade)
        codes = assign_codes(columns, self.bins, n_threads, distinct)
        return code_absences(codes, _count_bins(self.bins), self.informative)

    def gather(self, codes: Codes) -> Codes:
        """Keep each distinct row once."""
        if isinstance(self.matcher, Cascade):
            return codes
        return gather_distinct(codes, self.n_bins)

    def represent(
        self, codes: Codes, dtype: DTypeLike, normalize: bool, n_threads: int
    ) -> sp.csr_array:
        """Represent coded rows, of shape (n_samples, n_columns)."""
        n_columns = int(self.n_columns.sum())
        matrix = build_representation(
            codes, self.matcher, self.layout, n_columns, dtype, n_threads
        )
        if normalize:
            normalize_rows(matrix, self.n_counted)
        return matrix


def fit_model(columns: Sequence[Column], options: FitOptions) -> tuple[Model, Codes]:
    """Learn from the columns of a table.

    Parameters
    ----------
    columns : sequence of Column
    options : FitOptions

    Returns
    -------
    Model
    Codes
        Of the rows of that table.
    """
    n_threads = options.n_threads
    n_bins = options.spread_bins(len(columns))
    bins = fit_centers(columns, n_bins, options.max_categories, n_threads)
    types = tuple(column.type for column in columns)
    typical = learn_typical(columns, bins, n_threads)
    binned = Binned(types, options.categorical_features, bins, typical)
    n_samples = len(columns[0].values)
    plan = plan_rows(options.matching, binned.n_bins, n_samples, options.seed)
    codes = assign_codes(columns, bins, n_threads, plan.every_row)
    fitted = keep_rows(codes, plan, n_threads)
    model = finish_model(binned, fitted, options)
    return model, code_absences(codes, binned.n_bins, model.informative)


def finish_model(binned: Binned, fitted: RowState, options: FitOptions) -> Model:
    """Make a model of bins and the rows that were coded with them.

    Parameters
    ----------
    binned : Binned
    fitted : RowState
        All rows, merged.
    options : FitOptions

    Returns
    -------
    Model
    """
    names = [column_type.name for column_type in binned.types]
    absences = decide_missingness(fitted, names, options.missingness)
    informative = np.array([absence.informative for absence in absences])
    codes = code_absences(fitted.codes, binned.n_bins, informative)
    used = fitted.plan.mark_codes(informative)
    matcher: Pairwise | Cascade
    if fitted.plan.every_row:
        n_bins = binned.n_bins + informative
        matcher = build_cascade(codes.rows, codes.counts, n_bins)
    else:
        counts = count_pairs(fitted, codes, informative, options.n_threads)
        at = fitted.counted
        scored = Codes(codes.rows[at], codes.counts[at], codes.inverse)
        matcher = learn_pairwise(counts, scored, options.n_threads)
    return Model(
        binned.types,
        binned.categorical_features,
        binned.bins,
        absences,
        matcher,
        binned.typical,
        fitted.totals[used],
        fitted.n_samples,
    )


def _count_bins(bins: Sequence[Bins]) -> NDArray[np.int64]:
    return np.array([b.n_bins for b in bins], np.int64)


def warn_of_columns(model: Model) -> None:
    """Name the columns that had nothing observed, and texts that mostly differ."""
    stacklevel = find_caller()
    if places := model.empty:
        warnings.warn(
            f"Nothing is observed in {list_places(places)}; left out of the kernel. "
            "Drop it, or fit on rows that have it.",
            UserWarning,
            stacklevel=stacklevel,
        )
    if places := model.free_text:
        warnings.warn(
            f"Most texts differ in {list_places(places)}, and are compared as "
            "categories. Convert dates and numbers (pandas.to_datetime, to_numeric), "
            "drop ids and free text. If a column is intended to be categorical, list "
            "it in categorical_features.",
            UserWarning,
            stacklevel=stacklevel,
        )


def list_places(places: Sequence[str]) -> str:
    """Write how messages call columns in a row, the first few of many."""
    shown = ", ".join(places[:_MOST_NAMES])
    more = len(places) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown
