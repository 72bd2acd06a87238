"""`ProximityKernel`: the walk from a table to its kernel, as scikit-learn knows it.

Wiring only. Each step is a room of its own: columns, centers, codes, matching,
representation, kernel.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, validate_data

from ._bins.codes import Codes
from ._model.batches import Batched
from ._model.model import Model, fit_model, warn_of_columns
from ._model.model_state import State, pack_model, unpack_model
from ._model.provenance import list_cells
from ._model.representation import output_names
from ._model_file.estimators import Saved
from ._shared.options import check_kernel_options, check_n_bins, draw_seed, suit
from ._shared.threads import count_threads
from ._similarity.kernel_matrix import kernel_matrix
from ._table.columns import read_columns
from ._table.filling import Imputing


class ProximityKernel(Saved, Batched, Imputing, TransformerMixin, BaseEstimator):
    """Similarity of rows, measured on the incomplete, mixed-type table itself.

    Every value becomes the bin of its nearest center; centers crowd where the data
    are dense. A missing cell becomes a distribution over the feature's bins, estimated
    from the row's other cells. The similarity of two rows is the mean over the features
    of the probability that both lie in the same bin.

    Parameters
    ----------
    n_bins : int, "auto", sequence of these or None, default=None
        Bins of a numeric feature, at least 2: one number for all, or one for each
        (those of categorical features are ignored: they have a bin per category).
        Equal centers are merged, so a feature can have fewer. "auto" makes at most
        four and joins them to two coarse ones: values in the same bin score 1, in the
        same coarse bin 0.8. None is "auto", and 4 if fitted with
        ``matching="cascade"``: that keyword alone gives the paper's method.
    matching : {"pairwise", "cascade"}, default="pairwise"
        How a missing cell is estimated. "pairwise" multiplies the bin frequencies of
        the feature by what each observed cell of the row tells about it, learnt from
        how often two codes come together; the model keeps these counts and no row.
        "cascade" is the paper's rule: the mean over the fitted rows that share all of
        the row's codes, else any of them, else over all rows.
    missingness : {"ignorable", "informative", "auto"} or None, default=None
        Whether absence itself tells something: one more bin, for a feature's gaps.
        "ignorable": nowhere, every gap is estimated.
        "informative": in every feature with gaps at fit. "auto": in those whose gaps
        depend on the other columns and come together with other gaps more than the
        values explain. None is "auto", and
        "ignorable" if fitted with ``matching="cascade"``.
    categorical_features : "from_dtype", mask, indices or names, default="from_dtype"
        Features to take as categorical beside text and unordered categoricals.
        Booleans, ordered categoricals (by rank) and dates (in seconds) are numeric.
    max_categories : int, default=255
        Most bins of a categorical feature; the rarest categories share the last.
    normalize : bool, default=False
        Scale the representation so that every row but one of unknown categories only
        has similarity 1 with itself (the cosine form); else an incomplete one has less.
    sparse_output : bool, default=True
        Whether `transform` gives a CSR matrix or a dense array.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Of the representation and the kernel.
    n_jobs : int or None, default=None
        Threads. None uses the cores that the process may use, and one inside a
        joblib worker; -1 uses all. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Which rows of a large table "pairwise" chooses its weights with: 10,000 distinct
        ones at the most. None is 0; an instance is drawn from, once.

    Attributes
    ----------
    bin_centers_ : list of length n_features
        Centers of a numeric feature, float64, rising; None for a categorical one.
    bin_groups_ : list of length n_features
        The coarse bin, 0 or 1, of each bin of a feature that has them; else None.
    categories_ : list of length n_features
        Categories of a categorical feature that have a bin of their own, sorted;
        None for a numeric one.
    n_bins_ : ndarray of shape (n_features,)
        Of each feature, one for informative gaps included; 0 if nothing was observed.
    prior_ : list of length n_features
        Frequencies of each feature's bins among the fitted rows.
    missingness_ : list of length n_features
        What was decided about the gaps of each feature, with the attributes feature,
        informative, missing (rows), p_value and reason.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    New rows are answered from what was learnt at fit, never from each other. A value
    outside the fitted range falls in the end cell, an unseen category matches nothing.

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
        n_bins: Any = None,
        *,
        matching: Any = "pairwise",
        missingness: Any = None,
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
        self.missingness = missingness
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.normalize = normalize
        self.sparse_output = sparse_output
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the bins, and what codes tell about each other.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def transform(self, X: Any) -> Any:
        """Represent rows.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        CSR matrix or ndarray of shape (n_samples, n_columns)
            A known cell in its bin, a distribution for a missing one.
        """
        model = self._fitted_model()
        return self._output(self._represent(model, self._code(model, X)))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from a table and represent it; the same as fit, then transform.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        CSR matrix or ndarray of shape (n_samples, n_columns)
        """
        return self._output(self._represent(*self._fit(X)))

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
        model = self._fitted_model()
        left = self._represent(model, self._code(model, X))
        right = None
        if Y is not None:
            try:
                right = self._represent(model, self._code(model, Y))
            except (TypeError, ValueError) as error:
                error.add_note("This is about Y, the second table.")
                raise
        memory = int(get_config()["working_memory"] * 2**20)
        threads = count_threads(self.n_jobs)
        return kernel_matrix(left, right, model.n_counted, memory, threads)

    def provenance(self, X: Any) -> NDArray[np.void]:
        """Tell where the estimate of each missing cell comes from.

        A gap of an informative feature is not estimated, but counts as observed.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        structured ndarray of shape (n_missing,), row after row
            ``row`` and ``feature`` place the cell. ``observed`` is the number of
            features with bins that the row observes, ``certainty`` the probability of
            the likeliest bin. ``level`` says in a word what the estimate rests on:
            "evidence" of the observed cells, or with "cascade" the rows of the
            "intersection" (that share all codes) or "union" (any of them); "prior":
            the bin frequencies alone. ``support`` is how many fitted rows observe the
            feature; with "cascade", how many of them match. ``columns`` are the three
            features whose cells moved the estimate most, -1 where there are fewer, and
            ``moved`` says how far: the share of the probability that lies elsewhere
            without that cell. "cascade" has none.

        Examples
        --------
        >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
        >>> pk = ProximityKernel(n_bins=2).fit(table)
        >>> for cell in pk.provenance(table):
        ...     print(cell["row"], cell["feature"], cell["level"], cell["columns"])
        2 0 evidence [ 1 -1 -1]
        4 1 evidence [ 0 -1 -1]
        """
        model = self._fitted_model()
        codes = self._code(model, X)
        return list_cells(model, codes, count_threads(self.n_jobs))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the columns of the representation.

        Parameters
        ----------
        input_features : array-like of str or None
            Names of the features, when none were seen at fit.

        Returns
        -------
        ndarray of str of shape (n_columns,)
            "age_0", "age_1" for the bins of a number, "age_low" and "age_high" for
            its coarse ones, "blood_a" for a category, "blood_infrequent" for the bin
            that rare ones share, "age_missing" for the bin of informative gaps.
        """
        model = self._fitted_model()
        names = [str(name) for name in _check_feature_names_in(self, input_features)]
        return output_names(names, model.bins, model.informative)

    def _fit(self, X: Any) -> tuple[Model, Codes]:
        check_kernel_options(self)
        chosen = self.categorical_features
        columns = read_columns(X, categorical_features=chosen)
        n_bins = check_n_bins(suit(self.matching, self.n_bins, 4), len(columns))
        missingness = suit(self.matching, self.missingness, "ignorable")
        model, codes = fit_model(
            columns, chosen, n_bins, self.max_categories, missingness, self.matching,
            draw_seed(self.random_state), count_threads(self.n_jobs),
        )  # fmt: skip
        # From here on nothing can fail: the old model is there, or the new one.
        validate_data(self, X, skip_check_array=True)
        self.__dict__.pop("_learning", None)
        self._adopt(model)
        warn_of_columns(model)
        return model, codes

    def _adopt(self, model: Model) -> None:
        self.__dict__.update(
            _model=model,
            n_bins_=model.n_bins,
            bin_centers_=model.bin_centers,
            bin_groups_=model.bin_groups,
            categories_=model.categories,
            prior_=model.prior,
            missingness_=list(model.absences),
        )

    def _fitted_model(self) -> Model:
        self._check_fitted()
        check_kernel_options(self)
        model: Model = self._model
        return model

    def _pack(self) -> State:
        return pack_model(self._fitted_model())

    def _unpack(self, state: State) -> None:
        check_kernel_options(self)
        self._adopt(unpack_model(state))

    def _code(self, model: Model, X: Any) -> Codes:
        try:
            if len(getattr(X, "shape", (0, 0))) == 2:
                validate_data(self, X, reset=False, skip_check_array=True)
        except (ValueError, TypeError, LookupError):
            read_columns(X)  # says it better, if it is the table that is wrong
            raise
        return model.code(X, count_threads(self.n_jobs))

    def _represent(self, model: Model, codes: Codes) -> sp.csr_array:
        threads = count_threads(self.n_jobs)
        return model.represent(codes, self.dtype, self.normalize, threads)

    def _output(self, matrix: sp.csr_array) -> Any:
        if not self.sparse_output:
            return matrix.toarray()
        if get_config().get("sparse_interface", "spmatrix") == "spmatrix":
            return sp.csr_matrix(matrix)
        return matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        # Text is welcome in frames and lists, but `string` would promise that a
        # cell may hold any object, and a dict is refused here.
        tags.input_tags.string = False
        tags.transformer_tags.preserves_dtype = []
        return tags
