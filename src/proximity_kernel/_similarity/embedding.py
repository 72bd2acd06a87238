"""A kernel inside another estimator: made, fitted, and asked for sparse rows.

What is built on `ProximityKernel` holds one, as an option or the default, fits a copy
of it on the same table and works on the representation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from .._bins.codes import Codes
from .._model.model import Model
from .._model.model_state import State
from .._model_file.estimators import pack_estimator, unpack_estimator
from ..kernel import ProximityKernel


@dataclass(frozen=True)
class Embedded:
    """The rows of a table, each distinct one represented once.

    Attributes
    ----------
    model : Model
        Of the kernel.
    codes : Codes
    matrix : csr_array of shape (n_distinct, n_columns)
    """

    model: Model
    codes: Codes
    matrix: sp.csr_array


def copy_kernel(kernel: Any, n_jobs: int | None) -> ProximityKernel:
    """Make the kernel to fit.

    Parameters
    ----------
    kernel : ProximityKernel or None
        None means one with default options.
    n_jobs : int or None
        None leaves it to the kernel's own option.

    Returns
    -------
    ProximityKernel
        Not fitted; its output is sparse whatever `kernel` says.
    """
    check_kernel(kernel)
    copy: ProximityKernel = ProximityKernel() if kernel is None else clone(kernel)
    copy.set_params(sparse_output=True)
    if n_jobs is not None:
        copy.set_params(n_jobs=n_jobs)
    # Frames are not for what is sparse, even where they are asked for everywhere.
    copy.set_output(transform="default")
    return copy


def check_kernel(kernel: Any, name: str = "kernel") -> None:
    """Refuse what is neither a kernel nor None."""
    if kernel is not None and not isinstance(kernel, ProximityKernel):
        raise ValueError(
            f"{name} must be a ProximityKernel or None, got {kernel!r}; options go "
            f"into it, as in {name}=ProximityKernel(n_bins=4)."
        )


def fit_kernel(
    kernel: Any, X: Any, n_jobs: int | None
) -> tuple[ProximityKernel, sp.csr_array]:
    """Fit a copy of a kernel and represent the table.

    Parameters
    ----------
    kernel : ProximityKernel or None
        None means one with default options.
    X : frame, array or list of rows, of shape (n_samples, n_features)
    n_jobs : int or None
        None leaves it to the kernel's own option.

    Returns
    -------
    ProximityKernel
        Fitted; its output is sparse whatever `kernel` says.
    csr_array of shape (n_samples, n_columns)
    """
    fitted = copy_kernel(kernel, n_jobs)
    return fitted, sp.csr_array(fitted.fit_transform(X))


def embed(kernel: ProximityKernel, X: Any) -> sp.csr_array:
    """Represent rows by a kernel of `fit_kernel`, of shape (n_samples, n_columns)."""
    return sp.csr_array(kernel.transform(X))


def fit_distinct(kernel: ProximityKernel, X: Any) -> Embedded:
    """Fit a kernel of `copy_kernel`, and represent each distinct row once."""
    model, codes = kernel._fit(X)  # noqa: SLF001  (of the same package)
    return _represent_distinct(kernel, model, model.gather(codes))


def embed_distinct(kernel: ProximityKernel, X: Any) -> Embedded:
    """Represent each distinct row of a table once."""
    model = kernel._fitted_model()  # noqa: SLF001
    codes = model.gather(kernel._code(model, X))  # noqa: SLF001
    return _represent_distinct(kernel, model, codes)


def _represent_distinct(
    kernel: ProximityKernel, model: Model, codes: Codes
) -> Embedded:
    each = Codes(codes.rows, codes.counts, np.arange(len(codes.rows)))
    return Embedded(model, codes, kernel._represent(model, each))  # noqa: SLF001


def pack_with_kernel(kernel: ProximityKernel, state: State) -> State:
    """Put a fitted kernel into the state of the estimator that holds it."""
    return state.holding("kernel", pack_estimator(kernel))


def unpack_kernel(state: State) -> tuple[ProximityKernel, int]:
    """Take the kernel out of a state, and tell the columns of its representation."""
    kernel: ProximityKernel = unpack_estimator(ProximityKernel, state.inner("kernel"))
    model = kernel._fitted_model()  # noqa: SLF001  (of the same package)
    return kernel, int(model.n_columns.sum())


def count_features(kernel: ProximityKernel) -> int:
    """Features that the kernel takes its mean over: those with bins."""
    return int(np.count_nonzero(kernel.n_bins_))


def welcome_gaps(tags: Any) -> Any:
    """Tell scikit-learn's tags that tables may have holes and mixed columns."""
    tags.input_tags.allow_nan = True
    tags.input_tags.categorical = True
    tags.input_tags.string = False  # as `ProximityKernel`
    return tags
