"""The base classes of scikit-learn with type hints, and a type for scipy's matrices.

Neither package has type hints, so a type checker needs the hints in this file. They
change nothing when the program runs.

`of_one_fit` and `replaces_fit` are decorators of methods, by which a result is never of
two fits, even if one thread fits an estimator while another uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import base

from . import published

_Request = bool | str | None
_Method = TypeVar("_Method", bound=Callable[..., Any])
TableT = TypeVar("TableT")
"""The type of a table; a method that returns a table returns the same type."""


def of_one_fit(method: _Method) -> _Method:
    """Let a method use the attributes of one fit until it returns."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(copy(self), *args, **kwargs)

    return call  # type: ignore[return-value]


def replaces_fit(method: _Method) -> _Method:
    """Let a fit set all attributes in one step, when it is complete."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = copy(self)
        found = method(made, *args, **kwargs)
        self.__dict__ = vars(made)
        return self if found is made else found

    return call  # type: ignore[return-value]


class Matrix(Protocol):
    """The type of a CSR matrix of scipy, or of an array; most methods are untyped."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and columns of the sparse or dense matrix."""

    def __getitem__(self, key: Any) -> Any: ...
    def __matmul__(self, other: Any) -> Any: ...
    def __add__(self, other: Any) -> Any: ...
    def __radd__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...


class Estimator(base.BaseEstimator):  # type: ignore[misc]  # as all below: untyped
    """scikit-learn's `BaseEstimator`, with type hints and a link to our pages."""

    _doc_link_module = "proximity_kernel"
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    @property
    def _doc_link_template(self) -> str:
        """Address of the class's page, for the diagram in a notebook; "" if no site."""
        public = type(self).__module__.rpartition(".")[0]
        page = f"generated/api/{public}.{type(self).__name__}.html"
        return f"{published.SITE}/{page}" if published.SITE else ""

    if TYPE_CHECKING:

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> object: ...


class Transformer(base.TransformerMixin):  # type: ignore[misc]
    """scikit-learn's `TransformerMixin`, with type hints."""

    if TYPE_CHECKING:

        def set_output(
            self, *, transform: Literal["default", "pandas", "polars"] | None = None
        ) -> Self: ...


class NumberedTransformer(base.ClassNamePrefixFeaturesOutMixin, Transformer):  # type: ignore[misc]
    """A transformer that names its output columns by its class and a number."""

    if TYPE_CHECKING:

        def get_feature_names_out(
            self, input_features: Any = None
        ) -> NDArray[np.object_]: ...


class Weighted:
    """A mixin for estimators whose `fit` takes weights of the rows."""

    if TYPE_CHECKING:

        def set_fit_request(self, *, sample_weight: _Request = None) -> Self: ...


class Clusterer(Weighted, base.ClusterMixin):  # type: ignore[misc]
    """scikit-learn's `ClusterMixin`, with type hints and weights of the rows."""

    if TYPE_CHECKING:

        def fit_predict(
            self, X: Any, y: Any = None, *, sample_weight: Any = None
        ) -> NDArray[np.int32]: ...
        def set_score_request(self, *, sample_weight: _Request = None) -> Self: ...


class OutlierDetector(base.OutlierMixin):  # type: ignore[misc]
    """scikit-learn's `OutlierMixin`, with type hints."""

    if TYPE_CHECKING:

        def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]: ...


class _Scored:
    """A mixin for predictors with scikit-learn's method `score`."""

    if TYPE_CHECKING:

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...
        def set_score_request(self, *, sample_weight: _Request = None) -> Self: ...


class Classifier(_Scored, base.ClassifierMixin):  # type: ignore[misc]
    """scikit-learn's `ClassifierMixin`, with type hints."""


class Regressor(_Scored, base.RegressorMixin):  # type: ignore[misc]
    """scikit-learn's `RegressorMixin`, with type hints."""
