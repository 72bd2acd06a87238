"""What a fit learns, in one piece: it is there as a whole, or not at all.

A fit can be interrupted, run out of memory, or run while another thread transforms.
Bins of one table beside the reference of another would make the compiled loops read
memory that is not theirs. So all of it is one frozen object, made before the old one
is replaced, and a method takes it once and works with that.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._centers import BinCount, Bins, CategoricalBins, NumericBins, fit_centers
from ._codes import Codes, assign_codes
from ._columns import Column, ColumnType, read_columns
from ._missingness import Absence, Missingness, code_absences, decide_missingness
from ._reference import Reference, Totals, build_reference
from ._rows import RowState, choose_rows, keep_rows
from ._survey import Binned
from ._typical import Typical, learn_typical
from ._weights import weigh_codes

_MOST_NAMES = 5  # columns that a warning lists
_INSIDE = (__name__.partition(".")[0], "sklearn", "joblib")  # no lines of a user
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
    reference : Reference
    typical : tuple of Typical
        What the bins of each feature are decoded to.
    cache : dict
        What follows from the rest and is computed when first asked for.
    """

    types: tuple[ColumnType, ...]
    categorical_features: Any
    bins: tuple[Bins, ...]
    absences: tuple[Absence, ...]
    reference: Reference
    typical: tuple[Typical, ...]
    cache: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def n_bins(self) -> NDArray[np.int64]:
        """Bins of each feature, the one for its gaps among them."""
        return _count_bins(self.bins) + self.informative

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
        starts = self.reference.bitmaps.offsets
        found = []
        for j, (column, bins) in enumerate(zip(self.types, self.bins, strict=True)):
            if column.unasked and isinstance(bins, CategoricalBins):
                counts = self.reference.bitmaps.prior_counts[starts[j] :]
                texts = int(counts[: bins.n_bins].sum())
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

    def weigh(self, matching: str, codes: Codes, n_threads: int) -> NDArray[np.uint8]:
        """Weights of the codes, if rows will be matched with them; computed once."""
        if matching != "weighted" or not (codes.rows == codes.missing).any():
            return np.ones((0, 0), np.uint8)
        if "weights" not in self.cache:
            self.cache["weights"] = weigh_codes(self.reference, n_threads)
        weights: NDArray[np.uint8] = self.cache["weights"]
        return weights

    def code(self, table: Any, n_threads: int) -> Codes:
        """Code the rows of a table that has the fitted columns."""
        columns = read_columns(
            table, categorical_features=self.categorical_features, fitted=self.types
        )
        codes = assign_codes(columns, self.bins, n_threads)
        return code_absences(codes, _count_bins(self.bins), self.informative)


def fit_model(
    columns: Sequence[Column],
    categorical_features: Any,
    n_bins: Sequence[BinCount],
    max_categories: int,
    missingness: Missingness,
    n_threads: int,
    max_references: int | None = None,
    seed: int = 0,
) -> tuple[Model, Codes]:
    """Learn from the columns of a table.

    Parameters
    ----------
    columns : sequence of Column
    categorical_features
        The option that they were read with.
    n_bins, max_categories, n_threads
        As in `fit_centers`.
    missingness
        As in `decide_missingness`.
    max_references, seed
        As in `summarize_rows`.

    Returns
    -------
    Model
    Codes
        Of the rows of that table.
    """
    bins = fit_centers(columns, n_bins, max_categories, n_threads)
    codes = assign_codes(columns, bins, n_threads)
    types = tuple(column.type for column in columns)
    typical = learn_typical(columns, bins, n_threads)
    binned = Binned(types, categorical_features, bins, typical)
    fitted = keep_rows(codes, binned.n_bins, max_references, seed)
    model = finish_model(binned, fitted, missingness)
    if model.reference.sampled:
        return model, code_absences(codes, binned.n_bins, model.informative)
    return model, replace(codes, rows=model.reference.bitmaps.rows)


def finish_model(binned: Binned, fitted: RowState, missingness: Missingness) -> Model:
    """Make a model of bins and the rows that were coded with them.

    Parameters
    ----------
    binned : Binned
    fitted : RowState
        All rows, merged.
    missingness
        As in `decide_missingness`.

    Returns
    -------
    Model
    """
    names = [column_type.name for column_type in binned.types]
    chosen = choose_rows(fitted)
    seen = fitted.codes
    if fitted.sampled:  # tests of chance need rows, not what they stand for
        counts = chosen.codes.counts // chosen.unit
        seen = replace(chosen.codes, counts=counts)
    absences = decide_missingness(fitted, seen, names, missingness)
    informative = np.array([absence.informative for absence in absences])
    codes = code_absences(chosen.codes, fitted.n_bins, informative)
    # A bin for gaps is the last of its feature.
    ends, gaps = np.cumsum(fitted.n_bins)[informative], fitted.missing[informative]
    totals = Totals(
        np.insert(fitted.totals, ends, gaps),
        fitted.n_samples,
        chosen.unit,
        chosen.sampled,
    )
    return Model(
        binned.types,
        binned.categorical_features,
        binned.bins,
        absences,
        build_reference(codes, fitted.n_bins + informative, totals),
        binned.typical,
    )


def _count_bins(bins: Sequence[Bins]) -> NDArray[np.int64]:
    return np.array([b.n_bins for b in bins], np.int64)


def warn_of_columns(model: Model) -> None:
    """Name the columns that had nothing observed, and texts that mostly differ."""
    stacklevel = _find_caller()
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
            "drop ids and free text; categorical_features names what is meant so.",
            UserWarning,
            stacklevel=stacklevel,
        )


def _find_caller() -> int:
    """Count the frames up to the line of the user, past pipelines and mixins."""
    depth, frame = 1, sys._getframe(1)  # noqa: SLF001  (Python's own)
    while frame.f_back is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in _INSIDE:
            break
        depth, frame = depth + 1, frame.f_back
    return depth


def list_places(places: Sequence[str]) -> str:
    """Write how messages call columns in a row, the first few of many."""
    shown = ", ".join(places[:_MOST_NAMES])
    more = len(places) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown
