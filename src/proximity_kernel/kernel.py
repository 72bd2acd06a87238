"""`ProximityKernel`: similarity of the rows of an incomplete, mixed-type table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.validation import _check_feature_names_in, validate_data

from ._bins.bin_names import output_names
from ._bins.codes import Codes
from ._model.batches import Learn, fit_to_batches, learn_batch, make_reader
from ._model.fitted_kernel import FittedKernel, code_table, make_output, take_model
from ._model.imputation import Strategy, estimate_gaps
from ._model.model import Model, fit_model, warn_of_columns
from ._model.provenance import list_cells
from ._saving.archive import ModelFileMixin
from ._shared.options import (
    BinCount,
    FeatureWeights,
    Matching,
    Missingness,
    accept_gaps,
    check_flag,
    resolve_options,
)
from ._shared.sklearn_bases import Estimator, Matrix, TableT, Transformer, Weighted
from ._shared.threads import count_threads
from ._similarity.kernel_matrix import compare_tables
from ._table.columns import read_columns
from ._table.filling import fill_table, make_uncertainty, mark_booleans
from ._table.streams import collect_table


class ProximityKernel(FittedKernel, ModelFileMixin, Weighted, Transformer, Estimator):
    """Similarity of rows, measured on the incomplete, mixed-type table itself.

    Every value is replaced by the bin of its nearest center; centers are close together
    where the data are dense. A missing cell is represented by a distribution over the
    feature's bins, estimated from the row's other cells. The similarity of two rows is
    the mean over the features of how much their cells agree, as scored by `n_bins`.

    Parameters
    ----------
    n_bins : int, "auto", "fine", sequence of these or None, default=None
        Bins of a numeric feature, at least 2: one number for all, or one for each.
        Equal centers are merged, so a feature can have fewer. "auto" makes at most
        four, in two halves: values in the same bin score 1, in the same half 0.8.
        "fine" halves the observed rows four times: values in the same half score 0.4,
        quarter 0.7, eighth 0.9, sixteenth 1; the quarters are its bins. None is "auto",
        and 4 with ``matching="cascade"``, the paper's method.
    matching : {"pairwise", "cascade"}, default="pairwise"
        How a missing cell is estimated. "pairwise" multiplies the bin frequencies of
        the feature by the evidence of each observed cell of the row, from counts of how
        often two codes occur together; the model keeps these counts and no row.
        "cascade" is the paper's rule: the mean over the fitted rows that share all of
        the row's codes, else any of them, else over all rows.
    missingness : {"ignorable", "informative", "auto"} or None, default=None
        Whether missing cells have their own bin. "ignorable": never, all are estimated.
        "informative": in every feature with missing cells at fit. "auto": where being
        missing depends on other columns, and features are missing together more often
        than values explain. None is "auto", or "ignorable" with ``matching="cascade"``.
    categorical_features : "from_dtype", mask, indices or names, default="from_dtype"
        Features to treat as categorical, besides text and unordered categoricals.
        Booleans, ordered categoricals (by rank) and dates (in seconds) are numeric.
    feature_weights : mapping, array-like of shape (n_features,) or None, default=None
        How much each feature counts in the similarity: by name or position (others have
        1), or one number for each. 0 leaves a feature out. Estimates use no weights.
    max_categories : int, default=255
        Most bins of a categorical feature; the rarest categories share the last.
    normalize : bool, default=False
        Whether to scale rows so that each has similarity 1 with itself (the cosine
        form); otherwise an incomplete row has less.
    sparse_output : bool, default=True
        Whether `transform` gives a CSR matrix or a dense array.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        The dtype of the representation and the kernel.
    n_jobs : int or None, default=None
        Threads. None uses the cores that the process may use, and one inside a joblib
        worker; -1 uses all. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Chooses the 10,000 rows that "pairwise" learns its weights from. None is 0.

    Attributes
    ----------
    bin_centers_ : list of length n_features
        Centers of a numeric feature, ascending; None for a categorical one.
    bin_groups_ : list of length n_features
        The half, 0 or 1, of each bin of a feature that has them; else None.
    categories_ : list of length n_features
        Categories that have their own bin, sorted; None for a numeric feature.
    n_bins_ : ndarray of shape (n_features,)
        Number of bins, with that of informative missing cells; 0 if none was observed.
    prior_ : list of length n_features
        Frequencies of each feature's bins among the fitted rows.
    missingness_ : list of length n_features
        Whether missing cells of each feature are informative, and why.
    model_ : Model
        The fitted model; the other attributes are views of it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    Results for new rows depend on the fitted rows only, not on each other. A value
    outside the fitted range is in the end bin; an unseen category matches nothing.

    Examples
    --------
    >>> from proximity_kernel import ProximityKernel
    >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
    >>> pk = ProximityKernel(n_bins=2)
    >>> pk.fit_transform(table).toarray().round(2)
    array([[1.  , 0.  , 1.  , 0.  ],
           [1.  , 0.  , 1.  , 0.  ],
           [0.18, 0.82, 0.  , 1.  ],
           [0.  , 1.  , 0.  , 1.  ],
           [0.  , 1.  , 0.18, 0.82]], dtype=float32)
    >>> pk.kernel([[1.1, "a"], [None, None]], table).round(2)
    array([[1.  , 1.  , 0.09, 0.  , 0.09],
           [0.5 , 0.5 , 0.5 , 0.5 , 0.5 ]], dtype=float32)
    """

    def __init__(
        self,
        n_bins: BinCount | Sequence[BinCount] | None = None,
        *,
        matching: Matching = "pairwise",
        missingness: Missingness | None = None,
        categorical_features: Any = "from_dtype",
        feature_weights: FeatureWeights | None = None,
        max_categories: int = 255,
        normalize: bool = False,
        sparse_output: bool = True,
        dtype: DTypeLike = np.float32,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.matching = matching
        self.missingness = missingness
        self.categorical_features = categorical_features
        self.feature_weights = feature_weights
        self.max_categories = max_categories
        self.normalize = normalize
        self.sparse_output = sparse_output
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the bins, and how to estimate missing cells.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Whole numbers: a row of weight 3 counts as three equal rows, of 0 as none.

        Returns
        -------
        self
        """
        self._fit(X, sample_weight)
        return self

    def transform(self, X: Any) -> Matrix:
        """Represent rows.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        CSR matrix or ndarray of shape (n_samples, n_columns)
            The bin of an observed cell, a distribution for a missing one.
        """
        model = take_model(self)
        return make_output(self, model, code_table(self, model, X))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Matrix:
        """Learn from a table and represent it; the same as `fit`, then `transform`."""
        if sample_weight is not None:
            return self.fit(X, sample_weight=sample_weight).transform(X)
        return make_output(self, *self._fit(X))

    def fit_batches(self, batches: Any) -> Self:
        """Learn from a table in batches; they are read twice.

        Parameters
        ----------
        batches : list of tables, or callable
            Tables with the same columns, or a function that returns a new iterator of
            the same tables each time; then only one is in memory at a time.

        Returns
        -------
        self
            As after `fit` on the whole table; the centers of a numeric column with more
            than 100,000 distinct values are approximate.

        Examples
        --------
        >>> batches = [[[1.0, "a"], [1.2, "a"]], [[None, "b"], [9.0, "b"]]]
        >>> ProximityKernel(n_bins=2).fit_batches(batches).bin_centers_[0]
        array([1., 9.])
        """
        fit_to_batches(self, make_reader(batches))
        return self

    def partial_fit(self, X: Any, y: Any = None, *, learn: Learn = "bins") -> Self:
        """Learn from one batch; every batch is needed twice.

        First ``learn="bins"`` for every batch, then ``learn="rows"`` for every batch.
        After the first batch of rows the estimator is fitted to the rows so far. The
        first call, and the first after `fit`, discards any earlier model.

        Parameters
        ----------
        X, y
            As in `fit`.
        learn : {"bins", "rows"}, default="bins"

        Returns
        -------
        self
        """
        learn_batch(self, X, learn)
        return self

    def kernel(self, X: Any, Y: Any = None) -> NDArray[Any]:
        """Compare rows with rows.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n, n_features)
        Y : frame, array or list of rows, of shape (m, n_features), optional
            None compares the rows of `X` with each other.

        Returns
        -------
        ndarray of shape (n, m), from 0 to 1
        """
        return compare_tables(self, X, Y)

    def distance(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """Measure distances of rows: ``1 - kernel``, with zeros on the diagonal.

        For methods that take a matrix of distances: silhouette, linkage, HDBSCAN, TSNE.
        An incomplete row has distance 0 to itself, although its similarity is below 1.

        Parameters
        ----------
        X, Y
            As in `kernel`.

        Returns
        -------
        ndarray of shape (n, m), float64, from 0 to 1
        """
        distances = 1 - self.kernel(X, Y).astype(np.float64)
        if Y is None:
            np.fill_diagonal(distances, 0)
        return distances

    @overload
    def impute(
        self, X: TableT, *, strategy: Strategy = ..., return_uncertainty: Literal[True]
    ) -> tuple[TableT, TableT]: ...

    @overload
    def impute(
        self,
        X: TableT,
        *,
        strategy: Strategy = ...,
        return_uncertainty: Literal[False] = ...,
    ) -> TableT: ...

    @overload
    def impute(
        self, X: TableT, *, strategy: Strategy = ..., return_uncertainty: bool
    ) -> TableT | tuple[TableT, TableT]: ...

    def impute(
        self, X: Any, *, strategy: Strategy = "mean", return_uncertainty: bool = False
    ) -> Any:
        """Fill the missing cells with the estimates, decoded to values.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        strategy : {"mean", "mode"}, default="mean"
            How numbers and times are filled: with their expected value, or the typical
            value of the likeliest bin. Other columns get the likeliest label.
        return_uncertainty : bool, default=False
            Whether to return a second table.

        Returns
        -------
        filled : of the type of X: a frame of its library, an array or a list of rows
            Observed cells are unchanged. Columns keep their types if these fit the
            values: whole numbers are rounded, booleans decided by the majority.
        uncertainty : of the same type, only with ``return_uncertainty=True``
            0 where a cell was observed. For numbers the standard deviation, for dates a
            duration, for labels and booleans the probability that another is right. If
            nothing was observed at fit in a column, its cells stay missing in both.

        Examples
        --------
        >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
        >>> pk = ProximityKernel(n_bins=2).fit(table)
        >>> filled, uncertainty = pk.impute(table, return_uncertainty=True)
        >>> round(filled[2][0], 2), filled[4][1]
        (7.15, 'b')
        >>> round(uncertainty[2][0], 2), round(uncertainty[4][1], 2)
        (2.89, 0.18)
        """
        check_flag("return_uncertainty", return_uncertainty)
        model = take_model(self)
        X = collect_table(X, model.names)
        codes, threads = code_table(self, model, X), count_threads(self.n_jobs)
        gaps = mark_booleans(X, estimate_gaps(model, codes, strategy, threads))
        filled = fill_table(X, gaps)
        return (filled, make_uncertainty(X, gaps)) if return_uncertainty else filled

    def provenance(self, X: Any) -> NDArray[np.void]:
        """List where the estimate of each missing cell comes from.

        Missing cells of an informative feature count as observed and are not listed.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        structured ndarray of shape (n_missing,), row after row
            ``row`` and ``feature`` (``feature_name``) locate the cell; ``observed``
            counts the observed features with bins; ``certainty`` is the probability of
            the likeliest bin.
            ``level`` is the basis of the estimate: "evidence" of the observed cells,
            with "cascade" the rows of the "intersection" (all codes shared) or "union"
            (any); "prior": bin frequencies alone. ``support`` counts the fitted rows
            that observe the feature, with "cascade" those that match.
            ``columns`` (``column_names``) are the three features whose cells changed
            the estimate most (-1: none), and ``moved`` is how much: the share of the
            probability that is in other bins without that cell. "cascade" has none.

        Examples
        --------
        >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
        >>> pk = ProximityKernel(n_bins=2).fit(table)
        >>> for cell in pk.provenance(table):
        ...     print(cell["row"], cell["feature_name"], cell["column_names"])
        2 x0 ['x1' '' '']
        4 x1 ['x0' '' '']
        """
        model, threads = take_model(self), count_threads(self.n_jobs)
        return list_cells(model, code_table(self, model, X), threads)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the columns of the representation.

        Parameters
        ----------
        input_features : array-like of str or None
            Names of the features, when none were seen at fit.

        Returns
        -------
        ndarray of str of shape (n_columns,)
            "age_0" for a bin of a number, "age_low" and "age_high" for its halves,
            "blood_a" for a category, "blood_infrequent" for the bin that rare ones
            share, "age_missing" for the bin of informative missing cells.
        """
        model = take_model(self)
        names = [str(name) for name in _check_feature_names_in(self, input_features)]
        return output_names(names, model.bins, model.informative)

    def _fit(self, X: Any, sample_weight: Any = None) -> tuple[Model, Codes]:
        options, X = resolve_options(self), collect_table(X)
        columns = read_columns(X, categorical_features=options.categorical_features)
        model, codes = fit_model(columns, options, sample_weight)
        # Nothing below can fail, so the estimator has the old model or the new one.
        validate_data(self, X, skip_check_array=True)
        self.__dict__.pop("_learning", None)
        self.model_ = model
        warn_of_columns(model)
        return model, codes

    def __sklearn_tags__(self) -> Any:
        tags = accept_gaps(super().__sklearn_tags__())
        tags.transformer_tags.preserves_dtype = []
        return tags
