"""The attributes of a fitted `ProximityKernel`, and how it codes a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.exceptions import NotFittedError
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from .._bins.codes import Codes
from .._saving.estimator_state import State
from .._shared.options import check_kernel_options
from .._shared.sklearn_bases import Matrix
from .._shared.threads import count_threads
from .._table.columns import read_columns
from .._table.streams import collect_table
from .missingness import Absence
from .model import Model
from .model_packing import pack_model, unpack_model


class FittedKernel:
    """The attributes of a fitted `ProximityKernel`, read from its ``model_``."""

    model_: Model

    if TYPE_CHECKING:  # made by scikit-learn

        def set_partial_fit_request(
            self, *, learn: bool | str | None = None
        ) -> Self: ...

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
        """The coarse bin of each bin."""
        return [getattr(bins, "groups", None) for bins in self.model_.bins]

    @property
    def categories_(self) -> list[NDArray[np.object_] | None]:
        """Categories of the categorical features."""
        held = (getattr(bins, "categories", None) for bins in self.model_.bins)
        return [None if some is None else np.array(some, object) for some in held]

    @property
    def prior_(self) -> list[NDArray[np.float64]]:
        """Frequencies of each feature's bins."""
        return self.model_.prior

    @property
    def missingness_(self) -> list[Absence]:
        """Whether missing cells of each feature are informative, and why."""
        return list(self.model_.absences)

    def __get_model_state__(self) -> State:
        return pack_model(take_model(self))

    def __set_model_state__(self, state: State) -> None:
        check_kernel_options(self)
        self.model_ = unpack_model(state)

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)


def take_model(kernel: Any) -> Model:
    """Return the model of a kernel; refuse one that is not fitted or has bad options.

    Read it once per call, because another thread may fit the kernel meanwhile.
    """
    if "_learning" in vars(kernel) and "model_" not in vars(kernel):
        raise NotFittedError(
            "The bins are learned, but not the rows; call partial_fit(batch, "
            "learn='rows') for every batch."
        )
    check_is_fitted(kernel)
    check_kernel_options(kernel)
    model: Model = kernel.model_
    return model


def code_table(kernel: Any, model: Model, X: Any) -> Codes:
    """Code the rows of a table with the model of a kernel.

    Parameters
    ----------
    kernel : ProximityKernel
    model : Model
        The model of that kernel.
    X : frame, array or list of rows, of shape (n_samples, n_features)

    Returns
    -------
    Codes
    """
    X = collect_table(X, model.names)
    try:
        if len(getattr(X, "shape", (0, 0))) == 2:
            validate_data(kernel, X, reset=False, skip_check_array=True)
    except (ValueError, TypeError, LookupError):
        read_columns(X)  # raises a clearer error if the table is bad
        raise
    return model.code(X, count_threads(kernel.n_jobs))


def represent_table(kernel: Any, model: Model, X: Any) -> sp.csr_array:
    """Represent the rows of a table as the options of a kernel ask for."""
    return represent_codes(kernel, model, code_table(kernel, model, X))


def represent_codes(kernel: Any, model: Model, codes: Codes) -> sp.csr_array:
    """Represent coded rows as the options of a kernel ask for."""
    threads = count_threads(kernel.n_jobs)
    return model.represent(codes, kernel.dtype, kernel.normalize, threads)


def make_output(kernel: Any, model: Model, codes: Codes) -> Matrix:
    """Represent coded rows in the form that `transform` gives: sparse or dense.

    Frames cannot be made of a sparse matrix, and are refused.
    """
    asked = _get_output_config("transform", kernel)["dense"]
    if kernel.sparse_output and asked != "default":
        raise ValueError(
            f"The representation is sparse, and set_output asks for {asked} frames; "
            "use ProximityKernel(sparse_output=False), or set_output("
            "transform='default')."
        )
    matrix: Matrix = represent_codes(kernel, model, codes)
    if not kernel.sparse_output:
        matrix = matrix.toarray()
    elif get_config().get("sparse_interface", "spmatrix") == "spmatrix":
        matrix = sp.csr_matrix(matrix)
    return matrix
