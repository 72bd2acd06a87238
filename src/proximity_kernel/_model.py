"""The fitted model: everything that a fit learns, in one frozen object.

A fit can be interrupted, run out of memory, or run while another thread transforms. If
the bins of one table were combined with the counts of another, the compiled loops would
read outside their arrays. So the new model is complete before it replaces the old one,
and each method of an estimator looks up the model only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from ._bins import (
    BinNames,
    Binned,
    Bins,
    CategoricalBins,
    Typical,
    learn_bins,
    list_bin_counts,
    list_cell_scores,
    name_bins,
    name_leaves,
)
from ._cascade import Cascade, build_cascade
from ._coded import (
    CodedTable,
    FullScore,
    Layout,
    build_representation,
    code_columns,
    code_missing,
    compute_frequencies,
    lay_out_columns,
    normalize_rows,
)
from ._missingness import MissingCells, decide_missingness, spread_missingness
from ._pairwise import Pairwise, learn_pairwise
from ._row_summary import RowSummary, count_pairs, keep_rows, plan_rows
from ._shared.options import FitOptions
from ._shared.wording import join_names, warn_user
from ._table.columns import Column, ColumnType, read_columns, select_column_rows
from ._weights import list_feature_weights, scale_feature_weights, weights_to_counts

_FEW = 50  # a column with fewer strings is not checked for ids and free text
_FREE = 0.5  # with a larger share of distinct strings, a column may be ids or free text
_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Model:
    """Everything that is needed to represent new rows.

    Attributes
    ----------
    types : tuple of ColumnType
        Types of the fitted columns.
    categorical_features
        The option as it was at fit.
    bins : tuple of NumericBins and CategoricalBins
    missingness : tuple of MissingCells
        Whether missing cells of each feature are informative, and why.
    matcher : Pairwise or Cascade
        Estimates missing cells.
    typical : tuple of Typical
        The typical values of the bins of each feature.
    totals : ndarray of shape (sum(n_bins),), int64
        How often each bin was observed.
    n_samples : int
        Number of fitted rows.
    leaf_counts : ndarray of shape (n_features, MOST_LEAVES), int64
        How often each leaf of a "fine" feature was observed; 0 for other features.
    feature_weights : ndarray of shape (n_features,), float64, or None
        How much each feature counts in the kernel; None means equally.
    rarity : float
        How much more the match of a rare cell counts, from 0 to 1.
    """

    types: tuple[ColumnType, ...]
    categorical_features: Any
    bins: tuple[Bins, ...]
    missingness: tuple[MissingCells, ...]
    matcher: Pairwise | Cascade
    typical: tuple[Typical, ...]
    totals: _Ints
    n_samples: int
    leaf_counts: _Ints
    feature_weights: NDArray[np.float64] | None = None
    rarity: float = 0.0

    @property
    def names(self) -> list[str]:
        """Names of the fitted columns."""
        return [column.name for column in self.types]

    @cached_property
    def n_bins(self) -> _Ints:
        """Number of bins of each feature, including one for informative missing."""
        return np.array([b.n_bins for b in self.bins], np.int64) + self.informative

    @cached_property
    def totals_by_feature(self) -> list[_Ints]:
        """How often each bin of each feature was observed."""
        return np.split(self.totals, np.cumsum(self.n_bins)[:-1])

    @cached_property
    def prior(self) -> list[NDArray[np.float64]]:
        """Bin frequencies of each feature; empty for a feature without bins."""
        return [own / max(own.sum(), 1) for own in self.totals_by_feature]

    @cached_property
    def layout(self) -> Layout:
        """The columns of the representation that belong to each code."""
        totals, leaves = self.totals_by_feature, self.leaf_totals
        return lay_out_columns(totals, self.bins, self.scales, self.rarity, leaves)

    @cached_property
    def leaf_totals(self) -> list[_Ints]:
        """How often each leaf of each feature occurred; informative missing is last."""
        return [
            own
            if getattr(bins, "cuts", None) is None
            else np.append(leaves[: len(bins.parents)], own[bins.n_bins :])
            for own, bins, leaves in zip(
                self.totals_by_feature, self.bins, self.leaf_counts, strict=True
            )
        ]

    @cached_property
    def column_weights(self) -> NDArray[np.float64]:
        """The entry of an observed value in each column, shape (n_columns,)."""
        weights = np.zeros(int(self.n_columns.sum()))
        weights[self.layout.entry_columns] = self.layout.entry_weights
        return weights

    @cached_property
    def column_shares(self) -> NDArray[np.float64]:
        """The frequency at fit of each column's leaf or larger cell, (n_columns,)."""
        cells = [list_cell_scores(bins)[1] for bins in self.bins]
        return np.concatenate(list(map(compute_frequencies, self.leaf_totals, cells)))

    def full_score(self, normalize: float) -> FullScore:
        """Return the `FullScore` of rows that are normalized with a given power."""
        whole = float(max(self.n_counted, 1))
        if not self.rarity or normalize == 1:
            return FullScore(whole)
        weights = self.column_weights
        leaf = np.zeros(len(weights), bool)
        leaf[self.layout.entry_columns[self.layout.entry_start[:-1]]] = True
        scales = np.repeat(self.scales, self.n_columns)
        counted = leaf & (weights > 0)
        known = np.divide(scales, weights, where=counted, out=np.zeros(len(weights)))
        return FullScore(whole, weights - known, float(normalize))

    @cached_property
    def n_columns(self) -> _Ints:
        """Number of columns of each feature in the representation."""
        cells = map(list_cell_scores, self.bins)
        sizes = np.array([len(own) + len(larger) for own, larger in cells])
        return sizes + self.informative

    @cached_property
    def n_leaves(self) -> _Ints:
        """Number of columns of each feature for leaves and informative missing."""
        leaves = np.array([len(bins.parents) for bins in self.bins], np.int64)
        return leaves + self.informative

    @cached_property
    def informative(self) -> NDArray[np.bool_]:
        """Whether missing cells have their own bin, shape (n_features,)."""
        return np.array([cells.informative for cells in self.missingness])

    @cached_property
    def scales(self) -> NDArray[np.float64]:
        """Weights of the features, with mean 1 over the features that count."""
        return scale_feature_weights(self.feature_weights, self.n_bins)

    @cached_property
    def bin_names(self) -> list[BinNames]:
        """Names of the bins of each feature."""
        parts = zip(self.bins, self.types, self.typical, self.informative, strict=True)
        return [name_bins(*feature) for feature in parts]

    @cached_property
    def leaf_names(self) -> dict[int, list[str]]:
        """Names of the leaves of each "fine" feature, by the feature's index."""
        parts = zip(self.bins, self.types, self.typical, strict=True)
        return {
            j: name_leaves(*feature, missing=False).each()
            for j, feature in enumerate(parts)
            if getattr(feature[0], "cuts", None) is not None
        }

    @cached_property
    def n_counted(self) -> int:
        """Number of features that the kernel averages: with bins and a weight."""
        return int(np.count_nonzero(self.scales))

    def code(self, table: Any, n_threads: int) -> CodedTable:
        """Code the rows of a table that has the fitted columns."""
        columns = read_columns(
            table, categorical_features=self.categorical_features, fitted=self.types
        )
        return self.code_columns(columns, n_threads)

    def code_columns(self, columns: Sequence[Column], n_threads: int) -> CodedTable:
        """Code the rows of a table that was read with the fitted types."""
        distinct = isinstance(self.matcher, Cascade)
        coded = code_columns(columns, self.bins, n_threads, distinct)
        return self.take_codes(coded)

    def take_codes(self, coded: CodedTable) -> CodedTable:
        """Code informative missing cells as bins, and attach this model."""
        coded = code_missing(coded, self.bins, self.informative)
        return replace(coded, model=self)

    def share_bins(self, matrix: sp.csr_array) -> sp.csr_array:
        """Recover bin probabilities from represented rows, (n_samples, total bins).

        In a normalized row they are scaled; for a feature of weight 0 they are 0.
        """
        layout = self.layout
        own = layout.entry_start[:-1]
        leaves = matrix[:, layout.entry_columns[own]].astype(np.float64)
        weights = layout.entry_weights[own]
        shares = sp.csr_array(leaves / np.where(weights > 0, weights, 1))
        n_leaves, n_bins = len(own), int(layout.n_bins.sum())
        if n_leaves == n_bins:
            return shares
        entries = (np.ones(n_leaves), (np.arange(n_leaves), layout.leaf_bins))
        return shares @ sp.csr_array(entries, shape=(n_leaves, n_bins))

    def agree_by_feature(self, products: Any) -> NDArray[np.float64]:
        """Compute similarities in each single feature, from products of rows.

        Parameters
        ----------
        products : sparse array of shape (n, n_columns)

        Returns
        -------
        ndarray of shape (n, n_features)
            0 for a feature of weight 0.
        """
        features = np.repeat(np.arange(len(self.bins)), self.n_columns)
        entries = (np.ones(len(features)), (np.arange(len(features)), features))
        sums = sp.csr_array(entries, shape=(len(features), len(self.bins)))
        found = (sp.csr_array(products) @ sums).toarray()
        scales = self.scales
        return np.asarray(found / np.where(scales > 0, scales, 1))

    def represent(
        self, coded: CodedTable, dtype: DTypeLike, normalize: float, n_threads: int
    ) -> sp.csr_array:
        """Represent coded rows, of shape (n_samples, n_columns).

        The result is cached in the table, by dtype and normalization.
        """

        def make() -> sp.csr_array:
            n_columns = int(self.n_columns.sum())
            matrix = build_representation(
                coded, self.matcher, self.layout, n_columns, dtype, n_threads
            )
            if normalize:
                normalize_rows(matrix, self.n_counted, float(normalize))
            return matrix

        return coded.compute_once((np.dtype(dtype), float(normalize)), make)


