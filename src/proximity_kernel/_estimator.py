"""`ProximityKernel`: the walk from a table to its kernel, as scikit-learn knows it.

Wiring only. Each step is a room of its own: columns, centers, codes, reference,
matching, representation, kernel.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from ._centers import CategoricalBins, NumericBins, fit_centers
from ._codes import MAX_BINS, Codes, assign_codes
from ._columns import read_columns
from ._kernel import kernel_matrix
from ._matching import match
from ._options import (
    check_choice,
    check_count,
    check_flag,
    check_float_dtype,
    check_n_bins,
    check_n_jobs,
    check_seed,
)
from ._reference import build_reference
from ._representation import build_representation, normalize_rows, output_names
from ._search import Estimates
from ._threads import count_threads


class ProximityKernel(TransformerMixin, BaseEstimator):
    """Similarity of rows, measured on the incomplete, mixed-type table itself.

    Every value becomes the bin of its nearest center; centers crowd where the data
    are dense. A missing cell becomes a distribution over the feature's bins,
    estimated from the fitted rows that match the row where it is observed. The
    similarity of two rows is the mean over the features of the probability that
    both lie in the same bin.

    Parameters
    ----------
    n_bins : int or sequence of int, default=4
        Bins of a numeric feature, at least 2: one number for all, or one for each
        feature (those of categorical features are ignored: they have a bin per
        category). Equal centers are merged, so a feature can have fewer.
    matching : {"graded", "cascade"}, default="graded"
        Which fitted rows match a row with missing cells. "cascade" is the paper's
        rule: those that share all of its codes, else any of them. "graded" takes
        the rows that share at least t, with the highest t that leaves
        `min_support` rows which observe the missing feature, or all rows that share
        any code if there are fewer. Where nobody matches, both use the feature's
        bin frequencies.
    min_support : int, default=20
        Rows that "graded" asks for.
    missingness : {"ignorable"}, default="ignorable"
        Whether absence itself tells something; "ignorable" says that it does not.
    categorical_features : "from_dtype", mask, indices or names, default="from_dtype"
        Features to take as categorical beside those whose dtype says so: text and
        unordered categoricals. Booleans, ordered categoricals (by rank) and dates
        (in seconds since 1970) are numeric.
    max_categories : int, default=255
        Most bins of a categorical feature; the rarest categories share the last.
    normalize : bool, default=False
        Scale the representation so that every row has similarity 1 with itself (the
        cosine form), except one with nothing but unknown categories. Otherwise only
        a complete row has, and an incomplete one less.
    sparse_output : bool, default=True
        Whether `transform` gives a CSR matrix or a dense array.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Of the representation and the kernel.
    n_jobs : int or None, default=None
        Threads. None uses the cores that the process may use, and one inside a
        joblib worker; -1 uses all. The result does not depend on it. The products
        of `kernel` are taken by BLAS, which has its own setting.
    random_state : int, RandomState instance or None, default=None
        Nothing in this version is drawn at random; the answer is the same for
        every value.

    Attributes
    ----------
    bin_centers_ : list of length n_features
        Centers of a numeric feature, float64, rising; None for a categorical one.
    categories_ : list of length n_features
        Categories of a categorical feature that have a bin of their own, sorted;
        None for a numeric one.
    n_bins_ : ndarray of shape (n_features,)
        Bins of each feature; 0 if it had nothing observed.
    prior_ : list of length n_features
        Frequencies of each feature's bins among the fitted rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    New rows are matched against the fitted rows, never against each other, so an
    answer does not depend on the other rows of a batch. A value outside the fitted
    range falls in the end cell. A category not seen at fit matches nothing.

    Examples
    --------
    >>> from proximity_kernel import ProximityKernel
    >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
    >>> pk = ProximityKernel(n_bins=2)
    >>> pk.fit_transform(table).toarray()
    array([[1., 0., 1., 0.],
           [1., 0., 1., 0.],
           [0., 1., 0., 1.],
           [0., 1., 0., 1.],
           [0., 1., 0., 1.]], dtype=float32)
    >>> pk.kernel([[1.1, "a"], [None, None]], table)
    array([[1. , 1. , 0. , 0. , 0. ],
           [0.5, 0.5, 0.5, 0.5, 0.5]], dtype=float32)
    """

    def __init__(
        self,
        n_bins: Any = 4,
        *,
        matching: Any = "graded",
        min_support: Any = 20,
        missingness: Any = "ignorable",
        categorical_features: Any = "from_dtype",
        max_categories: Any = 255,
        normalize: Any = False,
        sparse_output: Any = True,
        dtype: Any = np.float32,
        n_jobs: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_bins = n_bins
        self.matching = matching
        self.min_support = min_support
        self.missingness = missingness
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.normalize = normalize
        self.sparse_output = sparse_output
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the bins and keep the rows as the reference.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._fit(X, stacklevel=3)
        return self

    def transform(self, X: Any) -> Any:
        """Represent rows.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        CSR matrix or ndarray of shape (n_samples, sum(n_bins_))
            One 1 for a known cell, a distribution for a missing one.
        """
        return self._output(self._represent(self._code(X)))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from a table and represent it; the same as fit, then transform.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        CSR matrix or ndarray of shape (n_samples, sum(n_bins_))
        """
        # One level more: scikit-learn wraps this method for `set_output`.
        return self._output(self._represent(self._fit(X, stacklevel=4)))

    def kernel(self, X: Any, Y: Any = None) -> NDArray[Any]:
        """Compare rows with rows.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n, n_features)
        Y : frame, array or list of rows, of shape (m, n_features), optional
            None compares the rows of `X` with each other.

        Returns
        -------
        ndarray of shape (n, m)
            Similarities in [0, 1].

        Examples
        --------
        >>> pk = ProximityKernel(n_bins=2).fit([[0.0], [1.0], [5.0], [5.0], [None]])
        >>> pk.kernel([[0.0], [None]])
        array([[1. , 0.5],
               [0.5, 0.5]], dtype=float32)
        """
        left = self._represent(self._code(X))
        right = None if Y is None else self._represent(self._code(Y))
        memory = int(get_config()["working_memory"] * 2**20)
        return kernel_matrix(left, right, self._n_features_with_bins(), memory)

    def provenance(self, X: Any) -> NDArray[np.void]:
        """Tell where the estimate of each missing cell comes from.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        structured ndarray of shape (n_missing,), row after row
            ``row`` and ``feature`` place the cell. ``observed`` is the number of
            features with bins that the row observes, ``rung`` how many of their
            codes the rows behind the estimate share at least, ``support`` how many
            rows these are. ``level`` says it in a word: "intersection" (all codes),
            "partial" (some, more than one), "union" (any) or "prior" (rung 0: every
            row that observes the feature).

        Examples
        --------
        >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
        >>> pk = ProximityKernel(n_bins=2).fit(table)
        >>> for cell in pk.provenance(table):
        ...     print(cell["row"], cell["feature"], cell["level"], cell["support"])
        2 0 intersection 1
        4 1 intersection 1
        """
        codes = self._code(X)
        estimates = self._match(codes)
        sizes = np.diff(estimates.row_start)[codes.inverse]
        row = np.repeat(np.arange(len(codes.inverse)), sizes)
        distinct = codes.inverse[row]
        within = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        cell = estimates.row_start[distinct] + within
        rung, observed = estimates.rung[cell], estimates.observed[distinct]
        fields = [(name, np.int64) for name in ("rung", "observed", "support")]
        out = np.empty(
            len(row),
            [("row", np.int64), ("feature", np.int64), ("level", "U12"), *fields],
        )
        out["row"], out["feature"] = row, estimates.feature[cell]
        out["rung"], out["observed"] = rung, observed
        out["support"] = estimates.support[cell]
        out["level"] = np.select(
            [rung == 0, rung == observed, rung == 1],
            ["prior", "intersection", "union"],
            "partial",
        )
        return out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the columns of the representation.

        Parameters
        ----------
        input_features : array-like of str or None
            Names of the features, when none were seen at fit.

        Returns
        -------
        ndarray of str of shape (sum(n_bins_),)
            "age_0", "age_1" for the bins of a number, "blood_a" for a category,
            "blood_infrequent" for the bin that rare categories share.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return output_names([str(name) for name in names], self._bins)

    def _fit(self, X: Any, stacklevel: int) -> Codes:
        self._check_options()
        columns = read_columns(X, categorical_features=self.categorical_features)
        n_bins = check_n_bins(self.n_bins, len(columns))
        validate_data(self, X, skip_check_array=True)
        threads = count_threads(self.n_jobs)
        self._types = tuple(column.type for column in columns)
        self._bins = fit_centers(columns, n_bins, self.max_categories, threads)
        self.n_bins_ = np.array([b.n_bins for b in self._bins], np.int64)
        self.bin_centers_ = [
            b.centers if isinstance(b, NumericBins) else None for b in self._bins
        ]
        self.categories_ = [
            np.array(b.categories, dtype=object)
            if isinstance(b, CategoricalBins)
            else None
            for b in self._bins
        ]
        self._warn_of_empty_columns(stacklevel + 1)
        codes = assign_codes(columns, self._bins, threads)
        self._reference = build_reference(codes, self.n_bins_)
        self.prior_ = self._reference.prior
        return codes

    def _code(self, X: Any) -> Codes:
        check_is_fitted(self)
        self._check_options()
        if len(getattr(X, "shape", (0, 0))) == 2:  # else the next line says it better
            validate_data(self, X, reset=False, skip_check_array=True)
        columns = read_columns(
            X, categorical_features=self.categorical_features, fitted=self._types
        )
        return assign_codes(columns, self._bins, count_threads(self.n_jobs))

    def _match(self, codes: Codes) -> Estimates:
        threads = count_threads(self.n_jobs)
        return match(codes, self._reference, self.matching, self.min_support, threads)

    def _represent(self, codes: Codes) -> sp.csr_array:
        threads = count_threads(self.n_jobs)
        matrix = build_representation(
            codes, self._match(codes), self._reference, self.dtype, threads
        )
        if self.normalize:
            normalize_rows(matrix, self._n_features_with_bins())
        return matrix

    def _output(self, matrix: sp.csr_array) -> Any:
        if not self.sparse_output:
            return matrix.toarray()
        if get_config().get("sparse_interface", "spmatrix") == "spmatrix":
            return sp.csr_matrix(matrix)
        return matrix

    def _n_features_with_bins(self) -> int:
        return int(np.count_nonzero(self.n_bins_))

    def _check_options(self) -> None:
        check_choice("matching", self.matching, ("graded", "cascade"))
        check_count("min_support", self.min_support, 1)
        check_choice("missingness", self.missingness, ("ignorable",))
        check_count("max_categories", self.max_categories, 2, MAX_BINS)
        check_flag("normalize", self.normalize)
        check_flag("sparse_output", self.sparse_output)
        check_float_dtype("dtype", self.dtype)
        check_n_jobs(self.n_jobs)
        check_seed(self.random_state)

    def _warn_of_empty_columns(self, stacklevel: int) -> None:
        pairs = zip(self._types, self.n_bins_, strict=True)
        empty = [column.place for column, n_bins in pairs if n_bins == 0]
        if empty:
            warnings.warn(
                f"Nothing is observed in {', '.join(empty)}; left out of the kernel. "
                "Drop it, or fit on rows that have it.",
                UserWarning,
                stacklevel=stacklevel,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        # Text is welcome in frames and lists, but `string` would promise that a
        # cell may hold any object, and a dict is refused here.
        tags.input_tags.string = False
        tags.transformer_tags.preserves_dtype = []
        return tags
