"""Model files: a fitted estimator as a zip archive of JSON and arrays, without pickle.

An estimator is split into a `State`: values that JSON supports, and arrays of numbers.
The file is an uncompressed zip archive, like an npz file of numpy: first the values, in
JSON, then each array as an npy file. Its last bytes, the comment of the archive, are
the SHA-256 of all bytes before them, so that every change of a byte is noticed.

The checksum detects damage, but a file can be crafted, with a matching checksum. So
nothing in a file is run or unpickled, nothing may take much more memory than the file
has bytes (`GROWTH`), and before the compiled loops use a restored state, it is checked
to be a state that a fit can produce.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import hashlib
import io
import json
import math
import os
import re
import shutil
import tempfile
import zipfile
import zoneinfo
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ._shared.extras import require
from ._shared.whole_files import is_device, whole_file
from ._shared.wording import show_controls

FORMAT = "proximity-kernel model"
FORMAT_VERSION = 5  # the only version that is read
GROWTH = 64
"""Maximum bytes of memory that loading may take for each byte of the file."""
FREE_BYTES = 1 << 26  # memory that loading a file of any size may take

_HEADER = "proximity_kernel.json"
_BEGIN = b"PK\x03\x04"  # first bytes of any zip archive
_NAME_AT = 30  # position of the name of the archive's first entry
_SEAL = b"sha256:"
_SEAL_SIZE = len(_SEAL) + 64
_CHUNK = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)  # date of every entry, so equal models make equal files
_PICKLED = "model_file"  # key of the bytes of the model file in a pickled estimator
_ROUTING = ("_metadata_request",)  # other attributes that scikit-learn sets
_AGAIN = "copy it again, or save the model again"
_LONGEST = 200  # characters of a text from a file that a message quotes

_PLAIN = (type(None), bool, int, str)
_KINDS = "biufUO"  # kinds of dtype that an array among the options can have
_OUTPUTS = ("default", "pandas", "polars")  # of scikit-learn's `set_output`
_CONFIG = "_sklearn_output_config"


class ModelFileError(ValueError):
    """A file that cannot be read as a model, or a model that cannot be written.

    The message says which file, what is wrong with it and what to do.

    Examples
    --------
    >>> from proximity_kernel import ModelFileError, ProximityKernel
    >>> try:
    ...     ProximityKernel.load("no/such.model")
    ... except ModelFileError as error:
    ...     print(error)
    no/such.model does not exist.
    """


class ModelFileMixin:
    """Saves a fitted estimator to a file, and loads it."""

    def save(self, path: Any) -> None:
        """Save the fitted estimator to a file, without pickle.

        The file is written completely or not at all. A RandomState instance among the
        options is saved as None, because only another fit would need it.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.

        Raises
        ------
        ModelFileError
            If the file cannot be written.
        ValueError
            If an option or a category cannot be saved.

        See Also
        --------
        proximity_kernel.model_file : The format, and loading a file of any class.

        Examples
        --------
        >>> import tempfile
        >>> from proximity_kernel import ProximityKernel
        >>> pk = ProximityKernel(n_bins=2).fit([[1.0, "a"], [2.0, "b"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pk.save(f"{folder}/kernel.model")
        ...     ProximityKernel.load(f"{folder}/kernel.model").bin_centers_[0]
        array([1., 2.])
        """
        write_estimator(self, path)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Load an estimator of this class from a file.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        estimator
            Fitted; its results equal those of the saved estimator, bit for bit.

        Raises
        ------
        ModelFileError
            If the file is damaged, not a model file, of another class, or of another
            version of the format.
        """

        def only_this(name: str) -> type[Any]:
            """Return this class; raise ModelFileError for the name of another class."""
            if name != cls.__name__:
                raise ModelFileError(
                    f"{path} holds a {name}, not a {cls.__name__}; load it with "
                    f"{name}.load(...), or with proximity_kernel.model_file.load_model."
                )
            return cls

        loaded: Self = read_estimator(path, only_this)[0]
        return loaded

    def __getstate__(self) -> dict[str, Any]:
        """Return the options and the bytes of a model file, for pickle, joblib, skops.

        These are plain values, so a user of skops has only one type to trust. For an
        estimator that is not fitted, the state is that of scikit-learn.
        """
        attributes: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        if not {"model_", "kernel_"} & set(attributes):
            return attributes
        file = io.BytesIO()
        write_estimator(self, file)
        options = self.get_params(deep=False)  # type: ignore[attr-defined]
        requests = {key: attributes[key] for key in _ROUTING if key in attributes}
        return {**options, **requests, _PICKLED: file.getvalue()}

    def __copy__(self) -> Self:
        """Copy the estimator; both share the fitted model."""
        copied = type(self).__new__(type(self))
        vars(copied).update(vars(self))  # a model is frozen, so it can be shared
        return copied

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore an estimator from what `__getstate__` returned."""
        attributes = dict(state)
        if (file := attributes.pop(_PICKLED, None)) is not None:
            loaded, _ = read_estimator(io.BytesIO(file), lambda _: type(self))
            attributes = {**vars(loaded), **attributes}
        super().__setstate__(attributes)  # type: ignore[misc]  # scikit-learn's


# ------------------------------------------------------------- estimators and states


@dataclass(frozen=True)
class State:
    """The state of a fitted estimator, as stored in a model file.

    `values` are supported by JSON, `arrays` have numbers. `size` is the size of the
    file that the state was read from, in bytes; infinite for pickles. `needs` is set
    when the estimator is saved: the bytes of memory that loading will take beyond the
    arrays.
    """

    values: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    size: float = math.inf
    needs: int = 0

    def part(self, name: str) -> State:
        """Return the part of this state that was added under `name`."""
        start = f"{name}/"
        arrays = {
            key.removeprefix(start): array
            for key, array in self.arrays.items()
            if key.startswith(start)
        }
        return State(self.values[name], arrays, self.size)

    def add_part(self, name: str, part: State) -> State:
        """Return a copy of this state to which `part` is added under `name`."""
        arrays = {f"{name}/{key}": array for key, array in part.arrays.items()}
        return State(
            {**self.values, name: part.values},
            {**self.arrays, **arrays},
            needs=max(self.needs, part.needs),
        )

    def array(self, name: str, dtype: Any, ndim: int = 1) -> NDArray[Any]:
        """Return an array; raise ValueError if its dtype or `ndim` is not as given."""
        array = self.arrays[name]
        good = array.dtype == dtype and array.ndim == ndim
        check(good, f"{name} has {array.ndim} dimensions of dtype {array.dtype}")
        return array

    def check_growth(self, n_bytes: int, what: str) -> None:
        """Raise ValueError if `n_bytes` exceed ``FREE_BYTES + GROWTH * size``."""
        small = n_bytes <= FREE_BYTES + GROWTH * self.size
        check(small, f"{what} would take {n_bytes / 1e9:,.1f} GB")


def check(good: Any, wrong: str) -> None:
    """Raise ValueError, with the text `wrong`, unless `good` is true."""
    if not good:
        raise ValueError(wrong)


def check_number(value: Any, most: int) -> int:
    """Return a count; raise ValueError unless it is an int from 0 to `most`."""
    check(type(value) is int and 0 <= value <= most, "a count is out of range")
    return int(value)


def is_finite(array: NDArray[Any]) -> bool:
    """Return whether all numbers of an array are finite."""
    return bool(np.isfinite(array).all())


def pack_sparse(matrix: sp.csr_array) -> dict[str, NDArray[Any]]:
    """Split a sparse matrix into arrays for a model file."""
    return {
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr.astype(np.int64),
    }


def unpack_sparse(state: State, dtype: Any, n_columns: int) -> sp.csr_array:
    """Rebuild a sparse matrix; raise ValueError if invalid or an entry is negative."""
    data = state.array("data", np.dtype(dtype))
    wide = state.arrays["indices"].dtype == np.int64
    indices = state.array("indices", np.int64 if wide else np.int32)
    indptr = state.array("indptr", np.int64)
    rising = len(indptr) and indptr[0] == 0 and (np.diff(indptr) >= 0).all()
    check(rising, "invalid rows of a sparse matrix")
    good = indptr[-1] == len(indices) == len(data) and is_finite(data)
    check(good and (data >= 0).all(), "invalid entries of a sparse matrix")
    inside = (indices >= 0) & (indices < n_columns)
    check(inside.all(), "invalid columns of a sparse matrix")
    starts = np.zeros(len(indices) + 1, bool)
    starts[indptr] = True
    check((np.diff(indices) > 0)[~starts[1:-1]].all(), "unsorted sparse columns")
    small = max(len(data), n_columns) <= np.iinfo(np.int32).max
    kind = np.int32 if small else np.int64
    return sp.csr_array(
        (data, indices.astype(kind), indptr.astype(kind)),
        shape=(len(indptr) - 1, n_columns),
    )


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
    return State(values, learnt.arrays, needs=learnt.needs)


def unpack_estimator(cls: type[Any], state: State) -> Any:
    """Rebuild an estimator; raise ValueError if no fit can produce its state."""
    estimator = cls(**_unpack_options(cls, state.values["options"]))
    learnt = State(state.values["learnt"], state.arrays, state.size)
    estimator.__set_model_state__(learnt)
    n_features, names = state.values["n_features_in"], state.values["feature_names_in"]
    kernel = getattr(estimator, "kernel_", estimator)
    right = type(n_features) is int and n_features == len(kernel.n_bins_)
    check(right, "invalid n_features_in")
    estimator.n_features_in_ = n_features
    if names is not None:
        fitted = kernel.model_.names
        check(type(names) is list and names == fitted, "invalid feature_names_in")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    config = state.values["set_output"]
    if config is not None:
        known = set(config) <= {"transform"} and set(config.values()) <= set(_OUTPUTS)
        check(known, "invalid set_output")
        setattr(estimator, _CONFIG, config)
    return estimator


def _pack_options(estimator: Any) -> dict[str, Any]:
    """Convert the options of an estimator, and of its kernel, to JSON values."""
    out: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, np.random.RandomState):
            out[name] = None
        elif name == "kernel" and value is not None:
            out[name] = {"kernel": _pack_options(getattr(value, "estimator", value))}
        else:
            out[name] = encode(value, f"the option {name}")
    return out


def _unpack_options(cls: type[Any], packed: Mapping[str, Any]) -> dict[str, Any]:
    """Convert JSON values to options; the inverse of `_pack_options`."""
    out = {}
    for name, value in packed.items():
        if isinstance(value, dict) and set(value) == {"kernel"}:
            out[name] = cls._kernel_class(**_unpack_options(cls, value["kernel"]))
        else:
            out[name] = decode(value)
    return out


# ------------------------------------------------------------------- values and JSON


def encode(value: Any, what: str) -> Any:
    """Convert a value of an option or a model to JSON; `what` names it in messages.

    JSON has only text, numbers, true, false, null, lists and objects. Other types (a
    tuple, bytes, a date, a numpy array) become an object with one key, the name of the
    type.

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
    if isinstance(value, str):  # a member of an enum, or another class of strings
        return str.__str__(value)
    raise ValueError(
        f"{what} is or contains a {kind.__name__}, {_shorten(repr(value))}, which "
        "cannot be saved; convert it to text or numbers and fit again."
    )


def decode(value: Any) -> Any:
    """Convert JSON to a value; the inverse of `encode`.

    >>> decode({"tuple": [1, 2.5, "a", {"bytes": "Yg=="}]})
    (1, 2.5, 'a', b'b')
    """
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    (tag,) = value
    check(tag in _TAGGED, "a value of an unknown type")
    return _TAGGED[tag][2](decode(value[tag]))


def _is(kind: type) -> Callable[[Any], bool]:
    """Return a predicate that tests for exactly the type `kind`."""
    return lambda value: type(value) is kind


def _is_pandas(name: str) -> Callable[[Any], bool]:
    """Return a predicate for objects of a pandas class, without importing pandas."""
    return lambda value: (
        type(value).__name__ == name
        and type(value).__module__.partition(".")[0] == "pandas"
    )


def _from_pandas(name: str) -> Callable[[Any], Any]:
    """Return a function that builds an object of a pandas class from its arguments."""
    return lambda parts: getattr(require("pandas", extra="cli"), name)(*parts)


_list_zones = cache(zoneinfo.available_timezones)


def is_zone(name: Any) -> bool:
    """Whether a name is a time zone of the tz database, or an offset from UTC.

    Other names are not passed on, because pandas would open the file that a name such
    as "dateutil//etc/passwd" contains.
    """
    offset = re.fullmatch(r"UTC([+-]\d\d:\d\d)?", name)
    return bool(offset) or name in _list_zones()


def _write_moment(moment: Any) -> list[str]:
    """Convert a pandas Timestamp to text, and the name of its time zone if it has one.

    The offset of a time zone is not enough, because both ends of an interval must have
    the same time zone.
    """
    zone = str(moment.tz)
    if is_zone(zone) and moment.tz_convert(zone) == moment:
        return [moment.tz_convert(None).isoformat(), zone]
    return [moment.isoformat()]


def _read_moment(parts: Any) -> Any:
    """Rebuild a pandas Timestamp; the inverse of `_write_moment`."""
    text, *zones = parts
    check(re.fullmatch(r"[-+\d:.T]+", text), "invalid time")  # no names, as "5:00 EST"
    moment = _from_pandas("Timestamp")([text])
    if not zones:
        return moment
    (zone,) = zones
    check(is_zone(zone), "unknown time zone")
    return moment.tz_localize("UTC").tz_convert(zone)


def _is_list_like(value: Any) -> bool:
    """Whether a value can be saved as a list: a series, an index, a range, a set."""
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return False
    return hasattr(value, "__getitem__") or isinstance(value, set | frozenset)


def _fits_array(value: Any) -> bool:
    """Whether a value is an array that can be saved as such, not only as a list."""
    if type(value) is not np.ndarray or value.dtype.kind not in _KINDS:
        return False
    return value.dtype.kind != "U" or _is_dense(value.ravel().tolist())


def _is_dense(texts: list[str]) -> bool:
    """Whether an array of the given texts takes at most `GROWTH` times their memory.

    Numpy reserves room for the longest text in every cell.
    """
    lengths = [len(text) for text in texts]
    longest = max(lengths, default=0)
    return 4 * longest * len(texts) <= GROWTH * (sum(lengths) + len(texts))


def _read_array(parts: Any) -> Any:
    """Rebuild a numpy array from its dtype, shape and items."""
    text, shape, items = parts
    dtype = np.dtype(text)
    check(dtype.kind in _KINDS, "an array of an unknown type")
    if dtype.kind == "U":
        check(all(type(item) is str for item in items), "an array of text")
        check(_is_dense(items), "an array of text would be much larger than its texts")
        dtype = np.dtype("U")  # length by the texts, not by the file
    return np.array(items, dtype=dtype).reshape(shape)


# tag -> predicate of the values it is for, function to write, function to read a value
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
        lambda value: [[key, item] for key, item in value.items()],
        dict,
    ),
    "time": (_is(dt.time), dt.time.isoformat, dt.time.fromisoformat),
    "dtype": (lambda value: isinstance(value, np.dtype), lambda d: d.str, np.dtype),
    "scalar type": (
        lambda v: isinstance(v, type) and issubclass(v, np.number | np.bool_ | float),
        lambda value: np.dtype(value).str,
        lambda text: np.dtype(text).type,
    ),
    "scalar": (
        lambda value: isinstance(value, np.generic) and value.dtype.kind in "biufU",
        lambda value: [value.dtype.str, value.item()],
        lambda parts: _read_array([parts[0], (), [parts[1]]])[()],
    ),
    "array": (
        _fits_array,
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


# --------------------------------------------------------------------- files


def write_estimator(
    estimator: Any, path: Any, notes: Mapping[str, Any] | None = None
) -> None:
    """Write a fitted estimator, and JSON values as `notes`, to a path or BytesIO."""
    estimator = copy(estimator)  # another thread may fit it again
    check_is_fitted(estimator)
    state = pack_estimator(estimator)
    try:
        own_version = version("proximity-kernel")
    except PackageNotFoundError:  # run from the sources
        own_version = "unknown"
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": own_version,
        "class": type(estimator).__name__,
        "notes": dict(notes or {}),
        **state.values,
    }
    if not isinstance(path, io.BytesIO):
        size = sum(array.nbytes for array in state.arrays.values())
        State({}, {}, size).check_growth(state.needs, "the model, when loaded,")
    write_archive(path, header, state.arrays)


def read_estimator(
    path: Any, find_class: Callable[[str], type[Any]]
) -> tuple[Any, dict[str, Any]]:
    """Read an estimator and its notes from a path or BytesIO.

    `find_class` returns the class of a name, or raises `ModelFileError`.
    """
    header, arrays, size = read_archive(path)
    name, notes = header.get("class"), header.get("notes")
    try:
        check(type(name) is str and name.isidentifier(), "no class")
        check(type(notes) is dict, "no notes")
        # Not by warning filters, which would affect other threads of the process.
        with np.errstate(all="ignore"):
            state = State(header, arrays, size)
            return unpack_estimator(find_class(str(name)), state), dict(notes or {})
    except (ModelFileError, ImportError):
        raise
    # The checksum matches, but no fit produces such a model.
    except Exception as error:
        raise ModelFileError(
            f"{path} contains no usable model ({_shorten(str(error))}); save the model "
            "again."
        ) from error


def write_archive(
    path: Any, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model file completely, or not at all.

    `header` has values that JSON supports, and `arrays` numbers or booleans.
    """
    text = json.dumps(header, allow_nan=False).encode("ascii")
    if isinstance(path, io.BytesIO):
        _write_entries(path, text, arrays)
        return
    target = Path(path)
    if target.is_dir():
        raise ModelFileError(f"{path} is a folder; give the name of a file in it.")
    folder = target.resolve().parent
    if not (folder.is_dir() or is_device(target)):
        raise ModelFileError(f"{path}: there is no folder {folder}; create it first.")
    try:
        with whole_file(target) as file:
            if file.readable():
                _write_entries(file, text, arrays)
                return
            with tempfile.TemporaryFile() as whole:  # a pipe or a device
                _write_entries(whole, text, arrays)
                whole.seek(0)
                shutil.copyfileobj(whole, file)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be written: {error.strerror}.") from error


def read_archive(path: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]], float]:
    """Read the JSON values, arrays and size of a model file, or raise `ModelFileError`.

    The size is infinite for a pickle (a BytesIO), which is trusted anyway.
    """
    pickled = isinstance(path, io.BytesIO)
    name = "The pickled model" if pickled else os.fspath(path)
    with _translating(name), path if pickled else Path(name).open("rb") as file:
        _check_begin(file, name)
        _check_seal(file, name)
        size = file.seek(0, os.SEEK_END)
        with zipfile.ZipFile(file) as archive:
            _check_entries(archive, size)
            header = _read_header(archive, name)
            arrays = {
                entry.removesuffix(".npy"): _read_entry(archive, entry)
                for entry in archive.namelist()
                if entry != _HEADER
            }
    return header, arrays, math.inf if pickled else size


@contextlib.contextmanager
def _translating(name: Any) -> Iterator[None]:
    """Convert all errors that a bad file can cause to `ModelFileError`."""
    try:
        yield
    except FileNotFoundError:
        raise ModelFileError(f"{name} does not exist.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{name} is a folder, not a model file.") from None
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read: {error.strerror}.") from error
    except ModelFileError:
        raise
    # The readers of zip, npy and JSON raise many kinds of errors for a crafted file.
    except Exception as error:
        raise ModelFileError(
            f"{name} does not have the structure of a model file "
            f"({_shorten(str(error))}); {_AGAIN}."
        ) from error


def _shorten(text: str) -> str:
    """Truncate a text from a file, and show its control characters as escapes."""
    return show_controls(text[:_LONGEST]) + "..." * (len(text) > _LONGEST)


def _write_entries(
    file: BinaryIO, text: bytes, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write the values and arrays as a zip archive that ends with its checksum."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = _SEAL + b"0" * 64
        archive.writestr(zipfile.ZipInfo(_HEADER, _EPOCH), text)
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            plain = np.ascontiguousarray(array)
            with archive.open(info, "w", force_zip64=plain.nbytes > 1 << 30) as entry:
                np.lib.format.write_array(entry, plain, (1, 0), allow_pickle=False)
    _seal(file)


def _seal(file: BinaryIO) -> None:
    """Overwrite the last bytes of a file with the checksum of all bytes before them."""
    size = file.seek(0, os.SEEK_END) - 64
    digest = _digest(file, size)
    file.seek(size)
    file.write(digest)


def _digest(file: BinaryIO, size: int) -> bytes:
    """Compute the SHA-256 of the first `size` bytes of a file, in hexadecimal."""
    digest = hashlib.sha256()
    file.seek(0)
    for start in range(0, size, _CHUNK):
        digest.update(file.read(min(_CHUNK, size - start)))
    return digest.hexdigest().encode()


def _check_begin(file: BinaryIO, name: Any) -> None:
    """Raise ModelFileError unless a file begins like a model file."""
    begin = file.read(_NAME_AT + len(_HEADER))
    if not begin:
        raise ModelFileError(f"{name} is empty, so it is no model file; {_AGAIN}.")
    if begin[_NAME_AT:] != _HEADER.encode() or not begin.startswith(_BEGIN):
        what = "a zip or npz file, but no" if begin.startswith(_BEGIN) else "no"
        raise ModelFileError(
            f"{name} is {what} model file of proximity-kernel; pass a file that "
            ".save(...) wrote."
        )


def _check_seal(file: BinaryIO, name: Any) -> None:
    """Raise ModelFileError unless the checksum of a file matches."""
    size = file.seek(0, os.SEEK_END) - _SEAL_SIZE
    file.seek(max(size, 0))
    seal = file.read()
    if seal != _SEAL + _digest(file, size + len(_SEAL)):
        raise ModelFileError(
            f"{name} is damaged or incomplete: its checksum does not match; {_AGAIN}."
        )


def _check_entries(archive: zipfile.ZipFile, size: int) -> None:
    """Raise ValueError if an entry is compressed, or all are larger than the file."""
    entries = archive.infolist()
    kinds = {entry.compress_type for entry in entries}
    check(kinds == {zipfile.ZIP_STORED}, "it is compressed")
    total = sum(entry.file_size for entry in entries)
    check(total <= size, "its entries are larger than the file")


def _read_header(archive: zipfile.ZipFile, name: Any) -> dict[str, Any]:
    """Read the JSON values; raise ModelFileError for another version of the format."""
    header = json.loads(archive.read(_HEADER))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{name} is no model file of proximity-kernel.")
    found: Any = header.get("format_version")
    check(type(found) is int and 0 < found < 1000, "no format version")
    if found != FORMAT_VERSION:
        age = "newer" if found > FORMAT_VERSION else "older"
        writer = _shorten(str(header.get("library_version")))
        raise ModelFileError(
            f"{name} has format {found}, {age} than the {FORMAT_VERSION} that this "
            f"version reads; it was written by proximity-kernel {writer}: install that "
            "version, or fit and save the model again."
        )
    return header


def _read_entry(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Read an array from the archive; raise ValueError unless it contains numbers."""
    with archive.open(name) as entry:
        check(np.lib.format.read_magic(entry) == (1, 0), "another version of npy")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(entry)
        check(not fortran and dtype.kind in "biuf", "an array of an unknown type")
        return np.frombuffer(entry.read(), dtype).reshape(shape).copy()
