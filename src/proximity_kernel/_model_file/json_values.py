"""Python values in, JSON out, and back with their types.

JSON knows text, whole numbers, fractions, true, false and nothing. What else options
and categories can be is an object of one key that names the type: a tuple, bytes, a
date, a numpy array, a dtype.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._shared.extras import require

_PLAIN = (type(None), bool, int, str)
_KINDS = "biufUO"  # of arrays


def encode(value: Any, what: str) -> Any:
    """Make JSON of a value.

    Parameters
    ----------
    value
    what : str
        How a message calls it.

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
        f"{what} is or holds a {kind.__name__}, {value!r}, which cannot be saved; "
        "convert it to text or numbers and fit again."
    )


def decode(value: Any) -> Any:
    """Make a value of JSON; the opposite of `encode`.

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
    """Known by its type's name: pandas stays out."""
    return lambda value: (
        type(value).__name__ == name
        and type(value).__module__.partition(".")[0] == "pandas"
    )


def _from_pandas(name: str) -> Callable[[Any], Any]:
    return lambda parts: getattr(require("pandas", extra="cli"), name)(*parts)


def _write_moment(moment: Any) -> list[str]:
    """Write a pandas Timestamp, with the name of its zone if that can be read again.

    An offset alone would not do: the two ends of an interval must be of one zone.
    """
    zone = str(moment.tz)
    try:
        known = moment.tz is not None and moment.tz_convert(zone) == moment
    except (KeyError, ValueError):  # of a library without names
        known = False
    return (
        [moment.tz_convert(None).isoformat(), zone] if known else [moment.isoformat()]
    )


def _read_moment(parts: Any) -> Any:
    moment = _from_pandas("Timestamp")(parts[:1])
    return moment.tz_localize("UTC").tz_convert(parts[1]) if parts[1:] else moment


def _is_list_like(value: Any) -> bool:
    """Tell what is read as a list is: a series, an index, a range, a set."""
    return hasattr(value, "__iter__") and (
        hasattr(value, "__getitem__") or isinstance(value, set | frozenset)
    )


def _read_array(parts: Any) -> Any:
    text, shape, items = parts
    dtype = np.dtype(text)
    if dtype.kind not in _KINDS:
        raise ValueError(f"an array of {dtype}")
    if dtype.kind == "U":  # as long as the text is, not as a file says
        dtype = np.dtype("U")
    return np.array(items, dtype=dtype).reshape(shape)


# tag -> whether it is for a value, what is written of it, how that is read
_TAGGED: dict[str, tuple[Callable[[Any], bool], Callable[[Any], Any], Any]] = {
    "float": (_is(float), repr, float),
    "tuple": (_is(tuple), list, tuple),
    "bytes": (
        _is(bytes),
        lambda value: base64.b64encode(value).decode(),
        lambda text: base64.b64decode(text, validate=True),
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
