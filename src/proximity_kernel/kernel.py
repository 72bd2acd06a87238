"""`ProximityKernel`: similarity of the rows of an incomplete, mixed-type table.

The other estimators take a kernel as an option, fit a copy of it and use the
representation of the rows (`KernelEstimator`). A fitted kernel in a
`sklearn.frozen.FrozenEstimator` is not fitted again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from ._batches import fit_to_batches, make_reader
from ._bins import NumericBins, name_leaves, output_names
from ._coded import CodedTable, make_csr, merge_distinct
from ._missingness import MissingCells
from ._model import Model, fit_model, warn_of_columns
from ._model_packing import drop_rare, pack_model, unpack_model
from ._nearest import Index, build_index, kernel_matrix
from ._pairwise import Pairwise
from ._provenance import list_cells
from ._row_summary import RowSummary
from ._saving import ModelFileMixin, State, pack_estimator, unpack_estimator
from ._shared.extras import require
from ._shared.options import (
    BinCount,
    FeatureWeights,
    Matching,
    MissingnessOption,
    accept_missing,
    check_count,
    check_kernel_options,
    check_n_jobs,
    resolve_options,
)
from ._shared.resources import count_threads
from ._shared.sklearn_bases import (
    Estimator,
    Matrix,
    Transformer,
    Weighted,
    of_one_fit,
    replaces_fit,
)
from ._shared.wording import note_about
from ._table.columns import read_columns
from ._table.records import CellRecords, Records, find_library
from ._table.tables import collect_table

__all__ = ["MissingCells", "ProximityKernel"]


class ProximityKernel(ModelFileMixin, Weighted, Transformer, Estimator):
    """Similarity of rows, measured on the incomplete, mixed-type table itself.

    Every value is replaced by the bin of its nearest center; centers are close together
    where the data are dense. A missing cell is represented by a distribution over the
    feature's bins, estimated from the row's other cells. The similarity of two rows is
    the mean over the features of the agreement of their cells: 1 in the same bin, less
    in two bins of one group (see `n_bins`), else 0.

    Parameters
    ----------
    n_bins : int, "auto", "fine", sequence, mapping of these or None, default=None
        Bins of a numeric feature, at least 2: one number for all features, a sequence
        with one for each, or a mapping from column names or positions (other columns
        have the default). Equal centers are merged, so a feature can have fewer bins.
        "auto" makes at most four bins, in two halves: values in the same bin score 1,
        in the same half 0.8.
        "fine" halves the observed rows four times: values in the same half score 0.4,
        quarter 0.7, eighth 0.9, sixteenth 1; the quarters are its bins. None is "auto",
        and 4 with ``matching="cascade"``, the paper's method.
    matching : {"pairwise", "cascade"}, default="pairwise"
        How a missing cell is estimated. "pairwise" multiplies the bin frequencies of
        the feature by the evidence of each observed cell of the row, from counts of how
        often two codes occur together; the model keeps these counts and no row.
        "cascade" is the paper's rule: the mean over the fitted rows that share all of
        the row's codes; if there are none, over the rows that share at least one code;
        else over all rows.
    missingness : {"ignorable", "informative", "auto"}, mapping or None, default=None
        Whether missing cells have their own bin. "ignorable": never, all are estimated.
        "informative": in every feature with missing cells at fit. "auto": in features
        whose missing cells mostly coincide with those of another feature. Or a mapping
        from column names or positions to these values. None is "auto", and "ignorable"
        with ``matching="cascade"``.
    categorical_features : "from_dtype", mask, indices or names, default="from_dtype"
        Features to treat as categorical, besides text and unordered categoricals.
        Booleans, ordered categoricals (by rank) and dates (in seconds) are numeric.
    feature_weights : mapping, array-like of shape (n_features,) or None, default=None
        How much each feature counts in the similarity: a mapping from column names or
        positions (other columns have weight 1), or one number for each. 0 leaves a
        feature out. Estimates of missing cells do not use the weights.
    max_categories : int, default=255
        Maximum number of bins of a categorical feature; the rarest categories share the
        last bin.
    rarity : float, default=0
        How much more the match of a rare value counts, from 0 (not at all, the paper's
        kernel) to 1. A match counts in proportion to ``frequency ** -rarity``, scaled
        so that a complete row has similarity 1 with itself on average: more if its
        values are rare.
    normalize : float or bool, default=0
        How far to correct for missing cells, from 0 to 1 (False to True). An incomplete
        row is less similar to all rows, itself included; similarities are divided by
        ``(K(x, x) * K(y, y)) ** (normalize / 2)``. With 1, the cosine form, each row
        has similarity 1 with itself.
    sparse_output : bool, default=True
        Whether `transform` returns a CSR matrix; otherwise a dense array.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        The dtype of the representation and the kernel.
    n_jobs : int or None, default=None
        Threads; None is all cores that the process may use, not one as in scikit-learn.
        Inside a joblib worker it is one. -1 is all. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Determines the sample of 10,000 rows from which "pairwise" learns its weights,
        if the table has more distinct rows. None gives another sample each time.

    Attributes
    ----------
    bins_ : list of dict
        Every bin, with ``to_frame()``, and shown as a table in a notebook: feature, bin
        (its number), range (in words, or a category), above and up_to (the limits of a
        bin of numbers; None where it is open) and share (of the fitted rows).
    bin_centers_ : list of length n_features
        Centers of a numeric feature, ascending; None for a categorical one.
    bin_groups_ : list of length n_features
        The half, 0 or 1, to which each bin of a feature belongs; None for a feature
        whose bins do not form halves.
    categories_ : list of length n_features
        Categories that have their own bin, sorted; None for a numeric feature.
    n_bins_ : ndarray of shape (n_features,)
        Number of bins, including the bin of informative missing cells; 0 if no cell
        was observed.
    prior_ : list of length n_features
        Frequencies of each feature's bins among the fitted rows.
    missingness_ : list of MissingCells, of length n_features
        Whether missing cells of each feature are informative, and why; with
        ``to_frame()``, and shown as a table in a notebook.
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
           [0.17, 0.83, 0.  , 1.  ],
           [0.  , 1.  , 0.  , 1.  ],
           [0.  , 1.  , 0.17, 0.83]], dtype=float32)
    >>> pk.kernel([[1.1, "a"], [None, None]], table).round(2)
    array([[1.  , 1.  , 0.09, 0.  , 0.09],
           [0.5 , 0.5 , 0.5 , 0.5 , 0.5 ]], dtype=float32)
    """

    model_: Model

    def __init__(
        self,
        n_bins: BinCount | Sequence[BinCount] | Mapping[Any, BinCount] | None = None,
        *,
        matching: Matching = "pairwise",
        missingness: MissingnessOption | None = None,
        categorical_features: Any = "from_dtype",
        feature_weights: FeatureWeights | None = None,
        max_categories: int = 255,
        rarity: float = 0.0,
        normalize: float = 0.0,
        sparse_output: bool = True,
        dtype: DTypeLike = np.float32,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_bins = n_bins
        self.matching = matching
        self.missingness = missingness
        self.categorical_features = categorical_features
        self.feature_weights = feature_weights
        self.max_categories = max_categories
        self.rarity = rarity
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
            How many rows each row counts for, at least 0: a row of weight 3 counts as
            three equal rows. Fractional weights should be about 1 on average, because
            their sum is taken as the number of rows.

        Returns
        -------
        self
        """
        self.__fit_coded__(X, sample_weight)
        return self

    @of_one_fit
    def transform(self, X: Any) -> Matrix:
        """Represent rows by bins, and missing cells by distributions over bins.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        CSR matrix or ndarray of shape (n_samples, n_columns)
            The bin of an observed cell, a distribution over bins for a missing cell.
        """
        return self._make_output(code_table(self, X))

    @replaces_fit
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Matrix:
        """Learn the bins of a table and represent its rows: `fit`, then `transform`."""
        return self._make_output(self.__fit_coded__(X, sample_weight))

    @replaces_fit
    def fit_batches(self, batches: Any) -> Self:
        """Learn the bins from a table in batches, which are read twice.

        Parameters
        ----------
        batches : list of tables, or callable
            Tables with the same columns, or a function that returns a new iterator of
            the same tables each time; then only one table is in memory at a time.

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

    @of_one_fit
    def kernel(self, X: Any, Y: Any = None) -> NDArray[Any]:
        """Compute the similarity of each row of a table to each row of another.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n, n_features)
        Y : frame, array or list of rows, of shape (m, n_features), optional
            None compares the rows of `X` with each other.

        Returns
        -------
        ndarray of shape (n, m)
            From 0 to 1; with `rarity`, rows that share rare values can have more.
        """
        coded = code_table(self, X)
        model, left = coded.model, represent(self, coded)
        right = None
        if Y is not None:
            with note_about("Y, the second table"):
                right = represent(self, code_table(self, Y, model))
        memory = int(get_config()["working_memory"] * 2**20)
        threads = count_threads(self.n_jobs)
        return kernel_matrix(
            left, right, model.n_counted, memory, threads,
            limited=is_limited(self, model),
        )  # fmt: skip

    @of_one_fit
    def distance(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """Compute distances of rows: ``1 - kernel``, with zeros on the diagonal.

        For methods that take a matrix of distances: silhouette, linkage, HDBSCAN, TSNE.
        An incomplete row has distance 0 to itself; its similarity can be below 1.
        With `rarity`, the kernel of two rows is first divided by the larger of two
        scores: that of a row with exactly the values of the first row, compared with
        it, and the same for the second row.

        Parameters
        ----------
        X, Y
            As in `kernel`.

        Returns
        -------
        ndarray of shape (n, m), float64, from 0 to 1
        """
        coded = code_table(self, X)
        other = coded if Y is None else Y
        similarities = self.kernel(coded, None if Y is None else Y).astype(np.float64)
        if not is_limited(self, coded.model):
            full = coded.model.full_score(self.normalize)
            left, right = (
                full.of(represent(self, rows)) / full.n_features
                for rows in (coded, other)
            )
            similarities /= np.maximum(left[:, None], right[None, :])
            np.minimum(similarities, 1, out=similarities)
        distances: NDArray[np.float64] = 1 - similarities
        if Y is None:
            np.fill_diagonal(distances, 0)
        return distances

    @of_one_fit
    def provenance(self, X: Any) -> CellRecords:
        """List where the estimate of each missing cell comes from.

        Missing cells of an informative feature count as observed and are not listed.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        structured ndarray of shape (n_missing,), row after row
            With ``to_frame()``, and shown as a table in a notebook.
            ``row`` and ``feature`` (``feature_name``) locate the cell; ``observed``
            counts the observed features with bins; ``certainty`` is the probability of
            the likeliest bin.
            ``level`` is the basis of the estimate: the "evidence" of the observed
            cells; "determined" by one cell whose code always came with this bin; with
            "cascade", the rows of the "intersection" (all codes shared) or "union" (at
            least one shared); "prior": bin frequencies alone.
            ``support`` counts the fitted rows that observe the feature, that have the
            determining code, or with "cascade" that match. ``columns``
            (``column_names``) are the three features whose cells changed the estimate
            most (-1: no feature), and ``moved`` is by how much: the share of the
            probability that is in other bins without that cell. With "cascade", no
            features are listed.

        Examples
        --------
        >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
        >>> pk = ProximityKernel(n_bins=2).fit(table)
        >>> for cell in pk.provenance(table):
        ...     print(cell["row"], cell["feature_name"], cell["column_names"])
        2 x0 ['x1' '' '']
        4 x1 ['x0' '' '']
        """
        coded, threads = code_table(self, X), count_threads(self.n_jobs)
        cells = list_cells(coded.model, coded, threads).view(CellRecords)
        cells.library = find_library(X)
        return cells

    @of_one_fit
    def column_evidence(self) -> Matrix:
        """Measure the evidence that each column gives about each other column, in bits.

        Returns
        -------
        pandas.DataFrame of shape (n_features, n_features)
            Row "age", column "dose": the evidence that age gives for the bin of dose,
            averaged over the fitted rows that observe both, times the weight of this
            evidence in estimates of missing cells. Columns that repeat each other have
            lower weights. The diagonal is 0. Weights go up to 1.5, so an entry can
            exceed the entropy of the estimated column.

        Examples
        --------
        >>> table = [[1.0, "a"], [1.2, "a"], [8.0, "b"], [9.0, "b"], [8.5, "b"]] * 9
        >>> ProximityKernel(n_bins=2).fit(table).column_evidence().round(1)
             x0   x1
        x0  0.0  1.0
        x1  1.0  0.0
        """
        model = take_model(self)
        if not isinstance(model.matcher, Pairwise):
            raise ValueError(
                "column_evidence needs matching='pairwise'; the cascade matches whole "
                "rows, and has no weights of columns."
            )
        pandas = require("pandas", extra="cli")
        evidence = model.matcher.measure_evidence()
        frame: Matrix = pandas.DataFrame(evidence, model.names, model.names)
        return frame

    @of_one_fit
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the columns of the representation.

        Parameters
        ----------
        input_features : array-like of str or None
            Names of the features, when none were seen at fit.

        Returns
        -------
        ndarray of str of shape (n_columns,)
            Unique: "age 35-51" for a bin of a number, "age up to 51" for one of its
            halves, "blood a" for a category, "blood infrequent" for the bin that rare
            categories share, "age missing" for the bin of informative missing cells.
            `bins_` has the same ranges.
        """
        model = take_model(self)
        names = [str(name) for name in _check_feature_names_in(self, input_features)]
        features = zip(
            model.bins, model.types, model.typical, model.informative, strict=True
        )
        leaves = [name_leaves(*feature) for feature in features]
        return output_names(names, model.bins, leaves)

    @property
    def bins_(self) -> Records[dict[str, Any]]:
        """The range or category of each bin."""
        model = self.model_
        out: Records[dict[str, Any]] = Records()
        for j, (bins, column) in enumerate(zip(model.bins, model.types, strict=True)):
            words, shares = model.bin_names[j].each(), model.prior[j].tolist()
            limits = [None] * (len(words) + 1)
            if isinstance(bins, NumericBins) and column.family == "numbers":
                limits[1 : bins.n_bins] = bins.midpoints.tolist()
            for k, (name, share) in enumerate(zip(words, shares, strict=True)):
                named = {"feature": column.name, "bin": k, "range": name}
                ends = {"above": limits[k], "up_to": limits[k + 1]}
                out.append({**named, **ends, "share": share})
        return out

    @property
    def n_bins_(self) -> NDArray[np.int64]:
        """Number of bins of each feature."""
        return self.model_.n_bins

    @property
    def bin_centers_(self) -> list[NDArray[np.float64] | None]:
        """Centers of the numeric features."""
        return [getattr(bins, "centers", None) for bins in self.model_.bins]

    @property
    def bin_groups_(self) -> list[NDArray[np.int64] | None]:
        """The half to which each bin of a feature belongs; None if it has no halves."""
        return [getattr(bins, "groups", None) for bins in self.model_.bins]

    @property
    def categories_(self) -> list[NDArray[np.object_] | None]:
        """Categories of the categorical features."""
        categories = (getattr(bins, "categories", None) for bins in self.model_.bins)
        return [None if some is None else np.array(some, object) for some in categories]

    @property
    def prior_(self) -> list[NDArray[np.float64]]:
        """Frequencies of each feature's bins among the fitted rows."""
        return self.model_.prior

    @property
    def missingness_(self) -> Records[MissingCells]:
        """Whether missing cells of each feature are informative, and why."""
        return Records(self.model_.missingness)

    @replaces_fit
    def __fit_coded__(self, X: Any, sample_weight: Any = None) -> CodedTable:
        options, X = resolve_options(self), collect_table(X)
        columns = read_columns(X, categorical_features=options.categorical_features)
        model, coded = fit_model(columns, options, sample_weight)
        # Nothing below can fail, so the estimator has the old model or the new one.
        validate_data(self, X, skip_check_array=True)
        self.model_ = model
        warn_of_columns(model)
        return coded

    def _make_output(self, coded: CodedTable) -> Matrix:
        """Represent coded rows as `transform` returns them: sparse or dense.

        Raises ValueError if `set_output` asks for frames and the matrix is sparse.
        """
        asked = _get_output_config("transform", self)["dense"]
        if self.sparse_output and asked != "default":
            raise ValueError(
                f"The representation is sparse, and set_output asks for {asked} "
                "frames; use ProximityKernel(sparse_output=False), or set_output("
                "transform='default')."
            )
        matrix: Matrix = represent(self, coded)
        return make_csr(matrix) if self.sparse_output else matrix.toarray()

    @of_one_fit
    def save(self, path: Any, *, min_count: int = 1) -> None:
        """Save the fitted kernel to a file, without pickle.

        The file is written completely or not at all.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.
        min_count : int, default=1
            Categories that fewer rows have are left out of the file: to the loaded
            kernel they are unknown, like categories that it has never seen. Counts of
            pairs of values in fewer rows are saved as 0. So estimates and similarities
            differ a little from those of this kernel.

        Raises
        ------
        ModelFileError
            If the file cannot be written.
        ValueError
            If a category cannot be saved. With `min_count` above 1, also if a bin of
            numbers has fewer rows, or with ``matching="cascade"``, whose model has the
            fitted rows.

        Examples
        --------
        >>> import tempfile
        >>> pk = ProximityKernel().fit([["Ann", "x"], ["Bob", "x"], ["Cy", "y"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pk.save(f"{folder}/kernel.model", min_count=2)
        ...     ProximityKernel.load(f"{folder}/kernel.model").get_feature_names_out()
        array(['x1 x'], dtype=object)
        """
        check_count("min_count", min_count, 1)
        if min_count == 1:
            super().save(path)
            return
        less = copy(self)
        less.model_ = drop_rare(take_model(self), min_count)
        super(ProximityKernel, less).save(path)

    def __get_model_state__(self) -> State:
        return pack_model(take_model(self))

    def __set_model_state__(self, state: State) -> None:
        check_kernel_options(self)
        self.model_ = unpack_model(state)

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = accept_missing(super().__sklearn_tags__())
        tags.transformer_tags.preserves_dtype = []
        return tags


