"""Import optional packages when first used; an error names the extra to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .published import how_to_install


def require(package: str, extra: str) -> Any:
    """Import an optional package; if absent, ImportError names the extra to install.

    >>> require("no_such_package", extra="cli")
    Traceback (most recent call last):
    ImportError: no_such_package is not installed; in a copy of the repository, ...
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:  # a dependency of the package is absent
            raise
        raise ImportError(
            f"{package} is not installed; {how_to_install(extra)}",
            name=package,
        ) from None
