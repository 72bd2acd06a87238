"""Write fitted estimators to files and read them back, without pickle.

A model file is an uncompressed zip archive, like an npz file of numpy: first the
header, in JSON, then each array as an npy file. The header has the dtype, shape and
SHA-256 of every array. The last bytes, the archive's comment, are the SHA-256 of all
bytes before them, so any change of a byte is noticed. A file contains no code, and
nothing is unpickled.

The checksums reveal damage but not manipulation, so the values are checked again where
they are used.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._shared.whole_files import whole_file
from .estimator_state import State, check, pack_estimator, unpack_estimator

FORMAT = "proximity-kernel model"
FORMAT_VERSION = 3  # 2 had no feature weights

_HEADER = "proximity_kernel.json"
_BEGIN = b"PK\x03\x04"  # first bytes of any zip archive
_NAME_AT = 30  # position of the name of its first entry
_SEAL = b"sha256:"
_SEAL_SIZE = len(_SEAL) + 64
_CHUNK = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)  # date of every entry, so equal models make equal files
_PICKLED = "model_file"  # key of the bytes of the model file in a pickled estimator
_ROUTING = ("_metadata_request",)  # other attributes that scikit-learn sets
_AGAIN = "copy it again, or save the model again"


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
    no/such.model is not there.
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

        See Also
        --------
        proximity_kernel.model_file : The format, and notes saved with the estimator.

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
        write_estimator(self, path, None)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Load an estimator of this class from a file.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        estimator
            Fitted; its results equal those of the saved one, bit for bit.

        Raises
        ------
        ModelFileError
            If the file is damaged, not a model file, of another class, or newer than
            this library.
        """

        def only_this(name: str) -> type[Any]:
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

        These are plain values, so a user of skops has only one type to trust. An
        estimator that is not fitted is not changed.
        """
        held: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        if not {"model_", "kernel_"} & set(held):
            return held
        file = io.BytesIO()
        write_estimator(self, file, None)
        options = self.get_params(deep=False)  # type: ignore[attr-defined]
        requests = {key: held[key] for key in _ROUTING if key in held}
        return {**options, **requests, _PICKLED: file.getvalue()}

    def __copy__(self) -> Self:
        copied = type(self).__new__(type(self))
        vars(copied).update(vars(self))  # a model is frozen, so it is shared
        return copied

    def __setstate__(self, state: dict[str, Any]) -> None:
        held = dict(state)
        if (file := held.pop(_PICKLED, None)) is not None:
            loaded, _ = read_estimator(io.BytesIO(file), lambda _: type(self))
            held = {**vars(loaded), **held}
        super().__setstate__(held)  # type: ignore[misc]  # scikit-learn's


def write_estimator(estimator: Any, path: Any, notes: Mapping[str, Any] | None) -> None:
    """Write a fitted estimator and notes to a file."""
    check_is_fitted(estimator)
    state = pack_estimator(estimator)
    try:
        own_version = version("proximity-kernel")
    except PackageNotFoundError:  # run from the sources
        own_version = "unknown"
    header = {
        "library_version": own_version,
        "class": type(estimator).__name__,
        "notes": dict(notes or {}),
        **state.values,
    }
    write_archive(path, header, state.arrays)


def read_estimator(
    path: Any, find_class: Callable[[str], type[Any]]
) -> tuple[Any, dict[str, Any]]:
    """Read an estimator and its notes.

    Parameters
    ----------
    path : str or path
    find_class : callable
        Returns the class of a name, or refuses it.

    Returns
    -------
    estimator
    notes : dict
    """
    header, arrays = read_archive(path)
    name, notes = header.get("class"), header.get("notes")
    try:
        check(type(name) is str and type(notes) is dict, "no class, or no notes")
        # Not by warning filters, which would affect other threads of the process.
        with np.errstate(all="ignore"):
            estimator = unpack_estimator(find_class(str(name)), State(header, arrays))
            return estimator, dict(notes or {})
    except (ModelFileError, ImportError):
        raise
    # The checksums match, but no fit produces such a model.
    except Exception as error:
        raise ModelFileError(
            f"{path} holds no {name} that can be used ({error}); save the model again."
        ) from error


def write_archive(
    path: Any, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a file completely, or not at all.

    It is written to disk in the same folder under another name, and then renamed. An
    existing file stays until then.

    Parameters
    ----------
    path : str, path or BytesIO
    header : mapping
        Values that JSON supports. The format and a description of the arrays are added.
    arrays : mapping of str to ndarray
        Arrays of numbers or booleans.
    """
    held = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    full = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **header,
        "arrays": {name: _describe(array) for name, array in held.items()},
    }
    text = json.dumps(full, allow_nan=False, indent=1).encode("ascii")
    if isinstance(path, io.BytesIO):
        _write_entries(path, text, held)
        _seal(path)
        return
    target = Path(os.path.realpath(os.fspath(path)))
    if target.is_dir():
        raise ModelFileError(f"{path} is a folder; give the name of a file in it.")
    if not target.parent.is_dir():
        raise ModelFileError(f"{target.parent} is no folder; make it first.")
    try:
        with whole_file(target) as part, part.open("w+b") as file:
            _write_entries(file, text, held)
            _seal(file)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be written: {error.strerror}.") from error