def take_model(kernel: Any) -> Model:
    """Return the model of a kernel; raise if it is not fitted or has bad options.

    A method calls this once, because another thread may fit the kernel meanwhile.
    """
    check_is_fitted(kernel)
    check_kernel_options(kernel)
    model: Model = kernel.model_
    return model


def code_table(kernel: Any, X: Any, model: Model | None = None) -> CodedTable:
    """Convert the rows of a table to codes of bins, by a fitted kernel.

    Parameters
    ----------
    kernel : ProximityKernel
    X : frame, array or list of rows, of shape (n_samples, n_features)
        Or a CodedTable, which is returned unchanged.
    model : Model or None
        The model to use; None means the model of the kernel.

    Returns
    -------
    CodedTable
    """
    model = model or take_model(kernel)
    if isinstance(X, CodedTable):
        return X
    X = collect_table(X, model.names)
    try:
        if len(getattr(X, "shape", (0, 0))) == 2:
            validate_data(kernel, X, reset=False, skip_check_array=True)
    except (ValueError, TypeError, LookupError):
        read_columns(X)  # raises a clearer error if the table is bad
        raise
    return model.code(X, count_threads(kernel.n_jobs))


def represent(
    kernel: ProximityKernel, X: Any, dtype: DTypeLike | None = None
) -> sp.csr_array:
    """Represent the rows of a table or of a coded table by a fitted kernel.

    Parameters
    ----------
    kernel : ProximityKernel
    X : frame, array, list of rows or CodedTable
    dtype : dtype or None
        None means the option of the kernel.

    Returns
    -------
    csr_array of shape (n_samples, n_columns)
    """
    coded, threads = code_table(kernel, X), count_threads(kernel.n_jobs)
    matrix: sp.csr_array = coded.model.represent(
        coded, kernel.dtype if dtype is None else dtype, kernel.normalize, threads
    )
    return matrix