def fit_model(
    columns: Sequence[Column], options: FitOptions, sample_weight: Any = None
) -> tuple[Model, CodedTable]:
    """Fit a model to the columns of a table.

    Parameters
    ----------
    columns : sequence of Column
    options : FitOptions
    sample_weight : array-like of shape (n_samples,), or None
        Weights of the rows.

    Returns
    -------
    Model
    CodedTable
        The coded rows of the table, rows of weight 0 included.
    """
    copies, every = None, columns
    if sample_weight is not None:
        copies = weights_to_counts(sample_weight, len(columns[0].values))
        columns, copies = select_column_rows(columns, copies > 0), copies[copies > 0]
    n_threads = options.n_threads
    n_bins = list_bin_counts(options, [column.type for column in columns])
    chosen, most = options.categorical_features, options.max_categories
    binned = learn_bins(columns, chosen, n_bins, most, n_threads, copies)
    n_samples = len(columns[0].values) if copies is None else int(np.ceil(copies.sum()))
    plan = plan_rows(options.matching, binned.n_bins, n_samples, options.seed)
    coded = code_columns(columns, binned.bins, n_threads, plan.every_row)
    counted = coded if copies is None else coded.repeat(copies)
    model = finish_model(binned, keep_rows(counted, plan, n_threads), options)
    if len(every[0].values) > len(coded):
        return model, model.code_columns(every, n_threads)
    return model, model.take_codes(coded)