def read_archive(path: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a file that `write_archive` wrote, or raise an error with the reason.

    Parameters
    ----------
    path : str, path or BytesIO

    Returns
    -------
    header : dict
    arrays : dict of str to ndarray
    """
    inner = isinstance(path, io.BytesIO)
    name = "The pickled model" if inner else os.fspath(path)
    with _refusing(name), path if inner else Path(name).open("rb") as file:
        _check_begin(file, name)
        _check_seal(file, name)
        with zipfile.ZipFile(file) as archive:
            _check_entries(archive, file.seek(0, os.SEEK_END))
            header = _read_header(archive, name)
            arrays = {
                array: _read_array(archive, array, known)
                for array, known in header["arrays"].items()
            }
    return header, arrays


@contextlib.contextmanager
def _refusing(name: Any) -> Iterator[None]:
    """Turn all errors that a bad file can cause into `ModelFileError`."""
    try:
        yield
    except FileNotFoundError:
        raise ModelFileError(f"{name} is not there.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{name} is a folder, not a model file.") from None
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read: {error.strerror}.") from error
    except ModelFileError:
        raise
    # Errors that the readers of zip, npy and JSON raise for a crafted file.
    except (
        zipfile.BadZipFile, ValueError, TypeError, KeyError, AttributeError, EOFError,
        IndexError, NotImplementedError, RuntimeError, OverflowError,
    ) as error:  # fmt: skip
        raise ModelFileError(
            f"{name} does not have the structure of a model file ({error}); {_AGAIN}."
        ) from error


def _describe(array: NDArray[Any]) -> dict[str, Any]:
    digest = hashlib.sha256(array.tobytes()).hexdigest()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest}


def _write_entries(
    file: BinaryIO, text: bytes, arrays: Mapping[str, NDArray[Any]]
) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = _SEAL + b"0" * 64
        archive.writestr(zipfile.ZipInfo(_HEADER, _EPOCH), text)
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            with archive.open(info, "w", force_zip64=array.nbytes > 1 << 30) as entry:
                np.lib.format.write_array(entry, array, (1, 0), allow_pickle=False)


def _seal(file: BinaryIO) -> None:
    """Write the checksum of all other bytes over the last ones."""
    size = file.seek(0, os.SEEK_END) - 64
    digest = _digest(file, size)
    file.seek(size)
    file.write(digest)


def _digest(file: BinaryIO, size: int) -> bytes:
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0 and (chunk := file.read(min(_CHUNK, size))):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest().encode()


def _check_begin(file: BinaryIO, name: Any) -> None:
    begin = file.read(_NAME_AT + len(_HEADER))
    if not begin:
        raise ModelFileError(f"{name} is empty, so it is no model file; {_AGAIN}.")
    if begin[_NAME_AT:] != _HEADER.encode() or not begin.startswith(_BEGIN):
        what = "a zip or npz file, but no" if begin.startswith(_BEGIN) else "no"
        raise ModelFileError(
            f"{name} is {what} model file of proximity-kernel; pass one that .save(...)"
            " wrote."
        )


def _check_seal(file: BinaryIO, name: Any) -> None:
    size = file.seek(0, os.SEEK_END) - _SEAL_SIZE
    file.seek(max(size, 0))
    seal = file.read()
    if seal != _SEAL + _digest(file, size + len(_SEAL)):
        raise ModelFileError(
            f"{name} is damaged or incomplete: its checksum does not match; {_AGAIN}."
        )


def _check_entries(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse entries that would take more memory than the file has bytes."""
    entries = archive.infolist()
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise ValueError("it is compressed")
    if sum(entry.file_size for entry in entries) > size:
        raise ValueError("its entries are larger than the file")


def _read_header(archive: zipfile.ZipFile, name: Any) -> dict[str, Any]:
    try:
        header = json.loads(archive.read(_HEADER))
    except RecursionError:
        raise ValueError("the header is nested too deeply") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{name} is no model file of proximity-kernel.")
    version = header.get("format_version")
    if type(version) is not int or version < 1:
        raise ValueError(f"format version {version!r}")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{name} has format {version}, newer than the {FORMAT_VERSION} that this "
            f"version can read; it was written by proximity-kernel "
            f"{header.get('library_version')}: install that version or a newer one."
        )
    return header


def _read_array(archive: zipfile.ZipFile, name: str, known: Any) -> NDArray[Any]:
    """Read an array and compare it with its description in the header."""
    with archive.open(f"{name}.npy") as entry:
        if np.lib.format.read_magic(entry) != (1, 0):
            raise ValueError(f"array {name} has another version of npy")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(entry)
        if fortran or dtype.kind not in "biuf":
            raise ValueError(f"array {name} is of {dtype}")
        array = np.frombuffer(entry.read(), dtype).reshape(shape).copy()
    if _describe(array) != known:
        raise ValueError(f"array {name} is not what the header says")
    return array
