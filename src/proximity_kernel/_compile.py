"""Compile loops with numba: three decorators, a cache with checksums, a log message.

Numba compiles a function when it is first called, and caches the machine code on disk.
So only the first call of a function in a fresh environment is slow. A process that
compiles logs this once, through the ``proximity_kernel`` logger.

If the cache is damaged or cannot be written, loops are compiled in memory.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, TypeVar

import numba
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps

_Function = TypeVar("_Function", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_logger = logging.getLogger("proximity_kernel")


def compiled(function: _Function) -> _Function:
    """Compile `function` with numba on its first call, without the GIL, and cache it.

    No ``fastmath``, because the data contain NaN. ``error_model="numpy"`` drops the
    check for division by zero, which cannot occur in these loops. Without ``_nrt``
    references to arrays are not counted, so loops must not create arrays
    (docs/decisions/0002).
    """
    loop = numba.njit(**_OPTIONS)(_add_cache_key(function))
    # If neither the package's folder nor the user's cache can be written to (as in a
    # read-only container), compile in every process.
    # A plain function, if NUMBA_DISABLE_JIT is set, has no `py_func`.
    with suppress(RuntimeError, OSError, AttributeError):
        loop._cache = _Cache(loop.py_func)  # noqa: SLF001  (numba sets its own there)
    return loop  # type: ignore[no-any-return]  # numba has no types


def inlined(function: _Function) -> _Function:
    """Compile `function` so that LLVM inlines it into each of its callers.

    Passing many arrays to a small function costs more than its work.
    """
    inline = numba.njit(forceinline=True, **_OPTIONS)
    return inline(function)  # type: ignore[no-any-return]  # numba has no types


def merged(function: _Function) -> _Function:
    """Copy the code of `function` into its callers before these callers are compiled.

    Compiles in half the time of `inlined`, which also compiles `function` by itself.
    """
    merge = numba.njit(inline="always", **_OPTIONS)
    return merge(function)  # type: ignore[no-any-return]  # numba has no types


def _digest_loops() -> str:
    """Hash the source files that contain compiled loops or numba intrinsics."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        source = path.read_bytes()
        if b"from ._compile import" in source or b"from numba" in source:
            digest.update(source)
    return digest.hexdigest()


_DIGEST = _digest_loops()


def _add_cache_key(function: Any) -> Any:
    """Copy a function with a hash of all loops in its closure, for numba's cache key.

    Numba checks only the file of the outermost function for changes, not the files of
    the functions compiled into it, so it could load old code. Values in the closure are
    part of the cache key: a change of any loop invalidates the cache.
    """
    stamped = FunctionType(
        function.__code__.replace(co_freevars=("digest",)),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        (CellType(_DIGEST),),
    )
    stamped.__module__, stamped.__doc__ = function.__module__, function.__doc__
    stamped.__qualname__ = function.__qualname__
    return stamped


class _CheckedCode(CompileResultCacheImpl):  # type: ignore[misc]  # numba has no types
    """Cache entries with a checksum, because numba runs damaged code unchecked."""

    def reduce(self, data: Any) -> tuple[bytes, bytes]:
        """Return the compiled code with its checksum."""
        code = dumps(super().reduce(data))
        return hashlib.sha256(code).digest(), code

    def rebuild(self, target_context: Any, payload: tuple[bytes, bytes]) -> Any:
        """Restore compiled code; raise ValueError if its checksum differs."""
        digest, code = payload
        if hashlib.sha256(code).digest() != digest:
            raise ValueError("the compiled code on disk is damaged")
        return super().rebuild(target_context, pickle.loads(code))


class _Cache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """The disk cache of compiled code; damaged entries are compiled again."""

    _impl_class = _CheckedCode
    warned = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code from the cache; None if it is not there or damaged."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001  (damaged bytes can raise anything)
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code in the cache; if that fails, log a warning once."""
        try:
            super().save_overload(sig, data)
        except Exception as error:  # noqa: BLE001  (such as a full disk)
            if not _Cache.warned:
                _Cache.warned = True
                _logger.warning(
                    "proximity-kernel cannot save its compiled loops in %s (%s), so "
                    "every process compiles them; free disk space, or set "
                    "NUMBA_CACHE_DIR to another folder.",
                    self.cache_path,
                    error,
                )


class _Notice(event.Listener):  # type: ignore[misc]  # numba has no types
    """Log once per process that the loops are being compiled.

    Numba sends the event only for a compilation, not when it loads code from the
    cache, so nothing is logged for a fast first call.
    """

    logged = False

    def on_start(self, event: Any) -> None:
        """Log the first compilation of a loop of this package."""
        # Functions of other packages send events too, and some have no module.
        module = getattr(event.data["dispatcher"].py_func, "__module__", None)
        if self.logged or not str(module).startswith("proximity_kernel."):
            return
        self.logged = True
        _logger.warning(
            "proximity-kernel is compiling its code for this computer. This takes some "
            "seconds when a function is first used; the result is kept on disk."
        )

    def on_end(self, event: Any) -> None:
        """Do nothing: only the start is logged."""


event.register("numba:compile", _Notice())


# A child that is forked while another thread compiles would wait forever for this
# thread, which does not exist in the child. So fork waits until no thread compiles.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
