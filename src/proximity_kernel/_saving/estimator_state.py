"""Convert estimators to plain values and arrays, and back.

``__get_model_state__`` returns the state of a fitted estimator, and
``__set_model_state__`` restores it; the options are stored separately. A file can
contain anything, so a restored state is checked to be what a fit can produce.

JSON has only text, numbers, true, false and null. Other types of options and categories
(a tuple, bytes, a date, a numpy array, a dtype) are written as an object with one key,
the name of the type.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._shared.extras import require

_PLAIN = (type(None), bool, int, str)
_KINDS = "biufUO"  # kinds of arrays
_OUTPUTS = ("default", "pandas", "polars")  # of scikit-learn's `set_output`
_CONFIG = "_sklearn_output_config"


@dataclass(frozen=True)
class State:
    """The state of a fitted estimator.

    Attributes
    ----------
    values : dict
        Values that JSON supports.
    arrays : dict of str to ndarray
        Arrays of numbers.
    """

    values: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    def inner(self, name: str) -> State:
        """Return the state of a part."""
        start = f"{name}/"
        arrays = {
            key.removeprefix(start): array
            for key, array in self.arrays.items()
            if key.startswith(start)
        }
        return State(self.values[name], arrays)

    def holding(self, name: str, part: State) -> State:
        """Add the state of a part."""
        arrays = {f"{name}/{key}": array for key, array in part.arrays.items()}
        return State({**self.values, name: part.values}, {**self.arrays, **arrays})

    def array(self, name: str, dtype: Any, ndim: int = 1) -> NDArray[Any]:
        """Return an array, which must have this dtype and number of dimensions."""
        array = self.arrays[name]
        check(array.dtype == dtype and array.ndim == ndim, f"{name} is {array.dtype}")
        return array


def check(good: Any, wrong: str) -> None:
    """Refuse a state that no fit can produce."""
    if not good:
        raise ValueError(wrong)


def pack_sparse(matrix: sp.csr_array) -> dict[str, NDArray[Any]]:
    """Split a sparse matrix into arrays."""
    return {
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr.astype(np.int64),
    }


def unpack_sparse(state: State, dtype: Any, n_columns: int) -> sp.csr_array:
    """Rebuild a sparse matrix without negative entries."""
    data = state.array("data", np.dtype(dtype))
    wide = state.arrays["indices"].dtype == np.int64
    indices = state.array("indices", np.int64 if wide else np.int32)
    indptr = state.array("indptr", np.int64)
    check(len(indptr) and indptr[0] == 0, "rows of a sparse matrix")
    check((np.diff(indptr) >= 0).all(), "rows of a sparse matrix")
    check(indptr[-1] == len(indices) == len(data), "entries of a sparse matrix")
    check(is_finite(data) and (data >= 0).all(), "entries of a sparse matrix")
    inside = (indices >= 0) & (indices < n_columns)
    check(inside.all(), "columns of a sparse matrix")
    starts = np.zeros(len(indices) + 1, bool)
    starts[indptr] = True
    check((np.diff(indices) > 0)[~starts[1:-1]].all(), "columns of a sparse matrix")
    small = max(len(data), n_columns) <= np.iinfo(np.int32).max
    kind = np.int32 if small else np.int64
    return sp.csr_array(
        (data, indices.astype(kind), indptr.astype(kind)),
        shape=(len(indptr) - 1, n_columns),
    )


def is_finite(array: NDArray[Any]) -> bool:
    """Whether all numbers are finite."""
    return bool(np.isfinite(array).all())


def check_number(value: Any, most: int) -> int:
    """Return a whole number; refuse one that is not from 0 to `most`."""
    check(type(value) is int and 0 <= value <= most, f"a count of {value!r}")
    return int(value)


def pack_estimator(estimator: Any) -> State:
    """Convert an estimator to a state: options, names and fitted model."""
    learnt = estimator.__get_model_state__()
    names = getattr(estimator, "feature_names_in_", None)
    values = {
        "options": _pack_options(estimator),
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else names.tolist(),
        "set_output": getattr(estimator, _CONFIG, None),
        "learnt": learnt.values,
    }
    return State(values, learnt.arrays)


def unpack_estimator(cls: type[Any], state: State) -> Any:
    """Rebuild an estimator."""
    estimator = cls(**_unpack_options(cls, state.values["options"]))
    estimator.__set_model_state__(State(state.values["learnt"], state.arrays))
    n_features, names = state.values["n_features_in"], state.values["feature_names_in"]
    kernel = getattr(estimator, "kernel_", estimator)
    right = type(n_features) is int and n_features == len(kernel.n_bins_)
    check(right, "n_features_in")
    estimator.n_features_in_ = n_features
    if names is not None:
        fitted = kernel.model_.names
        check(type(names) is list and names == fitted, "feature_names_in")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    config = state.values["set_output"]
    if config is not None:
        known = set(config) <= {"transform"} and set(config.values()) <= set(_OUTPUTS)
        check(known, "set_output")
        setattr(estimator, _CONFIG, config)
    return estimator


def _pack_options(estimator: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, np.random.RandomState):
            out[name] = None
        elif name == "kernel" and value is not None:
            out[name] = {"kernel": _pack_options(getattr(value, "estimator", value))}
        else:
            out[name] = encode(value, f"the option {name}")
    return out


def _unpack_options(cls: type[Any], held: Mapping[str, Any]) -> dict[str, Any]:
    out = {}
    for name, value in held.items():
        if isinstance(value, dict) and set(value) == {"kernel"}:
            out[name] = cls.kernel_class(**_unpack_options(cls, value["kernel"]))
        else:
            out[name] = decode(value)
    return out


def encode(value: Any, what: str) -> Any:
    """Convert a value to JSON.

    Parameters
    ----------
    value
    what : str
        The name of the value in messages.

    Returns
    -------
    None, bool, int, float, str, list or dict

    Examples
    --------
    >>> encode((1, 2.5, "a", b"b"), "it")
    {'tuple': [1, 2.5, 'a', {'bytes': 'Yg=='}]}
    """
    kind = type(value)
    if kind in _PLAIN or (kind is float and math.isfinite(value)):
        return value
    if kind is list:
        return [encode(item, what) for item in value]
    for tag, (fits, write, _) in _TAGGED.items():
        if fits(value):
            return {tag: encode(write(value), what)}
    raise ValueError(
        f"{what} is or contains a {kind.__name__}, {value!r}, which cannot be saved; "
        "convert it to text or numbers and fit again."
    )


def decode(value: Any) -> Any:
    """Convert JSON to a value; the inverse of `encode`.

    Examples
    --------
    >>> decode({"tuple": [1, 2.5, "a", {"bytes": "Yg=="}]})
    (1, 2.5, 'a', b'b')
    """
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    (tag,) = value
    if tag not in _TAGGED:
        raise ValueError(f"a value of the unknown type {tag!r}")
    return _TAGGED[tag][2](decode(value[tag]))


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


def _is_scalar_type(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, np.number | np.bool_ | float)


def _is_pandas(name: str) -> Callable[[Any], bool]:
    """Recognize a type of pandas by its name, without importing pandas."""
    return lambda value: (
        type(value).__name__ == name
        and type(value).__module__.partition(".")[0] == "pandas"
    )


def _from_pandas(name: str) -> Callable[[Any], Any]:
    return lambda parts: getattr(require("pandas", extra="cli"), name)(*parts)


def _write_moment(moment: Any) -> list[str]:
    """Write a pandas Timestamp, with the name of its time zone if it has one.

    An offset is not enough, because both ends of an interval must have the same zone.
    """
    zone = str(moment.tz)
    try:
        known = moment.tz is not None and moment.tz_convert(zone) == moment
    except (KeyError, ValueError):  # a library without names
        known = False
    return (
        [moment.tz_convert(None).isoformat(), zone] if known else [moment.isoformat()]
    )


def _read_moment(parts: Any) -> Any:
    moment = _from_pandas("Timestamp")(parts[:1])
    return moment.tz_localize("UTC").tz_convert(parts[1]) if parts[1:] else moment


def _is_list_like(value: Any) -> bool:
    """Whether a value is read like a list: a series, an index, a range, a set."""
    return hasattr(value, "__iter__") and (
        hasattr(value, "__getitem__") or isinstance(value, set | frozenset)
    )


def _read_array(parts: Any) -> Any:
    text, shape, items = parts
    dtype = np.dtype(text)
    if dtype.kind not in _KINDS:
        raise ValueError(f"an array of {dtype}")
    if dtype.kind == "U":  # length by the text, not by the file
        dtype = np.dtype("U")
    return np.array(items, dtype=dtype).reshape(shape)


# tag -> test whether it applies to a value, function to write it, function to read it
_TAGGED: dict[str, tuple[Callable[[Any], bool], Callable[[Any], Any], Any]] = {
    "float": (_is(float), repr, float),
    "tuple": (_is(tuple), list, tuple),
    "bytes": (
        _is(bytes),
        lambda value: base64.b64encode(value).decode(),
        lambda text: base64.b64decode(text, validate=True),
    ),
    "mapping": (
        lambda value: isinstance(value, Mapping),
        lambda value: [[key, held] for key, held in value.items()],
        dict,
    ),
    "time": (_is(dt.time), dt.time.isoformat, dt.time.fromisoformat),
    "dtype": (lambda value: isinstance(value, np.dtype), lambda d: d.str, np.dtype),
    "scalar type": (
        _is_scalar_type,
        lambda value: np.dtype(value).str,
        lambda text: np.dtype(text).type,
    ),
    "scalar": (
        lambda value: isinstance(value, np.generic) and value.dtype.kind in "biufU",
        lambda value: [value.dtype.str, value.item()],
        lambda parts: _read_array([parts[0], (), parts[1]])[()],
    ),
    "array": (
        lambda value: type(value) is np.ndarray and value.dtype.kind in _KINDS,
        lambda a: [a.dtype.str, list(a.shape), a.ravel().tolist()],
        _read_array,
    ),
    "Interval": (
        _is_pandas("Interval"),
        lambda value: [value.left, value.right, value.closed],
        _from_pandas("Interval"),
    ),
    "Timestamp": (_is_pandas("Timestamp"), _write_moment, _read_moment),
    "Period": (
        _is_pandas("Period"),
        lambda value: [str(value), value.freqstr],
        _from_pandas("Period"),
    ),
    "list": (
        _is_list_like,
        lambda items: sorted(items) if isinstance(items, set | frozenset) else [*items],
        list,
    ),
}
