"""How the loops are compiled: three decorators, and a notice to the user.

Numba compiles a function the first time it is called and keeps the machine code
on disk, so only the first call of each in a fresh environment is slow. A process that
compiles says so once, through the ``proximity_kernel`` logger; later ones are silent.

If the code on disk is damaged or cannot be written, loops are compiled in memory.
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
    """Compile `function` on its first call: no GIL, code kept on disk.

    No ``fastmath``: these loops meet NaN. ``error_model="numpy"`` drops the
    check for division by zero, which no loop here can reach. Without ``_nrt``
    arrays are not counted as references, so loops make none (docs/decisions/0002).
    """
    loop = numba.njit(**_OPTIONS)(_stamped(function))
    # Neither the package's folder nor the user's cache can be written to (a read-only
    # container): compile in every process rather than not at all.
    with suppress(RuntimeError, OSError):
        loop._cache = _Cache(loop.py_func)  # noqa: SLF001  (numba sets its own there)
    return loop  # type: ignore[no-any-return]  # numba has no types


def inlined(function: _Function) -> _Function:
    """Compile `function` into each of its callers.

    A call with whole reference and scratch arrays costs more than what most of
    these small functions do.
    """
    inline = numba.njit(forceinline=True, **_OPTIONS)
    return inline(function)  # type: ignore[no-any-return]  # numba has no types


def merged(function: _Function) -> _Function:
    """Merge `function` into its callers before these are compiled.

    That takes half the time of `inlined`, which compiles it by itself as well.
    """
    merge = numba.njit(inline="always", **_OPTIONS)
    return merge(function)  # type: ignore[no-any-return]  # numba has no types


def _digest_loops() -> str:
    """Digest the sources of all loops."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_DIGEST = _digest_loops()


def _stamped(function: Any) -> Any:
    """Let compiled code on disk be found only while no source of a loop has changed.

    Numba looks at the file of the outermost function, not at those of what is
    compiled into it, and would run old code on a new layout of memory. But the
    values that a function closes over are part of its key: so it closes over a digest.
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
    """Compiled code with its checksum: numba would run what a bad disk made of it."""

    def reduce(self, data: Any) -> tuple[bytes, bytes]:
        code = dumps(super().reduce(data))
        return hashlib.sha256(code).digest(), code

    def rebuild(self, target_context: Any, payload: tuple[bytes, bytes]) -> Any:
        digest, code = payload
        if hashlib.sha256(code).digest() != digest:
            raise ValueError("the compiled code on disk is damaged")
        return super().rebuild(target_context, pickle.loads(code))


class _Cache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Compiled code on disk; if it is damaged or cannot be kept, it is made anew."""

    _impl_class = _CheckedCode
    warned = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001  (whatever damaged bytes do to the reader)
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:  # noqa: BLE001  (a full disk, or as above)
            if not _Cache.warned:
                _Cache.warned = True
                _logger.warning(
                    "proximity-kernel cannot keep its compiled loops in %s (%s), so "
                    "every process compiles them; make room, or name another folder "
                    "in NUMBA_CACHE_DIR.",
                    self.cache_path,
                    error,
                )


class _Notice(event.Listener):  # type: ignore[misc]  # numba has no types
    """Says once a process that the loops are being compiled.

    Numba sends the event only for a real compilation, not when it loads code
    from disk, so a slow first call is explained and a fast one is silent.
    """

    told = False

    def on_start(self, event: Any) -> None:
        # Other people's functions come by here too, and some have no module.
        module = getattr(event.data["dispatcher"].py_func, "__module__", None)
        if self.told or not str(module).startswith("proximity_kernel."):
            return
        self.told = True
        _logger.warning(
            "proximity-kernel is compiling its loops; this takes some seconds the "
            "first time each part is used, and again for over 254 bins in a column."
        )

    def on_end(self, event: Any) -> None:
        """Nothing to say: the answer follows."""


event.register("numba:compile", _Notice())

# A child forked while another thread compiles would wait for that thread, which it does
# not have; so fork waits until no thread compiles.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