def represent_for_search(kernel: ProximityKernel, X: Any) -> sp.csr_array:
    """Represent the rows of a neighbor search in float64, whatever the kernel's dtype.

    With the rounding errors of float32, equal similarities would differ.
    """
    return represent(kernel, X, np.float64)


def is_limited(kernel: ProximityKernel, model: Model) -> bool:
    """Whether no similarity of two rows can exceed 1."""
    return not model.rarity or kernel.normalize == 1


def fit_coded(estimator: Any, X: Any) -> CodedTable:
    """Fit an estimator, and return the coded rows of its table.

    The methods of the estimator take the coded rows in place of the table, so that the
    table is read and coded once.
    """
    coded: CodedTable = estimator.__fit_coded__(X)
    return coded


def check_kernel(kernel: Any, name: str = "kernel") -> None:
    """Raise ValueError unless a value is a kernel, a frozen fitted kernel or None."""
    frozen = isinstance(kernel, FrozenEstimator)
    inner = kernel.estimator if frozen else kernel
    if inner is not None and not isinstance(inner, ProximityKernel):
        raise ValueError(
            f"{name} must be a ProximityKernel or None, got {kernel!r}; pass options "
            f"to it, as in {name}=ProximityKernel(n_bins=4)."
        )
    if frozen:
        check_is_fitted(inner)