def finish_model(binned: Binned, fitted: RowSummary, options: FitOptions) -> Model:
    """Build the model from the bins of a table and the summary of its coded rows.

    Parameters
    ----------
    binned : Binned
    fitted : RowSummary
        The merged summary of all rows.
    options : FitOptions

    Returns
    -------
    Model
    """
    names = [column_type.name for column_type in binned.types]
    words = spread_missingness(
        options.missingness, options.default_missingness, binned.types
    )
    missingness = decide_missingness(fitted, names, words)
    informative = np.array([cells.informative for cells in missingness])
    coded = code_missing(fitted.kept, binned.bins, informative)
    used = fitted.plan.mark_codes(informative)
    matcher: Pairwise | Cascade
    if fitted.plan.every_row:
        n_bins = binned.n_bins + informative
        matcher = build_cascade(coded.bins, coded.counts, n_bins)
    else:
        counts = count_pairs(fitted, coded, informative, options.n_threads)
        at = fitted.counted
        scored = CodedTable(coded.bins[at], coded.counts[at], coded.index)
        matcher = learn_pairwise(counts, scored, options.n_threads)
    given = options.feature_weights
    weights = list_feature_weights(given, binned.types, binned.n_bins)
    return Model(
        binned.types,
        binned.categorical_features,
        binned.bins,
        missingness,
        matcher,
        binned.typical,
        fitted.totals[used],
        fitted.n_samples,
        fitted.leaves,
        weights,
        options.rarity,
    )


def warn_of_columns(model: Model) -> None:
    """Warn of columns without observed values, of likely ids, and of lost digits."""
    empty, free_text = [], []
    rounded = [column.place for column in model.types if column.rounded]
    features = zip(model.types, model.bins, model.totals_by_feature, strict=True)
    for column, bins, totals in features:
        if not bins.n_bins:
            empty.append(column.place)
        elif column.unasked and isinstance(bins, CategoricalBins):
            texts = int(totals[: bins.n_bins].sum())
            different = len(bins.categories) + len(bins.infrequent)
            if texts >= _FEW and different > _FREE * texts:
                free_text.append(f"{column.place} ({different:,} of {texts:,})")
    if empty:
        warn_user(
            f"No value is observed in {join_names(empty)}; the kernel ignores such a "
            "column. Drop it, or fit on rows in which it has values."
        )
    if rounded:
        warn_user(
            f"Values of {join_names(rounded)} are too close for float64 (integers "
            "above 2**53, times less than a microsecond apart), so some different "
            "values count as equal. Subtract the smallest value first, drop the column "
            "if it is an id, or list it in categorical_features."
        )
    if free_text:
        warn_user(
            f"Most strings are distinct in {join_names(free_text)}, and every distinct "
            "string is treated as a category. Convert dates and numbers "
            "(pandas.to_datetime, to_numeric), and drop ids and free text. If a column "
            "is intended to be categorical, list it in categorical_features."
        )
