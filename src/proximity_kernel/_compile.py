"""How the loops are compiled: one decorator, and a word to the user.

Numba compiles a function the first time it is called and keeps the machine code
on disk, so only the first call in a fresh environment is slow. That call says so
once, through the ``proximity_kernel`` logger; every later process is silent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

_Function = TypeVar("_Function", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_logger = logging.getLogger("proximity_kernel")


def compiled(function: _Function) -> _Function:
    """Compile `function` on its first call: no GIL, code kept on disk.

    No ``fastmath``: these loops meet NaN. ``error_model="numpy"`` drops the
    check for division by zero, which no loop here can reach.
    """
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
    return numba.njit(forceinline=True, **_OPTIONS)(function)  # type: ignore[no-any-return]


class _Notice(event.Listener):  # type: ignore[misc]  # numba has no types
    """Says once a process that the loops are being compiled.

    Numba sends the event only for a real compilation, not when it loads code
    from disk, so a slow first call is explained and a fast one is silent.
    """

    told = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if self.told or not module.startswith("proximity_kernel."):
            return
        self.told = True
        _logger.warning(
            "proximity-kernel is compiling its loops; this takes some seconds, "
            "once in this environment."
        )

    def on_end(self, event: Any) -> None:
        """Nothing to say: the answer follows."""


event.register("numba:compile", _Notice())