def check_not_frozen(kernel: Any) -> None:
    """Raise ValueError for a frozen kernel, in a fit that has to fit the kernel."""
    if isinstance(kernel, FrozenEstimator):
        raise ValueError(
            "A fit to batches or partitions fits the kernel too; pass the kernel "
            "without FrozenEstimator."
        )


def copy_kernel(
    kernel: Any, n_jobs: int | None, default: ProximityKernel | None = None
) -> ProximityKernel:
    """Make an unfitted kernel with the options of a kernel, or of the default kernel.

    Parameters
    ----------
    kernel : ProximityKernel or None
        None means the default.
    n_jobs : int or None
        None leaves it to the kernel's own option.
    default : ProximityKernel or None
        The default of the estimator; None means a kernel with default options.

    Returns
    -------
    ProximityKernel
        Not fitted; its output is sparse, whatever the option of `kernel` is.
    """
    given = default if kernel is None else kernel
    copy: ProximityKernel = ProximityKernel() if given is None else clone(given)
    copy.set_params(sparse_output=True)
    if n_jobs is not None:
        copy.set_params(n_jobs=n_jobs)
    # A sparse matrix cannot become a data frame, even if that is the global setting.
    copy.set_output(transform="default")
    return copy


def fit_kernel(
    kernel: Any,
    X: Any,
    n_jobs: int | None,
    default: ProximityKernel | None = None,
    sample_weight: Any = None,
) -> tuple[ProximityKernel, CodedTable]:
    """Fit a copy of a kernel, and code the table; a frozen kernel is not fitted.

    Parameters
    ----------
    kernel : ProximityKernel, FrozenEstimator or None
        None means the default.
    X : frame, array or list of rows, of shape (n_samples, n_features)
    n_jobs, default
        As in `copy_kernel`.
    sample_weight : array-like of shape (n_samples,), or None

    Returns
    -------
    ProximityKernel
        Fitted.
    CodedTable
    """
    check_kernel(kernel)
    if isinstance(kernel, FrozenEstimator):
        # A copy keeps its model when the frozen kernel is fitted again.
        frozen: ProximityKernel = copy(kernel.estimator)
        return frozen, code_table(frozen, X)
    fitted = copy_kernel(kernel, n_jobs, default)
    return fitted, fitted.__fit_coded__(X, sample_weight)


