"""How the loops are compiled: two decorators, and a notice to the user.

Numba compiles a function the first time it is called and keeps the machine code
on disk, so only the first call of each in a fresh environment is slow. A process that
compiles says so once, through the ``proximity_kernel`` logger; later ones are silent.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, TypeVar

import numba
from numba.core import event

_Function = TypeVar("_Function", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_logger = logging.getLogger("proximity_kernel")


def compiled(function: _Function) -> _Function:
    """Compile `function` on its first call: no GIL, code kept on disk.

    No ``fastmath``: these loops meet NaN. ``error_model="numpy"`` drops the
    check for division by zero, which no loop here can reach. Without ``_nrt``
    arrays are not counted as references, so loops make none (docs/decisions/0002).
    """
    function = _stamped(function)
    try:
        loop = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:
        # Neither the package's folder nor the user's cache can be written to (a
        # read-only container): compile in every process rather than not at all.
        loop = numba.njit(**_OPTIONS)(function)
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
