"""Warnings that point to the line of the user, past this package and scikit-learn."""

from __future__ import annotations

import sys
import warnings

_INSIDE = (__name__.partition(".")[0], "sklearn", "joblib")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the user's line, from any depth of calls."""
    depth, frame = 1, sys._getframe()  # noqa: SLF001  (Python's own)
    while frame.f_back is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in _INSIDE:
            break
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