def represent_distinct(
    kernel: ProximityKernel, X: Any
) -> tuple[CodedTable, sp.csr_array]:
    """Represent each distinct row of a table once.

    Returns
    -------
    CodedTable
        The distinct rows, and for each row of the table the index of its distinct row.
    csr_array of shape (n_distinct, n_columns)
    """
    coded = code_table(kernel, X)
    coded = coded.distinct(coded.model.n_bins)
    return coded, represent(kernel, coded.take_stored_rows())


def represent_kept(
    kernel: ProximityKernel, kept: RowSummary
) -> tuple[CodedTable, sp.csr_array]:
    """Represent the distinct rows that a fit to batches kept in its summary.

    Returns
    -------
    CodedTable
        The distinct rows, with their counts.
    csr_array of shape (n_distinct, n_columns)

    Notes
    -----
    The rows are in the order of `represent_distinct`, so that results are equal to the
    bit for a table whose rows are all kept.
    """
    model = kernel.model_
    if any(getattr(bins, "cuts", None) is not None for bins in model.bins):
        raise ValueError(
            "fit_batches keeps rows by their bins, which are too coarse for "
            "n_bins='fine'; use n_bins='auto'."
        )
    rows, counts = merge_distinct([(kept.rows, kept.counts)], kept.plan.n_bins)
    coded = model.take_codes(CodedTable.of_rows(rows))
    return replace(coded, counts=counts), represent(kernel, coded)


def index_rows(kernel: ProximityKernel, matrix: sp.csr_array) -> Index:
    """Build an index of represented rows, in which the nearest rows can be searched."""
    model = kernel.model_
    full = model.full_score(kernel.normalize)
    return build_index(matrix, model.n_counted, model.n_columns, model.n_leaves, full)


def pack_with_kernel(kernel: ProximityKernel, state: State) -> State:
    """Add a fitted kernel to the state of its estimator."""
    return state.add_part("kernel", pack_estimator(kernel))


def unpack_kernel(state: State) -> ProximityKernel:
    """Rebuild the fitted kernel from the state of its estimator."""
    kernel: ProximityKernel = unpack_estimator(ProximityKernel, state.part("kernel"))
    return kernel


def take_kernel(estimator: Any, kernel: ProximityKernel) -> None:
    """Set the fitted kernel of an estimator, and the columns it was fitted to."""
    estimator.kernel_ = kernel
    estimator.n_features_in_ = kernel.n_features_in_
    vars(estimator).pop("feature_names_in_", None)
    if hasattr(kernel, "feature_names_in_"):
        estimator.feature_names_in_ = kernel.feature_names_in_


class KernelEstimator(ModelFileMixin, Estimator):
    """An estimator with the option `kernel` and the fitted attribute ``kernel_``."""

    _kernel_class = ProximityKernel
    # Whether similarities are shares of the score of a row with the query's values.
    _reports_shares = False
    kernel: ProximityKernel | FrozenEstimator | None
    n_jobs: int | None
    kernel_: ProximityKernel

    def set_params(self, **params: Any) -> Self:
        """Set options; options of the kernel are called ``kernel__n_bins`` and so on.

        Parameters
        ----------
        **params : dict
            Options by name. If there is no kernel yet, the default one is set, and
            then its options.

        Returns
        -------
        self
        """
        given = params.get("kernel", self.kernel)
        if given is None and any(name.startswith("kernel__") for name in params):
            own = {name: params[name] for name in params if "__" not in name}
            super().set_params(**own)  # the default can depend on these
            params = {**params, "kernel": self.__default_kernel__()}
        super().set_params(**params)
        return self

    def __default_kernel__(self) -> ProximityKernel:
        """Make the kernel that is used if the option `kernel` is None."""
        return ProximityKernel()

    def _check_options(self) -> None:
        """Raise an error for an invalid option; called by each fit."""
        check_kernel(self.kernel)
        check_n_jobs(self.n_jobs)

    @property
    def _threads(self) -> int:
        """Number of threads: by `n_jobs`, or by that of the kernel if it is None."""
        check_n_jobs(self.n_jobs)
        return count_threads(
            self.kernel_.n_jobs if self.n_jobs is None else self.n_jobs
        )

    def __fit_coded__(self, X: Any) -> CodedTable:
        """Fit, and return the coded rows of the table."""
        raise NotImplementedError

    def _code(self, X: Any) -> CodedTable:
        """Code the rows of a table with the fitted kernel."""
        check_is_fitted(self)
        return code_table(self.kernel_, X)

    def __sklearn_tags__(self) -> Any:
        return accept_missing(super().__sklearn_tags__())


def find_kernel(estimator: Any) -> ProximityKernel:
    """Return a fitted kernel, or the kernel of a fitted estimator; else raise an error.

    It is a TypeError, or a NotFittedError.
    """
    if hasattr(estimator, "fit") and hasattr(estimator, "kernel"):
        check_is_fitted(estimator)
    kernel = getattr(estimator, "kernel_", estimator)
    if not isinstance(kernel, ProximityKernel):
        found = repr(estimator)
        found = type(estimator).__name__ if "\n" in found else found  # such as a table
        raise TypeError(f"kernel must be a fitted ProximityKernel, got {found}.")
    check_is_fitted(kernel)
    return kernel


def bin_names(kernel: ProximityKernel) -> list[list[str]]:
    """Describe each bin of each feature in words.

    Parameters
    ----------
    kernel : ProximityKernel
        Fitted.

    Returns
    -------
    list of length n_features, of lists of str
        Ranges of a numeric feature ("13-30" and "31 or more" if all values at fit were
        whole numbers), "False" and "True" for booleans, categories, and "missing" for
        the bin of informative missing cells; empty if no cell was observed.

    Examples
    --------
    >>> pk = ProximityKernel(n_bins=3).fit([[10.0, "x"], [15.0, "y"], [45.0, "x"]])
    >>> bin_names(pk)
    [['up to 12', '13-30', '31 or more'], ['x', 'y']]
    """
    check_is_fitted(kernel)
    return [names.each() for names in kernel.model_.bin_names]
